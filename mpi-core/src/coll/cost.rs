//! What a collective within one node costs by each way to do it: the critical path in cache lines that are transferred
//! and bytes that are copied. Pure functions.
//!
//! Enters: a call, how the processes are spread over the node's caches, and what a transfer takes. Leaves: nanoseconds,
//! and the cheapest way. How lines are counted:
//!
//! * A line that n others want at once is n transfers one behind the other: meanwhile its directory holds all further
//!   requests for it (Ramos and Hoefler, HPDC 2013, measure a time linear in n).
//! * Who reads lines of its own waits for the farthest and takes the rest beside it: [`MISSES`] loads are outstanding
//!   at a time, so that each further line takes the latency divided by that.
//! * What leaves a last-level cache for others goes through one outlet.
//! * All enter at the same time. A message is copied into a stream and out of it again, a fragment going out while the
//!   next comes in; who reads many reads one after the other.

use super::menu::Collective;
pub use super::spread::Spread;
use crate::tuning::{
    COPY_NANOS, FAR_LINE_NANOS, LINE_BYTES, LINE_NANOS, LOOK_NANOS, MISSES, MODEL_FRAGMENT_BYTES,
    MODEL_HEAD_BYTES, MODEL_SHARED_BYTES, OUTLET_NANOS, REDUCE_NANOS, SHARE_BYTES,
    SOCKET_LINE_NANOS, STAGE_NANOS,
};

/// What a machine takes for what a collective is made of.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Costs {
    /// Nanoseconds from a line's store to its load: within a last-level cache, a socket, from another socket.
    pub line: [f64; 3],
    /// Nanoseconds to copy a KiB that is near.
    pub copy: f64,
    /// The same to reduce it with another.
    pub reduce: f64,
    /// The same for a KiB to leave a last-level cache.
    pub outlet: f64,
    /// Nanoseconds of work for a message of a stream, at each of its ends.
    pub look: f64,
    /// The same to begin a stage of a tree, which is a call of its own.
    pub stage: f64,
}

impl Costs {
    /// A server of two sockets with a last-level cache for a few cores each. All processes choose by these, and not by
    /// what each has measured, since all have to choose alike.
    pub const SERVER: Costs = Costs {
        line: [LINE_NANOS, SOCKET_LINE_NANOS, FAR_LINE_NANOS],
        copy: COPY_NANOS,
        reduce: REDUCE_NANOS,
        outlet: OUTLET_NANOS,
        look: LOOK_NANOS,
        stage: STAGE_NANOS,
    };
}

/// A way to do a collective.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Way {
    /// Everyone who needs something reads it where it was written.
    Flat,
    /// The same, each process reducing its share of the vector.
    Shares,
    /// Within each group of [`Spread::split`], among their leaders, and within each group again.
    Tree,
}

impl Way {
    /// All of them, in the order of their declaration.
    pub const ALL: [Way; 3] = [Way::Flat, Way::Shares, Way::Tree];
}

/// A collective call; `bytes` are those of the message or vector, or of each block.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Call {
    /// The operation.
    pub collective: Collective,
    /// Its bytes.
    pub bytes: f64,
}

/// The ways to do a collective, whatever the call.
pub fn ways(collective: Collective) -> &'static [Way] {
    use Collective::{Allgatherv, Alltoallv, Alltoallw, Gatherv, Scatterv};
    match collective {
        Collective::Reduce | Collective::Allreduce => &[Way::Flat, Way::Shares, Way::Tree],
        Gatherv | Scatterv | Allgatherv | Alltoallv | Alltoallw => &[Way::Flat],
        _ => &[Way::Flat, Way::Tree],
    }
}

/// The cheapest way, and what it costs.
pub fn cheapest(call: Call, spread: Spread, costs: &Costs) -> (Way, f64) {
    let priced = ways(call.collective).iter().copied();
    let priced = priced.filter_map(|way| Some((way, cost(way, call, spread, costs)?)));
    priced.min_by(|one, other| one.1.total_cmp(&other.1)).unwrap_or((Way::Flat, 0.0))
}

/// What a way costs, if it can serve the call.
pub fn cost(way: Way, call: Call, spread: Spread, costs: &Costs) -> Option<f64> {
    if spread.ranks < 2 {
        return Some(0.0).filter(|_| way == Way::Flat);
    }
    let node = Node { c: costs, s: spread, n: spread.ranks as f64, others: spread.others() };
    match way {
        Way::Flat => Some(node.flat(call)),
        Way::Shares => node.shares(call),
        Way::Tree => node.tree(call),
    }
}

/// The formulas, for one node.
struct Node<'a> {
    c: &'a Costs,
    s: Spread,
    n: f64,
    others: [f64; 3],
}

fn kib(bytes: f64) -> f64 {
    bytes / 1024.0
}

