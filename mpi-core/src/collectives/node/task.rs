//! What is to be reduced: the operands of a call, and the part of them that one process reduces.
//!
//! The order of operands is the same in every run: from the highest rank down, or, where one process computes an
//! element for all, from that process on. Every element is computed once, or by everybody in one order, so all
//! processes get the same bits (MPI-5.0 §6.9.1, advice to implementors).

use super::member::Member;
use super::work::WaitFor;
use crate::buffer::UserBuffer;
use crate::coll::prepared::Operands;
use crate::node_memory::{Audience, Source};
use crate::op::Kernel;

/// Which operands there are, and in which order they are taken: each one stands left of all before it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Order {
    /// From this rank down to rank 0.
    Down(u32),
    /// This process, then all ranks behind it round the ring of so many.
    Round(u32),
}

impl Order {
    /// The rank whose operand is taken at this place of the order.
    #[inline]
    pub(super) fn nth(self, member: Member, index: u32) -> u32 {
        match self {
            Order::Down(first) => first - index,
            Order::Round(size) => (member.rank + index) % size,
        }
    }

    /// How many operands there are.
    pub(super) fn terms(self) -> u32 {
        match self {
            Order::Down(first) => first + 1,
            Order::Round(size) => size,
        }
    }
}

/// Where the operands of others are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Streams {
    Public,
    Private,
}

impl Streams {
    #[inline]
    pub(super) fn of(self, rank: u32) -> Source {
        match self {
            Streams::Public => Source::Public(rank),
            Streams::Private => Source::Private(rank),
        }
    }

    /// The wait for the operand of each member.
    #[inline]
    pub(super) fn of_each(self) -> WaitFor {
        WaitFor::Each(match self {
            Streams::Public => Source::Public,
            Streams::Private => Source::Private,
        })
    }
}

/// What a fold works on.
#[derive(Clone, Copy)]
pub(super) struct Task {
    pub kernel: Kernel,
    /// Bytes of an element.
    pub unit: usize,
    /// This process's operand.
    pub own: *const u8,
    /// Where the result goes; `None` if it is only passed on.
    pub into: Option<*mut u8>,
    /// Bytes of the operand.
    pub len: usize,
    pub order: Order,
    pub streams: Streams,
    /// Who is told the result.
    pub to: Option<Audience>,
    /// The result overwrites the contribution, which is still going out to everyone.
    pub follows: bool,
}

/// A reduction as one process sees it.
#[derive(Clone, Copy)]
pub(super) struct Job {
    pub member: Member,
    pub kernel: Kernel,
    /// Bytes of an element.
    pub unit: usize,
    /// The contribution.
    pub own: UserBuffer,
    /// Where the result goes.
    pub recv: UserBuffer,
}

impl Job {
    pub(super) fn new(member: Member, kernel: Kernel, data: &Operands) -> Job {
        let own = if data.send.is_in_place() { data.recv } else { data.send };
        Job { member, kernel, unit: data.unit.max(1) as usize, own, recv: data.recv }
    }

    /// To reduce `len` bytes of the vector, from `begin` on.
    pub(super) fn task(self, begin: usize, len: usize, order: Order, streams: Streams) -> Task {
        Task {
            kernel: self.kernel,
            unit: self.unit,
            own: self.own.offset(begin as i64).0,
            into: Some(self.recv.offset(begin as i64).0),
            len,
            order,
            streams,
            to: None,
            follows: false,
        }
    }

    /// To reduce `len` bytes that everyone contributes.
    pub(super) fn all(self, len: usize, streams: Streams) -> Task {
        self.task(0, len, Order::Down(self.member.size - 1), streams)
    }
}
