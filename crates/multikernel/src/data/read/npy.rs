//! NumPy arrays: `.npy` files, and the arrays inside `.npz` archives.
//!
//! Parsed here rather than by a crate because errors must name the array, row and column, and because the header is one
//! short text. Python objects, which can only be read by executing what the file says, are refused.

use std::io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
use std::io::Read;

use super::binary::{Parts, whole_number};
use super::memory::{check_memory, out_of_memory};
use super::options::ReadOptions;
use crate::data::table::Table;
use crate::data::table::words::quoted;
use crate::error::{Error, Message, Place, Result};
use crate::linalg::Matrix;

/// The first bytes of every `.npy` file.
pub(super) const MAGIC: &[u8] = b"\x93NUMPY";

/// Longest header accepted: those of plain arrays take a hundred bytes.
const MAX_HEADER: usize = 1 << 16;

/// Longest label, name or id in bytes.
const MAX_TEXT: usize = 1 << 16;

/// How many bytes are processed together.
const CHUNK: usize = 1 << 16;

/// The kind of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Bool,
    Int,
    Unsigned,
    Float,
    /// UTF-32, zero-padded.
    Text,
    /// UTF-8, zero-padded.
    Bytes,
}

/// The type of the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Dtype {
    kind: Kind,
    /// Bytes of a value: 1, 2, 4 or 8 for numbers, 1 to [`MAX_TEXT`] for texts.
    size: usize,
    is_big_endian: bool,
}

impl Dtype {
    /// Parses a type such as `<f8`; the error says what is wrong with an unsupported one.
    fn parse(descr: &str) -> std::result::Result<Dtype, String> {
        let unknown = || {
            format!(
                "it holds values of type {}; read are float32, float64, int8 to int64, uint8 to uint64, bool and text: \
                 save it with .astype('float64')",
                quoted(descr)
            )
        };
        let mut letters = descr.chars();
        let (order, letter) = (letters.next().unwrap_or(' '), letters.next().unwrap_or(' '));
        let digits = letters.as_str();
        if letter == 'O' {
            return Err(
                "it holds Python objects, which are not read because reading them would run what the file says; \
                        save it with .astype('float64'), or labels, names and ids with .astype(str)"
                    .to_string(),
            );
        }
        let count = digits.parse::<usize>().map_err(|_| unknown())?;
        let (kind, size) = match (letter, count) {
            ('b', 1) => (Kind::Bool, 1),
            ('i', 1 | 2 | 4 | 8) => (Kind::Int, count),
            ('u', 1 | 2 | 4 | 8) => (Kind::Unsigned, count),
            ('f', 4 | 8) => (Kind::Float, count),
            ('U', _) => (Kind::Text, count.saturating_mul(4)),
            ('S', _) => (Kind::Bytes, count),
            _ => return Err(unknown()),
        };
        if !(1..=MAX_TEXT).contains(&size) {
            return Err(format!("each of its texts takes {size} bytes; read are 1 to {MAX_TEXT}: shorten them"));
        }
        match order {
            '<' | '|' => Ok(Dtype { kind, size, is_big_endian: false }),
            '>' => Ok(Dtype { kind, size, is_big_endian: true }),
            _ => Err(unknown()),
        }
    }

    fn is_text(self) -> bool {
        matches!(self.kind, Kind::Text | Kind::Bytes)
    }

    /// The bits of a value of up to 8 bytes.
    #[inline(always)]
    fn bits(self, cell: &[u8]) -> u64 {
        let join = |bits: u64, byte: &u8| bits << 8 | u64::from(*byte);
        if self.is_big_endian { cell.iter().fold(0, join) } else { cell.iter().rev().fold(0, join) }
    }

    /// A whole number, whatever its width.
    #[inline(always)]
    fn integer(self, cell: &[u8]) -> i128 {
        let bits = self.bits(cell);
        let unused = 64 - 8 * self.size;
        match self.kind {
            Kind::Int => i128::from(((bits << unused) as i64) >> unused),
            _ => i128::from(bits),
        }
    }

    #[inline(always)]
    fn number(self, cell: &[u8]) -> f64 {
        match (self.kind, self.size) {
            (Kind::Float, 4) => f64::from(f32::from_bits(self.bits(cell) as u32)),
            (Kind::Float, _) => f64::from_bits(self.bits(cell)),
            (Kind::Bool, _) => f64::from(u8::from(cell != [0])),
            _ => self.integer(cell) as f64,
        }
    }

    /// Appends all values; the width is known inside the loop, which takes a fraction of the time.
    fn add_numbers(self, bytes: &[u8], values: &mut Vec<f64>) {
        match self.size {
            1 => values.extend(bytes.as_chunks::<1>().0.iter().map(|cell| self.number(cell))),
            2 => values.extend(bytes.as_chunks::<2>().0.iter().map(|cell| self.number(cell))),
            4 => values.extend(bytes.as_chunks::<4>().0.iter().map(|cell| self.number(cell))),
            _ => values.extend(bytes.as_chunks::<8>().0.iter().map(|cell| self.number(cell))),
        }
    }

