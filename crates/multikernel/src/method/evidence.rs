//! `evidence`: kernel weights as variance components of a Gaussian model of the classes, a few ascent steps. Ours.
//!
//! The updates need little of the model ([`Components`]): between all rows it is a matrix of their number ([`BetweenRows`]),
//! on landmarks one of the number of features ([`space`]).

mod basis;
mod model;
mod partition;
mod space;
mod state;
#[cfg(test)]
mod tests_of_landmarks;
mod variance;

pub use model::{EvidenceEnd, PosteriorModel};
pub use state::EvidenceState;

use std::collections::HashMap;
use std::sync::Arc;

use super::ends::TARGETS;
use super::factor::Factor;
use super::svc::svc_params;
use super::weighted::{Move, Rule, Weights, dense_block, misfit, outcome};
use crate::data::TargetKind;
use crate::error::{Error, Result};
use crate::file::{Cache, record};
use crate::kernel::{DEFAULT_BANK, Kernel};
use crate::linalg::{Matrix, centre_columns, dot};
use crate::run::{About, Allowed, ByPartitions, Control, KernelsOfView, Method, Needs, Task};
use crate::solve::cholesky::Cholesky;
use crate::stack::Symmetric;

svc_params! {
    /// C-SVC on kernels weighted by the evidence (marginal likelihood) of a Gaussian model of the classes, `Y ~ N(0,
    /// sum_m d_m K_m + s I)` for each column of the centred one-hot classes (one column of +-1 for two). A safe
    /// default: no cross-validation, no parameter to choose, and it holds up where the uniform combination collapses
    /// under useless kernels.
    ///
    /// An update multiplies each weight by `(<K_m, A A'> / c) / <K_m, H>`, with `H` the inverse of the combined kernel,
    /// `A = H Y` of c columns, and the noise `s` likewise (never below 1e-4). If the evidence would fall, the square
    /// roots of these factors are taken, which provably never lower it for positive semi-definite kernels (Zhou, Hu,
    /// Zhou and Lange 2019, "MM algorithms for variance components models"). The ten updates are part of the rule:
    /// stopping early keeps the weights from overfitting the training rows.
    ///
    /// Kernels of one form (same family, same rank among the widths on its columns, same size of column set to a power
    /// of two, same view) share one weight until the last two updates, in which each has its own: with single-feature
    /// kernels on every column, the kind of kernel is learned from all columns together, and the choice of columns
    /// after that. Otherwise a bank with more kernels than rows invites picking those that fit by chance. All forms
    /// start with the same weight.
    ///
    /// Kernels that are not positive semi-definite (a given Gram matrix, `sigmoid`) may make the evidence undefined: if
    /// it is undefined at the start, the kernels to blame get no weight, with a warning; later on, the ascent ends
    /// there.
    ///
    /// Cost: 10 (N^3 + 3 P N^2), memory for about 6 N^2 numbers besides the kernels: good for a few thousand rows.
    ///
    /// With `landmarks`, for very many rows and for rows in partitions, each kernel is replaced by its Nystroem
    /// approximation on rows drawn at random: features in which the model, the updates and their proof are the same, and
    /// which need one pass over the rows. Kernels have as many features as they need, up to 4,000 together, beyond which
    /// all are followed to the same part of their trace; what is left out is reported. The mean of the Gaussian model
    /// then predicts in place of the SVM, whose parameters do nothing: numbers, and classes by the largest function. Cost for F
    /// features: N F^2 once, 10 F^3 for the updates, memory for 6 F^2 numbers.
    pub struct Evidence {
        /// updates of the weights; few regularise, many follow the training rows
        iterations: usize = 10, Allowed::Whole(1, 10_000);
        /// of them, the last so many with a weight for each kernel; before, kernels of one form on column sets of about
        /// one size share theirs
        own: usize = 2, Allowed::Whole(0, 10_000);
        /// rows drawn at random whose kernels with all others stand for the kernels; with them the mean of the Gaussian
        /// model predicts in place of the SVM. 0 for all rows; on partitions for 1000
        landmarks: usize = 0, Allowed::Whole(0, 20_000);
    }
}

