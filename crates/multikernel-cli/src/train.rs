//! `train`.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use multikernel::data::TargetKind;
use multikernel::file;
use multikernel::plan::{Model, Registry, Session};
use multikernel::report::{ModelPage, count, label_words};
use multikernel::run::{Checkpoint, Observer};

use crate::args::Train;
use crate::bar::Bar;
use crate::{data, forecast, memory, print_text, report, stop};

/// Checks before a long job that its results can be written and overwrite nothing else, and claims their files.
fn check_paths(args: &Train) -> Result<()> {
    let sources = data::sources(args.data.as_deref(), &args.reading);
    sources.iter().try_for_each(|source| data::check_other_file("--out", &args.out, source))?;
    file::check_replaceable(&args.out)?;
    if let Some(watch) = &args.watch {
        sources.iter().try_for_each(|source| data::check_other_file("--watch", watch, source))?;
    }
    let Some(checkpoint) = &args.checkpoint else { return stop::claim([args.out.as_path()]) };
    sources.iter().try_for_each(|source| data::check_other_file("--checkpoint", checkpoint, source))?;
    file::check_replaceable(checkpoint)?;
    if file::is_same(checkpoint, &args.out) {
        bail!("--checkpoint and --out are both {}; give two different files", args.out.display());
    }
    stop::claim([args.out.as_path(), checkpoint])
}

fn checkpoint(args: &Train) -> Result<Option<Checkpoint>> {
    let Some(path) = &args.checkpoint else { return Ok(None) };
    let seconds = args.checkpoint_seconds;
    match Duration::try_from_secs_f64(seconds) {
        Ok(every) => Ok(Some(Checkpoint { every, resume: args.resume, ..Checkpoint::new(path) })),
        Err(_) => bail!("--checkpoint-seconds {seconds}: must be 0 (every step) or more"),
    }
}

pub(crate) fn run(args: &Train, registry: &Registry) -> Result<()> {
    let start = Instant::now();
    let mut bar = Bar::new(args.limits.quiet);
    let plan = data::plans(std::slice::from_ref(&args.method), &args.planning, registry)?.remove(0);
    check_paths(args)?;
    bar = bar.watching(args.watch.as_deref())?;
    let (rows, has_labels) = data::read_for(&plan, args.data.as_deref(), &args.reading, &mut bar)?;
    let label = rows.label_name.as_ref().or(rows.label_column.as_ref()).filter(|_| has_labels);
    let label = label.map_or(String::new(), |label| format!(" in {}", label_words(label)));
    let classes = match rows.target.kind() {
        TargetKind::Classes if has_labels => format!("{} classes{label}", rows.labels.n_classes()),
        TargetKind::Classes => "no labels".into(),
        TargetKind::Numbers => format!("numbers{label}"),
        TargetKind::Times => "times to an event".into(),
    };
    let settings: Vec<String> = plan.settings().iter().map(|(name, value)| format!("{name} = {value}")).collect();
    bar.talk(&format!(
        "{}: {}, {}, {classes}\n{}",
        rows.name,
        count(rows.samples.n_samples(), "row"),
        count(rows.samples.n_features(), "feature"),
        settings.join(", ")
    ));
    let pool = args.limits.pool()?;
    bar.phase("forecast");
    let control = data::control(&args.limits)?;
    if let Some(forecast) = forecast::of(&plan, &rows, rows.samples.n_samples(), &pool, &control) {
        forecast::tell(&forecast, &args.method, 1, args.limits.max_seconds, &mut bar);
    }
    let mut session = Session::new(&pool, &mut bar);
    session.control = control;
    session.memory = memory::limit(args.reading.memory.as_deref())?;
    session.checkpoint = checkpoint(args)?;
    let model = plan.train_in(&rows, &mut session)?;
    bar.phase("saving");
    model.save(&args.out)?;
    bar.clear();
    let command = report::command();
    let page = ModelPage { model: &model, rows: None, known: None, command: Some(&command) };
    bar.end_watch(|_| Ok(page.html(&pool)?));
    model.training().told().iter().for_each(|line| bar.note(line));
    for warning in model.training().warnings() {
        bar.note(&format!("warning: {warning}"));
    }
    let (finished, why) = (model.training().is_finished(), model.training().stop());
    match &args.checkpoint {
        // The model is safe; a finished run has nothing to resume.
        Some(path) if finished && path.exists() => file::remove(path)?,
        Some(path) if !finished && path.exists() => {
            bar.note(&format!("{why}; add --resume to go on from {}", path.display()))
        }
        _ if !finished => bar.note(&format!("{why}; the model holds what was learned so far")),
        _ => {}
    }
    print_text(&format!(
        "{}: {}, {}, {classes}, {}, {:.2} s\n",
        args.out.display(),
        model.training().method(),
        count(model.training().n_samples(), "row"),
        kernels_of(&model),
        start.elapsed().as_secs_f64()
    ))
}

/// How many kernels there are, and how many of them have a weight where some have none.
fn kernels_of(model: &Model) -> String {
    let all = count(model.kernels().len(), "kernel");
    match model.kernels().weights().map(|weights| weights.iter().filter(|&&weight| weight != 0.0).count()) {
        Some(used) if used < model.kernels().len() => format!("{used} of {all}"),
        _ => all,
    }
}
