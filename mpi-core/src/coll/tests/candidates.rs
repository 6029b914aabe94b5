//! What each process of a node writes and reads in each way to do a collective, as programs of
//! [`events`](super::events). A tree is the stages that the library itself makes of a call.

use std::collections::VecDeque;

use super::events::{Op, Place, Programs};
use crate::coll::cost::{Call, Costs, Spread, Way, cheapest};
use crate::coll::hierarchy::groups::Groups;
use crate::coll::hierarchy::stages::{Stages, Step, Team, Units};
use crate::coll::layout::Layout;
use crate::coll::menu::Collective;
use crate::coll::plan::Problem;

/// Longest fragment of a message in bytes.
const FRAGMENT: usize = 64 << 10;
/// Shares are cut at multiples of so many bytes.
const SHARE: usize = 512;

/// Programs in the making.
struct Draft<'a> {
    costs: &'a Costs,
    places: &'a [Place],
    made: Programs,
}

/// Fragments.
type Parts = Vec<usize>;

/// The programs of all ranks; the root is the first.
pub(super) fn programs(way: Way, call: Call, places: &[Place], costs: &Costs) -> Programs {
    let size = places.len();
    let mut draft = Draft { costs, places, made: Programs::new(size) };
    let ranks: Vec<usize> = (0..size).collect();
    let problem = problem(call.collective, call.bytes as i64, size);
    draft.emit(way, call.collective, &ranks, &vec![problem; size]);
    draft.made
}

/// Elements are bytes.
fn problem(collective: Collective, len: i64, size: usize) -> Problem {
    let (root, in_place, block) = (0, true, len);
    match collective {
        Collective::Barrier => Problem::Barrier,
        Collective::Bcast => Problem::Bcast { root, len },
        Collective::Gather => Problem::Gather { root, block, in_place: false },
        Collective::Scatter => Problem::Scatter { root, block, in_place: false },
        Collective::Reduce => Problem::Reduce { root, len, in_place: false },
        Collective::Allreduce => Problem::Allreduce { len, in_place },
        Collective::Allgather => {
            Problem::Allgather { blocks: Layout::uniform(block, size), in_place }
        }
        Collective::Alltoall => Problem::Alltoall { block, in_place: false },
        _ => unreachable!("not counted"),
    }
}

/// The bytes that a way is chosen by.
fn bytes(problem: &Problem) -> f64 {
    let bytes = match *problem {
        Problem::Bcast { len, .. }
        | Problem::Reduce { len, .. }
        | Problem::Allreduce { len, .. } => len,
        Problem::Gather { block, .. } | Problem::Scatter { block, .. } => block,
        _ => 0,
    };
    bytes as f64
}

/// The places behind one, and those before it.
fn others(at: usize, size: usize) -> impl Iterator<Item = usize> {
    (at + 1..size).chain(0..at)
}