    /// A value as a label: a text, or a whole number as its digits.
    fn label(self, cell: &[u8]) -> std::result::Result<String, String> {
        match self.kind {
            Kind::Text => cell
                .chunks_exact(4)
                .map(|cell| char::from_u32(self.bits(cell) as u32))
                .collect::<Option<String>>()
                .map(|text| text.trim_end_matches('\0').to_string())
                .ok_or_else(|| "the text is not Unicode; save it again".to_string()),
            Kind::Bytes => String::from_utf8(cell.to_vec())
                .map(|text| text.trim_end_matches('\0').to_string())
                .map_err(|_| "the text is not UTF-8; save it with .astype(str)".to_string()),
            Kind::Bool => Ok(if cell == [0] { "False" } else { "True" }.to_string()),
            Kind::Float => {
                let value = self.number(cell);
                whole_number(value)
                    .ok_or_else(|| format!("{value} is no label; labels, names and ids are whole numbers or texts"))
            }
            Kind::Int | Kind::Unsigned => Ok(self.integer(cell).to_string()),
        }
    }
}

/// The header before the values.
#[derive(Clone, Debug, PartialEq)]
struct Header {
    descr: String,
    dtype: Dtype,
    /// Column by column rather than row by row.
    is_fortran: bool,
    shape: Vec<usize>,
}

impl Header {
    /// Parses the header's text, a Python dictionary of `descr`, `fortran_order` and `shape`.
    fn parse(text: &str) -> std::result::Result<Header, String> {
        let damaged = || format!("its header, {}, cannot be read; write it with numpy.save", quoted(text.trim()));
        let mut literal = Literal(text);
        let (mut descr, mut is_fortran, mut shape) = (None, None, None);
        if !literal.eat("{") {
            return Err(damaged());
        }
        while !literal.eat("}") {
            let key = literal.string().filter(|_| literal.eat(":")).ok_or_else(damaged)?;
            match key {
                "descr" if literal.eat("[") => {
                    return Err("it is a table of columns with types of their own (a structured array); \
                                save its columns as one 2-D array of float64"
                        .to_string());
                }
                "descr" => descr = Some(literal.string().ok_or_else(damaged)?),
                "fortran_order" => is_fortran = Some(literal.truth().ok_or_else(damaged)?),
                "shape" => shape = Some(literal.tuple().ok_or_else(damaged)?),
                _ => return Err(damaged()),
            }
            if !literal.eat(",") && !literal.0.trim_start().starts_with('}') {
                return Err(damaged());
            }
        }
        let (Some(descr), Some(is_fortran), Some(shape)) = (descr, is_fortran, shape) else { return Err(damaged()) };
        Ok(Header { descr: descr.to_string(), dtype: Dtype::parse(descr)?, is_fortran, shape })
    }

    /// Rows and columns: a 1-D array is one column.
    fn rows_and_columns(&self) -> std::result::Result<(usize, usize), String> {
        match self.shape[..] {
            [n_rows] => Ok((n_rows, 1)),
            [n_rows, n_cols] => Ok((n_rows, n_cols)),
            _ => Err(format!(
                "its shape is {}; a table has 2 dimensions, rows and columns: save it with .reshape(len(X), -1)",
                tuple(&self.shape)
            )),
        }
    }

    /// Bytes of all values, or what is wrong with the shape.
    fn n_bytes(&self) -> std::result::Result<u64, String> {
        let shape = tuple(&self.shape);
        if self.shape.contains(&0) {
            return Err(format!("its shape is {shape}, so it holds no values; give at least one row and one column"));
        }
        let sizes = self.shape.iter().copied().chain([self.dtype.size]);
        let n_bytes = sizes.map(|size| size as u64).try_fold(1, u64::checked_mul);
        n_bytes
            .ok_or_else(|| format!("its shape is {shape}, more values than any file holds; write it with numpy.save"))
    }
}

/// A shape as Python writes it.
fn tuple(shape: &[usize]) -> String {
    match shape {
        [n] => format!("({n},)"),
        _ => format!("({})", shape.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
    }
}

/// The rest of a Python literal.
struct Literal<'a>(&'a str);

impl<'a> Literal<'a> {
    /// Skips a word, and blanks before it.
    fn eat(&mut self, word: &str) -> bool {
        let rest = self.0.trim_start().strip_prefix(word);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    fn string(&mut self) -> Option<&'a str> {
        let quote = if self.eat("'") { '\'' } else { self.eat("\"").then_some('"')? };
        let (text, rest) = self.0.split_once(quote)?;
        self.0 = rest;
        Some(text)
    }

