//! One process's end of the network.

use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;

use mpi_core::buffer::RawBytes;
use mpi_core::datatype::{Packer, Unpacker};
use mpi_core::error::Error;
use mpi_core::header::Header;
use mpi_core::node_memory::{Awaited, Meeting, NodeMemory, SegmentId};
use mpi_core::port::{
    Activity, Advert, Body, Caps, Front, Full, Landing, Offer, PeerId, Port, ProcessName, Pulled,
    Sink, Token, Transport,
};
use mpi_core::rest::Rest;
use mpi_core::roll_call::Answer;

use super::bed::{Pause, SimBed};
use super::endpoint::EndpointId;
use super::network::{Item, SharedNetwork};
use crate::offers::SIMULATED;
use crate::segment::Segment;

/// Items that one poll delivers at most; how many it does is drawn.
const ITEMS_A_POLL: usize = 8;
/// Polls without news and without a wait after which others get their turn, so that a program
/// that tests in a loop cannot keep them from answering.
const IDLE_POLLS: u32 = 4;

/// Bulk data that is leaving.
struct Outgoing {
    to: EndpointId,
    source: Packer,
    token: Token,
}

/// Bulk data that is coming in; `to` is `None` when it is dropped.
struct Incoming {
    from: EndpointId,
    to: Option<Unpacker>,
    context: u64,
}

/// A pull that is under way.
struct Fetch {
    from: EndpointId,
    offer: Offer,
    len: u64,
    to: Unpacker,
    token: Token,
}

/// Who is told what a process waits for.
type Answers = Rc<dyn Fn(&Answer)>;

/// A process's transport, clock and way to wait in a simulated world.
pub struct SimPort {
    pub(super) network: SharedNetwork,
    pub(super) segments: Vec<Option<Segment>>,
    /// What was asked for at segments in vain since the last poll.
    pub(super) missed: Vec<(SegmentId, Awaited)>,
    me: EndpointId,
    pause: Option<Rc<dyn Fn(Pause)>>,
    /// Told what this process waits for, whenever it has not gone on for a while.
    answers: Option<Answers>,
    /// Endpoints of known peers, by peer, and peers by endpoint.
    endpoints: Vec<Option<EndpointId>>,
    peers: HashMap<EndpointId, PeerId>,
    /// What came from endpoints that are not known yet.
    strangers: Vec<(EndpointId, Item)>,
    outgoing: HashMap<u64, Outgoing>,
    incoming: HashMap<u64, Incoming>,
    fetches: Vec<Fetch>,
    idle_polls: u32,
    waits: u32,
}

impl SimPort {
    /// A new endpoint called `name`. Without a way to pause, time moves on whenever a poll finds
    /// nothing.
    pub fn new(network: &SharedNetwork, name: &ProcessName) -> SimPort {
        let me = network.borrow_mut().join(name);
        SimPort {
            network: Rc::clone(network),
            segments: Vec::new(),
            missed: Vec::new(),
            me,
            pause: None,
            answers: None,
            endpoints: Vec::new(),
            peers: HashMap::new(),
            strangers: Vec::new(),
            outgoing: HashMap::new(),
            incoming: HashMap::new(),
            fetches: Vec::new(),
            idle_polls: 0,
            waits: 0,
        }
    }

    /// Gives others their turn by `pause`, which returns when it is this process's turn again.
    #[must_use]
    pub fn pausing_by(mut self, pause: Rc<dyn Fn(Pause)>) -> SimPort {
        self.pause = Some(pause);
        self
    }

    /// Tells `answers` what this process waits for.
    #[must_use]
    pub fn answering_to(mut self, answers: Answers) -> SimPort {
        self.answers = Some(answers);
        self
    }

    /// Where this port is in the network.
    pub fn id(&self) -> EndpointId {
        self.me
    }

    pub(super) fn endpoint(&self, peer: PeerId) -> EndpointId {
        let known = self.endpoints.get(peer.0 as usize).copied().flatten();
        known.unwrap_or_else(|| panic!("{peer:?} was never added"))
    }

