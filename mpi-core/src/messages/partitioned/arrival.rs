//! The receiving end: its sender's channel becomes known, chunks are received, and partitions have arrived when all
//! chunks have that have bytes of them.

use std::rc::Rc;

use super::Partitioned;
use crate::buffer::UserBuffer;
use crate::datatype::Unpacker;
use crate::error::{Error, ErrorClass, Result};
use crate::handle::{CommHandle, RequestHandle};
use crate::p2p::partitioned::{Channel, End, Plan, Round, meeting};
use crate::port::Port;
use crate::request::{Operation, Owner, Request};
use crate::status::Status;
use crate::vci::receive::Pattern;

impl<P: Port> Partitioned<'_, P> {
    /// `MPI_Parrived`, without a look at what may have come: of a request that is not active it is true.
    pub fn has_arrived(&mut self, request: RequestHandle, partition: i32) -> Result<bool> {
        let (plan, round) = match self.planned(request)? {
            Some((plan, round)) if matches!(plan.end, End::Receive { .. }) => (plan, round),
            _ => {
                let what = "is not that of a partitioned receive";
                let error = Error::param(ErrorClass::REQUEST, "request", what);
                return Err(error.hint("MPI_Precv_init makes one."));
            }
        };
        let partition = plan.partition(partition, "partition")?;
        let Some(round) = round.and_then(|round| self.round(round)) else { return Ok(true) };
        let End::Receive { channel, .. } = &plan.end else { return Ok(true) };
        let Some(Ok(channel)) = channel.get() else { return Ok(false) };
        let mut chunks = channel.chunks.over(plan.bytes_of(partition));
        Ok(chunks.all(|chunk| round.marks[chunk as usize]))
    }

    /// Waits, beside all else, for the channel of the next send that matches.
    pub(super) fn await_channel(
        &mut self,
        request: RequestHandle,
        plan: &Plan,
        pattern: Pattern,
        comm: CommHandle,
    ) {
        let End::Receive { channel, announcement, .. } = &plan.end else { return };
        let nowhere = Unpacker::contiguous(UserBuffer::BOTTOM, 0);
        let pattern = Pattern { context: meeting(pattern.context), ..pattern };
        let owner = Owner::Channel { of: request };
        let port = &mut *self.process.port;
        match self.process.vci.start_receive(port, nowhere, pattern, owner, comm) {
            Ok(awaited) => announcement.set(awaited),
            Err(failure) => _ = channel.set(Err(failure)),
        }
    }

    pub(super) fn start_receive(
        &mut self,
        plan: Rc<Plan>,
        comm: CommHandle,
    ) -> Result<RequestHandle> {
        if plan.peer.is_none() {
            return self.process.vci.requests.insert(Request::finished(Status::PROC_NULL, comm));
        }
        let (marks, lacking) = (Vec::new(), Vec::new());
        let request = self.begin(Round { plan, marks, lacking, left: 1, failure: None }, comm)?;
        self.receive(request);
        Ok(request)
    }

    /// The channel of a receive has become known, or why it never will.
    pub(crate) fn channel_known(&mut self, request: RequestHandle, failure: Option<Error>) {
        let Ok(Some((plan, round))) = self.planned(request) else { return };
        if let (End::Receive { channel, .. }, Some(failure)) = (&plan.end, failure) {
            _ = channel.set(Err(failure));
        }
        if let Some(round) = round {
            self.receive(round);
        }
    }

    /// Begins to receive all chunks of a round if its channel is known. Those of another number of bytes are received
    /// as far as there is room, so that their sender comes to an end.
    fn receive(&mut self, request: RequestHandle) {
        let waiting = self.round(request).filter(|round| round.marks.is_empty());
        let Some(plan) = waiting.map(|round| round.plan.clone()) else { return };
        let End::Receive { channel, .. } = &plan.end else { return };
        match channel.get() {
            None => {}
            Some(Err(failure)) => self.count_down(request, 1, Some(failure.clone())),
            Some(Ok(channel)) => self.receive_chunks(request, &plan, channel),
        }
    }

    fn receive_chunks(&mut self, request: RequestHandle, plan: &Plan, channel: &Channel) {
        let chunks = channel.chunks.len();
        let Ok(state) = self.process.vci.requests.get_mut(request) else { return };
        let (source, tag, bytes) = (plan.source, plan.tag, channel.chunks.bytes().min(plan.bytes));
        state.status = Status { source, tag, bytes, ..Status::EMPTY };
        let comm = state.comm;
        let Operation::Partitioned(round) = &mut state.operation else { return };
        round.marks = vec![false; chunks as usize];
        round.left = chunks;
        round.failure = (channel.chunks.bytes() != plan.bytes).then(|| plan.differs(channel));
        for chunk in 0..chunks {
            if let Err(failure) = self.receive_chunk(request, plan, channel, chunk, comm) {
                return self.count_down(request, chunks - chunk, Some(failure));
            }
        }
        self.count_down(request, 0, None);
    }

    fn receive_chunk(
        &mut self,
        request: RequestHandle,
        plan: &Plan,
        channel: &Channel,
        chunk: u32,
        comm: CommHandle,
    ) -> Result<()> {
        let End::Receive { unpacker, .. } = &plan.end else { return Ok(()) };
        let bytes = channel.chunks.bytes_of(chunk);
        let mut room = unpacker.clone();
        room.skip(bytes.start);
        room.truncate(bytes.end - bytes.start);
        let (context, source, tag) = (channel.context, plan.source, chunk as i32);
        let pattern = Pattern { context, source, tag, from: plan.peer };
        let owner = Owner::Chunk { round: request, chunk };
        let port = &mut *self.process.port;
        self.process.vci.start_receive(port, room, pattern, owner, comm).map(drop)
    }
}
