//! What ranks are doing: asked for by SIGUSR2 or `--stuck-after`, and for the last time when the user
//! asks for the end of a job in which nothing moves any more.
//!
//! In: signals, and the time. Out: questions to the ranks, the table of [`crate::stuck`], and signals
//! that go on to the ranks. Who presses Ctrl-C has mostly waited for long, and the ranks know what
//! for; so SIGINT and SIGTERM go on once it is known whether anything moves, at the latest after
//! [`LOOK`]. A rank that catches SIGTERM saves its work within the time that a batch system gives: it gets the signal
//! at once. (SIGINT is caught by all of Python, which does nothing with it before a wait in MPI has ended.)

use crate::job::{Job, Phase};
use crate::stuck::{Asked, Stuck};
use crate::sys;
use crate::tree::frame::Down;
use crate::withheld::LastLook;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// How long ranks may take to answer what they are doing, on a machine that is busy.
const ROLL_CALL: Duration = Duration::from_secs(2);
/// The same when a signal waits for it. A rank that sleeps looks up once a second.
const LAST_ROLL_CALL: Duration = Duration::from_millis(1200);
/// How long nothing may move before the ranks' answers are told with the end.
const STILL: Duration = Duration::from_millis(200);
/// How long a signal is held back for that at most.
const LOOK: Duration = Duration::from_secs(3);

impl Job<'_> {
    /// The job is to end: the ranks hear of it and take their time. Who repeats SIGINT or SIGTERM
    /// does not want to wait for that. Signals that follow each other without being the same come
    /// from a terminal or a batch system that closes, and nobody there is impatient.
    pub(crate) fn asked_to_end(&mut self, signal: i32) {
        let now = Instant::now();
        if self.last_look.as_ref().is_some_and(|look| look.is_echoed_by(signal, now)) {
            return;
        }
        self.end_last_look();
        let again = !self.asked.insert(signal);
        let interrupts = matches!(signal, libc::SIGINT | libc::SIGTERM);
        let is_first = self.asked.len() == 1 && self.runs_well();
        let asks = self.report.ranks().next().is_some() && !self.is_urgent(signal);
        if interrupts && !again && is_first && asks {
            self.last_look = Some(LastLook { signal, begun: now, until: now + LOOK });
            return self.stuck.hurry(STILL, now);
        }
        self.hand_on(signal, again && interrupts);
    }

    /// Whether a rank of this host has something to do when the signal comes.
    fn is_urgent(&self, signal: i32) -> bool {
        let mut running = self.node.members.iter().filter(|member| member.running);
        signal == libc::SIGTERM && running.any(|member| sys::catches(member.pid, signal))
    }

    /// Signal `signal` goes on to the ranks; as SIGKILL where the user insists.
    fn hand_on(&mut self, signal: i32, insistent: bool) {
        self.impatient |= insistent;
        self.ledger.passed_on(signal);
        self.node.obey(&Down::Signal(if insistent { libc::SIGKILL } else { signal }));
        if insistent || !self.ledger.has_begun() {
            self.ledger.insisted(signal);
        }
    }

    /// Hands the signal on that waits for the answers of the ranks, if one does.
    fn end_last_look(&mut self) {
        if let Some(LastLook { signal, .. }) = self.last_look.take() {
            self.stuck = Stuck::new(self.global.stuck_after, Instant::now());
            self.hand_on(signal, false);
        }
    }

    fn runs_well(&self) -> bool {
        self.phase == Phase::Running && self.ledger.failure().is_none()
    }

    /// Asks all ranks what they are doing, for a table.
    pub(crate) fn call_the_roll(&mut self, wanted: bool) {
        let here: BTreeSet<usize> = self.report.ranks().collect();
        // Where nobody has said anything, no program is one of ours.
        let ours = if here.is_empty() { 0 } else { self.plan.ranks() };
        let (left, live): (Vec<usize>, Vec<usize>) =
            (0..ours).partition(|rank| self.ledger.has_left(*rank));
        let (ranks, outside) = live.into_iter().partition(|rank| here.contains(rank));
        let asked = Asked { ranks, outside, left: !left.is_empty(), wanted };
        let patience = if self.last_look.is_some() { LAST_ROLL_CALL } else { ROLL_CALL };
        self.stuck.begin(Instant::now() + patience, asked);
        self.node.obey(&Down::RollCall);
    }

    /// Asks anew when it is time, and prints the table when there is one.
    pub(crate) fn look_for_stuck_ranks(&mut self, now: Instant) {
        let listens = matches!(self.phase, Phase::Listening) && self.ledger.failure().is_none();
        if !self.runs_well() && !listens {
            self.end_last_look();
            return self.stuck.rest();
        }
        if self.stuck.is_due(now) {
            self.call_the_roll(false);
        }
        let table = self.stuck.conclude(now);
        if let Some(table) = &table {
            self.streams.say(&self.node.epoll, table);
        }
        let late = self.last_look.as_ref().is_some_and(|look| now >= look.until);
        if late || table.is_some() || self.stuck.is_known_to_move() {
            self.end_last_look();
        }
    }
}
