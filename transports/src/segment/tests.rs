//! Streams between threads that share memory, and the rooms of a segment.

use std::thread;

use mpi_core::buffer::{RawBytes, UserBuffer};
use mpi_core::datatype::Packer;
use mpi_core::node_memory::{Audience, Exposure, Share, Source};
use mpi_core::port::PeerId;
use mpi_core::tuning::MAPPED_BYTES;
use proptest::prelude::*;

use super::{ALIGN, Awaited, Exposed, Layout, Location, Segment};
use crate::conformance::pattern;

/// A message that nothing comes back of.
fn exposed(at: *const u8, len: u64) -> Exposed {
    Exposed { at: Location { address: at.expose_provenance() as u64, offset: 0 }, len }
}

/// Memory for the parts of a segment, and its members' views.
struct Shared {
    parts: Vec<Vec<u128>>,
}

impl Shared {
    fn new(size: u32, fill: u128) -> Shared {
        let words = (Layout::new(size).bytes() + ALIGN) / 16;
        Shared { parts: (0..size).map(|_| vec![fill; words]).collect() }
    }

    fn views(&mut self, mark: u64) -> Vec<Segment> {
        let base = |part: &mut Vec<u128>| {
            let at = part.as_mut_ptr().cast::<u8>();
            at.wrapping_add(at.align_offset(ALIGN))
        };
        let members: Vec<_> = self.parts.iter_mut().map(base).zip(0u32..).collect();
        let members: Vec<_> = members.into_iter().map(|(at, rank)| (PeerId(rank), at)).collect();
        // SAFETY: the parts are long enough, aligned, and outlive the views in every test.
        let view = |rank| unsafe { Segment::new(rank, mark, members.clone(), 0) };
        (0..members.len() as u32).map(view).collect()
    }
}

fn packer(bytes: &[u8]) -> Packer {
    Packer::contiguous(UserBuffer(bytes.as_ptr().cast_mut()), bytes.len() as u64)
}

fn take(segment: &mut Segment, from: Source) -> Option<(Vec<u8>, bool)> {
    let fragment = segment.peek(from)?;
    // SAFETY: a fragment of the own test, not consumed yet.
    let bytes = unsafe { RawBytes::new(fragment.at, fragment.len) }.to_vec();
    segment.consume(from);
    Some((bytes, fragment.last))
}

#[test]
fn a_full_stream_takes_more_when_its_slowest_reader_has_read() {
    let mut shared = Shared::new(3, 0);
    let mut views = shared.views(77);
    let everyone = Audience::Everyone;
    let mut written = 0u8;
    while views[0].write(everyone, &mut packer(&[written]), 1, true) {
        written += 1;
    }
    assert_eq!(usize::from(written), super::layout::CELLS);
    let room = Awaited::Room(everyone, 1);
    assert_eq!(take(&mut views[1], Source::Public(0)), Some((vec![0], true)));
    assert!(!views[0].has_come(room), "rank 2 has not read it");
    assert_eq!(take(&mut views[2], Source::Public(0)), Some((vec![0], true)));
    assert!(views[0].has_come(room));
    assert!(views[0].write(everyone, &mut packer(&[written]), 1, true));
    assert!(views[1].peek(Source::Private(0)).is_none());
}

#[test]
fn who_has_not_read_all_that_is_for_everyone_lags() {
    for fill in [0, u128::MAX] {
        let mut shared = Shared::new(3, fill);
        let mut views = shared.views(77);
        let lags = |view: &Segment| [0, 2].map(|rank| view.lags(rank));
        assert_eq!(lags(&views[1]), [false; 2], "there is nothing to read");
        for _ in 0..2 {
            assert!(views[1].write(Audience::Everyone, &mut packer(&[1]), 1, true));
            assert_eq!(lags(&views[1]), [true; 2]);
            assert!(take(&mut views[0], Source::Public(1)).is_some());
            assert_eq!(lags(&views[1]), [false, true]);
            assert!(take(&mut views[2], Source::Public(1)).is_some());
            assert_eq!(lags(&views[1]), [false; 2]);
        }
    }
}