/// log(2 pi), the same on every system.
const LN_TAU: f64 = 1.837_877_066_409_345_5;
/// The noise at the start, and its minimum, for a target with variance 1.
const NOISE: f64 = 0.1;
const MIN_NOISE: f64 = 1e-4;

record! {
    /// Progress of the ascent.
    #[derive(Clone, Debug, Default)]
    pub struct Climb {
        weights: Vec<f64>,
        noise: f64,
        evidence: Vec<f64>,
        damped: usize,
        ended: bool,
        left_out: Vec<usize>,
        point: Cache<Point>,
    }
}

/// The model at given weights.
#[derive(Clone, Debug)]
struct Point {
    factor: Factor,
    /// `A = H Y`, or what stands for it where the rows are not at hand.
    solved: Matrix,
    evidence: f64,
}

/// What an update needs of the model `Y ~ N(0, sum_m d_m K_m + s I)` with c columns of Y.
trait Components {
    /// The model at given weights; [`Error::NotDefinite`] where it does not exist.
    fn point(&self, weights: &[f64], noise: f64, stop: &(dyn Fn() -> bool + Sync)) -> Result<Point>;

    /// The products at the point of these weights.
    fn products(&self, now: &Point, weights: &[f64], noise: f64, stop: &(dyn Fn() -> bool + Sync)) -> Result<Products>;

    /// The kernels to leave out where the model does not exist at the start.
    fn indefinite(&self, stop: &(dyn Fn() -> bool + Sync)) -> Result<Vec<usize>>;
}

/// `<K, A A'>` and `<K, H>` for each kernel (rows), and for the identity, that is the noise.
struct Products {
    kernels: Matrix,
    noise: [f64; 2],
}

/// The model between all rows of a task.
struct BetweenRows<'a>(&'a Task<'a>);

impl Components for BetweenRows<'_> {
    fn point(&self, weights: &[f64], noise: f64, stop: &(dyn Fn() -> bool + Sync)) -> Result<Point> {
        let y = target(self.0);
        let factor = Factor::new(self.0, weights, noise, stop)?;
        let solved = factor.solve(&y)?;
        let evidence = log_evidence(y.n_rows(), y.n_cols(), factor.log_determinant()?, dot(solved.data(), y.data()));
        Ok(Point { factor, solved, evidence })
    }

    fn products(&self, now: &Point, _: &[f64], _: f64, stop: &(dyn Fn() -> bool + Sync)) -> Result<Products> {
        let (kernels, trace) = now.factor.products(self.0, &now.solved, stop)?;
        Ok(Products { kernels, noise: [dot(now.solved.data(), now.solved.data()), trace] })
    }

    fn indefinite(&self, stop: &(dyn Fn() -> bool + Sync)) -> Result<Vec<usize>> {
        indefinite(self.0, stop)
    }
}

/// The log evidence of this many rows and columns, from `log det` of the covariance and `<Y, H Y>`.
fn log_evidence(n_rows: usize, n_columns: usize, log_determinant: f64, square: f64) -> f64 {
    -0.5 * (n_columns as f64 * (log_determinant + n_rows as f64 * LN_TAU) + square)
}

impl Factor {
    fn new(task: &Task<'_>, weights: &[f64], noise: f64, stop: &(dyn Fn() -> bool + Sync)) -> Result<Factor> {
        let stack = task.stack()?;
        if let Some(there) = stack.factor_there(weights, noise, task.pool)? {
            return Ok(Factor::There(Arc::new(there)));
        }
        let column = Matrix::from_vec(weights.len(), 1, weights.to_vec())?;
        let mut sum = stack.combine(&column, task.pool)?.remove(0);
        (0..sum.n_rows()).for_each(|i| sum.set(i, i, sum.get(i, i) + noise));
        Ok(Factor::Here(Cholesky::new(sum, task.pool, stop)?))
    }

