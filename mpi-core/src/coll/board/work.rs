//! Waiting at a board: what an operation can do is done, and in between the process polls, so that
//! messages, nonblocking operations and the ends of peers go on as in any other wait.

use super::seat::Seat;
use crate::boards::{Audience, Boards, Piece, Source};
use crate::entry::{Entry, Lull};
use crate::error::{ErrorClass, Result};
use crate::lost::{failed_elsewhere, lost_peer};
use crate::port::{Port, Why};
use crate::process::Process;
use crate::roll_call::{Call, Peer};
use crate::tuning::{
    CALLS_PER_POLL, LOOKS_FOR_LAST, LOOKS_FOR_ROOT, LOOKS_PER_POLL, LOOKS_PER_TURN, POLLS_PER_CHECK,
};

/// How far a step has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// Nothing is left to do.
    Done,
    /// Something was done.
    Moved,
    /// Nothing can be done now.
    Stuck,
}

/// What is known of those who share a processor with one that waits, which tells whether they should have a turn.
#[derive(Clone, Copy)]
pub(super) enum WaitFor {
    /// A root that has something for all and waits for nobody: it may be about to write.
    Root,
    /// One that waits itself, for what the others still have to do.
    Answer,
    /// A piece from each other member in turn, in the order of [`Seat::others`]: who has written has done its part.
    Each(fn(u32) -> Source),
}

/// Something that is done as far as pieces and room have come.
pub(super) trait Work<P: Port> {
    /// Does what can be done now, or some of it.
    fn step(&mut self, entry: &mut Entry<'_, P>) -> Result<Step>;

    /// A member whose doing it waits for; any of them.
    fn awaited(&self) -> Option<u32>;

    /// A member without which it does not go on: one that is awaited, or has not read what was written to it.
    fn held_up_by(&self, process: &Process<P>) -> Option<u32> {
        let _ = process;
        self.awaited()
    }

    /// What kind of wait it is.
    fn wait_for(&self) -> WaitFor {
        WaitFor::Answer
    }

    /// Whether it has what this member writes, of those from each of which it takes a piece: as a rule in their order.
    fn has(&self, seat: Seat, rank: u32) -> bool {
        self.awaited().is_none_or(|awaited| seat.place(rank) < seat.place(awaited))
    }

    /// Whether it cannot end unless this member does something yet.
    fn awaits(&self, entry: &mut Entry<'_, P>, rank: u32) -> bool {
        let _ = entry;
        self.awaited() == Some(rank)
    }
}

/// Whether a call of this number lets all else go on first (MPI-5.0 §3.7.4), although it may find its data at once.
#[inline]
pub(in crate::coll) fn polls(collective_number: u32) -> bool {
    collective_number.is_multiple_of(CALLS_PER_POLL)
}

impl<P: Port> Process<P> {
    /// Whether this member is to read what is written to an audience without room for more, and has not read all.
    pub(super) fn is_slow(&self, seat: Seat, to: Audience, rank: u32) -> bool {
        match to {
            Audience::One(reader) => reader == rank,
            Audience::Everyone => self.port.memory().lags(seat.board, rank),
        }
    }

    /// The first such member.
    pub(super) fn slow_reader(&self, seat: Seat, to: Audience) -> Option<u32> {
        seat.others().find(|rank| self.is_slow(seat, to, *rank))
    }
}

impl<P: Port> Entry<'_, P> {
    /// Works until all is done. It comes here only when the first step was stuck.
    pub(super) fn drive(&mut self, seat: Seat, work: &mut impl Work<P>) -> Result<()> {
        let mut lull = Lull::default();
        let mut rounds: u32 = 0;
        loop {
            if seat.crowded {
                let looks = self.looks_in_turn(seat, work, lull.polls > 0);
                match self.look_on(work, looks)? {
                    Step::Done => return Ok(()),
                    Step::Moved => lull = Lull::default(),
                    Step::Stuck => {}
                }
            }
            let mut looks = 0;
            while looks < LOOKS_PER_POLL && self.port.spins(lull.polls + 1) {
                looks += 1;
                match work.step(self)? {
                    Step::Done => return Ok(()),
                    Step::Moved => lull = Lull::default(),
                    Step::Stuck => {}
                }
            }
            if self.poll() {
                lull = Lull::default();
            }
            // After the poll, so that what is missed now is what a sleep looks for.
            match work.step(self)? {
                Step::Done => return Ok(()),
                Step::Moved => {
                    lull = Lull::default();
                    continue;
                }
                Step::Stuck => {}
            }
            rounds += 1;
            if lull.slept || rounds == POLLS_PER_CHECK {
                self.check_members(seat, work)?;
                rounds = 0;
            }
            self.pause(&mut lull, |entry| entry.board_call(seat, work));
        }
    }

