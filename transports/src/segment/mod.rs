//! Segments in shared memory: the streams between the members of one communicator (see [`mpi_core::node_memory`]).
//! Which memory that is, and how a sleeping reader is woken, is the transport's matter.

mod abort_flag;
mod exposed;
mod layout;
mod parts;
mod stream;
#[cfg(test)]
mod tests;

use mpi_core::datatype::Packer;
use mpi_core::node_memory::{Audience, Awaited, Exposure, Fragment, Share, Source};
use mpi_core::port::PeerId;
use mpi_core::tuning::{
    EXCHANGED_FRAGMENT_BYTES, FRAGMENT_BYTES, OVERSUBSCRIBED_FRAGMENTS, SECOND_CACHES_BYTES,
};

use abort_flag::AbortFlag;
pub use exposed::{Exposed, Location};
pub use layout::{ALIGN, Layout};
use parts::Parts;
use stream::{Answer, Inbound, Outbound};

use crate::sys::memory::Backing;

/// One member's view of a segment.
pub struct Segment {
    rank: usize,
    public: Outbound,
    private: Vec<Outbound>,
    from_public: Vec<Inbound>,
    from_private: Vec<Inbound>,
    abort_flags: Vec<AbortFlag>,
    members: Vec<PeerId>,
    part: u64,
    oversubscribed: bool,
    /// What shares the caches; where ranks share processors, bytes of the way round in each stream.
    share: Share,
    round: usize,
}

impl Segment {
    /// The segment whose parts lie at these addresses, by rank; `part` names the own one.
    ///
    /// # Safety
    /// Each address is a multiple of [`ALIGN`] and has [`Layout::bytes`] bytes of shared memory,
    /// mapped as long as the segment lives; only the segment writes to the own part.
    pub unsafe fn new(rank: u32, mark: u64, members: Vec<(PeerId, *mut u8)>, part: u64) -> Segment {
        let me = rank as usize;
        let (members, bases): (Vec<PeerId>, Vec<*mut u8>) = members.into_iter().unzip();
        let all = 0..members.len();
        // SAFETY: the caller's promise.
        let parts = unsafe { Parts::new(me, mark, bases) };
        Segment {
            rank: me,
            public: parts.public(),
            private: all.clone().map(|reader| parts.private(reader)).collect(),
            from_public: all.clone().map(|of| parts.public_of(of)).collect(),
            from_private: all.clone().map(|of| parts.private_of(of)).collect(),
            abort_flags: all.map(|of| parts.abort_flag(of)).collect(),
            members,
            part,
            oversubscribed: false,
            share: Share { streams: 1, messages: 1 },
            round: SECOND_CACHES_BYTES,
        }
    }

    /// The name of the own part.
    pub fn part(&self) -> u64 {
        self.part
    }

    /// The member of this rank.
    pub fn member(&self, rank: u32) -> PeerId {
        self.members[rank as usize]
    }

