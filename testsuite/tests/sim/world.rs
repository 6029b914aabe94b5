//! The simulated worlds themselves: sameness by seed, many ranks, deadlocks, death.

use mpi_core::buffer::RawBytes;
use mpi_core::header::Header;
use mpi_core::port::{Activity, Body, Landing, PeerId, Port, Sink, Token, Transport, Why};
use mpi_core::roll_call::{Call, Peer};
use testsuite::sim::{RankContext, World};
use transports::sim::{SimOptions, SimPort};

/// Counts what comes.
#[derive(Default)]
struct Seen {
    tags: Vec<i32>,
    down: Vec<PeerId>,
}

impl Sink for Seen {
    fn frame(&mut self, _: PeerId, header: &Header, _: RawBytes<'_>) {
        self.tags.push(header.tag);
    }
    fn begin(&mut self, _: PeerId, _: &Header, _: u64) -> Landing {
        Landing::Discard
    }
    fn landed(&mut self, _: PeerId, _: Token) {}
    fn sent(&mut self, _: Token) {}
    fn peer_down(&mut self, peer: PeerId, _: Why) {
        self.down.push(peer);
    }
}

fn connect(context: &mut RankContext) -> SimPort {
    let mut port = context.take_port();
    for (peer, name) in (0..).zip(context.names()) {
        port.add_peer(PeerId(peer), &name);
    }
    port
}

fn wait_until(port: &mut SimPort, seen: &mut Seen, done: impl Fn(&Seen) -> bool) {
    let mut idle = 0;
    while !done(seen) {
        idle = if port.poll(seen) == Activity::Busy { 0 } else { idle + 1 };
        if idle > 0 {
            port.wait(idle);
        }
    }
}

fn send(port: &mut SimPort, seen: &mut Seen, to: u32, tag: i32) {
    let header = Header { tag, ..Header::default() };
    while port.send(PeerId(to), &header, Body::Bytes(RawBytes::EMPTY)).is_err() {
        if port.poll(seen) == Activity::Idle {
            port.wait(1);
        }
    }
}

/// Passes a token round the ring of all ranks, `rounds` times.
fn ring(mut context: RankContext, rounds: i32) -> i32 {
    let mut port = connect(&mut context);
    let mut seen = Seen::default();
    let next = (context.rank + 1) % context.size;
    for round in 0..rounds {
        if context.rank == 0 {
            send(&mut port, &mut seen, next, round);
        }
        wait_until(&mut port, &mut seen, |seen| seen.tags.len() > round as usize);
        if context.rank > 0 {
            send(&mut port, &mut seen, next, round);
        }
    }
    *seen.tags.last().unwrap()
}

#[test]
fn a_seed_is_a_run() {
    let run = |seed| {
        let outcome = World::run(seed, 8, SimOptions::default(), |c| ring(c, 5)).unwrap();
        assert_eq!(outcome.results, [Some(4); 8]);
        (outcome.trace, outcome.turns, outcome.time)
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn a_thousand_ranks_are_no_trouble() {
    let outcome = World::run(3, 1024, SimOptions::default(), |c| ring(c, 2)).unwrap();
    assert!(outcome.results.iter().all(|tag| *tag == Some(1)));
}

#[test]
fn a_deadlock_is_told_with_what_each_rank_is_in() {
    let hang = World { procedure_name: |_| Some("MPI_Recv"), ..World::new(9, 3) }
        .start(|mut context| {
            let mut port = connect(&mut context);
            let source = Peer::Source((context.rank as i32 + 1) % 3);
            let comm = "MPI_COMM_WORLD".to_owned();
            let call = Call { procedure: 1, peer: source, tag: Some(7), comm, ..Call::default() };
            context.area.publish(&call);
            if context.rank < 2 {
                wait_until(&mut port, &mut Seen::default(), |_| false);
            }
        })
        .unwrap_err();
    assert!(hang.deadlock);
    assert_eq!(
        hang.ranks,
        [
            "rank 0 in MPI_Recv(source 1, tag 7) on MPI_COMM_WORLD",
            "rank 1 in MPI_Recv(source 2, tag 7) on MPI_COMM_WORLD",
        ]
    );
}

#[test]
fn a_rank_that_dies_is_missed_by_the_others() {
    let outcome = World::run(4, 5, SimOptions::default(), |mut context| {
        let mut port = connect(&mut context);
        if context.rank == 2 {
            context.die();
        }
        let mut seen = Seen::default();
        wait_until(&mut port, &mut seen, |seen| seen.down.contains(&PeerId(2)));
        context.rank
    });
    assert_eq!(outcome.unwrap().results, [Some(0), Some(1), None, Some(3), Some(4)]);
}

#[test]
fn a_loop_of_tests_does_not_starve_the_others() {
    let outcome = World::run(6, 2, SimOptions::default(), |mut context| {
        let mut port = connect(&mut context);
        let mut seen = Seen::default();
        if context.rank == 0 {
            while seen.tags.is_empty() {
                port.poll(&mut seen);
            }
        } else {
            send(&mut port, &mut seen, 0, 1);
        }
    });
    outcome.unwrap();
}

#[test]
#[should_panic(expected = "rank 1 fails")]
fn a_panic_of_a_rank_is_the_tests() {
    let _ = World::run(6, 3, SimOptions::default(), |mut context| {
        let mut port = connect(&mut context);
        assert!(context.rank != 1, "rank 1 fails");
        wait_until(&mut port, &mut Seen::default(), |_| false);
    });
}

#[test]
fn two_jobs_can_meet() {
    let world = World { jobs: vec![2, 3], ..World::new(12, 0) };
    let outcome = world.start(|mut context| {
        let mut port = context.take_port();
        let other = if context.job == "sim0" { "sim1" } else { "sim0" };
        let name = mpi_core::port::ProcessName { job: other.to_owned(), rank: 0 };
        port.add_peer(PeerId(0), &name);
        let mut seen = Seen::default();
        if context.rank == 0 {
            send(&mut port, &mut seen, 0, 77);
            wait_until(&mut port, &mut seen, |seen| !seen.tags.is_empty());
        }
        seen.tags
    });
    let met = |tags: &Option<Vec<i32>>| tags.as_ref().unwrap() == &[77];
    let results = outcome.unwrap().results;
    assert_eq!(results.iter().map(met).collect::<Vec<_>>(), [true, false, true, false, false]);
}
