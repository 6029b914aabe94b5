//! The standard output of C programs, which buffers what they print.

use std::ffi::c_int;

use libc::FILE;

unsafe extern "C" {
    static stdout: *mut FILE;
    static stderr: *mut FILE;
    fn ftrylockfile(stream: *mut FILE) -> c_int;
    fn funlockfile(stream: *mut FILE);
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
