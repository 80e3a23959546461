//! `evaluate`.

use anyhow::{Result, bail};
use multikernel::Pool;
use multikernel::data::{Dataset, Kind, Target, TargetKind};
use multikernel::evaluate::{Evaluation, Protocol, ablations, evaluate, with_banks};
use multikernel::file;
use multikernel::plan::{Plan, Registry, Session};
use multikernel::report::{Figures, evaluation_json, evaluation_page, evaluation_text_with};
use multikernel::run::{Control, Observer};

use crate::args::{Evaluate, Reading};
use crate::bar::Bar;
use crate::predict::{guard_formulas, number, quoted};
use crate::{data, forecast, memory, print, print_text, report, stop};

pub(crate) fn run(args: &Evaluate, registry: &Registry) -> Result<()> {
    let plans = data::plans(&methods(args), &args.planning, registry)?;
    compare(args, plans, &[])
}

/// `search`: one method with each of several banks.
pub(crate) fn search(mut args: Evaluate, registry: &Registry) -> Result<()> {
    let banks = std::mem::take(&mut args.planning.choices.kernels);
    let method = match args.method.as_slice() {
        [] => "auto".to_string(),
        [method] => method.clone(),
        _ => bail!("--method: a search compares banks of one method; `multikernel evaluate` compares methods"),
    };
    if args.ablate.is_some() {
        bail!("--ablate is for `multikernel evaluate`; a search compares banks");
    }
    let plan = data::plans(&[method], &args.planning, registry)?.remove(0);
    compare(&args, with_banks(&plan, &banks)?, &banks)
}

/// Measures plans and prints what was found.
fn compare(args: &Evaluate, mut plans: Vec<Plan>, banks: &[String]) -> Result<()> {
    let mut bar = Bar::new(args.limits.quiet);
    let figures = figures(args)?;
    check_paths(args)?;
    bar = bar.watching(args.watch.as_deref())?;
    guard_formulas(args.guard_formulas);
    let rows = data::read_labelled(args.data.as_deref(), &args.reading, &mut bar)?;
    if args.ablate.is_some() {
        // `majority` next to a method has no views to lose.
        let on_kernels: Vec<&Plan> = plans.iter().filter(|plan| plan.uses_kernels()).collect();
        let [plan] = on_kernels.as_slice() else {
            bail!("--ablate views takes one method on kernels; name one with --method")
        };
        plans = ablations(plan, &rows.samples)?;
    }
    let mut remarks: Vec<String> = plans.iter().flat_map(|plan| plan.remarks(&rows.samples)).collect();
    remarks.dedup();
    remarks.iter().for_each(|remark| bar.note(remark));
    let protocol = protocol(args, &rows, &mut bar)?;
    let pool = args.limits.pool()?;
    let control = data::control(&args.limits)?;
    foretell(args, &rows, &plans, &pool, &control, &mut bar);
    let mut session = Session::new(&pool, &mut bar);
    session.control = control;
    session.memory = memory::limit(args.reading.memory.as_deref())?;
    let found = evaluate(&rows, &plans, &protocol, args.planning.choices.seed, &mut session)?;
    bar.clear();
    if let Some(path) = &args.predictions {
        file::write_atomic(path, predictions(&found).as_bytes())?;
    }
    let page = || evaluation_page(&evaluation_json(&found), Some(&report::command()));
    if let Some(path) = &args.report {
        file::write_atomic(path, page()?.as_bytes())?;
    }
    bar.end_watch(|_| Ok(page()?));
    for remark in found.remarks() {
        bar.note(&format!("warning: {remark}"));
    }
    if args.json {
        return print(&(evaluation_json(&found) + "\n"));
    }
    print_text(&(evaluation_text_with(&found, &figures) + &searched(&found, banks)))
}

/// What a search found: the banks by their numbers, the best, and those that cannot be told from it.
fn searched(found: &Evaluation, banks: &[String]) -> String {
    let Some(best) = found.best().filter(|_| !banks.is_empty()) else { return String::new() };
    let name = |place: &usize| found.results[*place].method.clone();
    let mut text = "\nBanks\n".to_string();
    for (k, bank) in banks.iter().enumerate() {
        text += &format!("{}  {bank}\n", name(&k));
    }
    text += &format!("\nBest: {}", name(&best.place));
    match best.level.as_slice() {
        [] => text += "; the others are worse by more than chance\n",
        level => {
            let level: Vec<String> = level.iter().map(name).collect();
            text += &format!("; not distinguishable from it: {}\n", level.join(", "));
        }
    }
    text
}

