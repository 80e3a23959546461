//! A device beside the threads: a graphics processor that computes kernels between points and factors large matrices.
//!
//! Points go to the device, vectors and weights come back: matrices of N x N numbers stay there as long as they can.
//! An [`Engine`] is one kind of device. [`Reference`] is a slow one on the processor, which keeps everything but the
//! device's own code under test where there is no device.

#[cfg(feature = "cuda")]
mod cuda;
mod reference;
#[cfg(test)]
mod tests;

use std::any::Any;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::linalg::Matrix;
use crate::precision::Precision;

/// A device that computes what is largest: kernels between many points, and factors of their sums. Give it to a pool
/// with [`Pool::with_device`](crate::Pool::with_device); every operation that gets the pool then uses it where it can.
///
/// Results differ from the processor's in rounding (1e-12 with `f64`, 1e-6 with `f32`), and are the same bits on the
/// same device. Kernels a device does not know (given Gram matrices, centred kernels, families of your own) are computed
/// by the threads as ever.
///
/// ```
/// use multikernel::{Device, Matrix, Pool, stack::{Stack, StackOptions}};
/// let pool = Pool::new(1)?.with_device(Device::reference());
/// let rows = Matrix::from_vec(3, 1, vec![0.0, 1.0, 3.0])?;
/// let stack = Stack::train(&rows, &["gaussian(1)".parse()?], &StackOptions::new(&pool))?;
/// let sum = &stack.combine(&Matrix::from_vec(1, 1, vec![2.0])?, &pool)?[0];
/// assert!((sum.get(1, 2) - 2.0 * (-2.0f64).exp()).abs() < 1e-15);
/// # Ok::<(), multikernel::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Device {
    engine: Arc<dyn Engine>,
}

impl Device {
    /// The words [`Device::named`] knows, beside `cpu` for none.
    pub const NAMES: [&str; 2] = ["cpu", "cuda"];

    /// The device of this name; `None` for `cpu`. An error where there is none, which says why.
    pub fn named(name: &str) -> Result<Option<Device>> {
        match name {
            "cpu" => Ok(None),
            "cuda" => Device::cuda().map(Some),
            _ => Err(Error::param("device", format!("must be {}, got {name}", Device::NAMES.join(" or ")))),
        }
    }

    /// The first NVIDIA GPU of this machine.
    #[cfg(feature = "cuda")]
    pub fn cuda() -> Result<Device> {
        Ok(Device { engine: Arc::new(cuda::Cuda::new()?) })
    }

    /// The first NVIDIA GPU of this machine.
    #[cfg(not(feature = "cuda"))]
    pub fn cuda() -> Result<Device> {
        Err(Error::param("device", "cuda is not part of this build; build it with the feature cuda, or use cpu"))
    }

    /// A slow stand-in on one thread of the processor, for tests.
    pub fn reference() -> Device {
        Device { engine: Arc::new(reference::Reference) }
    }

    /// What the device calls itself.
    pub fn name(&self) -> &str {
        self.engine.name()
    }

    pub(crate) fn engine(&self) -> &dyn Engine {
        &*self.engine
    }
}

/// What kernels are functions of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quantity {
    SquaredDistance,
    L1Distance,
    InnerProduct,
    /// `(shift + x'y)` over the lengths of both points.
    Cosine {
        shifted: bool,
    },
}

/// A kernel as a function of its quantity q.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Function {
    /// `exp(-rate q)`
    Decay { rate: f64 },
    /// `(shift + q)^degree`
    Power { shift: f64, degree: u32 },
    /// `(1 + rate q)^-alpha`
    Rational { rate: f64, alpha: f64 },
    /// `tanh(slope q)`
    Tanh { slope: f64 },
    /// `1 - q`
    OneLess,
}

