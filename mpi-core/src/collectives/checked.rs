//! What a process tells the others of a call in the checked mode, before it begins ([`check`](super::check)).
//!
//! In: a [`Prepared`] call. Out: the call begins once all agree, or fails.

use std::rc::Rc;

use super::check::{Check, Stage};
use super::execute::Peculiar;
use crate::buffer::UserBuffer;
use crate::coll::algorithms::neighbor;
use crate::coll::inter::{Between, Root};
use crate::coll::place::{Place, Places};
use crate::coll::plan::Problem;
use crate::coll::prepared::{Data, LaidOut, Prepared};
use crate::coll::record::{BYTES, Flow, Record, UNTOLD, UNTOLD_OP};
use crate::coll::schedule::Region;
use crate::coll::tags;
use crate::collectives::Collectives;
use crate::error::{Error, ErrorClass, Result};
use crate::handle::RequestHandle;
use crate::objects::Objects;
use crate::port::Port;

impl<P: Port> Collectives<'_, P> {
    /// Begins to compare a call with those of the others; `then` begins when all agree. If the call has failed
    /// here, all hear of that instead.
    fn begin_check(
        &mut self,
        call: &Prepared,
        then: Option<u32>,
        failure: Option<Error>,
    ) -> Result<RequestHandle> {
        let mine = records(self, call)?;
        let (me, size) = (self.comm(call.comm)?.place() as usize, mine.len());
        let mut told = Vec::with_capacity(2 * size * BYTES);
        mine.iter().for_each(|record| record.write(&mut told));
        let stage = Stage::Records { mine, pairwise: is_pairwise(&call.problem) };
        let mut check = Check::new(stage, then);
        let (schedule, memory) = check.exchange(me, size, told)?;
        let state = self.comm_mut(call.comm)?;
        let tag = tags::CHECKS + state.check_number as i32;
        state.check_number = (state.check_number + 1) % tags::CHECK_NUMBERS;
        let peculiar = Peculiar { check: Some(Box::new(check)), failure };
        self.executor().launch_with(call.comm, tag, Rc::new(schedule), memory, None, peculiar)
    }
}

/// What this process tells each member about a call.
fn records(objects: &Objects, call: &Prepared) -> Result<Vec<Record>> {
    let state = objects.comm(call.comm)?;
    let (me, size) = (state.place() as usize, state.roster().size() as usize);
    let head = Record {
        procedure: u64::from(objects.procedure),
        kind: kind(call),
        root: call.problem.root().map_or(u64::MAX, |root| root as u64),
        op: if stands_beside(&call.problem) { UNTOLD_OP } else { 0 },
        common: UNTOLD,
        to: UNTOLD,
        from: UNTOLD,
    };
    let (send, recv) = match &call.data {
        Data::Moved { send, recv } => (send, recv),
        Data::Reduced(data) => {
            let op = if data.op.is_predefined() { u64::from(data.op.raw()) } else { u64::MAX };
            let record = match &call.problem {
                Problem::Between(..) => Record { op, ..head },
                problem => {
                    let mut common =
                        Flow::of(objects.datatypes.get(data.datatype)?, length(problem));
                    common.hash ^= cuts(problem);
                    Record { op, common, ..head }
                }
            };
            return Ok(vec![record; size]);
        }
    };
    (0..size)
        .map(|peer| {
            let Flows { common, to, from } = flows(&call.problem, send, recv, me, peer);
            let flow = |place: Option<Place>| match place.map(|place| place.elements()) {
                Some((datatype, count)) => Ok(Flow::of(objects.datatypes.get(datatype)?, count)),
                None => Ok(UNTOLD),
            };
            Ok(Record { common: flow(common)?, to: flow(to)?, from: flow(from)?, ..head })
        })
        .collect()
}

/// Which collective it is.
fn kind(call: &Prepared) -> u64 {
    match (call.collective, &call.problem) {
        (Some(collective), _) => 1 + collective as u64,
        (None, Problem::Neighbors { .. }) => 100,
        (None, _) => 101,
    }
}

/// Whether the root of a reduction is another process of this one's own group, so that no other argument of
/// this one's counts (MPI-5.0 §6.2.3).
fn stands_beside(problem: &Problem) -> bool {
    matches!(problem, Problem::Between(_, Between::Reduce { root: Root::Beside, .. }))
}

