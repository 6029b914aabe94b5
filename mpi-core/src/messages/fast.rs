//! The fast path of small messages: from the arguments to the peer's lane, and from the lane to
//! the user's memory, with no request, queue, allocation or look-up by hash (MPI-5.0 §3.2, §3.7).
//!
//! Enters: a message of a named datatype without gaps to or from one rank. Leaves: it is done,
//! or nothing happened and the slow path takes over, which also words all errors: here a
//! doubtful argument is no error but a reason to decline. The order of §3.5 holds by this rule:
//! a send writes the lane only if nothing for that peer waits, and a receive takes the front of
//! a lane only if no unexpected message of that source and context is there and no receive that
//! was posted before could take it.

use super::Messages;
use super::ahead::Ahead;
use crate::buffer::UserBuffer;
use crate::constants::{ANY_TAG, PROC_NULL};
use crate::datatype::{Unpacker, dense_size};
use crate::expected::Expected;
use crate::handle::RequestHandle;
use crate::header::{FrameKind, Header, INLINE_BYTES};
use crate::limits::FAST_ELEMENTS_MAX;
use crate::matching::Matcher;
use crate::objects::Objects;
use crate::p2p::rendezvous::Rts;
use crate::p2p::{Arrived, Message};
use crate::peers::Peer;
use crate::port::{Body, Fragments, Front, Offer, PeerId, Port, Token};
use crate::process::Process;
use crate::request::{Operation, Owner, ReceiveState, Request};
use crate::status::Status;
use crate::tuning::{
    ALWAYS_COPIED_BYTES, BLOCKING_BYTES, FAST_IN_A_ROW, FAST_SEND_BYTES, LANE_LOOKS_PER_POLL,
    LOOKS_PER_CLAIM, POLLS_PER_ROUND,
};
use crate::user_memory::{Incoming, lend};
use crate::vci::Vci;
use crate::vci::receive::Pattern;

/// The bytes of a message if they are at most `most` and one run of memory at its address;
/// neither they nor the address are doubtful.
#[inline(always)]
fn plain_bytes(message: &Message, most: u64) -> Option<usize> {
    let size = dense_size(message.datatype.raw());
    // A negative count is larger than any; the product of what is left fits its type.
    let count = message.count as u64;
    if size == 0 || count > FAST_ELEMENTS_MAX {
        return None;
    }
    let bytes = size * count;
    // The highest of the addresses that stand for something else.
    let sound = message.buf.0.addr() > UserBuffer::AUTOMATIC.0.addr() || bytes == 0;
    (bytes <= most && sound).then_some(bytes as usize)
}

/// The other side of a message and the two names of its communicator on the wire.
struct Partner {
    peer: PeerId,
    context: u64,
    me: i32,
}

/// What a receive of the fast path wants, and from whom.
#[derive(Clone, Copy)]
struct Wanted {
    peer: PeerId,
    context: u64,
    source: i32,
    tag: i32,
    room: usize,
}

impl Wanted {
    /// The next message of its source, which `state` tells of, if it may be taken: none that
    /// follows is here already, and it is no receive's that was posted before.
    #[inline(always)]
    fn expect(
        &self,
        state: &Peer,
        matcher: &mut Matcher<RequestHandle, Arrived>,
        to: UserBuffer,
    ) -> Option<Expected> {
        let Wanted { context, source, tag, room, .. } = *self;
        // Of `MPI_ANY_TAG` it is not known before which receives could take what comes.
        let is_free = matcher.posted_len() == 0
            || tag != ANY_TAG && matcher.none_posted_for(context, source, tag);
        let number = state.expected()?;
        is_free.then(|| Expected::new(number, (context, source, tag), room, to))
    }
}

/// Counts a message of `len` bytes as taken in: its status, and whether it is time to report what
/// was taken in.
#[inline(always)]
fn count_in(state: &mut Peer, header: &Header, len: u64) -> (Status, bool) {
    state.count_in();
    state.credit.acknowledge(header.credit);
    let due = state.credit.consume(len);
    (Status { source: header.source, tag: header.tag, bytes: len, ..Status::EMPTY }, due)
}

/// The header of the next message to the peer that `state` tells of.
#[inline(always)]
fn header(state: &Peer, context: u64, source: i32, tag: i32) -> Header {
    Header {
        credit: state.credit.sum(),
        sequence: state.next_out(),
        kind: FrameKind::Eager as u8,
        inline_len: 0,
        context,
        source,
        tag,
    }
}

