//! The model: the SVMs of all trials, and their votes.

use std::ops::Range;

use super::boost::{MIN_ERROR, add_signs};
use super::kernels::bytes;
use super::trials::Trials;
use super::weak::add_rows;
use crate::error::{Error, Result};
use crate::file::record;
use crate::linalg::Matrix;
use crate::method::machine::{margin, vote};
use crate::pool::Pool;
use crate::run::{Explain, Input, Predict};

/// Memory limit for kernels held while predicting.
const WORKING: u64 = 64 << 20;
/// Points per prediction task.
const SLICE: usize = 256;

record! {
    /// Boosted SVMs: `f_p(x) = sum_t a_t h_t(x) / sum_t |a_t|` for each pair p of classes, where h_t is the sign of one
    /// SVM, or of a weighted vote of several, each on one kernel. Only the support points and kernels in use are kept.
    ///
    /// Cost of a score: one kernel value per support point and kernel used, and one product per support point of each
    /// SVM.
    #[derive(Clone, Debug)]
    pub struct MkBoostModel {
        weights: Vec<f64>,
        points: Vec<usize>,
        n_classes: usize,
        pub(super) trials: Trials,
        n_fits: usize,
        /// For each pair, the number of training rows, and of held-out rows.
        n_rows: Vec<usize>,
        n_held: Vec<usize>,
        /// For each kernel, the first kernel that is numerically the same on the training rows.
        alike: Vec<usize>,
        warnings: Vec<String>,
    }
}

impl MkBoostModel {
    /// From trials in the order of the pairs, whose support points are training rows.
    pub(super) fn new(
        mut trials: Trials,
        n_classes: usize,
        alike: Vec<usize>,
        (n_rows, n_held): (Vec<usize>, Vec<usize>),
        n_fits: usize,
        warnings: Vec<String>,
    ) -> MkBoostModel {
        let mut points = trials.support.clone();
        points.sort_unstable();
        points.dedup();
        for point in &mut trials.support {
            *point = points.partition_point(|other| other < point);
        }
        let weights = weights(&trials, n_rows.len(), &alike);
        MkBoostModel { weights, points, n_classes, trials, n_fits, n_rows, n_held, alike, warnings }
    }

    fn n_pairs(&self) -> usize {
        self.n_rows.len()
    }

    /// The decision of each pair (columns) for each point (rows).
    pub(super) fn decisions(&self, input: Input<'_>, pool: &Pool) -> Result<Matrix> {
        let (stack, n_pairs) = (input.stack()?, self.n_pairs());
        let of_pairs = self.trials.of_pairs(n_pairs);
        let place = self.places();
        let columns: Vec<usize> = (0..stack.n_cols()).collect();
        let at_once = WORKING / bytes(stack.n_kernels().max(1), columns.len(), 1).max(1);
        let all: Vec<usize> = (0..stack.n_rows()).collect();
        let mut data = Vec::with_capacity(all.len() * n_pairs);
        for some in all.chunks((at_once as usize).clamp(1, 16 * SLICE)) {
            let kernels = stack.between(some, &columns)?.unfold(pool)?;
            // One row per support point, so that its products with many points are one contiguous pass.
            let turned = pool.map(stack.n_kernels(), |k| {
                Matrix::from_fn(columns.len(), some.len(), |j, i| kernels.get(k * some.len() + i, j))
            });
            drop(kernels);
            let n_slices = some.len().div_ceil(SLICE);
            let found = pool.map(n_slices * n_pairs, |task| {
                let start = task / n_pairs * SLICE;
                let slice = start..(start + SLICE).min(some.len());
                self.decide(of_pairs[task % n_pairs].clone(), &place, &turned, slice)
            });
            for i in 0..some.len() {
                data.extend((0..n_pairs).map(|p| found[i / SLICE * n_pairs + p][i % SLICE]));
            }
        }
        Matrix::from_vec(all.len(), n_pairs, data)
    }

    /// The decisions of one pair for some points.
    fn decide(&self, trials: Range<usize>, place: &[usize], kernels: &[Matrix], slice: Range<usize>) -> Vec<f64> {
        let n = slice.len();
        let (mut votes, mut sums, mut decisions) = (vec![0.0; n], vec![0.0; n], vec![0.0; n]);
        let mut positive = vec![false; n];
        let signs = |from: &[f64], positive: &mut [bool]| {
            positive.iter_mut().zip(from).for_each(|(positive, &value)| *positive = value >= 0.0);
        };
        let mut total = 0.0;
        for trial in trials {
            sums.fill(0.0);
            for learner in self.trials.learners(trial) {
                decisions.fill(learner.bias);
                if !learner.support.is_empty() {
                    let kernel = &kernels[place[learner.kernel]];
                    let rows = learner.support.iter().map(|&point| &kernel.row(point)[slice.clone()]);
                    add_rows(learner.coef, rows, &mut decisions);
                }
                signs(&decisions, &mut positive);
                add_signs(learner.inner, &positive, &mut sums);
            }
            signs(&sums, &mut positive);
            let weight = self.trials.weight[trial];
            add_signs(weight, &positive, &mut votes);
            total += weight.abs();
        }
        if total > 0.0 {
            votes.iter_mut().for_each(|vote| *vote /= total);
        }
        votes
    }

