use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::Value;

use super::*;

const LIMIT: u64 = 1 << 20;

/// The contents of the files according to NumPy: per file and array, the shape with bits or texts.
pub(in crate::data::read) fn expected() -> BTreeMap<String, BTreeMap<String, Value>> {
    serde_json::from_slice(&file("expected.json")).unwrap()
}

pub(in crate::data::read) fn file(name: &str) -> Vec<u8> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/npy/");
    std::fs::read(format!("{folder}{name}")).unwrap()
}

pub(in crate::data::read) fn assert_matrix(found: &Matrix, expected: &Value, what: &str) {
    let shape = [found.n_rows(), found.n_cols()].map(Value::from).to_vec();
    assert_eq!(Value::from(shape), expected["shape"], "{what}");
    for (k, (value, bits)) in found.data().iter().zip(expected["bits"].as_array().unwrap()).enumerate() {
        assert_eq!(format!("{:016x}", value.to_bits()), bits.as_str().unwrap(), "{what}, value {k}");
    }
}

pub(in crate::data::read) fn strings(expected: &Value) -> Vec<String> {
    expected["texts"].as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_string()).collect()
}

/// A version 1.0 file with an arbitrary header.
pub(in crate::data::read) fn raw(header: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY\x01\0".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    [&bytes[..], header.as_bytes(), data].concat()
}

fn plain(descr: &str, order: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    raw(&format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}\n"), data)
}

