//! A connection to one peer: its queue pairs, and an account of the work in each.

use std::collections::VecDeque;
use std::time::Duration;

use mpi_core::port::PeerId;

use super::queue_pair::{QueuePair, Rc};
use crate::rdma::fabric::Work;

/// How far a connection is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    /// Its queue pairs wait for the peer's numbers.
    Made,
    /// They are connected, but the peer's may not be yet.
    Connected,
    Up,
    /// It has failed, at this time; work comes back.
    Failing(Duration),
    Dead,
}

/// Work requests in a queue pair, from the oldest.
#[derive(Debug)]
pub(super) struct Account {
    /// The number of the oldest, and what it is called, if anybody wants to know of its end.
    first: u32,
    works: VecDeque<Option<Work>>,
    /// Pieces at the end of which the device is to say nothing.
    silent: usize,
    room: usize,
}

impl Account {
    pub(super) fn new(room: usize) -> Account {
        Account { first: 0, works: VecDeque::with_capacity(room), silent: 0, room }
    }

    pub(super) fn has_room(&self) -> bool {
        self.works.len() < self.room
    }

    pub(super) fn is_empty(&self) -> bool {
        self.works.is_empty()
    }

    /// Whether somebody wants to know of a piece when it is done.
    pub(super) fn is_awaited(&self) -> bool {
        self.works.iter().any(Option::is_some)
    }

    /// The number of the next piece, and whether the device is to say when it is done: if somebody wants to know, and
    /// so often that silent work never fills the queue.
    pub(super) fn next(&self, work: Option<Work>, is_crowded: bool) -> (u32, bool) {
        let number = self.first.wrapping_add(self.works.len() as u32);
        (number, work.is_some() || is_crowded || self.silent + 1 >= (self.room / 4).max(1))
    }

    /// A piece was taken by the device.
    pub(super) fn push(&mut self, work: Option<Work>, is_signaled: bool) {
        debug_assert!(self.has_room());
        self.works.push_back(work);
        self.silent = if is_signaled { 0 } else { self.silent + 1 };
    }

    /// All pieces up to this number are done: how many, and those that somebody wants to know of.
    pub(super) fn retire(&mut self, number: u32, mut each: impl FnMut(Work)) -> usize {
        let done = number.wrapping_sub(self.first) as usize + 1;
        if done > self.works.len() {
            return 0;
        }
        self.works.drain(..done).flatten().for_each(&mut each);
        self.first = number.wrapping_add(1);
        done
    }

    /// All pieces have come to nothing.
    pub(super) fn drain(&mut self, each: impl FnMut(Work)) -> usize {
        let number = self.works.len();
        self.works.drain(..).flatten().for_each(each);
        self.first = self.first.wrapping_add(number as u32);
        number
    }
}

/// A queue pair of a connection.
#[derive(Debug)]
pub(super) struct Rail {
    pub(super) queue_pair: QueuePair<Rc>,
    /// The number of its first packet.
    pub(super) psn: u32,
    /// The port that it is on, and the peer's.
    pub(super) port: usize,
    pub(super) their_port: usize,
    pub(super) account: Account,
}

/// All queue pairs to one peer.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) peer: PeerId,
    pub(super) rank: u32,
    pub(super) state: State,
    pub(super) rails: Vec<Rail>,
}

impl Connection {
    pub(super) fn is_empty(&self) -> bool {
        self.rails.iter().all(|rail| rail.account.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Work in any order of wants and completions ends once, in order, and never all in silence.
        #[test]
        fn each_piece_ends_once(
            room in 1usize..40, first: u32,
            steps in prop::collection::vec((any::<bool>(), any::<bool>(), 0usize..8), 1..300),
        ) {
            let mut account = Account { first, ..Account::new(room) };
            let (mut device, mut wanted) = (VecDeque::new(), VecDeque::new());
            let mut next = 0;
            for (wants, crowded, completes) in steps {
                if account.has_room() {
                    let work = wants.then_some(Work(next));
                    next += 1;
                    let (number, is_signaled) = account.next(work, crowded);
                    prop_assert!(is_signaled || !(wants || crowded));
                    account.push(work, is_signaled);
                    device.push_back((number, is_signaled));
                    wanted.extend(work);
                } else {
                    prop_assert!(device.iter().any(|(_, is_signaled)| *is_signaled), "stuck");
                }
                for _ in 0..completes {
                    let Some((number, is_signaled)) = device.pop_front() else { break };
                    let held = device.len() + 1;
                    if is_signaled {
                        let mut ended = Vec::new();
                        let retired = account.retire(number, |work| ended.push(work));
                        prop_assert!(retired > 0);
                        for work in ended {
                            prop_assert_eq!(Some(work), wanted.pop_front());
                        }
                        prop_assert_eq!(account.retire(number, |_| ()), 0, "a second time");
                        prop_assert_eq!(account.works.len(), held - 1);
                    }
                }
            }
            account.drain(|work| assert_eq!(Some(work), wanted.pop_front()));
            prop_assert!(wanted.is_empty() && account.is_empty());
        }
    }
}
