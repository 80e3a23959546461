//! NumPy archives (`.npz`): zip files of named arrays, and the table they make.

use std::io::{self, Read};

use flate2::CrcReader;
use flate2::read::DeflateDecoder;

use super::npy::Npy;
use super::read::{ReadOptions, Table, within};
use super::text::{list, quoted};
use super::{Samples, delimited};
use crate::error::{Error, Place, Result};
use crate::linalg::Matrix;

/// What the arrays of an archive are called, the first that is there being taken.
const FEATURES: [&str; 4] = ["X", "x", "data", "features"];
const LABELS: [&str; 5] = ["y", "label", "labels", "target", "class"];
const NAMES: [&str; 2] = ["names", "columns"];

/// One array of an archive, packed.
struct Entry<'a> {
    /// Its file's name without `.npy`.
    name: String,
    method: usize,
    is_encrypted: bool,
    crc: u32,
    packed: &'a [u8],
}

/// The archive, all in memory, and its arrays.
struct Archive<'a> {
    source: &'a str,
    entries: Vec<Entry<'a>>,
}

/// Unpacked bytes; at their end the check sum must be the one of the archive.
struct Checked<R: Read> {
    reader: CrcReader<R>,
    crc: u32,
}

impl<R: Read> Read for Checked<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let n = self.reader.read(out)?;
        if n == 0 && !out.is_empty() && self.reader.crc().sum() != self.crc {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "check sum"));
        }
        Ok(n)
    }
}

/// Two bytes as a number, lowest first.
fn short(bytes: &[u8], at: usize) -> Option<usize> {
    Some(usize::from(u16::from_le_bytes(bytes.get(at..)?.first_chunk().copied()?)))
}

/// Four bytes as a number, lowest first.
fn long(bytes: &[u8], at: usize) -> Option<usize> {
    usize::try_from(u32::from_le_bytes(bytes.get(at..)?.first_chunk().copied()?)).ok()
}

/// The arrays listed at the end of a zip file; `None` where the file is damaged.
fn entries(zip: &[u8]) -> Option<Vec<Entry<'_>>> {
    // The last record is followed by a comment of at most 65,535 bytes.
    let tail = zip.len().saturating_sub(22 + 65_535);
    let end = tail + zip[tail..].windows(4).rposition(|window| window == b"PK\x05\x06")?;
    let (n_entries, mut at) = (short(zip, end + 10)?, long(zip, end + 16)?);
    let mut entries = Vec::new();
    for _ in 0..n_entries {
        let record = zip.get(at..)?;
        record.starts_with(b"PK\x01\x02").then_some(())?;
        let name_end = 46 + short(record, 28)?;
        let name = String::from_utf8_lossy(record.get(46..name_end)?).into_owned();
        if let Some(name) = name.strip_suffix(".npy") {
            entries.push(Entry {
                name: name.to_string(),
                method: short(record, 10)?,
                is_encrypted: short(record, 8)? & 1 == 1,
                crc: u32::try_from(long(record, 16)?).ok()?,
                packed: packed(zip, long(record, 42)?, long(record, 20)?)?,
            });
        }
        at += name_end + short(record, 30)? + short(record, 32)?;
    }
    Some(entries)
}

/// The bytes of the entry whose local record begins at `at`.
fn packed(zip: &[u8], at: usize, size: usize) -> Option<&[u8]> {
    let record = zip.get(at..)?;
    record.starts_with(b"PK\x03\x04").then_some(())?;
    let start = 30 + short(record, 26)? + short(record, 28)?;
    record.get(start..start.checked_add(size)?)
}

impl<'a> Archive<'a> {
    fn open(zip: &'a [u8], source: &'a str) -> Result<Self> {
        let refuse = |message: &str| Err(Error::data(Place::file(source), message));
        let Some(entries) = entries(zip) else {
            return refuse(
                "the zip archive is damaged, cut short, or larger than 4 GiB; save it again with numpy.savez, or large \
                 arrays with numpy.save",
            );
        };
        if entries.is_empty() {
            return refuse("the zip archive holds no NumPy arrays; unpack it, or write one with numpy.savez");
        }
        if entries.iter().any(|entry| entry.name == "indptr") {
            return refuse("this is a SciPy sparse matrix; save X.toarray() with numpy.savez, or write LIBSVM text");
        }
        Ok(Archive { source, entries })
    }

    fn names(&self) -> Vec<&str> {
        self.entries.iter().map(|entry| entry.name.as_str()).collect()
    }

