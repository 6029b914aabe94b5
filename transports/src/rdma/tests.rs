//! The transport over the simulated fabric: what every transport has to do, under every weather.

use mpi_core::header::Header;
use mpi_core::port::{Body, PeerId, ProcessName, Transport};
use mpi_core::settings::RdmaRendezvous;

use super::fabric::Fabric;
use super::fabric_bench::JOB;
use super::sim::{End, Sim, Weather};
use super::{Rdma, RdmaConfig, RdmaSettings};
use crate::conformance::{World, check};

/// Transports that know each other's names and cards.
pub(super) fn connect(ends: Vec<End>, settings: &RdmaSettings) -> Vec<Rdma<End>> {
    let cards: Vec<String> = ends.iter().map(Fabric::card).collect();
    let make = |(rank, end): (u32, End)| {
        let config = RdmaConfig { job: JOB.to_owned(), rank, settings: settings.clone() };
        let mut transport = Rdma::new(config, end).unwrap();
        for (other, card) in (0..).zip(&cards) {
            transport.add_peer(PeerId(other), &ProcessName { job: JOB.to_owned(), rank: other });
            if other != rank {
                transport.meet(PeerId(other), card, false).unwrap();
            }
        }
        transport
    };
    (0..).zip(ends).map(make).collect()
}

/// A simulated world and its transports.
pub(super) fn world(
    seed: u64,
    count: usize,
    weather: Weather,
    settings: &RdmaSettings,
) -> (Sim, World<Rdma<End>>) {
    let (sim, ends) = Sim::new(seed, count, weather);
    (sim, World::new(connect(ends, settings)))
}

/// Few of everything, so that a path is full before a test has sent too much.
pub(super) fn small() -> RdmaSettings {
    RdmaSettings { ring_slots: 8, fragment_bytes: 40_000, ..RdmaSettings::default() }
}

#[test]
fn the_simulated_fabric_is_one() {
    for has_addresses in [true, false] {
        let tells_in_order = has_addresses;
        let fair = Weather::FAIR.abilities;
        let abilities = super::fabric::Abilities { rails: 2, tells_in_order, ..fair };
        let weather = Weather { abilities, has_addresses, is_strict: false, ..Weather::FAIR };
        super::fabric_set::holds(|count| Sim::new(1, count, weather).1);
    }
}

/// All requirements over these settings, in weather that is made out of fair weather.
fn holds(count: usize, settings: &RdmaSettings, change: impl Fn(&mut Weather)) {
    let mut seed = 0;
    check(|| {
        let mut weather = Weather::FAIR;
        change(&mut weather);
        seed += 1;
        connect(Sim::new(seed, count, weather).1, settings)
    });
}

#[test]
fn meets_all_requirements() {
    holds(2, &small(), |_| {});
}

#[test]
fn meets_all_requirements_without_rings() {
    holds(2, &RdmaSettings { ring_slots: 0, ..small() }, |_| {});
}

#[test]
fn meets_all_requirements_where_nothing_is_written_in_order() {
    holds(2, &small(), |weather| {
        weather.abilities.writes_in_order = false;
        weather.has_addresses = false;
    });
}

#[test]
fn meets_all_requirements_where_messages_are_told_out_of_order() {
    for ring_slots in [0, 8] {
        holds(2, &RdmaSettings { ring_slots, ..small() }, |weather| {
            weather.abilities.tells_in_order = false;
        });
    }
}

#[test]
fn meets_all_requirements_by_reading_over_two_rails() {
    let settings = RdmaSettings { rendezvous: RdmaRendezvous::Read, ..small() };
    holds(2, &settings, |weather| weather.abilities.rails = 2);
}

#[test]
fn meets_all_requirements_by_writing_over_three_rails_among_three() {
    holds(3, &small(), |weather| {
        weather.abilities.rails = 3;
        weather.has_addresses = false;
    });
}

#[test]
fn meets_all_requirements_with_one_credit_and_tiny_queues() {
    let settings = RdmaSettings { credits: 1, ring_slots: 2, ..small() };
    holds(2, &settings, |weather| {
        (weather.depth, weather.abilities.inline_bytes) = (2, 0);
        weather.late = 20_000;
    });
}

#[test]
fn meets_all_requirements_where_nothing_of_the_program_can_be_registered() {
    holds(2, &RdmaSettings { ring_slots: 0, pool_bytes: 1 << 20, ..small() }, |weather| {
        weather.regions = 1;
    });
}

#[test]
fn the_memory_of_peers_is_reached() {
    for (count, rails, has_addresses) in [(2, 1, true), (4, 2, false)] {
        let mut seed = 100;
        crate::one_sided_set::check(|| {
            seed += 1;
            let mut weather = Weather { has_addresses, ..Weather::FAIR };
            weather.abilities.rails = rails;
            connect(Sim::new(seed, count, weather).1, &small())
        });
    }
}

#[test]
fn who_is_not_met_is_sought_and_whose_card_is_none_is_not_met() {
    let (_, ends) = Sim::new(1, 2, Weather::FAIR);
    let card = ends[1].card();
    let config = |rank| RdmaConfig { job: JOB.to_owned(), rank, settings: small() };
    let mut all: Vec<Rdma<End>> =
        (0..).zip(ends).map(|(rank, end)| Rdma::new(config(rank), end).unwrap()).collect();
    for end in &mut all {
        for rank in 0..2 {
            end.add_peer(PeerId(rank), &ProcessName { job: JOB.to_owned(), rank });
        }
    }
    let hello = || Body::Bytes((&b"hello"[..]).into());
    assert_eq!((all[0].sought_blindly(), all[0].has_room(PeerId(1), 5, true)), (None, false));
    assert!(all[0].send(PeerId(1), &Header::default(), hello()).is_err());
    assert_eq!(all[0].sought_blindly(), Some(PeerId(1)));
    assert!(all[0].meet(PeerId(1), "nonsense", false).is_err());
    assert_eq!(all[0].sought_blindly(), Some(PeerId(1)));
    all[0].meet(PeerId(1), &card, false).unwrap();
    assert_eq!(all[0].sought_blindly(), None);
    let mut world = World::new(all);
    world.send(0, 1, &Header::default(), b"hello");
    world.run_until("it is there", |world| world.got(1).frames.len() == 1);
    // Who was reached may answer at once.
    assert!(world.transport(1).send(PeerId(0), &Header::default(), hello()).is_ok());
    assert!(world.transport(0).put_off().is_some(), "nothing wakes who sleeps");
}

#[test]
fn settings_that_all_agree_on_take_the_place_of_others() {
    let (sim, ends) = Sim::new(1, 2, Weather::FAIR);
    let mut all = connect(ends, &small());
    let registered = sim.counts(0).registered;
    for end in &mut all {
        end.set_settings(RdmaSettings { eager_bytes: 50_000, ..small() }).unwrap();
        assert_eq!(end.caps(PeerId(1)).frame_bytes_max, 50_000);
    }
    assert_eq!(sim.counts(0).registered, registered, "the old buffers stay registered");
    let mut world = World::new(all);
    world.send(0, 1, &Header::default(), &[7; 50_000]);
    world.run_until("it is there", |world| world.got(1).frames.len() == 1);
}
