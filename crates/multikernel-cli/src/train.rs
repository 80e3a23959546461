//! `train`.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use multikernel::method::{Registry, Session};
use multikernel::run::{Checkpoint, Observer};
use multikernel::{Pool, file};

use crate::args::Train;
use crate::bar::Bar;
use crate::{data, print};

/// Finds out before a long job that its results have no place, or the place of one another.
fn check_paths(args: &Train) -> Result<()> {
    file::check_writable(&args.out)?;
    let Some(checkpoint) = &args.checkpoint else { return Ok(()) };
    file::check_writable(checkpoint)?;
    if same_file(checkpoint, &args.out) {
        bail!("--checkpoint and --out are both {}; give two different files", args.out.display());
    }
    Ok(())
}

/// Whether two paths name one file, there or not, in one folder.
fn same_file(a: &Path, b: &Path) -> bool {
    let folder = |path: &Path| {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        parent.canonicalize().ok()
    };
    a.file_name() == b.file_name() && folder(a) == folder(b)
}

pub(crate) fn run(args: &Train, registry: &Registry) -> Result<()> {
    let start = Instant::now();
    let mut bar = Bar::new(args.limits.quiet);
    let plan = data::plans(std::slice::from_ref(&args.method), &args.planning, registry)?.remove(0);
    check_paths(args)?;
    let rows = data::read_labelled(&args.data, &args.reading, &mut bar)?;
    let settings: Vec<String> = plan.settings().iter().map(|(name, value)| format!("{name} = {value}")).collect();
    bar.talk(&format!(
        "{}: {} rows, {} features, {} classes\n{}",
        rows.name,
        rows.samples.n_samples(),
        rows.samples.n_features(),
        rows.labels.n_classes(),
        settings.join(", ")
    ));
    let checkpoint = args.checkpoint.as_ref().map(|path| -> Result<Checkpoint> {
        let every = Duration::try_from_secs_f64(args.checkpoint_seconds)
            .with_context(|| format!("--checkpoint-seconds {}", args.checkpoint_seconds))?;
        Ok(Checkpoint { every, resume: args.resume, ..Checkpoint::new(path) })
    });
    let pool = Pool::new(args.limits.threads)?;
    let mut session = Session::new(&pool, &mut bar);
    session.control = data::control(&args.limits)?;
    session.memory = data::memory(&args.limits)?;
    session.checkpoint = checkpoint.transpose()?;
    let model = plan.train_in(&rows, &mut session)?;
    bar.clear();
    model.save(&args.out)?;
    for warning in model.warnings() {
        bar.note(&format!("warning: {warning}"));
    }
    let (finished, stop) = model.stop();
    match &args.checkpoint {
        // The model is safe; a finished run has nothing to go on from.
        Some(path) if finished && path.exists() => {
            std::fs::remove_file(path).with_context(|| format!("cannot remove the checkpoint {}", path.display()))?
        }
        Some(path) if !finished => bar.note(&format!("{stop}; add --resume to go on from {}", path.display())),
        None if !finished => bar.note(&format!("{stop}; the model holds what was learned so far")),
        _ => {}
    }
    print(&format!(
        "{}: {} on {} rows, {} kernels, {:.2} s\n",
        args.out.display(),
        model.method(),
        model.trained_on().0,
        model.kernels().len(),
        start.elapsed().as_secs_f64()
    ))
}
