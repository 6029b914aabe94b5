//! The transport over a carrier as queue pairs are one: packets of a fixed length, one at a time, read where they
//! came, and lost where nobody has a buffer for them.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use mpi_core::buffer::{RawBytes, UserBuffer};
use mpi_core::datatype::{Packer, Unpacker};
use mpi_core::header::{FrameKind, Header};
use mpi_core::port::{Body, PeerId, ProcessName, Token, Transport};
use parking_lot::Mutex;

use super::{Address, Batch, Carrier, Counters, Datagrams, Fate, Identity, Limits, Path};
use crate::clock::cheap_ticks;
use crate::conformance::{Recorder, World, check, pattern};
use crate::udp::UdpSettings;

/// What is on its way to each, and how many packets were sent at all.
#[derive(Default)]
struct Wire {
    to: Vec<VecDeque<Vec<u8>>>,
    sent: u64,
    /// The longest that has come through.
    longest: usize,
    /// Nothing can be sent yet; how often that was tried all the same.
    is_closed: bool,
    tried: u64,
}

/// One end, and how the wire treats its packets.
struct Packets {
    wire: Arc<Mutex<Wire>>,
    place: usize,
    mtu: usize,
    /// Bytes that a way may carry, and those that it does.
    most: usize,
    carries: usize,
    buffers: usize,
    /// One packet in so many is lost, and one in so many has no room; never if 0.
    loses: u64,
    refuses: u64,
    refused: u64,
    is_lent: bool,
    bell: File,
}

impl Address for usize {
    type Source = ();

    fn is_of(&self, (): ()) -> bool {
        true
    }

    fn name(&self) -> String {
        self.to_string()
    }
}

impl Carrier for Packets {
    const NAME: &'static str = "packets";
    const PURPOSE: &'static str = "a test";
    const LOOKS_ARE_CHEAP: bool = true;

    type Address = usize;
    type Lent = Vec<u8>;

    fn card(&self) -> String {
        self.place.to_string()
    }

    fn routes(&mut self, _: Option<u32>, card: &str, _: bool) -> Result<Vec<usize>, String> {
        card.parse().map(|place| vec![place]).map_err(|_| format!("{card} is no card"))
    }

    fn path(&self, _: usize) -> Path {
        Path { bytes: self.most, sure: self.mtu }
    }

    unsafe fn send(&mut self, to: usize, batch: &Batch) -> Fate {
        let part = batch.next(false).expect("there is one");
        assert_eq!((part.count, part.each), (1, 0));
        let runs = batch.runs(part.runs).iter();
        // SAFETY: by the caller's promise.
        let bytes: Vec<u8> = runs.flat_map(|run| unsafe { run.to_vec() }).collect();
        assert!(bytes.len() <= self.most, "{} bytes are too long for a packet", bytes.len());
        let mut wire = self.wire.lock();
        if wire.is_closed {
            wire.tried += 1;
            return Fate::NoRoom;
        }
        let is_nth = |n, every| every != 0 && n % every == 0;
        self.refused += 1;
        if is_nth(self.refused, self.refuses) {
            return Fate::NoRoom;
        }
        wire.sent += 1;
        let is_lost = is_nth(wire.sent, self.loses) || bytes.len() > self.carries;
        if !is_lost && wire.to[to].len() < self.buffers {
            wire.longest = wire.longest.max(bytes.len());
            wire.to[to].push_back(bytes);
        }
        Fate::Sent(1)
    }

    fn awaits(&self, _: usize) -> bool {
        self.wire.lock().is_closed
    }

    fn receive(&mut self) -> Option<(Vec<u8>, ())> {
        assert!(!self.is_lent, "what was lent is not back");
        let bytes = self.wire.lock().to[self.place].pop_front()?;
        self.is_lent = true;
        Some((bytes, ()))
    }

    fn give_back(&mut self, _: Vec<u8>) {
        assert!(std::mem::replace(&mut self.is_lent, false));
    }

    fn watch_room(&mut self, _: bool) {}

    fn news(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }

    fn now() -> Instant {
        machine(|machine| {
            machine.asked += 1;
            machine.nanos += Machine::CLOCK;
            machine.base + Duration::from_nanos(machine.nanos)
        })
        .unwrap_or_else(Instant::now)
    }

    fn ticks() -> Option<u64> {
        let ticks = machine(|machine| {
            machine.nanos += Machine::TICKS;
            1 << 50 | machine.nanos
        });
        ticks.or_else(cheap_ticks)
    }
}

/// A machine on which nothing takes time but to ask for it, and its kernel's clock takes long.
struct Machine {
    base: Instant,
    nanos: u64,
    asked: u64,
}

impl Machine {
    /// Nanoseconds that a look at the kernel's clock takes, and one at the processor's counter.
    const CLOCK: u64 = 4000;
    const TICKS: u64 = 20;
}

thread_local! {
    static MACHINE: RefCell<Option<Machine>> = const { RefCell::new(None) };
}

/// Does something with the machine of this thread, if there is one.
fn machine<R>(run: impl FnOnce(&mut Machine) -> R) -> Option<R> {
    MACHINE.with(|cell| cell.borrow_mut().as_mut().map(run))
}

/// Ends of so many that have met, on a wire of their own.
fn ends(size: u32, mtu: usize, buffers: usize, loses: u64) -> Vec<Datagrams<Packets>> {
    ends_of(size, (mtu, mtu, mtu), buffers, loses).1
}

