//! An NVIDIA GPU through its driver. Nothing of CUDA is needed to build, nor on machines without a GPU.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cudarc::cusolver::sys as solver;
use cudarc::cusolver::{CusolverError, DnHandle};
use cudarc::driver::{
    CudaContext, CudaFunction, CudaSlice, CudaStream, DevicePtr, DevicePtrMut, DeviceRepr, DriverError, LaunchConfig,
    PushKernelArg, sys,
};
use cudarc::nvrtc::Ptx;

use super::{Bank, Engine, Function, Group, Held, Quantity, With};
use crate::error::{Error, Result};
use crate::linalg::Matrix;
use crate::precision::Precision;

/// The device code, compiled by `scripts/ptx`; the driver translates it for its card.
const PTX: &str = include_str!("kernels.ptx");
/// Rows and columns of the tile of a block of threads, as in `kernels.cu`.
const SIDE: usize = 64;
/// Functions projected in one launch, which bounds the memory of partial sums.
const FUNCTIONS: usize = 128;
/// The inverse is computed in place up to this size: beyond it, positions in the matrix exceed the integers of that
/// routine.
const IN_PLACE: usize = 46_000;
const NAMES: [&str; 12] = [
    "combine_float",
    "combine_double",
    "project_float",
    "project_double",
    "times_float",
    "times_double",
    "add_partial",
    "add_diagonal",
    "diagonal",
    "mirror",
    "widen",
    "unit",
];

/// One GPU. Calls take turns: each fills the card.
#[derive(Debug)]
pub(super) struct Cuda {
    name: String,
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
    functions: HashMap<&'static str, CudaFunction>,
    solver: Option<DnHandle>,
    turn: Mutex<()>,
}

/// A type of kernel values.
trait Value: DeviceRepr + Copy + Send + Sync + 'static {
    /// Its name in `kernels.cu`.
    const NAME: &'static str;
    fn round(value: f64) -> Self;
}

impl Value for f64 {
    const NAME: &'static str = "double";
    fn round(value: f64) -> f64 {
        value
    }
}

