//! The way into the library and out of it, once for every procedure.
//!
//! Enters: which procedure, whose error handler, and the body. Leaves: the face's error code,
//! after an error handler has seen the error, with nothing borrowed (decision 13).

use std::ffi::c_int;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use mpi_core::always::Always;
use mpi_core::errhandler::Target;
use mpi_core::error::{Error, ErrorClass, Result};
use mpi_core::handle::{CommHandle, ErrhandlerHandle, FileHandle, SessionHandle, WinHandle};

use crate::face::Face;
use crate::failure;
use crate::lacks;
use crate::library::{Phase, always, phase};
use crate::node;
use crate::procedure::Procedure;
use crate::table::{FaceTable, Of};
use crate::turns;
use transports::node::LocalPort;

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
    entry: mpi_core::entry::Entry<'a, LocalPort>,
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

/// Runs the body of a procedure that needs an initialised library. Always inlined: each body has one caller, its glue.
#[inline(always)]
pub fn call<F: Face>(
    procedure: Procedure,
    owner: Owner,
    body: impl FnOnce(&mut Cx<'_>) -> Result<()>,
) -> c_int {
    call_or::<F>(procedure, owner, || false, body)
}

/// As [`call`]; a thread that needs a turn tries first, in that turn, whether the fast path does all.
#[inline(always)]
pub fn call_or<F: Face>(
    procedure: Procedure,
    owner: Owner,
    fast: impl FnOnce() -> bool,
    body: impl FnOnce(&mut Cx<'_>) -> Result<()>,
) -> c_int {
    let mut turn = None;
    let node = match NonNull::new(node::running()) {
        Some(node) => node,
        None => match turns::turn() {
            Some(_turn) if fast() => return 0,
            Some(mine) => turn.insert(mine).node(),
            None => return not_running::<F>(procedure),
        },
    };
    let code = enter::<F>(node, procedure, owner, body);
    drop(turn);
    code
}

/// Runs the body of a procedure that begins to use MPI, which several threads may call at the same time
/// (MPI-5.0 §11.3.1): they come one after the other.
pub fn call_to_start<F: Face>(
    procedure: Procedure,
    owner: Owner,
    body: impl FnOnce(&mut Cx<'_>) -> Result<()>,
) -> c_int {
    let make = || node::Node::new(None, &Of::<F>::USER_CODE, always().clone());
    let node = NonNull::new(node::existing(make)).expect("a box is not null");
    let _turn = turns::first_turn(node);
    enter::<F>(node, procedure, owner, body)
}

/// Runs the body of a procedure that is always available, to any thread, whatever others do
/// (MPI-5.0 §11.4.1).
pub fn call_any_time<F: Face>(
    procedure: Procedure,
    owner: Owner,
    body: impl FnOnce(&mut AlwaysCx) -> Result<()>,
) -> c_int {
    let mut cx = AlwaysCx { always: always(), procedure, face: &Of::<F>::TABLE, owner };
    match body(&mut cx) {
        Ok(()) => 0,
        Err(error) => failure::raise_any_time(&cx, &error),
    }
}

#[inline(always)]
fn enter<F: Face>(
    node: NonNull<node::Node>,
    procedure: Procedure,
    owner: Owner,
    body: impl FnOnce(&mut Cx<'_>) -> Result<()>,
) -> c_int {
    // SAFETY: the node lives as long as the process. Below MPI_THREAD_MULTIPLE the program calls
    // from one thread at a time what comes this way (what is always available does not, see
    // `call_any_time`), else whoever comes has a turn; a call from within user code comes from a
    // `call_out` of the outer entry.
    let mut entry = unsafe { mpi_core::entry::Entry::from_raw(node) };
    entry.procedure = procedure.number();
    let mut cx = Cx { entry, procedure, face: &Of::<F>::TABLE, owner };
    match body(&mut cx) {
        Ok(()) => 0,
        Err(error) => failure::raise(&mut cx, error),
    }
}

/// The end of a procedure that is not implemented.
#[cold]
pub fn unsupported<F: Face>(procedure: Procedure, owner: Owner) -> c_int {
    let error = |is_fatal| lacks::error(&Of::<F>::TABLE, procedure, is_fatal);
    match owner != Owner::None && node::is_open() {
        true => call::<F>(procedure, owner, |cx| Err(error(failure::hearer(cx).is_fatal()))),
        false => call_any_time::<F>(procedure, owner, |cx| {
            Err(error(failure::hearer_any_time(cx).is_fatal()))
        }),
    }
}

#[cold]
fn not_running<F: Face>(procedure: Procedure) -> c_int {
    let (what, hint) = match phase() {
        Phase::Before => (
            "MPI has not been initialised",
            "Call MPI_Init or MPI_Session_init before this procedure.",
        ),
        _ => ("MPI has been finalized", "Move the call before MPI_Finalize."),
    };
    call_any_time::<F>(procedure, Owner::None, |_| {
        Err(Error::new(ErrorClass::OTHER, what).hint(hint))
    })
}