fn floats(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn matrix(bytes: &[u8]) -> Result<Matrix> {
    Npy::open(bytes, "f.npy")?.into_matrix(LIMIT)
}

fn texts(bytes: &[u8]) -> Result<Vec<String>> {
    Npy::open(bytes, "f.npy")?.into_texts(LIMIT)
}

fn message<T: std::fmt::Debug>(result: Result<T>) -> String {
    result.unwrap_err().to_string()
}

#[test]
fn arrays_of_numpy_have_the_values_numpy_says() {
    let mut n_files = 0;
    for (name, arrays) in expected().iter().filter(|(name, _)| name.ends_with(".npy")) {
        let expected = &arrays[""];
        if expected["bits"].is_array() {
            assert_matrix(&matrix(&file(name)).unwrap(), expected, name);
        } else {
            assert_eq!(texts(&file(name)).unwrap(), strings(expected), "{name}");
        }
        n_files += 1;
    }
    assert_eq!(n_files, 32);
}

#[test]
fn whole_numbers_are_features_and_labels() {
    let bytes = file("labels-i2-big.npy");
    assert_eq!(matrix(&bytes).unwrap().data(), [-300.0, 300.0]);
    assert_eq!(texts(&bytes).unwrap(), ["-300", "300"]);
}

#[test]
fn other_spellings_of_the_header_read() {
    let data = floats(&[1.0, 2.0]);
    for header in [
        "{'descr':'<f8','fortran_order':False,'shape':(2,1)}",
        "{ \"shape\" : (2L, 1L,) , \"fortran_order\" : True , \"descr\" : \"<f8\" }   \n",
    ] {
        assert_eq!(matrix(&raw(header, &data)).unwrap().data(), [1.0, 2.0], "{header}");
    }
}

#[test]
fn fortran_order_turned_over_at_any_size() {
    for (n_rows, n_cols) in [(1, 5), (63, 2), (64, 3), (65, 9), (130, 1), (200, 70)] {
        let value = |i: usize, j: usize| (i * 1_000 + j) as f64;
        let columns: Vec<f64> = (0..n_cols).flat_map(|j| (0..n_rows).map(move |i| value(i, j))).collect();
        let bytes = plain("<f8", "True", &format!("({n_rows}, {n_cols})"), &floats(&columns));
        assert_eq!(matrix(&bytes).unwrap(), Matrix::from_fn(n_rows, n_cols, value), "{n_rows} x {n_cols}");
    }
}

#[test]
fn malformed_headers_refused() {
    let no_array = "f.npy: this is no NumPy array: it does not begin with \\x93NUMPY; write it with numpy.save";
    let cut = "f.npy: it ends inside its header; copy or save it again";
    let long = [&b"\x93NUMPY\x02\0"[..], &[0xff; 4]].concat();
    for (bytes, expected) in [
        (b"".to_vec(), "f.npy: the file is empty; write it with numpy.save"),
        (b"1,2\n3,4\n".to_vec(), no_array),
        (b"\x93NUMP".to_vec(), no_array),
        (
            b"\x1f\x8b\x08".to_vec(),
            "f.npy: this is a gzip file, and arrays are read unpacked; write it with numpy.save",
        ),
        (
            b"\x93NUMPY\x04\x01".to_vec(),
            "f.npy: version 4.1 of the .npy format is not known; save it again with numpy.save",
        ),
        (b"\x93NUMPY".to_vec(), cut),
        (b"\x93NUMPY\x01".to_vec(), cut),
        (b"\x93NUMPY\x01\0\x05".to_vec(), cut),
        (b"\x93NUMPY\x03\0\x05\0\0".to_vec(), cut),
        (raw("{'descr'", b"")[..14].to_vec(), cut),
        (long, "f.npy: its header takes 4294967295 bytes, that of a plain array a hundred; save it as one"),
        (plain("|O", "False", "(3,)", b"\x80\x04K\x01."), OBJECTS),
        (raw("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (3,), }", b""), STRUCTURED),
    ] {
        assert_eq!(message(matrix(&bytes)), expected);
    }
}

const OBJECTS: &str = "f.npy: it holds Python objects, which are not read because reading them would run what the file \
    says; save it with .astype('float64'), or labels, names and ids with .astype(str)";
const STRUCTURED: &str = "f.npy: it is a table of columns with types of their own (a structured array); save its columns \
    as one 2-D array of float64";

#[test]
fn header_texts_that_are_no_header_refused() {
    for header in [
        "",
        "[]",
        "{",
        "{}",
        "{'descr': '<f8', 'fortran_order': False}",
        "{'descr': '<f8', 'fortran_order': 1, 'shape': (2,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': 2}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-2,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2 3)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), 'more': 1}",
        "{'descr': '<f8' 'fortran_order': False, 'shape': (2,)}",
        "{'descr': '<f8",
        "{descr: '<f8'}",
    ] {
        let expected = format!("f.npy: its header, {}, cannot be read; write it with numpy.save", quoted(header));
        assert_eq!(message(matrix(&raw(header, b""))), expected);
    }
}

#[test]
fn types_that_are_not_read_refused() {
    for descr in ["<f2", "<f16", "<c16", "<M8[ns]", "|V8", "=f8", "<i3", "f8", "", "<f", "<f-8", "é"] {
        let expected = format!(
            "f.npy: it holds values of type '{descr}'; read are float32, float64, int8 to int64, uint8 to uint64, bool \
             and text: save it with .astype('float64')"
        );
        assert_eq!(message(matrix(&plain(descr, "False", "(1, 1)", &[0; 8]))), expected);
    }
    for (descr, size) in [("<U0", 0), ("|S0", 0), ("<U16385", 65_540), ("|S65537", 65_537)] {
        let expected = format!("f.npy: each of its texts takes {size} bytes; read are 1 to 65536: shorten them");
        assert_eq!(message(texts(&plain(descr, "False", "(9,)", b""))), expected);
    }
    assert_eq!(
        message(matrix(&plain("<U2", "False", "(1, 1)", &[0; 8]))),
        "f.npy: it holds texts; features are numbers: save it with .astype('float64')"
    );
}

#[test]
fn shapes_that_are_no_table_refused() {
    let of = |shape: &str| message(matrix(&plain("<f8", "False", shape, &[0; 64])));
    for shape in ["()", "(2, 2, 2)", "(1, 2, 2, 2)"] {
        let expected = format!(
            "f.npy: its shape is {shape}; a table has 2 dimensions, rows and columns: save it with .reshape(len(X), -1)"
        );
        assert_eq!(of(shape), expected);
    }
    for shape in ["(0,)", "(0, 3)", "(3, 0)", "(18446744073709551615, 0)"] {
        let expected =
            format!("f.npy: its shape is {shape}, so it holds no values; give at least one row and one column");
        assert_eq!(of(shape), expected);
    }
    for shape in ["(18446744073709551615,)", "(4294967296, 4294967296)", "(2305843009213693952, 1)"] {
        let expected =
            format!("f.npy: its shape is {shape}, more values than any file holds; write it with numpy.save");
        assert_eq!(of(shape), expected);
    }
    // Too large to be a number at all.
    assert_eq!(of("(99999999999999999999, 1)"), of("(18446744073709551615, 1)"));
    assert_eq!(
        message(texts(&plain("<i8", "False", "(2, 1)", &[0; 16]))),
        "f.npy: its shape is (2, 1); labels, names and ids have 1 dimension: use .ravel()"
    );
}

#[test]
fn files_of_another_length_than_their_shape_refused() {
    let of = |n: usize| message(matrix(&plain("<f8", "False", "(2, 3)", &vec![0; n])));
    let cut = |n: usize| {
        format!(
            "f.npy: its shape (2, 3) of '<f8' needs 48 bytes, only {n} are there: it is cut short; copy or save it again"
        )
    };
    assert_eq!(of(0), cut(0));
    assert_eq!(of(47), cut(47));
    assert_eq!(of(49), "f.npy: its shape (2, 3) of '<f8' needs 48 bytes, more are there; copy or save it again");
    // Past the first chunk.
    let large = plain("<f4", "False", "(20000,)", &[0; 79_999]);
    assert_eq!(
        message(matrix(&large)),
        "f.npy: its shape (20000,) of '<f4' needs 80000 bytes, only 79999 are there: it is cut short; copy or save it again"
    );
}

#[test]
fn tables_above_the_limit_refused_before_they_are_read() {
    let header = plain("<i1", "False", "(1000000, 2)", b"");
    assert_eq!(
        message(matrix(&header)),
        "f.npy: a table of 1000000 rows and 2 columns needs 15.3 MiB but 1.0 MiB may be used; allow more memory, or use \
         fewer rows or columns"
    );
    let header = plain("<U1000", "False", "(1000,)", b"");
    assert_eq!(
        message(texts(&header)),
        "f.npy: a table of 1000 rows and 1 columns needs 3.8 MiB but 1.0 MiB may be used; allow more memory, or use fewer \
         rows or columns"
    );
}

#[test]
fn infinity_refused_with_row_and_column() {
    let values = [0.0, f64::NAN, 2.0, 3.0, f64::NEG_INFINITY, f64::INFINITY];
    for (order, place) in [("False", "row 2, column 2"), ("True", "row 1, column 3")] {
        assert_eq!(
            message(matrix(&plain("<f8", order, "(2, 3)", &floats(&values)))),
            format!("f.npy, {place}: -inf is infinite; correct it, or give NaN where a value is missing")
        );
    }
    let mut far = vec![0.0; 30_000];
    far[20_001] = f64::INFINITY;
    assert_eq!(
        message(matrix(&plain("<f8", "False", "(10000, 3)", &floats(&far)))),
        "f.npy, row 6668, column 1: inf is infinite; correct it, or give NaN where a value is missing"
    );
}

#[test]
fn values_that_are_no_labels_refused_with_row() {
    let wrong =
        |value: &str| format!("f.npy, row 2: {value} is no label; labels, names and ids are whole numbers or texts");
    for (value, shown) in [(0.5, "0.5"), (f64::NAN, "NaN"), (f64::INFINITY, "inf")] {
        assert_eq!(message(texts(&plain("<f8", "False", "(2,)", &floats(&[1.0, value])))), wrong(shown));
    }
    assert_eq!(
        message(texts(&plain("<U1", "False", "(2,)", &[65, 0, 0, 0, 0, 0xd8, 0, 0]))),
        "f.npy, row 2: the text is not Unicode; save it again"
    );
    assert_eq!(
        message(texts(&plain("|S1", "False", "(1,)", b"\xe9"))),
        "f.npy, row 1: the text is not UTF-8; save it with .astype(str)"
    );
}

/// Headers that are almost right.
fn near_misses() -> impl Strategy<Value = Vec<u8>> {
    let words = [
        "{",
        "}",
        "'descr': ",
        "'<f8'",
        "'|b1'",
        "'<U3'",
        "'|O'",
        "'fortran_order': ",
        "True",
        "False",
        "'shape': ",
        "(2, 3)",
        "(3,)",
        "()",
        "(0, 99999999999999999999)",
        "(4000000000, 4000000000)",
        ", ",
        "[",
        "\n",
    ];
    let any_words = prop::collection::vec(prop::sample::select(words.to_vec()), 0..14).prop_map(|words| words.concat());
    let right = (0usize..5, any::<bool>(), 0usize..4).prop_map(|(descr, order, shape)| {
        let descr = ["<f8", ">i2", "|b1", "<U2", "|S3"][descr];
        let shape = ["(2, 3)", "(4,)", "(1, 1)", "(3, 1)"][shape];
        let order = if order { "True" } else { "False" };
        format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}")
    });
    let data = prop::collection::vec(any::<u8>(), 0..60);
    (prop_oneof![any_words, right], data).prop_map(|(header, data)| raw(&header, &data))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn arbitrary_bytes_never_panic(
        bytes in prop_oneof![prop::collection::vec(any::<u8>(), 0..100), near_misses()], cut in 0usize..200,
    ) {
        for bytes in [&bytes[..], &bytes[..cut.min(bytes.len())], &[MAGIC, &bytes].concat()] {
            if let Ok(matrix) = matrix(bytes) {
                prop_assert!(matrix.n_rows() * matrix.n_cols() > 0);
                prop_assert!(!matrix.data().iter().any(|value| value.is_infinite()));
            }
            let _ = texts(bytes);
        }
    }
}
