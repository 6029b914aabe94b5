//! Writes a schedule down: an algorithm calls [`Builder`] in program order, as its paper tells
//! it, and what may run concurrently follows from the data.
//!
//! The builder is a scoreboard. For every unit of memory it knows the step that wrote it last and
//! the steps that read it since. A step waits for the last writer of what it reads, and for the
//! last writer and all readers of what it writes; nothing else orders two steps except
//! [`Builder::fence`] and the order of messages (see [`schedule`](super::schedule)).

use std::collections::BTreeMap;

use super::schedule::{Action, Buffer, NONE, Region, Schedule, Step};

/// Builds the schedule of one rank.
#[derive(Debug)]
pub struct Builder {
    rank: usize,
    size: usize,
    /// The processes that an algorithm sees, if these are not all.
    part: Option<Vec<u32>>,
    /// What stands in for the send and the receive buffer.
    substitutes: [Option<Region>; 2],
    actions: Vec<Action>,
    /// (predecessor, successor), successors ascending.
    edges: Vec<(u32, u32)>,
    temps: Vec<i64>,
    board: Scoreboard,
    /// The last fence, or `NONE`.
    fence: u32,
    /// Steps that the one being added waits for.
    awaited: Vec<u32>,
}

impl Builder {
    /// An empty schedule for `rank` of a communicator of `size` processes.
    pub fn new(rank: usize, size: usize) -> Builder {
        debug_assert!(rank < size && size < NONE as usize);
        Builder {
            rank,
            size,
            part: None,
            substitutes: [None; 2],
            actions: Vec::new(),
            edges: Vec::new(),
            temps: Vec::new(),
            board: Scoreboard::default(),
            fence: NONE,
            awaited: Vec::new(),
        }
    }

    /// The rank that the schedule is for.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// The number of processes.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The rank `distance` further round the ring of all ranks.
    pub fn ahead(&self, distance: usize) -> usize {
        (self.rank + distance) % self.size
    }

    /// The rank `distance`, at most the size, back round the ring of all ranks.
    pub fn behind(&self, distance: usize) -> usize {
        (self.rank + self.size - distance) % self.size
    }

    /// Lets `emit` write down an algorithm of the processes `ranks` alone, of which this is one,
    /// as if there were no others, with other memory in place of the send and the receive buffer
    /// where some is given.
    pub fn among(
        &mut self,
        ranks: impl IntoIterator<Item = usize>,
        substitutes: [Option<Region>; 2],
        emit: impl FnOnce(&mut Builder),
    ) {
        let whole = (self.rank, self.size);
        let part: Vec<u32> = ranks.into_iter().map(|rank| rank as u32).collect();
        let place = part.iter().position(|rank| *rank as usize == self.rank);
        debug_assert!(self.part.is_none() && place.is_some());
        (self.rank, self.size) = (place.unwrap_or(0), part.len());
        (self.part, self.substitutes) = (Some(part), substitutes);
        emit(self);
        (self.part, self.substitutes) = (None, [None; 2]);
        (self.rank, self.size) = whole;
    }

    /// Who it is of all processes that an algorithm calls so.
    fn known(&self, rank: usize) -> u32 {
        self.part.as_ref().map_or(rank as u32, |part| part[rank])
    }

    /// The memory that a region stands for.
    fn actual(&self, region: Region) -> Region {
        let substitute = match region.buffer {
            Buffer::Send => self.substitutes[0],
            Buffer::Recv => self.substitutes[1],
            Buffer::Temp(_) => None,
        };
        substitute.map_or(region, |substitute| substitute.slice(region.start, region.len))
    }

    /// New scratch memory of `len` units.
    pub fn temp(&mut self, len: i64) -> Region {
        self.temps.push(len);
        Region::new(Buffer::Temp(self.temps.len() as u32 - 1), len)
    }

