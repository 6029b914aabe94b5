//! The sending end: partitions are made ready, and a chunk leaves when all of its own are.

use std::rc::Rc;

use super::Partitioned;
use crate::error::{Error, ErrorClass, Result};
use crate::handle::{CommHandle, RequestHandle};
use crate::p2p::Begun;
use crate::p2p::partitioned::{Chunks, End, Plan, Round};
use crate::port::Port;
use crate::request::Owner;
use crate::vci::send::{Manner, Route};

impl<P: Port> Partitioned<'_, P> {
    /// `MPI_Pready`.
    pub fn ready(&mut self, request: RequestHandle, partition: i32) -> Result<()> {
        let (plan, round) = self.sending(request)?;
        let partition = plan.partition(partition, "partition")?;
        self.make_ready(&plan, round, [partition])
    }

    /// `MPI_Pready_range`: from the lowest to the highest, if there are any between them.
    pub fn ready_range(&mut self, request: RequestHandle, (low, high): (i32, i32)) -> Result<()> {
        let (plan, round) = self.sending(request)?;
        if low > high {
            return Ok(());
        }
        let low = plan.partition(low, "partition_low")?;
        let high = plan.partition(high, "partition_high")?;
        self.make_ready(&plan, round, low..=high)
    }

    /// `MPI_Pready_list`.
    pub fn ready_list(
        &mut self,
        request: RequestHandle,
        partitions: impl IntoIterator<Item = i32>,
    ) -> Result<()> {
        let (plan, round) = self.sending(request)?;
        let known = |partition| plan.partition(partition, "array_of_partitions");
        let partitions: Result<Vec<u32>> = partitions.into_iter().map(known).collect();
        self.make_ready(&plan, round, partitions?)
    }

    /// The round of a send that the program has started.
    fn sending(&self, request: RequestHandle) -> Result<(Rc<Plan>, RequestHandle)> {
        match self.planned(request)? {
            Some((plan, Some(round))) if matches!(plan.end, End::Send { .. }) => Ok((plan, round)),
            Some((plan, None)) if matches!(plan.end, End::Send { .. }) => {
                let what = format!("is not active: {plan} has not been started");
                let error = Error::param(ErrorClass::REQUEST, "request", what);
                Err(error.hint("Call MPI_Start first; each round makes all partitions ready anew."))
            }
            Some((plan, _)) => {
                let what = format!("is that of {plan}: only partitions of a send are made ready");
                Err(Error::param(ErrorClass::REQUEST, "request", what))
            }
            None => {
                let what = "is not that of a partitioned send";
                let error = Error::param(ErrorClass::REQUEST, "request", what);
                Err(error.hint("MPI_Psend_init makes one."))
            }
        }
    }

    pub(super) fn start_send(
        &mut self,
        plan: Rc<Plan>,
        chunks: Chunks,
        comm: CommHandle,
    ) -> Result<RequestHandle> {
        let lacking = (0..chunks.len()).map(|chunk| chunks.partitions_of(chunk).len() as u32);
        let round = Round {
            marks: vec![false; plan.partitions as usize],
            lacking: lacking.collect(),
            left: chunks.len(),
            failure: None,
            plan,
        };
        let request = self.begin(round, comm)?;
        self.count_down(request, 0, None);
        Ok(request)
    }

    /// Makes partitions ready, and serves the receivers of what left before: programs compute between such calls.
    fn make_ready(
        &mut self,
        plan: &Plan,
        request: RequestHandle,
        partitions: impl IntoIterator<Item = u32>,
    ) -> Result<()> {
        let mut partitions = partitions.into_iter();
        let made =
            partitions.try_for_each(|partition| self.make_one_ready(plan, request, partition));
        if self.process.vci.sends_pending > 0 {
            self.process.progress();
        }
        made
    }

    fn make_one_ready(
        &mut self,
        plan: &Plan,
        request: RequestHandle,
        partition: u32,
    ) -> Result<()> {
        let End::Send { channel, .. } = &plan.end else { return Ok(()) };
        let chunk = channel.chunks.of(partition);
        // All are ready in a round that is complete.
        let round = self.round(request);
        let Some(round) = round.filter(|round| !round.marks[partition as usize]) else {
            let what = format!("partition {partition} of {plan} has been made ready already");
            return Err(Error::new(ErrorClass::ARG, what)
                .hint("Each partition is made ready once in a round."));
        };
        round.marks[partition as usize] = true;
        round.lacking[chunk as usize] -= 1;
        if round.lacking[chunk as usize] == 0 {
            self.send_chunk(plan, request, chunk);
        }
        Ok(())
    }

    /// Begins to send a chunk, whether the receiver has started or not. What fails is told at the end of the round.
    fn send_chunk(&mut self, plan: &Plan, request: RequestHandle, chunk: u32) {
        let (End::Send { packer, channel }, Some(peer)) = (&plan.end, plan.peer) else {
            return self.chunk_done(request, chunk, None);
        };
        let bytes = channel.chunks.bytes_of(chunk);
        let mut part = packer.clone();
        part.skip(bytes.start);
        part.truncate(bytes.end - bytes.start);
        let route =
            Route { peer, context: channel.context, source: plan.source, tag: chunk as i32 };
        let owner = Owner::Chunk { round: request, chunk };
        let comm = self.process.vci.requests.comm(request).unwrap_or(CommHandle::NULL);
        let port = &mut *self.process.port;
        match self.process.vci.start_send(port, part, route, Manner::Begun, owner, comm) {
            Ok(Begun::Pending(_)) => {}
            Ok(Begun::Complete) => self.chunk_done(request, chunk, None),
            Err(failure) => self.chunk_done(request, chunk, Some(failure)),
        }
    }
}
