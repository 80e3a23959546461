//! The container: written with equal bytes for equal records, read with every check before any content is trusted.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::Read;
use std::path::Path;

use safetensors::tensor::{Metadata, TensorView};
use safetensors::{Dtype, SafeTensors};
use serde_json::{Map, Value, json};

use super::disk::{check_writable, resolved, write_atomic};
use super::record::{Array, Record};
use crate::error::{Error, Result};

/// Highest layout version that is read: a file with a higher one is rejected, all lower ones stay readable. A file is
/// written with the lowest version that can hold it, so that older programs read what they can.
pub const FORMAT_VERSION: u64 = 5;

/// The metadata key that marks a file as ours.
const MAGIC: &str = "multikernel";

/// The field of our JSON text that covers all others and every array.
const CHECKSUM: &str = "checksum";

/// The content of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A trained model, for prediction.
    Model,
    /// A state in the middle of a run, for resuming.
    Checkpoint,
    /// One plan on one split of an evaluation.
    Part,
    /// A message between a run and a partition of its rows.
    Partition,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Kind::Model => "model",
            Kind::Checkpoint => "checkpoint",
            Kind::Part => "part",
            Kind::Partition => "partition",
        }
    }
}

/// Writes a record as a model or checkpoint file: a reader sees the whole new file or the old one, never a part.
/// Equal records give equal bytes.
pub fn write(path: &Path, kind: Kind, record: &Record) -> Result<()> {
    write_atomic(path, &bytes(kind, record).map_err(|error| Error::file(path, error.to_string()))?)
}

/// The bytes of a model or checkpoint file.
pub fn bytes(kind: Kind, record: &Record) -> Result<Vec<u8>> {
    let bytes: Vec<Vec<u8>> = record.arrays.values().map(raw).collect();
    let mut views = BTreeMap::new();
    for ((name, array), bytes) in record.arrays.iter().zip(&bytes) {
        let (dtype, shape) = kind_of(array);
        let view = TensorView::new(dtype, shape.to_vec(), bytes)
            .map_err(|error| Error::input(format!("array `{name}` cannot be stored: {error}")))?;
        views.insert(name.clone(), view);
    }
    let mut header = json!({
        "kind": kind.word(),
        "format_version": record.version,
        "multikernel_version": env!("CARGO_PKG_VERSION"),
        "values": record.values,
    });
    header[CHECKSUM] = json!(checksum(&header, &views));
    // One metadata key: the container keeps metadata in a hash map, and several keys would be written in random order.
    let metadata = HashMap::from([(MAGIC.to_string(), header.to_string())]);
    safetensors::serialize(views, Some(metadata)).map_err(|error| Error::input(format!("cannot be stored: {error}")))
}

/// Refuses to overwrite a file that is neither a model nor a checkpoint: a mistyped name must not cost anyone's data.
pub fn check_replaceable(path: &Path) -> Result<()> {
    check_writable(path)?;
    let mut head = vec![];
    let target = resolved(path);
    if !target.is_file() {
        return Ok(());
    }
    let read = File::open(&target).and_then(|file| file.take(HEAD as u64).read_to_end(&mut head));
    read.map_err(|error| Error::io("read", path, error))?;
    if head.is_empty() || has_magic(&head) {
        return Ok(());
    }
    let looks = looks_like(&head);
    Err(Error::file(
        path,
        format!("exists and looks like {looks}, not like a multikernel file; give another name or remove it"),
    ))
}

/// Number of leading bytes that identify a file of ours.
const HEAD: usize = 512;

/// Where the header of a container starts, after its length.
const HEADER_START: usize = 8;

/// Longer headers are refused by the container's reader.
const MAX_HEADER: usize = 100_000_000;

/// Whether the first bytes are those of a container with our key.
fn has_magic(content: &[u8]) -> bool {
    let head = String::from_utf8_lossy(content.get(8..content.len().min(HEAD)).unwrap_or_default());
    head.contains("\"__metadata__\":{\"multikernel\"")
}

/// Reads a model or checkpoint file; checks that it is ours, of the requested kind, of a known version and undamaged.
pub fn read(path: &Path, kind: Kind) -> Result<Record> {
    let content = content(path).map_err(|error| Error::io("read", path, error))?;
    parse(path, &content, kind)
}

