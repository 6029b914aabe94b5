//! A process's place at its communicator's segment, and what it does there during a call.

use crate::collectives::Collectives;
use crate::comm::{Comm, SegmentState};
use crate::entry::Entry;
use crate::error::{Error, ErrorClass, Result};
use crate::handle::CommHandle;
use crate::node_memory::{Audience, Fragment, NodeMemory, SegmentId, Source};
use crate::port::Port;

/// One process's place at a segment during a call.
#[derive(Clone, Copy, Debug)]
pub(in crate::collectives) struct Member {
    pub segment: SegmentId,
    pub comm: CommHandle,
    pub rank: u32,
    pub size: u32,
    /// Members share processors.
    pub oversubscribed: bool,
}

impl Member {
    #[inline]
    pub(super) fn new(segment: SegmentId, handle: CommHandle, comm: &Comm) -> Member {
        Member {
            segment,
            comm: handle,
            rank: comm.rank,
            size: comm.size(),
            oversubscribed: comm.share > 1,
        }
    }

    /// Where a member stands in the order of [`Member::others`].
    pub(super) fn place(self, rank: u32) -> u32 {
        (rank + self.size - self.rank) % self.size
    }

    /// Whether the order counts in which members go on.
    pub(super) fn order_counts(self) -> bool {
        self.oversubscribed && self.size > 2
    }

    /// The rank of another member, where it is all the same which.
    #[inline]
    pub(super) fn neighbour(self) -> u32 {
        (self.rank + 1) % self.size
    }

    /// The other members, each process beginning with the one behind it.
    #[inline]
    pub(super) fn others(self) -> impl Iterator<Item = u32> {
        (self.rank + 1..self.size).chain(0..self.rank)
    }
}

/// What one process does at a segment during a call: the streams of its place there, and the process itself, which goes
/// on with everything else while it waits. It is a borrow of both. What is out of line gets one of its own
/// ([`AtSegment::reborrow`]), so that on the way of a small message none has to lie in memory.
pub(in crate::collectives) struct AtSegment<'a, P: Port> {
    pub(super) entry: Entry<'a, P>,
    pub(super) member: Member,
}

impl<P: Port> AtSegment<'_, P> {
    /// The same for what is out of line.
    #[inline(always)]
    pub(super) fn reborrow(&mut self) -> AtSegment<'_, P> {
        self.entry.at(self.member)
    }

    /// See [`NodeMemory::read_fragment`].
    #[inline(always)]
    pub(super) fn read_fragment(&mut self, from: Source) -> Option<Fragment> {
        self.entry.port.memory_mut().read_fragment(self.member.segment, from)
    }

    /// See [`NodeMemory::ask_for_fragment`].
    #[inline(always)]
    pub(super) fn ask_for_fragment(&mut self, from: Source) {
        self.entry.port.memory_mut().ask_for_fragment(self.member.segment, from);
    }

    /// See [`NodeMemory::consume_fragment`].
    #[inline(always)]
    pub(super) fn consume_fragment(&mut self, from: Source) {
        self.entry.port.memory_mut().consume_fragment(self.member.segment, from);
    }

    /// See [`NodeMemory::fragment_max`].
    #[inline(always)]
    pub(super) fn fragment_max(&self, to: Audience) -> usize {
        self.entry.port.memory().fragment_max(self.member.segment, to)
    }

    /// See [`NodeMemory::abort_class`].
    #[inline(always)]
    pub(super) fn abort_class(&mut self, rank: u32) -> Option<i32> {
        self.entry.port.memory_mut().abort_class(self.member.segment, rank)
    }
}

#[cold]
pub(super) fn failed_before(class: ErrorClass) -> Error {
    let what = "an earlier collective operation on this communicator failed at a process of it";
    Error::new(class, what).hint(
        "Make a new communicator of its group by MPI_Comm_create_group: what is made of this one needs it to work.",
    )
}

impl<P: Port> Entry<'_, P> {
    /// This process at its place at a segment.
    #[inline(always)]
    pub(in crate::collectives) fn at(&mut self, member: Member) -> AtSegment<'_, P> {
        AtSegment { entry: self.reborrow(), member }
    }
}

impl<P: Port> Collectives<'_, P> {
    /// This process's place at the segment of `comm`, opened if never tried. `None` at all members if there is none.
    #[inline]
    pub(in crate::collectives) fn member(&mut self, comm: CommHandle) -> Result<Option<Member>> {
        let state = self.comm(comm)?;
        match state.segment {
            SegmentState::Open(segment) | SegmentState::Divided(segment) => {
                Ok(Some(Member::new(segment, comm, state)))
            }
            SegmentState::Untried => self.join_segment(comm),
            SegmentState::Failed(class) => Err(failed_before(class)),
            SegmentState::Opening | SegmentState::None => Ok(None),
        }
    }
}
