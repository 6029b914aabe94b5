//! What went wrong first: the ledger of a job's ranks, and the one paragraph that the user gets.
//!
//! Without any input or output of its own: in go the ends of ranks and what they told, out come the
//! first failure, mpirun's exit status, and whether the rest of the job is to be ended.

use crate::ranges::ranges;
use crate::refuse::Refusal;
use crate::sys::{End, signal_name};
use mpi_core::error;

/// Exit status of a job that ran longer than `--timeout` allows, as `timeout` has it.
const TIMED_OUT: u8 = 124;
/// Exit status of a job in which a rank leaves the others alone without an error of its own.
const DESERTED: u8 = 1;
/// Exit status of a job whose output could not be written.
const UNWRITTEN: u8 = 1;
/// Signals that programs end by which do something wrong.
const FAULTS: [i32; 5] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGABRT];
/// Exit statuses of programs killed by a signal start here.
const SIGNALLED: i32 = 128;

/// One rank as the job sees it.
#[derive(Debug, Clone)]
struct Rank {
    program: String,
    /// Its host, where there are several.
    host: Option<String>,
    /// Its process, once it has one.
    pid: Option<i32>,
    /// MPI_Init seen at least once.
    ever: bool,
    /// Between MPI_Init and MPI_Finalize.
    inside: bool,
    /// So many had left MPI when it did last.
    left: usize,
    /// It runs no more, or nobody can tell.
    over: bool,
    /// It ran on when the job failed, and was ended for that.
    outlives: bool,
}

impl Rank {
    fn runs(&self) -> bool {
        self.pid.is_some() && !self.over
    }
}

/// Why the job ends early.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    /// What the user is told; empty when the reason is the user's own, or has been told.
    pub(crate) text: String,
    /// mpirun's exit status.
    pub(crate) status: u8,
    /// Whether the user asked for the end: the ranks then get more time to obey.
    pub(crate) asked: bool,
}

/// Whom a failure is about: the others are ended for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum About {
    /// Ranks that run no more.
    Ended,
    /// A rank that is on its way out but still runs.
    Running(usize),
    /// A host or mpirun itself: it names no rank, so that there are no others.
    NoRank,
}

/// All ranks of a job.
#[derive(Debug)]
pub(crate) struct Ledger {
    ranks: Vec<Rank>,
    failure: Option<(About, Failure)>,
    /// The exit status of a rank that had finalized and then failed: of several the one that left MPI first, which the
    /// others may have missed.
    late: Option<(i32, String)>,
    /// When that one left.
    late_left: usize,
    /// How often a rank has left MPI.
    leaves: usize,
    /// The signals that were passed on to the ranks and end programs.
    passed_on: Vec<i32>,
    /// Nobody reads our output any more, so that SIGPIPE in a rank is no news.
    unread: bool,
}

impl Ledger {
    /// A job of ranks that have not been started yet: for each its program and, where there are
    /// several, its host.
    pub(crate) fn new(ranks: impl Iterator<Item = (String, Option<String>)>) -> Ledger {
        let rank = |(program, host)| Rank {
            program,
            host,
            pid: None,
            ever: false,
            inside: false,
            left: 0,
            over: false,
            outlives: false,
        };
        let ranks = ranks.map(rank).collect();
        Ledger {
            ranks,
            failure: None,
            late: None,
            late_left: usize::MAX,
            leaves: 0,
            passed_on: Vec::new(),
            unread: false,
        }
    }

    /// A rank has been started.
    pub(crate) fn started(&mut self, rank: usize, pid: i32) {
        self.ranks[rank].pid = Some(pid);
    }

    /// The first failure, if there was one.
    pub(crate) fn failure(&self) -> Option<&Failure> {
        self.failure.as_ref().map(|(_, failure)| failure)
    }

    /// Whether no rank runs any more, or is still to be started.
    pub(crate) fn is_over(&self) -> bool {
        match self.failure.is_some() {
            true => !self.ranks.iter().any(Rank::runs),
            false => self.ranks.iter().all(|rank| rank.over),
        }
    }

    /// Whether any rank has been started.
    pub(crate) fn has_begun(&self) -> bool {
        self.ranks.iter().any(|rank| rank.pid.is_some())
    }

    /// Whether this rank has ended MPI, whatever it does now.
    pub(crate) fn has_left(&self, rank: usize) -> bool {
        let rank = &self.ranks[rank];
        rank.over || rank.ever && !rank.inside
    }

    /// The rank has begun or ended MPI.
    pub(crate) fn inside(&mut self, rank: usize, inside: bool) {
        let known = &mut self.ranks[rank];
        if known.inside && !inside {
            known.left = self.leaves;
            self.leaves += 1;
        }
        known.inside = inside;
        known.ever |= inside;
    }

