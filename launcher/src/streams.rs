//! The ranks' standard output and error on their way to mpirun's own.
//!
//! In: what ranks have written, and writable streams of ours. Out: lines (see `output.rs`), in
//! portions that cannot block mpirun: at most a pipe's atomic size at a time, and only when the system
//! says that there is room. An unfinished line waits for its end for a moment, so that no other comes
//! between, and then goes as it is ([`Streams::let_go`]). When a reader is slow the ranks' hosts are not told to go on
//! ([`Streams::settle`]), and nothing piles up. A stream that nobody reads any more is left in silence,
//! as in any pipeline; one that cannot be written for another reason is complained of
//! ([`Streams::complain`]).

use crate::files::Files;
use crate::outlets::CREDIT;
use crate::output::{Clock, Lines, Sink, Tag};
use crate::source::Source;
use crate::sys::{self, Epoll, Interest, Kind};
use crate::tree::frame::Down;
use launch_wire::plain;
use std::collections::BTreeSet;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

/// What can be written to a pipe without blocking once it is writable (PIPE_BUF).
const PORTION: usize = 4096;

/// How much of a further host's output is taken before it is told so.
const WORTH_TELLING: usize = CREDIT / 4;

/// How long an unfinished line is held back from a terminal, where somebody waits for a prompt.
const PROMPT: Duration = Duration::from_millis(100);

/// The same of other streams, whose readers look at rows of dots at most.
const AGED: Duration = Duration::from_millis(500);

/// The same of a line that a full buffer of the program's has cut: the rest comes when the next is full.
const CUT: Duration = Duration::from_secs(5);

/// What buffers of programs hold is a multiple of this.
const BUFFER: usize = 4096;

/// Who mpirun itself is among those that write.
const OWN: usize = usize::MAX;

/// One of our two output streams.
#[derive(Debug)]
struct Ours {
    standard: BorrowedFd<'static>,
    /// A terminal is opened anew.
    anew: Option<OwnedFd>,
    sink: Sink,
    /// Can be waited for; a file cannot, and is always ready.
    waitable: bool,
    terminal: bool,
    /// What we wait for.
    waiting: bool,
    /// Nobody reads it any more, or it cannot be written.
    gone: bool,
    /// That has been told.
    told: bool,
    /// Why it cannot be written.
    failed: Option<io::Error>,
}

impl Ours {
    /// Where it is written to.
    fn fd(&self) -> BorrowedFd<'_> {
        self.anew.as_ref().map_or(self.standard, AsFd::as_fd)
    }
}

/// One output stream of a rank.
#[derive(Debug)]
struct Theirs {
    lines: Lines,
    /// The index of our stream that it goes to.
    to: usize,
    /// When what is held of its unfinished line is let go.
    due: Option<Instant>,
}

/// All output streams of a job.
#[derive(Debug)]
pub(crate) struct Streams {
    ours: [Ours; 2],
    /// Two for each rank.
    theirs: Vec<Theirs>,
    /// Those of them that hold an unfinished line, with the time when it is let go.
    holding: BTreeSet<(Instant, usize)>,
    /// There is one rank, and nothing to keep its output apart from.
    alone: bool,
    merged: bool,
    /// For each host how much of its output and errors was taken and not told.
    owed: Vec<[usize; 2]>,
    /// Whether a stream that cannot be written has been complained of.
    complained: bool,
    /// Where ranks' output goes besides, or instead.
    files: Files,
}

impl Streams {
    /// Streams for `ranks` ranks on `hosts` hosts. `merged`: everything goes to standard output.
    pub(crate) fn new(
        epoll: &Epoll,
        merged: bool,
        mark: (Tag, Option<Clock>),
        (ranks, hosts): (usize, usize),
        files: Files,
    ) -> Streams {
        let ours = [0, 1].map(|index: usize| {
            let standard = [sys::stdout(), sys::stderr()][index];
            let terminal = sys::kind(standard) == Kind::Terminal;
            let anew = terminal.then(|| sys::terminal_anew(standard)).flatten();
            let mut ours = Ours {
                standard,
                anew,
                sink: Sink::default(),
                waitable: false,
                terminal,
                waiting: false,
                gone: false,
                told: false,
                failed: None,
            };
            let token = Source::Ours(index).token();
            ours.waitable = epoll.add(ours.fd(), token, Interest::Nothing).is_ok();
            ours
        });
        let of_rank = |rank| {
            [(0, "stdout"), (1, "stderr")].map(|(index, name)| Theirs {
                lines: Lines::new(mark, rank, name),
                to: if merged { 0 } else { index },
                due: None,
            })
        };
        let theirs = (0..ranks).flat_map(of_rank).collect();
        Streams {
            ours,
            theirs,
            holding: BTreeSet::new(),
            alone: ranks == 1 && !merged && mark.0 == Tag::None,
            merged,
            owed: vec![[0; 2]; hosts],
            complained: false,
            files,
        }
    }