/// The methods asked for, or the default: `auto` behind its baselines. Classes have one that knows nothing, numbers and
/// times have figures that are relative to it.
fn methods(args: &Evaluate) -> Vec<String> {
    let default = match (&args.ablate, args.reading.target.is_some() || args.reading.time.is_some()) {
        (Some(_), _) => ["auto"].as_slice(),
        (None, true) => &["average", "auto"],
        (None, false) => &["majority", "average", "auto"],
    };
    if args.method.is_empty() { default.iter().map(ToString::to_string).collect() } else { args.method.clone() }
}

/// Reports what a long evaluation will take.
fn foretell(args: &Evaluate, rows: &Dataset, plans: &[Plan], pool: &Pool, control: &Control, bar: &mut Bar) {
    let n = rows.samples.n_samples() as f64;
    let (n_splits, part) = match (&args.test, args.repeats) {
        (Some(_), _) => (1, 1.0),
        (None, Some(n_repeats)) => (n_repeats, args.train_fraction),
        (None, None) => (args.folds, 1.0 - 1.0 / args.folds.max(2) as f64),
    };
    bar.phase("forecast");
    for plan in plans {
        if let Some(forecast) = forecast::of(plan, rows, (n * part) as usize, pool, control) {
            forecast::tell(&forecast, &plan.title(), n_splits, args.limits.max_seconds, bar);
        }
    }
    bar.phase("");
}

/// The figures to show.
fn figures(args: &Evaluate) -> Result<Figures> {
    let figures: Figures = args.metrics.as_deref().map_or(Ok(Figures::default()), str::parse)?;
    match figures.wants_probabilities() {
        Some(name) if !args.planning.proba => bail!("--metrics {name}: is a figure of probabilities; add --proba"),
        _ => Ok(figures),
    }
}

/// Checks before a long job that its results can be written and overwrite nothing else, and claims their files.
fn check_paths(args: &Evaluate) -> Result<()> {
    if args.data.as_deref() == Some("-") && args.test.as_deref() == Some("-") {
        bail!("DATA and --test are both standard input; give a file for one of them");
    }
    let mut sources = data::sources(args.data.as_deref(), &args.reading);
    sources.extend(args.test.iter().chain(&args.test_labels).cloned());
    let files = [("--predictions", &args.predictions), ("--report", &args.report), ("--watch", &args.watch)];
    for (flag, path) in files.into_iter().filter_map(|(flag, path)| Some((flag, path.as_ref()?))) {
        sources.iter().try_for_each(|source| data::check_other_file(flag, path, source))?;
        file::check_writable(path)?;
    }
    args.report.as_deref().map_or(Ok(()), |path| report::check_out("--report", path))?;
    match (&args.predictions, &args.report) {
        (Some(predictions), Some(report)) if file::is_same(predictions, report) => {
            bail!("--predictions and --report are both {}; give two different files", report.display())
        }
        (predictions, report) => stop::claim(predictions.iter().chain(report).map(|path| path.as_path())),
    }
}

fn protocol(args: &Evaluate, rows: &Dataset, bar: &mut Bar) -> Result<Protocol> {
    Ok(match (&args.test, args.repeats) {
        (Some(test), _) => {
            // A named label column is found by its name, whatever the format of the test file.
            let mut reading = args.reading.clone();
            reading.columns.label = reading.columns.label.filter(|_| rows.label_name.is_none());
            // So is a number. Times are two columns, and several numbers are more.
            let targets = target_columns(&reading, rows);
            (reading.target, reading.time, reading.event) = (None, None, None);
            if targets.len() > 1 && args.data.is_none() {
                bail!("--test: times and several numbers are read from one file; give DATA, not --view");
            }
            if !reading.grams.is_empty() {
                bail!("--test is for rows in files, not for --gram; use folds or repeats");
            }
            if reading.labels.is_some() && args.test_labels.is_none() {
                bail!("--test {test}: the labels of these rows are needed too; give them with --test-labels FILE");
            }
            reading.labels.clone_from(&args.test_labels);
            // Rows of several files are tested on as many; columns of one file that are views are known by name.
            let several = args.data.is_none();
            if several && !test.contains('=') {
                bail!("--test {test}: must be NAME=FILE for each view, with commas between, as the rows come in views");
            }
            reading.views = if several { test.split(',').map(str::to_string).collect() } else { vec![] };
            let source = (!several).then_some(test.as_str());
            let expect = if targets.len() > 1 { rows.expect().with_target(&targets) } else { rows.expect() };
            let test = data::read(source, &reading, Some(expect), bar)?;
            Protocol::Test(Box::new(match (&rows.target, targets.as_slice()) {
                (Target::Numbers(numbers), _) => test.into_numbers(numbers.names())?,
                (Target::Times(_), [(time, _), (event, _)]) => test.into_times(time, event)?,
                _ => test.into_test_set(rows.labels.classes())?,
            }))
        }
        (None, Some(n_repeats)) => Protocol::Repeats { n_repeats, train_fraction: args.train_fraction },
        (None, None) => Protocol::Folds(args.folds),
    })
}