    /// Signal `signal` has been passed on to all ranks, and is expected to end them.
    pub(crate) fn passed_on(&mut self, signal: i32) {
        self.passed_on.push(signal);
    }

    /// The user asked for the end and does not want to wait for it.
    pub(crate) fn insisted(&mut self, signal: i32) {
        let text = format!("the job was ended by {}.", signal_name(signal));
        self.fail(Failure { text, status: exit_status(SIGNALLED + signal), asked: true });
    }

    /// Nobody reads mpirun's output any more.
    pub(crate) fn unread(&mut self) {
        self.unread = true;
    }

    /// The ranks' output cannot be written, which the user has been told.
    pub(crate) fn unwritten(&mut self) {
        self.fail(Failure { text: String::new(), status: UNWRITTEN, asked: false });
    }

    /// A rank has ended the job with an error, told by itself.
    pub(crate) fn told(&mut self, rank: usize, code: i32, text: &str) {
        let text = match text.trim_end() {
            "" => format!("{} called MPI_Abort with code {code}.", self.name(rank)),
            told => sentence(told),
        };
        self.fail_of(
            About::Running(rank),
            Failure { text, status: exit_status(code), asked: false },
        );
    }

    /// A rank ends the job since it cannot reach another one; who looks for the cable knows hosts, not ranks.
    pub(crate) fn cannot_reach(&mut self, rank: usize, peer: u32, code: i32, text: &str) {
        let host = |rank: usize| self.ranks.get(rank)?.host.as_deref();
        let places = match (host(rank), host(peer as usize)) {
            (Some(here), Some(there)) => {
                format!(" Rank {rank} runs on {here}, rank {peer} on {there}.")
            }
            _ => String::new(),
        };
        self.told(rank, code, &(sentence(text.trim_end()) + &places));
    }

    /// A host cannot do its part.
    pub(crate) fn refused(&mut self, host: Option<&str>, refusal: &Refusal) {
        let Refusal { text, status } = refusal;
        let text = match host {
            Some(host) => format!("host {host}: {text}."),
            None => format!("{text}."),
        };
        self.fail_of(About::NoRank, Failure { text, status: *status, asked: false });
    }

    /// A host is out of reach, and the ranks there, if any still ran, with it.
    pub(crate) fn lost(&mut self, host: &str, arrived: bool, why: &str, on: &[usize]) {
        let ranks: Vec<usize> = on.iter().copied().filter(|&r| !self.ranks[r].over).collect();
        for &rank in &ranks {
            self.ranks[rank].over = true;
        }
        let what = match (arrived, ranks.is_empty()) {
            // They have done what they had to.
            (true, true) => return,
            (true, false) => {
                let with = ranges(&ranks);
                error::sentence(&format!("host {host} was lost, and {with} with it: {why}"))
                    .into_owned()
            }
            (false, _) => format!(
                "host {host} cannot be used: {} It must be possible to run a command there \
                 without a question (try: ssh {host} true), and Ferrite must be installed there \
                 at the same place (--prefix tells another).",
                error::sentence(why)
            ),
        };
        let (about, status) = match arrived {
            true => (About::Ended, DESERTED),
            false => (About::NoRank, crate::refuse::REFUSED),
        };
        self.fail_of(about, Failure { text: what, status, asked: false });
    }

    /// A rank does not speak the process manager's language.
    pub(crate) fn garbled(&mut self, rank: usize, why: &str) {
        let text =
            format!("{} sent mpirun something wrong: {}", self.name(rank), error::sentence(why));
        self.fail_of(About::Running(rank), Failure { text, status: DESERTED, asked: false });
    }

    /// A rank's process has ended.
    pub(crate) fn ended(&mut self, rank: usize, end: End) {
        let known = &mut self.ranks[rank];
        known.over = true;
        if let End::Killed { signal, .. } = end
            && FAULTS.contains(&signal)
            && !self.passed_on.contains(&signal)
        {
            // By itself, as the one that is told did, a moment later.
            known.outlives = false;
        }
        match end {
            End::Killed { signal, core } => self.killed(rank, signal, core),
            End::Exited(code) => match self.asked_to_end(rank, code) {
                Some(signal) => {
                    let status = if code == 0 { SIGNALLED + signal } else { code };
                    let text = format!("the job was ended by {}.", signal_name(signal));
                    self.fail(Failure { text, status: exit_status(status), asked: true });
                }
                None => self.exited(rank, code),
            },
        }
    }