/// The same, with the wire; packets surely have `mtu` bytes, perhaps `most`, and in truth as many as it `carries`.
fn ends_of(
    size: u32,
    (mtu, most, carries): (usize, usize, usize),
    buffers: usize,
    loses: u64,
) -> (Arc<Mutex<Wire>>, Vec<Datagrams<Packets>>) {
    let to = vec![VecDeque::new(); size as usize];
    let wire = Arc::new(Mutex::new(Wire { to, ..Wire::default() }));
    let defaults = UdpSettings::default().limits();
    let limits = Limits { eager_bytes: 32 << 10, window_bytes: 128 << 10, ..defaults };
    let end = |rank: u32| {
        let (wire, place) = (Arc::clone(&wire), rank as usize);
        let refuses = if loses > 0 { 31 } else { 0 };
        let bell = File::open("/dev/null").unwrap();
        let (refused, is_lent) = (0, false);
        let carrier = Packets {
            wire,
            place,
            mtu,
            most,
            carries,
            buffers,
            loses,
            refuses,
            refused,
            is_lent,
            bell,
        };
        let me = Identity { job: "test".into(), rank, secret: [1; 32] };
        let mut end = Datagrams::over(carrier, me, limits);
        for other in 0..size {
            end.add_peer(PeerId(other), &ProcessName { job: "test".into(), rank: other });
            end.meet(PeerId(other), &other.to_string(), true).unwrap();
        }
        end
    };
    let ends = (0..size).map(end).collect();
    (wire, ends)
}

#[test]
fn packets_of_any_port_carry_all_that_is_required() {
    for mtu in [512, 1024, 4096] {
        check(|| ends(2, mtu, 1024, 0));
    }
}

#[test]
fn lost_packets_and_few_buffers_lose_nothing() {
    check(|| ends(3, 1024, 1024, 50));
    check(|| ends(2, 4096, 16, 50));
}

/// By counts: an answer carries the acknowledgement of what it answers, and who waits does not wait for the clock.
#[test]
fn a_message_to_and_fro_is_a_datagram_and_asks_for_no_time() {
    const ROUNDS: u64 = 1000;
    const LOOKS: u64 = 50;
    MACHINE.set(Some(Machine { base: Instant::now(), nanos: 0, asked: 0 }));
    let mut ends = ends(2, 4096, 64, 0);
    let mut heard = Recorder::default();
    let mut send = |from: usize, to: usize| {
        let body = RawBytes::from(&b"8 bytes."[..]);
        let header = Header { inline_len: body.len() as u8, ..Header::default() };
        ends[from].send(PeerId(to as u32), &header, Body::Bytes(body)).unwrap();
        for _ in 0..LOOKS {
            ends[from].poll(&mut heard);
        }
        ends[to].poll(&mut heard);
    };
    // Meanwhile it is found out how fast the counter is.
    (0..ROUNDS).for_each(|_| [(0, 1), (1, 0)].into_iter().for_each(|(from, to)| send(from, to)));
    let begin = machine(|machine| (machine.nanos, std::mem::take(&mut machine.asked))).unwrap();
    (0..ROUNDS).for_each(|_| [(0, 1), (1, 0)].into_iter().for_each(|(from, to)| send(from, to)));
    let end = machine(|machine| (machine.nanos, machine.asked)).unwrap();
    assert_eq!(heard.frames.len() as u64, 4 * ROUNDS);
    for end in &ends {
        let Counters { sent, writes, again, .. } = end.counters();
        assert_eq!((sent, writes, again), (2 * ROUNDS, 2 * ROUNDS, 0));
    }
    // Each of both asks once in 2^18 ticks, which are nanoseconds here.
    let most = 2 * (1 + ((end.0 - begin.0) >> 18));
    assert!(end.1 <= most && end.1 * 50 < 2 * ROUNDS, "{} questions, {most} at most", end.1);
    MACHINE.set(None);
}

#[test]
fn who_sends_no_card_is_told_so() {
    let mut end = ends(1, 4096, 16, 0);
    assert_eq!(end[0].meet(PeerId(0), "x", false), Err("x is no card".to_owned()));
}

#[test]
fn messages_of_many_packets_are_used_where_they_come_through() {
    for (carries, longest) in [(16 << 10, 16 << 10), (4096, 4096), (9000, 9000)] {
        let lengths = (4096, 16 << 10, carries);
        check(|| ends_of(2, lengths, 1024, 0).1);
        check(|| ends_of(2, lengths, 1024, 50).1);
        let (wire, ends) = ends_of(2, lengths, 1024, 0);
        let mut world = World::new(ends);
        let source = pattern(7, 4 << 20);
        let mut target = vec![0u8; source.len()];
        let landing = Unpacker::contiguous(UserBuffer(target.as_mut_ptr()), target.len() as u64);
        world.got(1).landings.push((5, landing));
        let packer = UserBuffer(source.as_ptr().cast_mut());
        let packer = Packer::contiguous(packer, source.len() as u64);
        let header = Header { kind: FrameKind::Data as u8, context: 5, ..Header::default() };
        world.transport(0).send_bulk(PeerId(1), &header, packer, Token(1), None);
        world.run_until("all has come", |world| world.got(1).landed.len() == 1);
        assert!(target == source);
        let found = wire.lock().longest;
        assert!(found <= longest && found * 10 > longest * 9, "{found} of {longest}");
    }
}

#[test]
fn who_cannot_be_sent_to_yet_costs_no_work_until_then() {
    let (wire, ends) = ends_of(2, (4096, 4096, 4096), 16, 0);
    wire.lock().is_closed = true;
    let mut world = World::new(ends);
    world.send(0, 1, &Header { kind: FrameKind::Eager as u8, ..Header::default() }, b"early");
    for _ in 0..1000 {
        assert_ne!(world.transport(0).put_off(), Some(Duration::ZERO), "it does not sleep");
        world.transport(0).poll(&mut Recorder::default());
    }
    assert_eq!(wire.lock().tried, 1);
    wire.lock().is_closed = false;
    world.run_until("it has come", |world| world.got(1).frames.len() == 1);
}
