//! Values as bytes, and back, by serde and postcard: the one place that reads what came from another host.
//!
//! A length that came with the bytes is believed only as far as bytes follow.

use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::PathBuf;

/// Bytes that do not hold what they should.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Malformed(String);

impl Malformed {
    /// What is wrong with them.
    pub(crate) fn new(what: impl fmt::Display) -> Malformed {
        Malformed(what.to_string())
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a frame between mpirun and its agent is malformed ({})", self.0)
    }
}

/// `value` as bytes, behind those of `head`.
pub(crate) fn behind(head: Vec<u8>, value: &impl Serialize) -> Vec<u8> {
    postcard::to_extend(value, head).expect("memory takes all bytes, and every length is known")
}

/// All of `bytes` as one value.
pub(crate) fn whole<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Malformed> {
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Ok(value),
        Ok(_) => Err(Malformed::new("something follows its end")),
        Err(postcard::Error::SerdeDeCustom) => Err(Malformed::new("a value that it cannot have")),
        Err(error) => Err(Malformed::new(error)),
    }
}

/// Paths, of which serde's own form takes those in UTF-8 alone.
pub(crate) trait Paths: Sized {
    /// As the kernel has them.
    fn names(&self) -> Vec<&OsStr>;
    /// The other way; `None` where there are too many or too few.
    fn of(names: Vec<OsString>) -> Option<Self>;
}

impl Paths for Vec<PathBuf> {
    fn names(&self) -> Vec<&OsStr> {
        self.iter().map(|path| path.as_os_str()).collect()
    }

    fn of(names: Vec<OsString>) -> Option<Self> {
        Some(names.into_iter().map(PathBuf::from).collect())
    }
}

impl Paths for Option<PathBuf> {
    fn names(&self) -> Vec<&OsStr> {
        self.iter().map(|path| path.as_os_str()).collect()
    }

    fn of(mut names: Vec<OsString>) -> Option<Self> {
        let path = names.pop().map(PathBuf::from);
        names.is_empty().then_some(path)
    }
}

impl Paths for PathBuf {
    fn names(&self) -> Vec<&OsStr> {
        vec![self.as_os_str()]
    }

    fn of(names: Vec<OsString>) -> Option<Self> {
        Option::<PathBuf>::of(names).flatten()
    }
}

/// For `#[serde(with = "paths")]`.
pub(crate) mod paths {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(paths: &impl Paths, to: S) -> Result<S::Ok, S::Error> {
        paths.names().serialize(to)
    }

    pub(crate) fn deserialize<'a, P: Paths, D: Deserializer<'a>>(from: D) -> Result<P, D::Error> {
        P::of(Vec::deserialize(from)?).ok_or_else(|| D::Error::custom("a number of paths"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::option;
    use proptest::prelude::*;
    use std::os::unix::ffi::OsStringExt;

    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    struct Thing {
        pairs: Vec<(String, Option<i32>)>,
        #[serde(with = "paths")]
        one: PathBuf,
        #[serde(with = "paths")]
        perhaps: Option<PathBuf>,
        #[serde(with = "paths")]
        many: Vec<PathBuf>,
        count: usize,
    }

    fn path() -> impl Strategy<Value = PathBuf> {
        vec(any::<u8>(), 0..9).prop_map(|bytes| OsString::from_vec(bytes).into())
    }

    proptest! {
        #[test]
        fn values_come_back(
            pairs in vec(("\\PC{0,9}", any::<Option<i32>>()), 0..9),
            one in path(), perhaps in option::of(path()), many in vec(path(), 0..9), count: usize,
        ) {
            let thing = Thing { pairs, one, perhaps, many, count };
            let bytes = behind(Vec::new(), &thing);
            prop_assert_eq!(whole::<Thing>(&bytes), Ok(thing));
            for cut in 0..bytes.len() {
                prop_assert!(whole::<Thing>(&bytes[..cut]).is_err());
            }
            prop_assert!(whole::<Thing>(&[&bytes[..], &[0]].concat()).is_err());
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in vec(any::<u8>(), 0..80)) {
            let _ = whole::<Thing>(&bytes);
        }
    }
}