    /// `<K_m, U U'>` and `<K_m, H>` for each kernel m, with `H` the inverse, and the trace of `H`.
    fn products(&self, task: &Task<'_>, u: &Matrix, stop: &(dyn Fn() -> bool + Sync)) -> Result<(Matrix, f64)> {
        match self {
            Factor::Here(factor) => {
                let inverse = factor.inverse(task.pool, stop)?;
                let with = [Symmetric::Factored(u, u), Symmetric::Dense(&inverse)];
                let products = task.stack()?.project(&with, task.pool)?;
                Ok((products, (0..inverse.n_rows()).map(|i| inverse.get(i, i)).sum()))
            }
            Factor::There(factor) => factor.products(task.stack()?, u, task.pool),
        }
    }
}

impl Rule for Evidence {
    type Progress = Climb;

    fn check_progress(&self, task: &Task<'_>, state: &Climb) -> Result<()> {
        let n_kernels = task.stack()?.n_kernels();
        let fits = [0, n_kernels].contains(&state.weights.len())
            && state.weights.is_empty() == state.evidence.is_empty()
            && state.left_out.iter().all(|&m| m < n_kernels);
        if fits { Ok(()) } else { Err(misfit()) }
    }

    fn advance(&self, task: &Task<'_>, state: &mut Climb, control: &Control) -> Result<Move> {
        let stop = || control.stop().is_some();
        let forms = forms(&task.stack()?.kernels(), task.views);
        if state.advance(self, &BetweenRows(task), &forms, &stop)? {
            let value = state.evidence.last().map(|&evidence| ("evidence", evidence));
            return Ok(Move::On(state.evidence.len(), self.iterations + 1, value));
        }
        let mut weights = Weights::new("evidence", state.weights.clone());
        if state.left_out.len() == state.weights.len() {
            let n = state.weights.len();
            weights.warning = Some(format!(
                "no kernel is positive semi-definite, so none has evidence; every kernel has the weight 1/{n}, as with the \
                 method average"
            ));
        } else if !state.left_out.is_empty() {
            let numbers: Vec<String> = state.left_out.iter().map(usize::to_string).collect();
            let warning = format!(
                "kernels that are not positive semi-definite have no evidence and get no weight: {} (counted from 0)",
                numbers.join(", ")
            );
            weights.warning = Some(weights.warning.map_or(warning.clone(), |first| format!("{first}; {warning}")));
        }
        state.point = Cache::default();
        Ok(Move::Done(weights))
    }

    fn so_far(&self, state: &Climb) -> Option<Vec<f64>> {
        (!state.weights.is_empty()).then(|| Weights::new("evidence", state.weights.clone()).values)
    }

    fn facts(&self, state: &Climb) -> Vec<(String, String)> {
        state.facts()
    }
}

