//! From arguments to data, plans and sessions.

use std::path::Path;

use anyhow::{Context, Result, bail};
use multikernel::data::{
    Dataset, Decimal, Expect, Format, Gram, Kind, Labels, LogChoice, MissingLabels, Numbers, ReadOptions, Recipe,
    Samples, Table, ToldKind, ViewSource, group_columns, labelled, load, read_matrix, read_views, read_with_labels,
};
use multikernel::plan::{Model, Plan, Registry};
use multikernel::run::{Control, Observer};
use multikernel::{Matrix, file};

use crate::args::{Choices, Columns, Limits, Planning, Reading};
use crate::{flags, memory, stop};

/// Reads rows; the reader's remarks go to the observer.
pub(crate) fn read(
    source: Option<&str>,
    reading: &Reading,
    expect: Option<Expect>,
    observer: &mut dyn Observer,
) -> Result<Table> {
    table(source, reading, &options(reading, expect)?, observer)
}

fn table(source: Option<&str>, reading: &Reading, options: &ReadOptions, observer: &mut dyn Observer) -> Result<Table> {
    observer.phase("reading");
    let table = match (source, named(&reading.views, "--view")?) {
        (Some(source), views) => one_file(source, &views, reading.labels.as_deref(), options)?,
        (None, views) if !views.is_empty() => {
            let sources = views
                .iter()
                .map(|(name, source)| ViewSource { name: name.clone(), source: source.clone() })
                .collect::<Vec<_>>();
            read_views(&sources, reading.labels.as_deref(), options)?
        }
        (None, _) => {
            bail!("no data: give DATA, or --view NAME=FILE for each view, or --gram NAME=FILE with --labels FILE")
        }
    };
    tell(&table, observer);
    Ok(table)
}

/// Passes on the reader's remarks.
pub(crate) fn tell(table: &Table, observer: &mut dyn Observer) {
    observer.phase("");
    for note in table.notes.iter().map(flags::text) {
        observer.note(&match note.strip_prefix("warning: ") {
            Some(warning) => format!("warning: {}: {warning}", table.name),
            None => format!("{}: {note}", table.name),
        });
    }
}

fn options(reading: &Reading, expect: Option<Expect>) -> Result<ReadOptions> {
    let mut options = options_of(&reading.columns, expect)?;
    options.groups = reading.groups.clone();
    options.target = targets(reading);
    options.target.extend(reading.time.clone());
    options.event.clone_from(&reading.event);
    options.transpose = reading.transpose;
    if reading.missing_labels == "drop" {
        options.missing_labels = MissingLabels::Drop;
    }
    options.memory = memory::limit(reading.memory.as_deref())?;
    Ok(options)
}

/// The arguments' options for lines and columns.
pub(crate) fn options_of(columns: &Columns, expect: Option<Expect>) -> Result<ReadOptions> {
    let mut options = ReadOptions::default();
    options.format = columns.format.as_deref().map(|format| match format {
        "libsvm" => Format::Libsvm,
        "tsv" => Format::Tsv,
        _ => Format::Csv,
    });
    options.header = columns.header.as_deref().map(|header| header == "yes");
    options.label = columns.label.clone();
    options.id = columns.id.clone();
    options.expect = expect;
    options.ignore = columns.ignore.iter().flat_map(|names| split_names(names)).collect();
    options.kinds = kinds(&columns.kinds)?;
    options.decimal = match columns.decimal.as_deref() {
        Some("comma") => Some(Decimal::Comma),
        Some(_) => Some(Decimal::Point),
        None => None,
    };
    Ok(options)
}

/// The columns of numbers to predict.
pub(crate) fn targets(reading: &Reading) -> Vec<String> {
    reading.target.iter().flat_map(|names| split_names(names)).map(|name| name.trim().to_string()).collect()
}

/// The kinds of columns, from COLUMN=KIND texts with commas between.
fn kinds(texts: &[String]) -> Result<Vec<(String, ToldKind)>> {
    let mut kinds = vec![];
    for text in texts.iter().flat_map(|texts| split_names(texts)) {
        // A name may hold an equals sign; a kind does not.
        let Some((name, kind)) = text.rsplit_once('=') else {
            bail!("--kinds {text}: must be COLUMN=KIND, such as --kinds age=number,sex=category");
        };
        kinds.push((name.trim().to_string(), kind.trim().parse()?));
    }
    Ok(kinds)
}

