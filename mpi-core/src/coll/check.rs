//! The checked mode: before a collective call moves anything, its processes compare what they call
//! it with (MPI-5.0 §6.1: all call the same procedure, name the same root and operation, and what
//! one sends has the type signature that the other receives).
//!
//! In: a [`Prepared`] call. Out: the call begins once all agree, or fails with `MPI_ERR_NOT_SAME`
//! naming who disagrees. Everybody sends everybody one record in the communicator's collective
//! context, by a schedule like any other, so a nonblocking call stays one: it is held until its
//! check is through.

use std::fmt::Write;
use std::rc::Rc;

use super::across::bytes_at;
use super::algorithms::neighbor;
use super::execute::Peculiar;
use super::inter::{Between, Root};
use super::memory::{Memory, Span, Temps};
use super::place::{Place, Places};
use super::plan::{Problem, plan};
use super::prepared::{Data, LaidOut, Prepared};
use super::record::{BYTES, Flow, Record, UNTOLD, UNTOLD_OP, Verdict};
use super::schedule::{Region, Schedule};
use super::select::Choice;
use super::standing;
use crate::buffer::UserBuffer;
use crate::entry::Entry;
use crate::error::{Error, ErrorClass, Result};
use crate::handle::{DatatypeHandle, RequestHandle};
use crate::op::Builtin;
use crate::port::Port;
use crate::process::Process;
use crate::text::shown;

/// A check under way.
pub(super) struct Check {
    stage: Stage,
    /// What is told, as it leaves and, behind it, as it comes: memory of the schedule.
    told: Box<[u8]>,
    /// The execution that begins when all agree.
    pub(super) then: Option<u32>,
}

/// What is told.
enum Stage {
    Records {
        mine: Vec<Record>,
        /// They tell each process also what only it is to compare.
        pairwise: bool,
    },
    /// What each has found that only it could find: a process that knew nothing of it would begin, and wait
    /// for those that do not.
    Verdicts { call: String },
}

/// How a check goes on.
pub(super) enum Next {
    /// It is over; `None` if all agree.
    Over(Option<Error>),
    /// Something more is to be told.
    Exchange(Box<(Schedule, Memory)>),
}

impl Check {
    /// Lays out an exchange in which `told` has a piece for each of `size` processes.
    fn exchange(
        &mut self,
        me: usize,
        size: usize,
        mut told: Vec<u8>,
    ) -> Result<(Schedule, Memory)> {
        let half = told.len();
        told.resize(2 * half, 0);
        self.told = told.into_boxed_slice();
        let start = UserBuffer(self.told.as_mut_ptr());
        let (send, recv) = (Span::Flat(start), Span::Flat(start.offset(half as i64)));
        let problem = Problem::Alltoall { block: (half / size) as i64, in_place: false };
        let schedule = plan(me, size, &problem, &Choice::ONLY)?;
        let memory = Memory::moved(&schedule, send, recv, Temps::default())?;
        Ok((schedule, memory))
    }

    /// What was told in pieces of so many bytes.
    fn incoming(&self, bytes: usize) -> impl Iterator<Item = &[u8]> {
        self.told[self.told.len() / 2..].chunks_exact(bytes)
    }
}

/// Checks have tags that neither other collective calls nor persistent ones have.
const TAGS: i32 = -0x3000_0000;
const NUMBERS: u32 = 0x2000_0000;

/// The number of a collective call, a persistent one or a check, each counted for itself, given the tag of its
/// messages.
pub(crate) fn number_of(tag: i32) -> u32 {
    let of = |first: i32, numbers: u32| {
        tag.checked_sub(first).map(|number| number as u32).filter(|&number| number < numbers)
    };
    of(TAGS, NUMBERS).or_else(|| of(standing::TAGS, standing::NUMBERS)).unwrap_or(tag as u32)
}

