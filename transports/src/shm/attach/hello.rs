//! First contact: what a process tells of itself, on the connection record of its arena for all who find the
//! way in (see `connect`), or to one over the datagram socket.
//!
//! In the latter case each sends one hello to the other, with its arena's descriptor: who it is, how its arena is
//! divided, and a keyed hash over all of it with both ends' names, so that neither a stranger nor a recording gets in.
//! Who is greeted and has not greeted yet does so: one round trip, and hellos that cross do no harm.
//!
//! In: bytes from anybody. Out: a checked [`Hello`], or why it was refused.

use crate::fields::{Fields, HASH_BYTES};
use crate::shm::arena::VERSION;
use crate::shm::arena::layout::{CONNECTION_RECORD_BYTES, Geometry};
use crate::sys::socket::{NAME_BYTES, Name};

/// Bytes of a hello.
pub(in crate::shm) const HELLO_BYTES: usize = CONNECTION_RECORD_BYTES;

const MAGIC: [u8; 8] = *b"FerrShm\0";

/// The secret that all processes of a job share.
pub type Secret = [u8; 32];

/// One process's introduction to another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::shm) struct Hello {
    /// Rank of the sender, in the job whose hash follows.
    pub rank: u32,
    /// Rank that is greeted.
    pub to_rank: u32,
    /// Whether fences of others reach the sender.
    pub fences: bool,
    /// How the sender's arena is divided.
    pub geometry: Geometry,
    /// Address of the probe word in the sender's address space, and its value.
    pub probe: (u64, u64),
    /// The sender's socket.
    pub from: Name,
    /// The greeted process's socket.
    pub to: Name,
    /// Hash of the job's identity.
    pub job: [u8; HASH_BYTES],
}

/// Why a datagram is no hello for this process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::shm) enum Refusal {
    /// It has not the form of a hello.
    Form,
    /// It is of another version of the protocol.
    Version(u32),
    /// Its sender does not know the job's secret.
    Secret,
}

impl Hello {
    /// The hello as a datagram.
    pub(in crate::shm) fn to_bytes(&self, secret: &Secret) -> [u8; HELLO_BYTES] {
        let mut bytes = Vec::with_capacity(HELLO_BYTES);
        bytes.extend(MAGIC);
        let g = &self.geometry;
        let small = [VERSION, self.rank, self.to_rank, u32::from(self.fences)];
        let sizes = [g.lanes, g.cells, g.slot_stride, g.slots];
        for number in small.into_iter().chain(sizes) {
            bytes.extend(number.to_le_bytes());
        }
        let sizes = [g.ring_bytes, g.exchange_bytes, g.alloc_bytes];
        for number in sizes.into_iter().chain([self.probe.0, self.probe.1]) {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(self.from);
        bytes.extend(self.to);
        bytes.extend(self.job);
        bytes.extend(blake3::keyed_hash(secret, &bytes).as_bytes());
        let mut hello = [0; HELLO_BYTES];
        hello[..bytes.len()].copy_from_slice(&bytes);
        hello
    }

    /// The hello in a datagram whose sender knows the secret.
    pub(in crate::shm) fn from_bytes(bytes: &[u8], secret: &Secret) -> Result<Hello, Refusal> {
        let mut at = Fields { bytes };
        if at.take() != Some(MAGIC) {
            return Err(Refusal::Form);
        }
        let version = at.u32().ok_or(Refusal::Form)?;
        if version != VERSION {
            return Err(Refusal::Version(version));
        }
        let hello = Hello::fields(&mut at).ok_or(Refusal::Form)?;
        let signed = bytes.len() - at.bytes.len();
        let hash: [u8; HASH_BYTES] = at.take().ok_or(Refusal::Form)?;
        if !at.bytes.is_empty() {
            return Err(Refusal::Form);
        }
        // Equality of two `blake3::Hash` takes the same time wherever they differ.
        if blake3::keyed_hash(secret, &bytes[..signed]) != blake3::Hash::from_bytes(hash) {
            return Err(Refusal::Secret);
        }
        Ok(hello)
    }

    fn fields(at: &mut Fields<'_>) -> Option<Hello> {
        let (rank, to_rank, fences) = (at.u32()?, at.u32()?, at.u32()? == 1);
        let geometry = Geometry {
            lanes: at.u32()?,
            cells: at.u32()?,
            slot_stride: at.u32()?,
            slots: at.u32()?,
            ring_bytes: at.u64()?,
            exchange_bytes: at.u64()?,
            alloc_bytes: at.u64()?,
        };
        let probe = (at.u64()?, at.u64()?);
        let (from, to, job) = (at.take()?, at.take()?, at.take()?);
        Some(Hello { rank, to_rank, fences, geometry, probe, from, to, job })
    }
}

/// What a process writes on its business card, so that peers find it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::shm) struct Card {
    /// Its socket.
    pub name: Name,
    /// The running kernel, as a hash: sockets of another one are out of reach.
    pub host: u64,
}

