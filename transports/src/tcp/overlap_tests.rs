//! A member of the job whose fragments overlap, or that breaks the protocol in the middle of one: it is
//! given up, no message is complete that is not, and nobody writes to memory that was given back.

use mpi_core::buffer::UserBuffer;
use mpi_core::datatype::Unpacker;
use mpi_core::header::{FrameKind, Header};
use mpi_core::port::{PeerId, Token, Transport, Why};
use mpi_core::settings::TcpSecurity;

use super::record::{FragmentHead, Kind};
use super::sim_net::Sim;
use super::sim_tests::FAIR;
use super::tests::{small, world};
use super::{StreamId, Tcp, TcpSettings};
use crate::conformance::{Recorder, pattern};

/// Polls after which nothing more comes.
const ENOUGH: usize = 5000;
const TOTAL: usize = 1000;

/// A member that sends whatever a test wants, and its victim, where it goes to `target`.
struct Pair {
    ends: Vec<Tcp>,
    sinks: [Recorder; 2],
    bytes: Vec<u8>,
    target: Vec<u8>,
    _sim: Sim,
}

impl Pair {
    fn new() -> Pair {
        let sim = Sim::begin(1, FAIR);
        // Without tags part of a body can be sent by itself.
        let tcp = TcpSettings { streams: 2, security: TcpSecurity::Off, ..small() };
        let mut ends = world(2, &tcp);
        let Tcp { peers, config, job, .. } = &mut ends[0];
        peers[PeerId(1)].want_streams(2, config, job);
        let (bytes, mut target) = (pattern(1, TOTAL), vec![0; TOTAL]);
        let to = Unpacker::contiguous(UserBuffer(target.as_mut_ptr()), TOTAL as u64);
        let sinks =
            [Recorder::default(), Recorder { landings: vec![(7, to)], ..Recorder::default() }];
        Pair { ends, sinks, bytes, target, _sim: sim }
    }

    /// A fragment of so many bytes from `at` on begins on a stream, and so many of them come.
    fn begin(&mut self, stream: u32, at: usize, len: usize, come: usize) {
        let header = Header { kind: FrameKind::Data as u8, context: 7, ..Header::default() };
        let head = FragmentHead { header, id: 3, total: TOTAL as u64, at: at as u64 };
        let to = &mut self.ends[0].peers[PeerId(1)].streams[stream as usize];
        let ack = to.tell();
        to.output.push_front(Kind::Fragment, ack, head.to_bytes(), len);
        self.go_on(stream, at..at + come);
    }

    /// So many more bytes of it come.
    fn go_on(&mut self, stream: u32, bytes: std::ops::Range<usize>) {
        let to = &mut self.ends[0].peers[PeerId(1)].streams[stream as usize];
        to.output.push_packed(self.bytes[bytes].into(), 3);
        self.ends[0].push_on(StreamId { peer: PeerId(1), stream });
        self.poll();
    }

    fn poll(&mut self) {
        for _ in 0..ENOUGH {
            for (end, sink) in self.ends.iter_mut().zip(&mut self.sinks) {
                end.poll(sink);
            }
        }
    }

    /// The victim has given the other up, which leaves its memory alone from then on.
    fn ends_by(mut self, breach: &str) {
        assert_eq!(self.sinks[1].landed, [], "it is complete though bytes are missing");
        let down = &self.sinks[1].down;
        let [(PeerId(0), Why::Lost(how))] = &down[..] else { panic!("not given up: {down:?}") };
        assert!(how.contains(breach), "{how}");
        // The request has failed: the memory is the program's.
        self.target.fill(7);
        for stream in [0, 1] {
            self.go_on(stream, 0..TOTAL);
        }
        assert!(
            self.target.iter().all(|byte| *byte == 7),
            "it writes to memory that was given back"
        );
    }
}

const OVERLAP: &str = "two fragments of it are for the same bytes of a message";

#[test]
fn a_message_is_not_complete_while_a_stream_writes_to_it() {
    let mut pair = Pair::new();
    pair.begin(0, 0, 600, 300);
    pair.begin(1, 400, 600, 600);
    pair.begin(1, 0, 400, 400);
    pair.ends_by(OVERLAP);
}

#[test]
fn bytes_that_come_twice_are_not_counted_for_others() {
    let mut pair = Pair::new();
    pair.begin(0, 0, 500, 500);
    pair.begin(0, 0, 500, 500);
    pair.ends_by(OVERLAP);
    let mut pair = Pair::new();
    pair.begin(0, 0, 500, 500);
    pair.begin(1, 499, 500, 500);
    pair.ends_by(OVERLAP);
}

#[test]
fn who_breaks_the_protocol_in_the_middle_of_a_fragment_writes_no_more_of_it() {
    let mut pair = Pair::new();
    pair.begin(0, 0, 600, 300);
    assert!(pair.target[..300] == pair.bytes[..300] && pair.sinks[1].down.is_empty());
    let header = Header { kind: FrameKind::Data as u8, context: 7, ..Header::default() };
    let beyond = FragmentHead { header, id: 3, total: TOTAL as u64 + 1, at: 600 };
    let to = &mut pair.ends[0].peers[PeerId(1)].streams[1];
    let ack = to.tell();
    to.output.push_front(Kind::Fragment, ack, beyond.to_bytes(), 401);
    pair.go_on(1, 600..TOTAL);
    pair.ends_by("two fragments of it disagree about their message");
}

#[test]
fn fragments_that_do_not_overlap_come_in_any_order_on_any_stream() {
    let mut pair = Pair::new();
    pair.begin(0, 700, 300, 100);
    pair.begin(1, 0, 200, 200);
    pair.begin(1, 500, 200, 199);
    pair.go_on(0, 800..TOTAL);
    pair.begin(0, 200, 300, 300);
    assert_eq!(pair.sinks[1].landed, []);
    pair.go_on(1, 699..700);
    assert_eq!(pair.sinks[1].landed, [Token(7)]);
    assert!(pair.target == pair.bytes && pair.sinks[1].down.is_empty());
}