    fn truth(&mut self) -> Option<bool> {
        if self.eat("True") { Some(true) } else { self.eat("False").then_some(false) }
    }

    /// A tuple of whole numbers; overflowing ones become the largest, which no file holds either.
    fn tuple(&mut self) -> Option<Vec<usize>> {
        let mut numbers = Vec::new();
        self.eat("(").then_some(())?;
        while !self.eat(")") {
            let text = self.0.trim_start();
            let end = text.find(|c: char| !c.is_ascii_digit()).filter(|&end| end > 0)?;
            numbers.push(text[..end].parse().unwrap_or(usize::MAX));
            self.0 = &text[end..];
            // Python 2 marked long numbers.
            self.eat("L");
            if !self.eat(",") && !self.0.trim_start().starts_with(')') {
                return None;
            }
        }
        Some(numbers)
    }
}

/// An array whose header has been read and whose values have not.
///
/// Memory is allocated as values arrive, so a header that promises more than the file holds costs nothing.
pub(super) struct Npy<R> {
    name: String,
    reader: R,
    header: Header,
}

impl<R: Read> Npy<R> {
    /// Reads up to the first value; `name` is used in messages.
    pub(super) fn open(mut reader: R, name: impl Into<String>) -> Result<Self> {
        let name = name.into();
        let start = take(&mut reader, &name, 8)?;
        if !start.starts_with(MAGIC) {
            return Err(Error::data(Place::file(name), not_an_array(&start)));
        }
        let width = match start[MAGIC.len()..] {
            [1, 0] => 2,
            [2 | 3, 0] => 4,
            [major, minor] => {
                let message =
                    format!("version {major}.{minor} of the .npy format is not known; save it again with numpy.save");
                return Err(Error::data(Place::file(name), message));
            }
            _ => return Err(cut_header(&name)),
        };
        let length = exactly(&mut reader, &name, width)?;
        let length = length.iter().rev().fold(0, |sum, &byte| sum << 8 | usize::from(byte));
        if length > MAX_HEADER {
            let message = format!("its header takes {length} bytes, that of a plain array a hundred; save it as one");
            return Err(Error::data(Place::file(name), message));
        }
        let text = exactly(&mut reader, &name, length)?;
        let header = Header::parse(&String::from_utf8_lossy(&text));
        let header = header.map_err(|message| Error::data(Place::file(&name), message))?;
        Ok(Npy { name, reader, header })
    }

    /// Number of dimensions.
    pub(super) fn n_dims(&self) -> usize {
        self.header.shape.len()
    }

    /// The values as rows and columns, a 1-D array as one column, using at most `limit` bytes.
    ///
    /// NaN is a missing value, infinity an error. An array in Fortran order is transposed, which briefly takes its
    /// memory twice.
    pub(super) fn into_matrix(mut self, limit: u64) -> Result<Matrix> {
        let (n_rows, n_cols) = self.header.rows_and_columns().map_err(|message| self.error(message))?;
        let (dtype, by_column) = (self.header.dtype, self.header.is_fortran);
        if dtype.is_text() {
            return Err(self.error("it holds texts; features are numbers: save it with .astype('float64')"));
        }
        let name = self.name.clone();
        let n_values = self.n_values()?;
        check_memory(&name, n_rows, n_cols, limit)?;
        let full = || out_of_memory(&name, n_rows, n_cols, n_values as u64 * 8, limit);
        let mut values: Vec<f64> = Vec::new();
        self.chunks(|bytes| {
            let (start, n) = (values.len(), bytes.len() / dtype.size);
            if values.capacity() - start < n {
                // As much as has arrived, never more than is to come.
                values.try_reserve_exact(start.max(n).min(n_values - start)).map_err(|_| full())?;
            }
            dtype.add_numbers(bytes, &mut values);
            match values[start..].iter().position(|value| value.is_infinite()) {
                Some(k) => Err(infinite(&name, start + k, values[start + k], [n_rows, n_cols], by_column)),
                None => Ok(()),
            }
        })?;
        match by_column {
            true => turned(&values, n_rows, n_cols).ok_or_else(full),
            false => Matrix::from_vec(n_rows, n_cols, values),
        }
    }

    /// A 1-D array of texts or whole numbers as labels, names or ids, using at most `limit` bytes.
    pub(super) fn into_texts(mut self, limit: u64) -> Result<Vec<String>> {
        if self.n_dims() != 1 {
            let shape = tuple(&self.header.shape);
            return Err(
                self.error(format!("its shape is {shape}; labels, names and ids have 1 dimension: use .ravel()"))
            );
        }
        let (name, dtype, n_values) = (self.name.clone(), self.header.dtype, self.n_values()?);
        let each = size_of::<String>() + dtype.size.max(20);
        let need = (n_values as u64).saturating_mul(each as u64);
        if need > limit {
            return Err(out_of_memory(&name, n_values, 1, need, limit));
        }
        let mut texts = Vec::new();
        self.chunks(|bytes| {
            for cell in bytes.chunks_exact(dtype.size) {
                let place = || Place::file(format!("{name}, row {}", texts.len() + 1));
                texts.push(dtype.label(cell).map_err(|message| Error::data(place(), message))?);
            }
            Ok(())
        })?;
        Ok(texts)
    }

