//! Sums of products between a few lines of numbers and many: the building block of matrix products and triangular
//! systems.

use super::dispatched;
#[cfg(target_arch = "x86_64")]
use super::each;

/// Numbers per vector of the widest instruction set.
pub(crate) const VECTOR: usize = 8;
/// Maximum length of a wide line: three vectors.
pub(crate) const WIDE: usize = 3 * VECTOR;
/// Maximum length of a narrow line. Eight times three sums fill the registers and leave some for the operands.
pub(crate) const NARROW: usize = 8;

/// Sums of products: up to [`NARROW`] lines of up to [`WIDE`].
pub(crate) type Tile = [[f64; WIDE]; NARROW];

/// Lines of numbers that start `stride` numbers apart; the gaps between them are not read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lines<'a> {
    values: &'a [f64],
    stride: usize,
}

impl<'a> Lines<'a> {
    /// The first line starts at the first of `values`.
    pub(crate) fn new(values: &'a [f64], stride: usize) -> Self {
        Lines { values, stride }
    }

    /// All numbers from the first line on.
    pub(crate) fn values(&self) -> &'a [f64] {
        self.values
    }

    /// The same without the first lines, and without the first numbers of each line.
    pub(crate) fn skip(&self, lines: usize, numbers: usize) -> Lines<'a> {
        Lines { values: self.values.get(lines * self.stride + numbers..).unwrap_or(&[]), stride: self.stride }
    }

    /// The first `width` numbers of a line.
    #[inline(always)]
    pub(crate) fn line(&self, line: usize, width: usize) -> &'a [f64] {
        &self.values[line * self.stride..][..width]
    }

    /// Whether there are this many lines of this many numbers.
    fn has(&self, lines: usize, width: usize) -> bool {
        lines == 0 || (width <= self.stride && self.values.len() >= (lines - 1) * self.stride + width)
    }
}

/// `out[r][l] = sum_k few[k][r] many[k][l]` over the first `depth` lines, for r < `rows` (1, 2, 4 or 8) and l < `width`
/// (8, 16 or 24).
///
/// Fused sums from 0 in the order of k: the bits depend neither on the instruction set nor on the tile that contains an
/// entry.
///
/// # Panics
/// If there are fewer lines than `depth`, or for other sizes.
pub(crate) fn sums(few: Lines<'_>, rows: usize, many: Lines<'_>, width: usize, depth: usize, out: &mut Tile) {
    assert!(few.has(depth, rows) && many.has(depth, width), "lines end too early");
    assert!(matches!(rows, 1 | 2 | 4 | 8) && matches!(width, 8 | 16 | 24), "a tile of {rows} x {width}");
    #[cfg(target_arch = "x86_64")]
    if super::level() == super::Level::Avx512 {
        // SAFETY: `level` found AVX-512 on this processor, and the lines are there, checked above.
        return unsafe { sums_avx512(few, rows, many, width, depth, out) };
    }
    for v in (0..width).step_by(VECTOR) {
        for r in (0..rows).step_by(4) {
            sums_plain(few.skip(0, r), many.skip(0, v), depth, &mut out[r..rows.min(r + 4)], v);
        }
    }
}

dispatched! {
    /// One vector, starting at `v`, of one, two or four lines: as many sums as a processor with sixteen registers can
    /// hold.
    fn sums_plain(few: Lines<'_>, many: Lines<'_>, depth: usize, out: &mut [[f64; WIDE]], v: usize) {
        match out.len() {
            1 => vector::<1>(few, many, depth, out, v),
            2 => vector::<2>(few, many, depth, out, v),
            _ => vector::<4>(few, many, depth, out, v),
        }
    }
}

#[inline(always)]
fn vector<const R: usize>(few: Lines<'_>, many: Lines<'_>, depth: usize, out: &mut [[f64; WIDE]], v: usize) {
    let mut sums = [[0.0f64; VECTOR]; R];
    for (x, y) in few.values.chunks(few.stride).zip(many.values.chunks(many.stride)).take(depth) {
        let (x, y) = (&x[..R], &y[..VECTOR]);
        for r in 0..R {
            for l in 0..VECTOR {
                sums[r][l] = x[r].mul_add(y[l], sums[r][l]);
            }
        }
    }
    for (out, sums) in out.iter_mut().zip(&sums) {
        out[v..v + VECTOR].copy_from_slice(sums);
    }
}

