//! Weighted sums of eight arrays, and inner products with eight: passes over stored kernels. Memory serves eight
//! streams faster than four, and the compiler's own code for four is slower than explicit vectors.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    __m512d, _mm_add_pd, _mm_cvtsd_f64, _mm_unpackhi_pd, _mm256_add_pd, _mm256_castpd256_pd128, _mm256_extractf128_pd,
    _mm256_loadu_ps, _mm512_add_pd, _mm512_castpd512_pd256, _mm512_cvtps_pd, _mm512_extractf64x4_pd, _mm512_fmadd_pd,
    _mm512_loadu_pd, _mm512_set1_pd, _mm512_setzero_pd, _mm512_storeu_pd,
};

use std::ops::Range;

#[cfg(target_arch = "x86_64")]
#[cfg(target_arch = "x86_64")]
use super::each;
use super::reduce::{AHEAD, LANES, Real, finish};
use super::{Level, level, prefetch};

/// A type whose values can be read as vectors of eight `f64`.
pub(crate) trait SimdElement: Real + Into<f64> {
    /// # Safety
    /// There must be eight values, and the processor must have AVX-512.
    #[cfg(target_arch = "x86_64")]
    unsafe fn load(values: *const Self) -> __m512d;
}

impl SimdElement for f64 {
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn load(values: *const f64) -> __m512d {
        // SAFETY: promised by the caller.
        unsafe { _mm512_loadu_pd(values) }
    }
}

impl SimdElement for f32 {
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn load(values: *const f32) -> __m512d {
        // SAFETY: promised by the caller.
        unsafe { _mm512_cvtps_pd(_mm256_loadu_ps(values)) }
    }
}

/// `out += sum_k weights_k values_k` in the order of the arrays: the bits of [`Real::add_four`] twice.
///
/// # Panics
/// If an array is shorter than `out`.
pub(crate) fn add_eight<T: SimdElement>(weights: [f64; 8], values: [&[T]; 8], out: &mut [f64]) {
    let values = values.map(|values| &values[..out.len()]);
    #[cfg(target_arch = "x86_64")]
    if level() == Level::Avx512 {
        // SAFETY: `level` found AVX-512 on this processor, and all arrays are as long as `out`.
        return unsafe { add_avx512::<T, true>(weights, values, out) };
    }
    let ([w, x], [v, y]) = (halves(weights), halves(values));
    T::add_four(w, v, out);
    T::add_four(x, y, out);
}

/// [`add_eight`] of arrays in the first-level cache, with the same bits.
///
/// # Panics
/// If an array is shorter than `out`.
pub(crate) fn add_eight_at_hand<T: SimdElement>(weights: [f64; 8], values: [&[T]; 8], out: &mut [f64]) {
    #[cfg(target_arch = "x86_64")]
    if level() == Level::Avx512 {
        let values = values.map(|values| &values[..out.len()]);
        // SAFETY: `level` found AVX-512 on this processor, and all arrays are as long as `out`.
        return unsafe { add_avx512::<T, false>(weights, values, out) };
    }
    add_eight(weights, values, out);
}

/// `sum_i values_i with_i` of eight arrays: the bits of [`Real::dot`].
///
/// # Panics
/// If an array is shorter than `with`.
pub(crate) fn dot_eight<T: SimdElement>(values: [&[T]; 8], with: &[f64]) -> [f64; 8] {
    let values = values.map(|values| &values[..with.len()]);
    #[cfg(target_arch = "x86_64")]
    if level() == Level::Avx512 {
        // SAFETY: `level` found AVX-512 on this processor, and all arrays are as long as `with`.
        return unsafe { dot_avx512(values, with) };
    }
    let [first, last] = halves(values).map(|four| T::dot_four(four, with));
    std::array::from_fn(|k| if k < 4 { first[k] } else { last[k - 4] })
}

/// Bytes of eight arrays that are read for several results in turn: with as many results they fill half a first-level
/// cache.
const SPAN_BYTES: usize = 16 << 10;

/// Splits arrays of this length into spans, eight of which fit in the first-level cache.
pub(crate) fn spans<T: Real>(len: usize) -> impl Iterator<Item = Range<usize>> {
    let step = SPAN_BYTES / (8 * T::BYTES);
    (0..len).step_by(step).map(move |start| start..(start + step).min(len))
}

