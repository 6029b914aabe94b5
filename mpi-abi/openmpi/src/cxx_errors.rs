//! Error handlers of C++ programs, as Debian's `libmpi_cxx.so.40` (Open MPI 4's binding) makes them.
//!
//! The binding asks for an error handler with the program's C++ function, and writes the address of
//! a function of its own into the object that it gets: where Open MPI keeps it, 120 bytes from the
//! start. That function makes the C++ object out of the C handle and calls the program's. So such a
//! handler's object is larger than the cells of other handles, and is itself what the core keeps as
//! the handler's function.
//!
//! `MPI::ERRORS_THROW_EXCEPTIONS` is an object of the C library, into which the binding writes when MPI begins which
//! function is to hear of an error. Debian's is compiled without exceptions: its functions write a line to the error
//! stream, set `MPI::mpi_errno` and return.

use std::collections::BTreeMap;
use std::ffi::{c_char, c_int, c_void};
use std::mem::{offset_of, transmute};
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use mpi_abi::face::Face;
use mpi_abi::mpi_core::errhandler::ERRORS_THROW;
use mpi_abi::mpi_core::handle::{CommHandle, FileKind, Handle, Kind, WinKind};
use parking_lot::Mutex;

use crate::OpenMpi;
use crate::exports;
use crate::{objects, word};

/// What a handler is for, in Open MPI's numbers.
mod target {
    pub(super) const COMM: i32 = 1;
    pub(super) const WIN: i32 = 2;
    pub(super) const FILE: i32 = 3;
}

/// Makes a C++ object of the handle and calls the program's function, which is the last argument.
type Dispatch =
    unsafe extern "C-unwind" fn(*mut *mut c_void, *mut c_int, *const c_char, *const c_void);

/// A C error handler function, to which the address of the handle and of the code are given, and in C more.
type Hear = unsafe extern "C-unwind" fn(*mut *mut c_void, *mut c_int, ...);

/// The object of such a handler.
#[repr(C)]
struct Handler {
    /// The handle, as in every object.
    word: AtomicU64,
    /// The program's C++ function.
    function: AtomicPtr<c_void>,
    between: [AtomicU64; 13],
    /// Written by the binding.
    dispatch: AtomicPtr<c_void>,
}

const _: () = assert!(offset_of!(Handler, dispatch) == 0x78);

/// What the binding writes into the object of `MPI::ERRORS_THROW_EXCEPTIONS`: a function for each kind of object, 88
/// bytes from the start.
#[repr(C)]
struct Throwing {
    before: [u64; 11],
    comm: AtomicPtr<c_void>,
    file: AtomicPtr<c_void>,
    win: AtomicPtr<c_void>,
}

const _: () = assert!(offset_of!(Throwing, comm) == 0x58);

/// The objects: of handlers in use by the index of their handle, and those to be used again.
struct Handlers {
    by_index: BTreeMap<u32, &'static Handler>,
    spare: Vec<&'static Handler>,
}

static HANDLERS: Mutex<Handlers> =
    Mutex::new(Handlers { by_index: BTreeMap::new(), spare: Vec::new() });

/// Makes an error handler whose function is one of C++.
///
/// # Safety
/// `function` is an error handler of the C++ binding for objects of this kind.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn ompi_errhandler_create(
    kind: c_int,
    function: *mut c_void,
    _language: c_int,
) -> *mut c_void {
    let spare = HANDLERS.lock().spare.pop();
    let handler = spare.unwrap_or_else(|| {
        Box::leak(Box::new(Handler {
            word: AtomicU64::new(0),
            function: AtomicPtr::default(),
            between: [const { AtomicU64::new(0) }; 13],
            dispatch: AtomicPtr::default(),
        }))
    });
    handler.function.store(function, Ordering::Relaxed);
    handler.dispatch.store(ptr::null_mut(), Ordering::Relaxed);
    let address = ptr::from_ref(handler).cast::<c_void>();
    let mut cell: *mut c_void = ptr::null_mut();
    // SAFETY: the address is never called: `call` below knows it. The result is local.
    let code = unsafe {
        match kind {
            target::COMM => exports::PMPI_Comm_create_errhandler(address, &mut cell),
            target::WIN => exports::PMPI_Win_create_errhandler(address, &mut cell),
            target::FILE => exports::PMPI_File_create_errhandler(address, &mut cell),
            _ => -1,
        }
    };
    let mut handlers = HANDLERS.lock();
    if code != 0 {
        handlers.spare.push(handler);
        return ptr::null_mut();
    }
    let raw = word::read(cell);
    handler.word.store(word::of(raw), Ordering::Relaxed);
    // Whoever had this index before is gone, and so is whatever referred to it.
    let before = handlers.by_index.insert(CommHandle::from_raw(raw).index(), handler);
    handlers.spare.extend(before);
    address.cast_mut()
}

/// Calls the handler if `function` is the object of one of C++; whether it was.
///
/// # Safety
/// As for [`Face::call_errhandler`].
pub(crate) unsafe fn call(function: *const c_void, kind: u32, object: u32, code: c_int) -> bool {
    let known = {
        let handlers = HANDLERS.lock();
        handlers.by_index.values().find(|handler| ptr::addr_eq(**handler, function)).copied()
    };
    let Some(handler) = known else { return false };
    let dispatch = handler.dispatch.load(Ordering::Relaxed);
    if dispatch.is_null() {
        return true; // the binding has not said how
    }
    let mut code = code;
    let mut object = object_of(kind, object);
    let user = handler.function.load(Ordering::Relaxed).cast_const();
    // SAFETY: the binding wrote its function for this kind; the rest is local.
    unsafe {
        let dispatch: Dispatch = transmute(dispatch);
        dispatch(&mut object, &mut code, c"".as_ptr(), user);
    }
    true
}

/// What the binding has written is to hear of errors at objects with `MPI::ERRORS_THROW_EXCEPTIONS`; `false` if the
/// program has no binding for C++.
///
/// # Safety
/// What is written in that handler's object is the binding's.
pub(crate) unsafe fn throw(kind: u32, object: u32, code: c_int) -> bool {
    let throwing = objects::address_of(ERRORS_THROW.raw()).cast::<Throwing>();
    // SAFETY: the object is larger, lives as long as the process, and is aligned.
    let throwing = unsafe { &*throwing };
    let function = match kind {
        WinKind::NUMBER => &throwing.win,
        FileKind::NUMBER => &throwing.file,
        _ => &throwing.comm,
    };
    let function = function.load(Ordering::Relaxed);
    if function.is_null() {
        return false;
    }
    let (mut object, mut code) = (object_of(kind, object), code);
    // SAFETY: the caller vouches for the function; the rest is local.
    unsafe {
        let hear: Hear = transmute(function);
        hear(&mut object, &mut code);
    }
    true
}

/// The C handle of an object.
fn object_of(kind: u32, object: u32) -> *mut c_void {
    match kind {
        WinKind::NUMBER => OpenMpi::win_out(Handle::from_raw(object)),
        FileKind::NUMBER => OpenMpi::file_out(Handle::from_raw(object)),
        _ => OpenMpi::comm_out(Handle::from_raw(object)),
    }
}
