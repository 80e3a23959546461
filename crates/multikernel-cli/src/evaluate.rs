//! `evaluate`.

use anyhow::{Result, bail};
use multikernel::Pool;
use multikernel::evaluate::{Protocol, ablations, evaluate};
use multikernel::method::{Plan, Registry, Session};
use multikernel::report::{evaluation_json, evaluation_text};
use multikernel::run::Observer;

use crate::args::Evaluate;
use crate::bar::Bar;
use crate::{data, print};

pub(crate) fn run(args: &Evaluate, registry: &Registry) -> Result<()> {
    let mut bar = Bar::new(args.limits.quiet);
    let mut plans = data::plans(&args.method, &args.planning, registry)?;
    if args.data.as_deref() == Some("-") && args.test.as_deref() == Some("-") {
        bail!("DATA and --test are both standard input; give a file for one of them");
    }
    let rows = data::read_labelled(args.data.as_deref(), &args.reading, &mut bar)?;
    if args.ablate.is_some() {
        // `majority` beside a method has no views to lose.
        let on_kernels: Vec<&Plan> = plans.iter().filter(|plan| plan.uses_kernels()).collect();
        let [plan] = on_kernels.as_slice() else {
            bail!("--ablate views takes one method on kernels; name one with --method")
        };
        plans = ablations(plan, &rows.samples)?;
    }
    let protocol = match (&args.test, args.repeats) {
        (Some(test), _) => {
            // A named label column is found again by its name, whatever the format of the test file.
            let mut reading = args.reading.clone();
            reading.columns.label = reading.columns.label.filter(|_| rows.label_name.is_none());
            if args.data.is_none() || !reading.grams.is_empty() || reading.labels.is_some() {
                bail!("--test is one file, for DATA that is one file with its labels; use folds or repeats instead");
            }
            reading.views.clear();
            let test = data::read(Some(test), &reading, Some(rows.expect()), &mut bar)?;
            Protocol::Test(Box::new(test.into_test_set(rows.labels.classes())?))
        }
        (None, Some(n_repeats)) => Protocol::Repeats { n_repeats, train_fraction: args.train_fraction },
        (None, None) => Protocol::Folds(args.folds),
    };
    let pool = Pool::new(args.limits.threads)?;
    let mut session = Session::new(&pool, &mut bar);
    session.control = data::control(&args.limits)?;
    session.memory = data::memory(args.reading.memory.as_deref())?;
    let found = evaluate(&rows, &plans, &protocol, args.planning.choices.seed, &mut session)?;
    bar.clear();
    for result in &found.results {
        let warnings: Vec<&String> = result.folds.iter().flat_map(|fold| &fold.warnings).collect();
        if let Some(first) = warnings.first() {
            bar.note(&format!(
                "warning: {} ({} of {} splits): {first}",
                result.method,
                warnings.len(),
                result.folds.len()
            ));
        }
    }
    print(&if args.json { evaluation_json(&found) + "\n" } else { evaluation_text(&found) })
}
