//! `membarrier(2)`: a full fence in every registered process, paid for by the caller alone.
//!
//! It takes the fence out of the sender's path: who goes to sleep pays (about 2 µs), who sends
//! checks with a plain load (docs/architecture.md, "Waiting").

use std::io;

fn membarrier(command: libc::c_int) -> io::Result<()> {
    // SAFETY: the call takes three integers and touches no memory of ours.
    let answer = unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Registers this process as one in whose threads [`everywhere`] fences. Whether it worked.
pub fn register() -> bool {
    membarrier(libc::MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED).is_ok()
}

/// A full memory fence in every running thread of every registered process.
///
/// # Errors
/// The kernel does not know the command; nothing was fenced.
pub fn everywhere() -> io::Result<()> {
    membarrier(libc::MEMBARRIER_CMD_GLOBAL_EXPEDITED)
}

#[cfg(test)]
mod tests {
    #[test]
    fn this_kernel_fences_everywhere() {
        assert!(super::register());
        super::everywhere().unwrap();
    }
}
