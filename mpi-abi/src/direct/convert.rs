//! Handles as integers (MPI-5.0 §19.3.4, chapter 20): Fortran's and the standard ABI's, which are
//! the same numbers here. Statuses for Fortran (§19.3.5).
//!
//! Converting a handle touches no object, so nothing is asked of the caller; the functions are
//! unsafe because all bodies of this folder are called alike.
#![allow(clippy::missing_safety_doc)]

use std::ffi::c_int;

use mpi_core::error::ErrorClass;
use mpi_core::handle::{
    CommKind, DatatypeKind, ErrhandlerKind, FileKind, GroupKind, InfoKind, MessageKind, OpKind,
    RequestKind, SessionKind, WinKind,
};
use mpi_core::handle::{Handle, Kind};

use crate::face::Face;

fn to_int<F: Face, K: Kind>(handle: Handle<K>) -> c_int {
    F::handle_to_fint(handle.raw())
}

fn from_int<F: Face, K: Kind>(int: c_int) -> Handle<K> {
    Handle::from_raw(F::handle_from_fint(K::NUMBER, int))
}

/// `MPI_Comm_c2f`.
pub unsafe fn comm_c2f<F: Face>(comm: F::Comm) -> c_int {
    to_int::<F, CommKind>(F::comm_in(comm))
}

/// `MPI_Comm_f2c`.
pub unsafe fn comm_f2c<F: Face>(int: c_int) -> F::Comm {
    F::comm_kept(from_int::<F, CommKind>(int))
}

/// `MPI_Comm_toint`.
pub unsafe fn comm_toint<F: Face>(comm: F::Comm) -> c_int {
    to_int::<F, CommKind>(F::comm_in(comm))
}

/// `MPI_Comm_fromint`.
pub unsafe fn comm_fromint<F: Face>(int: c_int) -> F::Comm {
    F::comm_kept(from_int::<F, CommKind>(int))
}

/// `MPI_Group_c2f`.
pub unsafe fn group_c2f<F: Face>(group: F::Group) -> c_int {
    to_int::<F, GroupKind>(F::group_in(group))
}

/// `MPI_Group_f2c`.
pub unsafe fn group_f2c<F: Face>(int: c_int) -> F::Group {
    F::group_kept(from_int::<F, GroupKind>(int))
}

/// `MPI_Group_toint`.
pub unsafe fn group_toint<F: Face>(group: F::Group) -> c_int {
    to_int::<F, GroupKind>(F::group_in(group))
}

/// `MPI_Group_fromint`.
pub unsafe fn group_fromint<F: Face>(int: c_int) -> F::Group {
    F::group_kept(from_int::<F, GroupKind>(int))
}

/// `MPI_Type_c2f`.
pub unsafe fn type_c2f<F: Face>(datatype: F::Datatype) -> c_int {
    to_int::<F, DatatypeKind>(F::datatype_in(datatype))
}

/// `MPI_Type_f2c`.
pub unsafe fn type_f2c<F: Face>(int: c_int) -> F::Datatype {
    F::datatype_kept(from_int::<F, DatatypeKind>(int))
}

/// `MPI_Type_toint`.
pub unsafe fn type_toint<F: Face>(datatype: F::Datatype) -> c_int {
    to_int::<F, DatatypeKind>(F::datatype_in(datatype))
}

/// `MPI_Type_fromint`.
pub unsafe fn type_fromint<F: Face>(int: c_int) -> F::Datatype {
    F::datatype_kept(from_int::<F, DatatypeKind>(int))
}

/// `MPI_Op_c2f`.
pub unsafe fn op_c2f<F: Face>(op: F::Op) -> c_int {
    to_int::<F, OpKind>(F::op_in(op))
}

/// `MPI_Op_f2c`.
pub unsafe fn op_f2c<F: Face>(int: c_int) -> F::Op {
    F::op_kept(from_int::<F, OpKind>(int))
}

/// `MPI_Op_toint`.
pub unsafe fn op_toint<F: Face>(op: F::Op) -> c_int {
    to_int::<F, OpKind>(F::op_in(op))
}

