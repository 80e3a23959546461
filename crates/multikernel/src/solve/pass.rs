//! The two passes over all variables that make up one SMO iteration, in the widest vectors the machine has.
//!
//! Every width gives the same bits: each element sees the same IEEE operations (never a fused multiply-add), a maximum
//! rounds nothing, and a tie goes to the smallest index.
//!
//! The loops run over blocks of a length known to the compiler and carry nothing but independent lanes, which is what
//! it takes for them to become vector code; maxima are asked for with "does any element beat the best so far", because
//! carrying the index of the maximum along would cost more than everything else.
#![allow(clippy::needless_range_loop, reason = "indices over blocks of known length vectorise, zips of four do not")]

/// Variables looked at before asking whether one of them beats the best so far; after the first blocks the answer is
/// nearly always no.
const BLOCK: usize = 64;
/// Independent maxima inside a block: enough to hide the latency of a vector maximum at any width.
const LANES: usize = 8;
/// Stands in for the curvature of a pair that is not positive (Fan, Chen, Lin 2005, section 2.3).
pub(super) const TAU: f64 = 1e-12;

/// The larger of two numbers; a NaN on the left loses, as in the vector instruction.
#[inline(always)]
fn larger(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

/// The smaller of two numbers; a NaN on the left loses.
#[inline(always)]
fn smaller(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

/// The curvature of the dual along a pair, made positive.
#[inline(always)]
pub(super) fn curvature(kii: f64, kjj: f64, kij: f64) -> f64 {
    let quad = (kii + kjj) - 2.0 * kij;
    if quad > 0.0 { quad } else { TAU }
}

/// Where a maximum was found; `at` is the number of variables when there was no candidate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Peak {
    pub(super) value: f64,
    pub(super) at: usize,
}

/// What the search for the second variable found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Second {
    /// M(a): the smallest residual among the variables that may go down.
    pub(super) bottom: f64,
    /// The variable with the largest gain; the number of variables when there was no candidate.
    pub(super) at: usize,
}

/// First index with the largest `resid + up`.
pub(super) fn first(resid: &[f64], up: &[f64]) -> Peak {
    let mut peak = Peak { value: f64::NEG_INFINITY, at: resid.len() };
    for (t, (r, u)) in resid.iter().zip(up).enumerate() {
        if r + u > peak.value {
            peak = Peak { value: r + u, at: t };
        }
    }
    peak
}

/// One block of an array.
type Block = [f64; BLOCK];

/// The largest value of a block and the first index that has it.
#[inline(always)]
fn largest(values: &Block) -> (f64, usize) {
    // No order matters to a maximum, so it runs in independent lanes.
    let mut lanes = [f64::NEG_INFINITY; LANES];
    for group in values.as_chunks::<LANES>().0 {
        for l in 0..LANES {
            lanes[l] = larger(group[l], lanes[l]);
        }
    }
    let top = lanes.into_iter().fold(f64::NEG_INFINITY, larger);
    // Found unless every value is NaN, and then nothing was larger than the best so far either.
    (top, values.iter().position(|&v| v == top).unwrap_or(0))
}

/// Block `b` of an array; a last one that is not full is filled up with `rest`.
#[inline(always)]
fn block<'a>(from: &'a [f64], b: usize, spare: &'a mut Block, rest: f64) -> &'a Block {
    let from = &from[b * BLOCK..];
    match from.first_chunk() {
        Some(block) => block,
        None => {
            spare[..from.len()].copy_from_slice(from);
            spare[from.len()..].fill(rest);
            spare
        }
    }
}

/// Moves the residuals of one block; says whether some `resid + up` in it exceeds `best`.
#[inline(always)]
fn move_block(resid: &mut Block, ki: &Block, kj: &Block, up: &Block, step: f64, best: f64) -> bool {
    let mut any = false;
    for t in 0..BLOCK {
        resid[t] -= step * (ki[t] - kj[t]);
        any |= resid[t] + up[t] > best;
    }
    any
}

