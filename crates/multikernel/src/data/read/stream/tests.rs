use std::io::Write;

use proptest::prelude::*;

use super::*;
use crate::data::{View, read_from};

/// Delivers a few bytes at a time, as a slow pipe does.
struct Trickle<'a>(&'a [u8], usize);

impl Read for Trickle<'_> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let n = self.1.min(out.len());
        self.0.read(&mut out[..n])
    }
}

/// Everything that came out of a stream: values as bits, texts, labels, lines, and the errors of skipped lines.
#[derive(Debug, Default, PartialEq)]
struct Found {
    values: Vec<u64>,
    texts: Vec<String>,
    labels: Vec<String>,
    lines: Vec<u64>,
    skipped: Vec<String>,
    names: Vec<String>,
}

impl Found {
    fn add(&mut self, batch: Batch) {
        let values = batch.samples.features().to_dense().unwrap().into_owned();
        assert_eq!((values.n_rows(), batch.labels.len()), (batch.lines.len(), batch.lines.len()));
        for (i, row) in values.rows().enumerate() {
            for (j, value) in row.iter().enumerate() {
                // The value of a text is its position among those of the batch.
                let text = batch.samples.text(i, j).map(String::from);
                self.values.push(if text.is_some() { 0 } else { value.to_bits() });
                self.texts.extend(text);
            }
        }
        self.labels.extend(batch.labels);
        self.lines.extend(batch.lines);
        self.names = batch.samples.names().to_vec();
    }
}

fn drain(reader: impl Read, options: &ReadOptions, first: usize) -> Result<Found> {
    let (mut found, mut skipped) = (Found::default(), vec![]);
    let mut stream = RowStream::open(reader, "f", options)?;
    let mut tell = |error: Error| skipped.push(error.to_string());
    let mut batch = stream.gather(first, OnError::Skip(&mut tell))?;
    while let Some(rows) = batch {
        found.add(rows);
        batch = stream.next(3, OnError::Skip(&mut tell))?;
    }
    Ok(Found { skipped, ..found })
}

