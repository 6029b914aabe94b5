//! What happens between the ends, one event after the other.

use mpi_core::port::PeerId;

use super::{Deed, Event, Link, Op, World};
use crate::rdma::fabric::{Access, Completion, Local};

/// Who finds no buffer tries again after so long.
const NOT_READY: u64 = 5_000;
/// Between two runs of bytes of one write passes at most so long.
const GAP: u64 = 300;

/// What became of a work request.
enum Fate {
    Over,
    /// It goes on after so long.
    Later(u64),
    Refused(String),
}

impl World {
    /// Time passes.
    pub(super) fn pass(&mut self, time: u64) {
        let until = self.now + time;
        while let Some(first) = self.events.first_entry().filter(|first| first.key().0 <= until) {
            let ((at, _), event) = first.remove_entry();
            self.now = self.now.max(at);
            self.happen(event);
        }
        self.now = self.now.max(until);
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Step(from, to, rail) => self.step(from, to, rail),
            Event::Done(from, to, number, work) => {
                if let Some(rail) = self.rails.get_mut(&(from, to, number)) {
                    rail.open -= 1;
                }
                if let Some(work) = work {
                    self.tell_on(from, number, Completion::Done(work));
                }
            }
            Event::Dropped(from, op) => {
                if matches!(op.deed, Deed::Read(_)) && self.is_local(from, &op.local) {
                    // SAFETY: registered, and the fabric's until the work is over.
                    unsafe { op.local.address.write_bytes(0xdd, op.local.len) };
                }
                if let Some(work) = op.work {
                    self.tell(from, Completion::Failed(work));
                }
            }
            Event::Up(one, other) => {
                for (at, peer) in [(one, other), (other, one)] {
                    if self.sides[at].up.get(&peer) == Some(&Link::Connecting) {
                        self.sides[at].up.insert(peer, Link::Up);
                        let peer = self.peer_of(at, peer);
                        self.tell(at, Completion::Up(peer));
                    }
                }
            }
            Event::Down(at, peer, why) => {
                let peer = self.peer_of(at, peer);
                self.tell(at, Completion::Down(peer, format!("the connection has broken: {why}")));
            }
        }
    }

    /// How an end calls another.
    pub(super) fn peer_of(&self, at: usize, other: usize) -> PeerId {
        let peers = &self.sides[at].peers;
        *peers.iter().find(|(_, end)| **end == other).expect("ends know each other's names").0
    }

    /// The first work request of a rail goes on.
    fn step(&mut self, from: usize, to: usize, rail: usize) {
        let Some(mut op) =
            self.rails.get_mut(&(from, to, rail)).and_then(|rail| rail.ops.pop_front())
        else {
            return;
        };
        let fate = match op.inline.is_none() && !self.is_local(from, &op.local) {
            true => Fate::Refused("memory of the sender is not registered".to_owned()),
            false => self.go((from, to, rail), &mut op),
        };
        let now = self.now;
        match fate {
            Fate::Over => {
                let back = now + self.weather.delay.0;
                self.at(back, Event::Done(from, to, rail, op.work));
                let next = self.rails.get(&(from, to, rail)).and_then(|rail| rail.ops.front());
                if let Some(at) = next.map(|next| next.at) {
                    self.at(at, Event::Step(from, to, rail));
                }
            }
            Fate::Later(after) => {
                if let Some(rail) = self.rails.get_mut(&(from, to, rail)) {
                    rail.ops.push_front(op);
                }
                self.at(now + after, Event::Step(from, to, rail));
            }
            Fate::Refused(why) => {
                assert!(!self.weather.is_strict, "from {from} to {to}: {why}");
                if let Some(rail) = self.rails.get_mut(&(from, to, rail)) {
                    rail.open -= 1;
                }
                if let Some(work) = op.work {
                    self.tell(from, Completion::Failed(work));
                }
                self.sever(from, to, &why);
            }
        }
    }

    fn go(&mut self, (from, to, rail): (usize, usize, usize), op: &mut Op) -> Fate {
        match op.deed {
            Deed::Send => self.deliver(from, to, op),
            Deed::Write(target, immediate) => {
                let place = self.place(to, target, op.local.len, Access::Write);
                match place {
                    Err(why) if op.local.len > 0 => return Fate::Refused(why),
                    Ok(at) if op.moved < op.local.len => return self.move_run(op, at),
                    _ => {}
                }
                let Some(immediate) = immediate else { return Fate::Over };
                let Some((_, work)) = self.sides[to].posted.pop_front() else {
                    self.sides[to].counts.not_ready += 1;
                    return Fate::Later(NOT_READY);
                };
                let (peer, work) = (self.peer_of(to, from), Some(work));
                self.tell_on(to, rail, Completion::Written { peer, immediate, work });
                Fate::Over
            }
            Deed::Read(target) => match self.place(to, target, op.local.len, Access::Read) {
                Err(why) => Fate::Refused(why),
                Ok(at) if op.moved < op.local.len => self.move_run(op, at),
                Ok(_) => Fate::Over,
            },
            Deed::Add(target, add) => self.atomic(to, op, target, |word| word.wrapping_add(add)),
            Deed::Swap(target, expected, new) => {
                self.atomic(to, op, target, |word| if word == expected { new } else { word })
            }
        }
    }

    /// A message takes a buffer.
    fn deliver(&mut self, from: usize, to: usize, op: &mut Op) -> Fate {
        let Some((buffer, work)) = self.sides[to].posted.pop_front() else {
            self.sides[to].counts.not_ready += 1;
            return Fate::Later(NOT_READY);
        };
        let len = op.local.len;
        assert!(len <= buffer.len, "a message of {len} bytes for a buffer of {}", buffer.len);
        assert!(self.is_local(to, &buffer), "a posted buffer is not registered");
        let run = op.inline.as_ref().map_or(op.local.address.cast_const(), |bytes| bytes.as_ptr());
        // SAFETY: both are registered, or copied, and have so many bytes.
        unsafe { buffer.address.copy_from_nonoverlapping(run, len) };
        let peer = self.peer_of(to, from);
        self.tell(to, Completion::Received { peer, work, len });
        Fate::Over
    }

    /// The next run of bytes of a write or read: in the order of addresses, or from the end where the fabric
    /// promises none.
    fn move_run(&mut self, op: &mut Op, at: usize) -> Fate {
        let left = op.local.len - op.moved;
        let run = match left {
            0..=8 => left,
            _ => (left / 3 + self.random((0, left as u64 / 2)) as usize).clamp(1, left),
        };
        let offset = match self.weather.abilities.writes_in_order {
            true => op.moved,
            false => left - run,
        };
        let here = match &op.inline {
            Some(bytes) => bytes.as_ptr().wrapping_add(offset).cast_mut(),
            None => op.local.address.wrapping_add(offset),
        };
        let there = (at + offset) as *mut u8;
        // SAFETY: both were found registered, or copied, and have so many bytes.
        unsafe {
            match op.deed {
                Deed::Read(_) => here.copy_from(there, run),
                _ => there.copy_from(here, run),
            }
        }
        op.moved += run;
        let after = self.random((0, GAP));
        Fate::Later(after)
    }

    fn atomic(
        &mut self,
        to: usize,
        op: &mut Op,
        target: super::Target,
        change: impl FnOnce(u64) -> u64,
    ) -> Fate {
        let Local { address: into, .. } = op.local;
        match self.place(to, target, 8, Access::All) {
            Err(why) => Fate::Refused(why),
            Ok(at) => {
                let at = at as *mut u64;
                // SAFETY: both are registered and have eight bytes.
                unsafe {
                    let before = at.read_unaligned();
                    at.write_unaligned(change(before));
                    into.cast::<u64>().write_unaligned(before);
                }
                Fate::Over
            }
        }
    }
}