    /// Calls `f` with the flags of the trained pairs, the decisions for each point, and its row of the result.
    fn each(&self, input: Input<'_>, pool: &Pool, f: impl Fn(&[bool], &[f64], &mut [f64])) -> Result<Matrix> {
        let decisions = self.decisions(input, pool)?;
        let trained: Vec<bool> = self.trials.of_pairs(self.n_pairs()).iter().map(|trials| !trials.is_empty()).collect();
        let mut found = Matrix::zeros(decisions.n_rows(), self.n_classes);
        for (i, decisions) in decisions.rows().enumerate() {
            f(&trained, decisions, found.row_mut(i));
        }
        Ok(found)
    }

    /// The kernels of non-constant SVMs, ascending.
    fn used(&self) -> Vec<usize> {
        let mut used = vec![false; self.weights.len()];
        for trial in 0..self.trials.len() {
            let kernels = self.trials.learners(trial).filter(|learner| !learner.support.is_empty());
            kernels.for_each(|learner| used[learner.kernel] = true);
        }
        (0..used.len()).filter(|&m| used[m]).collect()
    }

    /// The position of each kernel among those used.
    fn places(&self) -> Vec<usize> {
        let mut places = vec![0; self.weights.len()];
        self.used().iter().enumerate().for_each(|(place, &m)| places[m] = place);
        places
    }

    /// Accuracy over the rows of all pairs after 1, 2, 5, 10, ... trials; a pair with fewer trials counts with its
    /// last.
    fn staged(&self, right: &[usize], n_rows: &[usize]) -> String {
        let of_pairs = self.trials.of_pairs(self.n_pairs());
        let longest = of_pairs.iter().map(Range::len).max().unwrap_or(0);
        let mut stages: Vec<usize> =
            (0..7).flat_map(|power| [1, 2, 5].map(|digit| digit * 10usize.pow(power))).collect();
        stages.retain(|&stage| stage < longest);
        stages.push(longest);
        let pairs = || of_pairs.iter().zip(n_rows).filter(|(trials, _)| !trials.is_empty());
        let n: usize = pairs().map(|(_, n)| n).sum();
        let accuracy = |stage: usize| {
            let right: usize = pairs().map(|(trials, _)| right[(trials.start + stage).min(trials.end) - 1]).sum();
            format!("{stage}: {:.4}", right as f64 / n.max(1) as f64)
        };
        stages.into_iter().filter(|&stage| stage > 0).map(accuracy).collect::<Vec<_>>().join(", ")
    }

    /// Each group of identical kernels, and its share of the votes.
    fn groups(&self) -> String {
        let members = |first: usize| (0..self.alike.len()).filter(move |&m| self.alike[m] == first);
        let group = |first: usize| {
            let share: f64 = members(first).map(|m| self.weights[m]).sum();
            format!("{} ({share:.4} of the votes)", ranges(&members(first).collect::<Vec<_>>()))
        };
        let several = (0..self.alike.len()).filter(|&first| members(first).count() > 1);
        several.map(group).collect::<Vec<_>>().join(", ")
    }

    fn n_clamped(&self) -> usize {
        let clamped = |error: &&f64| **error < MIN_ERROR || **error > 1.0 - MIN_ERROR;
        self.trials.error.iter().filter(clamped).count()
    }
}

/// Ascending numbers, with consecutive ones as a range: `0-3 7`.
fn ranges(numbers: &[usize]) -> String {
    let runs = numbers.chunk_by(|a, b| a + 1 == *b);
    let text = |run: &[usize]| match run {
        [first, .., last] => format!("{first}-{last}"),
        alone => alone.iter().map(usize::to_string).collect(),
    };
    runs.map(text).collect::<Vec<_>>().join(" ")
}