fn csv() -> ReadOptions {
    ReadOptions { format: Some(Format::Csv), ..Default::default() }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Checks that the text gives the same whole, a few bytes at a time, and compressed; the byte counts cut line ends.
fn drained(text: &[u8], options: &ReadOptions) -> Found {
    let whole = drain(text, options, 2).unwrap();
    for n in [1, 2, 7] {
        assert_eq!(drain(Trickle(text, n), options, 2).unwrap(), whole, "{n} bytes at a time");
    }
    let packed = gzip(text);
    assert_eq!(drain(&packed[..], options, 2).unwrap(), whole);
    assert_eq!(drain(Trickle(&packed, 1), options, 2).unwrap(), whole);
    whole
}

#[test]
fn malformed_lines_of_delimited_text_skipped_with_place_and_reason() {
    let long = "x".repeat(1 << 26);
    let not_number = "is not a number; correct it, or leave the column out with `ReadOptions::ignore`";
    for (line, expected) in [
        ("1,2", "f:4: found 2 columns, the first line has 3; give every row the same".to_string()),
        ("1,2,p,3", "f:4: found 4 columns, the first line has 3; give every row the same".into()),
        ("1,red,p", format!("f:4:2: 'red' in column 'b' {not_number}")),
        ("0x1F,1,p", format!("f:4:1: '0x1F' in column 'a' {not_number}")),
        (
            "1,inf,p",
            "f:4:2: 'inf' in column 'b' is not a finite number; correct it, or leave the column out with `ReadOptions::ignore`"
                .into(),
        ),
        (
            "1,1e309,p",
            "f:4:2: '1e309' in column 'b' is too large (numbers go up to 1.8e308); correct it, or leave the column \
             out with `ReadOptions::ignore`"
                .into(),
        ),
        (",NA,p", "f:4: the row has no value at all; remove it, or fill values in".into()),
        ("1,2,", "f:4:3: the label is missing; remove the row or fill it in first".into()),
        ("1,2,?", "f:4:3: the label is missing; remove the row or fill it in first".into()),
        (
            "1,\"2,p",
            "f:4:2: the quote that opens this cell is not closed in its line; close it, or double a quote inside a \
             cell (a row of a stream is one line)"
                .into(),
        ),
        ("1,\"2\"x,p", "f:4:2: 'x' follows a closing quote; double a quote that is part of the cell".into()),
        (
            "1,2,\u{fffd}",
            "f:4: byte 5 (0xFF) is not UTF-8 text; save the file as UTF-8 (`iconv -f cp1252 -t utf-8 FILE > NEW`)"
                .into(),
        ),
        (&long, "f:4: the line is longer than 64.0 MiB; a text table has one row per line: check line ends and quotes".into()),
    ] {
        let text = format!("a,b,y\n5,6,q\n\n{line}\n7,8,r\n");
        let bytes = text.clone().into_bytes();
        // The replacement character stands for a byte that is not text.
        let at = text.find('\u{fffd}');
        let bytes = at.map_or(bytes.clone(), |at| [&bytes[..at], b"\xff", &bytes[at + 3..]].concat());
        let found = if line.len() > 99 { drain(&bytes[..], &csv(), 2).unwrap() } else { drained(&bytes, &csv()) };
        assert_eq!(found.skipped.join("; "), expected, "{:?}", &line[..line.len().min(99)]);
        assert_eq!((found.labels, found.lines), (vec!["q".to_string(), "r".into()], vec![2, 5]));
        assert_eq!(found.values, [5.0f64, 6.0, 7.0, 8.0].map(f64::to_bits));
        // Where lines must be good, the rows before the bad one come first, and then its error.
        let mut stream = RowStream::open(&bytes[..], "f", &csv()).unwrap();
        assert_eq!(stream.next(9, OnError::Fail).unwrap().unwrap().lines, [2]);
        assert_eq!(stream.next(9, OnError::Fail).unwrap_err().to_string(), expected);
    }
}

#[test]
fn malformed_lines_of_libsvm_text_skipped_with_place_and_reason() {
    let options = ReadOptions { format: Some(Format::Libsvm), ..Default::default() };
    for (line, expected) in [
        ("1:2 2:3", "f:4:1: the row has no label before its first index:value; begin each row with its label"),
        ("p 1:x", "f:4:3: the value 'x' is not a number; remove the row or correct it"),
        ("p 1:", "f:4:3: the value after '1:' is missing; leave out what is zero"),
        ("p 1:NA", "f:4:3: missing value 'NA' at index 1; remove the row or fill it in first"),
        ("p 2", "f:4:3: expected index:value, found '2'"),
        ("p a:2", "f:4:3: the index in 'a:2' must be a whole number from 0 or 1"),
        ("p 1:2 1:3", "f:4:7: index 1 occurs twice in this row (first at 3); keep one"),
        ("p 4:1", "f:4:3: index 4 is unknown to the model, which has 1 to 3; remove it"),
        ("p 0:1", "f:4:3: index 0 is unknown to the model, which has 1 to 3; remove it"),
        ("p 3000000000:1", "f:4:3: index 3000000000 is above the largest allowed, 2147483648; renumber the features"),
    ] {
        let text = format!("q 1:5 # note\n\n+1 3:6\n{line}\n# note\n1.0 2:7\n");
        let found = drained(text.as_bytes(), &options);
        assert_eq!(found.skipped, [expected], "{line}");
        assert_eq!((found.labels.join(" "), found.lines), ("q 1 1".to_string(), vec![1, 3, 6]));
        assert_eq!(found.values, [5.0f64, 0.0, 0.0, 0.0, 0.0, 6.0, 0.0, 7.0, 0.0].map(f64::to_bits));
        assert_eq!(found.names, ["x1", "x2", "x3"]);
    }
}

#[test]
fn what_stands_before_the_first_row_is_no_matter_of_one_line() {
    let packed = gzip("1,p\n".repeat(50_000).as_bytes());
    for (text, expected) in [
        (&b""[..], "f: the file is empty; give at least one row"),
        (b"\n \n", "f: the file is empty; give at least one row"),
        (
            b"a,a,y\n1,2,p\n",
            "f:1:2: columns 1 and 2 are both called 'a'; rename one (the first line was read as names; if the file has none, add `ReadOptions::header = false`)",
        ),
        (b"y\np\nq,1\n", "f: no column is left for features; a label and at least one feature are needed"),
        (
            b"a,\"b,y\n1,2,p\n",
            "f:1:2: the quote that opens this cell is not closed in its line; close it, or double a quote inside a cell \
             (a row of a stream is one line)",
        ),
        (
            b"1 2 3\n",
            "f: the first line is neither LIBSVM (label index:value ...) nor separated by commas, semicolons, tabs or \
             bars; save it with commas between the cells, or give the format",
        ),
        (
            b"\x93NUMPY\x01\0\n",
            "f: this is a NumPy file; a stream is LIBSVM, CSV or TSV text, plain or gzip: convert it first",
        ),
        (&packed[..12], "f: the gzip data are damaged or cut short; fetch the file again"),
    ] {
        for n in [1, 1000] {
            assert_eq!(drain(Trickle(text, n), &ReadOptions::default(), 2).unwrap_err().to_string(), expected);
        }
    }
    assert_eq!(drain(&b""[..], &csv(), 2).unwrap_err().to_string(), "f: the stream is empty; give at least one row");
    let unlabelled = ReadOptions { unlabelled: true, ..csv() };
    assert_eq!(
        drain(&b"1,2\n"[..], &unlabelled, 2).unwrap_err().to_string(),
        "parameter unlabelled: a stream is there to learn from; its rows need labels"
    );
    let npy = ReadOptions { format: Some(Format::Npy), ..csv() };
    assert_eq!(
        drain(&b"1,2\n"[..], &npy, 2).unwrap_err().to_string(),
        "parameter format: a stream is text: give libsvm, csv or tsv"
    );
    let labelled = ReadOptions { label: Some("0".into()), ..Default::default() };
    assert_eq!(
        drain(&b"1 1:2\n"[..], &labelled, 2).unwrap_err().to_string(),
        "parameter label: LIBSVM text has its label first in each row; leave the label column out"
    );
}

#[test]
fn header_row_names_and_first_rows_told_as_read_does() {
    let found = drained(b"a,b,y\ns1,1,2,p\n1,2,p\n", &csv());
    assert_eq!(
        found.skipped,
        [
            "f:2: found 4 columns, the header has 3; give row names a column of their own, with a blank or `id` in the header"
        ]
    );
    let bare = ReadOptions { header: Some(false), ..csv() };
    let found = drained(b"a,b,y\n1,2,p\n1,x,p\n", &bare);
    assert_eq!(
        found.skipped,
        [
            "f:1:1: 'a' in column 'x1' is not a number; is the first line a header?",
            "f:3:2: 'x' in column 'x2' is not a number; correct it, or leave the column out with `ReadOptions::ignore`"
        ]
    );
    // A header alone, or nothing but bad lines, is the end without a row.
    assert_eq!(drained(b"a,b,y\n", &csv()), Found::default());
    assert_eq!(drained(b"a,b,y\n1,2\n", &csv()).labels, [""; 0]);
}

#[test]
fn columns_of_a_model_found_by_name_and_a_label_is_needed() {
    let expect = Expect::new(vec!["a".into(), "b".into()], Some("y".into()), None);
    let expect = expect.with_views(vec![View { name: "v".into(), columns: 0..1 }]);
    let options = ReadOptions { expect: Some(expect), ..csv() };
    let found = drained(b"id,b,c,y,a\ns,2,9,p,1\ns,,9,q,3\n", &options);
    assert_eq!(found.values, [1.0, 2.0, 3.0, f64::NAN].map(f64::to_bits));
    assert_eq!((found.labels.join(" "), found.names.join(" ")), ("p q".into(), "a b".into()));
    let mut stream = RowStream::open(&b"b,a,y\n2,1,p\n"[..], "f", &options).unwrap();
    assert_eq!(stream.next(1, OnError::Fail).unwrap().unwrap().samples.views().len(), 1);
    let message = |text: &[u8]| drain(text, &options, 1).unwrap_err().to_string();
    assert_eq!(message(b"b,y\n2,p\n"), "f: 1 of the 2 expected features are missing: a; give a table with all of them");
    let unlabelled = "f: the rows have no label column, and there is nothing to learn without labels; add one, or say \
                      which it is with `ReadOptions::label`";
    assert_eq!(message(b"b,a\n2,1\n"), unlabelled);
    assert_eq!(message(b"2,1\n"), unlabelled);
    // LIBSVM rows for the same model: the k-th feature is index k.
    let options = ReadOptions { format: Some(Format::Libsvm), ..options };
    let found = drained(b"p 2:4\n", &options);
    assert_eq!((found.values, found.names.join(" ")), ([0.0, 4.0].map(f64::to_bits).to_vec(), "a b".into()));
}

#[test]
fn dataset_of_the_first_rows_knows_where_they_come_from() {
    let mut stream = RowStream::open(&b"a,class\n1,p\n2,q\n"[..], "d/rows.csv.gz", &ReadOptions::default()).unwrap();
    let batch = stream.gather(5, OnError::Fail).unwrap().unwrap();
    let set = stream.dataset(batch).unwrap();
    assert_eq!((set.name.as_str(), set.label_name.as_deref(), set.index_base), ("rows", Some("class"), None));
    let mut stream = RowStream::open(&b"p 0:1\nq 2:1\n"[..], "rows", &ReadOptions::default()).unwrap();
    let batch = stream.gather(5, OnError::Fail).unwrap().unwrap();
    assert_eq!(stream.notes(), ["zero-based indices: the first column is x0"]);
    assert_eq!(stream.names(), ["x0", "x1", "x2"]);
    let set = stream.dataset(batch).unwrap();
    assert_eq!((set.label_name, set.index_base), (None, Some(0)));
}

/// Delivers the pieces as they were sent, at most one per read, and panics if asked for more than was sent.
struct Live(std::collections::VecDeque<Vec<u8>>);

fn live(pieces: &[&str]) -> Live {
    Live(pieces.iter().map(|piece| piece.as_bytes().to_vec()).collect())
}

impl Read for Live {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let piece = self.0.front_mut().expect("a read that would have to wait");
        let n = piece.len().min(out.len());
        out[..n].copy_from_slice(&piece[..n]);
        piece.drain(..n);
        if piece.is_empty() {
            self.0.pop_front();
        }
        Ok(n)
    }
}

