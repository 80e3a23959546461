//! `mklda` on a stream as published (MKL-DAO, algorithm 2 of the paper).
//!
//! At row n, `w_mf <- (1 - 1/n) w_mf + (1/(gamma_mf n)) (Phi_f(x_n) if m is its class, - Phi_f(x_n) if m is the rival)`,
//! so that `w_mf = (1/n) sum_j c_jm Phi_f(x_j) / gamma_mf(j)`: each row keeps the ridges it was learned with. Rows with the
//! same ridges form a segment. As the ridges fall by orders of magnitude from one update to the next, so does what is
//! left of older segments; points of which nothing is left are dropped, which changes no score.
//!
//! What the paper leaves open: t is n, as the row numbers are the only ones there are. Before the first update alpha and
//! beta are drawn from their priors, every lambda is 1, and alpha' and beta' are alpha and beta divided by the number of
//! rows until then. At row n of an update alpha and beta are new and lambda is not yet, as printed.
//!
//! Everything is kept as logarithms, which double about every other update and so have digits for some 80 updates. From
//! then on their scale is held ([`Sampled::hold`]): the learner goes on to forget as printed, but by how far the classes
//! differ in scale is no longer that of the printed algorithm. The warning says from which row on.

use std::sync::Arc;

use super::expansion::{Event, Expansion, Lesson, add_event, class_scores, n_functions, rival};
use super::learner::{append, pairs};
use super::mklda::{MklDa, SAMPLES, unit};
use super::model::StreamModel;
use super::sampled::{Sampled, function_weights};
use crate::error::Result;
use crate::file::{Codec, Record, record};
use crate::linalg::Matrix;
use crate::method::weighted::misfit;
use crate::pool::Pool;
use crate::run::{Begin, Learner, Predict, first_largest, method_rng};
use crate::simd::{exp, ln};
use crate::stack::{Inner, Mixture, Points, Stack};

/// The largest `ln(1/gamma)`, with four decimals left: above, scales are held.
const HELD: f64 = 1e12;

record! {
    /// Rows learned with the same ridges.
    #[derive(Clone, Debug)]
    struct Segment {
        /// `ln(1 / gamma_mf) - scale`: P x classes.
        ln_steps: Matrix,
        /// The log of the factor taken out of the steps, which alone changes with the unit.
        scale: f64,
        /// One row per point, one column per function.
        coefficients: Matrix,
    }
}

/// A segment with its points and weights prepared for kernels.
#[derive(Clone)]
struct Prepared {
    segment: Segment,
    points: Points,
    mixture: Arc<Mixture>,
}

/// State of the learner.
pub(super) struct Published {
    kernels: Stack,
    budget: Option<u64>,
    update_every: u64,
    seed: u64,
    n_classes: usize,
    /// Rows seen so far, and how many of them were learned.
    seen: u64,
    learned: u64,
    trade: Sampled,
    /// Scales are held above this `ln(1/gamma)`, and have been from a row on; 0 for never.
    limit: f64,
    held_from: u64,
    /// Segments with older ridges than the current ones.
    older: Vec<Prepared>,
    /// Rows learned with the current ridges: event e belongs to row e.
    pending: Vec<Event>,
    rows: Vec<f64>,
    /// The largest scale of all segments: scores are computed in its unit.
    reference: f64,
    mixture: Option<Arc<Mixture>>,
}

