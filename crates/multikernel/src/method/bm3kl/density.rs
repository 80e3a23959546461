//! The likelihood of kernel weights and variances with the functions integrated out, and its gradient: for all chains
//! at once, so that they share each pass over the kernels.
//!
//! Given the scales of the loss, `t = delta (1 + lambda)` is normal around the function with variances lambda, so `t ~
//! N(0, S)` with `S = nu (H + j I) + tau 11' + diag(lambda)` (prior=gp) or `S = H diag(nu) H + tau 11' + diag(lambda)`
//! (prior=paper), with H the combined kernel. Under prior=gp these matrices are over the n distinct points, which the N
//! rows share.
//!
//! Under likelihood=logit, `1 / (1 + exp(-delta f)) = E exp(delta f / 2 - omega f^2 / 2) / 2` with omega ~ PG(1, 0), so
//! given omega a row is an observation `t = delta lambda / 2` of the function with variance `lambda = 1 / omega`.
//!
//! Numbers are observations of the function given their scales too: see `numbers`.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::chain::Latent;
use super::distinct::{Distinct, Seen};
use super::settings::{FunctionPrior, Settings};
use crate::device::Held;
use crate::error::{Error, Result};
use crate::linalg::{Matrix, dot};
use crate::method::factor::Factor;
use crate::pool::Pool;
use crate::simd::exp;
use crate::solve::cholesky::{Beside, Cholesky, ShiftedMatrix};
use crate::solve::product::{PackedRows, product};
use crate::stack::{Precision, Stack, Symmetric};

/// Added to the diagonal of the combined kernel, relative to it: keeps functions of narrow kernels single-valued on
/// equal rows.
const JITTER: f64 = 1e-6;
/// Added in proportion to the number of rows where kernels are stored in `f32`, whose rounding can shift eigenvalues by
/// as much.
const JITTER_OF_ROUNDING: f64 = 1e-7;
/// Functions whose matrices one task sums: set by the shape alone, so the number of threads changes no bit.
const CHUNK: usize = 4;
/// Rows from which matrices that are fewer than the threads are worked on by all threads.
const MIN_IN_STEP: usize = 128;

/// The data of a run.
pub(super) struct Problem<'a> {
    /// The kernels between points.
    pub(super) stack: &'a Stack,
    pub(super) pool: &'a Pool,
    pub(super) settings: &'a Settings,
    /// Functions x N: +1 for rows of the function's class, else -1; the numbers, where they are predicted.
    pub(super) sign: Matrix,
    /// The required margin times the sign, or the numbers; tests treat it as data.
    pub(super) margin: Matrix,
    /// The mean square of the margins, which is the mean diagonal entry of the scaled kernels.
    pub(super) variance: f64,
    /// See [`Bm3klState`](super::chain::Bm3klState).
    pub(super) scale: f64,
    /// The mapping of rows to points; under prior=paper each row has a sample weight of its own, and is its own point.
    pub(super) distinct: &'a Distinct,
    /// The combined kernel of uniform weights between points, if weights are not learned.
    pub(super) fixed: Option<&'a Matrix>,
    /// Whether matrices are factored on the pool's device.
    pub(super) there: bool,
    pub(super) stop: &'a (dyn Fn() -> bool + Sync),
}

/// Where to evaluate the likelihood.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) weights: &'a [f64],
    pub(super) log_nu: &'a [f64],
    pub(super) latent: &'a Latent,
}

/// The likelihood at a place.
pub(super) struct Point {
    pub(super) likelihood: f64,
    /// Its gradient in the kernel weights, as if they were unconstrained.
    pub(super) by_weight: Vec<f64>,
    /// Its derivatives in the logarithms of the variances, which all functions share.
    pub(super) by_log_nu: Vec<f64>,
    /// The combined kernel between points, scaled; `None` if it was computed on the device.
    pub(super) kernel: Option<Matrix>,
    pub(super) parts: Vec<FunctionPosterior>,
}

/// One function at a place.
pub(super) struct FunctionPosterior {
    pub(super) factor: Factor,
    /// `S^-1 t`.
    pub(super) solved: Vec<f64>,
    /// The diagonal of `S^-1`, if slopes were requested.
    pub(super) diagonal: Vec<f64>,
    likelihood: f64,
    /// In `log nu`, and in the logarithm of the noise.
    by_log_nu: [f64; 2],
}

