//! A collective's stages as one schedule. Data say what runs at once: a long broadcast flows in segments.

use super::groups::Groups;
use super::stages::{Stage, Stages, Step, Team, Units};
use crate::coll::algorithms::{barrier, bcast};
use crate::coll::builder::Builder;
use crate::coll::menu::Algorithm;
use crate::coll::plan::Problem;
use crate::coll::schedule::Schedule;
use crate::coll::select::Selection;
use crate::coll::shape::{Choice, Shape};
use crate::error::Result;
use crate::fail;
use crate::tuning::SEGMENT_BYTES;

/// The schedule of `rank` for a call of this shape on a communicator with these groups. Each stage goes as `table`
/// says, within a group by at least so many ports, which makes few steps where processes share processors.
///
/// # Errors
/// There is no such schedule for this problem.
pub(crate) fn plan(
    rank: usize,
    groups: &Groups,
    problem: &Problem,
    shape: &Shape,
    ports: usize,
    table: &Selection,
) -> Result<Schedule> {
    let mut b = Builder::new(rank, groups.size());
    // Any process may stand for its group here: the root does.
    let groups = &problem.root().map_or_else(|| groups.clone(), |root| groups.led_by(root));
    let units = Units { bytes: shape.unit, moved: 1 };
    let Stages { steps, temps, .. } = Stages::of(groups, rank, problem, units)?;
    for len in temps {
        b.temp(len);
    }
    let group: Vec<usize> = groups.members(groups.group_of(rank)).collect();
    let leaders: Vec<usize> = groups.leaders().collect();
    for step in steps {
        match step {
            Step::Turn([from, into], moves) => {
                for [at, to, len] in moves {
                    b.copy(from.slice(at, len), into.slice(to, len));
                }
            }
            Step::Call(stage) => {
                let near = stage.team == Team::Group;
                let ranks = if near { &group } else { &leaders };
                let (size, ports) = (ranks.len(), if near { ports } else { 1 });
                let ranks_per_node = if near { size } else { 1 };
                let shape =
                    Shape { size, ranks_per_node, shared_memory: false, nodes: false, ..*shape };
                let mut choice = stage.collective.map_or(Choice::ONLY, |collective| {
                    table.select(&Shape { collective, bytes: stage.bytes, ..shape })
                });
                choice.ports = choice.ports.max(ports);
                let segment = (SEGMENT_BYTES / shape.unit.max(1)).max(1);
                let signals = *problem == Problem::Barrier;
                if write_down(&mut b, ranks, &stage, &choice, segment, signals).is_none() {
                    let problem = &stage.problem;
                    fail!(INTERN, "the table chose {choice:?} for {problem:?}");
                }
            }
        }
    }
    Ok(b.finish())
}

/// Emits the steps of a stage; of one that only says something, as signals. `None` if the algorithm cannot.
fn write_down(
    b: &mut Builder,
    ranks: &[usize],
    stage: &Stage,
    choice: &Choice,
    segment: i64,
    signals: bool,
) -> Option<()> {
    let mut done = Some(());
    let mut emit = |memory, problem: &Problem| {
        b.among(ranks.iter().copied(), memory, |b| match problem {
            Problem::Gather { .. } if signals => barrier::arrive(b, choice.ports),
            Problem::Bcast { .. } if signals => barrier::leave(b, choice.ports),
            problem => done = done.and(problem.write_down(b, choice)),
        });
    };
    match (&stage.problem, stage.memory) {
        (&Problem::Bcast { root, .. }, [_, Some(data)])
            if data.len > segment && choice.algorithm == Algorithm::Binomial =>
        {
            for part in bcast::segments(data, segment) {
                emit([None, Some(part)], &Problem::Bcast { root, len: part.len });
            }
        }
        (problem, memory) => emit(memory, problem),
    }
    done
}
