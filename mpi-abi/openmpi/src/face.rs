//! The Open MPI ABI as a [`Face`].

use std::ffi::{c_int, c_void};

use mpi_abi::abi::Abi;
use mpi_abi::claim::FaceMark;
use mpi_abi::face::{Face, StatusFields, callbacks};
use mpi_abi::mpi_core::buffer::UserBuffer;
use mpi_abi::mpi_core::error::ErrorClass;
use mpi_abi::mpi_core::handle::*;
use mpi_abi::mpi_core::status::Status;
use mpi_abi::{foreign, values};

use crate::OpenMpi;
use crate::objects::tables;
use crate::status::{self, OpenMpiStatus};
use crate::{cxx, cxx_errors, handles, symbols};

const RANKS: foreign::Ranks = foreign::Ranks {
    any_source: tables::ANY_SOURCE as i32,
    proc_null: tables::PROC_NULL as i32,
    root: tables::ROOT as i32,
};

macro_rules! handle_conversions {
    ($($from:ident $to:ident $kept:ident $handle:ident;)*) => {$(
        #[inline]
        fn $from(handle: *mut c_void) -> $handle {
            handles::handle_in(handle)
        }
        #[inline]
        fn $to(handle: $handle) -> *mut c_void {
            handles::handle_out(handle)
        }
        #[inline]
        fn $kept(handle: $handle) -> *mut c_void {
            handles::kept_out(handle)
        }
    )*};
}

impl Face for OpenMpi {
    const ABI: Abi = Abi::OpenMpi;
    const NAME: &'static str = "Open MPI ABI";

    mpi_abi::foreign_face_values!(tables);

    /// Open MPI knows all numbers up to its last one, those without a name as `MPI_ERR_UNKNOWN`.
    fn error_in(code: c_int) -> ErrorClass {
        let class = values::error_in(tables::ERRORS, Self::ERR_LASTCODE, code);
        let named = class.name().is_some() || !(0..=Self::ERR_LASTCODE).contains(&code);
        if named { class } else { ErrorClass::UNKNOWN }
    }

    type Comm = *mut c_void;
    type Group = *mut c_void;
    type Datatype = *mut c_void;
    type Op = *mut c_void;
    type Request = *mut c_void;
    type Errhandler = *mut c_void;
    type Info = *mut c_void;
    type Win = *mut c_void;
    type File = *mut c_void;
    type Session = *mut c_void;
    type Message = *mut c_void;
    type Status = OpenMpiStatus;

    fn mark() -> &'static FaceMark {
        &symbols::ferrite_face_openmpi
    }

    handle_conversions! {
        comm_in comm_out comm_kept CommHandle;
        group_in group_out group_kept GroupHandle;
        datatype_in datatype_out datatype_kept DatatypeHandle;
        op_in op_out op_kept OpHandle;
        request_in request_out request_kept RequestHandle;
        errhandler_in errhandler_out errhandler_kept ErrhandlerHandle;
        info_in info_out info_kept InfoHandle;
        win_in win_out win_kept WinHandle;
        file_in file_out file_kept FileHandle;
        session_in session_out session_kept SessionHandle;
        message_in message_out message_kept MessageHandle;
    }

    #[inline]
    fn comm_in_doubt(handle: *mut c_void) -> CommHandle {
        handles::handle_in_doubt(handle)
    }

    #[inline]
    fn datatype_in_doubt(handle: *mut c_void) -> DatatypeHandle {
        handles::handle_in_doubt(handle)
    }

    #[inline]
    fn op_in_doubt(handle: *mut c_void) -> OpHandle {
        handles::handle_in_doubt(handle)
    }

    fn handle_to_fint(raw: u32) -> c_int {
        handles::to_fint(raw)
    }

    fn handle_from_fint(kind: u32, fint: c_int) -> u32 {
        handles::from_fint(kind, fint)
    }

    #[inline]
    fn buffer_in(address: *const c_void) -> UserBuffer {
        if address as isize as i64 == tables::IN_PLACE {
            return UserBuffer::IN_PLACE;
        }
        UserBuffer(address.cast_mut().cast())
    }

    fn is_unweighted(address: *const c_int) -> bool {
        address as isize as i64 == tables::UNWEIGHTED
    }

    fn is_weights_empty(address: *const c_int) -> bool {
        address as isize as i64 == tables::WEIGHTS_EMPTY
    }

    fn is_all_handles(handle: *const c_void) -> bool {
        handle.addr() == usize::MAX
    }

    #[inline]
    fn is_status_ignore(status: *const OpenMpiStatus) -> bool {
        // One value for both in this ABI.
        status as isize as i64 == tables::STATUS_IGNORE
    }

    #[inline]
    unsafe fn status_out(to: *mut OpenMpiStatus, status: &Status, with_error: bool) {
        // SAFETY: the caller's promise is the same.
        unsafe { status::write(to, status, with_error) }
    }

    #[inline]
    unsafe fn status_in(from: *const OpenMpiStatus) -> Status {
        // SAFETY: the caller's promise is the same.
        unsafe { status::read(from) }
    }

    unsafe fn status_fields(status: *mut OpenMpiStatus) -> StatusFields {
        // SAFETY: the caller's promise is the same.
        unsafe { status::fields(status) }
    }

    unsafe fn status_set_bytes(to: *mut OpenMpiStatus, bytes: u64) {
        // SAFETY: the caller's promise is the same.
        unsafe { status::set_bytes(to, bytes) }
    }

    unsafe fn status_set_cancelled(to: *mut OpenMpiStatus, cancelled: bool) {
        // SAFETY: the caller's promise is the same.
        unsafe { status::set_cancelled(to, cancelled) }
    }

    unsafe fn call_op(
        op: OpHandle,
        function: *const c_void,
        large: bool,
        input: *const u8,
        inout: *mut u8,
        count: i64,
        datatype: DatatypeHandle,
    ) {
        // SAFETY: the caller's promise is the same.
        unsafe {
            match cxx::behind_intercept(op, function) {
                Some(user) => cxx::call(function, user, input, inout, count, datatype),
                None => {
                    callbacks::call_op::<Self>(function, large, input, inout, count, datatype);
                }
            }
        }
    }

    unsafe fn call_errhandler(
        function: *const c_void,
        kind: u32,
        object: u32,
        code: c_int,
    ) -> c_int {
        // SAFETY: the caller's promise is the same.
        unsafe {
            match cxx_errors::call(function, kind, object, code) {
                true => code,
                false => callbacks::call_errhandler::<Self>(function, kind, object, code),
            }
        }
    }

    unsafe fn leave_to_cxx(kind: u32, object: u32, code: c_int) -> bool {
        // SAFETY: the caller's promise is the same.
        unsafe { cxx_errors::throw(kind, object, code) }
    }
}