/// `MPI_Op_fromint`.
pub unsafe fn op_fromint<F: Face>(int: c_int) -> F::Op {
    F::op_kept(from_int::<F, OpKind>(int))
}

/// `MPI_Request_c2f`.
pub unsafe fn request_c2f<F: Face>(request: F::Request) -> c_int {
    to_int::<F, RequestKind>(F::request_in(request))
}

/// `MPI_Request_f2c`.
pub unsafe fn request_f2c<F: Face>(int: c_int) -> F::Request {
    F::request_kept(from_int::<F, RequestKind>(int))
}

/// `MPI_Request_toint`.
pub unsafe fn request_toint<F: Face>(request: F::Request) -> c_int {
    to_int::<F, RequestKind>(F::request_in(request))
}

/// `MPI_Request_fromint`.
pub unsafe fn request_fromint<F: Face>(int: c_int) -> F::Request {
    F::request_kept(from_int::<F, RequestKind>(int))
}

/// `MPI_Errhandler_c2f`.
pub unsafe fn errhandler_c2f<F: Face>(errhandler: F::Errhandler) -> c_int {
    to_int::<F, ErrhandlerKind>(F::errhandler_in(errhandler))
}

/// `MPI_Errhandler_f2c`.
pub unsafe fn errhandler_f2c<F: Face>(int: c_int) -> F::Errhandler {
    F::errhandler_kept(from_int::<F, ErrhandlerKind>(int))
}

/// `MPI_Errhandler_toint`.
pub unsafe fn errhandler_toint<F: Face>(errhandler: F::Errhandler) -> c_int {
    to_int::<F, ErrhandlerKind>(F::errhandler_in(errhandler))
}

/// `MPI_Errhandler_fromint`.
pub unsafe fn errhandler_fromint<F: Face>(int: c_int) -> F::Errhandler {
    F::errhandler_kept(from_int::<F, ErrhandlerKind>(int))
}

/// `MPI_Info_c2f`.
pub unsafe fn info_c2f<F: Face>(info: F::Info) -> c_int {
    to_int::<F, InfoKind>(F::info_in(info))
}

/// `MPI_Info_f2c`.
pub unsafe fn info_f2c<F: Face>(int: c_int) -> F::Info {
    F::info_kept(from_int::<F, InfoKind>(int))
}

/// `MPI_Info_toint`.
pub unsafe fn info_toint<F: Face>(info: F::Info) -> c_int {
    to_int::<F, InfoKind>(F::info_in(info))
}

/// `MPI_Info_fromint`.
pub unsafe fn info_fromint<F: Face>(int: c_int) -> F::Info {
    F::info_kept(from_int::<F, InfoKind>(int))
}

/// `MPI_Win_c2f`.
pub unsafe fn win_c2f<F: Face>(win: F::Win) -> c_int {
    to_int::<F, WinKind>(F::win_in(win))
}

/// `MPI_Win_f2c`.
pub unsafe fn win_f2c<F: Face>(int: c_int) -> F::Win {
    F::win_kept(from_int::<F, WinKind>(int))
}

/// `MPI_Win_toint`.
pub unsafe fn win_toint<F: Face>(win: F::Win) -> c_int {
    to_int::<F, WinKind>(F::win_in(win))
}

/// `MPI_Win_fromint`.
pub unsafe fn win_fromint<F: Face>(int: c_int) -> F::Win {
    F::win_kept(from_int::<F, WinKind>(int))
}

/// `MPI_File_c2f`.
pub unsafe fn file_c2f<F: Face>(file: F::File) -> c_int {
    to_int::<F, FileKind>(F::file_in(file))
}

/// `MPI_File_f2c`.
pub unsafe fn file_f2c<F: Face>(int: c_int) -> F::File {
    F::file_kept(from_int::<F, FileKind>(int))
}

/// `MPI_File_toint`.
pub unsafe fn file_toint<F: Face>(file: F::File) -> c_int {
    to_int::<F, FileKind>(F::file_in(file))
}

/// `MPI_File_fromint`.
pub unsafe fn file_fromint<F: Face>(int: c_int) -> F::File {
    F::file_kept(from_int::<F, FileKind>(int))
}

