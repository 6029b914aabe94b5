//! Large messages between memory and memory: one end writes or reads, in pieces, over all rails in turn. Several of
//! a peer are under way at once and take turns. A write tells of its end on each rail that it used, behind its last
//! piece there.

use mpi_core::one_sided::Atomic;
use mpi_core::port::{PeerId, Sink, Token};

use super::Rdma;
use super::fabric::{Fabric, Local, NoRoom, Target};
use super::job::Job;
use super::peer::State;
use super::pin::Pin;

/// Rails that are told of by four bits.
pub(super) const RAILS_MAX: usize = 16;
/// Pieces of one peer on one rail that are under way at once, and how many longest ones their bytes may be: the others
/// wait, so that frames get through. Short ones have to be many, or a long line stands empty until they are answered.
const PIECES_MAX: usize = 32;
const LONGEST_MAX: usize = 4;
/// Moves that take turns.
const TURNS: usize = 8;

/// Which way the bytes go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Way {
    /// To the peer, which hears of the end by this value.
    Write(u32),
    /// To the peer, which does not hear of it.
    Put,
    /// From the peer.
    Read,
    /// Eight bytes there are changed; what was there before comes here.
    Change(Atomic),
}

impl Way {
    /// Whether the bytes go to the peer.
    fn is_out(self) -> bool {
        matches!(self, Way::Write(_) | Way::Put)
    }
}

/// A large message on its way.
pub(super) struct Move<R> {
    pub peer: PeerId,
    pub token: Token,
    pub way: Way,
    pub pin: Pin<R>,
    /// The memory here, and where it goes to or comes from.
    pub address: *mut u8,
    pub len: usize,
    pub there: Target,
    /// How it is cut, and which rails it takes.
    pub piece_bytes: usize,
    pub pieces: usize,
    pub rails: usize,
    pub first_rail: usize,
    /// Pieces posted, and those of them that are not over.
    pub posted: usize,
    pub open: usize,
    pub has_failed: bool,
}

impl<R> Move<R> {
    /// Whether the next piece tells the end, and so must come last although the fabric does not order writes.
    fn must_wait(&self, is_ordered: bool) -> bool {
        let tells = matches!(self.way, Way::Write(_)) && self.posted + self.rails >= self.pieces;
        tells && !is_ordered && self.open > 0
    }

    /// What a piece of it counts while it is under way: its bytes, but for the last one's.
    fn weight(&self) -> usize {
        self.piece_bytes.min(self.len)
    }
}

impl<F: Fabric> Rdma<F> {
    /// Rails in use.
    pub(super) fn rails(&self) -> usize {
        self.abilities.rails.clamp(1, RAILS_MAX)
    }

    /// Begins a move between pinned memory of this process and a place at the peer. The memory stays registered if
    /// there are too many.
    pub(super) fn start_move(
        &mut self,
        (peer, token): (PeerId, Token),
        way: Way,
        pin: Pin<F::Region>,
        (address, len): (*mut u8, usize),
        there: Target,
    ) -> Result<(), Pin<F::Region>> {
        let piece_bytes = self.config.settings.piece_bytes;
        let pieces = len.div_ceil(piece_bytes);
        let rails = self.rails().min(pieces);
        let way = match way {
            Way::Write(number) => {
                Way::Write(number | (rails as u32 - 1) << super::slots::NUMBER_BITS)
            }
            other => other,
        };
        let own = self.config.rank as usize;
        let Some(to) = self.peers.get(peer) else { return Err(pin) };
        // By both ranks: what one process sends to several peers at once, or they to it, takes different rails.
        let first_rail = (to.next_transfer as usize).wrapping_add(own + to.rank as usize);
        to.next_transfer += 1;
        let [posted, open] = [0; 2];
        let new = Move {
            peer,
            token,
            way,
            pin,
            address,
            len,
            there,
            piece_bytes,
            pieces,
            rails,
            first_rail,
            posted,
            open,
            has_failed: false,
        };
        let number = self.moves.insert(new).map_err(|new| new.pin)?;
        to.moves.waiting.push_back(number);
        self.counters.moves_max = self.counters.moves_max.max(self.moves.len() as u64);
        Ok(())
    }

