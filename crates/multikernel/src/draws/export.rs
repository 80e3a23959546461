//! Draws as a table in a file: one row per draw, one column per number, for the tools that others analyse chains with.

use std::collections::BTreeMap;
use std::path::Path;

use super::{Draws, Variable};
use crate::error::{Error, Result};

/// What a file of draws is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DrawsFormat {
    /// Comma-separated text with one line of column names.
    Csv,
    /// An Arrow IPC file, whose schema also tells variables, dimensions, coordinates and priors.
    Arrow,
}

impl DrawsFormat {
    /// The format that a file's ending asks for; `.arrow` is an error in builds without the feature `arrow`. To be asked before
    /// long work.
    ///
    /// ```
    /// use multikernel::draws::DrawsFormat;
    /// assert_eq!(DrawsFormat::of("draws.csv".as_ref())?, DrawsFormat::Csv);
    /// assert!(DrawsFormat::of("draws.nc".as_ref()).is_err());
    /// # Ok::<(), multikernel::Error>(())
    /// ```
    pub fn of(path: &Path) -> Result<DrawsFormat> {
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("csv") => Ok(DrawsFormat::Csv),
            Some("arrow") if cfg!(feature = "arrow") => Ok(DrawsFormat::Arrow),
            Some("arrow") => Err(Error::file(
                path,
                "only a build with the feature `arrow` writes Arrow files; build it so, or write .csv",
            )),
            _ => Err(Error::file(
                path,
                "draws are written as .csv or .arrow, by the ending of the name; give one of these",
            )),
        }
    }
}

impl Draws {
    /// The draws as the bytes of a file. Columns: `chain` and `draw`, both from 0, then each number under its name, such as
    /// `weights[gaussian(1)]`; numbers read back exactly. `about` says where the draws come from (method, seed) and goes into the
    /// schema of an Arrow file.
    ///
    /// ```
    /// use multikernel::{Matrix, draws::{Draws, DrawsFormat, Variable}};
    /// let values = Matrix::from_vec(2, 1, vec![-1.5, 1e-9])?;
    /// let one = Variable { name: "log_nu".into(), dimension: None, coordinates: vec![], values, prior: None };
    /// let bytes = Draws::new(2, vec![one])?.encode(DrawsFormat::Csv, &[])?;
    /// assert_eq!(bytes, b"chain,draw,log_nu\n0,0,-1.5\n1,0,1e-9\n");
    /// # Ok::<(), multikernel::Error>(())
    /// ```
    pub fn encode(&self, format: DrawsFormat, about: &[(&str, String)]) -> Result<Vec<u8>> {
        match format {
            DrawsFormat::Csv => Ok(self.csv().into_bytes()),
            DrawsFormat::Arrow => self.arrow(about),
        }
    }

    /// Chain and number of a draw, both from 0.
    fn place(&self, row: usize) -> (usize, usize) {
        (row / self.n_draws.max(1), row % self.n_draws.max(1))
    }

    fn csv(&self) -> String {
        let names = self.variables.iter().flat_map(columns).map(|name| format!(",{}", quoted(&name)));
        let mut text = format!("chain,draw{}\n", names.collect::<String>());
        for row in 0..self.n_chains * self.n_draws {
            let (chain, draw) = self.place(row);
            text += &format!("{chain},{draw}");
            for value in self.variables.iter().flat_map(|variable| variable.values.row(row)) {
                // As short as it can be read back exactly, with an exponent where zeros would fill the line.
                text += &format!(",{value:?}");
            }
            text.push('\n');
        }
        text
    }

    #[cfg(not(feature = "arrow"))]
    fn arrow(&self, _: &[(&str, String)]) -> Result<Vec<u8>> {
        Err(Error::input("only a build with the feature `arrow` writes Arrow files"))
    }

    #[cfg(feature = "arrow")]
    fn arrow(&self, about: &[(&str, String)]) -> Result<Vec<u8>> {
        use std::sync::Arc;

        use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch};
        use arrow_ipc::writer::FileWriter;
        use arrow_schema::{DataType, Field, Schema};

        let rows = 0..self.n_chains * self.n_draws;
        let whole = |of: fn((usize, usize)) -> usize| {
            Arc::new(rows.clone().map(|row| of(self.place(row)) as i64).collect::<Int64Array>()) as ArrayRef
        };
        let mut fields = ["chain", "draw"].map(|name| Field::new(name, DataType::Int64, false)).to_vec();
        let mut arrays = vec![whole(|place| place.0), whole(|place| place.1)];
        for variable in &self.variables {
            for (name, column) in columns(variable).into_iter().zip(variable.values.transposed().rows()) {
                fields.push(Field::new(name, DataType::Float64, false));
                arrays.push(Arc::new(Float64Array::from(column.to_vec())));
            }
        }
        let about = about.iter().map(|(name, value)| (name.to_string(), value.clone()));
        let metadata = about.chain([("variables".to_string(), self.described())]).collect();
        let schema = Arc::new(Schema::new_with_metadata(fields, metadata));
        let write = || {
            let batch = RecordBatch::try_new(schema.clone(), arrays)?;
            let mut writer = FileWriter::try_new(vec![], &schema)?;
            writer.write(&batch)?;
            writer.finish()?;
            writer.into_inner()
        };
        write().map_err(|error| Error::input(format!("the draws cannot be written as an Arrow file: {error}")))
    }

    /// The variables as JSON, in the order of the columns.
    #[cfg(feature = "arrow")]
    fn described(&self) -> String {
        let one = |variable: &Variable| {
            serde_json::json!({
                "name": variable.name,
                "dimension": variable.dimension,
                "coordinates": variable.coordinates,
                "columns": columns(variable),
                "prior": variable.prior,
            })
        };
        self.variables.iter().map(one).collect::<serde_json::Value>().to_string()
    }
}

/// What the numbers of a variable are called: by their coordinates, or by their position where these are unknown or not distinct.
fn columns(variable: &Variable) -> Vec<String> {
    let name = &variable.name;
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    variable.coordinates.iter().for_each(|at| *seen.entry(at).or_default() += 1);
    let column = |index: usize| match variable.coordinates.get(index) {
        Some(at) if seen[at.as_str()] == 1 => format!("{name}[{at}]"),
        None if variable.dimension.is_none() && variable.values.n_cols() == 1 => name.clone(),
        _ => format!("{name}[{index}]"),
    };
    (0..variable.values.n_cols()).map(column).collect()
}

/// A CSV cell, quoted where it has to be.
fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\n', '\r']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
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
        assert_eq!(
            (&variables[0]["dimension"], &variables[2]["dimension"]),
            (&"kernel".into(), &serde_json::Value::Null)
        );
        assert_eq!(variables[1]["prior"], serde_json::json!([0.05, 0.95]));
    }
}
