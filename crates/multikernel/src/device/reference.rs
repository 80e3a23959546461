//! The slow stand-in for a device: the definitions, written down.

use std::ops::Range;

use super::{Bank, Engine, Function, Group, Held, Quantity, Table, Weights, With};
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
    Held { n_rows: matrix.n_rows(), n_cols: matrix.n_cols(), before: None, values: Box::new(matrix) }
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

/// The function of a table at a distance: the top 16 bits of the distance name the segment, the others the place in it.
fn profile(table: Table<'_>, q: f64) -> f64 {
    let (bits, last) = (q.to_bits(), table.lines.len() - 1);
    let (segment, r) = match (bits >> 48).checked_sub(table.first) {
        None => (0, q * table.scale),
        Some(after) => {
            let within = f64::from_bits(((bits & ((1 << 48) - 1)) << 4) | 1f64.to_bits());
            ((after as usize + 1).min(last), 2.0 * within - 3.0)
        }
    };
    table.lines[segment].0[..6].iter().rev().fold(0.0, |value, c| value * r + c)
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

    fn combine(&self, bank: &Bank, rows: Range<usize>, weights: &Weights<'_>) -> Result<Held> {
        let mut sum = Matrix::zeros(rows.len(), bank.n_cols);
        let first = rows.start;
        let mut alone = weights.kernels.to_vec();
        for (group, table) in bank.groups.iter().zip(&weights.profiles) {
            let Some(table) = table else { continue };
            group.kernels.iter().for_each(|&(m, _)| alone[m] = 0.0);
            for i in rows.clone() {
                for (j, out) in sum.row_mut(i - first).iter_mut().enumerate() {
                    *out += profile(*table, quantity(bank, group, &[vec![], vec![]], i, j));
                }
            }
        }
        each(bank, rows, |i, j, m, value| sum.row_mut(i - first)[j] += alone[m] * value);
        Ok(held(sum))
    }

    fn apply(&self, bank: &Bank, rows: Range<usize>, vectors: &Matrix) -> Result<Vec<f64>> {
        let (n, first, n_kernels) = (rows.len(), rows.start, bank.n_kernels);
        let mut out = vec![0.0; vectors.n_cols() * n * n_kernels];
        each(bank, rows, |i, j, m, value| {
            for (c, v) in vectors.row(j).iter().enumerate() {
                out[(c * n + i - first) * n_kernels + m] += value * v;
            }
        });
        Ok(out)
    }

    fn pull(&self, bank: &Bank, rows: Range<usize>, pulls: &[f64]) -> Result<Matrix> {
        let (n, first, n_kernels) = (rows.len(), rows.start, bank.n_kernels);
        let mut out = Matrix::zeros(bank.n_cols, pulls.len() / (n * n_kernels).max(1));
        each(bank, rows, |i, j, m, value| {
            for (c, out) in out.row_mut(j).iter_mut().enumerate() {
                *out += value * pulls[(c * n + i - first) * n_kernels + m];
            }
        });
        Ok(out)
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

    fn squares(&self) -> bool {
        true
    }

    fn square(&self, sum: Option<Held>, matrix: &Held, weights: &[f64], _: bool) -> Result<Held> {
        let a = values(matrix)?;
        let before = sum.as_ref().map(values).transpose()?;
        let inner =
            |j: usize, k: usize| a.rows().zip(weights).map(|(row, weight)| row[j] * weight * row[k]).sum::<f64>();
        let entry = |j: usize, k: usize| before.map_or(0.0, |sum| sum.get(j, k)) + inner(j, k);
        Ok(held(Matrix::from_fn(a.n_cols(), a.n_cols(), entry)))
    }

    fn factors(&self) -> bool {
        true
    }

    fn pays(&self, _: usize) -> bool {
        true
    }

    fn lower_times(&self, factor: &Held, vector: &[f64]) -> Result<Vec<f64>> {
        let l = values(factor)?;
        Ok(l.rows().enumerate().map(|(i, row)| row[..=i].iter().zip(vector).map(|(l, v)| l * v).sum()).collect())
    }

    fn slope(&self, sum: Option<Held>, matrix: Held, factor: f64, u: &[f64]) -> Result<Held> {
        let a = values(&matrix)?;
        let before = sum.as_ref().map(values).transpose()?;
        let entry = |i: usize, j: usize| before.map_or(0.0, |sum| sum.get(i, j)) + factor * (u[i] * u[j] - a.get(i, j));
        Ok(held(Matrix::from_fn(a.n_rows(), a.n_cols(), entry)))
    }

    fn factor(&self, matrix: Held, scale: f64, shift: f64, d: &[f64]) -> Result<Held> {
        let a = values(&matrix)?;
        let n = a.n_rows();
        let a = Matrix::from_fn(n, n, |i, j| scale * a.get(i, j) + shift + if i == j { d[i] } else { 0.0 });
        let mut l = Matrix::zeros(n, n);
        for i in 0..n {
            for j in 0..=i {
                let inner: f64 = (0..j).map(|k| l.get(i, k) * l.get(j, k)).sum();
                let left = a.get(i, j) - inner;
                if i == j && left <= n as f64 * f64::EPSILON * a.get(i, i).abs() {
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