    /// The first array of these names.
    fn find(&self, names: &[&str]) -> Option<&Entry<'a>> {
        names.iter().find_map(|name| self.entries.iter().find(|entry| entry.name == *name))
    }

    fn array(&self, entry: &Entry<'a>) -> Result<Npy<impl Read>> {
        let name = format!("{}: array {}", self.source, quoted(&entry.name));
        let reader: Box<dyn Read + 'a> = match entry.method {
            _ if entry.is_encrypted => {
                return Err(Error::data(Place::file(name), "it is encrypted; save it again with numpy.savez"));
            }
            0 => Box::new(entry.packed),
            8 => Box::new(DeflateDecoder::new(entry.packed)),
            method => {
                let message = format!("it is packed by zip method {method}; save it again with numpy.savez_compressed");
                return Err(Error::data(Place::file(name), message));
            }
        };
        Npy::open(Checked { reader: CrcReader::new(reader), crc: entry.crc }, name)
    }

    /// The array of features: by its name, else the only one of 2 dimensions.
    fn features(&self) -> Result<&Entry<'a>> {
        if let Some(entry) = self.find(&FEATURES) {
            return Ok(entry);
        }
        let mut tables = Vec::new();
        for entry in &self.entries {
            // An array that cannot be read is not the table, unless it is asked for by name.
            if self.array(entry).is_ok_and(|array| array.n_dims() == 2) {
                tables.push(entry);
            }
        }
        if let [entry] = tables[..] {
            return Ok(entry);
        }
        let message = format!(
            "the archive holds {}, of which {} have 2 dimensions; call the array of features X",
            list(&self.names(), 8),
            tables.len()
        );
        Err(Error::data(Place::file(self.source), message))
    }

    /// The labels: the array a person named, else the one known by its name.
    fn labels(&self, options: &ReadOptions) -> Result<Option<&Entry<'a>>> {
        match &options.label {
            _ if options.unlabelled => Ok(None),
            None => Ok(self.find(&LABELS)),
            Some(wanted) => self.find(&[wanted]).map(Some).ok_or_else(|| {
                let (source, names) = (self.source, list(&self.names(), 8));
                Error::param("label", format!("{source} has no array {}; it holds {names}", quoted(wanted)))
            }),
        }
    }

    /// The texts of an array, as many as there are `what`.
    fn texts(&self, entry: &Entry<'a>, n: usize, what: &str, options: &ReadOptions) -> Result<Vec<String>> {
        let texts = self.array(entry)?.into_texts(options.limit())?;
        if texts.len() != n {
            let place = Place::file(format!("{}: array {}", self.source, quoted(&entry.name)));
            return Err(Error::data(place, format!("it has {} entries for {n} {what}; give one for each", texts.len())));
        }
        Ok(texts)
    }
}

/// Reads an archive that lies in memory.
pub(super) fn read(zip: &[u8], source: &str, options: &ReadOptions) -> Result<Table> {
    let archive = Archive::open(zip, source)?;
    let features = archive.array(archive.features()?)?.into_matrix(options.limit())?;
    let (n_rows, n_cols) = (features.n_rows(), features.n_cols());
    let names = archive.find(&NAMES).map(|entry| archive.texts(entry, n_cols, "columns", options)).transpose()?;
    let labels = archive.labels(options)?;
    let label_name = labels.map(|entry| entry.name.clone());
    let labels = labels.map(|entry| archive.texts(entry, n_rows, "rows", options)).transpose()?;
    let ids = archive.find(&["ids"]).map(|entry| archive.texts(entry, n_rows, "rows", options)).transpose()?;
    let table = table(features, names, source, options)?;
    Ok(Table { labels, label_name, ..table })
}

/// A table of features without labels, seen through the options.
pub(super) fn table(
    features: Matrix,
    names: Option<Vec<String>>,
    source: &str,
    options: &ReadOptions,
) -> Result<Table> {
    let only = ReadOptions { unlabelled: true, label: None, ..options.clone() };
    let roles = delimited::roles(source, features.n_cols(), names, &only)?;
    let is_whole = roles.features.iter().copied().eq(0..features.n_cols());
    let features = if is_whole { features } else { features.select_cols(&roles.features) };
    Ok(Table {
        name: source.to_string(),
        source: source.to_string(),
        samples: Samples::new(features, roles.names).map_err(|error| within(source, error))?,
        labels: None,
        label_name: None,
        index_base: None,
        notes: roles.notes,
    })
}
