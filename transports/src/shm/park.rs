//! Waiting: spin for about a round trip, yield the processor for a while, then sleep.
//!
//! The sleeper raises its parked word, makes every process fence by `membarrier`, looks at all lanes once more, and
//! sleeps on its socket; a sender loads the word after its cell with no fence and rings by a datagram. Either the
//! sender's load sees the word or the sleeper's look sees the cell (modelled in `lane_model.rs`). Where a process
//! cannot be made to fence, sleeps are short and look again. A word is written by its owner alone; each sleep has its
//! own value, so that a sender rings once.

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use mpi_core::rest::Rest;
use mpi_core::tuning::{POLLS_PER_LOOK, SLEEP_BLIND, SLEEP_MAX, SPINS_BARE, WAITS_PER_CLOCK};

use super::settings::ShmSettings;
use super::{Contacts, Shm};
use crate::bed::{Bed, Beside, Sleepers};
use crate::copy;
use crate::sync::Ordering;
use crate::sys::{barrier, cpus, wait};

/// How this process waits.
pub(super) struct Waiter {
    pid: u32,
    spin_polls: u32,
    yield_for: Duration,
    ranks: u32,
    processors: u32,
    /// Ranks for each processor, rounded up.
    share: u32,
    last: u32,
    since: Instant,
    yields: u32,
    /// Turns given away without a wait.
    given: u32,
    sleep: u32,
    /// Polls of a wait before it yields where several threads take turns: then none spins with the turn.
    spins_in_turn: u32,
    sleepers: Sleepers,
}

impl Waiter {
    pub(super) fn new(settings: &ShmSettings, ranks: u32) -> Waiter {
        let processors = u32::try_from(cpus::usable()).unwrap_or(u32::MAX);
        Waiter {
            pid: std::process::id(),
            spin_polls: settings.spin_polls,
            yield_for: Duration::from_micros(settings.yield_micros.into()),
            ranks,
            processors,
            share: ranks.div_ceil(processors),
            last: 0,
            since: Instant::now(),
            yields: 0,
            given: 0,
            sleep: 0,
            spins_in_turn: settings.spin_polls,
            sleepers: Sleepers::default(),
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

    /// Whether it is time to sleep; else to yield the processor.
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
        false
    }
}

impl Contacts {
    /// Whether a frame was refused, or something is left to do at polls, of which nobody tells.
    fn is_blind(&self) -> bool {
        self.refused || self.chores || !self.outbox.is_empty() || !self.wanted.is_empty()
    }
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

    /// See [`mpi_core::port::Port::rest`].
    pub(crate) fn rest(&mut self, idle_polls: u32) -> Rest {
        if self.is_called() {
            return Rest::Look;
        }
        if self.waiter.is_tired(idle_polls) {
            return Rest::Sleep;
        }
        if self.waiter.yields.is_multiple_of(POLLS_PER_LOOK) {
            self.contacts.look_soon();
        }
        Rest::GiveWay
    }

    /// See [`mpi_core::port::Port::set_threads`].
    pub(crate) fn set_threads(&mut self, several: bool) {
        self.waiter.spin_polls = if several { 0 } else { self.waiter.spins_in_turn };
    }

    /// See [`mpi_core::port::Port::rest_in_turn`]. Other ranks are taken to have as many threads.
    pub(crate) fn rest_in_turn(
        &mut self,
        idle_polls: u32,
        rests_for: Option<Duration>,
        beside: usize,
    ) -> Rest {
        let threads = self.waiter.ranks.saturating_mul(beside as u32 + 1);
        if threads <= self.waiter.processors && idle_polls < self.waiter.spins_in_turn {
            std::hint::spin_loop();
            return Rest::Look;
        }
        if self.is_called() {
            return Rest::Look;
        }
        if rests_for.is_some_and(|time| time >= self.waiter.yield_for) {
            return Rest::Sleep;
        }
        if idle_polls.is_multiple_of(POLLS_PER_LOOK) {
            self.contacts.look_soon();
        }
        Rest::GiveWay
    }

    /// See [`mpi_core::port::Port::lie_down`]; news of `beside` wakes too.
    pub(crate) fn lie_down(&mut self, several: bool, beside: Option<Beside<'_>>) -> Option<Bed> {
        let blind = self.contacts.is_blind();
        self.contacts.refused = false;
        let bell = several.then(|| self.waiter.sleepers.bell()).flatten();
        let fenced = self.raise_parked();
        let longest = match fenced && !blind && bell.is_some() == several {
            true => SLEEP_MAX,
            false => SLEEP_BLIND,
        };
        let (at_most, news) =
            beside.map_or((None, None), |beside| (beside.at_most, Some(beside.news)));
        let at_most = at_most.map_or(longest, |at_most| at_most.min(longest));
        if several {
            self.waiter.sleepers.lie_down(at_most);
        }
        let contacts = &self.contacts;
        let quiet =
            contacts.row.iter().all(|peer| contacts.peers[peer.0 as usize].reader.peek().is_none());
        if !quiet
            || !contacts.events.is_empty()
            || contacts.has_connect_request()
            || self.segments.has_news()
        {
            return None;
        }
        self.counters.sleeps += 1;
        let socket = contacts.socket.as_ref().map(AsFd::as_fd);
        Some(Bed::new([socket, news], bell, at_most))
    }

    /// Has all who send from now on ring once; whether what they have sent before can be seen.
    fn raise_parked(&mut self) -> bool {
        // Odd, so never 0, which means awake.
        self.waiter.sleep = self.waiter.sleep.wrapping_add(2) | 1;
        self.contacts.arena.parked().store(self.waiter.sleep, Ordering::SeqCst);
        self.contacts.fences && self.contacts.all_fence && barrier::everywhere().is_ok()
    }

    /// See [`mpi_core::port::Port::get_up`].
    pub(crate) fn get_up(&mut self) {
        self.waiter.sleepers.get_up();
        self.contacts.arena.parked().store(0, Ordering::Relaxed);
        self.look_at_all = true;
        self.contacts.look_soon();
    }

    /// See [`mpi_core::port::Port::was_rung`].
    pub(crate) fn was_rung(&mut self) -> bool {
        std::mem::take(&mut self.contacts.was_rung)
    }

    /// See [`mpi_core::port::Port::oversleeps`]; whoever is beside wants to be looked at in so long.
    pub(crate) fn oversleeps(&self, beside: Option<Duration>) -> bool {
        let blind = self.contacts.is_blind().then_some(SLEEP_BLIND);
        self.waiter.sleepers.oversleep(blind.into_iter().chain(beside).min())
    }
}
