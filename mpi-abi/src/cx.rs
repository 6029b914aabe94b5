//! What the body of a procedure works on: the process, which procedure it is of which face, and whose error handler
//! hears of an error.

use std::ops::{Deref, DerefMut};

use mpi_core::always::Always;
use mpi_core::errhandler::Target;
use mpi_core::handle::{CommHandle, ErrhandlerHandle, FileHandle, SessionHandle, WinHandle};
use transports::node::LocalPort;

use crate::procedure::Procedure;
use crate::table::FaceTable;

/// Whose error handler an error of a procedure goes to (MPI-5.0 §9.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Owner {
    /// Nobody's in particular: `failure` says whose handler hears of it.
    None,
    /// The communicator's.
    Comm(CommHandle),
    /// The window's.
    Win(WinHandle),
    /// The file's.
    File(FileHandle),
    /// That of a file which the call closes: an error ends it once the handler has seen it.
    NoFile(FileHandle),
    /// The session's.
    Session(SessionHandle),
    /// That of a session which the call is to begin: an error ends it once the handler has seen it.
    NoSession(SessionHandle),
    /// The handler itself, which the communicator or session that the call is to make would have.
    Unmade(ErrhandlerHandle, Target),
}

/// What a body works on: the process, as long as the call lasts.
pub struct Cx<'a> {
    pub(crate) entry: mpi_core::entry::Entry<'a, LocalPort>,
    /// The procedure that was called.
    pub procedure: Procedure,
    /// The face it was called through.
    pub face: &'static FaceTable,
    /// Whose error handler is used; a body that finds a better owner (a request's communicator)
    /// says so here.
    pub owner: Owner,
}

impl<'a> Deref for Cx<'a> {
    type Target = mpi_core::entry::Entry<'a, LocalPort>;

    #[inline]
    fn deref(&self) -> &Self::Target {
        &self.entry
    }
}

impl DerefMut for Cx<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.entry
    }
}

/// What a body works on whose procedure is always available: nothing of the process, since another
/// thread may be in there.
pub struct AlwaysCx {
    /// What all threads share.
    pub always: &'static Always,
    /// The procedure that was called.
    pub procedure: Procedure,
    /// The face it was called through.
    pub face: &'static FaceTable,
    /// Whose error handler is used.
    pub owner: Owner,
}