    /// Sends `from` to rank `to`; no message at all if it is empty, which the receiver knows too.
    pub fn send(&mut self, to: usize, from: Region) {
        debug_assert_ne!(to, self.rank);
        if !from.is_empty() {
            let (to, from) = (self.known(to), self.actual(from));
            self.post(Action::Send { to, from });
        }
    }

    /// Receives `into` from rank `from`; no message at all if it is empty.
    pub fn recv(&mut self, from: usize, into: Region) {
        debug_assert_ne!(from, self.rank);
        if !into.is_empty() {
            let (from, into) = (self.known(from), self.actual(into));
            self.post(Action::Recv { from, into });
        }
    }

    /// Receives and sends at the same time.
    pub fn exchange(&mut self, to: usize, outgoing: Region, from: usize, incoming: Region) {
        self.recv(from, incoming);
        self.send(to, outgoing);
    }

    /// Sends an empty message.
    pub fn signal(&mut self, to: usize) {
        let to = self.known(to);
        self.post(Action::Send { to, from: Region::new(Buffer::Send, 0) });
    }

    /// Receives an empty message.
    pub fn await_signal(&mut self, from: usize) {
        let from = self.known(from);
        self.post(Action::Recv { from, into: Region::new(Buffer::Recv, 0) });
    }

    /// Copies `from` to `into`, through scratch memory where they overlap; nothing to do if they
    /// are the same.
    pub fn copy(&mut self, from: Region, into: Region) {
        debug_assert_eq!(from.len, into.len);
        let (from, into) = (self.actual(from), self.actual(into));
        if from.is_empty() || from == into {
            return;
        }
        let mut source = from;
        if from.overlaps(into) {
            source = self.temp(from.len);
            self.post(Action::Copy { from, into: source });
        }
        self.post(Action::Copy { from: source, into });
    }

    /// `into = from ∘ into`, element by element.
    pub fn reduce(&mut self, from: Region, into: Region) {
        debug_assert_eq!(from.len, into.len);
        if !from.is_empty() {
            let (from, into) = (self.actual(from), self.actual(into));
            self.post(Action::Reduce { from, into });
        }
    }

    /// What comes after starts when all that came before is done.
    pub fn fence(&mut self) {
        let first = if self.fence == NONE { 0 } else { self.fence + 1 };
        let join = self.actions.len() as u32;
        if first < join {
            self.edges.extend((first..join).map(|step| (step, join)));
            self.actions.push(Action::Join);
            self.fence = join;
        }
    }

    /// The finished schedule.
    pub fn finish(self) -> Schedule {
        let unlinked = |&action| Step { action, awaits: 0, first_successor: 0, follower: NONE };
        let mut steps: Vec<Step> = self.actions.iter().map(unlinked).collect();
        link_messages(&mut steps);
        let successors = link_successors(&mut steps, self.edges);
        Schedule { steps, successors, temps: self.temps }
    }

    fn post(&mut self, action: Action) {
        let step = self.actions.len() as u32;
        let (read, written) = match action {
            Action::Send { from, .. } => (Some(from), None),
            Action::Recv { into, .. } => (None, Some(into)),
            Action::Reduce { from, into } | Action::Copy { from, into } => (Some(from), Some(into)),
            Action::Join => (None, None),
        };
        if let Some(region) = read {
            self.board.read(step, region, &mut self.awaited);
        }
        if let Some(region) = written {
            self.board.write(step, region, &mut self.awaited);
        }
        // A fence stands for all steps before it.
        if self.fence != NONE {
            self.awaited.push(self.fence);
            self.awaited.iter_mut().for_each(|awaited| *awaited = self.fence.max(*awaited));
        }
        self.awaited.sort_unstable();
        self.awaited.dedup();
        self.edges.extend(self.awaited.drain(..).filter(|&p| p != step).map(|p| (p, step)));
        self.actions.push(action);
    }
}

