//! Lines of text from any source, and the words for what is wrong with them.

use std::io::{self, BufRead, BufReader, Cursor, Read};

use crate::error::{Error, Place, Result};

/// A line longer than this (1 GiB) is no table.
const MAX_LINE: usize = 1 << 30;

/// How much of a text is looked at to tell its format.
const HEAD: u64 = 1 << 16;

/// A text opened for reading: decompressed, known not to be binary, its beginning at hand.
pub(super) struct Source<'a> {
    pub(super) name: &'a str,
    /// The beginning, at most 64 KiB.
    pub(super) head: Vec<u8>,
    reader: Box<dyn Read + 'a>,
    gzip: bool,
}

impl<'a> Source<'a> {
    /// Looks at the first bytes: gzip is unpacked whatever the name, binary files are refused with their kind.
    pub(super) fn open(reader: impl Read + 'a, name: &'a str) -> Result<Self> {
        Source::open_as(reader, name, "data are read as LIBSVM, CSV or TSV text, plain or gzip, or as .npy or .npz")
    }

    /// [`Source::open`] of a text that is no table; `allowed` says what is read, for the message about another file.
    pub(super) fn open_as(reader: impl Read + 'a, name: &'a str, allowed: &str) -> Result<Self> {
        let failed = |gzip| move |error| broken(name, gzip, 0, error);
        let (magic, reader) = peek(reader, 2).map_err(failed(false))?;
        let gzip = magic == [0x1f, 0x8b];
        let reader: Box<dyn Read + 'a> =
            if gzip { Box::new(flate2::read::MultiGzDecoder::new(reader)) } else { Box::new(reader) };
        let (head, reader) = peek(reader, HEAD).map_err(failed(gzip))?;
        if let Some(kind) = foreign(&head) {
            return Err(Error::data(Place::file(name), format!("this is {kind}; {allowed}: convert it first")));
        }
        Ok(Source { name, head, reader: Box::new(reader), gzip })
    }

    pub(super) fn lines(self) -> Lines<'a> {
        Lines {
            name: self.name,
            reader: Box::new(BufReader::with_capacity(1 << 16, self.reader)),
            gzip: self.gzip,
            number: 0,
            line: Vec::new(),
            after_return: false,
        }
    }
}

/// The first `n` bytes (fewer at the end) and a reader that still gives them.
pub(super) fn peek<'a>(mut reader: impl Read + 'a, n: u64) -> io::Result<(Vec<u8>, impl Read + 'a)> {
    let mut head = Vec::new();
    reader.by_ref().take(n).read_to_end(&mut head)?;
    Ok((head.clone(), Cursor::new(head).chain(reader)))
}

fn broken(name: &str, gzip: bool, line: u64, error: io::Error) -> Error {
    use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
    if gzip && matches!(error.kind(), InvalidData | InvalidInput | UnexpectedEof) {
        let after = if line == 0 { String::new() } else { format!(" after line {line}") };
        let message = format!("the gzip data are damaged or cut short{after}; fetch the file again");
        return Error::data(Place::file(name), message);
    }
    Error::io("read", name, error)
}

/// What a file is that we do not read, by its first bytes.
fn foreign(head: &[u8]) -> Option<&'static str> {
    const MAGIC: [(&[u8], &str); 14] = [
        (b"PK\x03\x04", "a zip archive"),
        (b"BZh", "a bzip2 file"),
        (b"\xfd7zXZ\0", "an xz file"),
        (b"\x28\xb5\x2f\xfd", "a zstd file"),
        (b"\x93NUMPY", "a NumPy file"),
        (b"\x89HDF", "an HDF5 file"),
        (b"PAR1\x15", "a Parquet file"),
        (b"ARROW1\0\0", "an Arrow file"),
        (b"MATLAB 5.0", "a MATLAB file"),
        (b"SQLite format 3\0", "an SQLite file"),
        (b"%PDF-", "a PDF file"),
        (b"\x89PNG", "a PNG picture"),
        (b"\xff\xfe", "UTF-16 text"),
        (b"\xfe\xff", "UTF-16 text"),
    ];
    if let Some((_, kind)) = MAGIC.iter().find(|(magic, _)| head.starts_with(magic)) {
        return Some(kind);
    }
    if head.contains(&0) {
        return Some("a binary file");
    }
    let start = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    let word = |text: &str| start.get(..text.len()).is_some_and(|head| head.eq_ignore_ascii_case(text.as_bytes()));
    match () {
        () if word("<!doctype") || word("<html") || word("<?xml") => Some("an HTML or XML page"),
        () if word("@relation") => Some("an ARFF file"),
        () if ["{\"", "{\n", "[{", "[["].into_iter().any(word) => Some("a JSON file"),
        () => None,
    }
}

