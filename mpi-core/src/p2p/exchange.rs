//! A send and a receive in one call (MPI-5.0 §3.10): both begin before either is waited for, so
//! that exchanges in a ring or a pair cannot deadlock.

use super::{Message, Mode};
use crate::buffer::UserBuffer;
use crate::constants::PROC_NULL;
use crate::entry::Entry;
use crate::error::Result;
use crate::handle::RequestHandle;
use crate::port::Port;
use crate::request::{Operation, Owner, Request, gather_long};
use crate::status::Status;

impl<P: Port> Entry<'_, P> {
    /// `MPI_Sendrecv` of small plain messages (see [`quick`](super::quick)); `None` leaves the rest
    /// to [`Entry::send_receive_slowly`].
    #[inline(always)]
    pub fn send_receive_quickly(&mut self, send: &Message, receive: &Message) -> Option<Status> {
        if !self.is_plain(send) || send.tag < 0 || !self.is_plain(receive) {
            return None;
        }
        if receive.rank == PROC_NULL {
            let sent = send.rank == PROC_NULL || self.isend_quickly(send).is_some();
            return sent.then_some(Status::PROC_NULL);
        }
        let request = self.ireceive_quickly(receive)?;
        if send.rank != PROC_NULL && self.isend_quickly(send).is_none() {
            self.vci.begun = self.begin_rest(*send, request);
            return None;
        }
        self.settled(request);
        let status = self.collect(request);
        if status.is_none() {
            self.vci.begun = Some(request);
        }
        status
    }

    /// Begins a send whose receive has begun; the request of both, or nothing is under way and the
    /// ordinary way says why.
    #[inline(never)]
    fn begin_rest(&mut self, send: Message, receive: RequestHandle) -> Option<RequestHandle> {
        // First, so that nothing can fail once the message is sent.
        let both = self.both(self.vci.sent, receive, send.comm).ok();
        let sent = both.and_then(|_| self.isend_slowly(send, Mode::Standard).ok());
        let Some((both, sent)) = both.zip(sent) else {
            if let Some(both) = both {
                self.vci.requests.remove(both).ok()?;
            }
            // The program gets its buffer back, so nothing may come into it any more.
            self.cancel(receive).ok()?;
            self.wait_one(receive).ok()?;
            return None;
        };
        if let Operation::Both { send, .. } = &mut self.vci.requests.get_mut(both).ok()?.operation {
            *send = sent;
        }
        Some(both)
    }

    /// The ordinary way of `MPI_Sendrecv`, tried after [`Entry::send_receive_quickly`]: the request
    /// to wait for.
    pub fn send_receive_slowly(
        &mut self,
        send: Message,
        receive: Message,
    ) -> Result<RequestHandle> {
        match self.vci.begun.take() {
            Some(begun) => Ok(begun),
            None => self.isend_receive(send, receive),
        }
    }

    /// `MPI_Isendrecv`.
    pub fn isend_receive(&mut self, send: Message, receive: Message) -> Result<RequestHandle> {
        self.check_receive(&receive)?;
        self.check_send(&send)?;
        let comm = send.comm;
        let receive = self.ireceive(receive)?;
        match self.isend(send, Mode::Standard) {
            Ok(send) => self.both(send, receive, comm),
            Err(why) => {
                // The program gets its buffer back, so nothing may come into it any more.
                self.cancel(receive)?;
                self.wait_one(receive)?;
                Err(why)
            }
        }
    }

    /// `MPI_Isendrecv_replace`: what is sent leaves a copy of the buffer, which then receives.
    pub fn isend_receive_replace(
        &mut self,
        send: Message,
        receive: Message,
    ) -> Result<RequestHandle> {
        self.check_receive(&receive)?;
        let comm = send.comm;
        let sent = match self.check_send(&send)? {
            None => self.isend(send, Mode::Standard)?,
            Some((mut packer, _)) => {
                let copy = gather_long(&mut packer)?;
                let packed = Message {
                    buf: UserBuffer(copy.as_ptr().cast_mut()),
                    count: copy.len() as i64,
                    datatype: crate::datatype::BYTE,
                    ..send
                };
                let sent = self.isend(packed, Mode::Standard)?;
                if let Operation::Send(state) = &mut self.vci.requests.get_mut(sent)?.operation {
                    state.copy = Some(copy);
                }
                sent
            }
        };
        match self.ireceive(receive) {
            Ok(receive) => self.both(sent, receive, comm),
            Err(why) => {
                self.free_request(sent)?;
                Err(why)
            }
        }
    }

    fn both(
        &mut self,
        send: RequestHandle,
        receive: RequestHandle,
        comm: crate::handle::CommHandle,
    ) -> Result<RequestHandle> {
        let operation = Operation::Both { send, receive };
        self.vci.requests.insert(Request::active(operation, Owner::Program, comm))
    }
}