impl Value for f32 {
    const NAME: &'static str = "float";
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
        let functions = NAMES.iter().map(|name| module.load_function(name).map(|function| (*name, function)));
        let functions: HashMap<_, _> = functions.collect::<std::result::Result<_, _>>().map_err(start)?;
        let stream = context.default_stream();
        // SAFETY: looks for the library of factorisations.
        let present = unsafe { solver::is_culib_present() };
        let solver = if present { DnHandle::new(stream.clone()).ok() } else { None };
        Ok(Cuda { name, context, stream, functions, solver, turn: Mutex::new(()) })
    }

    /// Waits for calls of other threads to end, and makes the card this thread's.
    fn turn(&self) -> Result<MutexGuard<'_, ()>> {
        let turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        self.context.bind_to_thread().map_err(failed("the call"))?;
        Ok(turn)
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

    fn place<T: Value>(&self, bank: &Bank, group: &Group) -> Result<Placed<T>> {
        let send = |values: &[f64]| {
            let rounded: Vec<T> = values.iter().map(|&value| T::round(value)).collect();
            self.send(&rounded, T::round(0.0))
        };
        let (codes, params): (Vec<i32>, Vec<[f64; 2]>) =
            group.kernels.iter().map(|&(_, function)| code_of(function)).unzip();
        Ok(Placed {
            points: [send(&group.points[0])?, send(&group.points[1])?],
            lengths: [send(&group.lengths(0, bank.n_rows))?, send(&group.lengths(1, bank.n_cols))?],
            gates: [send(&group.gates[0])?, send(&group.gates[1])?],
            codes: self.send(&codes, 0)?,
            params: self.send(params.as_flattened(), 0.0)?,
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

    fn combined<T: Value>(&self, bank: &Bank, rows: Range<usize>, weights: &[f64]) -> Result<Held> {
        let (n_out, n_cols) = (rows.len(), bank.n_cols);
        let mut out: CudaSlice<T> = self.room_for(n_out * n_cols)?;
        let [n, width, first, high] = [bank.n_rows, n_cols, rows.start, n_out].map(|n| n as i64);
        let mut add = 0;
        for group in &bank.groups {
            let placed: Placed<T> = self.place(bank, group)?;
            let weights: Vec<f64> = group.kernels.iter().map(|&(m, _)| weights[m]).collect();
            let (count, weights) = (weights.len() as i32, self.send(&weights, 0.0)?);
            let mut launch = self.stream.launch_builder(&self.functions[NAMES[usize::from(T::NAME == "double")]]);
            launch.arg(&placed.quantity).arg(&placed.depth).arg(&placed.points[0]).arg(&placed.points[1]);
            launch.arg(&n).arg(&width).arg(&first).arg(&high);
            launch.arg(&placed.lengths[0]).arg(&placed.lengths[1]).arg(&placed.gates[0]).arg(&placed.gates[1]);
            launch.arg(&placed.gated).arg(&count).arg(&placed.codes).arg(&placed.params).arg(&weights).arg(&add);
            launch.arg(&mut out);
            // SAFETY: the arguments are those of combine in kernels.cu, and each array has the length it reads there.
            unsafe { launch.launch(tiles(n_out, n_cols)) }.map_err(failed("combining kernels"))?;
            add = 1;
        }
        Ok(Held { n_rows: n_out, n_cols, values: Box::new(out) })
    }

    /// `<f, M>` for the functions of a group; u and v are M, or its factors of some rank.
    fn projected<T: Value>(&self, bank: &Bank, group: &Group, with: &Sent<'_>) -> Result<Vec<f64>> {
        let placed: Placed<T> = self.place(bank, group)?;
        let (n_rows, n_cols) = (bank.n_rows as i64, bank.n_cols as i64);
        let blocks = tiles(bank.n_rows, bank.n_cols);
        let n_blocks = (blocks.grid_dim.0 * blocks.grid_dim.1) as usize;
        let mut found = vec![];
        for first in (0..group.kernels.len()).step_by(FUNCTIONS) {
            let count = FUNCTIONS.min(group.kernels.len() - first);
            let (mut partial, mut sums) = (self.room_for::<f64>(n_blocks * count)?, self.room_for::<f64>(count)?);
            let (codes, params) = (placed.codes.slice(first..), placed.params.slice(2 * first..));
            let count = count as i32;
            let mut launch = self.stream.launch_builder(&self.functions[NAMES[2 + usize::from(T::NAME == "double")]]);
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
        let mut launch = self.stream.launch_builder(&self.functions[NAMES[4 + usize::from(T::NAME == "double")]]);
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
        Ok(self.context.mem_get_info().map_err(failed("asking for its memory"))?.0 as u64)
    }

    fn piece(&self) -> Result<u64> {
        Ok(self.room()? / 4)
    }

    fn combine(&self, bank: &Bank, rows: Range<usize>, weights: &[f64]) -> Result<Held> {
        let _turn = self.turn()?;
        match bank.precision {
            Precision::F64 => self.combined::<f64>(bank, rows, weights),
            Precision::F32 => self.combined::<f32>(bank, rows, weights),
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
            for group in &bank.groups {
                let found = match bank.precision {
                    Precision::F64 => self.projected::<f64>(bank, group, &sent)?,
                    Precision::F32 => self.projected::<f32>(bank, group, &sent)?,
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

    fn factors(&self) -> bool {
        self.solver.is_some()
    }

    fn factor(&self, matrix: Held, shift: f64) -> Result<Held> {
        let _turn = self.turn()?;
        let n = matrix.n_rows;
        let mut values = self.widened(matrix)?;
        let count = n as i64;
        let mut launch = self.stream.launch_builder(&self.functions["add_diagonal"]);
        launch.arg(&count).arg(&shift).arg(&mut values);
        // SAFETY: the arguments are those of add_diagonal in kernels.cu; the matrix has n x n numbers.
        unsafe { launch.launch(threads(n.div_ceil(256), 256)) }.map_err(failed("adding to the diagonal"))?;
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
        Ok(Held { n_rows: n, n_cols: n, values: Box::new(values) })
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
        let count = n as i64;
        let values = if n <= IN_PLACE {
            let mut values = self.stream.clone_dtod(held).map_err(failed("copying on it"))?;
            self.inverted(&mut values, n)?;
            let side = n.div_ceil(32).max(1) as u32;
            let shape = LaunchConfig { grid_dim: (side, side, 1), block_dim: (32, 8, 1), shared_mem_bytes: 0 };
            let mut launch = self.stream.launch_builder(&self.functions["mirror"]);
            launch.arg(&count).arg(&mut values);
            // SAFETY: the arguments are those of mirror in kernels.cu; the matrix has n x n numbers.
            unsafe { launch.launch(shape) }.map_err(failed("mirroring"))?;
            values
        } else {
            let mut values: CudaSlice<f64> = self.room_for(n * n)?;
            let mut launch = self.stream.launch_builder(&self.functions["unit"]);
            launch.arg(&count).arg(&mut values);
            // SAFETY: the arguments are those of unit in kernels.cu; the matrix has n x n numbers.
            unsafe { launch.launch(threads(4096, 256)) }.map_err(failed("the unit matrix"))?;
            self.solved(held, n, &mut values, n)?;
            values
        };
        Ok(Held { n_rows: n, n_cols: n, values: Box::new(values) })
    }
}