/// [`dot_eight`] with each of several arrays, with the same bits; values are read from memory once.
///
/// # Panics
/// If an array is shorter than the first of `with`, or these have different lengths.
pub(crate) fn dot_eight_with_each<T: SimdElement>(values: [&[T]; 8], with: &[&[f64]], dots: &mut [[f64; 8]]) {
    #[cfg(target_arch = "x86_64")]
    if with.len() > 1 && level() == Level::Avx512 {
        let n = with[0].len();
        let values = values.map(|values| &values[..n]);
        assert!(with.iter().all(|with| with.len() == n), "arrays of different lengths");
        for (with, dots) in with.chunks(COLUMNS).zip(dots.chunks_mut(COLUMNS)) {
            // SAFETY: `level` found AVX-512 on this processor, and all arrays are as long.
            unsafe { dots_avx512(values, with, dots) };
        }
        return;
    }
    with.iter().zip(dots).for_each(|(with, dots)| *dots = dot_eight(values, with));
}

fn halves<T: Copy>([a, b, c, d, e, f, g, h]: [T; 8]) -> [[T; 4]; 2] {
    [[a, b, c, d], [e, f, g, h]]
}

/// Prefetches what follows a block of [`LANES`] values in a stream.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn prefetch_block<T>(here: *const T) {
    for line in 0..(LANES * size_of::<T>()).div_ceil(64) {
        prefetch(here.wrapping_byte_add(AHEAD + 64 * line));
    }
}

/// `FIRST` means that the values come from memory.
///
/// # Safety
/// The processor must have AVX-512, and arrays must be as long as `out`.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq,avx2,fma")]
unsafe fn add_avx512<T: SimdElement, const FIRST: bool>(weights: [f64; 8], values: [&[T]; 8], out: &mut [f64]) {
    let broadcast = weights.map(|weight| _mm512_set1_pd(weight));
    let done = out.len() / LANES * LANES;
    let to = out.as_mut_ptr();
    for i in (0..done).step_by(LANES) {
        // SAFETY: a whole block of `out`, here and below.
        let [mut low, mut high] = unsafe { [_mm512_loadu_pd(to.add(i)), _mm512_loadu_pd(to.add(i + 8))] };
        for (values, weight) in values.iter().zip(broadcast) {
            // SAFETY: a whole block of the array, which is as long as `out`.
            unsafe {
                let here = values.as_ptr().add(i);
                if FIRST {
                    prefetch_block(here);
                }
                low = _mm512_fmadd_pd(weight, T::load(here), low);
                high = _mm512_fmadd_pd(weight, T::load(here.add(8)), high);
            }
        }
        // SAFETY: as above.
        unsafe {
            _mm512_storeu_pd(to.add(i), low);
            _mm512_storeu_pd(to.add(i + 8), high);
        }
    }
    for (i, out) in out.iter_mut().enumerate().skip(done) {
        *out = values.iter().zip(weights).fold(*out, |sum, (values, weight)| weight.mul_add(values[i].into(), sum));
    }
}

/// The lanes of eight inner products.
#[cfg(target_arch = "x86_64")]
type Sums = [[__m512d; 2]; 8];

/// # Safety
/// The processor must have AVX-512, and arrays must be as long as `with`.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq,avx2,fma")]
unsafe fn dot_avx512<T: SimdElement>(values: [&[T]; 8], with: &[f64]) -> [f64; 8] {
    let sums = [[_mm512_setzero_pd(); 2]; 8];
    let done = with.len() / LANES * LANES;
    // SAFETY: promised by the caller, here and below.
    unsafe { end_avx512(add_dots_avx512::<T, true>(sums, values, with, 0..done), values, with) }
}

/// Number of arrays of `with` that [`dot_eight_with_each`] processes at a time.
#[cfg(target_arch = "x86_64")]
const COLUMNS: usize = 4;

/// # Safety
/// The processor must have AVX-512, all arrays must have the same length, and `with` must have at most [`COLUMNS`] of
/// them.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq,avx2,fma")]
unsafe fn dots_avx512<T: SimdElement>(values: [&[T]; 8], with: &[&[f64]], dots: &mut [[f64; 8]]) {
    let mut sums = [[[_mm512_setzero_pd(); 2]; 8]; COLUMNS];
    let done = values[0].len() / LANES * LANES;
    for span in spans::<T>(done) {
        for (k, (with, sums)) in with.iter().zip(&mut sums).enumerate() {
            // SAFETY: promised by the caller.
            *sums = unsafe {
                match k {
                    0 => add_dots_avx512::<T, true>(*sums, values, with, span.clone()),
                    _ => add_dots_avx512::<T, false>(*sums, values, with, span.clone()),
                }
            };
        }
    }
    for ((with, sums), dots) in with.iter().zip(sums).zip(dots) {
        // SAFETY: promised by the caller.
        *dots = unsafe { end_avx512(sums, values, with) };
    }
}