impl Published {
    pub(super) fn begin(method: &MklDa, begin: &Begin<'_>) -> Result<Published> {
        let n_columns = begin.stored.map_or(0, |(_, points)| points.n_cols());
        let kernels = begin.kernels.of_points(&Matrix::zeros(0, n_columns), None)?;
        super::learner::check(method, begin)?;
        let (n_kernels, n_classes) = (kernels.n_kernels(), begin.n_classes.max(2));
        let rng = method_rng(begin.seed, SAMPLES, 0);
        let trade = Sampled::begin(false, begin.update_every, n_kernels, n_classes, method.priors(), rng);
        let mut learner = Published {
            kernels,
            budget: begin.budget.map(|budget| budget as u64),
            update_every: begin.update_every as u64,
            seed: begin.seed,
            n_classes: begin.n_classes,
            seen: 0,
            learned: 0,
            trade,
            limit: HELD,
            held_from: 0,
            older: vec![],
            pending: vec![],
            rows: vec![],
            reference: 0.0,
            mixture: None,
        };
        learner.reference = learner.trade.weights().1;
        match begin.stored {
            Some((record, points)) => learner.restored(record, points),
            None => Ok(learner),
        }
    }

    fn restored(mut self, record: &Record, points: &Matrix) -> Result<Published> {
        (self.seen, self.learned) = (record.take("seen")?, record.take("learned")?);
        (self.budget, self.update_every) = (record.take("budget")?, record.take("update_every")?);
        (self.seed, self.reference) = (record.take("seed")?, record.take("reference")?);
        self.held_from = record.take("held_from")?;
        self.trade = record.take("trade")?;
        let n_columns = self.n_classes.max(2);
        self.trade.check(self.kernels.n_kernels(), n_columns)?;
        let mut first = 0;
        for s in 0..record.take::<usize>("segments")? {
            let segment: Segment = record.take(&format!("segment.{s}"))?;
            let n = segment.coefficients.n_rows();
            let fits = segment.ln_steps.n_rows() == self.kernels.n_kernels()
                && segment.ln_steps.n_cols() == n_columns
                && segment.coefficients.n_cols() == self.n_functions()
                && first + n <= points.n_rows();
            if !fits {
                return Err(misfit());
            }
            let rows = points.select_rows(&(first..first + n).collect::<Vec<_>>());
            self.older.push(self.prepared(segment, Points::from(&rows), &Pool::new(1)?)?);
            first += n;
        }
        let classes: Vec<usize> = record.take("pending.classes")?;
        let rivals: Vec<usize> = record.take("pending.rivals")?;
        let known = classes.iter().chain(&rivals).all(|&class| class < self.n_classes);
        if [classes.len(), rivals.len()] != [points.n_rows() - first; 2] || !known || self.update_every == 0 {
            return Err(misfit());
        }
        self.pending =
            classes.iter().zip(rivals).enumerate().map(|(e, (&class, rival))| event(e, class, rival)).collect();
        self.rows = points.data()[first * points.n_cols()..].to_vec();
        Ok(self)
    }

    fn n_functions(&self) -> usize {
        n_functions(self.n_classes.max(2))
    }

    fn prepared(&self, segment: Segment, points: Points, pool: &Pool) -> Result<Prepared> {
        let weights = function_weights(&segment.ln_steps, 0.0);
        Ok(Prepared { mixture: Arc::new(self.kernels.mixture(&weights, pool)?), segment, points })
    }

    /// Ends the current segment; the next one has the ridges of the moment.
    fn close(&mut self, pool: &Pool) -> Result<()> {
        if let Some(n_columns) = self.rows.len().checked_div(self.pending.len()) {
            let rows = Matrix::from_vec(self.pending.len(), n_columns, std::mem::take(&mut self.rows))?;
            let coefficients = self.coefficients();
            self.pending.clear();
            let (mut ln_steps, scale) = (self.trade.ln_steps(), self.trade.weights().1);
            ln_steps.data_mut().iter_mut().for_each(|ln_step| *ln_step -= scale);
            let segment = Segment { ln_steps, scale, coefficients };
            let prepared = self.prepared(segment, Points::from(&rows), pool)?;
            self.older.push(prepared);
        }
        Ok(())
    }

    /// The coefficients of the current segment.
    fn coefficients(&self) -> Matrix {
        let mut expansion = Expansion::new(self.n_functions());
        expansion.add(&self.pending, &(0..self.pending.len()).collect::<Vec<_>>(), |_| None);
        expansion.coefficients
    }

