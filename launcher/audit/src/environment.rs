//! The words and variables that the program was started with, where the kernel has put them.

use crate::text::{begins, bytes};
use core::ffi::c_char;
use core::ptr;

#[cfg_attr(target_arch = "x86_64", link(name = "ld-linux-x86-64.so.2", modifiers = "+verbatim"))]
#[cfg_attr(target_arch = "aarch64", link(name = "ld-linux-aarch64.so.1", modifiers = "+verbatim"))]
unsafe extern "C" {
    /// Where the kernel put the number of words, the words, a null pointer, the variables and
    /// another null pointer (exported by the loader itself).
    static __libc_stack_end: *mut *mut c_char;
}

/// The variable that brings auditors, and the end of our own path in it.
const AUDITORS: &[u8] = b"LD_AUDIT=";
const OURS: &[u8] = b"/libferrite_audit.so";

/// The words of the command.
///
/// # Safety
/// Called in a process whose loader has set `__libc_stack_end`: from a call by the loader.
pub(crate) unsafe fn words() -> impl Iterator<Item = &'static [u8]> {
    // SAFETY: see `__libc_stack_end`; each is a string.
    unsafe {
        let count = *__libc_stack_end.cast::<usize>();
        (0..count).map(|number| bytes(*__libc_stack_end.wrapping_add(number.wrapping_add(1))))
    }
}

/// Where the pointer to the variable stands that begins with `name`, which ends with `=`.
///
/// # Safety
/// As for [`words`].
unsafe fn slot(name: &[u8]) -> Option<*mut *mut c_char> {
    // SAFETY: see `__libc_stack_end`; each is a string.
    unsafe {
        let count = *__libc_stack_end.cast::<usize>();
        let mut slot = __libc_stack_end.add(count.wrapping_add(2));
        while !(*slot).is_null() {
            if begins(bytes(*slot), name) {
                return Some(slot);
            }
            slot = slot.add(1);
        }
    }
    None
}

/// The value of the variable whose name is given with a `=` at its end.
///
/// # Safety
/// As for [`words`].
pub(crate) unsafe fn variable(name: &[u8]) -> Option<&'static [u8]> {
    // SAFETY: promised by the caller.
    unsafe { bytes(*slot(name)?).get(name.len()..) }
}

/// Takes this auditor, which mpirun has put first, out of the environment that the program and what
/// it starts will see. Where its file does not exist the loader would complain in each process.
///
/// # Safety
/// As for [`words`], before the program has begun.
pub(crate) unsafe fn forget_this_auditor() {
    // SAFETY: the strings and the list of pointers to them are in writable memory of the process,
    // of which nobody has taken copies yet.
    unsafe {
        let Some(slot) = slot(AUDITORS) else { return };
        let text = bytes(*slot);
        let Some(list) = text.get(AUDITORS.len()..) else { return };
        let mut entries = list.split(|&byte| byte == b':');
        let Some(first) = entries.next() else { return };
        let folder = first.len().wrapping_sub(OURS.len());
        if !first.get(folder..).is_some_and(|end| begins(end, OURS)) {
            return;
        }
        if entries.next().is_none() {
            remove(slot);
            return;
        }
        // What follows our path gets the variable's name written in front of it, over our path.
        let renamed = (*slot).add(first.len().wrapping_add(1));
        for (byte, place) in AUDITORS.iter().zip(0..) {
            ptr::write_volatile(renamed.add(place).cast::<u8>(), *byte);
        }
        *slot = renamed;
    }
}

/// Takes a variable out of the list of pointers.
///
/// # Safety
/// `slot` points into a list of pointers with a null pointer at its end.
unsafe fn remove(mut slot: *mut *mut c_char) {
    // SAFETY: goes on to the null pointer at most. Volatile, so that the compiler does not call the
    // C library's memmove.
    unsafe {
        while !(*slot).is_null() {
            let next = slot.add(1);
            ptr::write_volatile(slot, *next);
            slot = next;
        }
    }
}
