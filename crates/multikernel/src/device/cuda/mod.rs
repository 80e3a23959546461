//! An NVIDIA GPU through its driver. Nothing of CUDA is needed to build, nor on machines without a GPU.

use std::any::Any;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cudarc::cublas::CudaBlas;
use cudarc::cublas::result::CublasError;
use cudarc::cublas::sys as blas;
use cudarc::cusolver::sys as solver;
use cudarc::cusolver::{CusolverError, DnHandle};
use cudarc::driver::{
    CudaContext, CudaFunction, CudaSlice, CudaStream, DevicePtr, DevicePtrMut, DeviceRepr, DriverError, LaunchConfig,
    PushKernelArg, sys,
};
use cudarc::nvrtc::Ptx;

use super::{Bank, Engine, Function, Group, Held, Quantity, Table, Weights, With};
use crate::error::{Error, Result};
use crate::linalg::Matrix;
use crate::precision::Precision;
use crate::simd::COEFFICIENTS;

/// The device code, compiled by `scripts/ptx`; the driver translates it for its card.
const PTX: &str = include_str!("kernels.ptx");
/// Rows and columns of the tile of a block of threads, as in `kernels.cu`.
const SIDE: usize = 64;
/// Functions projected in one launch, which bounds the memory of partial sums.
const FUNCTIONS: usize = 128;
/// The inverse is computed in place up to this size: beyond it, positions in the matrix exceed the integers of that
/// routine.
const IN_PLACE: usize = 46_000;
/// Functions and vectors that `apply` takes at a time, as in `kernels.cu`, and vectors of its other form.
const AT_ONCE: usize = 8;
const VECTORS: usize = 4;
/// Up to this size an inverse by general products takes less than half the time of the routine that is made for it, beyond
/// as long.
const BY_PRODUCTS: usize = 12_000;
/// Parts in which squares are computed: more leave out more of the upper half, and have narrower products.
const SQUARE_PARTS: usize = 4;
/// Rows whose products one block of `pull` adds up, for few and for many rows: by the shape alone, as sums depend on it.
const PART_ROWS: [usize; 2] = [1024, 8192];
const MANY_ROWS: usize = 1 << 16;
/// Rows from which factors are faster here than on the processor: below, a call takes longer than its work.
const LEAST: usize = 1000;
/// Blocks that share the tiles of a profile, the most bytes of its table, and the top bits of the least normal `f32` as an
/// `f64`.
const PROFILE_BLOCKS: usize = 2112;
const MAX_TABLE_BYTES: usize = 64 << 10;
const FIRST_OF_F32: u64 = (1023 - 126) << 4;
/// Names of device functions without their type.
const TYPED: [&str; 9] =
    ["combine", "project", "times", "profile", "weigh", "apply_one", "apply_four", "pull_one", "pull_four"];
const UNTYPED: [&str; 9] =
    ["add_partial", "add_parts", "shift", "slope", "lower_times", "diagonal", "mirror", "widen", "unit"];

/// One GPU. Calls take turns: each fills the card.
#[derive(Debug)]
pub(super) struct Cuda {
    name: String,
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
    functions: HashMap<String, CudaFunction>,
    solver: Option<DnHandle>,
    blas: Option<CudaBlas>,
    turn: Mutex<()>,
}

/// Makes the card this thread's when it is dropped, before what is declared after it: memory can be given back from a
/// thread that has never called the card, and is an error for the next call otherwise.
struct Bind(Arc<CudaContext>);

impl Drop for Bind {
    fn drop(&mut self) {
        // An error shows in the next call.
        let _ = self.0.bind_to_thread();
    }
}

/// A type of kernel values.
trait Value: DeviceRepr + Copy + Send + Sync + 'static {
    /// Its name in `kernels.cu`.
    const NAME: &'static str;
    /// Coefficients of a profile on each segment, as in `kernels.cu`.
    const COEFFICIENTS: usize;
    fn round(value: f64) -> Self;
}

impl Value for f64 {
    const NAME: &'static str = "double";
    const COEFFICIENTS: usize = COEFFICIENTS;
    fn round(value: f64) -> f64 {
        value
    }
}

impl Value for f32 {
    const NAME: &'static str = "float";
    const COEFFICIENTS: usize = 4;
    fn round(value: f64) -> f32 {
        value as f32
    }
}

fn failed(what: &str) -> impl Fn(DriverError) -> Error + '_ {
    move |error| {
        let help = match error.0 {
            sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY => "; its memory is full: use fewer rows, precision f32 or the cpu",
            _ => "",
        };
        Error::param("device", format!("cuda: {what} failed: {error}{help}"))
    }
}

fn unsolved(what: &str) -> impl Fn(CusolverError) -> Error + '_ {
    move |error| Error::param("device", format!("cuda: {what} failed: {error}"))
}

fn unmultiplied(error: CublasError) -> Error {
    Error::param("device", format!("cuda: a product failed: {error}"))
}

fn foreign() -> Error {
    Error::param("device", "cuda: a matrix of another device")
}

/// The points and kernels of a group on the card.
struct Placed<T> {
    points: [CudaSlice<T>; 2],
    lengths: [CudaSlice<T>; 2],
    gates: [CudaSlice<T>; 2],
    codes: CudaSlice<i32>,
    params: CudaSlice<f64>,
    /// Of the kernels among those of the bank.
    places: CudaSlice<i32>,
    quantity: i32,
    depth: i32,
    gated: i32,
}

fn code_of(function: Function) -> (i32, [f64; 2]) {
    match function {
        Function::Decay { rate } => (0, [rate, 0.0]),
        Function::Power { shift, degree } => (1, [shift, f64::from(degree)]),
        Function::Rational { rate, alpha } => (2, [rate, alpha]),
        Function::Tanh { slope } => (3, [slope, 0.0]),
        Function::OneLess => (4, [0.0, 0.0]),
    }
}

