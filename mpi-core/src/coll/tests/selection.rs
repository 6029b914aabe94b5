//! Tables of rules: what they choose and how they complain.

use crate::coll::menu::{Algorithm, Collective};
use crate::coll::plan::{Problem, plan};
use crate::coll::select::{Selection, Shape};

fn shape(collective: Collective, size: usize, bytes: i64) -> Shape {
    Shape {
        collective,
        size,
        ranks_per_node: size,
        oversubscribed: false,
        processors: size,
        bytes,
        unit: 1,
        commutative: true,
        shared_memory: false,
        nodes: false,
        blocking: true,
    }
}

#[test]
fn the_compiled_in_table_chooses_what_can_serve() {
    let selection = Selection::default();
    for &collective in Collective::ALL {
        assert!(collective.menu()[0].1.met(3, false), "{collective}");
        for size in 1..70 {
            for bytes in [0, 1, 600, 5 << 10, 100 << 10, 1 << 20, 16 << 20] {
                for commutative in [false, true] {
                    let shape = Shape { commutative, ..shape(collective, size, bytes) };
                    let choice = selection.select(&shape);
                    let needs = collective.needs(choice.algorithm);
                    assert!(
                        needs.is_some_and(|n| n.met(size, commutative)),
                        "{shape:?} {choice:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn the_first_rule_that_applies_wins() {
    let table = r#"
        [[bcast]]
        algorithm = "chain"
        segment = "1KiB"
        min_bytes = "1MiB"
        max_ranks = 4

        [[bcast]]
        algorithm = "scatter_doubling"
        ports = 3
        min_block = 100
    "#;
    let selection = Selection::default().with_table(table, "test").unwrap();
    let chosen = |size, bytes| selection.select(&shape(Collective::Bcast, size, bytes));
    assert_eq!(chosen(4, 1 << 20).algorithm, Algorithm::Chain);
    assert_eq!(chosen(4, 1 << 20).segment, 1024);
    assert_eq!(chosen(8, 1 << 20).algorithm, Algorithm::ScatterDoubling);
    assert_eq!(chosen(8, 1 << 20).ports, 3);
    assert_eq!(chosen(7, 1 << 20).algorithm, Algorithm::Binomial, "7 is no power of two");
    assert_eq!(chosen(8, 799).algorithm, Algorithm::Binomial, "blocks of 99");
    let gather = selection.select(&shape(Collective::Gather, 8, 64));
    assert_eq!(gather.algorithm, Algorithm::Binomial, "not mentioned, so as before");
}

#[test]
fn oversubscribed_processes_may_have_rules_of_their_own() {
    let table = "[[barrier]]\nalgorithm = \"tree\"\noversubscribed = true";
    let selection = Selection::default().with_table(table, "test").unwrap();
    let shape = shape(Collective::Barrier, 8, 0);
    assert_eq!(selection.select(&shape).algorithm, Algorithm::Dissemination);
    let oversubscribed = Shape { oversubscribed: true, ..shape };
    assert_eq!(selection.select(&oversubscribed).algorithm, Algorithm::Tree);
}

/// Three of one node that share processors do not go by the rules of three on two nodes.
#[test]
fn three_on_two_nodes_add_up_by_fewer_stages() {
    let chosen = |size, ranks_per_node, nodes, bytes| {
        let shape = shape(Collective::Allreduce, size, bytes);
        let shape = Shape { ranks_per_node, nodes, oversubscribed: true, ..shape };
        Selection::default().select(&shape).algorithm
    };
    assert_eq!(chosen(3, 2, true, 256 << 10), Algorithm::Tree);
    assert_eq!(chosen(3, 2, true, 1 << 20), Algorithm::Rabenseifner);
    assert_eq!(chosen(4, 2, true, 1 << 20), Algorithm::Nodes);
    assert_eq!(chosen(3, 3, false, 1 << 20), Algorithm::Tree);
}

#[test]
fn rules_may_ask_for_processors() {
    let table = "[[barrier]]\nalgorithm = \"tree\"\nmin_processors = 2\nmax_processors = 3";
    let selection = Selection::default().with_table(table, "test").unwrap();
    let on = |processors| {
        let shape = Shape { processors, ..shape(Collective::Barrier, 8, 0) };
        selection.select(&shape).algorithm
    };
    let chosen = [1, 2, 3, 4].map(on);
    assert_eq!(chosen.map(|algorithm| algorithm == Algorithm::Tree), [false, true, true, false]);
}

#[test]
fn segments_are_counted_in_units() {
    let selection = Selection::default().with_override(Collective::Scan, "chain:64KiB").unwrap();
    let shape = Shape { unit: 16, ..shape(Collective::Scan, 4, 1 << 20) };
    assert_eq!(selection.select(&shape).segment, 4096);
    assert_eq!(selection.select(&Shape { unit: 1 << 20, ..shape }).segment, 1);
}

#[test]
fn an_override_goes_first_where_it_can_serve() {
    let selection =
        Selection::default().with_override(Collective::Allgather, "neighbor_exchange").unwrap();
    let chosen = |size| selection.select(&shape(Collective::Allgather, size, 10)).algorithm;
    assert_eq!(chosen(6), Algorithm::NeighborExchange);
    assert_ne!(chosen(7), Algorithm::NeighborExchange);

    let ports = Selection::default().with_override(Collective::Alltoall, "bruck:3").unwrap();
    assert_eq!(ports.select(&shape(Collective::Alltoall, 9, 1 << 30)).ports, 3);

    for wrong in ["bruk", "bruck:0", "bruck:x", "chain", "dissemination"] {
        let error = Selection::default().with_override(Collective::Alltoall, wrong).unwrap_err();
        assert!(error.what().contains("alltoall"), "{error}");
        assert!(!error.advice().is_empty());
    }
    let error = Selection::default().with_override(Collective::Alltoall, "bruk").unwrap_err();
    assert!(error.what().contains("did you mean \"bruck\""), "{error}");
}

#[test]
fn a_fault_in_a_table_names_its_line() {
    let fault = |table: &str| Selection::default().with_table(table, "my.toml").unwrap_err();
    for (table, line, what) in [
        ("[[bcast]]\nalgorithm = \"binomal\"", 2, "did you mean \"binomial\""),
        ("\n[[bcas]]\nalgorithm = \"binomial\"", 2, "did you mean \"bcast\""),
        ("[[bcast]]\nalgorithm = \"chain\"\nsegment = \"4kb\"", 3, "not a number of bytes"),
        ("[[bcast]]\nalgorithm = \"binomial\"\nprots = 2", 3, "prots"),
        ("[[bcast]]\nalgorithm = \"binomial\"\nports = 0", 3, "out of range"),
        ("[[bcast]]\nalgorithm = \"binomial\"\nmin_ranks = 9\nmax_ranks = 2", 2, "from 9 to 2"),
        ("[[gatherv]]\nalgorithm = \"linear\"\nmin_bytes = 2", 3, "how many bytes"),
        ("[[bcast]]\nmin_ranks = 2", 1, "algorithm"),
        ("[[bcast]]\nalgorithm = ", 2, ""),
    ] {
        let error = fault(table);
        let place = format!("my.toml, line {line}:");
        assert!(error.what().contains(&place) && error.what().contains(what), "{table}\n{error}");
        assert!(!error.advice().is_empty());
    }
}

#[test]
fn a_plan_refuses_what_does_not_serve() {
    let mut choice = Selection::default().select(&shape(Collective::Bcast, 3, 10));
    for algorithm in [Algorithm::ScatterDoubling, Algorithm::Bruck] {
        choice.algorithm = algorithm;
        let error = plan(0, 3, &Problem::Bcast { root: 0, len: 10 }, &choice).unwrap_err();
        assert!(error.what().contains(algorithm.name()), "{error}");
    }
}
