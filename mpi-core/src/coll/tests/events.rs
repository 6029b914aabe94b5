//! A node as discrete events: each process runs its program on a processor of its own, and waits for lines. It knows
//! nothing of the formulas of [`cost`](crate::coll::cost); of its numbers it takes the machine's alone.
//!
//! A process writes messages and reads them in the order of its program, and goes on with a load before those ahead
//! of it are there, as long as what it reads has been written: a load then holds one of a few buffers. A line serves
//! one reader after the other, and what leaves a last-level cache goes through an outlet.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::coll::cost::Costs;

/// Loads that a core has outstanding.
const BUFFERS: usize = 10;
/// Bytes in a line, and what of the first belongs to the message's head.
const LINE: f64 = 64.0;
const HEAD: f64 = 16.0;

/// The socket and the last-level cache of a process.
pub(super) type Place = [u32; 2];

/// What a process does next.
#[derive(Clone, Copy, Debug)]
pub(super) enum Op {
    /// Writes a message.
    Write(usize),
    /// Reads one, with so many nanoseconds of work for each KiB.
    Read(usize, f64),
    /// Works for so long.
    Work(f64),
}

/// A message of at most a fragment.
#[derive(Debug)]
struct Message {
    owner: usize,
    bytes: f64,
    written: Option<f64>,
    /// When its first line serves the next reader.
    free: f64,
    waiting: Vec<usize>,
}

/// What runs on a machine.
#[derive(Default, Debug)]
pub(super) struct Programs {
    pub(super) ops: Vec<Vec<Op>>,
    messages: Vec<Message>,
}

impl Programs {
    pub(super) fn new(ranks: usize) -> Programs {
        Programs { ops: vec![Vec::new(); ranks], messages: Vec::new() }
    }

    pub(super) fn message(&mut self, owner: usize, bytes: f64) -> usize {
        let (written, free, waiting) = (None, 0.0, Vec::new());
        self.messages.push(Message { owner, bytes, written, free, waiting });
        self.messages.len() - 1
    }
}

#[derive(Clone, Debug, Default)]
struct Process {
    next: usize,
    /// Until when it is at work.
    busy: f64,
    /// When its next load may go out.
    issue: f64,
    buffers: [f64; BUFFERS],
}

struct Machine<'a> {
    costs: &'a Costs,
    places: &'a [Place],
    programs: Programs,
    processes: Vec<Process>,
    outlets: Vec<f64>,
    events: BinaryHeap<Reverse<(u64, usize)>>,
}

/// When the last process has done its program.
pub(super) fn run(costs: &Costs, places: &[Place], programs: Programs) -> f64 {
    let caches = places.iter().map(|place| place[1]).max().unwrap_or(0) as usize + 1;
    let processes = vec![Process::default(); places.len()];
    let (outlets, events) = (vec![0.0; caches], BinaryHeap::new());
    let mut machine = Machine { costs, places, programs, processes, outlets, events };
    (0..places.len()).for_each(|rank| machine.wake(rank, 0.0));
    while let Some(Reverse((_, rank))) = machine.events.pop() {
        machine.go_on(rank);
    }
    for (rank, process) in machine.processes.iter().enumerate() {
        assert_eq!(process.next, machine.programs.ops[rank].len(), "rank {rank} waits for ever");
    }
    machine.processes.iter().map(|process| process.busy).fold(0.0, f64::max)
}

impl Machine<'_> {
    fn wake(&mut self, rank: usize, time: f64) {
        // Times are not negative, so that they are in the order of their bits.
        self.events.push(Reverse((time.to_bits(), rank)));
    }

    /// The next step of a process, at the time at which it has been woken.
    fn go_on(&mut self, rank: usize) {
        let process = &mut self.processes[rank];
        let Some(op) = self.programs.ops[rank].get(process.next).copied() else { return };
        match op {
            Op::Write(message) => self.write(rank, message),
            Op::Work(time) => self.work(rank, time),
            Op::Read(message, work) => {
                let Some(written) = self.programs.messages[message].written else {
                    return self.programs.messages[message].waiting.push(rank);
                };
                // A load goes out when there is something to load, and a buffer for it.
                let buffer = process.buffers.iter().copied().fold(f64::MAX, f64::min);
                let issue = written.max(buffer);
                if issue > process.issue {
                    process.issue = issue;
                    return self.wake(rank, issue);
                }
                self.read(rank, message, work);
            }
        }
        let process = &mut self.processes[rank];
        process.next += 1;
        let reads = matches!(self.programs.ops[rank].get(process.next), Some(Op::Read(..)));
        let time = if reads { process.issue } else { process.busy };
        self.wake(rank, time);
    }

    fn work(&mut self, rank: usize, time: f64) {
        let process = &mut self.processes[rank];
        process.busy += time;
        process.issue = process.issue.max(process.busy);
    }

    fn write(&mut self, rank: usize, message: usize) {
        let bytes = self.programs.messages[message].bytes;
        self.work(rank, self.costs.look + self.costs.copy * bytes / 1024.0);
        let written = self.processes[rank].busy;
        let message = &mut self.programs.messages[message];
        message.written = Some(written);
        for waiting in std::mem::take(&mut message.waiting) {
            self.wake(waiting, written);
        }
    }

    fn read(&mut self, rank: usize, message: usize, work: f64) {
        let (place, costs) = (self.places[rank], self.costs);
        let message = &mut self.programs.messages[message];
        let owner = self.places[message.owner];
        let latency = match (place[0] == owner[0], place[1] == owner[1]) {
            (_, true) => costs.line[0],
            (true, _) => costs.line[1],
            _ => costs.line[2],
        };
        let lines = ((message.bytes + HEAD) / LINE).ceil();
        let used = (lines as usize).min(BUFFERS);
        let process = &mut self.processes[rank];
        process.buffers.sort_by(f64::total_cmp);
        let mut start = process.issue;
        if place[1] != owner[1] {
            let outlet = &mut self.outlets[owner[1] as usize];
            start = start.max(*outlet);
            *outlet = start + costs.outlet * message.bytes / 1024.0;
        }
        start = start.max(message.free);
        message.free = start + latency;
        let (mut finish, rounds) = (start, lines / used as f64);
        for buffer in &mut process.buffers[..used] {
            *buffer = buffer.max(start) + rounds * latency;
            finish = finish.max(*buffer);
        }
        let worked = process.busy.max(start + latency) + costs.look + work * message.bytes / 1024.0;
        process.busy = worked.max(finish + costs.look);
    }
}
