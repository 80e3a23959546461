//! Detecting the format of a file: from its first bytes, its name, its first lines.

use std::path::Path;

use super::options::Format;
use super::text::{HEAD, Source};
use super::{fasta, libsvm, npy, xlsx};
use crate::error::{Error, Place, Result};

/// The name without a final `.gz`.
fn unpacked(name: &str) -> &str {
    match name.len().checked_sub(3).and_then(|at| name.split_at_checked(at)) {
        Some((rest, ending)) if ending.eq_ignore_ascii_case(".gz") => rest,
        _ => name,
    }
}

/// Detects the format of a file from its first bytes and its name; a workbook is a zip archive as NumPy's are.
pub(super) fn of_file(head: &[u8], name: &str) -> Option<Format> {
    let named = by_ending(name);
    match by_magic(head) {
        Some(Format::Npz) if named == Some(Format::Xlsx) => named,
        magic => magic.or(named),
    }
}

/// Detects binary files; words that a text may start with are not enough.
pub(super) fn by_magic(head: &[u8]) -> Option<Format> {
    const KNOWN: [(&[u8], Format); 5] = [
        (npy::MAGIC, Format::Npy),
        (b"PK\x03\x04", Format::Npz),
        (b"PK\x05\x06", Format::Npz),
        (b"PAR1\x15", Format::Parquet),
        (b"ARROW1\0\0", Format::Arrow),
    ];
    KNOWN.iter().find(|(magic, _)| head.starts_with(magic)).map(|&(_, format)| format)
}

pub(super) fn by_ending(name: &str) -> Option<Format> {
    let (file, _) = xlsx::split_sheet(name);
    let (_, ending) = unpacked(file).rsplit_once('.')?;
    match ending.to_ascii_lowercase().as_str() {
        "csv" => Some(Format::Csv),
        "tsv" | "tab" => Some(Format::Tsv),
        "svm" | "libsvm" | "svmlight" | "scale" | "t" | "tr" | "val" => Some(Format::Libsvm),
        "npy" => Some(Format::Npy),
        "npz" => Some(Format::Npz),
        "parquet" => Some(Format::Parquet),
        "arrow" | "feather" => Some(Format::Arrow),
        "xlsx" | "xlsm" => Some(Format::Xlsx),
        "fasta" | "fa" | "fna" | "faa" => Some(Format::Fasta),
        _ => None,
    }
}

/// File extensions that indicate nothing but the format.
const ENDINGS: [&str; 17] = [
    "csv", "tsv", "tab", "svm", "libsvm", "svmlight", "npy", "npz", "parquet", "arrow", "feather", "xlsx", "xlsm",
    "fasta", "fa", "fna", "faa",
];

pub(in crate::data) fn short_name(name: &str) -> String {
    let (name, _) = xlsx::split_sheet(name);
    let file = Path::new(name).file_name().map_or_else(|| name.to_string(), |file| file.to_string_lossy().into_owned());
    let short = unpacked(&file);
    match short.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() && ENDINGS.contains(&&*ending.to_ascii_lowercase()) => {
            stem.to_string()
        }
        _ => short.to_string(),
    }
}

/// The non-blank lines at the start of a text, the last without its last word if it may be cut off.
fn head_lines(head: &[u8]) -> Vec<String> {
    let cut = head.len() >= HEAD;
    let text = String::from_utf8_lossy(head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head)).into_owned();
    let mut lines: Vec<String> =
        text.split(['\n', '\r']).map(str::trim).filter(|line| !line.is_empty()).map(str::to_string).collect();
    if let Some(last) = lines.last_mut().filter(|_| cut) {
        last.truncate(last.rfind(char::is_whitespace).unwrap_or(last.len()));
    }
    lines
}

/// What a line reveals about the format of its text.
pub(super) enum Says {
    /// The format.
    Is(Format),
    /// No supported format.
    Unknown,
    /// Nothing: it is blank, a comment or a single word.
    Nothing,
}

/// What a trimmed line reveals about the format.
pub(super) fn says(line: &str) -> Says {
    match line {
        _ if line.starts_with('#') => Says::Nothing,
        _ if fasta::looks_like(line) => Says::Is(Format::Fasta),
        _ if libsvm::looks_like(line) => Says::Is(Format::Libsvm),
        _ if line.contains('\t') => Says::Is(Format::Tsv),
        _ if line.contains([',', ';', '|']) => Says::Is(Format::Csv),
        _ if line.contains(char::is_whitespace) => Says::Unknown,
        _ => Says::Nothing,
    }
}

/// Detects the format from the first line that has more than one word or cell.
pub(super) fn sniff(source: &Source<'_>) -> Result<Format> {
    let lines = head_lines(&source.head);
    for line in &lines {
        match says(line) {
            Says::Is(format) => return Ok(format),
            Says::Unknown => {
                return Err(Error::data(
                    Place::file(source.name),
                    "the first line is neither LIBSVM (label index:value ...) nor separated by commas, semicolons, tabs or \
                     bars; save it with commas between the cells, or give the format",
                ));
            }
            Says::Nothing => {}
        }
    }
    if lines.is_empty() {
        return Err(Error::data(Place::file(source.name), "the file is empty; give at least one row"));
    }
    // One word per line: labels without a single value are not a table, so this can only be one column.
    Ok(Format::Csv)
}

/// Semicolon or bar if the first line has one and commas can only be decimal; tab if it has no other delimiter.
pub(super) fn csv_delimiter(head: &[u8]) -> char {
    let lines = head_lines(head);
    // Quoted pieces are every second one between quotes and may contain anything.
    let bare: String = lines.first().map_or(String::new(), |line| line.split('"').step_by(2).collect());
    let decimal = |cell: &str| cell.matches(',').count() <= 1;
    let splits = |mark: char| bare.contains(mark) && bare.split(mark).all(decimal);
    match () {
        () if splits(';') => ';',
        () if splits('|') => '|',
        () if bare.contains('\t') && !bare.contains(',') => '\t',
        () => ',',
    }
}
