//! Which CPUs each rank may run on.
//!
//! Without a request ranks are tied down only when nobody else is expected where they would sit: when
//! the mask that mpirun was given is narrower than the machine, or when there is a rank for each core,
//! and when others that are at work find room beside them. Then each gets an equal share of
//! neighbouring cores. Never when ranks are more than the cores: some of them, or what else comes,
//! would wait for one core while another is free. Never under a quota, and never when the program
//! starts threads of its own (OMP_NUM_THREADS > 1). Ranks that play several nodes
//! (`FERRITE_NODE_RANKS`) share no core with those of another one, as on several machines.

use crate::options::{BindTo, MapBy, Tie};
use crate::refuse::Refusal;
use machine::{Cpu, Machine};

/// The CPUs of each rank, and why they are these.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Binding {
    /// For each rank its CPUs; `None` leaves it all of ours.
    pub(crate) cpus: Vec<Option<Vec<usize>>>,
    /// One clause for the report.
    pub(crate) why: String,
}

/// The ranks of one host.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Crew {
    /// How many there are.
    pub(crate) ranks: usize,
    /// So many that follow one another play a node; 0 if all are one.
    pub(crate) node_ranks: usize,
}

impl Crew {
    /// How many nodes they play if as many cores can be for each alone, else one.
    fn nodes(self, cores: usize) -> usize {
        let nodes = match self.node_ranks {
            0 => 1,
            ranks => self.ranks.div_ceil(ranks),
        };
        if cores.is_multiple_of(nodes) { nodes } else { 1 }
    }
}

/// Decides for `crew`. `tie` is what was asked for; a host where not even one rank can have
/// that refuses. `others` counts what else wants processors, which is looked at only where it matters.
pub(crate) fn decide(
    machine: &Machine,
    crew: Crew,
    tie: Option<Tie>,
    map_by: Option<MapBy>,
    threads: Option<usize>,
    others: impl FnOnce() -> usize,
) -> Result<Binding, Refusal> {
    let (ranks, map_by) = (crew.ranks, map_by.unwrap_or(MapBy::Near));
    match tie {
        // A host without ranks, as mpirun's own may be, need not have what they ask for.
        _ if ranks == 0 => Ok(free(0, "no rank runs here")),
        Some(Tie { to: BindTo::None, .. }) => Ok(free(ranks, "not bound, as asked for")),
        Some(tie) => {
            let places = dealt(groups(places(&machine.cpus, tie.to), tie, map_by)?, map_by);
            let cpus = spread(&places, ranks, tie.to, map_by);
            Ok(Binding { cpus, why: "as asked for".into() })
        }
        None => Ok(unasked(machine, crew, map_by, threads, others)),
    }
}

/// No rank is tied to anything.
fn free(ranks: usize, why: &str) -> Binding {
    Binding { cpus: vec![None; ranks], why: why.to_string() }
}

/// What is best where nothing was asked for.
fn unasked(
    machine: &Machine,
    crew: Crew,
    map_by: MapBy,
    threads: Option<usize>,
    others: impl FnOnce() -> usize,
) -> Binding {
    let ranks = crew.ranks;
    let free = |why| free(ranks, why);
    let cores = dealt(places(&machine.cpus, BindTo::Core), map_by);
    let narrowed = machine.cpus.len() < machine.online;
    if threads.is_some_and(|n| n > 1) {
        free("not bound: OMP_NUM_THREADS asks for threads")
    } else if machine.quota.is_some_and(|quota| quota < machine.cpus.len()) {
        free("not bound: the CPUs are limited by time, not by number")
    } else if ranks == 1 {
        free("not bound: a single rank")
    } else if !narrowed && ranks < cores.len() {
        free("not bound: the ranks leave room for others")
    } else if crew.nodes(cores.len()) > 1 {
        let cpus = shares_of_nodes(&cores, crew);
        Binding { cpus, why: "cores of its own for each node that is played".into() }
    } else if ranks > cores.len() {
        free("not bound: more ranks than cores")
    } else if others() > machine.online - ranks {
        free("not bound: others are at work here, and would share a core with a rank")
    } else {
        Binding { cpus: shares(&cores, ranks), why: "an equal share of the cores each".into() }
    }
}

/// A set of CPUs that belong together, with the first of them to tell where it is.
#[derive(Debug, Clone)]
struct Place {
    first: Cpu,
    cpus: Vec<usize>,
}