#[test]
fn rows_come_as_soon_as_they_are_there_and_no_sooner() {
    let pieces = ["a,b,y\n1,", "2,p\n3,4,q\n5,6,", "r\r", "\n\n7,8,s\r\n9"];
    let mut stream = RowStream::open(live(&pieces), "f", &ReadOptions::default()).unwrap();
    let mut next = |most: usize| stream.next(most, OnError::Fail).unwrap().unwrap().labels.join("");
    // One read more than needed would panic: there is nothing after the last piece.
    assert_eq!((next(9), next(9), next(9)), ("pq".into(), "r".into(), "s".into()));
    let mut stream = RowStream::open(live(&pieces[..2]), "f", &ReadOptions::default()).unwrap();
    let mut next = |most: usize| stream.next(most, OnError::Fail).unwrap().unwrap().labels.join("");
    assert_eq!((next(1), next(0)), ("p".into(), "q".into()));
    // LIBSVM rows are recognised by their first line too.
    let mut stream = RowStream::open(live(&["+1 1:2\n"]), "f", &ReadOptions::default()).unwrap();
    assert_eq!(stream.next(9, OnError::Fail).unwrap().unwrap().labels, ["1"]);
}

#[test]
fn error_of_the_source_comes_after_the_rows_before_it() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("gone"))
        }
    }
    let reader = (&b"a,y\n1,p\n2,q\n3,"[..]).chain(Broken);
    let mut stream = RowStream::open(reader, "f", &csv()).unwrap();
    let mut tell = |_| panic!("no line is wrong");
    let batch = stream.gather(9, OnError::Skip(&mut tell)).unwrap().unwrap();
    assert_eq!(batch.labels, ["p", "q"]);
    assert_eq!(stream.next(9, OnError::Skip(&mut tell)).unwrap_err().to_string(), "cannot read f: gone");
}

