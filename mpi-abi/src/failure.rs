//! What becomes of an error: one line, an error handler, and if need be the end of the job.

use std::ffi::{c_int, c_void};
use std::io::Write;

use launch_wire::{Bootstrap, plain};
use mpi_core::always::Always;
use mpi_core::attributes::Convention;
use mpi_core::comm;
use mpi_core::constants::Special;
use mpi_core::errhandler::{Action, ERRORS_RETURN, Target};
use mpi_core::error::{Error, ErrorClass, sentence};
use mpi_core::handle::{
    CommHandle, CommKind, ErrhandlerHandle, FileHandle, FileKind, Kind, SessionHandle, SessionKind,
    WinKind,
};
use mpi_core::port::PeerId;

use crate::cx::{AlwaysCx, Cx, Owner};
use crate::face::foreign_value;
use crate::fortran_callbacks;
use crate::library::{self, library};
use crate::procedure::Procedure;
use crate::table::FaceTable;

/// Who hears of an error.
#[derive(Clone, Copy)]
pub(crate) struct Hearer {
    /// What the error handler does.
    pub action: Action,
    /// Kind and handle of the object that it is told of.
    pub kind: u32,
    pub object: u32,
}

impl Hearer {
    /// Whether the error ends the job.
    pub(crate) fn is_fatal(self) -> bool {
        matches!(self.action, Action::Fatal | Action::Abort)
    }
}

/// Words the line of decision 20, remembers it, and lets the error handler of the call's owner
/// act; returns the code for the caller, if there still is one: what a handler of the program has left of it (§9.3.1).
#[cold]
pub(crate) fn raise(cx: &mut Cx<'_>, error: Error) -> c_int {
    let line = noted(&cx.always, (cx.face, cx.procedure), &error);
    let code = (cx.face.error_out)(error.class());
    let hearer = hearer(cx);
    let code = match error.is_secondary() {
        true if hearer.is_fatal() => end_job(code, &line, Bootstrap::abort_by_secondary_error),
        false
            if hearer.is_fatal()
                && let Some(rank) = error.unreached() =>
        {
            end_job_unreached(code, &line, rank)
        }
        _ => handle(cx, hearer, code, &line),
    };
    // They are there: the call has just made or closed them.
    let _ = match cx.owner {
        Owner::NoSession(session) => cx.end_session(session),
        Owner::NoFile(file) => cx.files().forget(file),
        _ => Ok(()),
    };
    code
}

/// The same for a procedure that is always available.
#[cold]
pub(crate) fn raise_any_time(cx: &AlwaysCx, error: &Error) -> c_int {
    let line = noted(cx.always, (cx.face, cx.procedure), error);
    let code = (cx.face.error_out)(error.class());
    handle_any_time(cx, hearer_any_time(cx), code, &line)
}

/// The line of an error, which is remembered.
fn noted(always: &Always, (face, procedure): (&FaceTable, Procedure), error: &Error) -> String {
    let line = line(face, procedure, error);
    always.error_codes.lock().note(error.class().0, line.clone());
    line
}

/// Lets an error handler act; the code that is left.
pub(crate) fn handle(cx: &mut Cx<'_>, hearer: Hearer, code: c_int, line: &str) -> c_int {
    let face = cx.face;
    act(face, hearer, code, line, |function| cx.call_out(|_| function()))
}

/// The same within a procedure that is always available, which holds nothing.
pub(crate) fn handle_any_time(cx: &AlwaysCx, hearer: Hearer, code: c_int, line: &str) -> c_int {
    act(cx.face, hearer, code, line, |function| function())
}

