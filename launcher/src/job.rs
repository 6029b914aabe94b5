//! A running job: starts the ranks, then one loop that serves their sockets, moves their output,
//! passes signals on and ends everything when the first of them fails.

use crate::failures::Ledger;
use crate::input::Input;
use crate::leftovers::{self, Guard};
use crate::options::Global;
use crate::plan::Plan;
use crate::pmi_server::Server;
use crate::refuse::Refusal;
use crate::report::Report;
use crate::source::Source;
use crate::spawn::{self, Common};
use crate::streams::Streams;
use crate::sys::{self, Epoll, Interest, Signals};
use launch_wire::control::Frame;
use launch_wire::pmi1::LineBuffer;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

/// How long ranks may take to end after SIGTERM before they are killed.
const GRACE: Duration = Duration::from_millis(500);
/// The same when the user asked for the end: a program may be writing its checkpoint.
const GRACE_ASKED: Duration = Duration::from_secs(5);
/// How long killed ranks may take to disappear.
const DISAPPEAR: Duration = Duration::from_secs(1);
/// How long ranks may take to answer what they are doing, on a machine that is busy.
const ROLL_CALL: Duration = Duration::from_secs(2);
/// How long descendants may take that outlived all ranks.
const GRACE_ORPHANS: Duration = Duration::from_millis(200);
/// How long an unfinished line is held back from a terminal.
const PROMPT: Duration = Duration::from_millis(100);
/// How often to look whether we have come to the terminal's foreground.
const FOREGROUND: Duration = Duration::from_secs(1);

/// A rank's sockets, as long as somebody holds the other end.
#[derive(Debug)]
pub(crate) struct Line {
    /// Where it speaks PMI-1.
    pub(crate) pmi: Option<OwnedFd>,
    /// Where it sends frames.
    pub(crate) control: Option<OwnedFd>,
    /// What it has said of a line that has not ended yet.
    pub(crate) buffer: LineBuffer,
}

/// How far the end of a failed job has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Running,
    /// The job has run too long; the ranks were asked what they do, and may answer until this time.
    Listening(Instant),
    /// SIGTERM was sent; SIGKILL follows at this time.
    Asked(Instant),
    /// SIGKILL was sent; what is still there at this time stays.
    Killed(Instant),
}

/// One job.
#[derive(Debug)]
pub(crate) struct Job<'a> {
    plan: &'a Plan,
    global: &'a Global,
    pub(crate) epoll: Epoll,
    signals: Signals,
    pub(crate) server: Server,
    pub(crate) ledger: Ledger,
    pub(crate) report: Report,
    pub(crate) streams: Streams,
    input: Input,
    pub(crate) lines: Vec<Line>,
    phase: Phase,
    /// Ranks that were asked what they are doing and have not answered.
    pub(crate) unanswered: Vec<usize>,
    /// Whether the ends of ranks are being looked for that died before one complained.
    pub(crate) taking_dying: bool,
    start: Instant,
    /// How often the user has asked for the end.
    asked: usize,
}

/// Runs the job to its end; mpirun's exit status.
pub(crate) fn run(plan: &Plan, global: &Global) -> Result<u8, Refusal> {
    let name = job_name()?;
    let limit = sys::raise_descriptor_limit();
    sys::become_subreaper()?;
    let signals = Signals::take_over()?;
    let guard = Guard::start(&name)?;
    let epoll = Epoll::new()?;
    epoll.add(signals.raw(), Source::Signals.token(), Interest::Read)?;
    let mut job = Job {
        plan,
        global,
        server: Server::new(&name, plan.app_of.clone(), plan.cpus.max(plan.ranks())),
        ledger: Ledger::new(),
        report: Report::default(),
        streams: Streams::new(&epoll, global.merge_stderr),
        input: Input::new(global.stdin)?,
        lines: Vec::new(),
        phase: Phase::Running,
        unanswered: Vec::new(),
        taking_dying: false,
        start: Instant::now(),
        asked: 0,
        epoll,
        signals,
    };
    let started = job.start(&name, limit).and_then(|()| Ok(job.serve()?));
    if started.is_err() {
        job.end_ranks(libc::SIGKILL);
    }
    leftovers::end_orphans(&guard, GRACE_ORPHANS);
    let status = started.and_then(|()| job.conclude());
    guard.dismiss();
    status
}

/// A name that no other job has and nobody can guess: it also keeps strangers out.
fn job_name() -> Result<String, Refusal> {
    let mut random = [0; 16];
    getrandom::fill(&mut random)
        .map_err(|e| Refusal::new(format!("the system has no random numbers: {e}")))?;
    let digits: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("ferrite_{digits}"))
}

