//! Loops compiled for several instruction sets, the best of which is picked at run time.
//!
//! Each loop is written once, in plain Rust over arrays with a fixed number of lanes, and compiled for AVX-512, for
//! AVX2 and for the architecture's baseline (on ARM that is NEON). Products and sums that belong together are fused
//! (`mul_add`) in all versions, and the number of partial sums is the same everywhere, so the bits never depend on the
//! machine. A processor without fused multiply-add (on x86, those before 2013) emulates it in software: correct, but
//! some ten times slower.

mod aligned;
mod base;
#[cfg(test)]
mod double;
mod element;
mod exp;
mod expansion;
mod gather;
mod ln;
mod past;
mod profile;
mod reduce;
mod sincos;
mod tile;
mod transpose;
mod triangular;
mod uninit;

pub(crate) use aligned::{Buffer, skip_to_line};
pub(crate) use base::{Accumulate, LANES, PANEL, ROWS, accumulate, sparse_overlaps, sparse_products};
pub(crate) use element::{SimdElement, add_eight, add_eight_at_hand, dot_eight_with_each, spans};
pub(crate) use exp::{decay_into, exp, exps};
pub(crate) use expansion::{ROWS_AT_ONCE, expand, spread};
pub(crate) use gather::{GATHERED, Places};
pub(crate) use ln::{ln, ln_of_normal, lns_of_normal};
pub(crate) use past::PastCaches;
pub(crate) use profile::{COEFFICIENTS, LINE, Line, OCTAVE_BITS, add_moments, add_profile};
pub(crate) use reduce::{MAX_RAISES, NARROW_RATES, Real};
pub(crate) use sincos::sin_cos;
pub(crate) use tile::{Lines, NARROW, Tile, VECTOR, WIDE, sums};
pub(crate) use transpose::{SIDE, transpose, transpose_raw};
pub(crate) use triangular::{add_squares, backward, divide, factor, forward, subtract_inner};
pub(crate) use uninit::{UninitPart, UninitVec};

/// The instruction sets the loops are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// The baseline that every processor of the architecture has.
    Plain,
    /// AVX2 with fused multiply-add: four `f64`.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX-512: eight `f64`.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

#[cfg(test)]
thread_local! {
    static FORCED: std::cell::Cell<Option<Level>> = const { std::cell::Cell::new(None) };
}

/// Runs `f` at every level this machine has and asserts that all results are the same.
#[cfg(test)]
pub(crate) fn at_every_level<T: PartialEq + std::fmt::Debug>(f: impl Fn() -> T) -> T {
    let run = |level: Level| {
        FORCED.set(Some(level));
        let result = f();
        FORCED.set(None);
        result
    };
    let plain = run(Level::Plain);
    #[cfg(target_arch = "x86_64")]
    for level in [Level::Avx2, Level::Avx512].into_iter().filter(|&level| level <= detect()) {
        assert_eq!(run(level), plain, "{level:?} gives other bits than the plain loop");
    }
    plain
}

/// Helpers shared by the tests of the loops.
#[cfg(test)]
pub(crate) mod check {
    use crate::dist::Rng;

    /// Lengths around the thresholds of the loops: lanes, blocks of lanes, runs.
    pub(crate) const LENGTHS: [usize; 15] = [0, 1, 7, 8, 15, 16, 17, 63, 64, 65, 255, 256, 257, 999, 1000];

    /// Bits for comparing values: 0 and -0 differ, all NaNs are equal.
    pub(crate) fn bits<T: Copy + Into<f64>>(values: &[T]) -> Vec<u64> {
        let one = |&value: &T| value.into();
        values.iter().map(one).map(|value: f64| if value.is_nan() { f64::NAN } else { value }.to_bits()).collect()
    }

    /// Numbers between -1 and 1.
    pub(crate) fn uniform(rng: &mut Rng, n: usize) -> Vec<f64> {
        (0..n).map(|_| 2.0 * rng.uniform() - 1.0).collect()
    }

    /// Numbers of either sign from every binade, including subnormals.
    pub(crate) fn every_binade(rng: &mut Rng, each: usize) -> Vec<f64> {
        let normal = (1..2047u64).flat_map(|top| std::iter::repeat_n((top << 52, 52), each));
        let subnormal = (0..52u32).flat_map(|bit| std::iter::repeat_n((1 << bit, bit), each));
        let positive =
            normal.chain(subnormal).map(|(top, bits)| f64::from_bits(top | (rng.bits() >> 12 >> (52 - bits))));
        positive.flat_map(|x| [x, -x]).collect()
    }

