//! The model most stack methods end with: fixed kernel weights and kernel expansions on them.

use crate::error::{Error, Result};
use crate::file::{Field, Record, record};
use crate::linalg::Matrix;
use crate::pool::Pool;
use crate::run::{Additive, Coefficients, Decision, Explain, Input, Predict};

record! {
    /// Kernel weights, and one expansion `f_p(x) = sum_i coef_ip k(x_i, x) + bias_p` per two-class problem p, where `k
    /// = sum_m weights_m k_m`. Only support points, those with a nonzero coefficient, are kept.
    ///
    /// Cost of a score: one kernel value per support point and kernel with nonzero weight.
    #[derive(Clone, Debug)]
    pub struct SvmModel {
        weights: Vec<f64>,
        support: Vec<usize>,
        coef: Coefficients,
        bias: Vec<f64>,
        n_classes: usize,
        one_vs_one: bool,
        trained: Vec<usize>,
        warnings: Vec<String>,
        told: Told,
    }
}

/// Whether a model that is one of classes or of numbers is the latter. Stored only if it is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct IsNumbers(pub(super) bool);

impl Field for IsNumbers {
    fn put(&self, name: &str, record: &mut Record) {
        if self.0 {
            record.put(name, &true);
        }
    }

    fn take(name: &str, record: &Record) -> Result<Self> {
        if record.has(name) { record.take(name).map(IsNumbers) } else { Ok(IsNumbers::default()) }
    }
}

/// Extra facts a method reports about its model, as name and value. Stored only if there are any, so that files of
/// methods without them are unchanged.
#[derive(Clone, Debug, Default)]
pub(super) struct Told(pub(super) Vec<(String, String)>);

impl Field for Told {
    fn put(&self, name: &str, record: &mut Record) {
        if !self.0.is_empty() {
            record
                .put(name, &self.0.iter().flat_map(|(name, value)| [name.clone(), value.clone()]).collect::<Vec<_>>());
        }
    }

    fn take(name: &str, record: &Record) -> Result<Self> {
        if !record.has(name) {
            return Ok(Told::default());
        }
        let texts: Vec<String> = record.take(name)?;
        Ok(Told(texts.as_chunks::<2>().0.iter().cloned().map(|[name, value]| (name, value)).collect()))
    }
}

/// The class pairs of one-vs-one in the order their problems are stored: (0, 1), (0, 2), ..., (1, 2), ...
pub(super) fn pairs(n_classes: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..n_classes).flat_map(move |first| (first + 1..n_classes).map(move |second| (first, second)))
}

impl SvmModel {
    /// One expansion per class, the largest wins: `coef` is n_train x n_classes.
    pub fn one_vs_rest(weights: Vec<f64>, coef: &Matrix, bias: Vec<f64>) -> SvmModel {
        let n_classes = bias.len();
        SvmModel::new(weights, coef, bias, n_classes, false)
    }

    /// One expansion per pair of classes, positive for the first: `coef` is n_train x pairs. Two classes are one pair.
    pub fn one_vs_one(weights: Vec<f64>, coef: &Matrix, bias: Vec<f64>, n_classes: usize) -> SvmModel {
        SvmModel::new(weights, coef, bias, n_classes, true)
    }

    fn new(weights: Vec<f64>, coef: &Matrix, bias: Vec<f64>, n_classes: usize, one_vs_one: bool) -> SvmModel {
        SvmModel::of(weights, &Coefficients::new(coef), bias, n_classes, one_vs_one)
    }

    /// A machine from the coefficients of all training rows; only support points are kept.
    pub(super) fn of(
        weights: Vec<f64>,
        coef: &Coefficients,
        bias: Vec<f64>,
        n_classes: usize,
        one_vs_one: bool,
    ) -> SvmModel {
        let (support, coef) = coef.support();
        let trained = (0..bias.len()).collect();
        SvmModel {
            weights,
            support,
            coef,
            bias,
            n_classes,
            one_vs_one,
            trained,
            warnings: vec![],
            told: Told::default(),
        }
    }

    /// Sets which problems were trained; the others take no part in a vote.
    #[must_use]
    pub fn with_trained(mut self, trained: Vec<usize>) -> SvmModel {
        self.trained = trained;
        self
    }

    /// Turns a machine trained on a subset, `rows`, into one over all training rows.
    #[must_use]
    pub(super) fn of_rows(mut self, rows: &[usize]) -> SvmModel {
        self.support.iter_mut().for_each(|point| *point = rows[*point]);
        self
    }

    /// Adds facts about how the machine was trained.
    #[must_use]
    pub fn with_facts(mut self, facts: Vec<(String, String)>) -> SvmModel {
        self.told.0.extend(facts);
        self
    }

