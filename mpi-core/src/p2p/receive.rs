//! Receives: take what has arrived, or post and wait for it (MPI-5.0 §3.2.4, §3.5, §3.7, §3.8).

use super::send::{bad_tag, check_count};
use super::{Arrived, Content, Message, Messages};
use crate::buffer::RawBytes;
use crate::constants::{ANY_SOURCE, ANY_TAG, PROC_NULL};
use crate::datatype::{Unpacker, check_elements};
use crate::error::Result;
use crate::handle::{CommHandle, MessageHandle, RequestHandle};
use crate::lost::lost_source;
use crate::matching::Envelope;
use crate::objects::Objects;
use crate::port::{PeerId, Port};
use crate::process::Process;
use crate::request::{Incoming, Operation, Owner, ReceiveState, Request};
use crate::status::Status;
use crate::vci::Vci;

/// What a receive matches.
#[derive(Clone, Copy)]
pub(crate) struct Pattern {
    pub(crate) context: u64,
    pub(crate) source: i32,
    pub(crate) tag: i32,
    /// The peer that `source` is, unless it is a wildcard.
    pub(crate) from: Option<PeerId>,
}

impl Vci {
    /// Posts a receive for which no message has arrived.
    #[inline]
    pub(crate) fn post(
        &mut self,
        unpacker: Unpacker,
        pattern: Pattern,
        owner: Owner,
        comm: CommHandle,
    ) -> Result<RequestHandle> {
        let Pattern { context, source, tag, from } = pattern;
        // The place is known before the request is, whose handle stands there.
        let request = self.requests.next_handle()?;
        let posted = Some(self.matcher.post(context, source, tag, request));
        let incoming = Incoming::new(unpacker);
        let state =
            ReceiveState { incoming, posted, from, awaited: None, landing: false, fetching: false };
        self.requests.insert(Request::active(Operation::Receive(state), owner, comm))
    }
}

impl Objects {
    /// What a receive or probe with these arguments matches; `None` for `MPI_PROC_NULL`.
    #[inline]
    pub(crate) fn pattern(&self, comm: CommHandle, rank: i32, tag: i32) -> Result<Option<Pattern>> {
        let comm = self.comm(comm)?;
        if tag < 0 && tag != ANY_TAG {
            return Err(bad_tag(tag));
        }
        let from = match rank {
            PROC_NULL => return Ok(None),
            ANY_SOURCE => None,
            rank => Some(comm.target(rank, "source")?),
        };
        Ok(Some(Pattern { context: comm.context, source: rank, tag, from }))
    }

    /// Checks a receive's arguments; `None` for `MPI_PROC_NULL`.
    #[inline]
    pub(crate) fn check_receive(&self, message: &Message) -> Result<Option<(Unpacker, Pattern)>> {
        let pattern = self.pattern(message.comm, message.rank, message.tag)?;
        check_count(message.count)?;
        // From nobody comes nothing, of whatever type (§3.10).
        let Some(pattern) = pattern else { return Ok(None) };
        let (_, datatype) = self.datatypes.committed_of(message.datatype, message.count)?;
        check_elements("buf", message.buf, message.count, datatype)?;
        Ok(Some((Unpacker::new(message.buf, message.count, datatype), pattern)))
    }
}

impl Vci {
    /// Begins a receive; the request may be complete on return.
    #[inline]
    pub(crate) fn start_receive<P: Port>(
        &mut self,
        port: &mut P,
        unpacker: Unpacker,
        pattern: Pattern,
        owner: Owner,
        comm: CommHandle,
    ) -> Result<RequestHandle> {
        let Pattern { context, source, tag, from } = pattern;
        if let Some(arrived) = self.matcher.take_unexpected(context, source, tag) {
            let state = ReceiveState {
                incoming: Incoming::new(unpacker),
                posted: None,
                from,
                awaited: None,
                landing: false,
                fetching: false,
            };
            let request =
                self.requests.insert(Request::active(Operation::Receive(state), owner, comm))?;
            self.take(port, request, arrived);
            return Ok(request);
        }
        if let Some(peer) = from
            && let Some(why) = self.peer(peer).down().cloned()
        {
            let wanted = Envelope { context, source, tag };
            let here = self.matcher.unexpected().map(|(envelope, _)| envelope);
            return Err(lost_source(here, wanted, peer, &why));
        }
        self.post(unpacker, pattern, owner, comm)
    }

