//! Strings across the border.

use std::ffi::{c_char, c_int};

/// Copies `text` and a NUL to `to`, cut to `limit` bytes in all; returns the
/// length without the NUL.
///
/// # Safety
/// `to` is writable for `limit` bytes, and `limit` is at least 1.
pub unsafe fn copy_out(to: *mut c_char, limit: usize, text: &[u8]) -> c_int {
    let len = text.len().min(limit - 1);
    // SAFETY: len + 1 ≤ limit bytes are writable; `text` has at least len bytes.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr().cast(), to, len);
        to.add(len).write(0);
    }
    len as c_int
}

/// Cuts `text` to `bytes` bytes, at a blank if there is one near the end.
pub fn cut(text: &mut String, bytes: usize) {
    if text.len() <= bytes {
        return;
    }
    let mut end = bytes;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let end = text[..end].rfind(' ').filter(|&blank| blank > end / 2).unwrap_or(end);
    text.truncate(end);
}
