//! The second derivatives of the objective in the kernel weights.
//!
//! Where the dual variables at their bounds stay there, the free ones F solve `K_FF b_F + bias = y_F - K_FB b_B`, `sum b =
//! const`, so with `v_m = (K_m b)_F` a change of the weights moves them by `-P sum_m v_m dd_m`, `P = K_FF^-1 - K_FF^-1 1 1'
//! K_FF^-1 / (1' K_FF^-1 1)`, and the slopes of J, `-1/2 b'K_m b`, by `v_m' P v_l dd_l`. With the factor `K_FF = L L'` that
//! is `a_m' a_l` for `a_m = L^-1 v_m` without its component along `L^-1 1`. (Chapelle and Rakotomamonjy 2008, "Second order
//! optimization of kernel parameters".)

use super::{Objective, Point};
use crate::error::{Error, Result};
use crate::linalg::{Matrix, axpy, dot};
use crate::solve::cholesky::Cholesky;
use crate::solve::hull;

/// Added to the diagonal of kernels, relative to its mean: they may be of low rank.
const RIDGE: f64 = 1e-10;
/// Numbers that products of kernels with coefficients may take: 64 MiB.
const MOST_PRODUCTS: usize = 8 << 20;
/// The cubes of free variables that pay, as a multiple of the entries of the kernels at work: factors run that much faster
/// than passes, and there are ten times fewer of these than without second derivatives.
const MOST_CUBES: usize = 256;

/// `A A'`, the second derivatives for the kernels at work: a row of A for each.
pub(super) struct Curvature(Matrix);

impl Curvature {
    /// At a point with this combined kernel; `None` where they would cost more than they save, or the kernels at work are not
    /// positive definite enough. Every kernel with a weight has to be at work.
    pub(super) fn new(
        objective: &Objective<'_>,
        point: &Point,
        gram: &Matrix,
        active: &[usize],
    ) -> Result<Option<Curvature>> {
        let free: Vec<Vec<usize>> =
            objective.trainable.iter().map(|&p| objective.problems.free(p, &point.alpha)).collect();
        if !is_worthwhile(objective, &free, active.len()) {
            return Ok(None);
        }
        let products = products(objective, point, &free, active)?;
        let mut rows = Matrix::zeros(active.len(), free.iter().map(Vec::len).sum());
        let mut first = 0;
        for (free, products) in free.iter().zip(&products).filter(|(free, _)| free.len() > 1) {
            let Some(sides) = whitened(objective, gram, free, products)? else { return Ok(None) };
            for m in 0..active.len() {
                rows.row_mut(m)[first..first + free.len()].copy_from_slice(sides.row(m));
            }
            first += free.len();
        }
        Ok(Some(Curvature(rows)))
    }

    /// The minimum on the simplex of `gradient'(x - d) + 1/2 |A'(x - d)|^2`; `None` if numbers overflow.
    pub(super) fn lowest(&self, d: &[f64], gradient: &[f64]) -> Option<Vec<f64>> {
        let mut here = vec![0.0; self.0.n_cols()];
        self.0.rows().zip(d).for_each(|(row, &d)| axpy(d, row, &mut here));
        hull::nearest(&self.0, &here, gradient, d)
    }
}

/// Whether second derivatives cost little beside the steps they save.
fn is_worthwhile(objective: &Objective<'_>, free: &[Vec<usize>], n_active: usize) -> bool {
    let n = objective.task.n_samples();
    let numbers = n_active.saturating_mul(free.len().max(1)).saturating_mul(n);
    let cubes = free.iter().map(|free| (free.len() as u64).saturating_pow(3)).fold(0, u64::saturating_add);
    let entries = (MOST_CUBES * n_active) as u64 * (n as u64).saturating_pow(2);
    numbers <= MOST_PRODUCTS && cubes <= entries
}

/// `K_m b` at the free rows of each problem: a row for each kernel.
fn products(objective: &Objective<'_>, point: &Point, free: &[Vec<usize>], active: &[usize]) -> Result<Vec<Matrix>> {
    let (task, mut rows) = (objective.task, free.concat());
    rows.sort_unstable();
    rows.dedup();
    let (columns, coef) = objective.problems.coefficients(&point.alpha).support();
    let stack = task.stack()?.pick(active)?;
    // Rows and columns picked here and there take longer than those of the whole.
    let few = 4 * rows.len() * columns.len() < task.n_samples().pow(2);
    let applied = if few {
        stack.between(&rows, &columns)?.apply(&coef.to_matrix(), task.pool)?
    } else {
        rows = (0..task.n_samples()).collect();
        stack.apply(&objective.problems.coefficients(&point.alpha).to_matrix(), task.pool)?
    };
    let mut places = vec![0; task.n_samples()];
    rows.iter().enumerate().for_each(|(k, &i)| places[i] = k);
    let of = |(free, &p): (&Vec<usize>, &usize)| {
        Matrix::from_fn(active.len(), free.len(), |m, k| objective.sparsity * applied[m].get(places[free[k]], p))
    };
    Ok(free.iter().zip(&objective.trainable).map(of).collect())
}

