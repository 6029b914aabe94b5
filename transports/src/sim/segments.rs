//! Segments in a simulated world: parts are memory of the network, and whoever may wait for a fragment
//! gets news of it, after a delay like any other, or a bell where several fibers take turns.

use mpi_core::buffer::RawBytes;
use mpi_core::datatype::{Packer, Unpacker};
use mpi_core::node_memory::{
    Audience, Awaited, Copying, Exposure, Fetched, Fragment, NodeMemory, SegmentId, Share, Source,
};
use mpi_core::port::{PeerId, Port};
use mpi_core::tuning::MAPPED_BYTES;

use super::network::Item;
use super::port::SimPort;
use crate::copy;
use crate::segment::{Exposed, Layout, Location, Segment};

/// Where processors are shared, messages of so many bytes are better exposed.
const EXPOSED_BYTES: u64 = 500;
/// Chance that a process can fetch what is exposed to it.
const FETCHED: f64 = 0.9;
/// Chance that it tells another beforehand that it will.
const CONSENTS: f64 = 0.9;

impl SimPort {
    fn segment(&mut self, segment: SegmentId) -> Option<&mut Segment> {
        self.segments.get_mut(segment.0 as usize)?.as_mut()
    }

    /// Lets those look again who read what goes to this audience.
    fn nudge_audience(&mut self, segment: SegmentId, to: Audience) {
        let Some(at) = self.segment(segment) else { return };
        let readers: Vec<PeerId> = match to {
            Audience::One(rank) => vec![at.member(rank)],
            Audience::Everyone => at.others().collect(),
        };
        readers.into_iter().for_each(|peer| self.nudge(peer));
    }

    /// Lets a member look again.
    fn nudge(&mut self, peer: PeerId) {
        let (me, to) = (self.id(), self.endpoint(peer));
        let mut network = self.network.borrow_mut();
        match network.parked(to).several {
            // Those who are awake, or lie down, look by themselves.
            true => network.parked(to).ring(me),
            false => _ = network.schedule(me, to, Item::Room),
        }
    }
}

impl SimPort {
    fn has_large_fragments(&self) -> bool {
        self.network.borrow().options().large_fragments
    }
}

impl SimPort {
    /// The largest fragment of a segment: another one at each second process.
    fn fragment_within(&self, segment: SegmentId, max: impl FnOnce(&Segment) -> usize) -> usize {
        let segment = self.segments.get(segment.0 as usize).and_then(Option::as_ref);
        let most = match self.has_large_fragments() {
            true => usize::MAX,
            false => MAPPED_BYTES as usize * [1, 2][self.id().0 as usize % 2],
        };
        segment.map_or(0, |segment| max(segment).min(most))
    }
}

impl NodeMemory for SimPort {
    fn prepare_part(&mut self, size: u32) -> Option<u64> {
        Some(self.network.borrow_mut().take_part(Layout::new(size).bytes()))
    }

    fn drop_part(&mut self, part: u64) {
        self.network.borrow_mut().drop_part(part);
    }

    fn open_segment(&mut self, rank: u32, mark: u64, parts: &[(PeerId, u64)]) -> Option<SegmentId> {
        let bytes = Layout::new(parts.len() as u32).bytes();
        let own = parts.get(rank as usize)?.1;
        let mut network = self.network.borrow_mut();
        let members: Option<Vec<_>> = parts
            .iter()
            .map(|(peer, part)| network.part(*part, bytes).map(|base| (*peer, base)))
            .collect();
        // SAFETY: the network has the parts, of this length, until their owners drop them, which
        // they do when no member uses the segment any more; it outlives its ports.
        let mut segment = unsafe { Segment::new(rank, mark, members?, own) };
        if network.options().pull > 0.0 {
            let others = (0..parts.len() as u32).filter(|other| *other != rank);
            others.filter(|_| network.chance(CONSENTS)).for_each(|other| segment.consent(other));
        }
        let options = network.options();
        segment.set_oversubscribed(options.large_fragments && options.processors.is_some());
        drop(network);
        self.segments.push(Some(segment));
        Some(SegmentId(self.segments.len() as u32 - 1))
    }

    fn close_segment(&mut self, segment: SegmentId) {
        if let Some(segment) = self.segments.get_mut(segment.0 as usize).and_then(Option::take) {
            self.drop_part(segment.part());
        }
    }

    fn fragment_max(&self, segment: SegmentId, to: Audience) -> usize {
        self.fragment_within(segment, |segment| segment.fragment_max(to))
    }

    fn exchanged_max(&self, segment: SegmentId, to: Audience) -> usize {
        self.fragment_within(segment, |segment| segment.exchanged_max(to))
    }

    fn share_caches(&mut self, segment: SegmentId, share: Share) {
        if let Some(at) = self.segment(segment) {
            at.share_caches(share);
        }
    }

    fn exceeds_caches(&self, bytes: u64) -> bool {
        // Little enough that it happens.
        bytes >= 20_000
    }

    fn land_fragment(&mut self, bytes: RawBytes<'_>, into: &mut Unpacker) -> Option<usize> {
        // SAFETY: the room is user memory that the collective owns, and shared memory is none of it.
        Some(unsafe { copy::unpack_past(bytes, into) })
    }

    fn copy_by_cost(bytes: RawBytes<'_>, _: Copying, into: &mut Unpacker) -> usize {
        // SAFETY: user memory that the collective owns; the standard forbids that its buffers overlap.
        unsafe { into.unpack_from(bytes) }
    }

