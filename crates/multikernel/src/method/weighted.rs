//! Weights first, then one machine on them: the state machine of every method that computes kernel weights by a rule.

use super::ends::{EndModel, EndState, residuals};
use super::sample::{MAX_ROWS, sample};
use super::svc::{EndsInSvc, SVC_PARAMS, Svc};
use crate::data::{Labels, Target};
use crate::error::{Error, Result};
use crate::file::{Codec, Record};
use crate::linalg::Matrix;
use crate::pool::Pool;
use crate::run::{Control, Input, Progress, State, Status, Task};
use crate::stack::Stack;

/// Bytes of kernels that a rule holds as dense matrices at a time; at least one kernel is held.
const BLOCK_BYTES: usize = 64 << 20;
/// Maximum number of kernels held this way: beyond it a pass over all kernels is no longer memory-bound.
const BLOCK_KERNELS: usize = 64;

/// A kernel whose rows are closer than this part of its diagonal is constant up to rounding.
const MIN_SPREAD: f64 = 1e-12;

/// The outcome of one step of a rule.
pub enum Move {
    /// There is more to do: steps done, total steps (more than zero), and a value to show.
    On(usize, usize, Option<(&'static str, f64)>),
    /// It was cancelled and left its state unchanged.
    Cancelled,
    /// The weights, on any scale: they are normalised to sum to 1.
    Done(Weights),
}

/// The result of a rule.
pub struct Weights {
    pub(super) values: Vec<f64>,
    /// A warning about them for the user.
    pub(super) warning: Option<String>,
}

impl Weights {
    /// Weights from a rule's value for each kernel: values that are not positive become 0, and the rest are normalised
    /// to sum to 1. If none is left, because no kernel is related to the classes, all kernels get the same weight.
    pub(super) fn new(rule: &str, mut values: Vec<f64>) -> Weights {
        values.iter_mut().filter(|value| !(value.is_finite() && **value > 0.0)).for_each(|value| *value = 0.0);
        // Normalised twice, as the sum of large values may not be finite.
        let most = values.iter().copied().fold(0.0, f64::max);
        if most > 0.0 {
            values.iter_mut().for_each(|value| *value /= most);
            let sum: f64 = values.iter().sum();
            values.iter_mut().for_each(|value| *value /= sum);
            return Weights { values, warning: None };
        }
        let n = values.len();
        let warning = format!(
            "{rule} found no kernel that has anything to do with what is predicted; every kernel has the weight 1/{n}, as with \
             the method average"
        );
        Weights { values: vec![1.0 / n as f64; n], warning: Some(warning) }
    }
}

/// A method that computes its weights by a rule. The state of the rule is stored between steps, so a step depends on
/// its arguments only.
pub trait Rule: EndsInSvc {
    /// Progress of the rule.
    type Progress: Codec + Clone + Default + Send + 'static;

    /// Checks that a stored state fits the task.
    fn check_progress(&self, task: &Task<'_>, state: &Self::Progress) -> Result<()>;

    /// One step.
    fn advance(&self, task: &Task<'_>, state: &mut Self::Progress, control: &Control) -> Result<Move>;

    /// The weights reached when the rule is stopped, if it has any: they sum to 1.
    fn so_far(&self, _state: &Self::Progress) -> Option<Vec<f64>> {
        None
    }

    /// Facts for the model to report.
    fn facts(&self, _state: &Self::Progress) -> Vec<(String, String)> {
        vec![]
    }
}

/// State: the progress of the rule, then the machine on its weights.
#[derive(Clone, Debug)]
pub struct Weighted<S> {
    rule: S,
    /// Total steps of the rule, as last reported.
    steps: usize,
    svm: Option<EndState>,
    /// How far rows are apart under the weighted kernel: see [`spread`].
    spread: f64,
    warning: Option<String>,
}

impl<S: Codec> Codec for Weighted<S> {
    fn encode(&self) -> Record {
        let mut record = Record::default();
        record.put_record("rule", self.rule.encode());
        record.put("steps", &self.steps);
        record.put("warning", &self.warning);
        record.put("spread", &self.spread);
        record.put("weighted", &self.svm.is_some());
        if let Some(svm) = &self.svm {
            record.put_record("svm", svm.encode());
        }
        record
    }

    fn decode(record: &Record) -> Result<Self> {
        let weighted: bool = record.take("weighted")?;
        let svm = if weighted { Some(EndState::decode(&record.take_record("svm"))?) } else { None };
        let rule = S::decode(&record.take_record("rule"))?;
        let (spread, warning) = (record.take("spread")?, record.take("warning")?);
        Ok(Weighted { rule, steps: record.take("steps")?, svm, spread, warning })
    }
}

impl<M: Rule> State<M> for Weighted<M::Progress> {
    type Model = EndModel;

    fn init(method: &M, task: &Task<'_>) -> Result<Self> {
        // Reject bad SVM parameters now, not after the rule has run.
        EndState::new(uniform(task)?, task, &method.svc())?;
        Ok(Weighted { rule: M::Progress::default(), steps: 1, svm: None, spread: 1.0, warning: None })
    }

    /// Where the rule has the same parameters, its weights are kept: only the machine on them is new.
    fn again(&self, earlier: &M, method: &M, task: &Task<'_>) -> Result<Self> {
        let (Some(svm), true) = (&self.svm, is_same_rule(earlier, method)) else { return Self::init(method, task) };
        let svm = svm.with(task, &self.scaled(earlier.svc()), &self.scaled(method.svc()))?;
        Ok(Weighted { svm: Some(svm), ..self.clone() })
    }

    fn is_done(&self) -> bool {
        self.svm.as_ref().is_some_and(EndState::is_finished)
    }

    fn check(&self, method: &M, task: &Task<'_>) -> Result<()> {
        method.check_progress(task, &self.rule)?;
        self.svm.as_ref().map_or(Ok(()), |svm| svm.fits(task, &self.scaled(method.svc())))
    }

    fn step(&mut self, method: &M, task: &Task<'_>, control: &Control) -> Result<Progress> {
        let svc = self.scaled(method.svc());
        if let Some(svm) = &mut self.svm {
            let progress = svm.advance(task, &svc, control)?;
            // The SVM is the last unit of work.
            return Ok(match progress.status {
                Status::Running => Progress { values: progress.values, ..Progress::of(self.steps, self.steps + 1) },
                _ => progress,
            });
        }
        match method.advance(task, &mut self.rule, control)? {
            Move::Cancelled => Ok(Progress::cancelled()),
            Move::On(done, total, value) => {
                self.steps = total;
                let progress = Progress::of(done, total + 1);
                Ok(value.into_iter().fold(progress, |progress, (name, value)| progress.with(name, value)))
            }
            Move::Done(weights) => {
                let spread = spread(&weights.values, task)?;
                self.svm = Some(EndState::new(weights.values, task, &scaled(method.svc(), spread))?);
                self.spread = spread;
                self.warning = weights.warning;
                Ok(Progress::of(self.steps, self.steps + 1))
            }
        }
    }

    fn finish(self, method: &M, task: &Task<'_>) -> Result<EndModel> {
        let svc = self.scaled(method.svc());
        if let Some(svm) = self.svm.filter(EndState::is_begun) {
            let model = svm.model(task, &svc)?;
            return Ok(model.with_warning(self.warning).with_facts(method.facts(&self.rule)));
        }
        let (weights, what) = match method.so_far(&self.rule) {
            Some(weights) => (weights, "the kernel weights are those reached by then"),
            None => (uniform(task)?, "all kernels have the same weight"),
        };
        let (model, rows) = on_a_sample(weights, task, &method.svc())?;
        let warning = format!("stopped before the kernel weights were learned: {what}{rows}; give it more time");
        Ok(model.with_warning(Some(warning)).with_facts(method.facts(&self.rule)))
    }
}

impl<S> Weighted<S> {
    /// The weights and the warning about them, once the rule is done.
    pub(super) fn learned(&self) -> Option<(Vec<f64>, Option<String>)> {
        let svm = self.svm.as_ref()?;
        Some((svm.weights().to_vec(), self.warning.clone()))
    }

    fn scaled(&self, svc: Svc) -> Svc {
        scaled(svc, self.spread)
    }
}

/// Whether two methods learn the same weights: they differ in parameters of the SVM alone.
pub(super) fn is_same_rule<M: Rule>(a: &M, b: &M) -> bool {
    let of_rule = M::params().iter().filter(|param| !SVC_PARAMS.contains(&param.name));
    of_rule.map(|param| param.name).all(|name| a.value(name) == b.value(name))
}

/// The SVM of `c` on the kernel divided by its spread: alpha and the bound of it are in the same units, so that `c` is
/// divided instead.
pub(super) fn scaled(svc: Svc, spread: f64) -> Svc {
    Svc { c: svc.c / spread, ..svc }
}

/// Half the mean squared distance of two training rows in the space of the weighted kernel, `tr(K)/n - 1'K1/n^2`. It is
/// about 1 for unit-diagonal kernels that tell rows apart, and near 0 where the weights prefer kernels that are nearly
/// constant: there a given c would be far too small. 1 where rows do not differ at all, and for other targets than
/// classes, whose amplitude is learned.
pub(super) fn spread(weights: &[f64], task: &Task<'_>) -> Result<f64> {
    if !matches!(task.target, Target::Classes) {
        return Ok(1.0);
    }
    let rows = sample(task.labels, MAX_ROWS);
    // A view of all rows would be gathered.
    let all = task.stack()?;
    let stack = if rows.len() == task.n_samples() { all.clone() } else { all.view(&rows)? };
    let n = rows.len() as f64;
    let column = Matrix::from_vec(weights.len(), 1, weights.to_vec())?;
    let gram = stack.combine(&column, task.pool)?.remove(0);
    let trace: f64 = (0..rows.len()).map(|i| gram.get(i, i)).sum();
    let sum: f64 = gram.rows().map(|row| row.iter().sum::<f64>()).sum();
    let spread = trace / n - sum / (n * n);
    Ok(if spread > MIN_SPREAD * (trace / n).abs() { spread } else { 1.0 })
}

/// The SVM for a run that was stopped before its own: weights alone predict nothing, and nobody wants to wait for all
/// rows of a large set. Returns the machine, and text saying how many of the rows it was trained on.
pub(super) fn on_a_sample(weights: Vec<f64>, task: &Task<'_>, svc: &Svc) -> Result<(EndModel, String)> {
    let rows = sample(task.labels, MAX_ROWS);
    let (labels, target) = (task.labels.select(&rows), task.target.select(&rows));
    let stack = task.stack()?.view(&rows)?;
    let part = Task { input: Input::Stack(&stack), labels: &labels, target: &target, groups: None, ..*task };
    let svc = &scaled(svc.clone(), spread(&weights, &part)?);
    let mut svm = EndState::new(weights, &part, svc)?;
    while svm.advance(&part, svc, &Control::default())?.status == Status::Running {}
    let (n, all) = (rows.len(), task.n_samples());
    let words = if n < all { format!(", and the SVM saw {n} of {all} rows") } else { String::new() };
    Ok((svm.model(&part, svc)?.of_rows(&rows), words))
}

fn uniform(task: &Task<'_>) -> Result<Vec<f64>> {
    let n_kernels = task.stack()?.n_kernels();
    if n_kernels == 0 {
        return Err(Error::input("there is no kernel to weigh"));
    }
    Ok(vec![1.0 / n_kernels as f64; n_kernels])
}

/// The classes as a rule sees them: n_samples x c, a column of +1 (the class) and -1 (the rest) for each class that has
/// rows; a single column for two classes, as the second would be its negative.
pub(super) fn signs(labels: &Labels) -> Matrix {
    let counts = labels.counts();
    let mut present: Vec<usize> = (0..counts.len()).filter(|&class| counts[class] > 0).collect();
    if present.len() == 2 {
        present.pop();
    }
    let codes = labels.codes();
    Matrix::from_fn(codes.len(), present.len(), |i, k| if codes[i] == present[k] { 1.0 } else { -1.0 })
}

/// What is predicted, as a rule sees it: n_samples x c, the classes as [`signs`], the numbers, or the [`residuals`] of
/// times.
pub(super) fn outcome(task: &Task<'_>) -> Matrix {
    match task.target {
        Target::Classes => signs(task.labels),
        Target::Numbers(numbers) => numbers.values().clone(),
        Target::Times(times) => residuals(times),
    }
}

/// The kernels from `first` on as dense matrices: as many as a rule should hold at a time and memory allows, at least
/// one.
pub(super) fn dense_block(task: &Task<'_>, stack: &Stack, first: usize) -> Result<Vec<Matrix>> {
    dense_kernels(stack, first, task.pool)
}

/// [`dense_block`] where there is no task.
pub(super) fn dense_kernels(stack: &Stack, first: usize, pool: &Pool) -> Result<Vec<Matrix>> {
    let (size, n_kernels) = (stack.n_rows() * stack.n_cols(), stack.n_kernels());
    let room = BLOCK_BYTES.min(usize::try_from(stack.room()).unwrap_or(usize::MAX));
    let most = (room / (8 * size).max(1)).clamp(1, BLOCK_KERNELS);
    let count = most.min(n_kernels.saturating_sub(first));
    stack.combine(&Matrix::from_fn(n_kernels, count, |m, k| f64::from(u8::from(m == first + k))), pool)
}

/// The error for a stored state that belongs to other data.
pub(super) fn misfit() -> Error {
    Error::input("the checkpoint's arrays do not fit the data; start anew")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Plan;
    use crate::data::bundled;
    use crate::method::{Evidence, Svm};
    use crate::plan::Session;
    use crate::run::{Silent, first_largest};

    /// Runs `f` on the task of these kernels on ionosphere.
    fn on<T>(bank: &str, f: impl FnOnce(&Task<'_>) -> T) -> T {
        let (data, pool) = (bundled("ionosphere").unwrap(), Pool::new(2).unwrap());
        let plan = Plan::new("evidence").unwrap().kernels(bank).unwrap();
        let prepared = plan.prepare(&data, &mut Session::new(&pool, &mut Silent)).unwrap();
        let (input, target) = (Input::Stack(prepared.stack().unwrap()), &Target::Classes);
        f(&Task {
            input,
            labels: &data.labels,
            target,
            groups: None,
            views: &[],
            alternatives: &[],
            seed: 1,
            pool: &pool,
        })
    }

    fn run<M, S: State<M>>(mut state: S, method: &M, task: &Task<'_>) -> S {
        while state.step(method, task, &Control::default()).unwrap().status == Status::Running {}
        state
    }

    #[test]
    fn another_c_keeps_the_weights_and_another_rule_does_not() {
        on("gaussian(median*2^-1..2^1), linear", |task| {
            let (first, second) = (Evidence::default(), Evidence { c: 1.0, ..Evidence::default() });
            let state = run(Weighted::init(&first, task).unwrap(), &first, task);
            let again: Weighted<_> = state.again(&first, &second, task).unwrap();
            assert!(again.svm.is_some(), "the rule runs again");
            let fresh = run(Weighted::init(&second, task).unwrap(), &second, task);
            let weights = |state: Weighted<_>| match state.finish(&second, task).unwrap() {
                EndModel::Svm(svm) => crate::run::Explain::weights(&svm).unwrap().to_vec(),
                _ => vec![],
            };
            assert_eq!(weights(run(again, &second, task)), weights(fresh));
            let other = Evidence { iterations: 3, ..first.clone() };
            let again: Weighted<_> = state.again(&first, &other, task).unwrap();
            assert!(again.svm.is_none(), "weights of another rule were kept");
        });
    }

    #[test]
    fn c_that_no_dual_variable_reaches_is_not_run_again() {
        on("gaussian(1)", |task| {
            let of = |c: f64| Svm { c, ..Svm::default() };
            let solved = run(EndState::init(&of(100.0), task).unwrap(), &of(100.0), task);
            let larger = solved.again(&of(100.0), &of(1000.0), task).unwrap();
            assert!(State::<Svm>::is_done(&larger));
            let fresh = run(EndState::init(&of(1000.0), task).unwrap(), &of(1000.0), task);
            assert_eq!(
                larger.model(task, &of(1000.0).svc()).unwrap().encode(),
                fresh.model(task, &of(1000.0).svc()).unwrap().encode()
            );
            let smaller = solved.again(&of(100.0), &of(0.1), task).unwrap();
            assert!(!State::<Svm>::is_done(&smaller), "c = 0.1 bounds dual variables");
        });
    }

    #[test]
    fn spread_is_half_the_mean_squared_distance() {
        on("gaussian(3), polynomial(2)", |task| {
            let weights = [0.25, 0.75];
            let gram =
                &task.stack().unwrap().combine(&Matrix::from_vec(2, 1, weights.to_vec()).unwrap(), task.pool).unwrap()
                    [0];
            let n = gram.n_rows();
            let distance = |i: usize, j: usize| gram.get(i, i) + gram.get(j, j) - 2.0 * gram.get(i, j);
            let sum: f64 = (0..n).flat_map(|i| (0..n).map(move |j| (i, j))).map(|(i, j)| distance(i, j)).sum();
            let brute = sum / (2.0 * (n * n) as f64);
            assert!((spread(&weights, task).unwrap() - brute).abs() < 1e-12 * brute);
        });
    }

    #[test]
    fn rules_on_nearly_constant_kernels_tell_classes_apart() {
        let data = bundled("ionosphere").unwrap();
        for method in ["alignf", "fheuristic", "easymkl", "evidence"] {
            let plan = Plan::new(method).unwrap().kernels("gaussian(1000), gaussian(2000)").unwrap();
            let model = plan.train(&data).unwrap();
            let scores = model.predict(&data.samples).unwrap().scores;
            let right =
                scores.rows().zip(data.labels.codes()).filter(|(row, code)| first_largest(row) == **code).count();
            assert!(right > 300, "{method}: {right} of 351 rows");
        }
    }
}
