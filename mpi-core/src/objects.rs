//! `Objects`: what one process has of MPI objects, and what is found out from them alone. Nothing here communicates,
//! so that there is no port.
//!
//! Enters: handles and arguments. Leaves: the objects that they name, or what a call needs of them. What the calls of
//! one chapter alone ask of them stands with those calls.

use std::cell::Cell;
use std::sync::Arc;

use crate::always::Always;
use crate::attributes::Keyvals;
use crate::coll::aliased::EqualBuffers;
use crate::coll::select::Selection;
use crate::comm::{self, Comm};
use crate::datatype::Datatypes;
use crate::errhandler::Target;
use crate::error::Result;
use crate::group::Group;
use crate::handle::*;
use crate::io::OpenFile;
use crate::op::{Kernel, Op};
use crate::rma::Window;
use crate::session::{ProcessSet, Session};
use crate::table::Table;
use crate::terms::PeerId;

/// Who a process is, as its launcher told it.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The job.
    pub job: String,
    /// Rank in `MPI_COMM_WORLD`.
    pub rank: u32,
    /// Size of `MPI_COMM_WORLD`.
    pub size: u32,
}

/// The MPI objects of a process.
pub struct Objects {
    /// Whose they are.
    pub identity: Identity,
    /// Communicators.
    pub comms: Table<CommKind, Comm>,
    /// Groups.
    pub groups: Table<GroupKind, Group>,
    /// Datatypes.
    pub datatypes: Datatypes,
    /// The program's reduction operations; the predefined ones are constants.
    pub ops: Table<OpKind, Op>,
    /// Open files.
    pub(crate) files: Table<FileKind, OpenFile>,
    /// Sessions.
    pub sessions: Table<SessionKind, Session>,
    /// Windows.
    pub windows: Table<WinKind, Window>,
    /// What threads share that are not inside a call: info objects, error handlers, error codes.
    pub always: Arc<Always>,
    /// Attribute keys.
    pub keyvals: Keyvals,
    /// Number of the procedure that was called last, by the C interface's list; for messages.
    pub procedure: u16,
    /// Which algorithm a collective uses.
    pub selection: Selection,
    /// What becomes of a collective whose send and receive buffer are one.
    pub equal_buffers: EqualBuffers,
    /// The predefined operation and datatype of the last short reduction, and what carries it out.
    pub(crate) kernel_found: Cell<Option<(OpHandle, DatatypeHandle, Kernel)>>,
    contexts_made: u32,
}

impl Objects {
    /// Those of a process that is part of no job yet.
    pub(crate) fn new(always: Arc<Always>) -> Objects {
        let mut groups = Table::new();
        groups.set_predefined(comm::GROUP_EMPTY, Group::empty());
        Objects {
            identity: Identity { job: String::new(), rank: 0, size: 0 },
            comms: Table::new(),
            groups,
            datatypes: Datatypes::default(),
            ops: Table::new(),
            files: Table::new(),
            sessions: Table::new(),
            windows: Table::new(),
            always,
            keyvals: Keyvals::new(),
            procedure: 0,
            selection: Selection::default(),
            equal_buffers: EqualBuffers::default(),
            kernel_found: Cell::new(None),
            contexts_made: 0,
        }
    }

    /// Begins the world model: the process gets `MPI_COMM_WORLD` and `MPI_COMM_SELF`.
    pub fn begin_world(&mut self) {
        let identity = &self.identity;
        let world = Group::range(PeerId(0), identity.size);
        let own = Group::range(PeerId(identity.rank), 1);
        let context = comm::reserved_context(&identity.job, 0);
        let named = Comm::new(context, world, identity.rank).named("MPI_COMM_WORLD");
        self.comms.set_predefined(comm::WORLD, named);
        let context = comm::reserved_context(&identity.job, 1 + u64::from(identity.rank));
        self.comms.set_predefined(comm::SELF, Comm::new(context, own, 0).named("MPI_COMM_SELF"));
    }

    /// The communicator that a handle names.
    #[inline]
    pub fn comm(&self, handle: CommHandle) -> Result<&Comm> {
        self.comms.get(handle)
    }

    /// The communicator that a handle names, to be changed.
    #[inline]
    pub fn comm_mut(&mut self, handle: CommHandle) -> Result<&mut Comm> {
        self.comms.get_mut(handle)
    }

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

    /// The window that a handle names.
    ///
    /// # Errors
    /// `MPI_ERR_WIN` saying what the handle was.
    pub fn window(&self, handle: WinHandle) -> Result<&Window> {
        self.windows.get(handle)
    }

    /// The window that a handle names, to be changed.
    ///
    /// # Errors
    /// As [`Objects::window`].
    pub fn window_mut(&mut self, handle: WinHandle) -> Result<&mut Window> {
        self.windows.get_mut(handle)
    }

    /// The open file that a handle names.
    ///
    /// # Errors
    /// `MPI_ERR_FILE` saying what the handle was.
    pub fn file(&self, handle: FileHandle) -> Result<&OpenFile> {
        self.files.get(handle)
    }

    /// The open file that a handle names, to be changed.
    ///
    /// # Errors
    /// As [`Objects::file`].
    pub fn file_mut(&mut self, handle: FileHandle) -> Result<&mut OpenFile> {
        self.files.get_mut(handle)
    }

    /// This process in the table of peers.
    pub fn own_peer(&self) -> PeerId {
        PeerId(self.identity.rank)
    }

    /// The reduction operation that a handle names.
    pub fn op(&self, handle: OpHandle) -> Result<Op> {
        match Op::predefined(handle.raw()) {
            Some(op) => Ok(op),
            None => self.ops.get(handle).copied(),
        }
    }

    /// A context id for a communicator whose leader is this process; never used again. The next
    /// value is its collectives'.
    pub(crate) fn new_context(&mut self) -> u64 {
        self.contexts_made += 1;
        let own = u64::from(self.identity.rank) << 32 | u64::from(self.contexts_made);
        comm::derived_context(&self.identity.job, own)
    }
}
