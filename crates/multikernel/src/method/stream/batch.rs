//! Learning from a table: rows in random order, epoch by epoch, through the runner.

use std::sync::Arc;

use super::expansion::{Change, Event, Expansion, Goal, block_end, longest_block, n_functions, walk};
use super::landmarks;
use super::model::StreamModel;
use crate::data::{Target, TargetKind};
use crate::error::{Error, Result};
use crate::file::{Codec, Record};
use crate::linalg::Matrix;
use crate::method::weighted::misfit;
use crate::run::{Control, Method, Progress, State, Task};
use crate::solve::cholesky::Cholesky;
use crate::stack::{Inner, Mixture, Stack};

/// Rows per step, after which a state can be stored.
const STEP: u64 = 1024;
/// Norms are refreshed once one learned row in this many is new.
const REFRESH: u64 = 64;
/// Marks a row that is not a point yet.
const NOWHERE: u32 = u32::MAX;

/// What most methods in this folder predict.
pub(super) const TARGETS: &[TargetKind] = &[TargetKind::Classes, TargetKind::Numbers];

/// A method in this folder.
pub trait StreamMethod: Method {
    /// Number of landmarks that carry all coefficients; 0 for no landmarks.
    fn landmarks(&self) -> usize;
    /// Whether the rows of an epoch are drawn with replacement.
    fn replacement(&self) -> bool {
        false
    }
    /// Errors of numbers up to this cost nothing, in standard deviations of the target.
    fn epsilon(&self) -> f64 {
        0.0
    }
}

