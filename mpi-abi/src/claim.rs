//! One face per process (decision 31): a second one is refused, both files named.
//!
//! The faces export the same `MPI_*` names with different values behind them, so a program that
//! brings two of them would call one with the constants of the other. There is no constructor
//! (decision 16), therefore `MPI_Init` and `MPI_Session_init` look: each face exports a
//! [`FaceMark`] under a name of its own; a mark of another library that is in the global symbol
//! scope, or that this process has already initialised, is an error. A face that was only opened
//! locally and never used does no harm.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use mpi_core::error::{Error, ErrorClass};

use crate::abi::Abi;

/// Says which ABI a loaded library has and whether it is in use.
#[repr(C)]
#[derive(Debug)]
pub struct FaceMark {
    /// Layout of this struct, for libraries of different releases in one process.
    version: u32,
    abi: u32,
    /// The process that initialised the library; 0 until then.
    claimed_by: AtomicI32,
}

const MARK_VERSION: u32 = 1;

/// The exported names of the marks, with the name of the face for messages.
const MARKS: [(&CStr, &str); 3] = [
    (c"ferrite_face_standard", "standard ABI"),
    (c"ferrite_face_mpich", "MPICH ABI"),
    (c"ferrite_face_openmpi", "Open MPI ABI"),
];

impl FaceMark {
    /// The mark of a face, to be exported as `ferrite_face_standard`, `ferrite_face_mpich` or
    /// `ferrite_face_openmpi`.
    pub const fn new(abi: Abi) -> FaceMark {
        FaceMark { version: MARK_VERSION, abi: abi as u32, claimed_by: AtomicI32::new(0) }
    }

    fn claimed_by(&self, process: i32) -> bool {
        // A mark of another layout keeps the version first; it is then taken for unused.
        self.version == MARK_VERSION && self.claimed_by.load(Ordering::Acquire) == process
    }
}

/// Claims the process for the library with `own` mark; called by every initialisation, before
/// anything of the library is touched. Claiming again is no error.
pub fn claim(own: &'static FaceMark) -> Result<(), Error> {
    // Not exported, hence of this very library, while `own` may be that of another copy of it
    // that stands earlier in the symbol scope.
    static OURS: AtomicBool = AtomicBool::new(false);
    if OURS.load(Ordering::Acquire) {
        return Ok(());
    }
    // SAFETY: getpid cannot fail.
    let process = unsafe { libc::getpid() };
    let here = ptr::from_ref(&OURS).cast::<c_void>();
    let own_name = MARKS[own.abi as usize].1;
    if own.claimed_by(process) {
        return Err(refusal(own_name, here, own_name, ptr::from_ref(own).cast()));
    }
    for (symbol, name) in MARKS {
        for (found, is_global) in marks(symbol) {
            // SAFETY: `marks` returns addresses of marks in libraries that stay loaded
            // (all faces are linked with -z nodelete).
            let other = unsafe { &*found };
            if !ptr::eq(other, own) && (is_global || other.claimed_by(process)) {
                return Err(refusal(own_name, here, name, found.cast()));
            }
        }
    }
    own.claimed_by.store(process, Ordering::Release);
    OURS.store(true, Ordering::Release);
    Ok(())
}

fn refusal(name: &str, here: *const c_void, other: &str, there: *const c_void) -> Error {
    let text = format!(
        "two MPI libraries of Ferrite are in one process: the {name} in {} and the {other} in {}",
        file_of(here),
        file_of(there)
    );
    Error::new(ErrorClass::OTHER, text)
        .hint("Build every part of the program with one MPI, or find out which part loads another.")
}

/// The marks called `symbol` in this process, and whether each is in the global scope.
fn marks(symbol: &CStr) -> Vec<(*const FaceMark, bool)> {
    // SAFETY: the name is a C string; the result is only compared and read as a mark.
    let global = unsafe { libc::dlsym(libc::RTLD_DEFAULT, symbol.as_ptr()) };
    let mut found: Vec<(*const FaceMark, bool)> = Vec::new();
    if !global.is_null() {
        found.push((global.cast_const().cast(), true));
    }
    for file in loaded_files() {
        if let Some(mark) = mark_in(&file, symbol)
            && found.iter().all(|(known, _)| *known != mark)
        {
            found.push((mark, false));
        }
    }
    found
}

/// The mark called `symbol` that the loaded library `file` or what it needs defines.
fn mark_in(file: &CStr, symbol: &CStr) -> Option<*const FaceMark> {
    // SAFETY: with RTLD_NOLOAD nothing is loaded and no code of the library runs; the handle is
    // closed again, which undoes the count that dlopen took.
    unsafe {
        let library = libc::dlopen(file.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        if library.is_null() {
            return None;
        }
        let mark = libc::dlsym(library, symbol.as_ptr());
        libc::dlclose(library);
        (!mark.is_null()).then_some(mark.cast_const().cast())
    }
}

/// The files of all loaded libraries. They are opened later, not in the callback, which runs
/// under the loader's lock.
fn loaded_files() -> Vec<CString> {
    unsafe extern "C" fn note(
        info: *mut libc::dl_phdr_info,
        _size: usize,
        files: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader passes a valid info, whose name is a C string or null, and hands
        // through the vector that `loaded_files` lends it.
        unsafe {
            let name: *const c_char = (*info).dlpi_name;
            if !name.is_null() && *name != 0 {
                (*files.cast::<Vec<CString>>()).push(CStr::from_ptr(name).to_owned());
            }
        }
        0
    }
    let mut files: Vec<CString> = Vec::new();
    // SAFETY: `note` gets the vector it expects and is only called during this call.
    unsafe { libc::dl_iterate_phdr(Some(note), ptr::from_mut(&mut files).cast()) };
    files
}

/// The file of the library that holds `address`.
fn file_of(address: *const c_void) -> String {
    // SAFETY: dladdr fills `info` or returns 0; the name it gives is a C string.
    unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        if libc::dladdr(address, &mut info) == 0 || info.dli_fname.is_null() {
            return "an unknown file".to_string();
        }
        CStr::from_ptr(info.dli_fname).to_string_lossy().into_owned()
    }
}
