//! The output pipes of the ranks of one host. In: readable pipes. Out: what they hold, as news.
//!
//! No more is read than mpirun has room for: what was read and not yet taken by mpirun's own standard
//! output (or error) is counted, and above [`CREDIT`] the ranks wait.

use crate::source::Source;
use crate::sys::{self, Epoll, Interest};
use crate::tree::frame::Up;
use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;

/// How much output of one kind may be on its way.
pub(crate) const CREDIT: usize = 1 << 20;

/// How much is read at a time.
const CHUNK: usize = 64 * 1024;

/// One pipe.
#[derive(Debug)]
struct Outlet {
    rank: usize,
    pipe: Option<OwnedFd>,
}

/// All output pipes of a host: for each rank one of standard output and one of standard error.
#[derive(Debug, Default)]
pub(crate) struct Outlets {
    pipes: Vec<Outlet>,
    /// What is on its way.
    owed: [usize; 2],
    /// The pipes are not read for now.
    held: [bool; 2],
    chunk: Vec<u8>,
}

impl Outlets {
    /// Adds the pipes of the next rank of this host.
    pub(crate) fn add(
        &mut self,
        epoll: &Epoll,
        rank: usize,
        pipes: [OwnedFd; 2],
    ) -> io::Result<()> {
        for pipe in pipes {
            let token = Source::Output(self.pipes.len()).token();
            epoll.add(&pipe, token, Interest::Read)?;
            self.pipes.push(Outlet { rank, pipe: Some(pipe) });
        }
        Ok(())
    }

    /// Reads pipe `index`. False when it has nothing more now.
    pub(crate) fn readable(
        &mut self,
        epoll: &Epoll,
        index: usize,
        news: &mut VecDeque<Up>,
    ) -> bool {
        let Some(Outlet { rank, pipe }) = self.pipes.get_mut(index) else { return false };
        let (rank, which, Some(fd)) = (*rank, index % 2, pipe.as_ref()) else { return false };
        self.chunk.resize(CHUNK, 0);
        let bytes = match sys::read(fd, &mut self.chunk) {
            Ok(None) => return false,
            Ok(Some(n)) => self.chunk[..n].to_vec(),
            Err(_) => Vec::new(),
        };
        let more = !bytes.is_empty();
        if !more {
            *pipe = None;
        }
        self.owed[which] += bytes.len();
        news.push_back(Up::Output { rank, which, bytes });
        self.hold(epoll, which, self.owed[which] >= CREDIT);
        more
    }

    /// So much of output `which` has gone its way.
    pub(crate) fn taken(&mut self, epoll: &Epoll, which: usize, bytes: usize) {
        self.owed[which] = self.owed[which].saturating_sub(bytes);
        self.hold(epoll, which, self.owed[which] >= CREDIT);
    }

    fn hold(&mut self, epoll: &Epoll, which: usize, held: bool) {
        if self.held[which] == held {
            return;
        }
        self.held[which] = held;
        let interest = if held { Interest::Nothing } else { Interest::Read };
        for (index, outlet) in self.pipes.iter().enumerate().skip(which).step_by(2) {
            if let Some(pipe) = &outlet.pipe {
                let _ = epoll.change(pipe, Source::Output(index).token(), interest);
            }
        }
    }

    /// Nobody reads output `which` any more: ranks that write on get what any program gets whose
    /// reader has gone, SIGPIPE.
    pub(crate) fn close(&mut self, which: usize) {
        for outlet in self.pipes.iter_mut().skip(which).step_by(2) {
            outlet.pipe = None;
        }
    }

    /// All ranks have ended: takes what is still in their pipes, and closes them.
    pub(crate) fn drain(&mut self, epoll: &Epoll, news: &mut VecDeque<Up>) {
        for index in 0..self.pipes.len() {
            while self.readable(epoll, index, news) {}
            if self.pipes[index].pipe.take().is_some() {
                let (rank, which) = (self.pipes[index].rank, index % 2);
                news.push_back(Up::Output { rank, which, bytes: Vec::new() });
            }
        }
    }
}