/// `a_m` of one problem, a row for each kernel; `None` where the kernel has no factor.
fn whitened(objective: &Objective<'_>, gram: &Matrix, free: &[usize], products: &Matrix) -> Result<Option<Matrix>> {
    let (n, pool, control) = (free.len(), objective.task.pool, objective.control);
    let mut kernel = Matrix::from_fn(n, n, |i, j| gram.get(free[i], free[j]));
    let ridge = RIDGE * (0..n).map(|i| kernel.get(i, i)).sum::<f64>() / n as f64;
    (0..n).for_each(|i| kernel.set(i, i, kernel.get(i, i) + objective.problems.ridge(free[i]) + ridge));
    let factor = match Cholesky::new(kernel, pool, &|| control.stop().is_some()) {
        Err(Error::NotDefinite { .. }) => return Ok(None),
        factor => factor?,
    };
    let right = Matrix::from_fn(n, products.n_rows() + 1, |i, m| if m == 0 { 1.0 } else { products.get(m - 1, i) });
    let solved = factor.half_solve(&right)?.transposed();
    let (ones, mut sides) = (solved.row(0), Matrix::zeros(products.n_rows(), n));
    let length = dot(ones, ones);
    for m in 0..products.n_rows() {
        let (row, solved) = (sides.row_mut(m), solved.row(m + 1));
        row.copy_from_slice(solved);
        axpy(-dot(solved, ones) / length, ones, row);
    }
    Ok(Some(sides))
}

#[cfg(test)]
mod tests {
    use super::super::{Common, Descends, DescentStatus, SimpleMkl};
    use super::*;
    use crate::data::{Dataset, Numbers, Target, bundled};
    use crate::file::Cache;
    use crate::method::problems::Loss;
    use crate::plan::{Plan, Session};
    use crate::pool::Pool;
    use crate::run::{Control, Input, Silent, Task};

    const BANK: &str = "gaussian(0.5), gaussian(2), polynomial(2), linear, gaussian(1) on [0]";

    /// Calls `check` with the objective of a method on every third row of a set, exact SVMs, and the number of kernels.
    fn with_objective(set: &str, numbers: bool, method: &SimpleMkl, check: impl Fn(&Objective<'_>)) {
        let (all, pool, control) = (bundled(set).unwrap(), Pool::new(1).unwrap(), Control::default());
        let rows: Vec<usize> = (0..all.samples.n_samples()).step_by(3).collect();
        let data: Dataset = all.select(&rows);
        let plan = Plan::new("average").unwrap().kernels(BANK).unwrap();
        let prepared = plan.prepare(&data, &mut Session::new(&pool, &mut Silent)).unwrap();
        let table = data.samples.features();
        let column = |i: usize, _| table.value(i, 1) + 0.1 * (i % 7) as f64;
        let target = if numbers {
            let values = Matrix::from_fn(rows.len(), 1, column);
            Target::Numbers(Numbers::new(vec!["y".into()], values).unwrap().standardised().0)
        } else {
            Target::Classes
        };
        let task = Task {
            input: Input::Stack(prepared.stack().unwrap()),
            labels: &data.labels,
            target: &target,
            groups: None,
            views: &[],
            alternatives: &[],
            seed: 0,
            pool: &pool,
        };
        let params = method.descent();
        let uniform = (params.sparsity < 1.0).then(|| super::super::uniform(&task, &params).unwrap());
        let run = Common {
            best: Point::default(),
            gap: f64::INFINITY,
            tolerance: 1e-10,
            n_steps: 0,
            status: DescentStatus::Running,
            uniform: Cache(uniform),
        };
        check(&Objective::new(&task, &params, &control, &run).unwrap());
    }

    /// The slopes `-1/2 s` near a point, from exact SVMs, against the second derivatives there.
    fn check_differences(objective: &Objective<'_>) {
        let (d, active) = ([0.3, 0.25, 0.2, 0.15, 0.1], [0, 2, 3, 4]);
        let at = |d: &[f64]| objective.at(d.to_vec(), &vec![0.0; objective.problems.size()]).unwrap();
        let point = at(&d);
        let gram = objective.combine(&d).unwrap();
        let Curvature(rows) = Curvature::new(objective, &point, &gram, &active).unwrap().unwrap();
        assert!(rows.n_cols() > 2 * objective.problems.len(), "there are free variables: {}", rows.n_cols());
        let h = 1e-5;
        for (k, &m) in active.iter().enumerate() {
            let moved = |h: f64| {
                let mut d = d;
                d[m] += h;
                at(&d).slopes
            };
            let (up, down) = (moved(h), moved(-h));
            for (l, &other) in active.iter().enumerate() {
                let found = dot(rows.row(k), rows.row(l));
                let expected = -0.5 * (up[other] - down[other]) / (2.0 * h);
                let scale = (dot(rows.row(k), rows.row(k)) * dot(rows.row(l), rows.row(l))).sqrt();
                assert!((found - expected).abs() < 1e-3 * scale, "{m}, {other}: {found}, differences {expected}");
            }
        }
    }

    #[test]
    fn second_derivatives_are_differences_of_slopes_for_classes_and_numbers() {
        let method = |c: f64, sparsity: f64| SimpleMkl { c, sparsity, ..SimpleMkl::default() };
        with_objective("sonar", false, &method(10.0, 1.0), check_differences);
        with_objective("sonar", false, &method(0.5, 1.0), check_differences);
        with_objective("sonar", false, &method(2.0, 0.5), check_differences);
        with_objective("glass", false, &method(1.0, 1.0), check_differences);
        with_objective("sonar", true, &method(1.0, 1.0), check_differences);
        let squared = SimpleMkl { loss: Loss::Squared, ..method(1.0, 1.0) };
        with_objective("sonar", true, &squared, check_differences);
    }

    #[test]
    fn second_derivatives_on_some_rows_are_those_on_all() {
        // A small bound leaves few variables free: only their rows are looked at.
        with_objective("wdbc", false, &SimpleMkl { c: 0.1, ..SimpleMkl::default() }, |objective| {
            let point = objective.at(vec![0.2; 5], &vec![0.0; objective.problems.size()]).unwrap();
            let free = objective.problems.free(0, &point.alpha);
            let n = objective.task.n_samples();
            assert!(4 * free.len() * n < n * n && free.len() > 2, "{} of {n} rows are free", free.len());
            check_differences(objective);
        });
    }
}
