//! Cables that are cut and mended in a simulated network: everybody goes on by what is whole, nothing is lost
//! or comes twice, and the best way is used again once it works.

use std::time::Duration;

use super::sim_world::World;
use crate::conformance::pattern;
use crate::udp::UdpSettings;
use crate::udp::sim_net::{FAIR, Weather};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
/// Everybody hears something new this soon after a cut, as long as one cable is whole.
const GOES_ON: Duration = SECOND;
/// The best way is used again this soon after it was mended.
const GOES_BACK: Duration = SECOND;

/// Who speaks.
type Pair = (usize, usize);

/// A world in which those of some pairs say a numbered word each time that some milliseconds pass.
struct Talk {
    world: World,
    pairs: Vec<Pair>,
    gap: Duration,
    next_at: Duration,
    said: Vec<u64>,
    heard: Vec<u64>,
    /// When each pair last heard a word that had been said after `since`.
    since: Vec<u64>,
}

fn settings() -> UdpSettings {
    UdpSettings { eager_bytes: 32 << 10, window_bytes: 128 << 10, ..UdpSettings::default() }
}

/// So many cables, the first of which are the better ones only in that they are named first.
fn cables(count: usize, weather: Weather) -> Vec<[Weather; 2]> {
    vec![[weather; 2]; count]
}

impl Talk {
    fn new(world: World, pairs: &[Pair], gap: Duration) -> Talk {
        let none = vec![0; pairs.len()];
        let pairs = pairs.to_vec();
        let (said, heard, since) = (none.clone(), none.clone(), none);
        Talk { world, pairs, gap, next_at: Duration::ZERO, said, heard, since }
    }

    /// What is due is said and heard.
    fn turn(&mut self) {
        if self.world.now() >= self.next_at {
            for (n, (from, to)) in self.pairs.iter().enumerate() {
                let word = pattern(self.said[n], 10 + (self.said[n] % 7 * 400) as usize);
                if self.world.push(*from, *to, self.said[n], &word) {
                    self.said[n] += 1;
                }
            }
            self.next_at = self.world.now() + self.gap;
        }
        self.world.wake_at = Some(self.next_at);
        self.world.step();
        for rank in 0..self.world.ends.len() {
            for frame in std::mem::take(&mut self.world.ends[rank].got.frames) {
                let pair = (frame.peer.0 as usize, rank);
                let n = self.pairs.iter().position(|one| *one == pair).expect("a pair that talks");
                assert_eq!(frame.header.context, self.heard[n], "not once and in order: {pair:?}");
                let len = 10 + (self.heard[n] % 7 * 400) as usize;
                assert!(frame.body == pattern(self.heard[n], len), "damaged");
                self.heard[n] += 1;
            }
        }
    }

    /// The talk goes on for so long.
    fn go_on(&mut self, time: Duration) {
        let until = self.world.now() + time;
        while self.world.now() < until {
            self.turn();
        }
    }

    /// The talk goes on until each pair has heard something that is said from now on, at most so long.
    fn all_hear(&mut self, what: &str, bound: Duration) -> Duration {
        let begin = self.world.now();
        self.since = self.said.clone();
        while self.heard.iter().zip(&self.since).any(|(heard, since)| heard <= since) {
            let waited = self.world.now() - begin;
            let tell = (&self.pairs, &self.heard, &self.since);
            assert!(waited <= bound, "{what}: {waited:?} without a word, {tell:?}");
            self.turn();
        }
        self.world.now() - begin
    }

    /// The talk goes on until all pairs use the best way, at most so long.
    fn all_go_back(&mut self, what: &str) {
        let begin = self.world.now();
        loop {
            let pairs = self.pairs.clone();
            let mut both = pairs.iter().flat_map(|(from, to)| [(*from, *to), (*to, *from)]);
            if both.all(|(from, to)| self.world.is_best(from, to)) {
                return;
            }
            let waited = self.world.now() - begin;
            assert!(waited <= GOES_BACK, "{what}: after {waited:?} not back");
            self.turn();
        }
    }

    /// A cable is cut, or mended.
    fn cut(&mut self, cable: usize, directions: &[Pair], is_cut: bool) {
        for (from, to) in directions {
            self.world.sim.set_cut(cable, [*from, *to], is_cut);
        }
    }
}

