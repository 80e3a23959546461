//! The operations on a device, if the pool has one that knows all the kernels.

use std::ops::Range;
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

use super::core::{Core, Store};
use super::given::Points;
use super::layout;
use super::mixture::{Mixture, Term};
use super::ops::Symmetric;
use super::sweep::{AtRows, Swept};
use super::view::Stack;
use crate::device::{Bank, Device, DeviceCopy, Engine, Function, Group, Held, Quantity, Weights, With};
use crate::error::{Error, Result};
use crate::kernel::family::{clinical, linear, polynomial, rational_quadratic, sigmoid};
use crate::kernel::{Base, Kernel};
use crate::linalg::{Matrix, Matrix32};
use crate::pool::Pool;
use crate::simd::Real;

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

/// Rows transposed together.
const TOGETHER: usize = 64;

/// The points on the columns of a group, column by column.
fn by_column(group: &layout::Group, points: &Points, at: &[usize]) -> Vec<f64> {
    let features = points.features_of(group.unscaled);
    let (n, depth) = (at.len(), group.columns.count(features.n_cols()));
    let (mut out, mut row, mut picked) = (vec![0.0; n * depth], vec![0.0; features.n_cols()], vec![]);
    // Some rows at a time, so that what is written to a column lies together.
    let mut block = vec![0.0; TOGETHER * depth];
    for first in (0..n).step_by(TOGETHER) {
        let here = &at[first..(first + TOGETHER).min(n)];
        for (place, &i) in here.iter().enumerate() {
            features.row_into(i, &mut row);
            picked.clear();
            let values = if group.columns.ranges().is_some() {
                group.columns.gather(&row, &mut picked);
                &picked
            } else {
                &row
            };
            values.iter().enumerate().for_each(|(k, value)| block[k * TOGETHER + place] = *value);
        }
        for (column, block) in out.chunks_exact_mut(n.max(1)).zip(block.chunks_exact(TOGETHER)) {
            column[first..first + here.len()].copy_from_slice(&block[..here.len()]);
        }
    }
    out
}

impl Core {
    /// Whether a device can compute all kernels.
    pub(super) fn suits_devices(&self) -> bool {
        self.layout.kernels.iter().all(|kernel| function(kernel).is_some() && quantity(kernel.base()).is_some())
    }
}

/// The banks that views of a stack have been to devices, the latest last: views come again, step after step, and their
/// points stay on the card meanwhile.
#[derive(Debug, Default)]
pub(super) struct Banks(Mutex<Vec<Viewed>>);

/// The points and kernels of a view, and the bank they make.
#[derive(Debug)]
struct Viewed {
    rows: Arc<[usize]>,
    cols: Arc<[usize]>,
    mask: Vec<bool>,
    device: Device,
    bank: Arc<Bank>,
}

/// Banks that are remembered, and the most bytes of one of them.
const REMEMBERED: usize = 4;
const MAX_REMEMBERED_BYTES: u64 = 1 << 30;

impl Banks {
    /// The bank of this view, made if it is not remembered.
    fn of(
        &self,
        [rows, cols]: [Arc<[usize]>; 2],
        mask: Vec<bool>,
        device: &Device,
        make: impl FnOnce(&[usize], &[usize], &[bool]) -> Option<Bank>,
    ) -> Option<Arc<Bank>> {
        let mut banks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |a: &Arc<[usize]>, b: &Arc<[usize]>| Arc::ptr_eq(a, b) || a == b;
        let is_it = |viewed: &Viewed| {
            same(&viewed.rows, &rows)
                && same(&viewed.cols, &cols)
                && viewed.mask == mask
                && viewed.device.is_same(device)
        };
        if let Some(at) = banks.iter().position(is_it) {
            let viewed = banks.remove(at);
            let bank = viewed.bank.clone();
            banks.push(viewed);
            return Some(bank);
        }
        let bank = Arc::new(make(&rows, &cols, &mask)?);
        if bank.bytes() <= MAX_REMEMBERED_BYTES {
            if banks.len() == REMEMBERED {
                banks.remove(0);
            }
            banks.push(Viewed { rows, cols, mask, device: device.clone(), bank: bank.clone() });
        }
        Some(bank)
    }
}

