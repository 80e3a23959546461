//! Squares of eight by eight turned over in registers.

/// Rows and columns of a square.
pub(crate) const SIDE: usize = 8;

/// `out[c][r] = rows[r][c]`.
#[inline]
pub(crate) fn transpose(rows: &[[f64; SIDE]; SIDE], out: &mut [[f64; SIDE]; SIDE]) {
    #[cfg(target_arch = "x86_64")]
    if super::level() == super::Level::Avx512 {
        // SAFETY: `level` found AVX-512 on this processor.
        unsafe { transpose_avx512(rows, out) };
        return;
    }
    for (c, out) in out.iter_mut().enumerate() {
        for (out, row) in out.iter_mut().zip(rows) {
            *out = row[c];
        }
    }
}

/// Pairs of neighbours change places, then pairs of pairs, then halves.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn transpose_avx512(rows: &[[f64; SIDE]; SIDE], out: &mut [[f64; SIDE]; SIDE]) {
    use std::arch::x86_64::{
        _mm512_loadu_pd, _mm512_shuffle_f64x2, _mm512_storeu_pd, _mm512_unpackhi_pd, _mm512_unpacklo_pd,
    };
    // SAFETY: each row is eight numbers.
    let row = |r: usize| unsafe { _mm512_loadu_pd(rows[r].as_ptr()) };
    // Columns 0, 2, 4, 6 (low) and 1, 3, 5, 7 (high) of two rows, in pairs.
    let low = [0, 2, 4, 6].map(|r| _mm512_unpacklo_pd(row(r), row(r + 1)));
    let high = [0, 2, 4, 6].map(|r| _mm512_unpackhi_pd(row(r), row(r + 1)));
    for (first, pairs) in [(0, low), (1, high)] {
        let (a, b) =
            (_mm512_shuffle_f64x2::<0x88>(pairs[0], pairs[1]), _mm512_shuffle_f64x2::<0x88>(pairs[2], pairs[3]));
        let (c, d) =
            (_mm512_shuffle_f64x2::<0xdd>(pairs[0], pairs[1]), _mm512_shuffle_f64x2::<0xdd>(pairs[2], pairs[3]));
        let columns = [
            _mm512_shuffle_f64x2::<0x88>(a, b),
            _mm512_shuffle_f64x2::<0x88>(c, d),
            _mm512_shuffle_f64x2::<0xdd>(a, b),
            _mm512_shuffle_f64x2::<0xdd>(c, d),
        ];
        for (k, column) in columns.into_iter().enumerate() {
            // SAFETY: each row is eight numbers.
            unsafe { _mm512_storeu_pd(out[first + 2 * k].as_mut_ptr(), column) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transpose_turns_rows_into_columns() {
        let rows: [[f64; SIDE]; SIDE] = std::array::from_fn(|r| std::array::from_fn(|c| (10 * r + c) as f64));
        let out = crate::simd::at_every_level(|| {
            let mut out = [[0.0; SIDE]; SIDE];
            transpose(&rows, &mut out);
            out
        });
        for r in 0..SIDE {
            for c in 0..SIDE {
                assert_eq!(out[c][r], rows[r][c]);
            }
        }
    }
}