#[test]
fn memory_of_a_batch_is_limited() {
    let options = ReadOptions { memory: Some(1 << 20), ..Default::default() };
    let message = |text: &str| drain(text.as_bytes(), &options, 9).unwrap_err().to_string();
    let expected = |need: &str| {
        format!(
            "f: a table of 1 rows and 1000000 columns needs {need} but 1.0 MiB may be used; allow more memory, or use \
             fewer rows or columns"
        )
    };
    assert_eq!(message("p 1000000:1\n"), expected("534.1 MiB"));
    let wide = ",".repeat(999_999);
    assert_eq!(message(&wide), expected("99.2 MiB"));
    // A batch ends before its values exceed their limit, and the rest comes with the next.
    let text = "p 1:1 4000000:1\n".repeat(5);
    let mut stream = RowStream::open(text.as_bytes(), "f", &ReadOptions::default()).unwrap();
    assert_eq!(stream.gather(1, OnError::Fail).unwrap().unwrap().lines, [1]);
    assert_eq!(stream.next(9, OnError::Fail).unwrap().unwrap().lines, [2, 3]);
    assert_eq!(stream.next(9, OnError::Fail).unwrap().unwrap().lines, [4, 5]);
}

const MIXED: &str = "age,sex,seen,note,well,kind\n\
                     61,f,2021-03-01,walks without any pain today,yes,p\n\
                     ,m,2021-03-04,feels fine and sleeps very well,no,q\n\
                     48,f,2021-03-02,no pain and good appetite,yes,p\n\
                     39,NA,2021-03-09,feels fine after the walk,,q\n";

