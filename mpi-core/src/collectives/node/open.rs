//! How a communicator gets its segment: all members meet all others, each takes memory for its part,
//! and one exchange of messages tells everybody where the parts are, or that somebody has none, who
//! is near whom, whether processes share processors, and which last-level cache each one has. And how
//! it gives the segment back.

use super::member::Member;
use crate::collectives::Collectives;
use crate::comm::SegmentState;
use crate::error::Result;
use crate::handle::CommHandle;
use crate::node_memory::{Meeting, NodeMemory, SegmentId};
use crate::port::{PeerId, Port};

/// In place of a part: this process can have none.
const NO_PART: u64 = u64::MAX;
/// Beside the rank of the first process near this one stands how many share a processor here, in so many bits.
const SHARE: u32 = 32;
const SHARE_MOST: u32 = 0xffff;
/// From this bit on: one more than the processor that this process is bound to, or 0.
const PROCESSOR: u32 = 48;
/// In place of a last-level cache: it is not known. Else it stands one higher, and its socket from this bit on.
const NO_PLACE: u64 = 0;
const SOCKET: u32 = 32;

impl<P: Port> Collectives<'_, P> {
    #[cold]
    pub(super) fn join_segment(&mut self, comm: CommHandle) -> Result<Option<Member>> {
        self.join_own_segment(comm, true)
    }

    /// The same of a communicator that has not tried; nobody gets a place unless all processes can afford one.
    #[cold]
    pub(in crate::collectives) fn join_own_segment(
        &mut self,
        comm: CommHandle,
        affords: bool,
    ) -> Result<Option<Member>> {
        self.comm_mut(comm)?.segment = SegmentState::Opening;
        self.close_segments();
        let opened = self.try_to_open(comm, affords);
        let state = self.comm_mut(comm)?;
        state.segment = match opened {
            Ok(Some(segment)) if state.by_cost.is_some() => SegmentState::Divided(segment),
            Ok(Some(segment)) => SegmentState::Open(segment),
            Ok(None) | Err(_) => SegmentState::None,
        };
        Ok(opened?.map(|segment| Member::new(segment, comm, state)))
    }

    fn try_to_open(&mut self, comm: CommHandle, affords: bool) -> Result<Option<SegmentId>> {
        let state = self.comm(comm)?;
        let (rank, mark, own) = (state.rank, state.context, self.own_peer());
        let members: Vec<PeerId> = state.group.iter().collect();
        let (mut near, mut first) = (true, rank);
        for (other, &peer) in (0..).zip(&members).filter(|(_, peer)| **peer != own) {
            match self.members(comm).meet(peer) {
                Meeting::Near => first = first.min(other),
                _ => near = false,
            }
        }
        let part = if near && affords {
            self.port.memory_mut().prepare_part(members.len() as u32)
        } else {
            None
        };
        let share = u64::from(self.port.share().min(SHARE_MOST)) << SHARE;
        let processor = self.port.processor().map_or(0, |at| (u64::from(at) + 1) << PROCESSOR);
        let place = self.cache_place().map_or(NO_PLACE, |[socket, cache]| {
            1 + (u64::from(cache) | u64::from(socket) << SOCKET)
        });
        let own = [part.unwrap_or(NO_PART), u64::from(first) | share | processor, place];
        let told = self.members(comm).allgather_words(own);
        let told_parts = told.iter().flatten().map(|[part, ..]| *part);
        let parts: Vec<(PeerId, u64)> = members.into_iter().zip(told_parts).collect();
        let all = told.is_ok() && parts.iter().all(|(_, part)| *part != NO_PART);
        if let (Some(part), false) = (part, all) {
            self.port.memory_mut().drop_part(part);
        }
        let told = told?;
        let beside = |(_, [_, word, _]): &(u32, &[u64; 3])| match (word >> PROCESSOR, processor) {
            (0, _) | (_, 0) => true,
            (other, own) => other == own >> PROCESSOR,
        };
        let others = (0..).zip(&told).filter(|(other, _)| *other != rank);
        let beside: Vec<u32> = others.filter(beside).map(|(other, _)| other).collect();
        let state = self.comm_mut(comm)?;
        let share = told.iter().map(|[_, word, _]| (word >> SHARE) as u32 & SHARE_MOST).max();
        state.share = share.unwrap_or(1);
        if state.share > 1 {
            state.beside = beside.into();
        }
        let firsts: Vec<u32> = told.iter().map(|[_, first, _]| *first as u32).collect();
        self.take_nodes(comm, &firsts)?;
        if !all {
            return Ok(None);
        }
        let place = |[_, _, place]: &[u64; 3]| {
            place.checked_sub(1).map(|place| [(place >> SOCKET) as u32, place as u32])
        };
        if let Some(places) = told.iter().map(place).collect::<Option<Vec<_>>>() {
            self.take_caches(comm, &places)?;
        }
        match self.port.memory_mut().open_segment(rank, mark, &parts) {
            Some(segment) => Ok(Some(segment)),
            None => crate::fail!(
                NO_MEM,
                "memory that a member shares for collectives cannot be mapped; is the limit on addresses (ulimit \
                 -v) reached?"
            ),
        }
    }

    /// Members have nothing more to say to each other on this segment: the memory goes back when all
    /// of them have come as far, which an operation of its own finds out.
    pub(crate) fn leave_segment(&mut self, comm: CommHandle) -> Result<()> {
        let state = self.comm(comm)?;
        let (SegmentState::Open(segment) | SegmentState::Divided(segment)) = state.segment else {
            return Ok(());
        };
        // Operations that have begun end as far as this, since the others have begun them too.
        let member = Member::new(segment, comm, state);
        if self.at(member).finish_pending().is_err() {
            return Ok(());
        }
        self.pending.forget(segment);
        self.comm_mut(comm)?.segment = SegmentState::None;
        let meeting = self.calls().barrier(comm)?;
        let request = self.begin(&meeting)?;
        self.closing.push((request, segment));
        self.close_segments();
        Ok(())
    }

    /// Closes the segments that all their members have left.
    pub(crate) fn close_segments(&mut self) {
        let mut at = 0;
        while let Some(&(request, segment)) = self.closing.get(at) {
            let left = match self.vci.requests.get(request) {
                Ok(state) if !state.complete => {
                    at += 1;
                    continue;
                }
                Ok(_) => self.vci.requests.remove(request).is_ok_and(|done| done.failure.is_none()),
                Err(_) => false,
            };
            self.closing.swap_remove(at);
            if left {
                self.port.memory_mut().close_segment(segment);
            }
        }
    }
}
