//! Real processes over [`LocalPort`]: this test program starts itself once per rank and passes
//! the business cards around, as a launcher would.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use mpi_core::buffer::{RawBytes, UserBuffer};
use mpi_core::datatype::{Packer, Unpacker};
use mpi_core::header::{FrameKind, Header};
use mpi_core::node_memory::{Audience, Exposure, Fetched, NodeMemory, Source};
use mpi_core::port::{
    Activity, Body, Offer, PeerId, Port, ProcessName, Pulled, Token, Transport, Why,
};
use transports::cards::{Directory, NODE};
use transports::conformance::{Recorder, pattern};
use transports::node::LocalPort;
use transports::offers::SHARED_MEMORY;
use transports::shm::{Bulk, LocalConfig, ShmSettings};

const PROGRAM: &str = "FERRITE_TEST_PROGRAM";
const CARD: &str = "card: ";
/// A rank that waits so long without news has lost something.
const PATIENCE: Duration = Duration::from_secs(60);

struct Cards(HashMap<u32, String>);

impl Directory for Cards {
    fn card(&mut self, kind: &'static str, rank: u32) -> Result<Option<String>, String> {
        Ok(self.0.get(&rank).filter(|_| kind == NODE).cloned())
    }
}

/// Cards come in after the port is made, so the directory reads them when first asked.
struct Stdin(Option<Cards>, u32);

impl Directory for Stdin {
    fn card(&mut self, kind: &'static str, rank: u32) -> Result<Option<String>, String> {
        let size = self.1;
        let cards = self.0.get_or_insert_with(|| {
            let lines = std::io::stdin().lock().lines().take(size as usize);
            Cards((0..).zip(lines.map(|line| line.unwrap())).collect())
        });
        cards.card(kind, rank)
    }
}

struct Rank {
    port: LocalPort,
    sink: Recorder,
    rank: u32,
    size: u32,
}

impl Rank {
    fn new(rank: u32, size: u32, shm: ShmSettings) -> Rank {
        let job = "processes".to_string();
        let config = LocalConfig {
            job: job.clone(),
            rank,
            size,
            ranks_on_node: size,
            secret: [9; 32],
            alone: false,
            shm,
        };
        let mut port = LocalPort::new(config, Box::new(Stdin(None, size))).unwrap();
        for other in 0..size {
            port.add_peer(PeerId(other), &ProcessName { job: job.clone(), rank: other });
        }
        println!("{CARD}{}", port.shm().card());
        Rank { port, sink: Recorder::default(), rank, size }
    }

    fn wait_until(&mut self, what: &str, done: impl Fn(&Recorder) -> bool) {
        let (mut idle, mut since) = (0, Instant::now());
        while !done(&self.sink) {
            if self.port.poll(&mut self.sink) == Activity::Busy {
                (idle, since) = (0, Instant::now());
            } else {
                idle += 1;
                self.port.wait(idle);
            }
            self.assert_nobody_lost();
            assert!(since.elapsed() < PATIENCE, "rank {} waits until {what}", self.rank);
        }
    }

    /// Who has all that was sent to it may leave while others still wait; nobody else may.
    fn assert_nobody_lost(&self) {
        let lost = self.sink.down.iter().find(|(_, why)| *why != Why::Finalized);
        assert!(lost.is_none(), "rank {} has lost {lost:?}", self.rank);
    }

    fn send(&mut self, to: u32, header: &Header, body: &[u8]) {
        let (mut idle, since) = (0, Instant::now());
        while self.port.send(PeerId(to), header, Body::Bytes(RawBytes::from(body))).is_err() {
            if self.port.poll(&mut self.sink) == Activity::Idle {
                idle += 1;
                self.port.wait(idle);
            } else {
                idle = 0;
            }
            self.assert_nobody_lost();
            assert!(since.elapsed() < PATIENCE, "rank {} cannot send to {to}", self.rank);
        }
    }

    /// Everybody tells everybody: a barrier without finesse.
    fn meet_all(&mut self) {
        let header = Header { kind: FrameKind::Credit as u8, ..Header::default() };
        for to in 0..self.size {
            self.send(to, &header, &[]);
        }
        let (all, kind) = (self.size as usize, header.kind);
        self.wait_until("all have met", |sink| {
            sink.frames.iter().filter(|frame| frame.header.kind == kind).count() == all
        });
        // Whoever has met may have gone on to send.
        self.sink.frames.retain(|frame| frame.header.kind != kind);
    }

    fn finish(mut self) {
        while !self.port.is_flushed() {
            self.port.poll(&mut self.sink);
        }
    }
}

fn numbered(n: u64) -> Header {
    Header { kind: FrameKind::Eager as u8, context: n, ..Header::default() }
}