    /// How often to look before others on this processor have a turn: never if what is awaited may come from one.
    pub(super) fn looks_in_turn(&mut self, seat: Seat, work: &impl Work<P>, yielded: bool) -> u32 {
        let Some(awaited) = work.awaited() else { return 0 };
        let process: &mut Process<P> = self;
        let Some(state) = process.objects.comms.find(seat.comm) else { return 0 };
        if state.beside.contains(&awaited) {
            return 0;
        }
        match work.wait_for() {
            WaitFor::Each(_) if state.beside.is_empty() => LOOKS_FOR_LAST,
            WaitFor::Each(of) => {
                let port = &mut process.port;
                let mut open = state.beside.iter().filter(|rank| !work.has(seat, **rank));
                match open.all(|rank| port.memory_mut().read_piece(seat.board, of(*rank)).is_some())
                {
                    true => LOOKS_FOR_LAST,
                    false => 0,
                }
            }
            WaitFor::Root if !yielded => LOOKS_FOR_ROOT,
            WaitFor::Answer if !yielded => 0,
            WaitFor::Root | WaitFor::Answer => LOOKS_PER_TURN,
        }
    }

    /// Looks so often.
    fn look_on(&mut self, work: &mut impl Work<P>, looks: u32) -> Result<Step> {
        for _ in 0..looks {
            match work.step(self)? {
                Step::Stuck => std::hint::spin_loop(),
                other => return Ok(other),
            }
        }
        Ok(Step::Stuck)
    }

    /// Fails if an operation failed at a member, or if one died, or left although it is waited for.
    #[cold]
    pub(super) fn check_members(&mut self, seat: Seat, work: &mut impl Work<P>) -> Result<()> {
        for rank in 0..seat.size {
            if let Some(class) = self.port.memory_mut().renounced(seat.board, rank) {
                return Err(failed_elsewhere(rank, ErrorClass::from_wire(class)));
            }
            let Some(peer) = self.comm(seat.comm)?.group.peer(rank) else { continue };
            match self.vci.peers[peer.0 as usize].down().cloned() {
                Some(Why::Finalized) if !work.awaits(self, rank) => {}
                Some(why) => return Err(lost_peer(peer, &why)),
                None => {}
            }
        }
        Ok(())
    }

    #[cold]
    fn board_call(&self, seat: Seat, work: &impl Work<P>) -> Call {
        let mut call = Call { procedure: self.procedure, ..Call::default() };
        if let Some(rank) = work.held_up_by(self) {
            call.peer = Peer::Source(rank as i32);
        }
        if let Ok(comm) = self.comm(seat.comm) {
            call.context = comm.context;
            call.comm = comm.name.to_string();
            call.collective = Some(comm.collective_number.wrapping_sub(1));
        }
        call
    }

    /// Waits for the next piece of a stream, and shows it.
    #[inline]
    pub(super) fn await_piece(
        &mut self,
        seat: Seat,
        from: Source,
        wait_for: WaitFor,
    ) -> Result<Piece> {
        if let Some(piece) = self.port.memory_mut().read_piece(seat.board, from) {
            return Ok(piece);
        }
        let mut arrival = Arrival { seat, from, wait_for, piece: NOTHING };
        self.drive(seat, &mut arrival)?;
        Ok(arrival.piece)
    }
}

/// Waiting for a piece.
struct Arrival {
    seat: Seat,
    from: Source,
    wait_for: WaitFor,
    piece: Piece,
}

/// In place of a piece that has not come.
const NOTHING: Piece = Piece { at: std::ptr::null(), len: 0, last: false, apart: 0 };

impl<P: Port> Work<P> for Arrival {
    #[inline]
    fn step(&mut self, entry: &mut Entry<'_, P>) -> Result<Step> {
        let Some(piece) = entry.port.memory_mut().read_piece(self.seat.board, self.from) else {
            return Ok(Step::Stuck);
        };
        self.piece = piece;
        Ok(Step::Done)
    }

    fn awaited(&self) -> Option<u32> {
        Some(self.from.rank())
    }

    fn wait_for(&self) -> WaitFor {
        self.wait_for
    }
}
