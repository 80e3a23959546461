//! The record of boosting, trial by trial: the part of a run that its model keeps.

use std::ops::Range;

use crate::file::record;

record! {
    /// Consecutive trials, with flat arrays of their SVMs and of the SVMs' support points.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub(super) struct Trials {
        /// The pair of classes each trial was for.
        pub(super) pair: Vec<usize>,
        /// `e`, before clamping.
        pub(super) error: Vec<f64>,
        /// `a`.
        pub(super) weight: Vec<f64>,
        /// How many of the pair's training rows were classified correctly after it, and how many of the held-out rows.
        pub(super) right: Vec<usize>,
        pub(super) held_right: Vec<usize>,
        /// End offset of each trial's SVMs.
        pub(super) ends: Vec<usize>,
        /// For each SVM its kernel, its weight `a_j` in the vote of the trial, and its bias.
        pub(super) kernel: Vec<usize>,
        pub(super) inner: Vec<f64>,
        pub(super) bias: Vec<f64>,
        /// End offset of each SVM's support points.
        pub(super) support_ends: Vec<usize>,
        pub(super) support: Vec<usize>,
        pub(super) coef: Vec<f64>,
    }
}

/// The statistics of one trial.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outcome {
    pub(super) error: f64,
    pub(super) weight: f64,
    pub(super) right: usize,
    pub(super) held_right: usize,
}

/// One SVM: `f(x) = sum_k coef_k k(x_support_k, x) + bias`. One without support points is a constant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Learner<'a> {
    pub(super) kernel: usize,
    pub(super) inner: f64,
    pub(super) bias: f64,
    pub(super) support: &'a [usize],
    pub(super) coef: &'a [f64],
}

/// The run of items that ends at `ends[at]`.
fn run(ends: &[usize], at: usize) -> Range<usize> {
    at.checked_sub(1).map_or(0, |before| ends[before])..ends[at]
}

/// Whether these are valid end offsets of runs over `n` items.
fn are_ends(ends: &[usize], n: usize) -> bool {
    ends.is_sorted() && ends.last().copied().unwrap_or(0) == n
}

impl Trials {
    pub(super) fn len(&self) -> usize {
        self.pair.len()
    }

    /// Adds an SVM to the trial that the next [`Trials::close`] ends.
    pub(super) fn push(&mut self, learner: Learner<'_>) {
        self.kernel.push(learner.kernel);
        self.inner.push(learner.inner);
        self.bias.push(learner.bias);
        self.support.extend_from_slice(learner.support);
        self.coef.extend_from_slice(learner.coef);
        self.support_ends.push(self.support.len());
    }

    /// Ends a trial with the SVMs pushed since the last one.
    pub(super) fn close(&mut self, pair: usize, outcome: Outcome) {
        self.pair.push(pair);
        self.error.push(outcome.error);
        self.weight.push(outcome.weight);
        self.right.push(outcome.right);
        self.held_right.push(outcome.held_right);
        self.ends.push(self.kernel.len());
    }

    /// The statistics of a trial.
    pub(super) fn outcome(&self, trial: usize) -> Outcome {
        let (right, held_right) = (self.right[trial], self.held_right[trial]);
        Outcome { error: self.error[trial], weight: self.weight[trial], right, held_right }
    }

