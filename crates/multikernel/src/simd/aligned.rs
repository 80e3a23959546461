//! Buffers that begin at a line of the cache: a vector that lies across two lines costs two accesses.

use std::ops::{Deref, DerefMut};

/// Bytes of a line.
const LINE: usize = 64;

/// One line of numbers.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Line(#[allow(dead_code, reason = "read as a slice of all lines")] [f64; LINE / 8]);

/// A resizable buffer of `f64` that begins at a line.
#[derive(Clone, Debug, Default)]
pub(crate) struct Buffer {
    lines: Vec<Line>,
    len: usize,
}

impl Buffer {
    /// Makes it `len` long; what it holds then is not defined, but some numbers.
    pub(crate) fn set_len(&mut self, len: usize) {
        let n_lines = len.div_ceil(LINE / 8);
        if self.lines.len() < n_lines {
            self.lines.resize(n_lines, Line([0.0; LINE / 8]));
        }
        self.len = len;
    }
}

impl Deref for Buffer {
    type Target = [f64];

    fn deref(&self) -> &[f64] {
        // SAFETY: lines are eight numbers each without gaps, and `set_len` made as many as `len` needs.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.len) }
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [f64] {
        // SAFETY: as above, and borrowed for writing.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.len) }
    }
}

/// How many elements of a slice to skip so that the rest begins at a line; 0 where that cannot be.
pub(crate) fn skip_to_line<T>(values: &[T]) -> usize {
    let skip = values.as_ptr().align_offset(LINE);
    if skip < LINE { skip } else { 0 }
}
