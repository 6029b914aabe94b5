//! How much of its memory a stream makes use of, and when it gets the pages.
//!
//! A page costs one to two microseconds when it is first used, which a short program does not earn back; a long way
//! round is cheaper for each long body. So pages are earned by what goes through ([`Lap`]), or by what readers
//! have fetched instead; a stream that may be prompt gets all of them once it has carried [`PROVEN`] pieces; and where
//! ranks share processors the first long messages are fetched, however dear that is.
//!
//! In: lengths of bodies and of messages that are shown. Out: in how many bytes bodies go round, and
//! pages to get.

use std::time::{Duration, Instant};

use mpi_core::boards::LONG_PIECE;

use super::{LIGHT_ROUND, WINDOW_MIN};
use crate::lap::{Lap, Worn};
use crate::shm::Reach;

/// Short bodies, and all while the way round is short, go round in so many times their length, and at least in
/// [`WINDOW_MIN`].
const WINDOW: usize = 8;
/// Bodies from this length on go round in all the room that they may use: a line that both processors still
/// hold is dearer to write and to read again than one that has left their own caches.
const LONG_BODY: usize = LONG_PIECE;
/// While the way round is short they are written past the caches instead. Two bare threads that share a
/// last-level cache take 64 KiB in two pieces through 128 KiB in 7.8 µs, and in 4.0 so; through 2 MiB
/// in 2.2 by ordinary copies.
const STREAMED_BODY: usize = LONG_BODY;
/// Pieces that a stream has carried before it gets all its pages at once: who has sent so many will send as many
/// more, of which long ones save 2 µs each of the 1.3 ms that the pages cost. NPB's IS sends 40.
const PROVEN: u64 = 256;
/// Where ranks share processors and so many streams are written at the same time that each has no more than this of
/// the caches, it has all of that from the first long body on: 1.3 ms for all streams together. OSU, 40 calls of each
/// length (Zen 5), grown by doubling, and so: 8 ranks, scatter of 16, 32 and 64 KiB 2.0, 4.6 and 9.9 µs, 0.53,
/// 1.8 and 4.3, gather 0.94, 1.76 and 6.6, 0.46, 0.8 and 3.8; 4 ranks, all-gather of 64 and 128 KiB 14.8 and 29.7, 11.4
/// and 21.8, of Intel MPI the latter 25.7.
const SHORT_ROUND: usize = 512 << 10;
/// Where ranks share processors and lines need not be fetched to be stored, long bodies of fewer streams go round in no
/// more than the longest of them while readers keep up: each doubling would be 3 µs a page that nothing gives back.
/// OSU, 4 ranks (Zen 5, near), 40 calls of each length from 4 KiB on, grown by doubling, and so: scatter of 16, 64 and
/// 128 KiB 1.8, 6.5 and 16.3 µs, 0.6, 2.0 and 7.0, gather 1.1, 4.6 and 8.5, 0.45, 1.8 and 3.7, broadcast 0.8, 2.9 and
/// 5.8, 0.3, 1.2 and 2.3; half and twice of it are as good.
const LIGHT_SHARED: usize = 32 << 10;
/// Where ranks share processors, messages for one reader of up to a quarter of so many bytes are fetched until so many
/// were, or eight of them, even if that costs the kernel more than two copies, rather than that the ring gets pages
/// for them: 64 KiB of those cost 60 µs, on a Zen 4 where fetching 64 KiB takes 8 µs and two copies 3.3, and NPB's IS.W
/// and FT.S on 8 ranks send 11 and 8 such messages, FT.S on 4 eight of 256 KiB. Longer ones get their pages at once,
/// before a program has got going: IS.A on 8 ranks, all-to-alls of 512 KiB of which the first is not timed, reaches 517
/// Mop/s so, and 491 with two of them fetched.
const FETCHED_FIRST: u64 = 1 << 20;
/// A message that another one follows within so long counts for so many of these: the program does little else, and
/// its buffers are still in the caches, where two copies are cheap. OSU's all-to-all of 64 KiB on 8 ranks (Zen 5)
/// takes 60 to 160 µs, and 300 to 600 as long as it is fetched, which is part of that time; FT.S computes for 2 ms and
/// IS.W for 1 ms in between.
const HURRY: Duration = Duration::from_micros(800);
const HURRIED: u64 = 8;