/// What all rows say about a function given their scales: observations of it with normal noise.
pub(super) struct Observed {
    pub(super) t: Vec<f64>,
    pub(super) lambda: Vec<f64>,
    /// Numbers: the part of t that is proportional to the noise.
    pub(super) shift: Vec<f64>,
}

impl Problem<'_> {
    pub(super) fn n(&self) -> usize {
        self.sign.n_cols()
    }

    /// The value added to the diagonal of the combined kernel.
    pub(super) fn jitter(&self) -> f64 {
        let share = match self.stack.precision() {
            Precision::F64 => JITTER,
            Precision::F32 => JITTER + JITTER_OF_ROUNDING * self.distinct.n() as f64,
        };
        self.variance * share
    }

    pub(super) fn n_functions(&self) -> usize {
        self.sign.n_rows()
    }

    /// `t` and its variances for one function, row by row, at these logarithms of variances.
    pub(super) fn observed(&self, latent: &Latent, log_nu: &[f64], c: usize) -> Observed {
        if let Some(noise) = self.settings.noise {
            return noise.observed(latent, self.margin.row(c), log_nu[1], c);
        }
        let lambda = latent.lambda.row(c);
        let of_row = |((lambda, sign), margin): ((&f64, &f64), &f64)| {
            if self.settings.is_logit() { 0.5 * sign * lambda } else { margin + sign * lambda }
        };
        let t = lambda.iter().zip(self.sign.row(c)).zip(self.margin.row(c)).map(of_row).collect();
        Observed { t, lambda: lambda.to_vec(), shift: vec![] }
    }

    /// The information of all rows about one function, point by point, where the chain is.
    pub(super) fn seen(&self, latent: &Latent, c: usize) -> Seen {
        let Observed { t, lambda, .. } = self.observed(latent, &latent.log_nu, c);
        self.distinct.seen(&t, &lambda)
    }

    /// The pool for work inside one of `n` parallel tasks.
    pub(super) fn inner_pool(&self, n: usize) -> Result<&Pool> {
        if n >= self.pool.n_threads() { Pool::alone() } else { Ok(self.pool) }
    }

    /// The likelihood at each place; `None` where a matrix is not positive definite. Two passes over the kernels for
    /// all places with slopes, one without; n^3 operations per place and function with slopes, a third of that without
    /// (prior=gp).
    pub(super) fn evaluate(&self, places: &[Place<'_>], slopes: bool) -> Result<Vec<Option<Point>>> {
        if self.there {
            return places.iter().map(|place| self.point_there(*place, slopes)).collect();
        }
        let kernels = self.combine(places)?;
        let found = match self.settings.prior {
            FunctionPrior::Gp => self.gp_parts(&kernels, places, slopes)?,
            FunctionPrior::Paper => self.shrunk_parts(&kernels, places, slopes)?,
        };
        let mut points: Vec<Option<Point>> = vec![];
        let mut sums: Vec<Matrix> = vec![];
        for (kernel, found) in kernels.into_iter().zip(found) {
            points.push(found.map(|(parts, sum)| {
                sums.extend(sum);
                Point::of(Some(kernel), parts)
            }));
        }
        if slopes && self.settings.learned {
            let form = if self.settings.prior == FunctionPrior::Gp { Symmetric::Lower } else { Symmetric::Dense };
            let with: Vec<Symmetric<'_>> = sums.iter().map(form).collect();
            let slopes = self.stack.project(&with, self.pool)?;
            for (k, point) in points.iter_mut().flatten().enumerate() {
                point.by_weight = slopes.rows().map(|row| self.scale * row[k]).collect();
            }
        }
        sums.into_iter().for_each(Matrix::give_back);
        Ok(points)
    }

    /// The likelihood at one place on the device, where each function's matrix is computed, factored and inverted.
    fn point_there(&self, place: Place<'_>, slopes: bool) -> Result<Option<Point>> {
        let weights: Vec<f64> = place.weights.iter().map(|weight| self.scale * weight).collect();
        let (mut parts, mut sum) = (vec![], None);
        for c in 0..self.n_functions() {
            match self.part_there(&weights, place, c, slopes, &mut sum) {
                Err(Error::NotDefinite { .. }) => return Ok(None),
                part => parts.push(part?),
            }
        }
        let mut point = Point::of(None, parts);
        if let Some(sum) = sum {
            let slopes = self.stack.project_there(&sum, self.pool)?;
            point.by_weight = slopes.iter().map(|slope| self.scale * slope).collect();
        }
        Ok(Some(point))
    }

    /// [`Problem::gp_parts`] on the device, one function.
    fn part_there(
        &self,
        weights: &[f64],
        place: Place<'_>,
        c: usize,
        slopes: bool,
        sum: &mut Option<Held>,
    ) -> Result<FunctionPosterior> {
        let (tau, n) = (self.settings.tau, self.distinct.n());
        let observed = self.observed(place.latent, place.log_nu, c);
        let seen = self.distinct.seen(&observed.t, &observed.lambda);
        let nu = exp(place.log_nu[0]);
        let diagonal: Vec<f64> = seen.lambda.iter().map(|lambda| nu * self.jitter() + lambda).collect();
        let factor = Arc::new(self.stack.factor_of_sum_there(weights, (nu, tau), &diagonal, self.pool)?);
        let solved = factor.solve(&Matrix::from_vec(n, 1, seen.t.clone())?)?.into_data();
        let mut part = FunctionPosterior::new(Factor::There(factor.clone()), solved, &seen.t, seen.rest)?;
        if slopes {
            let (inverse, diagonal) = factor.inverse()?;
            part.diagonal = diagonal;
            let ones = factor.solve(&Matrix::from_fn(n, 1, |_, _| 1.0))?.data().iter().sum();
            part.by_log_nu = self.by_log_nu(&observed, &seen, &part, ones);
            if self.settings.learned {
                *sum = Some(factor.add_slope(sum.take(), inverse, 0.5 * nu, &part.solved)?);
            }
        }
        Ok(part)
    }

    fn combine(&self, places: &[Place<'_>]) -> Result<Vec<Matrix>> {
        if let Some(fixed) = self.fixed {
            return Ok(places.iter().map(|_| fixed.clone()).collect());
        }
        let weights = |m: usize, k: usize| self.scale * places[k].weights[m];
        self.stack.combine(&Matrix::from_fn(self.stack.n_kernels(), places.len(), weights), self.pool)
    }

    /// All functions at all places under prior=gp; `None` where one has no factor. As many as there are threads are
    /// computed side by side, each by one thread; fewer in step, by all.
    fn gp_parts(&self, kernels: &[Matrix], places: &[Place<'_>], slopes: bool) -> Result<Vec<Parts>> {
        let n_functions = self.n_functions();
        let tasks: Vec<GpTask<'_>> = (0..places.len() * n_functions)
            .map(|k| GpTask::new(self, &kernels[k / n_functions], places[k / n_functions], k % n_functions))
            .collect();
        let mut sums = SlopeSums::new(places.len(), n_functions);
        let mut found: Vec<Option<Vec<FunctionPosterior>>> = places.iter().map(|_| Some(vec![])).collect();
        let n_threads = self.pool.n_threads();
        // Two for each thread at a time: with one, all wait for the slowest twice as often; with more, memory grows.
        let (of_all, rest) = tasks.split_at(tasks.len() / n_threads * n_threads);
        let mut first = 0;
        for tasks in of_all.chunks(2 * n_threads).chain(rest.chunks(n_threads)) {
            let parts = if tasks.len() < n_threads && self.distinct.n() >= MIN_IN_STEP {
                self.in_step(tasks, slopes, self.pool)?
            } else {
                self.side_by_side(tasks, slopes)?
            };
            let mut matrices = vec![];
            for (k, part) in (first..).zip(parts) {
                let place = &mut found[k / n_functions];
                match part {
                    Some((part, slope)) => {
                        if let Some(parts) = place {
                            parts.push(part);
                            matrices.extend(slope.map(|matrix| (k, matrix)));
                        }
                    }
                    None => *place = None,
                }
            }
            sums.add(matrices, self.pool);
            first += tasks.len();
        }
        Ok(found.into_iter().zip(sums.finish(self.pool)).map(|(parts, sum)| Some((parts?, sum))).collect())
    }

    /// Each by one thread.
    fn side_by_side(&self, tasks: &[GpTask<'_>], slopes: bool) -> Result<Vec<Option<GpPart>>> {
        let alone = Pool::alone()?;
        let parts = self.pool.map(tasks.len(), |k| self.in_step(&tasks[k..=k], slopes, alone));
        Ok(parts.into_iter().collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
    }

    /// All of them by all threads.
    fn in_step(&self, tasks: &[GpTask<'_>], slopes: bool, pool: &Pool) -> Result<Vec<Option<GpPart>>> {
        let matrices: Vec<ShiftedMatrix<'_>> = tasks.iter().map(GpTask::matrix).collect();
        let mut factors = vec![];
        for factor in Cholesky::of_sums(&matrices, pool, self.stop)? {
            factors.push(match factor {
                Err(Error::NotDefinite { .. }) => None,
                factor => Some(factor?),
            });
        }
        let known: Vec<(&GpTask<'_>, &Cholesky)> =
            tasks.iter().zip(&factors).filter_map(|(task, factor)| Some((task, factor.as_ref()?))).collect();
        let (solved, inverses) = if slopes {
            self.solved_and_inverted(&known, pool)?
        } else {
            let solved = pool.map(known.len(), |k| known[k].0.solve(known[k].1));
            (solved.into_iter().map(|solved| Ok((solved?, None))).collect::<Result<Vec<_>>>()?, vec![])
        };
        let (mut solved, mut inverses) = (solved.into_iter(), inverses.into_iter());
        // Only where there is a factor there are more.
        let mut with_factor = |factor: Cholesky| Some((factor, solved.next()?, inverses.next()));
        let items: Vec<_> = factors.into_iter().map(|factor| Mutex::new(factor.and_then(&mut with_factor))).collect();
        let part = |k: usize| match items[k].lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some((factor, solved, inverse)) => self.gp_part(&tasks[k], factor, solved, inverse).map(Some),
            None => Ok(None),
        };
        let mut parts = pool.map(items.len(), part).into_iter().collect::<Result<Vec<_>>>()?;
        self.slopes_of_inverses(tasks, &mut parts, pool);
        Ok(parts)
    }

    /// `S^-1 t` and `1' S^-1 1` for each, the squared length of `L^-1 1`, and `S^-1`.
    fn solved_and_inverted(
        &self,
        known: &[(&GpTask<'_>, &Cholesky)],
        pool: &Pool,
    ) -> Result<(Vec<Solved>, Vec<Matrix>)> {
        let solved: Vec<OnceLock<Result<Vec<f64>>>> = (0..2 * known.len()).map(|_| OnceLock::new()).collect();
        let solve = |k: usize| {
            let (task, factor) = known[k / 2];
            let ones = || Ok(factor.half_solve(&Matrix::from_fn(factor.size(), 1, |_, _| 1.0))?.into_data());
            solved[k].get_or_init(|| if k.is_multiple_of(2) { task.solve(factor) } else { ones() });
        };
        let factors: Vec<&Cholesky> = known.iter().map(|(_, factor)| *factor).collect();
        let beside = Beside { n: solved.len(), work: &solve };
        let inverses = Cholesky::lower_of_inverses(&factors, &beside, pool, self.stop)?;
        let solved = solved.into_iter().filter_map(OnceLock::into_inner).collect::<Result<Vec<_>>>()?;
        let mut solved = solved.into_iter();
        let pair = |_| Some((solved.next()?, solved.next().map(|half| dot(&half, &half))));
        Ok(((0..known.len()).filter_map(pair).collect(), inverses))
    }

    /// prior=gp, with the inverse of S for its slopes: `1/2 (al' K al - tr S^-1 K)` in log nu, where `K = S - tau 11' -
    /// diag(lambda)`.
    fn gp_part(
        &self,
        task: &GpTask<'_>,
        factor: Cholesky,
        (solved, ones): Solved,
        inverse: Option<Matrix>,
    ) -> Result<GpPart> {
        let mut part = FunctionPosterior::new(Factor::Here(factor), solved, &task.seen.t, task.seen.rest)?;
        let (Some(inverse), Some(ones)) = (inverse, ones) else { return Ok((part, None)) };
        part.diagonal = (0..self.distinct.n()).map(|i| inverse.get(i, i)).collect();
        part.by_log_nu = self.by_log_nu(&task.observed, &task.seen, &part, ones);
        Ok((part, self.settings.learned.then_some(inverse)))
    }

    /// Turns inverses into slopes in the kernel, `nu/2 (al al' - S^-1)`, of which the lower triangle counts.
    fn slopes_of_inverses(&self, tasks: &[GpTask<'_>], parts: &mut [Option<GpPart>], pool: &Pool) {
        let n = self.distinct.n().max(1);
        let mut items = vec![];
        for (task, part) in tasks.iter().zip(parts) {
            let Some((part, Some(inverse))) = part else { continue };
            let pieces = inverse.data_mut().chunks_mut(ADDED_ROWS * n).enumerate();
            items.extend(pieces.map(|piece| (0.5 * task.nu, &part.solved, piece)));
        }
        pool.each(items, |(half, al, (piece, rows))| {
            for (i, row) in (piece * ADDED_ROWS..).zip(rows.chunks_exact_mut(n)) {
                let values = row[..=i].iter_mut().zip(al);
                values.for_each(|(value, b)| *value = half * (al[i] * b - *value));
            }
        });
    }

    /// All functions at all places under prior=paper; `None` where one has no factor.
    fn shrunk_parts(&self, kernels: &[Matrix], places: &[Place<'_>], slopes: bool) -> Result<Vec<Parts>> {
        let rows = kernels.iter().map(|kernel| PackedRows::new(kernel, self.pool)).collect::<Result<Vec<_>>>()?;
        let chunks = self.n_functions().div_ceil(CHUNK);
        let pool = self.inner_pool(places.len() * chunks)?;
        let tasks = self.pool.map(places.len() * chunks, |task| {
            let k = task / chunks;
            self.chunk((&kernels[k], &rows[k]), places[k], task % chunks, slopes, pool)
        });
        let mut tasks = tasks.into_iter().collect::<Result<Vec<_>>>()?.into_iter();
        let of_place = |_: &Place<'_>| {
            let chunks: Option<Vec<_>> = tasks.by_ref().take(chunks).collect();
            let (parts, matrices): (Vec<Vec<FunctionPosterior>>, Vec<Option<Matrix>>) = chunks?.into_iter().unzip();
            let mut sum = None;
            matrices.into_iter().flatten().for_each(|matrix| add(&mut sum, matrix));
            Some((parts.into_iter().flatten().collect(), sum))
        };
        Ok(places.iter().map(of_place).collect())
    }

    /// Some functions at one place, and the sum of the matrices whose inner products with the kernels are the slopes.
    fn chunk(
        &self,
        kernel: (&Matrix, &PackedRows),
        place: Place<'_>,
        chunk: usize,
        slopes: bool,
        pool: &Pool,
    ) -> Result<Parts> {
        let functions = chunk * CHUNK..((chunk + 1) * CHUNK).min(self.n_functions());
        let mut sum = None;
        let mut parts = vec![];
        for c in functions {
            match self.shrunk_part(kernel, place, c, slopes, &mut sum, pool) {
                Err(Error::NotDefinite { .. }) => return Ok(None),
                part => parts.push(part?),
            }
        }
        Ok(Some((parts, sum)))
    }

    /// The derivatives in the logarithms of the variances, with `ones` = `1' S^-1 1`: see [`Problem::gp_part`].
    fn by_log_nu(&self, observed: &Observed, seen: &Seen, part: &FunctionPosterior, ones: f64) -> [f64; 2] {
        let (tau, al, lambda) = (self.settings.tau, &part.solved, &seen.lambda);
        let fit = dot(al, &seen.t)
            - tau * al.iter().sum::<f64>().powi(2)
            - al.iter().zip(lambda).map(|(a, l)| a * a * l).sum::<f64>();
        let size = self.distinct.n() as f64 - tau * ones - dot(&part.diagonal, lambda);
        let by_noise = if self.settings.noise.is_some() { self.by_log_noise(observed, part, lambda) } else { 0.0 };
        [0.5 * (fit - size), by_noise]
    }

    /// The derivative in the logarithm of the noise, in proportion to which the variances lambda of the points grow, and t
    /// by half its shift.
    fn by_log_noise(&self, observed: &Observed, part: &FunctionPosterior, lambda: &[f64]) -> f64 {
        let (shift, rest) = self.distinct.moved(&observed.t, &observed.lambda, &observed.shift);
        let of_variance = |((al, diagonal), lambda): ((&f64, &f64), &f64)| lambda * (al * al - diagonal);
        let variances: f64 = part.solved.iter().zip(&part.diagonal).zip(lambda).map(of_variance).sum();
        0.5 * (variances + rest - dot(&part.solved, &shift))
    }

    /// prior=paper. Slopes: `(al al' - S^-1) H diag(nu)` in the kernel.
    fn shrunk_part(
        &self,
        (kernel, rows): (&Matrix, &PackedRows),
        place: Place<'_>,
        c: usize,
        slopes: bool,
        sum: &mut Option<Matrix>,
        pool: &Pool,
    ) -> Result<FunctionPosterior> {
        let (lambda, nu) = (place.latent.lambda.row(c), place.latent.nu.row(c));
        let factor = Cholesky::of_square(rows, nu, self.settings.tau, lambda, pool, self.stop)?;
        let inverted = if slopes { Some(factor.inverse(pool, self.stop)?) } else { None };
        let t = self.observed(place.latent, place.log_nu, c).t;
        let solved = factor.solve(&Matrix::from_vec(t.len(), 1, t.clone())?)?.into_data();
        let mut part = FunctionPosterior::new(Factor::Here(factor), solved, &t, 0.0)?;
        if let Some(inverse) = inverted {
            part.diagonal = (0..self.n()).map(|i| inverse.get(i, i)).collect();
            if self.settings.learned {
                let al = &part.solved;
                let pulled = kernel.times(al);
                let mut solved = product(&inverse, kernel, pool)?;
                for (i, a) in al.iter().enumerate() {
                    for ((value, pulled), nu) in solved.row_mut(i).iter_mut().zip(&pulled).zip(nu) {
                        *value = nu * (a * pulled - *value);
                    }
                }
                add(sum, solved);
            }
        }
        Ok(part)
    }
}

/// Adds a matrix to a sum, which is started by the first one.
fn add(sum: &mut Option<Matrix>, matrix: Matrix) {
    match sum {
        None => *sum = Some(matrix),
        Some(sum) => sum.data_mut().iter_mut().zip(matrix.data()).for_each(|(a, b)| *a += b),
    }
}

/// All functions at one place, and the matrix whose inner products with the kernels are the slopes.
type Parts = Option<(Vec<FunctionPosterior>, Option<Matrix>)>;
/// One function under prior=gp, and its part of that matrix.
type GpPart = (FunctionPosterior, Option<Matrix>);
/// `S^-1 t`, and `1' S^-1 1` for slopes.
type Solved = (Vec<f64>, Option<f64>);

/// One function at one place under prior=gp.
struct GpTask<'a> {
    kernel: &'a Matrix,
    nu: f64,
    tau: f64,
    observed: Observed,
    seen: Seen,
    diagonal: Vec<f64>,
}

impl<'a> GpTask<'a> {
    fn new(problem: &Problem<'_>, kernel: &'a Matrix, place: Place<'_>, c: usize) -> GpTask<'a> {
        let observed = problem.observed(place.latent, place.log_nu, c);
        let seen = problem.distinct.seen(&observed.t, &observed.lambda);
        let nu = exp(place.log_nu[0]);
        let diagonal = seen.lambda.iter().map(|lambda| nu * problem.jitter() + lambda).collect();
        GpTask { kernel, nu, tau: problem.settings.tau, observed, seen, diagonal }
    }

    /// `S^-1 t`.
    fn solve(&self, factor: &Cholesky) -> Result<Vec<f64>> {
        Ok(factor.solve(&Matrix::from_vec(factor.size(), 1, self.seen.t.clone())?)?.into_data())
    }

    /// S.
    fn matrix(&self) -> ShiftedMatrix<'_> {
        ShiftedMatrix { matrix: self.kernel, scale: self.nu, shift: self.tau, d: &self.diagonal }
    }
}

/// The sums of the functions' matrices of slopes at all places, lower triangles: first over [`CHUNK`] functions, then over
/// these, each in order.
struct SlopeSums {
    n_functions: usize,
    n_chunks: usize,
    chunks: Vec<Option<Matrix>>,
}

/// Rows of a sum that one task adds.
const ADDED_ROWS: usize = 64;

impl SlopeSums {
    fn new(n_places: usize, n_functions: usize) -> SlopeSums {
        let n_chunks = n_functions.div_ceil(CHUNK);
        SlopeSums { n_functions, n_chunks, chunks: vec![None; n_places * n_chunks] }
    }

    /// Adds matrices, each with its place times the number of functions plus its function, in that order.
    fn add(&mut self, matrices: Vec<(usize, Matrix)>, pool: &Pool) {
        let mut added: Vec<Vec<Matrix>> = self.chunks.iter().map(|_| vec![]).collect();
        for (k, matrix) in matrices {
            let at = k / self.n_functions * self.n_chunks + k % self.n_functions / CHUNK;
            match &mut self.chunks[at] {
                None => self.chunks[at] = Some(matrix),
                Some(_) => added[at].push(matrix),
            }
        }
        add_lower(self.chunks.iter_mut().zip(&added), pool);
        added.into_iter().flatten().for_each(Matrix::give_back);
    }

    /// The sum of each place.
    fn finish(mut self, pool: &Pool) -> Vec<Option<Matrix>> {
        let (mut sums, mut added) = (vec![], vec![]);
        for chunks in self.chunks.chunks_mut(self.n_chunks.max(1)) {
            let mut all = chunks.iter_mut().filter_map(Option::take);
            sums.push(all.next());
            added.push(all.collect::<Vec<Matrix>>());
        }
        add_lower(sums.iter_mut().zip(&added), pool);
        sums
    }
}

/// Adds lower triangles to sums, each in order.
fn add_lower<'a>(sums: impl Iterator<Item = (&'a mut Option<Matrix>, &'a Vec<Matrix>)>, pool: &Pool) {
    let mut items = vec![];
    for (sum, added) in sums.filter(|(_, added)| !added.is_empty()) {
        let Some(sum) = sum else { continue };
        let n = sum.n_cols().max(1);
        items.extend(sum.data_mut().chunks_mut(ADDED_ROWS * n).enumerate().map(|piece| (piece, added, n)));
    }
    pool.each(items, |((piece, rows), added, n)| {
        for matrix in added {
            for (i, row) in (piece * ADDED_ROWS..).zip(rows.chunks_exact_mut(n)) {
                row[..=i].iter_mut().zip(matrix.row(i)).for_each(|(a, b)| *a += b);
            }
        }
    });
}

impl FunctionPosterior {
    /// From S, factored, `S^-1 t`, and t: `log N(t; 0, S)` without its constant, plus the rest of the rows' log-likelihood.
    fn new(factor: Factor, solved: Vec<f64>, t: &[f64], rest: f64) -> Result<FunctionPosterior> {
        let likelihood = -0.5 * (dot(t, &solved) + factor.log_determinant()?) + rest;
        Ok(FunctionPosterior { factor, solved, diagonal: vec![], likelihood, by_log_nu: [0.0; 2] })
    }
}

impl Drop for Point {
    fn drop(&mut self) {
        self.kernel.take().into_iter().for_each(Matrix::give_back);
    }
}

impl Point {
    fn of(kernel: Option<Matrix>, parts: Vec<FunctionPosterior>) -> Point {
        Point {
            likelihood: parts.iter().map(|part| part.likelihood).sum(),
            by_weight: vec![],
            by_log_nu: [0, 1].map(|k| parts.iter().map(|part| part.by_log_nu[k]).sum()).to_vec(),
            kernel,
            parts,
        }
    }
}