impl Draft<'_> {
    fn write(&mut self, rank: usize, bytes: usize) -> Parts {
        let fragments = bytes.div_ceil(FRAGMENT).max(1);
        let len = |at: usize| (bytes - (at * FRAGMENT).min(bytes)).min(FRAGMENT);
        let parts: Parts =
            (0..fragments).map(|at| self.made.message(rank, len(at) as f64)).collect();
        self.made.ops[rank].extend(parts.iter().copied().map(Op::Write));
        parts
    }

    fn read(&mut self, rank: usize, parts: &Parts, work: f64) {
        self.made.ops[rank].extend(parts.iter().map(|message| Op::Read(*message, work)));
    }

    fn work(&mut self, rank: usize, work: f64, bytes: i64) {
        self.made.ops[rank].push(Op::Work(work * bytes as f64 / 1024.0));
    }

    fn tell_all(&mut self, team: &[usize], root: usize, bytes: usize) {
        let parts = self.write(team[root], bytes);
        others(root, team.len()).for_each(|at| self.read(team[at], &parts, self.costs.copy));
    }

    fn tell_each(&mut self, team: &[usize], root: usize, len: impl Fn(usize) -> usize) {
        for at in others(root, team.len()).filter(|at| len(*at) > 0) {
            let parts = self.write(team[root], len(at));
            self.read(team[at], &parts, self.costs.copy);
        }
    }

    fn collect(&mut self, team: &[usize], root: usize, len: impl Fn(usize) -> usize, work: f64) {
        for at in others(root, team.len()).filter(|at| len(*at) > 0) {
            let parts = self.write(team[at], len(at));
            self.read(team[root], &parts, work);
        }
    }

    /// Everyone writes a message for all, as long as `len` says for it.
    fn each_to_all(&mut self, team: &[usize], len: impl Fn(usize) -> usize, work: f64) {
        let size = team.len();
        let written: Vec<Parts> = (0..size).map(|at| self.write(team[at], len(at))).collect();
        for (at, rank) in team.iter().enumerate() {
            others(at, size).for_each(|other| self.read(*rank, &written[other], work));
        }
    }

    /// Everyone writes a message for each, as long as `len` says for both.
    fn each_to_each(&mut self, team: &[usize], len: impl Fn(usize, usize) -> usize, work: f64) {
        let size = team.len();
        let mut written = vec![vec![Parts::new(); size]; size];
        for from in 0..size {
            for to in others(from, size) {
                written[from][to] = self.write(team[from], len(from, to));
            }
        }
        for (to, rank) in team.iter().enumerate() {
            others(to, size).for_each(|from| self.read(*rank, &written[from][to], work));
        }
    }

    /// A call of a team, of which each has its view.
    fn emit(&mut self, way: Way, collective: Collective, team: &[usize], views: &[Problem]) {
        match way {
            Way::Flat => self.flat(team, views),
            Way::Shares => self.shares(collective, team, bytes(&views[0]) as usize),
            Way::Tree => self.tree(team, views),
        }
    }

    fn flat(&mut self, team: &[usize], views: &[Problem]) {
        let Costs { copy, reduce, .. } = *self.costs;
        match &views[0] {
            Problem::Barrier => self.each_to_all(team, |_| 0, 0.0),
            Problem::Bcast { root, len } => self.tell_all(team, *root, *len as usize),
            Problem::Gather { root, block, .. } => {
                self.collect(team, *root, |_| *block as usize, copy);
            }
            Problem::Scatter { root, block, .. } => {
                self.tell_each(team, *root, |_| *block as usize)
            }
            Problem::Gatherv { root, .. } | Problem::Scatterv { root, .. } => {
                let len = |at: usize| match &views[at] {
                    Problem::Gatherv { own, .. } | Problem::Scatterv { own, .. } => *own as usize,
                    _ => unreachable!("all make the same call"),
                };
                match views[0] {
                    Problem::Gatherv { .. } => self.collect(team, *root, len, copy),
                    _ => self.tell_each(team, *root, len),
                }
            }
            Problem::Reduce { root, len, .. } => {
                self.collect(team, *root, |_| *len as usize, reduce);
            }
            Problem::Allreduce { len, .. } => self.each_to_all(team, |_| *len as usize, reduce),
            Problem::Allgather { blocks, .. } => {
                self.each_to_all(team, |at| blocks.len(at) as usize, copy);
            }
            Problem::Alltoall { block, .. } => {
                self.each_to_each(team, |_, _| *block as usize, copy)
            }
            Problem::Alltoallv { .. } => {
                let len = |from: usize, to| match &views[from] {
                    Problem::Alltoallv { outgoing, .. } => outgoing.len(to) as usize,
                    _ => unreachable!("all make the same call"),
                };
                self.each_to_each(team, len, copy);
            }
            problem => unreachable!("{problem:?} is not counted"),
        }
    }

    fn shares(&mut self, collective: Collective, team: &[usize], bytes: usize) {
        let share = bytes.div_ceil(team.len()).next_multiple_of(SHARE);
        let len = |at: usize| (bytes - (at * share).min(bytes)).min(share);
        self.each_to_each(team, |_, to| len(to), self.costs.reduce);
        match collective {
            Collective::Reduce => self.collect(team, 0, len, self.costs.copy),
            _ => self.each_to_all(team, len, self.costs.copy),
        }
    }

    /// The first of each cache or, where each has one for itself, of each socket.
    fn groups(&self, team: &[usize]) -> Groups {
        let of_caches = Spread::of(&self.places(team)).of_cache > 1;
        let key = |rank: &usize| self.places[*rank][usize::from(of_caches)];
        let first = |rank| team.iter().position(|other| key(other) == key(rank));
        let firsts: Vec<u32> = team.iter().map(|rank| first(rank).expect("it") as u32).collect();
        Groups::new(&firsts).expect("a partition")
    }

    fn places(&self, team: &[usize]) -> Vec<Place> {
        team.iter().map(|rank| self.places[*rank]).collect()
    }

    fn tree(&mut self, team: &[usize], views: &[Problem]) {
        let groups = self.groups(team);
        let units = Units { bytes: 1, moved: 1 };
        let stages = |at| Stages::of(&groups, at, &views[at], units).expect("stages").steps;
        let mut steps: Vec<VecDeque<Step>> = (0..team.len()).map(|at| stages(at).into()).collect();
        let group = |group| groups.members(group).collect::<Vec<_>>();
        let mut teams: Vec<(Team, Vec<usize>)> =
            (0..groups.count()).map(|number| (Team::Group, group(number))).collect();
        teams.push((Team::Leaders, groups.leaders().collect()));
        while steps.iter().any(|steps| !steps.is_empty()) {
            for (kind, members) in &teams {
                self.stage(team, *kind, members, &mut steps);
            }
        }
    }

    /// The next stage of some members of a team, if it is theirs together.
    fn stage(
        &mut self,
        team: &[usize],
        kind: Team,
        members: &[usize],
        steps: &mut [VecDeque<Step>],
    ) {
        for at in members {
            while let Some(Step::Turn(_, moves)) = steps[*at].front() {
                self.work(team[*at], self.costs.copy, moves.iter().map(|moved| moved[2]).sum());
                steps[*at].pop_front();
            }
        }
        let is_next = |at: &usize| matches!(steps[*at].front(), Some(Step::Call(stage)) if stage.team == kind);
        if !members.iter().all(is_next) {
            return;
        }
        let (mut collective, mut views) = (None, Vec::new());
        for at in members {
            if let Some(Step::Call(stage)) = steps[*at].pop_front() {
                collective = stage.collective;
                views.push(stage.problem);
            }
        }
        let (collective, ranks) =
            (collective.expect("a call"), members.iter().map(|at| team[*at]).collect::<Vec<_>>());
        let call = Call { collective, bytes: bytes(&views[0]) };
        ranks.iter().for_each(|rank| self.made.ops[*rank].push(Op::Work(self.costs.stage)));
        let (way, _) = cheapest(call, Spread::of(&self.places(&ranks)), self.costs);
        self.emit(way, collective, &ranks, &views);
    }
}