impl<P: Port> Process<P> {
    /// What this process tells each member about a call.
    fn records(&self, call: &Prepared) -> Result<Vec<Record>> {
        let state = self.comm(call.comm)?;
        let (me, size) = (state.place() as usize, state.roster().size() as usize);
        let head = Record {
            procedure: u64::from(self.procedure),
            kind: kind(call),
            root: root(&call.problem).map_or(u64::MAX, |root| root as u64),
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
                        let mut common = self.flow(data.datatype, length(problem))?;
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
                    Some((datatype, count)) => self.flow(datatype, count),
                    None => Ok(UNTOLD),
                };
                Ok(Record { common: flow(common)?, to: flow(to)?, from: flow(from)?, ..head })
            })
            .collect()
    }

    fn flow(&self, datatype: DatatypeHandle, count: i64) -> Result<Flow> {
        Ok(Flow::of(self.datatype(datatype)?, count))
    }

    /// Begins to compare a call with those of the others; `then` begins when all agree. If the call has failed
    /// here, all hear of that instead.
    fn begin_check(
        &mut self,
        call: &Prepared,
        then: Option<u32>,
        failure: Option<Error>,
    ) -> Result<RequestHandle> {
        let mine = self.records(call)?;
        let (me, size) = (self.comm(call.comm)?.place() as usize, mine.len());
        let mut told = Vec::with_capacity(2 * size * BYTES);
        mine.iter().for_each(|record| record.write(&mut told));
        let stage = Stage::Records { mine, pairwise: is_pairwise(&call.problem) };
        let mut check = Check { stage, told: Box::default(), then };
        let (schedule, memory) = check.exchange(me, size, told)?;
        let state = self.comm_mut(call.comm)?;
        let tag = TAGS + state.check_number as i32;
        state.check_number = (state.check_number + 1) % NUMBERS;
        let peculiar = Peculiar { check: Some(Box::new(check)), failure };
        self.launch_with(call.comm, tag, Rc::new(schedule), memory, None, peculiar)
    }

    /// What follows when all has been told, on the communicator of this context.
    pub(super) fn judge(&self, check: &mut Check, context: u64, me: usize) -> Next {
        let over = |fault: Option<String>| {
            Next::Over(fault.map(|fault| self.disagreement(context, &fault)))
        };
        let (mine, pairwise) = match &mut check.stage {
            Stage::Records { mine, pairwise } => (std::mem::take(mine), *pairwise),
            Stage::Verdicts { call } => {
                let call = std::mem::take(call);
                let found = check.incoming(Verdict::BYTES).find_map(Verdict::read);
                return over(found.map(|verdict| format!("in {call}, {}", verdict.words())));
            }
        };
        let theirs: Vec<Record> = check.incoming(BYTES).map(Record::read).collect();
        let name_of = |number: u64| self.port.procedure_name(u16::try_from(number).ok()?);
        if let Some(fault) = compare(me, &theirs, &name_of) {
            return over(Some(fault));
        }
        if !pairwise {
            return over(None);
        }
        check.stage = Stage::Verdicts { call: name(&mine[me], &name_of) };
        let told = Verdict::write(pairs(me, &mine, &theirs)).repeat(mine.len());
        match check.exchange(me, mine.len(), told) {
            Ok(exchange) => Next::Exchange(Box::new(exchange)),
            Err(error) => Next::Over(Some(error)),
        }
    }

    fn disagreement(&self, context: u64, fault: &str) -> Error {
        let comm = self.comm_of(context).map(|comm| shown(&comm.name));
        let comm = comm.filter(|name| !name.is_empty());
        let comm = comm.as_deref().unwrap_or("a communicator without a name");
        let what = format!("the processes of {comm} disagree: {fault}");
        Error::new(ErrorClass::NOT_SAME, what).hint(
            "All processes call the same collectives in the same order, with the same root and \
             operation, and receive what is sent.",
        )
    }
}

fn name<'a>(record: &Record, name_of: &dyn Fn(u64) -> Option<&'a str>) -> String {
    let name = name_of(record.procedure).map(|name| name.trim_end_matches("_c").to_owned());
    name.unwrap_or_else(|| format!("procedure {} of kind {}", record.procedure, record.kind))
}

