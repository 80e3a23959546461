//! `train`.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use multikernel::method::{Registry, Session};
use multikernel::run::{Checkpoint, Observer};
use multikernel::{Pool, file};

use crate::args::Train;
use crate::bar::Bar;
use crate::{data, print};

pub(crate) fn run(args: &Train, registry: &Registry) -> Result<()> {
    let start = Instant::now();
    let mut bar = Bar::new(args.limits.quiet);
    let plan = data::plans(std::slice::from_ref(&args.method), &args.planning, registry)?.remove(0);
    for path in args.checkpoint.iter().chain([&args.out]) {
        file::check_writable(path)?;
    }
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