/// A stack and the device that computes it.
pub(super) struct There<'a> {
    engine: &'a dyn Engine,
    device: &'a Device,
    bank: Arc<Bank>,
    /// The groups of the stack that are in the bank: those with a picked kernel.
    groups: Vec<usize>,
    /// The picked kernels among those of the bank, which are numbered as the stack's.
    picked: Vec<usize>,
    stack: &'a Stack,
}

/// The kernels of a group, in order.
fn members(layout: &layout::Layout, group: &layout::Group) -> Vec<usize> {
    match &group.radial {
        Some(radial) => radial.kernels.clone(),
        None => layout.slots[group.slots.clone()].iter().map(|slot| slot.kernel).collect(),
    }
}

impl Stack {
    /// This stack on the pool's device; `None` without one, if values are stored here, or for kernels it does not know.
    pub(super) fn there<'a>(&'a self, pool: &'a Pool) -> Option<There<'a>> {
        let device: &Device = pool.device()?;
        let core = &self.core;
        if !matches!(core.store, Store::Nowhere) || !core.suits_devices() {
            return None;
        }
        let mask = self.kernel_mask();
        let is_picked = |g: &usize| members(&core.layout, &core.layout.groups[*g]).iter().any(|&m| mask[m]);
        let groups: Vec<usize> = (0..core.layout.groups.len()).filter(is_picked).collect();
        let make = |rows: &[usize], cols: &[usize], mask: &[bool]| self.bank(rows, cols, mask, &groups);
        let bank = core.banks.of(self.indices(), mask.clone(), device, make)?;
        let picked = self.kernels.indices().to_vec();
        Some(There { engine: device.engine(), device, bank, groups, picked, stack: self })
    }

    /// The kernels of the mask between these points, as a device is told of them.
    fn bank(&self, rows: &[usize], cols: &[usize], mask: &[bool], groups: &[usize]) -> Option<Bank> {
        let core = &self.core;
        let gated = core.left.is_gated() || core.right().is_gated();
        let gates = |group: &layout::Group| {
            let pick = |points: &Points, at: &[usize]| {
                let gate = points.gate(&group.columns);
                at.iter().map(|&i| gate[i]).collect()
            };
            if gated { [pick(&core.left, rows), pick(core.right(), cols)] } else { [vec![], vec![]] }
        };
        let group = |&g: &usize| {
            let group = &core.layout.groups[g];
            let named = |m: usize| Some((m, function(&core.layout.kernels[m])?));
            Some(Group {
                quantity: quantity(group.base)?,
                depth: group.columns.count(core.left.features().n_cols()),
                points: [by_column(group, &core.left, rows), by_column(group, core.right(), cols)],
                gates: gates(group),
                kernels: members(&core.layout, group)
                    .into_iter()
                    .filter(|&m| mask[m])
                    .map(named)
                    .collect::<Option<_>>()?,
            })
        };
        Some(Bank {
            n_rows: rows.len(),
            n_cols: cols.len(),
            n_kernels: core.layout.kernels.len(),
            precision: core.precision,
            symmetric: core.right.is_none() && rows == cols,
            groups: groups.iter().map(group).collect::<Option<Vec<Group>>>()?,
            copy: DeviceCopy::default(),
        })
    }
}

/// Bytes of a piece of a matrix that is rounded to `f32` when it comes back: it is here in `f64` meanwhile.
const NARROW_PIECE_BYTES: u64 = 64 << 20;

