//! Error classes, codes and strings that the user adds (MPI-5.0 §9.5).
//!
//! Codes go up from the ABI's `MPI_ERR_LASTCODE`; classes are codes of their own class. The
//! predefined classes and their texts are in [`crate::error`]. What was said of the latest error
//! of a class is kept beside them, to be said again.

use std::collections::BTreeMap;

use crate::error::{Error, ErrorClass, Result};
use crate::fail;
use crate::limits::ERROR_STRING_MAX;
use crate::text::Text;

/// `MPI_ERR_LASTCODE` of the standard ABI.
pub const LASTCODE: i32 = 16383;

struct Code {
    class: i32,
    text: Option<Text>,
}

/// The codes that the user added to one process.
pub struct ErrorCodes {
    last_predefined: i32,
    codes: BTreeMap<i32, Code>,
    /// The latest error's line, by class.
    latest: BTreeMap<i32, String>,
}

impl Default for ErrorCodes {
    fn default() -> Self {
        ErrorCodes::new(LASTCODE)
    }
}

impl ErrorCodes {
    /// No codes beyond `last_predefined`.
    pub fn new(last_predefined: i32) -> ErrorCodes {
        ErrorCodes { last_predefined, codes: BTreeMap::new(), latest: BTreeMap::new() }
    }

    /// `MPI_LASTUSEDCODE`: the highest code in use.
    pub fn last_used(&self) -> i32 {
        self.codes.keys().next_back().copied().unwrap_or(self.last_predefined)
    }

    fn is_predefined_class(code: i32) -> bool {
        ErrorClass(code).name().is_some()
    }

    /// Whether `class` is predefined or was added as a class.
    fn is_class(&self, class: i32) -> bool {
        Self::is_predefined_class(class)
            || self.codes.get(&class).is_some_and(|code| code.class == class)
    }

    fn next(&self) -> Result<i32> {
        let next = self.last_used().checked_add(1);
        next.ok_or_else(|| Error::new(ErrorClass::NO_MEM, "no error code is left"))
    }

    /// Adds a class (`MPI_Add_error_class`).
    ///
    /// # Errors
    /// `MPI_ERR_NO_MEM` when the integers are used up.
    pub fn add_class(&mut self) -> Result<i32> {
        let class = self.next()?;
        self.codes.insert(class, Code { class, text: None });
        Ok(class)
    }

    /// Adds a code to a class, predefined or added (`MPI_Add_error_code`).
    ///
    /// # Errors
    /// `MPI_ERR_ARG` when there is no such class; `MPI_ERR_NO_MEM`.
    pub fn add_code(&mut self, class: i32) -> Result<i32> {
        if !self.is_class(class) {
            fail!(ARG, "errorclass", "is {class}, which is no error class");
        }
        let code = self.next()?;
        self.codes.insert(code, Code { class, text: None });
        Ok(code)
    }

    fn added(&mut self, code: i32) -> Result<&mut Code> {
        let known = Self::is_predefined_class(code);
        self.codes.get_mut(&code).ok_or_else(|| {
            let what = if known { "is predefined" } else { "was not added by the program" };
            Error::param(ErrorClass::ARG, "errorcode", format!("is {code}, which {what}"))
        })
    }

    /// Gives an added code its text (`MPI_Add_error_string`).
    ///
    /// # Errors
    /// `MPI_ERR_ARG` for a code that was not added, or a text that is too long.
    pub fn set_text(&mut self, code: i32, text: &[u8]) -> Result<()> {
        let long = text.len();
        let entry = self.added(code)?;
        if long > ERROR_STRING_MAX {
            fail!(ARG, "string", "has {long} characters, but at most {ERROR_STRING_MAX} fit");
        }
        entry.text = Some(text.into());
        Ok(())
    }

    /// Takes a class away that has neither codes nor a text left (`MPI_Remove_error_class`).
    ///
    /// # Errors
    /// `MPI_ERR_ARG` for what is no added class, or still has codes or a text.
    pub fn remove_class(&mut self, class: i32) -> Result<()> {
        if self.codes.get(&class).is_none_or(|code| code.class != class) {
            fail!(ARG, "errorclass", "is {class}, which is no class added by the program");
        }
        if let Some((code, _)) =
            self.codes.iter().find(|(c, code)| code.class == class && **c != class)
        {
            fail!(ARG, "errorclass", "is {class}, of which code {code} has not been removed");
        }
        self.remove("errorclass", class)
    }

