//! What one process does in a collective: messages that it writes and reads, a reduction among them, and a block of
//! its own. Each round writes, reads and reduces one fragment of everything that can go on, so that all streams flow at
//! once and no ring that is full keeps another from being emptied.
//!
//! Enters: a [description](super::describe). Leaves: it is done, or what a nonblocking call has left of it.

use super::fold::Fold;
use super::member::{AtSegment, Member};
use super::message::{Incoming, Outgoing, OwnBlock, copy_own, copy_while, land_own};
use super::work::{Step, WaitFor, Work};
use crate::buffer::UserBuffer;
use crate::error::Result;
use crate::node_memory::{Audience, Source};
use crate::port::Port;
use crate::process::Process;

/// What is under way in one call.
#[derive(Default)]
pub(super) struct Transfer {
    outs: Vec<Outgoing>,
    ins: Vec<Incoming>,
    fold: Option<Box<Fold>>,
    /// What this process keeps, and whether that goes past the caches.
    own: Option<(OwnBlock, bool)>,
    /// A contribution that the result overwrites; what goes out is read from here.
    kept: Vec<u8>,
    /// What comes in may only overwrite what has gone out: a rank's message has the rooms of the message to it.
    swaps: bool,
    /// The reduction begins when everything has gone out, whose memory it overwrites.
    folds_last: bool,
    /// What comes in is one fragment from each member.
    one_fragment_each: bool,
}

impl Transfer {
    pub(super) fn send(&mut self, message: Outgoing) {
        self.outs.push(message);
    }

    pub(super) fn receive(&mut self, message: Incoming) {
        self.ins.push(message);
    }

    pub(super) fn reduce(&mut self, fold: Fold) {
        self.fold = Some(Box::new(fold));
    }

    /// See [`Transfer::swaps`].
    pub(super) fn swap(&mut self, swaps: bool) {
        self.swaps = swaps;
    }

    /// This process keeps a block of its own; it goes past the caches or not.
    pub(super) fn keep_own(&mut self, own: OwnBlock, past: bool) {
        self.own = Some((own, past));
    }

    /// Keeps a copy of a contribution as long as it may go out, from there.
    pub(super) fn keep(&mut self, contribution: Vec<u8>) -> UserBuffer {
        self.kept = contribution;
        UserBuffer(self.kept.as_mut_ptr())
    }

    /// See [`Transfer::one_fragment_each`].
    pub(super) fn expect_one_fragment_each(&mut self, expect: bool) {
        self.one_fragment_each = expect;
    }

    /// See [`Transfer::folds_last`].
    pub(super) fn fold_last(&mut self, folds_last: bool) {
        self.folds_last = folds_last;
    }

    /// Lets readers fetch what goes out, which pays where this process has something else to do
    /// meanwhile. Not where what comes in waits for what goes out, since both sides might.
    pub(super) fn let_fetch<P: Port>(&mut self, at: &mut AtSegment<'_, P>) {
        if !self.swaps {
            self.outs.iter_mut().for_each(|out| out.let_fetch(at));
        }
    }

    /// Writes what there is room for now; whether that was anything.
    pub(super) fn write<P: Port>(&mut self, at: &mut AtSegment<'_, P>) -> bool {
        let mut written = false;
        loop {
            let mut any = false;
            for out in &mut self.outs {
                any |= out.push(at);
            }
            if !any {
                return written;
            }
            written = true;
        }
    }

    /// The same of one message to all that is the own block too: each fragment is copied while in the nearest cache.
    fn write_beside_own<P: Port>(&mut self, at: &mut AtSegment<'_, P>) {
        let (own, out, incoming) = match (&mut self.own, &mut self.outs[..], self.ins.first()) {
            (Some((own, false)), [out], Some(incoming)) if out.to() == Audience::Everyone => {
                (own, out, incoming)
            }
            _ => {
                self.write(at);
                return;
            }
        };
        let mut before = out.remaining();
        while out.push(at) {
            at.ask_for_fragment(incoming.from);
            // One that was refused and has been written instead is exposed as a whole again, as long as at first.
            copy_own::<P>(own, before.saturating_sub(out.remaining()));
            before = out.remaining();
        }
    }

    /// Begins a call that is not waited for: writes what has room, after others before it, and copies the own block.
    pub(super) fn begin<P: Port>(&mut self, at: &mut AtSegment<'_, P>, behind: bool) {
        if !behind {
            self.write_beside_own(at);
        }
        self.copy_own(at);
    }

    /// Runs it to its end, and hands back the memory of the reduction.
    pub(super) fn run<P: Port>(mut self: Box<Self>, at: &mut AtSegment<'_, P>) -> Result<()> {
        let outcome = self.run_through(at);
        self.end(at);
        outcome
    }

    fn run_through<P: Port>(&mut self, at: &mut AtSegment<'_, P>) -> Result<()> {
        self.write_beside_own(at);
        self.copy_own_in_turn(at)?;
        loop {
            match self.step(at)? {
                Step::Done => break,
                Step::Moved => {}
                Step::Stuck => {
                    at.drive(self)?;
                    break;
                }
            }
        }
        self.copy_own(at);
        Ok(())
    }

    /// Copies what is left of this process's own block.
    fn copy_own<P: Port>(&mut self, at: &mut AtSegment<'_, P>) {
        match &mut self.own {
            Some((own, true)) => land_own(&mut *at.entry.port, own),
            Some((own, false)) => copy_own::<P>(own, u64::MAX),
            None => {}
        }
    }

