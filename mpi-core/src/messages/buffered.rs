//! Buffers for buffered sends (MPI-5.0 §3.6): of the process, of a session, of a communicator, or
//! automatic.
//!
//! A message that goes out at once needs no buffer. One that has to wait is copied into memory of
//! our own and its size charged to the attached buffer, so that a program sees the space it
//! attached used up as the standard's model of §3.6.1 says, while its memory is never written.

use super::Messages;
use crate::attached_buffer::{AttachedBuffer, BufferId};
use crate::buffer::UserBuffer;
use crate::comm::Comm;
use crate::constants::BSEND_OVERHEAD;
use crate::datatype::Packer;
use crate::entry::Entry;
use crate::error::{Error, ErrorClass, Result};
use crate::handle::{CommHandle, RequestHandle};
use crate::p2p::{Begun, Message};
use crate::port::Port;
use crate::process::Process;
use crate::request::{Operation, Owner, Request};
use crate::tuning::POLLS_BEFORE_FULL;
use crate::user_memory::gather_long;
use crate::vci::send::Manner;

impl<P: Port> Messages<'_, P> {
    /// The buffered send behind `MPI_Bsend` and `MPI_Ibsend`: complete when it returns.
    pub(crate) fn buffered_send(&mut self, message: Message) -> Result<()> {
        let Some((mut packer, route)) = self.check_send(&message)? else { return Ok(()) };
        let bytes = packer.remaining().saturating_add(BSEND_OVERHEAD as u64);
        let id = self.bsend_buffer(message.comm)?;
        let number = self.charge(id, bytes)?;
        let owner = Owner::Buffer { buffer: id, bytes, number };
        let process: &mut Process<P> = self;
        let begun = gather_long(&mut packer).and_then(|copy| {
            let from = UserBuffer(copy.as_ptr().cast_mut());
            let packer = Packer::contiguous(from, copy.len() as u64);
            let port = &mut *process.port;
            let comm = message.comm;
            Ok((process.vci.start_send(port, packer, route, Manner::Begun, owner, comm)?, copy))
        });
        match begun {
            Ok((Begun::Pending(request), copy)) => {
                if let Operation::Send(send) = &mut self.vci.requests.get_mut(request)?.operation {
                    send.copy = Some(copy);
                }
                Ok(())
            }
            gone_or_failed => {
                self.attached(id)?.give_back(bytes, number);
                gone_or_failed.map(drop)
            }
        }
    }

    /// Takes so many bytes of a buffer for a send; its number. What was delivered may be known only when all that has
    /// come is looked at, of which one poll takes a part.
    fn charge(&mut self, id: BufferId, bytes: u64) -> Result<u64> {
        let number = self.buffered_sends;
        self.buffered_sends += 1;
        let mut polls = 0;
        while let Err(error) = self.attached(id)?.charge(bytes, number) {
            if polls == POLLS_BEFORE_FULL || !self.attached(id)?.may_hold(bytes) {
                return Err(error);
            }
            polls += 1;
            self.progress();
        }
        Ok(number)
    }

    /// The buffer that a send over `comm` uses: the communicator's, else its session's, else the
    /// process's (§3.6).
    fn bsend_buffer(&self, handle: CommHandle) -> Result<BufferId> {
        let Comm { buffer, session, .. } = self.comm(handle)?;
        if buffer.is_some() {
            return Ok(BufferId::Comm(handle));
        }
        if !session.is_null() && self.session(*session)?.buffer.is_some() {
            return Ok(BufferId::Session(*session));
        }
        if self.buffer.is_some() {
            return Ok(BufferId::Process);
        }
        Err(Error::new(ErrorClass::BUFFER, "no buffer is attached for buffered sends")
            .hint("Call MPI_Buffer_attach before MPI_Bsend, or send in standard mode."))
    }
}

impl<P: Port> Entry<'_, P> {
    /// Attaches a buffer (`MPI_Buffer_attach` and its kin).
    pub fn attach_buffer(&mut self, id: BufferId, address: UserBuffer, size: i64) -> Result<()> {
        if size < 0 && address != UserBuffer::AUTOMATIC {
            crate::fail!(ARG, "size", "is {size}, but a size cannot be negative");
        }
        let place = self.buffer_place(id)?;
        if place.is_some() {
            return Err(Error::new(ErrorClass::BUFFER, "a buffer is attached already")
                .hint("Detach it first: only one buffer can be attached at a time."));
        }
        *place = Some(AttachedBuffer::new(address, size.max(0) as u64));
        Ok(())
    }

    /// Waits until the buffer is empty (`MPI_Buffer_flush` and its kin).
    pub fn flush_buffer(&mut self, id: BufferId) -> Result<()> {
        self.attached(id)?;
        let call = |process: &Process<P>| process.waits_for_buffer(id);
        self.block_in(call, |process| process.is_empty_buffer(id));
        Ok(())
    }

    /// A request that completes when what is in the buffer now has gone (`MPI_Buffer_iflush` and its kin, §3.6).
    pub fn iflush_buffer(&mut self, id: BufferId) -> Result<RequestHandle> {
        self.attached(id)?;
        let comm = match id {
            BufferId::Comm(comm) => comm,
            _ => CommHandle::from_raw(crate::comm::SELF),
        };
        let flush = Operation::Flush { buffer: id, before: self.buffered_sends };
        self.vci.requests.insert(Request::active(flush, Owner::Program, comm))
    }

    /// Detaches a buffer when it is empty and returns what was attached (§3.6); where nothing was that is nothing, as
    /// programs expect that detach once too often.
    pub fn detach_buffer(&mut self, id: BufferId) -> Result<(UserBuffer, u64)> {
        if self.buffer_place(id)?.is_some() {
            self.flush_buffer(id)?;
        }
        let detached = self.buffer_place(id)?.take();
        Ok(detached.map_or((UserBuffer::BOTTOM, 0), |buffer| buffer.attached()))
    }
}

impl<P: Port> Process<P> {
    /// Whether the buffer holds no message, or is gone.
    fn is_empty_buffer(&self, id: BufferId) -> bool {
        self.buffer_of(id).is_none_or(AttachedBuffer::is_empty)
    }

    /// Whether it holds one with a lower number.
    pub(crate) fn holds_before(&self, id: BufferId, before: u64) -> bool {
        self.buffer_of(id).is_some_and(|buffer| buffer.holds_before(before))
    }

    /// The buffer, while it is attached.
    fn buffer_of(&self, id: BufferId) -> Option<&AttachedBuffer> {
        match id {
            BufferId::Process => self.buffer.as_ref(),
            BufferId::Session(session) => {
                self.session(session).ok().and_then(|session| session.buffer.as_ref())
            }
            BufferId::Comm(comm) => self.comm(comm).ok().and_then(|comm| comm.buffer.as_ref()),
        }
    }

    pub(crate) fn attached(&mut self, id: BufferId) -> Result<&mut AttachedBuffer> {
        let place = self.buffer_place(id)?.as_mut();
        place.ok_or_else(|| Error::new(ErrorClass::BUFFER, "no buffer is attached"))
    }

    /// Where a buffer is kept while it is attached.
    fn buffer_place(&mut self, id: BufferId) -> Result<&mut Option<AttachedBuffer>> {
        Ok(match id {
            BufferId::Process => &mut self.buffer,
            BufferId::Session(session) => &mut self.session_mut(session)?.buffer,
            BufferId::Comm(comm) => &mut self.comm_mut(comm)?.buffer,
        })
    }
}
