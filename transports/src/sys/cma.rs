//! Cross-memory attach: copying out of another process's address space without its help, and into it.

use std::io;

use mpi_core::tuning::{ALIKE_BEHIND_BYTES, ALIKE_WAY_BYTES, COPIED_AT_ONCE_BYTES, LINE_BYTES};

use super::alike;
use super::process_vm::{read_plainly, read_to, run, write_plainly};

/// As [`read_plainly`], by way of a place beside where both ends lie nearly alike.
///
/// # Errors
/// As [`read_plainly`].
///
/// # Safety
/// As [`read_plainly`].
pub unsafe fn read(pid: i32, from: u64, to: *mut u8, len: usize) -> io::Result<usize> {
    // SAFETY: by the caller's promise, both.
    unsafe {
        match alike::are_nearly(from, to.addr() as u64, len) {
            true => read_aside(pid, from, to, len.min(COPIED_AT_ONCE_BYTES)),
            false => read_plainly(pid, from, to, len),
        }
    }
}

/// As [`read`], by way of a place a little further behind; the last bytes, for which there is none, by way of another.
///
/// # Errors
/// As [`read`].
///
/// # Safety
/// As [`read`], for more than [`LINE_BYTES`] bytes.
unsafe fn read_aside(pid: i32, from: u64, to: *mut u8, len: usize) -> io::Result<usize> {
    let mut last = [0u8; LINE_BYTES];
    let (aside, most) = (to.wrapping_add(LINE_BYTES), len - LINE_BYTES);
    let runs = [run(aside, most), run(last.as_mut_ptr(), LINE_BYTES)];
    // SAFETY: by the caller's promise; `last` has as many bytes.
    let n = unsafe { read_to(pid, from, &runs)? };
    let first = n.min(most);
    // SAFETY: what was copied lies within `len` bytes of `to`, and so does where it belongs.
    unsafe {
        std::ptr::copy(aside, to, first);
        std::ptr::copy_nonoverlapping(last.as_ptr(), to.wrapping_add(first), n - first);
    }
    Ok(n)
}

/// As [`write_plainly`], by way of other memory where both ends lie nearly alike.
///
/// # Errors
/// As [`write_plainly`].
fn write(pid: i32, from: u64, to: u64, len: usize) -> io::Result<usize> {
    match alike::are_nearly(from, to, len) {
        true => write_aside(pid, from, to, len.min(ALIKE_WAY_BYTES)),
        false => write_plainly(pid, from, to, len),
    }
}

/// As [`write`], by way of other memory: the kernel looks whether this process has what is to be written, too.
///
/// # Errors
/// As [`write`].
fn write_aside(pid: i32, from: u64, to: u64, len: usize) -> io::Result<usize> {
    let mut room = [0u8; ALIKE_WAY_BYTES + ALIKE_BEHIND_BYTES];
    let behind = alike::way_through(from, room.as_ptr().addr() as u64, to);
    let way = &mut room[behind..];
    let own = std::process::id() as i32;
    // SAFETY: there is room for as many bytes behind the first ones.
    let n = unsafe { read_plainly(own, from, way.as_mut_ptr(), len)? };
    write_plainly(pid, way.as_ptr().addr() as u64, to, n)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::memory::PAGE;

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
    fn what_goes_aside_arrives_where_it_belongs_and_nothing_more() {
        let from: Vec<u8> = (0..9000u32).map(|i| (i * 7 + i / 251) as u8).collect();
        let pid = std::process::id() as i32;
        for len in [LINE_BYTES + 1, 2 * LINE_BYTES - 1, 1000, 4096, 9000] {
            let mut to = vec![0xee; len + 1];
            // SAFETY: there is room for `len` bytes.
            let n = unsafe { read_aside(pid, from.as_ptr() as u64, to.as_mut_ptr(), len) };
            assert_eq!(n.unwrap(), len);
            assert!(to[..len] == from[..len] && to[len] == 0xee);
            let [at, back] = [&from, &to].map(|bytes| bytes.as_ptr().addr() as u64);
            to.fill(0xee);
            assert_eq!(write_aside(pid, at, back, len).unwrap(), len);
            assert!(to[..len] == from[..len] && to[len] == 0xee);
        }
    }

    /// Two pages behind which none can be read.
    struct Cliff(*mut u8);

    impl Cliff {
        const LEN: usize = 2 * PAGE;

        fn new() -> Cliff {
            let (prot, flags) =
                (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
            // SAFETY: new memory, and the last of its pages is forbidden before anyone has it.
            let at = unsafe {
                let at = libc::mmap(std::ptr::null_mut(), Cliff::LEN + PAGE, prot, flags, -1, 0);
                assert_ne!(at, libc::MAP_FAILED);
                assert_eq!(libc::mprotect(at.byte_add(Cliff::LEN), PAGE, libc::PROT_NONE), 0);
                at
            };
            Cliff(at.cast())
        }

        fn bytes(&mut self) -> &mut [u8] {
            // SAFETY: both pages are this value's, for as long as it lives.
            unsafe { std::slice::from_raw_parts_mut(self.0, Cliff::LEN) }
        }
    }

    impl Drop for Cliff {
        fn drop(&mut self) {
            // SAFETY: the pages that `new` has mapped, which nobody uses any more.
            unsafe { libc::munmap(self.0.cast(), Cliff::LEN + PAGE) };
        }
    }

    #[test]
    fn what_goes_aside_ends_where_the_memory_does_that_it_comes_from() {
        let mut cliff = Cliff::new();
        for (i, byte) in cliff.bytes().iter_mut().enumerate() {
            *byte = (i * 7 + i / 251) as u8;
        }
        let (pid, len) = (std::process::id() as i32, 5000);
        for there in [1, 100, PAGE, len - LINE_BYTES, len - LINE_BYTES + 1, len - 1, len] {
            let from = &cliff.bytes()[Cliff::LEN - there..];
            let mut to = vec![0xee; len + 1];
            // SAFETY: there is room for `len` bytes.
            let n = unsafe { read_aside(pid, from.as_ptr() as u64, to.as_mut_ptr(), len) };
            assert_eq!(n.unwrap(), there);
            assert!(to[..there] == *from && to[len] == 0xee, "{there} bytes");
        }
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
