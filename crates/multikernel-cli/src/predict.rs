//! `predict`.

use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Result, bail};
use multikernel::data::{Dataset, Labels, Samples};
use multikernel::evaluate::NumberMetrics;
use multikernel::plan::{Model, ModelNumbers, Parts, PartsBy, Registry};
use multikernel::run::{Observer, Placed};
use multikernel::{Device, Matrix, Pool, file};

use crate::args::Predict;
use crate::bar::Bar;
use crate::{data, print, stop};

pub(crate) fn run(args: &Predict, registry: &Registry) -> Result<()> {
    let mut bar = Bar::new(args.quiet);
    guard_formulas(args.guard_formulas);
    if let Some(out) = &args.out {
        let sources = data::sources(args.data.as_deref(), &args.reading);
        sources.iter().try_for_each(|source| data::check_other_file("--out", out, source))?;
        data::check_other_file("--out", out, &args.model.display().to_string())?;
        file::check_writable(out)?;
    }
    stop::claim(args.out.as_deref())?;
    let model = Model::load_with(&args.model, registry)?;
    let (rows, truth) = data::read_new(args.data.as_deref(), &args.reading, &model, &mut bar)?;
    let pool = Pool::new(args.threads)?.with_device(Device::named(&args.device)?);
    model.input().unseen(&rows)?.iter().for_each(|note| bar.note(note));
    bar.phase("predicting");
    let mut columns = Columns::default();
    if let Some(numbers) = model.numbers() {
        if args.proba || args.scores || args.clusters {
            bail!("the model predicts numbers: it has no classes or clusters; --interval 0.9 adds intervals");
        }
        let found = add_numbers(&mut columns, numbers, &rows, args.interval, &pool)?;
        add_parts(&mut columns, args, &model, &rows, &pool)?;
        bar.clear();
        if let Some(truth) = &truth {
            bar.note(&number_accuracy(truth, &found));
        }
        return write(args, &table(&rows, None, &columns));
    }
    if let Some(times) = model.times() {
        if args.proba || args.scores || args.clusters || args.interval.is_some() {
            bail!(
                "the model predicts times to an event: risks, and with --at TIME the probability to be without it by then"
            );
        }
        if let Some(time) = args.at.iter().find(|time| !(time.is_finite() && **time >= 0.0)) {
            bail!("--at {time}: must be finite and not negative");
        }
        let risks = times.risks_in(&rows, &pool)?;
        columns.0.push(("risk".into(), risks.into_iter().map(number).collect()));
        let survival = times.survival_in(&rows, &args.at, &pool)?;
        for (t, time) in args.at.iter().enumerate() {
            columns.0.push((format!("s:{time}"), survival.column(t).into_iter().map(number).collect()));
        }
        add_parts(&mut columns, args, &model, &rows, &pool)?;
        bar.clear();
        return write(args, &table(&rows, None, &columns));
    }
    if !args.at.is_empty() {
        bail!("--at is for models of times to an event; this one predicts classes");
    }
    if args.interval.is_some() {
        bail!("--interval is for models of numbers; this one predicts classes: use --proba");
    }
    let prediction = model.predict_in(&rows, &pool)?;
    if args.clusters {
        let Some(clustering) = model.clustering() else {
            let method = model.training().method();
            bail!("the model has no clusters: {method} finds none; train with cik, dpm or mkc");
        };
        columns.add_clusters(clustering.place_in(&rows, &pool)?);
    }
    if args.proba {
        columns.add_classes("p", model.classes(), &model.probabilities_in(&rows, &pool)?);
    } else if args.scores {
        columns.add_classes("score", model.classes(), &prediction.scores);
    }
    add_parts(&mut columns, args, &model, &rows, &pool)?;
    bar.clear();
    let labels: Vec<&str> = prediction.labels.iter().map(|&code| model.classes()[code].as_str()).collect();
    if let Some(truth) = &truth {
        bar.note(&accuracy(truth, &prediction.labels, &rows, &model));
    }
    write(args, &table(&rows, Some(&labels), &columns))
}

