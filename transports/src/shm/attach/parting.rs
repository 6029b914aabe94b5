//! The last word to a peer: this process has given it up, and why.
//!
//! Who cannot map a peer's memory, or was told things by it that cannot be, reads its lane no more. The peer would
//! write there as before, or wait for a hello that never comes; so it is told, by a setup message that is signed as a
//! hello is. What it has written and nobody has read is then lost, which ends the job.
//!
//! In: peers that are given up, and datagrams. Out: the same at the other end.

use mpi_core::port::Why;

use super::hello::Secret;
use super::setup_message::{Enclosure, SetupMessage};
use crate::fields::{Fields, HASH_BYTES};
use crate::shm::Contacts;
use crate::shm::arena::VERSION;
use crate::sys::socket::{NAME_BYTES, Name};

const MAGIC: [u8; 8] = *b"FerrBye\0";
/// Bytes of the reason at most.
const WHY_BYTES: usize = 320;
/// Bytes of such a setup message at most.
pub(in crate::shm) const PARTING_BYTES: usize =
    MAGIC.len() + 3 * 4 + NAME_BYTES + WHY_BYTES + HASH_BYTES;

/// What such a setup message says.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Parting {
    /// Rank of the sender.
    rank: u32,
    /// Rank that is given up.
    to_rank: u32,
    /// Its socket, a name of this job alone.
    to: Name,
    /// Why.
    why: String,
}

impl Parting {
    fn to_bytes(&self, secret: &Secret) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        for number in [VERSION, self.rank, self.to_rank] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(self.to);
        let why = self.why.as_bytes();
        bytes.extend(&why[..why.len().min(WHY_BYTES)]);
        bytes.extend(blake3::keyed_hash(secret, &bytes).as_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8], secret: &Secret) -> Option<Parting> {
        let (signed, hash) = bytes.split_last_chunk::<HASH_BYTES>()?;
        // Equality of two `blake3::Hash` takes the same time wherever they differ.
        if blake3::keyed_hash(secret, signed) != blake3::Hash::from_bytes(*hash) {
            return None;
        }
        let mut at = Fields { bytes: signed };
        let known = at.take() == Some(MAGIC) && at.u32()? == VERSION;
        let (rank, to_rank, to) = (at.u32()?, at.u32()?, at.take()?);
        let why = String::from_utf8_lossy(at.bytes).into_owned();
        known.then_some(Parting { rank, to_rank, to, why })
    }
}

/// Whether a datagram says that it is such a setup message.
pub(in crate::shm) fn is_meant(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC)
}

impl Contacts {
    /// Tells the process of `rank`, whose socket is `to`, that it is given up.
    pub(in crate::shm) fn part_from(&mut self, to_rank: u32, to: Name, why: &str) {
        let parting = Parting { rank: self.config.rank, to_rank, to, why: why.to_owned() };
        let bytes = parting.to_bytes(&self.config.secret);
        self.outbox.push_back(SetupMessage { peer: None, to, bytes, enclosed: Enclosure::Nothing });
        self.send_setup_messages();
        self.look_soon();
    }