/// Lines with their numbers; `\n`, `\r\n` and a lone `\r` end a line, and a byte order mark is dropped.
pub(super) struct Lines<'a> {
    pub(super) name: &'a str,
    reader: Box<dyn BufRead + 'a>,
    gzip: bool,
    number: u64,
    line: Vec<u8>,
    after_return: bool,
}

impl Lines<'_> {
    /// The next line without its end; `None` after the last.
    pub(super) fn next(&mut self) -> Result<Option<&str>> {
        match self.fill() {
            Ok(false) => return Ok(None),
            Ok(true) => self.number += 1,
            Err(error) => return Err(broken(self.name, self.gzip, self.number, error)),
        }
        if self.line.len() >= MAX_LINE {
            let message = "the line is longer than 1 GiB; a text table has one row per line";
            return Err(Error::data(self.here(), message));
        }
        let place = self.here();
        let line = std::str::from_utf8(&self.line).map_err(|error| {
            let at = error.valid_up_to();
            let byte = self.line[at];
            Error::data(place, format!("byte {} (0x{byte:02X}) is not UTF-8 text; save the file as UTF-8", at + 1))
        })?;
        Ok(Some(if self.number == 1 { line.strip_prefix('\u{feff}').unwrap_or(line) } else { line }))
    }

    /// Number of the line last read, counted from 1.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// The line last read.
    pub(super) fn here(&self) -> Place {
        Place::line(self.name, self.number)
    }

    /// Fills `line`; false at the end of the text.
    fn fill(&mut self) -> io::Result<bool> {
        self.line.clear();
        loop {
            let mut chunk = match self.reader.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                chunk => chunk?,
            };
            if chunk.is_empty() {
                return Ok(!self.line.is_empty());
            }
            let skip = usize::from(self.after_return && chunk[0] == b'\n');
            self.after_return = false;
            chunk = &chunk[skip..];
            let end = chunk.iter().position(|&byte| byte == b'\n' || byte == b'\r');
            let text = &chunk[..end.unwrap_or(chunk.len())];
            self.line.extend_from_slice(text);
            self.after_return = end.is_some_and(|end| chunk[end] == b'\r');
            let used = skip + text.len() + usize::from(end.is_some());
            self.reader.consume(used);
            if end.is_some() || self.line.len() >= MAX_LINE {
                return Ok(true);
            }
        }
    }
}

/// The finite number a text stands for.
pub(super) fn finite(text: &str) -> Option<f64> {
    text.parse().ok().filter(|value: &f64| value.is_finite())
}

/// Whether a cell says that its value is not known.
pub(super) fn is_missing(cell: &str) -> bool {
    matches!(cell.to_ascii_lowercase().as_str(), "" | "na" | "n/a" | "nan" | "-nan" | "null" | "none" | "?" | "<na>")
}

/// Completes "the text ..." for a text that is no finite number.
pub(super) fn not_finite(text: &str) -> &'static str {
    match text.parse::<f64>() {
        Ok(_) if text.bytes().any(|byte| byte.is_ascii_digit()) => "is too large (numbers go up to 1.8e308)",
        Ok(_) => "is not a finite number",
        Err(_) if finite(&text.replacen(',', ".", 1)).is_some() => "is not a number (write decimals with a point)",
        Err(_) => "is not a number",
    }
}

/// A found text as an error shows it: in quotes, control characters made visible, cut after 40 characters.
pub(super) fn quoted(text: &str) -> String {
    let mut shown = String::from("'");
    for c in text.chars().take(40) {
        if c.is_control() { shown.extend(c.escape_debug()) } else { shown.push(c) }
    }
    shown + if text.chars().nth(40).is_some() { "...'" } else { "'" }
}

/// `1 column`, `2 columns`.
pub(super) fn columns(n: usize) -> String {
    format!("{n} column{}", if n == 1 { "" } else { "s" })
}

/// Names as an error shows them: at most `most`, then how many more.
pub(super) fn list<T: AsRef<str>>(names: &[T], most: usize) -> String {
    let shown: Vec<&str> = names.iter().take(most).map(AsRef::as_ref).collect();
    let more = names.len().saturating_sub(most);
    format!("{}{}", shown.join(", "), if more > 0 { format!(" and {more} more") } else { String::new() })
}

