//! Numbers, texts and lists as bytes, and back: the one place that reads lengths that came from
//! another host. All numbers are little-endian; what has a length carries it in front, as u32.

use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

/// Bytes that do not hold what they should.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Malformed(pub(crate) &'static str);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a frame between mpirun and its agent is malformed ({})", self.0)
    }
}

/// What can be written as bytes and read from them.
pub(crate) trait Pack: Sized {
    /// Appends this value.
    fn pack(&self, to: &mut Vec<u8>);
    /// Takes a value from the front.
    fn unpack(from: &mut &[u8]) -> Result<Self, Malformed>;
}

/// Takes `n` bytes from the front.
fn take<'a>(from: &mut &'a [u8], n: usize) -> Result<&'a [u8], Malformed> {
    let (head, rest) = from.split_at_checked(n).ok_or(Malformed("it ends too early"))?;
    *from = rest;
    Ok(head)
}

macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl Pack for $number {
            fn pack(&self, to: &mut Vec<u8>) {
                to.extend_from_slice(&self.to_le_bytes());
            }
            fn unpack(from: &mut &[u8]) -> Result<Self, Malformed> {
                let bytes = take(from, size_of::<$number>())?;
                Ok(<$number>::from_le_bytes(bytes.try_into().expect("as many as were taken")))
            }
        }
    )*};
}

numbers!(u8, u32, i32);

impl Pack for usize {
    fn pack(&self, to: &mut Vec<u8>) {
        u32::try_from(*self).expect("counts of a job fit into 32 bits").pack(to);
    }

    fn unpack(from: &mut &[u8]) -> Result<Self, Malformed> {
        Ok(u32::unpack(from)? as usize)
    }
}

impl Pack for bool {
    fn pack(&self, to: &mut Vec<u8>) {
        to.push(u8::from(*self));
    }

    fn unpack(from: &mut &[u8]) -> Result<Self, Malformed> {
        match u8::unpack(from)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Malformed("neither yes nor no")),
        }
    }
}

/// Bytes that are copied in one piece.
pub(crate) fn pack_bytes(bytes: &[u8], to: &mut Vec<u8>) {
    bytes.len().pack(to);
    to.extend_from_slice(bytes);
}

/// The other way.
pub(crate) fn unpack_bytes(from: &mut &[u8]) -> Result<Vec<u8>, Malformed> {
    let length = usize::unpack(from)?;
    Ok(take(from, length)?.to_vec())
}

impl Pack for String {
    fn pack(&self, to: &mut Vec<u8>) {
        pack_bytes(self.as_bytes(), to);
    }

    fn unpack(from: &mut &[u8]) -> Result<Self, Malformed> {
        String::from_utf8(unpack_bytes(from)?).map_err(|_| Malformed("a text that is not UTF-8"))
    }
}

impl Pack for OsString {
    fn pack(&self, to: &mut Vec<u8>) {
        pack_bytes(self.as_bytes(), to);
    }

    fn unpack(from: &mut &[u8]) -> Result<Self, Malformed> {
        Ok(OsString::from_vec(unpack_bytes(from)?))
    }
}

impl Pack for PathBuf {
    fn pack(&self, to: &mut Vec<u8>) {
        pack_bytes(self.as_os_str().as_bytes(), to);
    }

    fn unpack(from: &mut &[u8]) -> Result<Self, Malformed> {
        Ok(PathBuf::from(OsString::unpack(from)?))
    }
}

impl<T: Pack> Pack for Vec<T> {
    fn pack(&self, to: &mut Vec<u8>) {
        self.len().pack(to);
        for item in self {
            item.pack(to);
        }
    }

    fn unpack(from: &mut &[u8]) -> Result<Self, Malformed> {
        let length = usize::unpack(from)?;
        // A length is believed only as far as bytes follow: each item has at least one.
        let mut items = Vec::with_capacity(length.min(from.len()));
        for _ in 0..length {
            items.push(T::unpack(from)?);
        }
        Ok(items)
    }
}

impl<T: Pack> Pack for Option<T> {
    fn pack(&self, to: &mut Vec<u8>) {
        self.is_some().pack(to);
        if let Some(item) = self {
            item.pack(to);
        }
    }

    fn unpack(from: &mut &[u8]) -> Result<Self, Malformed> {
        Ok(if bool::unpack(from)? { Some(T::unpack(from)?) } else { None })
    }
}

impl<A: Pack, B: Pack> Pack for (A, B) {
    fn pack(&self, to: &mut Vec<u8>) {
        self.0.pack(to);
        self.1.pack(to);
    }

    fn unpack(from: &mut &[u8]) -> Result<Self, Malformed> {
        Ok((A::unpack(from)?, B::unpack(from)?))
    }
}

/// All of `bytes` as one value.
pub(crate) fn whole<T: Pack>(mut bytes: &[u8]) -> Result<T, Malformed> {
    let value = T::unpack(&mut bytes)?;
    if bytes.is_empty() { Ok(value) } else { Err(Malformed("something follows its end")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Thing = (Vec<(String, Option<i32>)>, (bool, Vec<usize>));

    proptest! {
        #[test]
        fn values_come_back(
            pairs in proptest::collection::vec(("\\PC{0,9}", any::<Option<i32>>()), 0..9),
            flag: bool, counts in proptest::collection::vec(0usize..1 << 32, 0..9),
        ) {
            let thing: Thing = (pairs, (flag, counts));
            let mut bytes = Vec::new();
            thing.pack(&mut bytes);
            prop_assert_eq!(whole::<Thing>(&bytes), Ok(thing));
            for cut in 0..bytes.len() {
                prop_assert!(whole::<Thing>(&bytes[..cut]).is_err());
            }
        }

        #[test]
        fn any_bytes_unpack_or_fail(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            let _ = whole::<Thing>(&bytes);
        }
    }
}
