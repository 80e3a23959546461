//! The coefficients of kernel expansions, one decision at a time.

use crate::error::{Error, Result};
use crate::file::{Field, Record};
use crate::linalg::Matrix;
use crate::pool::Pool;
use crate::simd::{ROWS_AT_ONCE, expand, spread};
use crate::stack::Stack;

/// The coefficients of decision functions `f_p(x) = sum_i coef_ip k(x_i, x) + bias_p`: one row per point, one column
/// per decision. Zeros are neither stored nor multiplied.
///
/// With C classes one against one, a point has a coefficient in C - 1 of the C (C - 1) / 2 decisions, so sums over them
/// cost C operations, not C^2.
///
/// ```
/// use multikernel::{Matrix, Pool, run::Coefficients};
/// let coef = Coefficients::new(&Matrix::from_vec(2, 2, vec![0.5, 0.0, -0.5, 1.0])?);
/// let gram = Matrix::from_vec(1, 2, vec![2.0, 4.0])?;
/// assert_eq!(coef.decisions(&gram, &[0.0, 10.0], &Pool::new(1)?)?.data(), [-1.0, 14.0]);
/// # Ok::<(), multikernel::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Coefficients {
    n_points: usize,
    /// End offset of each decision in `values`.
    ends: Vec<usize>,
    /// The point of each value, ascending within a decision.
    points: Vec<u32>,
    values: Vec<f64>,
}

impl Coefficients {
    /// Coefficients of n_points x n_decisions; at most 2^32 points.
    pub fn new(coef: &Matrix) -> Coefficients {
        let column = |p: usize| (0..coef.n_rows()).map(move |i| (i, coef.get(i, p))).filter(|&(_, value)| value != 0.0);
        Coefficients::of_decisions(coef.n_rows(), (0..coef.n_cols()).map(column))
    }

    /// Coefficients of each decision as (point, value) pairs, points ascending.
    pub(crate) fn of_decisions<D: Iterator<Item = (usize, f64)>>(
        n_points: usize,
        decisions: impl Iterator<Item = D>,
    ) -> Coefficients {
        let (mut ends, mut points, mut values) = (vec![], vec![], vec![]);
        for decision in decisions {
            for (point, value) in decision {
                points.push(point as u32);
                values.push(value);
            }
            ends.push(points.len());
        }
        Coefficients { n_points, ends, points, values }
    }

    /// Number of points.
    pub fn n_points(&self) -> usize {
        self.n_points
    }

    /// Number of decisions.
    pub fn n_decisions(&self) -> usize {
        self.ends.len()
    }

    /// The points with a nonzero coefficient in some decision, ascending, and the coefficients restricted to them.
    pub(crate) fn support(&self) -> (Vec<usize>, Coefficients) {
        let mut place = vec![u32::MAX; self.n_points];
        self.points.iter().for_each(|&point| place[point as usize] = 0);
        let support: Vec<usize> = (0..self.n_points).filter(|&i| place[i] == 0).collect();
        support.iter().enumerate().for_each(|(k, &i)| place[i] = k as u32);
        let points = self.points.iter().map(|&point| place[point as usize]).collect();
        let (ends, values) = (self.ends.clone(), self.values.clone());
        (support.clone(), Coefficients { n_points: support.len(), ends, points, values })
    }

    /// The same among `n_points` points, of which these are `points`, ascending.
    pub(crate) fn among(&self, n_points: usize, points: &[usize]) -> Coefficients {
        let places = self.points.iter().map(|&point| points[point as usize] as u32).collect();
        Coefficients { n_points, ends: self.ends.clone(), points: places, values: self.values.clone() }
    }

    /// The dense matrix, zeros included: n_points x n_decisions.
    pub fn to_matrix(&self) -> Matrix {
        let mut all = Matrix::zeros(self.n_points(), self.n_decisions());
        for p in 0..self.n_decisions() {
            let (points, values) = self.decision(p);
            points.iter().zip(values).for_each(|(&i, &value)| all.set(i as usize, p, value));
        }
        all
    }

