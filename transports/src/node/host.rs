//! What a port hears from and tells to the side of the program and of its launcher, of which it knows nothing itself.

use mpi_core::error::Error;
use mpi_core::port::PeerId;
use mpi_core::roll_call::Answer;

/// Whose port it is.
pub trait Host: Send + Sync {
    /// As [`Port::is_asked`](mpi_core::port::Port::is_asked), at a system call each.
    fn is_asked(&self) -> bool;

    /// As [`Port::procedure_name`](mpi_core::port::Port::procedure_name).
    fn procedure_name(&self, number: u16) -> Option<&'static str>;

    /// As [`Port::end_job`](mpi_core::port::Port::end_job).
    fn end_job(&self, procedure: u16, peer: PeerId, error: &Error);

    /// As [`Port::answer`](mpi_core::port::Port::answer), with whom a network seeks in vain.
    fn answer(&self, answer: &Answer, in_vain: Option<String>);
}

/// Nobody, as in tests of a port alone.
pub(super) struct NoHost;

impl Host for NoHost {
    fn is_asked(&self) -> bool {
        false
    }

    fn procedure_name(&self, _number: u16) -> Option<&'static str> {
        None
    }

    fn end_job(&self, procedure: u16, peer: PeerId, error: &Error) {
        panic!("the job ends in procedure {procedure} over rank {}: {}", peer.0, error.what());
    }

    fn answer(&self, _answer: &Answer, _in_vain: Option<String>) {}
}
