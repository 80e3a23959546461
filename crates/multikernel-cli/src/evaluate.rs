//! `evaluate`.

use anyhow::{Result, bail};
use multikernel::Pool;
use multikernel::evaluate::{Protocol, evaluate};
use multikernel::method::{Registry, Session};
use multikernel::report::{evaluation_json, evaluation_text};
use multikernel::run::Observer;

use crate::args::Evaluate;
use crate::bar::Bar;
use crate::{data, print};

pub(crate) fn run(args: &Evaluate, registry: &Registry) -> Result<()> {
    let mut bar = Bar::new(args.limits.quiet);
    let plans = data::plans(&args.method, &args.planning, registry)?;
    if args.data == "-" && args.test.as_deref() == Some("-") {
        bail!("DATA and --test are both standard input; give a file for one of them");
    }
    let rows = data::read_labelled(&args.data, &args.reading, &mut bar)?;
    let protocol = match (&args.test, args.repeats) {
        (Some(test), _) => {
            // A named label column is found again by its name, whatever the format of the test file.
            let mut reading = args.reading.clone();
            reading.label = reading.label.filter(|_| rows.label_name.is_none());
            let test = data::read(test, &reading, Some(rows.expect()), &mut bar)?;
            Protocol::Test(Box::new(test.into_test_set(rows.labels.classes())?))
        }
        (None, Some(n_repeats)) => Protocol::Repeats { n_repeats, train_fraction: args.train_fraction },
        (None, None) => Protocol::Folds(args.folds),
    };
    let pool = Pool::new(args.limits.threads)?;
    let mut session = Session::new(&pool, &mut bar);
    session.control = data::control(&args.limits)?;
    session.memory = data::memory(args.reading.memory.as_deref())?;
    let found = evaluate(&rows, &plans, &protocol, args.planning.seed, &mut session)?;
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