/// Chains the messages to each peer, and those from each peer, in step order.
fn link_messages(steps: &mut [Step]) {
    let pair = |step: &Step| match step.action {
        Action::Send { to, .. } => Some((false, to)),
        Action::Recv { from, .. } => Some((true, from)),
        _ => None,
    };
    let mut messages: Vec<_> =
        steps.iter().zip(0u32..).filter_map(|(step, at)| Some((pair(step)?, at))).collect();
    messages.sort_unstable();
    for neighbours in messages.windows(2) {
        let [(pair, at), (next_pair, next)] = [neighbours[0], neighbours[1]];
        if pair == next_pair {
            steps[at as usize].follower = next;
            steps[next as usize].awaits += 1;
        }
    }
}

/// Turns the list of edges into one list of successors, grouped by predecessor.
fn link_successors(steps: &mut [Step], mut edges: Vec<(u32, u32)>) -> Vec<u32> {
    edges.sort_unstable();
    let mut begun = 0;
    for (at, step) in steps.iter_mut().enumerate() {
        step.first_successor = begun as u32;
        begun += edges[begun..].iter().take_while(|edge| edge.0 == at as u32).count();
    }
    for &(_, successor) in &edges {
        steps[successor as usize].awaits += 1;
    }
    edges.into_iter().map(|(_, successor)| successor).collect()
}

/// Who wrote and who read each unit of every writable buffer.
#[derive(Debug, Default)]
struct Scoreboard {
    /// The receive buffer, then the scratch buffers.
    buffers: Vec<Timeline>,
    /// Readers as linked lists (step, rest) that only grow at the head, so that the two halves
    /// of a run that is cut share theirs.
    readers: Vec<(u32, u32)>,
}

/// Maps the first unit of a run to what happened to it; a run ends where the next begins.
type Timeline = BTreeMap<i64, History>;

#[derive(Clone, Copy, Debug)]
struct History {
    writer: u32,
    /// Head of the list of those who read since.
    readers: u32,
}

impl Scoreboard {
    /// Notes that `step` reads `region`; adds to `awaited` whom it has to wait for.
    fn read(&mut self, step: u32, region: Region, awaited: &mut Vec<u32>) {
        let readers = &mut self.readers;
        let Some(timeline) = runs_of(&mut self.buffers, region) else { return };
        for history in timeline.range_mut(region.start..region.end()).map(|(_, history)| history) {
            awaited.extend((history.writer != NONE).then_some(history.writer));
            readers.push((step, history.readers));
            history.readers = readers.len() as u32 - 1;
        }
    }

    /// Notes that `step` writes `region`; adds to `awaited` whom it has to wait for.
    fn write(&mut self, step: u32, region: Region, awaited: &mut Vec<u32>) {
        let Some(timeline) = runs_of(&mut self.buffers, region) else { return };
        while let Some((&at, &history)) = timeline.range(region.start..region.end()).next() {
            awaited.extend((history.writer != NONE).then_some(history.writer));
            let mut reader = history.readers;
            while reader != NONE {
                let (step, rest) = self.readers[reader as usize];
                awaited.push(step);
                reader = rest;
            }
            timeline.remove(&at);
        }
        timeline.insert(region.start, History { writer: step, readers: NONE });
    }
}

/// The timeline of the region's buffer, with runs that begin and end where the region does; none
/// for what needs no watch.
fn runs_of(buffers: &mut Vec<Timeline>, region: Region) -> Option<&mut Timeline> {
    let index = match region.buffer {
        Buffer::Send => return None,
        Buffer::Recv => 0,
        Buffer::Temp(temp) => temp as usize + 1,
    };
    if region.is_empty() {
        return None;
    }
    while buffers.len() <= index {
        buffers.push(BTreeMap::from([(0, History { writer: NONE, readers: NONE })]));
    }
    let timeline = &mut buffers[index];
    for at in [region.start, region.end()] {
        if let Some((_, &history)) = timeline.range(..=at).next_back() {
            timeline.entry(at).or_insert(history);
        }
    }
    Some(timeline)
}
