//! Draws as a table in a file: one row per draw, one column per number, for other tools that analyse chains.

use std::collections::BTreeMap;
use std::path::Path;

use super::{Draws, Variable};
use crate::error::{Error, Result};

/// The format of a file of draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DrawsFormat {
    /// Comma-separated text with one line of column names.
    Csv,
    /// An Arrow IPC file, whose schema also holds variables, dimensions, coordinates and priors.
    Arrow,
}

impl DrawsFormat {
    /// The format for a file's ending; `.arrow` is an error in builds without the feature `arrow`. Check this before
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
    /// The draws as the bytes of a file. Columns: `chain` and `draw`, both from 0, then each number under its name,
    /// such as `weights[gaussian(1)]`; numbers read back exactly. `about` describes where the draws come from (method,
    /// seed) and goes into the schema of an Arrow file.
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

    /// The chain and index of a draw, both from 0.
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
                // The shortest text that reads back exactly, with an exponent where zeros would fill the line.
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

/// The column names of a variable: its coordinates, or positions if these are unknown or not distinct.
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

/// A CSV cell, quoted if necessary.
fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\n', '\r']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell.to_string() }
}
