//! The one process behind the C interface: the core over the transports that `transports::node`
//! ties together, with what only this side knows beside them (decision 3).

use std::ptr::NonNull;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::time::Duration;

use mpi_core::buffer::{RawBytes, UserBuffer};
use mpi_core::datatype::{Packer, Unpacker};
use mpi_core::error::Error;
use mpi_core::header::Header;
use mpi_core::io::disk::Storage;
use mpi_core::node_memory::Meeting;
use mpi_core::port::{
    Activity, Advert, Body, Caps, Expected, Fragments, Front, Full, Offer, PeerId, Port,
    ProcessName, Pulled, Sink, Token, Transport,
};
use mpi_core::process::Process;
use mpi_core::tuning::LAUNCHER_GAP_TICKS;
use mpi_core::waiting::Answer;
use transports::node::{LocalPort, ticks};
use transports::shm::Shm;

use crate::procedure::Procedure;

/// The process of this program.
pub type Node = Process<NodePort>;

/// The node while MPI is initialised: what every ordinary procedure needs (decision 12).
static RUNNING: AtomicPtr<Node> = AtomicPtr::new(std::ptr::null_mut());
/// The same, in its place, where a thread looks after it (see `progress`).
static WATCHED: AtomicPtr<Node> = AtomicPtr::new(std::ptr::null_mut());
/// The node from the first call of any procedure on.
static EXISTING: AtomicPtr<Node> = AtomicPtr::new(std::ptr::null_mut());

/// The node, if MPI is initialised and not finalized.
#[inline]
pub(crate) fn running() -> *mut Node {
    RUNNING.load(Ordering::Acquire)
}

/// The node, if MPI is initialised and a thread looks after it: then nobody finds it `running`.
pub(crate) fn watched() -> Option<NonNull<Node>> {
    NonNull::new(WATCHED.load(Ordering::Acquire))
}

/// Whether MPI is initialised and not finalized.
pub(crate) fn is_open() -> bool {
    !running().is_null() || watched().is_some()
}

/// The node, if it exists and the library is closed.
pub(crate) fn idle() -> Option<NonNull<Node>> {
    NonNull::new(EXISTING.load(Ordering::Acquire)).filter(|_| !is_open())
}

/// The node; `make` is asked for one at the first call.
pub(crate) fn existing(make: impl FnOnce() -> Node) -> *mut Node {
    let node = EXISTING.load(Ordering::Acquire);
    if !node.is_null() {
        return node;
    }
    let made = Box::into_raw(Box::new(make()));
    let swapped =
        EXISTING.compare_exchange(std::ptr::null_mut(), made, Ordering::AcqRel, Ordering::Acquire);
    match swapped {
        Ok(_) => made,
        Err(first) => {
            // SAFETY: `made` came from a box just now and nobody else has seen it.
            drop(unsafe { Box::from_raw(made) });
            first
        }
    }
}

/// Opens the ordinary procedures; with a thread that looks after the node if so.
pub(crate) fn open(watched: bool) {
    let node = EXISTING.load(Ordering::Acquire);
    if watched { &WATCHED } else { &RUNNING }.store(node, Ordering::Release);
}

/// Closes them.
pub(crate) fn close() {
    for open in [&RUNNING, &WATCHED] {
        open.store(std::ptr::null_mut(), Ordering::Release);
    }
}

/// The ways to other processes: none before `MPI_Init` and after `MPI_Finalize`.
#[derive(Default)]
pub struct NodePort {
    local: Option<LocalPort>,
    /// When the launcher's socket was looked at last, by the processor's counter.
    looked: u64,
}

impl NodePort {
    /// Opens the ways.
    pub(crate) fn open(&mut self, local: LocalPort) {
        self.local = Some(local);
    }

    /// Leaves the other processes (see [`LocalPort::leave`]).
    pub(crate) fn leave(&mut self) {
        if let Some(local) = &mut self.local {
            local.leave();
        }
    }

    /// Gives back what the ways hold.
    pub(crate) fn close(&mut self) {
        self.local = None;
    }

    /// Shared memory and loopback, while open.
    pub(crate) fn local(&mut self) -> Option<&mut LocalPort> {
        self.local.as_mut()
    }
}

const CLOSED: Caps = Caps { frame_bytes_max: 0, name: "none: MPI is not initialised" };

impl Transport for NodePort {
    fn add_peer(&mut self, peer: PeerId, name: &ProcessName) {
        if let Some(local) = &mut self.local {
            local.add_peer(peer, name);
        }
    }

    #[inline]
    fn caps(&self, peer: PeerId) -> Caps {
        self.local.as_ref().map_or(CLOSED, |local| local.caps(peer))
    }

    #[inline(always)]
    fn send(&mut self, peer: PeerId, header: &Header, body: Body<'_>) -> Result<(), Full> {
        self.local.as_mut().ok_or(Full)?.send(peer, header, body)
    }

    #[inline(always)]
    fn send_inline(&mut self, peer: PeerId, header: Header, bytes: RawBytes<'_>) -> bool {
        self.local.as_mut().is_some_and(|local| local.send_inline(peer, header, bytes))
    }

    #[inline(always)]
    fn send_at_once(&mut self, peer: PeerId, header: Header, bytes: RawBytes<'_>) -> bool {
        self.local.as_mut().is_some_and(|local| local.send_at_once(peer, header, bytes))
    }