/// Reads a file to show its columns.
pub(crate) fn read_columns(source: Option<&str>, reading: &Reading, observer: &mut dyn Observer) -> Result<Table> {
    let mut options = options(reading, None)?;
    options.label_optional = true;
    table(source, reading, &options, observer)
}

/// The names in a list, where a name with a comma is in double quotes.
fn split_names(list: &str) -> Vec<String> {
    let mut names = vec![String::new()];
    let mut is_quoted = false;
    for c in list.chars() {
        match (c, names.last_mut()) {
            ('"', _) => is_quoted = !is_quoted,
            (',', _) if !is_quoted => names.push(String::new()),
            (c, Some(name)) => name.push(c),
            (_, None) => {}
        }
    }
    names
}

/// One file with all columns, with labels from it or from another file.
fn one_file(source: &str, views: &[(String, String)], labels: Option<&str>, options: &ReadOptions) -> Result<Table> {
    let table = match labels {
        Some(labels) => read_with_labels(source, labels, options)?,
        None => load(source, options)?,
    };
    if views.is_empty() { Ok(table) } else { Ok(group_columns(table, views)?) }
}

/// NAME=VALUE arguments.
fn named(texts: &[String], flag: &str) -> Result<Vec<(String, String)>> {
    let one = |text: &String| match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() && !value.trim().is_empty() => {
            Ok((name.trim().to_string(), value.trim().to_string()))
        }
        _ => bail!("{flag} {text}: must be NAME=VALUE, such as {flag} rna=rna.csv"),
    };
    texts.iter().map(one).collect()
}

/// A Gram matrix from the arguments: its name, its values, and the diagonal of new rows if given.
type GivenGram = (String, Matrix, Option<Vec<f64>>);

fn grams(reading: &Reading) -> Result<Vec<GivenGram>> {
    let memory = memory::limit(reading.memory.as_deref())?;
    let mut found = vec![];
    for (name, files) in named(&reading.grams, "--gram")? {
        let (file, diagonal) = match files.split_once(',') {
            Some((file, diagonal)) => (file, Some(diagonal)),
            None => (files.as_str(), None),
        };
        let values = read_matrix(Path::new(file.trim()), memory)?;
        let diagonal = diagonal.map(|file| read_matrix(Path::new(file.trim()), memory)).transpose()?;
        found.push((name, values, diagonal.map(Matrix::into_data)));
    }
    Ok(found)
}

/// Gram matrices between the training rows.
fn square_grams(reading: &Reading) -> Result<Vec<Gram>> {
    let mut square = vec![];
    for (name, values, diagonal) in grams(reading)? {
        if diagonal.is_some() {
            bail!("--gram {name}: a second file is for new rows; a square matrix has its diagonal in it");
        }
        square.push(Gram::square(&name, values).with_context(|| format!("--gram {name}"))?);
    }
    Ok(square)
}

/// Reads labelled rows: from files, Gram matrices, or both.
pub(crate) fn read_labelled(source: Option<&str>, reading: &Reading, observer: &mut dyn Observer) -> Result<Dataset> {
    let square = square_grams(reading)?;
    if source.is_some() || !reading.views.is_empty() {
        let table = read(source, reading, None, observer)?;
        let set = match (targets(reading).as_slice(), &reading.time, &reading.event) {
            ([], Some(time), Some(event)) => table.into_times(time, event)?,
            ([], ..) => table.into_dataset()?,
            (targets, ..) => table.into_numbers(targets)?,
        };
        check_one_order(source, reading, &set.samples)?;
        let samples = if square.is_empty() { set.samples } else { set.samples.with_grams(square)? };
        return Ok(Dataset { samples, ..set });
    }
    match (&reading.labels, square.is_empty()) {
        (Some(labels), false) => Ok(labelled(Samples::of_grams(square)?, labels, &options(reading, None)?)?),
        _ => bail!("no data: give DATA, or --view NAME=FILE for each view, or --gram NAME=FILE with --labels FILE"),
    }
}

/// Reads rows for a plan, and returns whether they have labels: unsupervised methods do not need them.
pub(crate) fn read_for(
    plan: &Plan,
    source: Option<&str>,
    reading: &Reading,
    observer: &mut dyn Observer,
) -> Result<(Dataset, bool)> {
    match plan.is_supervised() {
        true => Ok((read_labelled(source, reading, observer)?, true)),
        false => read_any(source, reading, observer),
    }
}