    /// Delivers one item, or keeps it until its sender is known.
    fn deliver<S: Sink>(&mut self, sink: &mut S, from: EndpointId, item: Item) {
        match item {
            Item::Push { transfer } => return self.push(sink, transfer),
            Item::Fetched { token } => return self.end_fetch(sink, Token(token)),
            Item::Room => return,
            _ => {}
        }
        let Some(&peer) = self.peers.get(&from) else {
            self.strangers.push((from, item));
            return;
        };
        match item {
            Item::Frame(header, body) => sink.frame(peer, &header, RawBytes::from(&body[..])),
            Item::Begin { transfer, header, len, advert } => {
                if let Some(advert) = advert {
                    let (message, me) = ((header.context, len), self.me);
                    self.network.borrow_mut().pledges.use_landing(from, me, message, &advert);
                }
                let to = match sink.begin(peer, &header, len) {
                    Landing::User(to) => Some(to),
                    Landing::Discard => None,
                };
                self.incoming.insert(transfer, Incoming { from, to, context: header.context });
            }
            Item::Fragment { transfer, bytes } => {
                if let Some(Incoming { to: Some(to), .. }) = self.incoming.get_mut(&transfer) {
                    // SAFETY: the memory is its request's until `landed` (`Landing::User`).
                    unsafe { to.unpack_from(RawBytes::from(&bytes[..])) };
                }
            }
            Item::End { transfer } => {
                if let Some(incoming) = self.incoming.remove(&transfer)
                    && incoming.to.is_some()
                {
                    sink.landed(peer, Token(incoming.context));
                }
            }
            Item::Down(why) => {
                self.outgoing.retain(|_, outgoing| outgoing.to != from);
                self.incoming.retain(|_, incoming| incoming.from != from);
                self.fetches.retain(|fetch| fetch.from != from);
                self.network.borrow_mut().note_down(self.me, from);
                sink.peer_down(peer, why);
            }
            Item::Push { .. } | Item::Fetched { .. } | Item::Room => {}
        }
    }

    /// Ends a pull that was begun, one way or the other.
    fn end_fetch<S: Sink>(&mut self, sink: &mut S, token: Token) {
        let Some(at) = self.fetches.iter().position(|fetch| fetch.token == token) else { return };
        let mut fetch = self.fetches.swap_remove(at);
        let Some(&peer) = self.peers.get(&fetch.from) else { return };
        let mut network = self.network.borrow_mut();
        let chance = network.options().pull;
        let comes = network.chance(chance)
            && network.is_open(fetch.from, self.me)
            && network.pledges.may_fetch(fetch.from, self.me, &fetch.offer);
        drop(network);
        if comes {
            copy_offered(&fetch.offer, fetch.len, &mut fetch.to);
            sink.landed(peer, token);
        } else {
            sink.stranded(peer, token);
        }
    }

    /// Sends the next fragment of a transfer.
    fn push<S: Sink>(&mut self, sink: &mut S, transfer: u64) {
        let Some(outgoing) = self.outgoing.get_mut(&transfer) else { return };
        let mut network = self.network.borrow_mut();
        let most = network.options().fragment_bytes_max;
        let size = 1 + network.draw(most);
        let mut bytes = vec![0; size];
        // SAFETY: the buffer has `size` bytes; the message's memory is the transport's until
        // `sent`.
        let packed = unsafe { outgoing.source.pack_into(bytes.as_mut_ptr(), size) };
        bytes.truncate(packed);
        let to = outgoing.to;
        if packed > 0 {
            network.schedule(self.me, to, Item::Fragment { transfer, bytes });
        }
        if outgoing.source.remaining() > 0 {
            network.schedule(self.me, self.me, Item::Push { transfer });
            return;
        }
        network.schedule(self.me, to, Item::End { transfer });
        drop(network);
        if let Some(outgoing) = self.outgoing.remove(&transfer) {
            sink.sent(outgoing.token);
        }
    }

    fn pause(&mut self, pause: Pause) {
        match &self.pause {
            Some(yield_processor) => yield_processor(pause),
            None => {
                self.network.borrow_mut().advance();
            }
        }
    }
}

impl Transport for SimPort {
    fn add_peer(&mut self, peer: PeerId, name: &ProcessName) {
        let found = self.network.borrow().find(name);
        let endpoint = found.unwrap_or_else(|| panic!("nobody is called {name:?}"));
        let place = peer.0 as usize;
        if self.endpoints.len() <= place {
            self.endpoints.resize(place + 1, None);
        }
        self.endpoints[place] = Some(endpoint);
        self.peers.insert(endpoint, peer);
    }

    fn caps(&self, _: PeerId) -> Caps {
        let network = self.network.borrow();
        let options = network.options();
        Caps { frame_bytes_max: options.frame_bytes_max, name: "simulated" }
    }

