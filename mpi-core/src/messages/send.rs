//! The calls that send (MPI-5.0 §3.4, §3.7): their arguments checked, their modes, and what is waited for.

use super::Messages;
use crate::constants::PROC_NULL;
use crate::datatype::{Packer, check_elements};
use crate::error::{Error, Result};
use crate::handle::RequestHandle;
use crate::objects::Objects;
use crate::p2p::{Begun, Message, Mode, bad_tag, check_count};
use crate::port::{Port, Why};
use crate::process::Process;
use crate::request::{Operation, Owner, Request};
use crate::status::Status;
use crate::vci::send::{Manner, Route};

impl Mode {
    /// How a send of this mode may go, where one that need not be synchronous goes like this.
    fn manner(self, otherwise: Manner) -> Manner {
        match self {
            Mode::Synchronous => Manner::Synchronous,
            Mode::Standard | Mode::Ready | Mode::Buffered => otherwise,
        }
    }
}

impl Objects {
    /// Checks a send's arguments; `None` for `MPI_PROC_NULL`.
    #[inline]
    pub(crate) fn check_send(&self, message: &Message) -> Result<Option<(Packer, Route)>> {
        let comm = self.comm(message.comm)?;
        let (_, datatype) = self.datatypes.committed_of(message.datatype, message.count)?;
        check_count(message.count)?;
        if message.tag < 0 {
            return Err(bad_tag(message.tag));
        }
        if message.rank == PROC_NULL {
            return Ok(None);
        }
        let peer = comm.target(message.rank, "dest")?;
        check_elements("buf", message.buf, message.count, datatype)?;
        let route =
            Route { peer, context: comm.context, source: comm.rank as i32, tag: message.tag };
        Ok(Some((Packer::new(message.buf, message.count, datatype), route)))
    }
}

impl<P: Port> Messages<'_, P> {
    /// `MPI_Send` and its three kin: returns when the buffer may be used again (§3.4).
    #[inline]
    pub fn send(&mut self, message: Message, mode: Mode) -> Result<()> {
        if matches!(mode, Mode::Standard | Mode::Ready) && self.send_fast(&message) {
            return Ok(());
        }
        self.send_slow(message, mode)
    }

    /// The slow path: a send that is not small, or not plain, or finds no room, or is mistaken.
    #[inline(never)]
    pub fn send_slow(&mut self, message: Message, mode: Mode) -> Result<()> {
        if mode == Mode::Buffered {
            return self.buffered_send(message).map(|_| ());
        }
        let Some((packer, route)) = self.check_send(&message)? else { return Ok(()) };
        let manner = mode.manner(Manner::Blocking);
        match self.start_send(packer, route, manner, &message)? {
            Begun::Complete => Ok(()),
            Begun::Pending(request) => self.wait_one(request).map(|_| ()),
        }
    }

    /// `MPI_Isend` and its three kin.
    #[inline(never)]
    pub fn isend(&mut self, message: Message, mode: Mode) -> Result<RequestHandle> {
        if matches!(mode, Mode::Standard | Mode::Ready)
            && let Some(sent) = self.isend_fast(&message)
        {
            return Ok(sent);
        }
        self.isend_slow(message, mode)
    }

    /// The slow path of `MPI_Isend` and its kin.
    pub fn isend_slow(&mut self, message: Message, mode: Mode) -> Result<RequestHandle> {
        match self.begin_send(message, mode) {
            Err(failure) if mode != Mode::Buffered => self.begin_unmatched(&message, failure),
            begun => begun,
        }
    }

    /// Begins a send of the program's.
    fn start_send(
        &mut self,
        packer: Packer,
        route: Route,
        manner: Manner,
        message: &Message,
    ) -> Result<Begun> {
        let process: &mut Process<P> = self;
        let port = &mut *process.port;
        process.vci.start_send(port, packer, route, manner, Owner::Program, message.comm)
    }

    /// Begins a send, if its receiver is there.
    pub(super) fn begin_send(&mut self, message: Message, mode: Mode) -> Result<RequestHandle> {
        let begun = if mode == Mode::Buffered {
            self.buffered_send(message)?;
            Begun::Complete
        } else {
            match self.check_send(&message)? {
                None => Begun::Complete,
                Some((packer, route)) => {
                    let manner = mode.manner(Manner::Begun);
                    self.start_send(packer, route, manner, &message)?
                }
            }
        };
        match begun {
            Begun::Pending(request) => Ok(request),
            Begun::Complete => Ok(self.vci.requests.sent),
        }
    }

    /// What failed, if it is a send to a process that has left MPI, fails when it is waited for: it may be cancelled
    /// until then.
    #[cold]
    fn begin_unmatched(&mut self, message: &Message, failure: Error) -> Result<RequestHandle> {
        let Some((_, route)) = self.check_send(message)? else { return Err(failure) };
        if !matches!(self.vci.peer(route.peer).down(), Some(Why::Finalized)) {
            return Err(failure);
        }
        let status = Status { error: failure.class(), ..Status::EMPTY };
        let failed = Request { failure: Some(failure), ..Request::finished(status, message.comm) };
        self.vci.requests.insert(Request { operation: Operation::Unmatched, ..failed })
    }
}
