//! The operations on a device, if the pool has one that knows all the kernels.

use std::ops::Range;
use std::ptr;

use super::core::{Core, Store};
use super::given::Points;
use super::layout;
use super::mixture::Mixture;
use super::ops::Symmetric;
use super::view::Stack;
use crate::device::{Bank, Device, Engine, Function, Group, Held, Quantity, With};
use crate::error::{Error, Result};
use crate::kernel::family::{clinical, linear, polynomial, rational_quadratic, sigmoid};
use crate::kernel::{Base, Kernel};
use crate::linalg::Matrix;
use crate::pool::Pool;

/// A kernel as devices know it; `None` if they do not.
fn function(kernel: &Kernel) -> Option<Function> {
    if kernel.is_centred() || kernel.gram().is_some() {
        return None;
    }
    if let Some(rate) = kernel.rate() {
        return Some(Function::Decay { rate });
    }
    let (is, params) = (|family| ptr::eq(kernel.family(), family), kernel.params());
    if is(&linear::FAMILY) {
        return Some(Function::Power { shift: 0.0, degree: 1 });
    } else if is(&polynomial::FAMILY) {
        return Some(Function::Power { shift: f64::from(u8::from(kernel.is_raw())), degree: params[0] as u32 });
    } else if is(&rational_quadratic::FAMILY) {
        let (width, alpha) = (params[0], params[1]);
        return Some(Function::Rational { rate: 1.0 / (2.0 * alpha * width * width), alpha });
    } else if is(&sigmoid::FAMILY) {
        return Some(Function::Tanh { slope: params[0] });
    }
    is(&clinical::FAMILY).then_some(Function::OneLess)
}

fn quantity(base: Base) -> Option<Quantity> {
    match base {
        Base::SquaredDistance => Some(Quantity::SquaredDistance),
        Base::L1Distance => Some(Quantity::L1Distance),
        Base::InnerProduct => Some(Quantity::InnerProduct),
        Base::Cosine => Some(Quantity::Cosine { shifted: false }),
        Base::ShiftedCosine => Some(Quantity::Cosine { shifted: true }),
        Base::Given | Base::GivenCosine => None,
    }
}

/// The points on the columns of a group, column by column.
fn by_column(group: &layout::Group, points: &Points, at: &[usize]) -> Vec<f64> {
    let features = points.features_of(group.unscaled);
    let (n, depth) = (at.len(), group.columns.count(features.n_cols()));
    let (mut out, mut row, mut picked) = (vec![0.0; n * depth], vec![0.0; features.n_cols()], vec![]);
    for (place, &i) in at.iter().enumerate() {
        features.row_into(i, &mut row);
        picked.clear();
        let values = if group.columns.ranges().is_some() {
            group.columns.gather(&row, &mut picked);
            &picked
        } else {
            &row
        };
        values.iter().enumerate().for_each(|(k, value)| out[k * n + place] = *value);
    }
    out
}

impl Core {
    /// Whether a device can compute all kernels.
    pub(super) fn suits_devices(&self) -> bool {
        self.layout.kernels.iter().all(|kernel| function(kernel).is_some() && quantity(kernel.base()).is_some())
    }
}

/// A stack and the device that computes it.
pub(super) struct There<'a> {
    engine: &'a dyn Engine,
    bank: Bank,
    /// The picked kernels among those of the bank, which are all of the stack's.
    picked: Vec<usize>,
    stack: &'a Stack,
}

