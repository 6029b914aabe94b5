//! The stages of a collective one after the other, each as a call on the communicator of the group or of the leaders.
//! Where one fails, this process says so in those that follow, in which others wait.

use crate::buffer::UserBuffer;
use crate::coll::hierarchy::stages::{Stage, Stages, Step, Team, Units};
use crate::coll::layout::Layout;
use crate::coll::memory::{Memory, Span, Temps};
use crate::coll::place::{Place, Places};
use crate::coll::plan::Problem;
use crate::coll::prepared::{Data, Operands, Prepared};
use crate::coll::schedule::{Buffer, Region, Schedule};
use crate::collectives::Collectives;
use crate::collectives::node::copy;
use crate::comm::Level;
use crate::datatype::{Datatypes, Packer};
use crate::error::Result;
use crate::objects::Objects;
use crate::port::Port;

/// What a process says when it has come.
static HERE: u8 = 1;

impl Objects {
    /// A stage as a call of its own.
    fn prepare_stage(
        &self,
        call: &Prepared,
        level: &Level,
        stage: Stage,
        memory: &mut Memory,
    ) -> Result<Prepared> {
        let Stage { team, collective, problem, bytes, memory: [from, into] } = stage;
        let (comm, size) = match team {
            Team::Group => (level.within, self.comm(level.within)?.size()),
            Team::Leaders => (level.across, level.groups.count() as u32),
        };
        let data = match &call.data {
            Data::Reduced(data) if problem.reduces() => {
                let send = from.map_or(UserBuffer::IN_PLACE, |from| memory.at(from));
                let recv = into.map_or(UserBuffer::BOTTOM, |into| memory.at(into));
                Data::Reduced(Operands { send, recv, ..*data })
            }
            _ => {
                let [sent, received] = cuts(&problem, size as usize);
                let send = places(&self.datatypes, call, memory, from, sent)?;
                Data::Moved { send, recv: places(&self.datatypes, call, memory, into, received)? }
            }
        };
        Ok(Prepared { comm, collective, problem, bytes, data })
    }
}

impl<P: Port> Collectives<'_, P> {
    /// Runs a collective operation by its groups, or takes part in it only to say that it has failed here.
    #[cold]
    pub(in crate::collectives) fn run_by_stages(
        &mut self,
        call: &Prepared,
        so_far: Result<()>,
    ) -> Result<()> {
        self.next_call(call.comm)?;
        let state = self.comm(call.comm)?;
        let (rank, level) = (state.rank as usize, state.level.clone());
        let Some(level) = level else { crate::fail!(INTERN, "a communicator lost its groups") };
        let unit = call.data.unit();
        let units = Units { bytes: unit, moved: unit };
        let Stages { steps, temps, .. } = Stages::of(&level.groups, rank, &call.problem, units)?;
        let scratch = so_far.and_then(|()| scratch(&self.datatypes, call, temps));
        let (mut memory, mut outcome) = match scratch {
            Ok(memory) => (memory, Ok(())),
            Err(error) => (Memory::Failed, Err(error)),
        };
        if call.problem == Problem::Barrier {
            let here = UserBuffer((&raw const HERE).cast_mut());
            copy(Packer::contiguous(here, 1), memory.unpacker(Region::new(Buffer::Temp(0), 1)));
        }
        for step in steps {
            outcome = match (outcome, step) {
                (Ok(()), Step::Turn([from, into], moves)) => {
                    for [at, to, len] in moves {
                        memory.copy(from.slice(at, len), into.slice(to, len));
                    }
                    Ok(())
                }
                (Ok(()), Step::Call(stage)) => {
                    self.run(&self.prepare_stage(call, &level, stage, &mut memory)?)
                }
                (Err(error), Step::Call(stage)) => {
                    // What comes of it is what the others are told, and that is known.
                    let stage = self.prepare_stage(call, &level, stage, &mut memory)?;
                    let _ = self.fail_call(&stage, &error);
                    Err(error)
                }
                (outcome, Step::Turn(..)) => outcome,
            };
        }
        outcome
    }
}

/// Scratch memory of these lengths, beside the operands of a call that reduces.
fn scratch(datatypes: &Datatypes, call: &Prepared, temps: Vec<i64>) -> Result<Memory> {
    let lens = Schedule { temps, ..Schedule::default() };
    match &call.data {
        Data::Moved { .. } => {
            let [send, recv] = [Span::Flat(UserBuffer::BOTTOM), Span::Flat(UserBuffer::BOTTOM)];
            Memory::moved(&lens, send, recv, Temps::default())
        }
        Data::Reduced(data) => {
            let datatype = datatypes.get(data.datatype)?.clone();
            Memory::reduced(&lens, data.send, data.recv, datatype, Temps::default())
        }
    }
}

/// The memory of a region, as one block or as it is cut.
fn places(
    datatypes: &Datatypes,
    call: &Prepared,
    memory: &mut Memory,
    region: Option<Region>,
    cut: Option<Layout>,
) -> Result<Places> {
    let Some(region) = region else { return Ok(Places::None) };
    let Some(cut) = cut else { return place(datatypes, call, memory, region).map(Places::one) };
    let unit = call.data.unit();
    let part = |block| region.slice(cut.start(block) / unit, cut.len(block) / unit);
    if cut.only_len().is_some() && cut.count() > 0 {
        // Of which a stage by groups takes several as one.
        let first = place(datatypes, call, memory, part(0))?;
        let second = match cut.count() {
            1 => None,
            _ => Some(place(datatypes, call, memory, part(1))?),
        };
        return Ok(Places::even(first, second, cut.count()));
    }
    let places = (0..cut.count()).map(|block| place(datatypes, call, memory, part(block)));
    places.collect::<Result<_>>().map(Places::Each)
}

fn place(
    datatypes: &Datatypes,
    call: &Prepared,
    memory: &mut Memory,
    region: Region,
) -> Result<Place> {
    match (&call.data, region.buffer) {
        (Data::Reduced(data), _) => {
            let datatype = datatypes.get(data.datatype)?;
            Ok(Place::new(memory.at(region), region.len, data.datatype, datatype))
        }
        (Data::Moved { send, .. }, Buffer::Send) => {
            send.stretch(region.start, region.len, datatypes)
        }
        (Data::Moved { recv, .. }, Buffer::Recv) => {
            recv.stretch(region.start, region.len, datatypes)
        }
        (_, Buffer::Temp(_)) => Ok(Place::of_bytes(memory.at(region), region.len)),
    }
}

/// How a stage that moves data cuts what it sends and what it receives; `None` for one block.
fn cuts(problem: &Problem, size: usize) -> [Option<Layout>; 2] {
    match problem {
        Problem::Gather { block, .. } => [None, Some(Layout::uniform(*block, size))],
        Problem::Scatter { block, .. } => [Some(Layout::uniform(*block, size)), None],
        Problem::Gatherv { blocks, .. } => [None, blocks.clone()],
        Problem::Scatterv { blocks, .. } => [blocks.clone(), None],
        Problem::Allgather { blocks, .. } => [None, Some(blocks.clone())],
        Problem::Alltoallv { outgoing, incoming, .. } => {
            [outgoing, incoming].map(|blocks| Some(blocks.clone()))
        }
        _ => [None, None],
    }
}
