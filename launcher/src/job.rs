//! A running job: starts the ranks, then one loop that serves their sockets, moves their output,
//! passes signals on and ends everything when the first of them fails.

use crate::failures::Ledger;
use crate::input::Input;
use crate::leftovers::{self, Guard};
use crate::options::Global;
use crate::plan::Plan;
use crate::pmi_server::{Event, Server};
use crate::refuse::Refusal;
use crate::report::Report;
use crate::source::Source;
use crate::spawn::{self, Common};
use crate::streams::Streams;
use crate::sys::{self, End, Epoll, Interest, Signals};
use launch_wire::control::{FRAME_MAX, Frame};
use launch_wire::pmi1::LineBuffer;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

/// How long ranks may take to end after SIGTERM before they are killed.
const GRACE: Duration = Duration::from_millis(500);
/// The same when the user asked for the end: a program may be writing its checkpoint.
const GRACE_ASKED: Duration = Duration::from_secs(5);
/// How long killed ranks may take to disappear.
const DISAPPEAR: Duration = Duration::from_secs(1);
/// How long the end of a process may take to become visible after its sockets were closed.
const DYING: Duration = Duration::from_millis(200);
/// How long descendants may take that outlived all ranks.
const GRACE_ORPHANS: Duration = Duration::from_millis(200);
/// How long an unfinished line is held back from a terminal.
const PROMPT: Duration = Duration::from_millis(100);
/// How often to look whether we have come to the terminal's foreground.
const FOREGROUND: Duration = Duration::from_secs(1);

/// A rank's sockets, as long as somebody holds the other end.
#[derive(Debug)]
struct Line {
    pmi: Option<OwnedFd>,
    control: Option<OwnedFd>,
    buffer: LineBuffer,
}

/// How far the end of a failed job has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Running,
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
    epoll: Epoll,
    signals: Signals,
    server: Server,
    ledger: Ledger,
    report: Report,
    streams: Streams,
    input: Input,
    lines: Vec<Line>,
    phase: Phase,
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
                Phase::Asked(time) | Phase::Killed(time) => Some(until(time)),
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

    /// Processes have ended: ranks, or descendants that fell to us.
    fn take_ends(&mut self) {
        while let Some((pid, end)) = sys::reap() {
            let Some(rank) = self.ledger.rank_of(pid) else { continue };
            // What a rank said before it ended counts before the way it ended.
            self.hear_control(rank);
            self.hear_pmi(rank);
            if matches!(end, End::Exited(code) if code != 0) {
                self.take_dying(rank);
            }
            self.ledger.ended(rank, end);
        }
        self.look_for_deserters();
    }

    /// A rank reports a failure. Where another one dies at this moment, that is the cause: its sockets
    /// are closed by the kernel before its end can be seen, and its peers may notice that first.
    fn take_dying(&mut self, speaker: usize) {
        if self.ledger.failure().is_some() {
            return;
        }
        for rank in (0..self.lines.len()).filter(|&rank| rank != speaker) {
            let hung_up = self.lines[rank].pmi.as_ref().is_none_or(sys::is_hung_up);
            if let Some(pid) = self.ledger.busy(rank).filter(|_| hung_up) {
                sys::await_end(pid, DYING);
                if let Some(end) = sys::reap_now(pid) {
                    self.ledger.ended(rank, end);
                }
            }
        }
    }

    fn look_for_deserters(&mut self) {
        let (server, lines) = (&self.server, &self.lines);
        self.ledger.look_for_deserters(|r| server.waits(r), |r| lines[r].pmi.is_none());
    }

    /// Reads and answers what a rank says on its PMI socket.
    fn hear_pmi(&mut self, rank: usize) {
        let mut chunk = [0; 16 * 1024];
        loop {
            let Some(socket) = &self.lines[rank].pmi else { return };
            match sys::receive(socket, &mut chunk) {
                Ok(None) => return,
                Ok(Some(n)) if n > 0 => self.lines[rank].buffer.push(&chunk[..n]),
                Ok(Some(_)) | Err(_) => {
                    self.lines[rank].pmi = None;
                    return self.look_for_deserters();
                }
            }
            self.answer_pmi(rank);
        }
    }

    fn answer_pmi(&mut self, rank: usize) {
        loop {
            let outcome = match self.lines[rank].buffer.next_line() {
                Ok(None) => return,
                Ok(Some(line)) => self.server.line(rank, line),
                Err(error) => Err(error),
            };
            let outcome = match outcome {
                Ok(outcome) => outcome,
                Err(error) => {
                    self.lines[rank].pmi = None;
                    return self.ledger.garbled(rank, &error.to_string());
                }
            };
            for (to, reply) in outcome.replies {
                let socket = &mut self.lines[to].pmi;
                if socket.as_ref().is_some_and(|socket| !sys::send(socket, reply.as_bytes())) {
                    *socket = None;
                }
            }
            match outcome.event {
                Some(Event::Init) => self.ledger.inside(rank, true),
                Some(Event::Finalize) => self.ledger.inside(rank, false),
                Some(Event::Abort(code)) => self.aborted(rank, code, ""),
                None => {}
            }
            self.look_for_deserters();
        }
    }

    /// A rank asks for the end of the job.
    fn aborted(&mut self, rank: usize, code: i32, text: &str) {
        self.take_dying(rank);
        self.ledger.told(rank, code, text);
    }

    /// Reads what a rank says on its control socket.
    fn hear_control(&mut self, rank: usize) {
        let mut packet = vec![0; FRAME_MAX];
        loop {
            let Some(socket) = &self.lines[rank].control else { return };
            let n = match sys::receive(socket, &mut packet) {
                Ok(None) => return,
                Ok(Some(n)) if n > 0 => n,
                Ok(Some(_)) | Err(_) => {
                    self.lines[rank].control = None;
                    return;
                }
            };
            let frame = packet.get(..n).map(Frame::decode);
            match frame {
                Some(Ok(Frame::Hello { face, .. })) => self.report.face(rank, face),
                Some(Ok(Frame::InitSeen)) => {
                    self.ledger.inside(rank, true);
                    self.look_for_deserters();
                }
                Some(Ok(Frame::FinalizeSeen)) => self.ledger.inside(rank, false),
                Some(Ok(Frame::ErrorParagraph { code, text })) => self.aborted(rank, code, &text),
                Some(Ok(Frame::AbortRequest { code, text })) => self.aborted(rank, code, &text),
                Some(Ok(Frame::ReportTable { text })) => self.report.add(rank, &text),
                Some(Ok(Frame::RollCall { text })) => {
                    let line = format!("mpirun: rank {rank}: {}\n", text.trim_end());
                    self.streams.say(&self.epoll, &line);
                }
                Some(Err(error)) => {
                    self.lines[rank].control = None;
                    return self.ledger.garbled(rank, &error.to_string());
                }
                None => {
                    self.lines[rank].control = None;
                    return self.ledger.garbled(rank, "a control frame is too long");
                }
            }
        }
    }

    /// Moves the end of a failed job on; false when nothing more can be done.
    fn progress_of_the_end(&mut self) -> bool {
        let now = Instant::now();
        if let (Phase::Running, Some(limit)) = (self.phase, self.global.timeout)
            && now >= self.start + limit
        {
            self.ledger.timed_out(limit);
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
            Phase::Asked(_) | Phase::Killed(_) => {}
        }
        true
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
