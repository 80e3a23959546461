//! Weighted sums and inner products over stored kernel values, `f64` or `f32`, always summed in `f64`.

use super::exp::{exp, exp_narrow, raise};
use super::{dispatched, prefetch};

/// Partial sums of an inner product. More than the adders of any processor have in flight.
const LANES: usize = 16;
/// Values raised to all their powers at a time.
const DECAYS: usize = 256;
/// Most powers of one exponential that [`Real::decays_into`] makes.
pub(crate) const MOST_RAISES: usize = 4;

/// A type kernel values are stored in.
pub(crate) trait Real: Copy + Default + Send + Sync + 'static {
    /// Bytes of one value.
    const BYTES: usize;
    /// A vector of zeros, from the system where it is large.
    fn zeros(n: usize) -> Vec<Self>;
    /// `out = values`, rounded to the type.
    fn round_into(values: &[f64], out: &mut [Self]);
    /// `e^(-rate * base)` and then, for each of `raises`, the square (or, if true, the fourth power) of the values before: one
    /// array of the length of `base` after the other.
    fn decays_into(rate: f64, raises: &[bool], base: &[f64], out: &mut [Self]);
    /// `out = values`.
    fn widen_into(values: &[Self], out: &mut [f64]);
    /// `out += weight * values`.
    fn add_scaled(weight: f64, values: &[Self], out: &mut [f64]);
    /// `out += sum_k weights_k values_k`, four arrays at a time, in their order.
    fn add_four(weights: [f64; 4], values: [&[Self]; 4], out: &mut [f64]);
    /// `sum_i values_i with_i`.
    fn dot(values: &[Self], with: &[f64]) -> f64;
    /// [`Real::dot`] of four arrays with one, with the same bits: four streams from memory are faster than one.
    fn dot_four(values: [&[Self]; 4], with: &[f64]) -> [f64; 4];
}

/// Asks for what the next four arrays hold here, if they follow these in memory: arrays are too short for the processor to
/// find out by itself.
#[inline(always)]
fn prefetch_next<T>(values: [&[T]; 4], here: [&[T; LANES]; 4]) {
    let next = 4 * values[0].len();
    for here in here {
        for line in 0..(LANES * size_of::<T>()).div_ceil(64) {
            prefetch(here.as_ptr().wrapping_add(next + line * 64 / size_of::<T>()));
        }
    }
}

/// `sum += values * with`, lane by lane.
#[inline(always)]
fn step<T: Copy + Into<f64>>(sum: [f64; LANES], values: &[T; LANES], with: &[f64; LANES]) -> [f64; LANES] {
    std::array::from_fn(|k| values[k].into().mul_add(with[k], sum[k]))
}

/// The lanes put together as a tree, after the elements that fill no block.
#[inline(always)]
fn finish<T: Copy + Into<f64>>(mut sum: [f64; LANES], rest: &[T], with: &[f64]) -> f64 {
    for (sum, (&value, &with)) in sum.iter_mut().zip(rest.iter().zip(with)) {
        *sum = value.into().mul_add(with, *sum);
    }
    let mut width = LANES / 2;
    while width > 0 {
        for k in 0..width {
            sum[k] += sum[k + width];
        }
        width /= 2;
    }
    sum[0]
}

dispatched! {
    fn decays_f64(rate: f64, raises: &[bool], base: &[f64], out: &mut [f64]) {
        let n = base.len();
        // A few values at a time: all their powers are made before they leave the first-level cache.
        for (start, base) in (0..n).step_by(DECAYS).zip(base.chunks(DECAYS)) {
            let (first, rest) = out.split_at_mut(n);
            let mut values = &mut first[start..start + base.len()];
            for (value, base) in values.iter_mut().zip(base) {
                *value = exp(-(rate * base));
            }
            for (next, &twice) in rest.chunks_exact_mut(n).zip(raises) {
                let next = &mut next[start..start + base.len()];
                if twice {
                    for (next, value) in next.iter_mut().zip(&*values) {
                        *next = raise(true, *value);
                    }
                } else {
                    for (next, value) in next.iter_mut().zip(&*values) {
                        *next = raise(false, *value);
                    }
                }
                values = next;
            }
        }
    }
}

/// Rates and distances of this size can be rounded to `f32` before they are multiplied.
const NARROW_RATES: std::ops::RangeInclusive<f64> = 1e-30..=1e30;

dispatched! {
    /// Each its own exponential, in `f32`: powers would lose digits that `f32` does not have.
    fn decays_f32(rate: f64, raises: &[bool], base: &[f64], out: &mut [f32]) {
        let mut rates = [rate; 1 + MOST_RAISES];
        for (k, &twice) in raises.iter().enumerate() {
            rates[k + 1] = rates[k] * if twice { 4.0 } else { 2.0 };
        }
        let n = base.len();
        let mut narrowed = [0.0f32; DECAYS];
        for (start, base) in (0..n).step_by(DECAYS).zip(base.chunks(DECAYS)) {
            let narrowed = &mut narrowed[..base.len()];
            for (narrowed, &base) in narrowed.iter_mut().zip(base) {
                *narrowed = base as f32;
            }
            for (out, &rate) in out.chunks_exact_mut(n).zip(&rates[..1 + raises.len()]) {
                let out = &mut out[start..start + base.len()];
                if NARROW_RATES.contains(&rate) {
                    let rate = rate as f32;
                    for (out, base) in out.iter_mut().zip(&*narrowed) {
                        *out = exp_narrow(-(rate * base));
                    }
                } else {
                    for (out, base) in out.iter_mut().zip(base) {
                        *out = narrow(exp(-(rate * base)));
                    }
                }
            }
        }
    }
}