    /// A rank's process has ended by itself.
    fn exited(&mut self, rank: usize, code: i32) {
        match code {
            0 if self.ranks[rank].inside => {
                let waits =
                    if self.ranks.len() > 1 { ", and the other ranks may wait for it" } else { "" };
                let text = format!(
                    "{} ended without MPI_Finalize{waits}. Every rank that calls MPI_Init has to call \
                     MPI_Finalize, or MPI_Abort to end the job.",
                    self.name(rank)
                );
                self.fail(Failure { text, status: DESERTED, asked: false });
            }
            0 => {}
            code => {
                let text = format!("{} ended with exit status {code}.", self.name(rank));
                let Rank { ever, inside, left, .. } = self.ranks[rank];
                if ever && !inside {
                    if left < self.late_left {
                        (self.late, self.late_left) = (Some((code, text)), left);
                    }
                } else {
                    self.fail(Failure { text, status: exit_status(code), asked: false });
                }
            }
        }
    }

    /// The signal that has told a rank to end which ends with this status: a handler of its own may have saved
    /// something first. What it might have done without the signal counts as that. Whoever survives SIGQUIT has taken
    /// it for something else: many programs then say what they are at.
    fn asked_to_end(&self, rank: usize, code: i32) -> Option<i32> {
        let rank = &self.ranks[rank];
        let is_early = if rank.ever { rank.inside } else { code != 0 };
        let mut asks = self.passed_on.iter().copied().filter(|signal| *signal != libc::SIGQUIT);
        if is_early { asks.next() } else { None }
    }

    fn killed(&mut self, rank: usize, signal: i32, core: bool) {
        let status = exit_status(SIGNALLED + signal);
        if self.passed_on.contains(&signal) {
            let text = format!("the job was ended by {}.", signal_name(signal));
            return self.fail(Failure { text, status, asked: true });
        }
        if signal == libc::SIGPIPE && self.unread {
            return self.fail(Failure { text: String::new(), status, asked: false });
        }
        let hint = match signal {
            libc::SIGSEGV | libc::SIGBUS => {
                " It used memory that it does not have; in Fortran with mpif.h an argument may be missing (`use \
                 mpi` lets the compiler see it)."
            }
            libc::SIGABRT => " It called abort(), as a failed assertion does.",
            libc::SIGILL => " It may be built for a newer processor.",
            libc::SIGFPE => " It divided an integer by zero, or has floating-point traps on.",
            libc::SIGKILL => {
                " Somebody ended it by force: a person, a batch system's limit, or the kernel \
                 short of memory (see dmesg)."
            }
            libc::SIGXCPU => " Its limit of CPU time is used up (ulimit -t).",
            libc::SIGPIPE => " It wrote to a pipe that nobody reads.",
            _ => "",
        };
        let dumped = if core { " (core file written)" } else { "" };
        let name = self.name(rank);
        let signal_text = match signal_name(signal) {
            name if name.starts_with("SIG") => format!("signal {signal} ({name})"),
            other => other,
        };
        let text = format!("{name} was killed by {signal_text}{dumped}.{hint}");
        self.fail(Failure { text, status, asked: false });
    }

    /// Looks for ranks that wait for one that can never come: `waits` tells who is in a barrier of
    /// the process manager, `gone` whose connection to it is closed as well. MPI_Init is such a
    /// step of all ranks, whether it uses that barrier or not. Who entered a barrier and left
    /// without waiting, as a session may, keeps nobody there.
    pub(crate) fn look_for_deserters(
        &mut self,
        waits: impl Fn(usize) -> bool,
        gone: impl Fn(usize) -> bool,
    ) {
        if self.failure.is_some() {
            return;
        }
        let all = 0..self.ranks.len();
        let Some(deserter) = all.clone().find(|&r| self.ranks[r].over && gone(r) && !waits(r))
        else {
            return;
        };
        let never = !self.ranks[deserter].ever;
        let waiting = |r: &usize| {
            let rank = &self.ranks[*r];
            rank.runs() && (waits(*r) || (never && rank.inside))
        };
        let waiting: Vec<usize> = all.filter(waiting).collect();
        if waiting.is_empty() {
            return;
        }
        let verb = if waiting.len() == 1 { "waits" } else { "wait" };
        let (name, who) = (self.name(deserter), ranges(&waiting));
        let text = if never {
            format!(
                "{name} ended without calling MPI_Init, which {who} called and cannot complete \
                 without it. Either all ranks of a job call MPI_Init, or none does."
            )
        } else {
            format!(
                "{name} ended after MPI_Finalize, while {who} {verb} for it in a step that all \
                 ranks have to take together."
            )
        };
        self.fail(Failure { text, status: DESERTED, asked: false });
    }

    /// Whether a rank has failed after it had left MPI, which ends nobody at once.
    pub(crate) fn has_failed_late(&self) -> bool {
        self.late.is_some()
    }

