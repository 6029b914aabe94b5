//! An executor in memory that does everything in a random order which schedules must allow.
//!
//! Ready steps start, local steps end and messages arrive at random times. A region that is being
//! written is marked until its step ends, so a reader that does not wait is caught. Sends are
//! either all eager (done at once) or all synchronous (done when the message is received).

use std::collections::BTreeMap;

use super::data::{Value, mix};
use crate::coll::schedule::{Action, Buffer, Progress, Region, Schedule, StepId};
use crate::coll::verify::verify;

/// The user's buffers of one rank.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Memory {
    pub(super) send: Vec<Value>,
    pub(super) recv: Vec<Value>,
}

/// What may happen next.
enum Event {
    /// A rank may start a step.
    Poll(usize),
    /// A reduction or copy ends.
    Local(usize, StepId),
    /// A matched message arrives.
    Message(Outgoing, usize, StepId),
}

struct Outgoing {
    rank: usize,
    step: StepId,
    from: Region,
    /// What was read at the start, of an eager send.
    copied: Option<Vec<Value>>,
}

struct Rank<'a> {
    schedule: &'a Schedule,
    progress: Progress,
    memory: Memory,
    temps: Vec<Vec<Value>>,
    polled: bool,
    /// Values under reduction, by step.
    operands: BTreeMap<u32, Vec<Value>>,
}

/// Messages of an ordered pair that wait for their other side, in starting order; at most one of
/// the two lists has any.
#[derive(Default)]
struct Channel {
    sends: Vec<Outgoing>,
    receives: Vec<StepId>,
}

struct World<'a> {
    ranks: Vec<Rank<'a>>,
    channels: BTreeMap<(usize, usize), Channel>,
    events: Vec<Event>,
    eager: bool,
}

/// Runs the schedules of all ranks; returns what is in their buffers in the end.
pub(super) fn run(
    schedules: &[Schedule],
    memory: Vec<Memory>,
    seed: u64,
) -> Result<Vec<Memory>, String> {
    verify(schedules)?;
    let ranks = schedules.iter().zip(memory).map(|(schedule, memory)| Rank {
        schedule,
        progress: Progress::new(schedule),
        memory,
        temps: schedule.temps().iter().map(|&len| vec![Value::Unwritten; len as usize]).collect(),
        polled: true,
        operands: BTreeMap::new(),
    });
    let mut world = World {
        ranks: ranks.collect(),
        channels: BTreeMap::new(),
        events: (0..schedules.len()).map(Event::Poll).collect(),
        eager: seed.is_multiple_of(2),
    };
    let mut random = seed;
    while !world.events.is_empty() {
        random = mix(random, 1);
        let at = (random % world.events.len() as u64) as usize;
        let event = world.events.swap_remove(at);
        world.happen(event)?;
    }
    for (rank, state) in world.ranks.iter().enumerate() {
        if !state.progress.is_finished() {
            return Err(format!("deadlock: rank {rank} never ends {:?}", state.schedule));
        }
    }
    Ok(world.ranks.into_iter().map(|rank| rank.memory).collect())
}

impl World<'_> {
    fn happen(&mut self, event: Event) -> Result<(), String> {
        match event {
            Event::Poll(rank) => match self.ranks[rank].start()? {
                Some(step) => {
                    self.events.push(Event::Poll(rank));
                    self.started(rank, step)
                }
                None => Ok(()),
            },
            Event::Local(rank, step) => {
                self.ranks[rank].finish_local(step)?;
                self.done(rank, step);
                Ok(())
            }
            Event::Message(outgoing, to, receive) => self.arrive(outgoing, to, receive),
        }
    }

    fn started(&mut self, rank: usize, step: StepId) -> Result<(), String> {
        let pair = match self.ranks[rank].schedule.action(step) {
            Action::Send { to, from } => {
                let copied = match self.eager {
                    true => Some(self.ranks[rank].read(from)?),
                    false => None,
                };
                let pair = (rank, to as usize);
                let outgoing = Outgoing { rank, step, from, copied };
                self.channels.entry(pair).or_default().sends.push(outgoing);
                if self.eager {
                    self.done(rank, step);
                }
                pair
            }
            Action::Recv { from, .. } => {
                let pair = (from as usize, rank);
                self.channels.entry(pair).or_default().receives.push(step);
                pair
            }
            _ => {
                self.events.push(Event::Local(rank, step));
                return Ok(());
            }
        };
        let channel = self.channels.entry(pair).or_default();
        if !channel.sends.is_empty() && !channel.receives.is_empty() {
            let (send, receive) = (channel.sends.remove(0), channel.receives.remove(0));
            self.events.push(Event::Message(send, pair.1, receive));
        }
        Ok(())
    }

    fn arrive(&mut self, outgoing: Outgoing, to: usize, receive: StepId) -> Result<(), String> {
        let Outgoing { rank, step, from, copied } = outgoing;
        let synchronous = copied.is_none();
        let values = match copied {
            Some(values) => values,
            None => self.ranks[rank].read(from)?,
        };
        let Action::Recv { into, .. } = self.ranks[to].schedule.action(receive) else {
            return Err("a message meets a step that does not receive".into());
        };
        self.ranks[to].write(into, &values)?;
        self.done(to, receive);
        if synchronous {
            self.done(rank, step);
        }
        Ok(())
    }

    fn done(&mut self, rank: usize, step: StepId) {
        let state = &mut self.ranks[rank];
        state.progress.done(state.schedule, step);
        if !state.polled {
            state.polled = true;
            self.events.push(Event::Poll(rank));
        }
    }
}