    /// Adds a warning for the user.
    #[must_use]
    pub fn with_warning(mut self, warning: Option<String>) -> SvmModel {
        self.warnings.extend(warning);
        self
    }

    /// Calls `f` with the decisions for each point and its row of the result.
    fn decide(&self, input: Input<'_>, pool: &Pool, f: impl Fn(&[bool], &[f64], &mut [f64]) + Sync) -> Result<Matrix> {
        let weights: Vec<f64> = self.weights.iter().copied().filter(|&weight| weight != 0.0).collect();
        let decisions = self.coef.decisions_on(input.stack()?, weights, &self.bias, pool)?;
        let mut trained = vec![false; self.bias.len()];
        self.problems().for_each(|problem| trained[problem] = true);
        let mut found = Matrix::zeros(decisions.n_rows(), self.n_classes);
        pool.chunks_mut(found.data_mut(), self.n_classes, |i, found| f(&trained, decisions.row(i), found));
        Ok(found)
    }

    /// The two-class problems that were trained.
    fn problems(&self) -> impl Iterator<Item = usize> + '_ {
        self.trained.iter().copied().filter(|&problem| problem < self.bias.len())
    }

    /// The scores of one point from its decisions.
    fn score(&self, trained: &[bool], decisions: &[f64], scores: &mut [f64]) {
        match (self.one_vs_one, self.n_classes) {
            (false, _) => {
                for (class, score) in scores.iter_mut().enumerate() {
                    *score = if trained[class] { decisions[class] } else { f64::NEG_INFINITY };
                }
            }
            (true, 2) => scores.copy_from_slice(&[decisions[0], -decisions[0]]),
            (true, _) => vote(self.n_classes, trained, decisions, scores),
        }
    }
}

/// The margins of one point from its decisions for all class pairs: by how far each class wins, or loses, against its
/// hardest opponent. Only pairs that were trained count.
pub(super) fn margin(n_classes: usize, trained: &[bool], decisions: &[f64], margins: &mut [f64]) {
    margins.fill(f64::INFINITY);
    let mut met = vec![false; n_classes];
    for (problem, (first, second)) in pairs(n_classes).enumerate().filter(|&(problem, _)| trained[problem]) {
        margins[first] = margins[first].min(decisions[problem]);
        margins[second] = margins[second].min(-decisions[problem]);
        (met[first], met[second]) = (true, true);
    }
    // Classes with no training rows.
    margins.iter_mut().zip(met).filter(|(_, met)| !met).for_each(|(margin, _)| *margin = f64::NEG_INFINITY);
}

/// Adds the scores of one point, from its decisions for all class pairs, to `scores`, which must be zero: votes of the
/// trained pairs, and a bounded share of the summed decisions to rank within equal votes. Classes tied for most votes
/// get the same score, so the label is the first of them, as in LIBSVM.
pub(super) fn vote(n_classes: usize, trained: &[bool], decisions: &[f64], scores: &mut [f64]) {
    let mut confidence = vec![0.0; n_classes];
    for (problem, (first, second)) in pairs(n_classes).enumerate() {
        if trained[problem] {
            let decision = decisions[problem];
            scores[if decision >= 0.0 { first } else { second }] += 1.0;
            confidence[first] += decision;
            confidence[second] -= decision;
        }
    }
    let top = scores.iter().copied().fold(0.0, f64::max);
    // At most 1/3, so that ranking within equal votes never outweighs a vote.
    let share = |confidence: f64| confidence / (3.0 * (confidence.abs() + 1.0));
    let best = (0..n_classes).filter(|&c| scores[c] == top).map(|c| share(confidence[c])).fold(-1.0, f64::max);
    for (score, confidence) in scores.iter_mut().zip(confidence) {
        *score += if *score == top { best } else { share(confidence) };
    }
}

impl Predict for SvmModel {
    fn scores(&self, input: Input<'_>, pool: &Pool) -> Result<Matrix> {
        self.decide(input, pool, |trained, decisions, scores| self.score(trained, decisions, scores))
    }

    fn margins(&self, input: Input<'_>, pool: &Pool) -> Result<Matrix> {
        if !self.one_vs_one || self.n_classes == 2 {
            return self.scores(input, pool);
        }
        self.decide(input, pool, |trained, decisions, margins| margin(self.n_classes, trained, decisions, margins))
    }

    fn points(&self) -> &[usize] {
        &self.support
    }

    fn kernels(&self) -> Option<Vec<usize>> {
        Some((0..self.weights.len()).filter(|&m| self.weights[m] != 0.0).collect())
    }

