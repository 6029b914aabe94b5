//! Making communicators (MPI-5.0 §7.4.2). The leader, rank 0 of the new group, chooses the
//! context id; it travels with the creation's own messages.

use super::Communicators;
use super::members::Members;
use crate::comm::{Comm, GROUP_EMPTY, hashed};
use crate::constants::UNDEFINED;
use crate::error::{Error, ErrorClass, Result};
use crate::group::Group;
use crate::handle::{CommHandle, GroupHandle, RequestHandle};
use crate::objects::Objects;
use crate::p2p::Message;
use crate::port::Port;

/// What a process contributes to a split.
#[derive(Clone, Copy)]
pub(super) struct Ballot {
    pub(super) color: i32,
    pub(super) key: i32,
    pub(super) context: u64,
}

/// The rank among `parents` of the first of `group`.
fn leader_of(group: &Group, parents: &Group) -> Result<usize> {
    let leader = group.peer(0).and_then(|leader| parents.rank_of(leader));
    leader.map(|rank| rank as usize).ok_or_else(|| {
        Error::new(ErrorClass::INTERN, "a group that is made of another is not part of it")
    })
}

const BALLOT_BYTES: usize = 16;

impl Ballot {
    fn to_bytes(self) -> [u8; BALLOT_BYTES] {
        let mut bytes = [0; BALLOT_BYTES];
        bytes[..4].copy_from_slice(&self.color.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.key.to_le_bytes());
        bytes[8..].copy_from_slice(&self.context.to_le_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Ballot {
        let array = |at: usize| std::array::from_fn(|i| bytes[at + i]);
        Ballot {
            color: i32::from_le_bytes(array(0)),
            key: i32::from_le_bytes(array(4)),
            context: u64::from_le_bytes(std::array::from_fn(|i| bytes[8 + i])),
        }
    }
}

impl Ballot {
    /// The processes of `group` whose ballots, by rank, have this color: ordered by key, then by
    /// rank.
    pub(super) fn members(ballots: &[Ballot], color: i32, group: &Group) -> Group {
        let mut members: Vec<(i32, u32)> = ballots
            .iter()
            .zip(0u32..)
            .filter(|(ballot, _)| ballot.color == color)
            .map(|(ballot, rank)| (ballot.key, rank))
            .collect();
        members.sort_unstable();
        members.iter().filter_map(|&(_, rank)| group.peer(rank)).collect()
    }
}

impl Objects {
    /// An intracommunicator, the argument `param`.
    ///
    /// # Errors
    /// `MPI_ERR_COMM` for what is none.
    pub fn intracomm(&self, comm: CommHandle, param: &'static str) -> Result<&Comm> {
        let state = self.comm(comm)?;
        match state.remote {
            None => Ok(state),
            Some(_) => Err(Error::param(ErrorClass::COMM, param, "is an intercommunicator")),
        }
    }

    /// A context for what is made of `comm` in this collective call, in which nothing need be
    /// told: all processes count the calls alike.
    pub(super) fn next_context(&mut self, comm: CommHandle, purpose: &str) -> Result<u64> {
        let purpose = format!("{purpose} {}", self.next_call(comm)?);
        Ok(hashed(&self.identity.job, purpose.as_bytes(), self.comm(comm)?.context))
    }

    /// An intracommunicator beside `parent`, whose error handler it gets.
    pub(super) fn adopt(
        &mut self,
        parent: CommHandle,
        context: u64,
        group: Group,
    ) -> Result<CommHandle> {
        let rank = group.rank_of(self.own_peer()).ok_or_else(|| {
            Error::new(ErrorClass::INTERN, "a process made a communicator that it is not in")
        })?;
        self.adopt_comm(parent, Comm::new(context, group, rank))
    }

    /// An intracommunicator of some processes of `parent`, which has `context`; all of them name
    /// it alike, and no other of `parent`.
    pub(crate) fn adopt_within(
        &mut self,
        parent: CommHandle,
        name: &str,
        context: u64,
        group: Group,
    ) -> Result<CommHandle> {
        let context = hashed(&self.identity.job, name.as_bytes(), context);
        let name = format!("{} ({name})", self.comm(parent)?.name);
        let made = self.adopt(parent, context, group)?;
        self.comm_mut(made)?.name = name.into();
        Ok(made)
    }

    /// A communicator beside `parent`, whose error handler and session it gets.
    pub(super) fn adopt_comm(&mut self, parent: CommHandle, comm: Comm) -> Result<CommHandle> {
        let Comm { errhandler, session, .. } = *self.comm(parent)?;
        self.always.errhandlers.lock().retain(errhandler)?;
        self.comms.insert(Comm { errhandler, session, ..comm })
    }

    /// `MPI_Comm_group`.
    pub fn comm_group(&mut self, comm: CommHandle) -> Result<GroupHandle> {
        let comm = self.comm(comm)?;
        let group = comm.group.clone().of_session(comm.session);
        self.new_group(group)
    }

    /// A handle for a group: `MPI_GROUP_EMPTY` when it is empty.
    pub fn new_group(&mut self, group: Group) -> Result<GroupHandle> {
        if group.size() == 0 {
            return Ok(GroupHandle::from_raw(GROUP_EMPTY));
        }
        self.groups.insert(group)
    }
}

impl<P: Port> Members<'_, P> {
    /// The first of `members` tells the others the context id, point to point.
    fn announce(&mut self, members: &[u32], tag: i32, context: &mut u64) -> Result<()> {
        let room = self.comm;
        let mut bytes = context.to_le_bytes();
        let message = |rank: u32, bytes: &mut [u8; 8]| Message {
            buf: crate::buffer::UserBuffer(bytes.as_mut_ptr()),
            count: 8,
            datatype: crate::datatype::BYTE,
            rank: rank as i32,
            tag,
            comm: room,
        };
        let (leader, others) = members.split_first().expect("this process is a member");
        if self.entry.comm(room)?.rank == *leader {
            for other in others {
                self.entry
                    .messages()
                    .send(message(*other, &mut bytes), crate::p2p::Mode::Standard)?;
            }
        } else {
            self.entry.messages().receive(message(*leader, &mut bytes))?;
            *context = u64::from_le_bytes(bytes);
        }
        Ok(())
    }

    /// The ballots of the local group or, of an intercommunicator, of the remote one, by rank.
    pub(super) fn exchange(&mut self, own: Ballot) -> Result<Vec<Ballot>> {
        let all = self.allgather(&own.to_bytes())?;
        Ok(all.chunks_exact(BALLOT_BYTES).map(Ballot::from_bytes).collect())
    }
}

impl<P: Port> Communicators<'_, P> {
    /// `MPI_Comm_split`: the communicator of those with the same color, ordered by key, then by
    /// rank; null for `MPI_UNDEFINED`.
    pub fn split(&mut self, comm: CommHandle, color: i32, key: i32) -> Result<CommHandle> {
        if color < 0 && color != UNDEFINED {
            crate::fail!(ARG, "color", "is {color}, but must be at least 0 or MPI_UNDEFINED");
        }
        if self.entry.comm(comm)?.remote.is_some() {
            return self.split_pair(comm, color, key);
        }
        let context = self.entry.new_context();
        let ballots = self.entry.members(comm).exchange(Ballot { color, key, context })?;
        if color == UNDEFINED {
            return Ok(CommHandle::NULL);
        }
        let parents = self.entry.comm(comm)?.group.clone();
        let group = Ballot::members(&ballots, color, &parents);
        let context = ballots[leader_of(&group, &parents)?].context;
        self.entry.adopt(comm, context, group)
    }

