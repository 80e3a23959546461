//! Kernel weights and shares over the splits of an evaluation.

use super::result::{PlanResult, Spread};

/// One kernel, or one view as the sum of its kernels, over all splits.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelSummary {
    /// Its name.
    pub name: String,
    /// Its weight.
    pub weight: Spread,
    /// Its share of the decisions on the training rows, for methods that have shares.
    pub share: Option<Spread>,
    /// The fraction of splits in which its weight was nonzero.
    pub selected: f64,
}

impl PlanResult {
    /// Each kernel over all splits; empty for methods without weights, and where splits have different kernels.
    pub fn kernel_summaries(&self) -> Vec<KernelSummary> {
        let sets: Vec<(&str, Vec<usize>)> =
            self.kernel_names.iter().enumerate().map(|(m, name)| (name.as_str(), vec![m])).collect();
        self.summaries(&sets)
    }

    /// Each view over all splits, as the sum of the kernels on it.
    pub fn view_summaries(&self) -> Vec<KernelSummary> {
        let sets: Vec<(&str, Vec<usize>)> =
            self.views.iter().map(|view| (view.name.as_str(), view.kernels.clone())).collect();
        self.summaries(&sets)
    }

    fn summaries(&self, sets: &[(&str, Vec<usize>)]) -> Vec<KernelSummary> {
        let fits = |values: &Vec<f64>| values.len() == self.kernel_names.len();
        let weights: Option<Vec<&Vec<f64>>> =
            self.folds.iter().map(|fold| fold.weights.as_ref().filter(|weights| fits(weights))).collect();
        let shares: Option<Vec<&Vec<f64>>> =
            self.folds.iter().map(|fold| fold.shares.as_ref().filter(|shares| fits(shares))).collect();
        let Some(weights) = weights else { return vec![] };
        let sums = |values: &[&Vec<f64>], kernels: &[usize]| -> Vec<f64> {
            values.iter().map(|values| kernels.iter().map(|&m| values[m]).sum()).collect()
        };
        let one = |(name, kernels): &(&str, Vec<usize>)| {
            let here = sums(&weights, kernels);
            let selected = here.iter().filter(|&&weight| weight != 0.0).count() as f64 / here.len() as f64;
            let share = shares.as_ref().and_then(|shares| Spread::of(&sums(shares, kernels)));
            Some(KernelSummary { name: name.to_string(), weight: Spread::of(&here)?, share, selected })
        };
        sets.iter().filter_map(one).collect()
    }
}
