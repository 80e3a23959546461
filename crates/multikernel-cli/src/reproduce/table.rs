//! The definition of a table: its data sets, and the methods, banks and splits that are run on each.

use multikernel::{Plan, Result};

use super::line::{Printed, Published};
use super::show::Layout;

/// A table that can be rerun.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reproducible {
    /// Its name in `multikernel reproduce`.
    pub(super) name: &'static str,
    /// What it shows.
    pub(super) summary: &'static str,
    /// Its data sets, in order.
    pub(super) sets: &'static [&'static str],
    pub(super) parts: fn(&str) -> Vec<TablePart>,
    pub(super) layout: Layout,
}

/// The runs on one set with one bank.
pub(super) struct TablePart {
    /// The bank in words.
    pub(super) bank: &'static str,
    /// The bank for a set with this many columns and this seed; `None` for each method's own.
    pub(super) kernels: Option<fn(usize, u64) -> String>,
    pub(super) split: Split,
    /// Default number of seeds.
    pub(super) n_seeds: u64,
    /// Whether probabilities are judged too: a method that has none of its own learns them on inner folds.
    pub(super) proba: bool,
    pub(super) entries: Vec<Entry>,
}

impl TablePart {
    /// With 20 stratified halves.
    pub(super) fn halves(bank: &'static str, kernels: fn(usize, u64) -> String, entries: Vec<Entry>) -> TablePart {
        TablePart { bank, kernels: Some(kernels), split: Split::Share(0.5), n_seeds: 20, proba: false, entries }
    }
}

/// How rows are split into training and test parts.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Split {
    /// This share of the rows for training, stratified by class and drawn from the seed.
    Share(f64),
    /// This many rows for training, stratified by class and drawn from the seed.
    Rows(usize),
    /// Stratified cross-validation with this many folds, drawn from the seed: one split per fold.
    Folds(usize),
    /// One file for training, another for testing.
    Fixed,
    /// Training and test rows drawn from the seed.
    Planted,
    /// All rows in an order drawn from the seed, each predicted, then learned; weights are updated after this many
    /// rows.
    Stream { update_every: usize },
}

impl Split {
    pub(super) fn words(self) -> String {
        match self {
            Split::Share(0.5) => "stratified halves".into(),
            Split::Share(share) => format!("{:.0} % to train", 100.0 * share),
            Split::Rows(n) => format!("{n} rows to train"),
            Split::Folds(k) => format!("{k} folds"),
            Split::Fixed => "two files".into(),
            Split::Planted => "drawn by the seed".into(),
            Split::Stream { update_every } => format!("updates every {update_every} rows"),
        }
    }
}

/// A method with its settings; the others of a part are compared with its first.
pub(super) struct Entry {
    pub(super) method: &'static str,
    pub(super) settings: &'static [(&'static str, &'static str)],
    /// Whether it uses its own bank instead of the part's, as a method with one kernel must.
    pub(super) own_bank: bool,
    pub(super) published: Option<Published>,
    pub(super) printed: Printed,
}

impl Entry {
    /// On the part's bank, without published figures.
    pub(super) fn new(method: &'static str, settings: &'static [(&'static str, &'static str)]) -> Entry {
        Entry { method, settings, own_bank: false, published: None, printed: Printed::default() }
    }

    pub(super) fn title(&self) -> String {
        let settings: Vec<String> = self.settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
        [&[self.method.to_string()], settings.as_slice()].concat().join(" ")
    }

    pub(super) fn plan(&self, kernels: Option<&str>, seed: u64) -> Result<Plan> {
        let plan = Plan::new(self.method)?.seed(seed);
        let takes = !self.own_bank && plan.uses_kernels();
        let plan = kernels.filter(|_| takes).into_iter().try_fold(plan, Plan::kernels)?;
        self.settings.iter().try_fold(plan, |plan, (name, value)| plan.set(name, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_of_rows_and_of_one_kernel_leave_the_bank_alone() {
        let bank = Some("gaussian(1), linear");
        let of = |entry: Entry| entry.plan(bank, 0).unwrap().settings().get("kernels").cloned();
        assert_eq!(of(Entry::new("average", &[])).as_deref(), bank);
        assert_eq!(of(Entry { own_bank: true, ..Entry::new("svm", &[]) }).as_deref(), Some("gaussian(median)"));
        assert_eq!(of(Entry::new("majority", &[])), None);
    }
}
