//! The ranks' standard output and error on their way to mpirun's own.
//!
//! In: readable pipes of ranks and writable streams of ours. Out: lines (see `output.rs`), in
//! portions that cannot block mpirun: at most a pipe's atomic size at a time, and only when the system
//! says that there is room. When a reader is slow the ranks wait, and nothing piles up.

use crate::output::{Lines, Sink, Tag};
use crate::source::Source;
use crate::sys::{self, Epoll, Interest, Kind};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

/// What can be written to a pipe without blocking once it is writable (PIPE_BUF).
const PORTION: usize = 4096;

/// How much is read at a time.
const CHUNK: usize = 64 * 1024;

/// One of our two output streams.
#[derive(Debug)]
struct Ours {
    fd: RawFd,
    sink: Sink,
    /// Can be waited for; a file cannot, and is always ready.
    waitable: bool,
    terminal: bool,
    /// What we wait for.
    waiting: bool,
    /// Nobody reads it any more.
    gone: bool,
    /// The ranks' pipes are not read for now.
    held: bool,
}

/// One output pipe of a rank.
#[derive(Debug)]
struct Theirs {
    pipe: Option<OwnedFd>,
    lines: Lines,
    /// The index of our stream that it goes to.
    to: usize,
}

/// All output streams of a job.
#[derive(Debug)]
pub(crate) struct Streams {
    ours: [Ours; 2],
    /// Two for each rank.
    theirs: Vec<Theirs>,
    merged: bool,
}

impl Streams {
    /// No ranks yet. `merged`: everything goes to standard output.
    pub(crate) fn new(epoll: &Epoll, merged: bool) -> Streams {
        let ours = [0, 1].map(|index: usize| {
            let fd = [libc::STDOUT_FILENO, libc::STDERR_FILENO][index];
            let token = Source::Ours(index).token();
            Ours {
                fd,
                sink: Sink::default(),
                waitable: epoll.add(fd, token, Interest::Nothing).is_ok(),
                terminal: sys::kind(fd) == Kind::Terminal,
                waiting: false,
                gone: false,
                held: false,
            }
        });
        Streams { ours, theirs: Vec::new(), merged }
    }

    /// Adds the pipes of the next rank.
    pub(crate) fn add(&mut self, epoll: &Epoll, pipes: [OwnedFd; 2], tag: Tag) -> io::Result<()> {
        let rank = self.theirs.len() / 2;
        for (index, (pipe, name)) in pipes.into_iter().zip(["stdout", "stderr"]).enumerate() {
            let to = if self.merged { 0 } else { index };
            let token = Source::Output(2 * rank + index).token();
            epoll.add(pipe.as_raw_fd(), token, Interest::Read)?;
            self.theirs.push(Theirs { pipe: Some(pipe), lines: Lines::new(tag, rank, name), to });
        }
        Ok(())
    }

    /// Pipe `index` has news. False when it has nothing to read now.
    pub(crate) fn readable(&mut self, epoll: &Epoll, index: usize) -> bool {
        let Theirs { pipe, lines, to } = &mut self.theirs[index];
        let (Some(fd), to) = (pipe.as_ref(), *to) else { return false };
        let mut chunk = vec![0; CHUNK];
        let mut out = Vec::new();
        match sys::read(fd, &mut chunk) {
            Ok(None) => return false,
            Ok(Some(n)) if n > 0 => lines.push(&chunk[..n], &mut out),
            Ok(Some(_)) | Err(_) => {
                lines.finish(&mut out);
                *pipe = None;
            }
        }
        self.queue(epoll, to, index, &out);
        self.theirs[index].pipe.is_some()
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
        match sys::write(sys::standard_stream(ours.fd), portion) {
            Ok(n) => ours.sink.advance(n.unwrap_or(0)),
            Err(_) => self.nobody_reads(epoll, index),
        }
    }

    /// Waits for room where there is something to write, and holds the ranks where it is much.
    fn arm(&mut self, epoll: &Epoll, index: usize) {
        let ours = &mut self.ours[index];
        let waiting = ours.waitable && !ours.sink.pending().is_empty();
        if waiting != ours.waiting {
            let interest = if waiting { Interest::Write } else { Interest::Nothing };
            let _ = epoll.change(ours.fd, Source::Ours(index).token(), interest);
            ours.waiting = waiting;
        }
        let held = ours.sink.is_full();
        if held != ours.held {
            ours.held = held;
            let interest = if held { Interest::Nothing } else { Interest::Read };
            for (i, theirs) in self.theirs.iter().enumerate().filter(|(_, t)| t.to == index) {
                if let Some(pipe) = &theirs.pipe {
                    let _ = epoll.change(pipe.as_raw_fd(), Source::Output(i).token(), interest);
                }
            }
        }
    }

    /// Ranks that write on get what any program gets whose reader has gone: SIGPIPE.
    fn nobody_reads(&mut self, epoll: &Epoll, index: usize) {
        let ours = &mut self.ours[index];
        ours.gone = true;
        ours.sink.discard();
        if ours.waitable {
            let _ = epoll.remove(ours.fd);
        }
        (ours.waitable, ours.waiting) = (false, false);
        for theirs in self.theirs.iter_mut().filter(|theirs| theirs.to == index) {
            theirs.pipe = None;
        }
    }

    /// Whether one of our streams has lost its reader.
    pub(crate) fn unread(&self) -> bool {
        self.ours.iter().any(|ours| ours.gone)
    }

    /// Whether unfinished lines are held back that somebody at a terminal may wait for.
    pub(crate) fn has_prompt(&self) -> bool {
        self.theirs.iter().any(|theirs| self.ours[theirs.to].terminal && theirs.lines.is_open())
    }

    /// Shows the unfinished lines that go to a terminal.
    pub(crate) fn show_prompts(&mut self, epoll: &Epoll) {
        for index in 0..self.theirs.len() {
            let Theirs { lines, to, .. } = &mut self.theirs[index];
            let to = *to;
            if self.ours[to].terminal {
                let mut out = Vec::new();
                lines.show_partial(&mut out);
                self.queue(epoll, to, index, &out);
            }
        }
    }

    /// All ranks have ended: takes what is still in their pipes and closes them.
    pub(crate) fn drain(&mut self, epoll: &Epoll) {
        for index in 0..self.theirs.len() {
            while self.readable(epoll, index) {}
            let Theirs { pipe, lines, to } = &mut self.theirs[index];
            if pipe.take().is_some() {
                let (mut out, to) = (Vec::new(), *to);
                lines.finish(&mut out);
                self.queue(epoll, to, index, &out);
            }
        }
    }

    /// Queues a message of mpirun's own on standard error.
    pub(crate) fn say(&mut self, epoll: &Epoll, text: &str) {
        const OWN: usize = usize::MAX;
        self.queue(epoll, 1, OWN, text.as_bytes());
    }

    /// Whether everything has been written.
    pub(crate) fn is_empty(&self) -> bool {
        self.ours.iter().all(|ours| ours.gone || ours.sink.pending().is_empty())
    }
}
