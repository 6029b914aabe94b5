//! Files: reading and writing user memory at an offset, taking space, and locking. A call that a signal of the
//! program interrupts is made again.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// Reads up to `len` bytes at `offset` into `to`; 0 at the end of the file.
///
/// # Errors
/// What the kernel reports.
///
/// # Safety
/// `to` is writable for `len` bytes.
pub unsafe fn read_at(file: &File, to: *mut u8, len: usize, offset: u64) -> io::Result<usize> {
    // SAFETY: the caller promised `to`.
    again(|| moved(unsafe { libc::pread(file.as_raw_fd(), to.cast(), len, offset as i64) }))
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
    again(|| moved(unsafe { libc::pwrite(file.as_raw_fd(), from.cast(), len, offset as i64) }))
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
    again(|| match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, len) } {
        0 => Ok(()),
        errno => Err(io::Error::from_raw_os_error(errno)),
    })
}

/// Waits until the file is locked, alone or shared with others who share it.
///
/// # Errors
/// What the kernel reports, such as `ENOLCK`.
pub fn lock(file: &File, exclusive: bool) -> io::Result<()> {
    again(|| if exclusive { file.lock() } else { file.lock_shared() })
}

/// What a call has moved, which is negative where it failed.
fn moved(result: isize) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

fn again<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            outcome => return outcome,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::os::unix::thread::JoinHandleExt;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;
    use std::thread::{self, JoinHandle};

    use super::*;

    /// Signals that have been handled.
    static HANDLED: AtomicUsize = AtomicUsize::new(0);

    extern "C" fn count(_: libc::c_int) {
        HANDLED.fetch_add(1, Ordering::SeqCst);
    }

    /// Lets a thread sleep in the lock for which it waits, unless it has ended.
    fn await_sleep<T>(waiter: &JoinHandle<T>, thread: libc::pid_t) {
        let status = format!("/proc/self/task/{thread}/status");
        let sleeps = || std::fs::read_to_string(&status).is_ok_and(|text| text.contains("\tS ("));
        while !waiter.is_finished() && !sleeps() {
            thread::yield_now();
        }
    }

    /// Has a handler for the signal that does not let the kernel restart calls.
    fn catch(signal: libc::c_int) {
        // SAFETY: all fields of the structure are integers, for which zero is a value.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = count as *const () as usize;
        // SAFETY: a valid structure, and a function that may interrupt anything.
        assert_eq!(unsafe { libc::sigaction(signal, &action, std::ptr::null_mut()) }, 0);
    }

    #[test]
    fn who_waits_for_a_lock_goes_on_waiting_after_a_signal() {
        catch(libc::SIGUSR2);
        let path = std::env::temp_dir().join(format!("ferrite-lock-{}", std::process::id()));
        let open = || OpenOptions::new().create(true).append(true).open(&path).expect("a file");
        for exclusive in [true, false] {
            let (ours, theirs) = (open(), open());
            lock(&ours, true).expect("nobody has it");
            let (begin, begun) = mpsc::channel();
            let waiter = thread::spawn(move || {
                // SAFETY: it takes nothing and cannot fail.
                begin.send(unsafe { libc::gettid() }).expect("somebody listens");
                lock(&theirs, exclusive)
            });
            let thread = begun.recv().expect("the thread runs");
            for _ in 0..20 {
                await_sleep(&waiter, thread);
                let handled = HANDLED.load(Ordering::SeqCst);
                // SAFETY: the thread has not been joined, and the signal is caught.
                assert_eq!(unsafe { libc::pthread_kill(waiter.as_pthread_t(), libc::SIGUSR2) }, 0);
                while !waiter.is_finished() && HANDLED.load(Ordering::SeqCst) == handled {
                    thread::yield_now();
                }
            }
            ours.unlock().expect("it was locked");
            waiter.join().expect("no panic").expect("a lock, in spite of the signals");
        }
        std::fs::remove_file(&path).expect("it is there");
    }
}