/// Adds the parts of decisions, if they are wanted.
fn add_parts(columns: &mut Columns, args: &Predict, model: &Model, rows: &Samples, pool: &Pool) -> Result<()> {
    if let Some(parts) = &args.parts {
        let by = if parts == "views" { PartsBy::View } else { PartsBy::Kernel };
        columns.add_parts(&model.parts_in(rows, by, pool)?, &model.outputs());
    }
    Ok(())
}

fn write(args: &Predict, text: &str) -> Result<()> {
    match &args.out {
        Some(path) => Ok(file::write_atomic(path, text.as_bytes())?),
        None => print(text),
    }
}

/// Adds a column for each number, and two for the bounds of its interval if they are wanted; returns the numbers.
fn add_numbers(
    columns: &mut Columns,
    numbers: ModelNumbers<'_>,
    rows: &Samples,
    level: Option<f64>,
    pool: &Pool,
) -> Result<Matrix> {
    let bounds = match level {
        Some(level) if !(level > 0.0 && level < 1.0) => {
            bail!("--interval {level}: must lie between 0 and 1, such as 0.9")
        }
        Some(level) => Some(numbers.intervals_in(rows, level, pool)?),
        None => None,
    };
    let found = numbers.predict_in(rows, pool)?;
    for (t, name) in numbers.names().iter().enumerate() {
        let cells = |values: &Matrix| values.column(t).into_iter().map(number).collect();
        columns.0.push((name.clone(), cells(&found)));
        if let Some([low, high]) = &bounds {
            columns.0.push((format!("low:{name}"), cells(low)));
            columns.0.push((format!("high:{name}"), cells(high)));
        }
    }
    Ok(found)
}

/// How close the predictions of the first number come to the truth, leaving out rows without it.
fn number_accuracy(truth: &[String], found: &Matrix) -> String {
    let known: Vec<(f64, f64)> = truth
        .iter()
        .zip(found.column(0))
        .filter_map(|(text, predicted)| Some((text.parse().ok().filter(|value: &f64| value.is_finite())?, predicted)))
        .collect();
    let column = |values: Vec<f64>| Matrix::from_vec(values.len(), 1, values);
    let (truth, predicted): (Vec<f64>, Vec<f64>) = known.into_iter().unzip();
    let n = truth.len();
    let metrics = column(truth).and_then(|truth| NumberMetrics::new(&truth, &column(predicted)?, None));
    match metrics {
        Ok(found) => format!("R2 {:.4}, RMSE {:.6} on {n} rows with the number", found.r2, found.rmse),
        Err(_) => "no row has a number to compare with".into(),
    }
}

/// How many labelled rows were predicted correctly, leaving out those with a blank label; classes are compared as in
/// `evaluate --test`, so `1.0` is `1`.
fn accuracy(truth: &[String], predicted: &[usize], rows: &Samples, model: &Model) -> String {
    let (truth, predicted): (Vec<&String>, Vec<usize>) =
        truth.iter().zip(predicted.iter().copied()).filter(|(label, _)| !label.is_empty()).unzip();
    match Labels::with_classes(&truth, model.classes()) {
        Ok(truth) => {
            let right = truth.codes().iter().zip(&predicted).filter(|(a, b)| a == b).count();
            let share = right as f64 / predicted.len() as f64;
            let known = if is_trained_on(model, rows, truth) {
                "; the model was trained on these very rows: `multikernel evaluate` tells how it does on others"
            } else {
                ""
            };
            format!("accuracy {share:.4} on {} labelled rows{known}", predicted.len())
        }
        Err(error) => format!("the rows' labels are not the model's classes, so no accuracy is reported: {error}"),
    }
}

/// Whether these are exactly the rows that a model was trained on, in the same order.
fn is_trained_on(model: &Model, rows: &Samples, truth: Labels) -> bool {
    let training = model.training();
    training.n_samples() == rows.n_samples()
        && Dataset::new("", rows.clone(), truth).is_ok_and(|rows| rows.fingerprint() == training.fingerprint())
}

