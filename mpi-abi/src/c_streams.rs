//! The standard output of C programs, which buffers what they print.
//!
//! In a pipe the C library keeps it until a buffer of 4 KiB is full: it would show late, and be lost with a rank that
//! dies. So where standard output is the pipe that mpirun reads, it gets the mode that it has on a terminal. That is
//! done when the library is loaded, since programs print before `MPI_Init`.

use std::ffi::c_int;
use std::mem::MaybeUninit;

use libc::FILE;

unsafe extern "C" {
    static stdout: *mut FILE;
    static stderr: *mut FILE;
    fn ftrylockfile(stream: *mut FILE) -> c_int;
    fn funlockfile(stream: *mut FILE);
    fn __fbufsize(stream: *mut FILE) -> usize;
}

/// The loader calls it before the program's `main`, or in the `dlopen` that brings this library.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_LOAD: extern "C" fn() = show_lines;

/// Sets the line mode. A stream that has its buffer already has been used, or the program has chosen how.
extern "C" fn show_lines() {
    if !is_read_by_mpirun(libc::STDOUT_FILENO) {
        return;
    }
    // SAFETY: C's own stream, which nobody else uses yet where it has no buffer; the C library makes one of its own
    // when it is first written.
    unsafe {
        if __fbufsize(stdout) == 0 {
            libc::setvbuf(stdout, std::ptr::null_mut(), libc::_IOLBF, 0);
        }
    }
}

/// Whether the descriptor leads to the pipe that mpirun has named.
fn is_read_by_mpirun(descriptor: c_int) -> bool {
    let named = std::env::var(launch_wire::LINES).ok();
    let named = named.as_deref().and_then(|text| text.split_once(':'));
    let Some((Ok(device), Ok(inode))) = named.map(|(dev, ino)| (dev.parse(), ino.parse())) else {
        return false;
    };
    let mut stat = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: fstat fills what it is given, or fails.
    let found = unsafe {
        match libc::fstat(descriptor, stat.as_mut_ptr()) {
            0 => stat.assume_init(),
            _ => return false,
        }
    };
    (device, inode) == (found.st_dev, found.st_ino)
}

/// Writes out what the program has printed. A stream in which another thread is at work is left to that one: nobody
/// knows when it is done.
pub(crate) fn flush_output() {
    // SAFETY: C's own streams, which the program may close but not free; each is locked while it is flushed.
    unsafe {
        for stream in [stdout, stderr] {
            if ftrylockfile(stream) == 0 {
                libc::fflush(stream);
                funlockfile(stream);
            }
        }
    }
}