/// The CPUs in groups of the kind asked for, in order.
fn places(cpus: &[Cpu], kind: BindTo) -> Vec<Place> {
    let key = |cpu: &Cpu| match kind {
        BindTo::None => (0, 0, 0),
        BindTo::Hwthread => (cpu.socket, cpu.core, cpu.id),
        BindTo::Core => (cpu.socket, cpu.core, 0),
        BindTo::Numa => (cpu.numa, 0, 0),
        BindTo::Socket => (cpu.socket, 0, 0),
    };
    let mut places: Vec<Place> = Vec::new();
    for cpu in cpus {
        match places.iter_mut().find(|place| key(&place.first) == key(cpu)) {
            Some(place) => place.cpus.push(cpu.id),
            None => places.push(Place { first: *cpu, cpus: vec![cpu.id] }),
        }
    }
    places
}

/// The domain that a place belongs to, as far as ranks are dealt out to such.
fn domain(place: &Place, map_by: MapBy) -> usize {
    match map_by {
        MapBy::Near => 0,
        MapBy::Numa => place.first.numa,
        MapBy::Socket => place.first.socket,
    }
}

/// As many neighbouring places as each rank is to have make one; none reaches over the edge of a
/// domain that ranks are dealt out to.
fn groups(places: Vec<Place>, tie: Tie, map_by: MapBy) -> Result<Vec<Place>, Refusal> {
    let join = |group: &[Place]| Place { first: group[0].first, cpus: cpus_of(group) };
    let domains: Vec<&[Place]> =
        places.chunk_by(|a, b| domain(a, map_by) == domain(b, map_by)).collect();
    let joined: Vec<Place> =
        domains.iter().flat_map(|places| places.chunks_exact(tie.count).map(join)).collect();
    if joined.is_empty() && tie.count > 1 {
        let most = domains.iter().map(|places| places.len()).max().unwrap_or(0);
        let noun = match tie.to {
            BindTo::Numa => "NUMA domain".to_string(),
            BindTo::Hwthread => "hardware thread".to_string(),
            other => other.name(),
        };
        let place = match map_by {
            MapBy::Near => "this host",
            MapBy::Numa => "a NUMA domain of this host",
            MapBy::Socket => "a socket of this host",
        };
        let (kind, asked) = (tie.to.name(), tie.count);
        let s = if most == 1 { "" } else { "s" };
        return Err(Refusal::new(format!(
            "--bind-to {kind}:{asked} (or PE={asked}) gives each rank {asked} {noun}s, but mpirun \
             may use only {most} {noun}{s} of {place}: ask for fewer, or run elsewhere"
        )));
    }
    Ok(joined)
}

/// The places in the order in which ranks get them: side by side, or one of each domain in turn.
fn dealt(places: Vec<Place>, map_by: MapBy) -> Vec<Place> {
    let mut seen: Vec<(usize, usize)> = Vec::new();
    let mut turns: Vec<(usize, Place)> = Vec::new();
    for place in places {
        let at = match seen.iter().position(|(d, _)| *d == domain(&place, map_by)) {
            Some(at) => at,
            None => {
                seen.push((domain(&place, map_by), 0));
                seen.len() - 1
            }
        };
        let turn = if map_by == MapBy::Near { 0 } else { seen[at].1 };
        seen[at].1 += 1;
        turns.push((turn, place));
    }
    turns.sort_by_key(|(turn, _)| *turn);
    turns.into_iter().map(|(_, place)| place).collect()
}

/// One place for each rank; when the places are fewer, neighbours share one or they are dealt in turn.
fn spread(places: &[Place], ranks: usize, kind: BindTo, map_by: MapBy) -> Vec<Option<Vec<usize>>> {
    let blocks = map_by == MapBy::Near && matches!(kind, BindTo::Numa | BindTo::Socket);
    let at = |rank: usize| match blocks && ranks > places.len() {
        true => rank * places.len() / ranks,
        false => rank % places.len().max(1),
    };
    (0..ranks).map(|rank| places.get(at(rank)).map(|place| place.cpus.clone())).collect()
}

/// Equal numbers of neighbouring cores, or one for each rank in turn.
fn shares(cores: &[Place], ranks: usize) -> Vec<Option<Vec<usize>>> {
    let edge = |rank: usize| rank * cores.len() / ranks;
    let share = |rank: usize| match ranks > cores.len() {
        true => &cores[rank % cores.len()..][..1],
        false => &cores[edge(rank)..edge(rank + 1)],
    };
    (0..ranks).map(|rank| Some(cpus_of(share(rank)))).collect()
}

