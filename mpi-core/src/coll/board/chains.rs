//! Reduce and allreduce of long vectors where ranks share processors: chains of processes add to one
//! another's sums where those lie (MPI-5.0 §6.9.1, §6.9.6).
//!
//! What a vector costs there is the memory that it goes through, which all ranks of a processor
//! together have to find in its caches. In shares each process writes nearly its whole vector to
//! the others and they read it; here the processes of one chain, as many as share a processor, add
//! theirs in turn to one block of memory in the part of the first, which goes from hand to hand
//! and stays in the cache. The last process of a chain adds the sums of all chains, for each piece
//! another chain's last one, and tells everyone. Where only a root wants the result it is the last process
//! of a chain, adds up all pieces itself, and tells those to whom the sums belong what it has read.
//!
//! In: the vectors. Out: on private streams an empty piece for each piece of a sum that the reader
//! may go on with, or of one's own that the root has read; on public ones the results. Who receives a
//! result knows that nobody reads the sums behind it any more, so that their memory needs no other account.
#![allow(unsafe_code)]

use super::fold::section;
use super::message::{Incoming, Outgoing};
use super::operand::differs;
use super::seat::Seat;
use super::task::Job;
use super::work::{Step, Work};
use crate::boards::{Audience, Boards, Copying, Source};
use crate::buffer::{RawBytes, UserBuffer};
use crate::datatype::{Packer, Unpacker};
use crate::entry::Entry;
use crate::error::Result;
use crate::port::Port;
use crate::process::Process;

/// Largest piece in bytes: each costs everyone a cell, and a few of them fit into the sums.
const PIECE_BYTES: usize = 64 << 10;
/// Pieces that the memory of a sum holds at least.
const PIECES_MIN: usize = 4;

/// One call, as one process sees it.
pub(super) struct Chains {
    seat: Seat,
    job: Job,
    len: usize,
    /// Who alone gets the result, if not everyone does.
    root: Option<u32>,
    /// Where this process stands, a root last of all: places are dealt to the chains in turn.
    place: u32,
    /// How many chains there are.
    chains: u32,
    /// Where each chain's sums lie.
    sums: Vec<*mut u8>,
    /// Bytes of a piece.
    piece: usize,
    /// Pieces that the memory of a sum holds.
    slots: usize,
    /// Pieces of the vector.
    pieces: usize,
    /// Pieces to which this process has added its operand, and those of which it has told who goes on.
    added: usize,
    told: usize,
    /// The next piece whose sums this process adds up, and the next one that it tells everyone.
    whole: usize,
    published: usize,
    /// From one such piece to the next.
    stride: usize,
    /// The next chain whose first process a root tells that it has read a piece.
    heard: u32,
    /// Pieces of the result that are here, or whose sums are free again.
    received: usize,
    /// The piece of the result that is being told, and the one that is coming in.
    out: Option<Outgoing>,
    coming: Option<Incoming>,
}

/// Processes of which each chain has one at least.
pub(super) fn number(size: u32, share: u32) -> u32 {
    size.div_ceil(share.max(1)).max(2).min(size)
}

impl Chains {
    /// A reduction of `len` bytes; nothing if the board has no memory for it.
    pub(super) fn new<P: Port>(
        entry: &mut Entry<'_, P>,
        job: Job,
        len: usize,
        root: Option<u32>,
        share: u32,
    ) -> Option<Chains> {
        let seat = job.seat;
        let chains = number(seat.size, share);
        let mut room = usize::MAX;
        let mut sums = Vec::with_capacity(chains as usize);
        for first in 0..chains {
            let (at, bytes) =
                entry.port.memory_mut().turns(seat.board, rank_at(seat, root, first), len)?;
            sums.push(at);
            room = room.min(bytes);
        }
        let even = len.div_ceil(2 * chains as usize).next_multiple_of(512);
        let piece = PIECE_BYTES.min(room / PIECES_MIN).min(even) / job.unit * job.unit;
        if piece == 0 {
            return None;
        }
        let pieces = len.div_ceil(piece);
        let place = place_of(seat, root);
        let (whole, stride) = match root {
            None => ((place % chains) as usize, chains as usize),
            Some(root) if root == seat.rank => (0, 1),
            Some(_) => (pieces, 1),
        };
        let waits = root.is_none_or(|root| root == seat.rank) || place < chains;
        Some(Chains {
            seat,
            job,
            len,
            root,
            place,
            chains,
            sums,
            piece,
            slots: room / piece,
            pieces,
            added: 0,
            told: 0,
            whole,
            published: whole,
            stride,
            heard: 0,
            received: if waits { 0 } else { pieces },
            out: None,
            coming: None,
        })
    }

    fn chain(&self) -> u32 {
        self.place % self.chains
    }

    fn rank_at(&self, place: u32) -> u32 {
        rank_at(self.seat, self.root, place)
    }

    /// The last process of a chain.
    fn last_of(&self, chain: u32) -> u32 {
        self.rank_at(chain + (self.seat.size - 1 - chain) / self.chains * self.chains)
    }

    fn is_last(&self) -> bool {
        self.place + self.chains >= self.seat.size
    }

