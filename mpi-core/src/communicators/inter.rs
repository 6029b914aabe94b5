//! Intercommunicators (MPI-5.0 §7.6): two disjoint groups, each the other's target.
//!
//! Both groups count the collective calls on an intercommunicator alike; so the context of what
//! is made of one follows from its own and from the number of the call, and need not be told.

use super::Communicators;
use super::create::Ballot;
use crate::comm::{Comm, hashed};
use crate::constants::UNDEFINED;
use crate::error::{Error, ErrorClass, Result};
use crate::fail;
use crate::group::{Group, first_repeated};
use crate::handle::{CommHandle, GroupHandle};
use crate::objects::Objects;
use crate::port::{PeerId, Port};

/// The groups of an intercommunicator.
struct Pair {
    local: Group,
    remote: Group,
    /// Whether the local group comes first.
    first: bool,
}

/// What the two leaders tell each other, and each its own group.
struct Introduction {
    context: u64,
    group: Group,
}

impl Introduction {
    fn to_bytes(&self) -> Vec<u8> {
        let members = self.group.iter().flat_map(|peer| peer.0.to_le_bytes());
        self.context.to_le_bytes().into_iter().chain(members).collect()
    }

    /// None of bytes that no leader of a job of `size` processes sends.
    fn from_bytes(bytes: &[u8], size: u32) -> Option<Introduction> {
        let (context, members) = bytes.split_first_chunk::<8>()?;
        let (members, rest) = members.as_chunks::<4>();
        let members: Vec<PeerId> =
            members.iter().map(|member| PeerId(u32::from_le_bytes(*member))).collect();
        let known = !members.is_empty()
            && members.iter().all(|peer| peer.0 < size)
            && first_repeated(members.iter()).is_none();
        (known && rest.is_empty()).then(|| Introduction {
            context: u64::from_le_bytes(*context),
            group: Group::new(members),
        })
    }
}

impl Objects {
    /// Bytes of the longest introduction: its context, and all processes of the job.
    fn introduction_most(&self) -> usize {
        8 + 4 * self.identity.size as usize
    }

    /// An intercommunicator beside `parent`, whose error handler it gets.
    fn adopt_pair(
        &mut self,
        parent: CommHandle,
        context: u64,
        local: Group,
        remote: Group,
        first: bool,
    ) -> Result<CommHandle> {
        let rank = local.rank_of(self.own_peer()).ok_or_else(|| {
            Error::new(ErrorClass::INTERN, "a process made a communicator that it is not in")
        })?;
        let comm = Comm::between(context, local, rank, remote, first);
        self.adopt_comm(parent, comm)
    }

    /// The two groups of an intercommunicator, and which comes first.
    fn pair(&self, comm: CommHandle) -> Result<Pair> {
        let state = self.comm(comm)?;
        match (&state.remote, &state.union) {
            (Some(remote), Some(union)) => Ok(Pair {
                local: state.group.clone(),
                remote: remote.clone(),
                first: union.begins_here(),
            }),
            _ => Err(Error::param(ErrorClass::COMM, "comm", "is not an intercommunicator")),
        }
    }

    /// The duplicate of an intercommunicator.
    pub(super) fn clone_pair(&mut self, comm: CommHandle, context: u64) -> Result<CommHandle> {
        let Pair { local, remote, first } = self.pair(comm)?;
        self.adopt_pair(comm, context, local, remote, first)
    }
}

