//! Strings of the program: bytes without a NUL, in whatever encoding it writes them.
//!
//! C and Fortran promise no encoding, and a path is bytes to the operating system. So what enters
//! stays as it is, lengths and limits count bytes, and only what is shown to people is decoded.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

/// A string that is kept, or goes back to the program.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Text(Vec<u8>);

impl Text {
    /// An empty string.
    pub const fn new() -> Text {
        Text(Vec::new())
    }

    /// At most the first `bytes` bytes of a string.
    pub fn within(text: &[u8], bytes: usize) -> Text {
        Text(text[..text.len().min(bytes)].to_vec())
    }

    /// As UTF-8, if it is that: a word that the library may know.
    pub fn word(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }
}

/// A string as people are shown it: what is not UTF-8 is replaced.
pub fn shown(text: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(text)
}

impl Deref for Text {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl AsRef<[u8]> for Text {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl<T: Into<Vec<u8>>> From<T> for Text {
    fn from(text: T) -> Text {
        Text(text.into())
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shown(self))
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.escape_ascii())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_stay_and_only_what_is_shown_is_decoded() {
        let latin = Text::from(b"caf\xe9");
        assert_eq!((latin.len(), latin.word()), (4, None));
        assert_eq!(latin.to_string(), "caf\u{fffd}");
        assert_eq!(format!("{latin:?}"), "\"caf\\xe9\"");
        assert_eq!(Text::from("café").word(), Some("café"));
        assert_eq!(Text::within("é".as_bytes(), 1), Text::from(b"\xc3"));
        assert_eq!(Text::within(b"ab", 3), Text::from("ab"));
    }
}
