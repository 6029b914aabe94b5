//! The way into the library and out of it, once for every procedure.
//!
//! Enters: which procedure, whose error handler, and the body. Leaves: the face's error code,
//! after an error handler has seen the error, with nothing borrowed (decision 13).

use std::ffi::c_int;
use std::ptr::NonNull;

use mpi_core::error::{Error, ErrorClass, Result};

use crate::cx::{AlwaysCx, Cx, Owner};
use crate::face::Face;
use crate::failure;
use crate::lacks;
use crate::library::{Phase, always, phase};
use crate::node;
use crate::procedure::Procedure;
use crate::table::Of;
use crate::turns;

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
