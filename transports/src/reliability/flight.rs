//! Datagrams that were sent and about which there is doubt: which of them have arrived, which are lost
//! (RFC 9002, §6.1; RACK, RFC 8985), and how long an answer is due.
//!
//! In: what was sent with which load, acknowledgements, time. Out: the loads that have arrived and those
//! that have to go again. A number is never used again: what goes again has a new one, so that each
//! acknowledgement says which of the copies it is about.

use std::collections::VecDeque;

use super::cargo::Cargo;
use super::ranges::Ranges;
use super::rtt::Rtt;
use super::wire::Acks;
use super::{Breach, Nanos};

/// A datagram is lost once so many later ones have arrived …
const REORDER_DATAGRAMS: u64 = 3;
/// … twice as many for each one that was thought lost and arrived, at most so often.
const REORDER_DOUBLED_MAX: u32 = 8;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Flying,
    Arrived,
    /// Later ones have arrived and it has not.
    Lost,
    /// Its load went again because no answer came at all, or the path was changed.
    Repeated,
}

struct Sent {
    number: u64,
    at: Nanos,
    cargo: Cargo,
    bytes: u16,
    fate: Fate,
}

/// What acknowledgements were about.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Answered {
    /// Bytes that are not under way any more.
    pub bytes: u64,
    /// When the newest datagram was sent of those that nobody knew to have arrived.
    pub sent: Option<Nanos>,
    /// Whether that is the newest of all that have arrived, so that its time is that of an answer.
    pub is_newest: bool,
    /// Bytes of the largest one that was no probe.
    pub largest: u16,
}

/// What was lost at once; a lost probe is none of it.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Losses {
    /// When the newest of these datagrams was sent.
    pub sent: Option<Nanos>,
    /// Bytes of the largest one.
    pub largest: u16,
}

/// A question to a silent peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Question {
    /// With the next that there is to send, so that it need not wait for the answer.
    Loaded,
    Empty,
}

/// All datagrams about which there is doubt.
#[derive(Default)]
pub(super) struct Flight {
    sent: VecDeque<Sent>,
    /// The number of the next one.
    next: u64,
    /// Numbers that have arrived, as far as known, and behind the highest of them.
    arrived: Ranges,
    /// Behind the highest that has arrived by the path in use.
    newest: u64,
    /// No number below this one is flying.
    decided: u64,
    /// Bytes under way.
    bytes: u64,
    /// Datagrams that were thought lost and had overtaken others or were overtaken.
    late: u32,
    /// When the next one is lost if it does not arrive.
    loss_at: Option<Nanos>,
    /// Since when an answer is due that has not come.
    waits_since: Option<Nanos>,
    /// When the last one was sent that is to be answered, and questions in a row.
    last_at: Nanos,
    asked: u32,
}

