//! Piecewise polynomials of the distance, evaluated (weighted sums of radial kernels) and transposed (their moments).

use super::dispatched;

/// Mantissa bits that select the segment: 2^4 = 16 segments per octave.
pub(crate) const OCTAVE_BITS: u32 = 4;
/// Coefficients of a piece: a quintic.
pub(crate) const COEFFICIENTS: usize = 6;
/// Numbers stored per segment: the coefficients, padded to one cache line.
pub(crate) const LINE: usize = 8;

/// The numbers of one segment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(align(64))]
pub(crate) struct Line(pub(crate) [f64; LINE]);

/// Elements located before they are looked up, so that both loops vectorise.
const CHUNK: usize = 64;

/// Bits below those that select the segment.
const SHIFT: u32 = 52 - OCTAVE_BITS;
const BELOW: u64 = (1 << SHIFT) - 1;
const ONE: u64 = 1023 << 52;

/// The segment of a distance and the position in it: r in [-1, 1), or in [0, 1) in the first, which starts at 0.
///
/// `first` is the top bits of the lowest distance outside the first segment, `scale` its reciprocal. Distances past the
/// last segment are assigned to it: everything is zero there.
#[inline(always)]
fn locate(first: u64, n_segments: usize, scale: f64, distance: f64) -> (u32, f64) {
    let bits = distance.to_bits();
    let top = bits >> SHIFT;
    let low = top < first;
    let segment = if low { 0 } else { (top - first + 1).min(n_segments as u64 - 1) };
    let within = f64::from_bits(((bits & BELOW) << OCTAVE_BITS) | ONE);
    let r = if low { distance * scale } else { within.mul_add(2.0, -3.0) };
    (segment as u32, r)
}

/// `out += profile(distance)`, for non-negative distances (not -0).
pub(crate) fn add_profile(first: u64, scale: f64, table: &[Line], distances: &[f64], out: &mut [f64]) {
    assert!(!table.is_empty() && distances.len() == out.len());
    #[cfg(target_arch = "x86_64")]
    if super::level() == super::Level::Avx512 {
        let whole = distances.len() / LANES * LANES;
        // SAFETY: `level` found AVX-512 on this processor.
        unsafe { evaluate_avx512(first, scale, table, &distances[..whole], &mut out[..whole]) };
        return evaluate(first, scale, table, &distances[whole..], &mut out[whole..]);
    }
    evaluate(first, scale, table, distances, out);
}

/// Distances evaluated at a time.
#[cfg(target_arch = "x86_64")]
const LANES: usize = 8;

/// [`evaluate`] for whole groups of [`LANES`], with the same operations in the same order: the compiler does not use
/// the instruction that gathers eight coefficients at once.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq,avx2,fma")]
fn evaluate_avx512(first: u64, scale: f64, table: &[Line], distances: &[f64], out: &mut [f64]) {
    use std::arch::x86_64::*;
    let whole = |number: u64| _mm512_set1_epi64(number as i64);
    let (first, last) = (whole(first), whole(table.len() as u64 - 1));
    let coefficients = table.as_ptr().cast::<f64>();
    let (distances, _) = distances.as_chunks::<LANES>();
    let (out, _) = out.as_chunks_mut::<LANES>();
    for (distances, out) in distances.iter().zip(out) {
        // SAFETY: eight numbers.
        let distance = unsafe { _mm512_loadu_pd(distances.as_ptr()) };
        let bits = _mm512_castpd_si512(distance);
        let top = _mm512_srli_epi64::<SHIFT>(bits);
        let low = _mm512_cmplt_epu64_mask(top, first);
        let segment = _mm512_min_epu64(_mm512_add_epi64(_mm512_sub_epi64(top, first), whole(1)), last);
        let segment = _mm512_maskz_mov_epi64(!low, segment);
        let within = _mm512_slli_epi64::<OCTAVE_BITS>(_mm512_and_si512(bits, whole(BELOW)));
        let within = _mm512_castsi512_pd(_mm512_or_si512(within, whole(ONE)));
        let r = _mm512_fmadd_pd(within, _mm512_set1_pd(2.0), _mm512_set1_pd(-3.0));
        let r = _mm512_mask_mul_pd(r, low, distance, _mm512_set1_pd(scale));
        let line = _mm512_slli_epi64::<{ LINE.ilog2() }>(segment);
        // SAFETY: `segment` is at most the last of the table, and j is below the numbers of a line.
        let coefficient = |j: usize| unsafe { _mm512_i64gather_pd::<8>(line, coefficients.add(j)) };
        let mut value = coefficient(COEFFICIENTS - 1);
        for j in (0..COEFFICIENTS - 1).rev() {
            value = _mm512_fmadd_pd(value, r, coefficient(j));
        }
        // SAFETY: eight numbers.
        unsafe { _mm512_storeu_pd(out.as_mut_ptr(), _mm512_add_pd(_mm512_loadu_pd(out.as_ptr()), value)) };
    }
}

