//! NumPy archives (`.npz`): zip files of named arrays, and the table they make.

use std::io::{Cursor, Read};

use zip::result::ZipResult;
use zip::{CompressionMethod, ZipArchive};

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

/// One array of an archive.
#[derive(Clone)]
struct Entry {
    /// Its file name without `.npy`.
    name: String,
    /// Its position in the archive.
    index: usize,
    method: CompressionMethod,
    is_encrypted: bool,
}

/// The archive, held in memory, and its arrays.
struct Archive<'a> {
    source: &'a str,
    zip: ZipArchive<Cursor<&'a [u8]>>,
    entries: Vec<Entry>,
}

/// The arrays of an archive, and whether it is an Excel workbook instead.
fn entries(zip: &mut ZipArchive<Cursor<&[u8]>>) -> ZipResult<(Vec<Entry>, bool)> {
    let (mut entries, mut is_workbook) = (vec![], false);
    for index in 0..zip.len() {
        let file = zip.by_index_raw(index)?;
        let name = String::from_utf8_lossy(file.name_raw()).into_owned();
        is_workbook |= name == "xl/workbook.xml";
        if let Some(name) = name.strip_suffix(".npy") {
            let (method, is_encrypted) = (file.compression(), file.encrypted());
            entries.push(Entry { name: name.to_string(), index, method, is_encrypted });
        }
    }
    Ok((entries, is_workbook))
}

impl<'a> Archive<'a> {
    fn open(zip: &'a [u8], source: &'a str) -> Result<Self> {
        let refuse = |message: &str| Err(Error::data(Place::file(source), message));
        let opened = ZipArchive::new(Cursor::new(zip)).and_then(|mut zip| Ok((entries(&mut zip)?, zip)));
        let Ok(((entries, is_workbook), zip)) = opened else {
            return refuse("the zip archive is damaged or cut short; copy it again, or save it with numpy.savez");
        };
        if is_workbook {
            return refuse("this is an Excel workbook; give its name the extension .xlsx");
        }
        if entries.is_empty() {
            return refuse("the zip archive holds no NumPy arrays (.npy); unpack it, or write arrays with numpy.savez");
        }
        if entries.iter().any(|entry| entry.name == "indptr") {
            return refuse("this is a SciPy sparse matrix; save X.toarray() with numpy.savez, or write LIBSVM text");
        }
        Ok(Archive { source, zip, entries })
    }

    fn names(&self) -> Vec<&str> {
        self.entries.iter().map(|entry| entry.name.as_str()).collect()
    }

    /// The first array with one of these names.
    fn find(&self, names: &[&str]) -> Option<Entry> {
        names.iter().find_map(|name| self.entries.iter().find(|entry| entry.name == *name)).cloned()
    }

    /// An array whose values are still to be read: nothing is allocated for them yet.
    fn array(&mut self, entry: &Entry) -> Result<Npy<impl Read>> {
        let name = format!("{}: array {}", self.source, quoted(&entry.name));
        let refuse = |message: String| Err(Error::data(Place::file(name.clone()), message));
        match entry.method {
            _ if entry.is_encrypted => return refuse("it is encrypted; save it again with numpy.savez".into()),
            CompressionMethod::Stored | CompressionMethod::Deflated => {}
            method => {
                return refuse(format!("it is packed as {method}; save it again with numpy.savez_compressed"));
            }
        }
        match self.zip.by_index(entry.index) {
            Ok(file) => Npy::open(file, name),
            Err(_) => refuse("its data are damaged; copy or save the archive again".into()),
        }
    }

    /// The array of features: by its name, else the only 2-D array.
    fn features(&mut self) -> Result<Entry> {
        if let Some(entry) = self.find(&FEATURES) {
            return Ok(entry);
        }
        let mut tables = self.entries.clone();
        // An array that cannot be read is not the table, unless requested by name.
        tables.retain(|entry| self.array(entry).is_ok_and(|array| array.n_dims() == 2));
        if let [entry] = &tables[..] {
            return Ok(entry.clone());
        }
        let message = format!(
            "the archive holds the arrays {}, {} of them with 2 dimensions; call the one with the features X",
            list(&self.names(), 8),
            if tables.is_empty() { "none".to_string() } else { tables.len().to_string() }
        );
        Err(Error::data(Place::file(self.source), message))
    }

    /// The array named by an option, else the first with a known name.
    fn told(&self, option: &str, options: &ReadOptions, known: &[&str]) -> Result<Option<Entry>> {
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
    fn texts(&mut self, entry: &Entry, n: usize, what: &str, options: &ReadOptions) -> Result<Vec<String>> {
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
    let mut archive = Archive::open(zip, source)?;
    let features = archive.features()?;
    let array = archive.array(&features)?.into_matrix(options.limit())?;
    let names = archive.find(&NAMES);
    let names = names.map(|entry| archive.texts(&entry, array.n_cols(), "columns", options)).transpose()?;
    let n_rows = array.n_rows();
    let ids = archive.told("id", options, &["ids"])?;
    let ids = ids.map(|entry| archive.texts(&entry, n_rows, "rows", options)).transpose()?;
    let groups = archive.told("groups", options, &[])?;
    let labels = archive.told("label", options, &LABELS)?.filter(|_| !options.unlabelled);
    let mut named = |entry: Entry| Ok((entry.name.clone(), archive.texts(&entry, n_rows, "rows", options)?));
    let groups = groups.map(&mut named).transpose()?;
    let labels = labels.map(named).transpose()?;
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
            let unpacked = match method {
                8 => std::io::copy(&mut flate2::read::DeflateDecoder::new(&packed[..]), &mut std::io::sink())
                    .unwrap_or(0),
                _ => packed.len() as u64,
            };
            record.extend((unpacked as u32).to_le_bytes());
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
        let damaged = "f.npz: the zip archive is damaged or cut short; copy it again, or save it with numpy.savez";
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
                stored(&[("notes.txt", vec![])]),
                "f.npz: the zip archive holds no NumPy arrays (.npy); unpack it, or write arrays with numpy.savez",
            ),
            (
                stored(&[("xl/workbook.xml", vec![])]),
                "f.npz: this is an Excel workbook; give its name the extension .xlsx",
            ),
            (
                stored(&[("data.npy", vec![]), ("indptr.npy", vec![])]),
                "f.npz: this is a SciPy sparse matrix; save X.toarray() with numpy.savez, or write LIBSVM text",
            ),
            (encrypted, "f.npz: array 'X': it is encrypted; save it again with numpy.savez"),
            (
                zip(&[("X.npy", 12, vec![], 0)]),
                "f.npz: array 'X': it is packed as Bzip2; save it again with numpy.savez_compressed",
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
        assert!(zeros.len() < 1 << 20);
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
