//! What a collective is, node by node: stages, each a collective of the process's own group or of the leaders.
//!
//! Enters: a problem and the groups. Leaves: the stages of one process in order, with scratch memory between them. As
//! everywhere in schedules memory is regions, in bytes or elements. The leader of the root's group stands for the root
//! among the leaders; a root that is none hands everything to it, or gets it from there.

use std::ops::Range;

use self::Way::{Gather, Scatter};
use super::groups::Groups;
use crate::coll::layout::Layout;
use crate::coll::menu::Collective;
use crate::coll::plan::Problem;
use crate::coll::schedule::{Buffer, Region};
use crate::error::Result;
use crate::fail;

/// Among whom a stage is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Team {
    /// The processes of the own group.
    Group,
    /// The leaders.
    Leaders,
}

/// A collective of a team.
pub(crate) struct Stage {
    pub(crate) team: Team,
    pub(crate) collective: Option<Collective>,
    pub(crate) problem: Problem,
    /// Bytes of type signature, as an algorithm is chosen by.
    pub(crate) bytes: i64,
    /// The send and the receive buffer, where it has them here.
    pub(crate) memory: [Option<Region>; 2],
}

pub(crate) enum Step {
    Call(Stage),
    /// Copies from one region to another: from where, to where, how many units.
    Turn([Region; 2], Vec<[i64; 3]>),
}

/// What the regions of a call count.
#[derive(Clone, Copy)]
pub(crate) struct Units {
    /// Bytes in a unit.
    pub(crate) bytes: i64,
    /// How many a stage that only moves data counts for one of them.
    pub(crate) moved: i64,
}

/// The stages of one process.
pub(crate) struct Stages<'a> {
    groups: &'a Groups,
    rank: usize,
    group: usize,
    /// The number of ranks in it.
    near: usize,
    /// The place of its leader among them.
    front: usize,
    leads: bool,
    units: Units,
    pub(crate) steps: Vec<Step>,
    /// Lengths of scratch buffers.
    pub(crate) temps: Vec<i64>,
}

/// Which way blocks go: to a root, or from it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Gather,
    Scatter,
}

fn send(len: i64) -> Region {
    Region::new(Buffer::Send, len)
}

fn recv(len: i64) -> Region {
    Region::new(Buffer::Recv, len)
}