/// The first thing in which records differ that all can see, in words.
fn compare<'a>(
    me: usize,
    theirs: &[Record],
    name_of: &dyn Fn(u64) -> Option<&'a str>,
) -> Option<String> {
    let name = |record: &Record| name(record, name_of);
    let root = |record: &Record| match record.root {
        u64::MAX => "no root".to_owned(),
        root => format!("root {root}"),
    };
    let op = |record: &Record| match record.op {
        0 => "no operation".to_owned(),
        u64::MAX => "an operation of the program".to_owned(),
        op => Builtin::from_code(op as u32).map_or("another operation", Builtin::name).to_owned(),
    };
    let same = |told: Vec<Told>, verbs| {
        (told.iter().any(|one| one.value != told[0].value)).then(|| dissent(&told, verbs))
    };
    let ranked = |says: &dyn Fn(&Record) -> (u64, String)| -> Vec<Told> {
        let told = |(rank, record)| {
            let (value, words) = says(record);
            Told { rank, value, words }
        };
        theirs.iter().enumerate().map(told).collect()
    };
    let call = name(theirs.get(me)?);
    let names: Vec<String> = theirs.iter().map(name).collect();
    let number = |name: &String| names.iter().position(|other| other == name).unwrap_or(0) as u64;
    let calls = ranked(&|r| (r.kind << 32 | number(&name(r)), name(r)));
    if let Some(fault) = same(calls, ["calls", "call"]) {
        return Some(fault);
    }
    same(ranked(&|r| (r.root, root(r))), ["names", "name"])
        .or_else(|| {
            let mut told = ranked(&|r| (r.op, op(r)));
            told.retain(|one| one.value != UNTOLD_OP);
            same(told, ["passes", "pass"])
        })
        .or_else(|| {
            // What is packed fits anything as long, so that it is no measure for the others.
            let first = theirs.iter().find(|r| !r.common.is_packed()).or(theirs.first())?.common;
            let differs = theirs.iter().any(|r| !r.common.fits(first));
            let mark = |flow: Flow| flow.hash ^ flow.bytes.rotate_left(32);
            let mut told = ranked(&|r| (mark(r.common), r.common.words()));
            told.retain(|one| {
                let flow = theirs[one.rank].common;
                !flow.is_packed() || !flow.fits(first)
            });
            differs.then(|| dissent(&told, ["passes", "pass"]))
        })
        .map(|fault| format!("in {call}, {fault}"))
}

/// What one process sends and the other awaits.
fn pairs(me: usize, mine: &[Record], theirs: &[Record]) -> Option<Verdict> {
    let verdict = |from: usize, sent: Flow, to: usize, awaited: Flow| {
        (!sent.fits(awaited)).then_some(Verdict { from: from as u64, to: to as u64, sent, awaited })
    };
    mine.iter().zip(theirs).enumerate().find_map(|(peer, (mine, theirs))| {
        verdict(peer, theirs.to, me, mine.from).or_else(|| verdict(me, mine.to, peer, theirs.from))
    })
}

/// Ranks that are named one by one.
const SHOWN: usize = 8;

/// What one process says: as a number to compare, and in words.
struct Told {
    rank: usize,
    value: u64,
    words: String,
}

/// Who differs from the most, and in what, after a verb for one and for several.
fn dissent(told: &[Told], [says, say]: [&str; 2]) -> String {
    let votes = |value: u64| told.iter().filter(|one| one.value == value).count();
    // Of two that are as many, the one that rank 0 or the next lowest has.
    let Some(most) = told.iter().rev().max_by_key(|one| votes(one.value)) else {
        return String::new();
    };
    let mut text = String::new();
    let others = told.iter().filter(|one| one.value != most.value);
    for Told { rank, words, .. } in others.take(SHOWN) {
        // Types that are made up otherwise, or results that are cut otherwise.
        let how = if *words == most.words { " in another arrangement" } else { "" };
        let _ = write!(text, "rank {rank} {says} {words}{how}, ");
    }
    let with = told.iter().filter(|one| one.value == most.value);
    let with: Vec<String> = with.map(|one| one.rank.to_string()).collect();
    let words = &most.words;
    let shown = with[..with.len().min(SHOWN)].join(", ");
    let _ = match with.len() {
        1 => write!(text, "but rank {shown} {says} {words}"),
        2..=SHOWN => write!(text, "but ranks {shown} {say} {words}"),
        _ => write!(text, "but ranks {shown} and others {say} {words}"),
    };
    text
}

/// Which collective it is.
fn kind(call: &Prepared) -> u64 {
    match (call.collective, &call.problem) {
        (Some(collective), _) => 1 + collective as u64,
        (None, Problem::Neighbors { .. }) => 100,
        (None, _) => 101,
    }
}

fn root(problem: &Problem) -> Option<usize> {
    match problem {
        Problem::Bcast { root, .. }
        | Problem::Gather { root, .. }
        | Problem::Gatherv { root, .. }
        | Problem::Scatter { root, .. }
        | Problem::Scatterv { root, .. }
        | Problem::Reduce { root, .. } => Some(*root),
        _ => None,
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
            let bytes = |region: Region| bytes_at(UserBuffer::BOTTOM, region.len);
            let (to, from) = misfit.map(|(sent, received)| (bytes(sent), bytes(received))).unzip();
            Flows { to, from, ..none }
        }
        _ => none,
    }
}

