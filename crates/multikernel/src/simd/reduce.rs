//! Weighted sums and inner products over stored kernel values, `f64` or `f32`, always summed in `f64`.

use super::exp::{LOWEST, LOWEST_NARROW, exp, exp_narrow, raise};
use super::{UninitPart, dispatched, each, prefetch};

/// Number of partial sums of an inner product: more than the adders of any processor have in flight.
pub(super) const LANES: usize = 16;
/// Values raised to all their powers at a time.
const DECAYS: usize = 256;
/// Values rounded to `f32` at a time: 4 KB of the first-level cache.
const NARROWED: usize = 1024;
/// Maximum number of arrays after the first that [`Real::decays_into`] fills.
pub(crate) const MAX_RAISES: usize = 7;

/// A storage type for kernel values.
pub(crate) trait Real: Copy + Default + Send + Sync + 'static {
    /// Bytes of one value.
    const BYTES: usize;
    /// Appends `values`, rounded to this type, to `out`.
    fn round_into(values: &[f64], out: &mut UninitPart<'_, Self>);
    /// Appends `e^(-rate * base)` to the first of `out` and then, for each of `raises`, the square (or, if true, the
    /// fourth power) of the previous values to the next. At most [`MAX_RAISES`], and `base` must be non-negative.
    fn decays_into(rate: f64, raises: &[bool], base: &[f64], out: &mut [UninitPart<'_, Self>]);
    /// `values_j = by * with_j * values_j`; the two factors are multiplied first, so their order does not matter.
    fn gate(by: f64, with: &[f64], values: &mut [Self]);
    /// `out = values`.
    fn widen_into(values: &[Self], out: &mut [f64]);
    /// `out += weight * values`.
    fn add_scaled(weight: f64, values: &[Self], out: &mut [f64]);
    /// `out += sum_k weights_k values_k`, four arrays at a time, in order.
    fn add_four(weights: [f64; 4], values: [&[Self]; 4], out: &mut [f64]);
    /// `sum_i values_i with_i`.
    fn dot(values: &[Self], with: &[f64]) -> f64;
    /// [`Real::dot`] of four arrays with one, with the same bits: four memory streams are faster than one.
    fn dot_four(values: [&[Self]; 4], with: &[f64]) -> [f64; 4];
}

/// Prefetch distance in bytes for stored values: about as far as four or eight streams get within the memory latency.
pub(super) const AHEAD: usize = 2048;

/// Prefetches each of four streams: the hardware prefetcher works only within a page.
#[inline(always)]
fn prefetch_ahead<T>(streams: [&[T; LANES]; 4]) {
    for here in streams {
        for line in 0..(LANES * size_of::<T>()).div_ceil(64) {
            prefetch(here.as_ptr().wrapping_add((AHEAD + line * 64) / size_of::<T>()));
        }
    }
}

/// `sum += values * with`, lane by lane.
#[inline(always)]
fn step<T: Copy + Into<f64>>(sum: [f64; LANES], values: &[T; LANES], with: &[f64; LANES]) -> [f64; LANES] {
    each(0.0, |k| values[k].into().mul_add(with[k], sum[k]))
}

/// Adds the elements that do not fill a block, then the lanes as a tree.
#[inline(always)]
pub(super) fn finish<T: Copy + Into<f64>>(mut sum: [f64; LANES], rest: &[T], with: &[f64]) -> f64 {
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

/// The minimum of base quantities, which are non-negative; NaN if one of them is.
///
/// If its exponential is 0, all are, and none need be computed: narrow kernels are 0 away from the diagonal.
#[inline(always)]
fn nearest(base: &[f64]) -> f64 {
    // The bits of non-negative numbers sort like the numbers, and everything else sorts after infinity.
    let (mut least, mut most) = (u64::MAX, 0);
    for base in base {
        (least, most) = (least.min(base.to_bits()), most.max(base.to_bits()));
    }
    if most > f64::INFINITY.to_bits() { f64::NAN } else { f64::from_bits(least) }
}

dispatched! {
    fn decays_f64(rate: f64, raises: &[bool], base: &[f64], out: &mut [UninitPart<'_, f64>]) {
        // A few values at a time: all their powers are computed before they leave the first-level cache.
        for base in base.chunks(DECAYS) {
            if rate * nearest(base) > -LOWEST {
                out.iter_mut().for_each(|out| out.extend_by(0.0, base.len()));
                continue;
            }
            let Some((first, rest)) = out.split_first_mut() else { return };
            let mut values = first.extend(base, |base| exp(-(rate * base)));
            for (next, &twice) in rest.iter_mut().zip(raises) {
                values = if twice {
                    next.extend(values, |&value| raise(true, value))
                } else {
                    next.extend(values, |&value| raise(false, value))
                };
            }
        }
    }
}

/// Rates in this range can be rounded to `f32`, and with them any base quantity: one that is too large or too small for
/// `f32` has the exponential 0 or 1 all the same.
pub(crate) const NARROW_RATES: std::ops::RangeInclusive<f64> = 1e-30..=1e30;

dispatched! {
    /// Each has its own exponential, in `f32`: powers would lose digits that `f32` does not have.
    ///
    /// Rate, base quantity and their product x are rounded, so the relative error of a value is up to 3 |x| 2^-24, plus
    /// 1.14 units in the last place for the exponential: never more than 1.4e-7 absolute, small values losing more of
    /// their digits than large ones.
    fn decays_f32(rate: f64, raises: &[bool], base: &[f64], out: &mut [UninitPart<'_, f32>]) {
        let mut rates = [rate; 1 + MAX_RAISES];
        for (k, &twice) in raises.iter().enumerate() {
            rates[k + 1] = rates[k] * if twice { 4.0 } else { 2.0 };
        }
        let mut narrowed = [0.0f32; NARROWED];
        for base in base.chunks(NARROWED) {
            let narrowed = &mut narrowed[..base.len()];
            for (narrowed, &base) in narrowed.iter_mut().zip(base) {
                *narrowed = base as f32;
            }
            let nearest = nearest(base) as f32;
            for (out, &rate) in out.iter_mut().zip(&rates[..1 + raises.len()]) {
                if NARROW_RATES.contains(&rate) {
                    let rate = rate as f32;
                    if rate * nearest > -LOWEST_NARROW {
                        out.extend_by(0.0, base.len());
                        continue;
                    }
                    out.extend(narrowed, |base| exp_narrow(-(rate * base)));
                } else {
                    out.extend(base, |base| narrow(exp(-(rate * base))));
                }
            }
        }
    }
}

/// The nearest `f32`, or 0 below the smallest normal one: processors handle subnormal numbers a hundred times slower.
#[inline(always)]
fn narrow(value: f64) -> f32 {
    if value.abs() < f64::from(f32::MIN_POSITIVE) { 0.0 } else { value as f32 }
}

#[inline(always)]
fn same(value: f64) -> f64 {
    value
}

macro_rules! real {
    ($type:ty, $narrow:ident, $gate:ident, $decays_into:ident, $round_into:ident, $widen_into:ident, $add_scaled:ident, $add_four:ident, $dot:ident, $dot_four:ident) => {
        dispatched! {
            fn $round_into(values: &[f64], out: &mut UninitPart<'_, $type>) {
                out.extend(values, |&value| $narrow(value));
            }
        }
        dispatched! {
            fn $gate(by: f64, with: &[f64], values: &mut [$type]) {
                for (value, with) in values.iter_mut().zip(with) {
                    *value = $narrow(f64::from(*value) * (by * with));
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
                    prefetch_ahead([a, b, c, d]);
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
                    prefetch_ahead([a, b, c, d]);
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
            fn round_into(values: &[f64], out: &mut UninitPart<'_, Self>) {
                $round_into(values, out);
            }
            fn decays_into(rate: f64, raises: &[bool], base: &[f64], out: &mut [UninitPart<'_, Self>]) {
                $decays_into(rate, raises, base, out);
            }
            fn gate(by: f64, with: &[f64], values: &mut [Self]) {
                $gate(by, with, values);
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

real!(f64, same, gate_f64, decays_f64, round_f64, widen_f64, add_scaled_f64, add_four_f64, dot_f64, dot_four_f64);
real!(f32, narrow, gate_f32, decays_f32, round_f32, widen_f32, add_scaled_f32, add_four_f32, dot_f32, dot_four_f32);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::Rng;
    use crate::simd::at_every_level;
    use crate::simd::check::{LENGTHS, bits, uniform, whole};

    /// Every length, at several memory offsets.
    fn lengths() -> impl Iterator<Item = (usize, usize)> {
        LENGTHS.into_iter().flat_map(|n| [(n, 0), (n, 1), (n, 3)])
    }

    /// Values as they are stored.
    fn stored<T: Real>(values: &[f64]) -> Vec<T> {
        let mut out = vec![T::default(); values.len()];
        T::round_into(values, &mut UninitPart::over(&mut out));
        out
    }

    fn check_rounding<T: Real + Into<f64>>(plain: impl Fn(f64) -> T) {
        let mut rng = Rng::new(1, 0);
        let least = f64::from(f32::MIN_POSITIVE);
        let special = [f64::NAN, -0.0, 1e-310, least, least.next_down(), -least, -least.next_down(), 1e39, -1e39];
        for (n, skip) in lengths() {
            let mut values: Vec<f64> = (0..n + skip).map(|_| f64::from_bits(rng.bits())).collect();
            values.iter_mut().rev().zip(special).for_each(|(value, special)| *value = special);
            let found = at_every_level(|| {
                let mut out = vec![T::default(); n + skip];
                T::round_into(&values[skip..], &mut UninitPart::over(&mut out[skip..]));
                let mut wide = vec![7.0; n + skip];
                T::widen_into(&out[skip..], &mut wide[skip..]);
                assert!(wide[..skip].iter().all(|&wide| wide == 7.0));
                (bits(&out[skip..]), bits(&wide[skip..]))
            });
            let expected: Vec<T> = values[skip..].iter().map(|&value| plain(value)).collect();
            assert_eq!(found, (bits(&expected), bits(&expected)));
        }
    }

    #[test]
    fn round_into_and_widen_into_keep_f64_and_round_f32_without_subnormal_ones() {
        check_rounding::<f64>(|value| value);
        check_rounding::<f32>(|value| {
            let nearest = value as f32;
            let subnormal = nearest != 0.0 && nearest.abs() < f32::MIN_POSITIVE;
            // A value that rounds up to the smallest normal number is below it, and becomes 0 as well.
            if subnormal || value.abs() < f64::from(f32::MIN_POSITIVE) { 0.0 } else { nearest }
        });
    }

    fn check_gates<T: Real + Into<f64>>() {
        let mut rng = Rng::new(8, 0);
        for (n, skip) in lengths() {
            let (values, with) = (uniform(&mut rng, n + skip), uniform(&mut rng, n));
            let found = at_every_level(|| {
                let mut values = stored::<T>(&values);
                T::gate(0.7, &with, &mut values[skip..]);
                bits(&values)
            });
            let mut expected = stored::<T>(&values);
            for (value, with) in expected[skip..].iter_mut().zip(&with) {
                let mut out = [T::default()];
                T::round_into(&[(*value).into() * (0.7 * with)], &mut UninitPart::over(&mut out));
                *value = out[0];
            }
            assert_eq!(found, bits(&expected));
        }
    }

    #[test]
    fn gate_multiplies_by_both_factors_at_every_level() {
        check_gates::<f64>();
        check_gates::<f32>();
    }

    fn check_sums<T: Real + Into<f64>>() {
        let mut rng = Rng::new(2, 0);
        for (n, skip) in lengths() {
            let arrays: [Vec<T>; 4] = std::array::from_fn(|_| stored(&uniform(&mut rng, n + skip)));
            let arrays = arrays.each_ref().map(|array| &array[skip..]);
            let (before, weights) = (uniform(&mut rng, n + skip), [0.3, -1.7, 1e-3, 5.0]);
            let (one, four) = at_every_level(|| {
                let (mut one, mut four) = (before.clone(), before.clone());
                T::add_scaled(weights[0], arrays[0], &mut one[skip..]);
                T::add_four(weights, arrays, &mut four[skip..]);
                (bits(&one), bits(&four))
            });
            let mut expected = before.clone();
            for (m, (weight, array)) in weights.into_iter().zip(arrays).enumerate() {
                for (out, &value) in expected[skip..].iter_mut().zip(array) {
                    *out = f64::mul_add(weight, value.into(), *out);
                }
                if m == 0 {
                    assert_eq!(one, bits(&expected));
                }
            }
            assert_eq!(four, bits(&expected));
        }
    }

    #[test]
    fn add_scaled_and_add_four_are_fused_sums_in_order_at_every_level() {
        check_sums::<f64>();
        check_sums::<f32>();
    }

    fn check_dots<T: Real + Into<f64>>() {
        let mut rng = Rng::new(3, 0);
        for ((n, skip), exact) in lengths().flat_map(|at| [(at, false), (at, true)]) {
            let make = if exact { whole } else { uniform };
            let arrays: [Vec<T>; 4] = std::array::from_fn(|_| stored(&make(&mut rng, n + skip)));
            let arrays = arrays.each_ref().map(|array| &array[skip..]);
            let with = make(&mut rng, n + skip);
            let with = &with[skip..];
            let (one, four) =
                at_every_level(|| (bits(&arrays.map(|array| T::dot(array, with))), bits(&T::dot_four(arrays, with))));
            assert_eq!(one, four, "four at a time have other bits");
            for (found, array) in one.into_iter().map(f64::from_bits).zip(arrays) {
                let terms = || array.iter().zip(with).map(|(&value, with)| value.into() * with);
                let (sum, size): (f64, f64) = (terms().sum(), terms().map(f64::abs).sum());
                // Integers are summed exactly; otherwise the plain sum rounds every product and sum, and ours fewer.
                let bound = if exact { 0.0 } else { (n + n / LANES + 8) as f64 * f64::EPSILON / 2.0 * size };
                assert!((found - sum).abs() <= bound, "{n}: {found} {sum}");
            }
        }
    }

    #[test]
    fn dot_and_dot_four_are_the_inner_product_with_the_same_bits_at_every_level() {
        check_dots::<f64>();
        check_dots::<f32>();
    }

    /// Consecutive arrays of this length.
    fn arrays<T: Copy>(values: &mut [T], n: usize) -> Vec<UninitPart<'_, T>> {
        if n == 0 { vec![] } else { values.chunks_exact_mut(n).map(UninitPart::over).collect() }
    }

    #[test]
    fn decays_into_f64_are_powers_of_the_first_at_every_level() {
        let mut rng = Rng::new(4, 0);
        for (n, skip) in lengths() {
            let mut base: Vec<f64> = (0..n + skip).map(|_| 300.0 * rng.uniform().powi(3)).collect();
            base.iter_mut().rev().zip([0.0, f64::INFINITY, f64::MAX, 1e-300]).for_each(|(base, x)| *base = x);
            let base = &base[skip..];
            for raises in [&[][..], &[false], &[true, false, true], &[false; MAX_RAISES], &[true; MAX_RAISES]] {
                let found = at_every_level(|| {
                    let mut out = vec![f64::NAN; (1 + raises.len()) * n + skip];
                    f64::decays_into(0.7, raises, base, &mut arrays(&mut out[skip..], n));
                    bits(&out[skip..])
                });
                let (mut expected, mut values) =
                    (vec![], base.iter().map(|base| exp(-(0.7 * base))).collect::<Vec<_>>());
                expected.extend(bits(&values));
                let mut power = 1.0;
                for &twice in raises {
                    values.iter_mut().for_each(|value| *value = raise(twice, *value));
                    expected.extend(bits(&values));
                    // And they are the exponentials of the multiplied rate: relative errors are multiplied by the
                    // power, with one rounding of a product for each part of it.
                    power *= if twice { 4.0 } else { 2.0 };
                    let bound = (power + 1.0) * 1.17 * f64::EPSILON + power * f64::EPSILON;
                    for (value, base) in values.iter().zip(base) {
                        let direct = exp(-(power * (0.7 * base)));
                        assert!((value - direct).abs() <= bound * direct || (*value == 0.0 && direct < 1e-307));
                    }
                }
                assert_eq!(found, expected);
            }
        }
    }

    /// The rates of the arrays that [`Real::decays_into`] fills.
    fn rates(rate: f64, raises: &[bool]) -> Vec<f64> {
        let mut rates = vec![rate];
        for &twice in raises {
            rates.push(rates[rates.len() - 1] * if twice { 4.0 } else { 2.0 });
        }
        rates
    }

    /// Each value against the exponential of the unrounded product.
    fn check_decays_f32(rate: f64, raises: &[bool], base: &[f64]) {
        let n = base.len();
        let found = at_every_level(|| {
            let mut out = vec![f32::NAN; (1 + raises.len()) * n];
            f32::decays_into(rate, raises, base, &mut arrays(&mut out, n));
            bits(&out)
        });
        let places = rates(rate, raises).into_iter().flat_map(|rate| base.iter().map(move |base| (rate, base)));
        for (found, (rate, base)) in found.into_iter().map(f64::from_bits).zip(places) {
            let x = rate * base;
            let (direct, part) = (exp(-x), (3.001 * x + 2.0 * 1.14 + 0.01) * f64::from(f32::EPSILON) / 2.0);
            // Where values reach zero, rounded three times: at -87, or where the exponential of f64 is below the normal
            // numbers of f32.
            let end = if NARROW_RATES.contains(&rate) { 87.0 } else { 126.0 * std::f64::consts::LN_2 };
            let edge = end * 3.001 * f64::from(f32::EPSILON) / 2.0;
            if found == 0.0 {
                assert!(x >= end - edge, "{rate:e} {base:e}");
            } else {
                assert!(
                    x <= end + edge && (found - direct).abs() <= part * direct,
                    "{rate:e} {base:e}: {found:e} {direct:e}"
                );
            }
            assert!((found - direct).abs() <= 1.4e-7 && !(found as f32).is_subnormal());
        }
    }

    #[test]
    fn decays_into_f32_are_exponentials_of_their_own_at_every_level() {
        let mut rng = Rng::new(5, 0);
        for (n, skip) in lengths() {
            let base: Vec<f64> = (0..n + skip).map(|_| 150.0 * rng.uniform().powi(3)).collect();
            for raises in [&[][..], &[false], &[true, false, true], &[true; MAX_RAISES]] {
                check_decays_f32(0.7, raises, &base[skip..]);
                // Rates above and below the range that uses f32, and across its ends.
                for rate in [1e-33, 0.9e-30, 0.3e30, 1e33] {
                    let base: Vec<f64> = base[skip..].iter().map(|base| base / rate).collect();
                    check_decays_f32(rate, raises, &base);
                }
            }
        }
    }

    #[test]
    fn decays_into_of_any_size_of_rate_and_base_are_one_or_zero_and_never_nan() {
        let mut bases: Vec<f64> = (-300..=300).map(|e| 10f64.powi(e)).collect();
        bases.extend([0.0, 5e-324, 1e-310, 1e-46, 1e-45, 1e-38, 3.5e38, f64::MAX, f64::INFINITY]);
        for rate in (-304..=308).step_by(4).map(|e| 10f64.powi(e)).chain([1e-30, 1e30, 1e-310, 5e-324]) {
            let raises = if rate < 1e300 { &[true, false][..] } else { &[] };
            check_decays_f32(rate, raises, &bases);
            let mut wide = vec![f64::NAN; (1 + raises.len()) * bases.len()];
            f64::decays_into(rate, raises, &bases, &mut arrays(&mut wide, bases.len()));
            let places = rates(rate, raises).into_iter().flat_map(|rate| bases.iter().map(move |base| rate * base));
            for (found, x) in wide.into_iter().zip(places) {
                assert!(found >= 0.0 && (x > 1e-17 || found == 1.0) && (x < 708.1 || found == 0.0), "{x:e}: {found:e}");
            }
        }
    }

    #[test]
    fn decays_into_far_runs_are_zero_but_where_a_pair_is_near_or_not_a_number() {
        let mut rng = Rng::new(6, 0);
        for (n, place) in
            [1, 255, 256, 257, 1023, 1024, 1025, 3000].into_iter().flat_map(|n| [(n, 0), (n, n / 2), (n, n - 1)])
        {
            // Just short of where exponentials become 0, in f32 and in f64, and NaN.
            for other in [500.0, 0.0, 3.0, 120.0, 124.2, 1000.0, 1011.5, f64::NAN, f64::INFINITY] {
                let mut base: Vec<f64> = (0..n).map(|_| 1e4 + rng.uniform()).collect();
                base[place] = other;
                let (wide, narrow) = at_every_level(|| {
                    let (mut wide, mut narrow) = (vec![7.0f64; 3 * n], vec![7.0f32; 3 * n]);
                    f64::decays_into(0.7, &[false, true], &base, &mut arrays(&mut wide, n));
                    f32::decays_into(0.7, &[false, true], &base, &mut arrays(&mut narrow, n));
                    (bits(&wide), bits(&narrow))
                });
                let far = |k: usize| k % n != place;
                assert!((0..3 * n).filter(|&k| far(k)).all(|k| wide[k] == 0 && narrow[k] == 0), "{n} {place} {other}");
                let mut value = exp(-(0.7 * other));
                for (k, rate) in [0.7, 1.4, 5.6].into_iter().enumerate() {
                    value = if k == 0 { value } else { raise(k == 2, value) };
                    let x = -(rate as f32 * other as f32);
                    let expected = bits(&[value, exp_narrow(x).into()]);
                    assert_eq!([wide[k * n + place], narrow[k * n + place]], expected[..], "{n} {place} {other}");
                }
            }
        }
    }
}
