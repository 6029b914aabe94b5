//! Making communicators (MPI-5.0 §7.4.2). The leader, rank 0 of the new group, chooses the
//! context id; it travels with the creation's own messages.

use super::Comm;
use crate::constants::UNDEFINED;
use crate::entry::Entry;
use crate::error::{Error, ErrorClass, Result};
use crate::group::Group;
use crate::handle::{CommHandle, GroupHandle, RequestHandle};
use crate::p2p::Message;
use crate::port::{PeerId, Port};

/// What a process contributes to a split.
#[derive(Clone, Copy)]
struct Ballot {
    color: i32,
    key: i32,
    context: u64,
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

impl<P: Port> Entry<'_, P> {
    /// `MPI_Comm_split`: the communicator of those with the same color, ordered by key, then by
    /// rank; null for `MPI_UNDEFINED`.
    pub fn comm_split(&mut self, comm: CommHandle, color: i32, key: i32) -> Result<CommHandle> {
        if color < 0 && color != UNDEFINED {
            crate::fail!(ARG, "color", "is {color}, but must be at least 0 or MPI_UNDEFINED");
        }
        let context = self.new_context();
        let ballots = self.exchange(comm, Ballot { color, key, context })?;
        if color == UNDEFINED {
            return Ok(CommHandle::NULL);
        }
        let mut members: Vec<(i32, u32, u64)> = ballots
            .iter()
            .zip(0u32..)
            .filter(|(ballot, _)| ballot.color == color)
            .map(|(ballot, rank)| (ballot.key, rank, ballot.context))
            .collect();
        members.sort_unstable();
        let parent = self.comm(comm)?;
        let group: Group =
            members.iter().filter_map(|&(_, rank, _)| parent.group.peer(rank)).collect();
        self.adopt(comm, members[0].2, group)
    }

    /// `MPI_Comm_create`: the communicator of the given group; null for processes outside of it.
    pub fn comm_create(&mut self, comm: CommHandle, group: GroupHandle) -> Result<CommHandle> {
        let group = self.groups.get(group)?.clone();
        let parent = self.comm(comm)?;
        if let Some(stranger) = group.iter().find(|&peer| !parent.group.contains(peer)) {
            crate::fail!(GROUP, "group", "has process {}, which comm has not", stranger.0);
        }
        let parents = parent.group.clone();
        let context = self.new_context();
        let ballots = self.exchange(comm, Ballot { color: 0, key: 0, context })?;
        let Some(leader) = group.peer(0) else { return Ok(CommHandle::NULL) };
        if !group.contains(self.own_peer()) {
            return Ok(CommHandle::NULL);
        }
        let leader = parents.rank_of(leader).expect("the group is part of the communicator's");
        self.adopt(comm, ballots[leader as usize].context, group)
    }

    /// The part of `MPI_Comm_dup` and its kin that makes the new communicator: the same groups
    /// and topology, a new context. Attributes, hints and error handlers are copied by the caller.
    pub fn comm_clone(&mut self, comm: CommHandle) -> Result<CommHandle> {
        let context = self.new_context();
        let ballots = self.exchange(comm, Ballot { color: 0, key: 0, context })?;
        let parent = self.comm(comm)?;
        let (group, topology) = (parent.group.clone(), parent.topology.clone());
        let clone = self.adopt(comm, ballots[0].context, group)?;
        self.comm_mut(clone)?.topology = topology;
        Ok(clone)
    }

    /// The same for `MPI_Comm_idup`: the context follows from the parent's and from the number of
    /// the collective call, which all processes count alike, so that nothing need be told; the
    /// request completes when all have come this far.
    pub fn comm_iclone(&mut self, comm: CommHandle) -> Result<(CommHandle, RequestHandle)> {
        let parent = self.comm(comm)?;
        let purpose = format!("duplicate {}", parent.collective_number);
        let context = super::hashed(&self.identity.job, &purpose, parent.context);
        let (group, topology) = (parent.group.clone(), parent.topology.clone());
        let clone = self.adopt(comm, context, group)?;
        self.comm_mut(clone)?.topology = topology;
        let meeting = self.barrier(comm)?;
        Ok((clone, self.begin(meeting)?))
    }