/// The pages of one stream.
pub(super) struct Pages {
    /// Bytes in which bodies go round when all pages are there.
    usual: usize,
    /// A longer way round is of no use.
    ample: usize,
    /// Long bodies go round in so many bytes.
    lap: Lap,
    worn: Worn,
    /// Bytes of messages that were shown instead, more of those in a hurry.
    apart: u64,
    /// When the last one was found to lack pages, and what had been shown then.
    lacked: Option<(Instant, u64)>,
    /// Ranks share processors.
    crowded: bool,
    /// All pages are got for the first long body behind [`PROVEN`] pieces that costs little to write, or goes the
    /// better way.
    prompt: bool,
    /// So many pieces have gone to the same reader by another stream.
    proven: bool,
    /// The ring is the better way to its readers, whatever it costs to write.
    favoured: bool,
}

/// A run of pages to get, as bytes of the room.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Got {
    pub at: usize,
    pub len: usize,
}

impl Pages {
    /// None are there yet.
    pub(super) fn new(usual: usize) -> Pages {
        let (lap, worn) = (Lap::at_once(usual as u64), Worn::new(0));
        let ample = usual;
        let [crowded, prompt, proven, favoured] = [false; 4];
        Pages { usual, ample, lap, worn, apart: 0, lacked: None, crowded, prompt, proven, favoured }
    }

    /// Lets long bodies go round in half the room at most: where ranks share processors, those
    /// that come one after the other on one find more in its caches.
    pub(super) fn narrow(&mut self, crowded: bool) {
        let usual = self.usual as u64;
        self.crowded = crowded;
        self.lap = if crowded { Lap::crowded(usual / 2) } else { Lap::at_once(usual) };
    }

    /// Lets all pages be got as soon as they are of use, for a reader with a processor of its own: each end has a
    /// cache of `own` bytes for itself. In twice of that a line has left both of them when its turn comes again.
    pub(super) fn be_prompt(&mut self, own: u64) {
        self.ample = usize::try_from(own.saturating_mul(2)).unwrap_or(usize::MAX).max(LIGHT_ROUND);
        self.prompt = true;
    }

    /// Says that as many pieces as prove a stream have gone to the reader of this one; whether that is news.
    pub(super) fn be_proven(&mut self) -> bool {
        !std::mem::replace(&mut self.proven, true)
    }

    /// Says that the ring is the better way to its readers, whatever it costs to write.
    pub(super) fn be_favoured(&mut self) {
        self.favoured = true;
    }

    /// Whether it is.
    #[inline]
    pub(super) fn are_favoured(&self) -> bool {
        self.favoured
    }

    /// Whether ranks share processors.
    #[inline]
    pub(super) fn are_crowded(&self) -> bool {
        self.crowded
    }

    /// Whether a body of this length is to be written past the caches.
    #[inline]
    pub(super) fn stream(&self, len: usize) -> bool {
        self.lap.is_short() && len >= STREAMED_BODY
    }

    /// Counts a body that goes through.
    #[inline]
    pub(super) fn carry(&mut self, len: usize) {
        if len >= LONG_BODY {
            self.lap.carry(len as u64);
        }
    }

    /// Counts a message that is shown instead. What it would have cost little to write earns the ring the pages with
    /// which it would be the better way. They cost 1.3 to 2.5 ms, and fetching a MiB instead 40 µs (Zen 4) to 60 to 130
    /// (Zen 3, an allreduce by two ranks 180 and 100 µs, reduce and broadcast 360 and 105): after 16 MiB, which
    /// would earn them if the ring had carried them, neither choice was the dear one.
    pub(super) fn spare(&mut self, len: u64, is_cheap: bool) {
        self.apart = self.apart.saturating_add(len);
        if is_cheap && !self.crowded {
            self.lap.carry(len);
        }
    }

    /// Whether long bodies have all the way round, or get it for the next piece, of this number, if that is of use.
    pub(super) fn are_wide(&self, piece: u64) -> bool {
        self.is_prompt(piece) || !self.lap.is_short()
    }

    /// Whether the body of this piece is the first for which all pages are of use, if it costs little to write.
    #[inline]
    pub(super) fn are_due(&self, len: usize, piece: u64) -> bool {
        len >= LONG_BODY && self.is_prompt(piece)
    }

    fn is_prompt(&self, piece: u64) -> bool {
        self.prompt && (piece >= PROVEN || self.proven)
    }

    /// Lets long bodies go all the way round, with the pages for it; those to get.
    #[cold]
    pub(super) fn widen(&mut self, reach: &Reach) -> Option<Got> {
        self.prompt = false;
        while self.lap.grow() {}
        let round = self.window(LONG_BODY, self.usual, reach);
        self.get(0, round, round)
    }

    /// Whether a message of so many bytes would need pages that are not there, nor earned.
    pub(super) fn lack(&self, len: u64) -> bool {
        let is_first = len <= FETCHED_FIRST / 4 && self.apart < FETCHED_FIRST.max(8 * len);
        is_first && self.worn.ends_before(len)
    }

