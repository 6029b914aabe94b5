//! What distinguishes one ABI from another.
//!
//! The core knows one set of values: those of the standard ABI. A [`Face`] says how the values of
//! its ABI look and converts at the border, by kind of parameter: handles, ranks, tags, constants,
//! addresses with a special meaning, statuses, callbacks, and how long a string its callers
//! have room for. All of it is monomorphised into the entry points: no indirect call.

pub mod callbacks;

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

use mpi_core::buffer::UserBuffer;
use mpi_core::error::ErrorClass;
use mpi_core::handle::*;
use mpi_core::status::Status;

use crate::abi::Abi;
use crate::claim::FaceMark;

/// Longest strings, with their terminating NUL, that callers of a face have room for, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct StringLimits {
    /// `MPI_MAX_ERROR_STRING`.
    pub error: usize,
    /// `MPI_MAX_OBJECT_NAME`.
    pub object_name: usize,
    /// `MPI_MAX_PROCESSOR_NAME`.
    pub processor_name: usize,
    /// `MPI_MAX_LIBRARY_VERSION_STRING`.
    pub library_version: usize,
    /// `MPI_MAX_PORT_NAME`.
    pub port_name: usize,
    /// `MPI_MAX_INFO_KEY`: the longest key that `MPI_Info_get_nthkey` returns.
    pub info_key: usize,
    /// `MPI_MAX_INFO_VAL`.
    pub info_value: usize,
    /// `MPI_MAX_DATAREP_STRING`.
    pub datarep: usize,
}

/// An integer constant whose value differs between ABIs, by its group in the standard. Within a
/// group the core's values are the standard ABI's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConstantGroup {
    /// `MPI_THREAD_SINGLE` … `MPI_THREAD_MULTIPLE`.
    ThreadLevel,
    /// `MPI_IDENT` … `MPI_UNEQUAL`.
    Comparison,
    /// `MPI_GRAPH`, `MPI_CART`, `MPI_DIST_GRAPH`, `MPI_UNDEFINED`.
    Topology,
    /// `MPI_COMM_TYPE_*`, `MPI_UNDEFINED`.
    SplitType,
    /// `MPI_COMBINER_*`.
    Combiner,
    /// `MPI_ORDER_C`, `MPI_ORDER_FORTRAN`.
    Order,
    /// `MPI_DISTRIBUTE_*`.
    Distribution,
    /// `MPI_TYPECLASS_*`.
    TypeClass,
    /// `MPI_LOCK_*`.
    LockType,
    /// `MPI_WIN_FLAVOR_*`.
    WinFlavor,
    /// `MPI_WIN_SEPARATE`, `MPI_WIN_UNIFIED`.
    WinModel,
    /// Bits of window assertions, `MPI_MODE_NOCHECK` ….
    RmaAssert,
    /// Bits of file access modes, `MPI_MODE_RDONLY` ….
    FileMode,
    /// `MPI_SEEK_*`.
    Seek,
    /// Predefined attribute keys, `MPI_KEYVAL_INVALID`, `MPI_TAG_UB` …; user keys pass through.
    Keyval,
    /// `MPI_T_VERBOSITY_*`.
    ToolVerbosity,
    /// `MPI_T_BIND_*`.
    ToolBind,
    /// `MPI_T_SCOPE_*`.
    ToolScope,
    /// `MPI_T_PVAR_CLASS_*`.
    ToolPvarClass,
    /// `MPI_T_SOURCE_ORDERED`, `MPI_T_SOURCE_UNORDERED`.
    ToolOrdering,
    /// `MPI_T_CB_REQUIRE_*`.
    ToolSafety,
}

/// The last value that could be no handle, for the message about it.
static LAST_FOREIGN: AtomicUsize = AtomicUsize::new(0);

/// What `value`, which can be no handle, becomes in the core.
#[cold]
pub fn foreign(value: usize) -> u32 {
    LAST_FOREIGN.store(value, Ordering::Relaxed);
    FOREIGN_HANDLE
}

/// What the program passed for a handle that was taken for foreign last.
pub fn foreign_value() -> usize {
    LAST_FOREIGN.load(Ordering::Relaxed)
}

