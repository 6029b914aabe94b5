//! The MPICH ABI as a [`Face`].

use std::ffi::{c_int, c_void};
use std::ptr;

use mpi_abi::abi::Abi;
use mpi_abi::claim::FaceMark;
use mpi_abi::face::{Face, StatusFields, callbacks, foreign};
use mpi_abi::foreign::Ranks;
use mpi_abi::mpi_core::buffer::UserBuffer;
use mpi_abi::mpi_core::error::ErrorClass;
use mpi_abi::mpi_core::handle::*;
use mpi_abi::mpi_core::status::Status;
use mpi_abi::values;

use crate::Mpich;
use crate::cxx;
use crate::handles::{handle_in, handle_out, raw_out};
use crate::status::{self, MpichStatus};
use crate::symbols;
use crate::tables;

const RANKS: Ranks = Ranks {
    any_source: tables::ANY_SOURCE as i32,
    proc_null: tables::PROC_NULL as i32,
    root: tables::ROOT as i32,
};

/// `MPI_File` is a pointer here; one of ours is the core handle beyond the first page, which
/// nobody maps.
const FILE_SHIFT: u32 = 12;

macro_rules! handle_conversions {
    ($($from:ident $to:ident $handle:ident $kind:ident;)*) => {$(
        #[inline]
        fn $from(handle: c_int) -> $handle {
            Handle::from_raw(handle_in($kind::NUMBER, handle))
        }
        #[inline]
        fn $to(handle: $handle) -> c_int {
            handle_out(handle)
        }
    )*};
}

impl Face for Mpich {
    const ABI: Abi = Abi::Mpich;
    const NAME: &'static str = "MPICH ABI";
    mpi_abi::foreign_face_values!(tables);

    fn error_in(code: c_int) -> ErrorClass {
        values::error_in(tables::ERRORS, Self::ERR_LASTCODE, code)
    }

    type Comm = c_int;
    type Group = c_int;
    type Datatype = c_int;
    type Op = c_int;
    type Request = c_int;
    type Errhandler = c_int;
    type Info = c_int;
    type Win = c_int;
    type File = *mut c_void;
    type Session = c_int;
    type Message = c_int;
    type Status = MpichStatus;

    fn mark() -> &'static FaceMark {
        &symbols::ferrite_face_mpich
    }

    handle_conversions! {
        comm_in comm_out CommHandle CommKind;
        group_in group_out GroupHandle GroupKind;
        datatype_in datatype_out DatatypeHandle DatatypeKind;
        op_in op_out OpHandle OpKind;
        request_in request_out RequestHandle RequestKind;
        errhandler_in errhandler_out ErrhandlerHandle ErrhandlerKind;
        info_in info_out InfoHandle InfoKind;
        win_in win_out WinHandle WinKind;
        session_in session_out SessionHandle SessionKind;
        message_in message_out MessageHandle MessageKind;
    }

    fn file_in(handle: *mut c_void) -> FileHandle {
        let address = handle as usize;
        let raw = address >> FILE_SHIFT;
        let is_ours =
            raw << FILE_SHIFT == address && (PREDEFINED_END as usize..1 << 30).contains(&raw);
        match address {
            0 => FileHandle::NULL,
            _ if is_ours => Handle::from_raw(raw as u32),
            _ => Handle::from_raw(foreign(address)),
        }
    }

    fn file_out(handle: FileHandle) -> *mut c_void {
        if handle.is_predefined() {
            return std::ptr::null_mut();
        }
        std::ptr::without_provenance_mut((handle.raw() as usize) << FILE_SHIFT)
    }

    fn handle_to_fint(raw: u32) -> c_int {
        raw_out(raw, FileKind::NULL)
    }

    fn handle_from_fint(kind: u32, fint: c_int) -> u32 {
        handle_in(kind, fint)
    }

    #[inline]
    fn buffer_in(address: *const c_void) -> UserBuffer {
        match address as isize as i64 {
            tables::IN_PLACE => UserBuffer::IN_PLACE,
            tables::BUFFER_AUTOMATIC => UserBuffer::AUTOMATIC,
            _ => UserBuffer(address.cast_mut().cast()),
        }
    }

    fn buffer_out(buffer: UserBuffer) -> *mut c_void {
        match buffer {
            UserBuffer::AUTOMATIC => ptr::without_provenance_mut(tables::BUFFER_AUTOMATIC as usize),
            memory => memory.0.cast(),
        }
    }

    fn is_unweighted(address: *const c_int) -> bool {
        symbols::is_unweighted(address)
    }

    fn is_weights_empty(address: *const c_int) -> bool {
        symbols::is_weights_empty(address)
    }

    fn is_all_handles(handle: *const c_void) -> bool {
        symbols::is_all_handles(handle)
    }

    #[inline]
    fn is_status_ignore(status: *const MpichStatus) -> bool {
        // One value for both in this ABI.
        status as isize as i64 == tables::STATUS_IGNORE
    }

    #[inline]
    unsafe fn status_out(to: *mut MpichStatus, status: &Status, with_error: bool) {
        // SAFETY: the caller's promise is the same.
        unsafe { status::write(to, status, with_error) }
    }

    #[inline]
    unsafe fn status_in(from: *const MpichStatus) -> Status {
        // SAFETY: the caller's promise is the same.
        unsafe { status::read(from) }
    }

    unsafe fn status_fields(status: *mut MpichStatus) -> StatusFields {
        // SAFETY: the caller's promise is the same.
        unsafe { status::fields(status) }
    }

    unsafe fn status_set_bytes(to: *mut MpichStatus, bytes: u64) {
        // SAFETY: the caller's promise is the same.
        unsafe { status::set_bytes(to, bytes) }
    }

    unsafe fn status_set_cancelled(to: *mut MpichStatus, cancelled: bool) {
        // SAFETY: the caller's promise is the same.
        unsafe { status::set_cancelled(to, cancelled) }
    }

    unsafe fn call_op(
        _op: OpHandle,
        function: *const c_void,
        large: bool,
        input: *const u8,
        inout: *mut u8,
        count: i64,
        datatype: DatatypeHandle,
    ) {
        // SAFETY: the caller's promise is the same.
        unsafe {
            if large || !cxx::call_op(function, input, inout, count, datatype) {
                callbacks::call_op::<Self>(function, large, input, inout, count, datatype);
            }
        }
    }

    unsafe fn call_copy_attr(
        function: *const c_void,
        kind: u32,
        object: u32,
        keyval: i32,
        state: *mut c_void,
        value: *mut c_void,
    ) -> (c_int, *mut c_void, bool) {
        // SAFETY: the caller's promise is the same.
        unsafe {
            cxx::call_copy(function, kind, object, keyval, state, value).unwrap_or_else(|| {
                callbacks::call_copy_attr::<Self>(function, kind, object, keyval, state, value)
            })
        }
    }

    unsafe fn call_delete_attr(
        function: *const c_void,
        kind: u32,
        object: u32,
        keyval: i32,
        value: *mut c_void,
        state: *mut c_void,
    ) -> c_int {
        // SAFETY: the caller's promise is the same.
        unsafe {
            cxx::call_delete(function, kind, object, keyval, value, state).unwrap_or_else(|| {
                callbacks::call_delete_attr::<Self>(function, kind, object, keyval, value, state)
            })
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
            match cxx::call_errhandler(function, kind, object, code) {
                true => code,
                false => callbacks::call_errhandler::<Self>(function, kind, object, code),
            }
        }
    }
}