impl Cuda {
    pub(super) fn new() -> Result<Cuda> {
        let none = |why: &str| Error::param("device", format!("cuda: {why}; use cpu"));
        // SAFETY: looks for the driver's library and loads nothing else.
        if !unsafe { sys::is_culib_present() } {
            return Err(none("this machine has no NVIDIA driver"));
        }
        let start = |error: DriverError| none(&format!("the GPU cannot be used: {error}"));
        let context = CudaContext::new(0).map_err(start)?;
        let name = context.name().map_err(start)?;
        let module = context.load_module(Ptx::from_src(PTX)).map_err(start)?;
        let typed = TYPED.iter().flat_map(|name| [f32::NAME, f64::NAME].map(|of| format!("{name}_{of}")));
        let functions = typed
            .chain(UNTYPED.iter().map(ToString::to_string))
            .map(|name| module.load_function(&name).map(|function| (name, function)));
        let functions: HashMap<_, _> = functions.collect::<std::result::Result<_, _>>().map_err(start)?;
        for name in ["profile_float", "profile_double"] {
            let most = sys::CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            functions[name].set_attribute(most, MAX_TABLE_BYTES as i32).map_err(start)?;
        }
        let stream = context.default_stream();
        // SAFETY: looks for the library of factorisations.
        let present = unsafe { solver::is_culib_present() };
        let solver = if present { DnHandle::new(stream.clone()).ok() } else { None };
        // SAFETY: looks for the library of products.
        let present = unsafe { blas::is_culib_present() };
        let blas = if present { CudaBlas::new(stream.clone()).ok() } else { None };
        keep_memory(&context);
        Ok(Cuda { name, context, stream, functions, solver, blas, turn: Mutex::new(()) })
    }

    /// The function of this name for values of type T.
    fn typed<T: Value>(&self, name: &str) -> &CudaFunction {
        &self.functions[&format!("{name}_{}", T::NAME)]
    }

