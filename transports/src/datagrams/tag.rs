//! What keeps a datagram from being changed, invented or sent by a stranger: a tag at its end, under a key
//! for this direction of this pair of ranks, which follows from the job's secret.
//!
//! The nonce is the datagram's number, which its sender never uses twice. A datagram that is sent again by
//! somebody else has a right tag and an old number: the link refuses it ([`crate::reliability`]). Short
//! ones are read by AEGIS-128L, whose beginning is cheap, longer ones by AEGIS-128X2, which is fast
//! (decision 43a).

use aegis::aegis128l::Aegis128L;
use aegis::aegis128x2::Aegis128X2Mac;
use mpi_core::buffer::RawBytes;

use crate::tcp::Secret;

/// Bytes of a tag.
pub(crate) const TAG_BYTES: usize = 16;
/// A tag.
pub(crate) type Tag = [u8; TAG_BYTES];

/// Datagrams up to so many bytes, their tag aside, are short ones. They lie in one run of memory.
pub(crate) const SHORT_BYTES: usize = 512;

/// The keys of one direction between two ranks.
#[derive(Clone, Copy)]
pub(crate) struct Keys {
    short: [u8; 16],
    long: [u8; 16],
}

impl Keys {
    /// The keys for what `from` sends to `to` in a job with this identity and secret. A number that is used under
    /// one purpose may be used under another.
    pub(crate) fn derive(purpose: &str, secret: &Secret, job: &[u8], from: u32, to: u32) -> Keys {
        let mut hasher = blake3::Hasher::new_derive_key(purpose);
        hasher.update(secret).update(job).update(&from.to_le_bytes()).update(&to.to_le_bytes());
        let mut keys = Keys { short: [0; 16], long: [0; 16] };
        let mut stream = hasher.finalize_xof();
        stream.fill(&mut keys.short);
        stream.fill(&mut keys.long);
        keys
    }

    /// The tag of a short datagram.
    #[inline]
    pub(crate) fn of_short(&self, number: u64, bytes: &[u8]) -> Tag {
        Aegis128L::new(&self.short, &nonce(number)).encrypt_in_place(&mut [], bytes)
    }

    /// The tag of a longer one that lies in two runs.
    ///
    /// # Safety
    /// The second run is readable, in user memory.
    #[inline]
    pub(crate) unsafe fn of_long(&self, number: u64, first: &[u8], then: RawBytes<'_>) -> Tag {
        let mut reading = Aegis128X2Mac::new_with_nonce(&self.long, &nonce(number));
        reading.update(first);
        if !then.is_empty() {
            // SAFETY: readable by the caller's promise. A program that changes memory which a message uses
            // is wrong (MPI-5.0 §3.7.2); the function behind this is foreign and reads each byte once, so
            // that it gets a tag that will not fit, and nothing worse.
            reading.update(unsafe { std::slice::from_raw_parts(then.as_ptr(), then.len()) });
        }
        reading.finalize()
    }

    /// Whether the last bytes of a datagram are its tag: the bytes before it.
    #[inline]
    pub(crate) fn open<'a>(&self, number: u64, datagram: &'a [u8]) -> Option<&'a [u8]> {
        let (bytes, tag) = datagram.split_last_chunk::<TAG_BYTES>()?;
        let nonce = nonce(number);
        let opened = if bytes.len() <= SHORT_BYTES {
            Aegis128L::new(&self.short, &nonce).decrypt_in_place(&mut [], tag, bytes)
        } else {
            let mut reading = Aegis128X2Mac::new_with_nonce(&self.long, &nonce);
            reading.update(bytes);
            reading.verify(tag)
        };
        opened.is_ok().then_some(bytes)
    }
}

/// The number as AEGIS takes it.
#[inline]
fn nonce(number: u64) -> [u8; 16] {
    u128::from(number).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn keys(from: u32, to: u32) -> Keys {
        Keys::derive("test", &[5; 32], b"job", from, to)
    }

    fn sealed(keys: &Keys, number: u64, bytes: &[u8]) -> Vec<u8> {
        let (first, then) = bytes.split_at(bytes.len() / 3);
        let tag = match bytes.len() <= SHORT_BYTES {
            true => keys.of_short(number, bytes),
            // SAFETY: a slice.
            false => unsafe { keys.of_long(number, first, RawBytes::from(then)) },
        };
        [bytes, &tag].concat()
    }

    proptest! {
        #[test]
        fn only_what_was_sent_is_opened_under_its_number_only(
            bytes in prop::collection::vec(any::<u8>(), 1..2 * SHORT_BYTES),
            number: u64, bit in any::<prop::sample::Index>(), cut in 1usize..40,
        ) {
            let there = keys(3, 4);
            let mut datagram = sealed(&there, number, &bytes);
            prop_assert_eq!(there.open(number, &datagram), Some(&bytes[..]));
            prop_assert_eq!(there.open(number ^ 1, &datagram), None);
            prop_assert_eq!(keys(4, 3).open(number, &datagram), None, "the other direction");
            prop_assert_eq!(keys(3, 5).open(number, &datagram), None, "another pair");
            let end = datagram.len().saturating_sub(cut);
            prop_assert_eq!(there.open(number, &datagram[..end]), None);
            let bit = bit.index(datagram.len() * 8);
            datagram[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(there.open(number, &datagram), None);
        }
    }
}
