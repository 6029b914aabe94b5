//! Segments between processes of one node: each member's part lies in the memory that its arena has
//! for programs, which the others have mapped since they met; so no further descriptor travels,
//! nothing has a name, and all is gone with the last process.
//!
//! In: [`mpi_core::node_memory::NodeMemory`]' calls. Out: fragments, and bells for members that sleep.

use mpi_core::buffer::RawBytes;
use mpi_core::datatype::{Packer, Unpacker};
use mpi_core::node_memory::{
    Audience, Awaited, Copying, Exposure, Fetched, Fragment, Meeting, NodeMemory, SegmentId, Share,
    Source,
};
use mpi_core::port::{PeerId, Pulled};
use mpi_core::tuning::MAPPED_BYTES;

use super::caches::Caches;
use crate::profile::Profile;
use crate::segment::{ALIGN, Exposed, Layout, Segment};
use crate::shm::peer::State;
use crate::shm::{Bulk, Contacts, Shm};
use crate::{copy, stores};

/// The segments of a process.
#[derive(Default)]
pub(in crate::shm) struct Table {
    segments: Vec<Option<Segment>>,
    /// What was asked for in vain since the last poll.
    missed: Vec<(SegmentId, Awaited)>,
    /// What moving bytes costs, if a test wants it to be known.
    #[cfg(test)]
    pub(in crate::shm) profile: Option<Profile>,
    pub(in crate::shm) caches: Caches,
}

impl Table {
    pub(in crate::shm) fn get(&mut self, segment: SegmentId) -> Option<&mut Segment> {
        self.segments.get_mut(segment.0 as usize)?.as_mut()
    }

    /// What moving bytes costs here.
    pub(in crate::shm) fn profile(&self) -> Profile {
        #[cfg(test)]
        if let Some(profile) = self.profile {
            return profile;
        }
        *Profile::of_this_machine()
    }

    /// The segment of this number, to look at.
    #[inline]
    pub(in crate::shm) fn look(&self, segment: SegmentId) -> Option<&Segment> {
        self.segments.get(segment.0 as usize)?.as_ref()
    }

    #[inline]
    pub(in crate::shm) fn forget_missed(&mut self) {
        self.missed.clear();
    }

    #[inline]
    fn miss(&mut self, segment: SegmentId, what: Awaited) {
        if self.missed.last() != Some(&(segment, what)) {
            self.missed.push((segment, what));
        }
    }

    /// Whether something that was asked for in vain has come.
    pub(in crate::shm) fn has_news(&mut self) -> bool {
        let missed = std::mem::take(&mut self.missed);
        let come = self.has_come(&missed);
        self.missed = missed;
        come
    }

    fn has_come(&mut self, missed: &[(SegmentId, Awaited)]) -> bool {
        let has_come = |(segment, what): &(SegmentId, Awaited)| {
            self.get(*segment).is_some_and(|segment| segment.has_come(*what))
        };
        missed.iter().any(has_come)
    }
}

impl Contacts {
    /// Makes contact with `peer`, and says how far that has come.
    pub(crate) fn meet(&mut self, peer: PeerId) -> Meeting {
        if peer.0 as usize >= self.peers.len() {
            return Meeting::Elsewhere;
        }
        self.approach(peer);
        let known = &self.peers[peer.0 as usize];
        match (&known.remote, known.state) {
            (_, State::Down) => Meeting::Elsewhere,
            (Some(remote), State::Open) if remote.has_memory() => Meeting::Near,
            (Some(_), State::Open) => Meeting::Elsewhere,
            _ => Meeting::Pending,
        }
    }
}

impl Shm {
    #[inline]
    fn wake_audience(&mut self, segment: SegmentId, to: Audience) {
        match to {
            Audience::One(rank) => {
                if let Some(peer) = self.segments.get(segment).map(|segment| segment.member(rank)) {
                    self.contacts.wake(peer);
                }
            }
            Audience::Everyone => {
                let Some(segment) = self.segments.get(segment) else { return };
                let asleep =
                    |peer: &PeerId| self.contacts.peers[peer.0 as usize].sleeps().is_some();
                if segment.others().any(|peer| asleep(&peer)) {
                    let asleep: Vec<PeerId> = segment.others().filter(asleep).collect();
                    asleep.into_iter().for_each(|peer| self.contacts.wake(peer));
                }
            }
        }
    }
}

