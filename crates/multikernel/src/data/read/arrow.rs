//! Tables from Arrow record batches, as in Parquet and Arrow files.

use std::fmt::Display;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrayRef, RecordBatch, new_null_array};
use arrow_buffer::Buffer;
use arrow_cast::cast;
use arrow_ipc::convert::fb_to_schema;
use arrow_ipc::reader::{FileDecoder, read_footer_length};
use arrow_ipc::{Block, MetadataVersion, root_as_footer, root_as_message};
use arrow_schema::{DataType, Schema, TimeUnit};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::binary::table;
use super::delimited::{Cells, Rows, read_rows};
use super::memory::{check_memory, out_of_memory};
use super::numbers::Decimal;
use super::options::ReadOptions;
use super::roles::{Roles, of_columns};
use crate::data::table::words::{list, quoted};
use crate::data::table::{Kind, Table};
use crate::error::{Error, Place, Remedy, Result, message};
use crate::linalg::Matrix;

/// Reads a file held in memory.
pub(super) fn read(bytes: Vec<u8>, source: &str, options: &ReadOptions) -> Result<Table> {
    let file = if bytes.starts_with(b"PAR1") { parquet_file(bytes, source) } else { arrow_file(bytes, source) }?;
    let (schema, n_rows) = (file.schema(), file.n_rows());
    let roles = roles(&schema, source, options)?;
    if is_mixed(&schema, &roles) {
        return read_mixed(file, &schema, source, options);
    }
    let mut rows = ColumnRows::new(roles, source, options);
    check_memory(source, n_rows, rows.roles.features.len(), options.limit())?;
    for batch in file.batches(rows.wanted.clone(), source, options.limit())? {
        rows.add(&batch?)?;
    }
    rows.into_table()
}

/// A file of record batches.
enum File {
    Parquet(Box<ParquetRecordBatchReaderBuilder<bytes::Bytes>>),
    Arrow { bytes: Buffer, schema: Arc<Schema>, blocks: Blocks },
}

/// The blocks of an Arrow file, and the version of its format.
struct Blocks {
    version: MetadataVersion,
    dictionaries: Vec<Block>,
    batches: Vec<Block>,
}

type Batches<'a> = Box<dyn Iterator<Item = Result<RecordBatch>> + 'a>;

fn parquet_file(bytes: Vec<u8>, source: &str) -> Result<File> {
    let file = ParquetRecordBatchReaderBuilder::try_new(bytes::Bytes::from(bytes));
    Ok(File::Parquet(Box::new(file.map_err(unreadable(source))?)))
}

fn arrow_file(bytes: Vec<u8>, source: &str) -> Result<File> {
    let bytes = Buffer::from_vec(bytes);
    let broken = || unreadable(source)("it is damaged or no Arrow file");
    let footer = root_as_footer(footer(&bytes).ok_or_else(broken)?).map_err(unreadable(source))?;
    let schema = Arc::new(fb_to_schema(footer.schema().ok_or_else(broken)?));
    let blocks = Blocks {
        version: footer.version(),
        dictionaries: footer.dictionaries().iter().flatten().copied().collect(),
        batches: footer.recordBatches().iter().flatten().copied().collect(),
    };
    Ok(File::Arrow { bytes, schema, blocks })
}

impl File {
    fn schema(&self) -> Arc<Schema> {
        match self {
            File::Parquet(file) => file.schema().clone(),
            File::Arrow { schema, .. } => schema.clone(),
        }
    }

    /// The number of rows, if the file says it beforehand.
    fn n_rows(&self) -> usize {
        match self {
            File::Parquet(file) => usize::try_from(file.metadata().file_metadata().num_rows()).unwrap_or(usize::MAX),
            File::Arrow { .. } => 0,
        }
    }

    /// The columns at these places, ascending, batch by batch.
    fn batches(self, wanted: Vec<usize>, source: &str, limit: u64) -> Result<Batches<'_>> {
        match self {
            File::Parquet(file) => {
                let mask = ProjectionMask::roots(file.parquet_schema(), wanted);
                let batches = file.with_projection(mask).build().map_err(unreadable(source))?;
                Ok(Box::new(batches.map(move |batch| batch.map_err(unreadable(source)))))
            }
            File::Arrow { bytes, schema, blocks } => {
                let broken = || unreadable(source)("it is damaged or no Arrow file");
                let mut decoder = FileDecoder::new(schema, blocks.version).with_projection(wanted);
                for block in &blocks.dictionaries {
                    let data = cut_out(&bytes, block, limit).ok_or_else(broken)?;
                    decoder.read_dictionary(block, &data).map_err(unreadable(source))?;
                }
                let read = move |block: Block| -> Result<Option<RecordBatch>> {
                    let data = cut_out(&bytes, &block, limit).ok_or_else(broken)?;
                    decoder.read_record_batch(&block, &data).map_err(unreadable(source))
                };
                Ok(Box::new(blocks.batches.into_iter().filter_map(move |block| read(block).transpose())))
            }
        }
    }
}

/// Whether a column holds numbers, or no value at all.
fn is_number(kind: &DataType) -> bool {
    kind.is_numeric() || matches!(kind, DataType::Boolean | DataType::Null)
}

/// Whether a column can be read as text.
fn is_text(kind: &DataType) -> bool {
    match kind {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Date32 | DataType::Date64 | DataType::Timestamp(..) => true,
        DataType::Time32(_) | DataType::Time64(_) => true,
        DataType::Dictionary(_, values) => is_text(values) || values.is_numeric(),
        _ => false,
    }
}