impl Objects {
    #[inline(always)]
    fn partner(&self, message: &Message) -> Option<Partner> {
        let comm = self.comms.find(message.comm)?;
        // MPI_PROC_NULL and the wildcards are negative.
        let peer = comm.targets().peer(message.rank as u32)?;
        Some(Partner { peer, context: comm.context, me: comm.rank as i32 })
    }

    /// Whether nothing is doubtful about a message to or from one rank or nobody.
    #[inline(always)]
    pub(super) fn is_plain(&self, message: &Message) -> bool {
        let known = match message.rank {
            PROC_NULL => self.comms.find(message.comm).is_some(),
            _ => self.partner(message).is_some(),
        };
        known
            && (message.tag >= 0 || message.tag == ANY_TAG)
            && plain_bytes(message, i64::MAX as u64).is_some()
    }
}

impl Vci {
    /// Posts a receive for which nothing unexpected is there.
    #[inline]
    fn post_fast(&mut self, wanted: Wanted, message: &Message) -> Option<RequestHandle> {
        let Wanted { peer, context, source, tag, room } = wanted;
        if self.peers[peer.0 as usize].down().is_some() {
            return None;
        }
        let unpacker = Unpacker::contiguous(message.buf, room as u64);
        let pattern = Pattern { context, source, tag, from: Some(peer) };
        self.post(unpacker, pattern, Owner::Program, message.comm).ok()
    }

    /// Whether it is not the others' turn.
    #[inline]
    fn may_take(&mut self) -> bool {
        self.fast_left = self.fast_left.checked_sub(1).unwrap_or(FAST_IN_A_ROW);
        self.fast_left > 0
    }

    /// Takes the front of the lane of the wanted peer if it is what is wanted.
    #[inline(always)]
    fn take_front<P: Port>(
        &mut self,
        port: &mut P,
        looks: u32,
        wanted: &Wanted,
        message: &Message,
    ) -> Result<Status, Front> {
        let peer = wanted.peer;
        let (state, matcher) = (&mut self.peers[peer.0 as usize], &mut self.matcher);
        let expected = wanted.expect(state, matcher, message.buf).ok_or(Front::Other)?;
        // In memory from here on, lest it be worked out when the message is there.
        let expected = std::hint::black_box(expected);
        let (header, len) = port.take_expected(peer, looks, &expected)?;
        let (status, due) = count_in(state, &header, len as u64);
        if due {
            self.report_consumed(port, peer);
        }
        Ok(status)
    }

    /// Takes the message of several fragments that begins at the front of the lane of the wanted peer, if
    /// it is what is wanted: its status, or the request of it if the rest is long in coming.
    fn take_fragments<P: Port>(
        &mut self,
        port: &mut P,
        wanted: &Wanted,
        message: &Message,
    ) -> Option<Result<Status, RequestHandle>> {
        // So that a request can be made when the message is already taken.
        self.requests.next_handle().ok()?;
        let peer = wanted.peer;
        let (state, matcher) = (&mut self.peers[peer.0 as usize], &mut self.matcher);
        let expected = wanted.expect(state, matcher, message.buf)?;
        let (mut status, mut due) = (Status::EMPTY, false);
        let fragments = port.take_fragments(peer, |header, len| {
            if expected.differs(&header.to_words(0)) != 0 || len > wanted.room as u64 {
                return None;
            }
            (status, due) = count_in(state, header, len);
            Some(message.buf)
        });
        if due {
            self.report_consumed(port, peer);
        }
        match fragments {
            Fragments::Other => None,
            Fragments::Taken => Some(Ok(status)),
            Fragments::Begun(taken) => {
                let rts = Rts { peer, len: status.bytes, offer: Offer::default(), token: 0 };
                let state = ReceiveState {
                    incoming: Incoming::elsewhere(wanted.room as u64),
                    posted: None,
                    from: Some(peer),
                    awaited: Some(rts),
                    landing: true,
                    fetching: false,
                };
                let operation = Operation::Receive(state);
                let request = Request::active(operation, Owner::Program, message.comm);
                let request = self.requests.insert(Request { status, ..request }).ok()?;
                let rest = message.buf.offset(taken as i64);
                let rest = Unpacker::contiguous(rest, status.bytes - taken);
                port.land(peer, rest, Token(u64::from(request.raw())));
                Some(Err(request))
            }
        }
    }

