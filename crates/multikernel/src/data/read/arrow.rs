//! Tables from Arrow record batches, as in Parquet and Arrow files.

use std::fmt::Display;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_buffer::Buffer;
use arrow_cast::cast;
use arrow_ipc::convert::fb_to_schema;
use arrow_ipc::reader::{FileDecoder, read_footer_length};
use arrow_ipc::{Block, root_as_footer, root_as_message};
use arrow_schema::{DataType, Schema};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::binary::table;
use super::memory::{check_memory, out_of_memory};
use super::options::ReadOptions;
use super::roles::{Roles, of_columns};
use crate::data::table::Table;
use crate::data::table::words::{list, quoted};
use crate::error::{Error, Place, Remedy, Result, message};
use crate::linalg::Matrix;

/// Reads a file held in memory.
pub(super) fn read(bytes: Vec<u8>, source: &str, options: &ReadOptions) -> Result<Table> {
    let rows = if bytes.starts_with(b"PAR1") {
        read_parquet(bytes, source, options)?
    } else {
        read_arrow(bytes, source, options)?
    };
    rows.into_table()
}

fn read_parquet<'a>(bytes: Vec<u8>, source: &'a str, options: &'a ReadOptions) -> Result<ColumnRows<'a>> {
    let file = ParquetRecordBatchReaderBuilder::try_new(bytes::Bytes::from(bytes)).map_err(unreadable(source))?;
    let mut rows = ColumnRows::new(file.schema(), source, options)?;
    let n_rows = usize::try_from(file.metadata().file_metadata().num_rows()).unwrap_or(usize::MAX);
    check_memory(source, n_rows, rows.roles.features.len(), options.limit())?;
    let mask = ProjectionMask::roots(file.parquet_schema(), rows.wanted.clone());
    for batch in file.with_projection(mask).build().map_err(unreadable(source))? {
        rows.add(&batch.map_err(unreadable(source))?)?;
    }
    Ok(rows)
}

fn read_arrow<'a>(bytes: Vec<u8>, source: &'a str, options: &'a ReadOptions) -> Result<ColumnRows<'a>> {
    let file = Buffer::from_vec(bytes);
    let broken = || unreadable(source)("it is damaged or no Arrow file");
    let footer = root_as_footer(footer(&file).ok_or_else(broken)?).map_err(unreadable(source))?;
    let schema = Arc::new(fb_to_schema(footer.schema().ok_or_else(broken)?));
    let mut rows = ColumnRows::new(&schema, source, options)?;
    let mut decoder = FileDecoder::new(schema, footer.version()).with_projection(rows.wanted.clone());
    for block in footer.dictionaries().iter().flatten() {
        let data = cut_out(&file, block, options.limit()).ok_or_else(broken)?;
        decoder.read_dictionary(block, &data).map_err(unreadable(source))?;
    }
    for block in footer.recordBatches().iter().flatten() {
        let data = cut_out(&file, block, options.limit()).ok_or_else(broken)?;
        if let Some(batch) = decoder.read_record_batch(block, &data).map_err(unreadable(source))? {
            rows.add(&batch)?;
        }
    }
    Ok(rows)
}

/// The footer of an Arrow file, which ends with its length and a magic number.
fn footer(file: &[u8]) -> Option<&[u8]> {
    let end = file.len().checked_sub(10)?;
    let length = read_footer_length(*file[end..].first_chunk()?).ok()?;
    file.get(end.checked_sub(length)?..end)
}

/// A block of an Arrow file; `None` if it is truncated or claims to decompress to more than `limit` bytes, which the
/// Arrow reader would allocate unchecked.
fn cut_out(file: &Buffer, block: &Block, limit: u64) -> Option<Buffer> {
    let (start, n_head) = (usize::try_from(block.offset()).ok()?, usize::try_from(block.metaDataLength()).ok()?);
    let n = n_head.checked_add(usize::try_from(block.bodyLength()).ok()?)?;
    let (head, body) = file.get(start..start.checked_add(n)?)?.split_at_checked(n_head)?;
    (unpacked_size(head, body)? <= limit).then(|| file.slice_with_length(start, n))
}

