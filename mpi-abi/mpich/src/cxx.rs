//! What `libmpicxx.so.12`, the C++ binding of MPICH and Intel MPI, needs of the C library.
//!
//! The binding hands the program's C++ functions to the C procedures as if they were functions of C,
//! and then says, by one of three hooks, which function of its own is to be called in their place:
//! that one makes C++ objects of C handles and calls the program's. What is noted here is the
//! program's function and not the handle: handles come back for something else, while a function
//! has one language as long as it is there. The conventions were read off Intel MPI 2021.18.
//!
//! All of the binding's calls back are served: of operations, of error handlers of communicators,
//! files and windows, and of functions that copy and delete attributes. The binding knows no large
//! counts and no sessions. Exceptions it throws itself, where it finds the error handler for them
//! (`ERRORS_THROW` of the core). Data representations are not supported, in C++ as in C.

use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::mem::transmute;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use mpi_abi::cx::{Cx, Owner};
use mpi_abi::entry;
use mpi_abi::face::{ConstantGroup, Face};
use mpi_abi::mpi_core::attributes::{CopyFunction, DeleteFunction, Holder, Keyval, KeyvalHandle};
use mpi_abi::mpi_core::errhandler::Action;
use mpi_abi::mpi_core::handle::{CommKind, DatatypeHandle, FileKind, Handle, Kind, WinKind};
use mpi_abi::mpi_core::op::Op;
use mpi_abi::procedure::Procedure;
use parking_lot::Mutex;

use crate::Mpich;

/// Calls a reduction function: input, result, count, datatype, the program's function.
type CallOp = unsafe extern "C-unwind" fn(*const c_void, *mut c_void, c_int, c_int, *const c_void);
/// Calls an error handler: kind of object, address of the handle, of the code, the function.
type CallErrhandler = unsafe extern "C-unwind" fn(c_int, *mut c_void, *mut c_int, *const c_void);
/// Calls a copy function: that, object, key, extra state, how the value was set, the value; and
/// where the copy and the flag go.
type CallCopy = unsafe extern "C-unwind" fn(
    *const c_void,
    c_int,
    c_int,
    *mut c_void,
    c_int,
    *mut c_void,
    *mut *mut c_void,
    *mut c_int,
) -> c_int;
/// Calls a delete function: that, object, key, how the value was set, the value, extra state.
type CallDelete = unsafe extern "C-unwind" fn(
    *const c_void,
    c_int,
    c_int,
    c_int,
    *mut c_void,
    *mut c_void,
) -> c_int;

/// An attribute's value as a pointer, in the numbers of the binding.
const SET_AS_POINTER: c_int = 0;

/// Kinds of objects with error handlers, in the binding's numbers.
mod target {
    pub(super) const COMM: i32 = 0;
    pub(super) const FILE: i32 = 1;
    pub(super) const WIN: i32 = 2;
}

/// By which functions of the binding C++ functions of one kind are called: one address by the other.
struct Proxies {
    /// Whether there are any: programs in C ask no further.
    any: AtomicBool,
    by_function: Mutex<BTreeMap<usize, usize>>,
}

impl Proxies {
    const fn new() -> Proxies {
        Proxies { any: AtomicBool::new(false), by_function: Mutex::new(BTreeMap::new()) }
    }

    fn note(&self, function: usize, proxy: *const c_void) {
        if !proxy.is_null() {
            self.by_function.lock().insert(function, proxy.expose_provenance());
            self.any.store(true, Ordering::Release);
        }
    }

    fn of(&self, function: *const c_void) -> Option<*const c_void> {
        if !self.any.load(Ordering::Acquire) {
            return None;
        }
        let by_function = self.by_function.lock();
        by_function.get(&function.addr()).map(|proxy| ptr::with_exposed_provenance(*proxy))
    }
}

static OPS: Proxies = Proxies::new();
static ERRHANDLERS: Proxies = Proxies::new();
static COPIES: Proxies = Proxies::new();
static DELETIONS: Proxies = Proxies::new();

/// Looks at what is behind a handle that the binding has just been given. If that has failed there
/// is nothing to note, and the binding has been told.
fn look(look: impl FnOnce(&mut Cx<'_>)) {
    entry::call::<Mpich>(Procedure::OpCommutative, Owner::None, |cx| {
        look(cx);
        Ok(())
    });
}

/// Notes that the function of the operation `op` is one of C++, to be called by `proxy`.
#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn MPII_Op_set_cxx(op: c_int, proxy: *const c_void) {
    look(|cx| {
        if let Ok(Op::User(user)) = cx.op(Mpich::op_in(op)) {
            OPS.note(user.function.address, proxy);
        }
    });
}

/// Notes the same of the function of an error handler.
#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn MPII_Errhandler_set_cxx(handler: c_int, proxy: *const c_void) {
    look(|cx| {
        let action = cx.always.errhandlers.lock().get(Mpich::errhandler_in(handler));
        if let Ok(Action::User(function, ..)) = action {
            ERRHANDLERS.note(function, proxy);
        }
    });
}

