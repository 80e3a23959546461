//! Learning from a stream: the same coefficients as from a table, fed row by row.
//!
//! Kernel weights change at certain rows only, which reweights all points, and a budget bounds the number of points.
//! Rows in between form blocks, whose ends depend on the number of rows seen and on where new classes appear, never on
//! how rows were split into calls.

use std::sync::Arc;

use super::batch::{StreamMethod, deltas};
use super::expansion::{BLOCK, Change, Event, Expansion, Goal, Lesson, add_event, class_scores, n_functions, walk};
use super::model::StreamModel;
use crate::error::{Error, Result};
use crate::file::{Codec, Record};
use crate::linalg::Matrix;
use crate::pool::Pool;
use crate::run::{Begin, Explain, Learner, Predict, first_largest};
use crate::stack::{Inner, Mixture, Points, Stack};

/// The specifics of a stream learner.
pub(super) trait Rule: Codec + Clone + Send + Sync + 'static {
    /// Whether norms are pooled over all classes, instead of one per function.
    const POOLED: bool;
    /// The method.
    type Method: StreamMethod;

    /// The rule before the first row.
    fn begin(method: &Self::Method, n_kernels: usize) -> Result<Self>;
    /// Kernel weights: P x 1 for all functions, or P x functions.
    fn weights(&self) -> &Matrix;
    /// The raw margin below which a row is learned.
    fn threshold(&self) -> f64;
    /// A learned row's contribution to the coefficients.
    fn delta(&self) -> f64;
    /// New weights from `c'K_f c` (P x functions, or P x 1 over all of them) after `seen` rows, whose largest
    /// contributions add up to `steps`.
    fn refresh(&mut self, norms: &Matrix, seen: u64, steps: f64);
    /// Extends the weights to this many functions, for rules with one column per function.
    fn extend(&mut self, _n_functions: usize) {}
}

/// State of a stream learner.
pub(super) struct Streamed<R> {
    kernels: Stack,
    rule: R,
    /// Maximum number of points kept.
    budget: Option<u64>,
    update_every: u64,
    n_classes: usize,
    /// How many numbers are predicted, and epsilon; `None` for classes.
    numbers: Option<(usize, f64)>,
    /// Rows seen so far.
    seen: u64,
    /// State at the start of the block: coefficients, norms, and the points prepared for kernels.
    expansion: Expansion,
    inner: Vec<Inner>,
    frozen: Points,
    /// Updates within the block, and the rows they came from: event e belongs to row e.
    pending: Vec<Event>,
    rows: Vec<f64>,
    mixture: Option<Arc<Mixture>>,
}

/// The end of the block that contains row number `seen` (from 0): where weights change, and in between in equal parts
/// of at most [`BLOCK`] rows.
fn block_end(seen: u64, update_every: u64) -> u64 {
    let begun = seen / update_every * update_every;
    let size = update_every.div_ceil(update_every.div_ceil(BLOCK));
    let end = (begun + ((seen - begun) / size + 1) * size).min(begun + update_every);
    if seen < BLOCK { end.min((seen + 1).next_power_of_two()) } else { end }
}

/// Checks the options of a stream.
pub(super) fn check(method: &impl StreamMethod, begin: &Begin<'_>) -> Result<()> {
    if begin.update_every == 0 {
        return Err(Error::param("update-every", "must be a number of rows of at least 1, got 0"));
    }
    if method.landmarks() > 0 {
        return Err(Error::param("landmarks", "must be 0 for a stream, whose rows are not known before; use a budget"));
    }
    if let Some(budget) = begin.budget.filter(|&budget| budget < 2) {
        return Err(Error::param("budget", format!("must be at least 2 points, got {budget}")));
    }
    Ok(())
}

