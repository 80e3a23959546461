//! Lines of text from any source, and messages about faults in them.

use std::io::{self, BufRead, BufReader, Cursor, Read};

use crate::error::{Error, Place, Remedy, Result, gib, message};

/// The maximum length of a table's line.
const TABLE_LINE: u64 = 1 << 30;

/// The same for a stream, in which a line may never end: it is refused before it fills the memory.
const STREAM_LINE: u64 = 1 << 26;

/// A line may take this part of the memory allowed for a table: as cells it takes several times its length.
const LINE_PART: u64 = 8;

/// Lines of up to this length are always read.
const SHORT_LINE: u64 = 1 << 16;

/// How much of a text is examined to detect its format.
pub(super) const HEAD: usize = 1 << 16;

/// A text opened for reading: decompressed, known not to be binary, with its head buffered.
pub(super) struct Source<'a> {
    pub(super) name: &'a str,
    /// The first bytes, at most 64 KiB.
    pub(super) head: Vec<u8>,
    reader: Box<dyn Read + 'a>,
    gzip: bool,
}

impl<'a> Source<'a> {
    /// Examines the first bytes: gzip is decompressed whatever the name, binary files are refused with their kind.
    pub(super) fn open(reader: impl Read + 'a, name: &'a str) -> Result<Self> {
        Source::open_as(
            reader,
            name,
            "data are read as LIBSVM, CSV or TSV text, plain or gzip, or as .xlsx, .npy or .npz",
        )
    }

    /// [`Source::open`] for a text that is not a table; `allowed` names the supported input, for messages.
    pub(super) fn open_as(reader: impl Read + 'a, name: &'a str, allowed: &str) -> Result<Self> {
        let (gzip, reader) = unpacked(reader, name)?;
        let (head, reader) = peek(reader, HEAD as u64).map_err(|error| broken(name, gzip, 0, error))?;
        Source { name, head, reader: Box::new(reader), gzip }.checked(allowed)
    }

    /// [`Source::open`] for a text that may never end: its head goes up to the first line that `tells` enough, so that
    /// it waits for no more than that, and sees the same lines however the bytes arrive.
    pub(super) fn open_live(reader: impl Read + 'a, name: &'a str, tells: impl Fn(&str) -> bool) -> Result<Self> {
        let (gzip, mut reader) = unpacked(reader, name)?;
        let (mut read, mut seen, mut end) = (Vec::new(), 0, None);
        while end.is_none() && read.len() < HEAD {
            let mut piece = [0; 1 << 12];
            let n = match reader.read(&mut piece) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                n => n.map_err(|error| broken(name, gzip, 0, error))?,
            };
            if n == 0 {
                break;
            }
            read.extend_from_slice(&piece[..n]);
            end = line_that(&read, &mut seen, &tells);
        }
        let head = read[..end.unwrap_or(read.len()).min(HEAD)].to_vec();
        let reader = Box::new(Cursor::new(read).chain(reader));
        Source { name, head, reader, gzip }.checked("a stream is LIBSVM, CSV or TSV text, plain or gzip")
    }

    /// Refuses anything but text.
    fn checked(self, allowed: &str) -> Result<Self> {
        match foreign(&self.head) {
            Some(kind) => {
                Err(Error::data(Place::file(self.name), format!("this is {kind}; {allowed}: convert it first")))
            }
            None => Ok(self),
        }
    }

    /// The lines of a table that may take `memory` bytes.
    pub(super) fn lines(self, memory: u64) -> Lines<'a> {
        self.lines_up_to((memory / LINE_PART).clamp(SHORT_LINE, TABLE_LINE))
    }

    /// The lines of a stream.
    pub(super) fn live_lines(self) -> Lines<'a> {
        self.lines_up_to(STREAM_LINE)
    }

    fn lines_up_to(self, limit: u64) -> Lines<'a> {
        Lines {
            name: self.name,
            reader: BufReader::with_capacity(1 << 16, self.reader),
            gzip: self.gzip,
            number: 0,
            line: Vec::new(),
            reached: Reached::End,
            is_long: false,
            after_return: false,
            limit: usize::try_from(limit).unwrap_or(usize::MAX),
        }
    }
}

/// Whether the bytes are gzip, and the decompressed text.
fn unpacked<'a>(reader: impl Read + 'a, name: &str) -> Result<(bool, Box<dyn Read + 'a>)> {
    let (magic, reader) = peek(reader, 2).map_err(|error| broken(name, false, 0, error))?;
    if magic == [0x1f, 0x8b] {
        return Ok((true, Box::new(flate2::read::MultiGzDecoder::new(reader))));
    }
    Ok((false, Box::new(reader)))
}

/// The end of the first whole line that `tells` enough; lines before `seen` have already been tested.
fn line_that(text: &[u8], seen: &mut usize, tells: impl Fn(&str) -> bool) -> Option<usize> {
    while let Some(length) = text[*seen..].iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
        let line = &text[*seen..*seen + length];
        *seen += length + 1;
        if tells(String::from_utf8_lossy(line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line)).trim()) {
            return Some(*seen);
        }
    }
    None
}

/// The first `n` bytes (fewer at the end) and a reader that still yields them.
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