impl Stack {
    /// This stack on the pool's device; `None` without one, if values are stored here, or for kernels it does not know.
    pub(super) fn there<'a>(&'a self, pool: &'a Pool) -> Option<There<'a>> {
        let device: &Device = pool.device()?;
        let core = &self.core;
        if !matches!(core.store, Store::Nowhere) || !core.suits_devices() {
            return None;
        }
        let [rows, cols] = self.indices();
        let gated = core.left.is_gated() || core.right().is_gated();
        let gates = |group: &layout::Group| {
            let pick = |points: &Points, at: &[usize]| {
                let gate = points.gate(&group.columns);
                at.iter().map(|&i| gate[i]).collect()
            };
            if gated { [pick(&core.left, &rows), pick(core.right(), &cols)] } else { [vec![], vec![]] }
        };
        let group = |group: &layout::Group| {
            let members: Vec<usize> = match &group.radial {
                Some(radial) => radial.kernels.clone(),
                None => core.layout.slots[group.slots.clone()].iter().map(|slot| slot.kernel).collect(),
            };
            let named = |m: usize| Some((m, function(&core.layout.kernels[m])?));
            Some(Group {
                quantity: quantity(group.base)?,
                depth: group.columns.count(core.left.features().n_cols()),
                points: [by_column(group, &core.left, &rows), by_column(group, core.right(), &cols)],
                gates: gates(group),
                kernels: members.into_iter().map(named).collect::<Option<_>>()?,
            })
        };
        let groups = core.layout.groups.iter().map(group).collect::<Option<Vec<Group>>>()?;
        let bank = Bank {
            n_rows: self.n_rows(),
            n_cols: self.n_cols(),
            n_kernels: core.layout.kernels.len(),
            precision: core.precision,
            groups,
        };
        Some(There { engine: device.engine(), bank, picked: self.kernels.indices().to_vec(), stack: self })
    }
}