    /// A rank of host `node` has written something, or (no bytes) ended its stream.
    pub(crate) fn take(
        &mut self,
        epoll: &Epoll,
        node: usize,
        (rank, which): (usize, usize),
        bytes: &[u8],
    ) {
        let index = 2 * rank + which;
        let alone = self.alone;
        self.owed[node][which] += bytes.len();
        let stream = if self.merged { 2 * rank } else { index };
        if !self.files.take(stream, bytes) {
            return;
        }
        self.pass(epoll, index, |lines, out| match bytes.is_empty() {
            true => lines.finish(out),
            false => {
                lines.push(bytes, out);
                if alone {
                    lines.show_partial(out);
                }
            }
        });
        self.hold(index, bytes, Instant::now());
    }

    /// Queues what comes of `step` with the lines of stream `index`.
    fn pass(&mut self, epoll: &Epoll, index: usize, step: impl FnOnce(&mut Lines, &mut Vec<u8>)) {
        let Theirs { lines, to, .. } = &mut self.theirs[index];
        let (mut out, to) = (Vec::new(), *to);
        if !self.ours[to].sink.continues(index) {
            lines.interrupted();
        }
        step(lines, &mut out);
        self.queue(epoll, to, index, &out);
    }

    /// Notes until when the unfinished line of stream `index` is held, of which `bytes` are the last.
    fn hold(&mut self, index: usize, bytes: &[u8], now: Instant) {
        let Theirs { lines, to, due } = &mut self.theirs[index];
        let begun = due.is_none() || bytes.contains(&b'\n');
        let patience = match (bytes.len().is_multiple_of(BUFFER), self.ours[*to].terminal) {
            (true, _) => CUT,
            (false, true) => PROMPT,
            (false, false) => AGED,
        };
        let until = now + patience;
        let new = match lines.is_open() {
            false => None,
            true if begun => Some(until),
            true => due.map(|due| due.min(until)),
        };
        if new != *due {
            self.holding.extend(new.map(|time| (time, index)));
            if let Some(old) = std::mem::replace(due, new) {
                self.holding.remove(&(old, index));
            }
        }
    }

    /// What to tell the hosts: that there is room for more of their output, or that nobody reads it.
    pub(crate) fn settle(&mut self) -> Vec<Down> {
        let mut requests = Vec::new();
        for which in 0..2 {
            let ours = &mut self.ours[if self.merged { 0 } else { which }];
            if ours.gone && !std::mem::replace(&mut ours.told, true) {
                let all = if self.merged { 0..2 } else { which..which + 1 };
                requests.extend(all.map(Down::Unread));
            }
            if ours.sink.is_full() {
                continue;
            }
            for (node, owed) in self.owed.iter_mut().enumerate() {
                let worth = if node == 0 { 1 } else { WORTH_TELLING };
                if owed[which] >= worth {
                    let bytes = std::mem::take(&mut owed[which]);
                    requests.push(Down::Taken { node, which, bytes });
                }
            }
        }
        requests
    }

    /// Adds to what our stream `to` is to write.
    fn queue(&mut self, epoll: &Epoll, to: usize, who: usize, bytes: &[u8]) {
        if !self.ours[to].gone {
            self.ours[to].sink.queue(who, bytes);
            self.flush(epoll, to);
        }
    }

    /// Our stream `index` has something new to write: waits for room, or writes to a file, which
    /// always has room.
    fn flush(&mut self, epoll: &Epoll, index: usize) {
        while !self.ours[index].waitable && !self.ours[index].sink.pending().is_empty() {
            self.write(epoll, index, usize::MAX);
        }
        self.arm(epoll, index);
    }

