//! Piecewise polynomials of a distance, evaluated (weighted sums of radial kernels) and transposed (their moments).

use super::dispatched;

/// Bits of the mantissa that choose the segment: 2^4 = 16 segments per octave.
pub(crate) const OCTAVE_BITS: u32 = 4;
/// Coefficients of a piece: a quintic.
pub(crate) const COEFFICIENTS: usize = 6;
/// Numbers stored per segment: the coefficients, filled up to one line of the cache.
pub(crate) const LINE: usize = 8;

/// The numbers of one segment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(align(64))]
pub(crate) struct Line(pub(crate) [f64; LINE]);

/// Elements located before they are looked up, so that both loops vectorise.
const CHUNK: usize = 64;

/// Bits below those that choose the segment.
const SHIFT: u32 = 52 - OCTAVE_BITS;
const BELOW: u64 = (1 << SHIFT) - 1;
const ONE: u64 = 1023 << 52;

/// The segment of a distance and where it lies in it: r in [-1, 1), or in [0, 1) in the first, which begins at 0.
///
/// `first` is the top bits of the lowest distance outside the first segment, `scale` one over it. Distances past the last
/// segment belong to it: all is zero there.
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

/// `out += profile(distance)`.
pub(crate) fn add_profile(first: u64, scale: f64, table: &[Line], distances: &[f64], out: &mut [f64]) {
    assert!(!table.is_empty() && distances.len() == out.len());
    evaluate(first, scale, table, distances, out);
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

dispatched! {
    /// `moments[segment of d][j] += weight r^j` for each distance d and its weight: the transpose of [`add_profile`].
    pub(crate) fn add_moments(first: u64, scale: f64, distances: &[f64], weights: &[f64], moments: &mut [Line]) {
        let mut segments = [0u32; CHUNK];
        let mut places = [0.0f64; CHUNK];
        for (distances, weights) in distances.chunks(CHUNK).zip(weights.chunks(CHUNK)) {
            for (k, &distance) in distances.iter().enumerate() {
                (segments[k], places[k]) = locate(first, moments.len(), scale, distance);
            }
            for (k, &weight) in weights.iter().enumerate() {
                let (line, r) = (&mut moments[segments[k] as usize].0, places[k]);
                let (square, fourth) = (r * r, (r * r) * (r * r));
                // The powers 0 to 7 by the bits of the exponent, all lanes at once.
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
