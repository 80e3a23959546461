//! Rows that no kernel distinguishes: one point of a Gaussian process, observed once per row.
//!
//! Functions are equal at equal rows, so matrices are as large as the number of points, not rows, and duplicate rows
//! make nothing singular.

use crate::linalg::Matrix;
use crate::simd::ln;

/// The mapping of rows to points.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Distinct {
    /// The first row of each point, in ascending order.
    first: Vec<usize>,
    /// The point of each row.
    of_row: Vec<usize>,
    /// Points with several rows, and these rows.
    repeated: Vec<(usize, Vec<usize>)>,
}

/// The information of the rows of each point about a function, as that of one row with this target and this scale.
pub(super) struct Seen {
    pub(super) t: Vec<f64>,
    pub(super) lambda: Vec<f64>,
    /// The rest of the log-likelihood, from the differences among the rows of a point, without its constant.
    pub(super) rest: f64,
}

impl Distinct {
    /// Each of n rows is its own point.
    pub(super) fn each(n: usize) -> Distinct {
        Distinct { first: (0..n).collect(), of_row: (0..n).collect(), repeated: vec![] }
    }

    /// From the mean of all kernels. If it does not distinguish two rows, no kernel does: squared distances `k(i, i) +
    /// k(j, j) - 2 k(i, j)` of positive semi-definite kernels are never below 0, so they cannot cancel. Cost: N^2
    /// comparisons.
    pub(super) fn of(mean: &Matrix) -> Distinct {
        let n = mean.n_rows();
        let mut found = Distinct { first: vec![], of_row: vec![], repeated: vec![] };
        let mut rows: Vec<Vec<usize>> = vec![];
        for i in 0..n {
            let near = |&j: &usize| mean.get(i, j) == mean.get(i, i) && mean.get(i, j) == mean.get(j, j);
            // Whole rows are compared, in case a kernel is not positive semi-definite.
            let same = found.first.iter().position(|j| near(j) && mean.row(i) == mean.row(*j));
            let point = same.unwrap_or(rows.len());
            if point == rows.len() {
                found.first.push(i);
                rows.push(vec![]);
            }
            rows[point].push(i);
            found.of_row.push(point);
        }
        found.repeated = rows.into_iter().enumerate().filter(|(_, rows)| rows.len() > 1).collect();
        found
    }

    /// Number of points.
    pub(super) fn n(&self) -> usize {
        self.first.len()
    }

    /// The first row of each point.
    pub(super) fn first(&self) -> &[usize] {
        &self.first
    }

    /// Targets and scales of all rows, merged by point: given the function, the product of the normal densities is one
    /// in the mean of the targets, weighted by the inverse scales.
    pub(super) fn seen(&self, t: &[f64], lambda: &[f64]) -> Seen {
        let of_first = |values: &[f64]| self.first.iter().map(|&i| values[i]).collect();
        let mut seen = Seen { t: of_first(t), lambda: of_first(lambda), rest: 0.0 };
        for (point, rows) in &self.repeated {
            let (mean, variance) = together(rows.iter().map(|&i| (t[i], lambda[i])));
            let miss = |&i: &usize| (t[i] - mean) * (t[i] - mean) / lambda[i] + ln(lambda[i]);
            seen.rest -= 0.5 * (rows.iter().map(miss).sum::<f64>() - ln(variance));
            (seen.t[*point], seen.lambda[*point]) = (mean, variance);
        }
        seen
    }

    /// How [`Distinct::seen`] changes where every scale is multiplied by `1 + 2 h` and every target moves by `h shift`,
    /// per h: the targets of the points, and the rest of the log-likelihood.
    pub(super) fn moved(&self, t: &[f64], lambda: &[f64], shift: &[f64]) -> (Vec<f64>, f64) {
        let (mut of_points, mut rest): (Vec<f64>, f64) = (self.first.iter().map(|&i| shift[i]).collect(), 0.0);
        for (point, rows) in &self.repeated {
            let (mean, _) = together(rows.iter().map(|&i| (t[i], lambda[i])));
            // The slope of the mean drops out: differences from it, over the scales, add up to 0.
            let miss = |&i: &usize| (t[i] - mean) * (t[i] - mean - shift[i]) / lambda[i];
            rest += rows.iter().map(miss).sum::<f64>() - (rows.len() - 1) as f64;
            of_points[*point] = together(rows.iter().map(|&i| (shift[i], lambda[i]))).0;
        }
        (of_points, rest)
    }

    /// Combines `(mean, variance)`, the prediction from all other points, with the other rows of the same point.
    pub(super) fn beside(&self, i: usize, said: (f64, f64), t: &[f64], lambda: &[f64]) -> (f64, f64) {
        let point = self.repeated.binary_search_by_key(&self.of_row[i], |(point, _)| *point);
        let rows = point.map_or(&[][..], |at| &self.repeated[at].1);
        if rows.is_empty() {
            return said;
        }
        together(rows.iter().filter(|&&j| j != i).map(|&j| (t[j], lambda[j])).chain([said]))
    }

    /// Expands values at points to rows.
    pub(super) fn at_rows<T: Copy>(&self, values: Vec<T>) -> Vec<T> {
        if self.repeated.is_empty() {
            return values;
        }
        self.of_row.iter().map(|&point| values[point]).collect()
    }

    /// Sums the values of rows at each point.
    pub(super) fn summed(&self, values: &[f64]) -> Vec<f64> {
        let mut sums: Vec<f64> = self.first.iter().map(|&i| values[i]).collect();
        for (point, rows) in &self.repeated {
            sums[*point] = rows.iter().map(|&i| values[i]).sum();
        }
        sums
    }
}

/// Mean and variance of a product of normal densities.
fn together(said: impl Iterator<Item = (f64, f64)>) -> (f64, f64) {
    let (mut sum, mut precision) = (0.0, 0.0);
    for (mean, variance) in said {
        sum += mean / variance;
        precision += 1.0 / variance;
    }
    (sum / precision, 1.0 / precision)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_rows_are_one_point_and_others_are_not() {
        let rows = [1.0, 2.0, 1.0, 2.0 + 1e-9, 1.0, 2.0];
        let kernel = |i: usize, j: usize| f64::exp(-f64::abs(rows[i] - rows[j]));
        let found = Distinct::of(&Matrix::from_fn(6, 6, kernel));
        assert_eq!((found.first(), &found.of_row[..]), (&[0, 1, 3][..], &[0, 1, 0, 2, 0, 1][..]));
        assert_eq!(found.repeated, [(0, vec![0, 2, 4]), (1, vec![1, 5])]);
        assert_eq!(found.at_rows(vec![5.0, 6.0, 7.0]), [5.0, 6.0, 5.0, 7.0, 5.0, 6.0]);
        assert_eq!(found.summed(&[1.0, 2.0, 4.0, 8.0, 16.0, 32.0]), [21.0, 34.0, 8.0]);
        // No two rows are equal if one kernel distinguishes them all.
        let found = Distinct::of(&Matrix::from_fn(6, 6, |i, j| kernel(i, j) + if i == j { 0.5 } else { 0.0 }));
        assert_eq!(found, Distinct::each(6));
        // A matrix of ones and zeros that is no kernel: rows 0 and 1 have the same entries between them, but differ
        // elsewhere.
        let odd = Matrix::from_vec(3, 3, vec![1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0]).unwrap();
        assert_eq!(Distinct::of(&odd), Distinct::each(3));
    }
}