impl<'a> Stages<'a> {
    /// The stages of `rank`.
    ///
    /// # Errors
    /// The problem has none.
    pub(crate) fn of(
        groups: &'a Groups,
        rank: usize,
        problem: &Problem,
        units: Units,
    ) -> Result<Stages<'a>> {
        let group = groups.group_of(rank);
        let (near, leader) = (groups.members(group).count(), groups.leader(group));
        let (front, leads) = (groups.place(leader), leader == rank);
        let (steps, temps) = (Vec::new(), Vec::new());
        let mut stages = Stages { groups, rank, group, near, front, leads, units, steps, temps };
        match *problem {
            Problem::Barrier => stages.meet(),
            Problem::Bcast { root, len } => stages.spread(root, recv(len)),
            Problem::Gather { root, block, in_place } => stages.deal(Gather, root, block, in_place),
            Problem::Scatter { root, block, in_place } => {
                stages.deal(Scatter, root, block, in_place)
            }
            Problem::Allgather { ref blocks, in_place } => stages.share(blocks, in_place),
            Problem::Alltoall { block, in_place } => stages.exchange(block, in_place),
            Problem::Reduce { root, len, in_place } => stages.reduce_to(root, len, in_place),
            Problem::Allreduce { len, in_place } => stages.reduce_all(len, in_place),
            Problem::ReduceScatter { ref blocks, in_place } => stages.deal_sums(blocks, in_place),
            Problem::Scan { len, in_place } => stages.scan(false, len, in_place),
            Problem::Exscan { len, in_place } => stages.scan(true, len, in_place),
            _ => fail!(ARG, "there are no stages of groups for {problem:?}"),
        }
        Ok(stages)
    }

    fn temp(&mut self, len: i64) -> Region {
        self.temps.push(len);
        Region::new(Buffer::Temp(self.temps.len() as u32 - 1), len)
    }

    /// Scratch memory of a leader.
    fn held(&mut self, len: i64) -> Option<Region> {
        self.leads.then(|| self.temp(len))
    }

    /// Adds a stage of so many units, if this process is in it.
    fn push(
        &mut self,
        team: Team,
        collective: impl Into<Option<Collective>>,
        problem: Problem,
        units: i64,
        memory: [Option<Region>; 2],
    ) {
        if team == Team::Group || self.leads {
            let (collective, bytes) = (collective.into(), units.saturating_mul(self.units.bytes));
            self.steps.push(Step::Call(Stage { team, collective, problem, bytes, memory }));
        }
    }

    fn bcast(&mut self, team: Team, root: usize, data: Region) {
        let problem = Problem::Bcast { root, len: data.len * self.units.moved };
        self.push(team, Collective::Bcast, problem, data.len, [None, Some(data)]);
    }

    /// Moves a team's blocks between the root's `all` and everyone's `own`; the root's is in place if it has none.
    fn blocks(
        &mut self,
        way: Way,
        (team, root): (Team, usize),
        blocks: &Layout,
        [all, own]: [Option<Region>; 2],
    ) {
        let (in_place, moved) = (own.is_none(), self.units.moved);
        let memory = if way == Gather { [own, all] } else { [all, own] };
        let (collective, problem) = if let Some(len) = blocks.only_len() {
            let block = len * moved;
            match way {
                Gather => (Collective::Gather, Problem::Gather { root, block, in_place }),
                Scatter => (Collective::Scatter, Problem::Scatter { root, block, in_place }),
            }
        } else {
            let own = own.map_or(0, |own| own.len * moved);
            let len = |block| blocks.len(block) * moved;
            let blocks = all.map(|_| Layout::of((0..blocks.count()).map(len)));
            match way {
                Gather => (Collective::Gatherv, Problem::Gatherv { root, own, blocks, in_place }),
                Scatter => {
                    (Collective::Scatterv, Problem::Scatterv { root, own, blocks, in_place })
                }
            }
        };
        self.push(team, collective, problem, blocks.total(), memory);
    }

    /// Moves all that there is between the leader, which has it in `all`, and a root beside it, which has `own`.
    fn pass(&mut self, way: Way, place: usize, len: i64, [all, own]: [Option<Region>; 2]) {
        let len = |other| if other == place { len } else { 0 };
        let blocks = Layout::of((0..self.near).map(len));
        let memory = match self.leads {
            true => [all, None],
            false => [None, own.or_else(|| Some(self.temp(0)))],
        };
        self.blocks(way, (Team::Group, self.front), &blocks, memory);
    }

    /// The root's group, its place there, and whether this process is of that group.
    fn home(&self, root: usize) -> (usize, usize, bool) {
        let home = self.groups.group_of(root);
        (home, self.groups.place(root), home == self.group)
    }

    /// The ranks of this group, which follow one another, and their blocks.
    fn near(&self, blocks: &Layout) -> (Range<usize>, Layout) {
        let ranks = self.groups.range(self.group);
        (ranks.clone(), Layout::of(ranks.map(|rank| blocks.len(rank))))
    }

    /// The parts that the groups have in the blocks of all.
    fn parts(&self, blocks: &Layout) -> Layout {
        let len = |group| blocks.span(Buffer::Recv, self.groups.range(group)).len;
        Layout::of((0..self.groups.count()).map(len))
    }

    /// `MPI_BARRIER`: a byte of each process of the group says that it has come, and the leader's that all have.
    fn meet(&mut self) {
        let bytes = self.temp(if self.leads { self.near as i64 } else { 1 });
        let (one, all) = (bytes.slice(0, 1), Some(bytes).filter(|_| self.leads));
        let own = Some(one).filter(|_| !self.leads);
        self.blocks(Gather, (Team::Group, self.front), &Layout::uniform(1, self.near), [all, own]);
        self.push(Team::Leaders, Collective::Barrier, Problem::Barrier, 0, [None; 2]);
        self.bcast(Team::Group, self.front, one);
    }

    /// `MPI_BCAST`. Where the root leads no group, its group has the message before the others.
    fn spread(&mut self, root: usize, data: Region) {
        let (home, place, here) = self.home(root);
        let ahead = place != self.front && here;
        if ahead {
            self.bcast(Team::Group, place, data);
        }
        self.bcast(Team::Leaders, home, data);
        if !ahead {
            self.bcast(Team::Group, self.front, data);
        }
    }

    /// `MPI_GATHER`: within each group, across groups, then to the root; or `MPI_SCATTER`, from the last to the first.
    fn deal(&mut self, way: Way, root: usize, block: i64, in_place: bool) {
        let blocks = Layout::uniform(block, self.groups.size());
        let (home, place, here) = self.home(root);
        let (ranks, near) = self.near(&blocks);
        let (there, single) = match way {
            Gather => (recv(blocks.total()), send(block)),
            Scatter => (send(blocks.total()), recv(block)),
        };
        let whole = Some(there).filter(|_| self.rank == root);
        let all = match here && self.leads {
            true => whole.or_else(|| self.held(blocks.total())),
            false => None,
        };
        let part = match all {
            Some(all) => Some(all.slice(blocks.start(ranks.start), near.total())),
            None => self.held(near.total()),
        };
        let own = match (in_place, way) {
            (false, _) => Some(single),
            (true, _) if self.leads => None,
            (true, Gather) => Some(blocks.block(Buffer::Recv, root)),
            // It stays where it is, and comes all the same.
            (true, Scatter) => Some(self.temp(block)),
        };
        let first = self.steps.len();
        self.blocks(way, (Team::Group, self.front), &near, [part, own]);
        let memory = if here { [all, None] } else { [None, part] };
        self.blocks(way, (Team::Leaders, home), &self.parts(&blocks), memory);
        if place != self.front && here {
            // What the root receives it is given, and what it sends it gives.
            let other = if way == Gather { Scatter } else { Gather };
            self.pass(other, place, blocks.total(), [all, whole]);
        }
        if way == Scatter {
            self.steps[first..].reverse();
        }
    }

    /// `MPI_ALLGATHER`.
    fn share(&mut self, blocks: &Layout, in_place: bool) {
        let (ranks, near) = self.near(blocks);
        let (whole, part) = (recv(blocks.total()), blocks.span(Buffer::Recv, ranks));
        let own = match in_place {
            false => Some(send(blocks.len(self.rank))),
            true => Some(blocks.block(Buffer::Recv, self.rank)).filter(|_| !self.leads),
        };
        let part = Some(part).filter(|_| self.leads);
        self.blocks(Gather, (Team::Group, self.front), &near, [part, own]);
        let problem = Problem::Allgather { blocks: self.parts(blocks), in_place: true };
        let memory = [None, Some(whole)];
        self.push(Team::Leaders, Collective::Allgatherv, problem, blocks.total(), memory);
        self.bcast(Team::Group, self.front, whole);
    }

    /// `MPI_ALLTOALL`: to the leader, from group to group, and to whom it is for.
    fn exchange(&mut self, block: i64, in_place: bool) {
        let all = self.groups.size() as i64 * block;
        let near = Layout::uniform(all, self.near);
        let [first, second] = [0; 2].map(|_| self.held(near.total()));
        let own = if in_place { recv(all) } else { send(all) };
        self.blocks(Gather, (Team::Group, self.front), &near, [first, Some(own)]);
        if let (Some(from), Some(into)) = (first, second) {
            let ranks = (0..self.groups.count()).map(|group| self.groups.range(group).len());
            let cut = Layout::of(ranks.map(|ranks| (self.near * ranks) as i64 * block));
            let (outgoing, incoming) = (cut.clone(), cut);
            let problem = Problem::Alltoallv { outgoing, incoming, in_place: false };
            self.steps.push(Step::Turn([from, into], self.moves_out(block)));
            self.push(Team::Leaders, Collective::Alltoallv, problem, 0, [second, first]);
            self.steps.push(Step::Turn([from, into], self.moves_in(block)));
        }
        self.blocks(Scatter, (Team::Group, self.front), &near, [second, Some(recv(all))]);
    }

    /// Blocks by who of the group sends them, then by whom they are for, come to be by group, then by who sends them.
    fn moves_out(&self, block: i64) -> Vec<[i64; 3]> {
        let mut moves = Vec::new();
        for theirs in (0..self.groups.count()).map(|group| self.groups.range(group)) {
            for source in 0..self.near {
                let from = source * self.groups.size() + theirs.start;
                let into = self.near * theirs.start + source * theirs.len();
                moves.push([from, into, theirs.len()].map(|blocks| blocks as i64 * block));
            }
        }
        moves
    }

    /// Blocks by who sends them, then by whom of the group they are for, come to be the other way round.
    fn moves_in(&self, block: i64) -> Vec<[i64; 3]> {
        let all = self.groups.size();
        let pairs = (0..all).flat_map(|source| (0..self.near).map(move |target| (source, target)));
        let moves =
            pairs.map(|(source, target)| [source * self.near + target, target * all + source, 1]);
        moves.map(|blocks| blocks.map(|blocks| blocks as i64 * block)).collect()
    }

    /// Reduces to the leader, whose result is `sum`.
    fn reduce_near(&mut self, len: i64, in_place: bool, sum: Option<Region>) {
        let own = Some(if in_place { recv(len) } else { send(len) });
        let in_place = sum == own;
        let problem = Problem::Reduce { root: self.front, len, in_place };
        let memory = [own.filter(|_| !in_place), sum];
        self.push(Team::Group, Collective::Reduce, problem, len, memory);
    }

    /// `MPI_REDUCE`.
    fn reduce_to(&mut self, root: usize, len: i64, in_place: bool) {
        let (home, place, here) = self.home(root);
        let result = Some(recv(len)).filter(|_| self.rank == root);
        let sum = result.filter(|_| self.leads).or_else(|| self.held(len));
        self.reduce_near(len, in_place, sum);
        let problem = Problem::Reduce { root: home, len, in_place: here };
        let memory = if here { [None, sum] } else { [sum, None] };
        self.push(Team::Leaders, Collective::Reduce, problem, len, memory);
        if place != self.front && here {
            self.pass(Scatter, place, len, [sum, result]);
        }
    }

    /// `MPI_ALLREDUCE`.
    fn reduce_all(&mut self, len: i64, in_place: bool) {
        let result = Some(recv(len));
        self.reduce_near(len, in_place, result.filter(|_| self.leads));
        let problem = Problem::Allreduce { len, in_place: true };
        self.push(Team::Leaders, Collective::Allreduce, problem, len, [None, result]);
        self.bcast(Team::Group, self.front, recv(len));
    }

    /// `MPI_REDUCE_SCATTER`: each group gets its part of the sums, and deals it out.
    fn deal_sums(&mut self, blocks: &Layout, in_place: bool) {
        let (near, len) = (self.near(blocks).1, blocks.total());
        let sum = self.held(len);
        self.reduce_near(len, in_place, sum);
        let problem = Problem::ReduceScatter { blocks: self.parts(blocks), in_place: true };
        self.push(Team::Leaders, Collective::ReduceScatter, problem, len, [None, sum]);
        let part = sum.map(|sum| sum.slice(0, near.total()));
        let own = Some(recv(blocks.len(self.rank)));
        self.blocks(Scatter, (Team::Group, self.front), &near, [part, own]);
    }

    /// `MPI_SCAN` and `MPI_EXSCAN`: each group has its own prefixes and its sum; the leaders find out what the groups
    /// before theirs sum up to, tell their group, and each process puts that in front of what it has.
    fn scan(&mut self, exclusive: bool, len: i64, in_place: bool) {
        let result = recv(len);
        let sum = self.held(len);
        self.reduce_near(len, in_place, sum);
        let (collective, problem) = match exclusive {
            false => (Collective::Scan, Problem::Scan { len, in_place }),
            true => (Collective::Exscan, Problem::Exscan { len, in_place }),
        };
        let own = Some(send(len)).filter(|_| !in_place);
        self.push(Team::Group, collective, problem, len, [own, Some(result)]);
        // What comes before its group is the whole result of an exclusive one at a leader.
        let whole = exclusive && self.leads;
        let before = if whole { result } else { self.temp(len) };
        let problem = Problem::Exscan { len, in_place: false };
        self.push(Team::Leaders, Collective::Exscan, problem, len, [sum, Some(before)]);
        if self.group > 0 {
            self.bcast(Team::Group, self.front, before);
            let len = if whole { 0 } else { len };
            let memory = [before, result].map(|region| Some(region.slice(0, len)));
            self.push(Team::Group, None, Problem::Combine { len }, len, memory);
        }
    }
}
