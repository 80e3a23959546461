//! Loops that are compiled for several instruction sets, the best of which is picked at run time.
//!
//! Each loop is written once, in plain Rust over arrays of a fixed number of lanes, and compiled for AVX-512, for AVX2
//! and for every processor (on ARM that is NEON). Products and sums that belong together are fused (`mul_add`) in all of
//! them and partial sums are as many everywhere, so the bits never depend on the machine. A processor without a fused
//! multiply-add, on x86 those before 2013, computes it in software: right, but some ten times slower.

mod aligned;
mod base;
mod exp;
mod profile;
mod reduce;
mod transpose;

pub(crate) use aligned::{Buffer, skip_to_line};
pub(crate) use base::{Accumulate, LANES, PANEL, ROWS, accumulate, sparse_overlaps, sparse_products};
pub(crate) use exp::{decay_into, exp};
pub(crate) use profile::{COEFFICIENTS, Line, OCTAVE_BITS, add_moments, add_profile};
pub(crate) use reduce::{MOST_RAISES, Real};
pub(crate) use transpose::{SIDE, transpose};

/// The instruction sets the loops are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// What every processor of the architecture has.
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

/// Runs `f` at every level this machine has; what it returns must be the same at all.
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
        // Asked of the processor once, then read from a static.
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

/// Asks for a line of memory that will be needed soon; any address will do.
#[inline(always)]
pub(crate) fn prefetch<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint that never faults, on every x86-64.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T1>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
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
    /// The sum of squares, in order, each added as inner products add it.
    pub(crate) fn sum_of_squares(values: &[f64]) -> f64 {
        values.iter().fold(0.0, |sum, x| x.mul_add(*x, sum))
    }
}
