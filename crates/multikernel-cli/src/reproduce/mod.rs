//! Reruns of the papers' tables: every method on the same splits, published figures next to ours.
//!
//! Seed s determines one split, one partition into folds or one order of a stream, and is the seed of all methods on
//! it; a table uses the seeds from 0 on. With fixed training and test rows, it is the seed of the methods alone.

mod bm3kl;
mod chart;
mod cik;
mod columns;
mod coverage;
mod line;
mod measure;
mod mkboost;
mod mklda;
mod show;
mod source;
mod stream;
mod studies;
mod svimkl;
mod table;
mod verdict;

use anyhow::bail;
use multikernel::plan::Session;
use multikernel::report::TextTable;
use multikernel::{Error, Result};
use serde_json::{Value, json};

use self::measure::reproduce;
use self::table::Reproducible;
use crate::args::Reproduce;
use crate::bar::Bar;
use crate::{data, memory, print};

pub(crate) fn run(args: &Reproduce) -> anyhow::Result<()> {
    let Some(name) = &args.table else {
        return print(&if args.json { format!("{:#}\n", tables_json()) } else { tables_text() });
    };
    if args.repeats == Some(0) {
        bail!("--repeats 0: must be 1 or more");
    }
    if let Some(picture) = &args.picture {
        crate::picture::check_out("--picture", picture)?;
    }
    let mut bar = Bar::new(args.limits.quiet);
    let pool = args.limits.pool()?;
    let mut session = Session::new(&pool, &mut bar);
    session.control = data::control(&args.limits)?;
    session.memory = memory::limit(None)?;
    let found = reproduce(named(name)?, args.data_dir.as_deref(), &args.only, args.repeats, &mut session)?;
    bar.clear();
    if let Some(picture) = &args.picture {
        multikernel::file::write_atomic(picture, chart::svg(&found.table, &found.lines)?.as_bytes())?;
    }
    print(&if args.json { format!("{:#}\n", found.to_json()) } else { found.to_string() })
}

/// All tables.
fn tables() -> &'static [Reproducible] {
    &[
        mkboost::TABLE,
        studies::TRIALS,
        studies::SAMPLING,
        studies::DECAY,
        columns::TABLE,
        columns::LARGER_TRAINING,
        mklda::TABLE,
        mklda::BEMKL,
        mklda::CONFIRM,
        mklda::ONLINE,
        bm3kl::TABLE,
        bm3kl::COLUMNS,
        bm3kl::NORMS,
        bm3kl::AS_PRINTED,
        bm3kl::CLASSES,
        bm3kl::BRIER,
        studies::SWEEPS,
        coverage::TABLE,
        cik::TABLE,
        cik::RIVALS,
        cik::PLANTED,
        svimkl::TABLE,
        svimkl::TOYS,
        svimkl::NOISE,
    ]
}

/// The table with this name.
fn named(name: &str) -> Result<&'static Reproducible> {
    let names: Vec<&str> = tables().iter().map(|table| table.name).collect();
    let unknown = || Error::param("table", format!("`{name}` is unknown; known: {}", names.join(", ")));
    tables().iter().find(|table| table.name == name).ok_or_else(unknown)
}

fn tables_json() -> Value {
    let one = |table: &Reproducible| json!({"name": table.name, "summary": table.summary, "sets": table.sets});
    tables().iter().map(one).collect()
}

fn tables_text() -> String {
    let mut list = TextTable::new(&["table", "what it shows", "data sets"]);
    for table in tables() {
        list.row(vec![table.name, table.summary, &table.sets.join(", ")]);
    }
    list.to_string()
}

#[cfg(test)]
mod tests {
    use multikernel::run::Silent;

    use multikernel::Pool;

    use super::*;

    #[test]
    fn unknown_tables_and_sets_are_answered_with_the_known() {
        assert_eq!(
            named("mkbost").unwrap_err().to_string(),
            "parameter table: `mkbost` is unknown; known: mkboost, mkboost-trials, mkboost-sampling, \
             mkboost-decay, columns, columns-80, mklda, mklda-bemkl, mklda-confirm, mklda-online, bm3kl, bm3kl-columns, bm3kl-norms, bm3kl-printed, bm3kl-classes, \
             bm3kl-brier, bm3kl-sweeps, coverage, cik, cik-rivals, cik-planted, svimkl, svimkl-toys, svimkl-noise"
        );
        let (pool, table, only) = (Pool::new(1).unwrap(), named("columns").unwrap(), ["iris".to_string()]);
        let error = reproduce(table, None, &only, Some(1), &mut Session::new(&pool, &mut Silent)).unwrap_err();
        assert!(error.to_string().starts_with("parameter only: `iris` is not a set of the table columns"), "{error}");
    }

    #[test]
    fn every_plan_of_every_table_can_be_made() {
        for table in tables() {
            for set in table.sets {
                for part in (table.parts)(set) {
                    let kernels = part.kernels.map(|kernels| kernels(12, 3));
                    part.entries.iter().for_each(|entry| drop(entry.plan(kernels.as_deref(), 3).unwrap()));
                }
            }
        }
    }
}