/// The columns of numbers, or of times and events, that rows were read with.
fn target_columns(reading: &Reading, rows: &Dataset) -> Vec<(String, Kind)> {
    match (&rows.target, &reading.time, &reading.event) {
        (Target::Numbers(numbers), ..) => numbers.names().iter().map(|name| (name.clone(), Kind::Number)).collect(),
        (Target::Times(_), Some(time), Some(event)) => {
            vec![(time.clone(), Kind::Number), (event.clone(), Kind::YesNo)]
        }
        _ => vec![],
    }
}

/// The predictions of all test rows as a table.
fn predictions(found: &Evaluation) -> String {
    match found.target() {
        TargetKind::Classes => {}
        TargetKind::Numbers => return number_predictions(found),
        TargetKind::Times => return time_predictions(found),
    }
    let rows = &found.test_rows;
    let id = rows.ids.as_ref().map_or("row", |_| rows.id_name.as_deref().unwrap_or("id"));
    let mut text = format!("{},method,split,label,predicted", quoted(id));
    let is_probable = found.predictions().any(|one| one.probabilities.is_some());
    let classes = if is_probable { found.classes.as_slice() } else { &[] };
    text.extend(classes.iter().map(|class| format!(",{}", quoted(&format!("p:{class}")))));
    text.push('\n');
    for one in found.predictions() {
        let id = one.id.map_or(one.number.to_string(), quoted);
        let [method, label, predicted] = [one.method, one.label, one.predicted].map(quoted);
        text += &format!("{id},{method},{},{label},{predicted}", one.split + 1);
        for class in 0..classes.len() {
            text.push(',');
            text += &one.probabilities.map_or(String::new(), |values| number(values[class]));
        }
        text.push('\n');
    }
    text
}

/// The predicted numbers of all test rows as a table.
fn number_predictions(found: &Evaluation) -> String {
    let rows = &found.test_rows;
    let id = rows.ids.as_ref().map_or("row", |_| rows.id_name.as_deref().unwrap_or("id"));
    let mut text = format!("{},method,split,target,truth,predicted,deviation\n", quoted(id));
    for one in found.number_predictions() {
        let id = one.id.map_or(one.number.to_string(), quoted);
        let [method, name] = [one.method, one.name].map(quoted);
        let [truth, predicted] = [one.truth, one.predicted].map(number);
        let deviation = one.deviation.map_or(String::new(), number);
        text += &format!("{id},{method},{},{name},{truth},{predicted},{deviation}\n", one.split + 1);
    }
    text
}

/// The predicted risks of all test rows as a table.
fn time_predictions(found: &Evaluation) -> String {
    let rows = &found.test_rows;
    let id = rows.ids.as_ref().map_or("row", |_| rows.id_name.as_deref().unwrap_or("id"));
    let mut text = format!("{},method,split,time,event,risk\n", quoted(id));
    let Some(truth) = rows.target.times() else { return text };
    for result in &found.results {
        for (fold, times) in result.folds.iter().filter_map(|fold| Some((fold, fold.times.as_ref()?))) {
            for (&row, &risk) in fold.rows.iter().zip(&times.risks) {
                let id = rows.ids.as_ref().map_or(rows.numbers[row].to_string(), |ids| quoted(&ids[row]));
                let (method, event) = (quoted(&result.method), u8::from(truth.event()[row]));
                let [time, risk] = [truth.time()[row], risk].map(number);
                text += &format!("{id},{method},{},{time},{event},{risk}\n", fold.split + 1);
            }
        }
    }
    text
}