    /// The decision values (columns) for rows whose kernel with each point is `gram` (n_rows x n_points). Cost: n_rows
    /// times the number of nonzero coefficients. A row's decision values have the same bits whichever rows accompany
    /// it.
    pub fn decisions(&self, gram: &Matrix, bias: &[f64], pool: &Pool) -> Result<Matrix> {
        fits("the kernels of rows with each point", gram.n_cols(), self.n_points())?;
        fits("the biases", bias.len(), self.n_decisions())?;
        let mut decisions = room(gram.n_rows(), self.n_decisions())?;
        let width = self.n_decisions();
        pool.chunks_mut(decisions.data_mut(), ROWS_AT_ONCE * width, |block, out| {
            let lines = lines_of(gram, block * ROWS_AT_ONCE, out.len() / width);
            for (p, &bias) in bias.iter().enumerate() {
                let ((points, values), mut sums) = (self.decision(p), [bias; ROWS_AT_ONCE]);
                expand(&lines, points, values, &mut sums);
                out.chunks_exact_mut(width).zip(sums).for_each(|(out, sum)| out[p] = sum);
            }
        });
        Ok(decisions)
    }

    /// [`Coefficients::decisions`] for the rows of a stack whose kernels have these weights. On a device the kernels
    /// between rows and points never leave it.
    pub(crate) fn decisions_on(&self, stack: &Stack, weights: Vec<f64>, bias: &[f64], pool: &Pool) -> Result<Matrix> {
        let weights = Matrix::from_vec(weights.len(), 1, weights)?;
        if !stack.is_there(pool) {
            return self.decisions(&stack.combine(&weights, pool)?.remove(0), bias, pool);
        }
        fits("the biases", bias.len(), self.n_decisions())?;
        let mut found = stack.decide(&stack.mixture(&weights, pool)?, &self.to_matrix(), pool)?;
        let width = bias.len().max(1);
        for row in found.data_mut().chunks_exact_mut(width) {
            row.iter_mut().zip(bias).for_each(|(value, bias)| *value += bias);
        }
        Ok(found)
    }

    /// `D C'` for D of n_rows x n_decisions: n_rows x n_points. Cost as for [`Coefficients::decisions`].
    pub(crate) fn spread(&self, decisions: &Matrix, pool: &Pool) -> Result<Matrix> {
        fits("the decisions", decisions.n_cols(), self.n_decisions())?;
        let mut all = room(decisions.n_rows(), self.n_points())?;
        let width = self.n_points();
        pool.chunks_mut(all.data_mut(), ROWS_AT_ONCE * width, |block, out| {
            let with = lines_of(decisions, block * ROWS_AT_ONCE, out.len() / width);
            let mut lines = vec![[0.0; ROWS_AT_ONCE]; width];
            for (p, with) in with.iter().enumerate() {
                let (points, values) = self.decision(p);
                spread(with, points, values, &mut lines);
            }
            for (r, out) in out.chunks_exact_mut(width).enumerate() {
                out.iter_mut().zip(&lines).for_each(|(out, line)| *out = line[r]);
            }
        });
        Ok(all)
    }

    /// The points of a decision, and their coefficients.
    fn decision(&self, p: usize) -> (&[u32], &[f64]) {
        let range = if p == 0 { 0 } else { self.ends[p - 1] }..self.ends[p];
        (&self.points[range.clone()], &self.values[range])
    }
}

/// The columns of `n` rows of a matrix, padded with zeros where the rows do not fill a block.
fn lines_of(matrix: &Matrix, first: usize, n: usize) -> Vec<[f64; ROWS_AT_ONCE]> {
    let mut lines = vec![[0.0; ROWS_AT_ONCE]; matrix.n_cols()];
    for r in 0..n {
        lines.iter_mut().zip(matrix.row(first + r)).for_each(|(line, &value)| line[r] = value);
    }
    lines
}

fn room(n_rows: usize, n_cols: usize) -> Result<Matrix> {
    let message =
        || Error::input(format!("no memory for the decisions of {n_rows} x {n_cols}; give fewer rows at a time"));
    Matrix::try_zeros(n_rows, n_cols).ok_or_else(message)
}

fn fits(what: &str, found: usize, needed: usize) -> Result<()> {
    let message = || Error::input(format!("{what} have {found} columns, the coefficients need {needed}"));
    if found == needed { Ok(()) } else { Err(message()) }
}

