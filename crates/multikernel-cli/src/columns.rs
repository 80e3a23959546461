//! `columns`.

use anyhow::Result;
use multikernel::data::Table;
use multikernel::report::TextTable;
use multikernel::run::Observer;
use serde_json::json;

use crate::args::ColumnsCommand;
use crate::bar::Bar;
use crate::{data, print, print_text};

pub(crate) fn run(args: &ColumnsCommand) -> Result<()> {
    let mut bar = Bar::new(args.quiet);
    let table = data::read_columns(args.data.as_deref(), &args.reading, &mut bar)?;
    if let Some(column) = likely_label(&table).filter(|_| args.reading.columns.label.is_none()) {
        bar.note(&format!("{}: column '{column}' is likely the label; say --label {column}", table.name));
    }
    if args.json {
        let column = |column: &multikernel::data::ColumnNote| {
            json!({
                "name": column.name,
                "kind": column.kind,
                "about": column.about,
                "n_missing": column.n_missing,
                "is_feature": column.is_feature,
            })
        };
        let columns: Vec<_> = table.columns.iter().map(column).collect();
        let n_samples = table.samples.n_samples();
        return print(&(json!({ "name": table.name, "n_samples": n_samples, "columns": columns }).to_string() + "\n"));
    }
    let mut text = TextTable::new(&["column", "kind", "missing", "holds"]);
    for column in &table.columns {
        let missing = if column.n_missing > 0 { column.n_missing.to_string() } else { String::new() };
        text.row(vec![column.name.clone(), column.kind.clone(), missing, column.about.clone()]);
    }
    print_text(&text.to_string())
}

/// The column that is called like a label, as files for training are read.
fn likely_label(table: &Table) -> Option<&str> {
    let called = |name: &str| table.columns.iter().find(|column| column.name.eq_ignore_ascii_case(name));
    ["label", "class", "target", "y"].into_iter().find_map(called).map(|column| column.name.as_str())
}
