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
use std::sync::{Arc, OnceLock};

use crate::error::{Error, Result};
use crate::linalg::Matrix;
use crate::precision::Precision;
use crate::simd::{COEFFICIENTS, Line};

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

    /// Whether both are the same.
    pub(crate) fn is_same(&self, other: &Device) -> bool {
        Arc::as_ptr(&self.engine).cast::<()>() == Arc::as_ptr(&other.engine).cast::<()>()
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
#[derive(Debug)]
pub(crate) struct Bank {
    pub(crate) n_rows: usize,
    pub(crate) n_cols: usize,
    pub(crate) n_kernels: usize,
    pub(crate) precision: Precision,
    /// Whether row points and column points are the same.
    #[cfg_attr(not(feature = "cuda"), allow(dead_code, reason = "the reference computes all entries"))]
    pub(crate) symmetric: bool,
    pub(crate) groups: Vec<Group>,
    /// The device's own copy of the groups, once it has one.
    #[cfg_attr(not(feature = "cuda"), allow(dead_code, reason = "the reference needs none"))]
    pub(crate) copy: DeviceCopy,
}

/// Whatever a device keeps of a bank.
#[derive(Default)]
pub(crate) struct DeviceCopy(pub(crate) OnceLock<Box<dyn Any + Send + Sync>>);

impl fmt::Debug for DeviceCopy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceCopy").field("is_there", &self.0.get().is_some()).finish()
    }
}

impl Bank {
    /// The kernels between column points and row points.
    pub(crate) fn turned(&self) -> Bank {
        let turned = |group: &Group| {
            let mut group = group.clone();
            group.points.swap(0, 1);
            group.gates.swap(0, 1);
            group
        };
        Bank {
            n_rows: self.n_cols,
            n_cols: self.n_rows,
            groups: self.groups.iter().map(turned).collect(),
            copy: DeviceCopy::default(),
            ..*self
        }
    }

    /// Bytes of its points.
    pub(crate) fn bytes(&self) -> u64 {
        let numbers = |group: &Group| group.points.iter().chain(&group.gates).map(Vec::len).sum::<usize>();
        8 * self.groups.iter().map(numbers).sum::<usize>() as u64
    }
}

/// The weights of a bank's kernels.
#[derive(Clone, Debug)]
pub(crate) struct Weights<'a> {
    /// One for each kernel.
    pub(crate) kernels: &'a [f64],
    /// For each group of the bank its weighted sum as one function of the distance, if it has one.
    pub(crate) profiles: Vec<Option<Table<'a>>>,
}

/// A function of the distance, as in `stack::profile`: a quintic on each segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Table<'a> {
    /// The top bits of where the second segment begins.
    pub(crate) first: u64,
    /// The reciprocal of the end of the first segment.
    pub(crate) scale: f64,
    pub(crate) lines: &'a [Line],
}

/// `r^5` and `r^4` as polynomials of lower degree that are nearest to them on [0, 1] and on [-1, 1]: without their
/// Chebyshev polynomials of degree 5 and 4.
const LOWER: [[[f64; COEFFICIENTS]; 2]; 2] = [
    [
        [1.0 / 512.0, -50.0 / 512.0, 400.0 / 512.0, -1120.0 / 512.0, 1280.0 / 512.0, 0.0],
        [-1.0 / 128.0, 32.0 / 128.0, -160.0 / 128.0, 256.0 / 128.0, 0.0, 0.0],
    ],
    [[0.0, -5.0 / 16.0, 0.0, 20.0 / 16.0, 0.0, 0.0], [-1.0 / 8.0, 0.0, 1.0, 0.0, 0.0, 0.0]],
];

impl Table<'_> {
    /// The first `count` coefficients of all segments, those of one degree side by side; of four to six, fewer than six are
    /// of polynomials of lower degree. With four a unit kernel is off by at most 2.4e-8, (x/32)^4 e^-x / (8 4!) at x = 4.
    #[cfg_attr(not(feature = "cuda"), allow(dead_code, reason = "the reference takes all of them"))]
    pub(crate) fn coefficients(&self, count: usize) -> Vec<f64> {
        let lowered = |(segment, line): (usize, &Line)| {
            let mut line: [f64; COEFFICIENTS] = std::array::from_fn(|k| line.0[k]);
            // The first segment is [0, 1], the others are [-1, 1].
            for (degree, instead) in (count..COEFFICIENTS).rev().zip(LOWER[usize::from(segment > 0)]) {
                let top = line[degree];
                line.iter_mut().zip(instead).for_each(|(c, instead)| *c += top * instead);
            }
            line
        };
        let lines: Vec<_> = self.lines.iter().enumerate().map(lowered).collect();
        (0..count).flat_map(|k| lines.iter().map(move |line| line[k])).collect()
    }
}

/// A matrix on a device.
pub(crate) struct Held {
    pub(crate) n_rows: usize,
    pub(crate) n_cols: usize,
    /// Dropped before the values: what a device needs on the thread that gives them back.
    #[allow(dead_code, reason = "its drop is what counts")]
    pub(crate) before: Option<Box<dyn Any + Send + Sync>>,
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
    fn combine(&self, bank: &Bank, rows: Range<usize>, weights: &Weights<'_>) -> Result<Held>;

    /// `K_m V` for some of the row points, V of n_cols x r: numbers ordered by vector, row and kernel.
    fn apply(&self, bank: &Bank, rows: Range<usize>, vectors: &Matrix) -> Result<Vec<f64>>;

    /// `sum_m K_m' G_m` over some of the row points: n_cols x r numbers for `pulls` ordered as [`Engine::apply`] does.
    fn pull(&self, bank: &Bank, rows: Range<usize>, pulls: &[f64]) -> Result<Matrix>;

    /// `<K_m, M_c>` for all kernels (rows) and matrices (columns).
    fn project(&self, bank: &Bank, with: &[With<'_>]) -> Result<Matrix>;

    /// `A V`.
    fn times(&self, matrix: &Held, vectors: &Matrix) -> Result<Matrix>;

    /// Copies a matrix to this machine, row by row.
    fn fetch(&self, matrix: &Held, out: &mut [f64]) -> Result<()>;

    /// Whether it has products of matrices.
    fn squares(&self) -> bool;

    /// `S + A' diag(weights) A` in `f64`, both halves of it once `last` is true, before that the lower one. Weights are
    /// not negative.
    fn square(&self, sum: Option<Held>, matrix: &Held, weights: &[f64], last: bool) -> Result<Held>;

    /// Whether it factors matrices.
    fn factors(&self) -> bool;

    /// Whether it factors matrices of n x n numbers sooner than the processor.
    fn pays(&self, n: usize) -> bool;

    /// `L L' = scale A + shift 11' + diag(d)`, in `f64`, in place; [`Error::NotDefinite`] if there is none.
    fn factor(&self, matrix: Held, scale: f64, shift: f64, d: &[f64]) -> Result<Held>;

    /// `L v` for a factor.
    fn lower_times(&self, factor: &Held, vector: &[f64]) -> Result<Vec<f64>>;

    /// `S + factor (u u' - A)`, in place of A.
    fn slope(&self, sum: Option<Held>, matrix: Held, factor: f64, u: &[f64]) -> Result<Held>;

    /// `A^-1 B` from the factor of A.
    fn solve(&self, factor: &Held, right: &Matrix) -> Result<Matrix>;

    /// The diagonal of a square matrix.
    fn diagonal(&self, matrix: &Held) -> Result<Vec<f64>>;

    /// `A^-1` from its factor, both halves of it.
    fn inverse(&self, factor: &Held) -> Result<Held>;
}