    fn send_bulk(
        &mut self,
        peer: PeerId,
        header: &Header,
        source: Packer,
        token: Token,
        advert: Option<Advert>,
    ) {
        if let Some(local) = &mut self.local {
            local.send_bulk(peer, header, source, token, advert);
        }
    }

    #[inline]
    fn poll<S: Sink>(&mut self, sink: &mut S) -> Activity {
        self.local.as_mut().map_or(Activity::Idle, |local| local.poll(sink))
    }

    #[inline(always)]
    fn take_front(
        &mut self,
        peer: PeerId,
        looks: u32,
        wanted: impl FnOnce(&Header, RawBytes<'_>) -> bool,
    ) -> Front {
        match &mut self.local {
            Some(local) => local.take_front(peer, looks, wanted),
            None => Front::Other,
        }
    }

    #[inline(always)]
    fn take_expected(
        &mut self,
        peer: PeerId,
        looks: u32,
        expected: &Expected,
    ) -> Result<(Header, usize), Front> {
        match &mut self.local {
            Some(local) => local.take_expected(peer, looks, expected),
            None => Err(Front::Other),
        }
    }

    #[inline]
    fn take_fragments(
        &mut self,
        peer: PeerId,
        wanted: impl FnOnce(&Header, u64) -> Option<UserBuffer>,
    ) -> Fragments {
        match &mut self.local {
            Some(local) => local.take_fragments(peer, wanted),
            None => Fragments::Other,
        }
    }

    fn land(&mut self, peer: PeerId, rest: Unpacker, token: Token) {
        if let Some(local) = &mut self.local {
            local.land(peer, rest, token);
        }
    }

    fn has_room(&mut self, peer: PeerId, len: u64, plain: bool) -> bool {
        self.local.as_mut().is_some_and(|local| local.has_room(peer, len, plain))
    }

    fn hold(&mut self) {
        if let Some(local) = &mut self.local {
            local.hold();
        }
    }

    fn release(&mut self) {
        if let Some(local) = &mut self.local {
            local.release();
        }
    }

    fn offer(&mut self, peer: PeerId, address: *const u8, len: u64) -> Offer {
        self.local.as_mut().map_or(Offer::default(), |local| local.offer(peer, address, len))
    }

    fn pull(
        &mut self,
        peer: PeerId,
        offer: &Offer,
        len: u64,
        to: &mut Unpacker,
        token: Token,
    ) -> Pulled {
        match &mut self.local {
            Some(local) => local.pull(peer, offer, len, to, token),
            None => Pulled::Unavailable,
        }
    }

    fn end_offer(&mut self, peer: PeerId, offer: &Offer) {
        if let Some(local) = &mut self.local {
            local.end_offer(peer, offer);
        }
    }

    fn advertise(
        &mut self,
        peer: PeerId,
        landing: &Unpacker,
        len: u64,
        token: Token,
    ) -> Option<Advert> {
        self.local.as_mut()?.advertise(peer, landing, len, token)
    }

    fn is_flushed(&self) -> bool {
        self.local.as_ref().is_none_or(Transport::is_flushed)
    }

    fn is_sent(&self) -> bool {
        self.local.as_ref().is_none_or(Transport::is_sent)
    }
}

impl Port for NodePort {
    type Memory = Shm;

    #[inline(always)]
    fn node(&self) -> Option<&Shm> {
        self.local.as_ref()?.node()
    }

    #[inline(always)]
    fn node_mut(&mut self) -> Option<&mut Shm> {
        self.local.as_mut()?.node_mut()
    }

    fn meet(&mut self, peer: PeerId) -> Meeting {
        self.local.as_mut().map_or(Meeting::Elsewhere, |local| local.meet(peer))
    }

    fn share(&self) -> u32 {
        self.local.as_ref().map_or(1, Port::share)
    }

    fn processor(&self) -> Option<u32> {
        self.local.as_ref().and_then(Port::processor)
    }

    fn place(&self) -> Option<[u32; 2]> {
        self.local.as_ref().and_then(Port::place)
    }

    fn now(&self) -> Duration {
        self.local.as_ref().map_or(Duration::ZERO, Port::now)
    }

    #[inline]
    fn wait(&mut self, idle_polls: u32) -> bool {
        self.local.as_mut().is_some_and(|local| local.wait(idle_polls))
    }

    #[inline]
    fn looked_in_vain(&mut self) {
        if let Some(local) = &mut self.local {
            local.looked_in_vain();
        }
    }

    fn yield_processor(&mut self) {
        if let Some(local) = &mut self.local {
            local.yield_processor();
        }
    }

    #[inline]
    fn spins(&mut self, looks: u32) -> bool {
        self.local.as_mut().is_some_and(|local| local.spins(looks))
    }

    fn storage(&self) -> &'static dyn Storage {
        &transports::disk::Posix
    }

    fn is_asked(&mut self) -> bool {
        let now = ticks();
        if now.wrapping_sub(self.looked) < LAUNCHER_GAP_TICKS {
            return false;
        }
        self.looked = now;
        crate::library::is_asked()
    }

    fn procedure_name(&self, number: u16) -> Option<&'static str> {
        Procedure::name_of(number)
    }

    fn end_job(&mut self, procedure: u16, peer: PeerId, error: &Error) {
        crate::failure::end_job_over(Procedure::name_of(procedure), peer, error);
    }

    fn answer(&mut self, answer: &Answer) {
        let tcp = self.local.as_mut().and_then(LocalPort::tcp);
        crate::library::tell(answer, tcp.and_then(|tcp| tcp.sought_in_vain()));
    }
}
