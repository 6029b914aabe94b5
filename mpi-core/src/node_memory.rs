//! Memory of a node: what a transport offers to the collectives of processes that share it.
//!
//! A segment belongs to one communicator. Each member owns one part of it and writes only there: a stream that every
//! other member reads, and for each other member a stream that this one alone reads. A stream carries fragments, in
//! order and without loss; a message is some fragments, the last of which is marked. There is no lock and nothing is
//! ever reset, so a member that dies between two stores harms nobody but by its silence.
//!
//! What was asked for in vain since the last poll (a fragment, or room for one) ends a sleep when it comes.

use crate::buffer::RawBytes;
use crate::datatype::{Packer, Unpacker};
use crate::terms::PeerId;

/// A segment, by the number that the transport gave it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SegmentId(pub u32);

/// How far the acquaintance with a peer goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Meeting {
    /// It has not answered yet.
    Pending,
    /// It is on this node and its memory is mapped.
    Near,
    /// It is out of reach.
    Elsewhere,
}

/// Who reads what this process writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Audience {
    /// Every other member.
    Everyone,
    /// The member of this rank.
    One(u32),
}

/// One of the streams that this process reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// What the member of this rank writes to everyone.
    Public(u32),
    /// What it writes to this process.
    Private(u32),
}

impl Source {
    /// The rank of who writes it.
    pub fn rank(self) -> u32 {
        match self {
            Source::Public(rank) | Source::Private(rank) => rank,
        }
    }
}

/// A fragment that has arrived. Its bytes stay where they are until it is consumed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fragment {
    /// The first byte, in shared memory: it may be any, and may change if the writer is broken.
    pub at: *const u8,
    /// Number of bytes.
    pub len: usize,
    /// Whether it ends its message.
    pub last: bool,
    /// If not 0, the fragment is so many bytes of the writer's own memory, which [`NodeMemory::fetch_fragment`] gets.
    pub exposed: u64,
}

/// What has become of a fragment that a process has shown in its own memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exposure {
    /// Somebody has not come for it yet.
    Waits,
    /// This rank's reader could not fetch it, which is said once; it reads the private stream now.
    Refused(u32),
    /// All readers have come, and all who refused have been named.
    Taken,
}

/// What a process waits for at a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Awaited {
    /// The next fragment of a stream.
    Fragment(Source),
    /// Room for a fragment of so many bytes.
    Room(Audience, usize),
    /// One of those for whom a fragment was exposed.
    Reader(Audience),
}

/// Between which memories many bytes are copied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Copying {
    /// Both are the program's own.
    Own,
    /// Out of a fragment, which another process has written, to the program's own.
    Out,
}

/// What became of a [`NodeMemory::fetch_fragment`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fetched {
    /// It is where it belongs; so many bytes had room.
    Whole(u64),
    /// It cannot be fetched: it is to be consumed all the same, and comes in fragments in the writer's private stream.
    Refused,
}

/// What an operation of all members has in the caches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Share {
    /// Streams that are written at the same time, by all members together.
    pub streams: u32,
    /// Messages that the user memory of all members has room for: sent, received, and a member's own.
    pub messages: u64,
}

/// A transport's segments. Nothing has a default here, since who hands calls on would not see that one is missing.
pub trait NodeMemory {
    /// Takes memory for this process's part of a segment with `size` members; the number is for the others.
    fn prepare_part(&mut self, size: u32) -> Option<u64>;

    /// Gives back a part that came to nothing.
    fn drop_part(&mut self, part: u64);

    /// Opens the segment whose members, by rank, are these peers with these parts; this process has
    /// `rank`. `mark` is the same at all members and differs from that of every other segment.
    fn open_segment(&mut self, rank: u32, mark: u64, parts: &[(PeerId, u64)]) -> Option<SegmentId>;

    /// Closes a segment that no member will use any more.
    fn close_segment(&mut self, segment: SegmentId);

    /// The largest fragment that a message to this audience is cut into. [`NodeMemory::write_fragment`] takes one of up
    /// to [`MAPPED_BYTES`](crate::tuning::MAPPED_BYTES) in any case, since the fast path does not cut.
    fn fragment_max(&self, segment: SegmentId, to: Audience) -> usize;

    /// The same of a message in an exchange, which nobody takes in while it is written, having its own to write.
    fn exchanged_max(&self, segment: SegmentId, to: Audience) -> usize;

