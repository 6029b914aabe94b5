//! What is under way, lost and asked about.

use super::*;
use crate::reliability::wire::{Arrival, Front, Head, Load};
use proptest::prelude::*;
use std::collections::BTreeSet;

const BYTES: u16 = 1000;

/// What stands for the load of the datagram with this number.
fn cargo(number: u64) -> Cargo {
    Cargo::Frames(number..number + 1)
}

fn number(cargo: Cargo) -> u64 {
    let Cargo::Frames(range) = cargo else { panic!("a question") };
    range.start
}

fn fly(flight: &mut Flight, now: Nanos) -> u64 {
    let number = flight.take_number();
    flight.send(number, now, BYTES, cargo(number));
    number
}

/// The peer says that it has these numbers; which of them are news.
fn answer(flight: &mut Flight, now: Nanos, numbers: &Ranges) -> (Vec<u64>, Answered) {
    let head = Head {
        number: 0,
        oldest: 0,
        settled: numbers.low(),
        credit: 0,
        held_micros: 0,
        asks: false,
    };
    let front = Front::new(&head, numbers.highest(16), &Load::Nothing);
    let acks = Arrival::parse(front.as_bytes()).unwrap().acks;
    let mut news = Vec::new();
    let answered = flight.answer(acks, now, |cargo| news.push(number(cargo))).unwrap();
    (news, answered)
}

fn set(numbers: impl IntoIterator<Item = u64>) -> Ranges {
    let mut set = Ranges::default();
    numbers.into_iter().for_each(|n| set.insert(n..n + 1, drop));
    set
}

fn lost(flight: &mut Flight, now: Nanos, rtt: &Rtt) -> Vec<u64> {
    let mut numbers = Vec::new();
    flight.find_losses(now, rtt, |cargo| numbers.push(number(cargo)));
    numbers
}

fn rtt() -> Rtt {
    let mut rtt = Rtt::default();
    rtt.add(8_000_000, 0);
    rtt
}

#[test]
fn three_later_ones_or_nine_eighths_of_a_round_trip_make_a_loss() {
    let (mut flight, rtt) = (Flight::default(), rtt());
    for _ in 0..6 {
        fly(&mut flight, 0);
    }
    answer(&mut flight, 8_000_000, &set([4]));
    assert_eq!(lost(&mut flight, 8_000_000, &rtt), [0, 1]);
    assert_eq!(flight.wake_at(&rtt), Some(9_000_000));
    assert!(flight.has_overdue(9_000_000) && !flight.has_overdue(8_999_999));
    assert_eq!(lost(&mut flight, 9_000_000, &rtt), [2, 3]);
    assert_eq!(flight.bytes(), u64::from(BYTES), "5 is later than all that have arrived");
    assert_eq!(flight.oldest(), 0);
    // 1 was only late: from now on more patience.
    answer(&mut flight, 9_000_000, &set([1, 4]));
    assert_eq!(flight.late(), 1);
    for _ in 6..10 {
        fly(&mut flight, 9_000_000);
    }
    answer(&mut flight, 9_100_000, &set([1, 4, 9]));
    assert_eq!(lost(&mut flight, 9_100_000, &rtt), [] as [u64; 0]);
    assert_eq!(flight.wake_at(&rtt), Some(10_000_000));
}

#[test]
fn silence_is_asked_about_more_and_more_seldom() {
    let (mut flight, rtt, mut now) = (Flight::default(), rtt(), 0);
    fly(&mut flight, 0);
    let mut waits = Vec::new();
    for _ in 0..4 {
        let at = flight.wake_at(&rtt).unwrap();
        assert_eq!(flight.should_ask(at - 1, &rtt, 1, |_| panic!("too early")), None);
        let mut again = None;
        let asked = flight.should_ask(at, &rtt, 1, |cargo| again = Some(number(cargo)));
        let is_first = waits.is_empty();
        assert_eq!(asked, Some(if is_first { Question::Loaded } else { Question::Empty }));
        assert_eq!(again.is_some(), is_first);
        waits.push(at - now);
        now = at;
        fly(&mut flight, now);
    }
    assert!(waits.windows(2).all(|pair| pair[1] == 2 * pair[0]), "{waits:?}");
    assert_eq!(flight.waits_since(), Some(0));
    let (_, answered) = answer(&mut flight, now, &set(0..5));
    assert_eq!((answered.bytes, flight.bytes()), (4 * u64::from(BYTES), 0));
    assert_eq!((flight.waits_since(), flight.wake_at(&rtt)), (None, None));
}

#[test]
fn what_was_never_sent_is_not_acknowledged() {
    let mut flight = Flight::default();
    fly(&mut flight, 0);
    let front = Front::new(
        &Head { number: 0, oldest: 0, settled: 2, credit: 0, held_micros: 0, asks: false },
        [].iter(),
        &Load::Nothing,
    );
    let acks = Arrival::parse(front.as_bytes()).unwrap().acks;
    assert!(flight.answer(acks, 0, drop).is_err());
}

proptest! {
    /// Each load arrives or is lost, never first arrives and then is lost, and the bytes under way
    /// are those of which neither is known.
    #[test]
    fn each_load_has_one_fate(
        steps in prop::collection::vec((0u8..4, any::<prop::sample::Index>()), 1..150),
    ) {
        let (mut flight, rtt, mut now) = (Flight::default(), rtt(), 0);
        let (mut flying, mut there) = (BTreeSet::new(), Ranges::default());
        let (mut arrived, mut gone, mut next) = (BTreeSet::new(), BTreeSet::new(), 0);
        for (what, which) in steps {
            now += 700_000;
            match what {
                0 | 1 => {
                    flying.insert(fly(&mut flight, now));
                    next += 1;
                }
                2 => {
                    next += 1;
                    flight.take_number();
                }
                _ if next == 0 => {}
                _ => {
                    let number = which.index(next) as u64;
                    there.insert(number..number + 1, drop);
                    for number in answer(&mut flight, now, &there).0 {
                        prop_assert!(there.contains(number) && arrived.insert(number));
                        flying.remove(&number);
                    }
                }
            }
            for number in lost(&mut flight, now, &rtt) {
                prop_assert!(flying.remove(&number) && gone.insert(number));
                prop_assert!(there.end() > number);
            }
            prop_assert_eq!(flight.bytes(), flying.len() as u64 * u64::from(BYTES));
            prop_assert!(flying.first().is_none_or(|first| flight.oldest() <= *first));
            prop_assert!(flight.sent.len() <= next);
        }
        flying.iter().for_each(|number| there.insert(*number..number + 1, drop));
        answer(&mut flight, now, &there);
        lost(&mut flight, now + 10_000_000_000, &rtt);
        prop_assert_eq!((flight.bytes(), flight.sent.len()), (0, 0));
    }
}
