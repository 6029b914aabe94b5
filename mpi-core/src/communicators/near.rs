//! Communicators of the processes that can share memory (`MPI_COMM_TYPE_SHARED`, MPI-5.0 §7.4.2),
//! and of those that are tied to the same part of a node.

use super::Communicators;
use super::members::Members;
use crate::constants::UNDEFINED;
use crate::error::Result;
use crate::handle::CommHandle;
use crate::node_memory::Meeting;
use crate::port::{PeerId, Port};

impl<P: Port> Communicators<'_, P> {
    /// `MPI_Comm_split_type` for shared memory: the processes whose memory handshake with this
    /// one succeeded, which is what being on one node means here. A node is named by the first
    /// of its processes.
    pub fn split_near(&mut self, comm: CommHandle, key: i32) -> Result<CommHandle> {
        let own = self.entry.own_peer();
        let members: Vec<PeerId> = self.entry.comm(comm)?.roster().iter().collect();
        let mut first = own;
        for peer in members.into_iter().filter(|peer| *peer != own) {
            if self.entry.members(comm).meet(peer) == Meeting::Near {
                first = first.min(peer);
            }
        }
        self.split(comm, first.0 as i32, key)
    }

    /// The processes of one node that are tied to the same instance of some hardware, `place`
    /// being its number there (`MPI_COMM_TYPE_HW_GUIDED`); null for those that are tied to none, and on a node where an
    /// intercommunicator has processes of one group alone.
    pub fn split_place(
        &mut self,
        comm: CommHandle,
        key: i32,
        place: Option<i32>,
    ) -> Result<CommHandle> {
        let node = self.split_near(comm, key)?;
        if node.is_null() {
            return Ok(node);
        }
        let outcome = self.split(node, place.unwrap_or(UNDEFINED), key);
        self.free(node)?;
        outcome
    }

    /// The processes that share the largest part of the machine that not all of `comm` share
    /// (`MPI_COMM_TYPE_HW_UNGUIDED`): a node, or what each of `places` numbers, large to small;
    /// null where there is no such part, and for those that are tied to none. Also which of
    /// `places` it is, or none for a node.
    pub fn split_finer(
        &mut self,
        comm: CommHandle,
        key: i32,
        places: &[Option<i32>],
    ) -> Result<(CommHandle, Option<usize>)> {
        let node = self.split_near(comm, key)?;
        if node.is_null()
            || self.entry.comm(node)?.roster().size() < self.entry.comm(comm)?.roster().size()
        {
            return Ok((node, None));
        }
        self.free(node)?;
        let level = self.entry.members(comm).first_level_apart(places)?;
        let color = level.and_then(|level| places[level]).unwrap_or(UNDEFINED);
        Ok((self.split(comm, color, key)?, level))
    }
}

impl<P: Port> Members<'_, P> {
    /// The first of `places` that is not the same for all of them.
    fn first_level_apart(&mut self, places: &[Option<i32>]) -> Result<Option<usize>> {
        let own = places
            .iter()
            .flat_map(|place| place.unwrap_or(UNDEFINED).to_le_bytes())
            .collect::<Vec<u8>>();
        let all = self.allgather(&own)?;
        let at = |process: &[u8], level: usize| process[4 * level..][..4].to_vec();
        let is_apart =
            |level| all.chunks(own.len().max(1)).any(|other| at(other, level) != at(&own, level));
        let mut apart: Vec<u8> = (0..places.len()).map(is_apart).map(u8::from).collect();
        if self.entry.comm(self.comm)?.remote.is_some() {
            // Each has seen the other group alone, and whether that group's processes are all as this one is. What that
            // group has seen of this one in the same way is what is left to know.
            let theirs = self.allgather(&apart)?;
            let of_theirs = theirs.iter().zip((0..places.len()).cycle());
            of_theirs.for_each(|(is_apart, level)| apart[level] |= is_apart);
        }
        Ok(apart.iter().position(|is_apart| *is_apart != 0))
    }
}
