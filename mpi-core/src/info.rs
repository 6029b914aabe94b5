//! Info objects: ordered (key, value) pairs of strings (MPI-5.0 §10).
//!
//! Keys and values are kept as given: only the Fortran interface strips blanks, before it comes
//! here. Hints are read through the typed look-ups at the end, which are lenient about blanks and
//! case, since those values are written by people.

use crate::error::{Error, ErrorClass, Result};
use crate::fail;
use crate::limits::{INFO_KEY_MAX, INFO_VALUE_MAX};

/// An info object. The pairs stand in the order in which their keys were first set.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Info {
    pairs: Vec<(String, String)>,
}

/// What `MPI_Info_get_string` answers about a key that is there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StringAnswer {
    /// What fits into the caller's buffer, without NUL; `None` when it was not to be written.
    pub text: Option<String>,
    /// Bytes that the whole value needs, with NUL.
    pub needed: usize,
}

impl Info {
    /// An info object with no key (`MPI_Info_create`).
    pub fn new() -> Info {
        Info::default()
    }

    /// The reserved keys of `MPI_INFO_ENV` and `MPI_Info_create_env` (§11.2.1), of which those
    /// that are known are given by whoever started the process.
    pub fn environment(known: impl IntoIterator<Item = (&'static str, String)>) -> Info {
        let mut info = Info::new();
        for (key, value) in known {
            info.put(key, cut(&value, INFO_VALUE_MAX));
        }
        info
    }

    /// The info object that `MPI_Info_create_env` makes of a command line: that of
    /// `MPI_INFO_ENV` with program and arguments replaced by those given.
    #[must_use]
    pub fn with_arguments(&self, arguments: &[&str]) -> Info {
        let mut info = self.clone();
        if let Some((command, rest)) = arguments.split_first() {
            info.put("command", command);
            info.put("argv", &rest.join(" "));
        }
        info
    }

    fn check_key(key: &str) -> Result<()> {
        if key.is_empty() {
            fail!(INFO_KEY, "key", "is empty");
        }
        if key.len() > INFO_KEY_MAX {
            fail!(INFO_KEY, "key", "has {} characters, but at most {INFO_KEY_MAX} fit", key.len());
        }
        Ok(())
    }

    fn place(&self, key: &str) -> Option<usize> {
        self.pairs.iter().position(|(name, _)| name == key)
    }

    fn put(&mut self, key: &str, value: &str) {
        match self.place(key) {
            Some(place) => self.pairs[place].1 = value.to_owned(),
            None => self.pairs.push((key.to_owned(), value.to_owned())),
        }
    }

    /// Gives `key` a value (`MPI_Info_set`).
    ///
    /// # Errors
    /// `MPI_ERR_INFO_KEY` and `MPI_ERR_INFO_VALUE` for text that is too long; an empty key is of
    /// the former class, an empty value is allowed.
    pub fn set(&mut self, key: &str, value: &str) -> Result<()> {
        Info::check_key(key)?;
        if value.len() > INFO_VALUE_MAX {
            let long = value.len();
            fail!(INFO_VALUE, "value", "has {long} characters, but at most {INFO_VALUE_MAX} fit");
        }
        self.put(key, value);
        Ok(())
    }

    /// Takes `key` out (`MPI_Info_delete`).
    ///
    /// # Errors
    /// `MPI_ERR_INFO_NOKEY` when it is not there; `MPI_ERR_INFO_KEY` as [`Info::set`].
    pub fn delete(&mut self, key: &str) -> Result<()> {
        Info::check_key(key)?;
        match self.place(key) {
            Some(place) => {
                self.pairs.remove(place);
                Ok(())
            }
            None => fail!(INFO_NOKEY, "key", "is \"{key}\", which the info object does not have"),
        }
    }

    /// The value of `key`.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.place(key).map(|place| self.pairs[place].1.as_str())
    }

    /// `MPI_Info_get_string` for a buffer of `room` characters, the NUL included: `None` when the
    /// key is not there. With `room` 0 nothing is to be written.
    ///
    /// # Errors
    /// `MPI_ERR_INFO_KEY` as [`Info::set`].
    pub fn get_string(&self, key: &str, room: usize) -> Result<Option<StringAnswer>> {
        Info::check_key(key)?;
        Ok(self.get(key).map(|value| StringAnswer {
            text: room.checked_sub(1).map(|fits| cut(value, fits).to_owned()),
            needed: value.len() + 1,
        }))
    }

