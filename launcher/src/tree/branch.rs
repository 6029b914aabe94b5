//! An agent as the host sees it that has started it: the command (ssh), the stream through its
//! standard input and output, and what it writes to standard error.

use super::frame::{Down, Frame};
use super::link::Link;
use super::{ARRIVAL, SILENCE};
use crate::leftovers::{REACHES, reaching_mark};
use crate::plan::Plan;
use crate::program;
use crate::refuse::Refusal;
use crate::source::Source;
use crate::sys::{self, ChildPlan, End, Epoll, Interest, c_string};
use std::ffi::OsStr;
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How much of what the command says before the agent arrives is kept.
const WORDS_MAX: usize = 4096;

/// How long the command may take to end after it has closed its streams.
const ENDING: Duration = Duration::from_millis(200);

/// One agent.
#[derive(Debug)]
pub(crate) struct Branch {
    /// The hosts that it is answerable for; it runs on the first.
    pub(crate) nodes: Range<usize>,
    /// The command's process.
    pub(crate) pid: i32,
    /// The agent has looked at its orders.
    pub(crate) arrived: bool,
    /// It has cleared away everything, or is lost.
    pub(crate) over: bool,
    /// How the command ended, once it has.
    pub(crate) ended: Option<End>,
    /// The stream of frames.
    pub(crate) link: Option<Link>,
    command: String,
    words: Option<OwnedFd>,
    /// What was said before it arrived.
    said: Vec<u8>,
    /// When it was started, moved on by the time in which nobody listened.
    start: Instant,
}

impl Branch {
    /// Starts the agent for `nodes`, the `index`th of this host.
    pub(crate) fn start(
        plan: &Plan,
        orders: &[u8],
        nodes: Range<usize>,
        (epoll, index): (&Epoll, usize),
        (mask, descriptor_limit): (libc::sigset_t, sys::Rlimit),
    ) -> Result<Branch, Refusal> {
        let host = plan.hosts[nodes.start].clone();
        let words = plan.way.command(&host);
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path: Vec<PathBuf> = std::env::split_paths(&path).collect();
        let found = program::find(&words[0], &path, &plan.here).map_err(|refusal| {
            let what = &refusal.text;
            Refusal::new(format!("host {host} cannot be reached by --launcher: {what}"))
        })?;
        let [their_in, to] = sys::pipe(1)?;
        let [from, their_out] = sys::pipe(0)?;
        let [heard, their_err] = sys::pipe(0)?;
        let all = found.words.iter().chain(&words[1..]);
        let own = std::env::vars_os().filter(|(name, _)| name != REACHES);
        let environment = own.chain([(REACHES.into(), reaching_mark().into())]);
        let environment = environment.map(|(name, value)| {
            c_string(&[name.as_os_str(), value.as_os_str()].join(OsStr::new("=")))
        });
        let child = ChildPlan {
            file: c_string(found.file.as_os_str())?,
            arguments: all.map(|word| c_string(word)).collect::<io::Result<_>>()?,
            environment: environment.collect::<io::Result<_>>()?,
            directory: None,
            streams: [their_in.as_fd(), their_out.as_fd(), their_err.as_fd()],
            inherited: &[],
            cpus: None,
            mask,
            descriptor_limit,
        };
        let command = words[0].to_string_lossy().into_owned();
        let pid = sys::start(&child).map_err(|failed| {
            let why = failed.error;
            Refusal::new(format!("host {host}: “{command}” cannot be started: {why}"))
        })?;
        let tokens = [Source::BranchIn(index), Source::BranchOut(index)].map(Source::token);
        let mut link = Link::new(epoll, (from, tokens[0]), (to, tokens[1]))?;
        epoll.add(&heard, Source::BranchWords(index).token(), Interest::Read)?;
        let (first, end) = (nodes.start, nodes.end);
        let orders = Down::Orders { first, end, plan: orders.to_vec() };
        link.send(epoll, &orders.encode());
        Ok(Branch {
            nodes,
            pid,
            arrived: false,
            over: false,
            ended: None,
            link: Some(link),
            command,
            words: Some(heard),
            said: Vec::new(),
            start: Instant::now(),
        })
    }

    /// Reads what the command writes to standard error. What it says before the agent arrives is
    /// kept, since it may tell why that never happens.
    pub(crate) fn hear_words(&mut self) -> Vec<u8> {
        let mut chunk = [0; WORDS_MAX];
        let Some(words) = &self.words else { return Vec::new() };
        match sys::read(words, &mut chunk) {
            Ok(None) => {}
            Ok(Some(n)) if n > 0 => {
                self.said.extend_from_slice(&chunk[..n]);
                let over = self.said.len().saturating_sub(WORDS_MAX);
                self.said.drain(..if self.arrived { 0 } else { over });
            }
            Ok(Some(_)) | Err(_) => self.words = None,
        }
        if self.arrived { std::mem::take(&mut self.said) } else { Vec::new() }
    }

    /// Why the stream has ended, as far as the command's own end tells.
    pub(crate) fn why_it_ended(&mut self) -> String {
        if self.ended.is_none() {
            sys::await_end(self.pid, ENDING);
            self.ended = sys::reap_now(self.pid);
        }
        while self.words.is_some() && !self.arrived {
            let before = self.said.len();
            self.hear_words();
            if self.said.len() == before {
                break;
            }
        }
        let mut why = match self.ended {
            None => "its connection was closed".to_string(),
            Some(End::Exited(status)) => {
                format!("“{}” ended with exit status {status}", self.command)
            }
            Some(End::Killed { signal, .. }) => {
                format!("“{}” was killed by {}", self.command, sys::signal_name(signal))
            }
        };
        let said = String::from_utf8_lossy(&self.said);
        let said: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        if !said.is_empty() && !self.arrived {
            why += &format!(" and said: {}", said.join("; "));
        }
        why
    }

    /// Whether it has been silent for too long, in words.
    pub(crate) fn too_silent(&self) -> Option<String> {
        let link = self.link.as_ref()?;
        if !self.arrived {
            return (self.start.elapsed() > ARRIVAL)
                .then(|| format!("its agent did not arrive within {} s", ARRIVAL.as_secs()));
        }
        (link.silence() > SILENCE)
            .then(|| format!("it has not been heard of for {} s", SILENCE.as_secs()))
    }

    /// Does not count so much of its silence: nobody listened.
    pub(crate) fn excuse(&mut self, late: Duration) {
        self.start += late;
        if let Some(link) = &mut self.link {
            link.excuse(late);
        }
    }

    /// Gives up: closes everything, which the agent takes for the end if it is still there, and
    /// ends the command.
    pub(crate) fn cut(&mut self) {
        self.over = true;
        self.link = None;
        self.words = None;
        if self.ended.is_none() {
            sys::kill(self.pid, libc::SIGTERM);
        }
    }
}