    /// `MPI_Comm_create`: the communicator of the given group; null for processes outside of it.
    pub fn create(&mut self, comm: CommHandle, group: GroupHandle) -> Result<CommHandle> {
        let group = self.entry.groups.get(group)?.clone();
        let parent = self.entry.comm(comm)?;
        if let Some(stranger) = group.iter().find(|&peer| !parent.group.contains(peer)) {
            crate::fail!(GROUP, "group", "has process {}, which comm has not", stranger.0);
        }
        if parent.remote.is_some() {
            return self.create_pair(comm, group);
        }
        let parents = parent.group.clone();
        let context = self.entry.new_context();
        let ballots = self.entry.members(comm).exchange(Ballot { color: 0, key: 0, context })?;
        if !group.contains(self.entry.own_peer()) {
            return Ok(CommHandle::NULL);
        }
        let context = ballots[leader_of(&group, &parents)?].context;
        self.entry.adopt(comm, context, group)
    }

    /// The part of `MPI_Comm_dup` and its kin that makes the new communicator: the same groups
    /// and topology, a new context. Attributes, hints and error handlers are copied by the caller.
    pub fn duplicate(&mut self, comm: CommHandle) -> Result<CommHandle> {
        if self.entry.comm(comm)?.remote.is_some() {
            let context = self.entry.next_context(comm, "duplicate")?;
            return self.entry.clone_pair(comm, context);
        }
        let context = self.entry.new_context();
        let ballots = self.entry.members(comm).exchange(Ballot { color: 0, key: 0, context })?;
        let parent = self.entry.comm(comm)?;
        let (group, topology) = (parent.group.clone(), parent.topology.clone());
        let clone = self.entry.adopt(comm, ballots[0].context, group)?;
        self.entry.comm_mut(clone)?.topology = topology;
        Ok(clone)
    }

