//! Pages of this process that a device may touch: zeroed, nobody else's, and not shared with children, whose
//! copies would take them away from the device.

use std::io;
use std::ptr::{self, NonNull};

/// Pages, until dropped.
#[derive(Debug)]
pub(super) struct Pages {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: a range of addresses that any thread may use; its bytes are touched by raw copies of its owner alone.
unsafe impl Send for Pages {}

impl Pages {
    /// So many bytes, in whole pages.
    ///
    /// # Errors
    /// The kernel's.
    pub(super) fn new(bytes: usize) -> io::Result<Pages> {
        let len = bytes.max(1).next_multiple_of(mpi_core::room::PAGE);
        let (access, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new range chosen by the kernel.
        let at = unsafe { libc::mmap(ptr::null_mut(), len, access, flags, -1, 0) };
        if at == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(at.cast()).ok_or(io::ErrorKind::AddrNotAvailable)?;
        // SAFETY: the range was just mapped; a child lacks it and has no use for it.
        unsafe { libc::madvise(at, len, libc::MADV_DONTFORK) };
        Ok(Pages { base, len })
    }

    /// Where they begin.
    pub(super) fn base(&self) -> *mut u8 {
        self.base.as_ptr()
    }

    /// Bytes of them.
    pub(super) fn len(&self) -> usize {
        self.len
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`, and used by nobody any more.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.len) };
    }
}
