//! Bytes that the library itself moves between the processes of a communicator.

use crate::buffer::UserBuffer;
use crate::coll::calls::Typed;
use crate::datatype::BYTE;
use crate::entry::Entry;
use crate::error::Result;
use crate::handle::CommHandle;
use crate::p2p::{Message, Mode};
use crate::port::Port;

impl<P: Port> Entry<'_, P> {
    /// What every process of `comm` has in `own`, by rank, or of the remote group of an
    /// intercommunicator.
    pub(crate) fn allgather_bytes(&mut self, comm: CommHandle, own: &[u8]) -> Result<Vec<u8>> {
        let size = self.comm(comm)?.targets().size() as usize;
        let mut all = vec![0; own.len() * size];
        let block = |at| Typed { buf: UserBuffer(at), count: own.len() as i64, datatype: BYTE };
        let (send, recv) = (block(own.as_ptr().cast_mut()), block(all.as_mut_ptr()));
        let prepared = self.calls().allgather(send, recv, comm)?;
        self.collectives().run(&prepared)?;
        Ok(all)
    }

    /// What `root` has in `bytes`, at most `limit` of them, at all processes of an
    /// intracommunicator.
    pub(super) fn bcast_bytes(
        &mut self,
        comm: CommHandle,
        root: i32,
        mut bytes: Vec<u8>,
        limit: usize,
    ) -> Result<Vec<u8>> {
        let mut length = (bytes.len() as u64).to_le_bytes();
        self.bcast_run(comm, root, &mut length)?;
        let length = u64::from_le_bytes(length);
        if length > limit as u64 {
            crate::fail!(INTERN, "the leader of the group announced {length} bytes");
        }
        bytes.resize(length as usize, 0);
        if !bytes.is_empty() {
            self.bcast_run(comm, root, &mut bytes)?;
        }
        Ok(bytes)
    }

    fn bcast_run(&mut self, comm: CommHandle, root: i32, bytes: &mut [u8]) -> Result<()> {
        let buf = UserBuffer(bytes.as_mut_ptr());
        let data = Typed { buf, count: bytes.len() as i64, datatype: BYTE };
        let prepared = self.calls().bcast(data, root, comm)?;
        self.collectives().run(&prepared)
    }

    /// Exchanges bytes with one process; neither knows how many, at most `limit`, it will get.
    pub(super) fn swap_bytes(
        &mut self,
        comm: CommHandle,
        rank: i32,
        tag: i32,
        own: &[u8],
        limit: usize,
    ) -> Result<Vec<u8>> {
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
            self.messages().isend(message(length.as_mut_ptr(), length.len()), Mode::Standard)?,
            self.messages().isend(message(own.as_ptr().cast_mut(), own.len()), Mode::Standard)?,
        ];
        let other = self.receive_measured(&message, limit);
        // The bytes stay here until they are sent, whatever came back.
        for request in sent {
            self.wait_one(request)?;
        }
        other
    }

    fn receive_measured(
        &mut self,
        message: &dyn Fn(*mut u8, usize) -> Message,
        limit: usize,
    ) -> Result<Vec<u8>> {
        let mut incoming = [0; 8];
        self.messages().receive(message(incoming.as_mut_ptr(), incoming.len()))?;
        let length = u64::from_le_bytes(incoming);
        if length > limit as u64 {
            crate::fail!(INTERN, "the other group's leader announced {length} bytes");
        }
        let mut other = vec![0; length as usize];
        self.messages().receive(message(other.as_mut_ptr(), other.len()))?;
        Ok(other)
    }
}
