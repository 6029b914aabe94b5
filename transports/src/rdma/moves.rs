//! Large messages between memory and memory: one end writes or reads, in fragments, over all rails in turn. Several of
//! a peer are under way at once and take turns. A write tells of its end on each rail that it used, behind its last
//! fragment there.

use mpi_core::one_sided::Atomic;
use mpi_core::port::{PeerId, Sink, Token};

use super::channel::Channel;
use super::fabric::{Fabric, Local, NoRoom, Target};
use super::job::Job;
use super::peer::State;
use super::pin::Pin;
use super::slots::{NUMBER_BITS, Slots};

/// Fragments of one peer on one rail that are under way at once, and how many longest ones their bytes may be: the
/// others wait, so that frames get through. Short ones have to be many, or a long line stands empty until they are
/// answered.
const FRAGMENTS_MAX: usize = 32;
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
struct Move<R> {
    peer: PeerId,
    token: Token,
    way: Way,
    pin: Pin<R>,
    /// The memory here, and where it goes to or comes from.
    address: *mut u8,
    len: usize,
    there: Target,
    /// How it is cut, and which rails it takes.
    fragment_bytes: usize,
    fragments: usize,
    rails: usize,
    first_rail: usize,
    /// Fragments posted, and those of them that are not over.
    posted: usize,
    open: usize,
    has_failed: bool,
}

impl<R> Move<R> {
    /// Whether the next fragment tells the end, and so must come last although the fabric does not order writes.
    fn must_wait(&self, is_ordered: bool) -> bool {
        let tells = matches!(self.way, Way::Write(_)) && self.posted + self.rails >= self.fragments;
        tells && !is_ordered && self.open > 0
    }

    /// What a fragment of it counts while it is under way: its bytes, but for the last one's.
    fn weight(&self) -> usize {
        self.fragment_bytes.min(self.len)
    }
}

/// The large messages on their way.
pub(super) struct Moves<F: Fabric> {
    all: Slots<Move<F::Region>>,
}

impl<F: Fabric> Default for Moves<F> {
    fn default() -> Moves<F> {
        Moves { all: Slots::default() }
    }
}

impl<F: Fabric> Moves<F> {
    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Begins a move between pinned memory of this process and a place at the peer. The memory stays registered if
    /// there are too many.
    pub(super) fn start(
        &mut self,
        (peer, token): (PeerId, Token),
        way: Way,
        pin: Pin<F::Region>,
        (address, len): (*mut u8, usize),
        there: Target,
        channel: &mut Channel<F>,
    ) -> Result<(), Pin<F::Region>> {
        let fragment_bytes = channel.config.settings.fragment_bytes;
        let fragments = len.div_ceil(fragment_bytes);
        let rails = channel.rails().min(fragments);
        let way = match way {
            Way::Write(number) => Way::Write(number | (rails as u32 - 1) << NUMBER_BITS),
            other => other,
        };
        let own = channel.config.rank as usize;
        let Some(to) = channel.peers.get(peer) else { return Err(pin) };
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
            fragment_bytes,
            fragments,
            rails,
            first_rail,
            posted,
            open,
            has_failed: false,
        };
        let number = self.all.insert(new).map_err(|new| new.pin)?;
        to.moves.waiting.push_back(number);
        channel.counters.moves_max = channel.counters.moves_max.max(self.all.len() as u64);
        Ok(())
    }

    /// Posts fragments of moves, as many as there is room for.
    pub(super) fn post(&mut self, peer: PeerId, channel: &mut Channel<F>) {
        let rails = channel.rails();
        let bytes_max = LONGEST_MAX * channel.config.settings.fragment_bytes * rails;
        let mut refused = 0;
        while let Some(to) = channel.peers.get(peer)
            && refused < to.moves.waiting.len().min(TURNS)
            && to.moves.under_way < FRAGMENTS_MAX * rails
            && to.moves.bytes < bytes_max
            && let Some(number) = to.moves.waiting.pop_front()
        {
            let Some(one) = self.all.get(number) else { continue };
            let turn = to.moves.waiting.len().min(TURNS - 1);
            let posted = match one.must_wait(channel.abilities.message_after_writes) {
                true => Err(NoRoom),
                false => post_fragment(&mut channel.fabric, one, number, rails),
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
                    if one.posted < one.fragments {
                        to.moves.waiting.insert(turn, number);
                    }
                    if one.way.is_out() {
                        to.carried += 1;
                    }
                }
            }
        }
    }

    /// A fragment of a move is over.
    pub(super) fn end_fragment<S: Sink>(
        &mut self,
        number: u32,
        is_done: bool,
        channel: &mut Channel<F>,
        sink: &mut S,
    ) {
        let Some(one) = self.all.get(number) else { return };
        one.open -= 1;
        one.has_failed |= !is_done;
        let (peer, is_out, weight) = (one.peer, one.way.is_out(), one.weight());
        let is_over = one.open == 0 && (one.posted == one.fragments || one.has_failed);
        let is_whole = is_over && !one.has_failed;
        if let Some(to) = channel.peers.get(peer) {
            to.moves.under_way -= 1;
            to.moves.bytes -= weight;
            if is_out {
                to.carried -= 1;
                to.has_failed |= !is_done;
            }
        }
        if is_over && let Some(one) = self.all.remove(number) {
            channel.unpin(one.pin);
            match is_out {
                true if is_whole => sink.sent(one.token),
                false if is_whole => sink.landed(peer, one.token),
                _ => {}
            }
        }
        let Some(to) = channel.peers.get(peer) else { return };
        if to.state == State::Up {
            if !to.moves.waiting.is_empty() {
                channel.pend(peer);
            }
        } else if to.moves.under_way == 0 {
            channel.tell_end(peer);
        }
    }

    /// Drops the moves of a peer that is gone; those of which fragments are under way end with these.
    pub(super) fn drop_of(&mut self, peer: PeerId, channel: &mut Channel<F>) {
        if let Some(to) = channel.peers.get(peer) {
            to.moves.waiting.clear();
        }
        for number in self.all.find(|one| one.peer == peer) {
            let Some(one) = self.all.get(number) else { continue };
            one.has_failed = true;
            if one.open == 0
                && let Some(one) = self.all.remove(number)
            {
                channel.unpin(one.pin);
            }
        }
    }
}

/// Posts the next fragment of a move.
fn post_fragment<F: Fabric>(
    fabric: &mut F,
    one: &mut Move<F::Region>,
    number: u32,
    rails: usize,
) -> Result<(), NoRoom> {
    let offset = one.posted * one.fragment_bytes;
    let len = one.fragment_bytes.min(one.len - offset);
    let rail = one.first_rail.wrapping_add(one.posted % one.rails) % rails;
    let is_last = one.posted + one.rails >= one.fragments;
    let address = one.address.wrapping_add(offset);
    let local = Local { region: one.pin.region(), address, len };
    let Target { address, key } = one.there;
    let there = Target { address: address.wrapping_add(offset as u64), key };
    let work = Job::Move(number).to_work();
    // SAFETY: the memory is the transport's until the sink has heard of its end, which waits for all fragments; the
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
