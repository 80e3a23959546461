//! Eight-by-eight squares transposed in registers.

/// Rows and columns of a square.
pub(crate) const SIDE: usize = 8;

/// `to[c][r] = from[r][c]` for a square whose rows are `from_stride` and `to_stride` numbers apart.
///
/// # Panics
/// If a slice ends before the square does.
#[inline]
pub(crate) fn transpose(from: &[f64], from_stride: usize, to: &mut [f64], to_stride: usize) {
    let reach = |stride: usize| stride * (SIDE - 1) + SIDE;
    assert!(from.len() >= reach(from_stride) && to.len() >= reach(to_stride));
    // SAFETY: both squares are inside their slices, checked above, and a slice to write to overlaps no other.
    unsafe { transpose_raw(from.as_ptr(), from_stride, to.as_mut_ptr(), to_stride) };
}

/// [`transpose`] on raw pointers.
///
/// # Safety
/// All of `from` must be readable, all of `to` writable and not shared, and the two must not overlap.
#[inline]
pub(crate) unsafe fn transpose_raw(from: *const f64, from_stride: usize, to: *mut f64, to_stride: usize) {
    #[cfg(target_arch = "x86_64")]
    if super::level() == super::Level::Avx512 {
        // SAFETY: `level` found AVX-512 on this processor; the rest is promised by the caller.
        unsafe { transpose_avx512(from, from_stride, to, to_stride) };
        return;
    }
    for r in 0..SIDE {
        for c in 0..SIDE {
            // SAFETY: inside the squares, promised by the caller.
            unsafe { *to.add(c * to_stride + r) = *from.add(r * from_stride + c) };
        }
    }
}

/// Swaps pairs of neighbours, then pairs of pairs, then halves.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn transpose_avx512(from: *const f64, from_stride: usize, to: *mut f64, to_stride: usize) {
    use std::arch::x86_64::{
        __m512d, _mm512_loadu_pd, _mm512_shuffle_f64x2, _mm512_storeu_pd, _mm512_unpackhi_pd, _mm512_unpacklo_pd,
    };
    // SAFETY: inside the square, promised by the caller.
    let row = |r: usize| unsafe { _mm512_loadu_pd(from.add(r * from_stride)) };
    // SAFETY: as above.
    let put = |c: usize, column: __m512d| unsafe { _mm512_storeu_pd(to.add(c * to_stride), column) };
    let (a, b, c, d) = ((row(0), row(1)), (row(2), row(3)), (row(4), row(5)), (row(6), row(7)));
    // Columns 0, 2, 4, 6 of two rows each, then columns 1, 3, 5, 7.
    let low = |pair: (__m512d, __m512d)| _mm512_unpacklo_pd(pair.0, pair.1);
    let high = |pair: (__m512d, __m512d)| _mm512_unpackhi_pd(pair.0, pair.1);
    let halves = |first: usize, p: __m512d, q: __m512d, r: __m512d, s: __m512d| {
        let (pq, rs) = (_mm512_shuffle_f64x2::<0x88>(p, q), _mm512_shuffle_f64x2::<0x88>(r, s));
        put(first, _mm512_shuffle_f64x2::<0x88>(pq, rs));
        put(first + 4, _mm512_shuffle_f64x2::<0xdd>(pq, rs));
        let (pq, rs) = (_mm512_shuffle_f64x2::<0xdd>(p, q), _mm512_shuffle_f64x2::<0xdd>(r, s));
        put(first + 2, _mm512_shuffle_f64x2::<0x88>(pq, rs));
        put(first + 6, _mm512_shuffle_f64x2::<0xdd>(pq, rs));
    };
    halves(0, low(a), low(b), low(c), low(d));
    halves(1, high(a), high(b), high(c), high(d));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transpose_turns_rows_into_columns_and_leaves_the_rest() {
        for (from_stride, to_stride) in [(8, 8), (8, 11), (13, 8), (9, 20)] {
            let from: Vec<f64> = (0..from_stride * 8).map(|k| k as f64).collect();
            let to = crate::simd::at_every_level(|| {
                let mut to = vec![-1.0; to_stride * 8];
                transpose(&from, from_stride, &mut to, to_stride);
                to
            });
            for r in 0..to_stride {
                for c in 0..SIDE {
                    let expected = if r < SIDE { from[r * from_stride + c] } else { -1.0 };
                    assert_eq!(to[c * to_stride + r], expected);
                }
            }
        }
    }
}