#[test]
fn short_fragments_follow_each_other_until_there_is_no_room() {
    let mut shared = Shared::new(3, 0);
    let mut views = shared.views(4);
    let message = |number: usize| pattern(number as u64, number * 37 % (MAPPED_BYTES as usize + 1));
    let (mut written, mut read) = (0, 0);
    for burst in 0..200 {
        loop {
            let bytes = message(written);
            if !views[0].write(Audience::One(2), &mut packer(&bytes), bytes.len(), true) {
                break;
            }
            written += 1;
        }
        assert!(written > read && views[1].peek(Source::Private(0)).is_none());
        for _ in 0..(burst % 7 + 1).min(written - read) {
            assert_eq!(take(&mut views[2], Source::Private(0)), Some((message(read), true)));
            read += 1;
        }
    }
    assert!(written > 200);
}

#[test]
fn what_an_earlier_segment_left_means_nothing() {
    for fill in [u128::MAX, 1, 77, 0x1234_5678_9abc_def0_1234_5678_9abc_def0] {
        let mut shared = Shared::new(2, fill);
        for mark in [5, 1 << 60, u64::MAX - 3] {
            let mut views = shared.views(mark);
            assert!(views[1].peek(Source::Public(0)).is_none());
            for round in 0..40 {
                let sent = pattern(round, 100);
                assert!(views[0].write(Audience::One(1), &mut packer(&sent), 100, false));
                assert_eq!(take(&mut views[1], Source::Private(0)), Some((sent, false)));
            }
        }
    }
}

#[test]
fn fragments_about_as_long_as_a_cell_arrive_whole() {
    let mut shared = Shared::new(2, 0);
    let mut views = shared.views(3);
    let streams = [(Audience::Everyone, Source::Public(0)), (Audience::One(1), Source::Private(0))];
    let lens = [0, 1, 47, 48, 49, 111, 112, 113, 303, 304, 305, 320];
    for (round, len) in (0..40).flat_map(|round| lens.map(|len| (round, len))) {
        for (to, from) in streams {
            let sent = pattern(round, len);
            assert!(views[0].write(to, &mut packer(&sent), len, true));
            assert_eq!(take(&mut views[1], from), Some((sent, true)), "{len} bytes, {to:?}");
        }
    }
}

#[test]
fn a_form_that_cannot_be_is_an_empty_last_fragment() {
    let mut shared = Shared::new(2, 0);
    let mut views = shared.views(9);
    assert!(views[0].write(Audience::One(1), &mut packer(&[7; 200]), 200, false));
    let cells = Layout::new(2).private_cells(1);
    let at = shared.parts[0].as_mut_ptr().cast::<u8>();
    let form = at.wrapping_add(at.align_offset(ALIGN) + cells + 8).cast::<u64>();
    for word in [0x7fff_ffff_7fff_ffff, 1 << 31, 1 << 63 | 1 << 40 | 1 << 31, u64::MAX] {
        // SAFETY: the form word of the first cell; nobody else touches it now.
        unsafe { form.write(word) };
        let fragment = views[1].peek(Source::Private(0)).unwrap();
        assert_eq!((fragment.len, fragment.last, fragment.exposed), (0, true, 0));
        assert_eq!(views[1].exposed(Source::Private(0)), None);
    }
}

