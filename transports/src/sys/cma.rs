//! Cross-memory attach: copying out of another process's address space without its help.

use std::io;

/// Copies `len` bytes at address `from` of process `pid` to `to`; returns how many were copied.
///
/// # Errors
/// The kernel forbids it (`EPERM`), the process is gone (`ESRCH`), or the address is not mapped
/// there (`EFAULT`).
///
/// # Safety
/// `to` is writable for `len` bytes.
pub unsafe fn read(pid: i32, from: u64, to: *mut u8, len: usize) -> io::Result<usize> {
    let local = libc::iovec { iov_base: to.cast(), iov_len: len };
    let remote = libc::iovec { iov_base: from as usize as *mut libc::c_void, iov_len: len };
    // SAFETY: the caller promised `to`; `remote` is only read by the kernel, in the other
    // process, and checked by it.
    let n = unsafe { libc::process_vm_readv(pid, &local, 1, &remote, 1, 0) };
    usize::try_from(n).map_err(|_| io::Error::last_os_error())
}

/// Copies exactly `len` bytes, in as many calls as the kernel wants.
///
/// # Errors
/// As [`read`]; part of the bytes may have been copied.
///
/// # Safety
/// As [`read`].
pub unsafe fn read_exact(pid: i32, from: u64, to: *mut u8, len: usize) -> io::Result<()> {
    let mut done = 0;
    while done < len {
        // SAFETY: the caller's promise for the rest of the range.
        let n = unsafe { read(pid, from + done as u64, to.wrapping_add(done), len - done)? };
        if n == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        done += n;
    }
    Ok(())
}

/// Lets processes of this user read this one's memory where the Yama security module would
/// allow it to ancestors only (`/proc/sys/kernel/yama/ptrace_scope` is 1).
pub fn allow_readers() {
    let scope = std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope");
    if scope.is_ok_and(|scope| scope.trim() == "1") {
        // SAFETY: two integer arguments; the call touches no memory. Its failure leaves
        // cross-memory copies refused, which the probe of each peer finds out.
        unsafe { libc::prctl(libc::PR_SET_PTRACER, libc::PR_SET_PTRACER_ANY, 0, 0, 0) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_its_own_process_and_names_what_fails() {
        let from = [7u8; 32];
        let mut to = [0u8; 32];
        let pid = std::process::id() as i32;
        // SAFETY: `to` has 32 bytes.
        unsafe { read_exact(pid, from.as_ptr() as u64, to.as_mut_ptr(), 32) }.unwrap();
        assert_eq!(to, from);
        // SAFETY: as before.
        let error = unsafe { read_exact(pid, 8, to.as_mut_ptr(), 32) }.unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EFAULT));
    }
}
