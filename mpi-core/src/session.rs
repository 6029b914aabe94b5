//! Sessions (MPI-5.0 §11.3): handles under which parts of a program use MPI independently.
//!
//! Groups that are made of a session's process sets remember it, as do the communicators that are made of them; of a
//! session itself there is little: its hints and its buffer for buffered sends. Its error handler is among the error
//! handlers, where any thread finds it.

use crate::attached_buffer::AttachedBuffer;
use crate::error::{Error, ErrorClass, Result};
use crate::info::Info;

/// A session.
#[derive(Debug, Default)]
pub struct Session {
    /// The hints in use.
    pub hints: Info,
    pub(crate) buffer: Option<AttachedBuffer>,
}

/// The process sets that every session has (§11.3.2): all processes of the job, and this one.
pub const PROCESS_SETS: [&str; 2] = ["mpi://WORLD", "mpi://SELF"];

/// One of [`PROCESS_SETS`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProcessSet {
    /// All processes of the job.
    World,
    /// This one.
    Own,
}

impl ProcessSet {
    /// The set of this name, in capitals or not, as URIs go; `None` if there is no such set.
    pub fn named(name: &[u8]) -> Option<ProcessSet> {
        let place =
            PROCESS_SETS.iter().position(|set| set.as_bytes().eq_ignore_ascii_case(name))?;
        Some([ProcessSet::World, ProcessSet::Own][place])
    }
}

/// The name of the process set at place `n` (`MPI_Session_get_nth_pset`).
///
/// # Errors
/// `MPI_ERR_ARG` when there are not that many.
pub fn nth_process_set(n: i32) -> Result<&'static str> {
    let name = usize::try_from(n).ok().and_then(|n| PROCESS_SETS.get(n));
    name.copied().ok_or_else(|| {
        let text = format!("is {n}, but there are {} process sets", PROCESS_SETS.len());
        Error::param(ErrorClass::ARG, "n", text)
    })
}