/// The update pass: `resid -= step (K_i - K_j)` and, in the same sweep, the next first variable.
#[inline(always)]
fn update_body(resid: &mut [f64], ki: &[f64], kj: &[f64], up: &[f64], step: f64) -> Peak {
    let mut peak = Peak { value: f64::NEG_INFINITY, at: resid.len() };
    let mut spare = [[0.0; BLOCK]; 4];
    for b in 0..resid.len().div_ceil(BLOCK) {
        let [s0, s1, s2, s3] = &mut spare;
        let (ki, kj) = (block(ki, b, s1, 0.0), block(kj, b, s2, 0.0));
        let up = block(up, b, s3, f64::NEG_INFINITY);
        let rest = &mut resid[b * BLOCK..];
        let n = rest.len().min(BLOCK);
        let any = match rest.first_chunk_mut() {
            Some(resid) => move_block(resid, ki, kj, up, step, peak.value),
            None => {
                s0[..n].copy_from_slice(rest);
                let any = move_block(s0, ki, kj, up, step, peak.value);
                rest.copy_from_slice(&s0[..n]);
                any
            }
        };
        if any {
            let mut value = [f64::NEG_INFINITY; BLOCK];
            for t in 0..n {
                value[t] = rest[t] + up[t];
            }
            let (top, at) = largest(&value);
            peak = Peak { value: top, at: b * BLOCK + at };
        }
    }
    peak
}

/// The first variable of a pair: its residual and its diagonal.
#[derive(Clone, Copy)]
struct First {
    top: f64,
    kii: f64,
}

/// One block of the search for the second variable: lowers the minima of `resid + low`, lane by lane, and says whether
/// some gain exceeds `best`: `diff^2 / quad > best` without the division.
#[inline(always)]
fn scan_block(blocks: [&Block; 4], first: First, best: f64, bottoms: &mut [f64; LANES]) -> bool {
    let [resid, low, ki, diag] = blocks;
    let mut any = false;
    let mut value = [0.0; BLOCK];
    for t in 0..BLOCK {
        value[t] = resid[t] + low[t];
        let diff = larger(first.top - value[t], 0.0);
        any |= diff * diff > best * curvature(first.kii, diag[t], ki[t]);
    }
    for group in value.as_chunks::<LANES>().0 {
        for l in 0..LANES {
            bottoms[l] = smaller(group[l], bottoms[l]);
        }
    }
    any
}

/// The largest gain in a block and the first index that has it.
#[inline(always)]
fn best_in_block(resid: &Block, low: &Block, ki: &Block, diag: &Block, first: First) -> (f64, usize) {
    let mut gain = [0.0; BLOCK];
    for t in 0..BLOCK {
        let diff = larger(first.top - (resid[t] + low[t]), 0.0);
        gain[t] = diff * diff / curvature(first.kii, diag[t], ki[t]);
    }
    largest(&gain)
}

/// The selection pass (WSS 3 of Fan, Chen, Lin 2005): among variables that may go down, the largest second-order gain
/// when paired with the first variable, whose residual is `top`, kernel row `ki` and diagonal `kii`. Largest up to one
/// rounding, since blocks are compared by products and only then by quotients.
#[inline(always)]
fn select_body(resid: &[f64], low: &[f64], ki: &[f64], diag: &[f64], top: f64, kii: f64) -> Second {
    let mut at = resid.len();
    let mut bottoms = [f64::INFINITY; LANES];
    let mut best = 0.0;
    let first = First { top, kii };
    let mut spare = [[0.0; BLOCK]; 4];
    for b in 0..resid.len().div_ceil(BLOCK) {
        let [s0, s1, s2, s3] = &mut spare;
        let (resid, low) = (block(resid, b, s0, 0.0), block(low, b, s1, f64::INFINITY));
        let (ki, diag) = (block(ki, b, s2, 0.0), block(diag, b, s3, 1.0));
        if scan_block([resid, low, ki, diag], first, best, &mut bottoms) {
            let (gain, t) = best_in_block(resid, low, ki, diag, first);
            if gain > best {
                best = gain;
                at = b * BLOCK + t;
            }
        }
    }
    Second { bottom: bottoms.into_iter().fold(f64::INFINITY, smaller), at }
}

/// The vector width used, found out once per problem.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Width {
    /// What every machine of the target has.
    Base,
    /// 256 bits.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// 512 bits.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Width {
    /// The widest this machine has.
    pub(super) fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f") {
                return Width::Avx512;
            }
            if is_x86_feature_detected!("avx2") {
                return Width::Avx2;
            }
        }
        Width::Base
    }
}