#[test]
fn what_is_exposed_goes_to_readers_that_all_fetch() {
    for fill in [u128::MAX, 0, 0x1234_5678_9abc_def0_1234_5678_9abc_def0] {
        let mut shared = Shared::new(3, fill);
        let mut views = shared.views(7);
        let everyone = Audience::Everyone;
        let bytes = pattern(1, 100_000);
        views[1].consent(0);
        assert!(
            !views[0].expose(everyone, exposed(bytes.as_ptr(), 100_000)),
            "rank 2 has said nothing"
        );
        assert!(!views[0].expose(Audience::One(2), exposed(bytes.as_ptr(), 100_000)));
        views[2].consent(0);
        assert!(views[0].expose(everyone, exposed(bytes.as_ptr(), 100_000)));
        let reader_comes = Awaited::Reader(everyone);
        for reader in [2, 1] {
            assert_eq!(views[0].exposure(everyone), Exposure::Waits);
            assert!(!views[0].has_come(reader_comes));
            let (from, fragment) =
                (Source::Public(0), views[reader].peek(Source::Public(0)).unwrap());
            assert_eq!((fragment.len, fragment.last, fragment.exposed), (0, true, 100_000));
            let exposed = views[reader].exposed(from).unwrap();
            assert_eq!(exposed, super::tests::exposed(bytes.as_ptr(), 100_000));
            let location = Location { address: exposed.at.address + 99_000, offset: 0 };
            assert_eq!(exposed.part(99_000, 1000), Some(location));
            assert_eq!((exposed.part(99_000, 1001), exposed.part(u64::MAX, 2)), (None, None));
            views[reader].consume(from);
            assert!(views[0].has_come(reader_comes));
        }
        assert_eq!(views[0].exposure(everyone), Exposure::Taken);
    }
}

/// A refusal costs less than to wait until each has said what it does.
#[test]
fn first_messages_are_exposed_to_who_may_fetch_where_ranks_share_processors() {
    let bytes = pattern(1, 64 << 10);
    // Who says nothing has taken it all the same, from memory that it has mapped.
    for says in [Some(true), Some(false), None] {
        let mut shared = Shared::new(3, 0);
        let mut views = shared.views(7);
        views.iter_mut().for_each(|view| view.set_oversubscribed(true));
        let to = Audience::One(2);
        assert!(views[0].expose(to, exposed(bytes.as_ptr(), 64 << 10)));
        match says {
            Some(true) => views[2].consent(0),
            Some(false) => views[2].refuse(Source::Private(0)),
            None => {}
        }
        views[2].consume(Source::Private(0));
        let told = if says == Some(false) { Exposure::Refused(2) } else { Exposure::Taken };
        assert_eq!(views[0].exposure(to), told);
        assert_eq!(views[0].expose(to, exposed(bytes.as_ptr(), 64 << 10)), says != Some(false));
    }
}

#[test]
fn who_refuses_is_named_and_exposed_no_more() {
    let mut shared = Shared::new(4, 0);
    let mut views = shared.views(7);
    let (everyone, bytes) = (Audience::Everyone, [1u8; 8]);
    for reader in [0, 1, 3] {
        views[reader].consent(2);
    }
    for (refusers, is_exposed) in [(vec![], true), (vec![1, 3], true), (vec![], false)] {
        assert_eq!(views[2].expose(everyone, exposed(bytes.as_ptr(), 8)), is_exposed);
        for reader in [1, 0, 3].into_iter().filter(|_| is_exposed) {
            assert_eq!(views[2].exposure(everyone), Exposure::Waits);
            let refuses = refusers.contains(&reader);
            if refuses {
                views[reader as usize].refuse(Source::Public(2));
            }
            views[reader as usize].consume(Source::Public(2));
            let come = Awaited::Reader(everyone);
            assert!(views[2].has_come(come), "who has come is known before all have");
            assert!(!refuses || views[2].exposure(everyone) == Exposure::Refused(reader));
        }
        assert!(!is_exposed || views[2].exposure(everyone) == Exposure::Taken);
    }
    assert!(views[2].write(everyone, &mut packer(&bytes), 8, true));
    assert_eq!(take(&mut views[1], Source::Public(2)), Some((bytes.to_vec(), true)));
    assert!(
        views[2].expose(Audience::One(3), exposed(bytes.as_ptr(), 8)),
        "the private stream is another"
    );
}

#[test]
fn what_an_earlier_segment_agreed_to_means_nothing() {
    let mut shared = Shared::new(2, 0);
    let mut views = shared.views(7);
    views[1].consent(0);
    let mut later = shared.views(8);
    assert!(!later[0].expose(Audience::One(1), exposed([1u8; 8].as_ptr(), 8)));
    assert!(views[0].expose(Audience::One(1), exposed([1u8; 8].as_ptr(), 8)));
}