    /// `MPI_Comm_create_group` (§7.4.2): collective over the members of the group alone, who
    /// meet under `tag` in a context derived from the parent's.
    pub fn comm_create_group(
        &mut self,
        comm: CommHandle,
        group: GroupHandle,
        tag: i32,
    ) -> Result<CommHandle> {
        let group = self.groups.get(group)?.clone();
        if tag < 0 {
            return Err(crate::p2p::send::bad_tag(tag));
        }
        let parent = self.comm(comm)?;
        let members: Option<Vec<u32>> =
            group.iter().map(|peer| parent.group.rank_of(peer)).collect();
        let Some(members) = members else {
            crate::fail!(GROUP, "group", "has a process which comm has not");
        };
        if !group.contains(self.own_peer()) {
            return Ok(CommHandle::NULL);
        }
        // Groups that overlap meet under the same tag. The ranks of the parent tell their leaders
        // apart; those of the groups would not.
        let meeting = super::hashed(&self.identity.job, "meeting", parent.context) ^ 1 << 63;
        let room = Comm::new(meeting, parent.group.clone(), parent.rank);
        let mut context = self.new_context();
        let room = self.comms.insert(room)?;
        let outcome = self.announce(room, &members, tag, &mut context);
        self.comms.remove(room)?;
        outcome?;
        self.adopt(comm, context, group)
    }

    /// The first of `members` tells the others the context id, point to point.
    fn announce(
        &mut self,
        room: CommHandle,
        members: &[u32],
        tag: i32,
        context: &mut u64,
    ) -> Result<()> {
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
        if self.comm(room)?.rank == *leader {
            for other in others {
                self.send(message(*other, &mut bytes), crate::p2p::Mode::Standard)?;
            }
        } else {
            self.receive(message(*leader, &mut bytes))?;
            *context = u64::from_le_bytes(bytes);
        }
        Ok(())
    }

    fn exchange(&mut self, comm: CommHandle, own: Ballot) -> Result<Vec<Ballot>> {
        let all = self.allgather_bytes(comm, &own.to_bytes())?;
        Ok(all.chunks_exact(BALLOT_BYTES).map(Ballot::from_bytes).collect())
    }

    fn adopt(&mut self, parent: CommHandle, context: u64, group: Group) -> Result<CommHandle> {
        let rank = group.rank_of(self.own_peer()).ok_or_else(|| {
            Error::new(ErrorClass::INTERN, "a process made a communicator that it is not in")
        })?;
        let errhandler = self.comm(parent)?.errhandler;
        self.errhandlers.retain(errhandler)?;
        let comm = Comm { errhandler, ..Comm::new(context, group, rank) };
        self.comms.insert(comm)
    }

    /// This process in the table of peers.
    pub fn own_peer(&self) -> PeerId {
        PeerId(self.identity.rank)
    }

    /// `MPI_Comm_group`.
    pub fn comm_group(&mut self, comm: CommHandle) -> Result<GroupHandle> {
        let group = self.comm(comm)?.group.clone();
        self.new_group(group)
    }

    /// A handle for a group: `MPI_GROUP_EMPTY` when it is empty.
    pub fn new_group(&mut self, group: Group) -> Result<GroupHandle> {
        if group.size() == 0 {
            return Ok(GroupHandle::from_raw(super::GROUP_EMPTY));
        }
        self.groups.insert(group)
    }

    /// `MPI_Comm_free`, after the attributes are gone. Messages in flight are not affected: they
    /// carry the context, which is never used again.
    pub fn comm_free(&mut self, comm: CommHandle) -> Result<()> {
        if comm.is_predefined() && !comm.is_null() {
            let name = &self.comm(comm)?.name;
            return Err(Error::param(ErrorClass::COMM, "comm", format!("is {name}"))
                .hint("Predefined communicators cannot be freed; remove this call."));
        }
        self.leave_board(comm)?;
        let Comm { errhandler, info, .. } = self.comms.remove(comm)?;
        if !info.is_null() {
            self.infos.remove(info)?;
        }
        self.errhandlers.release(errhandler)
    }
}
