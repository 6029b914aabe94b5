//! The MPI-5.0 standard ABI (MPI-5.0 chapter 20).
//!
//! The core's values are this ABI's, so most conversions say nothing. Handles are pointers to
//! structs that nobody defines: a predefined one is its number, any other is the core's 30 bits
//! shifted left by 12, which no predefined number and no object of the program can be
//! (decision 17). `MPI_Status` has five reserved integers: byte count low, byte count
//! high, cancelled, and two that are not used.

use std::ffi::{c_int, c_void};
use std::marker::PhantomData;

use mpi_abi::abi::Abi;
use mpi_abi::claim::FaceMark;
use mpi_abi::face::{ConstantGroup, Face, StatusFields, StringLimits, foreign};
use mpi_abi::mpi_core::buffer::UserBuffer;
use mpi_abi::mpi_core::error::ErrorClass;
use mpi_abi::mpi_core::handle::*;
use mpi_abi::mpi_core::status::Status;

/// The face.
pub(crate) enum Standard {}

/// How this library is recognised by another face in the same process.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)] // a symbol, not a name
static ferrite_face_standard: FaceMark = FaceMark::new(Abi::Standard);

const SHIFT: u32 = 12;

/// A handle of kind `K` as C has it: as wide as a pointer, never dereferenced.
#[repr(transparent)]
pub(crate) struct Pointer<K>(usize, PhantomData<fn() -> K>);

impl<K> Clone for Pointer<K> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<K> Copy for Pointer<K> {}

impl<K: Kind> Pointer<K> {
    #[inline]
    fn core(self) -> Handle<K> {
        if self.0 < PREDEFINED_END as usize {
            return Handle::from_raw(self.0 as u32);
        }
        match u32::try_from(self.0 >> SHIFT) {
            Ok(raw) if self.0 & ((1 << SHIFT) - 1) == 0 && raw >= PREDEFINED_END => {
                Handle::from_raw(raw)
            }
            _ => Handle::from_raw(foreign(self.0)),
        }
    }

    #[inline]
    fn from_core(handle: Handle<K>) -> Pointer<K> {
        let raw = handle.raw();
        let shift = if raw < PREDEFINED_END { 0 } else { SHIFT };
        Pointer((raw as usize) << shift, PhantomData)
    }
}

/// `MPI_Status`.
#[repr(C)]
pub(crate) struct StandardStatus {
    source: c_int,
    tag: c_int,
    error: c_int,
    bytes_low: c_int,
    bytes_high: c_int,
    cancelled: c_int,
    unused: [c_int; 2],
}

const _: () = assert!(size_of::<StandardStatus>() == 32);

macro_rules! handles {
    ($($kind:ident, $type:ident, $input:ident, $output:ident;)*) => { $(
        #[inline]
        fn $input(handle: Self::$type) -> Handle<$kind> {
            handle.core()
        }
        #[inline]
        fn $output(handle: Handle<$kind>) -> Self::$type {
            Pointer::from_core(handle)
        }
    )* };
}

impl Face for Standard {
    const ABI: Abi = Abi::Standard;
    const NAME: &'static str = "standard ABI";
    const LIMITS: StringLimits = StringLimits {
        error: 512,
        object_name: 128,
        processor_name: 256,
        library_version: 8192,
        port_name: 1024,
        info_key: 256,
        info_value: 1024,
        datarep: 128,
    };
    const BSEND_OVERHEAD: usize = 512;
    const MPI_VERSION: (c_int, c_int) = (5, 0);
    const ABI_VERSION: (c_int, c_int) = (1, 0);
    const ERR_LASTCODE: c_int = 16383;
    const F_STATUS_SIZE: usize = 8;
    const DISPLACEMENT_CURRENT: i64 = -1;

    type Comm = Pointer<CommKind>;
    type Group = Pointer<GroupKind>;
    type Datatype = Pointer<DatatypeKind>;
    type Op = Pointer<OpKind>;
    type Request = Pointer<RequestKind>;
    type Errhandler = Pointer<ErrhandlerKind>;
    type Info = Pointer<InfoKind>;
    type Win = Pointer<WinKind>;
    type File = Pointer<FileKind>;
    type Session = Pointer<SessionKind>;
    type Message = Pointer<MessageKind>;
    type Status = StandardStatus;

