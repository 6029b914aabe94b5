//! Info objects: ordered (key, value) pairs of strings (MPI-5.0 §10).
//!
//! Keys and values are kept as given, byte by byte: only the Fortran interface strips blanks, before
//! it comes here. Hints are read through the typed look-ups at the end, which are lenient about
//! blanks and case, since those values are written by people.

use crate::error::{Error, ErrorClass, Result};
use crate::fail;
use crate::limits::{INFO_KEY_MAX, INFO_VALUE_MAX};
use crate::text::{Text, shown};

/// An info object. The pairs stand in the order in which their keys were first set.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Info {
    pairs: Vec<(Text, Text)>,
}

/// What `MPI_Info_get_string` answers about a key that is there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StringAnswer {
    /// What fits into the caller's buffer, without NUL; `None` when it was not to be written.
    pub text: Option<Text>,
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
    pub fn environment(known: impl IntoIterator<Item = (&'static str, Text)>) -> Info {
        let mut info = Info::new();
        for (key, value) in known {
            info.put(key.as_bytes(), Text::within(&value, INFO_VALUE_MAX));
        }
        info
    }

    /// The info object that `MPI_Info_create_env` makes of a command line: that of
    /// `MPI_INFO_ENV` with program and arguments replaced by those given.
    #[must_use]
    pub fn with_arguments(&self, arguments: &[&[u8]]) -> Info {
        let mut info = self.clone();
        if let Some((command, rest)) = arguments.split_first() {
            info.put(b"command", Text::from(*command));
            info.put(b"argv", rest.join(&b' ').into());
        }
        info
    }

    fn check_key(key: &[u8]) -> Result<()> {
        Info::check_key_within(key, INFO_KEY_MAX)
    }

    fn check_key_within(key: &[u8], most: usize) -> Result<()> {
        if key.is_empty() {
            fail!(INFO_KEY, "key", "is empty");
        }
        if key.len() > most {
            fail!(INFO_KEY, "key", "has {} characters, but at most {most} fit", key.len());
        }
        Ok(())
    }

    fn place(&self, key: &[u8]) -> Option<usize> {
        self.pairs.iter().position(|(name, _)| **name == *key)
    }

    fn put(&mut self, key: &[u8], value: Text) {
        match self.place(key) {
            Some(place) => self.pairs[place].1 = value,
            None => self.pairs.push((key.into(), value)),
        }
    }

    /// Gives `key` a value (`MPI_Info_set`).
    ///
    /// # Errors
    /// `MPI_ERR_INFO_KEY` and `MPI_ERR_INFO_VALUE` for text that is too long; an empty key is of
    /// the former class, an empty value is allowed.
    pub fn set(&mut self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<()> {
        self.set_within(key.as_ref(), value.as_ref(), (INFO_KEY_MAX, INFO_VALUE_MAX))
    }

    /// The same where so many characters of a key and of a value fit, which are not more.
    ///
    /// # Errors
    /// As [`Info::set`].
    pub fn set_within(&mut self, key: &[u8], value: &[u8], most: (usize, usize)) -> Result<()> {
        Info::check_key_within(key, most.0)?;
        if value.len() > most.1 {
            let (long, most) = (value.len(), most.1);
            fail!(INFO_VALUE, "value", "has {long} characters, but at most {most} fit");
        }
        self.put(key, value.into());
        Ok(())
    }

    /// Takes `key` out (`MPI_Info_delete`).
    ///
    /// # Errors
    /// `MPI_ERR_INFO_NOKEY` when it is not there; `MPI_ERR_INFO_KEY` as [`Info::set`].
    pub fn delete(&mut self, key: impl AsRef<[u8]>) -> Result<()> {
        let key = key.as_ref();
        Info::check_key(key)?;
        match self.place(key) {
            Some(place) => {
                self.pairs.remove(place);
                Ok(())
            }
            None => {
                let key = shown(key);
                fail!(INFO_NOKEY, "key", "is \"{key}\", which the info object does not have")
            }
        }
    }

    /// The value of `key`.
    pub fn get(&self, key: impl AsRef<[u8]>) -> Option<&Text> {
        self.place(key.as_ref()).map(|place| &self.pairs[place].1)
    }

    /// `MPI_Info_get_string` for a buffer of `room` bytes, the NUL included: `None` when the
    /// key is not there. With `room` 0 nothing is to be written.
    ///
    /// # Errors
    /// `MPI_ERR_INFO_KEY` as [`Info::set`].
    pub fn get_string(&self, key: impl AsRef<[u8]>, room: usize) -> Result<Option<StringAnswer>> {
        let key = key.as_ref();
        Info::check_key(key)?;
        Ok(self.get(key).map(|value| StringAnswer {
            text: room.checked_sub(1).map(|fits| Text::within(value, fits)),
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
    pub fn nthkey(&self, n: i32) -> Result<&Text> {
        let key = usize::try_from(n).ok().and_then(|n| self.pairs.get(n));
        key.map(|(key, _)| key).ok_or_else(|| {
            let text = format!("is {n}, but the info object has {} keys", self.pairs.len());
            Error::param(ErrorClass::ARG, "n", text)
        })
    }

    /// All pairs in order.
    pub fn iter(&self) -> impl Iterator<Item = (&Text, &Text)> {
        self.pairs.iter().map(|(key, value)| (key, value))
    }

    /// A hint whose value is a word; one that is no UTF-8 counts as not given, since none that the
    /// library knows is written so.
    pub fn hint(&self, key: &str) -> Option<&str> {
        self.get(key)?.word()
    }

    /// A hint that is "true" or "false"; any other value counts as not given (§10: a value that
    /// is not recognised is ignored).
    pub fn hint_bool(&self, key: &str) -> Option<bool> {
        match self.hint(key)?.trim().to_ascii_lowercase().as_str() {
            "true" | "1" | "yes" | "enable" => Some(true),
            "false" | "0" | "no" | "disable" => Some(false),
            _ => None,
        }
    }

    /// What addresses are to be multiples of (`mpi_minimum_memory_alignment`, §9.2): a power of two that is not
    /// below what was asked for.
    pub fn hint_alignment(&self) -> Option<usize> {
        let asked: usize = self.hint("mpi_minimum_memory_alignment")?.trim().parse().ok()?;
        asked.checked_next_power_of_two()
    }
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
        assert_eq!(class(info.set("k".repeat(256), "x")), ErrorClass::INFO_KEY);
        assert_eq!(class(info.set("k", "v".repeat(1024))), ErrorClass::INFO_VALUE);
        info.set("k".repeat(255), "v".repeat(1023)).unwrap();
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
        assert_eq!(answer(1).text.unwrap(), Text::new());
        assert_eq!(answer(4), StringAnswer { text: Some("val".into()), needed: 6 });
        assert_eq!(answer(6).text.unwrap(), Text::from("value"));
        assert_eq!(info.get_string("no", 9).unwrap(), None);
    }

    #[test]
    fn environments_are_overridden_by_arguments() {
        let long = "é".repeat(600);
        let info = Info::environment([("command", "a.out".into()), ("wdir", long.into())]);
        assert_eq!(info.get("wdir").unwrap().len(), INFO_VALUE_MAX);
        let info = info.with_arguments(&[b"b", b"c", b"d e"]);
        assert_eq!((info.hint("command"), info.hint("argv")), (Some("b"), Some("c d e")));
    }

    #[test]
    fn bytes_come_back_whatever_they_say() {
        let mut info = Info::new();
        let long = [0xe9; INFO_VALUE_MAX];
        info.set(b"\xe8", b"caf\xe9").unwrap();
        info.set(b"\xe9", long).unwrap();
        assert_eq!((info.nkeys(), &**info.nthkey(0).unwrap()), (2, &b"\xe8"[..]));
        let answer = info.get_string(b"\xe8", 5).unwrap().unwrap();
        assert_eq!(answer, StringAnswer { text: Some(Text::from(b"caf\xe9")), needed: 5 });
        assert_eq!(**info.get(b"\xe9").unwrap(), long);
        assert_eq!(info.hint_bool("\u{e9}"), None);
        assert!(info.delete(b"\xff").unwrap_err().what().contains('\u{fffd}'));
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
                    prop_assert_eq!(info.nthkey(n as i32).unwrap().word().unwrap(), key);
                    prop_assert_eq!(info.hint(key).unwrap(), value);
                }
            }
        }
    }
}
