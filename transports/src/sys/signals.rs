//! What this process does upon signals that end programs, kept as it is while a foreign library starts up.

use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};

use parking_lot::Mutex;

/// Those by which a program fails, or by which somebody ends it.
const ENDING: [i32; 9] = [
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGILL,
    libc::SIGABRT,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGSEGV,
    libc::SIGTERM,
];

/// Two that start at once would take each other's handlers for the program's.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Calls `start`, and undoes what it has changed of the handlers of signals that end programs. Some libraries catch
/// those, print something and exit: then the program's own handlers never run, and who has started it sees a plain
/// exit.
pub fn keeping_handlers<T>(start: impl FnOnce() -> T) -> T {
    let _alone = ONE_AT_A_TIME.lock();
    let before = ENDING.map(action);
    let started = start();
    for (signal, before) in ENDING.into_iter().zip(before) {
        let is_same = |now: libc::sigaction| {
            now.sa_sigaction == before.sa_sigaction && now.sa_flags == before.sa_flags
        };
        if !is_same(action(signal)) {
            // SAFETY: the kernel has given this value for this signal, so what it names is a handler of the program.
            unsafe { libc::sigaction(signal, &raw const before, null_mut()) };
        }
    }
    started
}

/// What this process does upon a signal.
fn action(signal: i32) -> libc::sigaction {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: nothing is changed; the answer is written to a place of ours.
    unsafe { libc::sigaction(signal, null(), action.as_mut_ptr()) };
    // SAFETY: plain words, of which zero is a value.
    unsafe { action.assume_init() }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    extern "C" fn caught(_: i32) {}

    /// Whether this process does upon a signal what the system does by itself.
    pub(crate) fn is_default(signal: i32) -> bool {
        action(signal).sa_sigaction == libc::SIG_DFL
    }

    #[test]
    fn a_handler_that_was_set_meanwhile_is_gone() {
        let before = action(libc::SIGQUIT).sa_sigaction;
        keeping_handlers(|| {
            let mut handler = action(libc::SIGQUIT);
            handler.sa_sigaction = caught as *const () as usize;
            // SAFETY: the handler does nothing.
            let error = unsafe { libc::sigaction(libc::SIGQUIT, &raw const handler, null_mut()) };
            assert!(error == 0 && action(libc::SIGQUIT).sa_sigaction != before);
        });
        // A job in the background ignores it.
        assert_eq!(action(libc::SIGQUIT).sa_sigaction, before);
    }
}
