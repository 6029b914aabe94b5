//! Communicators of the processes that can share memory (`MPI_COMM_TYPE_SHARED`, MPI-5.0 §7.4.2).

use crate::boards::Meeting;
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
}