    /// The process before this one in its chain.
    fn before(&self) -> Option<u32> {
        self.place.checked_sub(self.chains).map(|place| self.rank_at(place))
    }

    /// The chain whose last process has the result of a piece.
    fn owner(&self, piece: usize) -> u32 {
        match self.root {
            None => (piece % self.chains as usize) as u32,
            Some(_) => (self.seat.size - 1) % self.chains,
        }
    }

    /// Who goes on with a piece when this process has added to it.
    fn follower(&self, piece: usize) -> Option<u32> {
        if !self.is_last() {
            return Some(self.rank_at(self.place + self.chains));
        }
        let owner = self.owner(piece);
        (owner != self.chain()).then(|| self.last_of(owner))
    }

    /// Where a piece begins in the vector, and its length.
    fn range(&self, piece: usize) -> (usize, usize) {
        let begin = piece * self.piece;
        (begin, self.piece.min(self.len - begin))
    }

    /// Where a chain's sum of a piece lies.
    fn sum(&self, chain: u32, piece: usize) -> *mut u8 {
        self.sums[chain as usize].wrapping_add(piece % self.slots * self.piece)
    }

    /// Adds this process's operand to what is there of its chain's sums; whether it did.
    fn add<P: Port>(&mut self, entry: &mut Entry<'_, P>) -> Result<bool> {
        let before = self.added;
        while self.added < self.pieces {
            let (begin, len) = self.range(self.added);
            let own = self.job.own.offset(begin as i64).0;
            let sum = self.sum(self.chain(), self.added);
            if let Some(before) = self.before() {
                if !self.take(entry, before)? {
                    break;
                }
                // SAFETY: the operand has `len` bytes from there on, and the memory of the sums a
                // slot of as many, which the process before has told to be this one's.
                unsafe { self.job.kernel.reduce(own, sum, len / self.job.unit) };
            } else {
                if self.added >= self.received + self.slots {
                    break;
                }
                // SAFETY: as above; nobody else has the slot until this process tells the follower.
                let own = unsafe { RawBytes::new(own, len) };
                // Who has read the last sum there, perhaps far away, still holds its lines.
                let mut slot = Unpacker::contiguous(UserBuffer(sum), len as u64);
                P::Memory::copy_by_cost(own, Copying::On, &mut slot);
            }
            self.added += 1;
            self.tell(entry);
        }
        Ok(self.added > before)
    }

    /// Takes the word of a process that the next piece is there; whether it has come.
    fn take<P: Port>(&self, entry: &mut Entry<'_, P>, rank: u32) -> Result<bool> {
        let from = Source::Private(rank);
        let Some(word) = entry.port.memory_mut().read_piece(self.seat.board, from) else {
            return Ok(false);
        };
        if word.len > 0 {
            return Err(differs(rank, word.len as u64));
        }
        entry.port.memory_mut().consume_piece(self.seat.board, from);
        Ok(true)
    }

    /// Tells who goes on with the pieces that this process has added to, as far as there is room.
    fn tell<P: Port>(&mut self, entry: &mut Entry<'_, P>) -> bool {
        let before = self.told;
        while self.told < self.added {
            if self.follower(self.told).is_some_and(|rank| !self.give_word(entry, rank)) {
                break;
            }
            self.told += 1;
        }
        self.told > before
    }

    /// Writes an empty piece to a process, if there is room.
    fn give_word<P: Port>(&self, entry: &mut Entry<'_, P>, rank: u32) -> bool {
        let mut word = Packer::contiguous(UserBuffer::BOTTOM, 0);
        entry.port.memory_mut().write_piece(
            self.seat.board,
            Audience::One(rank),
            &mut word,
            0,
            true,
        )
    }

    /// Adds up the sums of all chains where that is this process's affair, and tells everyone.
    fn conclude<P: Port>(&mut self, entry: &mut Entry<'_, P>) -> Result<bool> {
        let mut moved = false;
        while self.lacks_sums() && self.all_there(entry) {
            for chain in (0..self.chains).filter(|chain| *chain != self.chain()) {
                self.take(entry, self.last_of(chain))?;
            }
            self.add_up();
            self.whole += self.stride;
            self.publish(entry);
            moved = true;
        }
        Ok(self.publish(entry) || moved)
    }

    /// Whether this process has added to a piece whose sums it is to add up.
    fn lacks_sums(&self) -> bool {
        self.is_last() && self.whole < self.added
    }

    /// Whether the other chains' sums of the piece that is next are there.
    fn all_there<P: Port>(&self, entry: &mut Entry<'_, P>) -> bool {
        let mut others = (0..self.chains).filter(|chain| *chain != self.chain());
        others.all(|chain| {
            let from = Source::Private(self.last_of(chain));
            entry.port.memory_mut().read_piece(self.seat.board, from).is_some()
        })
    }

    /// Adds up the sums of a piece where its result belongs.
    fn add_up(&self) {
        let (begin, len) = self.range(self.whole);
        let count = len / self.job.unit;
        let into = self.job.recv.offset(begin as i64).0;
        let sum = |chain| self.sum(chain, self.whole).cast_const();
        // SAFETY: the result has `len` bytes from there on, and each sum a slot of as many, which
        // its chain has done with. An operand that the result overwrites is in a sum already.
        unsafe {
            self.job.kernel.combine(sum(1), sum(0), into, count);
            (2..self.chains).for_each(|chain| self.job.kernel.reduce(sum(chain), into, count));
        }
    }