/// The specifics of a learner in this folder: the part of its state that is not coefficients.
pub trait Rule: Codec + Clone + Send + Sync + 'static {
    /// The method.
    type Method: StreamMethod;
    /// Whether `c'K_f c`, summed over the functions, is kept up to date throughout.
    const NORMS: bool;

    /// The rule before the first row.
    fn begin(method: &Self::Method, task: &Task<'_>, n_kernels: usize) -> Result<Self>;
    /// Checks numbers read from a file.
    fn check(&self, n_kernels: usize, n_functions: usize) -> Result<()>;
    /// Number of epochs of the whole run.
    fn n_epochs(&self) -> u64;
    /// Kernel weights: P x 1 for all functions, or P x functions.
    fn weights(&self) -> &Matrix;
    /// The raw margin below which the next row is learned: raw scores are this many times those of the model.
    fn threshold(&self) -> f64;
    /// Rows since the coefficients were last reset.
    fn time(&self) -> u64;
    /// Advances by a row: returns its contribution to the coefficients if it is learned, of numbers the largest.
    fn next(&mut self, learned: bool) -> f64;
    /// New weights from `c'K_f c` after a block, for rules that keep it.
    fn refresh(&mut self, _norms: &Matrix) {}
    /// Called after an epoch; `expansion` may be reset.
    fn turn(&mut self, task: &Task<'_>, epoch: u64, expansion: &mut Expansion) -> Result<()>;
    /// The model learned so far.
    fn model(&self, task: &Task<'_>, expansion: Expansion) -> Result<StreamModel>;
}

/// The largest count of a run that goes on: no run comes near, and forged ones can be added up without an overflow.
const MAX_COUNT: u64 = 1 << 48;

/// State of a run.
#[derive(Clone)]
pub struct StreamState<R> {
    /// Rows seen so far.
    seen: u64,
    expansion: Expansion,
    /// `c'K_f c` over all functions, for rules that need it, and the number of rows learned at its last refresh.
    inner: Option<Inner>,
    learned: u64,
    looked: u64,
    rule: R,
    /// The weights in the form the stack uses, and the factors of the landmarks, until they change.
    mixture: Option<Arc<Mixture>>,
    factors: Option<Arc<Vec<Cholesky>>>,
    /// An epoch and the order of its rows.
    order: Option<(u64, Arc<[usize]>)>,
}

impl<R: Rule> Codec for StreamState<R> {
    fn encode(&self) -> Record {
        let mut record = Record::default();
        record.put("seen", &self.seen);
        record.put("learned", &self.learned);
        record.put("looked", &self.looked);
        record.put("expansion", &self.expansion);
        record.put("rule", &self.rule);
        if let Some(inner) = &self.inner {
            record.put("inner", inner);
        }
        record
    }

    fn decode(record: &Record) -> Result<Self> {
        Ok(StreamState {
            seen: record.take("seen")?,
            learned: record.take("learned")?,
            looked: record.take("looked")?,
            expansion: record.take("expansion")?,
            rule: record.take("rule")?,
            inner: R::NORMS.then(|| record.take("inner")).transpose()?,
            mixture: None,
            factors: None,
            order: None,
        })
    }
}

impl<R: Rule> StreamState<R> {
    /// Learns the rows of one block, a part of an epoch's order.
    fn block(&mut self, task: &Task<'_>, rows: &[usize], epsilon: f64, places: &mut [u32]) -> Result<()> {
        let (stack, pool) = (task.stack()?, task.pool);
        let mixture = match &self.mixture {
            Some(mixture) => mixture.clone(),
            None => Arc::new(stack.mixture(self.rule.weights(), pool)?),
        };
        self.mixture = Some(mixture.clone());
        if self.expansion.fixed {
            self.block_on_landmarks(task, rows, epsilon, &mixture)?;
            return self.refresh(stack, task);
        }
        let among = stack.view(rows)?;
        let across = stack.between(rows, &self.expansion.points)?;
        let mut scores = across.decide(&mixture, &self.expansion.coefficients, pool)?;
        let own = among.mix(&mixture, pool)?;
        let wanted = Wanted::of(task, rows, epsilon);
        let (goal, rule) = (wanted.goal(), &mut self.rule);
        let learn = |row: usize, scores: &[f64]| {
            let (miss, time) = (goal.miss(row, scores, rule.threshold()), rule.time());
            let most = rule.next(miss.is_some());
            let lesson = miss?.lesson(most, |m| own[m.min(own.len() - 1)].get(row, row));
            Some(Event { row, lesson, time })
        };
        let events = walk(&mut scores, &own, learn, |_, _| {});
        self.learned += events.len() as u64;
        if let Some(inner) = &mut self.inner {
            let deltas = deltas(&events, rows.len(), self.expansion.n_functions());
            let change = Change { across: &across, among: &among, deltas: &deltas };
            change.add_to(std::slice::from_mut(inner), Some(both(task)), &self.expansion, pool)?;
        }
        let at = |row: usize| (places[row] != NOWHERE).then_some(places[row] as usize);
        let before = self.expansion.points.len();
        self.expansion.add(&events, rows, at);
        for (place, &row) in self.expansion.points.iter().enumerate().skip(before) {
            places[row] = place as u32;
        }
        self.refresh(stack, task)
    }

    /// [`StreamState::block`] with landmarks.
    fn block_on_landmarks(&mut self, task: &Task<'_>, rows: &[usize], epsilon: f64, mixture: &Mixture) -> Result<()> {
        let (stack, pool) = (task.stack()?, task.pool);
        let factors = match &self.factors {
            Some(factors) => factors.clone(),
            None => landmarks::factors(stack, mixture, &self.expansion.points, pool)?,
        };
        self.factors = Some(factors.clone());
        let kernels = stack.between(rows, &self.expansion.points)?.mix(mixture, pool)?;
        let wanted = Wanted::of(task, rows, epsilon);
        let next = |rule: &mut R, learned: bool| {
            let time = rule.time();
            (time, rule.next(learned))
        };
        let (expansion, rule) = (&mut self.expansion, &mut self.rule);
        self.learned += landmarks::walk((&kernels, &factors), wanted.goal(), expansion, rule, R::threshold, next)?;
        Ok(())
    }

    /// New weights from `c'K_f c` once it may have changed noticeably.
    fn refresh(&mut self, stack: &Stack, task: &Task<'_>) -> Result<()> {
        let Some(inner) = &self.inner else { return Ok(()) };
        if (self.learned - self.looked) * REFRESH > self.looked {
            let norms = if self.expansion.fixed {
                pooled(&self.expansion.norms(stack, task.pool)?, both(task))
            } else {
                stack.inner_products(&[inner], task.pool)?
            };
            self.rule.refresh(&norms);
            (self.looked, self.mixture, self.factors) = (self.learned, None, None);
        }
        Ok(())
    }
}

#[cfg(test)]
impl<R: Rule> StreamState<R> {
    pub(super) fn rule(&self) -> &R {
        &self.rule
    }

    /// The coefficients, and the number of rows seen.
    pub(super) fn looked_at(&self) -> (u64, &Expansion) {
        (self.seen, &self.expansion)
    }
}

/// Number of score functions: one per number, or those of the classes.
pub(super) fn functions_of(task: &Task<'_>) -> usize {
    match task.target {
        Target::Numbers(numbers) => numbers.n_targets(),
        _ => n_functions(task.labels.n_classes()),
    }
}

/// How many classes a function stands for: with two classes, both.
fn both(task: &Task<'_>) -> f64 {
    if task.target.numbers().is_none() && functions_of(task) == 1 { 2.0 } else { 1.0 }
}

/// What the rows of a block are to be scored as.
enum Wanted {
    Classes(Vec<usize>),
    Numbers(Matrix, f64),
}

impl Wanted {
    fn of(task: &Task<'_>, rows: &[usize], epsilon: f64) -> Wanted {
        match task.target {
            Target::Numbers(numbers) => Wanted::Numbers(numbers.values().select_rows(rows), epsilon),
            _ => Wanted::Classes(rows.iter().map(|&i| task.labels.codes()[i]).collect()),
        }
    }

    fn goal(&self) -> Goal<'_> {
        match self {
            Wanted::Classes(classes) => Goal::Classes(classes),
            Wanted::Numbers(values, epsilon) => Goal::of_numbers(values, *epsilon),
        }
    }
}

/// The sums over all functions, each of which stands for so many classes.
fn pooled(norms: &Matrix, both: f64) -> Matrix {
    Matrix::from_fn(norms.n_rows(), 1, |f, _| both * norms.row(f).iter().sum::<f64>())
}

/// The coefficient changes of a block: one row per row of it, one column per function.
pub(super) fn deltas(events: &[Event], n_rows: usize, n_functions: usize) -> Matrix {
    let mut deltas = Matrix::zeros(n_rows, n_functions);
    for event in events {
        for (m, delta) in event.parts(n_functions) {
            deltas.row_mut(event.row)[m] += delta;
        }
    }
    deltas
}

/// The rows of an epoch in their order: each once, or drawn with replacement.
fn order(task: &Task<'_>, epoch: u64, replacement: bool) -> Vec<usize> {
    let (n, mut rng) = (task.n_samples(), task.rng(epoch, 0));
    if replacement {
        return (0..n).map(|_| rng.below(n)).collect();
    }
    let mut order: Vec<usize> = (0..n).collect();
    rng.shuffle(&mut order);
    order
}

impl<R: Rule> State<R::Method> for StreamState<R> {
    type Model = StreamModel;

    fn init(method: &R::Method, task: &Task<'_>) -> Result<StreamState<R>> {
        let stack = task.stack()?;
        if task.n_samples() >= NOWHERE as usize {
            return Err(Error::input(format!("{} rows are more than this method can number", task.n_samples())));
        }
        let n_functions = functions_of(task);
        let expansion = match method.landmarks() {
            0 => Expansion::new(n_functions),
            n => Expansion::on(landmarks::draw(task, n), n_functions),
        };
        Ok(StreamState {
            seen: 0,
            expansion,
            inner: R::NORMS.then(|| stack.inner()),
            learned: 0,
            looked: 0,
            rule: R::begin(method, task, stack.n_kernels())?,
            mixture: None,
            factors: None,
            order: None,
        })
    }

    fn check(&self, _: &R::Method, task: &Task<'_>) -> Result<()> {
        let (stack, n_functions) = (task.stack()?, functions_of(task));
        self.expansion.check(task.n_samples(), n_functions)?;
        self.inner.as_ref().map_or(Ok(()), |inner| stack.check_inner(inner))?;
        let counts = [self.looked, self.learned, self.seen, self.rule.time()];
        if self.looked > self.learned || counts.iter().any(|&count| count > MAX_COUNT) {
            return Err(misfit());
        }
        self.rule.check(stack.n_kernels(), n_functions)
    }

    fn step(&mut self, method: &R::Method, task: &Task<'_>, control: &Control) -> Result<Progress> {
        let n = task.n_samples() as u64;
        let total = self.rule.n_epochs().saturating_mul(n);
        let progress = |seen: u64| Progress::of(seen as usize, total as usize);
        let mut next = self.clone();
        let epoch = next.seen / n;
        let order = match next.order.take() {
            Some((of, order)) if of == epoch => order,
            _ => order(task, epoch, method.replacement()).into(),
        };
        next.order = Some((epoch, order.clone()));
        let mut places = vec![NOWHERE; order.len()];
        for (place, &row) in next.expansion.points.iter().enumerate() {
            places[row] = place as u32;
        }
        let end = (next.seen + STEP).min((epoch + 1) * n);
        while next.seen < end {
            if control.stop().is_some() {
                return Ok(Progress::cancelled());
            }
            let first = next.seen - epoch * n;
            // Weights that follow the norms may change after every block, and kernels among the rows of a block are
            // cheap for a single function only.
            let long = !R::NORMS && next.expansion.n_functions() == 1;
            // On landmarks every learned row is a product with all of them for each later row of its block.
            let n_points = if next.expansion.fixed { 0 } else { next.expansion.points.len() };
            let most = longest_block(n_points, long);
            let block_end = block_end(first, most).min(end - epoch * n);
            let rows = &order[first as usize..block_end as usize];
            next.block(task, rows, method.epsilon(), &mut places)?;
            next.seen += rows.len() as u64;
        }
        if next.seen == (epoch + 1) * n {
            next.rule.turn(task, epoch + 1, &mut next.expansion)?;
            (next.mixture, next.factors) = (None, None);
        }
        *self = next;
        Ok(progress(self.seen))
    }

    fn finish(self, _: &R::Method, task: &Task<'_>) -> Result<StreamModel> {
        self.rule.model(task, self.expansion)
    }
}
