//! Whether kernels are worth storing: the cost of a pass that computes them against one that reads them.
//!
//! Both give the same bits, so the answer may depend on the machine. Numbers are nanoseconds per entry, measured with
//! `benches/stack.rs` (`docs/performance.md`); only their ratio matters.

use super::layout::{Layout, Step};
use crate::kernel::Base;
use crate::precision::Precision;
use crate::simd::{Level, level};

/// Smaller stacks are always stored: they fit in the caches, and reading costs next to nothing.
const SMALL: u64 = 64 << 20;
/// Storing pays if computing costs more than this many times reading: the values must first be written once, to memory
/// that the system may have to clear.
const PAYS: f64 = 1.8;
/// Reading one byte from memory.
const READ_BYTE: f64 = 0.05;
/// Fixed cost of starting a group in a tile, however few entries the tile has.
const BEGIN: f64 = 1500.0;

/// Whether to store a stack of `bytes` bytes that fits in memory; `n_columns` is the number of columns of each group,
/// `tile` the mean number of entries per tile.
pub(super) fn pays(layout: &Layout, n_columns: &[usize], precision: Precision, bytes: u64, tile: f64) -> bool {
    let read = layout.slots.len() as f64 * READ_BYTE * precision.bytes() as f64;
    bytes < SMALL || compute(layout, n_columns, precision, level(), tile) > PAYS * read
}

/// Cost of computing all kernels of an entry.
fn compute(layout: &Layout, n_columns: &[usize], precision: Precision, level: Level, tile: f64) -> f64 {
    let slower = match level {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => 1.0,
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => 2.0,
        // NEON has two lanes; an old x86 without fused multiply-add is far slower still.
        Level::Plain => 4.0,
    };
    let exponential = if precision == Precision::F64 { 0.7 } else { 0.35 };
    let mut total = 0.0;
    for (group, &n_columns) in layout.groups.iter().zip(n_columns) {
        total += BEGIN / tile;
        total += match group.base {
            Base::Given | Base::GivenCosine => 0.5,
            Base::Cosine | Base::ShiftedCosine => 1.0 + 0.06 * n_columns as f64,
            Base::SquaredDistance | Base::L1Distance | Base::InnerProduct => 0.06 * n_columns as f64,
        };
        for slot in &layout.slots[group.slots.clone()] {
            let kernel = &layout.kernels[slot.kernel];
            total += match slot.step {
                Step::Base => 2.0,
                Step::Raise(_) if precision == Precision::F64 => 0.14,
                _ if kernel.rate().is_some() => exponential,
                _ => 0.3,
            };
            total += if kernel.is_centred() { 0.5 } else { 0.0 };
        }
    }
    slower * total
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::KernelBank;

    /// The cost of computing relative to reading, in tiles of this many entries.
    fn cost_in(tile: f64, bank: &str, n_columns: usize, precision: Precision) -> f64 {
        let bank: KernelBank = bank.parse().unwrap();
        let kernels = bank.resolve(&Default::default(), &crate::linalg::Matrix::zeros(2, n_columns).into()).unwrap();
        let layout = Layout::new(&kernels, precision, true);
        let n: Vec<usize> = layout.groups.iter().map(|group| group.columns.count(n_columns)).collect();
        #[cfg(target_arch = "x86_64")]
        let level = Level::Avx512;
        #[cfg(not(target_arch = "x86_64"))]
        let level = Level::Plain;
        assert!(pays(&layout, &n, precision, SMALL - 1, tile), "small stacks are stored");
        let read = layout.slots.len() as f64 * READ_BYTE * precision.bytes() as f64;
        compute(&layout, &n, precision, level, tile) / read
    }

    fn cost(bank: &str, n_columns: usize, precision: Precision) -> f64 {
        cost_in(2048.0, bank, n_columns, precision)
    }

    #[test]
    fn few_kernels_on_each_column_pay_to_be_stored_where_tiles_are_small() {
        // Measured, 3,088 kernels on 280 points: 3.4 times reading in f64; 793 on 145 points: 1.5 times.
        let faces = "gaussian(2^-6..2^6), polynomial(1..3), gaussian(2^1..2^2) each, polynomial(2) each";
        let columns = "gaussian(2^-3..2^6), polynomial(1..3), gaussian(2^-3..2^6) each, polynomial(1..3) each";
        for (bank, n_columns, tile) in [(faces, 1024, 1034.0), (columns, 60, 608.0)] {
            assert!(cost_in(tile, bank, n_columns, Precision::F64) > PAYS);
            assert!(cost_in(tile, bank, n_columns, Precision::F64) > cost(bank, n_columns, Precision::F64));
        }
    }

    #[test]
    fn wide_rows_pay_to_be_stored_and_narrow_ones_do_not() {
        let bank = "gaussian(2^-6..2^7), polynomial(1..3)";
        // Seventeen kernels on 34 columns: 1.1 times reading in f64; on 649 columns a multiple of it.
        assert!(cost(bank, 649, Precision::F64) > PAYS && cost(bank, 649, Precision::F32) > PAYS);
        if cfg!(target_arch = "x86_64") {
            assert!(cost(bank, 20, Precision::F64) < PAYS);
        }
        assert!(cost("gaussian(1)", 1000, Precision::F64) > 20.0);
        assert!(cost(bank, 100, Precision::F32) > cost(bank, 100, Precision::F64));
    }
}
