//! Error handlers and error codes (MPI-5.0 §9.3 to §9.5).

use std::ffi::{c_int, c_void};

use mpi_core::always::Always;
use mpi_core::attributes::Convention;
use mpi_core::constants::Special;
use mpi_core::errhandler::Target;
use mpi_core::error::{Error, ErrorClass, Result};
use mpi_core::handle::{
    CommHandle, CommKind, ErrhandlerHandle, FileHandle, FileKind, Kind, SessionHandle, WinHandle,
    WinKind,
};
use mpi_core::text::Text;

use crate::cx::{AlwaysCx, Cx};
use crate::failure;
use crate::library::library;
use crate::procedure::Procedure;
use crate::table::FaceTable;

/// A handler with a function of either language.
pub(crate) fn create(
    always: &Always,
    function: *const c_void,
    convention: Convention,
    target: Target,
    param: &'static str,
) -> Result<ErrhandlerHandle> {
    if function.is_null() {
        return Err(Error::param(ErrorClass::ARG, param, "is NULL, but must be a function"));
    }
    always.errhandlers.lock().create(function.expose_provenance(), convention, target)
}

/// `MPI_Comm_create_errhandler`.
pub fn comm_create_errhandler(
    cx: &mut Cx<'_>,
    comm_errhandler_fn: *const c_void,
    errhandler: &mut ErrhandlerHandle,
) -> Result<()> {
    *errhandler =
        create(&cx.always, comm_errhandler_fn, Convention::C, Target::Comm, "comm_errhandler_fn")?;
    Ok(())
}

/// `MPI_Win_create_errhandler`.
pub fn win_create_errhandler(
    cx: &mut Cx<'_>,
    win_errhandler_fn: *const c_void,
    errhandler: &mut ErrhandlerHandle,
) -> Result<()> {
    *errhandler =
        create(&cx.always, win_errhandler_fn, Convention::C, Target::Win, "win_errhandler_fn")?;
    Ok(())
}

/// `MPI_File_create_errhandler`.
pub fn file_create_errhandler(
    cx: &mut Cx<'_>,
    file_errhandler_fn: *const c_void,
    errhandler: &mut ErrhandlerHandle,
) -> Result<()> {
    *errhandler =
        create(&cx.always, file_errhandler_fn, Convention::C, Target::File, "file_errhandler_fn")?;
    Ok(())
}

/// `MPI_Session_create_errhandler`.
pub fn session_create_errhandler(
    cx: &mut AlwaysCx,
    session_errhandler_fn: *const c_void,
    errhandler: &mut ErrhandlerHandle,
) -> Result<()> {
    *errhandler = create(
        cx.always,
        session_errhandler_fn,
        Convention::C,
        Target::Session,
        "session_errhandler_fn",
    )?;
    Ok(())
}

/// `MPI_Errhandler_free`. The handler lives on where it is attached.
pub fn errhandler_free(cx: &mut AlwaysCx, errhandler: &mut ErrhandlerHandle) -> Result<()> {
    cx.always.errhandlers.lock().free(*errhandler)?;
    *errhandler = ErrhandlerHandle::NULL;
    Ok(())
}

/// `MPI_Comm_set_errhandler`.
pub fn comm_set_errhandler(
    cx: &mut Cx<'_>,
    comm: CommHandle,
    errhandler: ErrhandlerHandle,
) -> Result<()> {
    let old = cx.comm(comm)?.errhandler;
    let mut errhandlers = cx.always.errhandlers.lock();
    errhandlers.attach(errhandler, Target::Comm)?;
    if comm.is_predefined() {
        // They hear of errors of threads that are not inside a call, too.
        errhandlers.set_of(comm.raw(), errhandler, Target::Comm)?;
    }
    errhandlers.release(old)?;
    drop(errhandlers);
    cx.comm_mut(comm)?.errhandler = errhandler;
    Ok(())
}