impl<R: Rule> Streamed<R> {
    pub(super) fn begin(method: &R::Method, begin: &Begin<'_>) -> Result<Self> {
        let n_columns = begin.stored.map_or(0, |(_, points)| points.n_cols());
        let empty = Matrix::zeros(0, n_columns);
        let kernels = begin.kernels.of_points(&empty, None)?;
        check(method, begin)?;
        let numbers = (begin.n_numbers > 0).then(|| (begin.n_numbers, method.epsilon()));
        let n_functions = numbers.map_or_else(|| n_functions(begin.n_classes.max(2)), |(n, _)| n);
        let mut rule = R::begin(method, kernels.n_kernels())?;
        rule.extend(n_functions);
        let learner = Streamed {
            inner: vec![kernels.inner(); if R::POOLED { 1 } else { n_functions }],
            rule,
            budget: begin.budget.map(|budget| budget as u64),
            update_every: begin.update_every as u64,
            n_classes: begin.n_classes,
            numbers,
            seen: 0,
            expansion: Expansion::new(n_functions),
            frozen: Points::from(&empty),
            pending: vec![],
            rows: vec![],
            mixture: None,
            kernels,
        };
        match begin.stored {
            Some((record, points)) => learner.restored(record, points),
            None => Ok(learner),
        }
    }

    fn restored(mut self, record: &Record, points: &Matrix) -> Result<Self> {
        let misfit =
            || Error::input("the parts of the stream do not fit together; the file was not written by this method");
        self.rule = record.take("rule")?;
        (self.seen, self.expansion) = (record.take("seen")?, record.take("expansion")?);
        (self.budget, self.update_every) = (record.take("budget")?, record.take("update_every")?);
        let times: Vec<u64> = record.take("pending.times")?;
        let lessons = self.stored_lessons(record)?;
        let (n, n_frozen) = (times.len(), self.expansion.points.len());
        let n_functions = self.n_functions();
        let mut all = record.take::<Matrix>("forgotten")?.into_data();
        all.extend_from_slice(points.data());
        let points = Matrix::from_vec(n_frozen + n, points.n_cols(), all).map_err(|_| misfit())?;
        self.expansion.check(n_frozen, n_functions)?;
        let weights = self.rule.weights();
        let fits = lessons.len() == n
            && self.update_every > 0
            && weights.n_rows() == self.kernels.n_kernels()
            && [1, n_functions].contains(&weights.n_cols());
        if !fits {
            return Err(misfit());
        }
        let event = |(row, (lesson, time))| Event { row, lesson, time };
        self.pending = lessons.into_iter().zip(times).enumerate().map(event).collect();
        self.frozen = Points::from(&points.select_rows(&(0..n_frozen).collect::<Vec<_>>()));
        self.rows = points.data()[n_frozen * points.n_cols()..].to_vec();
        for (k, inner) in self.inner.iter_mut().enumerate() {
            *inner = record.take(&format!("inner.{k}"))?;
            self.kernels.check_inner(inner)?;
        }
        Ok(self)
    }

    /// What the rows of the block have taught so far.
    fn stored_lessons(&self, record: &Record) -> Result<Vec<Lesson>> {
        let misfit =
            || Error::input("the rows learned last do not fit the stream; the file was not written by this method");
        if let Some((n_numbers, _)) = self.numbers {
            let deltas: Matrix = record.take("pending.deltas")?;
            // A table without rows has no columns either.
            let fits = deltas.n_rows() == 0 || deltas.n_cols() == n_numbers;
            return if fits {
                Ok(deltas.rows().map(|row| Lesson::Numbers(row.to_vec())).collect())
            } else {
                Err(misfit())
            };
        }
        let classes: Vec<usize> = record.take("pending.classes")?;
        let rivals: Vec<usize> = record.take("pending.rivals")?;
        if classes.len() != rivals.len() || classes.iter().chain(&rivals).any(|&class| class >= self.n_classes) {
            return Err(misfit());
        }
        let delta = self.rule.delta();
        Ok(classes.into_iter().zip(rivals).map(|(class, rival)| Lesson::Class { class, rival, delta }).collect())
    }

    fn n_functions(&self) -> usize {
        self.numbers.map_or_else(|| n_functions(self.n_classes.max(2)), |(n, _)| n)
    }