/// Adds the products of whole blocks. `FIRST` means that the values come from memory.
///
/// # Safety
/// The processor must have AVX-512, and arrays must reach to the end of the range, which consists of whole blocks.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx2,fma")]
unsafe fn add_dots_avx512<T: SimdElement, const FIRST: bool>(
    mut sums: Sums,
    values: [&[T]; 8],
    with: &[f64],
    range: Range<usize>,
) -> Sums {
    let by = with.as_ptr();
    for i in range.step_by(LANES) {
        // SAFETY: a whole block of `with`.
        let [low, high] = unsafe { [_mm512_loadu_pd(by.add(i)), _mm512_loadu_pd(by.add(i + 8))] };
        for (values, sums) in values.iter().zip(&mut sums) {
            // SAFETY: a whole block of the array, which is as long as `with`.
            unsafe {
                let here = values.as_ptr().add(i);
                if FIRST {
                    prefetch_block(here);
                }
                sums[0] = _mm512_fmadd_pd(T::load(here), low, sums[0]);
                sums[1] = _mm512_fmadd_pd(T::load(here.add(8)), high, sums[1]);
            }
        }
    }
    sums
}

/// Adds the elements that do not fill a block, then the lanes.
///
/// # Safety
/// The processor must have AVX-512, and arrays must be as long as `with`.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx2,fma")]
unsafe fn end_avx512<T: SimdElement>(sums: Sums, values: [&[T]; 8], with: &[f64]) -> [f64; 8] {
    let done = with.len() / LANES * LANES;
    let rest = &with[done..];
    each(0.0, |k| {
        if rest.is_empty() {
            return tree(sums[k]);
        }
        let mut lanes = [0.0; LANES];
        // SAFETY: two vectors of eight fill the lanes.
        unsafe {
            _mm512_storeu_pd(lanes.as_mut_ptr(), sums[k][0]);
            _mm512_storeu_pd(lanes.as_mut_ptr().add(8), sums[k][1]);
        }
        finish(lanes, &values[k][done..], rest)
    })
}

/// Adds the lanes in the order of [`finish`].
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx2,fma")]
fn tree([low, high]: [__m512d; 2]) -> f64 {
    let eight = _mm512_add_pd(low, high);
    let four = _mm256_add_pd(_mm512_castpd512_pd256(eight), _mm512_extractf64x4_pd::<1>(eight));
    let two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd::<1>(four));
    _mm_cvtsd_f64(two) + _mm_cvtsd_f64(_mm_unpackhi_pd(two, two))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::Rng;
    use crate::simd::check::{LENGTHS, bits, uniform};
    use crate::simd::{UninitPart, at_every_level};

    fn check<T: SimdElement>() {
        let mut rng = Rng::new(1, 0);
        for (n, skip) in LENGTHS.into_iter().flat_map(|n| [(n, 0), (n, 1), (n, 3)]) {
            let (weights, with) = (uniform(&mut rng, 8), uniform(&mut rng, n));
            let arrays: [Vec<T>; 8] = std::array::from_fn(|_| {
                let mut array = vec![T::default(); n + skip];
                T::round_into(&uniform(&mut rng, n + skip), &mut UninitPart::over(&mut array));
                array
            });
            let values: [&[T]; 8] = std::array::from_fn(|k| &arrays[k][skip..]);
            let (sum, dots) = at_every_level(|| {
                let mut out = with.clone();
                add_eight(std::array::from_fn(|k| weights[k]), values, &mut out);
                (bits(&out), bits(&dot_eight(values, &with)))
            });
            let mut expected = with.clone();
            for (values, weight) in values.iter().zip(&weights) {
                T::add_scaled(*weight, values, &mut expected);
            }
            assert_eq!(sum, bits(&expected), "{n}");
            let at_hand = at_every_level(|| {
                let mut out = with.clone();
                add_eight_at_hand(std::array::from_fn(|k| weights[k]), values, &mut out);
                bits(&out)
            });
            assert_eq!(at_hand, sum, "{n}");
            assert_eq!(dots, bits(&values.map(|values| T::dot(values, &with))), "{n}");
            let columns: Vec<Vec<f64>> = (0..6).map(|_| uniform(&mut rng, n)).collect();
            let columns: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
            for n_columns in [0, 1, 2, 4, 6] {
                let found = at_every_level(|| {
                    let mut dots = vec![[0.0; 8]; n_columns];
                    dot_eight_with_each(values, &columns[..n_columns], &mut dots);
                    bits(dots.as_flattened())
                });
                let each = columns[..n_columns].iter().flat_map(|with| values.map(|values| T::dot(values, with)));
                assert_eq!(found, bits(&each.collect::<Vec<f64>>()), "{n}, {n_columns} columns");
            }
        }
    }

    #[test]
    fn eight_arrays_have_the_bits_of_one_after_the_other_at_every_level() {
        check::<f64>();
        check::<f32>();
    }
}
