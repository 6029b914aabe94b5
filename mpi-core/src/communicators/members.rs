//! What the library itself has its processes tell each other: bytes between the members of a communicator.

use crate::buffer::UserBuffer;
use crate::collectives::calls::Typed;
use crate::datatype::BYTE;
use crate::entry::Entry;
use crate::error::Result;
use crate::handle::CommHandle;
use crate::node_memory::Meeting;
use crate::p2p::{Message, Mode};
use crate::port::{PeerId, Port};
use crate::process::Process;

/// The processes of a communicator, all of which are in the same call.
pub(crate) struct Members<'a, P: Port> {
    pub(super) entry: Entry<'a, P>,
    pub(super) comm: CommHandle,
}

impl<P: Port> Entry<'_, P> {
    /// The processes of a communicator, all of which are in the same call.
    pub(crate) fn members(&mut self, comm: CommHandle) -> Members<'_, P> {
        Members { entry: self.reborrow(), comm }
    }
}

impl<P: Port> Members<'_, P> {
    /// Waits until all have come as far.
    pub(crate) fn barrier(&mut self) -> Result<()> {
        let barrier = self.entry.calls().barrier(self.comm)?;
        self.entry.collectives().run(&barrier)
    }

    /// What each of them has in `own`, by rank, or of the remote group of an intercommunicator.
    pub(crate) fn allgather(&mut self, own: &[u8]) -> Result<Vec<u8>> {
        let size = self.entry.comm(self.comm)?.targets().size() as usize;
        let mut all = vec![0; own.len() * size];
        let block = |at| Typed { buf: UserBuffer(at), count: own.len() as i64, datatype: BYTE };
        let (send, recv) = (block(own.as_ptr().cast_mut()), block(all.as_mut_ptr()));
        let prepared = self.entry.calls().allgather(send, recv, self.comm)?;
        self.entry.collectives().run(&prepared)?;
        Ok(all)
    }

    /// The same of words.
    pub(crate) fn allgather_words<const N: usize>(
        &mut self,
        own: [u64; N],
    ) -> Result<Vec<[u64; N]>> {
        let all = self.allgather(own.map(u64::to_le_bytes).as_flattened())?;
        let (words, _) = all.as_chunks::<8>();
        let (all, _) = words.as_chunks::<N>();
        Ok(all.iter().map(|own| own.map(u64::from_le_bytes)).collect())
    }

    /// What `root` has in `bytes`, at most `limit` of them, at all processes of an
    /// intracommunicator.
    pub(super) fn bcast(&mut self, root: i32, mut bytes: Vec<u8>, limit: usize) -> Result<Vec<u8>> {
        let mut length = (bytes.len() as u64).to_le_bytes();
        self.bcast_run(root, &mut length)?;
        let length = u64::from_le_bytes(length);
        if length > limit as u64 {
            crate::fail!(INTERN, "the leader of the group announced {length} bytes");
        }
        bytes.resize(length as usize, 0);
        if !bytes.is_empty() {
            self.bcast_run(root, &mut bytes)?;
        }
        Ok(bytes)
    }

    fn bcast_run(&mut self, root: i32, bytes: &mut [u8]) -> Result<()> {
        let buf = UserBuffer(bytes.as_mut_ptr());
        let data = Typed { buf, count: bytes.len() as i64, datatype: BYTE };
        let prepared = self.entry.calls().bcast(data, root, self.comm)?;
        self.entry.collectives().run(&prepared)
    }

    /// Exchanges bytes with one of them; neither knows how many, at most `limit`, it will get.
    pub(super) fn swap(
        &mut self,
        rank: i32,
        tag: i32,
        own: &[u8],
        limit: usize,
    ) -> Result<Vec<u8>> {
        let comm = self.comm;
        let message = |buf: *mut u8, count: usize| Message {
            buf: UserBuffer(buf),
            count: count as i64,
            datatype: BYTE,
            rank,
            tag,
            comm,
        };
        let mut length = (own.len() as u64).to_le_bytes();
        let sent = [
            self.entry
                .messages()
                .isend(message(length.as_mut_ptr(), length.len()), Mode::Standard)?,
            self.entry
                .messages()
                .isend(message(own.as_ptr().cast_mut(), own.len()), Mode::Standard)?,
        ];
        let other = self.receive_measured(&message, limit);
        // The bytes stay here until they are sent, whatever came back.
        for request in sent {
            self.entry.wait_one(request)?;
        }
        other
    }

    fn receive_measured(
        &mut self,
        message: &dyn Fn(*mut u8, usize) -> Message,
        limit: usize,
    ) -> Result<Vec<u8>> {
        let mut incoming = [0; 8];
        self.entry.messages().receive(message(incoming.as_mut_ptr(), incoming.len()))?;
        let length = u64::from_le_bytes(incoming);
        if length > limit as u64 {
            crate::fail!(INTERN, "the other group's leader announced {length} bytes");
        }
        let mut other = vec![0; length as usize];
        self.entry.messages().receive(message(other.as_mut_ptr(), other.len()))?;
        Ok(other)
    }

    /// Makes contact with one of them: whether this process shares memory with it.
    pub(crate) fn meet(&mut self, peer: PeerId) -> Meeting {
        let (mut how, comm) = (Meeting::Pending, self.comm);
        let call = |process: &Process<P>| process.waits_to_meet(comm, peer);
        self.entry.block_in(call, |process| {
            how = process.port.meet(peer);
            how != Meeting::Pending
        });
        how
    }
}