    /// All members but this process.
    pub fn others(&self) -> impl Iterator<Item = PeerId> + '_ {
        let other = |(rank, peer): (usize, &PeerId)| (rank != self.rank).then_some(*peer);
        self.members.iter().enumerate().filter_map(other)
    }

    fn outbound(&mut self, to: Audience) -> &mut Outbound {
        match to {
            Audience::Everyone => &mut self.public,
            Audience::One(rank) => &mut self.private[rank as usize],
        }
    }

    /// The same, to look at.
    #[inline]
    fn writes(&self, to: Audience) -> &Outbound {
        match to {
            Audience::Everyone => &self.public,
            Audience::One(rank) => &self.private[rank as usize],
        }
    }

    fn inbound(&mut self, from: Source) -> &mut Inbound {
        match from {
            Source::Public(rank) => &mut self.from_public[rank as usize],
            Source::Private(rank) => &mut self.from_private[rank as usize],
        }
    }

    /// Says whether ranks share processors.
    pub fn set_oversubscribed(&mut self, oversubscribed: bool) {
        self.oversubscribed = oversubscribed;
        self.public.set_oversubscribed(oversubscribed);
        self.private.iter_mut().for_each(|stream| stream.set_oversubscribed(oversubscribed));
        let inbound = self.from_public.iter_mut().chain(&mut self.from_private);
        inbound.for_each(|stream| stream.set_oversubscribed(oversubscribed));
    }

    /// Says of which file the own part is a part.
    pub fn be_backed(&mut self, backing: Backing) {
        self.public.be_backed(backing);
        self.private.iter_mut().for_each(|stream| stream.be_backed(backing));
    }

    /// Whether there are two members, each with a processor.
    pub fn is_of_two(&self) -> bool {
        self.members.len() == 2 && !self.oversubscribed
    }

    /// Says what shares the caches.
    #[inline]
    pub fn share_caches(&mut self, share: Share) {
        self.share = share;
        self.round = SECOND_CACHES_BYTES / share.streams.max(1) as usize;
    }

    /// The largest fragment for an audience. Where ranks share processors the fewest turns are best, so fragments are
    /// large.
    pub fn fragment_max(&self, to: Audience) -> usize {
        let room = self.writes(to).room();
        if self.oversubscribed {
            room / OVERSUBSCRIBED_FRAGMENTS
        } else {
            FRAGMENT_BYTES.min(room / 2)
        }
    }

    /// The same of a message in an exchange.
    pub fn exchanged_max(&self, to: Audience) -> usize {
        match self.is_of_two() {
            true => EXCHANGED_FRAGMENT_BYTES.min(self.writes(to).room() / 2),
            false => self.fragment_max(to),
        }
    }

    /// Whether a reader has another cache, as far as is known of the stream that it reads.
    pub fn is_far(&self, to: Audience) -> bool {
        match to {
            Audience::One(rank)
                if !self.private[rank as usize].has_proved() && self.is_of_two() =>
            {
                self.public.is_far()
            }
            to => self.writes(to).is_far(),
        }
    }

    /// Bytes that pass through the caches if messages of `len` bytes go through rings: the program's and the rings'.
    pub fn footprint(&self, len: u64) -> u64 {
        self.share.messages.saturating_mul(len).saturating_add(SECOND_CACHES_BYTES as u64)
    }

    /// What a test wants to be found out about the readers of what is written for this audience.
    #[cfg(test)]
    pub(crate) fn prove(&mut self, to: Audience, is_near: bool) {
        self.outbound(to).prove(is_near);
    }

    /// Writes a fragment, if there is room.
    #[inline]
    pub fn write(&mut self, to: Audience, source: &mut Packer, len: usize, last: bool) -> bool {
        let round = self.round;
        self.outbound(to).write(source, len, last, round)
    }

    /// Shows such a fragment, if all readers fetch such, and there is room.
    pub fn expose(&mut self, to: Audience, exposed: Exposed) -> bool {
        self.outbound(to).expose(exposed)
    }

    /// What has become of what was exposed last.
    pub fn exposure(&mut self, to: Audience) -> Exposure {
        let me = self.rank;
        match (self.outbound(to).exposure(), to) {
            (Answer::Waits, _) => Exposure::Waits,
            (Answer::Taken, _) => Exposure::Taken,
            (Answer::Refused(_), Audience::One(rank)) => Exposure::Refused(rank),
            (Answer::Refused(reader), Audience::Everyone) => {
                Exposure::Refused((reader + usize::from(reader >= me)) as u32)
            }
        }
    }

    /// Whether this member has yet to read something that was written to everyone.
    pub fn lags(&self, rank: u32) -> bool {
        self.public.lags((rank - u32::from(rank > self.rank as u32)) as usize)
    }

    /// Tells the member of this rank that this process fetches what it shows.
    pub fn consent(&mut self, rank: u32) {
        self.from_public[rank as usize].consent();
        self.from_private[rank as usize].consent();
    }

    /// Where the fragment that `peek` shows lies in its writer's memory, if it is such a one.
    pub fn exposed(&mut self, from: Source) -> Option<Exposed> {
        self.inbound(from).exposed()
    }

    /// Says that this fragment, and all to come in this stream, cannot be fetched; it is to be consumed all the same.
    pub fn refuse(&mut self, from: Source) {
        self.inbound(from).refuse();
    }

    /// The next fragment of a stream, if it has come.
    #[inline]
    pub fn peek(&mut self, from: Source) -> Option<Fragment> {
        self.inbound(from).peek()
    }

    /// Asks for the lines of the next fragment of a stream.
    #[inline]
    pub fn ask(&mut self, from: Source) {
        self.inbound(from).ask();
    }

    /// Gives a fragment back.
    #[inline]
    pub fn consume(&mut self, from: Source) {
        self.inbound(from).consume();
    }

    /// Says that this process goes no further, and why.
    pub fn abort_segment(&mut self, why: i32) {
        self.abort_flags[self.rank].say(why);
    }

    /// Why the member of this rank goes no further, if it said so.
    pub fn abort_class(&self, rank: u32) -> Option<i32> {
        self.abort_flags[rank as usize].hear()
    }

    /// Whether what was awaited is there, or will not come.
    pub fn has_come(&mut self, what: Awaited) -> bool {
        let come = match what {
            Awaited::Fragment(from) => self.inbound(from).peek().is_some(),
            Awaited::Reader(to) => self.outbound(to).has_answer(),
            Awaited::Room(to, len) => {
                let round = self.round;
                self.outbound(to).has_room(len, round)
            }
        };
        come || self.abort_flags.iter().any(|member| member.hear().is_some())
    }
}
