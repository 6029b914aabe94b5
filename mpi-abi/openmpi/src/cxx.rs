//! What Debian's `libmpi_cxx.so.40` (Open MPI 4's C++ binding) needs of the C library.
//!
//! The binding makes every reduction function of C++ an operation with one and the same C
//! function, `ompi_mpi_cxx_op_intercept`, which it defines itself, and then tells the C library
//! which function of the user stands behind that operation. The intercept is called with it as
//! a fifth argument.
//!
//! It also reaches into Open MPI's insides: for attribute keys and for errors that it finds itself,
//! which are served by the public procedures, for error handlers (`cxx_errors`), and for three
//! tables, which stay empty. Registered data representations are not supported. Of what it needs
//! of `libopen-pal.so.40`, which it names as needed itself and Debian ships beside it, nothing is
//! here: two definitions of that library's insides in one process would disagree.

use std::collections::BTreeMap;
use std::ffi::{c_char, c_int, c_void};
use std::mem::transmute;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use mpi_abi::face::Face;
use mpi_abi::mpi_core::error::ErrorClass;
use mpi_abi::mpi_core::handle::{CommHandle, DatatypeHandle, FileKind, Kind, OpHandle, WinKind};
use parking_lot::Mutex;

use crate::OpenMpi;
use crate::exports;
use crate::word;

type Intercept = unsafe extern "C-unwind" fn(
    *mut c_void,
    *mut c_void,
    *mut c_int,
    *mut *mut c_void,
    *const c_void,
);

/// The binding's intercept, once it has made an operation.
static INTERCEPT: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

/// The function of the user behind each operation made with the intercept, by its handle.
static BEHIND: Mutex<BTreeMap<u32, usize>> = Mutex::new(BTreeMap::new());

/// Notes that `function` stands behind the operation `op`, which was made with the intercept.
///
/// # Safety
/// `op` is a handle; `function` is a reduction function of the C++ binding.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn ompi_op_set_cxx_callback(
    op: *mut c_void,
    function: *const c_void,
) {
    // SAFETY: the name is a C string; the address is only compared and called as what the
    // binding defines under this name.
    let intercept =
        unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"ompi_mpi_cxx_op_intercept".as_ptr()) };
    let mut behind = BEHIND.lock();
    behind.insert(OpenMpi::op_in(op).raw(), function as usize);
    INTERCEPT.store(intercept, Ordering::Release);
}

/// The C++ function behind `op`, if `function` is the binding's intercept.
pub(crate) fn behind_intercept(op: OpHandle, function: *const c_void) -> Option<*const c_void> {
    let intercept = INTERCEPT.load(Ordering::Acquire);
    if intercept.is_null() || !ptr::eq(intercept.cast_const(), function) {
        return None;
    }
    let behind = BEHIND.lock();
    behind.get(&op.raw()).map(|user| ptr::with_exposed_provenance(*user))
}

/// Calls the intercept for the function `user`.
///
/// # Safety
/// `intercept` is the binding's; the rest is as for [`Face::call_op`].
pub(crate) unsafe fn call(
    intercept: *const c_void,
    user: *const c_void,
    input: *const u8,
    inout: *mut u8,
    count: i64,
    datatype: DatatypeHandle,
) {
    let mut count = count as c_int;
    let mut datatype = OpenMpi::datatype_out(datatype);
    // SAFETY: the caller vouches for the function and the buffers; the rest is local. The C++
    // binding has no large counts.
    unsafe {
        let call: Intercept = transmute(intercept);
        call(input.cast_mut().cast(), inout.cast(), &mut count, &mut datatype, user);
    }
}

/// What an attribute key is for, in Open MPI's numbers.
mod attribute {
    pub(super) const COMM: i32 = 1;
    pub(super) const TYPE: i32 = 2;
    pub(super) const WIN: i32 = 3;
}

/// Makes an attribute key whose functions are the binding's own C functions.
///
/// # Safety
/// As for `MPI_Comm_create_keyval` and its like.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn ompi_attr_create_keyval(
    kind: c_int,
    copy: *const c_void,
    delete: *const c_void,
    key: *mut c_int,
    extra_state: *mut c_void,
    _flags: c_int,
    _binding_state: *mut c_void,
) -> c_int {
    // SAFETY: the caller's promise is the same.
    unsafe {
        match kind {
            attribute::COMM => exports::PMPI_Comm_create_keyval(copy, delete, key, extra_state),
            attribute::TYPE => exports::PMPI_Type_create_keyval(copy, delete, key, extra_state),
            attribute::WIN => exports::PMPI_Win_create_keyval(copy, delete, key, extra_state),
            _ => OpenMpi::error_out(ErrorClass::ARG),
        }
    }
}

/// Gives an error that the binding found to the error handler of `object`. What the binding reads
/// from the object as its handler and kind is nothing: the object itself says what it is.
///
/// # Safety
/// `object` is a communicator, window or file.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn ompi_errhandler_invoke(
    _handler: *mut c_void,
    object: *mut c_void,
    _kind: c_int,
    code: c_int,
    _message: *const c_char,
) -> c_int {
    // SAFETY: the caller's promise is the same.
    unsafe {
        match CommHandle::from_raw(word::read(object)).kind_number() {
            WinKind::NUMBER => exports::PMPI_Win_call_errhandler(object, code),
            FileKind::NUMBER => exports::PMPI_File_call_errhandler(object, code),
            _ => exports::PMPI_Comm_call_errhandler(object, code),
        };
    }
    code
}

/// Open MPI's number of internal error codes: there are none.
#[allow(non_upper_case_globals)]
#[unsafe(no_mangle)]
pub(crate) static mut ompi_errcode_intern_lastused: c_int = 0;

/// Open MPI's table of internal error codes, empty.
#[allow(non_upper_case_globals)]
#[unsafe(no_mangle)]
pub(crate) static mut ompi_errcodes_intern: [u64; 15] = [0; 15];

/// Open MPI's list of data representations, of which there is none.
#[allow(non_upper_case_globals)]
#[unsafe(no_mangle)]
pub(crate) static mut ompi_registered_datareps: [u64; 8] = [0; 8];
