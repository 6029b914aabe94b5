//! What links cost in memory: an idle peer at most 1 KiB with all that it and its transport own, and a
//! short message in the steady state no allocation. A program of its own, since it counts what its
//! allocator does.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::time::Duration;

use mpi_core::buffer::RawBytes;
use mpi_core::header::Header;
use mpi_core::port::{Body, Landing, Token};
use transports::reliability::{Config, Link, Listener};

/// The system's allocator, counted for each thread.
struct Counting;

thread_local! {
    static BYTES: Cell<usize> = const { Cell::new(0) };
    static CALLS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: all is the system's allocator's doing; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        BYTES.set(BYTES.get().wrapping_add(layout.size()));
        CALLS.set(CALLS.get() + 1);
        // SAFETY: by the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        BYTES.set(BYTES.get().wrapping_sub(layout.size()));
        // SAFETY: by the caller's promise; what this allocator gives is the system's.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

const CONFIG: Config = Config {
    datagram_bytes: 1400,
    frame_bytes_max: 64 << 10,
    kept_bytes_max: 256 << 10,
    credit: 64 << 10,
};

/// The most that a link may cost with all that it owns: a kibibyte, without what a transport has beside it.
const PEER_BYTES: usize = 1024 - 170;

/// What is between two links: memory for a datagram, and which of them are lost.
struct Way {
    bytes: Vec<u8>,
    lost: u64,
}

impl Way {
    fn new() -> Way {
        Way { bytes: Vec::with_capacity(2000), lost: 0 }
    }
}

/// Counts frames.
struct Count(usize);

impl Listener for Count {
    fn frame(&mut self, _: &Header, _: RawBytes<'_>) {
        self.0 += 1;
    }

    fn begin(&mut self, _: &Header, _: u64) -> Landing {
        Landing::Discard
    }

    fn landed(&mut self, _: Token) {}

    fn sent(&mut self, _: Token) {}
}

/// Moves the datagrams of `from` to `to`, but for each of which the number is divided by `lost`.
fn carry(now: Duration, [from, to]: [&mut Link; 2], way: &mut Way, heard: &mut Count) {
    while let Some(datagram) = from.next(now) {
        if way.lost > 0 && datagram.number().is_multiple_of(way.lost) {
            continue;
        }
        let bytes = &mut way.bytes;
        bytes.clear();
        // SAFETY: no message was handed over.
        unsafe { datagram.copy_to(bytes) };
        to.receive(now, bytes, heard).unwrap();
    }
}

/// Sends a frame and takes the acknowledgement when it is due.
fn send(now: &mut Duration, from: &mut Link, to: &mut Link, way: &mut Way, body: &[u8]) {
    let mut heard = Count(0);
    let body = Body::Bytes(RawBytes::from(body));
    assert!(from.push_frame(&Header::default(), body).is_ok());
    while !from.is_flushed() {
        carry(*now, [from, to], way, &mut heard);
        *now += Duration::from_micros(100);
        carry(*now, [to, from], way, &mut heard);
    }
    assert_eq!(heard.0, 1);
}

#[test]
fn a_peer_to_whom_little_is_said_costs_a_kibibyte_at_most() {
    const PEERS: usize = 1000;
    let (mut way, mut now) = (Way::new(), Duration::from_secs(1));
    let begin = BYTES.get();
    let mut pairs: Vec<[Link; 2]> =
        (0..PEERS).map(|_| [(); 2].map(|()| Link::new(&CONFIG))).collect();
    for [one, other] in &mut pairs {
        send(&mut now, one, other, &mut way, b"");
        send(&mut now, other, one, &mut way, b"");
    }
    let each = BYTES.get().wrapping_sub(begin) / PEERS / 2;
    assert!(each <= PEER_BYTES, "{each} bytes, {} of them in place", size_of::<Link>());
    // After much traffic and loss as well, once the memory that it needed is given back.
    let trim = |pairs: &mut Vec<[Link; 2]>, now| {
        pairs.iter_mut().flatten().for_each(|link| link.trim(now));
        BYTES.get().wrapping_sub(begin)
    };
    let quiet = trim(&mut pairs, now);
    way.lost = 7;
    for [one, other] in pairs.iter_mut().take(10) {
        for _ in 0..20 {
            send(&mut now, one, other, &mut way, &[1; 40_000]);
        }
    }
    assert!(pairs[0][0].counters().lost > 0);
    let more = trim(&mut pairs, now + Duration::from_secs(10)) - quiet;
    let each = quiet / PEERS / 2 + more / 20;
    assert!(each <= PEER_BYTES, "{each} bytes after traffic");
}

#[test]
fn a_short_message_allocates_nothing() {
    let (mut way, mut now) = (Way::new(), Duration::from_secs(1));
    let [mut one, mut other] = [(); 2].map(|()| Link::new(&CONFIG));
    let mut round = || {
        send(&mut now, &mut one, &mut other, &mut way, &[5; 64]);
        send(&mut now, &mut other, &mut one, &mut way, &[5; 900]);
    };
    (0..100).for_each(|_| round());
    let before = CALLS.get();
    (0..1000).for_each(|_| round());
    assert_eq!(CALLS.get(), before);
}