/// Each kernel's share of the votes: the weight |a_t| of a trial is split among its SVMs in proportion to |a_j|. Every
/// pair counts the same, and identical kernels share equally.
fn weights(trials: &Trials, n_pairs: usize, alike: &[usize]) -> Vec<f64> {
    let mut sums = vec![0.0; alike.len()];
    for trials_of_pair in trials.of_pairs(n_pairs) {
        let total: f64 = trials_of_pair.clone().map(|trial| trials.weight[trial].abs()).sum();
        for trial in trials_of_pair.filter(|_| total > 0.0) {
            // If only one class was drawn, the classifier is a constant, to which no kernel contributes.
            let with_kernel = || trials.learners(trial).filter(|learner| !learner.support.is_empty());
            let inner: f64 = with_kernel().map(|learner| learner.inner.abs()).sum();
            for learner in with_kernel().filter(|_| inner > 0.0) {
                let part = trials.weight[trial].abs() / total * (learner.inner.abs() / inner);
                sums[alike[learner.kernel]] += part;
            }
        }
    }
    let total: f64 = sums.iter().sum();
    let size = |first: usize| alike.iter().filter(|&&other| other == first).count() as f64;
    let share = |&first: &usize| if total > 0.0 { sums[first] / total / size(first) } else { 1.0 / alike.len() as f64 };
    alike.iter().map(share).collect()
}

/// No pair of classes has more rows; sums over pairs cannot overflow.
const MOST_ROWS: usize = u32::MAX as usize;

impl Predict for MkBoostModel {
    fn scores(&self, input: Input<'_>, pool: &Pool) -> Result<Matrix> {
        self.each(input, pool, |trained, decisions, scores| match self.n_classes {
            2 => scores.copy_from_slice(&[decisions[0], -decisions[0]]),
            n_classes => vote(n_classes, trained, decisions, scores),
        })
    }

    fn margins(&self, input: Input<'_>, pool: &Pool) -> Result<Matrix> {
        if self.n_classes == 2 {
            return self.scores(input, pool);
        }
        self.each(input, pool, |trained, decisions, margins| margin(self.n_classes, trained, decisions, margins))
    }

    fn points(&self) -> &[usize] {
        &self.points
    }

    fn kernels(&self) -> Option<Vec<usize>> {
        Some(self.used())
    }

    fn check(&self, n_kernels: usize, n_classes: usize) -> Result<()> {
        let n_pairs = n_classes.checked_mul(n_classes.saturating_sub(1)).map_or(usize::MAX, |twice| twice / 2);
        let fits = self.n_classes == n_classes
            && n_classes >= 2
            && [self.n_rows.len(), self.n_held.len()] == [n_pairs; 2]
            && [self.weights.len(), self.alike.len()] == [n_kernels; 2]
            && self.alike.iter().all(|&first| first < n_kernels)
            && [&self.n_rows, &self.n_held, &self.trials.right, &self.trials.held_right]
                .into_iter()
                .all(|counts| counts.iter().all(|&n| n <= MOST_ROWS))
            && self.trials.fit(n_pairs, n_kernels, self.points.len())
            && self.trials.pair.is_sorted();
        if fits { Ok(()) } else { Err(Error::input("its arrays do not fit together")) }
    }
}

impl Explain for MkBoostModel {
    fn weights(&self) -> Option<&[f64]> {
        Some(&self.weights)
    }

    fn facts(&self) -> Vec<(String, String)> {
        let of_pairs = self.trials.of_pairs(self.n_pairs());
        let kept: Vec<usize> = of_pairs.iter().map(Range::len).filter(|&n| n > 0).collect();
        let (least, most) = (kept.iter().min().unwrap_or(&0), kept.iter().max().unwrap_or(&0));
        let pairs = match (kept.len(), self.n_pairs()) {
            (1, 1) => String::new(),
            (reached, all) if reached == all => format!(" for each of {all} pairs of classes"),
            (reached, all) => format!(" for each of {reached} pairs of classes, none for {}", all - reached),
        };
        let trials = if least == most { format!("{most}{pairs}") } else { format!("{least} to {most}{pairs}") };
        let training = if self.n_pairs() == 1 { "accuracy in training" } else { "accuracy of pairs in training" };
        let held_out = if self.n_pairs() == 1 { "accuracy held out" } else { "accuracy of pairs held out" };
        let mut facts = vec![
            ("trials", trials),
            ("SVM fits", self.n_fits.to_string()),
            ("trials with a clamped error", format!("{} of {}", self.n_clamped(), self.trials.len())),
            ("support points", self.points.len().to_string()),
            (training, self.staged(&self.trials.right, &self.n_rows)),
        ];
        if self.n_held.iter().any(|&n| n > 0) {
            facts.push((held_out, self.staged(&self.trials.held_right, &self.n_held)));
        }
        let groups = self.groups();
        if !groups.is_empty() {
            facts.push(("identical kernels", groups));
        }
        facts.into_iter().map(|(name, value)| (name.to_string(), value)).collect()
    }

    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }
}
