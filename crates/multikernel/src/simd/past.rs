//! Writing past the caches.

use super::Real;
use super::aligned::LINE;

/// Copies past the caches; what was written may be read once this is dropped.
///
/// A line that is written as a whole then is not read from memory before, which is half of what writing much memory costs. What
/// is read again soon, or was cleared just now and lies in the caches, is better copied plainly.
pub(crate) struct PastCaches(());

impl PastCaches {
    pub(crate) fn new() -> Self {
        PastCaches(())
    }

    /// `to = from`.
    pub(crate) fn copy<T: Real>(&self, from: &[T], to: &mut [T]) {
        assert_eq!(from.len(), to.len(), "as many places as values");
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::x86_64::{_mm_loadu_si128, _mm_stream_si128};
            const BYTES: usize = 16;
            // Lines that are not whole would be read and written again on the way.
            let first = to.as_ptr().align_offset(LINE).min(to.len());
            let line = LINE / T::BYTES;
            let last = first + (to.len() - first) / line * line;
            for rest in [0..first, last..to.len()] {
                to[rest.clone()].copy_from_slice(&from[rest]);
            }
            for i in (first..last).step_by(BYTES / T::BYTES) {
                // SAFETY: sixteen bytes at a time from `first`, where a line of `to` begins, to `last`: within both slices.
                unsafe {
                    _mm_stream_si128(to.as_mut_ptr().add(i).cast(), _mm_loadu_si128(from.as_ptr().add(i).cast()))
                };
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        to.copy_from_slice(from);
    }
}

impl Drop for PastCaches {
    /// Makes what was written visible to whoever is told of it later, as plain stores are. It takes as long as copying 1 KB.
    fn drop(&mut self) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: an instruction of every x86-64.
        unsafe {
            std::arch::x86_64::_mm_sfence();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::Rng;
    use crate::simd::check::{LENGTHS, uniform};

    fn check<T: Real + PartialEq + std::fmt::Debug>(make: impl Fn(f64) -> T) {
        let mut rng = Rng::new(1, 0);
        for (n, skip, end) in LENGTHS.into_iter().flat_map(|n| (0..9).map(move |skip| (n, skip, skip % 3))) {
            let from: Vec<T> = uniform(&mut rng, n + 1).into_iter().map(&make).collect();
            let mut to = vec![make(7.0); skip + n + end];
            PastCaches::new().copy(&from[1..], &mut to[skip..skip + n]);
            assert_eq!(to[skip..skip + n], from[1..], "{n} {skip}");
            assert!(to[..skip].iter().chain(&to[skip + n..]).all(|&other| other == make(7.0)), "{n} {skip}");
        }
    }

    #[test]
    fn copy_takes_any_length_to_any_place_and_nothing_else() {
        check(|value| value);
        check(|value| value as f32);
    }
}