    /// The same of a message that is to be sent now, which may be asked more than once before it is shown.
    pub(super) fn lack_now(&mut self, len: u64, now: Instant) -> bool {
        let follows = |(last, shown)| shown != self.apart && now - last < HURRY;
        if self.lacked.is_some_and(follows) {
            self.apart = self.apart.saturating_add((HURRIED - 1) * len);
        }
        let lacks = self.lack(len);
        if lacks {
            self.lacked = Some((now, self.apart));
        }
        lacks
    }

    /// Bodies of this length go round in so many bytes; long ones in `round` where ranks share processors, unless
    /// their readers are far and dear to store for, or storing is so cheap that they need no more than one. (OSU's
    /// all-to-all on 4 ranks of a Zen 5, far, of 16, 32, 64 and 128 KiB 11.0, 16.0, 30.7 and 54.7 µs in ways that grow,
    /// 8.3, 11.7, 23.5 and 39.8 so, Intel MPI's 9.1, 14.9, 21.8 and 36.1.)
    #[inline]
    pub(super) fn window(&self, len: usize, round: usize, reach: &Reach) -> usize {
        let lap = self.lap.bytes() as usize;
        if len < LONG_BODY || self.lap.is_short() {
            return (WINDOW * len).next_power_of_two().clamp(WINDOW_MIN, lap);
        }
        match self.crowded && !reach.is_dear() {
            true if round <= SHORT_ROUND => round.min(self.usual).max(len),
            true if reach.is_light() => LIGHT_SHARED.min(lap).max(len),
            true => lap.min(round).max(len),
            false if !self.crowded && reach.is_light() => lap.min(LIGHT_ROUND).max(len),
            false => lap.min(self.ample).max(len),
        }
    }

    /// Whether what ends there needs pages that are not there.
    #[inline]
    pub(super) fn end_before(&self, end: usize) -> bool {
        self.worn.ends_before(end as u64)
    }

