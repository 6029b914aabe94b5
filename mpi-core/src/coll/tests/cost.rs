//! The formulas of [`cost`](crate::coll::cost) against small cases worked out by hand.

use crate::coll::cost::{Call, Costs, Spread, Way, cheapest, cost, ways};
use crate::coll::menu::Collective;

/// Round numbers.
const COSTS: Costs = Costs {
    line: [20.0, 50.0, 100.0],
    copy: 64.0,
    reduce: 128.0,
    outlet: 32.0,
    look: 1.0,
    stage: 10.0,
};

/// Processes on so many sockets, of so many caches, each with so many processes.
fn spread(sockets: usize, caches: usize, of_cache: usize) -> Spread {
    Spread { ranks: sockets * caches * of_cache, of_cache, caches, sockets }
}

fn priced(way: Way, collective: Collective, bytes: f64, spread: Spread) -> Option<f64> {
    cost(way, Call { collective, bytes }, spread, &COSTS)
}

#[test]
fn a_spread_counts_who_sits_where() {
    let places: Vec<[u32; 2]> = (0..24).map(|rank| [rank / 12, rank / 3]).collect();
    assert_eq!(Spread::of(&places), spread(2, 4, 3));
    let uneven = [[0, 4], [1, 9], [0, 4], [0, 4], [0, 5]];
    assert_eq!(Spread::of(&uneven), Spread { ranks: 5, of_cache: 3, caches: 2, sockets: 2 });
}

#[test]
fn a_tree_is_of_caches_and_then_of_sockets() {
    let [group, leaders] = spread(2, 4, 3).split().unwrap();
    assert_eq!((group, leaders), (Spread::near(3), spread(2, 4, 1)));
    assert_eq!(leaders.split(), Some([spread(1, 4, 1), spread(2, 1, 1)]));
    for flat in [Spread::near(8), spread(1, 8, 1), spread(2, 1, 1), Spread::near(1)] {
        assert_eq!(flat.split(), None, "{flat:?}");
    }
}

#[test]
fn a_pair_meets_by_a_line_each() {
    // A look to write, the line, a tenth of it beside the other, as its look is less.
    let meet = |pair| priced(Way::Flat, Collective::Barrier, 0.0, pair);
    assert_eq!(meet(Spread::near(2)), Some(1.0 + 20.0 + 2.0));
    assert_eq!(meet(spread(2, 1, 1)), Some(1.0 + 100.0 + 10.0));
}

#[test]
fn readers_of_a_line_queue_up_and_a_tree_has_fewer() {
    let four = spread(1, 2, 2);
    let flat = 1.0 + (20.0 + 2.0 * 50.0) + 5.0;
    let tree = (10.0 + 1.0 + 50.0 + 5.0) + (10.0 + 1.0 + 20.0 + 2.0);
    let bcast = Call { collective: Collective::Bcast, bytes: 0.0 };
    assert_eq!(cost(Way::Flat, bcast, four, &COSTS), Some(flat));
    assert_eq!(cost(Way::Tree, bcast, four, &COSTS), Some(tree));
    assert_eq!(cheapest(bcast, four, &COSTS), (Way::Tree, tree));
}

#[test]
fn who_reduces_alone_reads_all_and_shares_are_read_by_all() {
    // Each reads three vectors and reduces them; or each writes three quarters, reduces three, and tells one.
    let (copy, reduce) = (64.0 * 64.0, 64.0 * 128.0);
    let of = |way| priced(way, Collective::Allreduce, 65536.0, Spread::near(4));
    assert_eq!(of(Way::Flat), Some((1.0 + copy) + 20.0 + 3.0 * (1.0 + reduce)));
    let apart = 3.0 * (1.0 + copy / 4.0) + 20.0 + 3.0 * (1.0 + reduce / 4.0);
    let told = (1.0 + copy / 4.0) + 20.0 + 3.0 * (1.0 + copy / 4.0);
    assert_eq!(of(Way::Shares), Some(apart + told));
}

#[test]
fn one_cache_is_flat_and_so_is_a_process_of_each() {
    for &collective in Collective::ALL {
        for spread in [Spread::near(8), spread(1, 8, 1)] {
            let call = Call { collective, bytes: 8.0 };
            assert_eq!(cost(Way::Tree, call, spread, &Costs::SERVER), None);
            assert_eq!(cheapest(call, spread, &Costs::SERVER).0, Way::Flat, "{collective}");
        }
        assert!(ways(collective).contains(&Way::Flat));
    }
}
