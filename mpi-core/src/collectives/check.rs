//! The checked mode: before a collective call moves anything, its processes compare what they call
//! it with (MPI-5.0 §6.1: all call the same procedure, name the same root and operation, and what
//! one sends has the type signature that the other receives).
//!
//! In: what this process tells of a call (`checked`). Out: whether the call may begin, or the error `MPI_ERR_NOT_SAME`
//! naming who disagrees. Everybody sends everybody one record in the communicator's collective
//! context, by a schedule like any other, so a nonblocking call stays one: it is held until its
//! check is through.

use std::fmt::Write;

use crate::buffer::UserBuffer;
use crate::coll::memory::{Memory, Span, Temps};
use crate::coll::plan::{Problem, plan};
use crate::coll::record::{BYTES, Flow, Record, UNTOLD_OP, Verdict};
use crate::coll::schedule::Schedule;
use crate::coll::shape::Choice;
use crate::comm::Comm;
use crate::error::{Error, ErrorClass, Result};
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
pub(super) enum Stage {
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
    /// One that begins to tell this.
    pub(super) fn new(stage: Stage, then: Option<u32>) -> Check {
        Check { stage, told: Box::default(), then }
    }

    /// Lays out an exchange in which `told` has a piece for each of `size` processes.
    pub(super) fn exchange(
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

    /// What follows when all has been told, on the communicator of this context.
    pub(super) fn judge<P: Port>(&mut self, process: &Process<P>, context: u64, me: usize) -> Next {
        let over = |fault: Option<String>| {
            Next::Over(fault.map(|fault| disagreement(process.comm_of(context), &fault)))
        };
        let (mine, pairwise) = match &mut self.stage {
            Stage::Records { mine, pairwise } => (std::mem::take(mine), *pairwise),
            Stage::Verdicts { call } => {
                let call = std::mem::take(call);
                let found = self.incoming(Verdict::BYTES).find_map(Verdict::read);
                return over(found.map(|verdict| format!("in {call}, {}", verdict.words())));
            }
        };
        let theirs: Vec<Record> = self.incoming(BYTES).map(Record::read).collect();
        let name_of = |number: u64| process.port.procedure_name(u16::try_from(number).ok()?);
        if let Some(fault) = compare(me, &theirs, &name_of) {
            return over(Some(fault));
        }
        if !pairwise {
            return over(None);
        }
        self.stage = Stage::Verdicts { call: name(&mine[me], &name_of) };
        let told = Verdict::write(pairs(me, &mine, &theirs)).repeat(mine.len());
        match self.exchange(me, mine.len(), told) {
            Ok(exchange) => Next::Exchange(Box::new(exchange)),
            Err(error) => Next::Over(Some(error)),
        }
    }
}

fn disagreement(comm: Option<&Comm>, fault: &str) -> Error {
    let comm = comm.map(|comm| shown(&comm.name));
    let comm = comm.filter(|name| !name.is_empty());
    let comm = comm.as_deref().unwrap_or("a communicator without a name");
    let what = format!("the processes of {comm} disagree: {fault}");
    Error::new(ErrorClass::NOT_SAME, what).hint(
        "All processes call the same collectives in the same order, with the same root and \
         operation, and receive what is sent.",
    )
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coll::record::UNTOLD;
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
}