    fn check(&self, n_kernels: usize, n_classes: usize) -> Result<()> {
        let pairs = n_classes.checked_mul(n_classes.saturating_sub(1)).map(|twice| twice / 2);
        let problems = if self.one_vs_one { pairs.unwrap_or(usize::MAX) } else { n_classes };
        let fits = self.n_classes == n_classes
            && self.weights.len() == n_kernels
            && self.coef.n_decisions() == problems
            && self.bias.len() == problems
            && self.coef.n_points() == self.support.len();
        if fits { Ok(()) } else { Err(Error::input("its arrays do not fit together")) }
    }

    fn additive(&self) -> Option<&dyn Additive> {
        Some(self)
    }
}

impl Additive for SvmModel {
    fn decisions(&self) -> Vec<Decision> {
        let pairs: Vec<_> = pairs(if self.one_vs_one { self.n_classes } else { 0 }).collect();
        let decision = |p: usize| match pairs.get(p) {
            Some(&(first, second)) => Decision::Between(first, second),
            None => Decision::For(p),
        };
        self.problems().map(decision).collect()
    }

    fn biases(&self) -> Vec<f64> {
        self.problems().map(|p| self.bias[p]).collect()
    }

    fn parts(&self, input: Input<'_>, pool: &Pool) -> Result<Vec<Matrix>> {
        let (coef, problems) = (self.coef.to_matrix(), self.problems().collect::<Vec<_>>());
        let coef = Matrix::from_fn(coef.n_rows(), problems.len(), |i, p| coef.get(i, problems[p]));
        weighted_parts(&self.weights, &coef, input, pool)
    }
}

/// The part of each kernel with nonzero weight in the decisions `sum_m d_m K_m C`: a matrix of points x decisions for each.
pub(super) fn weighted_parts(weights: &[f64], coef: &Matrix, input: Input<'_>, pool: &Pool) -> Result<Vec<Matrix>> {
    let mut parts = input.stack()?.apply(coef, pool)?;
    for (part, weight) in parts.iter_mut().zip(weights.iter().filter(|&&weight| weight != 0.0)) {
        part.data_mut().iter_mut().for_each(|value| *value *= weight);
    }
    Ok(parts)
}

impl Explain for SvmModel {
    fn weights(&self) -> Option<&[f64]> {
        Some(&self.weights)
    }

    fn coefficients(&self) -> Option<&Coefficients> {
        Some(&self.coef)
    }

    fn facts(&self) -> Vec<(String, String)> {
        let scheme = if self.one_vs_one { "one-vs-one" } else { "one-vs-rest" };
        let mut facts = vec![
            ("support points".into(), self.support.len().to_string()),
            ("two-class problems".into(), format!("{} ({scheme})", self.bias.len())),
        ];
        facts.extend(self.told.0.iter().cloned());
        facts
    }

    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scores(trained: [bool; 3], decisions: [f64; 3]) -> Vec<f64> {
        let mut scores = vec![0.0; 3];
        vote(3, &trained, &decisions, &mut scores);
        scores
    }

    #[test]
    fn margin_is_the_hardest_decision_of_each_class() {
        let mut margins = vec![0.0; 3];
        margin(3, &[true; 3], &[5.0, -0.1, -0.2], &mut margins);
        assert_eq!(margins, [-0.1, -5.0, 0.1]);
        margin(3, &[true, false, false], &[5.0, -0.1, -0.2], &mut margins);
        assert_eq!(margins, [5.0, -5.0, f64::NEG_INFINITY]);
    }

    #[test]
    fn vote_with_a_winner_ranks_it_first() {
        // 0 beats 1, 2 beats 0, 2 beats 1: votes 1, 0, 2.
        let s = scores([true; 3], [5.0, -0.1, -0.2]);
        assert!(s[2] > s[0] && s[0] > s[1], "{s:?}");
        assert!(s[2] > 2.0 - 1.0 / 3.0 && s[2] < 2.0 + 1.0 / 3.0);
    }

    #[test]
    fn vote_with_all_tied_gives_equal_scores() {
        // A cycle: 0 beats 1, 2 beats 0, 1 beats 2. LIBSVM takes the first class.
        let s = scores([true; 3], [0.5, -3.0, 0.1]);
        assert!(s[0] == s[1] && s[1] == s[2], "{s:?}");
    }

    #[test]
    fn vote_without_an_untrained_pair_ignores_it() {
        let s = scores([false, true, true], [99.0, -1.0, -1.0]);
        assert!(s[2] > s[0] && s[2] > s[1], "{s:?}");
        assert!(s[0].abs() < 1.0 / 3.0, "the untrained pair voted: {s:?}");
    }
}