/// Defines a pass as its body compiled once per width.
macro_rules! pass {
    ($(#[$doc:meta])* $name:ident = $body:ident ( $($arg:ident : $type:ty),* ) -> $out:ty) => {
        $(#[$doc])*
        pub(super) fn $name(width: Width, $($arg: $type),*) -> $out {
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2")]
            fn avx2($($arg: $type),*) -> $out {
                $body($($arg),*)
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f")]
            fn avx512($($arg: $type),*) -> $out {
                $body($($arg),*)
            }
            match width {
                Width::Base => $body($($arg),*),
                // SAFETY: `Width::detect` gives this value only where the processor has the feature.
                #[cfg(target_arch = "x86_64")]
                Width::Avx2 => unsafe { avx2($($arg),*) },
                // SAFETY: as above.
                #[cfg(target_arch = "x86_64")]
                Width::Avx512 => unsafe { avx512($($arg),*) },
            }
        }
    };
}

pass! {
    /// `resid -= step (K_i - K_j)`; returns the first index with the largest `resid + up` afterwards.
    update = update_body(resid: &mut [f64], ki: &[f64], kj: &[f64], up: &[f64], step: f64) -> Peak
}

pass! {
    /// The second variable for a first one with residual `top`, kernel row `ki` and diagonal `kii`.
    select = select_body(resid: &[f64], low: &[f64], ki: &[f64], diag: &[f64], top: f64, kii: f64) -> Second
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::Rng;

    /// Every width this machine has.
    fn widths() -> Vec<Width> {
        #[allow(unused_mut)]
        let mut all = vec![Width::Base];
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2") {
                all.push(Width::Avx2);
            }
            if is_x86_feature_detected!("avx512f") {
                all.push(Width::Avx512);
            }
        }
        all
    }

    /// Numbers on a coarse grid, so that ties happen.
    fn grid(rng: &mut Rng, n: usize) -> Vec<f64> {
        (0..n).map(|_| (rng.below(41) as f64 - 20.0) / 10.0).collect()
    }

    fn mask(rng: &mut Rng, n: usize, closed: f64) -> Vec<f64> {
        (0..n).map(|_| if rng.below(3) == 0 { closed } else { 0.0 }).collect()
    }

    #[test]
    fn update_any_length_and_width_equals_the_plain_loop() {
        let mut rng = Rng::new(1, 0);
        for n in [0, 1, 2, 7, 8, 9, 63, 64, 65, 127, 128, 200] {
            let (start, ki, kj) = (grid(&mut rng, n), grid(&mut rng, n), grid(&mut rng, n));
            let up = mask(&mut rng, n, f64::NEG_INFINITY);
            let step = 0.37;
            let want: Vec<f64> = (0..n).map(|t| start[t] - step * (ki[t] - kj[t])).collect();
            for width in widths() {
                let mut resid = start.clone();
                let peak = update(width, &mut resid, &ki, &kj, &up, step);
                assert_eq!(resid, want);
                assert_eq!(peak, first(&want, &up), "n {n} {width:?}");
            }
        }
    }

    #[test]
    fn select_any_length_and_width_equals_the_plain_loop() {
        let mut rng = Rng::new(2, 0);
        for n in [0, 1, 2, 7, 8, 9, 63, 64, 65, 127, 128, 200] {
            let (resid, ki) = (grid(&mut rng, n), grid(&mut rng, n));
            let low = mask(&mut rng, n, f64::INFINITY);
            let diag = vec![1.0; n];
            let top = 1.0;
            let (mut bottom, mut best, mut at) = (f64::INFINITY, 0.0, n);
            for t in 0..n {
                if low[t] == 0.0 {
                    bottom = f64::min(bottom, resid[t]);
                    let quad = 2.0 - 2.0 * ki[t];
                    let gain = (top - resid[t]).powi(2) / if quad > 0.0 { quad } else { TAU };
                    if resid[t] < top && gain > best {
                        (best, at) = (gain, t);
                    }
                }
            }
            for width in widths() {
                assert_eq!(select(width, &resid, &low, &ki, &diag, top, 1.0), Second { bottom, at }, "n {n} {width:?}");
            }
        }
    }
}