    fn send(&mut self, peer: PeerId, header: &Header, body: Body<'_>) -> Result<(), Full> {
        let to = self.endpoint(peer);
        let mut network = self.network.borrow_mut();
        if network.refuses(self.me, to) {
            return Err(Full);
        }
        let bytes = match body {
            Body::Bytes(bytes) => bytes.to_vec(),
            Body::Packed(packer) => {
                let len = packer.remaining() as usize;
                let mut bytes = vec![0; len];
                // SAFETY: the buffer has `len` bytes; the message is readable by `Body`.
                unsafe { packer.pack_into(bytes.as_mut_ptr(), len) };
                bytes
            }
        };
        let most = network.options().frame_bytes_max;
        assert!(bytes.len() <= most, "a frame of {} bytes is no small frame", bytes.len());
        network.send_frame(self.me, to, *header, bytes);
        Ok(())
    }

    fn hold(&mut self) {}

    fn release(&mut self) {}

    fn send_bulk(
        &mut self,
        peer: PeerId,
        header: &Header,
        source: Packer,
        token: Token,
        advert: Option<Advert>,
    ) {
        let to = self.endpoint(peer);
        let mut network = self.network.borrow_mut();
        let transfer = network.new_transfer();
        let len = source.remaining();
        network.schedule(self.me, to, Item::Begin { transfer, header: *header, len, advert });
        network.schedule(self.me, self.me, Item::Push { transfer });
        self.outgoing.insert(transfer, Outgoing { to, source, token });
    }

    fn poll<S: Sink>(&mut self, sink: &mut S) -> Activity {
        self.missed.clear();
        self.network.borrow_mut().hear(self.me);
        let known = |(from, _): &mut (EndpointId, Item)| self.peers.contains_key(from);
        let met: Vec<_> = self.strangers.extract_if(.., known).collect();
        let mut activity = if met.is_empty() { Activity::Idle } else { Activity::Busy };
        for (from, item) in met {
            self.deliver(sink, from, item);
        }
        let most = 1 + self.network.borrow_mut().draw(ITEMS_A_POLL);
        for _ in 0..most {
            let next = self.network.borrow_mut().take_item(self.me);
            let Some((from, item)) = next else { break };
            self.deliver(sink, from, item);
            activity = Activity::Busy;
        }
        if activity == Activity::Busy {
            (self.idle_polls, self.waits) = (0, 0);
        } else {
            self.network.borrow_mut().tick();
            self.idle_polls += 1;
            if self.pause.is_none() || self.idle_polls.is_multiple_of(IDLE_POLLS) {
                self.pause(Pause::Yield);
            }
        }
        activity
    }

    fn take_front(
        &mut self,
        peer: PeerId,
        _looks: u32,
        wanted: impl FnOnce(&Header, RawBytes<'_>) -> bool,
    ) -> Front {
        let from = self.endpoint(peer);
        if from == self.me || self.strangers.iter().any(|(stranger, _)| *stranger == from) {
            return Front::Other;
        }
        let mut network = self.network.borrow_mut();
        network.show_front(self.me, from, |header, body| wanted(header, RawBytes::from(body)))
    }

    fn offer(&mut self, peer: PeerId, address: *const u8, _: u64) -> Offer {
        let to = self.endpoint(peer);
        let mut network = self.network.borrow_mut();
        if network.options().pull == 0.0 {
            return Offer::default();
        }
        network.pledges.offer(self.me, to, address.expose_provenance() as u64)
    }

    fn end_offer(&mut self, peer: PeerId, offer: &Offer) {
        let to = self.endpoint(peer);
        self.network.borrow_mut().pledges.end(self.me, to, offer);
    }

    /// For some messages, as a transport that has no memory of its own left would.
    fn advertise(&mut self, peer: PeerId, _: &Unpacker, len: u64, token: Token) -> Option<Advert> {
        let from = self.endpoint(peer);
        let mut network = self.network.borrow_mut();
        let advertised = network.chance(0.5);
        advertised.then(|| network.pledges.advertise(from, self.me, (token.0, len)))
    }

    fn pull(
        &mut self,
        peer: PeerId,
        offer: &Offer,
        len: u64,
        to: &mut Unpacker,
        token: Token,
    ) -> Pulled {
        let from = self.endpoint(peer);
        let mut network = self.network.borrow_mut();
        let chance = network.options().pull;
        if offer.kind != SIMULATED || !network.is_open(from, self.me) || !network.chance(chance) {
            return Pulled::Unavailable;
        }
        if !network.pledges.may_fetch(from, self.me, offer) {
            return Pulled::Unavailable;
        }
        if network.chance(chance) {
            copy_offered(offer, len, to);
            return Pulled::Done;
        }
        let (offer, to) = (*offer, to.clone());
        self.fetches.push(Fetch { from, offer, len, to, token });
        network.schedule(self.me, self.me, Item::Fetched { token: token.0 });
        Pulled::Begun
    }

    /// Asked when nothing is left that the core wants of this port.
    ///
    /// # Panics
    /// An offer has not ended.
    fn is_flushed(&self) -> bool {
        let flushed = self.is_sent();
        if flushed {
            self.network.borrow().pledges.leave(self.me);
        }
        flushed
    }

    fn is_sent(&self) -> bool {
        self.outgoing.is_empty() && !self.network.borrow().owes(self.me)
    }
}

/// Copies bytes that a simulated process has offered.
fn copy_offered(offer: &Offer, len: u64, to: &mut Unpacker) {
    let bytes = std::ptr::with_exposed_provenance(offer.words[0] as usize);
    // SAFETY: all simulated processes share this address space, and the sender's request keeps
    // the offered bytes readable until its rendezvous ends.
    unsafe { to.unpack_from(RawBytes::new(bytes, len as usize)) };
}

impl Port for SimPort {
    type Memory = SimPort;
    type Bed = SimBed;