/// Whether a feature is not to be read as a number.
fn is_mixed(schema: &Schema, roles: &Roles) -> bool {
    let told = |j: usize| roles.kinds.iter().any(|(column, told)| *column == j && told.kind != Kind::Number);
    roles.features.iter().any(|&j| !is_number(schema.field(j).data_type()) || told(j))
}

/// Reads a table with columns of texts, as its CSV export is read; messages count rows without a header.
fn read_mixed(file: File, schema: &Schema, source: &str, options: &ReadOptions) -> Result<Table> {
    let wanted: Vec<usize> = (0..schema.fields().len()).collect();
    let names = schema.fields().iter().map(|field| field.name().clone()).collect();
    let batches = file.batches(wanted, source, options.limit())?;
    let rows = TextRows { source, names: Some(names), batches, columns: vec![], at: 0, n: 0, n_before: 0 };
    // Numbers have a decimal point, whatever the texts beside them look like.
    let decimal = options.decimal.or(Some(Decimal::Point));
    read_rows(source, rows, &ReadOptions { header: Some(true), decimal, ..options.clone() })
}

/// The names of the columns, then the rows of all batches, as texts.
struct TextRows<'a> {
    source: &'a str,
    names: Option<Vec<String>>,
    batches: Batches<'a>,
    /// The columns of the current batch.
    columns: Vec<ArrayRef>,
    /// The next row of the batch, and how many it has.
    at: usize,
    n: usize,
    /// Rows of earlier batches.
    n_before: usize,
}

impl Rows for TextRows<'_> {
    fn next(&mut self, cells: &mut Cells) -> Result<bool> {
        cells.clear();
        if let Some(names) = self.names.take() {
            names.iter().for_each(|name| cells.push(name, 0));
            return Ok(true);
        }
        while self.at == self.n {
            self.n_before += self.n;
            let Some(batch) = self.batches.next().transpose()? else { return Ok(false) };
            (self.at, self.n) = (0, batch.num_rows());
            let columns = batch.columns().iter().map(|column| self.as_texts(column));
            self.columns = columns.collect::<Result<_>>()?;
        }
        for column in &self.columns {
            let texts = column.as_string::<i32>();
            let is_null = texts.is_null(self.at);
            cells.push(if is_null { "" } else { texts.value(self.at) }, (self.n_before + self.at) as u64 + 1);
        }
        self.at += 1;
        Ok(true)
    }
}

impl TextRows<'_> {
    /// A column as texts that the reader of delimited text takes for the same values.
    fn as_texts(&self, column: &ArrayRef) -> Result<ArrayRef> {
        let to = |column: &ArrayRef, kind: DataType| cast(column, &kind).map_err(unreadable(self.source));
        let column = match column.data_type() {
            // All digits of the value, not of the shorter type.
            DataType::Float16 | DataType::Float32 => to(column, DataType::Float64)?,
            // Times of a zone as they are in UTC.
            DataType::Timestamp(unit, Some(_)) => to(column, DataType::Timestamp(*unit, None))?,
            DataType::Date64 => to(column, DataType::Timestamp(TimeUnit::Millisecond, None))?,
            kind if is_number(kind) || is_text(kind) => column.clone(),
            // Such a column is no feature, so that nothing is read from it.
            _ => new_null_array(&DataType::Utf8, column.len()),
        };
        to(&column, DataType::Utf8)
    }
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
    fn new(roles: Roles, source: &'a str, options: &'a ReadOptions) -> Self {
        let mut wanted: Vec<usize> =
            roles.features.iter().copied().chain(text_columns(&roles).into_iter().flatten()).collect();
        wanted.sort_unstable();
        wanted.dedup();
        ColumnRows { source, options, roles, wanted, values: vec![], texts: Default::default(), n_rows: 0 }
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

/// The roles of the columns of a file.
fn roles(schema: &Schema, source: &str, options: &ReadOptions) -> Result<Roles> {
    let names: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
    if names.is_empty() {
        return Err(Error::data(Place::file(source), "the table has no columns; give at least one"));
    }
    let mut roles = of_columns(source, names.len(), Some(names), options)?;
    roles.check_decided(source, options)?;
    // Numeric columns named like ids are examined once all rows are read.
    let is_other = |j: &&usize| !(is_number(schema.field(**j).data_type()) && roles.features.contains(j));
    if let Some(j) = roles.maybe_ids.iter().find(is_other).copied().filter(|_| roles.id.is_none()) {
        roles.id = Some(j);
        roles.notes.push(format!("ids: column {}", roles.shown(j)).into());
        let kept: Vec<usize> = (0..roles.features.len()).filter(|&k| roles.features[k] != j).collect();
        roles.names = kept.iter().map(|&k| roles.names[k].clone()).collect();
        roles.features = kept.iter().map(|&k| roles.features[k]).collect();
    }
    check_kinds(schema, &roles, source)?;
    Ok(roles)
}

/// Refuses features that are neither numbers nor texts, all in one message.
fn check_kinds(schema: &Schema, roles: &Roles, source: &str) -> Result<()> {
    let is_known = |j: usize| is_number(schema.field(j).data_type()) || is_text(schema.field(j).data_type());
    let others: Vec<usize> = roles.features.iter().copied().filter(|&j| !is_known(j)).collect();
    let of = |&j: &usize| format!("{} {}", quoted(schema.field(j).name()), schema.field(j).data_type());
    let shown: Vec<String> = others.iter().map(of).collect();
    let names: Vec<String> = others.iter().map(|&j| schema.field(j).name().clone()).collect();
    if shown.is_empty() {
        return Ok(());
    }
    let message = message![
        format!(
            "features are numbers, texts or dates, but these columns are not: {}; leave them out with ",
            list(&shown, 20)
        ),
        Remedy::Ignore(names)
    ];
    Err(Error::data(Place::file(source), message))
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
