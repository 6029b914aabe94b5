//! What keeps a stream's bytes from being changed on the way: a tag behind each part, under a key.
//!
//! A part is sealed under the place in the stream where it begins, with a key for this direction of
//! this stream that follows from the job's secret: what is changed, left out, repeated or moved to
//! another place or stream has a wrong tag. Bytes that are sent again over a new connection are the
//! same at the same place, so no place is ever sealed twice with different bytes.
//!
//! Both ways are AEGIS (draft-irtf-cfrg-aegis-aead): AEGIS-128L for short parts, where the price is the
//! beginning, AEGIS-128X2 for bodies, where it is the length. With tags the bytes are what is
//! authenticated only; with encryption they are the message.

use aegis::aegis128l::Aegis128L;
use aegis::aegis128x2::{Aegis128X2, Aegis128X2Mac};
use mpi_core::buffer::RawBytes;
use mpi_core::settings::TcpSecurity;

use super::hello::Secret;

/// Bytes of a tag.
pub(super) const TAG_BYTES: usize = 16;
/// A tag.
pub(super) type Tag = [u8; TAG_BYTES];

/// What the keys are for; goes into their derivation.
const PURPOSE: &str = "Ferrite MPI, tags and encryption of records over TCP, version 2";

/// The bytes are not those that were sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Altered;

/// The keys of one direction of a stream.
#[derive(Clone, Copy)]
pub(super) struct Keys {
    short: [u8; 16],
    body: [u8; 16],
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Keys")
    }
}

/// How one direction of a stream is protected.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Seal {
    /// Not at all.
    #[default]
    Off,
    /// Tags.
    Tag(Keys),
    /// Encryption, with tags.
    Encrypt(Keys),
}

/// The two ends of one direction of a stream.
#[derive(Clone, Copy)]
pub(super) struct Direction {
    pub from: u32,
    pub to: u32,
    pub stream: u32,
}

impl Seal {
    /// The seal of one direction in a job with this identity and secret.
    pub(super) fn of(
        security: TcpSecurity,
        secret: &Secret,
        job: &[u8],
        direction: Direction,
    ) -> Seal {
        let mut hasher = blake3::Hasher::new_derive_key(PURPOSE);
        hasher.update(secret).update(job);
        for number in [direction.from, direction.to, direction.stream] {
            hasher.update(&number.to_le_bytes());
        }
        let mut keys = Keys { short: [0; 16], body: [0; 16] };
        let mut stream = hasher.finalize_xof();
        stream.fill(&mut keys.short);
        stream.fill(&mut keys.body);
        match security {
            TcpSecurity::Off => Seal::Off,
            TcpSecurity::Tag => Seal::Tag(keys),
            TcpSecurity::Encrypt => Seal::Encrypt(keys),
        }
    }

    /// Bytes behind each part.
    #[inline]
    pub(super) fn tag_bytes(&self) -> usize {
        if matches!(self, Seal::Off) { 0 } else { TAG_BYTES }
    }

    /// Whether bytes leave in another form than they have in memory.
    #[inline]
    pub(super) fn encrypts(&self) -> bool {
        matches!(self, Seal::Encrypt(_))
    }

    /// Seals a short part that begins at `place`; its tag, if there are tags.
    #[inline]
    pub(super) fn close(&self, place: u64, part: &mut [u8]) -> Option<Tag> {
        match self {
            Seal::Off => None,
            Seal::Tag(keys) => Some(keys.short(place).encrypt_in_place(&mut [], part)),
            Seal::Encrypt(keys) => Some(keys.short(place).encrypt_in_place(part, &[])),
        }
    }

    /// Opens a short part.
    #[inline]
    pub(super) fn open(&self, place: u64, part: &mut [u8], tag: &[u8]) -> Result<(), Altered> {
        if matches!(self, Seal::Off) {
            return Ok(());
        }
        let tag = tag.first_chunk().ok_or(Altered)?;
        let opened = match self {
            Seal::Off => Ok(()),
            Seal::Tag(keys) => keys.short(place).decrypt_in_place(&mut [], tag, part),
            Seal::Encrypt(keys) => keys.short(place).decrypt_in_place(part, tag, &[]),
        };
        opened.map_err(|_| Altered)
    }

    /// Seals a body that lies in memory of our own.
    pub(super) fn close_body(&self, place: u64, body: &mut [u8]) -> Option<Tag> {
        match self {
            Seal::Encrypt(keys) => Some(keys.body(place).encrypt_in_place(body, &[])),
            _ => self.read_body(place).map(|mut reading| {
                reading.add(RawBytes::from(&*body));
                reading.tag()
            }),
        }
    }

    /// Opens a body that lies in memory of our own.
    pub(super) fn open_body(&self, place: u64, body: &mut [u8], tag: &[u8]) -> Result<(), Altered> {
        let keys = match self {
            Seal::Encrypt(keys) => keys,
            // The tag of such a body is that of a reading.
            Seal::Off | Seal::Tag(_) => return Ok(()),
        };
        let tag = tag.first_chunk().ok_or(Altered)?;
        keys.body(place).decrypt_in_place(body, tag, &[]).map_err(|_| Altered)
    }