    fn mark() -> &'static FaceMark {
        &ferrite_face_standard
    }

    handles! {
        CommKind, Comm, comm_in, comm_out;
        GroupKind, Group, group_in, group_out;
        DatatypeKind, Datatype, datatype_in, datatype_out;
        OpKind, Op, op_in, op_out;
        RequestKind, Request, request_in, request_out;
        ErrhandlerKind, Errhandler, errhandler_in, errhandler_out;
        InfoKind, Info, info_in, info_out;
        WinKind, Win, win_in, win_out;
        FileKind, File, file_in, file_out;
        SessionKind, Session, session_in, session_out;
        MessageKind, Message, message_in, message_out;
    }

    fn handle_to_fint(raw: u32) -> c_int {
        raw as c_int
    }

    fn handle_number(raw: u32) -> usize {
        // Of whatever kind.
        Pointer::<CommKind>::from_core(Handle::from_raw(raw)).0
    }

    fn handle_from_fint(_kind: u32, fint: c_int) -> u32 {
        u32::try_from(fint).unwrap_or_else(|_| foreign(fint as u32 as usize))
    }

    #[inline]
    fn rank_in(rank: c_int) -> i32 {
        rank
    }

    #[inline]
    fn rank_out(rank: i32) -> c_int {
        rank
    }

    #[inline]
    fn tag_in(tag: c_int) -> i32 {
        tag
    }

    #[inline]
    fn tag_out(tag: i32) -> c_int {
        tag
    }

    #[inline]
    fn constant_in(_group: ConstantGroup, value: c_int) -> i32 {
        value
    }

    #[inline]
    fn constant_out(_group: ConstantGroup, value: i32) -> c_int {
        value
    }

    #[inline]
    fn error_out(class: ErrorClass) -> c_int {
        class.0
    }

    #[inline]
    fn error_in(code: c_int) -> ErrorClass {
        ErrorClass(code)
    }

    #[inline]
    fn buffer_in(address: *const c_void) -> UserBuffer {
        UserBuffer(address.cast_mut().cast())
    }

    #[inline]
    fn is_unweighted(address: *const c_int) -> bool {
        address.addr() == 10
    }

    #[inline]
    fn is_weights_empty(address: *const c_int) -> bool {
        address.addr() == 11
    }

    fn is_all_handles(handle: *const c_void) -> bool {
        handle.addr() == 1
    }

    #[inline]
    fn is_status_ignore(status: *const StandardStatus) -> bool {
        status.is_null()
    }

    #[inline]
    unsafe fn status_out(to: *mut StandardStatus, status: &Status, with_error: bool) {
        // SAFETY: the caller's promise: `to` is writable. Fields alone, since the program's
        // struct may not be initialised.
        unsafe {
            (*to).source = status.source;
            (*to).tag = status.tag;
            (*to).bytes_low = status.bytes as c_int;
            (*to).bytes_high = (status.bytes >> 32) as c_int;
            (*to).cancelled = c_int::from(status.cancelled);
            if with_error {
                (*to).error = Self::error_out(status.error);
            }
        }
    }

    unsafe fn status_in(from: *const StandardStatus) -> Status {
        // SAFETY: the caller's promise: `from` is readable.
        let from = unsafe { &*from };
        Status {
            source: from.source,
            tag: from.tag,
            error: Self::error_in(from.error),
            bytes: u64::from(from.bytes_low as u32) | u64::from(from.bytes_high as u32) << 32,
            cancelled: from.cancelled != 0,
        }
    }

    unsafe fn status_fields(status: *mut StandardStatus) -> StatusFields {
        // SAFETY: the caller's promise: there is room for a status.
        unsafe {
            StatusFields {
                source: &raw mut (*status).source,
                tag: &raw mut (*status).tag,
                error: &raw mut (*status).error,
            }
        }
    }

    unsafe fn status_set_bytes(to: *mut StandardStatus, bytes: u64) {
        // SAFETY: the caller's promise: `to` is writable.
        unsafe {
            (*to).bytes_low = bytes as c_int;
            (*to).bytes_high = (bytes >> 32) as c_int;
        }
    }

    unsafe fn status_set_cancelled(to: *mut StandardStatus, cancelled: bool) {
        // SAFETY: the caller's promise: `to` is writable.
        unsafe { (*to).cancelled = c_int::from(cancelled) };
    }
}