    /// Posts pieces of moves, as many as there is room for.
    pub(super) fn post_moves(&mut self, peer: PeerId) {
        let rails = self.rails();
        let bytes_max = LONGEST_MAX * self.config.settings.piece_bytes * rails;
        let mut refused = 0;
        while let Some(to) = self.peers.get(peer)
            && refused < to.moves.waiting.len().min(TURNS)
            && to.moves.under_way < PIECES_MAX * rails
            && to.moves.bytes < bytes_max
            && let Some(number) = to.moves.waiting.pop_front()
        {
            let Some(one) = self.moves.get(number) else { continue };
            let turn = to.moves.waiting.len().min(TURNS - 1);
            let posted = match one.must_wait(self.abilities.message_after_writes) {
                true => Err(NoRoom),
                false => post_piece(&mut self.fabric, one, number, rails),
            };
            match posted {
                Err(NoRoom) => {
                    refused += 1;
                    to.moves.waiting.insert(turn, number);
                }
                Ok(()) => {
                    refused = 0;
                    to.moves.under_way += 1;
                    to.moves.bytes += one.weight();
                    if one.posted < one.pieces {
                        to.moves.waiting.insert(turn, number);
                    }
                    if one.way.is_out() {
                        to.carried += 1;
                    }
                }
            }
        }
    }

    /// A piece of a move is over.
    pub(super) fn end_piece<S: Sink>(&mut self, number: u32, is_done: bool, sink: &mut S) {
        let Some(one) = self.moves.get(number) else { return };
        one.open -= 1;
        one.has_failed |= !is_done;
        let (peer, is_out, weight) = (one.peer, one.way.is_out(), one.weight());
        let is_over = one.open == 0 && (one.posted == one.pieces || one.has_failed);
        let is_whole = is_over && !one.has_failed;
        if let Some(to) = self.peers.get(peer) {
            to.moves.under_way -= 1;
            to.moves.bytes -= weight;
            if is_out {
                to.carried -= 1;
                to.has_failed |= !is_done;
            }
        }
        if is_over && let Some(one) = self.moves.remove(number) {
            self.pins.unpin(&mut self.fabric, one.pin);
            match is_out {
                true if is_whole => sink.sent(one.token),
                false if is_whole => sink.landed(peer, one.token),
                _ => {}
            }
        }
        let Some(to) = self.peers.get(peer) else { return };
        if to.state == State::Up {
            if !to.moves.waiting.is_empty() {
                self.pend(peer);
            }
        } else if to.moves.under_way == 0 {
            self.tell_end(peer);
        }
    }

    /// Drops the moves of a peer that is gone; those of which pieces are under way end with these.
    pub(super) fn drop_moves(&mut self, peer: PeerId) {
        if let Some(to) = self.peers.get(peer) {
            to.moves.waiting.clear();
        }
        for number in self.moves.find(|one| one.peer == peer) {
            let Some(one) = self.moves.get(number) else { continue };
            one.has_failed = true;
            if one.open == 0
                && let Some(one) = self.moves.remove(number)
            {
                self.pins.unpin(&mut self.fabric, one.pin);
            }
        }
    }
}

/// Posts the next piece of a move.
fn post_piece<F: Fabric>(
    fabric: &mut F,
    one: &mut Move<F::Region>,
    number: u32,
    rails: usize,
) -> Result<(), NoRoom> {
    let offset = one.posted * one.piece_bytes;
    let len = one.piece_bytes.min(one.len - offset);
    let rail = one.first_rail.wrapping_add(one.posted % one.rails) % rails;
    let is_last = one.posted + one.rails >= one.pieces;
    let address = one.address.wrapping_add(offset);
    let local = Local { region: one.pin.region(), address, len };
    let Target { address, key } = one.there;
    let there = Target { address: address.wrapping_add(offset as u64), key };
    let work = Job::Move(number).to_work();
    // SAFETY: the memory is the transport's until the sink has heard of its end, which waits for all pieces; the
    // place was told by the peer for this.
    unsafe {
        match one.way {
            Way::Write(told) => {
                let immediate = is_last.then_some(told);
                fabric.write(one.peer, rail, local, there, immediate, Some(work))
            }
            Way::Put => fabric.write(one.peer, rail, local, there, None, Some(work)),
            Way::Read => fabric.read(one.peer, rail, local, there, work),
            Way::Change(Atomic::Add(add)) => fabric.fetch_add(one.peer, local, there, add, work),
            Way::Change(Atomic::CompareSwap { expected, new }) => {
                fabric.compare_swap(one.peer, local, there, expected, new, work)
            }
        }?;
    }
    (one.posted, one.open) = (one.posted + 1, one.open + 1);
    Ok(())
}