/// `MPI_Comm_get_errhandler`: a handle that the program frees.
pub fn comm_get_errhandler(
    cx: &mut Cx<'_>,
    comm: CommHandle,
    errhandler: &mut ErrhandlerHandle,
) -> Result<()> {
    let attached = cx.comm(comm)?.errhandler;
    cx.always.errhandlers.lock().hand_out(attached)?;
    *errhandler = attached;
    Ok(())
}

/// `MPI_Comm_call_errhandler` (§9.5): succeeds if the handler returns.
pub fn comm_call_errhandler(
    cx: &mut Cx<'_>,
    comm: CommHandle,
    errorcode: ErrorClass,
) -> Result<()> {
    let handler = cx.comm(comm)?.errhandler;
    raise(cx, handler, CommKind::NUMBER, comm.raw(), errorcode);
    Ok(())
}

/// Lets a handler act on an error that the program raises.
fn raise(cx: &mut Cx<'_>, handler: ErrhandlerHandle, kind: u32, object: u32, class: ErrorClass) {
    let hearer = failure::told(cx, handler, kind, object);
    let (line, code) = raised(cx.procedure, cx.face, class);
    failure::handle(cx, hearer, code, &line);
}

/// The line and the code of an error that the program raises.
fn raised(procedure: Procedure, face: &FaceTable, class: ErrorClass) -> (String, c_int) {
    let error = Error::new(class, "the program raised this error");
    (failure::line(face, procedure, &error), (face.error_out)(class))
}

/// The handler of a file; `MPI_FILE_NULL`'s is that of the files that will be opened (§14.7).
fn of_file(cx: &Cx<'_>, file: FileHandle) -> Result<ErrhandlerHandle> {
    if file.is_null() { Ok(failure::of_files()) } else { Ok(cx.file(file)?.errhandler) }
}

/// `MPI_File_set_errhandler`.
pub fn file_set_errhandler(
    cx: &mut Cx<'_>,
    file: FileHandle,
    errhandler: ErrhandlerHandle,
) -> Result<()> {
    let old = of_file(cx, file)?;
    cx.always.errhandlers.lock().attach(errhandler, Target::File)?;
    if file.is_null() {
        library().file_errhandler = Some(errhandler);
    } else {
        cx.file_mut(file)?.errhandler = errhandler;
    }
    cx.always.errhandlers.lock().release(old)
}

/// `MPI_File_get_errhandler`: a handle that the program frees.
pub fn file_get_errhandler(
    cx: &mut Cx<'_>,
    file: FileHandle,
    errhandler: &mut ErrhandlerHandle,
) -> Result<()> {
    let attached = of_file(cx, file)?;
    cx.always.errhandlers.lock().hand_out(attached)?;
    *errhandler = attached;
    Ok(())
}

/// `MPI_File_call_errhandler`.
pub fn file_call_errhandler(cx: &mut Cx<'_>, fh: FileHandle, errorcode: ErrorClass) -> Result<()> {
    let handler = of_file(cx, fh)?;
    raise(cx, handler, FileKind::NUMBER, fh.raw(), errorcode);
    Ok(())
}

/// `MPI_Win_set_errhandler`.
pub fn win_set_errhandler(
    cx: &mut Cx<'_>,
    win: WinHandle,
    errhandler: ErrhandlerHandle,
) -> Result<()> {
    let old = cx.window(win)?.errhandler;
    cx.always.errhandlers.lock().attach(errhandler, Target::Win)?;
    cx.window_mut(win)?.errhandler = errhandler;
    cx.always.errhandlers.lock().release(old)
}

/// `MPI_Win_get_errhandler`: a handle that the program frees.
pub fn win_get_errhandler(
    cx: &mut Cx<'_>,
    win: WinHandle,
    errhandler: &mut ErrhandlerHandle,
) -> Result<()> {
    let attached = cx.window(win)?.errhandler;
    cx.always.errhandlers.lock().hand_out(attached)?;
    *errhandler = attached;
    Ok(())
}