    /// The SVMs of a trial.
    pub(super) fn learners(&self, trial: usize) -> impl Iterator<Item = Learner<'_>> {
        run(&self.ends, trial).map(|at| self.learner(at))
    }

    fn learner(&self, at: usize) -> Learner<'_> {
        let points = run(&self.support_ends, at);
        let (kernel, inner, bias) = (self.kernel[at], self.inner[at], self.bias[at]);
        Learner { kernel, inner, bias, support: &self.support[points.clone()], coef: &self.coef[points] }
    }

    /// Appends a trial from another list.
    pub(super) fn copy(&mut self, from: &Trials, trial: usize) {
        from.learners(trial).for_each(|learner| self.push(learner));
        self.close(from.pair[trial], from.outcome(trial));
    }

    /// The trials grouped by pair, in the order of the pairs, the first `kept` of each.
    pub(super) fn grouped(&self, kept: &[usize]) -> Trials {
        let mut of_pair = vec![vec![]; kept.len()];
        for (trial, &pair) in self.pair.iter().enumerate() {
            of_pair[pair].push(trial);
        }
        let mut grouped = Trials::default();
        for (trials, &kept) in of_pair.iter().zip(kept) {
            trials.iter().take(kept).for_each(|&trial| grouped.copy(self, trial));
        }
        grouped
    }

    /// The range of each pair's trials in a grouped list.
    pub(super) fn of_pairs(&self, n_pairs: usize) -> Vec<Range<usize>> {
        let first = |pair: usize| self.pair.partition_point(|&other| other < pair);
        (0..n_pairs).map(|pair| first(pair)..first(pair + 1)).collect()
    }

    /// Whether all arrays are consistent and within these numbers of pairs, kernels and points.
    pub(super) fn fit(&self, n_pairs: usize, n_kernels: usize, n_points: usize) -> bool {
        let (n, n_learners) = (self.pair.len(), self.kernel.len());
        [self.error.len(), self.weight.len(), self.right.len(), self.held_right.len(), self.ends.len()] == [n; 5]
            && [self.inner.len(), self.bias.len(), self.support_ends.len()] == [n_learners; 3]
            && self.coef.len() == self.support.len()
            && are_ends(&self.ends, n_learners)
            && are_ends(&self.support_ends, self.support.len())
            && self.pair.iter().all(|&pair| pair < n_pairs)
            && self.kernel.iter().all(|&kernel| kernel < n_kernels)
            && self.support.iter().all(|&point| point < n_points)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::Codec;

    fn outcome(error: f64) -> Outcome {
        Outcome { error, weight: 1.0 - error, right: 7, held_right: 2 }
    }

    fn learner<'a>(kernel: usize, support: &'a [usize], coef: &'a [f64]) -> Learner<'a> {
        Learner { kernel, inner: 0.5, bias: kernel as f64, support, coef }
    }

    /// Pairs 1, 0, 1 with two, one and no SVM.
    fn three() -> Trials {
        let mut trials = Trials::default();
        trials.push(learner(3, &[4, 9], &[0.1, -0.2]));
        trials.push(learner(1, &[], &[]));
        trials.close(1, outcome(0.25));
        trials.push(learner(2, &[8], &[0.3]));
        trials.close(0, outcome(0.125));
        trials.close(1, outcome(0.5));
        trials
    }

    #[test]
    fn learners_are_those_pushed_since_the_last_trial() {
        let trials = three();
        let found: Vec<_> = trials.learners(0).collect();
        assert_eq!(found, [learner(3, &[4, 9], &[0.1, -0.2]), learner(1, &[], &[])]);
        assert_eq!(trials.learners(1).collect::<Vec<_>>(), [learner(2, &[8], &[0.3])]);
        assert_eq!(trials.learners(2).count(), 0);
        assert_eq!(Trials::decode(&trials.encode()).unwrap(), trials);
    }

    #[test]
    fn grouped_are_the_first_trials_of_each_pair_in_order() {
        let grouped = three().grouped(&[1, 2, 0]);
        assert_eq!((grouped.pair.as_slice(), grouped.error.as_slice()), (&[0, 1, 1][..], &[0.125, 0.25, 0.5][..]));
        assert_eq!(grouped.of_pairs(3), [0..1, 1..3, 3..3]);
        assert_eq!(grouped.learners(1).count(), 2);
        assert_eq!(three().grouped(&[0, 1, 0]).error, [0.25]);
    }

    #[test]
    fn arrays_that_do_not_fit_are_found() {
        let good = three();
        assert!(good.fit(2, 4, 10));
        assert!(!good.fit(1, 4, 10) && !good.fit(2, 3, 10) && !good.fit(2, 4, 9));
        let spoilt: [fn(&mut Trials); 6] = [
            |trials| trials.ends[0] = 4,
            |trials| trials.ends[2] = 2,
            |trials| trials.support_ends.swap(0, 2),
            |trials| trials.coef.truncate(1),
            |trials| trials.bias.truncate(1),
            |trials| trials.error.truncate(1),
        ];
        for spoil in spoilt {
            let mut trials = good.clone();
            spoil(&mut trials);
            assert!(!trials.fit(2, 4, 10), "{trials:?}");
        }
    }
}