impl Climb {
    /// The start, or one update; whether there is more to do.
    fn advance(
        &mut self,
        method: &Evidence,
        model: &dyn Components,
        forms: &[usize],
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<bool> {
        let iterations = method.iterations;
        if self.weights.is_empty() {
            *self = start(model, forms, stop)?;
        } else if self.evidence.len() <= iterations && !self.ended {
            // After the last update a stop may come before the SVM begins: a resumed run makes no other. Each kernel is a form
            // of its own in the last updates.
            let alone: Vec<usize> = (0..forms.len()).collect();
            let shared = self.evidence.len() + method.own <= iterations;
            update(self, model, if shared { forms } else { &alone }, stop)?;
        }
        Ok(self.evidence.len() <= iterations && !self.ended)
    }

    fn facts(&self) -> Vec<(String, String)> {
        let (Some(first), Some(last)) = (self.evidence.first(), self.evidence.last()) else { return vec![] };
        let (updates, damped) = (self.evidence.len() - 1, self.damped);
        let end = if self.ended { ", then none was left that raises it" } else { "" };
        vec![
            (
                "log evidence".into(),
                format!("{first:.2} at the start, {last:.2} after {updates} updates ({damped} damped){end}"),
            ),
            ("noise".into(), format!("{:.3e}", self.noise)),
        ]
    }
}

/// The classes as the Gaussian model sees them: centred, with variance 1.
fn target(task: &Task<'_>) -> Matrix {
    let mut y = outcome(task);
    centre_columns(&mut y);
    let square = dot(y.data(), y.data()) / y.data().len().max(1) as f64;
    if square > 0.0 {
        y.data_mut().iter_mut().for_each(|value| *value /= square.sqrt());
    }
    y
}

/// The same weight for each form, shared by its kernels; zero for kernels that must be dropped for the evidence to
/// exist.
fn start(model: &dyn Components, forms: &[usize], stop: &(dyn Fn() -> bool + Sync)) -> Result<Climb> {
    let mut left_out = vec![];
    let mut weights = even(forms, &left_out);
    let first = match model.point(&weights, NOISE, stop) {
        Err(Error::NotDefinite { .. }) => {
            left_out = model.indefinite(stop)?;
            weights = even(forms, &left_out);
            model.point(&weights, NOISE, stop)?
        }
        first => first?,
    };
    Ok(Climb {
        weights,
        noise: NOISE,
        evidence: vec![first.evidence],
        left_out,
        point: Cache(Some(first)),
        ..Climb::default()
    })
}

/// Weights that sum to 1: equal over the forms, and within a form over its kernels that are not left out.
fn even(forms: &[usize], left_out: &[usize]) -> Vec<f64> {
    let mut sizes = vec![0usize; forms.iter().max().map_or(0, |most| most + 1)];
    let taken = |m: &usize| left_out.binary_search(m).is_err();
    (0..forms.len()).filter(taken).for_each(|m| sizes[forms[m]] += 1);
    let present = sizes.iter().filter(|&&size| size > 0).count();
    let weight = |m: usize| if taken(&m) { 1.0 / (present * sizes[forms[m]]) as f64 } else { 0.0 };
    (0..forms.len()).map(weight).collect()
}

/// The kernels that are not positive definite with the initial noise on their diagonal. Any convex combination of the
/// others is.
fn indefinite(task: &Task<'_>, stop: &(dyn Fn() -> bool + Sync)) -> Result<Vec<usize>> {
    let stack = task.stack()?;
    let (mut found, mut m) = (vec![], 0);
    while m < stack.n_kernels() {
        for mut kernel in dense_block(task, stack, m)? {
            // Half of it, so that rounding in the sum is harmless.
            (0..kernel.n_rows()).for_each(|i| kernel.set(i, i, kernel.get(i, i) + 0.5 * NOISE));
            match Cholesky::new(kernel, task.pool, stop) {
                Err(Error::NotDefinite { .. }) => found.push(m),
                other => drop(other?),
            }
            m += 1;
        }
    }
    Ok(found)
}

/// One update, in which kernels of one form move together. The state changes only at the end, once nothing can stop it
/// any more.
fn update(state: &mut Climb, model: &dyn Components, forms: &[usize], stop: &(dyn Fn() -> bool + Sync)) -> Result<()> {
    let (weights, noise) = (&state.weights, state.noise);
    let now = state.point.get_or_make(|| model.point(weights, noise, stop))?;
    let (ratios, noise_ratio) = ratios(&model.products(now, weights, noise, stop)?, now.solved.n_cols(), forms);
    for damped in [false, true] {
        let power = |ratio: f64| if damped { ratio.sqrt() } else { ratio };
        let weights: Vec<f64> =
            state.weights.iter().zip(&ratios).map(|(&weight, &ratio)| weight * power(ratio)).collect();
        let noise = (state.noise * power(noise_ratio)).max(MIN_NOISE);
        let next = match model.point(&weights, noise, stop) {
            Err(Error::NotDefinite { .. }) => continue,
            next => next?,
        };
        if state.evidence.last().is_none_or(|&last| next.evidence >= last) {
            state.evidence.push(next.evidence);
            state.damped += usize::from(damped);
            (state.weights, state.noise, state.point) = (weights, noise, Cache(Some(next)));
            return Ok(());
        }
    }
    state.ended = true;
    Ok(())
}

/// The factor for each weight, and for the noise: `(<K, A A'> / c) / <K, H>`, with sums over the kernels of a form.
fn ratios(products: &Products, n_columns: usize, forms: &[usize]) -> (Vec<f64>, f64) {
    let columns = n_columns as f64;
    let mut sums = vec![[0.0; 2]; forms.len()];
    for (&form, row) in forms.iter().zip(products.kernels.rows()) {
        sums[form][0] += row[0] / columns;
        sums[form][1] += row[1];
    }
    // A zero kernel has 0 / 0, and one that is not positive semi-definite may have anything: they get no weight.
    let ratio = |[fit, size]: [f64; 2]| if fit > 0.0 && size > 0.0 { fit / size } else { 0.0 };
    let [fit, size] = products.noise;
    (forms.iter().map(|&form| ratio(sums[form])).collect(), ratio([fit / columns, size]))
}

/// The form of each kernel, numbered in order of appearance: kernels of one family with the same suffixes, at the same
/// rank among those on their columns from wide to narrow, whose column sets have about the same number of columns (to a
/// power of two) in the same view. Each given Gram matrix is a form of its own.
fn forms(kernels: &[&Kernel], views: &[KernelsOfView]) -> Vec<usize> {
    let mut view = vec![None; kernels.len()];
    for (v, of_view) in views.iter().enumerate() {
        of_view.kernels.iter().filter(|&&m| m < kernels.len()).for_each(|&m| view[m] = Some(v));
    }
    let kind = |kernel: &Kernel| (kernel.family().name, kernel.is_unscaled(), kernel.is_raw(), kernel.is_centred());
    let order = |m: usize| (kernels[m].rate().or(kernels[m].parameter()).unwrap_or_default(), m);
    let mut on_columns: HashMap<_, Vec<usize>> = HashMap::new();
    for (m, kernel) in kernels.iter().enumerate().filter(|(_, kernel)| kernel.gram().is_none()) {
        on_columns.entry((kind(kernel), kernel.columns())).or_default().push(m);
    }
    let mut place = vec![0; kernels.len()];
    for members in on_columns.values_mut() {
        members.sort_by(|&a, &b| order(a).0.total_cmp(&order(b).0).then(a.cmp(&b)));
        members.iter().enumerate().for_each(|(k, &m)| place[m] = k);
    }
    let mut numbers = HashMap::new();
    let mut forms = Vec::with_capacity(kernels.len());
    for ((&kernel, place), view) in kernels.iter().zip(place).zip(view) {
        // "All columns" is a size of its own: their number is not known here.
        let size = kernel.columns().ranges().map(|_| kernel.columns().count(0).max(1).ilog2());
        let next = numbers.len();
        forms.push(*numbers.entry((kind(kernel), place, size, view, kernel.gram())).or_insert(next));
    }
    forms
}

impl Method for Evidence {
    type State = EvidenceState;