/// The claimed decompressed size of a block's buffers, in bytes.
fn unpacked_size(head: &[u8], body: &[u8]) -> Option<u64> {
    let head = head.get(if head.starts_with(&[0xff; 4]) { 8 } else { 4 }..)?;
    let message = root_as_message(head).ok()?;
    let dictionary = || message.header_as_dictionary_batch()?.data();
    let batch = message.header_as_record_batch().or_else(dictionary)?;
    if batch.compression().is_none() {
        return Some(0);
    }
    let mut sum = 0u64;
    for buffer in batch.buffers()?.iter().filter(|buffer| buffer.length() > 0) {
        let start = usize::try_from(buffer.offset()).ok()?;
        let size = i64::from_le_bytes(*body.get(start..)?.first_chunk()?);
        // -1 marks an uncompressed buffer.
        sum = sum.checked_add(u64::try_from(size.max(0)).ok()?)?;
    }
    Some(sum)
}

/// Converts an error from the crates that read these files.
pub(super) fn unreadable<E: Display>(source: &str) -> impl Fn(E) -> Error {
    move |error| {
        let message = format!("the file cannot be read ({error}); write it again, or save the table as CSV");
        Error::data(Place::file(source), message)
    }
}

/// The rows read so far.
struct ColumnRows<'a> {
    source: &'a str,
    options: &'a ReadOptions,
    roles: Roles,
    /// The columns to read, ascending.
    wanted: Vec<usize>,
    values: Vec<f64>,
    /// Labels, groups and ids; empty if there is no such column.
    texts: [Vec<Option<String>>; 3],
    n_rows: usize,
}

impl<'a> ColumnRows<'a> {
    fn new(schema: &Schema, source: &'a str, options: &'a ReadOptions) -> Result<Self> {
        let names: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
        if names.is_empty() {
            return Err(Error::data(Place::file(source), "the table has no columns; give at least one"));
        }
        let mut roles = of_columns(source, names.len(), Some(names), options)?;
        roles.check_decided(source, options)?;
        let is_number = |j: usize| {
            let kind = schema.field(j).data_type();
            kind.is_numeric() || matches!(kind, DataType::Boolean | DataType::Null)
        };
        // Numeric columns named like ids are examined once all rows are read.
        let is_text = |j: &&usize| !(is_number(**j) && roles.features.contains(j));
        if let Some(j) = roles.maybe_ids.iter().find(is_text).copied().filter(|_| roles.id.is_none()) {
            roles.id = Some(j);
            roles.notes.push(format!("ids: column {}", roles.shown(j)).into());
            let kept: Vec<usize> = (0..roles.features.len()).filter(|&k| roles.features[k] != j).collect();
            roles.names = kept.iter().map(|&k| roles.names[k].clone()).collect();
            roles.features = kept.iter().map(|&k| roles.features[k]).collect();
        }
        check_numbers(schema, &roles, source, is_number)?;
        let mut wanted: Vec<usize> =
            roles.features.iter().copied().chain(text_columns(&roles).into_iter().flatten()).collect();
        wanted.sort_unstable();
        wanted.dedup();
        Ok(ColumnRows { source, options, roles, wanted, values: vec![], texts: Default::default(), n_rows: 0 })
    }

    /// Column `j` of the file as values of one type.
    fn column(&self, batch: &RecordBatch, j: usize, kind: &DataType) -> Result<ArrayRef> {
        let at = self.wanted.partition_point(|&wanted| wanted < j);
        cast(batch.column(at), kind).map_err(unreadable(self.source))
    }

    fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        let (n_rows, n_cols) = (batch.num_rows(), self.roles.features.len());
        check_memory(self.source, self.n_rows + n_rows, n_cols, self.options.limit())?;
        if self.values.try_reserve(n_rows * n_cols).is_err() {
            let need = (self.n_rows + n_rows) as u64 * n_cols as u64 * 8;
            return Err(out_of_memory(self.source, self.n_rows + n_rows, n_cols, need, self.options.limit()));
        }
        let start = self.values.len();
        self.values.resize(start + n_rows * n_cols, f64::NAN);
        for k in 0..n_cols {
            let column = self.column(batch, self.roles.features[k], &DataType::Float64)?;
            for (i, value) in column.as_primitive::<Float64Type>().iter().enumerate() {
                let value = value.unwrap_or(f64::NAN);
                if value.is_infinite() {
                    return Err(self.infinite(self.n_rows + i, k, value));
                }
                self.values[start + i * n_cols + k] = value;
            }
        }
        for (k, j) in text_columns(&self.roles).into_iter().enumerate() {
            if let Some(j) = j {
                let column = self.column(batch, j, &DataType::Utf8)?;
                self.texts[k].extend(column.as_string::<i32>().iter().map(|text| text.map(str::to_string)));
            }
        }
        self.n_rows += n_rows;
        Ok(())
    }

    fn infinite(&self, row: usize, feature: usize, value: f64) -> Error {
        let (source, column) = (self.source, quoted(&self.roles.names[feature]));
        let place = Place::file(format!("{source}, row {}, column {column}", row + 1));
        Error::data(place, format!("{value} is infinite; correct it, or give NaN where a value is missing"))
    }

    fn into_table(self) -> Result<Table> {
        let ColumnRows { source, options, roles, values, texts, n_rows, .. } = self;
        if n_rows == 0 {
            return Err(Error::data(Place::file(source), "the table has no rows; give at least one"));
        }
        let [labels, groups, ids] = texts;
        // Rows to predict may have a label column with no labels yet.
        let unknown = options.expect.is_some() && labels.iter().all(Option::is_none);
        let labels = roles.label.filter(|_| !unknown).map(|_| full(source, labels, "label")).transpose()?;
        let groups = roles.groups.map(|_| full(source, groups, "group")).transpose()?;
        let ids = roles.id.map(|_| full(source, ids, "id")).transpose()?;
        let features = Matrix::from_vec(n_rows, roles.features.len(), values)?;
        let (label_name, group_name) = (roles.label_name.clone(), roles.group_name.clone());
        Ok(Table { labels, label_name, groups, group_name, ..table(features, ids, source, roles, options)? })
    }
}

/// Refuses features that are not numeric, all in one message.
fn check_numbers(schema: &Schema, roles: &Roles, source: &str, is_number: impl Fn(usize) -> bool) -> Result<()> {
    let others: Vec<usize> = roles.features.iter().copied().filter(|&j| !is_number(j)).collect();
    let of = |&j: &usize| format!("{} {}", quoted(schema.field(j).name()), schema.field(j).data_type());
    let shown: Vec<String> = others.iter().map(of).collect();
    let names: Vec<String> = others.iter().map(|&j| schema.field(j).name().clone()).collect();
    match shown.as_slice() {
        [] => Ok(()),
        _ => {
            let message = message![
                format!("features are numbers, but these columns are not: {}; leave them out with ", list(&shown, 20)),
                Remedy::Ignore(names),
                ", or name one with ",
                Remedy::Label(None)
            ];
            Err(Error::data(Place::file(source), message))
        }
    }
}

/// The columns of labels, groups and ids.
fn text_columns(roles: &Roles) -> [Option<usize>; 3] {
    [roles.label, roles.groups, roles.id]
}

/// The texts of a column that must have no missing value.
fn full(source: &str, texts: Vec<Option<String>>, what: &str) -> Result<Vec<String>> {
    let of = |(i, text): (usize, Option<String>)| {
        let place = || Place::file(format!("{source}, row {}", i + 1));
        let message = || format!("the {what} is missing; remove the row or fill it in first");
        text.ok_or_else(|| Error::data(place(), message()))
    };
    texts.into_iter().enumerate().map(of).collect()
}
