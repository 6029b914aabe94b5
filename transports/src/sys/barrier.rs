//! `membarrier(2)`: a full fence in every registered process, paid for by the caller alone.
//!
//! It takes the fence out of the sender's path: who goes to sleep pays, who sends checks with a plain load
//! (docs/architecture.md, "Waiting").

use std::io;

use rustix::thread::{MembarrierCommand, membarrier};

/// Registers this process as one in whose threads [`everywhere`] fences. Whether it worked.
pub fn register() -> bool {
    membarrier(MembarrierCommand::RegisterGlobalExpedited).is_ok()
}

/// A full memory fence in every running thread of every registered process.
///
/// # Errors
/// The kernel does not know the command; nothing was fenced.
pub fn everywhere() -> io::Result<()> {
    Ok(membarrier(MembarrierCommand::GlobalExpedited)?)
}

#[cfg(test)]
mod tests {
    #[test]
    fn this_kernel_fences_everywhere() {
        assert!(super::register());
        super::everywhere().unwrap();
    }
}
