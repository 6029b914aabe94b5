//! Strings without the C library's functions.

use core::ffi::c_char;
use core::ptr;

/// Whether two strings are the same; `==` would call the C library's memcmp.
pub(crate) fn same(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && begins(one, other)
}

/// Whether a string begins with another one.
pub(crate) fn begins(text: &[u8], with: &[u8]) -> bool {
    text.len() >= with.len() && text.iter().zip(with).all(|(a, b)| a == b)
}

/// A string without its zero byte.
///
/// # Safety
/// `text` ends with a zero byte and is not changed while the result is in use.
pub(crate) unsafe fn bytes<'a>(text: *const c_char) -> &'a [u8] {
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
