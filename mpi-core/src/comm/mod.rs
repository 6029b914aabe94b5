//! Communicators (MPI-5.0 chapter 7): a group, a context and what hangs on them. The calls that make them and end them
//! are [`communicators`](crate::communicators).

pub mod topology;
mod union;

use std::sync::Arc;

use crate::attached_buffer::AttachedBuffer;
use crate::attributes::AttributeList;
use crate::coll::by_cost::ByCost;
use crate::coll::hierarchy::groups::Groups;
use crate::coll::lead::Lead;
use crate::constants::{Comparison, Special};
use crate::errhandler::ERRORS_ARE_FATAL;
use crate::error::{Error, ErrorClass, Result};
use crate::group::Group;
use crate::handle::{CommHandle, ErrhandlerHandle, InfoHandle, SessionHandle};
use crate::node_memory::SegmentId;
use crate::terms::PeerId;
use crate::text::{Text, shown};

pub use union::Union;

/// `MPI_COMM_WORLD`.
pub const WORLD: u32 = 0x101;
/// `MPI_COMM_SELF`.
pub const SELF: u32 = 0x102;
/// `MPI_GROUP_EMPTY`.
pub const GROUP_EMPTY: u32 = 0x109;

/// What a communicator has for a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SegmentState {
    /// It has not been tried.
    Untried,
    /// It is being tried.
    Opening,
    /// It cannot have one, or has it no more.
    None,
    /// This one.
    Open(SegmentId),
    /// The same, of processes with several last-level caches: some calls do not go flat.
    Divided(SegmentId),
    /// It had one, where an operation failed with this class.
    Failed(ErrorClass),
}

/// A communicator's groups, where there are several and not all have one process only, and the two communicators that
/// follow, of this process's group and of the leaders. Either may have a level of its own.
pub(crate) struct Level {
    pub(crate) groups: Arc<Groups>,
    /// See [`Groups::is_in_order`].
    pub(crate) in_order: bool,
    /// The communicator of this process's group.
    pub(crate) within: CommHandle,
    /// That of the leaders; null at others.
    pub(crate) across: CommHandle,
}

/// Who holds a communicator.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Held {
    /// Persistent requests on it.
    pub(crate) requests: u32,
    /// The program has freed it.
    pub(crate) freed: bool,
}

impl Held {
    /// Whether the program has freed it. Its error handler is told its handle all the same, and may free it again.
    pub(crate) fn is_freed(self) -> bool {
        self.freed
    }
}

/// A communicator.
pub struct Comm {
    /// Context id of its point-to-point messages; the next value is its collectives'.
    pub context: u64,
    /// Its processes; of an intercommunicator, the local ones.
    pub group: Group,
    /// The session that it was derived from; null in the world model (§11.3).
    pub session: SessionHandle,
    /// Rank of this process in `group`.
    pub rank: u32,
    /// The other group of an intercommunicator.
    pub remote: Option<Group>,
    /// Both groups of an intercommunicator together.
    pub(crate) union: Option<Arc<Union>>,
    /// What `MPI_Comm_get_name` answers.
    pub name: Text,
    /// Its error handler.
    pub errhandler: ErrhandlerHandle,
    /// Its attributes.
    pub attributes: AttributeList,
    /// Its hints.
    pub info: InfoHandle,
    /// Which of its processes are neighbours.
    pub topology: Option<Arc<topology::Topology>>,
    pub(crate) buffer: Option<AttachedBuffer>,
    /// Number of the next collective call, the tag of its messages.
    pub(crate) collective_number: u32,
    /// Number of the next persistent collective operation.
    pub(crate) persistent_number: u32,
    /// Number of the next check of a collective call.
    pub(crate) check_number: u32,
    /// Persistent requests on it, and whether the program has freed it.
    pub(crate) held: Held,
    /// Its segment.
    pub(crate) segment: SegmentState,
    /// Its groups, one a node, where that is known and there are several; on one node one a last-level cache, or a
    /// socket.
    pub(crate) level: Option<Arc<Level>>,
    /// On one node, how its collectives go over several last-level caches.
    pub(crate) by_cost: Option<Arc<ByCost>>,
    /// The largest number of its processes on one node; 0 where that is not known.
    pub ranks_per_node: u32,
    /// How many processes share a processor, at most; 1 where that is not known.
    pub(crate) share: u32,
    /// The others that may run on this process's processor, where that is known and some do.
    pub(crate) beside: Box<[u32]>,
    /// What followed the last barrier on its segment.
    pub(crate) lead: Lead,
    /// The next long exchange on its segment copies this process's own block before it reads the others'.
    pub(crate) own_first: bool,
}

/// A call weighs one more for each so many bytes, when it is asked whether a communicator has used collectives enough
/// to get a segment: long messages take more time than the acquaintance, and a program may make few of them.
const WEIGHTY_BYTES: i64 = 1 << 20;

impl Comm {
    /// An intracommunicator of `group`, where this process is `rank`.
    pub fn new(context: u64, group: Group, rank: u32) -> Comm {
        Comm {
            context,
            session: group.session(),
            group,
            rank,
            remote: None,
            union: None,
            name: Text::new(),
            errhandler: ERRORS_ARE_FATAL,
            attributes: AttributeList::default(),
            info: InfoHandle::NULL,
            topology: None,
            buffer: None,
            collective_number: 0,
            persistent_number: 0,
            check_number: 0,
            held: Held::default(),
            segment: SegmentState::Untried,
            level: None,
            by_cost: None,
            ranks_per_node: 0,
            share: 1,
            beside: Box::default(),
            lead: Lead::default(),
            own_first: true,
        }
    }