/// The texts and values of samples, cell by cell.
fn cells_of(samples: &Samples) -> Vec<String> {
    let values = samples.features().to_dense().unwrap();
    let cell = |i: usize, j: usize| match samples.text(i, j) {
        Some(text) => text.to_string(),
        None => values.get(i, j).to_string(),
    };
    (0..samples.n_samples()).flat_map(|i| (0..samples.n_features()).map(move |j| cell(i, j))).collect()
}

#[test]
fn kinds_found_from_the_first_rows_are_those_of_the_table() {
    let table = read_from(MIXED.as_bytes(), "f.csv", &ReadOptions::default()).unwrap();
    for n in 1..6 {
        let mut stream = RowStream::open(Trickle(MIXED.as_bytes(), 7), "f.csv", &ReadOptions::default()).unwrap();
        let (mut cells, mut labels) = (vec![], vec![]);
        let mut next = stream.gather(n.max(3), OnError::Fail).unwrap();
        while let Some(batch) = next {
            assert_eq!(batch.samples.names(), table.samples.names());
            assert_eq!(batch.samples.told_kinds(), table.samples.told_kinds());
            cells.extend(cells_of(&batch.samples));
            labels.extend(batch.labels);
            next = stream.next(1, OnError::Fail).unwrap();
        }
        assert_eq!(cells, cells_of(&table.samples));
        assert_eq!(Some(labels), table.labels);
        assert!(stream.notes().iter().any(|note| note.to_string().starts_with("taken as categories: sex; ")));
    }
}