/// Points on one set of columns and the kernels that are functions of one quantity between them.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) quantity: Quantity,
    /// Number of columns.
    pub(crate) depth: usize,
    /// Row points and column points, column by column: depth x n_rows and depth x n_cols numbers.
    pub(crate) points: [Vec<f64>; 2],
    /// Factors of rows and columns, 0 where a point lacks the view; empty if none does.
    pub(crate) gates: [Vec<f64>; 2],
    /// The place of each kernel among those of the bank, and its function.
    pub(crate) kernels: Vec<(usize, Function)>,
}

impl Group {
    /// The lengths of the row points or of the column points, which cosines are divided by; 0 counts as 1, since the
    /// inner product is 0 then.
    pub(crate) fn lengths(&self, side: usize, n: usize) -> Vec<f64> {
        let Quantity::Cosine { shifted } = self.quantity else { return vec![] };
        let mut squares = vec![if shifted { 1.0 } else { 0.0 }; n];
        for column in self.points[side].chunks_exact(n.max(1)) {
            squares.iter_mut().zip(column).for_each(|(square, value)| *square += value * value);
        }
        squares.into_iter().map(|square| if square > 0.0 { square.sqrt() } else { 1.0 }).collect()
    }
}

/// Kernels between row points and column points, as a device is told of them.
#[derive(Clone, Debug)]
pub(crate) struct Bank {
    pub(crate) n_rows: usize,
    pub(crate) n_cols: usize,
    pub(crate) n_kernels: usize,
    pub(crate) precision: Precision,
    pub(crate) groups: Vec<Group>,
}

/// A matrix on a device.
pub(crate) struct Held {
    pub(crate) n_rows: usize,
    pub(crate) n_cols: usize,
    pub(crate) values: Box<dyn Any + Send + Sync>,
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Held").field("n_rows", &self.n_rows).field("n_cols", &self.n_cols).finish_non_exhaustive()
    }
}

/// A matrix that kernels are projected on.
#[derive(Clone, Copy, Debug)]
pub(crate) enum With<'a> {
    /// One on the device, in `f64`.
    Held(&'a Held),
    /// All of it, row by row.
    Dense(&'a Matrix),
    /// A symmetric matrix of which the lower half counts.
    Lower(&'a Matrix),
    /// `U V'`.
    Factored(&'a Matrix, &'a Matrix),
}

/// One kind of device. Sums are in `f64` and in a fixed order: the same bits each time.
pub(crate) trait Engine: Send + Sync + fmt::Debug {
    fn name(&self) -> &str;

    /// Bytes that are free.
    fn room(&self) -> Result<u64>;

    /// Bytes that one piece of a matrix may take.
    fn piece(&self) -> Result<u64>;

    /// `sum_m weights_m K_m` between some of the row points and all column points, in the bank's precision.
    fn combine(&self, bank: &Bank, rows: Range<usize>, weights: &[f64]) -> Result<Held>;

    /// `<K_m, M_c>` for all kernels (rows) and matrices (columns).
    fn project(&self, bank: &Bank, with: &[With<'_>]) -> Result<Matrix>;

    /// `A V`.
    fn times(&self, matrix: &Held, vectors: &Matrix) -> Result<Matrix>;

    /// Copies a matrix to this machine, row by row.
    fn fetch(&self, matrix: &Held, out: &mut [f64]) -> Result<()>;

    /// Whether it factors matrices.
    fn factors(&self) -> bool;

    /// `L L' = A + shift I`, in `f64`, in place; [`Error::NotDefinite`] if there is none.
    fn factor(&self, matrix: Held, shift: f64) -> Result<Held>;

    /// `A^-1 B` from the factor of A.
    fn solve(&self, factor: &Held, right: &Matrix) -> Result<Matrix>;

    /// The diagonal of a square matrix.
    fn diagonal(&self, matrix: &Held) -> Result<Vec<f64>>;

    /// `A^-1` from its factor, both halves of it.
    fn inverse(&self, factor: &Held) -> Result<Held>;
}