/// The kind of an unsupported file, by its first bytes.
fn foreign(head: &[u8]) -> Option<&'static str> {
    const MAGIC: [(&[u8], &str); 15] = [
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
        (b"\xd0\xcf\x11\xe0", "an old Excel workbook (.xls)"),
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

/// Numbered lines; `\n`, `\r\n` and a lone `\r` end a line, and a byte order mark is dropped.
pub(super) struct Lines<'a> {
    pub(super) name: &'a str,
    reader: BufReader<Box<dyn Read + 'a>>,
    gzip: bool,
    number: u64,
    line: Vec<u8>,
    /// How far the reader is in the line held in `line`.
    reached: Reached,
    /// Whether that line is too long to be held.
    is_long: bool,
    after_return: bool,
    /// The maximum length of a line, and of a row of several lines.
    limit: usize,
}

/// How much of a line has been read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reached {
    /// All of it.
    End,
    /// All available bytes, and nothing was dropped.
    Middle,
    /// As much as a line may have; the rest is skipped.
    Limit,
}

/// The result of looking for a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// A line, returned by [`Lines::text`].
    Line,
    /// The rest of the line has not arrived yet.
    Pause,
    /// There are no more lines.
    End,
}

impl Lines<'_> {
    /// The next line without its end; `None` after the last.
    pub(super) fn next(&mut self) -> Result<Option<&str>> {
        match self.advance(true)? {
            Found::Line => self.text().map(Some),
            Found::Pause | Found::End => Ok(None),
        }
    }

    /// Advances to the next line. Without `wait`, only through bytes already read.
    pub(super) fn advance(&mut self, wait: bool) -> Result<Found> {
        let found = self.fill(wait).map_err(|error| broken(self.name, self.gzip, self.number, error))?;
        self.number += u64::from(found == Found::Line);
        Ok(found)
    }

    /// The line last found, without its end. An error about it does not affect later lines.
    pub(super) fn text(&self) -> Result<&str> {
        if self.is_long {
            return Err(self.too_long(self.number, "line"));
        }
        let line = std::str::from_utf8(&self.line).map_err(|error| {
            let at = error.valid_up_to();
            let byte = self.line[at];
            let message = format!(
                "byte {} (0x{byte:02X}) is not UTF-8 text; save the file as UTF-8 (`iconv -f cp1252 -t utf-8 FILE > NEW`)",
                at + 1
            );
            Error::data(self.here(), message)
        })?;
        Ok(if self.number == 1 { line.strip_prefix('\u{feff}').unwrap_or(line) } else { line })
    }

    /// Refuses a row of several lines that is longer than a line may be; `began` is the first of them.
    pub(super) fn check_row(&self, length: usize, began: u64) -> Result<()> {
        if length < self.limit { Ok(()) } else { Err(self.too_long(began, "row that begins here")) }
    }

    fn too_long(&self, line: u64, what: &str) -> Error {
        let limit = gib(self.limit as u64);
        let found = format!("the {what} is longer than {limit}; a text table has one row per line: ");
        let message = match self.limit as u64 {
            // Only the memory that is allowed makes it shorter.
            ..STREAM_LINE => message![found, "check line ends and quotes, or raise ", Remedy::Memory],
            _ => message![found, "check line ends and quotes"],
        };
        Error::data(Place::line(self.name, line), message)
    }

    /// Number of the line last read, counted from 1.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// The line last read.
    pub(super) fn here(&self) -> Place {
        Place::line(self.name, self.number)
    }

    /// Fills `line`, or continues after a pause.
    fn fill(&mut self, wait: bool) -> io::Result<Found> {
        if self.reached == Reached::End {
            self.line.clear();
        }
        loop {
            if !wait && self.reader.buffer().is_empty() {
                return Ok(Found::Pause);
            }
            let mut chunk = match self.reader.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                chunk => chunk?,
            };
            if chunk.is_empty() {
                let begun = self.reached == Reached::Middle;
                self.reached = Reached::End;
                return Ok(if begun { Found::Line } else { Found::End });
            }
            let skip = usize::from(self.after_return && chunk[0] == b'\n');
            self.after_return = false;
            chunk = &chunk[skip..];
            let end = chunk.iter().position(|&byte| byte == b'\n' || byte == b'\r');
            let text = &chunk[..end.unwrap_or(chunk.len())];
            self.after_return = end.is_some_and(|end| chunk[end] == b'\r');
            if self.reached != Reached::Limit {
                self.line.extend_from_slice(text);
            }
            let used = skip + text.len() + usize::from(end.is_some());
            self.reader.consume(used);
            if self.reached == Reached::Limit {
                // The line has already been reported.
                self.reached = if end.is_some() { Reached::End } else { Reached::Limit };
                continue;
            }
            self.is_long = self.line.len() >= self.limit;
            self.reached = match end {
                Some(_) => Reached::End,
                None if self.is_long => Reached::Limit,
                None if self.line.is_empty() => Reached::End,
                None => Reached::Middle,
            };
            if self.is_long {
                self.line = Vec::new();
            }
            if self.is_long || end.is_some() {
                return Ok(Found::Line);
            }
        }
    }
}

#[cfg(test)]
mod tests;