impl Flight {
    /// A number for a datagram, which nobody has had before.
    #[inline]
    pub(super) fn take_number(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    /// The oldest number about which there is doubt.
    #[inline]
    pub(super) fn oldest(&self) -> u64 {
        self.sent.front().map_or(self.next, |sent| sent.number)
    }

    /// Bytes under way.
    #[inline]
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How many were thought lost and have arrived.
    pub(super) fn late(&self) -> u32 {
        self.late
    }

    /// Since when an answer is due.
    pub(super) fn waits_since(&self) -> Option<Nanos> {
        self.waits_since
    }

    /// A datagram of so many bytes leaves, with the number that was taken last, and is to be answered.
    #[inline]
    pub(super) fn send(&mut self, number: u64, now: Nanos, bytes: u16, cargo: Cargo) {
        if self.sent.capacity() == 0 {
            // Most peers are sent one thing now and then.
            self.sent.reserve_exact(1);
        }
        let is_trial = matches!(cargo, Cargo::Trial(_));
        let bytes = if is_trial { 0 } else { bytes };
        self.sent.push_back(Sent { number, at: now, cargo, bytes, fate: Fate::Flying });
        if is_trial {
            return;
        }
        self.bytes += u64::from(bytes);
        self.waits_since.get_or_insert(now);
        self.last_at = now;
    }

    /// The datagram that was sent last did not leave: it is as if it had not been sent, but for its
    /// number. What it carried.
    pub(super) fn take_back(&mut self, number: u64) -> Option<Cargo> {
        let last = self.sent.pop_back_if(|last| last.number == number)?;
        self.bytes -= u64::from(last.bytes);
        if self.sent.is_empty() {
            self.waits_since = None;
        }
        Some(last.cargo)
    }

    /// The peer says what it has; `arrived` hears each load of which that is news.
    pub(super) fn answer(
        &mut self,
        acks: Acks<'_>,
        now: Nanos,
        mut arrived: impl FnMut(Cargo),
    ) -> Result<Answered, Breach> {
        if acks.end() > self.next {
            return Err(Breach("it acknowledges more than was sent"));
        }
        let (known, mut answered) = (self.arrived.end(), Answered::default());
        for range in acks.ranges() {
            let (sent, bytes, late) = (&mut self.sent, &mut self.bytes, &mut self.late);
            let newest = &mut self.newest;
            self.arrived.insert(range, |news| {
                let first = sent.partition_point(|one| one.number < news.start);
                for one in sent.range_mut(first..).take_while(|one| one.number < news.end) {
                    match std::mem::replace(&mut one.fate, Fate::Arrived) {
                        Fate::Flying => {
                            *bytes -= u64::from(one.bytes);
                            answered.bytes += u64::from(one.bytes);
                        }
                        Fate::Lost => *late += 1,
                        Fate::Repeated | Fate::Arrived => {}
                    }
                    if let Cargo::Trial(_) = one.cargo {
                        // It says nothing of the path in use, nor of its time.
                        arrived(one.cargo.clone());
                        continue;
                    }
                    *newest = (*newest).max(one.number + 1);
                    answered.sent = Some(one.at);
                    answered.is_newest = one.number >= known;
                    if !one.cargo.tries() {
                        answered.largest = answered.largest.max(one.bytes);
                    }
                    arrived(std::mem::replace(&mut one.cargo, Cargo::Ping));
                }
            });
        }
        if answered.sent.is_some() {
            (self.waits_since, self.asked) = ((self.bytes > 0).then_some(now), 0);
        }
        Ok(answered)
    }

    /// Looks for losses; `lost` hears each load that has to go again.
    pub(super) fn find_losses(
        &mut self,
        now: Nanos,
        rtt: &Rtt,
        mut lost: impl FnMut(Cargo),
    ) -> Losses {
        // A trial by another path overtakes nothing.
        let (newest, mut losses) = (self.newest, Losses::default());
        let doubled = self.late.min(REORDER_DOUBLED_MAX);
        let patience = rtt.patience(1 + self.late.min(REORDER_DOUBLED_MAX - 1));
        self.loss_at = None;
        let first = self.sent.partition_point(|sent| sent.number < self.decided);
        for sent in self.sent.range_mut(first..).take_while(|sent| sent.number < newest) {
            if sent.fate == Fate::Flying {
                let is_overtaken = sent.number + (REORDER_DATAGRAMS << doubled) < newest;
                if !is_overtaken && sent.at + patience > now {
                    self.loss_at = Some(sent.at + patience);
                    break;
                }
                sent.fate = Fate::Lost;
                self.bytes -= u64::from(sent.bytes);
                if !sent.cargo.tries() {
                    losses.sent = Some(sent.at);
                    losses.largest = losses.largest.max(sent.bytes);
                }
                lost(sent.cargo.clone());
            }
            self.decided = sent.number + 1;
        }
        self.forget(now, rtt);
        losses
    }

    /// What is under way is not awaited any more, since another path is taken; `again` hears each load.
    pub(super) fn give_up(&mut self, mut again: impl FnMut(Cargo)) {
        for sent in &mut self.sent {
            if sent.cargo.tries() {
                // Its arrival would say nothing of the new path.
                sent.cargo = Cargo::Ping;
            }
            if sent.fate == Fate::Flying {
                sent.fate = Fate::Repeated;
                again(sent.cargo.clone());
            }
        }
        (self.bytes, self.decided, self.loss_at, self.asked) = (0, self.next, None, 0);
    }

    /// Nobody will answer any more: nothing is under way.
    pub(super) fn end(&mut self) {
        (self.sent, self.bytes, self.decided) = (VecDeque::new(), 0, self.next);
        (self.loss_at, self.waits_since, self.asked) = (None, None, 0);
        self.arrived.raise(self.next);
    }

    /// Forgets those about which there is no doubt, from the oldest on: what is lost may yet arrive for
    /// a while, and then it was only late.
    fn forget(&mut self, now: Nanos, rtt: &Rtt) {
        let lingers = 2 * rtt.probe_after(0);
        while self
            .sent
            .pop_front_if(|sent| match sent.fate {
                Fate::Flying => false,
                Fate::Arrived => true,
                Fate::Lost | Fate::Repeated => sent.at + lingers <= now,
            })
            .is_some()
        {}
        self.arrived.raise(self.oldest());
    }

    /// When one should ask the peer, if no answer comes before.
    fn probe_at(&self, rtt: &Rtt) -> Option<Nanos> {
        self.waits_since.map(|_| self.last_at + rtt.probe_after(self.asked))
    }

    /// When to look again.
    pub(super) fn wake_at(&self, rtt: &Rtt) -> Option<Nanos> {
        // A datagram that is overdue while later ones have arrived goes again without a question.
        self.loss_at.or_else(|| self.probe_at(rtt))
    }

    /// Whether losses are to be looked for, since one's time has come.
    #[inline]
    pub(super) fn has_overdue(&self, now: Nanos) -> bool {
        self.loss_at.is_some_and(|at| at <= now)
    }

    /// Whether the peer is to be asked now, the first `loads` times with a load: of the oldest datagram
    /// under way, which `again` hears.
    pub(super) fn should_ask(
        &mut self,
        now: Nanos,
        rtt: &Rtt,
        loads: u32,
        again: impl FnOnce(Cargo),
    ) -> Option<Question> {
        if self.loss_at.is_some() || self.probe_at(rtt).is_none_or(|at| at > now) {
            return None;
        }
        self.asked += 1;
        if self.asked > loads {
            return Some(Question::Empty);
        }
        let first = self.sent.partition_point(|sent| sent.number < self.decided);
        let flying = self.sent.range_mut(first..).find(|sent| sent.fate == Fate::Flying);
        if let Some(sent) = flying {
            sent.fate = Fate::Repeated;
            self.bytes -= u64::from(sent.bytes);
            again(sent.cargo.clone());
        }
        Some(Question::Loaded)
    }

    /// Gives back the memory that is not in use.
    pub(super) fn trim(&mut self, now: Nanos, rtt: &Rtt) {
        self.forget(now, rtt);
        self.sent.shrink_to_fit();
        self.arrived.trim();
    }
}

#[cfg(test)]
#[path = "flight_tests.rs"]
mod tests;