    /// Numbers within a few units in the last place of this one.
    pub(crate) fn around(x: f64) -> impl Iterator<Item = f64> {
        (-8i64..=8).map(move |step| f64::from_bits(x.to_bits().wrapping_add_signed(step)))
    }

    /// Integers between -8 and 8: thousands of their products add up without rounding.
    pub(crate) fn whole(rng: &mut Rng, n: usize) -> Vec<f64> {
        (0..n).map(|_| rng.below(17) as f64 - 8.0).collect()
    }
}

/// The best instruction set of this machine.
#[inline]
pub(crate) fn level() -> Level {
    #[cfg(test)]
    if let Some(level) = FORCED.get() {
        return level;
    }
    detect()
}

#[inline]
fn detect() -> Level {
    #[cfg(target_arch = "x86_64")]
    {
        // The processor is queried once; afterwards this reads a static.
        let fused = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
        if fused && is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512dq") {
            return Level::Avx512;
        }
        if fused {
            return Level::Avx2;
        }
    }
    Level::Plain
}

/// Prefetches a cache line that will be needed soon; any address is allowed.
#[inline(always)]
pub(crate) fn prefetch<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint that never faults, on every x86-64.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// An array of `of(0)`, `of(1)` and so on: [`std::array::from_fn`], always inlined. That is one function for the whole crate and,
/// where it is not inlined, compiled for the baseline, where fused multiply-adds are calls: several times slower.
#[inline(always)]
pub(crate) fn each<T: Copy, const N: usize>(start: T, of: impl Fn(usize) -> T) -> [T; N] {
    let mut all = [start; N];
    for (k, one) in all.iter_mut().enumerate() {
        *one = of(k);
    }
    all
}

/// Defines a function whose body is compiled once per [`Level`] and picked at run time.
macro_rules! dispatched {
    ($(#[$meta:meta])* $vis:vis fn $name:ident($($arg:ident: $type:ty),* $(,)?) $(-> $ret:ty)? $body:block) => {
        $(#[$meta])*
        $vis fn $name($($arg: $type),*) $(-> $ret)? {
            #[inline(always)]
            fn plain($($arg: $type),*) $(-> $ret)? $body
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512dq,avx2,fma")]
                fn avx512($($arg: $type),*) $(-> $ret)? { plain($($arg),*) }
                #[target_feature(enable = "avx2,fma")]
                fn avx2($($arg: $type),*) $(-> $ret)? { plain($($arg),*) }
                match $crate::simd::level() {
                    // SAFETY: `level` found these instructions on this processor.
                    $crate::simd::Level::Avx512 => return unsafe { avx512($($arg),*) },
                    // SAFETY: as above.
                    $crate::simd::Level::Avx2 => return unsafe { avx2($($arg),*) },
                    $crate::simd::Level::Plain => {}
                }
            }
            plain($($arg),*)
        }
    };
}
pub(crate) use dispatched;

dispatched! {
    /// The sum of squares, in order, each added the way inner products add it.
    pub(crate) fn sum_of_squares(values: &[f64]) -> f64 {
        values.iter().fold(0.0, |sum, x| x.mul_add(*x, sum))
    }
}

#[cfg(test)]
mod tests {
    use super::check::{LENGTHS, bits, uniform, whole};
    use super::*;
    use crate::dist::Rng;

    #[test]
    fn sum_of_squares_is_the_fused_sum_in_order_at_every_level() {
        let mut rng = Rng::new(1, 0);
        for (n, skip) in LENGTHS.into_iter().flat_map(|n| [(n, 0), (n, 1)]) {
            let values = uniform(&mut rng, n + skip);
            let found = at_every_level(|| bits(&[sum_of_squares(&values[skip..])]));
            let mut sum = 0.0;
            for &x in &values[skip..] {
                sum = f64::mul_add(x, x, sum);
            }
            assert_eq!(found, bits(&[sum]));
            let values = whole(&mut rng, n);
            assert_eq!(sum_of_squares(&values), values.iter().map(|x| x * x).sum::<f64>());
        }
    }

    #[test]
    fn at_every_level_runs_all_levels_up_to_that_of_the_machine() {
        let seen = std::cell::RefCell::new(vec![]);
        at_every_level(|| seen.borrow_mut().push(level()));
        let seen = seen.into_inner();
        assert_eq!((seen.first(), seen.last(), level()), (Some(&Level::Plain), Some(&detect()), detect()));
        assert!(seen.is_sorted());
    }
}