    /// Gives the front of the lane of `peer` to the posted receive that it is for.
    #[inline(never)]
    fn give_front<P: Port>(&mut self, port: &mut P, peer: PeerId) -> bool {
        if self.matcher.posted_len() == 0 {
            return false;
        }
        let front = port.take_front(peer, 1, |header, body| {
            let state = &mut self.peers[peer.0 as usize];
            if header.kind != FrameKind::Eager as u8 || !state.is_next(header.sequence) {
                return false;
            }
            let Some(request) = self.matcher.arrive(header.context, header.source, header.tag)
            else {
                return false;
            };
            state.count_in();
            state.credit.acknowledge(header.credit);
            self.consumed(peer, body.len() as u64);
            self.receive_eager(request, header.source, header.tag, body);
            true
        });
        front == Front::Taken
    }
}

impl<P: Port> Messages<'_, P> {
    /// Sends a small message if its receiver's lane takes it at once; whether it has.
    #[inline(always)]
    pub fn send_fast(&mut self, message: &Message) -> bool {
        let Some(len) = plain_bytes(message, FAST_SEND_BYTES) else { return false };
        let Some(Partner { peer, context, me }) = self.partner(message) else { return false };
        let process: &mut Process<P> = self;
        let state = &mut process.vci.peers[peer.0 as usize];
        if message.tag < 0 || !state.is_open() || !state.credit.covers(len as u64) {
            return false;
        }
        let bytes = lend(message.buf, len);
        let header = header(state, context, me, message.tag);
        let sent = if len <= INLINE_BYTES {
            process.port.send_inline(peer, header, bytes)
        } else {
            process.port.send_at_once(peer, header, bytes)
        };
        if sent {
            state.credit.spend(len as u64);
            state.number_out();
        }
        sent
    }

    /// Sends a small message that [`Messages::send_fast`] did not, for the way to its receiver is
    /// another or has no room at hand; `false` if it has to take the slow path.
    #[inline(never)]
    pub fn send_eager_now(&mut self, message: &Message) -> bool {
        let Some(len) = plain_bytes(message, FAST_SEND_BYTES) else { return false };
        let Some(Partner { peer, context, me }) = self.partner(message) else { return false };
        // A shorter one goes even if there is a faster way for one that is announced.
        let long = len > INLINE_BYTES && len > self.port.caps(peer).frame_bytes_max
            || len as u64 > BLOCKING_BYTES && !self.port.has_room(peer, len as u64, true);
        let process: &mut Process<P> = self;
        let state = &mut process.vci.peers[peer.0 as usize];
        if long || message.tag < 0 || !state.is_open() || !state.credit.covers(len as u64) {
            return false;
        }
        let header = header(state, context, me, message.tag);
        if process.port.send(peer, &header, Body::Bytes(lend(message.buf, len))).is_err() {
            return false;
        }
        state.credit.spend(len as u64);
        state.number_out();
        true
    }

    /// Sends a small message at once and names the request of all sends that are complete.
    #[inline(always)]
    pub fn isend_fast(&mut self, message: &Message) -> Option<RequestHandle> {
        // One that is not small is better announced where much is on its way: it can wait.
        let len = plain_bytes(message, FAST_SEND_BYTES)? as u64;
        if len > ALWAYS_COPIED_BYTES {
            let Partner { peer, .. } = self.partner(message)?;
            if !self.port.has_room(peer, len, true) {
                return None;
            }
        }
        (self.send_fast(message) || self.send_eager_now(message)).then_some(self.vci.requests.sent)
    }

    /// Takes a small message that is here, or posts the receive.
    #[inline(always)]
    pub fn ireceive_fast(&mut self, message: &Message) -> Option<RequestHandle> {
        let wanted = self.wanted(message)?;
        if !self.vci.may_take() {
            return self.vci.post_fast(wanted, message);
        }
        loop {
            match self.take_front(1, &wanted, message) {
                Ok(status) => {
                    return self.vci.requests.insert(Request::finished(status, message.comm)).ok();
                }
                Err(Front::Other) if self.give_front(wanted.peer) => {}
                Err(_) => return self.vci.post_fast(wanted, message),
            }
        }
    }

    /// See [`Vci::take_front`].
    #[inline(always)]
    fn take_front(
        &mut self,
        looks: u32,
        wanted: &Wanted,
        message: &Message,
    ) -> Result<Status, Front> {
        let process: &mut Process<P> = self;
        process.vci.take_front(&mut *process.port, looks, wanted, message)
    }

    /// See [`Vci::give_front`].
    fn give_front(&mut self, peer: PeerId) -> bool {
        let process: &mut Process<P> = self;
        process.vci.give_front(&mut *process.port, peer)
    }

    /// What a receive wants, if the fast path is open to it.
    #[inline(always)]
    fn wanted(&mut self, message: &Message) -> Option<Wanted> {
        let room = plain_bytes(message, i64::MAX as u64)?;
        let Partner { peer, context, .. } = self.partner(message)?;
        let (source, tag) = (message.rank, message.tag);
        if (tag < 0 && tag != ANY_TAG) || !self.vci.matcher.no_unexpected_for(context, source) {
            return None;
        }
        Some(Wanted { peer, context, source, tag, room })
    }
}