    /// How many times a model's scores raw scores are, and the largest contribution of row number `seen` (from 0).
    /// Numbers have steps that fall with the square root of the number of rows: the error of an endless stream then
    /// approaches that of the best function of bounded norm, and noise averages out.
    fn steps(&self, seen: u64) -> (f64, f64) {
        match self.numbers {
            None => (self.rule.threshold(), self.rule.delta()),
            Some(_) => (1.0, self.rule.delta() / self.rule.threshold() / (seen as f64 + 1.0).sqrt()),
        }
    }

    /// The sum of the largest contributions of all rows so far; of numbers `sum_s s^-1/2` is `2 sqrt(t) - 1` to within a
    /// half.
    fn all_steps(&self) -> f64 {
        let seen = self.seen as f64;
        match self.numbers {
            None => seen,
            Some(_) => self.steps(0).1 * (2.0 * seen.sqrt() - 1.0).max(0.0),
        }
    }

    fn n_all(&self) -> usize {
        self.frozen.n_points() + self.pending.len()
    }

    /// All rows needed in this block, including forgotten ones.
    fn all_rows(&self) -> Result<Matrix> {
        match self.rows.len().checked_div(self.pending.len()) {
            Some(n_columns) => append(&self.frozen, &self.pending_rows(n_columns)?),
            None => Ok(self.frozen.clone()),
        }
        .and_then(|points| Ok(points.features().to_dense()?.into_owned()))
    }

    fn mixture(&mut self, pool: &Pool) -> Result<Arc<Mixture>> {
        let mixture = match &self.mixture {
            Some(mixture) => mixture.clone(),
            None => Arc::new(self.kernels.mixture(self.rule.weights(), pool)?),
        };
        self.mixture = Some(mixture.clone());
        Ok(mixture)
    }

    /// Rows learned in this block, as a table with this many columns.
    fn pending_rows(&self, n_columns: usize) -> Result<Matrix> {
        Matrix::from_vec(self.pending.len(), n_columns, self.rows.clone())
    }

    /// How many of the oldest points, those of the block after the others, are forgotten once the block has learned
    /// this many rows: one for each row beyond the budget.
    fn n_forgotten(&self, n_pending: usize) -> usize {
        let n = self.frozen.n_points() + n_pending;
        self.budget.map_or(0, |budget| n.saturating_sub(budget as usize))
    }

    /// The combined kernels between rows and the oldest points that may be forgotten while this many rows are learned.
    fn oldest(&self, rows: &Matrix, n_more: usize, pool: &Pool) -> Result<Vec<Matrix>> {
        let n = self.n_forgotten(self.pending.len() + n_more).min(self.frozen.n_points());
        if n == 0 {
            return Ok(vec![Matrix::zeros(rows.n_rows(), 0)]);
        }
        let points = self.frozen.select(&(0..n).collect::<Vec<_>>());
        let mixture = self.mixture.clone().ok_or_else(|| Error::input("the learner has no kernel weights yet"))?;
        self.kernels.of_points(rows, Some(&points))?.mix(&mixture, pool)
    }

    /// Subtracts the contribution of forgotten point number `k` from the scores of a row. `oldest` and `pending` are
    /// the combined kernels of each function between the row and the oldest points, and the rows learned in the block.
    fn forget(
        &self,
        k: usize,
        events: &[Event],
        oldest: impl Fn(usize, usize) -> f64,
        pending: impl Fn(usize, usize) -> f64,
        scores: &mut [f64],
    ) {
        let n = self.frozen.n_points();
        if k < n {
            for (m, score) in scores.iter_mut().enumerate() {
                *score -= self.expansion.coefficients.get(k, m) * oldest(m, k);
            }
        } else if let Some(event) = events.get(k - n) {
            for (m, delta) in event.parts(scores.len()) {
                scores[m] -= delta * pending(m, k - n);
            }
        }
    }

