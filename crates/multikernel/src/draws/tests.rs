//! Draws in files, read back by the data readers.

use super::{Draws, DrawsFormat, Variable};
use crate::data::{ReadOptions, read_from};
use crate::linalg::Matrix;

fn draws() -> Draws {
    let variable = |name: &str, dimension: Option<&str>, coordinates: &[&str], n: usize| Variable {
        name: name.into(),
        dimension: dimension.map(str::to_string),
        coordinates: coordinates.iter().map(|at| at.to_string()).collect(),
        values: Matrix::from_fn(6, n, |i, j| 1.0 / (1 + i + 10 * j) as f64 * 10f64.powi(-(4 * j as i32))),
        prior: dimension.map(|_| (0.05, 0.95)),
    };
    let weights = variable("weights", Some("kernel"), &["linear", "gaussian(1) on [a, \"b\"]", "x", "x"], 4);
    Draws::new(2, vec![weights, variable("log_nu", Some("class"), &[], 2), variable("log_posterior", None, &[], 1)])
        .unwrap()
}

const NAMES: [&str; 9] = [
    "chain",
    "draw",
    "weights[linear]",
    "weights[gaussian(1) on [a, \"b\"]]",
    "weights[2]",
    "weights[3]",
    "log_nu[0]",
    "log_nu[1]",
    "log_posterior",
];

/// All numbers of the file, read as a data table whose label is the chain.
fn assert_reads_back(bytes: &[u8], name: &str) {
    let mut options = ReadOptions::default();
    options.label = Some("chain".into());
    let table = read_from(bytes, name, &options).unwrap();
    assert_eq!(table.samples.names(), &NAMES[1..]);
    let draws = draws();
    let cells = table.samples.features().to_dense().unwrap();
    assert_eq!(cells.n_rows(), 6);
    for i in 0..6 {
        let expected: Vec<f64> =
            draws.variables().iter().flat_map(|variable| variable.values.row(i).to_vec()).collect();
        assert_eq!(cells.row(i)[0], (i % 3) as f64);
        assert_eq!(cells.row(i)[1..], expected[..]);
    }
    let chains: Vec<&str> = table.labels.iter().flatten().map(String::as_str).collect();
    assert_eq!(chains, ["0", "0", "0", "1", "1", "1"]);
}

#[test]
fn csv_has_a_column_for_each_number_and_reads_back_exactly() {
    let bytes = draws().encode(DrawsFormat::Csv, &[]).unwrap();
    let text = String::from_utf8(bytes.clone()).unwrap();
    let head = "chain,draw,weights[linear],\"weights[gaussian(1) on [a, \"\"b\"\"]]\",weights[2],weights[3],log_nu[0],log_nu[1],log_posterior";
    assert_eq!(text.lines().next().unwrap(), head);
    assert!(text.lines().nth(4).unwrap().starts_with("1,0,0.25,"), "{text}");
    assert_reads_back(&bytes, "draws.csv");
}

#[test]
fn endings_say_the_format_and_others_are_refused() {
    assert_eq!(DrawsFormat::of("a/b.csv".as_ref()).unwrap(), DrawsFormat::Csv);
    let expected = "a.nc: draws are written as .csv or .arrow, by the ending of the name; give one of these";
    assert_eq!(DrawsFormat::of("a.nc".as_ref()).unwrap_err().to_string(), expected);
    assert!(DrawsFormat::of("csv".as_ref()).is_err());
    #[cfg(not(feature = "arrow"))]
    assert_eq!(
        DrawsFormat::of("a.arrow".as_ref()).unwrap_err().to_string(),
        "a.arrow: only a build with the feature `arrow` writes Arrow files; build it so, or write .csv"
    );
}

#[cfg(feature = "arrow")]
#[test]
fn arrow_reads_back_exactly_and_says_what_its_columns_are() {
    assert_eq!(DrawsFormat::of("a.arrow".as_ref()).unwrap(), DrawsFormat::Arrow);
    let about = [("method", "bm3kl".to_string()), ("seed", "7".to_string())];
    let bytes = draws().encode(DrawsFormat::Arrow, &about).unwrap();
    assert_eq!(bytes, draws().encode(DrawsFormat::Arrow, &about).unwrap());
    assert_reads_back(&bytes, "draws.arrow");
    let file = arrow_ipc::reader::FileReader::try_new(std::io::Cursor::new(bytes), None).unwrap();
    let schema = file.schema();
    let metadata = schema.metadata();
    assert_eq!((metadata["method"].as_str(), metadata["seed"].as_str()), ("bm3kl", "7"));
    let variables: serde_json::Value = serde_json::from_str(&metadata["variables"]).unwrap();
    assert_eq!(variables[0]["coordinates"], serde_json::json!(["linear", "gaussian(1) on [a, \"b\"]", "x", "x"]));
    assert_eq!(variables[0]["columns"], serde_json::json!(NAMES[2..6]));
    assert_eq!((&variables[0]["dimension"], &variables[2]["dimension"]), (&"kernel".into(), &serde_json::Value::Null));
    assert_eq!(variables[1]["prior"], serde_json::json!([0.05, 0.95]));
}