    fn about(&self) -> About {
        About {
            name: "evidence",
            summary: "SVM on kernels weighed by the evidence of a Gaussian model: a default that needs no thought",
            needs: Needs::Stack,
            bank: DEFAULT_BANK,
        }
    }

    // The hazard of times compares rows with one another: no model of their residuals predicts it.
    fn targets(&self) -> &'static [TargetKind] {
        if self.landmarks == 0 { TARGETS } else { &[TargetKind::Classes, TargetKind::Numbers] }
    }

    fn tunes_by_log_loss(&self) -> bool {
        true
    }

    // With landmarks there is none.
    fn n_squares(&self) -> usize {
        usize::from(self.landmarks == 0)
    }

    fn n_landmarks(&self, n_rows: usize) -> Option<usize> {
        (self.landmarks > 0).then_some(self.landmarks.min(n_rows))
    }

    fn by_partitions(&self) -> Option<Box<dyn ByPartitions>> {
        Some(Box::new(self.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::check::with_task;

    fn forms_of(texts: &[&str], views: &[&[usize]]) -> Vec<usize> {
        let kernels: Vec<Kernel> = texts.iter().map(|text| text.parse().unwrap()).collect();
        let view = |kernels: &&[usize]| KernelsOfView { name: String::new(), kernels: kernels.to_vec() };
        forms(&kernels.iter().collect::<Vec<_>>(), &views.iter().map(view).collect::<Vec<_>>())
    }

    /// A stop between the last update and the SVM left a state that made one update too many when it was resumed.
    #[test]
    fn rules_that_ended_give_the_same_weights_again() {
        fn ended<R: Rule>(rule: &R) {
            let mut rng = crate::dist::Rng::new(2, 0);
            let points = Matrix::from_fn(40, 3, |i, j| rng.uniform() + f64::from(u8::from(i % 2 == j)));
            let codes: Vec<usize> = (0..40).map(|i| i % 2).collect();
            with_task(&points, &codes, &["gaussian(1)", "gaussian(3)", "linear"], |task| {
                let (mut state, control) = (R::Progress::default(), Control::default());
                let mut next = || loop {
                    if let Move::Done(weights) = rule.advance(task, &mut state, &control).unwrap() {
                        break weights.values;
                    }
                };
                let first = next();
                assert_eq!(next(), first);
            });
        }
        ended(&Evidence::default());
        ended(&super::super::EasyMkl::default());
        ended(&super::super::Alignf::default());
        ended(&super::super::Fheuristic::default());
    }

    #[test]
    fn forms_are_shared_by_place_among_widths_and_size_of_columns() {
        let texts = [
            "gaussian(1)",
            "gaussian(2)",
            "gaussian(5) on [0]",
            "gaussian(3) on [0]",
            "gaussian(0.1) on [1]",
            "gaussian(0.2) on [1]",
            "gaussian(0.2) on [2, 3]",
            "gaussian(0.2) on [2:5]",
            "gaussian(0.2) on [2:6]",
            "laplacian(1) on [0]",
            "linear on [1]",
            "linear on [2]",
            "linear on [2] raw",
            "linear on [2] centred",
            "precomputed(a)",
            "precomputed(b)",
        ];
        assert_eq!(forms_of(&texts, &[]), [0, 1, 2, 3, 3, 2, 4, 4, 5, 6, 7, 7, 8, 9, 10, 11]);
    }

    #[test]
    fn equal_kernels_and_views_have_forms_of_their_own() {
        assert_eq!(forms_of(&["linear", "linear", "gaussian(1)", "gaussian(1)"], &[]), [0, 1, 2, 3]);
        let each = ["linear on [0]", "linear on [1]", "linear on [2]", "linear on [3]", "linear"];
        assert_eq!(forms_of(&each, &[&[0, 1], &[2, 3]]), [0, 0, 1, 1, 2]);
    }

    #[test]
    fn even_weights_sum_to_one_over_forms_and_leave_out_who_is_left_out() {
        assert_eq!(even(&[0, 1, 1, 2], &[]), [1.0 / 3.0, 1.0 / 6.0, 1.0 / 6.0, 1.0 / 3.0]);
        assert_eq!(even(&[0, 1, 1, 2], &[0, 2]), [0.0, 0.5, 0.0, 0.5]);
    }
}