#[test]
fn cells_of_another_kind_are_errors_of_their_line() {
    let text = MIXED.to_string()
        + "40,f,soon,so it goes,no,p\nold,m,2021-03-03,so it goes on,no,q\n41,x,2021-03-03,fine,no,q\n";
    let mut stream = RowStream::open(text.as_bytes(), "f.csv", &ReadOptions::default()).unwrap();
    let mut skipped = vec![];
    stream.gather(4, OnError::Fail).unwrap();
    let batch = stream.next(9, OnError::Skip(&mut |error| skipped.push(error.to_string()))).unwrap().unwrap();
    assert_eq!((batch.lines, batch.samples.text(0, 1)), (vec![8], Some("x")));
    assert!(skipped[0].starts_with("f.csv:6:3: 'soon' in column 'seen' is no date"), "{skipped:?}");
    assert!(skipped[1].starts_with("f.csv:7:1: 'old' in column 'age' is not a number"), "{skipped:?}");
}

#[test]
fn kinds_told_and_kinds_of_a_model_hold() {
    let told = |kinds: &[(&str, &str)]| ReadOptions {
        kinds: kinds.iter().map(|(name, kind)| (name.to_string(), kind.parse().unwrap())).collect(),
        ..Default::default()
    };
    let text = "stage,when,zip,kind\nII,01/02/2021,10115,p\nI,03/02/2021,80331,q\nIII,05/02/2021,10115,p\n";
    let gather =
        |options: &ReadOptions| RowStream::open(text.as_bytes(), "f.csv", options).unwrap().gather(9, OnError::Fail);
    let message = gather(&ReadOptions::default()).unwrap_err().to_string();
    assert!(message.starts_with("f.csv: column 'when': '01/02/2021' may have the day first or the month"), "{message}");
    let options = told(&[("stage", "ordered(I<II<III)"), ("when", "date(dmy)"), ("zip", "category")]);
    let batch = gather(&options).unwrap().unwrap();
    assert_eq!(batch.samples.features().to_dense().unwrap().column(0), [1.0, 0.0, 2.0]);
    assert_eq!(batch.samples.text(1, 2), Some("80331"));
    let set = RowStream::open(text.as_bytes(), "f.csv", &options).unwrap().dataset(batch).unwrap();
    let options = ReadOptions::expecting(set.expect());
    let mut stream = RowStream::open(text.as_bytes(), "f.csv", &options).unwrap();
    let again = stream.next(9, OnError::Fail).unwrap().unwrap();
    assert_eq!(cells_of(&again.samples), cells_of(&set.samples));
}