/// Stored as a dense points x decisions matrix, or decision by decision like sparse rows where that takes less than
/// half the space.
impl Field for Coefficients {
    fn put(&self, name: &str, record: &mut Record) {
        let all = self.n_points.saturating_mul(self.n_decisions());
        // Sixteen bytes per value: files store point indices as eight-byte numbers.
        if 4 * self.values.len() >= all {
            return record.put(name, &self.to_matrix());
        }
        let points: Vec<u64> = self.points.iter().map(|&point| u64::from(point)).collect();
        record.put(&format!("{name}.ends"), &self.ends);
        record.put(&format!("{name}.points"), &points);
        record.put(&format!("{name}.values"), &self.values);
        record.put(&format!("{name}.n_points"), &self.n_points);
        record.needs_fourth_version();
    }

    fn take(name: &str, record: &Record) -> Result<Self> {
        let field = |part: &str| format!("{name}.{part}");
        if record.has(name) || !record.has(&field("ends")) {
            return Ok(Coefficients::new(&record.take(name)?));
        }
        let n_points: usize = record.take(&field("n_points"))?;
        let points: Vec<u64> = record.take(&field("points"))?;
        let (ends, values): (Vec<usize>, Vec<f64>) = (record.take(&field("ends"))?, record.take(&field("values"))?);
        let known = |&point: &u64| u32::try_from(point).ok().filter(|&point| (point as usize) < n_points);
        let points: Option<Vec<u32>> = points.iter().map(known).collect();
        let ascend = ends.is_sorted() && ends.last().copied().unwrap_or(0) == values.len();
        match points.filter(|points| ascend && points.len() == values.len()) {
            Some(points) => Ok(Coefficients { n_points, ends, points, values }),
            None => Err(Error::input(format!("the parts of `{name}` do not fit together"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::Rng;

    fn sparse(rng: &mut Rng, n: usize, p: usize, share: f64) -> Matrix {
        Matrix::from_fn(n, p, |_, _| if rng.uniform() < share { rng.uniform() - 0.5 } else { 0.0 })
    }

    #[test]
    fn decisions_and_spread_are_the_sums_of_the_formulas() {
        let mut rng = Rng::new(1, 0);
        for (n_rows, n, p) in [(1, 1, 1), (7, 5, 3), (17, 30, 10), (0, 4, 2), (9, 0, 2)] {
            let (coef, gram) = (sparse(&mut rng, n, p, 0.4), sparse(&mut rng, n_rows, n, 1.0));
            let bias: Vec<f64> = (0..p).map(|_| rng.uniform()).collect();
            let found = Coefficients::new(&coef);
            assert_eq!(found.to_matrix(), coef);
            let expected = Matrix::from_fn(n_rows, p, |i, p| {
                (0..n).fold(
                    bias[p],
                    |sum, j| if coef.get(j, p) == 0.0 { sum } else { sum + coef.get(j, p) * gram.get(i, j) },
                )
            });
            for threads in [1, 3] {
                let pool = Pool::new(threads).unwrap();
                let decisions = found.decisions(&gram, &bias, &pool).unwrap();
                assert_eq!(decisions, expected);
                let outer = found.spread(&decisions, &pool).unwrap();
                for (i, j) in (0..n_rows).flat_map(|i| (0..n).map(move |j| (i, j))) {
                    let sum: f64 = (0..p).map(|p| decisions.get(i, p) * coef.get(j, p)).sum();
                    assert!((outer.get(i, j) - sum).abs() < 1e-14);
                }
            }
        }
    }

    #[test]
    fn stored_as_a_matrix_or_by_decision_they_read_back() {
        let mut rng = Rng::new(2, 0);
        for (share, version, array) in [(0.9, 1, "coef"), (0.1, 4, "coef.values")] {
            let coef = Coefficients::new(&sparse(&mut rng, 40, 30, share));
            let mut record = Record::default();
            record.put("coef", &coef);
            assert!(record.version == version && record.has(array), "{share}");
            assert_eq!(record.take::<Coefficients>("coef").unwrap(), coef);
        }
        // Parts that do not fit together are rejected.
        for (part, bad) in [("points", vec![40u64, 0]), ("ends", vec![2, 1]), ("ends", vec![1, 3]), ("points", vec![0])]
        {
            let mut record = Record::default();
            record.put("coef.ends", &vec![1u64, 2]);
            record.put("coef.points", &vec![0u64, 3]);
            record.put("coef.values", &vec![0.5, 1.0]);
            record.put("coef.n_points", &40usize);
            assert!(record.take::<Coefficients>("coef").is_ok());
            record.put(&format!("coef.{part}"), &bad);
            assert!(record.take::<Coefficients>("coef").is_err(), "{part} {bad:?}");
        }
    }
}