    /// Some time after such a failure: those who are still inside of MPI may wait for what does not
    /// come any more.
    pub(crate) fn outstayed(&mut self) {
        let inside = |r: &usize| self.ranks[*r].runs() && self.ranks[*r].inside;
        let inside: Vec<usize> = (0..self.ranks.len()).filter(inside).collect();
        let Some((code, text)) = self.late.clone().filter(|_| !inside.is_empty()) else { return };
        let (text, verb) =
            (text.trim_end_matches('.'), if inside.len() == 1 { "is" } else { "are" });
        let text = format!(
            "{text} after MPI_Finalize, as a script does that ends by an error, and {} {verb} still \
             between MPI_Init and MPI_Finalize.",
            ranges(&inside)
        );
        self.fail(Failure { text, status: exit_status(code), asked: false });
    }

    /// The time of `--timeout` is over.
    pub(crate) fn timed_out(&mut self, limit: std::time::Duration) {
        let all = 0..self.ranks.len();
        let still = |inside: bool| -> Vec<usize> {
            let rank = |r: &usize| self.ranks[*r].runs() && self.ranks[*r].inside == inside;
            all.clone().filter(rank).collect()
        };
        let (inside, outside) = (still(true), still(false));
        let seconds = limit.as_secs_f64();
        let mut text = format!("the job ran longer than --timeout allows, {seconds} s");
        if !inside.is_empty() {
            text += &format!("; {} still between MPI_Init and MPI_Finalize", ranges(&inside));
        }
        if !outside.is_empty() {
            text += &format!("; {} still running outside MPI", ranges(&outside));
        }
        text.push('.');
        self.fail(Failure { text, status: TIMED_OUT, asked: false });
    }

    /// Only the first failure counts; what follows is most likely its consequence.
    fn fail(&mut self, failure: Failure) {
        self.fail_of(About::Ended, failure);
    }

    fn fail_of(&mut self, about: About, failure: Failure) {
        if self.failure.is_some() {
            return;
        }
        if !failure.text.is_empty() && !failure.asked && failure.status != TIMED_OUT {
            for (number, rank) in self.ranks.iter_mut().enumerate() {
                rank.outlives = rank.runs() && about != About::Running(number);
            }
        }
        self.failure = Some((about, failure));
    }

    /// What became of the other ranks when the job failed.
    fn others(&self, about: About) -> String {
        let other = if about == About::NoRank { "" } else { "other " };
        match self.ranks.iter().filter(|rank| rank.outlives).count() {
            0 => String::new(),
            1 => format!(" The {other}rank that still ran was ended."),
            n => format!(" The {n} {other}ranks that still ran were ended."),
        }
    }

    /// How a rank is called in messages, with its host, which is named otherwise where there are several.
    pub(crate) fn full_name(&self, rank: usize, host: &str) -> String {
        self.name_on(rank, Some(host))
    }

    /// How a rank is called in messages.
    fn name(&self, rank: usize) -> String {
        self.name_on(rank, self.ranks[rank].host.as_deref())
    }

    fn name_on(&self, rank: usize, host: Option<&str>) -> String {
        let Rank { program, pid, .. } = &self.ranks[rank];
        let host = host.map(|host| format!(" on {host}")).unwrap_or_default();
        let pid = pid.map(|pid| format!(", pid {pid}")).unwrap_or_default();
        format!("rank {rank}{host} ({program}{pid})")
    }

    /// What to print at the end, and mpirun's exit status.
    pub(crate) fn verdict(&self) -> (Option<String>, u8) {
        match (&self.failure, &self.late) {
            (Some((_, failure)), _) if failure.text.is_empty() => (None, failure.status),
            (Some((about, Failure { text, status, .. })), _) => {
                (Some(text.clone() + &self.others(*about)), *status)
            }
            (None, Some((code, text))) => (Some(text.clone()), exit_status(*code)),
            (None, None) => (None, 0),
        }
    }
}

/// What a rank tells, which its library begins with its own name, as a sentence of mpirun's.
fn sentence(told: &str) -> String {
    let told = told.strip_prefix("ferrite: ").unwrap_or(told);
    // A class of errors stands behind a sentence.
    match told.ends_with([':', ']']) {
        true => told.to_owned(),
        false => error::sentence(told).into_owned(),
    }
}

/// A status as the kernel passes it on: eight bits. What was not 0 must not become 0 by the cut.
fn exit_status(code: i32) -> u8 {
    let [low, ..] = code.to_le_bytes();
    if code != 0 && low == 0 { 1 } else { low }
}

#[cfg(test)]
#[path = "failures_tests.rs"]
mod tests;
