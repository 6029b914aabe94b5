//! Sends: eager when small and credit lasts, announced otherwise (MPI-5.0 §3.4, §3.5, §3.7).

use super::rendezvous::Rts;
use super::{Begun, Message, Messages, Mode};
use crate::buffer::RawBytes;
use crate::constants::{ANY_TAG, PROC_NULL, Special, TAG_UB};
use crate::datatype::{Packer, check_elements};
use crate::error::{Error, ErrorClass, Result};
use crate::handle::RequestHandle;
use crate::header::{FrameKind, Header};
use crate::matching::Envelope;
use crate::objects::Objects;
use crate::port::{Body, Offer, PeerId, Port, Why};
use crate::process::Process;
use crate::request::{Operation, Owner, Request, SendState};
use crate::status::Status;
use crate::tuning::{BLOCKING_BYTES, COPIED_ASIDE_BYTES};
use crate::user_memory::Outgoing;
use crate::vci::Vci;

/// How a send may go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Manner {
    /// Its process does nothing else until it is complete.
    Blocking,
    /// Its process goes on meanwhile, so it may be announced if that is better.
    Begun,
    /// It is announced whatever its size, so that completion tells of the receive.
    Synchronous,
}

impl Mode {
    /// How a send of this mode may go, where one that need not be synchronous goes like this.
    fn manner(self, otherwise: Manner) -> Manner {
        match self {
            Mode::Synchronous => Manner::Synchronous,
            Mode::Standard | Mode::Ready | Mode::Buffered => otherwise,
        }
    }
}

/// Where a message goes: found once from communicator and rank.
#[derive(Clone, Copy)]
pub(crate) struct Route {
    pub(crate) peer: PeerId,
    pub(crate) context: u64,
    /// The sender's own rank in the communicator.
    pub(crate) source: i32,
    pub(crate) tag: i32,
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

impl Vci {
    /// Begins a send of all that `packer` has along `route`.
    #[inline]
    pub(crate) fn start_send<P: Port>(
        &mut self,
        port: &mut P,
        mut packer: Packer,
        route: Route,
        manner: Manner,
        owner: Owner,
        comm: crate::handle::CommHandle,
    ) -> Result<Begun> {
        let len = packer.remaining();
        let peer = self.peer(route.peer);
        if let Some(why) = peer.down() {
            return Err(crate::lost::lost_peer(route.peer, why));
        }
        let eager_max = port.caps(route.peer).frame_bytes_max as u64;
        let mut header = Header {
            kind: FrameKind::Eager as u8,
            context: route.context,
            source: route.source,
            tag: route.tag,
            ..Header::default()
        };
        let fits = len <= eager_max && manner != Manner::Synchronous;
        let blocks = manner == Manner::Blocking && len <= BLOCKING_BYTES;
        let plain = packer.as_contiguous().is_some();
        // A long message that would have to wait is announced rather than copied aside.
        let goes = fits
            && (len <= COPIED_ASIDE_BYTES
                || blocks && peer.waiting_bytes() < 2 * BLOCKING_BYTES
                || peer.is_clear() && port.has_room(route.peer, len, plain));
        if goes && peer.credit.take(len) {
            header.sequence = peer.number_out();
            self.send(port, route.peer, &mut header, Body::Packed(&mut packer));
            return Ok(Begun::Complete);
        }
        let outgoing = Outgoing::new(packer);
        let offer = match outgoing.as_contiguous() {
            Some((address, len)) => port.offer(route.peer, address, len),
            None => Offer::default(),
        };
        let Route { context, source, tag, .. } = route;
        let envelope = Envelope { context, source, tag };
        let (copy, handed_over, cancelled) = (None, false, false);
        let peer = route.peer;
        let state = SendState { peer, envelope, outgoing, offer, copy, handed_over, cancelled };
        let request = Request::active(Operation::Send(state), owner, comm);
        let request = self.requests.insert(request);
        let request = request.inspect_err(|_| port.end_offer(peer, &offer))?;
        self.sends_pending += 1;
        let rts = Rts { peer: route.peer, len, offer, token: u64::from(request.raw()) };
        let payload = rts.to_payload();
        header.kind = FrameKind::Rts as u8;
        header.inline_len = payload.len() as u8;
        header.sequence = self.peer(route.peer).number_out();
        let body = Body::Bytes(RawBytes::from(&payload[..]));
        self.send(port, route.peer, &mut header, body);
        Ok(Begun::Pending(request))
    }

    /// Sends in place of a message that the operation failed here with this class.
    #[cold]
    pub(crate) fn send_failure<P: Port>(&mut self, port: &mut P, route: Route, class: ErrorClass) {
        let payload = class.0.to_le_bytes();
        let peer = self.peer(route.peer);
        if peer.down().is_some() {
            return;
        }
        let mut header = Header {
            kind: FrameKind::Failed as u8,
            inline_len: payload.len() as u8,
            sequence: peer.number_out(),
            context: route.context,
            source: route.source,
            tag: route.tag,
            ..Header::default()
        };
        let body = Body::Bytes(RawBytes::from(&payload[..]));
        self.send(port, route.peer, &mut header, body);
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

/// `count` of a send or receive.
#[inline]
pub(crate) fn check_count(count: i64) -> Result<()> {
    if count < 0 {
        crate::fail!(COUNT, "count", "is {count}, but a count cannot be negative");
    }
    Ok(())
}

#[cold]
pub(crate) fn bad_tag(tag: i32) -> Error {
    let what = match tag {
        ANY_TAG => ", which only a receive takes".to_owned(),
        _ => format!(", but tags are 0 to {TAG_UB}"),
    };
    Error::special(ErrorClass::TAG, "tag", Special::Tag(tag), what)
}