const BOTH: &[Pair] = &[(0, 1), (1, 0)];
const THERE: &[Pair] = &[(0, 1)];
const BACK: &[Pair] = &[(1, 0)];

/// A cable is cut for a time, in some directions; then it is mended.
fn one_cut(talkers: &[Pair], cut: &[Pair], weather: Weather, gap: Duration) {
    let what = format!("talk {talkers:?} cut {cut:?}");
    let mut talk = Talk::new(World::new(1, 2, cables(2, weather), &settings()), talkers, gap);
    talk.go_on(SECOND);
    assert_eq!(talk.world.moves(), 0, "{what}");
    talk.cut(0, cut, true);
    talk.all_hear(&what, GOES_ON);
    for _ in 0..8 {
        talk.go_on(SECOND);
        talk.all_hear(&what, GOES_ON);
    }
    let moves = talk.world.moves();
    assert!(moves <= 6, "{what}: {moves} moves");
    talk.cut(0, cut, false);
    talk.all_go_back(&what);
    talk.all_hear(&what, GOES_ON);
    talk.go_on(SECOND);
    assert!(talk.world.moves() <= moves + 4, "{what}: {} moves", talk.world.moves());
}

fn each_cut(cut: &[Pair]) {
    let weather = Weather { jitter: 20 * Duration::from_micros(1), ..FAIR };
    for talkers in [BOTH, THERE, BACK] {
        for gap in [5 * MS, 30 * MS] {
            one_cut(talkers, cut, weather, gap);
        }
    }
}

#[test]
fn a_cut_cable_is_passed_over_and_used_again() {
    each_cut(BOTH);
}

#[test]
fn a_cable_that_is_dead_there_alone_is_passed_over() {
    each_cut(THERE);
}

#[test]
fn a_cable_that_is_dead_back_alone_is_passed_over() {
    each_cut(BACK);
}

/// All pairs of so many.
fn all_of(size: usize) -> Vec<Pair> {
    let pairs = (0..size).flat_map(|from| (0..size).map(move |to| (from, to)));
    pairs.filter(|(from, to)| from != to).collect()
}

#[test]
fn cables_that_are_cut_in_turn_stop_nobody() {
    for gap in [5 * MS, 70 * MS] {
        let pairs = all_of(3);
        let lossy = Weather { lose: 0.02, jitter: Duration::from_micros(200), ..FAIR };
        let mut talk = Talk::new(World::new(2, 3, cables(2, lossy), &settings()), &pairs, gap);
        for round in 0..12 {
            let (cable, moves) = (round % 2, talk.world.moves());
            // Of one round in three, one direction alone.
            let cut = |pair: &&Pair| round % 3 > 0 || pair.0 < pair.1;
            let cut: Vec<Pair> = pairs.iter().filter(cut).copied().collect();
            talk.cut(cable, &cut, true);
            let what = format!("round {round}, a word each {gap:?}");
            talk.all_hear(&what, GOES_ON);
            talk.go_on(2 * SECOND);
            talk.cut(cable, &cut, false);
            talk.all_go_back(&what);
            talk.all_hear(&what, GOES_ON);
            let moves = talk.world.moves() - moves;
            assert!(moves <= 6 * pairs.len() as u64, "{what}: {moves} moves");
        }
    }
}

/// The kernel itself knows that a cable is cut.
#[test]
fn a_cable_that_the_kernel_knows_to_be_cut_is_passed_over_at_once() {
    let mut talk = Talk::new(World::new(3, 2, cables(2, FAIR), &settings()), BOTH, MS);
    talk.go_on(SECOND);
    let gone = Weather { unreachable: 1.0, ..FAIR };
    talk.world.sim.set_weather(vec![[gone; 2], [FAIR; 2]]);
    let took = talk.all_hear("no way", GOES_ON);
    assert!(took <= 50 * MS, "{took:?}");
    talk.go_on(10 * SECOND);
    let moves = talk.world.moves();
    assert!(moves <= 4, "{moves} moves");
    talk.world.sim.set_weather(cables(2, FAIR));
    talk.all_go_back("no way");
}

