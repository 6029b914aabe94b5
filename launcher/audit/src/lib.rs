//! An auditor of the dynamic loader (rtld-audit(7)): whenever a program or a library asks for one of
//! the names under which MPI libraries are known, the loader is shown ours instead, past an RPATH
//! and past the path given to dlopen.
//!
//! In: the names that the loader looks for. Out: the same names, or paths in the folder that
//! `_FERRITE_LIBRARIES` named when the program started. It is loaded into a namespace of its own,
//! before anything of the program runs, and needs no other library there: a second C library would
//! take the room for thread-local variables that the program's libraries count on, and its string
//! functions would not be the ones that valgrind knows. So there is nothing here but loops over
//! bytes: no allocation, no panic, no function of the C library. A test looks at what it needs.
//!
//! The loader's file is made by `cargo rustc --crate-type cdylib` with the flags in `rustc-flags`, in every profile:
//! without the standard library nothing can unwind, nothing runs at the start, and a compiler that
//! does not optimise would call the C library's memcpy. What is not in the loader itself is not there.

#![cfg_attr(not(test), no_std)]
#![allow(unsafe_code)]

mod environment;
mod kernel;
mod names;
mod text;

use core::cell::UnsafeCell;
use core::ffi::{c_char, c_uint};
use core::ptr;
use core::sync::atomic::{AtomicUsize, Ordering};

use text::{bytes, same};

/// The version of the interface that this file is written for.
const LAV_CURRENT: c_uint = 2;

/// The search of the name as the program gave it; later calls pass the paths that the loader tries.
const LA_SER_ORIG: c_uint = 1;

/// The variables that name the folder of our libraries and the one that stands for `libmpi.so`;
/// `launcher/src/redirect.rs` sets them.
const FOLDER: &[u8] = b"_FERRITE_LIBRARIES=";
const USUAL: &[u8] = b"_FERRITE_LIBMPI=";

/// The longest path that is answered, with the zero byte at its end: the kernel takes no longer one.
const PATH_MAX: usize = 4096;

/// Room for the path that is answered.
struct Answer(UnsafeCell<[u8; PATH_MAX]>);

// SAFETY: the loader searches for one name at a time, under its lock, and keeps no answer once it
// goes on to the next name.
unsafe impl Sync for Answer {}

static ANSWER: Answer = Answer(UnsafeCell::new([0; PATH_MAX]));

/// One more than the number of the face that this process has loaded; 0 while it has none.
static LOADED: AtomicUsize = AtomicUsize::new(0);

/// What the loader tells of a library (link.h), as far as it is public.
#[repr(C)]
pub struct LinkMap {
    address: usize,
    name: *const c_char,
}

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
    let asked = unsafe { bytes(name) };
    let (place, base) = names::split(asked);
    let bare = same(base, names::BARE);
    if !bare && names::known(base).is_none() {
        return unchanged;
    }
    // SAFETY: called by the loader.
    let Some(folder) = (unsafe { environment::variable(FOLDER) }) else { return unchanged };
    let ours = if bare { face_for(place, folder) } else { names::known(base) };
    let path = ours.map_or(ptr::null(), |ours| found(folder, ours));
    if path.is_null() { unchanged } else { path.cast_mut() }
}

/// Which library stands for the name without a version, asked for at `place` (nothing if the search
/// path is to be taken): the face that is loaded already; or the kind of library that has its
/// versions there; or what mpirun has found out to be usual on this machine.
fn face_for(place: &[u8], folder: &[u8]) -> Option<&'static [u8]> {
    if let Some(face) = LOADED.load(Ordering::Relaxed).checked_sub(1) {
        return names::FACES.get(face).copied();
    }
    if place.is_empty() || same(place, folder) {
        // SAFETY: called by the loader.
        return names::known(unsafe { environment::variable(USUAL) }?);
    }
    names::VERSIONS.into_iter().find(|version| !found(place, version).is_null())
}

/// The path of a readable file in a folder, or null.
fn found(folder: &[u8], file: &[u8]) -> *const c_char {
    let room = ANSWER.0.get().cast::<u8>();
    let whole = folder.len().wrapping_add(file.len()).wrapping_add(2);
    if folder.is_empty() || whole > PATH_MAX {
        return ptr::null();
    }
    let mut to = room;
    for &byte in folder.iter().chain(b"/").chain(file).chain(b"\0") {
        // SAFETY: `whole` bytes fit, and nobody else uses the room (see `Answer`). Volatile, so
        // that the compiler does not call the C library's memcpy.
        unsafe {
            ptr::write_volatile(to, byte);
            to = to.add(1);
        }
    }
    // SAFETY: the path has just been written, with its zero byte.
    if unsafe { kernel::exists(room) } { room.cast() } else { ptr::null() }
}

/// Called for each library that is loaded; what is answered asks for no news of its symbols.
///
/// # Safety
/// Called by the dynamic loader only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn la_objopen(
    map: *const LinkMap,
    _namespace: isize,
    _cookie: *mut usize,
) -> c_uint {
    // SAFETY: the loader passes a library whose name is a string.
    let (_, base) = unsafe { names::split(bytes((*map).name)) };
    for (face, number) in names::FACES.into_iter().zip(1..) {
        if same(face, base) {
            LOADED.store(number, Ordering::Relaxed);
        }
    }
    0
}

/// Called when the program and its libraries are loaded and have not begun.
///
/// # Safety
/// Called by the dynamic loader only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn la_preinit(_cookie: *mut usize) {
    // SAFETY: called by the loader, while nothing else runs in this process.
    unsafe {
        if names::leads_elsewhere(environment::words()) {
            environment::forget_this_auditor();
        }
    }
}

/// Nothing here panics; the language asks for it.
#[cfg(not(test))]
#[panic_handler]
fn panicked(_: &core::panic::PanicInfo) -> ! {
    loop {}
}
