//! The way into the library and out of it, once for every procedure.
//!
//! Enters: which procedure, whose error handler, and the body. Leaves: the face's error code.

use std::ffi::c_int;
use std::marker::PhantomData;

use mpi_core::error::{ErrorClass, Result};
use mpi_core::handle::{CommHandle, FileHandle, SessionHandle, WinHandle};

use crate::face::Face;
use crate::procedure::Procedure;

/// Whose error handler an error of a procedure goes to (MPI-5.0 §9.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Owner {
    /// Nobody's in particular.
    None,
    /// The communicator's.
    Comm(CommHandle),
    /// The window's.
    Win(WinHandle),
    /// The file's.
    File(FileHandle),
    /// The session's.
    Session(SessionHandle),
}

/// What a body works on: the process, as long as the call lasts.
pub struct Cx<'a>(PhantomData<&'a mut ()>);

/// Runs the body of a procedure that needs an initialised library.
pub fn call<F: Face>(
    procedure: Procedure,
    owner: Owner,
    _body: impl FnOnce(&mut Cx<'_>) -> Result<()>,
) -> c_int {
    unsupported::<F>(procedure, owner)
}

/// Runs the body of a procedure that may be called at any time (MPI-5.0 §11.4.1).
pub fn call_any_time<F: Face>(
    procedure: Procedure,
    owner: Owner,
    _body: impl FnOnce(&mut Cx<'_>) -> Result<()>,
) -> c_int {
    unsupported::<F>(procedure, owner)
}

/// The end of a procedure that is not implemented.
#[cold]
pub fn unsupported<F: Face>(procedure: Procedure, _owner: Owner) -> c_int {
    eprintln!("ferrite: {} is not implemented", procedure.name());
    F::error_out(ErrorClass::UNSUPPORTED_OPERATION)
}