/// Where the third cable alone is whole, the second is tried first.
#[test]
fn the_last_cable_is_found() {
    for cut in [BOTH, THERE, BACK] {
        for talkers in [BOTH, THERE, BACK] {
            let what = format!("talk {talkers:?} cut {cut:?}");
            let mut talk =
                Talk::new(World::new(4, 2, cables(3, FAIR), &settings()), talkers, 5 * MS);
            talk.go_on(SECOND);
            talk.cut(0, cut, true);
            talk.cut(1, cut, true);
            talk.all_hear(&what, 2 * GOES_ON);
            talk.go_on(5 * SECOND);
            assert!(talk.world.moves() <= 10, "{what}: {} moves", talk.world.moves());
            talk.cut(0, cut, false);
            talk.all_go_back(&what);
        }
    }
}

/// A host with several cards in one network sends from one of its addresses whatever the way, or from one that
/// it has not told.
#[test]
fn who_answers_from_another_address_than_the_one_tried_is_believed() {
    for bears in [1, 9] {
        let mut talk = Talk::new(World::new(7, 2, cables(2, FAIR), &settings()), BOTH, MS);
        talk.world.sim.set_sender(0, bears);
        talk.go_on(2 * SECOND);
        assert!(talk.world.is_best(1, 0), "bearing {bears} it is tried for ever");
        let (moves, tried) = (talk.world.moves(), talk.world.sim.sent(1, 1));
        talk.go_on(SECOND);
        assert_eq!((talk.world.moves(), talk.world.sim.sent(1, 1)), (moves, tried));
        talk.cut(0, BOTH, true);
        talk.all_hear("cut", GOES_ON);
        talk.go_on(5 * SECOND);
        talk.cut(0, BOTH, false);
        talk.all_go_back("mended");
    }
}

/// Who computes answers nobody, and is left in peace.
#[test]
fn a_rank_that_computes_loses_nothing_and_is_seldom_asked() {
    for cut in [&[][..], BOTH] {
        let mut talk = Talk::new(World::new(5, 2, cables(2, FAIR), &settings()), BOTH, MS);
        talk.go_on(SECOND);
        let sent = |world: &World| world.sim.sent(0, 0) + world.sim.sent(0, 1);
        let end = talk.world.now() + 10 * SECOND;
        talk.world.ends[1].busy_until = end;
        let (before, moves) = (sent(&talk.world), talk.world.moves());
        talk.go_on(20 * MS);
        talk.next_at = end;
        talk.cut(0, cut, true);
        talk.go_on(10 * SECOND - 50 * MS);
        let sent = sent(&talk.world) - before;
        assert!(sent < 100, "{sent} datagrams to one that computes");
        let computing = talk.world.moves() - moves;
        assert!(computing <= 6, "{computing} moves");
        talk.all_hear("after that", 2 * GOES_ON);
        talk.cut(0, cut, false);
        talk.all_go_back("after that");
        // It finds datagrams that came by one way and the other in turn.
        let moves = talk.world.moves() - moves;
        assert!(moves <= 30, "{moves} moves");
    }
}

#[test]
fn the_tunnel_carries_all_while_no_cable_does() {
    for talkers in [BOTH, THERE, BACK] {
        for cut in [BOTH, THERE, BACK] {
            let what = format!("talk {talkers:?} cut {cut:?}");
            let settings = UdpSettings { patience: 8 * SECOND, ..settings() };
            let mut talk = Talk::new(World::new(6, 2, cables(2, FAIR), &settings), talkers, 5 * MS);
            talk.world.ends.iter_mut().for_each(|end| end.udp.set_tunnel());
            talk.go_on(SECOND);
            assert_eq!(talk.world.tunnelled(), 0);
            (0..2).for_each(|cable| talk.cut(cable, cut, true));
            // A quarter of the patience, and what was left then of that with the way in use.
            talk.all_hear(&what, 4 * SECOND);
            talk.go_on(5 * SECOND);
            assert!(talk.world.tunnelled() > 0);
            talk.all_hear(&what, 20 * MS);
            (0..2).for_each(|cable| talk.cut(cable, cut, false));
            talk.all_go_back(&what);
            let tunnelled = talk.world.tunnelled();
            talk.go_on(SECOND);
            assert_eq!(talk.world.tunnelled(), tunnelled, "{what}");
        }
    }
}