/// A column name, its entry in the check for repeated names, and room for both to grow.
const NAME_BYTES: u128 = 96;

/// Refuses a dense table that would need more than `limit` bytes, column names included.
pub(super) fn check_memory(name: &str, n_rows: usize, n_cols: usize, limit: u64) -> Result<()> {
    let need = n_rows as u128 * n_cols as u128 * 8 + n_cols as u128 * NAME_BYTES;
    check_need(name, n_rows, n_cols, need, limit)
}

/// Refuses sparse rows that would need more than `limit` bytes: 12 per stored value, 8 per row, and per column its name and
/// the value of its background.
pub(super) fn check_sparse_memory(name: &str, n_rows: usize, n_cols: usize, n_stored: usize, limit: u64) -> Result<()> {
    let need = n_stored as u128 * 12 + n_rows as u128 * 8 + n_cols as u128 * (NAME_BYTES + 8);
    check_need(name, n_rows, n_cols, need, limit)
}

fn check_need(name: &str, n_rows: usize, n_cols: usize, need: u128, limit: u64) -> Result<()> {
    if need > u128::from(limit) {
        return Err(out_of_memory(name, n_rows, n_cols, u64::try_from(need).unwrap_or(u64::MAX), limit));
    }
    Ok(())
}

/// The error for a table that does not fit.
pub(super) fn out_of_memory(name: &str, n_rows: usize, n_cols: usize, need: u64, limit: u64) -> Error {
    Error::Memory {
        what: format!("{name}: a table of {n_rows} rows and {n_cols} columns"),
        need,
        limit,
        help: "allow more memory, or use fewer rows or columns".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &[u8]) -> Vec<(u64, String)> {
        // One byte per read, so that every line end falls on a buffer border.
        struct Slow<'a>(&'a [u8]);
        impl Read for Slow<'_> {
            fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
                self.0.read(&mut out[..1])
            }
        }
        let collect = |mut lines: Lines<'_>| {
            let mut all = Vec::new();
            while let Some(line) = lines.next().unwrap().map(str::to_string) {
                all.push((lines.number(), line));
            }
            all
        };
        let fast = collect(Source::open(text, "t").unwrap().lines());
        let slow = Lines {
            name: "t",
            reader: Box::new(BufReader::with_capacity(1, Slow(text))),
            gzip: false,
            number: 0,
            line: Vec::new(),
            after_return: false,
        };
        assert_eq!(collect(slow), fast);
        fast
    }

    #[test]
    fn lines_all_line_ends_numbered_alike() {
        for end in ["\n", "\r\n", "\r"] {
            let text = ["\u{feff}a", "", "b", "c"].join(end);
            let expected = [(1, "a"), (2, ""), (3, "b"), (4, "c")].map(|(k, line)| (k, line.to_string()));
            assert_eq!(lines(text.as_bytes()), expected, "{end:?}");
            assert_eq!(lines((text + end).as_bytes()), expected, "{end:?}");
        }
        assert_eq!(lines(b""), []);
    }

    #[test]
    fn source_foreign_files_named() {
        let kind = |bytes: &[u8]| Source::open(bytes, "f").err().map(|error| error.to_string());
        assert_eq!(
            kind(b"PK\x03\x04rest").unwrap(),
            "f: this is a zip archive; data are read as LIBSVM, CSV or TSV text, plain or gzip, or as .npy or .npz: convert \
             it first"
        );
        for (bytes, what) in [
            (&b"\x93NUMPY\x01\0"[..], "a NumPy file"),
            (b"\xff\xfe1\0", "UTF-16 text"),
            (b"ab\0c", "a binary file"),
            (b"  <!DOCTYPE html>", "an HTML or XML page"),
            (b"@RELATION x", "an ARFF file"),
            (b"{\"a\": 1}", "a JSON file"),
            (b"[[1, 2]]", "a JSON file"),
        ] {
            assert!(kind(bytes).unwrap().contains(what), "{what}");
        }
        assert_eq!(kind(b"a,b\n1,2\n"), None);
    }

    #[test]
    fn quoted_long_or_odd_text_cut_and_escaped() {
        assert_eq!(quoted("a\nb"), "'a\\nb'");
        assert_eq!(quoted("it's"), "'it's'");
        assert_eq!(quoted(&"x".repeat(41)), format!("'{}...'", "x".repeat(40)));
    }
}
