//! `bsvm`: the Bayesian nonlinear support vector machine, by Gibbs sampling.

mod chain;
mod margin;
mod model;
mod order;
#[cfg(test)]
mod tests;

pub(super) use chain::slice;
use chain::{Chain, Mean, Target};
pub use model::BsvmModel;
use order::order;

use super::problems::{positive_classes, sides};
use super::weighted::misfit;
use crate::error::{Error, Result};
use crate::file::{Cache, record};
use crate::linalg::Matrix;
use crate::pool::Pool;
use crate::run::{About, Allowed, Control, Method, Needs, Progress, State, Task, params};
use crate::simd::{exp, ln};

params! {
    /// A support vector machine with one Gaussian kernel on all columns whose width and amplitude are sampled along
    /// with the decision function (Polson and Scott 2011; Henao, Yuan and Carin 2014): a Gaussian process prior, and
    /// the hinge loss as the pseudo-likelihood `exp(-2 max(1 - y f(x), 0))`, which becomes Gaussian given a scale for
    /// each row.
    ///
    /// A sweep has five rounds. Each draws the scales given f and f given the scales, and then, with the scales integrated
    /// out, f (elliptical slices), the width and the amplitude (slices). These two move f along: each row keeps its place
    /// in the law of f there given the rows before it and its loss (Genz 1992), so that rows stay on their side of the
    /// margin and chains forget where they began within a few sweeps. Priors: the log width is normal around the log
    /// median distance between rows with standard deviation 1, the log amplitude (the amplitude is the variance of f) has mean 0 and standard deviation 3, and the bias is
    /// N(0, 1). More than two classes are handled one against the rest, a chain each. Scores are means of f over the
    /// kept draws.
    ///
    /// Hinge losses do not define probabilities: those of `--proba` are learned on inner folds, as for the SVM.
    ///
    /// Cost: some 35 factorisations of N^3 / 3 per sweep and class, good for some hundred rows. A model keeps the rows, and
    /// a number per row, class and draw.
    pub struct Bsvm {
        /// sweeps before the first draw that is kept
        warmup: usize = 50, Allowed::Whole(0, 1_000_000);
        /// sweeps after the warm-up
        sweeps: usize = 100, Allowed::Whole(1, 1_000_000);
        /// every so many sweeps one draw is kept for predictions; at most as many as there are sweeps
        thin: usize = 2, Allowed::Whole(1, 10_000);
    }
}

/// Smaller matrices are factored by one thread.
const SEQUENTIAL_ROWS: usize = 512;

record! {
    /// States of the c chains, and the draws kept so far.
    #[derive(Clone, Debug, Default)]
    pub struct Chains {
        n_sweeps: usize,
        positions: Vec<u64>,
        /// f for each chain: c x N.
        f: Matrix,
        ln_width: Vec<f64>,
        ln_amplitude: Vec<f64>,
        /// Draw by draw, c widths, amplitudes, biases and c N coefficients each; only the last sweep during warm-up.
        widths: Vec<f64>,
        amplitudes: Vec<f64>,
        biases: Vec<f64>,
        coef: Vec<f64>,
        distances: Cache<Matrix>,
        /// The order of the rows in each chain.
        orders: Cache<Vec<Vec<usize>>>,
    }
}

impl Method for Bsvm {
    type State = Chains;

    fn about(&self) -> About {
        About {
            name: "bsvm",
            summary: "Bayesian SVM with one Gaussian kernel, whose width and amplitude are sampled with it",
            needs: Needs::Rows,
            bank: "",
        }
    }
}

impl State<Bsvm> for Chains {
    type Model = BsvmModel;

    fn init(method: &Bsvm, task: &Task<'_>) -> Result<Chains> {
        let (thin, sweeps) = (method.thin, method.sweeps);
        if thin > sweeps {
            return Err(Error::param("thin", format!("must be at most the {sweeps} sweeps, got {thin}")));
        }
        Ok(Chains { positions: vec![0; positive_classes(task.labels).len()], ..Chains::default() })
    }

    fn check(&self, _: &Bsvm, task: &Task<'_>) -> Result<()> {
        let (n, c) = (task.n_samples(), positive_classes(task.labels).len());
        let draws = self.widths.len() / c.max(1);
        let begun = self.n_sweeps > 0;
        let fits = self.positions.len() == c
            && (!begun || (self.f.n_rows(), self.f.n_cols()) == (c, n))
            && [&self.ln_width, &self.ln_amplitude].iter().all(|list| list.len() == if begun { c } else { 0 })
            && [&self.widths, &self.amplitudes, &self.biases].iter().all(|list| list.len() == draws * c)
            && self.coef.len() == draws * c * n
            && begun == (draws > 0);
        if fits { Ok(()) } else { Err(misfit()) }
    }