    /// Follows a change of the ridges: holds their scale, and drops segments of which nothing is left.
    fn turn(&mut self) {
        let s = self.trade.hold(self.limit);
        if s > 0.0 && self.held_from == 0 {
            self.held_from = self.seen;
        }
        for prepared in &mut self.older {
            prepared.segment.scale -= s;
        }
        let scales = self.older.iter().map(|prepared| prepared.segment.scale);
        self.reference = scales.fold(self.trade.weights().1, f64::max);
        let reference = self.reference;
        self.older.retain(|prepared| exp(prepared.segment.scale - reference) > 0.0);
        self.mixture = None;
    }

    /// ln |w_mf| of all kernels and classes.
    fn ln_norms(&self, pool: &Pool) -> Result<Matrix> {
        let n_classes = self.n_classes.max(2);
        let mut sums = Matrix::zeros(self.kernels.n_kernels(), n_classes);
        for (s, a) in self.older.iter().enumerate() {
            for b in &self.older[s..] {
                let products = self.products(a, b, pool)?;
                let scale = a.segment.scale + b.segment.scale - 2.0 * self.reference;
                let twice = if std::ptr::eq(a, b) { 1.0 } else { 2.0 };
                for (f, products) in products.rows().enumerate() {
                    for m in 0..n_classes {
                        let ln_steps = a.segment.ln_steps.get(f, m) + b.segment.ln_steps.get(f, m);
                        let step = exp(ln_steps + scale);
                        sums.row_mut(f)[m] += twice * step * products[m.min(products.len() - 1)];
                    }
                }
            }
        }
        let shift = self.reference - ln(self.seen as f64);
        sums.data_mut().iter_mut().for_each(|sum| *sum = 0.5 * ln(sum.max(0.0)) + shift);
        Ok(sums)
    }

    /// `a_m'K_f b_m` for the coefficients a and b of two segments: P x functions.
    fn products(&self, a: &Prepared, b: &Prepared, pool: &Pool) -> Result<Matrix> {
        let between = self.kernels.of_points(&*a.points.features().to_dense()?, Some(&b.points))?;
        let mut inner: Vec<Inner> = vec![self.kernels.inner(); self.n_functions()];
        for (m, inner) in inner.iter_mut().enumerate() {
            let [u, v] = [a, b].map(|prepared| prepared.segment.coefficients.column(m));
            if [&u, &v].iter().all(|values| values.iter().any(|&value| value != 0.0)) {
                between.add_inner(&u, &v, inner, pool)?;
            }
        }
        self.kernels.inner_products(&inner.iter().collect::<Vec<_>>(), pool)
    }

    /// The current weights in the form the stack uses.
    fn mixture(&mut self, pool: &Pool) -> Result<Arc<Mixture>> {
        let mixture = match &self.mixture {
            Some(mixture) => mixture.clone(),
            None => Arc::new(self.kernels.mixture(&self.trade.weights().0, pool)?),
        };
        self.mixture = Some(mixture.clone());
        Ok(mixture)
    }

    /// The raw scores of rows, `n g_m`, in the unit of the reference.
    fn scores(&mut self, rows: &Matrix, pool: &Pool) -> Result<Matrix> {
        let mut scores = Matrix::zeros(rows.n_rows(), self.n_functions());
        for Prepared { segment, points, mixture } in &self.older {
            let part = self.kernels.of_points(rows, Some(points))?.decide(mixture, &segment.coefficients, pool)?;
            let factor = exp(segment.scale - self.reference);
            scores.data_mut().iter_mut().zip(part.data()).for_each(|(sum, part)| *sum += factor * part);
        }
        if self.pending.is_empty() {
            return Ok(scores);
        }
        let mixture = self.mixture(pool)?;
        let pending = Points::from(&Matrix::from_vec(self.pending.len(), rows.n_cols(), self.rows.clone())?);
        let kernels = self.kernels.of_points(rows, Some(&pending))?.mix(&mixture, pool)?;
        let factor = exp(self.trade.weights().1 - self.reference);
        for i in 0..rows.n_rows() {
            for (e, event) in self.pending.iter().enumerate() {
                add_event(event, |m| factor * kernels[m.min(kernels.len() - 1)].get(i, e), scores.row_mut(i));
            }
        }
        Ok(scores)
    }

