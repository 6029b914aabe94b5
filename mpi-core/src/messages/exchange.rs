//! A send and a receive in one call (MPI-5.0 §3.10): both begin before either is waited for, so
//! that exchanges in a ring or a pair cannot deadlock.

use super::Messages;
use crate::buffer::UserBuffer;
use crate::error::Result;
use crate::handle::RequestHandle;
use crate::p2p::{Message, Mode};
use crate::port::Port;
use crate::request::{Operation, Owner, Request};
use crate::status::Status;
use crate::user_memory::gather_long;

impl<P: Port> Messages<'_, P> {
    /// `MPI_Sendrecv` of plain messages that succeeds (see [`fast`](super::fast)); `None` leaves
    /// the rest to [`Messages::send_receive_slow`].
    #[inline]
    pub fn send_receive_fast(&mut self, send: &Message, receive: &Message) -> Option<Status> {
        if !self.is_plain(send) || send.tag < 0 || !self.is_plain(receive) {
            return None;
        }
        let (sent, received) = self.begin_both(*send, *receive).ok()?;
        if sent != self.vci.requests.sent {
            self.settled(sent);
            if self.vci.requests.collect(sent).is_none() {
                self.vci.begun = self.both(sent, received, send.comm).ok();
                return None;
            }
        }
        self.settled(received);
        let status = self.vci.requests.collect(received);
        if status.is_none() {
            self.vci.begun = Some(received);
        }
        status
    }

    /// The slow path of `MPI_Sendrecv`, tried after [`Messages::send_receive_fast`]: the request
    /// to wait for.
    pub fn send_receive_slow(&mut self, send: Message, receive: Message) -> Result<RequestHandle> {
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
        let (send, receive) = self.begin_both(send, receive)?;
        self.both(send, receive, comm)
    }

    /// Begins a send, which is not cancelled on its own.
    #[inline]
    fn isend_or_fail(&mut self, message: Message) -> Result<RequestHandle> {
        match self.isend_fast(&message) {
            Some(sent) => Ok(sent),
            None => self.begin_send(message, Mode::Standard),
        }
    }

    /// Begins a send and a receive, or neither.
    #[inline]
    fn begin_both(
        &mut self,
        send: Message,
        receive: Message,
    ) -> Result<(RequestHandle, RequestHandle)> {
        let receive = self.ireceive(receive)?;
        match self.isend_or_fail(send) {
            Ok(send) => Ok((send, receive)),
            Err(why) => self.give_back(receive).and(Err(why)),
        }
    }

    /// Ends a receive whose send failed: the program gets its buffer back, so nothing may come into
    /// it any more.
    #[cold]
    fn give_back(&mut self, receive: RequestHandle) -> Result<()> {
        self.cancel(receive)?;
        self.wait_one(receive).map(drop)
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
            None => self.isend_or_fail(send)?,
            Some((mut packer, _)) => {
                let copy = gather_long(&mut packer)?;
                let packed = Message {
                    buf: UserBuffer(copy.as_ptr().cast_mut()),
                    count: copy.len() as i64,
                    datatype: crate::datatype::BYTE,
                    ..send
                };
                let sent = self.isend_or_fail(packed)?;
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