    /// Copies the own block before it reads or, with one other member, while that one's fragments are awaited: what one
    /// call went through last is still in the caches when the next one begins.
    fn copy_own_in_turn<P: Port>(&mut self, at: &mut AtSegment<'_, P>) -> Result<()> {
        let only = at.member.size == 2 && !at.member.oversubscribed;
        if let (Some((own, false)), Some(incoming)) = (&mut self.own, self.ins.first()) {
            let from = incoming.from;
            at.ask_for_fragment(from);
            let state = at.entry.comm_mut(at.member.comm)?;
            state.own_first = !state.own_first;
            if only && !state.own_first {
                let read = || at.read_fragment(from).is_none();
                copy_while::<P>(own, read);
                return Ok(());
            }
        }
        self.copy_own(at);
        Ok(())
    }

    /// Does all that can be done now.
    pub(super) fn go_on<P: Port>(&mut self, at: &mut AtSegment<'_, P>) -> Result<Step> {
        let mut outcome = Step::Stuck;
        loop {
            match self.step(at)? {
                Step::Done => return Ok(Step::Done),
                Step::Moved => outcome = Step::Moved,
                Step::Stuck => return Ok(outcome),
            }
        }
    }

    /// Whether nothing is left to write.
    pub(super) fn has_written(&self) -> bool {
        let told =
            self.fold.as_ref().is_none_or(|fold| fold.audience().is_none() || fold.is_done());
        told && self.outs.iter().all(|out| out.done)
    }

    /// Hands back its memory, and leaves its lists for the next one.
    pub(super) fn end<P: Port>(mut self: Box<Self>, at: &mut AtSegment<'_, P>) {
        self.outs.clear();
        self.ins.clear();
        self.own = None;
        self.kept = Vec::new();
        if let Some(fold) = self.fold.take() {
            fold.give_back(at);
        }
        at.entry.pending.keep(self);
    }

    /// One that has ended does something else, of which nothing is known yet.
    pub(super) fn begin_anew(&mut self) {
        self.swaps = false;
        self.folds_last = false;
        self.one_fragment_each = false;
    }

    /// How much of a message may be taken in: what goes to its rank is read from the same memory.
    fn room_for(&self, incoming: &Incoming) -> u64 {
        let to = Audience::One(incoming.from.rank());
        let out = self.outs.iter().find(|out| self.swaps && out.to() == to && !out.done);
        out.map_or(u64::MAX, |out| incoming.remaining().saturating_sub(out.remaining()))
    }
}

impl<P: Port> Work<P> for Transfer {
    fn step(&mut self, at: &mut AtSegment<'_, P>) -> Result<Step> {
        let mut moved = self.write(at);
        let sent = self.outs.iter().all(|out| out.done);
        let mut reduced = true;
        if let Some(fold) = &mut self.fold {
            // A result follows the contribution to the same reader.
            let out = fold.audience();
            let free = self.outs.iter().all(|message| Some(message.to()) != out || message.done);
            let left = self.outs.first().filter(|out| !out.done).map_or(0, Outgoing::remaining);
            if sent || !self.folds_last && fold.may_go_on(left) {
                moved |= fold.advance(at, free)?;
            }
            reduced = fold.is_done();
        }
        let mut received = true;
        for place in 0..self.ins.len() {
            let incoming = &self.ins[place];
            if incoming.done {
                continue;
            }
            received = false;
            let busy = self.fold.as_ref().is_some_and(|fold| fold.reads(incoming.from));
            if !busy {
                let most = self.room_for(incoming);
                moved |= self.ins[place].pull_at_most(at, most)?;
            }
        }
        Ok(match (sent && reduced && received, moved) {
            (true, _) => Step::Done,
            (false, true) => Step::Moved,
            (false, false) => Step::Stuck,
        })
    }

    fn awaited(&self) -> Option<u32> {
        let from = self.ins.iter().find(|incoming| !incoming.done);
        from.map(|incoming| incoming.from.rank())
            .or_else(|| self.fold.as_ref().and_then(|fold| fold.awaited()))
    }

    fn held_up_by(&self, member: Member, process: &Process<P>) -> Option<u32> {
        let mut outs = self.outs.iter().filter(|out| !out.done).map(Outgoing::to);
        let told = || self.fold.as_ref().and_then(|fold| fold.audience());
        let reader = || {
            outs.next().or_else(told).and_then(|to| member.slow_reader(process.port.memory(), to))
        };
        Work::<P>::awaited(self).or_else(reader)
    }

    /// Who only takes one message waits for a root; whose turn it is in all else is not known.
    fn wait_for(&self) -> WaitFor {
        let takes_one = self.ins.len() == 1 && self.outs.is_empty();
        match self.ins.first().map(|incoming| incoming.from) {
            Some(Source::Public(_)) if self.one_fragment_each => WaitFor::Each(Source::Public),
            Some(Source::Private(_)) if self.one_fragment_each => WaitFor::Each(Source::Private),
            Some(_) if takes_one && self.fold.is_none() => WaitFor::Root,
            _ => WaitFor::Answer,
        }
    }

    fn has(&self, _: Member, rank: u32) -> bool {
        self.ins.iter().all(|incoming| incoming.done || incoming.from.rank() != rank)
    }

    fn awaits(&self, at: &mut AtSegment<'_, P>, rank: u32) -> bool {
        let fold = self.fold.as_deref();
        let folding = |from| fold.is_some_and(|fold| fold.reads(from));
        let next = |incoming: &&Incoming| incoming.from.rank() == rank && !folding(incoming.from);
        let mut ins = self.ins.iter().filter(|incoming| !incoming.done);
        ins.any(|incoming| next(&incoming))
            || fold.is_some_and(|fold| fold.lacks(at, rank))
            || self
                .outs
                .iter()
                .any(|out| !out.done && at.member.is_slow(at.entry.port.memory(), out.to(), rank))
    }
}
