//! What a peer costs a process that talks by UDP, with all that the transport keeps: at most a kibibyte after a
//! word each way, and next to nothing before. A program of its own, since it counts what its allocator does.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::net::SocketAddr;

use mpi_core::buffer::RawBytes;
use mpi_core::header::Header;
use mpi_core::port::{Activity, Body, PeerId, ProcessName, Transport};
use transports::conformance::Recorder;
use transports::tcp::Card;
use transports::udp::{Udp, UdpConfig, UdpSettings};

/// The system's allocator, counted for each thread while that is wanted.
struct Counting;

thread_local! {
    static COUNTS: Cell<bool> = const { Cell::new(false) };
    static BYTES: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: all is the system's allocator's doing; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if COUNTS.get() {
            BYTES.set(BYTES.get().wrapping_add(layout.size()));
        }
        // SAFETY: by the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        if COUNTS.get() {
            BYTES.set(BYTES.get().wrapping_sub(layout.size()));
        }
        // SAFETY: by the caller's promise; what this allocator gives is the system's.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// The most that a peer may cost with which a word each way was exchanged, and one that is but known.
const PEER_BYTES: usize = 1024;
const NAME_BYTES: usize = 24;

/// Bytes that this adds to what is in use.
fn counted<R>(run: impl FnOnce() -> R) -> (usize, R) {
    let before = BYTES.get();
    COUNTS.set(true);
    let result = run();
    COUNTS.set(false);
    (BYTES.get().wrapping_sub(before), result)
}

fn transport(rank: u32) -> Udp {
    let udp = UdpSettings { sockets: 1, ..UdpSettings::default() };
    let (job, interfaces) = ("memory".to_string(), String::new());
    Udp::new(UdpConfig { job, rank, secret: [3; 32], interfaces, route: None, one_host: true, udp })
        .unwrap()
}

fn name(rank: u32) -> ProcessName {
    ProcessName { job: "memory".into(), rank }
}

fn here(of: &Udp) -> Vec<SocketAddr> {
    vec![SocketAddr::from(([127, 0, 0, 1], Card::from_text(&of.card()).unwrap().port))]
}

fn say(from: &mut Udp, to: u32) {
    from.send(PeerId(to), &Header::default(), Body::Bytes(RawBytes::from(&b"word"[..]))).unwrap();
}

fn poll(end: &mut Udp, sink: &mut Recorder) {
    end.look_at_once();
    let _: Activity = end.poll(sink);
}

#[test]
fn a_peer_of_which_the_name_is_known_costs_next_to_nothing() {
    let names: Vec<ProcessName> = (0..5000).map(name).collect();
    for count in [100, 1025, 2000, 5000] {
        let mut all = transport(0);
        let ranks = 0..count as u32;
        let (bytes, ()) = counted(|| {
            ranks.zip(&names).for_each(|(rank, name)| all.add_peer(PeerId(rank), name));
        });
        assert!(bytes / count <= NAME_BYTES, "{} bytes for each of {count}", bytes / count);
    }
}

#[test]
fn a_peer_with_which_a_word_was_exchanged_costs_a_kibibyte_at_most() {
    const PEERS: usize = 200;
    let mut hub = transport(0);
    let peers: Vec<Udp> = (1..=PEERS as u32).map(transport).collect();
    let names: Vec<ProcessName> = (0..=PEERS as u32).map(name).collect();
    let (hub_here, mut heard) = (here(&hub), Recorder::default());
    let mut bytes = 0;
    for (rank, mut peer) in (1..).zip(peers) {
        let (there, mut sink) = (here(&peer), Recorder::default());
        peer.add_peer(PeerId(0), &names[0]);
        peer.set_routes(PeerId(0), hub_here.clone());
        bytes += counted(|| {
            hub.add_peer(PeerId(rank), &names[rank as usize]);
            hub.set_routes(PeerId(rank), there);
            say(&mut hub, rank);
        })
        .0;
        say(&mut peer, 0);
        while !(hub.is_flushed() && peer.is_flushed()) {
            poll(&mut peer, &mut sink);
            bytes = bytes.wrapping_add(counted(|| poll(&mut hub, &mut heard)).0);
            // What the test itself keeps is none of it.
            bytes = bytes.wrapping_add(counted(|| heard.frames = Vec::new()).0);
        }
        assert_eq!(sink.frames.len(), 1);
    }
    let each = bytes / PEERS;
    assert!(each <= PEER_BYTES, "{each} bytes for each peer");
    assert_eq!(hub.counters().peers, PEERS as u64);
    assert!(each > 300, "{each} bytes are too few to be true");
}