/// Notes the same of the two functions of an attribute key.
#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn MPII_Keyval_set_proxy(
    key: c_int,
    copy: *const c_void,
    delete: *const c_void,
) {
    let raw = Mpich::constant_in(ConstantGroup::Keyval, key).cast_unsigned();
    look(|cx| {
        let handle = KeyvalHandle::from_raw(raw);
        let holders = [Holder::Comm, Holder::Datatype, Holder::Win];
        let found = holders.into_iter().find_map(|holder| cx.keyvals.get(holder, handle).ok());
        let Some(&Keyval { copy: copied_by, delete: deleted_by, .. }) = found else { return };
        if let CopyFunction::User(function, _) = copied_by {
            COPIES.note(function, copy);
        }
        if let DeleteFunction::User(function, _) = deleted_by {
            DELETIONS.note(function, delete);
        }
    });
}

/// Calls a reduction function if it is one of C++; whether it was.
///
/// # Safety
/// As for [`Face::call_op`].
pub(crate) unsafe fn call_op(
    function: *const c_void,
    input: *const u8,
    inout: *mut u8,
    count: i64,
    datatype: DatatypeHandle,
) -> bool {
    let Some(proxy) = OPS.of(function) else { return false };
    let datatype = Mpich::datatype_out(datatype);
    // SAFETY: the binding gave this function for this kind of call; a function that is not large
    // is given counts that fit an int.
    unsafe {
        let call: CallOp = transmute(proxy);
        call(input.cast(), inout.cast(), count as c_int, datatype, function);
    }
    true
}

/// Calls an error handler if it is one of C++; whether it was.
///
/// # Safety
/// As for [`Face::call_errhandler`].
pub(crate) unsafe fn call_errhandler(
    function: *const c_void,
    kind: u32,
    object: u32,
    code: c_int,
) -> bool {
    let Some(proxy) = ERRHANDLERS.of(function) else { return false };
    let mut code = code;
    // SAFETY: the binding gave this function for this kind of call; the rest is local.
    unsafe {
        let call: CallErrhandler = transmute(proxy);
        if kind == FileKind::NUMBER {
            let mut file = Mpich::file_out(Handle::from_raw(object));
            call(target::FILE, (&raw mut file).cast(), &mut code, function);
            return true;
        }
        let (target, mut handle) = match kind {
            WinKind::NUMBER => (target::WIN, Mpich::win_out(Handle::from_raw(object))),
            _ => (target::COMM, Mpich::comm_out(Handle::from_raw(object))),
        };
        call(target, (&raw mut handle).cast(), &mut code, function);
    }
    true
}

/// The handle of an object with attributes.
fn object_out(kind: u32, object: u32) -> c_int {
    match kind {
        CommKind::NUMBER => Mpich::comm_out(Handle::from_raw(object)),
        WinKind::NUMBER => Mpich::win_out(Handle::from_raw(object)),
        _ => Mpich::datatype_out(Handle::from_raw(object)),
    }
}

/// Calls a copy function if it is one of C++; code, copy and flag as of [`Face::call_copy_attr`].
///
/// # Safety
/// As there.
pub(crate) unsafe fn call_copy(
    function: *const c_void,
    kind: u32,
    object: u32,
    keyval: i32,
    extra_state: *mut c_void,
    value: *mut c_void,
) -> Option<(c_int, *mut c_void, bool)> {
    let proxy = COPIES.of(function)?;
    let object = object_out(kind, object);
    let keyval = Mpich::constant_out(ConstantGroup::Keyval, keyval);
    let (mut copy, mut flag): (*mut c_void, c_int) = (ptr::null_mut(), 0);
    let (to, set) = (&raw mut copy, &raw mut flag);
    // SAFETY: the binding gave this function for this kind of call; the rest is local.
    let code = unsafe {
        let call: CallCopy = transmute(proxy);
        call(function, object, keyval, extra_state, SET_AS_POINTER, value, to, set)
    };
    Some((code, copy, flag != 0))
}

/// Calls a delete function if it is one of C++; its code.
///
/// # Safety
/// As for [`Face::call_delete_attr`].
pub(crate) unsafe fn call_delete(
    function: *const c_void,
    kind: u32,
    object: u32,
    keyval: i32,
    value: *mut c_void,
    extra_state: *mut c_void,
) -> Option<c_int> {
    let proxy = DELETIONS.of(function)?;
    let object = object_out(kind, object);
    let keyval = Mpich::constant_out(ConstantGroup::Keyval, keyval);
    // SAFETY: as above.
    Some(unsafe {
        let call: CallDelete = transmute(proxy);
        call(function, object, keyval, SET_AS_POINTER, value, extra_state)
    })
}