impl<P: Port> Messages<'_, P> {
    /// Receives a small message that is here or comes while waiting means spinning; `None` if
    /// the slow path has to go on.
    #[inline(always)]
    pub fn receive_fast(&mut self, message: &Message) -> Option<Status> {
        let wanted = self.wanted(message)?;
        if !self.vci.may_take() {
            return None;
        }
        let looks = if self.port.spins(0) { LANE_LOOKS_PER_POLL } else { 1 };
        match self.take_front(looks, &wanted, message) {
            Ok(status) => Some(status),
            Err(front) => self.receive_polling(&wanted, message, (looks, front)),
        }
    }

    /// Goes on with a receive that has looked so many times and found no message of its own.
    #[inline(never)]
    fn receive_polling(
        &mut self,
        wanted: &Wanted,
        message: &Message,
        (looks, mut front): (u32, Front),
    ) -> Option<Status> {
        let (mut idle, mut ahead) = (0, Ahead::of(message.buf, wanted.room));
        loop {
            if front == Front::Empty {
                idle += POLLS_PER_ROUND;
                if !self.port.spins(idle) {
                    return self.receive_posted(*wanted, message);
                }
                // After any news a new look is due at what the rule above asks for.
                if self.poll() {
                    return None;
                }
            } else {
                let process: &mut Process<P> = self;
                let begun = match looks > 1 {
                    true => process.vci.take_fragments(&mut *process.port, wanted, message),
                    false => None,
                };
                match begun {
                    Some(Ok(status)) => return Some(status),
                    Some(Err(request)) => return self.receive_begun(request),
                    None if self.give_front(wanted.peer) => {}
                    None => return self.receive_posted(*wanted, message),
                }
            }
            match self.look_ahead(looks, wanted, message, &mut ahead) {
                Ok(status) => return Some(status),
                Err(other) => front = other,
            }
        }
    }

    /// As [`Messages::take_front`], with lines of the receive's memory asked for between the looks.
    fn look_ahead(
        &mut self,
        mut looks: u32,
        wanted: &Wanted,
        message: &Message,
        ahead: &mut Ahead,
    ) -> Result<Status, Front> {
        while looks > LOOKS_PER_CLAIM && ahead.claim_some() {
            looks -= LOOKS_PER_CLAIM;
            match self.take_front(LOOKS_PER_CLAIM, wanted, message) {
                Err(Front::Empty) => {}
                found => return found,
            }
        }
        self.take_front(looks, wanted, message)
    }

    /// Receives what does not come in one fragment, or not soon: posts the receive, whose memory the
    /// fragments or the bytes of a rendezvous then go to, and waits for it.
    #[inline(never)]
    fn receive_posted(&mut self, wanted: Wanted, message: &Message) -> Option<Status> {
        let request = self.vci.post_fast(wanted, message)?;
        self.receive_begun(request)
    }

    /// Waits for a receive that has begun; `None` leaves it to the slow path.
    fn receive_begun(&mut self, request: RequestHandle) -> Option<Status> {
        self.settled(request);
        let status = self.vci.requests.collect(request);
        if status.is_none() {
            self.vci.begun = Some(request);
        }
        status
    }
}