    /// Predicts and learns rows with the current ridges, up to one that makes an older one leave the budget.
    fn walk(&mut self, rows: &Matrix, classes: &[usize], pool: &Pool) -> Result<Vec<usize>> {
        if self.n_classes < 2 {
            // A single class has no rival.
            self.seen += rows.n_rows() as u64;
            return Ok(vec![0; rows.n_rows()]);
        }
        let mut scores = self.scores(rows, pool)?;
        let own = self.kernels.of_points(rows, None)?.mix(&*self.mixture(pool)?, pool)?;
        let factor = exp(self.trade.weights().1 - self.reference);
        let mut predicted = vec![];
        for (i, &class) in classes.iter().enumerate() {
            predicted.push(first_largest(&class_scores(scores.row(i))));
            // 1 + g_rival - g_class > 0, g the raw scores divided by the number of rows before this one.
            let threshold = self.seen.max(1) as f64 * unit(self.reference);
            self.seen += 1;
            let Some((rival, _)) = rival(scores.row(i), class).filter(|&(_, margin)| margin < threshold) else {
                continue;
            };
            let event = event(self.pending.len(), class, rival);
            for later in i + 1..rows.n_rows() {
                add_event(&event, |m| factor * own[m.min(own.len() - 1)].get(later, i), scores.row_mut(later));
            }
            self.pending.push(event);
            self.rows.extend_from_slice(rows.row(i));
            self.learned += 1;
            if self.budget.is_some_and(|budget| self.n_support() as u64 > budget) {
                self.drop_oldest(rows.n_cols());
                break;
            }
        }
        Ok(predicted)
    }

    fn drop_oldest(&mut self, n_columns: usize) {
        let Some(first) = self.older.first_mut() else {
            self.pending.remove(0);
            self.rows.drain(..n_columns);
            self.pending.iter_mut().enumerate().for_each(|(e, event)| event.row = e);
            return;
        };
        let left: Vec<usize> = (1..first.points.n_points()).collect();
        if left.is_empty() {
            self.older.remove(0);
        } else {
            first.points = first.points.select(&left);
            first.segment.coefficients = first.segment.coefficients.select_rows(&left);
        }
    }

    /// Row n of an update: alpha and beta are drawn, the row is learned with them, then lambda is drawn and the
    /// distributions of alpha and beta follow the norms.
    fn update(&mut self, row: &Matrix, class: usize, pool: &Pool) -> Result<Vec<usize>> {
        self.close(pool)?;
        let mut rng = method_rng(self.seed, SAMPLES, self.trade.position());
        self.trade.set_samples(self.seen as usize + 1);
        self.trade.draw(&mut rng);
        self.turn();
        let predicted = self.walk(row, &[class], pool)?;
        self.close(pool)?;
        let ln_norms = self.ln_norms(pool)?;
        self.trade.scales(&ln_norms, &mut rng);
        self.turn();
        Ok(predicted)
    }

    /// All points, the oldest first.
    fn all_rows(&self) -> Result<Matrix> {
        let none = Points::from(&Matrix::zeros(0, 0));
        let mut all: Option<Points> = None;
        for prepared in &self.older {
            let rows = prepared.points.features().to_dense()?;
            all = Some(all.map_or_else(|| Ok(Points::from(&*rows)), |all| append(&all, &rows))?);
        }
        if let Some(n_columns) = self.rows.len().checked_div(self.pending.len()) {
            let rows = Matrix::from_vec(self.pending.len(), n_columns, self.rows.clone())?;
            all = Some(all.map_or_else(|| Ok(Points::from(&rows)), |all| append(&all, &rows))?);
        }
        Ok(all.unwrap_or(none).features().to_dense()?.into_owned())
    }

