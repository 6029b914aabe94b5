//! Communicators of the processes that can share memory (`MPI_COMM_TYPE_SHARED`, MPI-5.0 §7.4.2),
//! and of those that are tied to the same part of a node.

use crate::boards::Meeting;
use crate::constants::UNDEFINED;
use crate::entry::Entry;
use crate::error::Result;
use crate::handle::CommHandle;
use crate::port::{PeerId, Port};
use crate::process::Process;

impl<P: Port> Entry<'_, P> {
    /// `MPI_Comm_split_type` for shared memory: the processes whose memory handshake with this
    /// one succeeded, which is what being on one node means here. A node is named by the first
    /// of its processes.
    pub fn comm_split_near(&mut self, comm: CommHandle, key: i32) -> Result<CommHandle> {
        let own = self.own_peer();
        let members: Vec<PeerId> = self.comm(comm)?.roster().iter().collect();
        let mut first = own;
        for peer in members.into_iter().filter(|peer| *peer != own) {
            let mut how = Meeting::Pending;
            let call = |process: &Process<P>| process.waits_to_meet(comm, peer);
            self.block_in(call, |process| {
                how = process.port.meet(peer);
                how != Meeting::Pending
            });
            if how == Meeting::Near {
                first = first.min(peer);
            }
        }
        self.comm_split(comm, first.0 as i32, key)
    }

    /// The processes of one node that are tied to the same instance of some hardware, `place`
    /// being its number there (`MPI_COMM_TYPE_HW_GUIDED`); null for those that are tied to none.
    pub fn comm_split_place(
        &mut self,
        comm: CommHandle,
        key: i32,
        place: Option<i32>,
    ) -> Result<CommHandle> {
        let node = self.comm_split_near(comm, key)?;
        let outcome = self.comm_split(node, place.unwrap_or(UNDEFINED), key);
        self.comm_free(node)?;
        outcome
    }

    /// The processes that share the largest part of the machine that not all of `comm` share
    /// (`MPI_COMM_TYPE_HW_UNGUIDED`): a node, or what each of `places` numbers, large to small;
    /// null where there is no such part, and for those that are tied to none. Also which of
    /// `places` it is, or none for a node.
    pub fn comm_split_finer(
        &mut self,
        comm: CommHandle,
        key: i32,
        places: &[Option<i32>],
    ) -> Result<(CommHandle, Option<usize>)> {
        let node = self.comm_split_near(comm, key)?;
        if self.comm(node)?.group.size() < self.comm(comm)?.group.size() {
            return Ok((node, None));
        }
        self.comm_free(node)?;
        let own: Vec<u8> =
            places.iter().flat_map(|place| place.unwrap_or(UNDEFINED).to_le_bytes()).collect();
        let all = self.allgather_bytes(comm, &own)?;
        let tells_apart = |level: &usize| {
            let at = |process: &[u8]| process[4 * level..4 * level + 4].to_vec();
            let mut seen = all.chunks_exact(own.len()).map(at);
            let first = seen.next();
            seen.any(|other| Some(other) != first)
        };
        let level = (0..places.len()).find(tells_apart);
        let color = level.and_then(|level| places[level]).unwrap_or(UNDEFINED);
        Ok((self.comm_split(comm, color, key)?, level))
    }
}
