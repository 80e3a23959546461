//! One cell per item of a job, written and read without locks.

use std::cell::UnsafeCell;

/// One cell per item, each used by only one thread: the one that works on the item.
pub(super) struct Cells<T>(Vec<UnsafeCell<Option<T>>>);

// SAFETY: a cell is used only by the thread that works on its item, as the callers of `at` promise.
unsafe impl<T: Send> Sync for Cells<T> {}

impl<T> Cells<T> {
    pub(super) fn new(items: impl Iterator<Item = Option<T>>) -> Self {
        Cells(items.map(UnsafeCell::new).collect())
    }

    /// The cell of an item.
    ///
    /// # Safety
    /// Only for the thread that works on the item, which must not call this twice.
    #[allow(clippy::mut_from_ref)]
    pub(super) unsafe fn at(&self, i: usize) -> &mut Option<T> {
        // SAFETY: no other reference exists, promised by the caller.
        unsafe { &mut *self.0[i].get() }
    }

    /// The contents of the cells.
    pub(super) fn into_iter(self) -> impl Iterator<Item = T> {
        self.0.into_iter().filter_map(UnsafeCell::into_inner)
    }
}