    fn warnings(&self) -> Vec<String> {
        let forgets = format!(
            "variant=published forgets on a stream: after each update of the ridges (every {} rows) newer rows outweigh \
             older ones by orders of magnitude, and of {} learned rows {} still count; use variant=stable, which does \
             not forget",
            self.update_every,
            self.learned,
            self.n_support()
        );
        let held = format!(
            "from row {} on the scale of the ridges is held, as their logarithms have no digits left: what follows \
             forgets like the published algorithm, but is no longer the same",
            self.held_from
        );
        if self.held_from > 0 { vec![forgets, held] } else { vec![forgets] }
    }
}

/// A learned row: one more for its class, one less for the rival.
fn event(row: usize, class: usize, rival: usize) -> Event {
    Event { row, lesson: Lesson::Class { class, rival, delta: 1.0 }, time: 0 }
}

impl Learner for Published {
    fn learn(&mut self, rows: &Matrix, classes: &[usize], pool: &Pool) -> Result<Vec<usize>> {
        let mut predicted = vec![];
        while predicted.len() < rows.n_rows() {
            let first = predicted.len();
            let until = self.update_every - 1 - self.seen % self.update_every;
            if until == 0 {
                predicted.extend(self.update(&rows.select_rows(&[first]), classes[first], pool)?);
                continue;
            }
            let here: Vec<usize> = (first..rows.n_rows().min(first + until as usize)).collect();
            let block = rows.select_rows(&here);
            predicted.extend(self.walk(&block, &classes[first..first + here.len()], pool)?);
        }
        Ok(predicted)
    }

    fn predict(&mut self, rows: &Matrix, pool: &Pool) -> Result<Vec<usize>> {
        let scores = self.scores(rows, pool)?;
        Ok(scores.rows().map(|row| first_largest(&class_scores(row))).collect())
    }

    fn add_class(&mut self, pool: &Pool) -> Result<()> {
        self.n_classes += 1;
        let (before, after) = (n_functions((self.n_classes - 1).max(2)), self.n_functions());
        if after == before {
            return Ok(());
        }
        // A new class has no row: its steps do not matter. The one function of two classes becomes two, of opposite
        // signs, with weights of their own again.
        for s in 0..self.older.len() {
            let Prepared { segment, points, .. } = self.older[s].clone();
            let (c, steps) = (&segment.coefficients, &segment.ln_steps);
            let coefficient = |i: usize, m: usize| match (before, m) {
                (1, 0) => -c.get(i, 0),
                (1, 1) => c.get(i, 0),
                _ if m < before => c.get(i, m),
                _ => 0.0,
            };
            let ln_step = |f: usize, m: usize| if m < steps.n_cols() { steps.get(f, m) } else { 0.0 };
            let spread = Segment {
                coefficients: Matrix::from_fn(c.n_rows(), after, coefficient),
                ln_steps: Matrix::from_fn(steps.n_rows(), self.n_classes, ln_step),
                scale: segment.scale,
            };
            self.older[s] = self.prepared(spread, points, pool)?;
        }
        self.trade.extend(self.n_classes);
        self.mixture = None;
        Ok(())
    }

    fn points(&self) -> Matrix {
        self.all_rows().unwrap_or_default()
    }

    fn n_support(&self) -> usize {
        self.older.iter().map(|prepared| prepared.points.n_points()).sum::<usize>() + self.pending.len()
    }

