//! An auditor of the dynamic loader (rtld-audit(7)): whenever a program or a library asks for one of
//! the names under which MPI libraries are known, the loader is shown ours instead, past an RPATH
//! and past the path given to dlopen.
//!
//! In: the names that the loader looks for. Out: the same names, or paths below the folder above the
//! one that this file lies in (`lib/ferrite/libferrite_audit.so` serves `lib/`). It is loaded into a
//! namespace of its own, before anything of the program runs: no allocation beyond one string for
//! each redirected name, no thread, nothing written.

#![allow(unsafe_code)]

use libc::{c_char, c_int, c_uint};
use std::ffi::{CStr, CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::OnceLock;

/// The version of the interface that this file is written for.
const LAV_CURRENT: c_uint = 2;

/// The search of the name as the program gave it; later calls pass the paths that the loader tries.
const LA_SER_ORIG: c_uint = 1;

/// The libraries that stand for one of our faces, by the names that binaries ask for.
const NAMES: [&str; 13] = [
    "libmpi_abi.so.1",
    "libmpi_abi.so.0",
    "libmpi.so.12",
    "libmpich.so.12",
    "libmpifort.so.12",
    "libmpichfort.so.12",
    "libmpicxx.so.12",
    "libmpichcxx.so.12",
    "libmpi.so.40",
    "libmpi_mpifh.so.40",
    "libmpi_usempif08.so.40",
    "libmpi_usempi_ignore_tkr.so.40",
    "libmpifort_abi.so.1",
];

/// Says that this auditor can be used with any loader of our version or newer.
#[unsafe(no_mangle)]
pub extern "C" fn la_version(_offered: c_uint) -> c_uint {
    LAV_CURRENT
}

/// Called for each name that is searched for; the returned name is searched for instead.
///
/// # Safety
/// Called by the dynamic loader only, with a name that ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn la_objsearch(
    name: *const c_char,
    _cookie: *mut usize,
    flag: c_uint,
) -> *mut c_char {
    let unchanged = name.cast_mut();
    if flag != LA_SER_ORIG || name.is_null() {
        return unchanged;
    }
    // SAFETY: the loader passes a string that lives for the whole call.
    let asked = unsafe { CStr::from_ptr(name) };
    match ours_for(asked.to_bytes()) {
        // The loader keeps the pointer for as long as it searches; the string is never freed.
        Some(ours) => ours.into_raw(),
        None => unchanged,
    }
}

/// Our file for a name or path that somebody asked for, if we have one and it is not ours already.
fn ours_for(asked: &[u8]) -> Option<CString> {
    let base = asked.rsplit(|&b| b == b'/').next()?;
    let known = NAMES.iter().find(|name| name.as_bytes() == base)?;
    let ours = folder()?.join(known);
    if ours.as_os_str() == OsStr::from_bytes(asked) || !ours.exists() {
        return None;
    }
    CString::new(ours.into_os_string().into_encoded_bytes()).ok()
}

/// The folder of our libraries: two levels above this file.
fn folder() -> Option<&'static PathBuf> {
    static FOLDER: OnceLock<Option<PathBuf>> = OnceLock::new();
    FOLDER.get_or_init(find_folder).as_ref()
}

fn find_folder() -> Option<PathBuf> {
    // SAFETY: Dl_info is plain pointers; dladdr fills it for the address of a function of ours.
    let (found, info): (c_int, libc::Dl_info) = unsafe {
        let mut info = std::mem::zeroed();
        (libc::dladdr(find_folder as *const libc::c_void, &mut info), info)
    };
    if found == 0 || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: the loader keeps the file name for as long as this library is loaded.
    let file = unsafe { CStr::from_ptr(info.dli_fname) };
    let file = PathBuf::from(OsStr::from_bytes(file.to_bytes()));
    Some(file.parent()?.parent()?.to_path_buf())
}