    fn step(&mut self, method: &Bsvm, task: &Task<'_>, control: &Control) -> Result<Progress> {
        let stop = || control.stop().is_some();
        let rows = task.rows()?;
        let distances = self.distances.get_or_make(|| distances(rows, task.pool))?;
        let (sides, ln_median) = (sides(task.labels).transposed(), ln_median(distances));
        let margins = vec![1.0; rows.n_rows()];
        let classes = positive_classes(task.labels);
        let orders = self.orders.get_or_make(|| {
            let found = task.pool.map(classes.len(), |p| order(distances, sides.row(p), ln_median, &stop));
            found.into_iter().collect()
        })?;
        // Threads are split over chains, or over the blocks of large factors; for small factors, dispatching the blocks
        // takes longer than computing them.
        let own = Pool::new(1)?;
        let pool = if classes.len() > 1 || rows.n_rows() < SEQUENTIAL_ROWS { &own } else { task.pool };
        let swept = task.pool.map(classes.len(), |p| -> Result<(Chain, Mean, u64)> {
            let order = &orders[p][..];
            let ordered: Vec<f64> = order.iter().map(|&i| sides.row(p)[i]).collect();
            let target = Target {
                distances,
                order,
                sides: &ordered,
                margins: &margins,
                rate: 0.0,
                ln_width: ln_median,
                pool,
                stop: &stop,
            };
            let mut chain = if self.n_sweeps == 0 {
                Chain { f: vec![0.0; rows.n_rows()], ln_width: ln_median, ln_amplitude: 0.0 }
            } else {
                let f = order.iter().map(|&i| self.f.get(p, i)).collect();
                Chain { f, ln_width: self.ln_width[p], ln_amplitude: self.ln_amplitude[p] }
            };
            let mut rng = task.rng(classes[p] as u64, self.positions[p]);
            let mut mean = target.sweep(&mut chain, &mut rng)?;
            (chain.f, mean.coef) = (given_back(order, &chain.f), given_back(order, &mean.coef));
            Ok((chain, mean, rng.position()))
        });
        let swept = swept.into_iter().collect::<Result<Vec<_>>>()?;
        self.take(&swept, method.warmup, method.thin)?;
        let total = method.warmup + method.sweeps;
        Ok(Progress::of(self.n_sweeps, total).with("width", exp(self.ln_width[0])))
    }

    fn finish(self, method: &Bsvm, task: &Task<'_>) -> Result<BsvmModel> {
        BsvmModel::new(task, method, self)
    }
}

impl Chains {
    /// Replaces the previous sweep of all chains with this one, and keeps its draw if it is due.
    fn take(&mut self, swept: &[(Chain, Mean, u64)], warmup: usize, thin: usize) -> Result<()> {
        let n = swept.first().map_or(0, |(chain, ..)| chain.f.len());
        self.n_sweeps = self.n_sweeps.saturating_add(1);
        self.f = Matrix::from_vec(swept.len(), n, swept.iter().flat_map(|(chain, ..)| chain.f.clone()).collect())?;
        self.ln_width = swept.iter().map(|(chain, ..)| chain.ln_width).collect();
        self.ln_amplitude = swept.iter().map(|(chain, ..)| chain.ln_amplitude).collect();
        self.positions = swept.iter().map(|&(.., position)| position).collect();
        let after = self.n_sweeps.saturating_sub(warmup);
        if after <= thin {
            // The warm-up draw is there for runs stopped before the first kept draw.
            for list in [&mut self.widths, &mut self.amplitudes, &mut self.biases, &mut self.coef] {
                list.clear();
            }
        }
        if after <= thin || after.is_multiple_of(thin) {
            for (chain, mean, _) in swept {
                self.widths.push(exp(chain.ln_width));
                self.amplitudes.push(exp(chain.ln_amplitude));
                self.biases.push(mean.bias);
                self.coef.extend_from_slice(&mean.coef);
            }
        }
        Ok(())
    }
}

/// Numbers of rows in this order, in the order of the data.
fn given_back(order: &[usize], ordered: &[f64]) -> Vec<f64> {
    let mut found = vec![0.0; ordered.len()];
    order.iter().zip(ordered).for_each(|(&i, value)| found[i] = *value);
    found
}

/// Squared distances between rows: N x N.
fn distances(rows: &Matrix, pool: &Pool) -> Result<Matrix> {
    let n = rows.n_rows();
    let mut found = Matrix::try_zeros(n, n)
        .ok_or_else(|| Error::input(format!("no memory for the distances of {n} rows; use fewer rows")))?;
    pool.chunks_mut(found.data_mut(), n, |i, out| {
        out.iter_mut().zip(rows.rows()).for_each(|(out, row)| *out = squared_distance(rows.row(i), row));
    });
    Ok(found)
}

fn squared_distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

/// The logarithm of the median distance between distinct rows; 0 if there are none.
fn ln_median(distances: &Matrix) -> f64 {
    let mut apart: Vec<f64> =
        distances.rows().enumerate().flat_map(|(i, row)| row[..i].to_vec()).filter(|&square| square > 0.0).collect();
    if apart.is_empty() {
        return 0.0;
    }
    let middle = apart.len() / 2;
    0.5 * ln(*apart.select_nth_unstable_by(middle, f64::total_cmp).1)
}