    /// Gives an arrived message to a receive.
    pub(crate) fn take<P: Port>(&mut self, port: &mut P, request: RequestHandle, arrived: Arrived) {
        let Arrived { peer, source, tag, content } = arrived;
        match content {
            Content::Whole(bytes) => {
                self.consumed(peer, bytes.len() as u64);
                self.receive_eager(request, source, tag, RawBytes::from(&*bytes));
            }
            Content::Announced(rts) => {
                self.begin_rendezvous(request, source, tag);
                self.pull(port, request, rts);
            }
            Content::Failed(class) => self.fail_receive(request, source, class),
            Content::Channel(channel) => self.learn_channel(request, channel),
        }
    }
}

impl<P: Port> Messages<'_, P> {
    /// `MPI_Recv`.
    pub fn receive(&mut self, message: Message) -> Result<Status> {
        if let Some(status) = self.receive_fast(&message) {
            return Ok(status);
        }
        let request = self.receive_slow(message)?;
        self.wait_one(request)
    }

    /// The slow path of `MPI_Recv`, tried after [`Messages::receive_fast`]: the request to
    /// wait for.
    pub fn receive_slow(&mut self, message: Message) -> Result<RequestHandle> {
        match self.vci.begun.take() {
            Some(begun) => Ok(begun),
            None => self.ireceive_slow(message),
        }
    }

    /// `MPI_Irecv`.
    #[inline(never)]
    pub fn ireceive(&mut self, message: Message) -> Result<RequestHandle> {
        if let Some(received) = self.ireceive_fast(&message) {
            return Ok(received);
        }
        self.ireceive_slow(message)
    }

    /// The slow path of `MPI_Irecv`: takes an unexpected message, or posts.
    pub fn ireceive_slow(&mut self, message: Message) -> Result<RequestHandle> {
        match self.check_receive(&message)? {
            Some((unpacker, pattern)) => {
                let process: &mut Process<P> = self;
                let port = &mut *process.port;
                process.vci.start_receive(port, unpacker, pattern, Owner::Program, message.comm)
            }
            None => self.vci.requests.insert(Request::finished(Status::PROC_NULL, message.comm)),
        }
    }

    /// `MPI_Imrecv`: receives a message that a matched probe took. `message` keeps its handle on
    /// failure and becomes null otherwise; its rank, tag and communicator are those of the probe.
    pub fn ireceive_matched(
        &mut self,
        buf: crate::buffer::UserBuffer,
        count: i64,
        datatype: crate::handle::DatatypeHandle,
        message: &mut MessageHandle,
    ) -> Result<RequestHandle> {
        let unpacker = {
            let datatype = self.datatypes.committed(datatype)?;
            check_count(count)?;
            // From nobody comes nothing, wherever it should go (§3.10).
            if *message != super::MESSAGE_NO_PROC {
                check_elements("buf", buf, count, datatype)?;
            }
            Unpacker::new(buf, count, datatype)
        };
        if *message == super::MESSAGE_NO_PROC {
            *message = MessageHandle::NULL;
            let world = CommHandle::from_raw(crate::comm::WORLD);
            return self.vci.requests.insert(Request::finished(Status::PROC_NULL, world));
        }
        let matched = self.matched.remove(*message)?;
        *message = MessageHandle::NULL;
        let state = ReceiveState {
            incoming: Incoming::new(unpacker),
            posted: None,
            from: Some(matched.arrived.peer),
            awaited: None,
            landing: false,
            fetching: false,
        };
        let operation = Operation::Receive(state);
        let request =
            self.vci.requests.insert(Request::active(operation, Owner::Program, matched.comm))?;
        let process: &mut Process<P> = self;
        process.vci.take(&mut *process.port, request, matched.arrived);
        Ok(request)
    }
}
