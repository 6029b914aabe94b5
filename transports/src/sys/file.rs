//! Files: reading and writing user memory at an offset, and taking space.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// Reads up to `len` bytes at `offset` into `to`; 0 at the end of the file.
///
/// # Errors
/// What the kernel reports; an interrupted call is made again.
///
/// # Safety
/// `to` is writable for `len` bytes.
pub unsafe fn read_at(file: &File, to: *mut u8, len: usize, offset: u64) -> io::Result<usize> {
    // SAFETY: the caller promised `to`.
    again(|| unsafe { libc::pread(file.as_raw_fd(), to.cast(), len, offset as i64) })
}

/// Writes up to `len` bytes from `from` at `offset`.
///
/// # Errors
/// As [`read_at`].
///
/// # Safety
/// `from` is readable for `len` bytes.
pub unsafe fn write_at(file: &File, from: *const u8, len: usize, offset: u64) -> io::Result<usize> {
    // SAFETY: the caller promised `from`.
    again(|| unsafe { libc::pwrite(file.as_raw_fd(), from.cast(), len, offset as i64) })
}

/// Takes space for the first `len` bytes, extending the file if it is shorter.
///
/// # Errors
/// What the kernel reports, such as `ENOSPC`.
pub fn reserve(file: &File, len: u64) -> io::Result<()> {
    let len = i64::try_from(len).map_err(|_| io::ErrorKind::FileTooLarge)?;
    if len == 0 {
        return Ok(());
    }
    // SAFETY: three integers.
    match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, len) } {
        0 => Ok(()),
        errno => Err(io::Error::from_raw_os_error(errno)),
    }
}

fn again(mut call: impl FnMut() -> isize) -> io::Result<usize> {
    loop {
        match usize::try_from(call()) {
            Ok(moved) => return Ok(moved),
            Err(_) => {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
        }
    }
}