impl<P: Port> Entry<'_, P> {
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
                    self.enlist(call.comm, tag, schedule, memory, reducer, peculiar)?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatype::basic::PACKED;

    const BCAST: Record =
        Record { procedure: 1, kind: 2, root: 0, op: 0, common: INTS, to: UNTOLD, from: UNTOLD };
    const INTS: Flow = Flow { bytes: 16, hash: 7, only: 0x209 };

    fn name_of<'a>(number: u64) -> Option<&'a str> {
        [None, Some("MPI_Bcast"), Some("MPI_Reduce"), Some("MPI_Bcast_c")]
            .get(number as usize)
            .copied()
            .flatten()
    }

    fn seen(theirs: &[Record]) -> Option<String> {
        compare(0, theirs, &name_of)
    }

    #[test]
    fn a_record_comes_back() {
        let record = Record { root: 5, op: 9, to: INTS, ..BCAST };
        let mut bytes = Vec::new();
        record.write(&mut bytes);
        assert_eq!((bytes.len(), Record::read(&bytes)), (BYTES, record));
        let _ = Record::read(&bytes[..20]);
    }

    #[test]
    fn who_disagrees_is_named() {
        assert_eq!(seen(&[BCAST; 3]), None);
        assert_eq!(seen(&[BCAST, Record { procedure: 3, ..BCAST }]), None);
        let other = Record { procedure: 2, kind: 13, ..BCAST };
        let text = seen(&[BCAST, other, BCAST]).unwrap();
        assert_eq!(text, "rank 1 calls MPI_Reduce, but ranks 0, 2 call MPI_Bcast");
        let text = seen(&[BCAST, BCAST, Record { root: 2, ..BCAST }]).unwrap();
        assert_eq!(text, "in MPI_Bcast, rank 2 names root 2, but ranks 0, 1 name root 0");
        let less = Flow { bytes: 8, hash: 3, ..INTS };
        let text = seen(&[BCAST, Record { common: less, ..BCAST }, BCAST]).unwrap();
        assert!(text.starts_with("in MPI_Bcast, rank 1 passes 2 "), "{text}");
    }

    #[test]
    fn an_operation_that_does_not_count_is_not_compared() {
        let [sum, max] = [1, 2].map(|op| Record { op, ..BCAST });
        let beside = Record { op: UNTOLD_OP, ..BCAST };
        assert_eq!(seen(&[beside, sum, beside, sum]), None);
        assert_eq!(seen(&[beside; 3]), None);
        let text = seen(&[beside, sum, max, sum]).unwrap();
        assert!(text.contains("rank 2 passes") && text.contains("but ranks 1, 3 pass"), "{text}");
    }

    #[test]
    fn what_is_sent_is_what_is_received() {
        let awaits = Record { from: INTS, ..BCAST };
        let sends = |to| [Record { to, ..BCAST }; 2];
        let found = |to| pairs(1, &[awaits; 2], &sends(to));
        assert_eq!(found(INTS), None);
        assert_eq!(found(Flow { hash: 1, only: u64::from(PACKED), ..INTS }), None);
        let verdict = found(Flow { hash: 1, only: 0, ..INTS });
        let text = verdict.unwrap().words();
        assert!(text.contains("rank 0 sends rank 1 16 bytes of mixed types, but rank 1"), "{text}");
        for verdict in [None, verdict] {
            let bytes = Verdict::write(verdict);
            assert_eq!((bytes.len(), Verdict::read(&bytes)), (Verdict::BYTES, verdict));
        }
        assert_eq!((Verdict::read(&[1; 9]), Verdict::read(&[1; Verdict::BYTES])), (None, None));
    }

    #[test]
    fn tags_of_checks_are_their_own() {
        assert_eq!((number_of(TAGS), number_of(TAGS + 5), number_of(17)), (0, 5, 17));
        assert_eq!(number_of(TAGS + NUMBERS as i32 - 1), NUMBERS - 1);
        const { assert!(TAGS + NUMBERS as i32 <= i16::MIN as i32) };
        const { assert!(TAGS as i64 >= standing::TAGS as i64 + standing::NUMBERS as i64) };
        assert_eq!([0, 7].map(|number| number_of(standing::TAGS + number)), [0, 7]);
        let last = standing::NUMBERS - 1;
        assert_eq!(number_of(standing::TAGS + last as i32), last);
        assert_eq!(number_of(i32::MAX), i32::MAX as u32);
    }
}
