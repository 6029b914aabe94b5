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

use core::cell::UnsafeCell;
use core::ffi::{c_char, c_uint};
use core::ptr;

/// The version of the interface that this file is written for.
const LAV_CURRENT: c_uint = 2;

/// The search of the name as the program gave it; later calls pass the paths that the loader tries.
const LA_SER_ORIG: c_uint = 1;

/// The variable that names the folder of our libraries; `launcher/src/redirect.rs` sets it.
const FOLDER: &[u8] = b"_FERRITE_LIBRARIES=";

/// The libraries that stand for one of our faces, by the names that binaries ask for.
const NAMES: [&[u8]; 13] = [
    b"libmpi_abi.so.1",
    b"libmpi_abi.so.0",
    b"libmpi.so.12",
    b"libmpich.so.12",
    b"libmpifort.so.12",
    b"libmpichfort.so.12",
    b"libmpicxx.so.12",
    b"libmpichcxx.so.12",
    b"libmpi.so.40",
    b"libmpi_mpifh.so.40",
    b"libmpi_usempif08.so.40",
    b"libmpi_usempi_ignore_tkr.so.40",
    b"libmpifort_abi.so.1",
];

/// The longest path that is answered, with the zero byte at its end: the kernel takes no longer one.
const PATH_MAX: usize = 4096;

/// Room for the path that is answered.
struct Answer(UnsafeCell<[u8; PATH_MAX]>);

// SAFETY: the loader searches for one name at a time, under its lock, and keeps no answer once it
// goes on to the next name.
unsafe impl Sync for Answer {}

static ANSWER: Answer = Answer(UnsafeCell::new([0; PATH_MAX]));

#[cfg_attr(target_arch = "x86_64", link(name = "ld-linux-x86-64.so.2", modifiers = "+verbatim"))]
#[cfg_attr(target_arch = "aarch64", link(name = "ld-linux-aarch64.so.1", modifiers = "+verbatim"))]
unsafe extern "C" {
    /// Where the kernel put the number of words, the words and the environment (exported by the
    /// loader itself).
    static __libc_stack_end: *const *const c_char;
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
    // SAFETY: the loader passes a string that lives for the whole call, and the environment that
    // the kernel made lives as long as the process.
    let known = unsafe { bytes(name).rsplit(|&b| b == b'/').next().and_then(known) };
    let Some(known) = known else { return unchanged };
    // SAFETY: as above.
    let Some(folder) = (unsafe { folder() }) else { return unchanged };
    let room = ANSWER.0.get().cast::<u8>();
    let whole = folder.len().wrapping_add(known.len()).wrapping_add(2);
    if folder.is_empty() || whole > PATH_MAX {
        return unchanged;
    }
    let mut to = room;
    let path = folder.iter().chain(b"/").chain(known).chain(b"\0");
    for &byte in path {
        // SAFETY: `whole` bytes fit, and nobody else uses the room (see `Answer`). Volatile, so
        // that the compiler does not call the C library's memcpy.
        unsafe {
            ptr::write_volatile(to, byte);
            to = to.add(1);
        }
    }
    // SAFETY: the path has just been written, with its zero byte.
    if unsafe { exists(room) } { room.cast() } else { unchanged }
}

/// Which of our libraries has this name.
fn known(base: &[u8]) -> Option<&'static [u8]> {
    NAMES.into_iter().find(|name| same(name, base))
}

/// Whether two strings are the same; `==` would call the C library's memcmp.
fn same(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(a, b)| a == b)
}

/// A string without its zero byte.
///
/// # Safety
/// `text` ends with a zero byte and is not changed while the result is in use.
unsafe fn bytes<'a>(text: *const c_char) -> &'a [u8] {
    let mut length = 0_usize;
    // SAFETY: reads up to the zero byte, which the caller promises. Volatile, so that the compiler
    // does not call the C library's strlen.
    unsafe {
        while ptr::read_volatile(text.wrapping_add(length)) != 0 {
            length = length.wrapping_add(1);
        }
        core::slice::from_raw_parts(text.cast(), length)
    }
}

/// The folder of our libraries, as the environment named it when the program started.
///
/// # Safety
/// Called in a process whose loader has set `__libc_stack_end`: from a call by the loader.
unsafe fn folder() -> Option<&'static [u8]> {
    // SAFETY: the kernel puts there the number of words, the words, a null pointer, the variables
    // and another null pointer; each is a string.
    unsafe {
        let words = __libc_stack_end.cast::<usize>();
        let mut variable = __libc_stack_end.add((*words).wrapping_add(2));
        while !(*variable).is_null() {
            let text = bytes(*variable);
            if text.len() >= FOLDER.len() && text.iter().zip(FOLDER).all(|(a, b)| a == b) {
                return text.get(FOLDER.len()..);
            }
            variable = variable.add(1);
        }
    }
    None
}

/// Whether there is a file that we may read; asks the kernel, access(2) being in the C library.
///
/// # Safety
/// `path` ends with a zero byte.
#[cfg(target_arch = "x86_64")]
unsafe fn exists(path: *const u8) -> bool {
    const ACCESS: usize = 21;
    const READABLE: usize = 4;
    let result: isize;
    // SAFETY: access reads the path and changes nothing; the kernel overwrites rcx and r11.
    unsafe {
        core::arch::asm!("syscall", inlateout("rax") ACCESS => result, in("rdi") path,
            in("rsi") READABLE, lateout("rcx") _, lateout("r11") _, options(nostack, readonly));
    }
    result == 0
}

/// As on x86_64; here the kernel has faccessat(2) alone.
///
/// # Safety
/// `path` ends with a zero byte.
#[cfg(target_arch = "aarch64")]
unsafe fn exists(path: *const u8) -> bool {
    const FACCESSAT: usize = 48;
    const HERE: isize = -100;
    const READABLE: usize = 4;
    let result: isize;
    // SAFETY: faccessat reads the path and changes nothing.
    unsafe {
        core::arch::asm!("svc 0", in("x8") FACCESSAT, inlateout("x0") HERE => result,
            in("x1") path, in("x2") READABLE, options(nostack, readonly));
    }
    result == 0
}

/// Nothing here panics; the language asks for it.
#[cfg(not(test))]
#[panic_handler]
fn panicked(_: &core::panic::PanicInfo) -> ! {
    loop {}
}
