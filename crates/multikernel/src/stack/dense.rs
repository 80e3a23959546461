//! Dense storage: every kernel a full `f64` matrix.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::CHUNK;
use super::base::{Points, row_into};
use crate::error::{Error, Result};
use crate::kernel::{Base, Columns, Kernel};
use crate::linalg::Matrix;
use crate::pool::Pool;

/// How a stack is built: with which threads, within which memory, and who hears of it.
#[derive(Clone, Copy)]
pub struct Building<'a> {
    /// The threads.
    pub pool: &'a Pool,
    /// Most bytes the stack may take; more is refused before anything is allocated.
    pub memory: Option<u64>,
    /// Called with (kernel rows done, in all) now and then; returning false gives up with [`Error::Stopped`].
    pub watch: Option<&'a (dyn Fn(usize, usize) -> bool + Sync)>,
}

impl<'a> Building<'a> {
    /// With these threads, no limit, silently.
    pub fn new(pool: &'a Pool) -> Self {
        Building { pool, memory: None, watch: None }
    }
}

/// The training means of one `centred` kernel: k~(x, y) = k(x, y) - mean_i k(x, x_i) - mean_i k(x_i, y) + grand mean.
#[derive(Clone, Debug, PartialEq)]
pub struct Centring {
    /// mean_i k(x_i, x_j) for each training point j.
    pub means: Vec<f64>,
    /// Their mean.
    pub grand: f64,
}

#[derive(Debug)]
pub(super) struct Dense {
    pub(super) n_rows: usize,
    pub(super) n_cols: usize,
    pub(super) values: Vec<Matrix>,
    pub(super) centring: Vec<Option<Centring>>,
    pub(super) notes: Vec<String>,
}

impl Dense {
    pub(super) fn train(points: &Matrix, kernels: &[Kernel], building: &Building<'_>) -> Result<Dense> {
        let n = points.n_rows();
        let mut dense = Dense::allocate(n, n, kernels, building)?;
        let counter = Counter::new(building, n * kernels.len());
        for group in groups(kernels) {
            let prepared = Points::new(points, group.columns);
            if group.base == Base::Cosine && prepared.n_zero_rows() > 0 {
                dense.notes.push(format!(
                    "{} of {n} rows are zero on the columns of {}: their kernel rows are zero",
                    prepared.n_zero_rows(),
                    kernels[group.members[0]]
                ));
            }
            // The lower triangle, then its mirror: half the kernel values.
            dense.fill(&group, kernels, &prepared, &prepared, |i| i + 1, &counter)?;
        }
        building.pool.each(dense.values.iter_mut().collect(), mirror);
        for m in (0..kernels.len()).filter(|&m| kernels[m].is_centred()) {
            dense.centring[m] = Some(centre_train(&mut dense.values[m]));
        }
        Ok(dense)
    }

    pub(super) fn cross(
        new: &Matrix,
        points: &Matrix,
        kernels: &[Kernel],
        centring: &[Option<Centring>],
        building: &Building<'_>,
    ) -> Result<Dense> {
        if new.n_cols() != points.n_cols() {
            return Err(Error::input(format!(
                "new rows have {} features, training rows {}",
                new.n_cols(),
                points.n_cols()
            )));
        }
        let centred = kernels.iter().map(Kernel::is_centred);
        if !centring.iter().map(Option::is_some).eq(centred) {
            return Err(Error::input("each centred kernel, and no other, needs the training means of its stack"));
        }
        let mut dense = Dense::allocate(new.n_rows(), points.n_rows(), kernels, building)?;
        let counter = Counter::new(building, new.n_rows() * kernels.len());
        for group in groups(kernels) {
            let (left, right) = (Points::new(new, group.columns), Points::new(points, group.columns));
            dense.fill(&group, kernels, &left, &right, |_| points.n_rows(), &counter)?;
        }
        for (values, centring) in dense.values.iter_mut().zip(centring) {
            if let Some(centring) = centring {
                centre_new(values, centring)?;
            }
        }
        Ok(dense)
    }

    fn allocate(n_rows: usize, n_cols: usize, kernels: &[Kernel], building: &Building<'_>) -> Result<Dense> {
        let need = n_rows as u128 * n_cols as u128 * kernels.len() as u128 * 8;
        let need = u64::try_from(need).unwrap_or(u64::MAX);
        let refuse = |limit: u64| Error::Memory {
            what: format!("the kernel stack of {} kernels on {n_rows} x {n_cols} points", kernels.len()),
            need,
            limit,
            help: "use fewer rows or kernels, or raise --memory".into(),
        };
        if let Some(limit) = building.memory.filter(|&limit| need > limit) {
            return Err(refuse(limit));
        }
        let mut values = Vec::with_capacity(kernels.len());
        for m in 0..kernels.len() as u64 {
            // What the system gave so far is what there is.
            let got = need / kernels.len() as u64 * m;
            values.push(Matrix::try_zeros(n_rows, n_cols).ok_or_else(|| refuse(got))?);
        }
        Ok(Dense { n_rows, n_cols, values, centring: vec![None; kernels.len()], notes: vec![] })
    }

