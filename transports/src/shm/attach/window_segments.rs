//! Segments of windows: a memfd of their own for each, whose descriptor travels in a datagram to
//! those who are to map it. It has no name anywhere, and its size is no matter of `/dev/shm`.
//!
//! The datagram is signed as a hello is, since it comes through the same socket.
//!
//! In: [`mpi_core::window_segments::WindowSegments`]' calls, and datagrams. Out: mapped memory.

use std::alloc::Layout;
use std::collections::HashMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use mpi_core::port::PeerId;
use mpi_core::rma::WindowSegment;
use mpi_core::window_segments::WindowSegments;

use super::hello::Secret;
use super::setup_message::{Enclosure, SetupMessage};
use crate::fields::{Fields, HASH_BYTES};
use crate::shm::arena::VERSION;
use crate::shm::{Contacts, Shm};
use crate::sys::memory::Mapping;
use crate::sys::shared_file::SharedFile;
use crate::sys::socket::{Arrival, NAME_BYTES, Name};

const MAGIC: [u8; 8] = *b"FerrSeg\0";

/// What comes with a segment's descriptor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::shm) struct Posting {
    /// Rank of the sender.
    rank: u32,
    /// Rank that shall map the segment.
    to_rank: u32,
    /// The segment.
    mark: u64,
    /// The receiver's socket, a name of this job alone.
    to: Name,
}

impl Posting {
    fn to_bytes(&self, secret: &Secret) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        for number in [VERSION, self.rank, self.to_rank] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(self.mark.to_le_bytes());
        bytes.extend(self.to);
        bytes.extend(blake3::keyed_hash(secret, &bytes).as_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8], secret: &Secret) -> Option<Posting> {
        let (signed, hash) = bytes.split_last_chunk::<HASH_BYTES>()?;
        let mut at = Fields { bytes: signed };
        let known = at.take() == Some(MAGIC) && at.u32()? == VERSION;
        let (rank, to_rank, mark) = (at.u32()?, at.u32()?, at.u64()?);
        let to: [u8; NAME_BYTES] = at.take()?;
        // Equality of two `blake3::Hash` takes the same time wherever they differ.
        let true_hash = blake3::keyed_hash(secret, signed) == blake3::Hash::from_bytes(*hash);
        (known && true_hash && at.bytes.is_empty()).then_some(Posting { rank, to_rank, mark, to })
    }

    /// Whether a datagram says that it is one.
    pub(in crate::shm) fn is_meant(bytes: &[u8]) -> bool {
        bytes.starts_with(&MAGIC)
    }
}

/// The segments that are on their way.
#[derive(Default)]
pub(in crate::shm) struct Table {
    /// Made here and posted.
    made: HashMap<u64, SharedFile>,
    /// Posted to this process by the one with this rank; without a descriptor if the kernel had no room for it.
    come: HashMap<(u32, u64), Option<OwnedFd>>,
}

impl Table {
    /// The descriptor of a segment that is being posted.
    pub(in crate::shm) fn made(&self, mark: u64) -> Option<BorrowedFd<'_>> {
        self.made.get(&mark).map(AsFd::as_fd)
    }
}

/// Maps a segment.
fn map(file: &SharedFile, layout: Layout) -> Result<WindowSegment, String> {
    let len = layout.size();
    let mapping = Mapping::aligned(file, layout)
        .map_err(|error| format!("{len} bytes of shared memory cannot be mapped: {error}"))?;
    // SAFETY: the mapping has these bytes, from a page's beginning, until it is dropped.
    Ok(unsafe { WindowSegment::new(mapping.base(), len as u64, Box::new(mapping)) })
}

impl Contacts {
    /// A segment has been posted to this process.
    pub(in crate::shm) fn take_posting(
        &mut self,
        bytes: &[u8],
        arrival: Arrival,
    ) -> Result<(), String> {
        let posting = Posting::from_bytes(bytes, &self.config.secret)
            .ok_or("it does not know how this job posts memory")?;
        if posting.to != self.card.name || posting.to_rank != self.config.rank {
            return Err("its memory is for another process".into());
        }
        // A process waits for one window at a time, so each peer has one posting under way.
        if self.window_segments.come.len() >= self.arena.geometry().lanes as usize {
            return Err("too many segments were posted and not fetched".into());
        }
        self.window_segments.come.insert((posting.rank, posting.mark), arrival.fd);
        Ok(())
    }
}

impl WindowSegments for Shm {
    fn make_window_segment(&mut self, mark: u64, layout: Layout) -> Result<WindowSegment, String> {
        let len = layout.size();
        let file = SharedFile::new(len as u64)
            .map_err(|error| format!("{len} bytes of shared memory cannot be had: {error}"))?;
        let segment = map(&file, layout)?;
        self.contacts.window_segments.made.insert(mark, file);
        Ok(segment)
    }

    fn post_window_segment(&mut self, mark: u64, peer: PeerId) {
        let known = self.contacts.peers.get(peer.0 as usize);
        let Some((to_rank, Some(to))) = known.map(|known| (known.rank, known.name)) else { return };
        let posting = Posting { rank: self.contacts.config.rank, to_rank, mark, to };
        let bytes = posting.to_bytes(&self.contacts.config.secret);
        let enclosed = Enclosure::WindowSegment(mark);
        self.contacts.outbox.push_back(SetupMessage { peer: Some(peer), to, bytes, enclosed });
        self.contacts.send_setup_messages();
        self.contacts.look_soon();
    }

    fn end_posting(&mut self, mark: u64) {
        self.contacts.window_segments.made.remove(&mark);
        self.contacts.outbox.retain(|message| message.enclosed != Enclosure::WindowSegment(mark));
    }

    fn fetch_window_segment(
        &mut self,
        mark: u64,
        peer: PeerId,
        layout: Layout,
    ) -> Option<Result<WindowSegment, String>> {
        let known = self.contacts.peers.get(peer.0 as usize)?;
        let Some(come) = self.contacts.window_segments.come.remove(&(known.rank, mark)) else {
            self.contacts.look_soon();
            return None;
        };
        let missing = "the memory's descriptor did not come along; is the limit on open files \
                       (ulimit -n) reached?";
        let mapped = come.ok_or(missing.to_owned()).and_then(|fd| {
            let file = SharedFile::adopt(fd).map_err(|error| error.to_string())?;
            let size = file.size();
            if size < layout.size() as u64 {
                return Err(format!("the shared memory has {size} bytes, not {}", layout.size()));
            }
            map(&file, layout)
        });
        Some(mapped)
    }

    fn watch(&mut self) {
        self.contacts.refused = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn postings_come_back_as_they_were_and_only_under_their_secret() {
        let posting = Posting { rank: 3, to_rank: 1, mark: 77 << 40, to: [9; NAME_BYTES] };
        let bytes = posting.to_bytes(&[7; 32]);
        assert!(Posting::is_meant(&bytes) && bytes.len() <= crate::shm::attach::hello::HELLO_BYTES);
        assert_eq!(Posting::from_bytes(&bytes, &[7; 32]), Some(posting));
        assert_eq!(Posting::from_bytes(&bytes, &[8; 32]), None);
        for bit in 0..bytes.len() * 8 {
            let mut wrong = bytes.clone();
            wrong[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Posting::from_bytes(&wrong, &[7; 32]), None);
        }
        for len in 0..bytes.len() {
            assert_eq!(Posting::from_bytes(&bytes[..len], &[7; 32]), None);
        }
    }
}