    /// Waits for calls of other threads to end, and makes the card this thread's.
    fn turn(&self) -> Result<MutexGuard<'_, ()>> {
        let turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        self.context.bind_to_thread().map_err(failed("the call"))?;
        Ok(turn)
    }

    /// A matrix on the card.
    fn held<T: Value>(&self, n_rows: usize, n_cols: usize, values: CudaSlice<T>) -> Held {
        let before = Some(Box::new(Bind(self.context.clone())) as Box<dyn Any + Send + Sync>);
        Held { n_rows, n_cols, before, values: Box::new(values) }
    }

    /// A copy on the card; one zero if there is nothing.
    fn send<T: DeviceRepr + Copy>(&self, values: &[T], nothing: T) -> Result<CudaSlice<T>> {
        let values = if values.is_empty() { std::slice::from_ref(&nothing) } else { values };
        self.stream.clone_htod(values).map_err(failed("copying to it"))
    }

    fn room_for<T: DeviceRepr>(&self, n: usize) -> Result<CudaSlice<T>> {
        // SAFETY: every caller's kernel writes all of it before it is read.
        unsafe { self.stream.alloc(n.max(1)) }.map_err(failed(&format!("taking {n} numbers of memory")))
    }

    /// The groups of a bank on the card, where they stay as long as the bank.
    fn placed<'a, T: Value>(&self, bank: &'a Bank) -> Result<&'a [Placed<T>]> {
        if bank.copy.0.get().is_none() {
            let placed = bank.groups.iter().map(|group| self.place::<T>(bank, group)).collect::<Result<Vec<_>>>()?;
            // Calls take turns, so nobody else has set it meanwhile.
            let _ = bank.copy.0.set(Box::new((Bind(self.context.clone()), placed)));
        }
        let found = bank.copy.0.get().and_then(|copy| copy.downcast_ref::<(Bind, Vec<Placed<T>>)>());
        found.map(|(_, placed)| placed.as_slice()).ok_or_else(foreign)
    }

    fn place<T: Value>(&self, bank: &Bank, group: &Group) -> Result<Placed<T>> {
        let send = |values: &[f64]| {
            let rounded: Vec<T> = values.iter().map(|&value| T::round(value)).collect();
            self.send(&rounded, T::round(0.0))
        };
        let (codes, params): (Vec<i32>, Vec<[f64; 2]>) =
            group.kernels.iter().map(|&(_, function)| code_of(function)).unzip();
        let places: Vec<i32> = group.kernels.iter().map(|&(m, _)| m as i32).collect();
        Ok(Placed {
            points: [send(&group.points[0])?, send(&group.points[1])?],
            lengths: [send(&group.lengths(0, bank.n_rows))?, send(&group.lengths(1, bank.n_cols))?],
            gates: [send(&group.gates[0])?, send(&group.gates[1])?],
            codes: self.send(&codes, 0)?,
            params: self.send(params.as_flattened(), 0.0)?,
            places: self.send(&places, 0)?,
            quantity: match group.quantity {
                Quantity::SquaredDistance => 0,
                Quantity::L1Distance => 1,
                Quantity::InnerProduct => 2,
                Quantity::Cosine { shifted: false } => 3,
                Quantity::Cosine { shifted: true } => 4,
            },
            depth: group.depth as i32,
            gated: i32::from(!group.gates[0].is_empty()),
        })
    }

    fn combined<T: Value>(&self, bank: &Bank, rows: Range<usize>, weights: &Weights<'_>) -> Result<Held> {
        let (n_out, n_cols) = (rows.len(), bank.n_cols);
        if bank.groups.is_empty() {
            let zeros: CudaSlice<f64> = self.stream.alloc_zeros(n_out * n_cols).map_err(failed("taking memory"))?;
            return Ok(self.held(n_out, n_cols, zeros));
        }
        let mut out: CudaSlice<T> = self.room_for(n_out * n_cols)?;
        let [n, width, first, high] = [bank.n_rows, n_cols, rows.start, n_out].map(|n| n as i64);
        let groups = bank.groups.iter().zip(self.placed::<T>(bank)?).zip(&weights.profiles);
        for (place, ((group, placed), table)) in groups.enumerate() {
            let add = i32::from(place > 0);
            if let Some(table) = table.filter(fits::<T>) {
                let symmetric = bank.symmetric && n_out == bank.n_rows;
                self.profiled(placed, ([n, width, first, high], symmetric), table, add, &mut out)?;
                continue;
            }
            let weights: Vec<f64> = group.kernels.iter().map(|&(m, _)| weights.kernels[m]).collect();
            let (count, weights) = (weights.len() as i32, self.send(&weights, 0.0)?);
            let mut launch = self.stream.launch_builder(self.typed::<T>("combine"));
            launch.arg(&placed.quantity).arg(&placed.depth).arg(&placed.points[0]).arg(&placed.points[1]);
            launch.arg(&n).arg(&width).arg(&first).arg(&high);
            launch.arg(&placed.lengths[0]).arg(&placed.lengths[1]).arg(&placed.gates[0]).arg(&placed.gates[1]);
            launch.arg(&placed.gated).arg(&count).arg(&placed.codes).arg(&placed.params).arg(&weights);
            launch.arg(&add).arg(&mut out);
            // SAFETY: the arguments are those of combine in kernels.cu, and each array has the length it reads there.
            unsafe { launch.launch(tiles(n_out, n_cols)) }.map_err(failed("combining kernels"))?;
        }
        Ok(self.held(n_out, n_cols, out))
    }

    /// Many radial kernels as one function; they have no gates.
    fn profiled<T: Value>(
        &self,
        placed: &Placed<T>,
        ([n, width, first, high], symmetric): ([i64; 4], bool),
        table: Table<'_>,
        add: i32,
        out: &mut CudaSlice<T>,
    ) -> Result<()> {
        let lines = table.coefficients(T::COEFFICIENTS);
        let shared_mem_bytes = (size_of::<T>() * lines.len()) as u32;
        let (lines, bits, last) = (self.send(&lines, 0.0)?, table.first as i32, table.lines.len() as i32 - 1);
        let symmetric = i32::from(symmetric);
        let mut launch = self.stream.launch_builder(self.typed::<T>("profile"));
        launch.arg(&placed.quantity).arg(&placed.depth).arg(&placed.points[0]).arg(&placed.points[1]);
        launch.arg(&n).arg(&width).arg(&first).arg(&high).arg(&symmetric);
        launch.arg(&bits).arg(&last).arg(&table.scale).arg(&lines).arg(&add).arg(out);
        let blocks = (high as usize).div_ceil(SIDE) * (width as usize).div_ceil(SIDE);
        let shape = LaunchConfig { shared_mem_bytes, ..square_threads(blocks.min(PROFILE_BLOCKS), 1) };
        // SAFETY: the arguments are those of profile in kernels.cu, and each array has the length it reads there.
        unsafe { launch.launch(shape) }.map_err(failed("combining kernels")).map(|_| ())
    }

    fn applied<T: Value>(&self, bank: &Bank, rows: Range<usize>, vectors: &Matrix) -> Result<Vec<f64>> {
        let (n_vectors, count) = (vectors.n_cols(), vectors.n_cols() as i32);
        let numbers = n_vectors * rows.len() * bank.n_kernels;
        // Kernels nobody asked for are in no group.
        let mut out: CudaSlice<f64> = self.stream.alloc_zeros(numbers.max(1)).map_err(failed("taking memory"))?;
        let sent = self.send(vectors.data(), 0.0)?;
        let [n, width, first, high] = [bank.n_rows, bank.n_cols, rows.start, rows.len()].map(|n| n as i64);
        let n_kernels = bank.n_kernels as i64;
        let (name, step) = if n_vectors == 1 { ("apply_one", 1) } else { ("apply_four", VECTORS) };
        for (group, placed) in bank.groups.iter().zip(self.placed::<T>(bank)?) {
            for (from, vector) in pairs(group.kernels.len(), AT_ONCE, n_vectors, step) {
                let (here, vector) = (AT_ONCE.min(group.kernels.len() - from) as i32, vector as i32);
                let (codes, params) = (placed.codes.slice(from..), placed.params.slice(2 * from..));
                let places = placed.places.slice(from..);
                let mut launch = self.stream.launch_builder(self.typed::<T>(name));
                launch.arg(&placed.quantity).arg(&placed.depth).arg(&placed.points[0]).arg(&placed.points[1]);
                launch.arg(&n).arg(&width).arg(&first).arg(&high);
                launch.arg(&placed.lengths[0]).arg(&placed.lengths[1]).arg(&placed.gates[0]).arg(&placed.gates[1]);
                launch.arg(&placed.gated).arg(&here).arg(&codes).arg(&params).arg(&places);
                launch.arg(&n_kernels).arg(&count).arg(&vector).arg(&sent).arg(&mut out);
                // SAFETY: the arguments are those of apply in kernels.cu, and each array has the length it reads there.
                unsafe { launch.launch(square_threads(rows.len().div_ceil(SIDE), 1)) }
                    .map_err(failed("multiplying kernels"))?;
            }
        }
        let mut found = self.stream.clone_dtoh(&out).map_err(failed("copying from it"))?;
        found.truncate(numbers);
        Ok(found)
    }

    fn pulled<T: Value>(&self, bank: &Bank, rows: Range<usize>, pulls: &[f64]) -> Result<Matrix> {
        let n_vectors = pulls.len() / (rows.len() * bank.n_kernels).max(1);
        let (count, size) = (n_vectors as i32, bank.n_cols * n_vectors);
        let part_rows = PART_ROWS[usize::from(rows.len() > MANY_ROWS)];
        let n_parts = rows.len().div_ceil(part_rows).max(1);
        let mut out: CudaSlice<f64> = self.stream.alloc_zeros(size.max(1)).map_err(failed("taking memory"))?;
        let mut partial: CudaSlice<f64> = self.room_for(n_parts * size)?;
        let sent = self.send(pulls, 0.0)?;
        let [n, width, first, high] = [bank.n_rows, bank.n_cols, rows.start, rows.len()].map(|n| n as i64);
        let [n_kernels, part, all, parts] = [bank.n_kernels, part_rows, size, n_parts].map(|n| n as i64);
        let (name, step) = if n_vectors == 1 { ("pull_one", 1) } else { ("pull_four", VECTORS) };
        for (group, placed) in bank.groups.iter().zip(self.placed::<T>(bank)?) {
            let functions = group.kernels.len() as i32;
            for vector in (0..n_vectors).step_by(step).map(|vector| vector as i32) {
                let mut launch = self.stream.launch_builder(self.typed::<T>(name));
                launch.arg(&placed.quantity).arg(&placed.depth).arg(&placed.points[0]).arg(&placed.points[1]);
                launch.arg(&n).arg(&width).arg(&first).arg(&high);
                launch.arg(&placed.lengths[0]).arg(&placed.lengths[1]).arg(&placed.gates[0]).arg(&placed.gates[1]);
                launch.arg(&placed.gated).arg(&functions).arg(&placed.codes).arg(&placed.params).arg(&placed.places);
                launch.arg(&n_kernels).arg(&count).arg(&vector).arg(&sent).arg(&part).arg(&mut partial);
                // SAFETY: the arguments are those of pull in kernels.cu, and each array has the length it reads there.
                unsafe { launch.launch(square_threads(bank.n_cols.div_ceil(SIDE), n_parts)) }
                    .map_err(failed("multiplying kernels"))?;
            }
            let add = 1;
            let mut launch = self.stream.launch_builder(&self.functions["add_parts"]);
            launch.arg(&all).arg(&parts).arg(&add).arg(&partial).arg(&mut out);
            // SAFETY: the arguments are those of add_parts in kernels.cu; every part was just written.
            unsafe { launch.launch(threads(size.div_ceil(256), 256)) }.map_err(failed("adding up"))?;
        }
        let mut found = self.stream.clone_dtoh(&out).map_err(failed("copying from it"))?;
        found.truncate(size);
        Matrix::from_vec(bank.n_cols, n_vectors, found)
    }

    /// The rows of a matrix times the roots of their weights.
    fn weighed<T: Value>(&self, values: &CudaSlice<T>, shape: [usize; 2], weights: &[f64]) -> Result<CudaSlice<f64>> {
        let [n_rows, n_cols] = shape.map(|n| n as i64);
        let (weights, mut out) = (self.send(weights, 0.0)?, self.room_for::<f64>(shape[0] * shape[1])?);
        let mut launch = self.stream.launch_builder(self.typed::<T>("weigh"));
        launch.arg(&n_rows).arg(&n_cols).arg(&weights).arg(values).arg(&mut out);
        // SAFETY: the arguments are those of weigh in kernels.cu; the matrix has n_rows x n_cols numbers.
        unsafe { launch.launch(threads(4096, 256)) }.map_err(failed("weighing rows"))?;
        Ok(out)
    }

    /// `S += A' A` on and below the diagonal, some columns of the result at a time: general products run at several times
    /// the rate of the routine that is made for this.
    fn add_square(&self, a: &CudaSlice<f64>, [n_rows, n]: [usize; 2], sum: &mut CudaSlice<f64>) -> Result<()> {
        let blas = self.blas.as_ref().ok_or_else(|| Error::param("device", "cuda: the library cuBLAS is missing"))?;
        let (a, _a) = a.device_ptr(&self.stream);
        let (c, _c) = sum.device_ptr_mut(&self.stream);
        let (one, lead, depth) = (1.0, n as i64, n_rows as i64);
        let (plain, turned) = (blas::cublasOperation_t::CUBLAS_OP_N, blas::cublasOperation_t::CUBLAS_OP_T);
        let width = n.div_ceil(SQUARE_PARTS).next_multiple_of(SIDE);
        for first in (0..n).step_by(width) {
            // Rows of the result are columns to this library, and those of the matrix, too.
            let (left, above) = ((first + width).min(n), n - first);
            let (at, from) = (8 * (first * n) as u64, 8 * first as u64);
            let (high, wide) = (left as i64, above.min(width) as i64);
            // SAFETY: columns `first` to `first + wide` of the result, of which the first `high` entries are set: those are
            // within n x n numbers, and what is read is within n_rows x n.
            let status = unsafe {
                blas::cublasDgemm_v2_64(
                    *blas.handle(),
                    plain,
                    turned,
                    high,
                    wide,
                    depth,
                    &one,
                    a as *const _,
                    lead,
                    (a + from) as *const _,
                    lead,
                    &one,
                    (c + at) as *mut _,
                    lead,
                )
            };
            status.result().map_err(unmultiplied)?;
        }
        Ok(())
    }

    fn unit(&self, n: usize) -> Result<CudaSlice<f64>> {
        let (mut values, count) = (self.room_for::<f64>(n * n)?, n as i64);
        let mut launch = self.stream.launch_builder(&self.functions["unit"]);
        launch.arg(&count).arg(&mut values);
        // SAFETY: the arguments are those of unit in kernels.cu; the matrix has n x n numbers.
        unsafe { launch.launch(threads(4096, 256)) }.map_err(failed("the unit matrix"))?;
        Ok(values)
    }

    /// `L^-1`, whose square `L'^-1 L^-1` is the inverse of the matrix.
    fn inverse_of_factor(&self, factor: &CudaSlice<f64>, n: usize) -> Result<CudaSlice<f64>> {
        let blas = self.blas.as_ref().ok_or_else(|| Error::param("device", "cuda: the library cuBLAS is missing"))?;
        let mut values = self.unit(n)?;
        {
            let (one, size) = (1.0, n as i64);
            let (matrix, _matrix) = factor.device_ptr(&self.stream);
            let (out, _out) = values.device_ptr_mut(&self.stream);
            // SAFETY: both have n x n numbers. The factor by rows is its transpose to this library, and so is the result.
            let status = unsafe {
                blas::cublasDtrsm_v2_64(
                    *blas.handle(),
                    blas::cublasSideMode_t::CUBLAS_SIDE_LEFT,
                    blas::cublasFillMode_t::CUBLAS_FILL_MODE_UPPER,
                    blas::cublasOperation_t::CUBLAS_OP_N,
                    blas::cublasDiagType_t::CUBLAS_DIAG_NON_UNIT,
                    size,
                    size,
                    &one,
                    matrix as *const _,
                    size,
                    out as *mut _,
                    size,
                )
            };
            status.result().map_err(unmultiplied)?;
        }
        Ok(values)
    }

    /// Makes the upper half of a matrix what the lower one is.
    fn mirrored(&self, values: &mut CudaSlice<f64>, n: usize) -> Result<()> {
        let (count, side) = (n as i64, n.div_ceil(32).max(1) as u32);
        let shape = LaunchConfig { grid_dim: (side, side, 1), block_dim: (32, 8, 1), shared_mem_bytes: 0 };
        let mut launch = self.stream.launch_builder(&self.functions["mirror"]);
        launch.arg(&count).arg(values);
        // SAFETY: the arguments are those of mirror in kernels.cu; the matrix has n x n numbers.
        unsafe { launch.launch(shape) }.map_err(failed("mirroring")).map(|_| ())
    }

    /// `<f, M>` for the functions of a group; u and v are M, or its factors of some rank.
    fn projected<T: Value>(&self, bank: &Bank, at: usize, with: &Sent<'_>) -> Result<Vec<f64>> {
        let (group, placed) = (&bank.groups[at], &self.placed::<T>(bank)?[at]);
        let (n_rows, n_cols) = (bank.n_rows as i64, bank.n_cols as i64);
        let blocks = tiles(bank.n_rows, bank.n_cols);
        let n_blocks = (blocks.grid_dim.0 * blocks.grid_dim.1) as usize;
        let mut found = vec![];
        for first in (0..group.kernels.len()).step_by(FUNCTIONS) {
            let count = FUNCTIONS.min(group.kernels.len() - first);
            let (mut partial, mut sums) = (self.room_for::<f64>(n_blocks * count)?, self.room_for::<f64>(count)?);
            let (codes, params) = (placed.codes.slice(first..), placed.params.slice(2 * first..));
            let count = count as i32;
            let mut launch = self.stream.launch_builder(self.typed::<T>("project"));
            launch.arg(&placed.quantity).arg(&placed.depth).arg(&placed.points[0]).arg(&placed.points[1]);
            launch.arg(&n_rows).arg(&n_cols);
            launch.arg(&placed.lengths[0]).arg(&placed.lengths[1]).arg(&placed.gates[0]).arg(&placed.gates[1]);
            launch.arg(&placed.gated).arg(&count).arg(&codes).arg(&params);
            launch.arg(&with.lower).arg(&with.rank).arg(with.u()).arg(with.v()).arg(&mut partial);
            // SAFETY: the arguments are those of project in kernels.cu, and each array has the length it reads there.
            unsafe { launch.launch(blocks) }.map_err(failed("projecting kernels"))?;
            let all = n_blocks as i64;
            let mut launch = self.stream.launch_builder(&self.functions["add_partial"]);
            launch.arg(&all).arg(&count).arg(&partial).arg(&mut sums);
            // SAFETY: as above, for add_partial.
            unsafe { launch.launch(threads(count as usize, 256)) }.map_err(failed("adding up"))?;
            found.extend(self.stream.clone_dtoh(&sums).map_err(failed("copying from it"))?);
        }
        Ok(found)
    }

    fn multiplied<T: Value>(&self, values: &CudaSlice<T>, shape: [usize; 2], vectors: &Matrix) -> Result<Matrix> {
        let ([n_rows, n_cols], count) = (shape.map(|n| n as i64), vectors.n_cols() as i32);
        let right = self.send(vectors.data(), 0.0)?;
        let mut out: CudaSlice<f64> = self.room_for(shape[0] * vectors.n_cols())?;
        let mut launch = self.stream.launch_builder(self.typed::<T>("times"));
        launch.arg(&n_cols).arg(&count).arg(values).arg(&right).arg(&mut out);
        // SAFETY: the arguments are those of times in kernels.cu, and each array has the length it reads there.
        unsafe { launch.launch(threads(n_rows as usize, 256)) }.map_err(failed("multiplying"))?;
        let found = self.stream.clone_dtoh(&out).map_err(failed("copying from it"))?;
        Matrix::from_vec(shape[0], vectors.n_cols(), found)
    }

    /// The values of a matrix in `f64`.
    fn widened(&self, matrix: Held) -> Result<CudaSlice<f64>> {
        let matrix = match matrix.values.downcast::<CudaSlice<f64>>() {
            Ok(values) => return Ok(*values),
            Err(other) => other,
        };
        let from = matrix.downcast::<CudaSlice<f32>>().map_err(|_| foreign())?;
        let mut to: CudaSlice<f64> = self.room_for(from.len())?;
        let n = from.len() as i64;
        let mut launch = self.stream.launch_builder(&self.functions["widen"]);
        launch.arg(&n).arg(&*from).arg(&mut to);
        // SAFETY: the arguments are those of widen in kernels.cu; both arrays have n numbers.
        unsafe { launch.launch(threads(4096, 256)) }.map_err(failed("widening"))?;
        Ok(to)
    }

    fn solver(&self) -> Result<&DnHandle> {
        self.solver.as_ref().ok_or_else(|| Error::param("device", "cuda: the library cuSOLVER is missing"))
    }

    fn diagonal_of(&self, values: &CudaSlice<f64>, n: usize) -> Result<Vec<f64>> {
        let mut out: CudaSlice<f64> = self.room_for(n)?;
        let count = n as i64;
        let mut launch = self.stream.launch_builder(&self.functions["diagonal"]);
        launch.arg(&count).arg(values).arg(&mut out);
        // SAFETY: the arguments are those of diagonal in kernels.cu; the matrix has n x n numbers.
        unsafe { launch.launch(threads(n.div_ceil(256), 256)) }.map_err(failed("reading the diagonal"))?;
        self.stream.clone_dtoh(&out).map_err(failed("copying from it"))
    }

    /// The factor in place, and the row it failed at, counted from 1.
    fn factored(&self, values: &mut CudaSlice<f64>, n: usize) -> Result<i32> {
        let (solver, mut info) = (self.solver()?, self.send(&[0i32], 0)?);
        let (mut there, mut here) = (0, 0);
        let size = n as i64;
        {
            let (matrix, _matrix) = values.device_ptr_mut(&self.stream);
            // SAFETY: reads the shape alone.
            let status = unsafe {
                solver::cusolverDnXpotrf_bufferSize(
                    solver.cu(),
                    std::ptr::null_mut(),
                    UPPER,
                    size,
                    DOUBLE,
                    matrix as *const _,
                    size,
                    DOUBLE,
                    &mut there,
                    &mut here,
                )
            };
            status.result().map_err(unsolved("planning a factorisation"))?;
        }
        let (mut work, mut own) = (self.room_for::<u8>(there)?, vec![0u8; here.max(1)]);
        {
            let (matrix, _matrix) = values.device_ptr_mut(&self.stream);
            let (work, _work) = work.device_ptr_mut(&self.stream);
            let (info, _info) = info.device_ptr_mut(&self.stream);
            // SAFETY: the matrix has n x n numbers, and both work spaces the sizes just asked for.
            let status = unsafe {
                solver::cusolverDnXpotrf(
                    solver.cu(),
                    std::ptr::null_mut(),
                    UPPER,
                    size,
                    DOUBLE,
                    matrix as *mut _,
                    size,
                    DOUBLE,
                    work as *mut _,
                    there,
                    own.as_mut_ptr().cast(),
                    here,
                    info as *mut _,
                )
            };
            status.result().map_err(unsolved("a factorisation"))?;
        }
        Ok(self.stream.clone_dtoh(&info).map_err(failed("a factorisation"))?[0])
    }

    /// `A^-1 B` in place; B has n numbers for each of its columns.
    fn solved(&self, factor: &CudaSlice<f64>, n: usize, right: &mut CudaSlice<f64>, count: usize) -> Result<()> {
        let (solver, mut info) = (self.solver()?, self.send(&[0i32], 0)?);
        let (matrix, _matrix) = factor.device_ptr(&self.stream);
        let (right, _right) = right.device_ptr_mut(&self.stream);
        let (info, _info) = info.device_ptr_mut(&self.stream);
        let size = n as i64;
        // SAFETY: the factor has n x n numbers, the right side n x count.
        let status = unsafe {
            solver::cusolverDnXpotrs(
                solver.cu(),
                std::ptr::null_mut(),
                UPPER,
                size,
                count as i64,
                DOUBLE,
                matrix as *const _,
                size,
                DOUBLE,
                right as *mut _,
                size,
                info as *mut _,
            )
        };
        status.result().map_err(unsolved("solving"))
    }

    /// Half of the inverse in place of the factor.
    fn inverted(&self, values: &mut CudaSlice<f64>, n: usize) -> Result<()> {
        let (solver, mut info) = (self.solver()?, self.send(&[0i32], 0)?);
        let (size, mut count) = (n as i32, 0);
        {
            let (matrix, _matrix) = values.device_ptr_mut(&self.stream);
            // SAFETY: reads the shape alone.
            let status = unsafe {
                solver::cusolverDnDpotri_bufferSize(solver.cu(), UPPER, size, matrix as *mut _, size, &mut count)
            };
            status.result().map_err(unsolved("planning an inverse"))?;
        }
        let mut work: CudaSlice<f64> = self.room_for(count.max(0) as usize)?;
        {
            let (matrix, _matrix) = values.device_ptr_mut(&self.stream);
            let (work, _work) = work.device_ptr_mut(&self.stream);
            let (info, _info) = info.device_ptr_mut(&self.stream);
            // SAFETY: the matrix has n x n numbers, the work space the size just asked for.
            let status = unsafe {
                solver::cusolverDnDpotri(
                    solver.cu(),
                    UPPER,
                    size,
                    matrix as *mut _,
                    size,
                    work as *mut _,
                    count,
                    info as *mut _,
                )
            };
            status.result().map_err(unsolved("an inverse"))?;
        }
        let info = self.stream.clone_dtoh(&info).map_err(failed("an inverse"))?[0];
        if info == 0 { Ok(()) } else { Err(Error::NotDefinite { row: info.unsigned_abs() as usize - 1, pivot: 0.0 }) }
    }
}

