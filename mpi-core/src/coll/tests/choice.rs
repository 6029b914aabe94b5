//! What [`cost`](crate::coll::cost) chooses against a simulated node: two sockets of 64 processors each, 8 to a
//! last-level cache; and the page that tells it.

use std::fmt::Write;
use std::path::PathBuf;

use super::candidates::programs;
use super::events::{Place, run};
use super::map::{Map, name, picture, size};
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
        let sizes = if collective == Collective::Barrier { &[0][..] } else { &BYTES };
        for &bytes in sizes {
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

/// The generated rows of the page.
fn rows(cases: &[Case]) -> String {
    let mut rows = String::new();
    let us = |ns: f64| format!("{:.2}", ns / 1000.0);
    for case in cases {
        let (way, counted, simulated) = case.priced[0];
        let others =
            case.priced[1..].iter().map(|(way, _, ns)| format!("{} {}", name(*way), us(*ns)));
        let others: Vec<String> = others.collect();
        let _ = writeln!(
            rows,
            "| {} | {} | {} | {} | {} | {} | {} | {} |",
            case.collective,
            size(case.bytes),
            case.ranks,
            name(way),
            us(counted),
            us(simulated),
            us(case.best()),
            others.join(", ")
        );
    }
    rows
}

/// What is chosen for a collective, from 2 ranks to all of the node.
fn map(collective: Collective) -> Map {
    let ranks: Vec<u32> = (1..=NODE.ilog2()).map(|power| 1 << power).collect();
    let bytes: Vec<usize> = match collective {
        Collective::Barrier => vec![0],
        _ => (3..=22).map(|power| 1 << power).collect(),
    };
    let choose = |bytes: usize, ranks: u32| {
        let call = Call { collective, bytes: bytes as f64 };
        cheapest(call, Spread::of(&places(ranks, 1)), &Costs::SERVER).0
    };
    let row = |bytes: &usize| ranks.iter().map(|ranks| choose(*bytes, *ranks)).collect::<Vec<_>>();
    let chosen = bytes.iter().flat_map(row).collect();
    Map { name: collective.to_string(), ranks, bytes, chosen }
}

fn file(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "../docs/lab", name].iter().collect()
}

/// The page and its plot as they should be: what people have written ends with the head of the table.
fn pages(cases: &[Case]) -> [(PathBuf, String); 2] {
    const HEAD: &str = "| --- |\n";
    let page = std::fs::read_to_string(file("model.md")).expect("docs/lab/model.md");
    let end = page.rfind(HEAD).expect("the head of a table") + HEAD.len();
    let page = page[..end].to_owned() + &rows(cases);
    [(file("model.md"), page), (file("model.svg"), picture(&TOLD.map(map)))]
}

#[test]
fn what_is_chosen_is_near_the_best_of_a_simulated_node() {
    let cases = cases(&TOLD, |_| 1);
    complain(&cases);
    for (file, text) in pages(&cases) {
        let there = std::fs::read_to_string(&file).unwrap_or_default();
        let cure = "cargo test -p mpi-core write_the_page -- --ignored";
        assert!(there == text, "{} is not what is counted: {cure}", file.display());
    }
}

#[test]
#[ignore = "writes docs/lab/model.md and its plot"]
fn write_the_page() {
    for (file, text) in pages(&cases(&TOLD, |_| 1)) {
        std::fs::write(file, text).expect("docs/lab");
    }
}

#[test]
fn so_it_is_where_ranks_are_spread_over_the_node() {
    complain(&cases(&TOLD, |ranks| NODE / ranks));
}

#[test]
fn so_it_is_for_roots_that_gather_and_scatter() {
    complain(&cases(&[Collective::Gather, Collective::Scatter], |_| 1));
}