/// `MPI_Session_c2f`.
pub unsafe fn session_c2f<F: Face>(session: F::Session) -> c_int {
    to_int::<F, SessionKind>(F::session_in(session))
}

/// `MPI_Session_f2c`.
pub unsafe fn session_f2c<F: Face>(int: c_int) -> F::Session {
    F::session_kept(from_int::<F, SessionKind>(int))
}

/// `MPI_Session_toint`.
pub unsafe fn session_toint<F: Face>(session: F::Session) -> c_int {
    to_int::<F, SessionKind>(F::session_in(session))
}

/// `MPI_Session_fromint`.
pub unsafe fn session_fromint<F: Face>(int: c_int) -> F::Session {
    F::session_kept(from_int::<F, SessionKind>(int))
}

/// `MPI_Message_c2f`.
pub unsafe fn message_c2f<F: Face>(message: F::Message) -> c_int {
    to_int::<F, MessageKind>(F::message_in(message))
}

/// `MPI_Message_f2c`.
pub unsafe fn message_f2c<F: Face>(int: c_int) -> F::Message {
    F::message_kept(from_int::<F, MessageKind>(int))
}

/// `MPI_Message_toint`.
pub unsafe fn message_toint<F: Face>(message: F::Message) -> c_int {
    to_int::<F, MessageKind>(F::message_in(message))
}

/// `MPI_Message_fromint`.
pub unsafe fn message_fromint<F: Face>(int: c_int) -> F::Message {
    F::message_kept(from_int::<F, MessageKind>(int))
}

/// A Fortran status has the layout of the face's C status, in INTEGERs; the mpi_f08 type too. What stands for no status
/// is none to convert (§19.3.5).
unsafe fn copy_status<F: Face>(from: *const c_int, to: *mut c_int) -> c_int {
    for status in [from, to.cast_const()] {
        if status.is_null() || F::is_status_ignore(status.cast()) {
            return F::error_out(ErrorClass::ARG);
        }
    }
    // SAFETY: both are statuses of the face, which are `F_STATUS_SIZE` integers long; they may
    // be the same.
    unsafe { std::ptr::copy(from, to, F::F_STATUS_SIZE) };
    0
}

/// `MPI_Status_c2f`.
pub unsafe fn status_c2f<F: Face>(c_status: *const F::Status, f_status: *mut c_int) -> c_int {
    // SAFETY: the caller passes two statuses.
    unsafe { copy_status::<F>(c_status.cast(), f_status.cast()) }
}

/// `MPI_Status_f2c`.
pub unsafe fn status_f2c<F: Face>(f_status: *const c_int, c_status: *mut F::Status) -> c_int {
    // SAFETY: the caller passes two statuses.
    unsafe { copy_status::<F>(f_status.cast(), c_status.cast()) }
}

/// `MPI_Status_c2f08`.
pub unsafe fn status_c2f08<F: Face>(c_status: *const F::Status, f08_status: *mut c_int) -> c_int {
    // SAFETY: the caller passes two statuses.
    unsafe { copy_status::<F>(c_status.cast(), f08_status.cast()) }
}

/// `MPI_Status_f082c`.
pub unsafe fn status_f082c<F: Face>(f08_status: *const c_int, c_status: *mut F::Status) -> c_int {
    // SAFETY: the caller passes two statuses.
    unsafe { copy_status::<F>(f08_status.cast(), c_status.cast()) }
}

/// `MPI_Status_f2f08`.
pub unsafe fn status_f2f08<F: Face>(f_status: *const c_int, f08_status: *mut c_int) -> c_int {
    // SAFETY: the caller passes two statuses.
    unsafe { copy_status::<F>(f_status.cast(), f08_status.cast()) }
}

/// `MPI_Status_f082f`.
pub unsafe fn status_f082f<F: Face>(f08_status: *const c_int, f_status: *mut c_int) -> c_int {
    // SAFETY: the caller passes two statuses.
    unsafe { copy_status::<F>(f08_status.cast(), f_status.cast()) }
}
