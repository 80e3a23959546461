//! NumPy archives (`.npz`): zip files of named arrays, and the table they make.

use std::io::{self, Read};

use flate2::CrcReader;
use flate2::read::DeflateDecoder;

use super::binary::{Parts, whole};
use super::npy::Npy;
use super::options::ReadOptions;
use crate::data::table::Table;
use crate::data::table::words::{list, quoted};
use crate::error::{Error, Place, Result};

/// Names of the arrays of an archive; the first one present is used.
const FEATURES: [&str; 4] = ["X", "x", "data", "features"];
const LABELS: [&str; 5] = ["y", "label", "labels", "target", "class"];
const NAMES: [&str; 2] = ["names", "columns"];

/// One compressed array of an archive.
struct Entry<'a> {
    /// Its file name without `.npy`.
    name: String,
    method: usize,
    is_encrypted: bool,
    crc: u32,
    packed: &'a [u8],
}

/// The archive, held in memory, and its arrays.
struct Archive<'a> {
    source: &'a str,
    entries: Vec<Entry<'a>>,
}

/// Decompressed bytes; at the end, their checksum must match the archive's.
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

/// A little-endian 16-bit number.
fn short(bytes: &[u8], at: usize) -> Option<usize> {
    Some(usize::from(u16::from_le_bytes(bytes.get(at..)?.first_chunk().copied()?)))
}

/// A little-endian 32-bit number.
fn long(bytes: &[u8], at: usize) -> Option<usize> {
    usize::try_from(u32::from_le_bytes(bytes.get(at..)?.first_chunk().copied()?)).ok()
}

/// The arrays listed at the end of a zip file; `None` if the file is damaged.
fn entries(zip: &[u8]) -> Option<Vec<Entry<'_>>> {
    // The last record is followed by a comment of at most 65,535 bytes.
    let tail = zip.len().saturating_sub(22 + 65_535);
    let end = tail + zip[tail..].windows(4).rposition(|window| window == b"PK\x05\x06")?;
    zip.get(end..end + 22)?;
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

/// The bytes of the entry whose local record starts at `at`.
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
            return refuse(
                "the zip archive holds no NumPy arrays (.npy); unpack it, save a workbook as CSV, or write arrays with \
                 numpy.savez",
            );
        }
        if entries.iter().any(|entry| entry.name == "indptr") {
            return refuse("this is a SciPy sparse matrix; save X.toarray() with numpy.savez, or write LIBSVM text");
        }
        Ok(Archive { source, entries })
    }

    fn names(&self) -> Vec<&str> {
        self.entries.iter().map(|entry| entry.name.as_str()).collect()
    }

    /// The first array with one of these names.
    fn find(&self, names: &[&str]) -> Option<&Entry<'a>> {
        names.iter().find_map(|name| self.entries.iter().find(|entry| entry.name == *name))
    }

    fn array<'b>(&self, entry: &Entry<'b>) -> Result<Npy<impl Read + use<'b>>> {
        let name = format!("{}: array {}", self.source, quoted(&entry.name));
        let reader: Box<dyn Read + 'b> = match entry.method {
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

    /// The array of features: by its name, else the only 2-D array.
    fn features(&self) -> Result<&Entry<'a>> {
        if let Some(entry) = self.find(&FEATURES) {
            return Ok(entry);
        }
        let mut tables = Vec::new();
        for entry in &self.entries {
            // An array that cannot be read is not the table, unless requested by name.
            if self.array(entry).is_ok_and(|array| array.n_dims() == 2) {
                tables.push(entry);
            }
        }
        if let [entry] = tables[..] {
            return Ok(entry);
        }
        let message = format!(
            "the archive holds the arrays {}, {} of them with 2 dimensions; call the one with the features X",
            list(&self.names(), 8),
            if tables.is_empty() { "none".to_string() } else { tables.len().to_string() }
        );
        Err(Error::data(Place::file(self.source), message))
    }

    /// The array named by an option, else the first with a known name.
    fn told(&self, option: &str, options: &ReadOptions, known: &[&str]) -> Result<Option<&Entry<'a>>> {
        let wanted = options.told().find(|told| told.0 == option);
        let found = wanted.and_then(|(_, wanted)| self.find(&[wanted]));
        match wanted {
            // One of several joined files need not have the arrays named in the options.
            Some((_, wanted)) if found.is_none() && options.part.is_none() => {
                let (source, names) = (self.source, list(&self.names(), 8));
                Err(Error::param(option, format!("{source} has no array {}; it holds {names}", quoted(wanted))))
            }
            _ => Ok(found.or_else(|| self.find(known))),
        }
    }

    /// The texts of an array, which must have `n` of them; messages call these `what`.
    fn texts(&self, entry: &Entry<'_>, n: usize, what: &str, options: &ReadOptions) -> Result<Vec<String>> {
        let texts = self.array(entry)?.into_texts(options.limit())?;
        if texts.len() != n {
            let place = Place::file(format!("{}: array {}", self.source, quoted(&entry.name)));
            return Err(Error::data(
                place,
                format!("it has {} entries for {n} {what}; give one for each", texts.len()),
            ));
        }
        Ok(texts)
    }
}