    /// Our stream `index` has news: room, or that nobody reads it any more.
    pub(crate) fn writable(&mut self, epoll: &Epoll, index: usize) {
        if !self.ours[index].waiting {
            return self.nobody_reads(epoll, index);
        }
        self.write(epoll, index, PORTION);
        self.arm(epoll, index);
    }

    fn write(&mut self, epoll: &Epoll, index: usize, portion: usize) {
        let ours = &mut self.ours[index];
        let pending = ours.sink.pending();
        let portion = &pending[..pending.len().min(portion)];
        match sys::write(ours.fd(), portion) {
            Ok(n) => ours.sink.advance(n.unwrap_or(0)),
            Err(why) => {
                // A pipe or a socket that was closed at its other end.
                let closed = [libc::EPIPE, libc::ECONNRESET];
                if !why.raw_os_error().is_some_and(|code| closed.contains(&code)) {
                    ours.failed = Some(why);
                }
                self.nobody_reads(epoll, index);
            }
        }
    }

    /// Says, once, which of our streams or files cannot be written, and why, on the other stream
    /// where it is standard error itself. Whether there is such a one.
    pub(crate) fn complain(&mut self, epoll: &Epoll) -> bool {
        let failed = self.ours.iter().position(|ours| ours.failed.is_some());
        let (name, why, to) = match (failed, self.files.failed()) {
            (Some(index), _) => {
                let name = ["standard output", "standard error"][index].to_string();
                (name, self.ours[index].failed.as_ref().map(io::Error::to_string), 1 - index)
            }
            (None, Some((file, why))) => (file, Some(why.to_string()), 1),
            (None, None) => return false,
        };
        if !std::mem::replace(&mut self.complained, true) {
            let text = format!(
                "mpirun: {name} cannot be written: {}. What the ranks wrote there since is lost. \
                 Make room, or send it to another place, and start the job again.\n",
                why.unwrap_or_default()
            );
            self.queue(epoll, to, OWN, text.as_bytes());
        }
        true
    }

    /// Waits for room where there is something to write.
    fn arm(&mut self, epoll: &Epoll, index: usize) {
        let ours = &mut self.ours[index];
        let waiting = ours.waitable && !ours.sink.pending().is_empty();
        if waiting != ours.waiting {
            let interest = if waiting { Interest::Write } else { Interest::Nothing };
            let _ = epoll.change(ours.fd(), Source::Ours(index).token(), interest);
            ours.waiting = waiting;
        }
    }

    /// What ranks still write is of no use.
    fn nobody_reads(&mut self, epoll: &Epoll, index: usize) {
        let ours = &mut self.ours[index];
        ours.gone = true;
        ours.sink.discard();
        if ours.waitable {
            let _ = epoll.remove(ours.fd());
        }
        (ours.waitable, ours.waiting) = (false, false);
    }

    /// Whether one of our streams has lost its reader.
    pub(crate) fn unread(&self) -> bool {
        self.ours.iter().any(|ours| ours.gone)
    }

    /// When the next unfinished line is to be let go.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.holding.first().map(|(time, _)| *time)
    }

    /// Lets the unfinished lines go that have been held for long enough.
    pub(crate) fn let_go(&mut self, epoll: &Epoll, now: Instant) {
        while let Some((_, index)) = self.holding.first().filter(|(time, _)| *time <= now).copied()
        {
            self.holding.pop_first();
            self.theirs[index].due = None;
            self.pass(epoll, index, Lines::show_partial);
        }
    }

    /// All ranks have ended: shows the lines that have not.
    pub(crate) fn finish(&mut self, epoll: &Epoll) {
        self.holding.clear();
        for index in 0..self.theirs.len() {
            self.pass(epoll, index, Lines::finish);
        }
    }

    /// Queues a message of mpirun's own on standard error.
    pub(crate) fn say(&mut self, epoll: &Epoll, text: &str) {
        self.queue(epoll, 1, OWN, plain(text).as_bytes());
    }

    /// Whether everything has been written.
    pub(crate) fn is_empty(&self) -> bool {
        self.ours.iter().all(|ours| ours.gone || ours.sink.pending().is_empty())
    }
}