impl There<'_> {
    fn go_on(&self) -> Result<()> {
        let watch = self.stack.watch();
        watch.go_on();
        watch.result(())
    }

    /// Calls `f` with the weighted sum of the kernels, as many rows at a time as the device has room for. The pieces
    /// follow from the memory of the card alone, and no sum goes over rows.
    fn each_piece(&self, weights: &Weights<'_>, f: impl FnMut(Range<usize>, &Held) -> Result<()>) -> Result<()> {
        self.each_piece_of(self.engine.piece()?, weights, f)
    }

    /// The same in pieces of at most so many bytes.
    fn each_piece_of(
        &self,
        bytes: u64,
        weights: &Weights<'_>,
        mut f: impl FnMut(Range<usize>, &Held) -> Result<()>,
    ) -> Result<()> {
        let row = (self.bank.precision.bytes() * self.bank.n_cols).max(1) as u64;
        let step = (bytes / row).max(1) as usize;
        for first in (0..self.bank.n_rows).step_by(step) {
            self.go_on()?;
            let rows = first..(first + step).min(self.bank.n_rows);
            f(rows.clone(), &self.engine.combine(&self.bank, rows, weights)?)?;
        }
        Ok(())
    }

    /// The weights of one column of a mixture.
    fn weights<'m>(&self, mixture: &'m Mixture, c: usize, kernels: &'m [f64]) -> Weights<'m> {
        let profile = |&g: &usize| {
            let batch = self.stack.core.layout.batches.iter().position(|batch| batch.group == g)?;
            match &mixture.columns[c].terms[batch] {
                Term::Radial(profile) => Some(profile.table()),
                Term::Nothing | Term::Slots(_) => None,
            }
        };
        Weights { kernels, profiles: self.groups.iter().map(profile).collect() }
    }

    /// [`Stack::mix`].
    pub(super) fn mix(&self, mixture: &Mixture) -> Result<Vec<Matrix>> {
        let (n_rows, n_cols) = (self.bank.n_rows, self.bank.n_cols);
        let what = format!("{} combined kernels of {n_rows} x {n_cols} points", mixture.n_columns());
        let mut sums = self.stack.core.matrices(&what, mixture.n_columns(), n_rows, n_cols)?;
        for (c, sum) in sums.iter_mut().enumerate() {
            let (out, column) = (sum.data_mut(), mixture.weights.column(c));
            self.each_piece(&self.weights(mixture, c, &column), |rows, piece| {
                self.engine.fetch(piece, &mut out[rows.start * n_cols..rows.end * n_cols])
            })?;
        }
        Ok(sums)
    }

    /// [`Stack::combine_f32`].
    pub(super) fn mix_f32(&self, mixture: &Mixture) -> Result<Matrix32> {
        let (n_rows, n_cols) = (self.bank.n_rows, self.bank.n_cols);
        let mut sum = self.stack.core.narrow(n_rows, n_cols)?;
        let (mut wide, column) = (vec![], mixture.weights.column(0));
        let bytes = self.engine.piece()?.min(NARROW_PIECE_BYTES);
        self.each_piece_of(bytes, &self.weights(mixture, 0, &column), |rows, piece| {
            wide.resize(rows.len() * n_cols, 0.0);
            self.engine.fetch(piece, &mut wide)?;
            let out = &mut sum.data_mut()[rows.start * n_cols..rows.end * n_cols];
            out.iter_mut().zip(&wide).for_each(|(out, &value)| *out = value as f32);
            Ok(())
        })?;
        Ok(sum)
    }

    /// [`Stack::decide`].
    pub(super) fn decide(&self, mixture: &Mixture, coefficients: &Matrix) -> Result<Matrix> {
        let mut out = Matrix::zeros(self.bank.n_rows, coefficients.n_cols());
        let shared = (coefficients.n_cols() / mixture.n_columns().max(1)).max(1);
        for c in 0..mixture.n_columns() {
            let columns: Vec<usize> = (c * shared..(c + 1) * shared).collect();
            let (vectors, column) = (coefficients.select_cols(&columns), mixture.weights.column(c));
            self.each_piece(&self.weights(mixture, c, &column), |rows, piece| {
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

    /// Row points at a time, so that what `each` of them adds stays within the memory of a piece.
    fn steps(&self, each: usize) -> Result<Vec<Range<usize>>> {
        let step = (self.engine.piece()?.min(MAX_NUMBERS) / 8 / each.max(1) as u64).max(1) as usize;
        let n = self.bank.n_rows;
        Ok((0..n).step_by(step).map(|first| first..(first + step).min(n)).collect())
    }

    /// [`Stack::apply`].
    pub(super) fn apply(&self, vectors: &Matrix) -> Result<Vec<Matrix>> {
        let (count, n_kernels) = (vectors.n_cols(), self.bank.n_kernels);
        let mut products = vec![Matrix::zeros(self.bank.n_rows, count); self.picked.len()];
        for rows in self.steps(count * n_kernels)? {
            self.go_on()?;
            let found = self.engine.apply(&self.bank, rows.clone(), vectors)?;
            for (product, &m) in products.iter_mut().zip(&self.picked) {
                for (place, i) in rows.clone().enumerate() {
                    for (c, out) in product.row_mut(i).iter_mut().enumerate() {
                        *out = found[(c * rows.len() + place) * n_kernels + m];
                    }
                }
            }
        }
        Ok(products)
    }

    /// The kernels between column points and row points: among points of one set a view like any other, which a method
    /// with landmarks has on the card already.
    fn turned(&self) -> Arc<Bank> {
        let (stack, [rows, cols]) = (self.stack, self.stack.indices());
        let make = |rows: &[usize], cols: &[usize], mask: &[bool]| stack.bank(rows, cols, mask, &self.groups);
        let known = match stack.core.right {
            None => stack.core.banks.of([cols, rows], stack.kernel_mask(), self.device, make),
            Some(_) => None,
        };
        known.unwrap_or_else(|| Arc::new(self.bank.turned()))
    }

    /// [`Stack::collect`]: `each` vectors for every kernel, side by side.
    pub(super) fn collect(&self, vectors: &Matrix, each: usize) -> Result<Matrix> {
        let n_kernels = self.bank.n_kernels;
        let there = There {
            engine: self.engine,
            bank: self.turned(),
            groups: self.groups.clone(),
            picked: self.picked.clone(),
            device: self.device,
            stack: self.stack,
        };
        let mut out = Matrix::zeros(self.bank.n_rows, each);
        for cols in there.steps(each * n_kernels)? {
            self.go_on()?;
            let n = cols.len();
            let mut pulls = vec![0.0; each * n * n_kernels];
            for (place, j) in cols.clone().enumerate() {
                for (k, value) in vectors.row(j).iter().enumerate() {
                    pulls[(k % each * n + place) * n_kernels + self.picked[k / each]] += value;
                }
            }
            let found = there.engine.pull(&there.bank, cols, &pulls)?;
            f64::add_scaled(1.0, found.data(), out.data_mut());
        }
        Ok(out)
    }

    /// [`Stack::sweep`]: values are computed twice, for each direction, which is faster than storing them.
    pub(super) fn sweep<R: Send>(
        &self,
        vectors: &Matrix,
        pool: &Pool,
        begin: &(impl Fn() -> R + Sync),
        answer: &(impl Fn(AtRows<'_>, &mut [f64], &mut R) + Sync),
    ) -> Result<Swept<R>> {
        let (n_rows, n_cols, count) = (self.bank.n_rows, self.bank.n_cols, vectors.n_cols());
        let (all, n_kernels) = (self.bank.n_kernels, self.picked.len());
        let mut outputs = vec![0.0; count * n_rows * n_kernels];
        let (mut collected, mut parts) = (Matrix::zeros(n_cols, count), vec![]);
        for rows in self.steps(count * all)? {
            self.go_on()?;
            let found = self.engine.apply(&self.bank, rows.clone(), vectors)?;
            let n = rows.len();
            let blocks: Vec<Range<usize>> =
                (0..n).step_by(ANSWERED).map(|first| first..(first + ANSWERED).min(n)).collect();
            let answers = pool.map(blocks.len(), |b| {
                let (block, mut made) = (&blocks[b], begin());
                let places = (0..count).flat_map(|c| block.clone().map(move |i| (c * n + i) * all));
                let here: Vec<f64> =
                    places.flat_map(|at| self.picked.iter().map(move |m| at + m)).map(|at| found[at]).collect();
                let mut pulls = vec![0.0; here.len()];
                let block = rows.start + block.start..rows.start + block.end;
                answer(AtRows { rows: block, outputs: &here }, &mut pulls, &mut made);
                (here, pulls, made)
            });
            let mut pulls = found;
            pulls.fill(0.0);
            for (block, (here, answers, made)) in blocks.into_iter().zip(answers) {
                let lines = here.chunks_exact(n_kernels.max(1)).zip(answers.chunks_exact(n_kernels.max(1)));
                for (k, (here, answers)) in lines.enumerate() {
                    let (c, i) = (k / block.len(), block.start + k % block.len());
                    outputs[(c * n_rows + rows.start + i) * n_kernels..][..n_kernels].copy_from_slice(here);
                    let pulls = &mut pulls[(c * n + i) * all..][..all];
                    self.picked.iter().zip(answers).for_each(|(&m, answer)| pulls[m] += answer);
                }
                parts.push(made);
            }
            let found = self.engine.pull(&self.bank, rows, &pulls)?;
            f64::add_scaled(1.0, found.data(), collected.data_mut());
        }
        Ok(Swept { outputs, collected: collected.transposed().into_data(), parts })
    }
}

/// Most bytes of numbers that come back in one piece.
const MAX_NUMBERS: u64 = 1 << 30;
/// Rows answered by one task.
const ANSWERED: usize = 4096;

impl Stack {
    /// `sum_i d_i k_i k_i'` for the rows k_i of the weighted sum of the kernels, on the pool's device; `None` if it must be
    /// computed here. Factors d are not negative. Cost: n_rows n_cols^2 operations, and no memory here but the result.
    pub(crate) fn scaled_square_there(&self, weights: &Matrix, d: &[f64], pool: &Pool) -> Result<Option<Matrix>> {
        let Some(there) = self.there(pool) else { return Ok(None) };
        if !there.engine.squares() || d.is_empty() {
            return Ok(None);
        }
        let (mixture, n) = (self.mixture(weights, pool)?, self.n_cols());
        let (column, mut sum) = (mixture.weights.column(0), None);
        there.each_piece(&there.weights(&mixture, 0, &column), |rows, piece| {
            let last = rows.end == d.len();
            sum = Some(there.engine.square(sum.take(), piece, &d[rows], last)?);
            Ok(())
        })?;
        let mut square = self.core.matrices(&format!("a square of {n} x {n}"), 1, n, n)?.remove(0);
        if let Some(sum) = sum {
            there.engine.fetch(&sum, square.data_mut())?;
        }
        Ok(Some(square))
    }
}

/// The factor of `scale sum_m w_m K_m + shift 11' + diag(d)` on the pool's device, for repeated use without copying N x N
/// numbers.
#[derive(Debug)]
pub(crate) struct FactorThere {
    factor: Held,
    device: Device,
}

impl Stack {
    /// Whether operations of this stack run on the pool's device.
    pub(crate) fn is_there(&self, pool: &Pool) -> bool {
        pool.device().is_some() && matches!(self.core.store, Store::Nowhere) && self.core.suits_devices()
    }

    /// Whether the pool's device factors matrices of this size sooner than the threads.
    pub(crate) fn pays_there(&self, pool: &Pool) -> bool {
        pool.device().is_some_and(|device| device.engine().pays(self.n_rows()))
    }

    /// Whether the pool's device factors sums of these kernels and has room for `count` matrices of them.
    pub(crate) fn factors_there(&self, count: usize, pool: &Pool) -> Result<bool> {
        let Some(there) = self.there(pool) else { return Ok(false) };
        let n = self.n_rows() as u64;
        let need = 8u64.saturating_mul(n.saturating_mul(n)).saturating_mul(count as u64);
        Ok(there.engine.factors() && there.engine.room()? >= need)
    }

    /// The factor of a weighted sum of the kernels plus `noise` on the diagonal, on the pool's device; `None` if it
    /// must be computed here. [`Error::NotDefinite`] if there is no such factor.
    pub(crate) fn factor_there(&self, weights: &[f64], noise: f64, pool: &Pool) -> Result<Option<FactorThere>> {
        // The factor before this one, this one, its inverse and what the solver needs.
        if !self.factors_there(4, pool)? {
            return Ok(None);
        }
        self.factor_of_sum_there(weights, (1.0, 0.0), &vec![noise; self.n_rows()], pool).map(Some)
    }

    /// The factor of `scale sum_m w_m K_m + shift 11' + diag(d)` on the pool's device, which must be there.
    pub(crate) fn factor_of_sum_there(
        &self,
        weights: &[f64],
        (scale, shift): (f64, f64),
        d: &[f64],
        pool: &Pool,
    ) -> Result<FactorThere> {
        let (Some(there), Some(device)) = (self.there(pool), pool.device()) else { return Err(elsewhere()) };
        there.go_on()?;
        let mixture = self.mixture(&Matrix::from_vec(weights.len(), 1, weights.to_vec())?, pool)?;
        let column = mixture.weights.column(0);
        let sum = there.engine.combine(&there.bank, 0..self.n_rows(), &there.weights(&mixture, 0, &column))?;
        Ok(FactorThere { factor: there.engine.factor(sum, scale, shift, d)?, device: device.clone() })
    }

    /// `<K_m, S>` for each kernel m, with S the sum that [`FactorThere::add_slope`] has made.
    pub(crate) fn project_there(&self, sum: &Held, pool: &Pool) -> Result<Vec<f64>> {
        let there = self.there(pool).ok_or_else(elsewhere)?;
        Ok(there.projections(&[With::Held(sum)])?.column(0))
    }
}

fn elsewhere() -> Error {
    Error::input("the stack is not on a device")
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

    /// `L v`.
    pub(crate) fn multiply_lower(&self, vector: &[f64]) -> Result<Vec<f64>> {
        self.device.engine().lower_times(&self.factor, vector)
    }

    /// `L`, zero above its diagonal.
    pub(crate) fn lower(&self) -> Result<Matrix> {
        let mut lower = Matrix::zeros(self.factor.n_rows, self.factor.n_cols);
        self.device.engine().fetch(&self.factor, lower.data_mut())?;
        (0..lower.n_rows()).for_each(|i| lower.row_mut(i)[i + 1..].fill(0.0));
        Ok(lower)
    }

    /// The inverse and its diagonal.
    pub(crate) fn inverse(&self) -> Result<(Held, Vec<f64>)> {
        let inverse = self.device.engine().inverse(&self.factor)?;
        let diagonal = self.device.engine().diagonal(&inverse)?;
        Ok((inverse, diagonal))
    }

    /// `S + factor (u u' - inverse)`.
    pub(crate) fn add_slope(&self, sum: Option<Held>, inverse: Held, factor: f64, u: &[f64]) -> Result<Held> {
        self.device.engine().slope(sum, inverse, factor, u)
    }

    /// `<K_m, U U'>` and `<K_m, A^-1>` for each kernel m, and the trace of `A^-1`.
    pub(crate) fn products(&self, stack: &Stack, u: &Matrix, pool: &Pool) -> Result<(Matrix, f64)> {
        let (inverse, diagonal) = self.inverse()?;
        let there = stack.there(pool).ok_or_else(elsewhere)?;
        let products = there.projections(&[With::Factored(u, u), With::Held(&inverse)])?;
        Ok((products, diagonal.iter().sum()))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::dist::Rng;
    use crate::precision::Precision;
    use crate::stack::StackOptions;

    /// The median of seven turns of some calls, in seconds a call.
    fn seconds(calls: u32, engine: &dyn Engine, mut f: impl FnMut()) -> f64 {
        let mut turn = || {
            let start = Instant::now();
            (0..calls).for_each(|_| f());
            engine.room().unwrap();
            start.elapsed().as_secs_f64() / f64::from(calls)
        };
        turn();
        let mut all: Vec<f64> = (0..7).map(|_| turn()).collect();
        all.sort_by(f64::total_cmp);
        all[3]
    }

    fn stack_of(n: usize, columns: usize, kernels: &[Kernel], precision: Precision, pool: &Pool) -> Stack {
        let mut rng = Rng::new(n as u64, 0);
        let points = Matrix::from_fn(n, columns, |_, _| 2.0 * rng.uniform() - 1.0);
        Stack::train(&points, kernels, &StackOptions { precision, ..StackOptions::new(pool) }).unwrap()
    }

    fn gaussians(count: usize) -> Vec<Kernel> {
        (0..count).map(|m| Kernel::gaussian((10.0 * m as f64 / count as f64 - 5.0).exp2()).unwrap()).collect()
    }

    /// `cargo test --release --lib --features cuda -- --ignored --nocapture times_of_operations`
    #[test]
    #[ignore = "a measurement, on a GPU"]
    fn times_of_operations() {
        let pool = Pool::new(0).unwrap().with_device(Device::cuda().unwrap());
        for precision in [Precision::F64, Precision::F32] {
            whole_matrices(precision, &pool);
            landmarks(precision, &pool);
        }
        factors(&pool);
    }

    /// Kernels of 20,000 points: combined and projected on a matrix.
    fn whole_matrices(precision: Precision, pool: &Pool) {
        let (n, word) = (20_000, precision.word());
        let bytes = (precision.bytes() * n * n) as f64;
        for count in [17, 31, 100, 300] {
            let stack = stack_of(n, 16, &gaussians(count), precision, pool);
            let there = stack.there(pool).unwrap();
            let mixture = stack.mixture(&Matrix::from_fn(count, 1, |_, _| 0.5), pool).unwrap();
            let column = mixture.weights.column(0);
            let weights = there.weights(&mixture, 0, &column);
            let combine = || drop(there.engine.combine(&there.bank, 0..n, &weights).unwrap());
            let time = seconds(5, there.engine, combine);
            println!("combine {count} {word}: {:.3} ms, written at {:.2} TB/s", 1e3 * time, bytes / time / 1e12);
            if count <= 100 {
                let all = vec![0.1; n];
                let zeros = there.engine.combine(&there.bank, 0..n, &weights).unwrap();
                let factor = there.engine.factor(zeros, 0.0, 0.0, &vec![1.0; n]).unwrap();
                let with = there.engine.slope(None, factor, 1.0, &all).unwrap();
                let time = seconds(1, there.engine, || drop(there.projections(&[With::Held(&with)]).unwrap()));
                let values = count as f64 * (n * n) as f64 / time / 1e12;
                println!("project {count} {word}: {:.3} ms, {values:.2} T values/s", 1e3 * time);
            }
        }
    }

    /// Kernels between a million rows and 5,000 landmarks.
    fn landmarks(precision: Precision, pool: &Pool) {
        let (n, m, word) = (1_000_000, 5_000, precision.word());
        let stack = stack_of(n, 20, &gaussians(4), precision, pool);
        let [rows, cols] = [n, m].map(|n| (0..n).collect::<Vec<usize>>());
        let stack = stack.between(&rows, &cols).unwrap();
        let start = Instant::now();
        let there = stack.there(pool).unwrap();
        println!("points {word}: {:.3} s to arrange", start.elapsed().as_secs_f64());
        let vectors = Matrix::from_fn(m, 1, |i, _| (i % 7) as f64 - 3.0);
        let mut outputs = vec![];
        let time = seconds(1, there.engine, || outputs = there.engine.apply(&there.bank, 0..n, &vectors).unwrap());
        let rate = |time: f64| 4.0 * n as f64 * m as f64 / time / 1e12;
        println!("apply {word}: {:.1} ms, {:.2} T values/s", 1e3 * time, rate(time));
        let time = seconds(1, there.engine, || drop(there.engine.pull(&there.bank, 0..n, &outputs).unwrap()));
        println!("pull {word}: {:.1} ms, {:.2} T values/s", 1e3 * time, rate(time));
        let start = Instant::now();
        let found =
            stack.sweep(&vectors, pool, || (), |AtRows { outputs, .. }, pulls, ()| pulls.copy_from_slice(outputs));
        println!("sweep {word}: {:.1} ms, {}", 1e3 * start.elapsed().as_secs_f64(), found.unwrap().collected[0]);
        let weights = Matrix::from_fn(4, 1, |_, _| 0.25);
        stack.scaled_square_there(&weights, &vec![0.2; n], pool).unwrap();
        let start = Instant::now();
        stack.scaled_square_there(&weights, &vec![0.2; n], pool).unwrap();
        let time = start.elapsed().as_secs_f64();
        println!("square {word}: {:.3} s, {:.1} Tflop/s", time, n as f64 * (m * m) as f64 / time / 1e12);
    }

    fn factors(pool: &Pool) {
        for n in [2_000, 5_000, 20_000] {
            let stack = stack_of(n, 16, &gaussians(17), Precision::F64, pool);
            let there = stack.there(pool).unwrap();
            let weights = Weights { kernels: &[0.1; 17], profiles: vec![None; there.groups.len()] };
            let diagonal = vec![1.0; n];
            let combine = || there.engine.combine(&there.bank, 0..n, &weights).unwrap();
            let alone = seconds(1, there.engine, || drop(combine()));
            let both = seconds(1, there.engine, || drop(there.engine.factor(combine(), 1.0, 1.0, &diagonal).unwrap()));
            let factor = there.engine.factor(combine(), 1.0, 1.0, &diagonal).unwrap();
            let inverse = seconds(1, there.engine, || drop(there.engine.inverse(&factor).unwrap()));
            let (time, cube) = (both - alone, (n as f64).powi(3) / 1e12);
            println!("factor {n}: {:.2} ms, {:.1} Tflop/s", 1e3 * time, cube / 3.0 / time);
            println!("inverse {n}: {:.2} ms, {:.1} Tflop/s", 1e3 * inverse, cube * 2.0 / 3.0 / inverse);
        }
    }
}
