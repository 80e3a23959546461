//! Features of rows in the span of landmarks, for each kernel its own.
//!
//! With the landmarks z of a kernel, `K(z, z) = L L'`, the features of a row x are `phi(x) = L^-1 k(z, x)`, and `phi(x)'
//! phi(x')` is the kernel's Nystroem approximation. The landmarks of a kernel are the pivots of its Cholesky factor among all
//! of them: a wide or linear kernel needs few, and the number of features decides what everything costs.

use crate::error::{Error, Remedy, Result, message};
use crate::file::record;
use crate::linalg::Matrix;
use crate::method::weighted::dense_kernels;
use crate::pool::Pool;
use crate::precision::Precision;
use crate::run::Task;
use crate::solve::pivoted::{Pivoted, pivoted};
use crate::solve::product::product;
use crate::stack::Stack;

/// The most features, of all kernels together: their products are a matrix of that size, which is factored in each update.
const MOST: usize = 4000;

record! {
    /// The features of all kernels.
    #[derive(Clone, Debug)]
    pub(super) struct Basis {
        /// The number of features of each kernel.
        ranks: Vec<usize>,
        /// Their landmarks, one kernel after the other.
        pivots: Vec<usize>,
        /// `L^-1` of each kernel: the lower triangle with the diagonal, row by row.
        inverses: Vec<f64>,
        /// The mean diagonal entry of each kernel among the landmarks.
        diagonals: Vec<f64>,
    }
}

/// The part of a kernel's largest diagonal entry that counts as rounding.
fn tolerance(precision: Precision) -> f64 {
    match precision {
        Precision::F64 => 1e-10,
        Precision::F32 => 1e-5,
    }
}

/// Checks that a kernel between landmarks and the columns of its factor fit, beside so many numbers of others.
fn check_memory(stack: &Stack, most: usize, held: u64) -> Result<()> {
    let (m, rank) = (stack.n_rows() as u64, stack.n_rows().min(most) as u64);
    let (need, limit) = (8 * (m * (m + rank) + held), stack.room());
    if need <= limit {
        return Ok(());
    }
    Err(Error::Memory {
        what: format!("the factors of {} kernels between {m} landmarks", stack.n_kernels()),
        need,
        limit,
        help: message!["set landmarks to fewer rows, use fewer kernels, or raise ", Remedy::Memory],
    })
}

impl Basis {
    /// The features of the landmarks of a task.
    pub(super) fn new(landmarks: &Task<'_>, stop: &(dyn Fn() -> bool + Sync)) -> Result<Basis> {
        Basis::up_to(MOST, landmarks, stop)
    }

    /// The same with at most so many: where there would be more, all kernels are followed to the same part of their trace.
    pub(super) fn up_to(most: usize, landmarks: &Task<'_>, stop: &(dyn Fn() -> bool + Sync)) -> Result<Basis> {
        let stack = landmarks.stack()?;
        let tolerance = tolerance(stack.precision());
        let (mut factors, mut held) = (Vec::<Pivoted>::new(), 0);
        while factors.len() < stack.n_kernels() {
            check_memory(stack, most, held)?;
            let kernels = dense_kernels(stack, factors.len(), landmarks.pool)?;
            for next in landmarks.pool.map(kernels.len(), |k| pivoted(&kernels[k], tolerance, most, stop)) {
                let next = next?;
                held += next.pivots.len() as u64 * (next.pivots.len() as u64 + 1) / 2;
                factors.push(next);
            }
        }
        let mut steps: Vec<(f64, usize)> = vec![];
        for (m, factor) in factors.iter().enumerate() {
            steps.extend(factor.left[..factor.pivots.len()].iter().map(|&left| (left, m)));
        }
        // Stable: steps of one kernel stay in their order.
        steps.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut ranks = vec![0; factors.len()];
        steps.iter().take(most).for_each(|&(_, m)| ranks[m] += 1);
        let inverses = landmarks.pool.map(factors.len(), |m| factors[m].inverse(ranks[m]));
        Ok(Basis {
            pivots: factors.iter().zip(&ranks).flat_map(|(factor, &rank)| &factor.pivots[..rank]).copied().collect(),
            inverses: inverses.concat(),
            diagonals: factors.iter().map(|factor| factor.trace / stack.n_rows().max(1) as f64).collect(),
            ranks,
        })
    }

    /// Whether it fits these numbers of kernels and landmarks.
    pub(super) fn check(&self, n_kernels: usize, n_landmarks: usize) -> Result<()> {
        let triangle = |rank: usize| Some(rank.checked_mul(rank.checked_add(1)?)? / 2);
        let total = self.ranks.iter().try_fold(0usize, |sum, &rank| sum.checked_add(rank));
        let triangles = self.ranks.iter().try_fold(0usize, |sum, &rank| sum.checked_add(triangle(rank)?));
        let fits = self.ranks.len() == n_kernels
            && total == Some(self.pivots.len())
            && triangles == Some(self.inverses.len())
            && self.pivots.iter().all(|&pivot| pivot < n_landmarks)
            && self.inverses.iter().all(|value| value.is_finite());
        if fits {
            return Ok(());
        }
        Err(Error::input("a request does not fit the partition; all workers need the same version"))
    }

