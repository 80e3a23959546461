//! The two passes over all variables that make up one SMO iteration, in the widest vectors the machine has.
//!
//! Every width gives the same bits: each element sees the same IEEE operations (never a fused multiply-add), a maximum
//! rounds nothing, and a tie goes to the smallest index.
//!
//! The loops run over groups of lanes of a length known to the compiler and carry only independent lanes, which is what
//! it takes for them to vectorise. Quotients are slow, so after the first block they are computed only where some
//! product shows that the best so far is beaten. There are no closures, because a closure would not be compiled for the
//! vector width of its caller.
#![allow(clippy::needless_range_loop, reason = "indices over blocks of known length vectorise, zips of four do not")]

/// Variables tested together for whether one of them beats the best so far; after the first blocks the answer is nearly
/// always no.
const BLOCK: usize = 64;
/// Values side by side: the widest vector.
const LANES: usize = 8;
/// Replaces the curvature of a pair that is not positive (Fan, Chen, Lin 2005, section 2.3).
pub(super) const TAU: f64 = 1e-12;

/// The larger of two numbers; a NaN on the left loses, as in the vector instruction.
#[inline(always)]
pub(super) fn larger(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

/// The smaller of two numbers; a NaN on the left loses.
#[inline(always)]
pub(super) fn smaller(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

/// The curvature of the dual along a pair, forced to be positive.
#[inline(always)]
pub(super) fn curvature(kii: f64, kjj: f64, kij: f64) -> f64 {
    let quad = (kii + kjj) - 2.0 * kij;
    if quad > 0.0 { quad } else { TAU }
}

/// Position of a maximum; `at` is the number of variables if there was no candidate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Peak {
    pub(super) value: f64,
    pub(super) at: usize,
}

/// Result of the search for the second variable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Second {
    /// M(a): the smallest residual among the variables that may go down.
    pub(super) bottom: f64,
    /// The variable with the largest gain; the number of variables if there was no candidate.
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

/// Neighbouring values that form one vector.
type Lanes = [f64; LANES];

/// A maximum in independent lanes, and where each was first found.
#[derive(Clone, Copy)]
struct Best {
    value: Lanes,
    at: Lanes,
}

impl Best {
    /// Initial state: only values larger than this count.
    #[inline(always)]
    fn above(value: f64) -> Best {
        Best { value: [value; LANES], at: [f64::INFINITY; LANES] }
    }

    /// Takes in the values starting at index `start`.
    #[inline(always)]
    fn update(&mut self, values: &Lanes, start: f64) {
        for l in 0..LANES {
            let better = values[l] > self.value[l];
            self.value[l] = if better { values[l] } else { self.value[l] };
            self.at[l] = if better { start + l as f64 } else { self.at[l] };
        }
    }

    /// The largest value and its first index, if there was any.
    #[inline(always)]
    fn first(&self) -> Option<(f64, usize)> {
        let top = max_lane(self.value);
        let mut at = [f64::INFINITY; LANES];
        for l in 0..LANES {
            at[l] = if self.value[l] == top { self.at[l] } else { f64::INFINITY };
        }
        let at = min_lane(at);
        if at < f64::INFINITY { Some((top, at as usize)) } else { None }
    }
}

/// The largest of all lanes.
#[inline(always)]
fn max_lane(lanes: Lanes) -> f64 {
    // As a tree, which has a shorter dependency chain.
    let [a, b, c, d, e, f, g, h] = lanes;
    larger(larger(larger(a, e), larger(c, g)), larger(larger(b, f), larger(d, h)))
}

/// The smallest of all lanes.
#[inline(always)]
fn min_lane(lanes: Lanes) -> f64 {
    let [a, b, c, d, e, f, g, h] = lanes;
    smaller(smaller(smaller(a, e), smaller(c, g)), smaller(smaller(b, f), smaller(d, h)))
}

/// The last values of an array, fewer than the lanes, padded with `fill`.
#[inline(always)]
fn filled(rest: &[f64], fill: f64) -> Lanes {
    let mut lanes = [fill; LANES];
    for (lane, &value) in lanes.iter_mut().zip(rest) {
        *lane = value;
    }
    lanes
}

/// Updates some residuals and takes in their sums with `up`.
#[inline(always)]
fn move_lanes(resid: &mut Lanes, [ki, kj, up]: [&Lanes; 3], step: f64, best: &mut Best, start: f64) {
    let mut sum = [0.0; LANES];
    for l in 0..LANES {
        resid[l] -= step * (ki[l] - kj[l]);
        sum[l] = resid[l] + up[l];
    }
    best.update(&sum, start);
}

/// The update pass: `resid -= step (K_i - K_j)` and, in the same sweep, the next first variable.
#[inline(always)]
fn update_body(resid: &mut [f64], ki: &[f64], kj: &[f64], up: &[f64], step: f64) -> Peak {
    let n = resid.len();
    let (groups, rest) = resid.as_chunks_mut::<LANES>();
    let (ki, ki_rest) = ki[..n].as_chunks::<LANES>();
    let (kj, kj_rest) = kj[..n].as_chunks::<LANES>();
    let (up, up_rest) = up[..n].as_chunks::<LANES>();
    let mut best = Best::above(f64::NEG_INFINITY);
    let mut start = 0.0;
    for (((resid, ki), kj), up) in groups.iter_mut().zip(ki).zip(kj).zip(up) {
        move_lanes(resid, [ki, kj, up], step, &mut best, start);
        start += LANES as f64;
    }
    if !rest.is_empty() {
        let (ki, kj) = (filled(ki_rest, 0.0), filled(kj_rest, 0.0));
        let (mut moved, up) = (filled(rest, 0.0), filled(up_rest, f64::NEG_INFINITY));
        move_lanes(&mut moved, [&ki, &kj, &up], step, &mut best, start);
        for (value, moved) in rest.iter_mut().zip(moved) {
            *value = moved;
        }
    }
    match best.first() {
        Some((value, at)) => Peak { value, at },
        None => Peak { value: f64::NEG_INFINITY, at: n },
    }
}

/// The first variable of a pair: its residual and its diagonal.
#[derive(Clone, Copy)]
struct First {
    top: f64,
    kii: f64,
}

/// The last values of four arrays, fewer than the lanes, padded with non-candidates.
#[inline(always)]
fn filled_four([resid, low, ki, diag]: [&[f64]; 4]) -> [Lanes; 4] {
    [filled(resid, 0.0), filled(low, f64::INFINITY), filled(ki, 0.0), filled(diag, 1.0)]
}

/// Updates the minima of `resid + low` and takes in the gains of some second variables, starting at index `start`.
#[inline(always)]
fn gain_lanes([resid, low, ki, diag]: [&Lanes; 4], first: First, bottoms: &mut Lanes, best: &mut Best, start: f64) {
    let mut gains = [0.0; LANES];
    for l in 0..LANES {
        let value = resid[l] + low[l];
        bottoms[l] = smaller(value, bottoms[l]);
        let diff = larger(first.top - value, 0.0);
        gains[l] = diff * diff / curvature(first.kii, diag[l], ki[l]);
    }
    best.update(&gains, start);
}

/// The largest gain in a block and its first index; updates the minima of `resid + low`.
#[inline(always)]
fn best_gain(parts: [&[f64]; 4], first: First, bottoms: &mut Lanes) -> Option<(f64, usize)> {
    let [resid, low, ki, diag] = parts;
    let (resid, resid_rest) = resid.as_chunks::<LANES>();
    let (low, low_rest) = low.as_chunks::<LANES>();
    let (ki, ki_rest) = ki.as_chunks::<LANES>();
    let (diag, diag_rest) = diag.as_chunks::<LANES>();
    let mut best = Best::above(0.0);
    let mut start = 0.0;
    for (((resid, low), ki), diag) in resid.iter().zip(low).zip(ki).zip(diag) {
        gain_lanes([resid, low, ki, diag], first, bottoms, &mut best, start);
        start += LANES as f64;
    }
    if !resid_rest.is_empty() {
        let [resid, low, ki, diag] = filled_four([resid_rest, low_rest, ki_rest, diag_rest]);
        gain_lanes([&resid, &low, &ki, &diag], first, bottoms, &mut best, start);
    }
    best.first()
}

/// Whether some gain among these exceeds `best`: `diff^2 / quad > best` without the division; updates the minima of
/// `resid + low`, lane by lane.
#[inline(always)]
fn exceed_lanes<const N: usize>(parts: [&[f64; N]; 4], first: First, best: f64, bottoms: &mut Lanes) -> bool {
    let [resid, low, ki, diag] = parts;
    let mut any = false;
    let mut value = [0.0; N];
    for t in 0..N {
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

/// [`exceed_lanes`] for up to a block.
#[inline(always)]
fn exceeds(parts: [&[f64]; 4], first: First, best: f64, bottoms: &mut Lanes) -> bool {
    let [resid, low, ki, diag] = parts;
    if let (Some(resid), Some(low), Some(ki), Some(diag)) =
        (resid.first_chunk::<BLOCK>(), low.first_chunk(), ki.first_chunk(), diag.first_chunk())
    {
        return exceed_lanes([resid, low, ki, diag], first, best, bottoms);
    }
    let (resid, resid_rest) = resid.as_chunks::<LANES>();
    let (low, low_rest) = low.as_chunks::<LANES>();
    let (ki, ki_rest) = ki.as_chunks::<LANES>();
    let (diag, diag_rest) = diag.as_chunks::<LANES>();
    let mut any = false;
    for (((resid, low), ki), diag) in resid.iter().zip(low).zip(ki).zip(diag) {
        any |= exceed_lanes([resid, low, ki, diag], first, best, bottoms);
    }
    if !resid_rest.is_empty() {
        let [resid, low, ki, diag] = filled_four([resid_rest, low_rest, ki_rest, diag_rest]);
        any |= exceed_lanes([&resid, &low, &ki, &diag], first, best, bottoms);
    }
    any
}

/// The selection pass (WSS 3 of Fan, Chen, Lin 2005): among variables that may go down, the largest second-order gain
/// when paired with the first variable, whose residual is `top`, kernel row `ki` and diagonal `kii`. Largest up to one
/// rounding, since blocks are compared by products and only then by quotients.
#[inline(always)]
fn select_body(resid: &[f64], low: &[f64], ki: &[f64], diag: &[f64], top: f64, kii: f64) -> Second {
    let n = resid.len();
    let mut at = n;
    let mut bottoms = [f64::INFINITY; LANES];
    let mut best = 0.0;
    let first = First { top, kii };
    for start in (0..n).step_by(BLOCK) {
        let end = (start + BLOCK).min(n);
        let parts = [&resid[start..end], &low[start..end], &ki[start..end], &diag[start..end]];
        // The first block nearly always has a gain.
        if start > 0 && !exceeds(parts, first, best, &mut bottoms) {
            continue;
        }
        match best_gain(parts, first, &mut bottoms) {
            Some((gain, t)) if gain > best => (best, at) = (gain, start + t),
            _ => {}
        }
    }
    Second { bottom: min_lane(bottoms), at }
}

/// The vector width in use, detected once per problem.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Width {
    /// The baseline of the target.
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
