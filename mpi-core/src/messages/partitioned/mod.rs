//! What a process does with partitioned operations (MPI-5.0 chapter 4), of which there is what
//! [`p2p::partitioned`](crate::p2p::partitioned) has.
//!
//! The ends find each other when they are made, in the order in which they are made: a send tells its channel in a
//! context of the communicator that has nothing else, where a receive waits for it from then on. Its chunks are
//! ordinary messages in that channel, under their numbers as tags. So [`ready`] begins one at once whether the receiver
//! has started or not, rounds keep their order since messages of one tag do, and [`arrival`] is that of these messages.
//! All of it is done without a wait, so it is a view of the process and not of a call.

mod arrival;
mod ready;

use std::cell::{Cell, OnceCell};
use std::rc::Rc;

use crate::constants::{ANY_SOURCE, ANY_TAG, Special};
use crate::datatype::{Packer, Unpacker};
use crate::error::{Error, ErrorClass, Result};
use crate::handle::{CommHandle, RequestHandle};
use crate::p2p::partitioned::{Channel, Chunks, End, PARTS, Plan, Round};
use crate::p2p::{Message, check_count};
use crate::port::Port;
use crate::process::Process;
use crate::request::{Operation, Owner, Recipe, Request};

/// The partitioned operations of a process. It is a borrow of the process.
pub struct Partitioned<'a, P: Port> {
    process: &'a mut Process<P>,
}

impl<P: Port> Process<P> {
    /// Its partitioned operations.
    pub fn partitioned(&mut self) -> Partitioned<'_, P> {
        Partitioned { process: self }
    }
}

