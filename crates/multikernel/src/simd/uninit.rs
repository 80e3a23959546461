//! Memory that is written before it is read, without being cleared first: its owner tracks what has been written.
//!
//! Safe code can only append values to a [`UninitPart`] and read back what it appended, so no value is read before it
//! exists, and a [`UninitVec`] becomes a vector only once every part of it is full. Clearing the memory of a large
//! store takes a quarter of the time needed to compute its kernels.

use std::mem::MaybeUninit;

/// Memory for `n` values that are yet to be written.
pub(crate) struct UninitVec<T> {
    /// Empty, with room for `n`.
    values: Vec<T>,
    n: usize,
}

impl<T: Copy> UninitVec<T> {
    /// New memory for `n` values, or `None` if there is too little.
    pub(crate) fn new(n: usize) -> Option<Self> {
        UninitVec::reuse(vec![], n)
    }

    /// Reuses the memory of `values` for `n` others, or `None` if it is too small and cannot grow.
    pub(crate) fn reuse(mut values: Vec<T>, n: usize) -> Option<Self> {
        values.clear();
        values.try_reserve_exact(n).ok()?;
        Some(UninitVec { values, n })
    }

    /// The memory itself.
    pub(crate) fn memory(&mut self) -> &mut [MaybeUninit<T>] {
        &mut self.values.spare_capacity_mut()[..self.n]
    }

    /// The values that `write` put into consecutive parts of these lengths, from as many threads as it likes; `None` if
    /// it left a part unfilled.
    ///
    /// # Panics
    /// If the lengths do not add up to `n`.
    pub(crate) fn fill_parts(
        mut self,
        lengths: impl IntoIterator<Item = usize>,
        write: impl FnOnce(&mut [UninitPart<'_, T>]),
    ) -> Option<Vec<T>> {
        let mut whole = UninitPart { memory: self.memory(), n_written: 0 };
        if !whole.extend_parts(lengths, write) {
            return None;
        }
        assert!(whole.is_full(), "the parts are the whole");
        // SAFETY: there is room for `n` values, and the part that spans them is full.
        unsafe { self.values.set_len(self.n) };
        Some(self.values)
    }
}

/// Borrowed memory that is written from front to back, and how far it has been written.
pub(crate) struct UninitPart<'a, T> {
    /// The first `n_written` are initialised.
    memory: &'a mut [MaybeUninit<T>],
    n_written: usize,
}

impl<T> Default for UninitPart<'_, T> {
    /// No memory.
    fn default() -> Self {
        UninitPart { memory: &mut [], n_written: 0 }
    }
}

impl<'a, T: Copy> UninitPart<'a, T> {
    /// Memory that already holds values, to be overwritten.
    pub(crate) fn over(values: &'a mut [T]) -> Self {
        // SAFETY: an initialised value is a valid `MaybeUninit`, and nothing but values is ever written there.
        let memory = unsafe { &mut *(std::ptr::from_mut(values) as *mut [MaybeUninit<T>]) };
        UninitPart { memory, n_written: 0 }
    }

    /// Number of values when full.
    pub(crate) fn len(&self) -> usize {
        self.memory.len()
    }

    /// Whether all values have been written.
    pub(crate) fn is_full(&self) -> bool {
        self.n_written == self.memory.len()
    }

    /// The values written so far.
    pub(crate) fn written(&mut self) -> &mut [T] {
        // SAFETY: this many have been written.
        unsafe { assume_written(&mut self.memory[..self.n_written]) }
    }

    /// Appends `f` of each of `from`; returns the appended values.
    ///
    /// # Panics
    /// If there is too little room.
    #[inline(always)]
    pub(crate) fn extend<A>(&mut self, from: &[A], f: impl Fn(&A) -> T) -> &mut [T] {
        let memory = &mut self.memory[self.n_written..self.n_written + from.len()];
        for (place, from) in memory.iter_mut().zip(from) {
            place.write(f(from));
        }
        self.n_written += from.len();
        // SAFETY: there are as many as in `from`, so the loop wrote each of them.
        unsafe { assume_written(memory) }
    }

    /// Appends the same value `n` times.
    ///
    /// # Panics
    /// If there is too little room.
    #[inline(always)]
    pub(crate) fn extend_by(&mut self, value: T, n: usize) {
        self.memory[self.n_written..self.n_written + n].fill(MaybeUninit::new(value));
        self.n_written += n;
    }

    /// Appends a copy.
    ///
    /// # Panics
    /// If there is too little room.
    pub(crate) fn extend_from_slice(&mut self, from: &[T]) {
        self.extend(from, |&value| value);
    }