    /// The current raw scores of rows.
    fn scores(&mut self, rows: &Matrix, pool: &Pool) -> Result<Matrix> {
        let mixture = self.mixture(pool)?;
        let n_functions = self.expansion.n_functions();
        let mut scores = Matrix::zeros(rows.n_rows(), n_functions);
        if self.frozen.n_points() > 0 {
            let across = self.kernels.of_points(rows, Some(&self.frozen))?;
            scores = across.decide(&mixture, &self.expansion.coefficients, pool)?;
        }
        if self.pending.is_empty() {
            return Ok(scores);
        }
        let pending = Points::from(&self.pending_rows(rows.n_cols())?);
        let kernels = self.kernels.of_points(rows, Some(&pending))?.mix(&mixture, pool)?;
        let oldest = self.oldest(rows, 0, pool)?;
        let of = |matrices: &[Matrix], m: usize, i: usize, j: usize| matrices[m.min(matrices.len() - 1)].get(i, j);
        for i in 0..rows.n_rows() {
            for (e, event) in self.pending.iter().enumerate() {
                add_event(event, |m| of(&kernels, m, i, e), scores.row_mut(i));
                for k in self.n_forgotten(e)..self.n_forgotten(e + 1) {
                    let (old, new) =
                        (|m: usize, k: usize| of(&oldest, m, i, k), |m: usize, e: usize| of(&kernels, m, i, e));
                    self.forget(k, &self.pending, old, new, scores.row_mut(i));
                }
            }
        }
        Ok(scores)
    }

    /// Learns the rows of one block. Returns their raw scores before.
    fn block(&mut self, rows: &Matrix, goal: Goal<'_>, pool: &Pool) -> Result<Matrix> {
        let mut scores = self.scores(rows, pool)?;
        let mixture = self.mixture(pool)?;
        let own = self.kernels.of_points(rows, None)?.mix(&mixture, pool)?;
        let (oldest, before) = (self.oldest(rows, rows.n_rows(), pool)?, self.pending.len());
        // Forgotten rows of the block may come from earlier calls.
        let pending = match self.n_forgotten(before + rows.n_rows()) > self.frozen.n_points() && before > 0 {
            true => {
                let points = Points::from(&self.pending_rows(rows.n_cols())?);
                self.kernels.of_points(rows, Some(&points))?.mix(&mixture, pool)?
            }
            false => vec![],
        };
        let of = |matrices: &[Matrix], m: usize, i: usize, j: usize| matrices[m.min(matrices.len() - 1)].get(i, j);
        let (mut time, mut found) = (self.seen, vec![]);
        let learn = |row: usize, scores: &[f64]| {
            found.extend_from_slice(scores);
            let (unit, most) = self.steps(time);
            time += 1;
            let lesson = goal.miss(row, scores, unit)?.lesson(most, |m| of(&own, m, row, row));
            Some(Event { row, lesson, time: time - 1 })
        };
        let events = walk(&mut scores, &own, learn, |events, scores| {
            let (n, row) = (before + events.len(), events[events.len() - 1].row);
            for k in self.n_forgotten(n - 1)..self.n_forgotten(n) {
                let all: Vec<Event> = self.pending.iter().chain(events).cloned().collect();
                for later in row + 1..rows.n_rows() {
                    let old = |m: usize, k: usize| of(&oldest, m, later, k);
                    let new = |m: usize, e: usize| match e.checked_sub(before) {
                        Some(e) => of(&own, m, later, events[e].row),
                        None => of(&pending, m, later, e),
                    };
                    self.forget(k, &all, old, new, scores.row_mut(later));
                }
            }
        });
        for event in events {
            self.rows.extend_from_slice(rows.row(event.row));
            self.pending.push(Event { row: self.pending.len(), ..event });
        }
        self.seen = time;
        Matrix::from_vec(rows.n_rows(), self.expansion.n_functions(), found)
    }

    /// Learns rows block by block. Returns their raw scores before; none while there is a single class, which has no rival.
    fn blocks(&mut self, rows: &Matrix, goal: Goal<'_>, pool: &Pool) -> Result<Vec<f64>> {
        let (mut found, mut first) = (vec![], 0);
        while first < rows.n_rows() {
            let end = block_end(self.seen, self.update_every);
            let last = rows.n_rows().min(first + (end - self.seen) as usize);
            let block = rows.select_rows(&(first..last).collect::<Vec<_>>());
            if self.numbers.is_none() && self.n_classes < 2 {
                self.seen += block.n_rows() as u64;
            } else {
                found.extend(self.block(&block, goal.part(first..last), pool)?.into_data());
            }
            first = last;
            if self.seen == end {
                self.close(pool)?;
                self.refresh(pool)?;
            }
        }
        Ok(found)
    }