/// The lower half by rows is the upper one by columns, which is how the solver counts.
const UPPER: solver::cublasFillMode_t = solver::cublasFillMode_t::CUBLAS_FILL_MODE_UPPER;
const DOUBLE: solver::cudaDataType = solver::cudaDataType_t::CUDA_R_64F;

/// One block of threads for each tile.
fn tiles(n_rows: usize, n_cols: usize) -> LaunchConfig {
    let count = |n: usize| n.div_ceil(SIDE).max(1) as u32;
    LaunchConfig { grid_dim: (count(n_cols), count(n_rows), 1), block_dim: (16, 16, 1), shared_mem_bytes: 0 }
}

/// Whether a table is within the memory of a block, and its segments within the exponents of T.
fn fits<T: Value>(table: &Table<'_>) -> bool {
    let is_narrow = size_of::<T>() == size_of::<f32>();
    size_of::<T>() * T::COEFFICIENTS * table.lines.len() <= MAX_TABLE_BYTES
        && (!is_narrow || table.first >= FIRST_OF_F32)
}

/// Blocks of 16 x 16 threads.
fn square_threads(n_blocks: usize, n_parts: usize) -> LaunchConfig {
    let grid_dim = (n_blocks.max(1) as u32, n_parts.max(1) as u32, 1);
    LaunchConfig { grid_dim, block_dim: (16, 16, 1), shared_mem_bytes: 0 }
}