    fn error(&self, message: impl Into<Message>) -> Error {
        Error::data(Place::file(&self.name), message)
    }

    fn n_values(&self) -> Result<usize> {
        let n_bytes = self.header.n_bytes().map_err(|message| self.error(message))?;
        let n_values = usize::try_from(n_bytes / self.header.dtype.size as u64);
        n_values.map_err(|_| self.error("it holds more values than this machine can count"))
    }

    /// Passes all values on in file order, a chunk at a time, and checks that the file ends after them.
    fn chunks(&mut self, mut each: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let size = self.header.dtype.size;
        let total = self.header.n_bytes().map_err(|message| self.error(message))?;
        let mut left = total;
        while left > 0 {
            let want = left.min((CHUNK / size * size) as u64);
            let bytes = take(&mut self.reader, &self.name, want as usize)?;
            left -= bytes.len() as u64;
            if (bytes.len() as u64) < want {
                return Err(self.wrong_size(format!("only {} are there: it is cut short", total - left), total));
            }
            each(&bytes)?;
        }
        match take(&mut self.reader, &self.name, 1)?.is_empty() {
            true => Ok(()),
            false => Err(self.wrong_size("more are there".to_string(), total)),
        }
    }

    fn wrong_size(&self, found: String, total: u64) -> Error {
        let (shape, descr) = (tuple(&self.header.shape), quoted(&self.header.descr));
        self.error(format!("its shape {shape} of {descr} needs {total} bytes, {found}; copy or save it again"))
    }
}

/// The next `n` bytes, fewer at the end.
fn take(reader: &mut impl Read, name: &str, n: usize) -> Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(n);
    match reader.by_ref().take(n as u64).read_to_end(&mut bytes) {
        Ok(_) => Ok(bytes),
        // Only compressed data can be corrupt in themselves.
        Err(error) if matches!(error.kind(), InvalidData | InvalidInput | UnexpectedEof) => {
            Err(Error::data(Place::file(name), "its data are damaged; copy or save the archive again"))
        }
        Err(error) => Err(Error::io("read", name, error)),
    }
}

fn not_an_array(start: &[u8]) -> String {
    let found = match start {
        [] => "the file is empty",
        [0x1f, 0x8b, ..] => "this is a gzip file, and arrays are read unpacked",
        _ => "this is no NumPy array: it does not begin with \\x93NUMPY",
    };
    format!("{found}; write it with numpy.save")
}

/// The next `n` bytes of the header.
fn exactly(reader: &mut impl Read, name: &str, n: usize) -> Result<Vec<u8>> {
    let bytes = take(reader, name, n)?;
    if bytes.len() == n { Ok(bytes) } else { Err(cut_header(name)) }
}

fn cut_header(name: &str) -> Error {
    Error::data(Place::file(name), "it ends inside its header; copy or save it again")
}

/// The error for value `k` in file order.
fn infinite(name: &str, k: usize, value: f64, [n_rows, n_cols]: [usize; 2], by_column: bool) -> Error {
    let (row, column) = if by_column { (k % n_rows, k / n_rows) } else { (k / n_cols, k % n_cols) };
    let place = Place::file(format!("{name}, row {}, column {}", row + 1, column + 1));
    Error::data(place, format!("{value} is infinite; correct it, or give NaN where a value is missing"))
}

/// The matrix whose concatenated columns are `values`; `None` if there is no memory for it.
fn turned(values: &[f64], n_rows: usize, n_cols: usize) -> Option<Matrix> {
    let mut matrix = Matrix::try_zeros(n_rows, n_cols)?;
    // A cache line of every row at a time.
    for (block, columns) in values.chunks(8 * n_rows).enumerate() {
        for i in 0..n_rows {
            let row = &mut matrix.row_mut(i)[8 * block..];
            for (value, column) in row.iter_mut().zip(columns.chunks_exact(n_rows)) {
                *value = column[i];
            }
        }
    }
    Some(matrix)
}

/// Reads a table: an array has no names, and label, groups and ids only if columns are given by position.
pub(super) fn read(reader: impl Read, source: &str, options: &ReadOptions) -> Result<Table> {
    let array = Npy::open(reader, source)?.into_matrix(options.limit())?;
    Parts::new(array).into_table(source, options)
}

#[cfg(test)]
pub(super) mod tests;