/// Columns besides the label: names and cells.
#[derive(Default)]
struct Columns(Vec<(String, Vec<String>)>);

impl Columns {
    fn add_clusters(&mut self, placed: Placed) {
        self.0.push(("cluster".into(), placed.clusters.iter().map(usize::to_string).collect()));
        if let Some(density) = placed.density {
            self.0.push(("ln_density".into(), density.into_iter().map(number).collect()));
        }
        if let Some(typical) = placed.typical {
            self.0.push(("typical".into(), typical.into_iter().map(number).collect()));
        }
    }

    /// A number for each class.
    fn add_classes(&mut self, what: &str, classes: &[String], values: &Matrix) {
        for (m, class) in classes.iter().enumerate() {
            self.0.push((format!("{what}:{class}"), values.column(m).into_iter().map(number).collect()));
        }
    }

    /// The parts of each decision, `part:NAME`; with several decisions, `part:DECISION:NAME`.
    fn add_parts(&mut self, parts: &Parts, outputs: &[String]) {
        for (p, values) in parts.values.iter().enumerate() {
            let decision = if parts.values.len() > 1 { parts.title(p, outputs) + ":" } else { String::new() };
            for (k, name) in parts.names.iter().enumerate() {
                let cells = values.column(k).into_iter().map(number).collect();
                self.0.push((format!("part:{decision}{name}"), cells));
            }
            self.0.push((format!("part:{decision}bias"), vec![number(parts.biases[p]); values.n_rows()]));
        }
    }
}

/// The name of the id column in a table whose other columns are named `taken`: its own, if known and free.
pub(crate) fn id_name(rows: &Samples, taken: &[&str]) -> String {
    quoted(rows.id_name().filter(|name| !taken.contains(name)).unwrap_or("id"))
}

fn table(rows: &Samples, labels: Option<&[&str]>, columns: &Columns) -> String {
    let (ids, label) = (rows.ids(), labels.map(|_| "label"));
    let taken: Vec<&str> = columns.0.iter().map(|(name, _)| name.as_str()).chain(label).collect();
    let head = ids.map(|_| id_name(rows, &taken)).into_iter().chain(label.map(str::to_string));
    let mut text = head.chain(columns.0.iter().map(|(name, _)| quoted(name))).collect::<Vec<_>>().join(",") + "\n";
    for i in 0..rows.n_samples() {
        let id = ids.map(|ids| quoted(&ids[i]));
        let line = id.into_iter().chain(labels.map(|labels| quoted(labels[i])));
        text += &line.chain(columns.0.iter().map(|(_, cells)| cells[i].clone())).collect::<Vec<_>>().join(",");
        text.push('\n');
    }
    text
}

/// A number that reads back exactly, with an exponent where zeros would fill the line.
pub(crate) fn number(value: f64) -> String {
    if value != 0.0 && !(1e-5..1e16).contains(&value.abs()) { format!("{value:e}") } else { value.to_string() }
}

/// Whether cells that a spreadsheet takes for formulas get an apostrophe before them.
static GUARDS_FORMULAS: AtomicBool = AtomicBool::new(false);

/// Guards the cells of all tables written from now on.
pub(crate) fn guard_formulas(guards: bool) {
    GUARDS_FORMULAS.store(guards, Ordering::Relaxed);
}

/// Whether a spreadsheet takes a cell for a formula: some take signs of full width, too. A number is none.
fn is_formula(cell: &str) -> bool {
    let signs = ['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'];
    cell.starts_with(signs) && cell.parse::<f64>().is_err()
}

/// A CSV cell, quoted if necessary.
pub(crate) fn quoted(cell: &str) -> String {
    if GUARDS_FORMULAS.load(Ordering::Relaxed) && is_formula(cell) {
        // A quoted cell keeps the apostrophe in it, whatever else it holds.
        return format!("\"'{}\"", cell.replace('"', "\"\""));
    }
    if cell.contains([',', '"', '\n', '\r']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell.to_string() }
}