    /// Tells of the pieces that are whole, as far as there is room; whether that was anything.
    fn publish<P: Port>(&mut self, entry: &mut Entry<'_, P>) -> bool {
        let mut moved = false;
        while self.published < self.whole && self.published < self.pieces {
            let is_told = match self.root {
                None => self.tell_everyone(entry, &mut moved),
                Some(_) => self.free(entry),
            };
            if !is_told {
                break;
            }
            self.published += self.stride;
            moved = true;
        }
        moved
    }

    /// Writes what there is room for of the piece of the result that is being told; whether all of it is out.
    fn tell_everyone<P: Port>(&mut self, entry: &mut Entry<'_, P>, moved: &mut bool) -> bool {
        let (begin, len) = self.range(self.published);
        let (seat, unit) = (self.seat, self.job.unit);
        let result = self.job.recv.offset(begin as i64);
        let out = self
            .out
            .get_or_insert_with(|| section(entry, seat, Audience::Everyone, result, len, unit));
        while out.push(entry, seat) {
            *moved = true;
        }
        let is_told = out.done;
        if is_told {
            self.out = None;
        }
        is_told
    }

    /// Tells the first processes of all chains that the root has read a piece of their sums; whether there
    /// was room for all of that.
    fn free<P: Port>(&mut self, entry: &mut Entry<'_, P>) -> bool {
        while self.heard < self.chains {
            let first = self.rank_at(self.heard);
            if first != self.seat.rank && !self.give_word(entry, first) {
                return false;
            }
            self.heard += 1;
        }
        self.heard = 0;
        true
    }

    /// Takes in what is there of the result; whether that was anything.
    fn receive<P: Port>(&mut self, entry: &mut Entry<'_, P>) -> Result<bool> {
        let mut moved = false;
        while self.received < self.pieces {
            let rank = self.last_of(self.owner(self.received));
            if rank == self.seat.rank {
                if self.whole <= self.received {
                    break;
                }
            } else if self.root.is_some() {
                if !self.take(entry, rank)? {
                    break;
                }
            } else {
                let (begin, len) = self.range(self.received);
                let room = self.job.recv.offset(begin as i64);
                let coming = self.coming.get_or_insert_with(|| {
                    Incoming::new(Source::Public(rank), Unpacker::contiguous(room, len as u64))
                });
                while !coming.done && coming.pull(entry, self.seat)? {
                    moved = true;
                }
                if !coming.done {
                    break;
                }
                self.coming = None;
            }
            self.received += 1;
            moved = true;
        }
        Ok(moved)
    }

    /// Whether this process has done all that it has to.
    pub(super) fn is_done(&self) -> bool {
        let concluded = !self.is_last() || self.published >= self.pieces;
        self.received == self.pieces && self.told == self.pieces && concluded
    }
}

impl<P: Port> Work<P> for Chains {
    fn step(&mut self, entry: &mut Entry<'_, P>) -> Result<Step> {
        let told = self.tell(entry);
        let moved = self.add(entry)? | self.conclude(entry)? | self.receive(entry)? | told;
        Ok(match (self.is_done(), moved) {
            (true, _) => Step::Done,
            (false, true) => Step::Moved,
            (false, false) => Step::Stuck,
        })
    }

    fn awaited(&self) -> Option<u32> {
        self.before().filter(|_| self.added < self.pieces).or_else(|| {
            let next = (self.received < self.pieces).then(|| self.owner(self.received))?;
            Some(self.last_of(next)).filter(|rank| *rank != self.seat.rank)
        })
    }

    /// If there are two chains, it is known without a look at the board who has a sum that is missing here.
    fn held_up_by(&self, _: &Process<P>) -> Option<u32> {
        let other = (self.chains == 2 && self.lacks_sums()).then(|| self.last_of(1 - self.chain()));
        Work::<P>::awaited(self).or(other)
    }

    fn awaits(&self, entry: &mut Entry<'_, P>, rank: u32) -> bool {
        let follows = self.told < self.added && self.follower(self.told) == Some(rank);
        let mut others = (0..self.chains).filter(|chain| *chain != self.chain());
        let adds_up = self.lacks_sums() && others.any(|chain| self.last_of(chain) == rank);
        let mut came =
            || entry.port.memory_mut().read_piece(self.seat.board, Source::Private(rank)).is_some();
        Work::<P>::awaited(self) == Some(rank) || follows || adds_up && !came()
    }
}

/// The place of this process: its rank, or behind that of a root.
fn place_of(seat: Seat, root: Option<u32>) -> u32 {
    root.map_or(seat.rank, |root| (seat.rank + seat.size - 1 - root) % seat.size)
}

/// The rank of the process at a place.
fn rank_at(seat: Seat, root: Option<u32>, place: u32) -> u32 {
    root.map_or(place, |root| (place + root + 1) % seat.size)
}