impl<P: Port> Communicators<'_, P> {
    /// `MPI_Intercomm_create` (§7.6.2). The leaders meet under `tag` in a context derived from
    /// that of `peer_comm`, which counts at them alone, as does `remote_leader`.
    pub fn intercomm_create(
        &mut self,
        local_comm: CommHandle,
        local_leader: i32,
        peer_comm: CommHandle,
        remote_leader: i32,
        tag: i32,
    ) -> Result<CommHandle> {
        let local = self.entry.intracomm(local_comm, "local_comm")?;
        local.target(local_leader, "local_leader")?;
        let (rank, group) = (local.rank, local.group.clone());
        let mut other = Ok(Vec::new());
        if rank == local_leader as u32 {
            let own = Introduction { context: self.entry.new_context(), group: group.clone() };
            other = self.introduce(&own, peer_comm, remote_leader, tag);
            if let Ok(bytes) = &mut other {
                bytes.extend(own.context.to_le_bytes());
            }
        }
        self.tell_group(local_comm, local_leader, group, other)
    }

    /// The part of the creation that the whole local group does: its leader passes on what it
    /// heard, followed by the context that it proposed itself; nothing if it failed.
    pub(super) fn tell_group(
        &mut self,
        local_comm: CommHandle,
        local_leader: i32,
        group: Group,
        heard: Result<Vec<u8>>,
    ) -> Result<CommHandle> {
        let (bytes, failure) = match heard {
            Ok(bytes) => (bytes, None),
            Err(error) => (Vec::new(), Some(error)),
        };
        let limit = self.entry.introduction_most() + 8;
        let bytes = self.entry.members(local_comm).bcast(local_leader, bytes, limit)?;
        if let Some(failure) = failure {
            return Err(failure);
        }
        let told = bytes.split_last_chunk::<8>().and_then(|(other, own)| {
            Some((Introduction::from_bytes(other, self.entry.identity.size)?, *own))
        });
        let Some((other, own_context)) = told else {
            return Err(Error::new(ErrorClass::OTHER, "the leader of the group failed"));
        };
        if let Some(both) = group.iter().find(|&peer| other.group.contains(peer)) {
            fail!(COMM, "local_comm", "has process {}, which the other group has too", both.0);
        }
        // The groups are disjoint, so that their leaders differ.
        let first = group.peer(0) < other.group.peer(0);
        let context = if first { u64::from_le_bytes(own_context) } else { other.context };
        self.entry.adopt_pair(local_comm, context, group, other.group, first)
    }

    /// Exchanges introductions with the other leader.
    fn introduce(
        &mut self,
        own: &Introduction,
        peer_comm: CommHandle,
        remote_leader: i32,
        tag: i32,
    ) -> Result<Vec<u8>> {
        if tag < 0 {
            return Err(crate::p2p::bad_tag(tag));
        }
        let peers = self.entry.comm(peer_comm)?;
        peers.target(remote_leader, "remote_leader")?;
        let meeting = hashed(&self.entry.identity.job, b"leaders", peers.context);
        let (group, rank) = (peers.group.clone(), peers.rank);
        let room = Comm { remote: peers.remote.clone(), ..Comm::new(meeting, group, rank) };
        self.swap_in(room, remote_leader, tag, &own.to_bytes())
    }

    /// Exchanges bytes with `rank` of a communicator that lives for this alone.
    pub(super) fn swap_in(
        &mut self,
        room: Comm,
        rank: i32,
        tag: i32,
        own: &[u8],
    ) -> Result<Vec<u8>> {
        let room = self.entry.comms.insert(room)?;
        let limit = self.entry.introduction_most();
        let other = self.entry.members(room).swap(rank, tag, own, limit);
        self.entry.comms.remove(room)?;
        other
    }

    /// `MPI_Intercomm_merge` (§7.6.2): the group that says `high` comes last; if both say the
    /// same, the order is the intercommunicator's.
    pub fn intercomm_merge(&mut self, comm: CommHandle, high: bool) -> Result<CommHandle> {
        let Pair { local, remote, first } = self.entry.pair(comm)?;
        let context = self.entry.next_context(comm, "merge")?;
        let ballot = Ballot { color: i32::from(high), key: 0, context: 0 };
        let theirs = self.entry.members(comm).exchange(ballot)?;
        let other_high = theirs.first().is_some_and(|ballot| ballot.color != 0);
        let first = if high == other_high { first } else { !high };
        let (low, high) = if first { (local, remote) } else { (remote, local) };
        self.entry.adopt(comm, context, low.iter().chain(high.iter()).collect())
    }

    /// `MPI_Comm_split` of an intercommunicator (§7.4.2): colors unite across the groups; null
    /// where one group has nobody of a color.
    pub(super) fn split_pair(
        &mut self,
        comm: CommHandle,
        color: i32,
        key: i32,
    ) -> Result<CommHandle> {
        let Pair { local, remote, first } = self.entry.pair(comm)?;
        let context = self.entry.next_context(comm, &format!("split {color}"))?;
        let ballot = Ballot { color, key, context: 0 };
        let theirs = self.entry.members(comm).exchange(ballot)?;
        let ours = self.exchange_locally(comm, ballot)?;
        let local = Ballot::members(&ours, color, &local);
        let remote = Ballot::members(&theirs, color, &remote);
        if color == UNDEFINED || remote.size() == 0 {
            return Ok(CommHandle::NULL);
        }
        self.entry.adopt_pair(comm, context, local, remote, first)
    }

    /// `MPI_Comm_create` of an intercommunicator (§7.4.2): each side names its part; null
    /// outside of the parts, and for all if one is empty.
    pub(super) fn create_pair(&mut self, comm: CommHandle, group: Group) -> Result<CommHandle> {
        let Pair { remote, first, .. } = self.entry.pair(comm)?;
        let context = self.entry.next_context(comm, "create")?;
        let position = group.rank_of(self.entry.own_peer()).map(|rank| rank as i32);
        let color = if position.is_some() { 0 } else { UNDEFINED };
        let ballot = Ballot { color, key: position.unwrap_or(0), context: 0 };
        let theirs = self.entry.members(comm).exchange(ballot)?;
        let remote = Ballot::members(&theirs, 0, &remote);
        if position.is_none() || remote.size() == 0 {
            return Ok(CommHandle::NULL);
        }
        self.entry.adopt_pair(comm, context, group, remote, first)
    }

    /// What the processes of the local group have, by rank.
    fn exchange_locally(&mut self, comm: CommHandle, own: Ballot) -> Result<Vec<Ballot>> {
        let leader = self.entry.comm(comm)?.group.peer(0);
        let context = self.entry.next_context(comm, &format!("local group of {leader:?}"))?;
        let state = self.entry.comm(comm)?;
        let room = Comm::new(context, state.group.clone(), state.rank);
        let room = self.entry.comms.insert(room)?;
        let ballots = self.entry.members(room).exchange(own);
        self.free(room)?;
        ballots
    }

    /// `MPI_Intercomm_create_from_groups` (§7.6.2): without a communicator above both; the
    /// remote group and leader count at the local leader alone.
    pub fn intercomm_from_groups(
        &mut self,
        local: (GroupHandle, i32),
        remote: (GroupHandle, i32),
        string_tag: &[u8],
    ) -> Result<CommHandle> {
        let (group, leader) = (self.entry.groups.get(local.0)?.clone(), local.1);
        if u32::try_from(leader).ok().and_then(|rank| group.peer(rank)).is_none() {
            let size = group.size();
            fail!(RANK, "local_leader", "is {leader}, but the group has {size} processes");
        }
        let room = self.create_from_group(group.clone(), string_tag)?;
        let mut other = Ok(Vec::new());
        if self.entry.comm(room)?.rank == leader as u32 {
            let own = Introduction { context: self.entry.new_context(), group: group.clone() };
            other = self.introduce_by_group(&own, remote, string_tag);
            if let Ok(bytes) = &mut other {
                bytes.extend(own.context.to_le_bytes());
            }
        }
        let made = self.tell_group(room, leader, group, other);
        self.free(room)?;
        made
    }

    fn introduce_by_group(
        &mut self,
        own: &Introduction,
        (remote, leader): (GroupHandle, i32),
        string_tag: &[u8],
    ) -> Result<Vec<u8>> {
        let remote = self.entry.groups.get(remote)?;
        let Some(peer) = u32::try_from(leader).ok().and_then(|leader| remote.peer(leader)) else {
            let size = remote.size();
            fail!(RANK, "remote_leader", "is {leader}, but the group has {size} processes");
        };
        let me = self.entry.own_peer();
        if peer == me {
            fail!(GROUP, "remote_group", "has its leader in the local group");
        }
        let mut pair = [me, peer];
        pair.sort_unstable();
        let group: Group = pair.into_iter().collect();
        let purpose = [b"leaders ", string_tag].concat();
        let both = u64::from(pair[0].0) << 32 | u64::from(pair[1].0);
        let meeting = hashed(&self.entry.identity.job, &purpose, both);
        let rank = u32::from(pair[1] == me);
        let room = Comm::new(meeting, group, rank);
        self.swap_in(room, 1 - rank as i32, 0, &own.to_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_bytes_introduce_somebody_or_nobody(
                bytes in prop::collection::vec(any::<u8>(), 0..60), size in 0u32..300) {
            if let Some(read) = Introduction::from_bytes(&bytes, size) {
                prop_assert!(read.group.iter().all(|peer| peer.0 < size));
            }
        }

        #[test]
        fn introductions_come_back(context: u64, members in prop::collection::btree_set(0u32..300, 1..20)) {
            let group: Group = members.into_iter().map(PeerId).collect();
            let bytes = Introduction { context, group: group.clone() }.to_bytes();
            let read = Introduction::from_bytes(&bytes, 300).unwrap();
            prop_assert_eq!(read.context, context);
            prop_assert!(read.group.iter().eq(group.iter()));
        }
    }
}
