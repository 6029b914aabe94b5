//! Strings: padded with blanks in Fortran, with a length beside them, ended by NUL in C.

use std::ffi::{CString, c_char, c_int};

use crate::fortran::{Fortran, info, session};
use crate::glue;

/// The bytes of a CHARACTER argument without the blanks that pad it.
unsafe fn bytes<'a>(from: *const c_char, length: usize) -> &'a [u8] {
    if from.is_null() {
        return &[];
    }
    // SAFETY: the compiler passes the length of the program's string.
    unsafe { std::slice::from_raw_parts(from.cast(), length) }.trim_ascii_end()
}

fn ended(bytes: &[u8]) -> CString {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    CString::new(&bytes[..end]).unwrap_or_default()
}

/// A string without the blanks at its end.
pub unsafe fn text(from: *const c_char, length: usize) -> CString {
    // SAFETY: the caller's promise is the same.
    ended(unsafe { bytes(from, length) })
}

/// A string that loses its leading blanks too: a key or value of an info object (MPI-5.0 §10), a
/// command (§11.8.2).
pub unsafe fn stripped(from: *const c_char, length: usize) -> CString {
    // SAFETY: the caller's promise is the same.
    ended(unsafe { bytes(from, length) }.trim_ascii_start())
}

/// Room for a string that C writes.
pub struct Text(Vec<u8>);

impl Text {
    /// Room for `bytes`, with the NUL.
    pub fn new(bytes: usize) -> Text {
        Text(vec![0; bytes.max(1)])
    }

    /// The place for C.
    pub fn as_mut_ptr(&mut self) -> *mut c_char {
        self.0.as_mut_ptr().cast()
    }

    /// Gives the program the string, cut or padded to the length of its variable.
    pub unsafe fn write(&self, to: *mut c_char, length: usize) {
        let end = self.0.iter().position(|byte| *byte == 0).unwrap_or(self.0.len());
        let copied = end.min(length);
        // SAFETY: the program's variable has `length` characters.
        let to = unsafe { std::slice::from_raw_parts_mut(to.cast::<u8>(), length) };
        to[..copied].copy_from_slice(&self.0[..copied]);
        to[copied..].fill(b' ');
    }
}

/// The length of a string without C's NUL that a variable of `room` characters can take, of which `asked` are asked
/// for: what a program says may be more than it has.
pub fn taken(asked: c_int, room: usize) -> c_int {
    asked.min(c_int::try_from(room).unwrap_or(c_int::MAX))
}

/// A length that counts C's NUL, from one that does not; nothing is wanted of none.
fn with_nul(length: c_int) -> c_int {
    if length > 0 { length.saturating_add(1) } else { length }
}

/// `MPI_INFO_GET_STRING`: the length is without C's NUL, in and out.
pub unsafe fn info_get_string<F: Fortran>(
    handle: *const c_int,
    key: *const c_char,
    buflen: *mut c_int,
    value: *mut c_char,
    flag: *mut c_int,
    ierror: *mut c_int,
    key_length: usize,
    value_length: usize,
) {
    // SAFETY: the program's variables.
    unsafe {
        let key = stripped(key, key_length);
        let asked = *buflen;
        let mut length = with_nul(taken(asked, value_length));
        let mut held = Text::new(super::length(i64::from(length)));
        let place = held.as_mut_ptr();
        let info = info::<F>(*handle);
        let code = glue::info_get_string::<F>(info, key.as_ptr(), &mut length, place, flag);
        if code == 0 {
            if *flag != 0 {
                *buflen = (length - 1).max(0);
                if asked > 0 {
                    held.write(value, value_length);
                }
            }
            super::logical_out(flag);
        }
        super::done(ierror, code);
    }
}

/// `MPI_SESSION_GET_NTH_PSET`: the length is without C's NUL, in and out.
pub unsafe fn session_get_nth_pset<F: Fortran>(
    handle: *const c_int,
    info_handle: *const c_int,
    n: *const c_int,
    pset_len: *mut c_int,
    pset_name: *mut c_char,
    ierror: *mut c_int,
    pset_name_length: usize,
) {
    // SAFETY: the program's variables.
    unsafe {
        let asked = *pset_len;
        let mut length = with_nul(taken(asked, pset_name_length));
        let mut held = Text::new(super::length(i64::from(length)));
        let place = held.as_mut_ptr();
        let session = session::<F>(*handle);
        let info = info::<F>(*info_handle);
        let code = glue::session_get_nth_pset::<F>(session, info, *n, &mut length, place);
        if code == 0 {
            *pset_len = (length - 1).max(0);
            if asked > 0 {
                held.write(pset_name, pset_name_length);
            }
        }
        super::done(ierror, code);
    }
}

/// The strings of an array whose elements are `length` long, up to the first blank one, without the
/// blanks around them.
pub(super) unsafe fn until_blank(
    from: *const c_char,
    length: usize,
    stride: usize,
) -> Vec<CString> {
    let mut all = Vec::new();
    if length == 0 {
        return all;
    }
    for index in 0.. {
        // SAFETY: MPI asks for a blank element at the end (§11.8.2).
        let element = unsafe { bytes(from.add(index * stride), length) };
        if element.is_empty() {
            break;
        }
        all.push(ended(element.trim_ascii_start()));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_pad_and_are_taken_off() {
        let padded = b"  two words   ";
        // SAFETY: a local string with its length.
        unsafe {
            assert_eq!(text(padded.as_ptr().cast(), padded.len()).to_bytes(), b"  two words");
            assert_eq!(stripped(padded.as_ptr().cast(), padded.len()).to_bytes(), b"two words");
            assert_eq!(text(b"a\0b".as_ptr().cast(), 3).to_bytes(), b"a");
            let mut held = Text::new(8);
            held.0[..3].copy_from_slice(b"abc");
            let mut place = *b"zzzzz";
            held.write(place.as_mut_ptr().cast(), 5);
            assert_eq!(&place, b"abc  ");
            held.write(place.as_mut_ptr().cast(), 2);
            assert_eq!(&place, b"abc  ", "only as long as the variable");
        }
    }

    #[test]
    fn an_array_of_strings_ends_with_a_blank_one() {
        let words = b"-x    two      ";
        // SAFETY: a local array of three strings of five characters.
        let words = unsafe { until_blank(words.as_ptr().cast(), 5, 5) };
        assert_eq!(words, [c"-x".to_owned(), c"two".to_owned()]);
    }
}