/// The public fields of a status, integers of the program's ABI in each.
#[derive(Clone, Copy, Debug)]
pub struct StatusFields {
    /// `MPI_SOURCE`.
    pub source: *mut c_int,
    /// `MPI_TAG`.
    pub tag: *mut c_int,
    /// `MPI_ERROR`.
    pub error: *mut c_int,
}

/// What a constant argument that the face does not know becomes when its number would mean
/// something in the core; any other unknown number is passed on and reported as it is.
pub const FOREIGN_VALUE: i32 = i32::MIN;

macro_rules! kept_handles {
    ($($kept:ident $out:ident $word:ident $handle:ident;)*) => {$(
        /// Converts a handle that the program has kept as an INTEGER: its object may be gone, and another in its place.
        fn $kept(handle: $handle) -> Self::$word {
            Self::$out(handle)
        }
    )*};
}

/// One ABI. Everything is an associated function: a face has no values.
///
/// `xxx_in` turns what a program passed into the core's value; what is not valid in the face
/// becomes something that is not valid in the core, so that the ordinary checks report it.
/// `xxx_out` turns a core value into what the program expects.
pub trait Face: Sized + 'static {
    /// Which one this is.
    const ABI: Abi;
    /// Its name in messages: "standard ABI", "MPICH ABI", "Open MPI ABI".
    const NAME: &'static str;
    /// String lengths of its callers.
    const LIMITS: StringLimits;
    /// `MPI_BSEND_OVERHEAD` in its header, in bytes.
    const BSEND_OVERHEAD: usize;
    /// `MPI_VERSION` and `MPI_SUBVERSION` that its header states.
    const MPI_VERSION: (c_int, c_int);
    /// What `MPI_Abi_get_version` answers.
    const ABI_VERSION: (c_int, c_int);
    /// `MPI_ERR_LASTCODE` in its header.
    const ERR_LASTCODE: c_int;
    /// `MPI_F_STATUS_SIZE`: INTEGERs in a Fortran status.
    const F_STATUS_SIZE: usize;
    /// `MPI_DISPLACEMENT_CURRENT` in its header.
    const DISPLACEMENT_CURRENT: i64;

    /// `MPI_Comm`.
    type Comm: Copy;
    /// `MPI_Group`.
    type Group: Copy;
    /// `MPI_Datatype`.
    type Datatype: Copy;
    /// `MPI_Op`.
    type Op: Copy;
    /// `MPI_Request`.
    type Request: Copy;
    /// `MPI_Errhandler`.
    type Errhandler: Copy;
    /// `MPI_Info`.
    type Info: Copy;
    /// `MPI_Win`.
    type Win: Copy;
    /// `MPI_File`.
    type File: Copy;
    /// `MPI_Session`.
    type Session: Copy;
    /// `MPI_Message`.
    type Message: Copy;
    /// `MPI_Status`.
    type Status;

    /// The mark by which other libraries of the process find this one.
    fn mark() -> &'static FaceMark;

    /// Converts a handle argument.
    fn comm_in(handle: Self::Comm) -> CommHandle;
    /// Converts a handle result.
    fn comm_out(handle: CommHandle) -> Self::Comm;
    /// Converts a handle argument.
    fn group_in(handle: Self::Group) -> GroupHandle;
    /// Converts a handle result.
    fn group_out(handle: GroupHandle) -> Self::Group;
    /// Converts a handle argument.
    fn datatype_in(handle: Self::Datatype) -> DatatypeHandle;
    /// Converts a handle result.
    fn datatype_out(handle: DatatypeHandle) -> Self::Datatype;
    /// Converts a handle argument.
    fn op_in(handle: Self::Op) -> OpHandle;
    /// Converts a handle result.
    fn op_out(handle: OpHandle) -> Self::Op;
    /// Converts a handle argument.
    fn request_in(handle: Self::Request) -> RequestHandle;
    /// Converts a handle result.
    fn request_out(handle: RequestHandle) -> Self::Request;
    /// Converts a handle argument.
    fn errhandler_in(handle: Self::Errhandler) -> ErrhandlerHandle;
    /// Converts a handle result.
    fn errhandler_out(handle: ErrhandlerHandle) -> Self::Errhandler;
    /// Converts a handle argument.
    fn info_in(handle: Self::Info) -> InfoHandle;
    /// Converts a handle result.
    fn info_out(handle: InfoHandle) -> Self::Info;
    /// Converts a handle argument.
    fn win_in(handle: Self::Win) -> WinHandle;
    /// Converts a handle result.
    fn win_out(handle: WinHandle) -> Self::Win;
    /// Converts a handle argument.
    fn file_in(handle: Self::File) -> FileHandle;
    /// Converts a handle result.
    fn file_out(handle: FileHandle) -> Self::File;
    /// Converts a handle argument.
    fn session_in(handle: Self::Session) -> SessionHandle;
    /// Converts a handle result.
    fn session_out(handle: SessionHandle) -> Self::Session;
    /// Converts a handle argument.
    fn message_in(handle: Self::Message) -> MessageHandle;
    /// Converts a handle result.
    fn message_out(handle: MessageHandle) -> Self::Message;

    /// Converts a handle argument that may mean nothing at this process, so that it may be anything.
    fn comm_in_doubt(handle: Self::Comm) -> CommHandle {
        Self::comm_in(handle)
    }
    /// As [`Face::comm_in_doubt`].
    fn datatype_in_doubt(handle: Self::Datatype) -> DatatypeHandle {
        Self::datatype_in(handle)
    }
    /// As [`Face::comm_in_doubt`].
    fn op_in_doubt(handle: Self::Op) -> OpHandle {
        Self::op_in(handle)
    }

    kept_handles! {
        comm_kept comm_out Comm CommHandle;
        group_kept group_out Group GroupHandle;
        datatype_kept datatype_out Datatype DatatypeHandle;
        op_kept op_out Op OpHandle;
        request_kept request_out Request RequestHandle;
        errhandler_kept errhandler_out Errhandler ErrhandlerHandle;
        info_kept info_out Info InfoHandle;
        win_kept win_out Win WinHandle;
        file_kept file_out File FileHandle;
        session_kept session_out Session SessionHandle;
        message_kept message_out Message MessageHandle;
    }

    /// The Fortran INTEGER of a core handle of any kind (`raw` is its 30-bit value).
    fn handle_to_fint(raw: u32) -> c_int;
    /// The core handle (30-bit value) of a Fortran INTEGER handle of kind `kind` (a kind number).
    fn handle_from_fint(kind: u32, fint: c_int) -> u32;

    /// What C has for a core handle that names nothing (`raw` is its 30-bit value), for messages: the number that
    /// the program passed.
    fn handle_number(raw: u32) -> usize {
        Self::handle_to_fint(raw) as u32 as usize
    }

    /// Converts a rank, source, destination or root argument.
    fn rank_in(rank: c_int) -> i32;
    /// Converts a rank result (also a status's source).
    fn rank_out(rank: i32) -> c_int;
    /// Converts a tag argument.
    fn tag_in(tag: c_int) -> i32;
    /// Converts a tag result (also a status's tag).
    fn tag_out(tag: i32) -> c_int;
    /// Converts a constant argument (or set of bits).
    fn constant_in(group: ConstantGroup, value: c_int) -> i32;
    /// Converts a constant result (or set of bits).
    fn constant_out(group: ConstantGroup, value: i32) -> c_int;
    /// The face's number of an error class. User-defined classes and codes pass through shifted
    /// above the face's own last predefined one.
    fn error_out(class: ErrorClass) -> c_int;
    /// The core's class of an error code that a program passed.
    fn error_in(code: c_int) -> ErrorClass;
    /// Converts a buffer address: `MPI_BOTTOM`, `MPI_IN_PLACE`, `MPI_BUFFER_AUTOMATIC`.
    fn buffer_in(address: *const c_void) -> UserBuffer;
    /// The address that the program gets: that of memory, or `MPI_BUFFER_AUTOMATIC`.
    fn buffer_out(buffer: UserBuffer) -> *mut c_void {
        buffer.0.cast()
    }
    /// Whether this is `MPI_UNWEIGHTED`.
    fn is_unweighted(address: *const c_int) -> bool;
    /// Whether this is `MPI_WEIGHTS_EMPTY`.
    fn is_weights_empty(address: *const c_int) -> bool;

    /// Whether this is `MPI_T_PVAR_ALL_HANDLES`.
    fn is_all_handles(handle: *const c_void) -> bool;

    /// Whether this is `MPI_STATUS_IGNORE` (or `MPI_STATUSES_IGNORE`).
    fn is_status_ignore(status: *const Self::Status) -> bool;

    /// Writes source, tag, byte count and cancelled flag, and the error field iff `with_error`
    /// (MPI-5.0 §3.2.5: single-status calls leave it alone).
    ///
    /// # Safety
    /// `to` is writable and not an ignore value.
    unsafe fn status_out(to: *mut Self::Status, status: &Status, with_error: bool);

    /// Reads a status that the library or the program filled.
    ///
    /// # Safety
    /// `from` is readable and not an ignore value.
    unsafe fn status_in(from: *const Self::Status) -> Status;

    /// Where the public fields of a status are.
    ///
    /// # Safety
    /// `status` is a place for one, and not an ignore value.
    unsafe fn status_fields(status: *mut Self::Status) -> StatusFields;

    /// Writes the byte count alone.
    ///
    /// # Safety
    /// `to` is writable and not an ignore value.
    unsafe fn status_set_bytes(to: *mut Self::Status, bytes: u64);

    /// Writes the cancelled flag alone.
    ///
    /// # Safety
    /// `to` is writable and not an ignore value.
    unsafe fn status_set_cancelled(to: *mut Self::Status, cancelled: bool);

    /// Calls a reduction function of the program: `MPI_User_function`, or `MPI_User_function_c`
    /// when `large`.
    ///
    /// # Safety
    /// `function` is such a function; the buffers hold `count` elements of `datatype`; unless
    /// `large`, `count` fits a C `int`. `_op` is the operation made of it.
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
        unsafe { callbacks::call_op::<Self>(function, large, input, inout, count, datatype) }
    }

    /// Calls an attribute copy function on an object of kind `kind` (communicator, datatype or
    /// window) and returns its error code (face's number), the copied value and the flag. The
    /// face's null and dup functions are recognised here.
    ///
    /// # Safety
    /// `function` is a copy function for that kind or one of the predefined ones.
    unsafe fn call_copy_attr(
        function: *const c_void,
        kind: u32,
        object: u32,
        keyval: i32,
        extra_state: *mut c_void,
        value: *mut c_void,
    ) -> (c_int, *mut c_void, bool) {
        // SAFETY: the caller's promise is the same.
        unsafe {
            callbacks::call_copy_attr::<Self>(function, kind, object, keyval, extra_state, value)
        }
    }

    /// Calls an attribute delete function; see [`Face::call_copy_attr`].
    ///
    /// # Safety
    /// `function` is a delete function for that kind or the predefined null function.
    unsafe fn call_delete_attr(
        function: *const c_void,
        kind: u32,
        object: u32,
        keyval: i32,
        value: *mut c_void,
        extra_state: *mut c_void,
    ) -> c_int {
        // SAFETY: the caller's promise is the same.
        unsafe {
            callbacks::call_delete_attr::<Self>(function, kind, object, keyval, value, extra_state)
        }
    }

    /// Calls an error handler function with a pointer to the handle and to the code; the code that it leaves.
    ///
    /// # Safety
    /// `function` is an error handler function for objects of kind `kind`.
    unsafe fn call_errhandler(
        function: *const c_void,
        kind: u32,
        object: u32,
        code: c_int,
    ) -> c_int {
        // SAFETY: the caller's promise is the same.
        unsafe { callbacks::call_errhandler::<Self>(function, kind, object, code) }
    }

    /// What an error handler does that leaves errors to the binding for C++ (`ERRORS_THROW` of the core); `false` if
    /// there is none, and the error ends the job. A binding may do it itself, once it gets the code and finds this
    /// handler at the object.
    ///
    /// # Safety
    /// Such a binding, if there is one, is of the kind that this face's programs have.
    unsafe fn leave_to_cxx(_kind: u32, _object: u32, _code: c_int) -> bool {
        true
    }

    /// Calls a generalized request's query function; the status is converted both ways.
    ///
    /// # Safety
    /// `function` is an `MPI_Grequest_query_function`.
    unsafe fn call_grequest_query(
        function: *const c_void,
        extra_state: *mut c_void,
        status: &mut Status,
    ) -> c_int {
        // SAFETY: the caller's promise is the same.
        unsafe { callbacks::call_grequest_query::<Self>(function, extra_state, status) }
    }
}