/// The bytes of a container, as many as its header says and one more if there are more; of any other file the first
/// bytes, which tell what it is. So neither a device without end nor a header that lies takes more memory than bytes
/// have come.
fn content(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let mut content = vec![];
    file.by_ref().take(HEAD as u64).read_to_end(&mut content)?;
    let Some(length) = header_length(&content) else { return Ok(content) };
    let more = (HEADER_START + length).saturating_sub(content.len());
    file.by_ref().take(more as u64).read_to_end(&mut content)?;
    let header = content.get(HEADER_START..HEADER_START + length);
    let metadata = header.and_then(|header| serde_json::from_slice::<Metadata>(header).ok());
    let Some(metadata) = metadata else { return Ok(content) };
    let total = (HEADER_START + length).saturating_add(metadata.data_len()).saturating_add(1);
    let more = total.saturating_sub(content.len());
    // A file on disk that is shorter is told from its length; one that is not gets its memory at once or an error.
    if file.metadata().is_ok_and(|found| found.is_file() && found.len() >= total as u64 - 1) {
        content.try_reserve_exact(more).map_err(|_| std::io::Error::from(std::io::ErrorKind::OutOfMemory))?;
    }
    file.take(more as u64).read_to_end(&mut content)?;
    Ok(content)
}

/// The length of a container's header, if the first bytes can be those of a container.
fn header_length(head: &[u8]) -> Option<usize> {
    let (length, rest) = head.split_first_chunk::<HEADER_START>()?;
    let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
    (length <= MAX_HEADER && rest.first() == Some(&b'{')).then_some(length)
}

/// [`read`] for bytes already in memory; `path` is their name in messages.
pub fn parse(path: &Path, content: &[u8], kind: Kind) -> Result<Record> {
    let mut header = header(path, content)?;
    check_header(path, kind, &header)?;
    let tensors = SafeTensors::deserialize(content).map_err(|error| damaged(path, &error.to_string()))?;
    let views: BTreeMap<String, TensorView<'_>> = tensors.tensors().into_iter().collect();
    let version = header.get("format_version").and_then(Value::as_u64).unwrap_or(FORMAT_VERSION);
    let stated = header.remove(CHECKSUM);
    let mut header = Value::Object(header);
    // Random bytes never have the right checksum: a fuzzer would never get past it.
    if !cfg!(fuzzing) && stated != Some(json!(checksum(&header, &views))) {
        return Err(damaged(path, "its checksum does not fit its content"));
    }
    let mut record = Record { version, ..Record::default() };
    if let Value::Object(values) = header["values"].take() {
        record.values = values;
    }
    for (name, view) in views {
        // An array without values may state any length beside its 0: work grows with it, the file does not.
        if let Some(length) = view.shape().iter().find(|&&length| length > content.len()) {
            return Err(damaged(
                path,
                &format!("array `{name}` has a length of {length}, more than the file has bytes"),
            ));
        }
        let array = array(path, &name, &view)?;
        record.arrays.insert(name, array);
    }
    Ok(record)
}

fn damaged(path: &Path, why: &str) -> Error {
    Error::file(path, format!("is damaged ({why}); copy it again or train again"))
}

/// Our JSON text from the metadata, or an error that says what the file looks like instead.
fn header(path: &Path, content: &[u8]) -> Result<Map<String, Value>> {
    let foreign = || {
        let looks = looks_like(content);
        Error::file(
            path,
            format!("not a multikernel model: it looks like {looks}; give a file written by `multikernel train`"),
        )
    };
    let Ok((_, metadata)) = SafeTensors::read_metadata(content) else {
        // A truncated container of ours still shows the magic key in its first bytes.
        return Err(if has_magic(content) { damaged(path, "it is shorter or longer than it says") } else { foreign() });
    };
    let metadata = metadata.metadata().as_ref();
    let text = metadata.and_then(|map| map.get(MAGIC)).ok_or_else(foreign)?;
    if let Some(other) = metadata.and_then(|map| map.keys().find(|key| *key != MAGIC)) {
        return Err(damaged(path, &format!("its metadata has a key {other:?} beside ours, which no version writes")));
    }
    match serde_json::from_str(text) {
        Ok(Value::Object(header)) => Ok(header),
        _ => Err(damaged(path, "its metadata is not a JSON object")),
    }
}

fn check_header(path: &Path, kind: Kind, header: &Map<String, Value>) -> Result<()> {
    let version = header.get("format_version").and_then(Value::as_u64);
    match version {
        Some(version) if version <= FORMAT_VERSION => {}
        Some(version) => {
            let writer = header.get("multikernel_version").and_then(Value::as_str).unwrap_or("a later version");
            return Err(Error::file(
                path,
                format!(
                    "has format version {version}, written by multikernel {writer}; this is multikernel {}, which reads \
                     versions 1 to {FORMAT_VERSION}: update multikernel",
                    env!("CARGO_PKG_VERSION")
                ),
            ));
        }
        None => return Err(damaged(path, "it has no format version")),
    }
    let found = header.get("kind").and_then(Value::as_str).unwrap_or("file of unknown kind");
    if found != kind.word() {
        let help = match kind {
            Kind::Model => "resume the run to get a model",
            Kind::Checkpoint => "name the checkpoint of an unfinished run",
            Kind::Part => "name a part of an evaluation",
            Kind::Partition => "name a message between a run and a partition",
        };
        return Err(Error::file(path, format!("is a multikernel {found}, not a {}; {help}", kind.word())));
    }
    Ok(())
}