    /// The same for `MPI_Comm_idup`: the context follows from the parent's and from the number of
    /// the collective call, which all processes count alike, so that nothing need be told; the
    /// request completes when all have come this far.
    pub fn begin_duplicate(&mut self, comm: CommHandle) -> Result<(CommHandle, RequestHandle)> {
        let context = self.entry.next_context(comm, "duplicate")?;
        let parent = self.entry.comm(comm)?;
        let clone = if parent.remote.is_some() {
            self.entry.clone_pair(comm, context)?
        } else {
            let (group, topology) = (parent.group.clone(), parent.topology.clone());
            let clone = self.entry.adopt(comm, context, group)?;
            self.entry.comm_mut(clone)?.topology = topology;
            clone
        };
        let meeting = self.entry.calls().barrier(comm)?;
        Ok((clone, self.entry.collectives().begin(&meeting)?))
    }

    /// `MPI_Comm_create_group` (§7.4.2): collective over the members of the group alone, who
    /// meet under `tag` in a context derived from the parent's.
    pub fn create_group(
        &mut self,
        comm: CommHandle,
        group: GroupHandle,
        tag: i32,
    ) -> Result<CommHandle> {
        let group = self.entry.groups.get(group)?.clone();
        if tag < 0 {
            return Err(crate::p2p::bad_tag(tag));
        }
        let parent = self.entry.intracomm(comm, "comm")?;
        let members: Option<Vec<u32>> =
            group.iter().map(|peer| parent.group.rank_of(peer)).collect();
        let Some(members) = members else {
            crate::fail!(GROUP, "group", "has a process which comm has not");
        };
        if !group.contains(self.entry.own_peer()) {
            return Ok(CommHandle::NULL);
        }
        // Groups that overlap meet under the same tag. The ranks of the parent tell their leaders
        // apart; those of the groups would not.
        let meeting = hashed(&self.entry.identity.job, b"meeting", parent.context) ^ 1 << 63;
        let room = Comm::new(meeting, parent.group.clone(), parent.rank);
        let context = self.agree(room, &members, tag)?;
        self.entry.adopt(comm, context, group)
    }

    /// `MPI_Comm_create_from_group` (§7.4.2), for a member of the group: without a communicator
    /// above it; its processes meet in a context that follows from the string and from who they
    /// are.
    pub fn create_from_group(&mut self, group: Group, string_tag: &[u8]) -> Result<CommHandle> {
        let names: Vec<String> = group.iter().map(|peer| peer.0.to_string()).collect();
        let purpose = [b"group ", names.join(" ").as_bytes(), b" ", string_tag].concat();
        let meeting = hashed(&self.entry.identity.job, &purpose, 0);
        let rank = group.rank_of(self.entry.own_peer()).ok_or_else(|| {
            Error::param(ErrorClass::GROUP, "group", "does not have this process")
        })?;
        let members: Vec<u32> = (0..group.size()).collect();
        let context = self.agree(Comm::new(meeting, group.clone(), rank), &members, 0)?;
        self.entry.comms.insert(Comm::new(context, group, rank))
    }

    /// The context that the first of `members`, ranks of `room`, chooses, told to the others
    /// under `tag`; the room lives for this alone.
    fn agree(&mut self, room: Comm, members: &[u32], tag: i32) -> Result<u64> {
        let mut context = self.entry.new_context();
        let room = self.entry.comms.insert(room)?;
        let outcome = self.entry.members(room).announce(members, tag, &mut context);
        self.entry.comms.remove(room)?;
        outcome?;
        Ok(context)
    }

    /// `MPI_Comm_free`, after the attributes are gone. Messages in flight are not affected: they
    /// carry the context, which is never used again. Nor are persistent requests, which hold the communicator.
    pub fn free(&mut self, comm: CommHandle) -> Result<()> {
        if comm.is_predefined() && !comm.is_null() {
            let name = &self.entry.comm(comm)?.name;
            return Err(Error::param(ErrorClass::COMM, "comm", format!("is {name}"))
                .hint("Predefined communicators cannot be freed; remove this call."));
        }
        if self.entry.comm(comm)?.held.is_freed() {
            return Ok(());
        }
        self.entry.collectives().leave_segment(comm)?;
        self.entry.collectives().leave_level(comm)?;
        self.entry.drop_comm(comm)
    }
}