impl NodeMemory for Shm {
    fn prepare_part(&mut self, size: u32) -> Option<u64> {
        self.contacts.arena.take_part(size)
    }

    fn drop_part(&mut self, part: u64) {
        self.contacts.arena.keep_part(part);
    }

    fn open_segment(&mut self, rank: u32, mark: u64, parts: &[(PeerId, u64)]) -> Option<SegmentId> {
        let bytes = Layout::new(parts.len() as u32).bytes() as u64;
        let base = |(at, (peer, part)): (usize, &(PeerId, u64))| {
            let address = match at == rank as usize {
                true => self.contacts.arena.allocated(*part, bytes).ok(),
                false => self.contacts.peers.get_mut(peer.0 as usize)?.memory(*part, bytes),
            };
            address.filter(|address| address.addr().is_multiple_of(ALIGN)).map(|at| (*peer, at))
        };
        let members: Option<Vec<_>> = parts.iter().enumerate().map(base).collect();
        let own = parts.get(rank as usize)?.1;
        // SAFETY: every part was checked against its mapping, and mappings live as long as their
        // peer's entry, which goes with the segments; the own part was taken for this segment alone.
        let mut segment = unsafe { Segment::new(rank, mark, members?, own) };
        segment.set_oversubscribed(self.waiter.is_oversubscribed());
        if let Some(backing) = self.contacts.arena.backing(own, bytes) {
            segment.be_backed(backing);
        }
        if self.contacts.config.shm.bulk != Bulk::Pipeline {
            let readable = |peer: PeerId| self.contacts.peers[peer.0 as usize].readable.is_some();
            let others = (0..).zip(parts).filter(|(other, _)| *other != rank);
            others
                .filter(|(_, (peer, _))| readable(*peer))
                .for_each(|(other, _)| segment.consent(other));
        }
        let free = self.segments.segments.iter().position(Option::is_none);
        let at = free.unwrap_or(self.segments.segments.len());
        if at == self.segments.segments.len() {
            self.segments.segments.push(None);
        }
        self.segments.segments[at] = Some(segment);
        Some(SegmentId(at as u32))
    }

    fn close_segment(&mut self, segment: SegmentId) {
        let closed = self.segments.segments.get_mut(segment.0 as usize).and_then(Option::take);
        self.segments.missed.clear();
        if let Some(segment) = closed {
            self.drop_part(segment.part());
        }
    }

    #[inline]
    fn fragment_max(&self, segment: SegmentId, to: Audience) -> usize {
        self.segments.look(segment).map_or(0, |segment| segment.fragment_max(to))
    }

    fn exchanged_max(&self, segment: SegmentId, to: Audience) -> usize {
        self.segments.look(segment).map_or(0, |segment| segment.exchanged_max(to))
    }

    #[inline]
    fn share_caches(&mut self, segment: SegmentId, share: Share) {
        if let Some(at) = self.segments.get(segment) {
            at.share_caches(share);
        }
    }

    fn exceeds_caches(&self, bytes: u64) -> bool {
        self.segments.caches.are_exceeded_by(bytes)
    }

    fn land_fragment(&mut self, bytes: RawBytes<'_>, into: &mut Unpacker) -> Option<usize> {
        // SAFETY: the room is user memory that the collective owns, and shared memory is none of it.
        Some(unsafe { copy::unpack_past(bytes, into) })
    }

    fn copy_by_cost(bytes: RawBytes<'_>, what: Copying, into: &mut Unpacker) -> usize {
        // SAFETY: the collective owns the room; the bytes are a fragment, or user memory, whose buffers never overlap.
        unsafe { stores::unpack(bytes, what, into) }
    }

    #[inline]
    fn write_fragment(
        &mut self,
        segment: SegmentId,
        to: Audience,
        source: &mut Packer,
        len: usize,
        last: bool,
    ) -> bool {
        let written = self.segments.get(segment).is_some_and(|at| at.write(to, source, len, last));
        match written {
            true => self.wake_audience(segment, to),
            false => self.segments.miss(segment, Awaited::Room(to, len)),
        }
        written
    }

    fn is_better_exposed(&mut self, segment: SegmentId, to: Audience, len: u64) -> bool {
        self.fetching_pays(segment, to, len)
    }

    #[inline]
    fn is_better_left(&self, segment: SegmentId, to: Audience, at: *const u8, len: u64) -> bool {
        len >= MAPPED_BYTES && self.copying_in_place_pays(segment, to, at, len)
    }