#[test]
fn two_threads_exchange_messages_of_all_lengths() {
    const ROUNDS: u64 = 3000;
    let mut shared = Shared::new(2, 0);
    let views = shared.views(1);
    let run = |mut segment: Segment, me: u32| {
        let other = 1 - me;
        let len = |round: u64| [0, 8, 48, 49, 700, 5000, 32 << 10][round as usize % 7];
        for round in 0..ROUNDS {
            let to = if round % 3 == 0 { Audience::Everyone } else { Audience::One(other) };
            let from = match to {
                Audience::Everyone => Source::Public(other),
                Audience::One(_) => Source::Private(other),
            };
            let sent = pattern(round << 1 | u64::from(me), len(round));
            let mut source = packer(&sent);
            while !segment.write(to, &mut source, sent.len(), true) {
                thread::yield_now();
            }
            let got = loop {
                match take(&mut segment, from) {
                    Some(got) => break got,
                    None => thread::yield_now(),
                }
            };
            assert!(got.0 == pattern(round << 1 | u64::from(other), len(round)), "{round}");
        }
    };
    thread::scope(|scope| {
        for (me, segment) in (0u32..).zip(views) {
            scope.spawn(move || run(segment, me));
        }
    });
}

#[test]
fn a_long_message_goes_out_before_its_reader_is_done_where_ranks_share_processors() {
    let mut shared = Shared::new(8, 0);
    let mut views = shared.views(3);
    views.iter_mut().for_each(|view| view.set_oversubscribed(true));
    let (to, from) = (Audience::One(3), Source::Private(5));
    let len = views[5].fragment_max(to);
    let sent = pattern(1, 1 << 20);
    let mut taken = Vec::new();
    for (number, fragment) in sent.chunks(len).enumerate() {
        views[5].share_caches(Share { streams: 7, messages: 14 });
        assert!(views[5].write(to, &mut packer(fragment), len, false), "fragment {number}");
        // A reader that is slower frees what lies in front while more is written behind.
        if number % 4 == 3 {
            taken.extend(take(&mut views[3], from).unwrap().0);
        }
    }
    while let Some((bytes, _)) = take(&mut views[3], from) {
        taken.extend(bytes);
    }
    assert!(taken == sent);
}

proptest! {
    #[test]
    fn fragments_arrive_in_order_and_whole(
        oversubscribed: bool,
        steps in prop::collection::vec((0u8..4, 0usize..70_000), 1..200),
    ) {
        let mut shared = Shared::new(2, 0);
        let mut views = shared.views(3);
        views.iter_mut().for_each(|view| view.set_oversubscribed(oversubscribed));
        let (mut under_way, mut number) = (std::collections::VecDeque::new(), 0);
        for (kind, len) in steps {
            let len = if kind == 0 { len % 60 } else { len };
            if kind == 3 {
                views[0].share_caches(Share { streams: len as u32 % 100, messages: 1 });
            } else if kind < 2 {
                let sent = pattern(number, len);
                if views[0].write(Audience::One(1), &mut packer(&sent), len, number % 2 == 0) {
                    under_way.push_back((sent, number % 2 == 0));
                    number += 1;
                } else {
                    prop_assert!(!under_way.is_empty(), "an empty stream takes {} bytes", len);
                }
            } else {
                prop_assert_eq!(take(&mut views[1], Source::Private(0)), under_way.pop_front());
            }
        }
    }
}

#[test]
fn messages_pass_through_the_caches_with_the_rings() {
    let mut shared = Shared::new(4, 0);
    let mut views = shared.views(9);
    let rings = views[0].footprint(0);
    views[0].share_caches(Share { streams: 4 * 3, messages: 32 });
    assert_eq!(views[0].footprint(100), rings + 32 * 100);
    assert_eq!(views[0].footprint(u64::MAX), u64::MAX);
}