    /// Takes a code away that has no text left (`MPI_Remove_error_code`, MPI-5.0 §9.5).
    ///
    /// # Errors
    /// `MPI_ERR_ARG` for what is no added code, is a class, or still has a text.
    pub fn remove_code(&mut self, code: i32) -> Result<()> {
        if self.added(code)?.class == code {
            fail!(ARG, "errorcode", "is {code}, which is an error class");
        }
        self.remove("errorcode", code)
    }

    fn remove(&mut self, param: &'static str, code: i32) -> Result<()> {
        if self.added(code)?.text.is_some() {
            let what = format!("is {code}, whose error string has not been removed");
            return Err(Error::param(ErrorClass::ARG, param, what)
                .hint("Call MPI_Remove_error_string first."));
        }
        self.codes.remove(&code);
        Ok(())
    }

    /// Takes the text of an added code away (`MPI_Remove_error_string`).
    ///
    /// # Errors
    /// `MPI_ERR_ARG` for what is no added code, or has no text.
    pub fn remove_text(&mut self, code: i32) -> Result<()> {
        match self.added(code)?.text.take() {
            Some(_) => Ok(()),
            None => fail!(ARG, "errorcode", "is {code}, which has no error string"),
        }
    }

    /// Keeps what was said of an error of `class`.
    pub fn note(&mut self, class: i32, line: String) {
        self.latest.insert(class, line);
    }

    /// What was said of the latest error of `class`, if there was one.
    pub fn latest(&self, class: i32) -> Option<&str> {
        self.latest.get(&class).map(String::as_str)
    }

    /// The class of a code (`MPI_Error_class`); `None` for a number that is no code.
    pub fn class_of(&self, code: i32) -> Option<i32> {
        if Self::is_predefined_class(code) {
            return Some(code);
        }
        self.codes.get(&code).map(|code| code.class)
    }

    /// The text of an added code, empty when it was given none (`MPI_Error_string`); `None` for a
    /// code that was not added.
    pub fn text_of(&self, code: i32) -> Option<&[u8]> {
        self.codes.get(&code).map(|code| code.text.as_deref().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_follow_the_last_predefined_one() {
        let mut codes = ErrorCodes::default();
        assert_eq!(codes.last_used(), LASTCODE);
        let class = codes.add_class().unwrap();
        let code = codes.add_code(class).unwrap();
        let other = codes.add_code(ErrorClass::RANK.0).unwrap();
        assert_eq!((class, code, other), (LASTCODE + 1, LASTCODE + 2, LASTCODE + 3));
        assert_eq!(codes.last_used(), other);
        assert_eq!(codes.class_of(code), Some(class));
        assert_eq!(codes.class_of(other), Some(ErrorClass::RANK.0));
        assert_eq!(codes.class_of(other + 1), None);
        assert_eq!(codes.text_of(class), Some(&b""[..]));
        codes.set_text(code, b"out of caf\xe9").unwrap();
        assert_eq!(codes.text_of(code), Some(&b"out of caf\xe9"[..]));
    }

    #[test]
    fn only_what_was_added_can_be_changed_or_removed() {
        let mut codes = ErrorCodes::default();
        let class = codes.add_class().unwrap();
        let code = codes.add_code(class).unwrap();
        assert!(codes.add_code(code).is_err(), "a code is no class");
        assert!(codes.set_text(ErrorClass::RANK.0, b"x").is_err());
        assert!(codes.set_text(code, &[b'x'; 512]).is_err());
        assert!(codes.remove_class(class).unwrap_err().what().contains("has not been removed"));
        assert!(codes.remove_class(ErrorClass::TAG.0).is_err());
        assert!(codes.remove_code(class).is_err());
        assert!(codes.remove_text(code).is_err(), "it has none");
        codes.set_text(code, b"of code").unwrap();
        codes.set_text(class, b"of class").unwrap();
        assert!(codes.remove_code(code).unwrap_err().what().contains("error string"));
        codes.remove_text(code).unwrap();
        codes.remove_code(code).unwrap();
        assert!(codes.remove_class(class).unwrap_err().what().contains("error string"));
        codes.remove_text(class).unwrap();
        codes.remove_class(class).unwrap();
        assert_eq!(codes.last_used(), LASTCODE);
        assert_eq!(codes.class_of(class), None);
    }
}