/// Reads rows for an unsupervised method: labels from a column named as one, or by the user, else a single class.
fn read_any(source: Option<&str>, reading: &Reading, observer: &mut dyn Observer) -> Result<(Dataset, bool)> {
    const ONE_CLASS: &str = "row";
    let square = square_grams(reading)?;
    let mut options = options(reading, None)?;
    options.label_optional = true;
    if source.is_none() && reading.views.is_empty() && reading.labels.is_none() && !square.is_empty() {
        let samples = Samples::of_grams(square)?;
        let labels = Labels::from_parts(vec![ONE_CLASS.into()], vec![0; samples.n_samples()])?;
        return Ok((Dataset::new("grams", samples, labels)?, false));
    }
    if !square.is_empty() {
        return Ok((read_labelled(source, reading, observer)?, true));
    }
    let table = table(source, reading, &options, observer)?;
    if let Some(name) =
        table.label_name.as_ref().filter(|_| reading.columns.label.is_none() && reading.labels.is_none())
    {
        observer.note(&format!("{}: the column {name} is taken for the classes, not for a feature", table.name));
    }
    let has_labels = table.labels.is_some();
    Ok((table.into_unlabelled(ONE_CLASS)?, has_labels))
}

/// Gram matrices have no ids: their rows must be those of one file, in its order.
fn check_one_order(source: Option<&str>, reading: &Reading, samples: &Samples) -> Result<()> {
    let joined = source.is_none() || reading.labels.is_some();
    if !reading.grams.is_empty() && samples.ids().is_some() && joined {
        bail!(
            "--gram: the rows of a Gram matrix have no ids, and these samples come from files joined by id, in an order of \
             its own; give the other columns and the labels as one file DATA whose rows are in the order of the matrix"
        );
    }
    Ok(())
}

/// Reads rows to predict.
pub(crate) fn read_new(
    source: Option<&str>,
    reading: &Reading,
    model: &Model,
    observer: &mut dyn Observer,
) -> Result<(Samples, Option<Vec<String>>)> {
    let mut cross = vec![];
    for (name, values, diagonal) in grams(reading)? {
        let known = model.input().gram_diagonals();
        let Some((_, trained)) = known.iter().find(|(known, _)| *known == name) else {
            let names: Vec<&str> = known.iter().map(|(name, _)| name.as_str()).collect();
            let names = if names.is_empty() { "none".into() } else { names.join(", ") };
            bail!("--gram {name}: the model has no Gram matrix of this name; it has {names}");
        };
        cross.push(Gram::cross(&name, values, diagonal, trained).with_context(|| format!("--gram {name}"))?);
    }
    if source.is_none() && reading.views.is_empty() && !cross.is_empty() {
        return Ok((Samples::of_grams(cross)?, None));
    }
    if reading.labels.is_some() {
        bail!("--labels is for train and evaluate; to be told the accuracy, give rows with a label column");
    }
    // Files are joined on the column that joined the training files, unless another is named. Every row is predicted.
    let mut reading = reading.clone();
    reading.missing_labels = "refuse".into();
    if source.is_none() {
        reading.columns.id = reading.columns.id.or_else(|| model.input().id_name().map(str::to_string));
    }
    let table = read(source, &reading, Some(model.input().expect()), observer)?;
    check_one_order(source, &reading, &table.samples)?;
    let samples = if cross.is_empty() { table.samples } else { table.samples.with_grams(cross)? };
    Ok((samples, table.labels.or(table.some_labels)))
}

/// Reads rows to look at with a model, with their labels where there are some: in the rows, or in a file of their own.
pub(crate) fn read_tested(
    source: Option<&str>,
    reading: &Reading,
    model: &Model,
    observer: &mut dyn Observer,
) -> Result<(Samples, Option<Vec<String>>)> {
    if reading.labels.is_none() {
        return read_new(source, reading, model, observer);
    }
    let mut reading = reading.clone();
    reading.columns.id = reading.columns.id.or_else(|| model.input().id_name().map(str::to_string));
    let table = read(source, &reading, Some(model.input().expect()), observer)?;
    Ok((table.samples, table.labels.or(table.some_labels)))
}

