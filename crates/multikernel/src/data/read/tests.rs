use std::io::Write;

use proptest::prelude::*;

use super::format::{by_ending, by_magic, sniff};
use super::text::Source;
use super::*;
use crate::data::Features;
use crate::data::table::{Expect, Kind, Samples, Table};
use crate::linalg::Matrix;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn message(bytes: &[u8], name: &str) -> String {
    read_from(bytes, name, &ReadOptions::default()).unwrap_err().to_string()
}

fn format(text: &str, name: &str) -> Option<Format> {
    by_ending(name).or_else(|| Source::open(text.as_bytes(), name).and_then(|source| sniff(&source)).ok())
}

#[test]
fn format_told_from_ending_then_first_lines() {
    use Format::{Csv, Libsvm, Tsv};
    for (name, expected) in [
        ("a.csv", Csv),
        ("a.CSV.GZ", Csv),
        ("a.tsv", Tsv),
        ("a.tab.gz", Tsv),
        ("a.svm", Libsvm),
        ("vehicle.scale", Libsvm),
        ("vehicle.scale.t.gz", Libsvm),
    ] {
        assert_eq!(format("", name), Some(expected), "{name}");
    }
    for (text, expected) in [
        ("1 1:2 3:4\n", Some(Libsvm)),
        ("\n# note, with commas\n+1\n-1 2:3 # a, b\n", Some(Libsvm)),
        ("\n+1\n-1 2:3 # a, b\n", Some(Libsvm)),
        ("1:2 3:4\n", Some(Libsvm)),
        ("1 qid:3 3:4\n", Some(Libsvm)),
        ("a\tb\n", Some(Tsv)),
        ("1\t1:2\t3:4\n", Some(Libsvm)),
        ("a,b\n", Some(Csv)),
        ("a;b\n", Some(Csv)),
        ("12:30 1:2,5\n", Some(Csv)),
        ("a\n1\n", Some(Csv)),
        ("1 2 3\n", None),
        ("", None),
    ] {
        assert_eq!(format(text, "data"), expected, "{text:?}");
    }
    // A first line longer than the part examined is cut inside a word.
    let wide = (1..20_000).fold("1".to_string(), |line, k| line + &format!(" {k}:0.5"));
    assert_eq!(format(&wide, "data"), Some(Libsvm));
}

#[test]
fn files_that_are_not_text_told_from_their_first_bytes() {
    for (head, expected) in [
        (&b"\x93NUMPY\x01\0"[..], Some(Format::Npy)),
        (b"PK\x03\x04\x14\0\0\0", Some(Format::Npz)),
        (b"PK\x05\x06\0\0\0\0", Some(Format::Npz)),
        (b"PAR1\x15\x04\x15\x20", Some(Format::Parquet)),
        (b"ARROW1\0\0", Some(Format::Arrow)),
        (b"PK,PAR1,", None),
        (b"PAR1,a\n1", None),
        (b"ARROW1,b", None),
        (b"", None),
    ] {
        assert_eq!(by_magic(head), expected);
    }
    for (ending, expected) in [
        ("npy", Format::Npy),
        ("npz", Format::Npz),
        ("parquet", Format::Parquet),
        ("arrow", Format::Arrow),
        ("feather", Format::Arrow),
    ] {
        assert_eq!(by_ending(&format!("a.{ending}")), Some(expected));
        assert_eq!(short_name(&format!("d/a.{ending}")), "a");
    }
}