impl There<'_> {
    fn go_on(&self) -> Result<()> {
        let watch = self.stack.watch();
        watch.go_on();
        watch.result(())
    }

    /// Calls `f` with the weighted sum of the kernels, as many rows at a time as the device has room for. The pieces
    /// follow from the memory of the card alone, and no sum goes over rows.
    fn each_piece(&self, weights: &[f64], mut f: impl FnMut(Range<usize>, &Held) -> Result<()>) -> Result<()> {
        let row = (self.bank.precision.bytes() * self.bank.n_cols).max(1) as u64;
        let step = (self.engine.piece()? / row).max(1) as usize;
        for first in (0..self.bank.n_rows).step_by(step) {
            self.go_on()?;
            let rows = first..(first + step).min(self.bank.n_rows);
            f(rows.clone(), &self.engine.combine(&self.bank, rows, weights)?)?;
        }
        Ok(())
    }

    /// [`Stack::mix`].
    pub(super) fn mix(&self, mixture: &Mixture) -> Result<Vec<Matrix>> {
        let (n_rows, n_cols) = (self.bank.n_rows, self.bank.n_cols);
        let what = format!("{} combined kernels of {n_rows} x {n_cols} points", mixture.n_columns());
        let mut sums = self.stack.core.matrices(&what, mixture.n_columns(), n_rows, n_cols)?;
        for (c, sum) in sums.iter_mut().enumerate() {
            let out = sum.data_mut();
            self.each_piece(&mixture.weights.column(c), |rows, piece| {
                self.engine.fetch(piece, &mut out[rows.start * n_cols..rows.end * n_cols])
            })?;
        }
        Ok(sums)
    }

    /// [`Stack::decide`].
    pub(super) fn decide(&self, mixture: &Mixture, coefficients: &Matrix) -> Result<Matrix> {
        let mut out = Matrix::zeros(self.bank.n_rows, coefficients.n_cols());
        let shared = (coefficients.n_cols() / mixture.n_columns().max(1)).max(1);
        for c in 0..mixture.n_columns() {
            let columns: Vec<usize> = (c * shared..(c + 1) * shared).collect();
            let vectors = coefficients.select_cols(&columns);
            self.each_piece(&mixture.weights.column(c), |rows, piece| {
                let found = self.engine.times(piece, &vectors)?;
                for (i, row) in rows.zip(found.rows()) {
                    out.row_mut(i)[c * shared..(c + 1) * shared].copy_from_slice(row);
                }
                Ok(())
            })?;
        }
        Ok(out)
    }

    /// [`Stack::project`].
    pub(super) fn project(&self, matrices: &[Symmetric<'_>]) -> Result<Matrix> {
        let with = matrices.iter().map(|&matrix| match matrix {
            Symmetric::Dense(matrix) => With::Dense(matrix),
            Symmetric::Lower(matrix) => With::Lower(matrix),
            Symmetric::Factored(u, v) => With::Factored(u, v),
        });
        self.projections(&with.collect::<Vec<With<'_>>>())
    }

    fn projections(&self, with: &[With<'_>]) -> Result<Matrix> {
        self.go_on()?;
        Ok(self.engine.project(&self.bank, with)?.select_rows(&self.picked))
    }

    /// The weights of one picked kernel alone.
    fn only(&self, m: usize) -> Vec<f64> {
        let mut weights = vec![0.0; self.bank.n_kernels];
        weights[self.picked[m]] = 1.0;
        weights
    }

    /// [`Stack::apply`].
    pub(super) fn apply(&self, vectors: &Matrix) -> Result<Vec<Matrix>> {
        let product = |m: usize| {
            let mut out = Matrix::zeros(self.bank.n_rows, vectors.n_cols());
            self.each_piece(&self.only(m), |rows, piece| {
                let found = self.engine.times(piece, vectors)?;
                rows.zip(found.rows()).for_each(|(i, row)| out.row_mut(i).copy_from_slice(row));
                Ok(())
            })?;
            Ok(out)
        };
        (0..self.picked.len()).map(product).collect()
    }

    /// [`Stack::collect`]: `each` vectors for every kernel, side by side.
    pub(super) fn collect(&self, vectors: &Matrix, each: usize) -> Result<Matrix> {
        let mut out = Matrix::zeros(self.bank.n_rows, each);
        for m in 0..self.picked.len() {
            let columns: Vec<usize> = (m * each..(m + 1) * each).collect();
            let own = vectors.select_cols(&columns);
            if own.data().iter().all(|&value| value == 0.0) {
                continue;
            }
            self.each_piece(&self.only(m), |rows, piece| {
                let found = self.engine.times(piece, &own)?;
                for (i, row) in rows.zip(found.rows()) {
                    out.row_mut(i).iter_mut().zip(row).for_each(|(out, value)| *out += value);
                }
                Ok(())
            })?;
        }
        Ok(out)
    }
}

/// The factor of `sum_m w_m K_m + s I` on the pool's device, for repeated use without copying N x N numbers.
#[derive(Debug)]
pub(crate) struct FactorThere {
    factor: Held,
    device: Device,
}

impl Stack {
    /// The factor of a weighted sum of the kernels plus `noise` on the diagonal, on the pool's device; `None` if it
    /// must be computed here. [`Error::NotDefinite`] if there is no such factor.
    pub(crate) fn factor_there(&self, weights: &[f64], noise: f64, pool: &Pool) -> Result<Option<FactorThere>> {
        let (Some(there), Some(device)) = (self.there(pool), pool.device()) else { return Ok(None) };
        let n = self.n_rows() as u64;
        // The factor before this one, this one, its inverse and what the solver needs.
        let need = 8u64.saturating_mul(n.saturating_mul(n)).saturating_mul(3);
        if !there.engine.factors() || there.engine.room()? < need {
            return Ok(None);
        }
        there.go_on()?;
        let column = Matrix::from_vec(weights.len(), 1, weights.to_vec())?;
        let sum = there.engine.combine(&there.bank, 0..self.n_rows(), &self.spread(&column).column(0))?;
        Ok(Some(FactorThere { factor: there.engine.factor(sum, noise)?, device: device.clone() }))
    }
}

impl FactorThere {
    /// `A^-1 B`.
    pub(crate) fn solve(&self, right: &Matrix) -> Result<Matrix> {
        self.device.engine().solve(&self.factor, right)
    }

    /// `log det A`.
    pub(crate) fn log_determinant(&self) -> Result<f64> {
        Ok(2.0 * self.device.engine().diagonal(&self.factor)?.iter().map(|&root| crate::simd::ln(root)).sum::<f64>())
    }

    /// `<K_m, U U'>` and `<K_m, A^-1>` for each kernel m, and the trace of `A^-1`.
    pub(crate) fn products(&self, stack: &Stack, u: &Matrix, pool: &Pool) -> Result<(Matrix, f64)> {
        let engine = self.device.engine();
        let inverse = engine.inverse(&self.factor)?;
        let there = stack.there(pool).ok_or_else(|| Error::input("the stack is not on a device"))?;
        let products = there.projections(&[With::Factored(u, u), With::Held(&inverse)])?;
        Ok((products, engine.diagonal(&inverse)?.iter().sum()))
    }
}