/// `MPI_Win_call_errhandler`.
pub fn win_call_errhandler(cx: &mut Cx<'_>, win: WinHandle, errorcode: ErrorClass) -> Result<()> {
    let handler = cx.window(win)?.errhandler;
    raise(cx, handler, WinKind::NUMBER, win.raw(), errorcode);
    Ok(())
}

/// `MPI_Session_set_errhandler`.
pub fn session_set_errhandler(
    cx: &mut Cx<'_>,
    session: SessionHandle,
    errhandler: ErrhandlerHandle,
) -> Result<()> {
    cx.session(session)?;
    cx.always.errhandlers.lock().set_of(session.raw(), errhandler, Target::Session)
}

/// `MPI_Session_get_errhandler`: a handle that the program frees.
pub fn session_get_errhandler(
    cx: &mut Cx<'_>,
    session: SessionHandle,
    errhandler: &mut ErrhandlerHandle,
) -> Result<()> {
    cx.session(session)?;
    let mut errhandlers = cx.always.errhandlers.lock();
    // Each session has one.
    *errhandler = errhandlers.of(session.raw()).unwrap_or(ErrhandlerHandle::NULL);
    errhandlers.hand_out(*errhandler)
}

/// `MPI_Session_call_errhandler`.
pub fn session_call_errhandler(
    cx: &mut AlwaysCx,
    session: SessionHandle,
    errorcode: ErrorClass,
) -> Result<()> {
    let Some(hearer) = failure::session_of(cx.always, session) else {
        let class = ErrorClass::SESSION;
        return Err(match session.is_null() {
            true => Error::param(class, "session", "is MPI_SESSION_NULL"),
            false => {
                let value = Special::Handle(session.raw());
                Error::special(class, "session", value, ", which names no session")
            }
        });
    };
    let (line, code) = raised(cx.procedure, cx.face, errorcode);
    failure::handle_any_time(cx, hearer, code, &line);
    Ok(())
}

fn no_code(errorcode: ErrorClass) -> Error {
    let what = format!("is {}, which is no error code", errorcode.0);
    Error::param(ErrorClass::ARG, "errorcode", what)
}

/// `MPI_Error_class`.
pub fn error_class(
    cx: &mut AlwaysCx,
    errorcode: ErrorClass,
    errorclass: &mut ErrorClass,
) -> Result<()> {
    let class =
        cx.always.error_codes.lock().class_of(errorcode.0).ok_or_else(|| no_code(errorcode))?;
    *errorclass = ErrorClass(class);
    Ok(())
}

/// `MPI_Error_string`: what the program said of its own codes; of the library's, the latest
/// error of that class in full, or what the class means.
pub fn error_string(cx: &mut AlwaysCx, errorcode: ErrorClass, string: &mut Text) -> Result<()> {
    let codes = cx.always.error_codes.lock();
    if let Some(text) = codes.text_of(errorcode.0) {
        *string = text.into();
        return Ok(());
    }
    let (Some(name), Some(meaning)) = (errorcode.name(), errorcode.meaning()) else {
        return Err(no_code(errorcode));
    };
    *string = match codes.latest(errorcode.0) {
        Some(line) => line.into(),
        None => format!("{name}: {meaning}").into(),
    };
    Ok(())
}

/// `MPI_Add_error_class`.
pub fn add_error_class(cx: &mut AlwaysCx, errorclass: &mut ErrorClass) -> Result<()> {
    *errorclass = ErrorClass(cx.always.error_codes.lock().add_class()?);
    Ok(())
}

/// `MPI_Add_error_code`.
pub fn add_error_code(
    cx: &mut AlwaysCx,
    errorclass: ErrorClass,
    errorcode: &mut ErrorClass,
) -> Result<()> {
    *errorcode = ErrorClass(cx.always.error_codes.lock().add_code(errorclass.0)?);
    Ok(())
}
