//! What [`cost`](crate::coll::cost) chooses against a simulated node: two sockets of 64 processors each, 8 to a
//! last-level cache.

use super::candidates::programs;
use super::events::{Place, run};
use crate::coll::cost::{Call, Costs, Spread, Way, cheapest, cost, ways};
use crate::coll::menu::Collective;

/// The processors of a cache and of a socket, and both sockets'.
const CACHE: u32 = 8;
const SOCKET: u32 = 64;
const NODE: u32 = 128;
/// What is told of.
const TOLD: [Collective; 6] = [
    Collective::Barrier,
    Collective::Bcast,
    Collective::Reduce,
    Collective::Allreduce,
    Collective::Allgather,
    Collective::Alltoall,
];
const RANKS: [u32; 5] = [2, 8, 16, 64, 128];
const BYTES: [usize; 3] = [8, 4 << 10, 1 << 20];
/// What is chosen may take so much longer than the best.
const WITHIN: f64 = 1.2;

/// So many ranks, one for each processor of the first ones or of every so many.
fn places(ranks: u32, stride: u32) -> Vec<Place> {
    let core = (0..ranks).map(|rank| rank * stride);
    core.map(|core| [core / SOCKET, core / CACHE]).collect()
}

/// One case: each way with what is counted and what is simulated, the chosen one first.
struct Case {
    collective: Collective,
    bytes: usize,
    ranks: u32,
    priced: Vec<(Way, f64, f64)>,
}

impl Case {
    fn new(collective: Collective, bytes: usize, places: &[Place]) -> Case {
        let (costs, spread) = (Costs::SERVER, Spread::of(places));
        let call = Call { collective, bytes: bytes as f64 };
        let mut priced = Vec::new();
        for way in ways(collective) {
            if let Some(counted) = cost(*way, call, spread, &costs) {
                let made = programs(*way, call, places, &costs);
                priced.push((*way, counted, run(&costs, places, made)));
            }
        }
        priced.sort_by(|one, other| one.1.total_cmp(&other.1));
        assert_eq!(cheapest(call, spread, &costs).0, priced[0].0);
        Case { collective, bytes, ranks: places.len() as u32, priced }
    }

    fn best(&self) -> f64 {
        self.priced.iter().map(|(.., simulated)| *simulated).fold(f64::MAX, f64::min)
    }

    /// How much longer the chosen one takes than the best of all.
    fn ratio(&self) -> f64 {
        self.priced[0].2 / self.best()
    }
}

fn cases(collectives: &[Collective], stride: impl Fn(u32) -> u32) -> Vec<Case> {
    let mut cases = Vec::new();
    for &collective in collectives {
        for bytes in BYTES {
            let bytes = if collective == Collective::Barrier { 0 } else { bytes };
            let of = |ranks: &u32| Case::new(collective, bytes, &places(*ranks, stride(*ranks)));
            cases.extend(RANKS.iter().map(of));
        }
    }
    cases
}

fn complain(cases: &[Case]) {
    let faults = cases.iter().filter(|case| case.ratio() > WITHIN).map(|case| {
        let Case { collective, bytes, ranks, priced } = case;
        format!("{collective} {bytes} B, {ranks} ranks: {:.2} {priced:.0?}\n", case.ratio())
    });
    let faults: String = faults.collect();
    assert!(faults.is_empty(), "{faults}");
}

#[test]
fn what_is_chosen_is_near_the_best_of_a_simulated_node() {
    complain(&cases(&TOLD, |_| 1));
}

#[test]
fn so_it_is_where_ranks_are_spread_over_the_node() {
    complain(&cases(&TOLD, |ranks| NODE / ranks));
}

#[test]
fn so_it_is_for_roots_that_gather_and_scatter() {
    complain(&cases(&[Collective::Gather, Collective::Scatter], |_| 1));
}