fn kind_of(array: &Array) -> (Dtype, &[usize]) {
    match array {
        Array::F64 { shape, .. } => (Dtype::F64, shape),
        Array::U64 { shape, .. } => (Dtype::U64, shape),
    }
}

fn raw(array: &Array) -> Vec<u8> {
    match array {
        Array::F64 { data, .. } => data.iter().flat_map(|value| value.to_le_bytes()).collect(),
        Array::U64 { data, .. } => data.iter().flat_map(|value| value.to_le_bytes()).collect(),
    }
}

fn array(path: &Path, name: &str, view: &TensorView<'_>) -> Result<Array> {
    let shape = view.shape().to_vec();
    let words = view.data().chunks_exact(8).map(|chunk| {
        let mut word = [0u8; 8];
        word.copy_from_slice(chunk);
        word
    });
    match view.dtype() {
        Dtype::F64 => Ok(Array::F64 { shape, data: words.map(f64::from_le_bytes).collect() }),
        Dtype::U64 => Ok(Array::U64 { shape, data: words.map(u64::from_le_bytes).collect() }),
        other => Err(damaged(path, &format!("array `{name}` has type {other:?}, only F64 and U64 are written"))),
    }
}

fn checksum(header: &Value, arrays: &BTreeMap<String, TensorView<'_>>) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(header.to_string().as_bytes());
    for (name, view) in arrays {
        hasher.update(format!("\n{name} {:?} {:?}\n", view.dtype(), view.shape()).as_bytes());
        hasher.update(view.data());
    }
    hasher.finalize().to_hex().to_string()
}

/// What a file that is not ours looks like, from its first bytes.
fn looks_like(content: &[u8]) -> &'static str {
    let text = String::from_utf8_lossy(&content[..content.len().min(512)]).into_owned();
    let first = text.lines().next().unwrap_or("").trim();
    let pairs = |line: &str| line.split_whitespace().nth(1).is_some_and(|token| token.contains(':'));
    match content {
        [] => "an empty file",
        [0x80, 2..=5, ..] => "a Python pickle",
        [b'P', b'K', 3, 4, ..] => "a zip archive (.npz, or a PyTorch or Excel file)",
        [0x93, b'N', b'U', b'M', b'P', b'Y', ..] => "a numpy array (.npy)",
        [0x89, b'H', b'D', b'F', ..] => "an HDF5 file",
        [0x1f, 0x8b, ..] => "a gzip file",
        [b'P', b'A', b'R', b'1', ..] => "a Parquet file",
        _ if text.starts_with("svm_type") => "a LIBSVM model",
        _ if text.starts_with("solver_type") => "a LIBLINEAR model",
        _ if header_length(content).is_some_and(|length| length > 0) => "a safetensors file of another program",
        _ if text.contains('\u{fffd}') || text.contains('\0') => "a binary file of an unknown kind",
        _ if first.starts_with(['{', '[']) => "a JSON file",
        _ if pairs(first) => "LIBSVM data",
        _ if first.contains([',', ';', '\t']) => "a table of data (CSV or TSV)",
        _ => "a text file",
    }
}

#[cfg(test)]
mod tests {
    use super::super::disk::is_same;
    use super::*;

    fn sample() -> Record {
        let mut record = Record::default();
        record.put("alpha", &vec![0.25, -1.0, f64::NAN]);
        record.put("empty", &crate::linalg::Matrix::zeros(0, 3));
        record.put("names", &vec!["a".to_string(), "b".to_string()]);
        record
    }

    fn saved(folder: &tempfile::TempDir) -> std::path::PathBuf {
        let path = folder.path().join("m.multikernel");
        write(&path, Kind::Model, &sample()).unwrap();
        path
    }