/// Every rank sends a few frames of growing length to every rank, itself included.
fn all_to_all(mut rank: Rank) {
    let rounds = 6u64;
    for n in 0..rounds {
        for shift in 0..rank.size {
            let to = (rank.rank + shift) % rank.size;
            let seed = n << 40 | u64::from(rank.rank) << 20 | u64::from(to);
            rank.send(to, &numbered(n), &pattern(seed, (n * n * n * 30) as usize));
        }
    }
    let all = rounds as usize * rank.size as usize;
    rank.wait_until("every frame has come", |sink| sink.frames.len() == all);
    let mut next = vec![0u64; rank.size as usize];
    for frame in &rank.sink.frames {
        let n = &mut next[frame.peer.0 as usize];
        assert_eq!(frame.header.context, *n, "frames changed their order");
        let seed = *n << 40 | u64::from(frame.peer.0) << 20 | u64::from(rank.rank);
        assert!(frame.body == pattern(seed, (*n * *n * *n * 30) as usize));
        *n += 1;
    }
    rank.finish();
}

/// All but two ranks leave. Rank 0 notices, and only then answers the last one.
fn outlasted(mut rank: Rank) {
    rank.meet_all();
    let (last, leavers) = (rank.size - 1, 1..rank.size - 1);
    if rank.rank == 0 {
        rank.wait_until("the others have left", |sink| {
            leavers.clone().all(|leaver| sink.down.contains(&(PeerId(leaver), Why::Finalized)))
        });
        rank.send(last, &numbered(0), &[]);
    } else if rank.rank == last {
        rank.wait_until("the first one speaks", |sink| !sink.frames.is_empty());
    }
    rank.finish();
}

/// Rank 1 sleeps until rank 0, which is in no hurry, sends; many times, so that the bell and
/// the last look meet in many ways.
fn sleeper(mut rank: Rank) {
    rank.meet_all();
    let mut longest = Duration::ZERO;
    for n in 0..300u64 {
        if rank.rank == 0 {
            let pause = Duration::from_micros(400 + n * 7 % 300);
            let start = Instant::now();
            while start.elapsed() < pause {
                std::hint::spin_loop();
            }
            rank.send(1, &numbered(n), &[]);
        }
        let start = Instant::now();
        rank.wait_until("the other one speaks", |sink| !sink.frames.is_empty());
        longest = longest.max(start.elapsed());
        rank.sink.frames.clear();
        if rank.rank == 1 {
            rank.send(0, &numbered(n), &[]);
        }
    }
    if rank.rank == 1 {
        let sleeps = rank.port.shm().counters().sleeps;
        assert!(sleeps >= 20, "only {sleeps} sleeps, so this proved nothing");
    }
    // A bell that was missed shows as a sleep of its full second.
    assert!(longest < Duration::from_millis(900), "a message waited for {longest:?}");
    rank.finish();
}

/// A megabyte both ways by whatever way the settings allow.
fn large(mut rank: Rank, expected: fn(&mut LocalPort) -> u64) {
    rank.meet_all();
    let (len, other) = (1usize << 20 | 13, 1 - rank.rank);
    let source = pattern(u64::from(rank.rank), len);
    let mut target = vec![0u8; len];
    let offer = rank.port.offer(PeerId(other), source.as_ptr(), len as u64);
    let words: Vec<u8> = offer.words.iter().flat_map(|word| word.to_le_bytes()).collect();
    rank.send(other, &Header { kind: FrameKind::Rts as u8, ..Header::default() }, &words);
    rank.wait_until("the offer is there", |sink| !sink.frames.is_empty());
    let body = rank.sink.frames.remove(0).body;
    let word = |i: usize| u64::from_le_bytes(std::array::from_fn(|k| body[8 * i + k]));
    let offer = match [word(0), word(1)] {
        [0, 0] => Offer::default(),
        words => Offer { kind: SHARED_MEMORY, words },
    };
    let mut to = Unpacker::contiguous(UserBuffer(target.as_mut_ptr()), len as u64);
    let mut pulled = rank.port.pull(PeerId(other), &offer, len as u64, &mut to, Token(4));
    if pulled == Pulled::Begun {
        rank.wait_until("it is fetched", |sink| sink.landed == [Token(4)]);
        pulled = Pulled::Done;
    }
    let kind = if pulled == Pulled::Done { FrameKind::Fin } else { FrameKind::Cts };
    if pulled == Pulled::Unavailable {
        rank.sink.landings.push((5, to));
    }
    rank.send(other, &Header { kind: kind as u8, ..Header::default() }, &[]);
    rank.wait_until("the answer is there", |sink| !sink.frames.is_empty());
    if rank.sink.frames.remove(0).header.kind == FrameKind::Cts as u8 {
        let from = UserBuffer(source.as_ptr().cast_mut());
        let packer = Packer::contiguous(from, len as u64);
        rank.port.send_bulk(PeerId(other), &numbered(5), packer, Token(1), None);
        rank.wait_until("bulk data has left", |sink| sink.sent == [Token(1)]);
    }
    if pulled == Pulled::Unavailable {
        rank.wait_until("bulk data has landed", |sink| sink.landed == [Token(5)]);
    }
    assert!(target == pattern(u64::from(other), len), "a megabyte arrived wrong");
    assert_eq!(expected(&mut rank.port), len as u64, "it went another way");
    rank.finish();
}