#[test]
fn unusable_files_refused_with_a_reason() {
    for (bytes, name, expected) in [
        (&b""[..], "f", "f: the file is empty; give at least one row"),
        (b" \n", "f", "f: the file is empty; give at least one row"),
        (
            b"1 2 3\n4 5 6\n",
            "f",
            "f: the first line is neither LIBSVM (label index:value ...) nor separated by commas, semicolons, \
             tabs or bars; save it with commas between the cells, or give the format",
        ),
        (
            b"a,y\n1,p\n2,\xe9\n",
            "f",
            "f:3: byte 3 (0xE9) is not UTF-8 text; save the file as UTF-8 (`iconv -f cp1252 -t utf-8 FILE > NEW`)",
        ),
        (
            b"1 1:2\n\xff 1:2\n",
            "f.svm",
            "f.svm:2: byte 1 (0xFF) is not UTF-8 text; save the file as UTF-8 (`iconv -f cp1252 -t utf-8 FILE > NEW`)",
        ),
        (
            b"BZh91AY&SY",
            "f.bz2",
            "f.bz2: this is a bzip2 file; data are read as LIBSVM, CSV or TSV text, plain or gzip, or as .xlsx, .npy or .npz: \
             convert it first",
        ),
    ] {
        assert_eq!(message(bytes, name), expected);
    }
    let packed = gzip("1,p\n".repeat(50_000).as_bytes());
    let cut = message(&packed[..packed.len() - 20], "f.csv.gz");
    assert!(cut.starts_with("f.csv.gz: the gzip data are damaged or cut short after line "), "{cut}");
    assert!(message(&packed[..12], "f.csv.gz").starts_with("f.csv.gz: the gzip data are damaged"));
    let missing = read(std::path::Path::new("no/such/file.csv"), &ReadOptions::default()).unwrap_err().to_string();
    assert!(missing.starts_with("cannot read no/such/file.csv: "), "{missing}");
}

#[test]
fn expecting_no_features_refused() {
    let options = ReadOptions::expecting(Expect::new(vec![], None, Some(0)));
    for text in ["1 0:1\n", "1,2\n"] {
        assert_eq!(
            read_from(text.as_bytes(), "f", &options).unwrap_err().to_string(),
            "the model to read rows for has no features; give at least one name"
        );
    }
}

#[test]
fn table_name_is_the_file_without_folder_and_ending() {
    for (path, expected) in [
        ("d/sonar.csv.gz", "sonar"),
        ("vehicle.scale.t", "vehicle.scale.t"),
        ("a.SVM", "a"),
        (".csv", ".csv"),
        ("-", "-"),
    ] {
        assert_eq!(short_name(path), expected);
    }
}

#[test]
fn into_dataset_without_labels_refused() {
    let mut options = ReadOptions { unlabelled: true, ..Default::default() };
    let table = read_from("1,2\n".as_bytes(), "d/f.csv", &options).unwrap();
    assert_eq!(
        table.into_dataset().unwrap_err().to_string(),
        "d/f.csv: the rows have no labels; give a file with a label in each row, or one of labels with `read_with_labels`"
    );
    options.unlabelled = false;
    let table = read_from("1,1\n2,1.0\n".as_bytes(), "d/f.csv", &options).unwrap();
    assert_eq!(
        table.into_dataset().unwrap_err().to_string(),
        "d/f.csv: labels '1' and '1.0' are one number written in two ways; write them alike"
    );
}

#[test]
fn into_dataset_row_without_any_value_refused() {
    let table = read_from("1,2,p\n3,4,q\n".as_bytes(), "d/f.csv", &ReadOptions::default()).unwrap();
    let values = vec![f64::NAN, 2.0, f64::NAN, f64::NAN];
    let samples = Samples::unnamed(Matrix::from_vec(2, 2, values).unwrap()).unwrap();
    let holed = Table { samples, ..table };
    assert_eq!(
        holed.into_dataset().unwrap_err().to_string(),
        "d/f.csv: row 2 has no value at all; remove it, or fill values in"
    );
}

#[test]
fn into_dataset_carries_ids_and_groups() {
    let text = "id,a,batch,y\ns3,1,v,p\ns1,2,u,q\ns2,3,v,q\n";
    let options = ReadOptions { groups: Some("batch".into()), ..Default::default() };
    let set = read_from(text.as_bytes(), "f.csv", &options).unwrap().into_dataset().unwrap();
    assert_eq!(set.samples.ids().unwrap(), ["s3", "s1", "s2"]);
    assert_eq!((set.groups.as_deref(), set.group_name.as_deref()), (Some(&[0, 1, 0][..]), Some("batch")));
    let part = set.select(&[1, 2]);
    assert_eq!((part.samples.ids().unwrap().join(" "), part.groups.unwrap()), ("s1 s2".to_string(), vec![1, 0]));
    assert_eq!(part.group_name.as_deref(), Some("batch"));
}