    /// Ends a block: its updates become part of the state.
    fn close(&mut self, pool: &Pool) -> Result<()> {
        if !self.pending.is_empty() {
            let n_columns = self.rows.len() / self.pending.len();
            let rows = self.pending_rows(n_columns)?;
            let deltas = deltas(&self.pending, rows.n_rows(), self.expansion.n_functions());
            self.change(&rows, &deltas, pool)?;
            let n = self.expansion.points.len();
            let new: Vec<usize> = (n..n + rows.n_rows()).collect();
            self.expansion.add(&self.pending, &new, |_| None);
            self.frozen = append(&self.frozen, &rows)?;
            (self.pending, self.rows) = (vec![], vec![]);
            self.shed(pool)?;
        }
        Ok(())
    }

    /// Updates the norms for coefficient changes at some points.
    fn change(&mut self, rows: &Matrix, deltas: &Matrix, pool: &Pool) -> Result<()> {
        let across = self.kernels.of_points(rows, Some(&self.frozen))?;
        let among = self.kernels.of_points(rows, None)?;
        let change = Change { across: &across, among: &among, deltas };
        let both = if self.numbers.is_none() && deltas.n_cols() == 1 { 2.0 } else { 1.0 };
        change.add_to(&mut self.inner, R::POOLED.then_some(both), &self.expansion, pool)
    }

    /// Forgets the oldest points beyond the budget.
    fn shed(&mut self, pool: &Pool) -> Result<()> {
        let (n, surplus) = (self.expansion.points.len(), self.n_forgotten(0));
        if surplus == 0 {
            return Ok(());
        }
        let (gone, left): (Vec<usize>, Vec<usize>) = ((0..surplus).collect(), (surplus..n).collect());
        let rows = self.frozen.features().select_rows(&gone).to_dense()?.into_owned();
        let before = &self.expansion.coefficients;
        let deltas = Matrix::from_fn(surplus, before.n_cols(), |i, m| -before.get(i, m));
        self.change(&rows, &deltas, pool)?;
        self.frozen = self.frozen.select(&left);
        self.expansion.coefficients = self.expansion.coefficients.select_rows(&left);
        self.expansion.times = self.expansion.times.select_rows(&left);
        self.expansion.points = (0..left.len()).collect();
        Ok(())
    }

    /// Updates the kernel weights when due.
    fn refresh(&mut self, pool: &Pool) -> Result<()> {
        // A first row that needs no learning says nothing of the kernels.
        let is_known = self.numbers.is_none() || !self.expansion.points.is_empty();
        if is_known && (self.seen < BLOCK || self.seen.is_multiple_of(self.update_every)) {
            let inner: Vec<&Inner> = self.inner.iter().collect();
            let norms = self.kernels.inner_products(&inner, pool)?;
            self.rule.refresh(&norms, self.seen, self.all_steps());
            self.mixture = None;
        }
        Ok(())
    }
}

/// The class and the rival of each event.
pub(super) fn pairs(events: &[Event]) -> (Vec<usize>, Vec<usize>) {
    let pair = |event: &Event| match event.lesson {
        Lesson::Class { class, rival, .. } => Some((class, rival)),
        Lesson::Numbers(_) => None,
    };
    events.iter().filter_map(pair).unzip()
}

/// Points with more rows appended.
pub(super) fn append(points: &Points, rows: &Matrix) -> Result<Points> {
    let mut data = points.features().to_dense()?.into_owned().into_data();
    data.extend_from_slice(rows.data());
    Ok(Points::from(&Matrix::from_vec(points.n_points() + rows.n_rows(), rows.n_cols(), data)?))
}

impl<R: Rule> Learner for Streamed<R> {
    fn learn(&mut self, rows: &Matrix, classes: &[usize], pool: &Pool) -> Result<Vec<usize>> {
        let found = self.blocks(rows, Goal::Classes(classes), pool)?;
        let n_functions = self.expansion.n_functions();
        match found.is_empty() {
            true => Ok(vec![0; rows.n_rows()]),
            false => Ok(found.chunks(n_functions).map(|row| first_largest(&class_scores(row))).collect()),
        }
    }