/// Reads rows to look at with a model, and with what they truly are (labels, numbers or times) where all of them have it;
/// what is missing is told.
pub(crate) fn read_known(
    source: Option<&str>,
    reading: &Reading,
    model: &Model,
    observer: &mut dyn Observer,
) -> Result<(Samples, Option<Dataset>)> {
    let mut why = None;
    let columns = target_columns(reading, model);
    if let (Some(columns), Some(labels)) = (&columns, &reading.labels) {
        let (samples, _) = read_new(source, &Reading { labels: None, ..plain(reading) }, model, observer)?;
        let mut options = options(&plain(reading), None)?;
        let mut names = columns.iter().map(|(name, _)| name.clone());
        options.event = columns.iter().find(|(_, kind)| *kind == Kind::YesNo).and_then(|_| names.next_back());
        options.target = names.collect();
        options.id = options.id.or_else(|| model.input().id_name().map(str::to_string));
        let known = labelled(samples, labels, &options)?;
        return Ok((known.samples.clone(), Some(known)));
    }
    if let Some(columns) = columns.filter(|_| source.is_some()) {
        let expect = model.input().expect().with_target(&columns);
        let names: Vec<String> = columns.into_iter().map(|(name, _)| name).collect();
        // What it remarks is told if it is what counts.
        let mut heard = Heard::default();
        match read(source, &plain(reading), Some(expect), &mut heard).and_then(|table| into_known(table, &names, model))
        {
            Ok(known) => {
                heard.0.iter().for_each(|note| observer.note(note));
                return Ok((known.samples.clone(), Some(known)));
            }
            Err(error) => why = Some(error),
        }
    }
    // A number may be what a format without names has as its label.
    let (samples, truth) = read_tested(source, &plain(reading), model, observer)?;
    let known = match truth.filter(|_| model.times().is_none()) {
        Some(truth) => with_truth(&samples, &truth, model).map_err(|error| why.unwrap_or(error)).map(Some),
        None => why.map_or(Ok(None), Err),
    };
    let known = known.unwrap_or_else(|error| {
        observer.note(&format!("goes without what the rows truly are: {error:#}"));
        None
    });
    Ok((samples, known))
}

/// Remarks kept for later.
#[derive(Default)]
struct Heard(Vec<String>);

impl Observer for Heard {
    fn note(&mut self, text: &str) {
        self.0.push(text.into());
    }
}

/// The reading of rows whose target is the model's.
fn plain(reading: &Reading) -> Reading {
    Reading { target: None, time: None, event: None, ..reading.clone() }
}

/// The columns of what a model predicts, if not classes.
fn target_columns(reading: &Reading, model: &Model) -> Option<Vec<(String, Kind)>> {
    if let Some(numbers) = model.numbers() {
        let told = targets(reading);
        let names = if told.len() == numbers.names().len() { &told } else { numbers.names() };
        return Some(names.iter().map(|name| (name.clone(), Kind::Number)).collect());
    }
    model.times()?;
    let (time, event) = match (&reading.time, &reading.event) {
        (Some(time), Some(event)) => (time.clone(), event.clone()),
        _ => model.input().label()?.split_once(", ").map(|(time, event)| (time.into(), event.into()))?,
    };
    Some(vec![(time, Kind::Number), (event, Kind::YesNo)])
}

fn into_known(table: Table, names: &[String], model: &Model) -> Result<Dataset> {
    Ok(match names {
        [time, event] if model.times().is_some() => table.into_times(time, event)?,
        names => table.into_numbers(names)?,
    })
}

/// Rows with their labels, all of which must be the model's classes, or with their numbers.
fn with_truth(samples: &Samples, truth: &[String], model: &Model) -> Result<Dataset> {
    let blank = truth.iter().filter(|text| text.is_empty()).count();
    if truth.len() != samples.n_samples() || blank > 0 {
        bail!("some rows have no label");
    }
    let Some(numbers) = model.numbers() else {
        let labels = Labels::with_classes(truth, model.classes()).context("the labels are not the model's classes")?;
        return Ok(Dataset::new("rows", samples.clone(), labels)?);
    };
    let number = |text: &String| text.parse::<f64>().with_context(|| format!("'{text}' is not a number"));
    let values = truth.iter().map(number).collect::<Result<Vec<f64>>>()?;
    Ok(Dataset::of_numbers("rows", samples.clone(), Numbers::one(numbers.names()[0].clone(), values)?)?)
}

/// All input files, for messages about overwriting one.
pub(crate) fn sources(source: Option<&str>, reading: &Reading) -> Vec<String> {
    let of = |texts: &[String]| -> Vec<String> {
        texts.iter().filter_map(|text| Some(text.split_once('=')?.1.split(',').next()?.trim().to_string())).collect()
    };
    let mut sources: Vec<String> = source.into_iter().map(str::to_string).collect();
    sources.extend(of(&reading.views).into_iter().filter(|_| source.is_none()));
    sources.extend(of(&reading.grams));
    sources.extend(reading.labels.clone());
    sources
}