dispatched! {
    fn evaluate(first: u64, scale: f64, table: &[Line], distances: &[f64], out: &mut [f64]) {
        let mut segments = [0u32; CHUNK];
        let mut places = [0.0f64; CHUNK];
        for (distances, out) in distances.chunks(CHUNK).zip(out.chunks_mut(CHUNK)) {
            for (k, &distance) in distances.iter().enumerate() {
                (segments[k], places[k]) = locate(first, table.len(), scale, distance);
            }
            for (k, out) in out.iter_mut().enumerate() {
                let (c, r) = (&table[segments[k] as usize].0, places[k]);
                let mut value = c[COEFFICIENTS - 1];
                for j in (0..COEFFICIENTS - 1).rev() {
                    value = value.mul_add(r, c[j]);
                }
                *out += value;
            }
        }
    }
}

/// `moments[segment of d][j] += weight r^j` for each distance d and its weight: the transpose of [`add_profile`].
pub(crate) fn add_moments(first: u64, scale: f64, distances: &[f64], weights: &[f64], moments: &mut [Line]) {
    assert!(!moments.is_empty() && distances.len() == weights.len());
    transpose(first, scale, distances, weights, moments);
}

dispatched! {
    fn transpose(first: u64, scale: f64, distances: &[f64], weights: &[f64], moments: &mut [Line]) {
        let mut segments = [0u32; CHUNK];
        let mut places = [0.0f64; CHUNK];
        for (distances, weights) in distances.chunks(CHUNK).zip(weights.chunks(CHUNK)) {
            for (k, &distance) in distances.iter().enumerate() {
                (segments[k], places[k]) = locate(first, moments.len(), scale, distance);
            }
            for (k, &weight) in weights.iter().enumerate() {
                let (line, r) = (&mut moments[segments[k] as usize].0, places[k]);
                let (square, fourth) = (r * r, (r * r) * (r * r));
                // The powers 0 to 7 from the bits of the exponent, all lanes at once.
                for (j, moment) in line.iter_mut().enumerate() {
                    let one = if j & 1 == 1 { r } else { 1.0 };
                    let two = if j & 2 == 2 { square } else { 1.0 };
                    let four = if j & 4 == 4 { fourth } else { 1.0 };
                    *moment += weight * one * two * four;
                }
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

    /// Segments start at 2^LOW and end at 2^(LOW + OCTAVES).
    const LOW: i32 = -3;
    const OCTAVES: i32 = 5;
    const N_SEGMENTS: usize = 1 + 16 * OCTAVES as usize + 1;

    fn first() -> u64 {
        2f64.powi(LOW).to_bits() >> SHIFT
    }

    fn scale() -> f64 {
        2f64.powi(-LOW)
    }

    /// The segment of a distance and the position in it, by comparing and halving; every step is exact.
    fn place(distance: f64) -> (usize, f64) {
        if distance < 2f64.powi(LOW) {
            return (0, distance * scale());
        }
        if distance == f64::INFINITY {
            return (N_SEGMENTS - 1, -1.0);
        }
        let (mut octave, mut unit) = (LOW, 2f64.powi(LOW));
        while distance / unit >= 2.0 {
            (octave, unit) = (octave + 1, 2.0 * unit);
        }
        let part = (distance / unit - 1.0) * 16.0;
        let segment = 1 + 16 * (octave - LOW) as usize + part.floor() as usize;
        (segment.min(N_SEGMENTS - 1), 2.0 * (part - part.floor()) - 1.0)
    }

    /// Distances in every segment, at and just below the start of each, and far outside.
    fn distances(rng: &mut Rng, n: usize) -> Vec<f64> {
        let mut distances: Vec<f64> = (0..n).map(|_| (9.0 * rng.uniform() - 6.0).exp2()).collect();
        let begins = (0..OCTAVES).flat_map(|e| (0..16).map(move |p| 2f64.powi(LOW + e) * (1.0 + f64::from(p) / 16.0)));
        let special = [0.0, 5e-324, 1e-310, 1e300, f64::MAX, f64::INFINITY, 4.0, 4f64.next_down(), 3.999];
        let all: Vec<f64> = special.into_iter().chain(begins.flat_map(|d| [d, d.next_down()])).collect();
        // From the end, so that short slices start elsewhere each time.
        for (to, from) in distances.iter_mut().rev().step_by(2).zip(all.iter().cycle().skip(n % 97)) {
            *to = *from;
        }
        distances
    }

    fn table(rng: &mut Rng) -> Vec<Line> {
        let line = |_| {
            let mut line = Line::default();
            line.0[..COEFFICIENTS].copy_from_slice(&uniform(rng, COEFFICIENTS));
            line
        };
        (0..N_SEGMENTS).map(line).collect()
    }

    #[test]
    fn add_profile_is_the_polynomial_of_the_segment_at_every_level() {
        let mut rng = Rng::new(1, 0);
        let table = table(&mut rng);
        for (n, skip) in LENGTHS.into_iter().flat_map(|n| [(n, 0), (n, 1), (n, 3)]) {
            let (distances, before) = (distances(&mut rng, n + skip), uniform(&mut rng, n + skip));
            let found = at_every_level(|| {
                let mut out = before.clone();
                add_profile(first(), scale(), &table, &distances[skip..], &mut out[skip..]);
                bits(&out)
            });
            let mut expected = before.clone();
            for (out, &distance) in expected.iter_mut().zip(&distances).skip(skip) {
                let (segment, r) = place(distance);
                *out += table[segment].0[..COEFFICIENTS].iter().rev().fold(0.0, |sum, c| f64::mul_add(sum, r, *c));
            }
            assert_eq!(found, bits(&expected));
        }
    }

    #[test]
    fn add_moments_sums_powers_by_segment_at_every_level() {
        let mut rng = Rng::new(2, 0);
        for (n, skip) in LENGTHS.into_iter().flat_map(|n| [(n, 0), (n, 1), (n, 3)]) {
            let (distances, weights) = (distances(&mut rng, n + skip), uniform(&mut rng, n + skip));
            let (distances, weights) = (&distances[skip..], &weights[skip..]);
            let found = at_every_level(|| {
                let mut moments = vec![Line([1.0; LINE]); N_SEGMENTS];
                add_moments(first(), scale(), distances, weights, &mut moments);
                moments.iter().map(|line| line.0.map(f64::to_bits)).collect::<Vec<_>>()
            });
            let mut expected = vec![[1.0; COEFFICIENTS]; N_SEGMENTS];
            for (&distance, weight) in distances.iter().zip(weights) {
                let (segment, r) = place(distance);
                for (j, moment) in expected[segment].iter_mut().enumerate() {
                    *moment += weight * r.powi(j as i32);
                }
            }
            // Up to n sums of at most 1 + n, and some ten roundings of each term, on either side.
            let bound = (n + 20) as f64 * (n + 1) as f64 * f64::EPSILON;
            for (found, expected) in found.iter().zip(&expected) {
                for (found, expected) in found.iter().zip(expected) {
                    assert!((f64::from_bits(*found) - expected).abs() <= bound);
                }
            }
        }
    }

    #[test]
    fn add_moments_is_the_transpose_of_add_profile() {
        let mut rng = Rng::new(3, 0);
        let table = table(&mut rng);
        let (distances, weights) = (distances(&mut rng, 1000), uniform(&mut rng, 1000));
        let (mut values, mut moments) = (vec![0.0; 1000], vec![Line::default(); N_SEGMENTS]);
        add_profile(first(), scale(), &table, &distances, &mut values);
        add_moments(first(), scale(), &distances, &weights, &mut moments);
        let forward: f64 = values.iter().zip(&weights).map(|(value, weight)| value * weight).sum();
        let backward: f64 =
            table.iter().zip(&moments).flat_map(|(c, h)| c.0.into_iter().zip(h.0)).map(|(c, h)| c * h).sum();
        // Some 2000 intermediate sums, of at most 1000 terms of at most 6.
        assert!((forward - backward).abs() <= 2000.0 * 6000.0 * f64::EPSILON, "{forward} {backward}");
    }
}