/// The first word of a card, before the version of the protocol: who speaks another one could not
/// read this process's hello, and would not answer it.
const CARD_KIND: &str = "shm";

impl Card {
    pub(in crate::shm) fn to_text(self) -> String {
        format!("{CARD_KIND}{VERSION}:{}:{:016x}", hex::encode(self.name), self.host)
    }

    /// The card in a text that anybody may have written.
    pub(in crate::shm) fn from_text(text: &str) -> Result<Card, String> {
        let mut parts = text.split(':');
        let kind = parts.next().and_then(|kind| kind.strip_prefix(CARD_KIND));
        let unreadable = || format!("its business card cannot be read: {text:.100}");
        match kind.and_then(|version| version.parse::<u32>().ok()).ok_or_else(unreadable)? {
            VERSION => Card::fields(parts).ok_or_else(unreadable),
            other => Err(format!(
                "it speaks version {other} of the protocol of shared memory, this process \
                 {VERSION}: all ranks have to use the same version of this library"
            )),
        }
    }

    fn fields<'a>(mut parts: impl Iterator<Item = &'a str>) -> Option<Card> {
        let (digits, host) = (parts.next()?, parts.next()?);
        if parts.next().is_some() {
            return None;
        }
        let mut name = [0; NAME_BYTES];
        hex::decode_to_slice(digits, &mut name).ok()?;
        Some(Card { name, host: u64::from_str_radix(host, 16).ok()? })
    }

    /// The hash of the kernel and its network namespace: abstract names are known in one network namespace only.
    pub(in crate::shm) fn this_host() -> u64 {
        let mut host = std::fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let network = std::fs::read_link("/proc/self/ns/net").unwrap_or_default();
        host.extend_from_slice(network.as_os_str().as_encoded_bytes());
        let hash: [u8; HASH_BYTES] = blake3::hash(&host).into();
        u64::from_le_bytes(std::array::from_fn(|i| hash[i]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::job_hash;
    use proptest::prelude::*;

    fn hello() -> Hello {
        let geometry = crate::shm::settings::ShmSettings::default().geometry(4);
        let (from, to) = ([1; NAME_BYTES], [2; NAME_BYTES]);
        let job = job_hash("a job");
        Hello { rank: 3, to_rank: 1, fences: true, geometry, probe: (5, 6), from, to, job }
    }

    #[test]
    fn comes_back_as_it_was_and_only_under_its_secret() {
        let bytes = hello().to_bytes(&[7; 32]);
        assert_eq!(Hello::from_bytes(&bytes, &[7; 32]), Ok(hello()));
        assert_eq!(Hello::from_bytes(&bytes, &[8; 32]), Err(Refusal::Secret));
        assert_eq!(Hello::from_bytes(&bytes[..100], &[7; 32]), Err(Refusal::Form));
    }

    #[test]
    fn another_version_is_told_apart_from_noise() {
        let mut bytes = hello().to_bytes(&[7; 32]);
        bytes[8] = 99;
        assert_eq!(Hello::from_bytes(&bytes, &[7; 32]), Err(Refusal::Version(99)));
    }

    #[test]
    fn cards_are_short_and_come_back() {
        let card = Card { name: [0xab; NAME_BYTES], host: 77 };
        assert!(card.to_text().len() <= 128);
        assert_eq!(Card::from_text(&card.to_text()), Ok(card));
        let other = card.to_text().replacen(&VERSION.to_string(), &(VERSION + 1).to_string(), 1);
        assert!(Card::from_text(&other).unwrap_err().contains("same version"));
    }

    proptest! {
        #[test]
        fn one_changed_bit_is_refused(bit in 0..HELLO_BYTES * 8) {
            let mut bytes = hello().to_bytes(&[7; 32]);
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(Hello::from_bytes(&bytes, &[7; 32]).is_err());
        }

        #[test]
        fn noise_is_refused(bytes in proptest::collection::vec(any::<u8>(), 0..300), text: String) {
            prop_assert!(Hello::from_bytes(&bytes, &[7; 32]).is_err());
            prop_assert!(Card::from_text(&text).is_err());
        }
    }
}