/// The nearest `f32`, or 0 where that is subnormal: processors handle such numbers a hundred times slower.
#[inline(always)]
fn narrow(value: f64) -> f32 {
    if value.abs() < f64::from(f32::MIN_POSITIVE) { 0.0 } else { value as f32 }
}

#[inline(always)]
fn same(value: f64) -> f64 {
    value
}

macro_rules! real {
    ($type:ty, $narrow:ident, $decays_into:ident, $round_into:ident, $widen_into:ident, $add_scaled:ident, $add_four:ident, $dot:ident, $dot_four:ident) => {
        dispatched! {
            fn $round_into(values: &[f64], out: &mut [$type]) {
                for (out, &value) in out.iter_mut().zip(values) {
                    *out = $narrow(value);
                }
            }
        }
        dispatched! {
            fn $widen_into(values: &[$type], out: &mut [f64]) {
                for (out, &value) in out.iter_mut().zip(values) {
                    *out = f64::from(value);
                }
            }
        }
        dispatched! {
            fn $add_scaled(weight: f64, values: &[$type], out: &mut [f64]) {
                for (out, &value) in out.iter_mut().zip(values) {
                    *out = weight.mul_add(f64::from(value), *out);
                }
            }
        }
        dispatched! {
            fn $add_four(weights: [f64; 4], values: [&[$type]; 4], out: &mut [f64]) {
                let [u, v, w, x] = weights;
                let sum = |out: f64, a: $type, b: $type, c: $type, d: $type| {
                    let sum = v.mul_add(f64::from(b), u.mul_add(f64::from(a), out));
                    x.mul_add(f64::from(d), w.mul_add(f64::from(c), sum))
                };
                let [(a, a_rest), (b, b_rest), (c, c_rest), (d, d_rest)] = values.map(|values| values.as_chunks::<LANES>());
                let (out, out_rest) = out.as_chunks_mut::<LANES>();
                for ((((a, b), c), d), out) in a.iter().zip(b).zip(c).zip(d).zip(out) {
                    prefetch_next(values, [a, b, c, d]);
                    for k in 0..LANES {
                        out[k] = sum(out[k], a[k], b[k], c[k], d[k]);
                    }
                }
                for ((((a, b), c), d), out) in a_rest.iter().zip(b_rest).zip(c_rest).zip(d_rest).zip(out_rest) {
                    *out = sum(*out, *a, *b, *c, *d);
                }
            }
        }
        dispatched! {
            fn $dot(values: &[$type], with: &[f64]) -> f64 {
                let (blocks, rest) = values.as_chunks::<LANES>();
                let (with, with_rest) = with.as_chunks::<LANES>();
                let mut sum = [0.0; LANES];
                for (values, with) in blocks.iter().zip(with) {
                    sum = step(sum, values, with);
                }
                finish(sum, rest, with_rest)
            }
        }
        dispatched! {
            fn $dot_four(values: [&[$type]; 4], with: &[f64]) -> [f64; 4] {
                let [a, b, c, d] = values;
                let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
                let ((c, c_rest), (d, d_rest)) = (c.as_chunks::<LANES>(), d.as_chunks::<LANES>());
                let (with, rest) = with.as_chunks::<LANES>();
                let zero = [0.0; LANES];
                let (mut s, mut t, mut u, mut v) = (zero, zero, zero, zero);
                for ((((a, b), c), d), with) in a.iter().zip(b).zip(c).zip(d).zip(with) {
                    prefetch_next(values, [a, b, c, d]);
                    s = step(s, a, with);
                    t = step(t, b, with);
                    u = step(u, c, with);
                    v = step(v, d, with);
                }
                [finish(s, a_rest, rest), finish(t, b_rest, rest), finish(u, c_rest, rest), finish(v, d_rest, rest)]
            }
        }
        impl Real for $type {
            const BYTES: usize = size_of::<$type>();
            fn zeros(n: usize) -> Vec<Self> {
                // A literal zero is what lets the vector come zeroed from the system.
                vec![0.0; n]
            }
            fn round_into(values: &[f64], out: &mut [Self]) {
                $round_into(values, out);
            }
            fn decays_into(rate: f64, raises: &[bool], base: &[f64], out: &mut [Self]) {
                $decays_into(rate, raises, base, out);
            }
            fn widen_into(values: &[Self], out: &mut [f64]) {
                $widen_into(values, out);
            }
            fn add_scaled(weight: f64, values: &[Self], out: &mut [f64]) {
                $add_scaled(weight, values, out);
            }
            fn add_four(weights: [f64; 4], values: [&[Self]; 4], out: &mut [f64]) {
                $add_four(weights, values, out);
            }
            fn dot(values: &[Self], with: &[f64]) -> f64 {
                $dot(values, with)
            }
            fn dot_four(values: [&[Self]; 4], with: &[f64]) -> [f64; 4] {
                $dot_four(values, with)
            }
        }
    };
}

real!(f64, same, decays_f64, round_f64, widen_f64, add_scaled_f64, add_four_f64, dot_f64, dot_four_f64);
real!(f32, narrow, decays_f32, round_f32, widen_f32, add_scaled_f32, add_four_f32, dot_f32, dot_four_f32);