/// # Safety
/// The processor must have AVX-512, and there must be `depth` lines of `rows` and of `width` numbers.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn sums_avx512(few: Lines<'_>, rows: usize, many: Lines<'_>, width: usize, depth: usize, out: &mut Tile) {
    macro_rules! of_width {
        ($rows:literal) => {
            match width {
                // SAFETY: promised by the caller, here and below.
                8 => unsafe { vectors_avx512::<$rows, 1>(few, many, depth, out) },
                // SAFETY: as above.
                16 => unsafe { vectors_avx512::<$rows, 2>(few, many, depth, out) },
                // SAFETY: as above.
                _ => unsafe { vectors_avx512::<$rows, 3>(few, many, depth, out) },
            }
        };
    }
    match rows {
        1 => of_width!(1),
        2 => of_width!(2),
        4 => of_width!(4),
        _ => of_width!(8),
    }
}

/// Written with explicit vectors: for arrays that fill the registers the compiler emits scalar code in memory, which is
/// 15 times slower.
///
/// # Safety
/// As for [`sums_avx512`], with R rows and V vectors.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn vectors_avx512<const R: usize, const V: usize>(
    few: Lines<'_>,
    many: Lines<'_>,
    depth: usize,
    out: &mut Tile,
) {
    use std::arch::x86_64::{_mm512_fmadd_pd, _mm512_loadu_pd, _mm512_set1_pd, _mm512_setzero_pd, _mm512_storeu_pd};
    let mut sums = [[_mm512_setzero_pd(); V]; R];
    let (mut x, mut y) = (few.values.as_ptr(), many.values.as_ptr());
    for _ in 0..depth {
        // SAFETY: V vectors of a line, promised by the caller.
        let line: [_; V] = each(_mm512_setzero_pd(), |v| unsafe { _mm512_loadu_pd(y.add(v * VECTOR)) });
        for (r, sums) in sums.iter_mut().enumerate() {
            // SAFETY: one of R numbers of a line, promised by the caller.
            let factor = _mm512_set1_pd(unsafe { *x.add(r) });
            for (sum, line) in sums.iter_mut().zip(line) {
                *sum = _mm512_fmadd_pd(factor, line, *sum);
            }
        }
        // Past the end after the last line, where nothing is read.
        (x, y) = (x.wrapping_add(few.stride), y.wrapping_add(many.stride));
    }
    for (out, sums) in out.iter_mut().zip(&sums) {
        for (out, sum) in out.as_chunks_mut::<VECTOR>().0.iter_mut().zip(sums) {
            // SAFETY: a whole vector of the tile.
            unsafe { _mm512_storeu_pd(out.as_mut_ptr(), *sum) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::Rng;
    use crate::simd::at_every_level;
    use crate::simd::check::{bits, uniform};

    #[test]
    fn sums_are_fused_sums_in_order_for_any_tile_at_every_level() {
        let mut rng = Rng::new(1, 0);
        for (rows, width) in [1, 2, 4, 8].into_iter().flat_map(|rows| [8, 16, 24].map(|width| (rows, width))) {
            for (depth, more) in [(0, 0), (1, 0), (2, 3), (7, 1), (33, 0), (100, 5)] {
                let (strides, skip) = ([rows + more, width + 2 * more], more % 3);
                let few = uniform(&mut rng, strides[0] * depth + skip);
                let many = uniform(&mut rng, strides[1] * depth + skip);
                let found = at_every_level(|| {
                    let mut out = [[f64::NAN; WIDE]; NARROW];
                    let lines = |values, stride| Lines::new(values, stride).skip(0, skip);
                    sums(lines(&few, strides[0]), rows, lines(&many, strides[1]), width, depth, &mut out);
                    out.map(|line| bits(&line))
                });
                let entry = |r: usize, l: usize| {
                    let term = |k: usize| (few[skip + k * strides[0] + r], many[skip + k * strides[1] + l]);
                    (0..depth).map(term).fold(0.0, |sum, (x, y)| f64::mul_add(x, y, sum))
                };
                for (r, l) in (0..NARROW).flat_map(|r| (0..WIDE).map(move |l| (r, l))) {
                    let expected = if r < rows && l < width { entry(r, l) } else { f64::NAN };
                    assert_eq!(found[r][l], bits(&[expected])[0], "{rows} x {width}, depth {depth}: {r}, {l}");
                }
            }
        }
    }
}
