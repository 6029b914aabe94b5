//! A running job, as mpirun itself sees it: one loop that takes the news of all hosts, its own
//! included, moves output and input, passes signals on and ends everything when something fails.
//!
//! What is done on the hosts is in `node.rs`; this is where the conclusions are drawn.

use crate::dying::Fallen;
use crate::failures::Ledger;
use crate::files::Files;
use crate::input::Input;
use crate::leftovers::{self, Guard};
use crate::node::Node;
use crate::options::Global;
use crate::plan::{self, Plan};
use crate::pmi_server::Names;
use crate::refuse::Refusal;
use crate::report::Report;
use crate::site::Site;
use crate::source::Source;
use crate::streams::Streams;
use crate::stuck::Stuck;
use crate::sys::{self, Epoll, Interest, Signals};
use crate::tree::SILENCE;
use crate::tree::frame::{Down, Up};
use crate::withheld::{LastLook, SecondaryError};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// How long ranks may take to end after SIGTERM before they are killed.
const GRACE: Duration = Duration::from_millis(500);
/// The same when the user asked for the end: a program may be writing its checkpoint.
const GRACE_ASKED: Duration = Duration::from_secs(5);
/// How long others may be inside of MPI after a rank has left it and failed then.
const OUTSTAY: Duration = Duration::from_secs(5);
/// How long killed ranks may take to disappear.
const DISAPPEAR: Duration = Duration::from_secs(1);
/// How long descendants may take that outlived all ranks.
const GRACE_ORPHANS: Duration = Duration::from_millis(200);
/// How often to look whether we have come to the terminal's foreground.
const FOREGROUND: Duration = Duration::from_secs(1);

/// How far the end of a failed job has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Running,
    /// The job has run too long; the ranks were asked what they do, and may still answer.
    Listening,
    /// SIGTERM was sent; SIGKILL follows at this time.
    Asked(Instant),
    /// SIGKILL was sent; what is still there at this time stays.
    Killed(Instant),
}

/// One job.
#[derive(Debug)]
pub(crate) struct Job<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) global: &'a Global,
    pub(crate) node: Node<'a>,
    pub(crate) ledger: Ledger,
    pub(crate) names: Names,
    pub(crate) report: Report,
    pub(crate) streams: Streams,
    pub(crate) input: Input,
    pub(crate) phase: Phase,
    /// Ranks that do not move.
    pub(crate) stuck: Stuck,
    /// Ranks that wait in a barrier, as far as the hosts were asked to tell.
    pub(crate) waits: Vec<bool>,
    /// How many barriers have opened.
    pub(crate) fences: u32,
    /// The hosts were asked to tell.
    pub(crate) watching: bool,
    /// Ranks whose connection to the process manager is closed.
    pub(crate) gone: Vec<bool>,
    /// Complaints that wait for the death that may be their cause, until this time.
    pub(crate) held: Vec<Up>,
    pub(crate) held_until: Option<Instant>,
    pub(crate) secondary: Option<SecondaryError>,
    pub(crate) fallen: Fallen,
    start: Instant,
    /// When to look who is still inside, once a rank has failed that had left MPI.
    late_until: Option<Instant>,
    /// The signals by which the end was asked for.
    pub(crate) asked: BTreeSet<i32>,
    /// One of them was repeated.
    pub(crate) impatient: bool,
    /// One of them waits until the ranks have told what they do.
    pub(crate) last_look: Option<LastLook>,
}

/// Runs the job to its end, after `notes` for the user; mpirun's exit status.
pub(crate) fn run(plan: &Plan, global: &Global, notes: &[String]) -> Result<u8, Refusal> {
    let site = Site::make(plan, 0)?;
    let limit = sys::raise_descriptor_limit();
    let files = Files::make(global.files().as_ref(), &plan.hosts, &plan.node_of)?;
    sys::become_subreaper()?;
    let signals = Signals::take_over()?;
    let guard = Guard::start(&plan.mark(0))?;
    let epoll = Epoll::new()?;
    epoll.add(&signals, Source::Signals.token(), Interest::Read)?;
    let sizes = (plan.ranks(), plan.hosts.len());
    let streams = Streams::new(&epoll, global.merge_stderr, plan::mark(global), sizes, files);
    let node = Node::new(plan, site, &(0..plan.hosts.len()), epoll, signals, limit);
    let mut job = Job::new(plan, global, node, streams);
    for note in notes {
        job.streams.say(&job.node.epoll, &format!("mpirun: {note}\n"));
    }
    let served = job.serve();
    if served.is_err() {
        job.end_ranks(libc::SIGKILL);
    }
    job.clear_away(&guard);
    let status = served.map_err(Refusal::from).and_then(|()| job.conclude());
    guard.dismiss();
    status
}

