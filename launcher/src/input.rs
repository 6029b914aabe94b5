//! mpirun's standard input on its way to a rank, or to all of them.
//!
//! A single rank on mpirun's own host gets the descriptor itself where it can, so that nothing is
//! read that the program does not ask for. From a terminal, for all ranks, and for ranks of other
//! hosts, mpirun reads and passes on: not faster than the slowest rank takes it, and never from a
//! terminal in whose background it runs. Out come requests ([`Down::Feed`]) for the ranks' hosts.

use crate::options::StdinTo;
use crate::plan::Plan;
use crate::site::Site;
use crate::source::Source;
use crate::sys::{self, Epoll, Interest, Kind};
use crate::tree::frame::Down;

const CHUNK: usize = 64 * 1024;

/// What a rank reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// Nothing.
    Nothing,
    /// mpirun's own standard input.
    Own,
    /// What mpirun reads and passes on.
    Fed,
}

/// What `rank` reads on host `node`; to be asked on that host.
pub(crate) fn way(plan: &Plan, node: usize, rank: usize) -> Way {
    if !Site::reads_input(plan, rank) {
        return Way::Nothing;
    }
    // Whether there is any input for other hosts, mpirun's host tells them.
    match sys::kind(sys::stdin()) {
        _ if node != 0 => Way::Fed,
        Kind::Closed => Way::Nothing,
        kind if plan.stdin == StdinTo::All || kind == Kind::Terminal => Way::Fed,
        _ => Way::Own,
    }
}

/// The way of standard input.
#[derive(Debug)]
pub(crate) struct Input {
    kind: Kind,
    /// The ranks that are fed, and whether they still have some of what they were given.
    mouths: Vec<(usize, bool)>,
    open: bool,
    /// Whether epoll watches standard input; while it does not, not even its end is reported.
    listening: bool,
    /// Reading waits until we are in the foreground.
    background: bool,
}

impl Input {
    /// The way that `plan` asks for.
    pub(crate) fn new(plan: &Plan) -> Input {
        let fed = |&rank: &usize| way(plan, plan.node_of[rank], rank) == Way::Fed;
        let mouths: Vec<_> = (0..plan.ranks()).filter(fed).map(|rank| (rank, false)).collect();
        let kind = sys::kind(sys::stdin());
        Input { kind, mouths, open: false, listening: false, background: false }
    }

    /// All ranks are started: begins to read if somebody is to be fed.
    pub(crate) fn begin(&mut self, epoll: &Epoll) -> Vec<Down> {
        self.open = !self.mouths.is_empty();
        if self.kind == Kind::Closed {
            return self.end(epoll);
        }
        if self.open {
            self.listen(epoll, true);
            if !self.listening {
                self.kind = Kind::File;
                return self.readable(epoll);
            }
        }
        Vec::new()
    }

    /// Whether to look again later if the terminal has come to us.
    pub(crate) fn in_background(&self) -> bool {
        self.background
    }

    /// Looks again whether the terminal is ours.
    pub(crate) fn look_again(&mut self, epoll: &Epoll) {
        if self.background && sys::foreground_terminal(sys::stdin()) {
            self.background = false;
            self.listen(epoll, true);
        }
    }

    /// Standard input has something, or ended.
    pub(crate) fn readable(&mut self, epoll: &Epoll) -> Vec<Down> {
        if self.kind == Kind::Terminal && !sys::foreground_terminal(sys::stdin()) {
            self.background = true;
            self.listen(epoll, false);
            return Vec::new();
        }
        let mut chunk = vec![0; CHUNK];
        match sys::read(sys::stdin(), &mut chunk) {
            Ok(None) => return Vec::new(),
            Ok(Some(0)) | Err(_) => return self.end(epoll),
            Ok(Some(n)) => chunk.truncate(n),
        }
        self.listen(epoll, false);
        self.mouths.iter_mut().for_each(|(_, busy)| *busy = true);
        self.mouths.iter().map(|&(rank, _)| Down::Feed { rank, bytes: chunk.clone() }).collect()
    }

    /// A rank has taken all of what it was given, or will take no more.
    pub(crate) fn fed(&mut self, epoll: &Epoll, rank: usize, gone: bool) -> Vec<Down> {
        let Some(at) = self.mouths.iter().position(|(mouth, _)| *mouth == rank) else {
            return Vec::new();
        };
        match gone {
            true => drop(self.mouths.remove(at)),
            false => self.mouths[at].1 = false,
        }
        if self.mouths.is_empty() {
            return self.end(epoll);
        }
        // Everybody has taken all of this chunk: on to the next.
        if self.open && self.mouths.iter().all(|(_, busy)| !busy) {
            if self.kind == Kind::File {
                return self.readable(epoll);
            }
            self.listen(epoll, true);
        }
        Vec::new()
    }

    fn listen(&mut self, epoll: &Epoll, on: bool) {
        if self.kind == Kind::File || on == self.listening {
            return;
        }
        self.listening = match on {
            true => epoll.add(sys::stdin(), Source::Stdin.token(), Interest::Read).is_ok(),
            false => epoll.remove(sys::stdin()).is_err(),
        };
    }

    /// No more input: the ranks see the end of theirs.
    fn end(&mut self, epoll: &Epoll) -> Vec<Down> {
        self.listen(epoll, false);
        self.open = false;
        let end = |(rank, _)| Down::Feed { rank, bytes: Vec::new() };
        self.mouths.drain(..).map(end).collect()
    }
}
