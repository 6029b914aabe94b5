//! The door between the core and the world: [`Transport`] moves frames, [`Sink`] takes them in,
//! [`Port`] adds time and waiting.
//!
//! A new transport that implements [`Transport`] and passes the conformance set has all of MPI;
//! [`Transport::offer`] and [`Transport::pull`] are bids for speed.

use std::ops::{Deref, DerefMut};
use std::time::Duration;

use crate::buffer::{RawBytes, UserBuffer};
use crate::datatype::{Packer, Unpacker};
use crate::error::Error;
use crate::header::Header;
use crate::io::disk::{NoStorage, Storage};
use crate::node_memory::{Meeting, NodeMemory};
use crate::rest::{Bed, Rest};
use crate::roll_call::Answer;
use crate::window_segments::WindowSegments;

pub use crate::expected::Expected;
pub use crate::terms::*;

/// A way to move bytes between this process and its peers. The frames to a peer arrive once each, in the
/// order of sending, or the peer is lost.
pub trait Transport {
    /// Makes `peer` known under its name; connecting may wait until something is sent.
    fn add_peer(&mut self, peer: PeerId, name: &ProcessName);

    /// What the path to `peer` can do, as far as known now.
    fn caps(&self, peer: PeerId) -> Caps;

    /// Sends a frame whose body is small; the bytes are copied before the call returns.
    ///
    /// # Errors
    /// [`Full`] when there is no room or no connection yet; nothing was sent.
    fn send(&mut self, peer: PeerId, header: &Header, body: Body<'_>) -> Result<(), Full>;

    /// As [`Transport::send`] for bytes that fit behind a header, if there is an open path that takes
    /// them at once; whether it has. The fast path out, a bid for speed.
    #[inline]
    fn send_inline(&mut self, peer: PeerId, header: Header, bytes: RawBytes<'_>) -> bool {
        let _ = (peer, header, bytes);
        false
    }

    /// The same for longer bodies.
    #[inline(always)]
    fn send_at_once(&mut self, peer: PeerId, header: Header, bytes: RawBytes<'_>) -> bool {
        let _ = (peer, header, bytes);
        false
    }

    /// Whether [`Transport::send`] would find room for a body of `len` bytes, as far as known, and
    /// is the way for it: one run of memory, if `plain`. A long message for which it is not is better
    /// announced than copied aside.
    fn has_room(&mut self, peer: PeerId, len: u64, plain: bool) -> bool {
        let _ = (peer, len, plain);
        true
    }

    /// Several frames follow at once: they may be kept back until [`Transport::release`] and go
    /// out together.
    fn hold(&mut self);

    /// Lets go what was kept back since [`Transport::hold`].
    fn release(&mut self);

    /// Sends all that `source` has left as bulk data under `header`; the memory belongs to the
    /// transport until it calls [`Sink::sent`] with `token`. Arrives as [`Sink::begin`] with the
    /// same header and, unless that discards it, [`Sink::landed`] with the header's context id as
    /// token. `advert` is what the peer's transport has said of that landing, if it has: whoever is
    /// not of its kind passes over it.
    fn send_bulk(
        &mut self,
        peer: PeerId,
        header: &Header,
        source: Packer,
        token: Token,
        advert: Option<Advert>,
    );

    /// Moves what can be moved without waiting; arrivals go to `sink`.
    fn poll<S: Sink>(&mut self, sink: &mut S) -> Activity;

    /// Shows the next small frame of `peer`, if it comes while one looks so many times and does
    /// nothing else, to `wanted`, which says whether it has taken it: then [`Transport::poll`]
    /// does not deliver it any more. The fast path in, a bid for speed.
    #[inline]
    fn take_front(
        &mut self,
        peer: PeerId,
        looks: u32,
        wanted: impl FnOnce(&Header, RawBytes<'_>) -> bool,
    ) -> Front {
        let _ = (peer, looks, wanted);
        Front::Other
    }

    /// As [`Transport::take_front`] for the one message that is expected, which goes to the memory of
    /// who expects it: its header and its length, or why it is not taken.
    #[inline]
    fn take_expected(
        &mut self,
        peer: PeerId,
        looks: u32,
        expected: &Expected,
    ) -> Result<(Header, usize), Front> {
        let mut taken = None;
        let front = self.take_front(peer, looks, |header, body| {
            let fits = expected.differs(&header.to_words(0)) == 0 && expected.fill(body);
            taken = fits.then_some((*header, body.len()));
            fits
        });
        taken.ok_or(front)
    }

    /// As [`Transport::take_front`] for a message that comes in several fragments: `wanted` says where
    /// in user memory its bytes go, if it is wanted.
    #[inline]
    fn take_fragments(
        &mut self,
        peer: PeerId,
        wanted: impl FnOnce(&Header, u64) -> Option<UserBuffer>,
    ) -> Fragments {
        let _ = (peer, wanted);
        Fragments::Other
    }

    /// Where the rest goes of a message of `peer` that is [`Fragments::Begun`]; [`Sink::landed`]
    /// follows with the token.
    fn land(&mut self, peer: PeerId, rest: Unpacker, token: Token) {
        let _ = (peer, rest, token);
    }

    /// How `peer` could fetch these contiguous bytes by itself.
    fn offer(&mut self, peer: PeerId, address: *const u8, len: u64) -> Offer {
        let _ = (peer, address, len);
        Offer::default()
    }

    /// The rendezvous of an offer is over, however it has ended: the bytes were fetched or sent, the
    /// message was taken back, or the peer is lost. Called once for each offer that is not of
    /// [`OfferKind::NONE`]; others' offers are passed over.
    fn end_offer(&mut self, peer: PeerId, offer: &Offer) {
        let _ = (peer, offer);
    }

    /// Where the `len` bytes that `peer` is asked for will land, so that it can write them there:
    /// they follow as bulk data under a header with `token` as context id. The memory of `landing` is
    /// free to be written by the transport until [`Sink::begin`] hands it over or refuses it, or the
    /// peer is lost; the bulk data may come another way, and then the advert is as good as ended.
    fn advertise(
        &mut self,
        peer: PeerId,
        landing: &Unpacker,
        len: u64,
        token: Token,
    ) -> Option<Advert> {
        let _ = (peer, landing, len, token);
        None
    }

    /// Fetches `len` bytes from where `peer` offered them, if the offer is of this transport's kind. If
    /// that is only begun, the memory of `to` belongs to the transport until [`Sink::landed`] or
    /// [`Sink::stranded`] follows with `token`.
    fn pull(
        &mut self,
        peer: PeerId,
        offer: &Offer,
        len: u64,
        to: &mut Unpacker,
        token: Token,
    ) -> Pulled {
        let _ = (peer, offer, len, to, token);
        Pulled::Unavailable
    }

    /// Whether everything handed over for any peer has left this process for good: it may exit.
    fn is_flushed(&self) -> bool;

    /// Whether everything handed over for any peer comes there though nobody polls here any more.
    fn is_sent(&self) -> bool {
        self.is_flushed()
    }
}

/// Where a transport delivers what arrives; the core implements it.
pub trait Sink {
    /// A small frame; the body is lent for the call. It comes from another process: the header
    /// is a copy, but its content may be anything.
    fn frame(&mut self, peer: PeerId, header: &Header, body: RawBytes<'_>);

    /// A small frame that comes in several fragments begins to arrive. Says where its `len` bytes
    /// go, if that is known now; then [`Sink::landed`] follows with the token, else
    /// [`Sink::frame`] with the whole of it.
    fn begin_eager(
        &mut self,
        peer: PeerId,
        header: &Header,
        len: u64,
    ) -> Option<(Unpacker, Token)> {
        let _ = (peer, header, len);
        None
    }

    /// Bulk data begins to arrive; says where its `len` bytes go.
    fn begin(&mut self, peer: PeerId, header: &Header, len: u64) -> Landing;

    /// All bulk bytes under `token` are where [`Sink::begin`] wanted them. Not called for what was
    /// to be discarded, so that a transfer that nobody asked for ends no other.
    fn landed(&mut self, peer: PeerId, token: Token);

    /// The bytes that a [`Transport::pull`] has begun to fetch under `token` do not come this way after
    /// all: ask for them by a CTS. Only of a transport that says [`Pulled::Begun`].
    fn stranded(&mut self, peer: PeerId, token: Token) {
        let _ = (peer, token);
    }

    /// The memory given to [`Transport::send_bulk`] under `token` is free again.
    fn sent(&mut self, token: Token);

    /// Nothing will come from or go to `peer` any more.
    fn peer_down(&mut self, peer: PeerId, why: Why);
}

/// Said of a port that is not there.
const CLOSED: &str = "MPI is initialised and not finalized";

/// The port of a process: there is none before `MPI_Init` and after `MPI_Finalize`, when nothing is sent and nobody
/// waits.
pub struct Opened<P>(Option<P>);

impl<P> Opened<P> {
    /// This one, or none yet.
    pub fn new(port: Option<P>) -> Opened<P> {
        Opened(port)
    }

    /// Whether there is one.
    pub fn is_open(&self) -> bool {
        self.0.is_some()
    }

    /// The port, if there is one.
    pub fn get(&mut self) -> Option<&mut P> {
        self.0.as_mut()
    }

    /// From now on there is this one, or none.
    pub fn set(&mut self, port: Option<P>) {
        self.0 = port;
    }
}

impl<P> Deref for Opened<P> {
    type Target = P;

    #[inline(always)]
    fn deref(&self) -> &P {
        self.0.as_ref().expect(CLOSED)
    }
}

impl<P> DerefMut for Opened<P> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut P {
        self.0.as_mut().expect(CLOSED)
    }
}

/// The whole world of a process: its transports, its clock, and a way to wait.
pub trait Port: Transport {
    /// What the processes of a node share.
    type Memory: NodeMemory + WindowSegments;

    /// Where its threads sleep.
    type Bed: Bed;

    /// The memory that this process shares with those of its node, while the port is open.
    fn node(&self) -> Option<&Self::Memory>;

    /// The same, to change it.
    fn node_mut(&mut self) -> Option<&mut Self::Memory>;

    /// The same for who holds a part of it, which nobody does while the port is closed.
    #[inline(always)]
    fn memory(&self) -> &Self::Memory {
        self.node().expect(CLOSED)
    }

    /// As [`Port::memory`], to change it.
    #[inline(always)]
    fn memory_mut(&mut self) -> &mut Self::Memory {
        self.node_mut().expect(CLOSED)
    }

    /// Makes contact with `peer`, and says how far that has come.
    fn meet(&mut self, peer: PeerId) -> Meeting;

    /// Processes of the job that run here for each processor, rounded up.
    fn share(&self) -> u32;

    /// The processor on which this process always runs, where it is bound to a single one.
    fn processor(&self) -> Option<u32>;

    /// The numbers of the socket and of the last-level cache on its node that this process always runs at, where that
    /// is known.
    fn place(&self) -> Option<[u32; 2]>;

    /// Time since some fixed point; never goes back.
    fn now(&self) -> Duration;

    /// Called between polls that found nothing, with the number of such polls in a row, by an
    /// operation that cannot go on: spins, yields the processor or sleeps until news may have
    /// come. Returns whether waiting has left its spin phase. For a process with one thread.
    #[inline]
    fn wait(&mut self, idle_polls: u32) -> bool {
        let spins = self.spins(idle_polls);
        if !spins {
            self.rest_alone(idle_polls);
        }
        !spins
    }

    /// The part of [`Port::wait`] behind the spin phase.
    #[cold]
    #[inline(never)]
    fn rest_alone(&mut self, idle_polls: u32) {
        match self.rest(idle_polls) {
            Rest::Look => {}
            Rest::GiveWay => self.give_way(),
            Rest::Sleep => {
                if let Some(bed) = self.lie_down(false) {
                    bed.sleep();
                }
                self.get_up();
            }
        }
    }

    /// What [`Port::wait`] is to do behind the spin phase.
    fn rest(&mut self, idle_polls: u32) -> Rest;

    /// From now on several threads use this process by turns, or one alone again: then no wait spins, or sleeps, with
    /// the turn.
    fn set_threads(&mut self, several: bool);

    /// What the thread that looks for all is to do after so many polls that found nothing, and so long behind the spin
    /// phase, while so many sleep `beside` it.
    fn rest_in_turn(&mut self, idle_polls: u32, rests_for: Option<Duration>, beside: usize)
    -> Rest;

    /// Lets others have this processor for a moment.
    fn give_way(&mut self);

    /// Makes a bed in which a thread of several sleeps until another one wakes it.
    fn bed(&mut self) -> Self::Bed;

    /// Makes a bed, for one of `several` threads or the only one, and has all who send from now on ring once; none if
    /// there is news already. [`Port::get_up`] follows in both cases.
    fn lie_down(&mut self, several: bool) -> Option<Self::Bed>;

    /// Nobody needs to ring.
    fn get_up(&mut self);

    /// Whether somebody may have rung since this was last asked.
    fn was_rung(&mut self) -> bool;

    /// Whether what has begun since the last one lay down may need a poll before the first one gets up.
    fn oversleeps(&self) -> bool;

    /// Lets others have this processor for a moment, where ranks share processors, though this
    /// process could go on: by what it has just done one of them may be able to do more for the rest.
    fn yield_processor(&mut self);

    /// A call that does not wait has polled and found nothing. Where ranks share processors and such calls
    /// follow each other closely, the program waits by them, and others get their turn as in
    /// [`Port::wait`]: one of them may have what it waits for.
    fn looked_in_vain(&mut self);

    /// Whether [`Port::wait`] would spin after so many looks in a row that found nothing: then
    /// who looks at one peer's frames may go on doing just that.
    #[inline]
    fn spins(&mut self, looks: u32) -> bool {
        let _ = looks;
        false
    }

    /// The file system that the process's files lie in.
    fn storage(&self) -> &'static dyn Storage {
        &NoStorage
    }

    /// Whether somebody wants to know what this process waits for; looked at when a wait has
    /// left its spin phase.
    fn is_asked(&mut self) -> bool {
        false
    }

    /// The name of the procedure with this number, for messages.
    fn procedure_name(&self, number: u16) -> Option<&'static str> {
        let _ = number;
        None
    }

    /// Tells who asked.
    fn answer(&mut self, answer: &Answer) {
        let _ = answer;
    }

    /// Ends the job, whatever the error handlers say, during the procedure with this number: what was accepted for
    /// `peer` cannot be delivered.
    fn end_job(&mut self, procedure: u16, peer: PeerId, error: &Error) {
        panic!("the job ends in procedure {procedure} over rank {}: {}", peer.0, error.what());
    }
}
