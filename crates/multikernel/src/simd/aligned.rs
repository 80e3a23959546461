//! Buffers aligned to cache lines: a vector that straddles two lines costs two accesses.

use std::fmt;
use std::ops::{Deref, DerefMut};

use crate::linalg::large_pages;

/// Bytes of a cache line.
pub(super) const LINE: usize = 64;

/// Numbers allocated beyond the length, so that some start is at a line.
const SLACK: usize = LINE / 8;

/// A resizable buffer of `f64`, aligned to a cache line.
#[derive(Default)]
pub(crate) struct Buffer {
    values: Vec<f64>,
    /// Numbers before the first line.
    skip: usize,
    len: usize,
}

impl Buffer {
    /// Zeros, or `None` if there is too little memory. Pages of long ones are cleared by whoever writes to them first.
    pub(crate) fn zeros(len: usize) -> Option<Buffer> {
        let mut buffer = Buffer::default();
        buffer.try_set_len(len)?;
        Some(buffer)
    }

    /// [`Buffer::set_len`], or `None` if there is too little memory.
    pub(crate) fn try_set_len(&mut self, len: usize) -> Option<()> {
        if self.capacity() < len {
            Vec::<f64>::new().try_reserve_exact(len.checked_add(SLACK)?).ok()?;
        }
        self.set_len(len);
        Some(())
    }

    /// The number of values it can hold without allocating.
    pub(crate) fn capacity(&self) -> usize {
        self.values.len().saturating_sub(SLACK)
    }

    /// Makes it `len` long; the contents are then unspecified but valid numbers.
    pub(crate) fn set_len(&mut self, len: usize) {
        if self.values.len() < len + SLACK {
            // Released first, so that there is never memory for both.
            self.values = vec![];
            self.values = vec![0.0; len + SLACK];
            large_pages(&mut self.values);
            self.skip = skip_to_line(&self.values);
        }
        self.len = len;
    }
}

impl fmt::Debug for Buffer {
    /// Its values alone: where they lie differs from run to run.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl Clone for Buffer {
    fn clone(&self) -> Self {
        let mut copy = Buffer::default();
        copy.set_len(self.len);
        copy.copy_from_slice(self);
        copy
    }
}

impl Deref for Buffer {
    type Target = [f64];

    fn deref(&self) -> &[f64] {
        &self.values[self.skip..self.skip + self.len]
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [f64] {
        &mut self.values[self.skip..self.skip + self.len]
    }
}

/// The number of leading elements to skip so that the rest is aligned to a cache line; 0 if that is impossible.
pub(crate) fn skip_to_line<T>(values: &[T]) -> usize {
    let skip = values.as_ptr().align_offset(LINE);
    if skip < LINE { skip } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::check::bits;

    #[test]
    fn buffer_of_any_length_begins_at_a_line_and_keeps_what_is_written() {
        let zeros = Buffer::zeros(1001).unwrap();
        assert_eq!((zeros.len(), bits(&zeros), zeros.as_ptr().addr() % LINE), (1001, vec![0; 1001], 0));
        assert!(Buffer::zeros(usize::MAX).is_none());
        let mut buffer = Buffer::default();
        assert_eq!((buffer.len(), buffer.iter().sum::<f64>()), (0, 0.0));
        for len in [0, 1, 7, 8, 9, 63, 64, 65, 1000, 3, 0, 4097] {
            buffer.set_len(len);
            assert_eq!((buffer.len(), buffer.as_ptr().addr() % LINE), (len, 0));
            buffer.iter_mut().enumerate().for_each(|(i, value)| *value = i as f64);
            assert!(buffer.iter().enumerate().all(|(i, &value)| value == i as f64));
            let copy = buffer.clone();
            assert_eq!((&*copy, copy.as_ptr().addr() % LINE), (&*buffer, 0));
        }
        // Shortened and lengthened again: arbitrary numbers, but as many as requested.
        buffer.set_len(1);
        buffer.set_len(4000);
        assert!(buffer.len() == 4000 && buffer.iter().all(|value| value.is_finite()));
    }

    fn is_at_line<T>(values: &[T]) {
        let skip = skip_to_line(values);
        assert!(skip * size_of::<T>() < LINE);
        assert_eq!(values[skip..].as_ptr().addr() % LINE, 0);
    }

    #[test]
    fn skip_to_line_from_any_start_is_the_fewest_elements() {
        let (wide, narrow) = ([0.0f64; 40], [0.0f32; 80]);
        (0..24).for_each(|start| is_at_line(&wide[start..]));
        (0..48).for_each(|start| is_at_line(&narrow[start..]));
        // Elements two lines long, offset by half a line: none starts at a line.
        let start = skip_to_line(&wide) + LINE / 16;
        // SAFETY: 16 numbers from `start`, which is at most 7 + 4 of 40.
        let off = unsafe { std::slice::from_raw_parts(wide[start..].as_ptr().cast::<[f64; LINE / 4]>(), 1) };
        assert_eq!(skip_to_line(off), 0);
    }
}
