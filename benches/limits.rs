//! Limits of the machine, single-threaded: the reference for results, measured in the same run.

// Each bench has its own copy and uses part of it.
#![allow(dead_code)]

use std::hint::black_box;
use std::time::Instant;

/// Best seconds over repeats that take about this many seconds in total, at least seven and at most `most`; the setup
/// before each is not timed.
pub(crate) fn best_of<S, T>(seconds: f64, most: usize, mut ready: impl FnMut() -> S, mut f: impl FnMut(S) -> T) -> f64 {
    let (mut least, start, mut repeats) = (f64::INFINITY, Instant::now(), 0);
    while repeats < 7 || (start.elapsed().as_secs_f64() < seconds && repeats < most) {
        let ready = ready();
        let begin = Instant::now();
        black_box(f(ready));
        least = least.min(begin.elapsed().as_secs_f64());
        repeats += 1;
    }
    least
}

/// Sums a buffer as `STREAMS` parallel streams, in vectors as wide as the machine has.
#[inline(always)]
fn read_streams<const STREAMS: usize>(data: &[f64]) -> f64 {
    let length = data.len() / STREAMS / 8;
    let streams: [&[[f64; 8]]; STREAMS] =
        std::array::from_fn(|s| &data[s * length * 8..(s + 1) * length * 8].as_chunks::<8>().0[..length]);
    let mut sums = [[0.0f64; 8]; STREAMS];
    for i in 0..length {
        for (sum, stream) in sums.iter_mut().zip(&streams) {
            for (sum, value) in sum.iter_mut().zip(stream[i]) {
                *sum += value;
            }
        }
    }
    sums.iter().flatten().sum()
}

/// A dozen chains of fused multiply-adds in registers: flops per call.
#[inline(always)]
fn fused_chains(steps: usize) -> (f64, f64) {
    const CHAINS: usize = 12;
    let mut sums = [[1.0f64; 8]; CHAINS];
    let (a, b) = (black_box(0.999_999), black_box(1e-9));
    for _ in 0..steps {
        for chain in &mut sums {
            for value in chain {
                *value = value.mul_add(a, b);
            }
        }
    }
    (sums.iter().flatten().sum(), (2 * 8 * CHAINS * steps) as f64)
}

macro_rules! widest {
    ($name:ident($($arg:ident: $type:ty),*) -> $ret:ty, $body:expr) => {
        pub(crate) fn $name($($arg: $type),*) -> $ret {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,fma")]
                fn avx512($($arg: $type),*) -> $ret { $body }
                #[target_feature(enable = "avx2,fma")]
                fn avx2($($arg: $type),*) -> $ret { $body }
                let fused = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
                if fused && is_x86_feature_detected!("avx512f") {
                    // SAFETY: detected on this processor in the line above.
                    return unsafe { avx512($($arg),*) };
                }
                if fused {
                    // SAFETY: as above.
                    return unsafe { avx2($($arg),*) };
                }
            }
            $body
        }
    };
}

widest!(read_one(data: &[f64]) -> f64, read_streams::<1>(data));
widest!(read_four(data: &[f64]) -> f64, read_streams::<4>(data));
widest!(read_eight(data: &[f64]) -> f64, read_streams::<8>(data));
widest!(chains(steps: usize) -> (f64, f64), fused_chains(steps));