    /// The number of features.
    pub(super) fn len(&self) -> usize {
        self.pivots.len()
    }

    /// The number of kernels.
    pub(super) fn n_kernels(&self) -> usize {
        self.ranks.len()
    }

    /// The mean diagonal entry of each kernel, at landmarks drawn among the rows.
    pub(super) fn diagonals(&self) -> &[f64] {
        &self.diagonals
    }

    /// The kernel of each feature.
    pub(super) fn kernels(&self) -> Vec<usize> {
        self.ranks.iter().enumerate().flat_map(|(m, &rank)| vec![m; rank]).collect()
    }

    /// For each kernel: its landmarks, and `L^-1`.
    fn parts(&self) -> impl Iterator<Item = (&[usize], Matrix)> {
        let (mut pivots, mut inverses) = (&self.pivots[..], &self.inverses[..]);
        self.ranks.iter().map(move |&rank| {
            let (own, others) = pivots.split_at(rank);
            let (triangle, rest) = inverses.split_at(rank * (rank + 1) / 2);
            (pivots, inverses) = (others, rest);
            let entry = |i: usize, j: usize| if j <= i { triangle[i * (i + 1) / 2 + j] } else { 0.0 };
            (own, Matrix::from_fn(rank, rank, entry))
        })
    }

    /// The features (rows) of the rows of a stack, which is between them and the landmarks. Cost: a product of each row
    /// with each `L^-1`.
    pub(super) fn features(&self, stack: &Stack, pool: &Pool) -> Result<Matrix> {
        let (n, mut parts) = (stack.n_rows(), self.parts());
        let (mut found, mut m) = (Vec::with_capacity(self.len() * n), 0);
        while m < stack.n_kernels() {
            let kernels = dense_kernels(stack, m, pool)?;
            m += kernels.len();
            for (kernel, (pivots, inverse)) in kernels.iter().zip(&mut parts) {
                found.extend(product(&inverse, &kernel.select_cols(pivots).transposed(), pool)?.into_data());
            }
        }
        Matrix::from_vec(self.len(), n, found)
    }

    /// The coefficients of functions `sum_m k_m(x, landmarks) coef_m` with these weights of features (rows): one row for
    /// each landmark, the functions of the first kernel first. `L^-T w` at the pivots.
    pub(super) fn coefficients(&self, weights: &Matrix, n_landmarks: usize) -> Result<Matrix> {
        let c = weights.n_cols();
        let mut found = Matrix::zeros(n_landmarks, self.ranks.len() * c);
        let mut first = 0;
        for (m, (pivots, inverse)) in self.parts().enumerate() {
            for (i, row) in inverse.rows().enumerate() {
                for (&pivot, value) in pivots[..=i].iter().zip(row) {
                    let sums = &mut found.row_mut(pivot)[m * c..(m + 1) * c];
                    sums.iter_mut().zip(weights.row(first + i)).for_each(|(sum, weight)| *sum += value * weight);
                }
            }
            first += pivots.len();
        }
        Ok(found)
    }

    /// The landmarks that these kernels use, ascending.
    pub(super) fn points(&self, kernels: &[usize]) -> Vec<usize> {
        let mut points: Vec<usize> = self
            .kernels()
            .iter()
            .zip(&self.pivots)
            .filter_map(|(m, &pivot)| kernels.binary_search(m).ok().map(|_| pivot))
            .collect();
        points.sort_unstable();
        points.dedup();
        // Kernels that are zero at all landmarks have no features, but a model has a point.
        if points.is_empty() { vec![0] } else { points }
    }

    /// The basis of these kernels, ascending, whose landmarks are places among their [`Basis::points`].
    pub(super) fn of_kernels(&self, kernels: &[usize]) -> Basis {
        let points = self.points(kernels);
        let mut found = Basis { ranks: vec![], pivots: vec![], inverses: vec![], diagonals: vec![] };
        let (mut pivots, mut inverses) = (&self.pivots[..], &self.inverses[..]);
        for (m, &rank) in self.ranks.iter().enumerate() {
            let (own, others) = pivots.split_at(rank);
            let (triangle, rest) = inverses.split_at(rank * (rank + 1) / 2);
            (pivots, inverses) = (others, rest);
            if kernels.binary_search(&m).is_ok() {
                found.ranks.push(rank);
                found.pivots.extend(own.iter().map(|pivot| points.binary_search(pivot).unwrap_or_default()));
                found.inverses.extend(triangle);
                found.diagonals.push(self.diagonals[m]);
            }
        }
        found
    }
}
