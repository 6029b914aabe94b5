//! mpirun's standard input on its way to a rank, or to all of them.
//!
//! One rank gets the descriptor itself where it can, so that nothing is read that the program does
//! not ask for. From a terminal, and for all ranks, mpirun reads and passes on: not faster than the
//! slowest rank takes it, and never from a terminal in whose background it runs.

use crate::options::StdinTo;
use crate::source::Source;
use crate::sys::{self, Epoll, Interest, Kind};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

const CHUNK: usize = 64 * 1024;

/// One rank that is fed.
#[derive(Debug)]
struct Mouth {
    rank: usize,
    pipe: OwnedFd,
    /// How much of the chunk it has taken.
    taken: usize,
}

/// The way of standard input.
#[derive(Debug)]
pub(crate) struct Input {
    to: StdinTo,
    kind: Kind,
    nothing: File,
    mouths: Vec<Mouth>,
    chunk: Vec<u8>,
    open: bool,
    /// Whether epoll watches standard input; while it does not, not even its end is reported.
    listening: bool,
    /// Reading waits until we are in the foreground.
    background: bool,
}

impl Input {
    /// Decides how `to` is to be served.
    pub(crate) fn new(to: StdinTo) -> io::Result<Input> {
        Ok(Input {
            to,
            kind: sys::kind(libc::STDIN_FILENO),
            nothing: File::open("/dev/null")?,
            mouths: Vec::new(),
            chunk: Vec::new(),
            open: false,
            listening: false,
            background: false,
        })
    }

    /// The descriptor that becomes the standard input of `rank`, and its other end if we feed it.
    pub(crate) fn of_rank(&mut self, rank: usize) -> io::Result<(RawFd, Option<OwnedFd>)> {
        let chosen = match self.to {
            StdinTo::Rank(only) => only == rank,
            StdinTo::All => true,
            StdinTo::None => false,
        };
        if !chosen || self.kind == Kind::Closed {
            return Ok((self.nothing.as_raw_fd(), None));
        }
        if self.to != StdinTo::All && self.kind != Kind::Terminal {
            return Ok((libc::STDIN_FILENO, None));
        }
        let [theirs, ours] = sys::pipe(1)?;
        let number = theirs.as_raw_fd();
        self.mouths.push(Mouth { rank, pipe: ours, taken: 0 });
        Ok((number, Some(theirs)))
    }

    /// All ranks are started: begins to read if somebody is to be fed.
    pub(crate) fn begin(&mut self, epoll: &Epoll) -> io::Result<()> {
        self.open = !self.mouths.is_empty();
        for mouth in &self.mouths {
            let token = Source::Feed(mouth.rank).token();
            epoll.add(mouth.pipe.as_raw_fd(), token, Interest::Nothing)?;
        }
        if !self.open {
            return Ok(());
        }
        self.listen(epoll, true);
        if !self.listening {
            self.kind = Kind::File;
            self.readable(epoll);
        }
        Ok(())
    }

    /// Whether to look again later if the terminal has come to us.
    pub(crate) fn in_background(&self) -> bool {
        self.background
    }

    /// Looks again whether the terminal is ours.
    pub(crate) fn look_again(&mut self, epoll: &Epoll) {
        if self.background && sys::foreground_terminal(libc::STDIN_FILENO) {
            self.background = false;
            self.listen(epoll, true);
        }
    }

    /// Standard input has something, or ended.
    pub(crate) fn readable(&mut self, epoll: &Epoll) {
        if self.kind == Kind::Terminal && !sys::foreground_terminal(libc::STDIN_FILENO) {
            self.background = true;
            return self.listen(epoll, false);
        }
        self.chunk.resize(CHUNK, 0);
        match sys::read(sys::standard_stream(libc::STDIN_FILENO), &mut self.chunk) {
            Ok(None) => return self.chunk.clear(),
            Ok(Some(0)) | Err(_) => return self.end(epoll),
            Ok(Some(n)) => self.chunk.truncate(n),
        }
        self.listen(epoll, false);
        for mouth in &mut self.mouths {
            mouth.taken = 0;
            let token = Source::Feed(mouth.rank).token();
            let _ = epoll.change(mouth.pipe.as_raw_fd(), token, Interest::Write);
        }
    }

    /// A rank can take more, or has closed its end.
    pub(crate) fn hungry(&mut self, epoll: &Epoll, rank: usize) {
        let Some(at) = self.mouths.iter().position(|mouth| mouth.rank == rank) else { return };
        let mouth = &mut self.mouths[at];
        if mouth.taken >= self.chunk.len() {
            // It was not asked for room, so the news is that nobody reads the other end.
            self.mouths.remove(at);
            return self.next_chunk(epoll);
        }
        match sys::write(&mouth.pipe, &self.chunk[mouth.taken.min(self.chunk.len())..]) {
            Ok(n) => mouth.taken += n.unwrap_or(0),
            Err(_) => {
                self.mouths.remove(at);
            }
        }
        if let Some(mouth) = self.mouths.get(at).filter(|m| m.rank == rank)
            && mouth.taken >= self.chunk.len()
        {
            let token = Source::Feed(rank).token();
            let _ = epoll.change(mouth.pipe.as_raw_fd(), token, Interest::Nothing);
        }
        self.next_chunk(epoll);
    }

    /// Reads on once everybody has taken all of this chunk.
    fn next_chunk(&mut self, epoll: &Epoll) {
        if self.mouths.is_empty() {
            self.end(epoll);
        } else if self.open && self.mouths.iter().all(|mouth| mouth.taken >= self.chunk.len()) {
            self.chunk.clear();
            match self.kind {
                Kind::File => self.readable(epoll),
                _ => self.listen(epoll, true),
            }
        }
    }

    fn listen(&mut self, epoll: &Epoll, on: bool) {
        if self.kind == Kind::File || on == self.listening {
            return;
        }
        self.listening = match on {
            true => epoll.add(libc::STDIN_FILENO, Source::Stdin.token(), Interest::Read).is_ok(),
            false => epoll.remove(libc::STDIN_FILENO).is_err(),
        };
    }

    /// No more input: the ranks see the end of theirs.
    fn end(&mut self, epoll: &Epoll) {
        self.listen(epoll, false);
        self.open = false;
        self.chunk.clear();
        self.mouths.clear();
    }
}