/// What an error handler does; a function of the program is called by `call_out`, and leaves a code.
fn act(
    face: &FaceTable,
    hearer: Hearer,
    code: c_int,
    line: &str,
    call_out: impl FnOnce(&dyn Fn() -> c_int) -> c_int,
) -> c_int {
    let Hearer { action, kind, object } = hearer;
    match action {
        Action::Return => code,
        Action::Fatal | Action::Abort => end_job(code, line, Bootstrap::abort),
        Action::Throw => {
            let leave = face.leave_to_cxx;
            // SAFETY: the binding for C++ came with the program.
            let left = call_out(&|| c_int::from(unsafe { leave(kind, object, code) }));
            if left == 0 { end_job(code, line, Bootstrap::abort) } else { code }
        }
        Action::User(address, Convention::C, _) => {
            let function: *const c_void = std::ptr::without_provenance(address);
            let call = face.call_errhandler;
            // SAFETY: the program registered the function for objects of this kind.
            call_out(&|| unsafe { call(function, kind, object, code) })
        }
        Action::User(address, ..) => {
            let object = (face.handle_to_fint)(object);
            // SAFETY: as above, in Fortran.
            call_out(&|| unsafe { fortran_callbacks::errhandler(address, object, code) })
        }
    }
}

/// What `handler` does, told of the object `object` of kind `kind`.
pub(crate) fn told(cx: &Cx<'_>, handler: ErrhandlerHandle, kind: u32, object: u32) -> Hearer {
    let action = cx.always.errhandlers.lock().get(handler).unwrap_or(Action::Fatal);
    Hearer { action, kind, object }
}

/// Who hears of an error of this call.
pub(crate) fn hearer(cx: &Cx<'_>) -> Hearer {
    let known = match cx.owner {
        Owner::Comm(handle) => cx
            .comm(handle)
            .ok()
            .map(|comm| told(cx, comm.errhandler, CommKind::NUMBER, handle.raw())),
        Owner::File(file) | Owner::NoFile(file) => Some(match cx.file(file) {
            Ok(open) => told(cx, open.errhandler, FileKind::NUMBER, file.raw()),
            Err(_) => told(cx, of_files(), FileKind::NUMBER, FileHandle::NULL.raw()),
        }),
        Owner::Session(session) | Owner::NoSession(session) => session_of(&cx.always, session),
        Owner::Unmade(handler, target) => unmade(&cx.always, handler, target),
        Owner::Win(win) => cx
            .window(win)
            .ok()
            .map(|window| told(cx, window.errhandler, WinKind::NUMBER, win.raw())),
        Owner::None => None,
    };
    known.unwrap_or_else(|| nobodys(&cx.always))
}

/// The handler that an object would have, if it fits one of this kind: told of the null handle.
fn unmade(always: &Always, handler: ErrhandlerHandle, target: Target) -> Option<Hearer> {
    let action = always.errhandlers.lock().get_for(handler, target).ok()?;
    let (kind, object) = match target {
        Target::Session => (SessionKind::NUMBER, SessionHandle::NULL.raw()),
        _ => (CommKind::NUMBER, CommHandle::NULL.raw()),
    };
    Some(Hearer { action, kind, object })
}

/// The same within a procedure that is always available.
pub(crate) fn hearer_any_time(cx: &AlwaysCx) -> Hearer {
    let hearer = match cx.owner {
        Owner::Session(session) => session_of(cx.always, session),
        _ => None,
    };
    hearer.unwrap_or_else(|| nobodys(cx.always))
}

/// A session that hears of an error, if there is such a session.
pub(crate) fn session_of(always: &Always, session: SessionHandle) -> Option<Hearer> {
    let action = always.errhandlers.lock().action_of(session.raw())?;
    Some(Hearer { action, kind: SessionKind::NUMBER, object: session.raw() })
}

/// Who hears of errors which are no object's: `MPI_COMM_SELF` (MPI-5.0 §9.3); while the program has
/// set no handler on it, `MPI_COMM_WORLD`, as in MPI-3.1. MPICH 5 does the same; MPICH 4 and Open MPI
/// always ask the world. docs/conformance.md says why.
fn nobodys(always: &Always) -> Hearer {
    let errhandlers = always.errhandlers.lock();
    let object = match errhandlers.of(comm::SELF) {
        Some(_) => comm::SELF,
        None => comm::WORLD,
    };
    // Neither says anything here until a handler is set.
    let action = errhandlers.action_of(object).unwrap_or(Action::Fatal);
    Hearer { action, kind: CommKind::NUMBER, object }
}