    /// Says what shares the caches until the next word: where ranks share processors, the ways that long fragments
    /// go round in are to fit into the processors' caches together; and what does not fit with the program's
    /// memory may be better left there for its readers.
    fn share_caches(&mut self, segment: SegmentId, share: Share);

    /// Whether so many bytes of user memory pass through the caches anyway: more than the last one holds.
    fn exceeds_caches(&self, bytes: u64) -> bool;

    /// Copies bytes of a fragment where they belong, so that they displace nothing in the caches; returns
    /// how many had room, or nothing if the transport knows no such way.
    fn land_fragment(&mut self, bytes: RawBytes<'_>, into: &mut Unpacker) -> Option<usize>;

    /// Copies many bytes of one run to where a message goes, by the cheapest kind of moves; returns how many had room.
    fn copy_by_cost(bytes: RawBytes<'_>, what: Copying, into: &mut Unpacker) -> usize;

    /// Writes the next `len` bytes of `source` as a fragment, if there is room for it now.
    fn write_fragment(
        &mut self,
        segment: SegmentId,
        to: Audience,
        source: &mut Packer,
        len: usize,
        last: bool,
    ) -> bool;

    /// Whether a message of `len` bytes, in one run, is better exposed to an audience than written.
    fn is_better_exposed(&mut self, segment: SegmentId, to: Audience, len: u64) -> bool;

    /// The same of one that lies there, since its readers have that memory mapped and copy it without the kernel.
    fn is_better_left(&self, segment: SegmentId, to: Audience, at: *const u8, len: u64) -> bool;

    /// Shows `len` bytes at `at`, a whole message, which its readers fetch from there, if they all
    /// can, and there is room for a word about it now. The memory stays
    /// as it is, and nothing more is written in that stream, until [`NodeMemory::exposure`] says that it is taken.
    fn expose_fragment(
        &mut self,
        segment: SegmentId,
        to: Audience,
        at: *const u8,
        len: u64,
    ) -> bool;

    /// What has become of what was exposed last.
    fn exposure(&mut self, segment: SegmentId, to: Audience) -> Exposure;

    /// Fetches the fragment that [`NodeMemory::read_fragment`] shows to where it belongs, past the caches if asked and
    /// possible.
    fn fetch_fragment(
        &mut self,
        segment: SegmentId,
        from: Source,
        into: &mut Unpacker,
        past: bool,
    ) -> Fetched;

    /// Fetches as many bytes of the exposed fragment that [`NodeMemory::read_fragment`] shows as there is room for,
    /// from this place of it on, and all or none of them. If they cannot be fetched the fragment is refused, as by
    /// [`NodeMemory::fetch_fragment`]: it comes as a whole in the writer's private stream.
    fn fetch_part(
        &mut self,
        segment: SegmentId,
        from: Source,
        at: u64,
        into: &mut Unpacker,
    ) -> bool;

    /// Where `len` bytes of the exposed fragment that [`NodeMemory::read_fragment`] shows lie here, from this place of
    /// it on, if they are mapped here. They are readable until the fragment is consumed, and change when its writer
    /// aborts.
    fn part_in_place(
        &mut self,
        segment: SegmentId,
        from: Source,
        at: u64,
        len: u64,
    ) -> Option<*const u8>;

    /// The next fragment of a stream, if it has come.
    fn read_fragment(&mut self, segment: SegmentId, from: Source) -> Option<Fragment>;

    /// Whether the member of this rank has yet to read something that this process has written to everyone.
    fn lags(&self, segment: SegmentId, rank: u32) -> bool;

    /// Asks for where the next fragment of a stream will be, which is to be read soon.
    fn ask_for_fragment(&mut self, segment: SegmentId, from: Source);

    /// Tells all members, also sleeping ones, that this process goes no further on a segment: an error class.
    fn abort_segment(&mut self, segment: SegmentId, why: i32);

    /// Why a member goes no further, if it said so.
    fn abort_class(&mut self, segment: SegmentId, rank: u32) -> Option<i32>;

    /// Lets the writer have the memory of the fragment that [`NodeMemory::read_fragment`] shows.
    fn consume_fragment(&mut self, segment: SegmentId, from: Source);

    /// What was asked for in vain since the last poll: for a thread that sleeps while others poll.
    fn missed(&self) -> Vec<(SegmentId, Awaited)>;

    /// Whether some of that has come, or a member goes no further.
    fn has_come(&mut self, missed: &[(SegmentId, Awaited)]) -> bool;
}
