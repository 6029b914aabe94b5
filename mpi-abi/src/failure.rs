//! What becomes of an error: one line, an error handler, and if need be the end of the job.

use std::ffi::{c_int, c_void};
use std::io::Write;

use mpi_core::attributes::Convention;
use mpi_core::comm;
use mpi_core::errhandler::{Action, ERRORS_ARE_FATAL, ERRORS_RETURN};
use mpi_core::error::{Error, ErrorClass};
use mpi_core::handle::{
    CommHandle, CommKind, ErrhandlerHandle, FileHandle, FileKind, Kind, SessionKind, WinKind,
};

use crate::entry::{Cx, Owner};
use crate::face::Abi;
use crate::fortran;
use crate::library::library;
use crate::procedure::Procedure;

/// Words the line of decision 20, remembers it, and lets the error handler of the call's owner
/// act; returns the code for the caller, if there still is one.
#[cold]
pub(crate) fn raise(cx: &mut Cx<'_>, error: Error) -> c_int {
    let line = line(cx.procedure, &error);
    library().texts.insert(error.class().0, line.clone());
    let code = (cx.face.error_out)(error.class());
    let (handler, kind, object) = handler(cx);
    handle(cx, handler, kind, object, code, &line);
    // They are there: the call has just made or closed them.
    let _ = match cx.owner {
        Owner::NoSession(session) => cx.end_session(session),
        Owner::NoFile(file) => cx.file_drop(file),
        _ => Ok(()),
    };
    code
}

/// Lets `handler` act on an error of the object `object` of kind `kind`.
pub(crate) fn handle(
    cx: &mut Cx<'_>,
    handler: ErrhandlerHandle,
    kind: u32,
    object: u32,
    code: c_int,
    line: &str,
) {
    match cx.errhandlers.get(handler).unwrap_or(Action::Fatal) {
        Action::Return => {}
        Action::Fatal | Action::Abort => end_job(code, line),
        Action::User(address, Convention::C, _) => {
            let function: *const c_void = std::ptr::without_provenance(address);
            let call = cx.face.call_errhandler;
            // SAFETY: the program registered the function for objects of this kind.
            cx.call_out(|_| unsafe { call(function, kind, object, code) });
        }
        Action::User(address, ..) => {
            let object = (cx.face.handle_to_fint)(object);
            // SAFETY: as above, in Fortran.
            cx.call_out(|_| unsafe { fortran::called::errhandler(address, object, code) });
        }
    }
}

/// The error handler in charge, and the object it is told of.
fn handler(cx: &Cx<'_>) -> (ErrhandlerHandle, u32, u32) {
    let comm = match cx.owner {
        Owner::Comm(comm) if cx.comm(comm).is_ok() => comm,
        Owner::File(file) | Owner::NoFile(file) => {
            let (handler, object) = match cx.file(file) {
                Ok(open) => (open.errhandler, file),
                Err(_) => (of_files(), FileHandle::NULL),
            };
            return (handler, FileKind::NUMBER, object.raw());
        }
        Owner::Session(session) | Owner::NoSession(session) if cx.session(session).is_ok() => {
            let handler =
                cx.session(session).map_or(ERRORS_ARE_FATAL, |session| session.errhandler);
            return (handler, SessionKind::NUMBER, session.raw());
        }
        Owner::NoComm(handler) => return (handler, CommKind::NUMBER, CommHandle::NULL.raw()),
        Owner::Win(win) if cx.window(win).is_ok() => {
            let handler = cx.window(win).map_or(ERRORS_ARE_FATAL, |window| window.errhandler);
            return (handler, WinKind::NUMBER, win.raw());
        }
        _ => nobodys(cx),
    };
    let handler = match cx.comm(comm) {
        Ok(comm) => comm.errhandler,
        Err(_) => ERRORS_ARE_FATAL,
    };
    (handler, CommKind::NUMBER, comm.raw())
}

/// The communicator that hears of errors which are no object's: `MPI_COMM_SELF` (MPI-5.0 §9.3). On
/// the ABIs of MPICH and Open MPI it is `MPI_COMM_WORLD`, as in MPI-3.1, while the program has set
/// no handler on the other. MPICH 5 does the same; MPICH 4 and Open MPI always ask the world.
fn nobodys(cx: &Cx<'_>) -> CommHandle {
    let as_before = cx.face.abi != Abi::Standard && !library().self_has_handler;
    CommHandle::from_raw(if as_before { comm::WORLD } else { comm::SELF })
}

/// The error handler of files that have none of their own (MPI-5.0 §14.7).
pub(crate) fn of_files() -> ErrhandlerHandle {
    library().file_errhandler.unwrap_or(ERRORS_RETURN)
}

/// `ferrite: rank 3 on host7: MPI_Send: argument 4 (dest) is 9, … [MPI_ERR_RANK] Hint: …`
pub(crate) fn line(procedure: Procedure, error: &Error) -> String {
    let argument = match error.parameter() {
        Some(name) => match procedure.params().iter().position(|param| *param == name) {
            Some(at) => format!("argument {} ({name}) ", at + 1),
            None => format!("{name} "),
        },
        None => String::new(),
    };
    let class = error.class().name().unwrap_or("a class of the program");
    let mut line =
        format!("{}{}: {argument}{}. [{class}]", place(), procedure.name(), error.what());
    if !error.advice().is_empty() {
        line.push_str(" Hint: ");
        line.push_str(error.advice());
    }
    crate::strings::cut(&mut line, LINE_BYTES_MAX);
    line
}

/// `ferrite: rank 3 on host7: `
pub(crate) fn place() -> String {
    match &library().place {
        Some((rank, host)) => format!("ferrite: rank {rank} on {host}: "),
        None => "ferrite: ".to_owned(),
    }
}

/// Longest error line, in bytes (decision 20).
const LINE_BYTES_MAX: usize = 500;

/// Ends the job: tells the launcher, or prints, and exits with `code`'s low byte, never 0.
pub(crate) fn end_job(code: c_int, line: &str) -> ! {
    let status = if code & 0xff == 0 { 1 } else { code & 0xff };
    let told = match &mut library().bootstrap {
        Some(bootstrap) => {
            bootstrap.abort(status, line);
            true
        }
        None => false,
    };
    if !told {
        // If standard error is gone there is nobody left to tell.
        let _ = writeln!(std::io::stderr(), "{line}");
    }
    // SAFETY: flushing C's streams keeps what the program printed; _exit runs nothing of a
    // program that is in an unknown state.
    unsafe {
        libc::fflush(std::ptr::null_mut());
        libc::_exit(status)
    }
}

/// The error class that stands for a code which a user's callback returned.
pub(crate) fn of_code(cx: &Cx<'_>, code: c_int, what: &'static str) -> Error {
    let class = (cx.face.error_in)(code);
    let class = if class == ErrorClass::SUCCESS { ErrorClass::OTHER } else { class };
    Error::new(class, format!("{what} returned {code}"))
}
