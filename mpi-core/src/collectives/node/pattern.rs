//! Who writes to whom in an operation, as far as it matters to caches: how many streams are written at the same time,
//! in what parts one writes to all, and whether what the processes have does not fit in anyway.

use super::member::AtSegment;
use super::message::Outgoing;
use crate::coll::menu::Algorithm;
use crate::coll::place::Places;
use crate::coll::plan::Problem;
use crate::datatype::Packer;
use crate::node_memory::{Audience, NodeMemory, Share, Source};
use crate::port::Port;
use crate::tuning::{BESIDES_BYTES, FRAGMENT_BYTES, LONG_BODY_BYTES, PIPELINE_FRAGMENTS};

/// Who writes to whom.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Pattern {
    /// One process to all.
    OneToAll,
    /// One process to each, or each to one.
    Rooted,
    /// Each process to all.
    EachToAll,
    /// Each process to each other one.
    EachToEach,
}

impl Pattern {
    /// That of an operation in which nobody reduces a share for others.
    pub(super) fn of(problem: &Problem) -> Pattern {
        match problem {
            Problem::Barrier | Problem::Bcast { .. } => Pattern::OneToAll,
            Problem::Gather { .. }
            | Problem::Gatherv { .. }
            | Problem::Scatter { .. }
            | Problem::Scatterv { .. }
            | Problem::Reduce { .. } => Pattern::Rooted,
            Problem::Allgather { .. } | Problem::Allreduce { .. } => Pattern::EachToAll,
            _ => Pattern::EachToEach,
        }
    }

    /// That of an operation by an algorithm, of which some let processes reduce for others.
    pub(super) fn by(algorithm: Algorithm, problem: &Problem) -> Pattern {
        match algorithm {
            Algorithm::SharedMemoryShares => Pattern::EachToEach,
            _ => Pattern::of(problem),
        }
    }

    /// Streams that are written in it.
    #[inline]
    fn streams(self, size: u32) -> u32 {
        match self {
            Pattern::OneToAll => 1,
            Pattern::Rooted => size - 1,
            Pattern::EachToAll => size,
            Pattern::EachToEach => size * (size - 1),
        }
    }

    /// The streams from which one process receives.
    pub(super) fn source(self) -> fn(u32) -> Source {
        match self {
            Pattern::OneToAll | Pattern::EachToAll => Source::Public,
            Pattern::Rooted | Pattern::EachToEach => Source::Private,
        }
    }

    /// Messages that all processes together have in user memory.
    #[inline]
    fn messages(self, size: u32) -> u64 {
        let size = u64::from(size);
        match self {
            Pattern::OneToAll => size,
            Pattern::Rooted => 2 * size,
            Pattern::EachToAll => size * (1 + size),
            Pattern::EachToEach => size * 2 * size,
        }
    }
}

/// The largest fragment of one message to all where ranks share processors: readers on others take one while the next
/// is written.
fn part(len: u64) -> u64 {
    (len / PIPELINE_FRAGMENTS as u64).max(FRAGMENT_BYTES as u64)
}

impl Outgoing {
    /// What a root has for all.
    pub(super) fn of_root<P: Port>(at: &AtSegment<'_, P>, source: Packer) -> Outgoing {
        let message = Outgoing::new(at, Audience::Everyone, source, 1);
        let part =
            if at.member.oversubscribed { part(message.remaining()) as usize } else { usize::MAX };
        Outgoing { most: message.most.min(part), ..message }
    }
}

impl<P: Port> AtSegment<'_, P> {
    /// Says how the caches are shared in an operation whose messages have up to `len` bytes each.
    #[inline]
    pub(super) fn share_caches(&mut self, len: usize, pattern: Pattern) {
        if len >= LONG_BODY_BYTES {
            let (streams, messages) =
                (pattern.streams(self.member.size), pattern.messages(self.member.size));
            self.entry
                .port
                .memory_mut()
                .share_caches(self.member.segment, Share { streams, messages });
        }
    }

    /// Whether what comes in from all goes past the caches, through which it would pass anyway: until the
    /// program reads it there is more behind it than they hold.
    pub(super) fn is_beyond_caches(&self, recv: &Places, pattern: Pattern) -> bool {
        let places = (0..self.member.size as usize).filter_map(|rank| recv.get(rank));
        let bytes: u64 = places.map(|place| place.bytes() as u64).sum();
        self.exceeds_caches(pattern, bytes / u64::from(self.member.size))
    }

    /// Whether the messages of all, of so many bytes each, are more than the caches hold; of members that share
    /// processors with what each of them touches besides.
    pub(super) fn exceeds_caches(&self, pattern: Pattern, message: u64) -> bool {
        let besides = if self.member.oversubscribed {
            u64::from(self.member.size) * BESIDES_BYTES
        } else {
            0
        };
        let messages = pattern.messages(self.member.size).saturating_mul(message);
        self.entry.port.memory().exceeds_caches(messages.saturating_add(besides))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_messages_of_all_members_are_counted() {
        let of = |pattern: Pattern| (pattern.streams(4), pattern.messages(4));
        assert_eq!(of(Pattern::OneToAll), (1, 4), "one has it, three get it");
        assert_eq!(of(Pattern::Rooted), (3, 4 + 4), "a root's own among them");
        assert_eq!(of(Pattern::EachToAll), (4, 4 * (1 + 4)), "each sends one and receives four");
        assert_eq!(of(Pattern::EachToEach), (12, 4 * (4 + 4)), "each sends and receives four");
    }

    #[test]
    fn readers_have_something_to_read_while_a_root_writes_but_no_crumbs() {
        let parts = |len: u64| len.div_ceil(part(len));
        assert_eq!(
            [1, 32 << 10, 64 << 10, 100 << 10, 128 << 10, 1 << 20].map(parts),
            [1, 1, 2, 4, 4, 4]
        );
        assert_eq!(part(0), FRAGMENT_BYTES as u64);
    }
}