/// Refuses to overwrite an input file with a result.
pub(crate) fn check_other_file(flag: &str, path: &Path, source: &str) -> Result<()> {
    if Path::new(source).is_file() && file::is_same(path, Path::new(source)) {
        bail!("{flag} {} would overwrite what is read from it; give another file", path.display());
    }
    Ok(())
}

/// One plan per method. `--set key=value` goes to every method that has the key, `--set method.key=value` to one.
pub(crate) fn plans(methods: &[String], planning: &Planning, registry: &Registry) -> Result<Vec<Plan>> {
    let missing = planning.missing.parse()?;
    let plans = plans_of(methods, &planning.choices, registry)?;
    Ok(plans.into_iter().map(|plan| plan.missing(missing).proba(planning.proba)).collect())
}

/// [`plans`] for the choices that do not depend on how they are trained.
pub(crate) fn plans_of(methods: &[String], choices: &Choices, registry: &Registry) -> Result<Vec<Plan>> {
    let kernels = match choices.kernels.as_slice() {
        [] => None,
        [bank] => Some(bank),
        _ => bail!(
            "--kernels: one bank is taken here, with commas between its kernels; `multikernel search` compares several"
        ),
    };
    let mut plans = vec![];
    for method in methods {
        let plan = Plan::from_registry(registry, method.trim())?.seed(choices.seed).recipe(recipe(choices)?);
        let plan = plan.precision(choices.precision.parse()?);
        plans.push(match kernels {
            // A bank is an error only if no method works on kernels.
            Some(bank) if plan.uses_kernels() || methods.len() == 1 => plan.kernels(bank)?,
            _ => plan,
        });
    }
    if let (Some(bank), false) = (kernels, plans.iter().any(Plan::uses_kernels)) {
        plans[0].clone().kernels(bank)?;
    }
    for set in &choices.set {
        plans = apply(plans, set)?;
    }
    Ok(plans)
}

fn recipe(choices: &Choices) -> Result<Recipe> {
    let log = match choices.log.as_slice() {
        [] => LogChoice::None,
        [all] if all == "all" => LogChoice::All,
        views => LogChoice::Views(views.to_vec()),
    };
    if choices.top_variance == Some(0) {
        bail!("--top-variance 0: must be 1 or more");
    }
    Ok(Recipe { scale: choices.scale.parse()?, log, top_variance: choices.top_variance })
}

fn apply(plans: Vec<Plan>, set: &str) -> Result<Vec<Plan>> {
    let Some((key, value)) = set.split_once('=') else {
        bail!("--set {set}: must be KEY=VALUE, such as --set c=50");
    };
    let (method, key) = match key.trim().split_once('.') {
        Some((method, key)) => (Some(method), key),
        None => (None, key.trim()),
    };
    if let Some(method) = method.filter(|method| plans.iter().all(|plan| plan.name() != *method)) {
        bail!("--set {set}: the method {method} takes no part; name one given by --method");
    }
    let chosen = |plan: &Plan| method.is_none_or(|method| plan.name() == method);
    if !plans.iter().any(|plan| chosen(plan) && plan.params().has(key)) {
        // The method with the most parameters gives the most helpful error.
        let wordy = plans.iter().filter(|plan| chosen(plan)).max_by_key(|plan| plan.params().to_texts().len());
        if let Some(plan) = wordy {
            // Of the default, a parameter of the methods it tries.
            let hint =
                if plan.name() == "auto" { ", which chooses such values; name a method to set them" } else { "" };
            plan.clone()
                .set(key, value.trim())
                .with_context(|| format!("--set {set} (method {}{hint})", plan.name()))?;
        }
    }
    let set_one = |plan: Plan| -> Result<Plan> {
        if chosen(&plan) && plan.params().has(key) {
            let name = plan.name();
            plan.set(key, value.trim()).with_context(|| format!("--set {set} (method {name})"))
        } else {
            Ok(plan)
        }
    };
    plans.into_iter().map(set_one).collect()
}

/// The stop control of a job, with Ctrl-C connected: once to end with what was learned, twice to quit at once.
pub(crate) fn control(limits: &Limits) -> Result<Control> {
    let mut control = Control::default();
    if let Some(seconds) = limits.max_seconds {
        control = control.with_max_seconds(seconds)?;
    }
    stop::connect(control.canceller())?;
    Ok(control)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_a_list_may_hold_commas_in_quotes() {
        for (list, names) in
            [("a,b", vec!["a", "b"]), ("\"x,y\",z", vec!["x,y", "z"]), ("-1", vec!["-1"]), ("a b", vec!["a b"])]
        {
            assert_eq!(split_names(list), names, "{list}");
        }
    }
}