impl Rank<'_> {
    /// Starts a ready step and marks what it is going to write.
    fn start(&mut self) -> Result<Option<StepId>, String> {
        let Some(step) = self.progress.next(self.schedule) else {
            self.polled = false;
            return Ok(None);
        };
        match self.schedule.action(step) {
            Action::Copy { from, into } | Action::Reduce { from, into } if from.overlaps(into) => {
                return Err(format!("{from:?} and {into:?} overlap"));
            }
            Action::Recv { into, .. } | Action::Copy { into, .. } => self.mark(into)?,
            Action::Reduce { into, .. } => {
                let operand = self.read(into)?;
                self.operands.insert(step.0, operand);
                self.mark(into)?;
            }
            Action::Send { .. } => {}
            Action::Join => return Err("a join was handed out".into()),
        }
        Ok(Some(step))
    }

    fn finish_local(&mut self, step: StepId) -> Result<(), String> {
        match self.schedule.action(step) {
            Action::Copy { from, into } => {
                let values = self.read(from)?;
                self.write(into, &values)
            }
            Action::Reduce { from, into } => {
                let left = self.read(from)?;
                let right = self.operands.remove(&step.0).ok_or("a reduction ends twice")?;
                let pairs = left.into_iter().zip(right);
                let values: Result<Vec<Value>, String> =
                    pairs.map(|(left, right)| left.combine(right)).collect();
                self.write(into, &values?)
            }
            action => Err(format!("{action:?} is not local")),
        }
    }

    fn read(&self, region: Region) -> Result<Vec<Value>, String> {
        let buffer = match region.buffer {
            Buffer::Send => &self.memory.send,
            Buffer::Recv => &self.memory.recv,
            Buffer::Temp(temp) => &self.temps[temp as usize],
        };
        let values = buffer.get(region.start as usize..region.end() as usize);
        let values = values.ok_or_else(|| format!("{region:?} is read, of {}", buffer.len()))?;
        if values.iter().any(|value| matches!(value, Value::Unwritten | Value::InFlux)) {
            return Err(format!("{region:?} is read too early: {values:?}"));
        }
        Ok(values.to_vec())
    }

    fn cells(&mut self, region: Region) -> Result<&mut [Value], String> {
        let buffer = match region.buffer {
            Buffer::Send => return Err(format!("{region:?} is written")),
            Buffer::Recv => &mut self.memory.recv,
            Buffer::Temp(temp) => &mut self.temps[temp as usize],
        };
        let len = buffer.len();
        let cells = buffer.get_mut(region.start as usize..region.end() as usize);
        cells.ok_or_else(|| format!("{region:?} is written, of {len}"))
    }

    fn mark(&mut self, region: Region) -> Result<(), String> {
        let cells = self.cells(region)?;
        if cells.contains(&Value::InFlux) {
            return Err(format!("{region:?} is written by two steps at once"));
        }
        cells.fill(Value::InFlux);
        Ok(())
    }

    fn write(&mut self, region: Region, values: &[Value]) -> Result<(), String> {
        if region.len != values.len() as i64 {
            return Err(format!("{} units arrive in {region:?}", values.len()));
        }
        self.cells(region)?.copy_from_slice(values);
        Ok(())
    }
}