impl Node<'_> {
    /// To write so many messages into streams.
    fn write(&self, count: f64, bytes: f64) -> f64 {
        count * (self.c.look + self.c.copy * kib(bytes))
    }

    /// To take in one more message from so far, while others are on their way; `work` for each KiB.
    fn flow(&self, distance: usize, bytes: f64, work: f64) -> f64 {
        let lines = ((bytes + MODEL_HEAD_BYTES) / LINE_BYTES as f64).ceil();
        (lines * self.c.line[distance] / MISSES).max(self.c.look + work * kib(bytes))
    }

    /// A sum over all others.
    fn over_others(&self, of: impl Fn(usize) -> f64) -> f64 {
        (0..3).map(|at| self.others[at] * of(at)).sum()
    }

    fn farthest(&self) -> usize {
        (0..3).rev().find(|at| self.others[*at] > 0.0).unwrap_or(0)
    }

    fn first(&self) -> f64 {
        self.c.line[self.farthest()]
    }

    /// A line that all others read at once.
    fn queue(&self) -> f64 {
        self.over_others(|at| self.c.line[at])
    }

    /// What so many processes of a cache give to all of other caches goes out of it.
    fn outlet(&self, givers: f64, bytes: f64) -> f64 {
        givers * (self.others[1] + self.others[2]) * kib(bytes) * self.c.outlet
    }

    /// One message that all read.
    fn to_all(&self, bytes: f64) -> f64 {
        let body = self.flow(self.farthest(), bytes, self.c.copy).max(self.outlet(1.0, bytes));
        self.write(1.0, bytes.min(MODEL_FRAGMENT_BYTES))
            + self.queue()
            + body.max(self.c.copy * kib(bytes))
    }

    /// A message from one to each.
    fn to_each(&self, bytes: f64) -> f64 {
        let last = self.first() + self.flow(self.farthest(), bytes, self.c.copy);
        self.write(self.n - 1.0, bytes) + last
    }

    /// A message from each to one.
    fn to_one(&self, bytes: f64, work: f64) -> f64 {
        let read = self.over_others(|at| self.flow(at, bytes, work));
        self.write(1.0, bytes.min(MODEL_FRAGMENT_BYTES)) + self.first() + read
    }

    /// Everyone writes so many messages, and reads one of everyone.
    fn among_all(&self, count: f64, bytes: f64, work: f64) -> f64 {
        let read = self.first() + self.over_others(|at| self.flow(at, bytes, work));
        // With one message each it is read by all.
        let queue = if count == 1.0 { self.queue() + self.c.look } else { 0.0 };
        let outlet = self.outlet(self.s.of_cache as f64, bytes);
        self.write(count, bytes) + read.max(queue).max(outlet)
    }

    fn flat(&self, Call { collective, bytes }: Call) -> f64 {
        use Collective::*;
        let (others, Costs { copy, reduce, .. }) = (self.n - 1.0, *self.c);
        match collective {
            Barrier => self.among_all(1.0, 0.0, 0.0),
            Bcast => self.to_all(bytes),
            Gather | Gatherv => self.to_one(bytes, copy),
            Scatter | Scatterv => self.to_each(bytes),
            Reduce => self.to_one(bytes, reduce),
            Allreduce | Scan | Exscan => self.among_all(1.0, bytes, reduce),
            Allgather | Allgatherv => self.among_all(1.0, bytes, copy),
            Alltoall | Alltoallv | Alltoallw => self.among_all(others, bytes, copy),
            ReduceScatter | ReduceScatterBlock => self.among_all(others, bytes / self.n, reduce),
        }
    }

    /// A reduce-scatter, then a gather or an all-gather.
    fn shares(&self, Call { collective, bytes }: Call) -> Option<f64> {
        let (even, Costs { copy, reduce, .. }) = (bytes / self.n, *self.c);
        let share = even.max(SHARE_BYTES as f64);
        let sums = self.among_all(self.n - 1.0, share, reduce);
        match collective {
            _ if bytes < MODEL_SHARED_BYTES => None,
            Collective::Reduce => Some(sums + self.to_one(even, copy)),
            Collective::Allreduce => {
                // Where not all have a share everyone comes to those few at once.
                let few = if share > even { self.queue() } else { 0.0 };
                Some(sums + self.among_all(1.0, even, copy) + few)
            }
            _ => None,
        }
    }

    /// The stages that `hierarchy` makes of it, as a leader has them, each in the way that is cheapest for it.
    fn tree(&self, Call { collective, bytes }: Call) -> Option<f64> {
        use Collective::*;
        let [group, leaders] = self.s.split()?;
        let stage = |call, spread| self.c.stage + cheapest(call, spread, self.c).1;
        let near = |collective, bytes| stage(Call { collective, bytes }, group);
        let across = |collective, bytes| stage(Call { collective, bytes }, leaders);
        let (all, m) = (self.n * bytes, group.ranks as f64);
        Some(match collective {
            Barrier => near(Gather, 1.0) + across(Barrier, 0.0) + near(Bcast, 1.0),
            Bcast => across(Bcast, bytes) + near(Bcast, bytes),
            Gather | Scatter => near(collective, bytes) + across(collective, m * bytes),
            Allgather => near(Gather, bytes) + across(Allgatherv, m * bytes) + near(Bcast, all),
            Alltoall => {
                // The leader puts what its group sends, and what it gets, in another order.
                let turns = 2.0 * self.c.copy * kib(m * all);
                near(Gather, all) + turns + across(Alltoallv, m * m * bytes) + near(Scatter, all)
            }
            Reduce => near(Reduce, bytes) + across(Reduce, bytes),
            Allreduce => near(Reduce, bytes) + across(Allreduce, bytes) + near(Bcast, bytes),
            ReduceScatter | ReduceScatterBlock => {
                near(Reduce, bytes) + across(collective, bytes) + near(Scatter, bytes / self.n)
            }
            Scan | Exscan => {
                let before = across(Exscan, bytes) + near(Bcast, bytes);
                let own = near(Reduce, bytes) + near(collective, bytes);
                own + before + self.c.reduce * kib(bytes)
            }
            Gatherv | Scatterv | Allgatherv | Alltoallv | Alltoallw => return None,
        })
    }
}