    /// Number of keys (`MPI_Info_get_nkeys`).
    pub fn nkeys(&self) -> usize {
        self.pairs.len()
    }

    /// The key at place `n` (`MPI_Info_get_nthkey`).
    ///
    /// # Errors
    /// `MPI_ERR_ARG` when there are not that many.
    pub fn nthkey(&self, n: i32) -> Result<&str> {
        let key = usize::try_from(n).ok().and_then(|n| self.pairs.get(n));
        key.map(|(key, _)| key.as_str()).ok_or_else(|| {
            let text = format!("is {n}, but the info object has {} keys", self.pairs.len());
            Error::param(ErrorClass::ARG, "n", text)
        })
    }

    /// All pairs in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.pairs.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// A hint that is "true" or "false"; any other value counts as not given (§10: a value that
    /// is not recognised is ignored).
    pub fn hint_bool(&self, key: &str) -> Option<bool> {
        match self.get(key)?.trim().to_ascii_lowercase().as_str() {
            "true" | "1" | "yes" | "enable" => Some(true),
            "false" | "0" | "no" | "disable" => Some(false),
            _ => None,
        }
    }
}

/// The longest prefix of `text` with at most `max` bytes that does not cut a character.
fn cut(text: &str, max: usize) -> &str {
    let end = (0..=max.min(text.len())).rfind(|at| text.is_char_boundary(*at)).unwrap_or(0);
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn limits_have_classes_of_their_own() {
        let mut info = Info::new();
        let class = |result: Result<()>| result.unwrap_err().class();
        assert_eq!(class(info.set("", "x")), ErrorClass::INFO_KEY);
        assert_eq!(class(info.set(&"k".repeat(256), "x")), ErrorClass::INFO_KEY);
        assert_eq!(class(info.set("k", &"v".repeat(1024))), ErrorClass::INFO_VALUE);
        info.set(&"k".repeat(255), &"v".repeat(1023)).unwrap();
        info.set("empty", "").unwrap();
        assert_eq!(class(info.delete("absent")), ErrorClass::INFO_NOKEY);
        assert_eq!(info.nthkey(2).unwrap_err().class(), ErrorClass::ARG);
        assert_eq!(info.nthkey(-1).unwrap_err().class(), ErrorClass::ARG);
    }

    #[test]
    fn a_string_is_cut_to_the_room_and_its_need_told() {
        let mut info = Info::new();
        info.set("k", "value").unwrap();
        let answer = |room| info.get_string("k", room).unwrap().unwrap();
        assert_eq!(answer(0), StringAnswer { text: None, needed: 6 });
        assert_eq!(answer(1).text.unwrap(), "");
        assert_eq!(answer(4), StringAnswer { text: Some("val".into()), needed: 6 });
        assert_eq!(answer(6).text.unwrap(), "value");
        assert_eq!(info.get_string("no", 9).unwrap(), None);
    }

    #[test]
    fn environments_are_overridden_by_arguments() {
        let long = "é".repeat(600);
        let info = Info::environment([("command", "a.out".to_owned()), ("wdir", long)]);
        assert_eq!(info.get("wdir").unwrap().len(), 1022);
        let info = info.with_arguments(&["b", "c", "d e"]);
        assert_eq!((info.get("command"), info.get("argv")), (Some("b"), Some("c d e")));
    }

    proptest! {
        #[test]
        fn keeps_keys_in_the_order_of_their_first_setting(
            steps in prop::collection::vec(("[a-d]{1,2}", prop::option::of("[a-z ]{0,3}")), 0..40),
        ) {
            let mut info = Info::new();
            let mut model: Vec<(String, String)> = Vec::new();
            for (key, value) in steps {
                match value {
                    Some(value) => {
                        info.set(&key, &value).unwrap();
                        match model.iter_mut().find(|(k, _)| *k == key) {
                            Some(pair) => pair.1 = value,
                            None => model.push((key, value)),
                        }
                    }
                    None => {
                        let had = model.iter().any(|(k, _)| *k == key);
                        model.retain(|(k, _)| *k != key);
                        prop_assert_eq!(info.delete(&key).is_ok(), had);
                    }
                }
                prop_assert_eq!(info.nkeys(), model.len());
                for (n, (key, value)) in model.iter().enumerate() {
                    prop_assert_eq!(info.nthkey(n as i32).unwrap(), key);
                    prop_assert_eq!(info.get(key).unwrap(), value);
                }
            }
        }
    }
}