impl<'a> Job<'a> {
    fn new(plan: &'a Plan, global: &'a Global, node: Node<'a>, streams: Streams) -> Job<'a> {
        let several = plan.hosts.len() > 1;
        let ranks = (0..plan.ranks()).map(|rank| {
            let host = several.then(|| plan.hosts[plan.node_of[rank]].clone());
            (plan.programs[plan.program_of[rank]].shown(), host)
        });
        Job {
            plan,
            global,
            ledger: Ledger::new(ranks),
            names: Names::default(),
            report: Report::default(),
            streams,
            input: Input::new(plan),
            phase: Phase::Running,
            stuck: Stuck::new(global.stuck_after, Instant::now()),
            waits: vec![false; plan.ranks()],
            fences: 0,
            watching: false,
            gone: vec![false; plan.ranks()],
            held: Vec::new(),
            held_until: None,
            secondary: None,
            fallen: Fallen::default(),
            start: Instant::now(),
            late_until: None,
            asked: BTreeSet::new(),
            impatient: false,
            last_look: None,
            node,
        }
    }

    /// From the first host to the end of the last rank.
    fn serve(&mut self) -> std::io::Result<()> {
        self.node.reach();
        self.learn(Up::Arrived(self.node.site.arrived()));
        self.take_news();
        while !self.ledger.is_over() {
            let ready = self.node.epoll.wait(self.patience())?;
            for token in ready {
                self.notice(Source::from_token(token));
            }
            self.node.keep_in_touch();
            self.take_news();
            self.streams.let_go(&self.node.epoll, Instant::now());
            self.release_held();
            self.input.look_again(&self.node.epoll);
            if !self.progress_of_the_end() {
                break;
            }
        }
        self.held_until = self.held_until.map(|_| Instant::now());
        self.release_held();
        self.believe();
        Ok(())
    }

    /// How long to wait for news at most.
    fn patience(&self) -> Option<Duration> {
        let until = |time: Instant| time.saturating_duration_since(Instant::now());
        let limits = [
            match self.phase {
                // What is to be done about it comes at the end of a turn.
                Phase::Running if self.ledger.failure().is_some() => Some(Duration::ZERO),
                Phase::Running => self.global.timeout.map(|limit| until(self.start + limit)),
                Phase::Listening => None,
                Phase::Asked(t) | Phase::Killed(t) => Some(until(t)),
            },
            self.streams.next().map(until),
            self.input.in_background().then_some(FOREGROUND),
            self.node.next_beat().map(until),
            self.held_until.map(until),
            self.secondary_until().map(until),
            self.stuck.next().map(until),
            self.late_until.filter(|time| *time > Instant::now()).map(until),
            self.last_look.as_ref().map(|look| until(look.until)),
        ];
        limits.into_iter().flatten().min()
    }

    fn notice(&mut self, source: Source) {
        match source {
            Source::Signals => self.signalled(),
            Source::Ours(index) => self.streams.writable(&self.node.epoll, index),
            Source::Stdin => {
                let input = self.input.readable(&self.node.epoll);
                self.request(input);
            }
            other => self.node.notice(other),
        }
        self.take_news();
        self.look_at_our_output();
        let room = self.streams.settle();
        self.request(room);
    }

    /// Whoever writes what cannot go out will be ended by the system: the ledger knows why, first.
    fn look_at_our_output(&mut self) {
        if self.streams.complain(&self.node.epoll) {
            self.ledger.unwritten();
        }
        if self.streams.unread() {
            self.ledger.unread();
        }
    }

    /// Has the hosts do something.
    pub(crate) fn request(&mut self, requests: Vec<Down>) {
        for request in requests {
            self.node.obey(&request);
        }
    }

    /// Takes all signals that have come.
    fn signalled(&mut self) {
        while let Some(signal) = self.node.signals.next() {
            match signal {
                libc::SIGCHLD => self.node.take_ends(),
                libc::SIGTSTP => {
                    self.node.obey(&Down::Signal(signal));
                    sys::stop_self();
                }
                libc::SIGINT | libc::SIGTERM | libc::SIGHUP | libc::SIGQUIT => {
                    self.asked_to_end(signal);
                }
                // Ranks of another library may have a use of their own for it.
                libc::SIGUSR2 if self.report.ranks().next().is_some() => self.call_the_roll(true),
                other => self.node.obey(&Down::Signal(other)),
            }
        }
    }

    /// Moves the end of a failed job on; false when nothing more can be done.
    fn progress_of_the_end(&mut self) -> bool {
        let now = Instant::now();
        if self.ledger.has_failed_late() && now >= *self.late_until.get_or_insert(now + OUTSTAY) {
            self.ledger.outstayed();
        }
        if let (Phase::Running, None, Some(limit)) =
            (self.phase, self.ledger.failure(), self.global.timeout)
            && now >= self.start + limit
        {
            if self.report.ranks().next().is_some() {
                self.call_the_roll(true);
            }
            self.phase = Phase::Listening;
        }
        self.look_for_stuck_ranks(now);
        if let (Phase::Listening, Some(limit)) = (self.phase, self.global.timeout)
            && (!self.stuck.is_asking() || self.ledger.failure().is_some())
        {
            self.ledger.timed_out(limit);
            self.phase = Phase::Running;
        }
        match self.phase {
            Phase::Running => {
                if let Some(failure) = self.ledger.failure() {
                    let grace = if failure.asked { GRACE_ASKED } else { GRACE };
                    let signal = if failure.asked { libc::SIGCONT } else { libc::SIGTERM };
                    self.phase = Phase::Asked(now + grace);
                    self.end_ranks(signal);
                }
            }
            Phase::Asked(time) if now >= time => {
                let hosts = if self.node.branches.is_empty() { Duration::ZERO } else { SILENCE };
                self.phase = Phase::Killed(now + DISAPPEAR + hosts);
                self.end_ranks(libc::SIGKILL);
            }
            Phase::Killed(time) if now >= time => return false,
            Phase::Listening | Phase::Asked(_) | Phase::Killed(_) => {}
        }
        true
    }

    /// Sends a signal that a stopped rank must hear as well.
    fn end_ranks(&mut self, signal: i32) {
        self.node.complained = true;
        self.node.obey(&Down::Signal(signal));
        self.node.obey(&Down::Signal(libc::SIGCONT));
    }

    /// No rank runs any more: nothing may be left of what they have started, on any host.
    fn clear_away(&mut self, guard: &Guard) {
        let grace = self.grace_of_orphans(Instant::now());
        self.node.obey(&Down::End(grace.as_millis() as u32));
        let commands = |job: &Job| -> Vec<i32> {
            job.node.branches.iter().filter(|b| b.ended.is_none()).map(|b| b.pid).collect()
        };
        leftovers::end_orphans(guard, &commands(self), grace, || self.is_hurried());
        self.node.drain();
        self.node.tell_who_fell();
        self.take_news();
        let deadline = Instant::now() + SILENCE;
        while !self.node.is_alone() && Instant::now() < deadline {
            let until = deadline.saturating_duration_since(Instant::now());
            let beat = self.node.next_beat().map(|t| t.saturating_duration_since(Instant::now()));
            let Ok(ready) = self.node.epoll.wait(beat.into_iter().chain([until]).min()) else {
                break;
            };
            for token in ready {
                self.notice(Source::from_token(token));
            }
            self.node.keep_in_touch();
            self.take_news();
        }
        // The commands end by themselves when their agents have; who hangs is not waited for.
        let pids = commands(self);
        self.node.branches.clear();
        for pid in pids {
            sys::await_end(pid, GRACE_ORPHANS);
        }
        leftovers::end_orphans(guard, &[], Duration::ZERO, || true);
    }

    /// How long what outlived the ranks may take to end. Where the user asked for that, what a rank's script ran may be
    /// saving still, and has the rest of the time that the ranks had.
    fn grace_of_orphans(&self, now: Instant) -> Duration {
        if self.impatient || !self.ledger.failure().is_some_and(|failure| failure.asked) {
            return GRACE_ORPHANS;
        }
        match self.phase {
            Phase::Running | Phase::Listening => GRACE_ASKED,
            Phase::Asked(time) => time.saturating_duration_since(now).max(GRACE_ORPHANS),
            Phase::Killed(_) => GRACE_ORPHANS,
        }
    }

    /// Whether the user has asked for the end since the ranks have ended.
    fn is_hurried(&self) -> bool {
        std::iter::from_fn(|| self.node.signals.next())
            .any(|signal| matches!(signal, libc::SIGINT | libc::SIGTERM))
    }

    /// All ranks have ended: writes out what they left, says what went wrong.
    fn conclude(&mut self) -> Result<u8, Refusal> {
        self.streams.finish(&self.node.epoll);
        self.look_at_our_output();
        let epoll = &self.node.epoll;
        let (ledger, plan) = (&self.ledger, self.plan);
        let name = |rank| ledger.full_name(rank, &plan.hosts[plan.node_of[rank]]);
        self.streams.say(epoll, &self.fallen.text(name));
        if let (Some(text), _) = self.ledger.verdict() {
            self.streams.say(epoll, &format!("mpirun: {text}\n"));
        }
        if self.global.report {
            let table = self.report.table(self.plan, self.start.elapsed());
            self.streams.say(epoll, &table);
        }
        self.node.members.clear();
        while !self.streams.is_empty() {
            for token in self.node.epoll.wait(None)? {
                match Source::from_token(token) {
                    Source::Ours(index) => {
                        self.streams.writable(&self.node.epoll, index);
                        self.look_at_our_output();
                    }
                    // Whoever interrupts now does not want to read the rest.
                    Source::Signals => match self.node.signals.next() {
                        Some(libc::SIGINT | libc::SIGTERM | libc::SIGHUP | libc::SIGQUIT) => {
                            return Ok(self.ledger.verdict().1);
                        }
                        Some(libc::SIGTSTP) => sys::stop_self(),
                        _ => {}
                    },
                    Source::Stdin => {
                        // Nobody is left to be fed.
                        let _ = self.node.epoll.remove(sys::stdin());
                    }
                    _ => {}
                }
            }
        }
        self.look_at_our_output();
        Ok(self.ledger.verdict().1)
    }
}