    /// The same with a name.
    #[must_use]
    pub fn named(self, name: &str) -> Comm {
        Comm { name: name.into(), ..self }
    }

    /// Number of processes in the (local) group.
    #[inline]
    pub fn size(&self) -> u32 {
        self.group.size()
    }

    /// The group that messages go to: the remote one of an intercommunicator.
    #[inline]
    pub fn targets(&self) -> &Group {
        self.remote.as_ref().unwrap_or(&self.group)
    }

    /// Counts a collective call; its number, which is the same at all processes.
    #[inline]
    pub(crate) fn next_call(&mut self) -> u32 {
        let number = self.collective_number;
        self.collective_number = (number + 1) & i32::MAX as u32;
        number
    }

    /// Whether it has a segment, be it one that is of no more use.
    #[inline]
    pub(crate) fn has_segment(&self) -> bool {
        matches!(
            self.segment,
            SegmentState::Open(_) | SegmentState::Divided(_) | SegmentState::Failed(_)
        )
    }

    /// Whether a blocking collective with so many bytes (0 if the processes do not all know them) may go over a
    /// segment; the same at all of its processes.
    #[inline]
    pub(crate) fn may_have_segment(&self, patience: u32, bytes: i64) -> bool {
        match self.segment {
            SegmentState::Open(_) | SegmentState::Divided(_) | SegmentState::Failed(_) => true,
            SegmentState::Untried => {
                let calls = i64::from(self.collective_number) + bytes / WEIGHTY_BYTES;
                self.size() > 1 && calls >= i64::from(self.size() / 4 * patience)
            }
            SegmentState::Opening | SegmentState::None => false,
        }
    }

    /// The process that has `rank`; `param` is what the standard calls the argument.
    #[inline]
    pub fn target(&self, rank: i32, param: &'static str) -> Result<PeerId> {
        match u32::try_from(rank).ok().and_then(|rank| self.targets().peer(rank)) {
            Some(peer) => Ok(peer),
            None => Err(self.no_such_rank(rank, param)),
        }
    }

    #[cold]
    fn no_such_rank(&self, rank: i32, param: &'static str) -> Error {
        let class = match param {
            "root" => ErrorClass::ROOT,
            _ => ErrorClass::RANK,
        };
        let name = if self.name.is_empty() { "the communicator".into() } else { shown(&self.name) };
        let ranks = match self.targets().size() {
            0 => "no ranks".to_owned(),
            1 => "only rank 0".to_owned(),
            size => format!("ranks 0 to {}", size - 1),
        };
        let error =
            Error::special(class, param, Special::Rank(rank), format!(", but {name} has {ranks}"));
        // Mostly the program was started without mpirun.
        match self.targets().size() == 1 && *self.name == *b"MPI_COMM_WORLD" {
            true => error.hint("Start the program by mpirun -n N."),
            false => error,
        }
    }

    /// `MPI_Comm_compare` (§7.4.1) of two different handles.
    pub fn compare(&self, other: &Comm) -> Comparison {
        if self.context == other.context {
            return Comparison::Identical;
        }
        let groups = match (&self.remote, &other.remote) {
            (None, None) => self.group.compare(&other.group),
            (Some(mine), Some(theirs)) => {
                weaker(self.group.compare(&other.group), mine.compare(theirs))
            }
            _ => Comparison::Unequal,
        };
        match groups {
            Comparison::Identical => Comparison::Congruent,
            other => other,
        }
    }
}

fn weaker(one: Comparison, other: Comparison) -> Comparison {
    if (one as i32) < other as i32 { other } else { one }
}

/// The context id of a communicator that exists from the start.
pub(crate) fn reserved_context(job: &str, number: u64) -> u64 {
    hashed(job, b"reserved", number)
}

/// The context id of the communicator that a process made as its leader under `number`.
pub(crate) fn derived_context(job: &str, number: u64) -> u64 {
    hashed(job, b"derived", number)
}

/// 62 bits that no other communicator of this or another job has, but by an accident less likely than a broken memory
/// cell; a multiple of 4, so that the next value is free for the collectives, and the one behind it for partitions.
pub(crate) fn hashed(job: &str, purpose: &[u8], number: u64) -> u64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(job.as_bytes()).update(b"\0").update(purpose);
    hasher.update(&number.to_le_bytes());
    let hash = hasher.finalize();
    u64::from_le_bytes(std::array::from_fn(|i| hash.as_bytes()[i])) & !3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_world_of_one_has_perhaps_not_been_started_by_mpirun() {
        let advice = |size, name| {
            let comm = Comm::new(0, Group::range(PeerId(0), size), 0).named(name);
            comm.target(7, "dest").unwrap_err().advice().to_owned()
        };
        assert_eq!(advice(1, "MPI_COMM_WORLD"), "Start the program by mpirun -n N.");
        assert_eq!([advice(2, "MPI_COMM_WORLD"), advice(1, "grid")], ["", ""]);
    }
}
