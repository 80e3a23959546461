//! Where learned weights matter: kernels on single columns, most of them useless, added to a sensible bank.

use multikernel::dist::Rng;

use super::mkboost::{self, BANK};
use super::show::{COMPARED, HALVES};
use super::table::{Entry, Reproducible, Split, TablePart};

pub(super) const TABLE: Reproducible = Reproducible {
    name: "columns",
    summary: "17 kernels alone, with 17 more on each of nine random columns, and (sonar) on each of all 60",
    sets: mkboost::TABLE.sets,
    parts,
    layout: HALVES,
};

/// With halves, a difference must exceed twice its standard deviation to be distinguishable from 0, as they share half
/// of their rows; with larger training parts, which is common practice, it need not.
pub(super) const LARGER_TRAINING: Reproducible = Reproducible {
    name: "columns-80",
    summary: "17 kernels with 17 more on each of nine random columns, 80 % of the rows to train",
    sets: mkboost::TABLE.sets,
    parts: more_parts,
    layout: COMPARED,
};

/// Distinct from the streams of splits and methods.
const STREAM: u64 = 1 << 50;

/// The bank and its copies on some columns.
fn with_columns(columns: &[usize]) -> String {
    let columns: Vec<String> = columns.iter().map(usize::to_string).collect();
    let on = columns.join(", ");
    format!("{BANK}, gaussian(2^-6..2^7) on [{on}] each, polynomial(1..3) on [{on}] each")
}

/// Nine columns drawn at random, or all if there are fewer.
fn nine(n_columns: usize, seed: u64) -> String {
    let mut columns: Vec<usize> = (0..n_columns).collect();
    Rng::new(seed, STREAM).shuffle(&mut columns);
    columns.truncate(9);
    with_columns(&columns)
}

fn more_parts(_: &str) -> Vec<TablePart> {
    let entries =
        vec![Entry::new("average", &[]), Entry::new("evidence", &[]), Entry::new("simplemkl", &[("c", "auto")])];
    vec![TablePart { split: Split::Share(0.8), ..TablePart::halves("nine columns", nine, entries) }]
}

fn parts(set: &str) -> Vec<TablePart> {
    let few = || vec![Entry::new("average", &[]), Entry::new("evidence", &[]), Entry::new("simplemkl", &[])];
    let tuned = || {
        vec![
            Entry::new("simplemkl", &[("c", "auto")]),
            Entry::new("simplemkl", &[("sparsity", "auto")]),
            Entry::new("average", &[("c", "auto")]),
        ]
    };
    let mut parts = vec![
        TablePart::halves("17 kernels", |_, _| BANK.into(), few()),
        TablePart::halves("nine columns", nine, few()),
    ];
    if set == "sonar" {
        for part in &mut parts {
            part.entries.extend(tuned());
        }
        let mut entries = few();
        entries.push(Entry::new("simplemkl", &[("c", "100")]));
        entries.extend(tuned());
        let all = |n: usize, _| with_columns(&(0..n).collect::<Vec<_>>());
        parts.push(TablePart::halves("all columns", all, entries));
    }
    parts
}