/// A table of small whole numbers and missing values as CSV, written in any of several equivalent ways.
fn tables() -> impl Strategy<Value = String> {
    let cell = prop::sample::select(vec!["0", "-1.5", "\"2\"", " 3 ", "", "NA", "1e3"]);
    let row = (prop::collection::vec(cell, 2), prop::sample::select(vec!["p", "\"q,r\"", "1.0"]));
    let end = prop::sample::select(vec!["\n", "\r\n", "\r", "\n\n"]);
    (prop::collection::vec((row, end), 1..20), any::<bool>()).prop_map(|(rows, header)| {
        let mut text = String::from(if header { "a,b,c,class\n" } else { "" });
        for ((cells, label), end) in rows {
            text += &format!("7,{},{label}{end}", cells.join(","));
        }
        text
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn rows_are_those_of_the_table(text in tables(), n in 1usize..9) {
        let table = read_from(text.as_bytes(), "f", &csv()).unwrap();
        let found = drain(Trickle(text.as_bytes(), n), &csv(), n).unwrap();
        let bits = |value: &f64| value.to_bits();
        let values: Vec<u64> = table.samples.features().to_dense().unwrap().data().iter().map(bits).collect();
        prop_assert_eq!(found.values, values);
        prop_assert_eq!(Some(found.labels), table.labels);
        prop_assert_eq!(found.names, table.samples.names());
        prop_assert!(found.skipped.is_empty());
    }

    #[test]
    fn arbitrary_bytes_never_panic_and_never_depend_on_how_they_come(
        bytes in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..200),
            prop::collection::vec(prop::sample::select(b"01-:,;\t \n\r\"#.eaN\xe9".to_vec()), 0..120),
        ],
        kind in 0usize..4, header in 0usize..3, n in 1usize..9, expecting: bool,
    ) {
        let options = ReadOptions {
            format: [None, Some(Format::Libsvm), Some(Format::Csv), Some(Format::Tsv)][kind],
            header: [None, Some(true), Some(false)][header],
            expect: expecting.then(|| Expect::new(vec!["x1".into(), "a".into()], Some("e".into()), None)),
            memory: Some(1 << 22),
            ..Default::default()
        };
        let text = |found: Result<Found>| found.map_err(|error| error.to_string());
        let whole = text(drain(&bytes[..], &options, 2));
        prop_assert_eq!(text(drain(Trickle(&bytes, n), &options, 2)), whole);
    }
}

#[test]
fn texts_are_the_same_in_batches_of_any_size() {
    let options = ReadOptions { format: Some(Format::Tsv), header: Some(false), ..Default::default() };
    assert_eq!(drained(b"#\t0\n\t0\n.\t0\n0\t0\n", &options).texts, ["#", ".", "0"]);
}

#[test]
fn target_is_read_as_numbers_and_one_that_is_none_is_an_error_of_its_line() {
    let text = "a,y,b\n1,10,x\n2,1e1,y\n3,many,x\n4,,y\n5,-0.5,x\n6,7,y\n";
    let mut options = csv();
    options.target = vec!["y".into()];
    let mut stream = RowStream::open(text.as_bytes(), "f.csv", &options).unwrap();
    let mut skipped = vec![];
    let batch = stream.gather(9, OnError::Skip(&mut |error| skipped.push(error.to_string()))).unwrap().unwrap();
    assert_eq!(skipped[0], "f.csv:4:2: 'many' for the target 'y' is not a number; correct or remove the row");
    assert!(skipped.len() == 2 && skipped[1].starts_with("f.csv:5:2: "), "{skipped:?}");
    assert_eq!(
        (batch.labels.clone(), &batch.lines),
        (["10", "10", "-0.5", "7"].map(String::from).to_vec(), &vec![2, 3, 6, 7])
    );
    assert_eq!(stream.names(), ["a", "b"]);
    let set = stream.dataset(batch).unwrap();
    let numbers = set.target.numbers().unwrap();
    assert_eq!((numbers.names(), numbers.values().data()), (&["y".to_string()][..], &[10.0, 10.0, -0.5, 7.0][..]));
    assert_eq!(set.label_name.as_deref(), Some("y"));
    // The label of LIBSVM text is the number.
    options.format = None;
    let mut stream = RowStream::open(&b"1.5 1:2 2:3\n-2 1:1\nmany 2:1\n"[..], "f", &options).unwrap();
    let batch = stream.gather(9, OnError::Fail).unwrap().unwrap();
    let error = stream.dataset(batch).unwrap_err().to_string();
    assert_eq!(error, "f:3: 'many' for the target 'y' is not a number; correct or remove the row");
    options.target.push("b".into());
    let error = RowStream::open(text.as_bytes(), "f.csv", &options).unwrap_err().to_string();
    assert_eq!(error, "parameter target: a stream has one column of numbers to predict, got y, b; give one");
}
