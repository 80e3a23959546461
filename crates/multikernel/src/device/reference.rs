//! The slow stand-in for a device: the definitions, written down.

use std::ops::Range;

use super::{Bank, Engine, Function, Group, Held, Quantity, With};
use crate::error::{Error, Result};
use crate::linalg::Matrix;
use crate::precision::Precision;

/// One thread of the processor.
#[derive(Debug)]
pub(super) struct Reference;

fn values(held: &Held) -> Result<&Matrix> {
    held.values.downcast_ref().ok_or_else(|| Error::input("a matrix of another device"))
}

fn held(matrix: Matrix) -> Held {
    Held { n_rows: matrix.n_rows(), n_cols: matrix.n_cols(), values: Box::new(matrix) }
}

fn quantity(bank: &Bank, group: &Group, lengths: &[Vec<f64>; 2], i: usize, j: usize) -> f64 {
    let pairs = (0..group.depth).map(|k| (group.points[0][k * bank.n_rows + i], group.points[1][k * bank.n_cols + j]));
    match group.quantity {
        Quantity::SquaredDistance => pairs.map(|(x, y)| (x - y) * (x - y)).sum(),
        Quantity::L1Distance => pairs.map(|(x, y)| (x - y).abs()).sum(),
        Quantity::InnerProduct => pairs.map(|(x, y)| x * y).sum(),
        Quantity::Cosine { shifted } => {
            let shift = if shifted { 1.0 } else { 0.0 };
            (shift + pairs.map(|(x, y)| x * y).sum::<f64>()) / (lengths[0][i] * lengths[1][j])
        }
    }
}

fn value(function: Function, q: f64) -> f64 {
    match function {
        Function::Decay { rate } => (-rate * q).exp(),
        Function::Power { shift, degree } => (shift + q).powi(degree as i32),
        Function::Rational { rate, alpha } => (-alpha * (rate * q).ln_1p()).exp(),
        Function::Tanh { slope } => (slope * q).tanh(),
        Function::OneLess => 1.0 - q,
    }
}

/// Calls `f` with each entry of each kernel: row, column, kernel, value.
fn each(bank: &Bank, rows: Range<usize>, mut f: impl FnMut(usize, usize, usize, f64)) {
    for group in &bank.groups {
        let lengths = [group.lengths(0, bank.n_rows), group.lengths(1, bank.n_cols)];
        let gate = |side: usize, i: usize| group.gates[side].get(i).copied().unwrap_or(1.0);
        for i in rows.clone() {
            for j in 0..bank.n_cols {
                let q = quantity(bank, group, &lengths, i, j);
                let factor = gate(0, i) * gate(1, j);
                group.kernels.iter().for_each(|&(m, function)| {
                    let exact = factor * value(function, q);
                    let rounded = if bank.precision == Precision::F32 { f64::from(exact as f32) } else { exact };
                    f(i, j, m, rounded);
                });
            }
        }
    }
}

impl Engine for Reference {
    fn name(&self) -> &str {
        "reference"
    }

    fn room(&self) -> Result<u64> {
        Ok(u64::MAX)
    }

    fn piece(&self) -> Result<u64> {
        // Little, so that work is cut into pieces.
        Ok(1 << 16)
    }

    fn combine(&self, bank: &Bank, rows: Range<usize>, weights: &[f64]) -> Result<Held> {
        let mut sum = Matrix::zeros(rows.len(), bank.n_cols);
        let first = rows.start;
        each(bank, rows, |i, j, m, value| sum.row_mut(i - first)[j] += weights[m] * value);
        Ok(held(sum))
    }

    fn project(&self, bank: &Bank, with: &[With<'_>]) -> Result<Matrix> {
        let mut sums = Matrix::zeros(bank.n_kernels, with.len());
        for (c, with) in with.iter().enumerate() {
            let on_device = if let With::Held(matrix) = with { Some(values(matrix)?) } else { None };
            let entry = |i: usize, j: usize| match (with, on_device) {
                (_, Some(matrix)) => matrix.get(i, j),
                (With::Dense(matrix), _) => matrix.get(i, j),
                (With::Lower(matrix), _) => matrix.get(i.max(j), i.min(j)),
                (With::Factored(u, v), _) => u.row(i).iter().zip(v.row(j)).map(|(u, v)| u * v).sum(),
                (With::Held(_), None) => 0.0,
            };
            each(bank, 0..bank.n_rows, |i, j, m, value| sums.row_mut(m)[c] += value * entry(i, j));
        }
        Ok(sums)
    }

    fn times(&self, matrix: &Held, vectors: &Matrix) -> Result<Matrix> {
        let matrix = values(matrix)?;
        let entry = |i: usize, c: usize| matrix.row(i).iter().enumerate().map(|(j, a)| a * vectors.get(j, c)).sum();
        Ok(Matrix::from_fn(matrix.n_rows(), vectors.n_cols(), entry))
    }

    fn fetch(&self, matrix: &Held, out: &mut [f64]) -> Result<()> {
        out.copy_from_slice(values(matrix)?.data());
        Ok(())
    }

    fn factors(&self) -> bool {
        true
    }

    fn factor(&self, matrix: Held, shift: f64) -> Result<Held> {
        let a = values(&matrix)?;
        let n = a.n_rows();
        let mut l = Matrix::zeros(n, n);
        for i in 0..n {
            for j in 0..=i {
                let inner: f64 = (0..j).map(|k| l.get(i, k) * l.get(j, k)).sum();
                let left = a.get(i, j) + if i == j { shift } else { 0.0 } - inner;
                if i == j && left <= n as f64 * f64::EPSILON * (a.get(i, i) + shift).abs() {
                    return Err(Error::NotDefinite { row: i, pivot: left });
                }
                l.set(i, j, if i == j { left.sqrt() } else { left / l.get(j, j) });
            }
        }
        Ok(held(l))
    }

    fn solve(&self, factor: &Held, right: &Matrix) -> Result<Matrix> {
        let l = values(factor)?;
        let (n, mut x) = (l.n_rows(), right.clone());
        for c in 0..right.n_cols() {
            for i in 0..n {
                let inner: f64 = (0..i).map(|k| l.get(i, k) * x.get(k, c)).sum();
                x.set(i, c, (x.get(i, c) - inner) / l.get(i, i));
            }
            for i in (0..n).rev() {
                let inner: f64 = (i + 1..n).map(|k| l.get(k, i) * x.get(k, c)).sum();
                x.set(i, c, (x.get(i, c) - inner) / l.get(i, i));
            }
        }
        Ok(x)
    }

    fn diagonal(&self, matrix: &Held) -> Result<Vec<f64>> {
        let matrix = values(matrix)?;
        Ok((0..matrix.n_rows()).map(|i| matrix.get(i, i)).collect())
    }

    fn inverse(&self, factor: &Held) -> Result<Held> {
        let n = factor.n_rows;
        let unit = Matrix::from_fn(n, n, |i, j| f64::from(u8::from(i == j)));
        Ok(held(self.solve(factor, &unit)?))
    }
}