/// When a process becomes unreadable to others.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unreadable {
    Never,
    /// Before they have met.
    First,
    /// When they have said on a segment that they fetch what it shows them.
    Late,
}

/// Rank 0 shows rank 1 a megabyte on a segment.
fn expose(mut rank: Rank, unreadable: Unreadable) {
    rank.meet_all();
    let other = 1 - rank.rank;
    let own = rank.port.memory_mut().prepare_part(2).unwrap();
    rank.send(other, &numbered(own), &[]);
    rank.wait_until("the other's part is known", |sink| !sink.frames.is_empty());
    let theirs = rank.sink.frames.remove(0).header.context;
    let (first, second) = if rank.rank == 0 { (own, theirs) } else { (theirs, own) };
    let parts = [(PeerId(0), first), (PeerId(1), second)];
    let segment = rank.port.memory_mut().open_segment(rank.rank, 77, &parts).unwrap();
    rank.meet_all();
    if unreadable == Unreadable::Late {
        forbid_reading();
        rank.send(other, &numbered(0), &[]);
        rank.wait_until("the other is unreadable", |sink| !sink.frames.is_empty());
    }
    let sent = pattern(8, 1 << 20);
    let mut target = vec![0u8; sent.len()];
    let expected = unreadable != Unreadable::First && rank.port.share() == 1;
    let (to, from) = (Audience::One(1), Source::Private(0));
    let start = Instant::now();
    let patient = || assert!(start.elapsed() < PATIENCE, "nothing has come");
    if rank.rank == 0 {
        let exposed =
            rank.port.memory_mut().expose_fragment(segment, to, sent.as_ptr(), sent.len() as u64);
        assert_eq!(exposed, expected);
        let late = unreadable == Unreadable::Late;
        if exposed {
            let answer = loop {
                match rank.port.memory_mut().exposure(segment, to) {
                    Exposure::Waits => rank.port.poll(&mut rank.sink),
                    answer => break answer,
                };
                patient();
            };
            assert_eq!(answer, if late { Exposure::Refused(1) } else { Exposure::Taken });
        }
    } else if expected {
        let fragment = loop {
            if let Some(fragment) = rank.port.memory_mut().read_fragment(segment, from) {
                break fragment;
            }
            patient();
        };
        assert_eq!((fragment.len, fragment.last, fragment.exposed), (0, true, 1 << 20));
        let mut into = Unpacker::contiguous(UserBuffer(target.as_mut_ptr()), 1 << 20);
        let fetched = rank.port.memory_mut().fetch_fragment(segment, from, &mut into, false);
        let comes = unreadable == Unreadable::Never;
        let bytes = if comes { 1 << 20 } else { 0 };
        assert_eq!(fetched, if comes { Fetched::Whole(bytes) } else { Fetched::Refused });
        assert_eq!(target == sent, comes);
        assert_eq!(into.remaining(), (1 << 20) - bytes);
        assert_eq!(rank.port.shm().counters().bytes_cross_memory, bytes);
        rank.port.memory_mut().consume_fragment(segment, from);
    }
    rank.finish();
}

/// Makes this process unreadable to others, as a program file without read permission is.
fn forbid_reading() {
    hide();
    // A process may always read one that it could trace; root could, were it not for this.
    drop_capabilities();
}

/// Makes this process unreadable to those that may not do everything.
fn hide() {
    // SAFETY: integers only.
    unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0) };
}

fn drop_capabilities() {
    let header = [0x2008_0522u32, 0];
    let none = [0u32; 6];
    // SAFETY: version 3 of the interface takes a header of two words and data of six.
    let answer = unsafe { libc::syscall(libc::SYS_capset, header.as_ptr(), none.as_ptr()) };
    assert_eq!(answer, 0, "cannot give up capabilities");
}

