//! Gathering some columns of a row.

/// Numbers gathered at a time.
pub(crate) const GATHERED: usize = 8;

/// Positions in a row, padded to a multiple of [`GATHERED`].
pub(crate) struct Places {
    /// Padded with 0.
    at: Vec<i32>,
    n: usize,
    /// One more than the last position.
    end: usize,
}

impl Places {
    /// # Panics
    /// If a position is above two thousand million.
    pub(crate) fn new(places: &[usize]) -> Places {
        let end = places.iter().map(|place| place + 1).max().unwrap_or(0);
        assert!(end <= i32::MAX as usize, "places have 31 bits");
        let mut at: Vec<i32> = places.iter().map(|&place| place as i32).collect();
        at.resize(places.len().next_multiple_of(GATHERED), 0);
        Places { at, n: places.len(), end }
    }

    /// Number of positions, including the padding.
    pub(crate) fn size(&self) -> usize {
        self.at.len()
    }

    /// The numbers at the positions, with those smaller in magnitude than `least` set to 0, then zeros for the padding:
    /// `out` has the padded size.
    ///
    /// # Panics
    /// If a position is outside the row.
    pub(crate) fn gather(&self, row: &[f64], least: f64, out: &mut [f64]) {
        assert!(self.end <= row.len() && out.len() == self.size(), "places are in the row, and there is room for them");
        #[cfg(target_arch = "x86_64")]
        if super::level() == super::Level::Avx512 {
            // SAFETY: `level` found AVX-512 on this processor.
            return unsafe { self.gather_avx512(row, least, out) };
        }
        for (out, &place) in out.iter_mut().zip(&self.at[..self.n]) {
            let value = row[place as usize];
            *out = if value.abs() < least { 0.0 } else { value };
        }
        out[self.n..].fill(0.0);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx")]
    fn gather_avx512(&self, row: &[f64], least: f64, out: &mut [f64]) {
        use std::arch::x86_64::{
            _CMP_NLT_UQ, _mm256_loadu_si256, _mm512_abs_pd, _mm512_cmp_pd_mask, _mm512_mask_i32gather_pd,
            _mm512_maskz_mov_pd, _mm512_set1_pd, _mm512_setzero_pd, _mm512_storeu_pd,
        };
        let bound = _mm512_set1_pd(least);
        for (k, (places, out)) in self.at.chunks_exact(GATHERED).zip(out.chunks_exact_mut(GATHERED)).enumerate() {
            let wanted = if self.n - k * GATHERED >= GATHERED { 0xff } else { (1u8 << (self.n % GATHERED)) - 1 };
            // SAFETY: eight positions are read, the requested ones lie in the row because `end` does, and eight numbers
            // are written.
            unsafe {
                let places = _mm256_loadu_si256(places.as_ptr().cast());
                let values = _mm512_mask_i32gather_pd::<8>(_mm512_setzero_pd(), wanted, places, row.as_ptr().cast());
                let large = _mm512_cmp_pd_mask::<_CMP_NLT_UQ>(_mm512_abs_pd(values), bound);
                _mm512_storeu_pd(out.as_mut_ptr(), _mm512_maskz_mov_pd(large, values));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::Rng;
    use crate::simd::at_every_level;
    use crate::simd::check::{LENGTHS, bits, uniform};

    #[test]
    fn gather_of_any_places_is_their_numbers_or_zero_at_every_level() {
        let mut rng = Rng::new(1, 0);
        for n in LENGTHS {
            let mut row = uniform(&mut rng, 300);
            // Not the first: the padding points there, and must not be read.
            row[1..7].copy_from_slice(&[1e-200, -1e-200, 1e-100, -1e-100, f64::NAN, -0.0]);
            row[299] = f64::INFINITY;
            let places: Vec<usize> = (0..n).map(|k| if k < 6 { k + 1 } else { rng.below(300) }).collect();
            let found = at_every_level(|| {
                let places = Places::new(&places);
                let mut out = vec![7.0; places.size()];
                places.gather(&row, 1e-150, &mut out);
                bits(&out)
            });
            let mut expected: Vec<f64> =
                places.iter().map(|&place| if row[place].abs() < 1e-150 { 0.0 } else { row[place] }).collect();
            expected.resize(n.next_multiple_of(GATHERED), 0.0);
            assert_eq!(found, bits(&expected), "{n}");
        }
    }

    #[test]
    #[should_panic(expected = "places are in the row")]
    fn gather_outside_of_the_row_is_refused() {
        let places = Places::new(&[0, 5]);
        places.gather(&[1.0; 5], 0.0, &mut [0.0; GATHERED]);
    }
}
