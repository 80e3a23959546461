//! The default bank of a table that is not all numbers: one group of kernels for each kind of column.

use crate::data::{Kind, Samples};
use crate::kernel::{CENTRED_BANK, DEFAULT_BANK, quoted_name};

/// The kernels on numbers, which are those of tables of numbers alone.
const NUMBERS: [&str; 2] = ["gaussian(median*2^-3..2^3)", "polynomial(1..3)"];
/// Kernels on numbers and categories together: what only both say.
const TOGETHER: [&str; 2] = ["gaussian(median*2^-3..2^3)", "polynomial(2..3)"];
/// Texts and sequences that fewer rows than one in this many have are left out: their kernels are nearly zero.
const MOST_MISSING: usize = 2;

/// The default bank of a method for these samples, given its bank for numbers, and remarks on what was left out.
pub(super) fn bank_by_kind(own: &str, samples: &Samples) -> (String, Vec<String>) {
    let mut remarks = vec![];
    let has = |plural: &str| (0..samples.n_features()).any(|j| samples.kind(j).plural() == plural);
    let (numbers, categories) = (has("numbers"), has("categories"));
    let texts = of_texts(samples, numbers || categories, &mut remarks);
    if !matches!(own, DEFAULT_BANK | CENTRED_BANK) {
        // A method on one kernel.
        let bank = if numbers || categories { own.to_string() } else { texts.last().cloned().unwrap_or(own.into()) };
        return (bank, remarks);
    }
    let mut terms: Vec<String> = vec![];
    let mut add =
        |kernels: &[&str], suffix: &str| terms.extend(kernels.iter().map(|kernel| format!("{kernel}{suffix}")));
    match (numbers, categories, samples.views().is_empty()) {
        (_, _, false) if numbers || categories => {
            if categories {
                add(&["overlap"], "");
            }
            add(&NUMBERS, " each view");
        }
        (true, true, _) => {
            add(&NUMBERS, " on numbers");
            add(&["overlap"], "");
            add(&TOGETHER, "");
        }
        (true, false, _) => add(&NUMBERS, " on numbers"),
        (false, true, _) => {
            add(&["overlap"], "");
            add(&TOGETHER, "");
        }
        (false, false, _) => {}
    }
    terms.extend(texts);
    if own == CENTRED_BANK {
        terms.iter_mut().for_each(|term| term.push_str(" centred"));
    }
    (terms.join(", "), remarks)
}

/// The kernels of each column of texts or sequences, the one to take alone last.
fn of_texts(samples: &Samples, has_others: bool, remarks: &mut Vec<String>) -> Vec<String> {
    let mut terms = vec![];
    for (j, name) in samples.names().iter().enumerate() {
        let kind = samples.kind(j);
        if !matches!(kind, Kind::Text | Kind::Sequence) {
            continue;
        }
        let n = samples.n_samples();
        let lengths: Vec<usize> = (0..n).filter_map(|i| samples.text(i, j)).map(str::len).collect();
        if has_others && lengths.len() * MOST_MISSING < n {
            let share = lengths.len();
            remarks.push(format!("no kernel on the {kind} {name}: only {share} of {n} rows have it"));
            continue;
        }
        let column = quoted_name(name);
        if kind == Kind::Text {
            terms.push(format!("linear on words({column})"));
            terms.push(format!("linear on words({column}; 1..2)"));
            continue;
        }
        // Positions mean the same in all sequences only if these are equally long.
        if lengths.iter().min() == lengths.iter().max() {
            let kernels = ["spectrum(4)", "spectrum(6)", "degree(2; shift=1)", "degree(4)", "degree(6)"];
            terms.extend(kernels.map(|kernel| format!("{kernel} on [{column}]")));
        } else {
            terms.push(format!("spectrum(3..6) on [{column}]"));
        }
    }
    terms
}
