//! The one process behind the C interface: the core over the transports that `transports::node`
//! ties together, with what only this side knows beside them (decision 3).

use std::alloc::Layout;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::time::Duration;

use mpi_core::boards::{
    Audience, BoardId, Boards, Copying, Fetched, Meeting, Mover, Piece, Share, Shown, Source,
};
use mpi_core::buffer::{RawBytes, UserBuffer};
use mpi_core::datatype::{Packer, Unpacker};
use mpi_core::error::Error;
use mpi_core::header::Header;
use mpi_core::io::disk::Storage;
use mpi_core::port::{
    Activity, Advert, Body, Caps, Expected, Front, Full, Offer, PeerId, Pieces, Port, ProcessName,
    Pulled, Sink, Token, Transport,
};
use mpi_core::process::Process;
use mpi_core::rma::Segment;
use mpi_core::segments::Segments;
use mpi_core::waiting::Answer;
use transports::node::{LocalPort, ticks};

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

/// Ticks between two looks at the launcher's socket, which cost a system call: some 20 to 70 ms. Not a number of
/// waits, since one may be a yield or a sleep of a second; and no other clock, since that would be read at each yield,
/// by code and data whose pages and lines the process before has displaced (decision 83).
const LOOK_EVERY: u64 = 1 << 26;

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
    fn take_pieces(
        &mut self,
        peer: PeerId,
        wanted: impl FnOnce(&Header, u64) -> Option<UserBuffer>,
    ) -> Pieces {
        match &mut self.local {
            Some(local) => local.take_pieces(peer, wanted),
            None => Pieces::Other,
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

impl Boards for NodePort {
    fn meet(&mut self, peer: PeerId) -> Meeting {
        self.local.as_mut().map_or(Meeting::Elsewhere, |local| local.meet(peer))
    }

    fn share(&self) -> u32 {
        self.local.as_ref().map_or(1, Boards::share)
    }

    fn processor(&self) -> Option<u32> {
        self.local.as_ref().and_then(Boards::processor)
    }

    fn prepare_part(&mut self, size: u32) -> Option<u64> {
        self.local.as_mut()?.prepare_part(size)
    }

    fn drop_part(&mut self, part: u64) {
        if let Some(local) = &mut self.local {
            local.drop_part(part);
        }
    }

    fn open_board(&mut self, rank: u32, mark: u64, parts: &[(PeerId, u64)]) -> Option<BoardId> {
        self.local.as_mut()?.open_board(rank, mark, parts)
    }

    fn close_board(&mut self, board: BoardId) {
        if let Some(local) = &mut self.local {
            local.close_board(board);
        }
    }

    #[inline]
    fn piece_max(&self, board: BoardId, to: Audience) -> usize {
        self.local.as_ref().map_or(0, |local| local.piece_max(board, to))
    }

    fn exchanged_max(&self, board: BoardId, to: Audience) -> usize {
        self.local.as_ref().map_or(0, |local| local.exchanged_max(board, to))
    }

    fn turns(&mut self, board: BoardId, rank: u32, wanted: usize) -> Option<(*mut u8, usize)> {
        self.local.as_mut()?.turns(board, rank, wanted)
    }

    #[inline]
    fn share_caches(&mut self, board: BoardId, share: Share) {
        if let Some(local) = &mut self.local {
            local.share_caches(board, share);
        }
    }

    fn exceeds_caches(&self, bytes: u64) -> bool {
        self.local.as_ref().is_some_and(|local| local.exceeds_caches(bytes))
    }

    fn land_piece(&mut self, bytes: RawBytes<'_>, into: &mut Unpacker) -> Option<usize> {
        self.local.as_mut()?.land_piece(bytes, into)
    }

    fn copy_by_cost(bytes: RawBytes<'_>, what: Copying, into: &mut Unpacker) -> usize {
        LocalPort::copy_by_cost(bytes, what, into)
    }

    #[inline]
    fn write_piece(
        &mut self,
        board: BoardId,
        to: Audience,
        source: &mut Packer,
        len: usize,
        last: bool,
    ) -> bool {
        self.local.as_mut().is_some_and(|local| local.write_piece(board, to, source, len, last))
    }

    #[inline]
    fn write_runs(&mut self, board: BoardId, first: u32, runs: &[RawBytes<'_>]) -> usize {
        self.local.as_mut().map_or(0, |local| local.write_runs(board, first, runs))
    }

    fn is_better_shown(&mut self, board: BoardId, to: Audience, len: u64) -> bool {
        self.local.as_mut().is_some_and(|local| local.is_better_shown(board, to, len))
    }

    #[inline]
    fn is_better_left(&self, board: BoardId, to: Audience, at: *const u8, len: u64) -> bool {
        self.local.as_ref().is_some_and(|local| local.is_better_left(board, to, at, len))
    }

    fn show_piece(
        &mut self,
        board: BoardId,
        to: Audience,
        at: *const u8,
        len: u64,
        back: *mut u8,
    ) -> bool {
        self.local.as_mut().is_some_and(|local| local.show_piece(board, to, at, len, back))
    }

    fn shown(&mut self, board: BoardId, to: Audience) -> Shown {
        self.local.as_mut().map_or(Shown::Waits, |local| local.shown(board, to))
    }

    fn fetch_piece(
        &mut self,
        board: BoardId,
        from: Source,
        into: &mut Unpacker,
        by: Mover,
    ) -> Fetched {
        match &mut self.local {
            Some(local) => local.fetch_piece(board, from, into, by),
            None => Fetched::Refused,
        }
    }

    fn fetch_part(&mut self, board: BoardId, from: Source, at: u64, into: &mut Unpacker) -> bool {
        self.local.as_mut().is_some_and(|local| local.fetch_part(board, from, at, into))
    }

    fn part_in_place(
        &mut self,
        board: BoardId,
        from: Source,
        at: u64,
        len: u64,
    ) -> Option<*const u8> {
        self.local.as_mut()?.part_in_place(board, from, at, len)
    }

    fn give_back_part(
        &mut self,
        board: BoardId,
        from: Source,
        at: u64,
        bytes: RawBytes<'_>,
    ) -> bool {
        self.local.as_mut().is_some_and(|local| local.give_back_part(board, from, at, bytes))
    }

    fn divides(&mut self, board: BoardId, len: u64) -> bool {
        self.local.as_mut().is_some_and(|local| local.divides(board, len))
    }

    fn has_reduced(&mut self, board: BoardId, len: u64, halves: bool, took: Duration) {
        if let Some(local) = &mut self.local {
            local.has_reduced(board, len, halves, took);
        }
    }

    fn writes_halves(&mut self, board: BoardId) -> bool {
        self.local.as_mut().is_some_and(|local| local.writes_halves(board))
    }

    fn lend_room(&mut self, board: BoardId, to: u32, operation: u32, room: &Unpacker) -> bool {
        self.local.as_mut().is_some_and(|local| local.lend_room(board, to, operation, room))
    }

    fn take_rooms_back(&mut self, board: BoardId, from: u32) -> Option<u32> {
        self.local.as_mut()?.take_rooms_back(board, from)
    }

    fn bring(&mut self, board: BoardId, to: u32, operation: u32, source: &Packer) -> bool {
        self.local.as_mut().is_some_and(|local| local.bring(board, to, operation, source))
    }

    #[inline]
    fn read_piece(&mut self, board: BoardId, from: Source) -> Option<Piece> {
        self.local.as_mut()?.read_piece(board, from)
    }

    fn is_lightly_written(&self, board: BoardId, to: Audience) -> bool {
        self.local.as_ref().is_some_and(|local| local.is_lightly_written(board, to))
    }

    fn lags(&self, board: BoardId, rank: u32) -> bool {
        self.local.as_ref().is_some_and(|local| local.lags(board, rank))
    }

    #[inline]
    fn ask_for_piece(&mut self, board: BoardId, from: Source) {
        if let Some(local) = &mut self.local {
            local.ask_for_piece(board, from);
        }
    }

    #[inline]
    fn consume_piece(&mut self, board: BoardId, from: Source) {
        if let Some(local) = &mut self.local {
            local.consume_piece(board, from);
        }
    }

    fn renounce(&mut self, board: BoardId, why: i32) {
        if let Some(local) = &mut self.local {
            local.renounce(board, why);
        }
    }

    fn renounced(&mut self, board: BoardId, rank: u32) -> Option<i32> {
        self.local.as_mut()?.renounced(board, rank)
    }
}

impl Segments for NodePort {
    fn make_segment(&mut self, mark: u64, layout: Layout) -> Result<Segment, String> {
        match &mut self.local {
            Some(local) => local.make_segment(mark, layout),
            None => Err(CLOSED.name.to_owned()),
        }
    }

    fn post_segment(&mut self, mark: u64, peer: PeerId) {
        if let Some(local) = &mut self.local {
            local.post_segment(mark, peer);
        }
    }

    fn end_posting(&mut self, mark: u64) {
        if let Some(local) = &mut self.local {
            local.end_posting(mark);
        }
    }

    fn fetch_segment(
        &mut self,
        mark: u64,
        peer: PeerId,
        layout: Layout,
    ) -> Option<Result<Segment, String>> {
        match &mut self.local {
            Some(local) => local.fetch_segment(mark, peer, layout),
            None => Some(Err(CLOSED.name.to_owned())),
        }
    }

    fn watch(&mut self) {
        if let Some(local) = &mut self.local {
            local.watch();
        }
    }
}

impl Port for NodePort {
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

    fn give_turn(&mut self) {
        if let Some(local) = &mut self.local {
            local.give_turn();
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
        if now.wrapping_sub(self.looked) < LOOK_EVERY {
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