#[test]
fn rank_process() {
    let Ok(program) = std::env::var(PROGRAM) else { return };
    let mut words = program.split(' ');
    let name = words.next().unwrap();
    let mut number = || words.next().unwrap().parse::<u32>().unwrap();
    let (rank, size) = (number(), number());
    let base = ShmSettings { alloc_bytes: 16 << 20, ..ShmSettings::default() };
    match name {
        "all_to_all" => all_to_all(Rank::new(rank, size, base)),
        "outlasted" => outlasted(Rank::new(rank, size, base)),
        "sleeper" => {
            let quick = ShmSettings { spin_polls: 100, yield_micros: 0, ..base };
            sleeper(Rank::new(rank, size, quick));
        }
        "across" => {
            let way = ShmSettings { bulk: Bulk::CrossMemory, ..base };
            large(Rank::new(rank, size, way), |port| port.shm().counters().bytes_cross_memory);
        }
        "forbidden" => {
            forbid_reading();
            let way = ShmSettings { bulk: Bulk::CrossMemory, ..base };
            large(Rank::new(rank, size, way), |port| port.shm().counters().bytes_pipelined);
        }
        "one_way" => {
            // Rank 0 may not reach into rank 1, which may.
            match rank {
                0 => drop_capabilities(),
                _ => hide(),
            }
            let by_fetching = |port: &mut LocalPort| port.shm().counters().bytes_cross_memory;
            let by_asking = |port: &mut LocalPort| port.shm().counters().bytes_pipelined;
            let way = ShmSettings { bulk: Bulk::CrossMemory, ..base };
            large(Rank::new(rank, size, way), if rank == 1 { by_fetching } else { by_asking });
        }
        "pipeline" => {
            let way = ShmSettings { bulk: Bulk::Pipeline, ..base };
            large(Rank::new(rank, size, way), |port| port.shm().counters().bytes_pipelined);
        }
        "shown" => expose(Rank::new(rank, size, base), Unreadable::Never),
        "shown_in_vain" => expose(Rank::new(rank, size, base), Unreadable::Late),
        "not_shown" => {
            forbid_reading();
            expose(Rank::new(rank, size, base), Unreadable::First);
        }
        _ => panic!("no program {name}"),
    }
}

fn start(program: &str, rank: u32, size: u32) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["rank_process", "--exact", "--nocapture", "--test-threads=1"])
        .env(PROGRAM, format!("{program} {rank} {size}"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Runs `size` ranks of a program and passes their cards around.
fn run(program: &str, size: u32) {
    let mut ranks: Vec<Child> = (0..size).map(|rank| start(program, rank, size)).collect();
    let mut outputs = Vec::new();
    let mut cards = String::new();
    for rank in &mut ranks {
        let mut output = BufReader::new(rank.stdout.take().unwrap());
        loop {
            let mut line = String::new();
            assert!(output.read_line(&mut line).unwrap() > 0, "a rank ended without a card");
            // The test harness may have begun the line with the test's name.
            if let Some((_, card)) = line.split_once(CARD) {
                cards.push_str(card);
                break;
            }
        }
        outputs.push(output);
    }
    for rank in &mut ranks {
        // A rank that needs no card may be gone already.
        let _ = rank.stdin.take().unwrap().write_all(cards.as_bytes());
    }
    for (rank, mut output) in ranks.iter_mut().zip(outputs) {
        let mut rest = String::new();
        std::io::Read::read_to_string(&mut output, &mut rest).unwrap();
        assert!(rank.wait().unwrap().success(), "{program} failed: {rest}");
    }
}

#[test]
fn two_ranks_tell_each_other_everything() {
    run("all_to_all", 2);
}

#[test]
fn sixty_four_ranks_tell_each_other_everything() {
    run("all_to_all", 64);
}

#[test]
fn who_waits_outlasts_those_that_leave() {
    run("outlasted", 5);
}

#[test]
fn no_bell_is_missed() {
    run("sleeper", 2);
}

#[test]
fn a_megabyte_goes_across_where_the_kernel_allows_it() {
    run("across", 2);
}

#[test]
fn a_megabyte_goes_through_chunks_where_the_kernel_forbids_it() {
    run("forbidden", 2);
}

#[test]
fn one_end_may_fetch_a_megabyte_and_the_other_may_not() {
    run("one_way", 2);
}

#[test]
fn a_megabyte_goes_through_chunks_when_told_so() {
    run("pipeline", 2);
}

#[test]
fn what_a_segment_exposes_is_fetched() {
    run("shown", 2);
}

#[test]
fn what_a_segment_exposes_is_refused_where_the_kernel_forbids_it() {
    run("shown_in_vain", 2);
}

#[test]
fn a_segment_exposes_nothing_to_whom_the_kernel_never_let_read() {
    run("not_shown", 2);
}