    #[test]
    fn file_written_twice_has_equal_bytes_and_reads_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = saved(&folder);
        let first = std::fs::read(&path).unwrap();
        write(&path, Kind::Model, &sample()).unwrap();
        assert_eq!(first, std::fs::read(&path).unwrap());
        let back = read(&path, Kind::Model).unwrap();
        assert_eq!(back.values, sample().values);
        assert!(back.take::<Vec<f64>>("alpha").unwrap()[2].is_nan());
        assert_eq!(back.take::<crate::linalg::Matrix>("empty").unwrap().n_cols(), 3);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no partial file stays");
    }

    #[test]
    fn file_with_any_byte_changed_or_cut_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = saved(&folder);
        let whole = std::fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x10;
            std::fs::write(&path, &bytes).unwrap();
            assert!(read(&path, Kind::Model).is_err(), "byte {at} of {} changed and nobody saw it", whole.len());
        }
        for length in 0..whole.len() {
            std::fs::write(&path, &whole[..length]).unwrap();
            assert!(read(&path, Kind::Model).is_err(), "{length} of {} bytes were accepted", whole.len());
        }
    }

    #[test]
    fn foreign_files_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("foreign");
        let cases: [(&[u8], &str); 9] = [
            (b"svm_type c_svc\nkernel_type rbf\n", "a LIBSVM model"),
            (b"solver_type L2R_LR\n", "a LIBLINEAR model"),
            (b"\x80\x04\x95\x10", "a Python pickle"),
            (b"PK\x03\x04....", "a zip archive"),
            (b"\x93NUMPY\x01\x00", "a numpy array"),
            (b"", "an empty file"),
            (b"+1 1:0.5 3:0.25\n", "LIBSVM data"),
            (b"x1,x2,label\n1,2,a\n", "a table of data"),
            (b"{\"learner\": 1}", "a JSON file"),
        ];
        for (content, name) in cases {
            std::fs::write(&path, content).unwrap();
            let message = read(&path, Kind::Model).unwrap_err().to_string();
            assert!(message.contains(&format!("it looks like {name}")), "{message}");
        }
    }

    #[test]
    fn array_without_values_has_no_length_beyond_the_file() {
        for shape in [[1 << 60, 0], [1 << 33, 0], [0, 1 << 60], [300_000_000, 0]] {
            let mut record = sample();
            record.arrays.insert("empty".into(), Array::F64 { shape: shape.to_vec(), data: vec![] });
            let bytes = bytes(Kind::Model, &record).unwrap();
            let message = parse(Path::new("m"), &bytes, Kind::Model).unwrap_err().to_string();
            assert!(message.contains("array `empty` has a length of"), "{message}");
        }
    }

    #[test]
    fn metadata_of_others_beside_ours_is_refused() {
        let bytes = bytes(Kind::Model, &sample()).unwrap();
        let header = header(Path::new("m"), &bytes).unwrap();
        let key = "\u{1b}[2J".to_string();
        let metadata = HashMap::from([(MAGIC.to_string(), Value::Object(header).to_string()), (key, "x".into())]);
        let bytes = safetensors::serialize(Vec::<(String, TensorView<'_>)>::new(), Some(metadata)).unwrap();
        let message = parse(Path::new("m"), &bytes, Kind::Model).unwrap_err().to_string();
        assert!(message.contains(r#"a key "\u{1b}[2J" beside ours"#), "{message}");
    }

    #[cfg(unix)]
    #[test]
    fn files_without_an_end_are_read_as_far_as_they_can_be_ours() {
        let message = read(Path::new("/dev/zero"), Kind::Model).unwrap_err().to_string();
        assert!(message.contains("it looks like a binary file of an unknown kind"), "{message}");
        // A header that promises little, then more than it promised: holes cost no disk.
        let folder = tempfile::tempdir().unwrap();
        let path = saved(&folder);
        let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        file.set_len(1 << 40).unwrap();
        let message = read(&path, Kind::Model).unwrap_err().to_string();
        assert!(message.contains("it is shorter or longer than it says"), "{message}");
    }

    #[test]
    fn file_of_the_other_kind_or_a_later_version_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = saved(&folder);
        let message = read(&path, Kind::Checkpoint).unwrap_err().to_string();
        assert!(message.contains("is a multikernel model, not a checkpoint"), "{message}");

        let header = json!({"kind": "model", "format_version": 99, "multikernel_version": "9.0.0"}).to_string();
        let metadata = HashMap::from([(MAGIC.to_string(), header)]);
        let views: Vec<(String, TensorView<'_>)> = vec![];
        std::fs::write(&path, safetensors::serialize(views, Some(metadata)).unwrap()).unwrap();
        let message = read(&path, Kind::Model).unwrap_err().to_string();
        assert!(message.contains("format version 99, written by multikernel 9.0.0"), "{message}");
    }

    #[test]
    fn file_of_somebody_else_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.csv");
        std::fs::write(&path, "a,b\n1,2\n").unwrap();
        let message = check_replaceable(&path).unwrap_err().to_string();
        assert!(message.contains("exists and looks like a table of data (CSV or TSV)"), "{message}");
        check_replaceable(&saved(&folder)).unwrap();
        check_replaceable(&folder.path().join("new")).unwrap();
        assert!(is_same(&path, &folder.path().join(".").join("rows.csv")));
        assert!(!is_same(&path, &folder.path().join("new")));
    }

    #[test]
    fn write_to_a_folder_that_is_absent_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        assert!(check_writable(&folder.path().join("no/m")).is_err());
        assert!(check_writable(folder.path()).is_err());
        check_writable(&folder.path().join("m")).unwrap();
        let message = write(&folder.path().join("no/m"), Kind::Model, &sample()).unwrap_err().to_string();
        assert!(message.starts_with("cannot write"), "{message}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