impl<P: Port> Partitioned<'_, P> {
    /// `MPI_Psend_init`; the count is that of a partition.
    pub fn send_init(&mut self, message: Message, partitions: i32) -> Result<RequestHandle> {
        let partitions = check_partitions(partitions)?;
        let Message { rank, tag, comm, .. } = message;
        let route = self.process.check_send(&whole(message, partitions)?)?;
        let (packer, route) = match route {
            Some((packer, route)) => (packer, Some(route)),
            None => (Packer::contiguous(message.buf, 0), None),
        };
        let bytes = packer.remaining();
        let context = route.map_or(0, |_| self.process.new_context() | PARTS);
        let chunks = Chunks::new(partitions, bytes.checked_div(partitions.into()).unwrap_or(0));
        let channel = Channel { context, chunks };
        let end = End::Send { packer, channel };
        let (peer, source) = (route.map(|route| route.peer), route.map_or(0, |route| route.source));
        let plan = Plan { partitions, bytes, rank, tag, peer, source, end };
        let request = self.process.persistent(Recipe::Partitioned(Rc::new(plan)), comm)?;
        if let Some(route) = route {
            self.process.vci.announce(&mut *self.process.port, route, channel);
        }
        Ok(request)
    }

    /// `MPI_Precv_init`; the count is that of a partition.
    pub fn receive_init(&mut self, message: Message, partitions: i32) -> Result<RequestHandle> {
        let partitions = check_partitions(partitions)?;
        let Message { rank, tag, comm, .. } = message;
        check_exact(rank, tag)?;
        let pattern = self.process.check_receive(&whole(message, partitions)?)?;
        let (unpacker, pattern) = match pattern {
            Some((unpacker, pattern)) => (unpacker, Some(pattern)),
            None => (Unpacker::contiguous(message.buf, 0), None),
        };
        let bytes = unpacker.remaining();
        let announcement = Cell::new(RequestHandle::NULL);
        let end = End::Receive { unpacker, channel: OnceCell::new(), announcement };
        let peer = pattern.and_then(|pattern| pattern.from);
        let plan = Rc::new(Plan { partitions, bytes, rank, tag, peer, source: rank, end });
        let request = self.process.persistent(Recipe::Partitioned(plan.clone()), comm)?;
        if let Some(pattern) = pattern {
            self.await_channel(request, &plan, pattern, comm);
        }
        Ok(request)
    }

    /// Starts a round of `plan` on `comm`; it waits for nothing.
    pub(crate) fn start(&mut self, plan: Rc<Plan>, comm: CommHandle) -> Result<RequestHandle> {
        match plan.end {
            End::Send { channel, .. } => self.start_send(plan, channel.chunks, comm),
            End::Receive { .. } => self.start_receive(plan, comm),
        }
    }

    /// The program has given up what was started by `plan`, which is not under way. The other end may find this one
    /// all the same, since it is the next in its order.
    pub(crate) fn release(&mut self, plan: &Plan) {
        if let End::Receive { announcement, .. } = &plan.end
            && let Ok(awaited) = self.process.vci.requests.get_mut(announcement.get())
        {
            awaited.owner = Owner::Nobody;
        }
    }

    /// A chunk of a round is complete.
    pub(crate) fn chunk_done(&mut self, round: RequestHandle, chunk: u32, failure: Option<Error>) {
        let Some(state) = self.round(round) else { return };
        if let (End::Receive { .. }, None) = (&state.plan.end, &failure) {
            state.marks[chunk as usize] = true;
        }
        self.count_down(round, 1, failure);
    }

    /// So many of a round's chunks are complete; of the last one the round is.
    fn count_down(&mut self, round: RequestHandle, chunks: u32, failure: Option<Error>) {
        let Some(state) = self.round(round) else { return };
        state.left -= chunks;
        state.failure = state.failure.take().or(failure);
        if state.left == 0 {
            let failure = state.failure.take();
            self.process.vci.complete(round, failure);
        }
    }

    /// The state of a round that is not complete.
    fn round(&mut self, request: RequestHandle) -> Option<&mut Round> {
        match &mut self.process.vci.requests.get_mut(request).ok()?.operation {
            Operation::Partitioned(round) => Some(round),
            _ => None,
        }
    }

    /// Makes the request of a round.
    fn begin(&mut self, round: Round, comm: CommHandle) -> Result<RequestHandle> {
        let operation = Operation::Partitioned(Box::new(round));
        self.process.vci.requests.insert(Request::active(operation, Owner::Program, comm))
    }

    /// What a request was made of, and its round if it is active.
    fn planned(&self, request: RequestHandle) -> Result<Option<(Rc<Plan>, Option<RequestHandle>)>> {
        let Operation::Persistent(persistent) = &self.process.vci.requests.get(request)?.operation
        else {
            return Ok(None);
        };
        match &persistent.recipe {
            Recipe::Partitioned(plan) => Ok(Some((plan.clone(), persistent.active))),
            _ => Ok(None),
        }
    }
}

/// `partitions` of one that is made.
fn check_partitions(partitions: i32) -> Result<u32> {
    match u32::try_from(partitions) {
        Ok(partitions) => Ok(partitions),
        Err(_) => crate::fail!(
            ARG,
            "partitions",
            "is {partitions}, but a number of partitions cannot be negative"
        ),
    }
}

/// The message of all partitions.
fn whole(message: Message, partitions: u32) -> Result<Message> {
    check_count(message.count)?;
    match message.count.checked_mul(partitions.into()) {
        Some(count) => Ok(Message { count, ..message }),
        None => crate::fail!(
            COUNT,
            "count",
            "is {} for each of {partitions} partitions, more in all than 63 bits can count",
            message.count
        ),
    }
}

/// Who receives names one message: there are no wildcards (MPI-5.0 §4.2).
fn check_exact(source: i32, tag: i32) -> Result<()> {
    if source == ANY_SOURCE {
        let what = ", but a partitioned receive has one sender";
        return Err(Error::special(ErrorClass::RANK, "source", Special::Rank(source), what));
    }
    if tag == ANY_TAG {
        let what = ", but a partitioned receive has one tag";
        return Err(Error::special(ErrorClass::TAG, "tag", Special::Tag(tag), what));
    }
    Ok(())
}