/// Where each step of both ranges begins.
fn pairs(n: usize, step: usize, m: usize, other: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..n).step_by(step).flat_map(move |first| (0..m).step_by(other).map(move |second| (first, second)))
}

/// Lets the driver keep memory that calls return, for the next one: taking it anew from the card takes longer than many
/// a call.
fn keep_memory(context: &CudaContext) {
    let (mut pool, mut most) = (std::ptr::null_mut(), u64::MAX);
    // SAFETY: the pool belongs to the device; the attribute is a number of 64 bits. A driver that refuses changes nothing.
    unsafe {
        if sys::cuDeviceGetDefaultMemPool(&mut pool, context.cu_device()).result().is_ok() {
            let threshold = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
            let _ = sys::cuMemPoolSetAttribute(pool, threshold, (&raw mut most).cast());
        }
    }
}

/// Bytes that the driver holds for the next call.
fn kept_memory(context: &CudaContext) -> u64 {
    let (mut pool, mut held, mut used) = (std::ptr::null_mut(), 0u64, 0u64);
    let reserved = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT;
    let in_use = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_CURRENT;
    // SAFETY: as in `keep_memory`; where a call fails the numbers stay 0.
    unsafe {
        if sys::cuDeviceGetDefaultMemPool(&mut pool, context.cu_device()).result().is_ok() {
            let _ = sys::cuMemPoolGetAttribute(pool, reserved, (&raw mut held).cast());
            let _ = sys::cuMemPoolGetAttribute(pool, in_use, (&raw mut used).cast());
        }
    }
    held.saturating_sub(used)
}