/// Elements of a reduction.
fn length(problem: &Problem) -> i64 {
    match problem {
        Problem::Reduce { len, .. }
        | Problem::Allreduce { len, .. }
        | Problem::Scan { len, .. }
        | Problem::Exscan { len, .. }
        | Problem::Combine { len } => *len,
        Problem::ReduceScatter { blocks, .. } => blocks.total(),
        _ => 0,
    }
}

/// A number that tells how the result of a reduction is cut.
fn cuts(problem: &Problem) -> u64 {
    let Problem::ReduceScatter { blocks, .. } = problem else { return 0 };
    let starts = (0..blocks.count()).map(|block| blocks.start(block) as u64);
    starts.fold(0, |sum, start| sum.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(start))
}

/// Whether there is something to compare between two members: the same at all that call the same.
fn is_pairwise(problem: &Problem) -> bool {
    matches!(
        problem,
        Problem::Gather { .. }
            | Problem::Gatherv { .. }
            | Problem::Scatter { .. }
            | Problem::Scatterv { .. }
            | Problem::Allgather { .. }
            | Problem::Alltoall { .. }
            | Problem::Alltoallv { .. }
            | Problem::Neighbors { .. }
    )
}

/// What there is to compare between two members.
#[derive(Default)]
struct Flows {
    common: Option<Place>,
    to: Option<Place>,
    from: Option<Place>,
}

fn flows(problem: &Problem, send: &Places, recv: &Places, me: usize, peer: usize) -> Flows {
    let none = Flows::default();
    match problem {
        Problem::Bcast { .. } => Flows { common: recv.first(), ..none },
        Problem::Gather { root, .. } | Problem::Gatherv { root, .. } => Flows {
            to: send.first().filter(|_| peer == *root),
            from: recv.get(peer).filter(|_| me == *root),
            ..none
        },
        Problem::Scatter { root, .. } | Problem::Scatterv { root, .. } => Flows {
            to: send.get(peer).filter(|_| me == *root),
            from: recv.first().filter(|_| peer == *root),
            ..none
        },
        Problem::Allgather { in_place, .. } => {
            let own = if *in_place { recv.get(me) } else { send.first() };
            Flows { to: own, from: recv.get(peer), ..none }
        }
        Problem::Alltoall { in_place, .. } | Problem::Alltoallv { in_place, .. } => {
            let out = if *in_place { recv } else { send };
            Flows { to: out.get(peer), from: recv.get(peer), ..none }
        }
        // Whom a process meets where only its neighbours know; but itself it knows.
        Problem::Neighbors { sources, targets } if peer == me => {
            let mut own = neighbor::to_itself(me, sources, targets);
            let misfit = own.find(|(sent, received)| sent.len != received.len);
            let bytes = |region: Region| Place::of_bytes(UserBuffer::BOTTOM, region.len);
            let (to, from) = misfit.map(|(sent, received)| (bytes(sent), bytes(received))).unzip();
            Flows { to, from, ..none }
        }
        _ => none,
    }
}

impl<P: Port> Collectives<'_, P> {
    /// Has a call begin when all processes agree on it, if it can.
    #[cold]
    pub(super) fn begin_checked(
        &mut self,
        call: &Prepared,
        tag: i32,
        laid_out: Result<LaidOut>,
    ) -> Result<RequestHandle> {
        match laid_out {
            Ok((schedule, memory, reducer)) => {
                let peculiar = Peculiar::default();
                let (held, request) =
                    self.executor().enlist(call.comm, tag, schedule, memory, reducer, peculiar)?;
                let check = self.begin_check(call, Some(held), None)?;
                self.let_go(check)?;
                Ok(request)
            }
            // That it does not agree with itself is found by what it tells.
            Err(why) if why.class() == ErrorClass::TRUNCATE => self.begin_check(call, None, None),
            Err(why) => self.begin_check(call, None, Some(why)),
        }
    }

    /// Compares a call with those of the others, and waits for the outcome.
    #[cold]
    pub(super) fn check_now(&mut self, call: &Prepared) -> Result<()> {
        let check = self.begin_check(call, None, None)?;
        self.wait_one(check).map(drop)
    }
}
