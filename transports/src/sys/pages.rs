//! Pages of this process alone that a device may write to (mmap(2), madvise(2)).

use std::io;
use std::ptr;

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
        let (access, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: new pages, wherever the kernel likes.
        let base = unsafe { libc::mmap(ptr::null_mut(), len, access, flags, -1, 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let pages = Pages { base: base.cast(), len };
        // SAFETY: our own pages, which no child of the process uses.
        match unsafe { libc::madvise(base, len, libc::MADV_DONTFORK) } {
            0 => Ok(pages),
            _ => Err(io::Error::last_os_error()),
        }
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
        unsafe { libc::munmap(self.base.cast(), self.len) };
    }
}