fn threads(n_blocks: usize, n_threads: u32) -> LaunchConfig {
    LaunchConfig { grid_dim: (n_blocks.max(1) as u32, 1, 1), block_dim: (n_threads, 1, 1), shared_mem_bytes: 0 }
}

/// A matrix to project on, on the card.
struct Sent<'a> {
    lower: i32,
    rank: i32,
    held: Option<&'a CudaSlice<f64>>,
    sent: Vec<CudaSlice<f64>>,
}

impl Sent<'_> {
    fn u(&self) -> &CudaSlice<f64> {
        self.held.unwrap_or_else(|| &self.sent[0])
    }

    fn v(&self) -> &CudaSlice<f64> {
        self.sent.last().unwrap_or_else(|| self.u())
    }
}

impl Engine for Cuda {
    fn name(&self) -> &str {
        &self.name
    }

    fn room(&self) -> Result<u64> {
        let _turn = self.turn()?;
        // Memory is returned as calls end.
        self.stream.synchronize().map_err(failed("the call"))?;
        let free = self.context.mem_get_info().map_err(failed("asking for its memory"))?.0 as u64;
        Ok(free + kept_memory(&self.context))
    }

    fn piece(&self) -> Result<u64> {
        Ok(self.room()? / 4)
    }

    fn combine(&self, bank: &Bank, rows: Range<usize>, weights: &Weights<'_>) -> Result<Held> {
        let _turn = self.turn()?;
        match bank.precision {
            Precision::F64 => self.combined::<f64>(bank, rows, weights),
            Precision::F32 => self.combined::<f32>(bank, rows, weights),
        }
    }