    /// Appends `n` values that `write` puts there.
    ///
    /// # Safety
    /// `write` must write all of them.
    ///
    /// # Panics
    /// If there is too little room.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    pub(super) unsafe fn extend_raw(&mut self, n: usize, write: impl FnOnce(&mut [MaybeUninit<T>])) {
        write(&mut self.memory[self.n_written..self.n_written + n]);
        self.n_written += n;
    }

    /// Appends consecutive parts of these lengths, which `write` fills in any order; if it left one unfilled, appends
    /// nothing and returns false.
    ///
    /// # Panics
    /// If there is too little room.
    pub(crate) fn extend_parts(
        &mut self,
        lengths: impl IntoIterator<Item = usize>,
        write: impl FnOnce(&mut [UninitPart<'_, T>]),
    ) -> bool {
        let mut rest = &mut self.memory[self.n_written..];
        let (start, room) = (rest.as_ptr(), rest.len());
        let cut = |length: usize| {
            let (memory, after) = std::mem::take(&mut rest).split_at_mut(length);
            rest = after;
            UninitPart { memory, n_written: 0 }
        };
        let mut parts: Vec<UninitPart<'_, T>> = lengths.into_iter().map(cut).collect();
        let n = room - rest.len();
        write(&mut parts);
        // `write` may have replaced these parts by others. Only these lie in this memory, so if full ones cover it from
        // start to end without a gap they are all there.
        let mut reached = 0;
        for part in &parts {
            if !part.is_full() || part.memory.as_ptr() != start.wrapping_add(reached) {
                return false;
            }
            reached += part.len();
        }
        self.n_written += if reached == n { n } else { 0 };
        reached == n
    }
}

/// # Safety
/// All of them must have been written.
#[inline(always)]
unsafe fn assume_written<T>(memory: &mut [MaybeUninit<T>]) -> &mut [T] {
    // SAFETY: promised by the caller.
    unsafe { &mut *(std::ptr::from_mut(memory) as *mut [T]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_filled_in_any_order_are_the_whole() {
        for lengths in [vec![], vec![0], vec![3, 0, 5], vec![1; 40]] {
            let n = lengths.iter().sum();
            let fill = |parts: &mut [UninitPart<'_, usize>]| {
                for (k, part) in parts.iter_mut().enumerate().rev() {
                    let first = part.len().div_ceil(2);
                    part.extend_by(k, first);
                    let (other, double) = (part.len() - first, |&k: &usize| 2 * k);
                    let last = part.extend(&vec![k; other], double);
                    last.iter_mut().for_each(|value| *value -= k);
                    part.written().iter_mut().for_each(|value| *value += 1);
                }
            };
            let expected: Vec<usize> = lengths.iter().enumerate().flat_map(|(k, &n)| vec![k + 1; n]).collect();
            let mut memory = UninitVec::new(n).unwrap();
            assert_eq!(memory.memory().len(), n);
            let values = memory.fill_parts(lengths.clone(), fill).unwrap();
            assert_eq!(values, expected);
            let again = UninitVec::reuse(values, n).unwrap().fill_parts(lengths, fill);
            assert_eq!(again, Some(expected));
        }
        assert!(UninitVec::<f64>::new(usize::MAX).is_none());
    }

    #[test]
    fn threads_fill_parts_side_by_side() {
        let pool = crate::Pool::new(3).unwrap();
        let values = UninitVec::new(70).unwrap().fill_parts(vec![7; 10], |parts| {
            pool.each(parts.iter_mut().enumerate().collect(), |(k, part)| part.extend_by(k, 7));
        });
        assert!(values.unwrap().into_iter().eq((0..70).map(|i| i / 7)));
    }

    /// What `fill_parts` makes of two parts of length two.
    fn filled(write: impl FnOnce(&mut [UninitPart<'_, u8>])) -> Option<Vec<u8>> {
        UninitVec::new(4).unwrap().fill_parts([2, 2], write)
    }

    #[test]
    fn what_is_not_full_is_never_a_vector() {
        assert_eq!(filled(|parts| parts.iter_mut().for_each(|part| part.extend_by(1, 2))), Some(vec![1; 4]));
        assert_eq!(filled(|_| ()), None);
        assert_eq!(filled(|parts| parts[1].extend_by(1, 2)), None);
        assert_eq!(filled(|parts| parts.iter_mut().for_each(|part| part.extend_by(1, 1))), None);
        // Full, but not the parts that were handed out, or not in order.
        assert_eq!(filled(|parts| parts.iter_mut().for_each(|part| *part = UninitPart::default())), None);
        let in_turn = |parts: &mut [UninitPart<'_, u8>]| {
            parts.iter_mut().for_each(|part| part.extend_by(1, 2));
            parts.swap(0, 1);
        };
        assert_eq!(filled(in_turn), None);
        // Nothing is appended if parts were left unfilled.
        let mut values = [7; 3];
        let mut part = UninitPart::over(&mut values);
        assert!(!part.extend_parts([1, 1], |parts| parts[0].extend_by(1, 1)) && part.written().is_empty());
        assert!(part.extend_parts([1, 1], |parts| parts.iter_mut().for_each(|part| part.extend_by(2, 1))));
        assert!(!part.is_full() && part.written() == [2, 2]);
        assert_eq!(values, [2, 2, 7]);
    }

    #[test]
    #[should_panic]
    fn more_than_there_is_room_for_is_refused() {
        UninitPart::over(&mut [0; 2]).extend_from_slice(&[1; 3]);
    }
}