/// The parts of a table in an archive.
fn parts(zip: &[u8], source: &str, options: &ReadOptions) -> Result<Parts> {
    let archive = Archive::open(zip, source)?;
    let array = archive.array(archive.features()?)?.into_matrix(options.limit())?;
    let texts = |entry: &Entry<'_>, n, what| archive.texts(entry, n, what, options);
    let names = archive.find(&NAMES).map(|entry| texts(entry, array.n_cols(), "columns")).transpose()?;
    let ids = archive.told("id", options, &["ids"])?;
    let ids = ids.map(|entry| texts(entry, array.n_rows(), "rows")).transpose()?;
    let named = |entry: &Entry<'_>| Ok((entry.name.clone(), texts(entry, array.n_rows(), "rows")?));
    let groups = archive.told("groups", options, &[])?.map(named).transpose()?;
    let labels = archive.told("label", options, &LABELS)?;
    let labels = labels.filter(|_| !options.unlabelled).map(named).transpose()?;
    let told = options.told().filter(|(option, wanted)| *option != "ignore" && archive.find(&[wanted]).is_some());
    let told = told.map(|(option, wanted)| (option, wanted.to_string())).collect();
    Ok(Parts { array, names, labels, groups, ids, told })
}

/// Reads an archive: all bytes first, because its contents are listed at its end.
pub(super) fn read(reader: impl Read, source: &str, options: &ReadOptions) -> Result<Table> {
    let zip = whole(reader, source, options.limit())?;
    let parts = parts(&zip, source, options)?;
    drop(zip);
    // Label, groups and ids are arrays here, not columns.
    parts.into_table(source, &ReadOptions { label: None, groups: None, id: None, ..options.clone() })
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use proptest::prelude::*;

    use super::*;
    use crate::data::read::npy::tests::{assert_matrix, expected, file, raw, strings};

    fn parts(zip: &[u8]) -> Result<Parts> {
        super::parts(zip, "f.npz", &ReadOptions { memory: Some(1 << 20), ..Default::default() })
    }

    fn message(zip: &[u8]) -> String {
        parts(zip).map(|_| ()).unwrap_err().to_string()
    }

    /// A zip file of these files, each with its method (0 or 8), compressed bytes and checksum.
    fn zip(files: &[(&str, u16, Vec<u8>, u32)]) -> Vec<u8> {
        let (mut bytes, mut list) = (Vec::new(), Vec::new());
        for (name, method, packed, crc) in files {
            let mut record = vec![20, 0, 0, 0];
            record.extend(method.to_le_bytes());
            record.extend([0; 4]);
            record.extend(crc.to_le_bytes());
            record.extend((packed.len() as u32).to_le_bytes());
            // The uncompressed size, which nothing here depends on.
            record.extend([0; 4]);
            record.extend((name.len() as u16).to_le_bytes());
            record.extend([0; 2]);
            list.extend([b"PK\x01\x02\x14\0", &record[..], &[0; 10], &(bytes.len() as u32).to_le_bytes()].concat());
            list.extend(name.bytes());
            bytes.extend([b"PK\x03\x04", &record[..], name.as_bytes(), packed].concat());
        }
        let n = (files.len() as u16).to_le_bytes();
        let (size, at) = ((list.len() as u32).to_le_bytes(), (bytes.len() as u32).to_le_bytes());
        [&bytes[..], &list, b"PK\x05\x06\0\0\0\0", &n, &n, &size, &at, b"\0\0"].concat()
    }

    fn crc(bytes: &[u8]) -> u32 {
        let mut crc = flate2::Crc::new();
        crc.update(bytes);
        crc.sum()
    }

    fn stored(files: &[(&str, Vec<u8>)]) -> Vec<u8> {
        let files: Vec<_> = files.iter().map(|(name, bytes)| (*name, 0, bytes.clone(), crc(bytes))).collect();
        zip(&files)
    }

    fn deflated(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    /// An array of bytes.
    fn array(shape: &str, data: &[u8]) -> Vec<u8> {
        raw(&format!("{{'descr': '|u1', 'fortran_order': False, 'shape': {shape}, }}"), data)
    }

    #[test]
    fn archives_of_numpy_have_the_parts_numpy_says() {
        let all = expected();
        for name in ["whole.npz", "packed.npz"] {
            let (found, expected) = (parts(&file(name)).unwrap(), &all[name]);
            assert_matrix(&found.array, &expected["X"], name);
            assert_eq!(found.names.unwrap(), strings(&expected["names"]));
            assert_eq!(found.labels.unwrap(), ("y".to_string(), strings(&expected["y"])));
            assert_eq!(found.ids.unwrap(), strings(&expected["ids"]));
        }
        let (found, expected) = (parts(&file("bare.npz")).unwrap(), &all["bare.npz"]);
        assert_matrix(&found.array, &expected["measurements"], "bare.npz");
        assert_eq!(found.labels.unwrap(), ("target".to_string(), strings(&expected["target"])));
        assert!(found.names.is_none() && found.ids.is_none());
    }

    #[test]
    fn features_and_labels_found_by_name() {
        let table = |value: u8| array("(1, 1)", &[value]);
        let row = |value: u8| array("(1,)", &[value]);
        let files = [("a.npy", table(1)), ("features.npy", table(2)), ("x.npy", table(3)), ("notes.txt", vec![0])];
        assert_eq!(parts(&stored(&files)).unwrap().array.data(), [3.0]);
        assert_eq!(parts(&stored(&files[..2])).unwrap().array.data(), [2.0]);
        assert_eq!(parts(&stored(&files[..1])).unwrap().array.data(), [1.0]);
        let zip = stored(&[("class.npy", row(4)), ("X.npy", table(0)), ("y.npy", row(5)), ("z.npy", row(6))]);
        assert_eq!(parts(&zip).unwrap().labels, Some(("y".to_string(), vec!["5".to_string()])));
        let with = |label: &str, unlabelled| {
            let options = ReadOptions { label: Some(label.into()), unlabelled, ..Default::default() };
            super::parts(&zip, "f.npz", &options).map(|parts| parts.labels)
        };
        assert_eq!(with("z", false).unwrap(), Some(("z".to_string(), vec!["6".to_string()])));
        assert_eq!(with("z", true).unwrap(), None);
        assert_eq!(
            with("q", false).unwrap_err().to_string(),
            "parameter label: f.npz has no array 'q'; it holds class, X, y, z"
        );
    }

    #[test]
    fn archives_are_tables_like_any_other() {
        let table = |options: &ReadOptions| crate::data::read_from(&file("packed.npz")[..], "d/packed.npz", options);
        let whole = table(&ReadOptions::default()).unwrap();
        assert_eq!((whole.name.as_str(), whole.source.as_str()), ("packed", "d/packed.npz"));
        assert_eq!(whole.samples.names(), ["age", "dose"]);
        assert_eq!(whole.samples.ids().unwrap(), ["11", "7", "9"]);
        assert_eq!(
            (whole.labels.clone().unwrap().join(" "), whole.samples.n_missing()),
            ("case control case".into(), 1)
        );
        assert_eq!(whole.notes, ["missing values: 1, in 1 of 2 columns"]);
        let set = whole.into_dataset().unwrap();
        assert_eq!(set.label_name.as_deref(), Some("y"));
        // Its own model reads it again, in the order of the model.
        let mut expect = set.expect();
        expect.names.reverse();
        let turned = table(&ReadOptions::expecting(expect)).unwrap();
        assert_eq!(turned.samples.features().to_dense().unwrap().column(1), [1.5, 2.5, 0.0]);
        assert_eq!(turned.labels.unwrap()[1], "control");
        let options = ReadOptions { unlabelled: true, ..Default::default() };
        assert!(table(&options).unwrap().labels.is_none());
        let options = ReadOptions { groups: Some("y".into()), ..Default::default() };
        let grouped = table(&options).unwrap();
        assert_eq!((grouped.groups, grouped.group_name.as_deref()), (grouped.labels, Some("y")));
        let options = ReadOptions { label: Some("ids".into()), id: Some("y2".into()), ..Default::default() };
        assert_eq!(
            table(&options).unwrap_err().to_string(),
            "parameter id: d/packed.npz has no array 'y2'; it holds X, y, names, ids"
        );
    }

    #[test]
    fn archives_are_joined_with_other_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        std::fs::write(path("a.npz"), file("packed.npz")).unwrap();
        std::fs::write(path("b.csv"), "id,batch,q\n7,u,5\n9,v,6\n11,u,4\n").unwrap();
        let views = [("a", "a.npz"), ("b", "b.csv")];
        let views = views.map(|(name, file)| crate::data::ViewSource { name: name.into(), source: path(file) });
        let options = ReadOptions { label: Some("y".into()), groups: Some("batch".into()), ..Default::default() };
        let table = crate::data::read_views(&views, None, &options).unwrap();
        assert_eq!(table.samples.names(), ["a:age", "a:dose", "b:q"]);
        assert_eq!(table.samples.ids().unwrap(), ["11", "7", "9"]);
        assert_eq!(table.samples.features().to_dense().unwrap().column(2), [4.0, 5.0, 6.0]);
        assert_eq!(table.labels.unwrap(), ["case", "control", "case"]);
        assert_eq!(table.groups.unwrap(), ["u", "u", "v"]);
        let options = ReadOptions { label: Some("z".into()), ..options };
        let message = crate::data::read_views(&views, None, &options).unwrap_err().to_string();
        assert!(message.starts_with("parameter label: no column 'z' in "), "{message}");
    }

    #[test]
    fn malformed_archives_refused() {
        let x = ("X.npy", array("(2, 1)", &[1, 2]));
        let damaged = "f.npz: the zip archive is damaged, cut short, or larger than 4 GiB; save it again with numpy.savez, or \
                       large arrays with numpy.save";
        let whole = stored(std::slice::from_ref(&x));
        let data_damaged = "f.npz: array 'X': its data are damaged; copy or save the archive again";
        let packed = deflated(&x.1);
        let cut = packed[..packed.len() - 3].to_vec();
        let mut encrypted = whole.clone();
        let at = encrypted.windows(4).position(|window| window == b"PK\x01\x02").unwrap();
        encrypted[at + 8] = 1;
        for (zip, expected) in [
            (b"PK\x03\x04".to_vec(), damaged),
            (whole[..whole.len() - 1].to_vec(), damaged),
            (whole[1..].to_vec(), damaged),
            (
                stored(&[("xl/workbook.xml", vec![])]),
                "f.npz: the zip archive holds no NumPy arrays (.npy); unpack it, save a workbook as CSV, or write arrays with \
                 numpy.savez",
            ),
            (
                stored(&[("data.npy", vec![]), ("indptr.npy", vec![])]),
                "f.npz: this is a SciPy sparse matrix; save X.toarray() with numpy.savez, or write LIBSVM text",
            ),
            (encrypted, "f.npz: array 'X': it is encrypted; save it again with numpy.savez"),
            (
                zip(&[("X.npy", 12, vec![], 0)]),
                "f.npz: array 'X': it is packed by zip method 12; save it again with numpy.savez_compressed",
            ),
            (zip(&[("X.npy", 0, x.1.clone(), 1)]), data_damaged),
            (zip(&[("X.npy", 8, packed.clone(), 1)]), data_damaged),
            (zip(&[("X.npy", 8, cut, crc(&x.1))]), data_damaged),
            (zip(&[("X.npy", 8, b"\xff\xff".to_vec(), 0)]), data_damaged),
            (
                stored(&[("X.npy", b"PK".to_vec())]),
                "f.npz: array 'X': this is no NumPy array: it does not begin with \\x93NUMPY; write it with numpy.save",
            ),
            (
                stored(&[("X.npy", array("(2, 1)", &[1]))]),
                "f.npz: array 'X': its shape (2, 1) of '|u1' needs 2 bytes, only 1 are there: it is cut short; copy or save it \
                 again",
            ),
            (
                stored(&[("a.npy", array("(1,)", &[1])), ("b.npy", vec![])]),
                "f.npz: the archive holds the arrays a, b, none of them with 2 dimensions; call the one with the features X",
            ),
            (
                stored(&[("a.npy", array("(1, 1)", &[1])), ("b.npy", array("(1, 1)", &[1]))]),
                "f.npz: the archive holds the arrays a, b, 2 of them with 2 dimensions; call the one with the features X",
            ),
            (
                stored(&[x.clone(), ("y.npy", array("(3,)", &[1, 2, 3]))]),
                "f.npz: array 'y': it has 3 entries for 2 rows; give one for each",
            ),
            (
                stored(&[x.clone(), ("y.npy", array("(2, 1)", &[1, 2]))]),
                "f.npz: array 'y': its shape is (2, 1); labels, names and ids have 1 dimension: use .ravel()",
            ),
            (
                stored(&[x.clone(), ("columns.npy", array("(2,)", &[1, 2]))]),
                "f.npz: array 'columns': it has 2 entries for 1 columns; give one for each",
            ),
            (
                stored(&[x.clone(), ("ids.npy", array("(1,)", &[1]))]),
                "f.npz: array 'ids': it has 1 entries for 2 rows; give one for each",
            ),
        ] {
            assert_eq!(message(&zip), expected);
        }
        // The same archives are valid before they are broken as above.
        for zip in [zip(&[("X.npy", 8, packed, crc(&x.1))]), [&whole[..], b"a comment"].concat(), whole] {
            assert_eq!(parts(&zip).unwrap().array.data(), [1.0, 2.0]);
        }
    }

    #[test]
    fn little_that_unpacks_to_much_is_refused_before() {
        let zeros = deflated(&array("(100000, 1000)", &vec![0; 100_000_000]));
        assert!(zeros.len() < 1 << 19);
        assert_eq!(
            message(&zip(&[("X.npy", 8, zeros, 0)])),
            "f.npz: array 'X': a table of 100000 rows and 1000 columns needs 763.0 MiB but 1.0 MiB may be used; allow more \
             memory, or use fewer rows or columns"
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1_000))]

        #[test]
        fn arbitrary_bytes_never_panic(
            bytes in prop::collection::vec(any::<u8>(), 0..100),
            edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
            cut in any::<prop::sample::Index>(), packed: bool,
        ) {
            let array = array("(2, 1)", &[1, 2]);
            let (method, data) = if packed { (8, deflated(&array)) } else { (0, array.clone()) };
            let mut whole = zip(&[("X.npy", method, data, crc(&array)), ("y.npy", 0, bytes.clone(), crc(&bytes))]);
            for (at, byte) in edits {
                let at = at.index(whole.len());
                whole[at] = byte;
            }
            let cut = &whole[..cut.index(whole.len())];
            for zip in [&whole[..], cut, &bytes, &[&b"PK\x03\x04"[..], &bytes, &whole].concat()] {
                if let Ok(parts) = parts(zip) {
                    prop_assert!(parts.array.n_rows() > 0);
                    prop_assert!(parts.labels.is_none_or(|(_, labels)| labels.len() == parts.array.n_rows()));
                }
            }
        }
    }
}
