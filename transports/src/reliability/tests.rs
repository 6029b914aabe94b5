//! What the tests of this folder have in common, a listener that notes what it hears; and what a link does
//! with datagrams that no link has made.

use mpi_core::buffer::{RawBytes, UserBuffer};
use mpi_core::datatype::{Packer, Unpacker};
use mpi_core::header::Header;
use mpi_core::port::{Body, Landing, Token};
use proptest::prelude::*;
use std::time::Duration;

use super::wire::{Front, Head, Load};
use super::{Config, Link, Listener};
use crate::fragment::FragmentHead;

/// Notes what it hears.
#[derive(Default)]
pub(super) struct Recorder {
    pub frames: Vec<(Header, Vec<u8>)>,
    /// Where messages go, by the context id of their header.
    pub landings: Vec<(u64, Unpacker)>,
    pub landed: Vec<Token>,
    pub sent: Vec<Token>,
}

impl Listener for Recorder {
    fn frame(&mut self, header: &Header, body: RawBytes<'_>) {
        self.frames.push((*header, body.to_vec()));
    }

    fn begin(&mut self, header: &Header, _: u64) -> Landing {
        let place = self.landings.iter().position(|(context, _)| *context == header.context);
        place.map_or(Landing::Discard, |place| Landing::User(self.landings.swap_remove(place).1))
    }

    fn landed(&mut self, token: Token) {
        self.landed.push(token);
    }

    fn sent(&mut self, token: Token) {
        self.sent.push(token);
    }
}

/// A cursor that reads these bytes.
pub(super) fn source(bytes: &[u8]) -> Packer {
    Packer::contiguous(UserBuffer(bytes.as_ptr().cast_mut()), bytes.len() as u64)
}

/// A cursor that writes these bytes.
pub(super) fn target(bytes: &mut [u8]) -> Unpacker {
    Unpacker::contiguous(UserBuffer(bytes.as_mut_ptr()), bytes.len() as u64)
}

/// Datagrams that are right in form and of which nothing else is.
fn forgeries() -> impl Strategy<Value = Vec<u8>> {
    let number = || prop_oneof![0u64..40, 0u64..100_000, 0u64..1 << 61];
    let head = (number(), number(), number(), number(), any::<u32>(), any::<bool>());
    let ranges = prop::collection::vec((1u64..30, 1u64..30), 0..10);
    let body = prop_oneof![Just(vec![24u8, 0, 0, 0]), prop::collection::vec(0u8..40, 1..90)];
    let fragment = (0u8..6, number(), number(), number(), body);
    (head, ranges, fragment).prop_map(|(head, ranges, fragment)| {
        let (number, back, settled, credit, held_micros, asks) = head;
        let oldest = number.saturating_sub(back & 0xffff_ffff);
        let head = Head { number, oldest, settled, credit, held_micros, asks };
        let mut end = settled;
        let ranges = ranges.into_iter().map(|(gap, len)| {
            let start = end + gap;
            end = start + len;
            start..end
        });
        let ranges: Vec<_> = ranges.collect();
        let (kind, id, at, more, body) = fragment;
        let total = at + body.len() as u64 + more % 50;
        let header = Header { context: id % 3, ..Header::default() };
        let (load, body) = match kind {
            0 => (Load::Nothing, &[][..]),
            1 => (Load::Ping, &[][..]),
            2 => (Load::Frames(at, ()), &body[..]),
            3 => (Load::Probe, &body[..]),
            4 => (Load::Bye, &[][..]),
            _ => (Load::Fragment(FragmentHead { header, id, total, at }, ()), &body[..]),
        };
        [Front::new(&head, ranges.iter(), &load).as_bytes(), body].concat()
    })
}

proptest! {
    /// Nothing that comes without a tag makes a link panic, write outside of a landing or keep more than
    /// it has promised.
    #[test]
    fn forgeries_do_no_harm(datagrams in prop::collection::vec((forgeries(), 0u64..300_000), 1..60)) {
        let config = Config {
            datagram_bytes: 1400, frame_bytes_max: 100, kept_bytes_max: 10_000, credit: 0,
        };
        let (mut link, mut heard) = (Link::new(&config), Recorder::default());
        let (mut memory, bytes) = (vec![0; 64], vec![7; 20_000]);
        let (inside, guard) = memory.split_at_mut(32);
        (0..3).for_each(|context| heard.landings.push((context, target(inside))));
        link.push_message(&Header::default(), source(&bytes), Token(1));
        let mut now = Duration::from_secs(1);
        for (datagram, micros) in datagrams {
            now += Duration::from_micros(micros);
            let body = Body::Bytes(RawBytes::from(&b"short"[..]));
            let _ = link.push_frame(&Header::default(), body);
            while link.next(now).is_some() {}
            prop_assert!(link.wake_at().is_none_or(|at| at > now), "woken for nothing");
            let _ = link.receive(now, &datagram, &mut heard);
        }
        prop_assert!(guard.iter().all(|byte| *byte == 0));
        prop_assert!(heard.frames.iter().all(|(_, body)| body.len() <= 100));
        prop_assert!(heard.sent.len() <= 1);
    }
}