/// Those of as many neighbouring cores for each node; all of a node's where some would have more ranks than others.
fn shares_of_nodes(cores: &[Place], crew: Crew) -> Vec<Option<Vec<usize>>> {
    let firsts = (0..crew.ranks).step_by(crew.node_ranks);
    let nodes = firsts.zip(cores.chunks_exact(cores.len() / crew.nodes(cores.len())));
    let deal = |(first, cores): (usize, &[Place])| {
        let ranks = crew.node_ranks.min(crew.ranks - first);
        match ranks <= cores.len() || ranks.is_multiple_of(cores.len()) {
            true => shares(cores, ranks),
            false => vec![Some(cpus_of(cores)); ranks],
        }
    };
    nodes.flat_map(deal).collect()
}

fn cpus_of(places: &[Place]) -> Vec<usize> {
    places.iter().flat_map(|place| place.cpus.iter().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Two packages of `cores` cores with two threads each.
    fn machine(cores: usize) -> Machine {
        let cpu = |id: usize| {
            let core = id % (2 * cores);
            let socket = core / cores;
            Cpu { id, socket, core: core % cores, numa: socket }
        };
        let mut cpus: Vec<Cpu> = (0..4 * cores).map(cpu).collect();
        cpus.sort_by_key(|cpu| (cpu.numa, cpu.socket, cpu.core, cpu.id));
        Machine { cpus, online: 4 * cores, quota: None }
    }

    fn sets(binding: &Binding) -> Vec<Vec<usize>> {
        binding.cpus.iter().map(|cpus| cpus.clone().unwrap_or_default()).collect()
    }

    /// Ranks that are one node.
    fn crew(ranks: usize) -> Crew {
        Crew { ranks, node_ranks: 0 }
    }

    /// What is decided where that must be possible.
    fn decide(
        machine: &Machine,
        ranks: usize,
        tie: Option<Tie>,
        map_by: Option<MapBy>,
        threads: Option<usize>,
    ) -> Binding {
        super::decide(machine, crew(ranks), tie, map_by, threads, || 0).unwrap()
    }

    #[test]
    fn alone_on_the_machine_or_not_at_all() {
        let full = decide(&machine(2), 4, None, None, None);
        assert_eq!(sets(&full), [vec![0, 4], vec![1, 5], vec![2, 6], vec![3, 7]]);
        for (ranks, threads) in [(3, None), (5, None), (8, None), (4, Some(2)), (1, None)] {
            let free = decide(&machine(2), ranks, None, None, threads);
            assert!(free.cpus.iter().all(Option::is_none), "{free:?}");
        }
        let mut limited = machine(2);
        limited.quota = Some(2);
        assert!(decide(&limited, 4, None, None, None).cpus.iter().all(Option::is_none));
    }

    #[test]
    fn others_at_work_need_room() {
        let bound = |machine: &Machine, ranks, others, tie| {
            let bound = super::decide(machine, crew(ranks), tie, None, None, || others).unwrap();
            bound.cpus.iter().all(Option::is_some)
        };
        // Two threads for each of four cores: beside a rank on each, four others find room.
        assert!(bound(&machine(2), 4, 4, None) && !bound(&machine(2), 4, 5, None));
        let mut single = machine(2);
        single.cpus.retain(|cpu| cpu.id < 4);
        single.online = 4;
        assert!(bound(&single, 4, 0, None) && !bound(&single, 4, 1, None));
        // Those may be where we are not.
        single.online = 16;
        assert!(bound(&single, 4, 12, None) && !bound(&single, 4, 13, None));
        assert!(bound(&single, 9, 20, Some(Tie { to: BindTo::Core, count: 1 })));
    }

    #[test]
    fn nodes_that_are_played_share_no_core() {
        let played = |ranks, node_ranks| {
            let crew = Crew { ranks, node_ranks };
            sets(&super::decide(&machine(2), crew, None, None, None, || 0).unwrap())
        };
        let cores =
            |of: &[usize]| -> Vec<_> { of.iter().map(|core| vec![*core, core + 4]).collect() };
        assert_eq!(played(8, 4), cores(&[0, 1, 0, 1, 2, 3, 2, 3]));
        assert_eq!(played(8, 2), cores(&[0, 0, 1, 1, 2, 2, 3, 3]));
        assert_eq!(played(4, 2), cores(&[0, 1, 2, 3]));
        // The last one may be smaller; where some of its cores would have more ranks than others, none is tied to one.
        assert_eq!(played(5, 4), [cores(&[0, 1, 0, 1]), vec![vec![2, 6, 3, 7]]].concat());
        assert_eq!(played(7, 4)[4..], vec![vec![2, 6, 3, 7]; 3]);
        // Nodes that are more than the cores, or of a number that does not divide theirs.
        for node_ranks in [1, 0, 3, 9] {
            assert_eq!(played(8, node_ranks), [const { vec![] }; 8]);
        }
    }

    #[test]
    fn a_narrowed_mask_is_ours_to_share() {
        let mut ours = machine(4);
        ours.cpus.retain(|cpu| cpu.socket == 0);
        let half = decide(&ours, 2, None, None, Some(1));
        assert_eq!(sets(&half), [vec![0, 8, 1, 9], vec![2, 10, 3, 11]]);
    }

    #[test]
    fn places_as_asked_for() {
        let asked = |to, map, ranks| {
            sets(&decide(&machine(2), ranks, Some(Tie { to, count: 1 }), map, None))
        };
        assert_eq!(asked(BindTo::Core, None, 2), [vec![0, 4], vec![1, 5]]);
        assert_eq!(asked(BindTo::Core, Some(MapBy::Socket), 2), [vec![0, 4], vec![2, 6]]);
        assert_eq!(asked(BindTo::Hwthread, None, 3), [vec![0], vec![4], vec![1]]);
        let first = vec![0, 4, 1, 5];
        assert_eq!(asked(BindTo::Socket, None, 4)[1], first);
        assert_eq!(asked(BindTo::Socket, Some(MapBy::Socket), 4)[2], first);
        assert_eq!(asked(BindTo::Core, None, 9)[8], [0, 4]);
    }

    #[test]
    fn several_places_for_each_rank() {
        let asked = |to, count, map, ranks| {
            sets(&decide(&machine(4), ranks, Some(Tie { to, count }), map, None))
        };
        let near = asked(BindTo::Core, 2, None, 4);
        assert_eq!(
            near,
            [vec![0, 8, 1, 9], vec![2, 10, 3, 11], vec![4, 12, 5, 13], vec![6, 14, 7, 15]]
        );
        assert_eq!(asked(BindTo::Core, 2, None, 5)[4], near[0]);
        assert_eq!(asked(BindTo::Core, 2, Some(MapBy::Socket), 3)[1], near[2]);
        assert_eq!(asked(BindTo::Hwthread, 2, None, 2), [vec![0, 8], vec![1, 9]]);
        // Two of the eight cores are left over, and one of the four of each socket.
        assert_eq!(asked(BindTo::Core, 3, None, 3)[2], near_of(&[0, 1, 2]));
        assert_eq!(asked(BindTo::Core, 3, Some(MapBy::Socket), 2)[1], near_of(&[4, 5, 6]));
        let tied = |ranks, count, map| {
            let tie = Some(Tie { to: BindTo::Core, count });
            super::decide(&machine(4), crew(ranks), tie, map, None, || 0)
        };
        assert!(tied(1, 9, None).unwrap_err().text.contains("only 8 cores of this host"));
        assert!(tied(0, 9, None).unwrap().cpus.is_empty());
        let socket = tied(1, 5, Some(MapBy::Socket));
        assert!(socket.unwrap_err().text.contains("only 4 cores of a socket"));
    }

    /// The CPUs of these cores of a machine with four a package.
    fn near_of(cores: &[usize]) -> Vec<usize> {
        cores.iter().flat_map(|core| [*core, core + 8]).collect()
    }

    proptest! {
        #[test]
        fn every_rank_gets_cpus_of_ours(
            cores in 1usize..5, ranks in 1usize..20, kind in 0usize..6, map in 0usize..3,
            count in 1usize..4, node_ranks in 0usize..6,
        ) {
            let kinds = [None, Some(BindTo::Core), Some(BindTo::Hwthread), Some(BindTo::Numa),
                         Some(BindTo::Socket), Some(BindTo::None)];
            let maps = [MapBy::Near, MapBy::Numa, MapBy::Socket];
            let machine = machine(cores);
            let tie = kinds[kind].map(|to| Tie { to, count });
            let Ok(bound) = super::decide(&machine, Crew { ranks, node_ranks }, tie, Some(maps[map]), None, || 0) else {
                prop_assert!(count > 1);
                return Ok(());
            };
            prop_assert_eq!(bound.cpus.len(), ranks);
            for cpus in bound.cpus.iter().flatten() {
                prop_assert!(!cpus.is_empty());
                prop_assert!(cpus.iter().all(|c| machine.cpus.iter().any(|cpu| cpu.id == *c)));
            }
        }
    }
}