    fn apply(&self, bank: &Bank, rows: Range<usize>, vectors: &Matrix) -> Result<Vec<f64>> {
        let _turn = self.turn()?;
        match bank.precision {
            Precision::F64 => self.applied::<f64>(bank, rows, vectors),
            Precision::F32 => self.applied::<f32>(bank, rows, vectors),
        }
    }

    fn pull(&self, bank: &Bank, rows: Range<usize>, pulls: &[f64]) -> Result<Matrix> {
        let _turn = self.turn()?;
        match bank.precision {
            Precision::F64 => self.pulled::<f64>(bank, rows, pulls),
            Precision::F32 => self.pulled::<f32>(bank, rows, pulls),
        }
    }

    fn project(&self, bank: &Bank, with: &[With<'_>]) -> Result<Matrix> {
        let _turn = self.turn()?;
        let mut sums = Matrix::zeros(bank.n_kernels, with.len());
        for (c, with) in with.iter().enumerate() {
            let whole = |matrix: &Matrix, lower| -> Result<Sent<'_>> {
                Ok(Sent { lower, rank: 0, held: None, sent: vec![self.send(matrix.data(), 0.0)?] })
            };
            let sent = match with {
                With::Held(matrix) => {
                    let values = matrix.values.downcast_ref::<CudaSlice<f64>>().ok_or_else(foreign)?;
                    Sent { lower: 0, rank: 0, held: Some(values), sent: vec![] }
                }
                With::Dense(matrix) => whole(matrix, 0)?,
                With::Lower(matrix) => whole(matrix, 1)?,
                With::Factored(u, v) => {
                    let sent = vec![self.send(u.data(), 0.0)?, self.send(v.data(), 0.0)?];
                    Sent { lower: 0, rank: u.n_cols() as i32, held: None, sent }
                }
            };
            if matches!(with, With::Factored(u, _) if u.n_cols() == 0) {
                continue;
            }
            for (at, group) in bank.groups.iter().enumerate() {
                let found = match bank.precision {
                    Precision::F64 => self.projected::<f64>(bank, at, &sent)?,
                    Precision::F32 => self.projected::<f32>(bank, at, &sent)?,
                };
                group.kernels.iter().zip(found).for_each(|(&(m, _), sum)| sums.set(m, c, sum));
            }
        }
        Ok(sums)
    }

    fn times(&self, matrix: &Held, vectors: &Matrix) -> Result<Matrix> {
        let _turn = self.turn()?;
        let shape = [matrix.n_rows, matrix.n_cols];
        if let Some(values) = matrix.values.downcast_ref::<CudaSlice<f64>>() {
            return self.multiplied(values, shape, vectors);
        }
        self.multiplied(matrix.values.downcast_ref::<CudaSlice<f32>>().ok_or_else(foreign)?, shape, vectors)
    }

    fn fetch(&self, matrix: &Held, out: &mut [f64]) -> Result<()> {
        let _turn = self.turn()?;
        if let Some(values) = matrix.values.downcast_ref::<CudaSlice<f64>>() {
            self.stream.memcpy_dtoh(values, out).map_err(failed("copying from it"))?;
            return self.stream.synchronize().map_err(failed("copying from it"));
        }
        let values = matrix.values.downcast_ref::<CudaSlice<f32>>().ok_or_else(foreign)?;
        let found = self.stream.clone_dtoh(values).map_err(failed("copying from it"))?;
        out.iter_mut().zip(found).for_each(|(out, value)| *out = f64::from(value));
        Ok(())
    }

    fn squares(&self) -> bool {
        self.blas.is_some()
    }

