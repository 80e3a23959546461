//! `importance`.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Result, bail};
use multikernel::Pool;
use multikernel::data::{Dataset, FeatureSets, Samples};
use multikernel::evaluate::{ImportanceOf, Importances, importance};
use multikernel::plan::{Model, Registry};
use multikernel::report::{TextTable, count, importance_json};
use multikernel::run::Observer;

use crate::args::Importance;
use crate::bar::Bar;
use crate::{data, print, print_text};

/// Lines of the table; JSON has them all.
const MOST_LINES: usize = 40;

pub(crate) fn run(args: &Importance, registry: &Registry) -> Result<()> {
    let mut bar = Bar::new(args.quiet);
    let model = Model::load_with(&args.model, registry)?;
    let (_, known) = data::read_known(args.data.as_deref(), &args.reading, &model, &mut bar)?;
    let Some(known) = known else {
        bail!("the rows lack what the model predicts, so there is no accuracy to fall; give it in each row");
    };
    let rows = Dataset { samples: with_views(known.samples.clone(), &model)?, ..known };
    let (of, what) = match (&args.sets, args.by.as_str()) {
        (Some(path), _) => (ImportanceOf::Sets(sets(path, &rows.samples, &mut bar)?), "set"),
        (None, "views") => (ImportanceOf::Views, "view"),
        (None, _) => (ImportanceOf::Columns, "column"),
    };
    bar.phase("permuting");
    let found = importance(&model, &rows, &of, args.repeats, args.seed, &Pool::new(args.threads)?)?;
    bar.clear();
    if found.is_trained_on {
        bar.note("the model was trained on these very rows: this tells what it uses, not what helps on others");
    }
    if args.json { print(&(importance_json(&found) + "\n")) } else { print_text(&text(&found, what)) }
}

/// Views are those of training, where the rows do not have their own.
fn with_views(samples: Samples, model: &Model) -> Result<Samples> {
    if samples.views().is_empty() && samples.names() == model.input().features() {
        return Ok(samples.with_views(model.input().views().to_vec())?);
    }
    Ok(samples)
}

/// The sets of a file as columns of the rows; names that the rows lack are told.
fn sets(path: &Path, samples: &Samples, bar: &mut Bar) -> Result<Vec<(String, Vec<usize>)>> {
    let (mut found, mut n_unknown) = (vec![], 0);
    let mut places = HashMap::new();
    for (j, name) in samples.names().iter().enumerate() {
        places.entry(name.as_str()).or_insert(j);
    }
    for set in FeatureSets::read(path)?.sets {
        let place = |name: &String| places.get(name.as_str()).copied();
        let columns: Vec<usize> = set.members.iter().filter_map(place).collect();
        n_unknown += set.members.len() - columns.len();
        if !columns.is_empty() {
            found.push((set.name, columns));
        }
    }
    if found.is_empty() {
        bail!("{}: no set has a column of the rows; give the names that the rows have", path.display());
    }
    if n_unknown > 0 {
        bar.note(&format!("{}: {} of sets that the rows do not have", path.display(), count(n_unknown, "name")));
    }
    Ok(found)
}

fn text(found: &Importances, what: &str) -> String {
    let mut text = format!(
        "{} {:.4} on {}; how much it falls, {}\n\n",
        if found.metric == "r2" { "R2" } else { found.metric },
        found.value,
        count(found.n_rows, "row"),
        count(found.n_repeats, "permutation"),
    );
    let changed = if found.accuracy.is_some() { "changed" } else { "" };
    let mut table = TextTable::new(&[what, "columns", "fall", "95 % interval", changed, ""]);
    for one in found.found.iter().take(MOST_LINES) {
        let interval = format!("[{:+.4}, {:+.4}]", one.interval.0, one.interval.1);
        let changed = one.changed.map_or_else(String::new, |changed| format!("{:.1}%", 100.0 * changed));
        let verdict = if one.distinguishable { "" } else { "not distinguishable" };
        let fall = format!("{:+.4}", one.drop);
        table.row(vec![one.name.clone(), one.n_columns.to_string(), fall, interval, changed, verdict.into()]);
    }
    text += &table.to_string();
    if found.found.len() > MOST_LINES {
        let rest = count(found.found.len() - MOST_LINES, &format!("more {what}"));
        text += &format!("and {rest}; the JSON report has them all\n");
    }
    text
}