    /// Computes the kernels of one group: the base quantity of a row once, then each kernel from it.
    fn fill(
        &mut self,
        group: &Group<'_>,
        kernels: &[Kernel],
        left: &Points,
        right: &Points,
        length: impl Fn(usize) -> usize + Sync + Send,
        counter: &Counter<'_>,
    ) -> Result<()> {
        let width = self.n_cols;
        if width == 0 || self.n_rows == 0 {
            return Ok(());
        }
        let mut pieces: Vec<Vec<(usize, &mut [f64])>> = (0..self.n_rows.div_ceil(CHUNK)).map(|_| vec![]).collect();
        let mut rest = self.values.as_mut_slice();
        let mut passed = 0;
        for &m in &group.members {
            // Members ascend, so one walk over the matrices finds them all.
            let (found, after) = std::mem::take(&mut rest)[m - passed..].split_at_mut(1);
            (rest, passed) = (after, m + 1);
            for (piece, rows) in pieces.iter_mut().zip(found[0].data_mut().chunks_mut(CHUNK * width)) {
                piece.push((m, rows));
            }
        }
        let pieces = pieces.into_iter().enumerate().collect();
        counter.pool.each(pieces, |(chunk, piece): (usize, Vec<(usize, &mut [f64])>)| {
            let mut buffer = vec![0.0; width];
            let mut piece: Vec<_> = piece.into_iter().map(|(m, rows)| (&kernels[m], rows.chunks_mut(width))).collect();
            for i in chunk * CHUNK..(chunk * CHUNK + CHUNK).min(self.n_rows) {
                if counter.stopped() {
                    return;
                }
                let base = &mut buffer[..length(i)];
                row_into(group.base, left, i, right, base);
                for (kernel, rows) in &mut piece {
                    if let Some(row) = rows.next() {
                        kernel.values_into(base, &mut row[..base.len()]);
                    }
                }
                counter.add(piece.len());
            }
        });
        counter.result()
    }
}

/// Kernels that share a base quantity on the same columns.
struct Group<'a> {
    base: Base,
    columns: &'a Columns,
    members: Vec<usize>,
}

fn groups(kernels: &[Kernel]) -> Vec<Group<'_>> {
    let mut place = std::collections::HashMap::new();
    let mut groups: Vec<Group<'_>> = vec![];
    for (m, kernel) in kernels.iter().enumerate() {
        let key = (kernel.base(), kernel.columns());
        let at = *place.entry(key).or_insert_with(|| {
            groups.push(Group { base: key.0, columns: key.1, members: vec![] });
            groups.len() - 1
        });
        groups[at].members.push(m);
    }
    groups
}

/// Counts finished rows over all threads and asks whether to go on.
struct Counter<'a> {
    pool: &'a Pool,
    watch: Option<&'a (dyn Fn(usize, usize) -> bool + Sync)>,
    done: AtomicUsize,
    total: usize,
    stop: AtomicBool,
}

impl<'a> Counter<'a> {
    fn new(building: &Building<'a>, total: usize) -> Self {
        let (done, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
        Counter { pool: building.pool, watch: building.watch, done, total, stop }
    }

    fn add(&self, rows: usize) {
        let done = self.done.fetch_add(rows, Ordering::Relaxed) + rows;
        if self.watch.is_some_and(|watch| !watch(done, self.total)) {
            self.stop.store(true, Ordering::Relaxed);
        }
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn result(&self) -> Result<()> {
        if self.stopped() {
            return Err(Error::Stopped(
                "stopped while the kernels were computed; nothing was learned and no model was made".into(),
            ));
        }
        Ok(())
    }
}

/// Copies the lower triangle to the upper, in square tiles so that both sides stay in cache.
fn mirror(values: &mut Matrix) {
    const TILE: usize = 64;
    let n = values.n_rows();
    let data = values.data_mut();
    for top in (0..n).step_by(TILE) {
        for left in (0..=top).step_by(TILE) {
            for i in top..(top + TILE).min(n) {
                for j in left..(left + TILE).min(i) {
                    data[j * n + i] = data[i * n + j];
                }
            }
        }
    }
}

fn centre_train(values: &mut Matrix) -> Centring {
    let n = values.n_rows();
    let means: Vec<f64> = values.rows().map(|row| row.iter().sum::<f64>() / n as f64).collect();
    let grand = means.iter().sum::<f64>() / n as f64;
    for i in 0..n {
        for (j, value) in values.row_mut(i).iter_mut().enumerate() {
            // The two means first: a sum of two is the same in either order, so symmetry is exact.
            *value = (*value - (means[i] + means[j])) + grand;
        }
    }
    Centring { means, grand }
}

fn centre_new(values: &mut Matrix, centring: &Centring) -> Result<()> {
    let n = values.n_cols();
    if centring.means.len() != n {
        return Err(Error::input(format!(
            "a centred kernel needs all {} training points, got {n}",
            centring.means.len()
        )));
    }
    for i in 0..values.n_rows() {
        let row = values.row_mut(i);
        let mean = row.iter().sum::<f64>() / n as f64;
        for (value, other) in row.iter_mut().zip(&centring.means) {
            *value = (*value - (mean + other)) + centring.grand;
        }
    }
    Ok(())
}