/// Finite numbers of every size, with many zeros.
fn value() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), Just(-0.0), -1e3..1e3, any::<u64>().prop_map(f64::from_bits)]
        .prop_filter("finite", |value| value.is_finite())
}

fn rows() -> impl Strategy<Value = (Matrix, Vec<String>)> {
    (1usize..8, 1usize..6).prop_flat_map(|(n, d)| {
        let label = prop::sample::select(vec!["-1", "1", "2.5", "red", "a b", "q\"q", "x,y", "l\nm", "#5", "é"]);
        let labels = prop::collection::vec(label.prop_map(str::to_string), n);
        let values = prop::collection::vec(value(), n * d);
        (values.prop_map(move |values| Matrix::from_vec(n, d, values).unwrap()), labels)
    })
}

fn bits(features: &Features) -> Vec<u64> {
    features.to_dense().unwrap().data().iter().map(|value| value.to_bits()).collect()
}

/// `columns` of the matrix and the labels, quoted where needed or everywhere.
fn csv_text(features: &Matrix, labels: &[String], columns: &[usize], end: &str, all: bool) -> String {
    let quote = |text: &str| {
        let needed = all || text.contains(['"', ',', '\n']);
        if needed { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_string() }
    };
    let mut text: String = columns.iter().map(|j| quote(&format!("f{j}")) + ",").collect();
    text += &(quote("label") + end);
    for (row, label) in features.rows().zip(labels) {
        text.extend(columns.iter().map(|&j| quote(&row[j].to_string()) + ","));
        text += &(quote(label) + end);
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn csv_round_trip_is_bit_identical_gz_or_plain((features, labels) in rows(), end in 0usize..2, all: bool) {
        let columns: Vec<usize> = (0..features.n_cols()).collect();
        let text = csv_text(&features, &labels, &columns, ["\n", "\r\n"][end], all);
        let plain = read_from(text.as_bytes(), "t.csv", &ReadOptions::default()).unwrap();
        prop_assert_eq!(bits(plain.samples.features()), bits(&features.clone().into()));
        prop_assert_eq!(plain.labels.as_ref().unwrap(), &labels);
        prop_assert_eq!(&read_from(&gzip(text.as_bytes())[..], "t.csv", &ReadOptions::default()).unwrap(), &plain);
    }

    #[test]
    fn libsvm_round_trip_is_bit_identical_in_both_bases(
        (features, labels) in rows(), order: u64, zeros: bool,
    ) {
        // Words without spaces; LIBSVM text has no quotes.
        let labels: Vec<String> = labels.iter().map(|label| label.replace([' ', '\n', '#'], "_")).collect();
        let write = |base: usize| {
            let mut rng = crate::dist::Rng::new(order, 0);
            let mut text = String::new();
            for (row, label) in features.rows().zip(&labels) {
                // The first and last index must occur somewhere to reveal the base and the width.
                let mut js: Vec<usize> = (0..row.len())
                    .filter(|&j| zeros || row[j].to_bits() != 0 || j == 0 || j + 1 == row.len())
                    .collect();
                rng.shuffle(&mut js);
                text += label;
                text.extend(js.iter().map(|&j| format!(" {}:{}", j + base, row[j])));
                text += "\n";
            }
            text
        };
        for base in [0, 1] {
            let text = write(base);
            let table = read_from(text.as_bytes(), "t.svm", &ReadOptions::default()).unwrap();
            prop_assert_eq!(bits(table.samples.features()), bits(&features.clone().into()));
            prop_assert_eq!(table.labels.as_ref().unwrap(), &labels);
            prop_assert_eq!(table.index_base, Some(base as u8));
            prop_assert_eq!(&table.samples.names()[0], &format!("x{base}"));
            let again = read_from(text.as_bytes(), "t.svm", &ReadOptions::expecting(table.clone().into_dataset().unwrap().expect())).unwrap();
            prop_assert_eq!(again.samples, table.samples);
            let packed = read_from(&gzip(text.as_bytes())[..], "t", &ReadOptions::default()).unwrap();
            prop_assert_eq!(packed.labels, table.labels);
        }
    }

    #[test]
    fn permuted_columns_at_prediction_give_the_same_matrix((features, labels) in rows(), seed: u64) {
        let mut columns: Vec<usize> = (0..features.n_cols()).collect();
        let text = csv_text(&features, &labels, &columns, "\n", false);
        let trained = read_from(text.as_bytes(), "t.csv", &ReadOptions::default()).unwrap();
        crate::dist::Rng::new(seed, 0).shuffle(&mut columns);
        let text = csv_text(&features, &labels, &columns, "\n", false);
        let options = ReadOptions::expecting(trained.clone().into_dataset().unwrap().expect());
        let table = read_from(text.as_bytes(), "t.csv", &options).unwrap();
        prop_assert_eq!(bits(table.samples.features()), bits(&features.clone().into()));
        prop_assert_eq!(table.labels, trained.labels);
    }

    #[test]
    fn arbitrary_bytes_never_panic(
        bytes in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..200),
            // Near misses: the characters that matter to the readers.
            prop::collection::vec(prop::sample::select(b"01-:,;|%*\t \n\r\"#.eaN\xe9".to_vec()), 0..80),
        ],
        kind in 0usize..4, header in 0usize..3, label in 0usize..4, expecting: bool, unlabelled: bool, part: bool,
        label_optional: bool, transpose: bool, drop: bool, comma: bool, told in 0usize..8,
    ) {
        let options = ReadOptions {
            format: [None, Some(Format::Libsvm), Some(Format::Csv), Some(Format::Tsv)][kind],
            header: [None, Some(true), Some(false)][header],
            label: [None, Some("-1"), Some("1"), Some("a")][label].map(str::to_string),
            id: [None, Some("0"), None, Some("a")][label].map(str::to_string),
            groups: [None, None, Some("1"), None][label].map(str::to_string),
            unlabelled,
            target: [vec![], vec!["-1".to_string()], vec!["a".to_string()], vec!["0".to_string()]][label].clone(),
            event: [None, Some("1"), None][header].map(str::to_string),
            label_optional,
            ignore: [vec![], vec!["0".to_string()], vec!["a".to_string()]][header].clone(),
            expect: expecting.then(|| {
                Expect::new(vec!["x1".into(), "a".into()], Some("e".into()), None).with_classes(vec!["0".into(), "e".into()])
                    .with_kinds(Kind::ALL.get(told).map_or(vec![], |&kind| vec![kind.into(), Kind::Number.into()]))
            }),
            memory: Some(1 << 22),
            kinds: Kind::ALL.get(told).map(|&kind| ("a".to_string(), kind.into())).into_iter().collect(),
            missing_labels: if drop { MissingLabels::Drop } else { MissingLabels::Refuse },
            decimal: comma.then_some(Decimal::Comma),
            transpose,
            part: part.then(|| JoinedPart { leave_out: vec!["a".into()] }),
        };
        for input in [bytes.clone(), gzip(&bytes), [b"\x1f\x8b".to_vec(), bytes].concat()] {
            if let Ok(table) = read_from(&input[..], "t", &options) {
                prop_assert!(table.samples.n_samples() > 0);
                let lengths = [table.labels.as_deref(), table.groups.as_deref(), table.samples.ids()];
                for texts in lengths.into_iter().flatten() {
                    prop_assert_eq!(texts.len(), table.samples.n_samples());
                }
            }
        }
    }
}
