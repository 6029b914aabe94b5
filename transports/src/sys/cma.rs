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
    let (local, remote) = (run(to, len), run(from as usize as *mut u8, len));
    // SAFETY: the caller promised `to`; `remote` is only read by the kernel, in the other
    // process, and checked by it.
    let n = unsafe { libc::process_vm_readv(pid, &local, 1, &remote, 1, 0) };
    usize::try_from(n).map_err(|_| io::Error::last_os_error())
}

/// Copies `len` bytes at `from` to address `to` of process `pid`; returns how many were copied.
/// Nothing of this process is written, and what it does not have the kernel refuses to read.
///
/// # Errors
/// As [`read`]; `EFAULT` also where `from` is not readable here.
fn write(pid: i32, from: u64, to: u64, len: usize) -> io::Result<usize> {
    let [local, remote] = [from, to].map(|at| run(at as usize as *mut u8, len));
    // SAFETY: the kernel reads the local range and checks it, and writes to the other process only.
    let n = unsafe { libc::process_vm_writev(pid, &local, 1, &remote, 1, 0) };
    usize::try_from(n).map_err(|_| io::Error::last_os_error())
}

/// A run of memory, as the kernel wants it told.
fn run(at: *mut u8, len: usize) -> libc::iovec {
    libc::iovec { iov_base: at.cast(), iov_len: len }
}

/// Copies exactly `len` bytes, in as many calls as the kernel wants.
///
/// # Errors
/// As [`read`]; part of the bytes may have been copied.
///
/// # Safety
/// As [`read`].
pub unsafe fn read_exact(pid: i32, from: u64, to: *mut u8, len: usize) -> io::Result<()> {
    // SAFETY: the caller's promise for the rest of the range.
    whole(len, |done| unsafe { read(pid, from + done as u64, to.wrapping_add(done), len - done) })
}

/// Copies exactly `len` bytes at `from` to address `to` of process `pid`.
///
/// # Errors
/// As for reading; part of the bytes may have been copied.
pub fn write_exact(pid: i32, from: u64, to: u64, len: usize) -> io::Result<()> {
    whole(len, |done| write(pid, from + done as u64, to + done as u64, len - done))
}

/// Goes on until `len` bytes are copied.
fn whole(len: usize, mut more: impl FnMut(usize) -> io::Result<usize>) -> io::Result<()> {
    let mut done = 0;
    while done < len {
        match more(done)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            n => done += n,
        }
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

    #[test]
    fn writes_to_its_own_process_and_names_what_fails() {
        let (from, mut to) = ([9u8; 32], [0u8; 32]);
        let pid = std::process::id() as i32;
        let at = to.as_mut_ptr() as u64;
        write_exact(pid, from.as_ptr() as u64, at, 32).unwrap();
        assert_eq!(std::hint::black_box(to), from);
        for (from, to) in [(8, at), (from.as_ptr() as u64, 8)] {
            let error = write_exact(pid, from, to, 32).unwrap_err();
            assert_eq!(error.raw_os_error(), Some(libc::EFAULT));
        }
    }
}