    fn learn_numbers(&mut self, rows: &Matrix, values: &Matrix, pool: &Pool) -> Result<Matrix> {
        let Some((n_numbers, epsilon)) = self.numbers else { return Err(Error::input("the stream is one of classes")) };
        let found = self.blocks(rows, Goal::of_numbers(values, epsilon), pool)?;
        Matrix::from_vec(rows.n_rows(), n_numbers, found)
    }

    fn predict(&mut self, rows: &Matrix, pool: &Pool) -> Result<Vec<usize>> {
        let scores = self.scores(rows, pool)?;
        Ok(scores.rows().map(|row| first_largest(&class_scores(row))).collect())
    }

    fn add_class(&mut self, pool: &Pool) -> Result<()> {
        self.close(pool)?;
        self.n_classes += 1;
        let (before, after) = (self.expansion.n_functions(), n_functions(self.n_classes.max(2)));
        if after == before {
            return Ok(());
        }
        // The one function of two classes becomes two, of opposite signs.
        let spread = |c: &Matrix| {
            Matrix::from_fn(c.n_rows(), after, |i, m| match (before, m) {
                (1, 0) => -c.get(i, 0),
                (1, 1) => c.get(i, 0),
                _ if m < before => c.get(i, m),
                _ => 0.0,
            })
        };
        self.expansion.coefficients = spread(&self.expansion.coefficients);
        self.expansion.times = spread(&self.expansion.times);
        if !R::POOLED {
            if before == 1 {
                self.inner.push(self.inner[0].clone());
            }
            self.inner.resize_with(after, || self.kernels.inner());
        }
        self.rule.extend(after);
        self.mixture = None;
        Ok(())
    }

    fn points(&self) -> Matrix {
        let left: Vec<usize> = (self.n_forgotten(self.pending.len())..self.n_all()).collect();
        self.all_rows().map(|rows| rows.select_rows(&left)).unwrap_or_default()
    }

    fn n_support(&self) -> usize {
        self.n_all() - self.n_forgotten(self.pending.len())
    }

    fn weights(&self) -> Vec<f64> {
        StreamModel::new(&[], &Matrix::zeros(0, 1), self.rule.weights()).weights().unwrap_or_default().to_vec()
    }

    fn encode(&self) -> Record {
        let mut record = Record::default();
        record.put("rule", &self.rule);
        record.put("seen", &self.seen);
        record.put("expansion", &self.expansion);
        record.put("budget", &self.budget);
        record.put("update_every", &self.update_every);
        record.put("pending.times", &self.pending.iter().map(|event| event.time).collect::<Vec<_>>());
        match self.numbers {
            None => {
                let (classes, rivals) = pairs(&self.pending);
                record.put("pending.classes", &classes);
                record.put("pending.rivals", &rivals);
            }
            Some((n_numbers, _)) => record.put("pending.deltas", &deltas(&self.pending, self.pending.len(), n_numbers)),
        }
        for (k, inner) in self.inner.iter().enumerate() {
            record.put(&format!("inner.{k}"), inner);
        }
        // Points forgotten within the block: needed until it ends, but not part of the model.
        let forgotten: Vec<usize> = (0..self.n_forgotten(self.pending.len())).collect();
        record.put("forgotten", &self.all_rows().map(|rows| rows.select_rows(&forgotten)).unwrap_or_default());
        record
    }

    fn model(&self) -> Result<(Box<dyn Predict>, Record)> {
        let mut all = self.expansion.clone();
        let n = all.points.len();
        let new: Vec<usize> = (n..n + self.pending.len()).collect();
        all.add(&self.pending, &new, |_| None);
        let left: Vec<usize> = (self.n_forgotten(self.pending.len())..all.points.len()).collect();
        let points: Vec<usize> = (0..left.len()).collect();
        let model = StreamModel::whole(&points, &all.coefficients.select_rows(&left), self.rule.weights())
            .of_numbers(self.numbers.is_some());
        let record = model.encode();
        Ok((Box::new(model), record))
    }
}