    /// The tag of a body that begins at `place`, from its bytes as they pass, if tags are all.
    #[inline]
    pub(super) fn read_body(&self, place: u64) -> Option<Reading> {
        let Seal::Tag(keys) = self else { return None };
        Some(Reading(Aegis128X2Mac::new_with_nonce(&keys.body, &nonce(place))))
    }
}

impl Keys {
    #[inline]
    fn short(&self, place: u64) -> Aegis128L<TAG_BYTES> {
        Aegis128L::new(&self.short, &nonce(place))
    }

    fn body(&self, place: u64) -> Aegis128X2<TAG_BYTES> {
        Aegis128X2::new(&self.body, &nonce(place))
    }
}

/// The place as AEGIS takes it.
#[inline]
fn nonce(place: u64) -> [u8; 16] {
    u128::from(place).to_le_bytes()
}

/// A body being read for its tag.
pub(super) struct Reading(Aegis128X2Mac<TAG_BYTES>);

impl Reading {
    /// The body's next bytes.
    #[inline]
    pub(super) fn add(&mut self, bytes: RawBytes<'_>) {
        if !bytes.is_empty() {
            // SAFETY: readable by `RawBytes`'s contract. A program that changes memory which a
            // message uses is wrong (MPI-5.0 §3.7.2); the function behind this is foreign and reads
            // each byte once, so that it gets a tag that will not fit, and nothing worse.
            self.0.update(unsafe { std::slice::from_raw_parts(bytes.as_ptr(), bytes.len()) });
        }
    }

    /// The tag of all of them.
    pub(super) fn tag(self) -> Tag {
        self.0.finalize()
    }

    /// Whether they have this tag.
    pub(super) fn check(self, tag: &[u8]) -> Result<(), Altered> {
        let tag = tag.first_chunk().ok_or(Altered)?;
        self.0.verify(tag).map_err(|_| Altered)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECRET: Secret = [5; 32];
    const THERE: Direction = Direction { from: 0, to: 1, stream: 0 };

    /// One of each kind.
    pub(in crate::tcp) fn seals() -> impl Strategy<Value = Seal> {
        prop::sample::select(&[TcpSecurity::Off, TcpSecurity::Tag, TcpSecurity::Encrypt][..])
            .prop_map(|security| seal(security, THERE))
    }

    fn seal(security: TcpSecurity, direction: Direction) -> Seal {
        Seal::of(security, &SECRET, b"job", direction)
    }

    /// Seals and opens a part both as a short one and as a body, with `harm` in between; whether each
    /// was opened, with its bytes.
    fn through(
        seal: &Seal,
        there: &Seal,
        place: (u64, u64),
        bytes: &[u8],
        bit: Option<usize>,
    ) -> [bool; 2] {
        [false, true].map(|is_body| {
            let mut part = bytes.to_vec();
            let tag = match is_body {
                true => seal.close_body(place.0, &mut part),
                false => seal.close(place.0, &mut part),
            };
            let mut tag = tag.unwrap();
            assert_eq!(part != bytes, seal.encrypts() && !bytes.is_empty());
            match bit {
                Some(bit) if bit / 8 < part.len() => part[bit / 8] ^= 1 << (bit % 8),
                Some(bit) => tag[bit / 8 - part.len()] ^= 1 << (bit % 8),
                None => {}
            }
            let opened = match (is_body, there.read_body(place.1)) {
                (true, Some(mut reading)) => {
                    let (head, rest) = part.split_at(part.len() / 3);
                    reading.add(RawBytes::from(head));
                    reading.add(RawBytes::from(rest));
                    reading.check(&tag)
                }
                (true, None) => there.open_body(place.1, &mut part, &tag),
                (false, _) => there.open(place.1, &mut part, &tag),
            };
            opened.is_ok() && part == bytes
        })
    }

    proptest! {
        #[test]
        fn only_what_was_sent_is_opened_at_its_place_only(
            bytes in prop::collection::vec(any::<u8>(), 20..300),
            place: u64, bit in 0usize..160, encrypts: bool,
        ) {
            let security = if encrypts { TcpSecurity::Encrypt } else { TcpSecurity::Tag };
            let one = seal(security, THERE);
            prop_assert_eq!(through(&one, &one, (place, place), &bytes, None), [true; 2]);
            prop_assert_eq!(through(&one, &one, (place, place), &bytes, Some(bit)), [false; 2]);
            let in_tag = bytes.len() * 8 + bit.min(127);
            prop_assert_eq!(through(&one, &one, (place, place), &bytes, Some(in_tag)), [false; 2]);
            prop_assert_eq!(through(&one, &one, (place, place ^ 1), &bytes, None), [false; 2]);
            for other in [
                Direction { from: 1, to: 0, ..THERE },
                Direction { stream: 1, ..THERE },
            ] {
                let other = seal(security, other);
                prop_assert_eq!(through(&one, &other, (place, place), &bytes, None), [false; 2]);
            }
        }
    }
}