    /// The pages that a body is the first to use, and some that others will.
    #[cold]
    pub(super) fn get(&mut self, at: usize, len: usize, window: usize) -> Option<Got> {
        let limit = window.max(at + len);
        let wanted = if self.crowded && limit <= SHORT_ROUND { limit - at } else { len };
        let got = self.worn.step(at as u64, wanted as u64, limit as u64);
        got.map(|(at, len)| Got { at: at as usize, len: len as usize })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::stores::tests::prove_light;

    fn near() -> Reach {
        Reach::proved(true)
    }

    #[test]
    fn long_bodies_go_round_in_their_share_of_the_caches_where_ranks_share_processors() {
        let mut pages = Pages::new(1 << 20);
        let (long, short) = (16 << 10, 1000);
        pages.narrow(true);
        prove_light(Some(false));
        let short_rounds = [100_000, SHORT_ROUND, SHORT_ROUND + 1];
        let at_first = short_rounds.map(|round| pages.window(long, round, &near()));
        assert_eq!(at_first, [100_000, SHORT_ROUND, 32 << 10]);
        while pages.lap.grow() {}
        assert_eq!(pages.window(long, 100_000, &near()), 100_000);
        assert_eq!(pages.window(200_000, 100_000, &near()), 200_000);
        assert_eq!(pages.window(long, 1 << 21, &near()), 512 << 10, "half of the room is the most");
        assert_eq!(pages.window(short, 5000, &near()), 8192);
        let far = Reach::proved(false);
        assert_eq!(pages.window(long, 100_000, &far), 512 << 10, "they are dear");
        prove_light(Some(true));
        assert_eq!(pages.window(long, 100_000, &far), 100_000);
        for reach in [near(), far] {
            assert_eq!(pages.window(long, 1 << 21, &reach), LIGHT_SHARED, "longer is no better");
            assert_eq!(pages.window(200_000, 1 << 21, &reach), 200_000);
        }
        pages.narrow(false);
        while pages.lap.grow() {}
        assert_eq!(pages.window(long, 100_000, &near()), 1 << 20);
    }

    #[test]
    fn all_pages_are_due_for_a_long_body_in_a_stream_that_has_proved_itself() {
        let mut pages = Pages::new(1 << 20);
        assert!(!pages.are_due(LONG_BODY, PROVEN), "none that may not be prompt");
        pages.be_prompt(1 << 20);
        assert!(!pages.are_due(LONG_BODY - 1, PROVEN) && !pages.are_due(LONG_BODY, PROVEN - 1));
        assert!(pages.be_proven() && !pages.be_proven() && pages.are_due(LONG_BODY, 0));
        assert!(pages.are_due(LONG_BODY, PROVEN) && pages.stream(LONG_BODY));
        assert!(pages.get(0, 4096, 4096).is_some());
        assert_eq!(pages.widen(&near()), Some(Got { at: 4096, len: (1 << 20) - 4096 }));
        assert!(!pages.are_due(LONG_BODY, PROVEN) && !pages.stream(LONG_BODY));
        assert!(!pages.end_before(1 << 20) && pages.end_before((1 << 20) + 1));
    }

    #[test]
    fn long_bodies_go_round_in_less_where_lines_need_not_be_fetched() {
        let (long, room) = (16 << 10, 4 * LIGHT_ROUND);
        for (is_light, round) in
            [(Some(true), LIGHT_ROUND), (None, LIGHT_ROUND), (Some(false), room)]
        {
            prove_light(is_light);
            let mut pages = Pages::new(room);
            assert_eq!(pages.widen(&near()), Some(Got { at: 0, len: round }), "{is_light:?}");
            assert_eq!(pages.window(long, room, &near()), round);
            assert_eq!(pages.window(room / 2, room, &near()), round.max(room / 2));
            prove_light(Some(false));
            assert_eq!(pages.window(long, room, &near()), room, "it was found out later");
            assert_eq!(pages.end_before(LIGHT_ROUND + 1), round == LIGHT_ROUND);
        }
    }

    #[test]
    fn a_way_round_is_ample_from_where_no_cache_of_one_end_holds_it() {
        let (long, room) = (16 << 10, 4 << 20);
        for (own, round) in [(256 << 10, LIGHT_ROUND), (1 << 20, 2 << 20), (u64::MAX / 2, room)] {
            prove_light(Some(false));
            let mut pages = Pages::new(room);
            pages.be_prompt(own);
            for reach in [near(), Reach::proved(false)] {
                assert_eq!(
                    pages.window(long, room, &reach),
                    (8 * long).max(WINDOW_MIN),
                    "at first"
                );
            }
            assert_eq!(pages.widen(&near()), Some(Got { at: 0, len: round }));
            assert_eq!(pages.window(long, room, &near()), round);
            assert_eq!(pages.window(room / 2, room, &near()), round.max(room / 2));
        }
    }

    #[test]
    fn messages_that_are_shown_earn_the_ring_its_pages_if_writing_costs_little() {
        let (room, len) = (2 << 20, 1 << 20);
        let shown = |is_cheap: bool, crowded: bool| {
            let mut pages = Pages::new(room);
            if crowded {
                pages.narrow(true);
            }
            let first = pages.lap.bytes();
            (1..100).find(|_| {
                pages.spare(len, is_cheap);
                pages.lap.bytes() > first
            })
        };
        assert_eq!(shown(true, false), Some(16));
        assert_eq!(
            shown(false, false),
            None,
            "who is dear to write to is better shown all of them"
        );
        assert_eq!(shown(true, true), None, "there they are fetched for other reasons");
    }

    #[test]
    fn messages_in_a_hurry_lack_pages_for_a_shorter_time() {
        let fetched = |gap: Duration| {
            let mut pages = Pages::new(1 << 20);
            pages.narrow(true);
            let (mut times, mut now) = (0, Instant::now());
            while pages.lack_now(64 << 10, now) {
                assert!(pages.lack_now(64 << 10, now), "to ask again does not count");
                pages.spare(64 << 10, true);
                (times, now) = (times + 1, now + gap);
            }
            times
        };
        assert_eq!(fetched(HURRY), 16);
        assert_eq!(fetched(HURRY / 2), 2);
    }

    #[test]
    fn the_first_messages_lack_pages_until_eight_or_a_mebibyte_were_fetched() {
        let mut pages = Pages::new(1 << 20);
        pages.narrow(true);
        assert!(!pages.lack(FETCHED_FIRST / 4 + 1), "long ones get theirs at once");
        let fetched = |pages: &mut Pages, len: u64| {
            let mut times = 0;
            while pages.lack(len) {
                pages.spare(len, true);
                times += 1;
            }
            times
        };
        assert_eq!(fetched(&mut pages, 64 << 10), 16);
        let mut pages = Pages::new(1 << 20);
        pages.narrow(true);
        assert_eq!(fetched(&mut pages, 256 << 10), 8);
        let mut pages = Pages::new(1 << 20);
        pages.narrow(true);
        assert!(pages.get(0, 64 << 10, 64 << 10).is_some());
        assert!(!pages.lack(64 << 10), "they are there");
    }
}
