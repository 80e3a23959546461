//! `importance`.

use anyhow::{Result, bail};
use multikernel::Pool;
use multikernel::data::load;
use multikernel::evaluate::{ImportanceOf, Importances, importance};
use multikernel::plan::{Model, Registry};
use multikernel::report::{TextTable, count, importance_json};
use multikernel::run::Observer;

use crate::args::Importance;
use crate::bar::Bar;
use crate::{data, print};

/// Lines of the table; JSON has them all.
const MOST_LINES: usize = 40;

pub(crate) fn run(args: &Importance, registry: &Registry) -> Result<()> {
    let mut bar = Bar::new(args.quiet);
    let model = Model::load_with(&args.model, registry)?;
    let mut options = data::options_of(&args.columns, Some(model.input().expect()))?;
    options.memory = data::memory(None)?;
    let table = load(&args.data, &options)?;
    data::tell(&table, &mut bar);
    if table.labels.is_none() {
        bail!("{}: the rows have no labels, so there is no accuracy to fall; give a label in each row", table.source);
    }
    let mut rows = table.into_test_set(model.classes())?;
    // Views are those of training, where the file does not name its own.
    if rows.samples.views().is_empty() && rows.samples.names() == model.input().features() {
        rows.samples = rows.samples.with_views(model.input().views().to_vec())?;
    }
    let of = if args.by == "views" { ImportanceOf::Views } else { ImportanceOf::Columns };
    bar.phase("permuting");
    let found = importance(&model, &rows, &of, args.repeats, args.seed, &Pool::new(args.threads)?)?;
    bar.clear();
    if found.is_trained_on {
        bar.note("the model was trained on these very rows: this tells what it uses, not what helps on others");
    }
    print(&if args.json { importance_json(&found) + "\n" } else { text(&found, &args.by) })
}

fn text(found: &Importances, by: &str) -> String {
    let what = by.trim_end_matches('s');
    let mut text = format!(
        "accuracy {:.4} on {}; how much it falls, {}\n\n",
        found.accuracy,
        count(found.n_rows, "row"),
        count(found.n_repeats, "permutation"),
    );
    let mut table = TextTable::new(&[what, "columns", "fall", "95 % interval", "changed"]);
    for one in found.found.iter().take(MOST_LINES) {
        let interval = format!("[{:+.4}, {:+.4}]", one.interval.0, one.interval.1);
        let changed = format!("{:.1}%", 100.0 * one.changed);
        table.row(vec![one.name.clone(), one.n_columns.to_string(), format!("{:+.4}", one.drop), interval, changed]);
    }
    text += &table.to_string();
    if found.found.len() > MOST_LINES {
        text +=
            &format!("and {}; the JSON report has them all\n", count(found.found.len() - MOST_LINES, "more column"));
    }
    text
}