    fn write_fragment(
        &mut self,
        segment: SegmentId,
        to: Audience,
        source: &mut Packer,
        len: usize,
        last: bool,
    ) -> bool {
        let Some(at) = self.segment(segment) else { return false };
        let written = at.write(to, source, len, last);
        match written {
            true => self.nudge_audience(segment, to),
            false => self.missed.push((segment, Awaited::Room(to, len))),
        }
        written
    }

    fn is_better_exposed(&mut self, segment: SegmentId, to: Audience, len: u64) -> bool {
        // Where processors are shared, fragments too.
        let least = match self.share() {
            _ if self.has_large_fragments() => u64::MAX,
            1 => self.fragment_max(segment, to) as u64 + 1,
            _ => EXPOSED_BYTES,
        };
        let is_a_guess = least == EXPOSED_BYTES && len >= EXPOSED_BYTES / 2;
        let mut network = self.network.borrow_mut();
        let fickle = if is_a_guess { network.options().fickle } else { 0.0 };
        (len >= least) ^ network.chance(fickle)
    }

    fn is_better_left(&self, _: SegmentId, _: Audience, _: *const u8, len: u64) -> bool {
        // All simulated processes have all memory mapped.
        len >= EXPOSED_BYTES && !self.has_large_fragments()
    }

    fn expose_fragment(
        &mut self,
        segment: SegmentId,
        to: Audience,
        at: *const u8,
        len: u64,
    ) -> bool {
        let address = at.expose_provenance() as u64;
        let exposed = Exposed { at: Location { address, offset: 0 }, len };
        let exposed = self.segment(segment).is_some_and(|segment| segment.expose(to, exposed));
        if exposed {
            self.nudge_audience(segment, to);
        }
        exposed
    }

    fn exposure(&mut self, segment: SegmentId, to: Audience) -> Exposure {
        let exposure =
            self.segment(segment).map_or(Exposure::Waits, |segment| segment.exposure(to));
        if exposure == Exposure::Waits {
            self.missed.push((segment, Awaited::Reader(to)));
        }
        exposure
    }

    fn fetch_fragment(
        &mut self,
        segment: SegmentId,
        from: Source,
        into: &mut Unpacker,
        _: bool,
    ) -> Fetched {
        let chance = self.network.borrow_mut().chance(FETCHED);
        let Some(at) = self.segment(segment) else { return Fetched::Refused };
        let Some(Exposed { at: Location { address, .. }, len, .. }) =
            at.exposed(from).filter(|_| chance)
        else {
            at.refuse(from);
            return Fetched::Refused;
        };
        let bytes = std::ptr::with_exposed_provenance(address as usize);
        // SAFETY: all simulated processes share this address space, and the writer keeps what it shows
        // readable until all have consumed it.
        Fetched::Whole(unsafe { into.unpack_from(RawBytes::new(bytes, len as usize)) } as u64)
    }

    fn fetch_part(
        &mut self,
        segment: SegmentId,
        from: Source,
        at: u64,
        into: &mut Unpacker,
    ) -> bool {
        let fetched = self.network.borrow_mut().chance(FETCHED);
        let Some(on) = self.segment(segment) else { return false };
        let Some(exposed) = on.exposed(from) else { return false };
        let wanted = into.remaining();
        let Some(Location { address, .. }) = exposed.part(at, wanted).filter(|_| fetched) else {
            on.refuse(from);
            return false;
        };
        let bytes = std::ptr::with_exposed_provenance(address as usize);
        // SAFETY: as in `fetch_fragment`, and the part lies within the fragment.
        unsafe { into.unpack_from(RawBytes::new(bytes, wanted as usize)) };
        true
    }

    fn part_in_place(
        &mut self,
        segment: SegmentId,
        from: Source,
        at: u64,
        len: u64,
    ) -> Option<*const u8> {
        let location = self.segment(segment)?.exposed(from)?.part(at, len)?;
        let fetched = self.network.borrow_mut().chance(FETCHED);
        let place = std::ptr::with_exposed_provenance(location.address as usize);
        fetched.then_some(place)
    }

    fn read_fragment(&mut self, segment: SegmentId, from: Source) -> Option<Fragment> {
        let fragment = self.segment(segment)?.peek(from);
        if fragment.is_none() {
            self.missed.push((segment, Awaited::Fragment(from)));
        }
        fragment
    }

    fn lags(&self, segment: SegmentId, rank: u32) -> bool {
        let segment = self.segments.get(segment.0 as usize).and_then(Option::as_ref);
        segment.is_some_and(|segment| segment.lags(rank))
    }

    fn ask_for_fragment(&mut self, segment: SegmentId, from: Source) {
        if let Some(at) = self.segment(segment) {
            at.ask(from);
        }
    }

    fn consume_fragment(&mut self, segment: SegmentId, from: Source) {
        let Some(at) = self.segment(segment) else { return };
        at.consume(from);
        let writer = at.member(from.rank());
        self.nudge(writer);
    }

    fn abort_segment(&mut self, segment: SegmentId, why: i32) {
        let Some(at) = self.segment(segment) else { return };
        at.abort_segment(why);
        let others: Vec<PeerId> = at.others().collect();
        others.into_iter().for_each(|peer| self.nudge(peer));
    }

    fn abort_class(&mut self, segment: SegmentId, rank: u32) -> Option<i32> {
        self.segment(segment)?.abort_class(rank)
    }

    fn missed(&self) -> Vec<(SegmentId, Awaited)> {
        self.missed.clone()
    }

    fn has_come(&mut self, missed: &[(SegmentId, Awaited)]) -> bool {
        let has_come = |(segment, what): &(SegmentId, Awaited)| {
            self.segment(*segment).is_some_and(|segment| segment.has_come(*what))
        };
        missed.iter().any(has_come)
    }
}