    fn square(&self, sum: Option<Held>, matrix: &Held, weights: &[f64], last: bool) -> Result<Held> {
        let _turn = self.turn()?;
        let (n_rows, n) = (matrix.n_rows, matrix.n_cols);
        let weighed = match matrix.values.downcast_ref::<CudaSlice<f64>>() {
            Some(values) => self.weighed(values, [n_rows, n], weights)?,
            None => {
                let values = matrix.values.downcast_ref::<CudaSlice<f32>>().ok_or_else(foreign)?;
                self.weighed(values, [n_rows, n], weights)?
            }
        };
        let mut out = match sum {
            Some(sum) => *sum.values.downcast::<CudaSlice<f64>>().map_err(|_| foreign())?,
            None => self.stream.alloc_zeros(n * n).map_err(failed("taking memory"))?,
        };
        self.add_square(&weighed, [n_rows, n], &mut out)?;
        if last {
            self.mirrored(&mut out, n)?;
        }
        Ok(self.held(n, n, out))
    }

    fn factors(&self) -> bool {
        self.solver.is_some()
    }

    fn pays(&self, n: usize) -> bool {
        n >= LEAST
    }

    fn lower_times(&self, factor: &Held, vector: &[f64]) -> Result<Vec<f64>> {
        let _turn = self.turn()?;
        let values = factor.values.downcast_ref::<CudaSlice<f64>>().ok_or_else(foreign)?;
        let (n, vector) = (factor.n_rows as i64, self.send(vector, 0.0)?);
        let mut out: CudaSlice<f64> = self.room_for(factor.n_rows)?;
        let mut launch = self.stream.launch_builder(&self.functions["lower_times"]);
        launch.arg(&n).arg(values).arg(&vector).arg(&mut out);
        // SAFETY: the arguments are those of lower_times in kernels.cu; the factor has n x n numbers.
        unsafe { launch.launch(threads(factor.n_rows, 256)) }.map_err(failed("multiplying"))?;
        self.stream.clone_dtoh(&out).map_err(failed("copying from it"))
    }

    fn slope(&self, sum: Option<Held>, matrix: Held, factor: f64, u: &[f64]) -> Result<Held> {
        let _turn = self.turn()?;
        let (size, n) = (matrix.n_rows, matrix.n_rows as i64);
        let mut values = *matrix.values.downcast::<CudaSlice<f64>>().map_err(|_| foreign())?;
        let sum = sum.map(|sum| sum.values.downcast::<CudaSlice<f64>>()).transpose().map_err(|_| foreign())?;
        let (u, add) = (self.send(u, 0.0)?, i32::from(sum.is_some()));
        let before = sum.as_deref().unwrap_or(&u);
        let mut launch = self.stream.launch_builder(&self.functions["slope"]);
        launch.arg(&n).arg(&factor).arg(&u).arg(&add).arg(before).arg(&mut values);
        // SAFETY: the arguments are those of slope in kernels.cu; both matrices have n x n numbers, and the sum is not
        // read without `add`.
        unsafe { launch.launch(threads(size.min(4096), 256)) }.map_err(failed("adding up"))?;
        Ok(self.held(size, size, values))
    }

    fn factor(&self, matrix: Held, scale: f64, shift: f64, d: &[f64]) -> Result<Held> {
        let _turn = self.turn()?;
        let n = matrix.n_rows;
        let mut values = self.widened(matrix)?;
        let (count, d) = (n as i64, self.send(d, 0.0)?);
        let mut launch = self.stream.launch_builder(&self.functions["shift"]);
        launch.arg(&count).arg(&scale).arg(&shift).arg(&d).arg(&mut values);
        // SAFETY: the arguments are those of shift in kernels.cu; the matrix has n x n numbers.
        unsafe { launch.launch(threads(n.min(4096), 256)) }.map_err(failed("adding to the diagonal"))?;
        let before = self.diagonal_of(&values, n)?;
        let info = self.factored(&mut values, n)?;
        if info != 0 {
            let row = (info.unsigned_abs() as usize).saturating_sub(1);
            return Err(Error::NotDefinite { row, pivot: f64::NAN });
        }
        // What the processor's factorisation asks of each pivot; NaN is not above anything.
        let pivots = self.diagonal_of(&values, n)?.into_iter().map(|root| root * root);
        let least = |entry: f64| n as f64 * f64::EPSILON * entry.abs();
        if let Some((row, (pivot, _))) = pivots
            .zip(before)
            .enumerate()
            .find(|(_, (pivot, entry))| pivot.partial_cmp(&least(*entry)).is_none_or(|order| order.is_le()))
        {
            return Err(Error::NotDefinite { row, pivot });
        }
        Ok(self.held(n, n, values))
    }

    fn solve(&self, factor: &Held, right: &Matrix) -> Result<Matrix> {
        let _turn = self.turn()?;
        let values = factor.values.downcast_ref::<CudaSlice<f64>>().ok_or_else(foreign)?;
        let mut sides = self.send(right.transposed().data(), 0.0)?;
        self.solved(values, factor.n_rows, &mut sides, right.n_cols())?;
        let found = self.stream.clone_dtoh(&sides).map_err(failed("copying from it"))?;
        Ok(Matrix::from_vec(right.n_cols(), factor.n_rows, found)?.transposed())
    }

    fn diagonal(&self, matrix: &Held) -> Result<Vec<f64>> {
        let _turn = self.turn()?;
        self.diagonal_of(matrix.values.downcast_ref().ok_or_else(foreign)?, matrix.n_rows)
    }

    fn inverse(&self, factor: &Held) -> Result<Held> {
        let _turn = self.turn()?;
        let (n, held) = (factor.n_rows, factor.values.downcast_ref::<CudaSlice<f64>>().ok_or_else(foreign)?);
        let values = if n <= BY_PRODUCTS && self.blas.is_some() {
            let mut out: CudaSlice<f64> = self.stream.alloc_zeros(n * n).map_err(failed("taking memory"))?;
            self.add_square(&self.inverse_of_factor(held, n)?, [n, n], &mut out)?;
            self.mirrored(&mut out, n)?;
            out
        } else if n <= IN_PLACE {
            let mut values = self.stream.clone_dtod(held).map_err(failed("copying on it"))?;
            self.inverted(&mut values, n)?;
            self.mirrored(&mut values, n)?;
            values
        } else {
            let mut values = self.unit(n)?;
            self.solved(held, n, &mut values, n)?;
            values
        };
        Ok(self.held(n, n, values))
    }
}
