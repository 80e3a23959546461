//! Writes that bypass the caches.

#[cfg(all(target_arch = "x86_64", not(miri)))]
use super::aligned::LINE;
use super::{Real, UninitPart};

/// Copies that bypass the caches; what was written may be read once this is dropped.
///
/// A cache line that is written as a whole is then not read from memory first, which is half the cost of writing large
/// amounts of memory. Data that will be read again soon, or memory that was just cleared and is still cached, is better
/// copied normally.
pub(crate) struct PastCaches(());

impl PastCaches {
    pub(crate) fn new() -> Self {
        PastCaches(())
    }

    /// Appends `from` to `to`.
    ///
    /// # Panics
    /// If there is too little room.
    pub(crate) fn copy<T: Real>(&self, from: &[T], to: &mut UninitPart<'_, T>) {
        // Miri does not support the instruction.
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        // SAFETY: all of `from` is written to memory of the same length.
        unsafe {
            to.extend_raw(from.len(), |to| stream(from, to));
        }
        #[cfg(not(all(target_arch = "x86_64", not(miri))))]
        to.extend_from_slice(from);
    }
}

/// Writes all of `from` to `to`, which has the same length.
#[cfg(all(target_arch = "x86_64", not(miri)))]
fn stream<T: Real>(from: &[T], to: &mut [std::mem::MaybeUninit<T>]) {
    use std::arch::x86_64::{_mm_loadu_si128, _mm_stream_si128};
    const BYTES: usize = 16;
    assert_eq!(from.len(), to.len(), "as many places as values");
    // Partial lines would be read and written back first.
    let first = to.as_ptr().align_offset(LINE).min(to.len());
    let line = LINE / T::BYTES;
    let last = first + (to.len() - first) / line * line;
    for rest in [0..first, last..to.len()] {
        for (to, &from) in to[rest.clone()].iter_mut().zip(&from[rest]) {
            to.write(from);
        }
    }
    for i in (first..last).step_by(BYTES / T::BYTES) {
        // SAFETY: sixteen bytes at a time from `first`, where a line of `to` begins, to `last`: within both slices.
        unsafe { _mm_stream_si128(to.as_mut_ptr().add(i).cast(), _mm_loadu_si128(from.as_ptr().add(i).cast())) };
    }
}

impl Drop for PastCaches {
    /// Makes the writes visible to threads that synchronise with this one later, as plain stores are. It takes as long
    /// as copying 1 KB.
    fn drop(&mut self) {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
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
            PastCaches::new().copy(&from[1..], &mut UninitPart::over(&mut to[skip..skip + n]));
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
