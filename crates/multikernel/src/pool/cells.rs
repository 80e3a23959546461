//! One place per item of a job, written and read without locks.

use std::cell::UnsafeCell;

/// One cell per item, each of which one thread at a time may use: that which works on the item.
pub(super) struct Cells<T>(Vec<UnsafeCell<Option<T>>>);

// SAFETY: a cell is used by the thread that works on its item and by no other, as the callers of `at` promise.
unsafe impl<T: Send> Sync for Cells<T> {}

impl<T> Cells<T> {
    pub(super) fn new(items: impl Iterator<Item = Option<T>>) -> Self {
        Cells(items.map(UnsafeCell::new).collect())
    }

    /// The cell of an item.
    ///
    /// # Safety
    /// Only for the thread that works on the item, which must not ask for it twice.
    #[allow(clippy::mut_from_ref)]
    pub(super) unsafe fn at(&self, i: usize) -> &mut Option<T> {
        // SAFETY: nobody else has it, promised by the caller.
        unsafe { &mut *self.0[i].get() }
    }

    /// What lies in the cells.
    pub(super) fn into_iter(self) -> impl Iterator<Item = T> {
        self.0.into_iter().filter_map(UnsafeCell::into_inner)
    }
}