    fn weights(&self) -> Vec<f64> {
        use crate::run::Explain;
        let (weights, _) = self.trade.weights();
        StreamModel::new(&[], &Matrix::zeros(0, 1), &weights).weights().unwrap_or_default().to_vec()
    }

    fn encode(&self) -> Record {
        let mut record = Record::default();
        record.put("seen", &self.seen);
        record.put("learned", &self.learned);
        record.put("budget", &self.budget);
        record.put("update_every", &self.update_every);
        record.put("seed", &self.seed);
        record.put("reference", &self.reference);
        record.put("held_from", &self.held_from);
        record.put("trade", &self.trade);
        record.put("segments", &self.older.len());
        for (s, prepared) in self.older.iter().enumerate() {
            record.put(&format!("segment.{s}"), &prepared.segment);
        }
        let (classes, rivals) = pairs(&self.pending);
        record.put("pending.classes", &classes);
        record.put("pending.rivals", &rivals);
        record
    }

    fn model(&self) -> Result<(Box<dyn Predict>, Record)> {
        let (current, scale) = self.trade.weights();
        let pending = (scale, self.coefficients(), current);
        let older = self.older.iter().map(|Prepared { segment, .. }| {
            let weights = function_weights(&segment.ln_steps, 0.0);
            (segment.scale, segment.coefficients.clone(), weights)
        });
        let (mut data, mut segments) = (vec![], vec![]);
        for (scale, coefficients, weights) in older.chain([pending]) {
            let factor = exp(scale - self.reference);
            data.extend(coefficients.data().iter().map(|c| factor * c));
            segments.push((data.len() / self.n_functions(), weights));
        }
        let coef = Matrix::from_vec(data.len() / self.n_functions(), self.n_functions(), data)?;
        let model = StreamModel::segmented(&coef, &segments).with_warnings(self.warnings());
        let record = model.encode();
        Ok((Box::new(model), record))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::{Rng, ln_gamma, ln_reciprocal_inverse_gaussian, normal};
    use crate::kernel::Kernel;
    use crate::linalg::dot;
    use crate::method::check::with;
    use crate::stack::StackOptions;

    const SEED: u64 = 11;

    /// Three noisy clouds.
    struct Clouds {
        rows: Matrix,
        classes: Vec<usize>,
        kernels: Stack,
        pool: Pool,
    }

    impl Clouds {
        fn new(n: usize) -> Clouds {
            let (mut rng, pool) = (Rng::new(3, 1), Pool::new(1).unwrap());
            let classes: Vec<usize> = (0..n).map(|_| rng.below(3)).collect();
            let centre = |k: usize, j: usize| if k == j { 1.5 } else { 0.0 };
            let rows = Matrix::from_fn(n, 3, |i, j| centre(classes[i], j) + normal(&mut rng));
            let kernels: Vec<Kernel> =
                ["gaussian(gamma=0.1)", "gaussian(gamma=1)", "linear"].map(|text| text.parse().unwrap()).into();
            let kernels = Stack::train(&Matrix::zeros(0, 3), &kernels, &StackOptions::new(&pool)).unwrap();
            Clouds { rows, classes, kernels, pool }
        }

        fn learner(&self, n_classes: usize, update_every: usize, settings: &[(&str, &str)]) -> Published {
            let begin = Begin {
                kernels: &self.kernels,
                budget: None,
                update_every,
                n_classes,
                n_numbers: 0,
                seed: SEED,
                stored: None,
            };
            Published::begin(&with(settings), &begin).unwrap()
        }

        fn matrices(&self) -> Vec<Matrix> {
            let all: Vec<usize> = (0..self.rows.n_rows()).collect();
            let among = self.kernels.of_points(&self.rows, None).unwrap();
            (0..among.n_kernels()).map(|f| among.block(f, &all, &all).unwrap()).collect()
        }
    }

    /// What algorithm 2 leaves after the last row.
    struct Printed {
        predicted: Vec<usize>,
        /// `w[m][f][j]`: the coefficient of row j.
        w: Vec<Vec<Vec<f64>>>,
        alphas: Vec<f64>,
    }

    /// Algorithm 2 of the paper, line by line, with a weight vector for every class and kernel.
    fn algorithm_2(
        clouds: &Clouds,
        n_classes: usize,
        update: usize,
        [kappa, mut theta, mut mu, mut sigma]: [f64; 4],
    ) -> Printed {
        let (kernels, n_rows) = (clouds.matrices(), clouds.rows.n_rows());
        let n_kernels = kernels.len();
        let mut rng = method_rng(SEED, SAMPLES, 0);
        let draw = |rng: &mut Rng, theta: f64, mu: f64, sigma: f64| {
            let alpha = theta * ln_gamma(rng, kappa).exp();
            (alpha, mu + sigma * normal(rng))
        };
        let (mut alpha, mut beta) = draw(&mut rng, theta, mu, sigma);
        let (mut of, mut lambda) = (update as f64, vec![vec![1.0; n_classes]; n_kernels]);
        let mut w = vec![vec![vec![0.0; n_rows]; n_kernels]; n_classes];
        let (mut predicted, mut alphas) = (vec![], vec![]);
        for n in 1..=n_rows {
            let (row, class) = (n - 1, clouds.classes[n - 1].min(n_classes - 1));
            if n % update == 0 {
                (alpha, beta) = draw(&mut rng, theta, mu, sigma);
                of = n as f64;
                alphas.push(alpha);
            }
            let (alpha_of, beta_of, phi) = (alpha / of, beta / of, 1.0 - 1.0 / n as f64);
            let g: Vec<f64> =
                (0..n_classes).map(|m| (0..n_kernels).map(|f| dot(&w[m][f], kernels[f].row(row))).sum()).collect();
            predicted.push(first_largest(&g));
            let best = (0..n_classes).filter(|&m| m != class).rev().max_by(|&a, &b| g[a].total_cmp(&g[b])).unwrap();
            let loss = (1.0 + g[best] - g[class]).max(0.0);
            for m in 0..n_classes {
                for f in 0..n_kernels {
                    let gamma = alpha_of + beta * beta_of / lambda[f][m];
                    w[m][f].iter_mut().for_each(|w| *w *= phi);
                    let indicator = |of: usize| f64::from(u8::from(loss > 0.0 && m == of));
                    w[m][f][row] -= (indicator(best) - indicator(class)) / (gamma * n as f64);
                }
            }
            if n % update == 0 {
                let (mut w_bar, mut tau_bar) = (0.0, 0.0);
                for f in 0..n_kernels {
                    for m in 0..n_classes {
                        let square: f64 =
                            kernels[f].rows().zip(&w[m][f]).map(|(row, w_i)| w_i * dot(row, &w[m][f])).sum();
                        lambda[f][m] =
                            ln_reciprocal_inverse_gaussian(&mut rng, (beta.abs() * square.sqrt()).ln()).exp();
                        w_bar += square;
                        tau_bar += square / lambda[f][m];
                    }
                }
                theta = 2.0 * theta / (2.0 + w_bar * theta);
                let root = (1.0 + tau_bar * sigma * sigma).sqrt();
                (mu, sigma) = (mu / root, sigma / root);
            }
        }
        Printed { predicted, w, alphas }
    }

    #[test]
    fn published_stream_is_algorithm_2_line_by_line() {
        let clouds = Clouds::new(70);
        for (n_classes, priors) in [(3, [1.0; 4]), (2, [1.0; 4]), (3, [2.5, 0.3, -0.7, 2.0])] {
            let printed = algorithm_2(&clouds, n_classes, 8, priors);
            let texts = priors.map(|prior| prior.to_string());
            let names = ["kappa0", "theta0", "mu0", "sigma0"];
            let settings: Vec<(&str, &str)> = names.into_iter().zip(texts.iter().map(String::as_str)).collect();
            let mut learner = clouds.learner(n_classes, 8, &settings);
            let classes: Vec<usize> = clouds.classes.iter().map(|&class| class.min(n_classes - 1)).collect();
            let found = learner.learn(&clouds.rows, &classes, &clouds.pool).unwrap();
            // Before the first row is learned all scores are equal, and which class is named is no matter.
            assert_eq!(found[1..], printed.predicted[1..], "{priors:?}");
            // It does run away, but not out of the range of the transcription.
            let (first, last) = (printed.alphas[0], printed.alphas[printed.alphas.len() - 1]);
            assert!(last < 1e-3 * first && last > 0.0, "{:?}", printed.alphas);
            learner.close(&clouds.pool).unwrap();
            let mut n_points = 0;
            for Prepared { segment, points, .. } in &learner.older {
                let rows = points.features().to_dense().unwrap();
                for (k, point) in rows.rows().enumerate() {
                    let row = (0..70).find(|&i| clouds.rows.row(i) == point).unwrap();
                    n_points += 1;
                    for m in 0..n_classes {
                        let c = match segment.coefficients.row(k) {
                            [one] => {
                                if m == 1 {
                                    *one
                                } else {
                                    -one
                                }
                            }
                            several => several[m],
                        };
                        for f in 0..3 {
                            let w = c * (segment.ln_steps.get(f, m) + segment.scale - 70f64.ln()).exp();
                            let expected = printed.w[m][f][row];
                            assert!((w - expected).abs() <= 1e-9 * expected.abs(), "{m} {f} {row}: {w} {expected}");
                        }
                    }
                }
            }
            assert_eq!(n_points, (0..70).filter(|&i| printed.w.iter().any(|w| w[0][i] != 0.0)).count());
        }
    }

    #[test]
    fn what_early_rows_weigh_falls_by_orders_of_magnitude_until_nothing_is_left() {
        let clouds = Clouds::new(800);
        let mut learner = clouds.learner(3, 20, &[]);
        let (mut weights, mut kept) = (vec![], vec![]);
        for first in (0..800).step_by(20) {
            let here: Vec<usize> = (first..first + 20).collect();
            learner.learn(&clouds.rows.select_rows(&here), &clouds.classes[first..first + 20], &clouds.pool).unwrap();
            let oldest = clouds.rows.row(0);
            let holder = learner.older.iter().find(|prepared| {
                let rows = prepared.points.features().to_dense().unwrap();
                rows.rows().any(|row| row == oldest)
            });
            weights.push(holder.map_or(0.0, |prepared| exp(prepared.segment.scale - learner.reference)));
            kept.push(learner.n_support());
        }
        // The first row is always learned. Six updates later it counts for less than a billionth, in the end not at all.
        assert!(weights[0] > 1e-3 && weights[6] < 1e-9 && weights[39] == 0.0, "{weights:?}");
        assert!(learner.learned > 150 && kept[39] < 60, "{} {kept:?}", learner.learned);
        let warnings = learner.warnings();
        assert!(warnings.len() == 1 && warnings[0].contains("use variant=stable"), "{warnings:?}");
    }

    #[test]
    fn held_scales_stay_below_the_limit_and_rows_are_still_forgotten() {
        let clouds = Clouds::new(700);
        let mut learner = clouds.learner(3, 20, &[]);
        learner.limit = 5e3;
        learner.learn(&clouds.rows, &clouds.classes, &clouds.pool).unwrap();
        assert!(learner.trade.weights().1 <= 5e3 + 1e-6 && learner.held_from > 200, "{}", learner.held_from);
        assert!(learner.learned > 150 && learner.n_support() < 60, "{} {}", learner.learned, learner.n_support());
        let warnings = learner.warnings();
        assert!(warnings[1].starts_with(&format!("from row {} on", learner.held_from)), "{warnings:?}");
    }
}
