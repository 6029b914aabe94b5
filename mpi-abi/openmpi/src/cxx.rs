//! What Debian's `libmpi_cxx.so.40` (Open MPI 4's C++ binding) needs of the C library.
//!
//! The binding makes every reduction function of C++ an operation with one and the same C
//! function, `ompi_mpi_cxx_op_intercept`, which it defines itself, and then tells the C library
//! which function of the user stands behind that operation. The intercept is called with it as
//! a fifth argument.

use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::mem::transmute;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use mpi_abi::face::Face;
use mpi_abi::mpi_core::handle::{DatatypeHandle, OpHandle};
use parking_lot::Mutex;

use crate::face::OpenMpi;

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