    /// A peer has given this process up.
    pub(in crate::shm) fn take_parting(&mut self, bytes: &[u8]) -> Result<(), String> {
        let parting = Parting::from_bytes(bytes, &self.config.secret)
            .ok_or("it does not know how this job takes leave")?;
        let to_this = parting.to == self.card.name && parting.to_rank == self.config.rank;
        let known = self.by_rank.get(&parting.rank).copied().filter(|_| to_this);
        let peer = known.ok_or("its last word is for another process")?;
        let to = &mut self.peers[peer.0 as usize];
        // A count that cannot be says nothing about what was read.
        let unread = to.writer.look().is_err() || to.writer.outstanding() > 0;
        let how = format!("rank {} has given this process up: {}", parting.rank, parting.why);
        let undelivered = |how| Why::Undelivered { how, hint: None };
        self.give_up(peer, &how, if unread { undelivered } else { Why::Lost });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use mpi_core::buffer::RawBytes;
    use mpi_core::port::{Body, PeerId, ProcessName, Transport};

    use super::*;
    use crate::conformance::Recorder;
    use crate::shm::Shm;
    use crate::shm::arena::Arena;
    use crate::shm::attach::connect;
    use crate::shm::tests::{CardDirectory, config, eager, introduce, join, small};

    /// Two processes, of which the first has memory that the second cannot map; the second looks the first up if it
    /// `knows` it.
    fn pair(directory: &CardDirectory) -> (Shm, Shm) {
        let settings = config(0, 2, small().rounded());
        let arena = Arena::unshared(settings.shm.geometry(2)).unwrap();
        let name = connect::name(arena.fd()).unwrap();
        let refused = Shm::named(settings, Box::new(directory.clone()), arena, name).unwrap();
        let refuses = Shm::new(config(1, 2, small()), Box::new(directory.clone())).unwrap();
        (refused, refuses)
    }

    fn poll(ends: &mut [(&mut Shm, &mut Recorder)]) {
        for (shm, sink) in ends {
            shm.contacts.look_soon();
            shm.poll(*sink);
        }
    }

    #[test]
    fn who_is_refused_hears_of_it_and_why() {
        let directory = CardDirectory::default();
        let (refused, refuses) = pair(&directory);
        let (mut refused, mut refuses) =
            (introduce(refused, &directory), introduce(refuses, &directory));
        let (mut first, mut second) = (Recorder::default(), Recorder::default());
        // It finds its way in, and what it sends is there; nobody will ever read it.
        let body = Body::Bytes(RawBytes::from(&b"hi"[..]));
        assert!(refused.send(PeerId(1), &eager(), body).is_ok());
        for _ in 0..4 {
            poll(&mut [(&mut refused, &mut first), (&mut refuses, &mut second)]);
        }
        let [(PeerId(1), Why::Undelivered { how, .. })] = &first.down[..] else {
            panic!("{:?}", first.down)
        };
        assert!(how.contains("others could take it away"), "{how}");
        assert!(matches!(second.down[..], [(PeerId(0), Why::Lost(_))]), "{:?}", second.down);
        assert!(refused.is_flushed() && refuses.is_flushed());
    }

    #[test]
    fn who_is_refused_before_it_is_known_hears_of_it_as_well() {
        let directory = CardDirectory::default();
        let (refused, mut refuses) = pair(&directory);
        let mut refused = introduce(refused, &directory);
        let (mut first, mut second) = (Recorder::default(), Recorder::default());
        directory.post(1, refuses.card());
        refused.contacts.post_hello(PeerId(1), refuses.contacts.card.name);
        for _ in 0..4 {
            poll(&mut [(&mut refused, &mut first), (&mut refuses, &mut second)]);
        }
        let [(PeerId(1), Why::Lost(how))] = &first.down[..] else { panic!("{:?}", first.down) };
        assert!(how.contains("others could take it away"), "{how}");
        assert!(second.down.is_empty());
        refuses.add_peer(PeerId(0), &ProcessName { job: "test".into(), rank: 0 });
        poll(&mut [(&mut refuses, &mut second)]);
        assert!(matches!(second.down[..], [(PeerId(0), Why::Lost(_))]), "{:?}", second.down);
    }

    #[test]
    fn who_says_hello_after_it_was_given_up_hears_of_it() {
        let directory = CardDirectory::default();
        let new = |rank| Shm::new(config(rank, 2, small()), Box::new(directory.clone())).unwrap();
        let (mut given_up, mut other) =
            (introduce(new(0), &directory), introduce(new(1), &directory));
        let (mut first, mut second) = (Recorder::default(), Recorder::default());
        other.contacts.lose(PeerId(0), "a test");
        given_up.contacts.post_hello(PeerId(1), other.contacts.card.name);
        for _ in 0..4 {
            poll(&mut [(&mut given_up, &mut first), (&mut other, &mut second)]);
        }
        let [(PeerId(1), Why::Lost(how))] = &first.down[..] else { panic!("{:?}", first.down) };
        assert!(how.contains("it was given up before"), "{how}");
    }

    #[test]
    fn a_peer_that_breaks_the_rules_is_told_that_nobody_listens_any_more() {
        let directory = CardDirectory::default();
        let mut ends: Vec<Shm> =
            (0..2).map(|rank| join(&directory, config(rank, 2, small()))).collect();
        let mut sinks = [Recorder::default(), Recorder::default()];
        ends.iter_mut().for_each(|end| end.contacts.meet_all());
        ends[1].contacts.drop_peer(PeerId(0), "it breaks the rules");
        for _ in 0..2 {
            for (end, sink) in ends.iter_mut().zip(&mut sinks) {
                poll(&mut [(end, sink)]);
            }
        }
        let [(PeerId(1), Why::Lost(how))] = &sinks[0].down[..] else {
            panic!("{:?}", sinks[0].down)
        };
        assert!(how.contains("it breaks the rules"), "{how}");
    }

    #[test]
    fn last_words_come_back_as_they_were_and_only_under_their_secret() {
        let why = "x".repeat(WHY_BYTES);
        let parting = Parting { rank: 3, to_rank: 1, to: [9; NAME_BYTES], why };
        let bytes = parting.to_bytes(&[7; 32]);
        assert!(is_meant(&bytes) && bytes.len() == PARTING_BYTES);
        assert_eq!(Parting::from_bytes(&bytes, &[8; 32]), None);
        for bit in 0..bytes.len() * 8 {
            let mut wrong = bytes.clone();
            wrong[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Parting::from_bytes(&wrong, &[7; 32]), None);
        }
        for len in 0..bytes.len() {
            assert_eq!(Parting::from_bytes(&bytes[..len], &[7; 32]), None);
        }
        let longer = Parting { why: format!("{}ä", parting.why), ..parting.clone() };
        assert_eq!(Parting::from_bytes(&longer.to_bytes(&[7; 32]), &[7; 32]), Some(parting));
    }
}