    fn node(&self) -> Option<&SimPort> {
        Some(self)
    }

    fn node_mut(&mut self) -> Option<&mut SimPort> {
        Some(self)
    }

    fn meet(&mut self, peer: PeerId) -> Meeting {
        let (to, me) = (self.endpoint(peer), self.id());
        let network = self.network.borrow();
        let nodes = network.options().nodes;
        match nodes.of(me) == nodes.of(to) && network.is_open(me, to) {
            true => Meeting::Near,
            false => Meeting::Elsewhere,
        }
    }

    fn share(&self) -> u32 {
        // How many, nobody asks.
        1 + u32::from(self.network.borrow().options().processors.is_some())
    }

    fn processor(&self) -> Option<u32> {
        let processors = self.network.borrow().options().processors?;
        Some(self.id().0 % processors)
    }

    fn place(&self) -> Option<[u32; 2]> {
        None
    }

    fn now(&self) -> Duration {
        Duration::from_nanos(self.network.borrow().now())
    }

    /// The first wait after news is a yield, so that the caller can publish what it waits for
    /// before it is suspended for good.
    fn rest(&mut self, _: u32) -> Rest {
        self.waits += 1;
        self.idle_polls = 0;
        if self.waits == 1 { Rest::GiveWay } else { Rest::Sleep }
    }

    fn set_threads(&mut self, several: bool) {
        self.network.borrow_mut().parked(self.me).several = several;
    }

    fn rest_in_turn(&mut self, _: u32, rests_for: Option<Duration>, _: usize) -> Rest {
        self.idle_polls = 0;
        match rests_for.is_none() || self.network.borrow_mut().parked(self.me).own > 0 {
            true => Rest::GiveWay,
            false => Rest::Sleep,
        }
    }

    fn give_way(&mut self) {
        self.pause(Pause::Yield);
    }

    fn bed(&mut self) -> SimBed {
        SimBed {
            network: Rc::clone(&self.network),
            me: self.me,
            pause: self.pause.clone(),
            bell: Some(Rc::default()),
            listens: false,
        }
    }

    fn lie_down(&mut self, several: bool) -> Option<SimBed> {
        if several {
            let mut network = self.network.borrow_mut();
            network.parked(self.me).raise(true);
            let is_quiet = !network.has_news(self.me) && network.parked(self.me).own == 0;
            drop(network);
            if !is_quiet || self.has_come(&self.missed()) {
                return None;
            }
        }
        let bed = self.bed();
        Some(SimBed { bell: bed.bell.filter(|_| several), listens: true, ..bed })
    }

    fn get_up(&mut self) {
        self.network.borrow_mut().parked(self.me).raise(false);
    }

    fn was_rung(&mut self) -> bool {
        self.network.borrow_mut().parked(self.me).was_rung()
    }

    fn oversleeps(&self) -> bool {
        self.network.borrow_mut().parked(self.me).own > 0
    }

    fn is_asked(&mut self) -> bool {
        self.answers.is_some()
    }

    fn answer(&mut self, answer: &Answer) {
        self.answers.iter().for_each(|answers| answers(answer));
    }

    /// Every few polls that find nothing give a turn already.
    fn looked_in_vain(&mut self) {}

    fn yield_processor(&mut self) {
        if self.share() > 1 {
            self.pause(Pause::Yield);
        }
    }

    /// Nothing comes after that.
    fn end_job(&mut self, _: u16, _: PeerId, error: &Error) {
        self.network.borrow_mut().note_end(error.what().to_owned());
        self.pause(Pause::Wait);
    }
}

impl Drop for SimPort {
    fn drop(&mut self) {
        // The network may be borrowed when a panic unwinds through one of its methods.
        if let Ok(mut network) = self.network.try_borrow_mut() {
            network.leave(self.me);
        }
    }
}