    fn expose_fragment(
        &mut self,
        segment: SegmentId,
        to: Audience,
        at: *const u8,
        len: u64,
    ) -> bool {
        let exposed = Exposed { at: self.contacts.arena.location(at, len), len };
        let exposed = self.segments.get(segment).is_some_and(|segment| segment.expose(to, exposed));
        if exposed {
            self.wake_audience(segment, to);
        }
        exposed
    }

    fn exposure(&mut self, segment: SegmentId, to: Audience) -> Exposure {
        let exposed =
            self.segments.get(segment).map_or(Exposure::Waits, |segment| segment.exposure(to));
        if exposed == Exposure::Waits {
            self.segments.miss(segment, Awaited::Reader(to));
        }
        exposed
    }

    fn fetch_fragment(
        &mut self,
        segment: SegmentId,
        from: Source,
        into: &mut Unpacker,
        past: bool,
    ) -> Fetched {
        let Some(on) = self.segments.get(segment) else { return Fetched::Refused };
        let (exposed, writer) = (on.exposed(from), on.member(from.rank()));
        let fetched = exposed.and_then(|exposed| {
            let len = exposed.len.min(into.remaining());
            let moved = self.pull_in_place(writer, exposed.at, len, past, into)
                || self.pull_by_kernel(writer, exposed.at.address, len, into) == Pulled::Done;
            moved.then_some(len)
        });
        if fetched.is_none()
            && let Some(on) = self.segments.get(segment)
        {
            on.refuse(from);
        }
        fetched.map_or(Fetched::Refused, Fetched::Whole)
    }

    fn fetch_part(
        &mut self,
        segment: SegmentId,
        from: Source,
        at: u64,
        into: &mut Unpacker,
    ) -> bool {
        let Some(on) = self.segments.get(segment) else { return false };
        let Some(exposed) = on.exposed(from) else { return false };
        let (writer, wanted) = (on.member(from.rank()), into.remaining());
        let fetched = exposed.part(at, wanted).is_some_and(|at| {
            self.pull_in_place(writer, at, wanted, false, into)
                || self.pull_by_kernel(writer, at.address, wanted, into) == Pulled::Done
        });
        if !fetched && let Some(on) = self.segments.get(segment) {
            on.refuse(from);
        }
        fetched
    }

    fn part_in_place(
        &mut self,
        segment: SegmentId,
        from: Source,
        at: u64,
        len: u64,
    ) -> Option<*const u8> {
        let on = self.segments.get(segment)?;
        let (location, writer) = (on.exposed(from)?.part(at, len)?, on.member(from.rank()));
        self.contacts.peers[writer.0 as usize].in_place(location, len).map(<*mut u8>::cast_const)
    }

    #[inline]
    fn read_fragment(&mut self, segment: SegmentId, from: Source) -> Option<Fragment> {
        let fragment = self.segments.get(segment)?.peek(from);
        if fragment.is_none() {
            self.segments.miss(segment, Awaited::Fragment(from));
        }
        fragment
    }

    fn lags(&self, segment: SegmentId, rank: u32) -> bool {
        self.segments.look(segment).is_some_and(|segment| segment.lags(rank))
    }

    #[inline]
    fn ask_for_fragment(&mut self, segment: SegmentId, from: Source) {
        if let Some(at) = self.segments.get(segment) {
            at.ask(from);
        }
    }

    #[inline]
    fn consume_fragment(&mut self, segment: SegmentId, from: Source) {
        let Some(at) = self.segments.get(segment) else { return };
        at.consume(from);
        let writer = at.member(from.rank());
        self.contacts.wake(writer);
    }

    fn missed(&self) -> Vec<(SegmentId, Awaited)> {
        self.segments.missed.clone()
    }

    fn has_come(&mut self, missed: &[(SegmentId, Awaited)]) -> bool {
        self.segments.has_come(missed)
    }

    fn abort_segment(&mut self, segment: SegmentId, why: i32) {
        if let Some(at) = self.segments.get(segment) {
            at.abort_segment(why);
            self.wake_audience(segment, Audience::Everyone);
        }
    }

    fn abort_class(&mut self, segment: SegmentId, rank: u32) -> Option<i32> {
        self.segments.get(segment)?.abort_class(rank)
    }
}
