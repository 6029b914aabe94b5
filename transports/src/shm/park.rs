//! Waiting: spin for about a round trip, yield the processor for a while, then sleep.
//!
//! The sleeper raises its parked word, makes every process fence by `membarrier`, looks at all lanes once more, and
//! sleeps on its socket; a sender loads the word after its cell with no fence and rings by a datagram. Either the
//! sender's load sees the word or the sleeper's look sees the cell (modelled in `lane_model.rs`). Where a process
//! cannot be made to fence, sleeps are short and look again. A word is written by its owner alone; each sleep has its
//! own value, so that a sender rings once.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use mpi_core::tuning::{POLLS_PER_LOOK, SLEEP_BLIND, SLEEP_MAX, SPINS_BARE, WAITS_PER_CLOCK};

use super::Shm;
use super::settings::ShmSettings;
use crate::copy;
use crate::sync::Ordering;
use crate::sys::{barrier, cpus, wait};

/// How this process waits.
pub(super) struct Waiter {
    pid: u32,
    spin_polls: u32,
    yield_for: Duration,
    /// Ranks for each processor, rounded up.
    share: u32,
    last: u32,
    since: Instant,
    yields: u32,
    /// Turns given away without a wait.
    given: u32,
    sleep: u32,
}

impl Waiter {
    pub(super) fn new(settings: &ShmSettings, ranks: u32) -> Waiter {
        Waiter {
            pid: std::process::id(),
            spin_polls: settings.spin_polls,
            yield_for: Duration::from_micros(settings.yield_micros.into()),
            share: share(ranks),
            last: 0,
            since: Instant::now(),
            yields: 0,
            given: 0,
            sleep: 0,
        }
    }

    /// The process that made this; a forked child is another.
    pub(super) fn pid(&self) -> u32 {
        self.pid
    }

    /// Ranks for each processor, rounded up.
    pub(super) fn share(&self) -> u32 {
        self.share
    }

    /// Whether there are more ranks than processors.
    pub(super) fn is_oversubscribed(&self) -> bool {
        self.share > 1
    }

    /// Whether a wait with so many idle polls goes on spinning. The look before it has then ended: looks that pile up
    /// would all have to be undone when their line changes (decision 82).
    #[inline]
    fn spins(&mut self, idle_polls: u32) -> bool {
        if self.is_oversubscribed() || idle_polls >= self.spin_polls {
            return false;
        }
        self.last = 0;
        match idle_polls {
            0 => {}
            1..=SPINS_BARE => copy::finish_loads(),
            _ => std::hint::spin_loop(),
        }
        true
    }

    /// Whether it is time to sleep; else yields the processor.
    #[inline]
    fn is_tired(&mut self, idle_polls: u32) -> bool {
        if self.last == 0 || idle_polls <= self.last {
            self.yields = 0;
        }
        self.last = idle_polls.max(1);
        if self.yields == WAITS_PER_CLOCK {
            self.since = Instant::now();
        }
        let looks = self.yields > WAITS_PER_CLOCK && self.yields.is_multiple_of(WAITS_PER_CLOCK);
        if self.yield_for.is_zero() || looks && self.since.elapsed() >= self.yield_for {
            return true;
        }
        self.yields = self.yields.wrapping_add(1);
        wait::give_way();
        false
    }
}

/// How many of so many ranks share a processor that this one may use.
fn share(ranks: u32) -> u32 {
    ranks.div_ceil(u32::try_from(cpus::usable()).unwrap_or(u32::MAX))
}

/// What else may bring news to one who sleeps.
pub struct Beside<'a> {
    /// Becomes readable then.
    pub news: BorrowedFd<'a>,
    /// The longest sleep, if something is to be done even without news.
    pub at_most: Option<Duration>,
}

impl Shm {
    /// Whether there are more ranks than processors.
    pub(crate) fn is_oversubscribed(&self) -> bool {
        self.waiter.is_oversubscribed()
    }

    /// Processes of the job that run here for each processor, rounded up.
    pub(crate) fn share(&self) -> u32 {
        self.waiter.share()
    }

    /// Whether a wait with so many idle polls goes on spinning.
    #[inline]
    pub fn spins(&mut self, idle_polls: u32) -> bool {
        self.waiter.spins(idle_polls)
    }

    /// Waits between polls (see [`mpi_core::port::Port::wait`]), also for `beside`; whether the spin phase is over.
    #[inline]
    pub fn wait<'a>(
        &mut self,
        idle_polls: u32,
        beside: impl FnOnce() -> Option<Beside<'a>>,
    ) -> bool {
        if self.waiter.spins(idle_polls) {
            return false;
        }
        self.wait_off_processor(idle_polls, beside);
        true
    }

    /// See [`mpi_core::port::Port::yield_processor`]. A wait by tests comes here alone, so all kinds of news are looked
    /// for.
    pub(crate) fn yield_processor(&mut self) {
        if !self.waiter.is_oversubscribed() {
            return;
        }
        // Who asks for a connection is gone to afterwards: for whom this process lets go has waited for longer.
        self.is_called();
        wait::give_way();
        self.waiter.given = self.waiter.given.wrapping_add(1);
        if self.waiter.given.is_multiple_of(POLLS_PER_LOOK) {
            self.contacts.look_soon();
        }
    }

    /// Lets the next poll look everywhere, and go to who asks for a connection; whether somebody does. In a wait that
    /// comes first: it takes no turn of anybody's, and what was sent may be there already.
    #[inline]
    fn is_called(&mut self) -> bool {
        self.look_at_all = true;
        let looks = self.contacts.until_look == 1;
        let called = !looks && self.contacts.has_connect_request();
        if called {
            self.contacts.until_look = 1;
        }
        called
    }

    #[cold]
    #[inline(never)]
    fn wait_off_processor<'a>(
        &mut self,
        idle_polls: u32,
        beside: impl FnOnce() -> Option<Beside<'a>>,
    ) {
        if self.is_called() {
            return;
        }
        if self.waiter.is_tired(idle_polls) {
            self.sleep(beside());
        } else if self.waiter.yields.is_multiple_of(POLLS_PER_LOOK) {
            self.contacts.look_soon();
        }
    }

    fn sleep(&mut self, beside: Option<Beside<'_>>) {
        let contacts = &mut self.contacts;
        let blind = std::mem::take(&mut contacts.refused)
            || contacts.chores
            || !contacts.outbox.is_empty()
            || !contacts.wanted.is_empty();
        // Odd, so never 0, which means awake.
        self.waiter.sleep = self.waiter.sleep.wrapping_add(2) | 1;
        contacts.arena.parked().store(self.waiter.sleep, Ordering::SeqCst);
        let fenced = contacts.fences && contacts.all_fence && barrier::everywhere().is_ok();
        let at_most = if fenced && !blind { SLEEP_MAX } else { SLEEP_BLIND };
        let also = beside.as_ref().and_then(|beside| beside.at_most).unwrap_or(at_most);
        let quiet =
            contacts.row.iter().all(|peer| contacts.peers[peer.0 as usize].reader.peek().is_none());
        if quiet
            && contacts.events.is_empty()
            && !contacts.has_connect_request()
            && !self.segments.has_news()
        {
            let fds = [contacts.socket.as_ref().map(AsFd::as_fd), beside.map(|beside| beside.news)];
            self.counters.sleeps += 1;
            if let Err(error) = wait::until_readable(fds, at_most.min(also)) {
                tracing::warn!(%error, "sleeping on the shared-memory socket failed");
            }
        }
        contacts.arena.parked().store(0, Ordering::Relaxed);
        contacts.look_soon();
    }
}