/// The error handler of files that have none of their own (MPI-5.0 §14.7).
pub(crate) fn of_files() -> ErrhandlerHandle {
    library().file_errhandler.unwrap_or(ERRORS_RETURN)
}

/// `ferrite: rank 3 on host7: MPI_Send: argument 4 (dest) is 9, … [MPI_ERR_RANK] Hint: …`
pub(crate) fn line(face: &FaceTable, procedure: Procedure, error: &Error) -> String {
    let argument = match error.parameter() {
        Some(name) => match procedure.params().iter().position(|param| *param == name) {
            Some(at) => format!("argument {} ({name}) ", at + 1),
            None => format!("{name} "),
        },
        None => String::new(),
    };
    let is = error.value().map_or(String::new(), |value| is(face, value));
    worded(procedure.name(), &(argument + &is), error)
}

/// The line of an error in a procedure, which is about an argument or not.
fn worded(procedure: &str, argument: &str, error: &Error) -> String {
    let class = error.class().name().unwrap_or("a class of the program");
    let what = argument.to_owned() + &plain(error.what());
    let mut line = format!("{}{procedure}: {} [{class}]", place(), sentence(&what));
    if !error.advice().is_empty() {
        line.push_str(" Hint: ");
        line.push_str(error.advice());
    }
    crate::strings::cut(&mut line, LINE_BYTES_MAX);
    line
}

/// Ends the job in the procedure of this name, since what was sent to a peer cannot be delivered: no error handler may
/// hide that.
pub(crate) fn end_job_over(procedure: Option<&str>, peer: PeerId, error: &Error) -> ! {
    let line = worded(procedure.unwrap_or("a call of MPI"), "", error);
    end_job_unreached(error.class().0, &line, peer.0)
}

/// Ends the job since another rank cannot be reached.
fn end_job_unreached(code: c_int, line: &str, rank: u32) -> ! {
    end_job(code, line, |bootstrap, code, line| bootstrap.abort_over(rank, code, line))
}

/// `is -2 (MPI_ANY_TAG)`, with the number that the program wrote.
fn is(face: &FaceTable, value: Special) -> String {
    let number = match value {
        Special::Rank(rank) => (face.rank_out)(rank),
        Special::Tag(tag) => (face.tag_out)(tag),
        Special::Handle(raw) => return format!("is {:#x}", (face.handle_number)(raw)),
        Special::Foreign => return format!("is {:#x}", foreign_value()),
    };
    match value.name() {
        Some(name) => format!("is {number} ({name})"),
        None => format!("is {number}"),
    }
}

/// `ferrite: rank 3 on host7: `
pub(crate) fn place() -> String {
    match library::place() {
        Some(place) => format!("ferrite: rank {} on {}: ", place.rank, place.host),
        None => "ferrite: ".to_owned(),
    }
}

/// Longest error line, in bytes (decision 20).
const LINE_BYTES_MAX: usize = 500;

/// Ends the job: has the launcher told by `tell`, or prints, and exits with `code`'s low byte, never 0.
pub(crate) fn end_job(code: c_int, line: &str, tell: impl FnOnce(&mut Bootstrap, i32, &str)) -> ! {
    let status = if code & 0xff == 0 { 1 } else { code & 0xff };
    // The launcher, once it has been told, may end this process before the last line.
    crate::c_streams::flush_output();
    let told = match &mut library().bootstrap {
        Some(bootstrap) => {
            tell(bootstrap, status, line);
            true
        }
        None => false,
    };
    if !told {
        // If standard error is gone there is nobody left to tell.
        let _ = writeln!(std::io::stderr(), "{line}");
    }
    // SAFETY: flushing C's streams keeps what the program has written; _exit runs nothing of a program that is in an
    // unknown state.
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
