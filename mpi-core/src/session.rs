//! Sessions (MPI-5.0 §11.3): handles under which parts of a program use MPI independently.
//!
//! Enters: names of process sets. Leaves: groups, which remember their session, as do the
//! communicators that are made of them; of a session itself there is little: its
//! hints and its buffer for buffered sends. Its error handler is among the error handlers, where any
//! thread finds it.

use crate::errhandler::Target;
use crate::error::{Error, ErrorClass, Result};
use crate::group::Group;
use crate::handle::{ErrhandlerHandle, SessionHandle};
use crate::info::Info;
use crate::objects::Objects;
use crate::p2p::buffered::AttachedBuffer;
use crate::port::{PeerId, Port};
use crate::process::Process;
use crate::request::{Operation, Request};

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

impl Objects {
    /// A session with this error handler and no hints.
    ///
    /// # Errors
    /// `MPI_ERR_ERRHANDLER` when it is none for sessions; `MPI_ERR_NO_MEM`.
    pub fn new_session(&mut self, errhandler: ErrhandlerHandle) -> Result<SessionHandle> {
        let mut errhandlers = self.always.errhandlers.lock();
        let session = self.sessions.next_handle()?;
        errhandlers.set_of(session.raw(), errhandler, Target::Session)?;
        self.sessions.insert(Session::default())
    }

    /// The session that a handle names.
    ///
    /// # Errors
    /// `MPI_ERR_SESSION` saying what the handle was.
    pub fn session(&self, handle: SessionHandle) -> Result<&Session> {
        self.sessions.get(handle)
    }

    /// The session that a handle names, to be changed.
    ///
    /// # Errors
    /// As [`Objects::session`].
    pub fn session_mut(&mut self, handle: SessionHandle) -> Result<&mut Session> {
        self.sessions.get_mut(handle)
    }

    /// The processes of a set, by its name; `None` if there is no such set.
    pub fn process_set(&self, session: SessionHandle, name: &[u8]) -> Option<Group> {
        let group = match ProcessSet::named(name)? {
            ProcessSet::World => Group::range(PeerId(0), self.identity.size),
            ProcessSet::Own => Group::range(PeerId(self.identity.rank), 1),
        };
        Some(group.of_session(session))
    }

    /// Ends a session, whose buffered sends have left its buffer.
    ///
    /// # Errors
    /// As [`Objects::session`].
    pub fn end_session(&mut self, handle: SessionHandle) -> Result<()> {
        self.sessions.remove(handle)?;
        self.always.errhandlers.lock().forget(handle.raw());
        Ok(())
    }
}

impl<P: Port> Process<P> {
    /// Whether all that was sent on communicators of a session, or of the world model for the null handle, has been
    /// received or comes to its receivers without this process. What others have sent counts as far as it is still
    /// to leave this process, which needs nobody to receive it.
    pub fn has_sent(&self, session: SessionHandle) -> bool {
        let is_own = |request: &Request| {
            let comm = self.comms.find(request.comm);
            matches!(request.operation, Operation::Send(_))
                && comm.is_some_and(|comm| comm.session == session)
        };
        let waits = |request: &Request| !request.complete && is_own(request);
        !self.vci.has_deferred()
            && self.port.is_sent()
            && !self.vci.requests.iter().any(|(_, request)| waits(request))
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