impl Job<'_> {
    fn start(&mut self, name: &str, limit: libc::rlimit) -> Result<(), Refusal> {
        for note in &self.plan.notes {
            self.streams.say(&self.epoll, &format!("mpirun: {note}\n"));
        }
        for rank in 0..self.plan.ranks() {
            let (plan, signals) = (self.plan, &self.signals);
            let common = Common { plan, job: name, signals, limit, report: self.global.report };
            let started = spawn::start(&common, rank, &mut self.input)?;
            let shown = plan.apps[plan.app_of[rank]].shown.clone();
            self.ledger.started(shown, started.pid);
            let (pmi, control) = (started.pmi, started.control);
            self.epoll.add(pmi.as_raw_fd(), Source::Pmi(rank).token(), Interest::Read)?;
            self.epoll.add(control.as_raw_fd(), Source::Control(rank).token(), Interest::Read)?;
            let buffer = LineBuffer::default();
            self.lines.push(Line { pmi: Some(pmi), control: Some(control), buffer });
            self.streams.add(&self.epoll, started.outputs, self.plan.tag)?;
        }
        self.input.begin(&self.epoll)?;
        Ok(())
    }

    /// The loop: until no rank runs any more.
    fn serve(&mut self) -> std::io::Result<()> {
        while self.ledger.running().next().is_some() {
            let ready = self.epoll.wait(self.patience())?;
            if ready.is_empty() {
                self.streams.show_prompts(&self.epoll);
            }
            for token in ready {
                self.news(Source::from_token(token));
            }
            self.input.look_again(&self.epoll);
            if self.streams.unread() {
                self.ledger.unread();
            }
            if !self.progress_of_the_end() {
                break;
            }
        }
        Ok(())
    }

    /// How long to wait for news at most.
    fn patience(&self) -> Option<Duration> {
        let until = |time: Instant| time.saturating_duration_since(Instant::now());
        let limits = [
            match self.phase {
                Phase::Running => self.global.timeout.map(|limit| until(self.start + limit)),
                Phase::Listening(t) | Phase::Asked(t) | Phase::Killed(t) => Some(until(t)),
            },
            self.streams.has_prompt().then_some(PROMPT),
            self.input.in_background().then_some(FOREGROUND),
        ];
        limits.into_iter().flatten().min()
    }

    fn news(&mut self, source: Source) {
        match source {
            Source::Signals => self.signalled(),
            Source::Pmi(rank) => self.hear_pmi(rank),
            Source::Control(rank) => self.hear_control(rank),
            Source::Output(index) => {
                self.streams.readable(&self.epoll, index);
            }
            Source::Ours(index) => self.streams.writable(&self.epoll, index),
            Source::Stdin => self.input.readable(&self.epoll),
            Source::Feed(rank) => self.input.hungry(&self.epoll, rank),
        }
    }

    /// Takes all signals that have come.
    fn signalled(&mut self) {
        while let Some(signal) = self.signals.next() {
            match signal {
                libc::SIGCHLD => self.take_ends(),
                libc::SIGTSTP => {
                    self.signal_ranks(signal);
                    sys::stop_self();
                }
                libc::SIGINT | libc::SIGTERM | libc::SIGHUP | libc::SIGQUIT => {
                    self.asked += 1;
                    self.ledger.passed_on(signal);
                    // Who asks twice does not want to wait for the ranks' own idea of an end.
                    let insistent = self.asked > 1;
                    self.signal_ranks(if insistent { libc::SIGKILL } else { signal });
                    if insistent {
                        self.ledger.insisted(signal);
                    }
                }
                other => self.signal_ranks(other),
            }
        }
    }

    fn signal_ranks(&self, signal: i32) {
        for pid in self.ledger.running() {
            sys::kill_group(pid, signal);
        }
    }

    /// Moves the end of a failed job on; false when nothing more can be done.
    fn progress_of_the_end(&mut self) -> bool {
        let now = Instant::now();
        if let (Phase::Running, None, Some(limit)) =
            (self.phase, self.ledger.failure(), self.global.timeout)
            && now >= self.start + limit
        {
            self.call_the_roll();
            self.phase = Phase::Listening(now + ROLL_CALL);
        }
        if let (Phase::Listening(time), Some(limit)) = (self.phase, self.global.timeout)
            && (now >= time || self.unanswered.is_empty() || self.ledger.failure().is_some())
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
                self.phase = Phase::Killed(now + DISAPPEAR);
                self.end_ranks(libc::SIGKILL);
            }
            Phase::Killed(time) if now >= time => return false,
            Phase::Listening(_) | Phase::Asked(_) | Phase::Killed(_) => {}
        }
        true
    }

    /// Asks the ranks that use our library what they are doing.
    fn call_the_roll(&mut self) {
        let request = Frame::RollCallRequest.encode();
        let ask = |rank: &usize| {
            self.lines[*rank].control.as_ref().is_some_and(|socket| sys::send(socket, &request))
        };
        self.unanswered = self.report.ranks().filter(ask).collect();
    }

    /// Sends a signal that a stopped rank must hear as well.
    fn end_ranks(&self, signal: i32) {
        self.signal_ranks(signal);
        self.signal_ranks(libc::SIGCONT);
    }

    /// All ranks have ended: writes out what they left, says what went wrong.
    fn conclude(&mut self) -> Result<u8, Refusal> {
        self.streams.drain(&self.epoll);
        let (text, status) = self.ledger.verdict();
        if let Some(text) = text {
            self.streams.say(&self.epoll, &format!("mpirun: {text}\n"));
        }
        if self.global.report {
            let table = self.report.table(self.plan, self.start.elapsed());
            self.streams.say(&self.epoll, &table);
        }
        while !self.streams.is_empty() {
            for token in self.epoll.wait(None)? {
                match Source::from_token(token) {
                    Source::Ours(index) => self.streams.writable(&self.epoll, index),
                    // Whoever interrupts now does not want to read the rest.
                    Source::Signals => match self.signals.next() {
                        Some(libc::SIGINT | libc::SIGTERM | libc::SIGHUP | libc::SIGQUIT) => {
                            return Ok(status);
                        }
                        Some(libc::SIGTSTP) => sys::stop_self(),
                        _ => {}
                    },
                    Source::Pmi(rank) => self.lines[rank].pmi = None,
                    Source::Control(rank) => self.lines[rank].control = None,
                    Source::Feed(rank) => self.input.hungry(&self.epoll, rank),
                    Source::Stdin | Source::Output(_) => {}
                }
            }
        }
        Ok(status)
    }
}
