//! Pages of this process alone that a device may write to (mmap(2), madvise(2)).

use std::io;
use std::ptr;

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

/// Zeroed pages until dropped. Children of the process do not have them: the device goes on with the parent's.
#[derive(Debug)]
pub struct Pages {
    base: *mut u8,
    len: usize,
}

// SAFETY: plain memory that belongs to this value.
unsafe impl Send for Pages {}

impl Pages {
    /// So many bytes.
    ///
    /// # Errors
    /// The kernel's.
    pub fn new(len: usize) -> io::Result<Pages> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: new pages, wherever the kernel likes.
        let base = unsafe { mmap_anonymous(ptr::null_mut(), len, access, MapFlags::PRIVATE) }?;
        let pages = Pages { base: base.cast(), len };
        // SAFETY: our own pages, which no child of the process uses.
        unsafe { madvise(base, len, Advice::LinuxDontFork) }?;
        Ok(pages)
    }

    /// The byte at a place within them.
    #[inline]
    pub fn at(&self, place: usize) -> *mut u8 {
        debug_assert!(place <= self.len);
        self.base.wrapping_add(place)
    }

    /// How many bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.len
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`, and nobody else's.
        let _ = unsafe { munmap(self.base.cast(), self.len) };
    }
}
