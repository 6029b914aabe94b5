//! Tries datagrams of verbs between two devices of one host, by unreliable datagrams or by unreliable connections:
//! `datagrams ud|uc DEVICE DEVICE`. All requirements on transports are checked; then frames and messages go both ways,
//! sleepers are woken, and what happened is told. Ends with an error if anything is lost, doubled or changed. A wire
//! between the devices that loses packets is welcome.

use std::time::{Duration, Instant};

use mpi_core::buffer::UserBuffer;
use mpi_core::datatype::{Packer, Unpacker};
use mpi_core::header::{FrameKind, Header};
use mpi_core::port::{PeerId, ProcessName, Token, Transport};
use transports::conformance::{World, check, pattern};
use transports::datagrams::{Carrier, Datagrams, Limits};
use transports::sys::wait::until_readable;
use transports::verbs::{Uc, UcConfig, UcSettings, Ud, UdConfig, UdSettings, VerbsSettings};

const FRAMES: u64 = 300;
const MESSAGES: u64 = 8;
const MESSAGE_BYTES: usize = 300_000;

const SECRET: [u8; 32] = [7; 32];

/// A way to have datagrams, which can be tried.
trait Tried: Carrier {
    /// Opens the end of a rank on a device.
    fn open(rank: u32, device: &str, receive_buffers: u32) -> Result<Datagrams<Self>, String>;
}

fn verbs(device: &str) -> VerbsSettings {
    VerbsSettings { devices: device.to_owned(), ..VerbsSettings::default() }
}

/// Limits that are reached soon.
fn narrow(limits: Limits) -> Limits {
    Limits { window_bytes: 128 << 10, eager_bytes: 32 << 10, ..limits }
}

impl Tried for Ud {
    fn open(rank: u32, device: &str, receive_buffers: u32) -> Result<Datagrams<Ud>, String> {
        let (verbs, good) = (verbs(device), UdSettings::default());
        let settings = UdSettings { verbs, receive_buffers, limits: narrow(good.limits), ..good };
        Datagrams::<Ud>::open(UdConfig { job: "example".into(), rank, secret: SECRET, settings })
    }
}

impl Tried for Uc {
    fn open(rank: u32, device: &str, receive_buffers: u32) -> Result<Datagrams<Uc>, String> {
        let (verbs, good) = (verbs(device), UcSettings::default());
        let settings = UcSettings { verbs, receive_buffers, limits: narrow(good.limits) };
        Datagrams::<Uc>::open(UcConfig { job: "example".into(), rank, secret: SECRET, settings })
    }
}

/// Two processes' ends, which know each other.
fn ends<C: Tried>(devices: &[String; 2], receive_buffers: u32) -> Vec<Datagrams<C>> {
    let open = |rank: usize| {
        let opened = C::open(rank as u32, &devices[rank], receive_buffers);
        opened.unwrap_or_else(|why| panic!("{why}"))
    };
    let mut ends = vec![open(0), open(1)];
    let cards = [ends[0].card(), ends[1].card()];
    for end in &mut ends {
        for (rank, card) in (0..).zip(&cards) {
            end.add_peer(PeerId(rank), &ProcessName { job: "example".into(), rank });
            end.meet(PeerId(rank), card, true).unwrap_or_else(|why| panic!("{why}"));
        }
    }
    ends
}

fn header(kind: FrameKind, context: u64) -> Header {
    Header { kind: kind as u8, context, ..Header::default() }
}

/// Frames of all lengths and long messages, both ways at once, in order and unharmed.
fn talk<C: Carrier>(world: &mut World<Datagrams<C>>) {
    let sources: Vec<Vec<u8>> = (0..MESSAGES).map(|n| pattern(n, MESSAGE_BYTES)).collect();
    let mut targets = vec![vec![0u8; MESSAGE_BYTES]; 2 * MESSAGES as usize];
    for (n, target) in (0..).zip(&mut targets) {
        let (from, number) = ((n % 2) as usize, n / 2);
        let landing = Unpacker::contiguous(UserBuffer(target.as_mut_ptr()), MESSAGE_BYTES as u64);
        world.got(1 - from).landings.push((1000 + n, landing));
        let source = UserBuffer(sources[number as usize].as_ptr().cast_mut());
        let source = Packer::contiguous(source, MESSAGE_BYTES as u64);
        let head = header(FrameKind::Data, 1000 + n);
        world.transport(from).send_bulk(PeerId(1 - from as u32), &head, source, Token(n), None);
    }
    for n in 0..FRAMES {
        for from in 0..2 {
            let body = pattern(n, (n * n % 30_000) as usize);
            world.send(from, 1 - from, &header(FrameKind::Eager, n), &body);
        }
    }
    world.run_until("all has come", |world| {
        (0..2).all(|end| {
            let got = world.got(end);
            let all = got.frames.len() as u64 == FRAMES && got.landed.len() as u64 == MESSAGES;
            all && got.sent.len() as u64 == MESSAGES && world.transport(end).is_flushed()
        })
    });
    for end in 0..2 {
        for (n, frame) in (0..).zip(std::mem::take(&mut world.got(end).frames)) {
            assert_eq!(frame.header.context, n, "out of order");
            assert!(frame.body == pattern(n, (n * n % 30_000) as usize), "frame {n} is damaged");
        }
    }
    for (n, target) in targets.iter().enumerate() {
        assert!(*target == sources[n / 2], "message {n} is damaged");
    }
}

/// Who sleeps is woken by what comes.
fn wake<C: Carrier>(world: &mut World<Datagrams<C>>) {
    let quiet = Instant::now() + Duration::from_millis(100);
    world.run_until("it is quiet", |_| Instant::now() > quiet);
    let sleeper = world.transport(1);
    sleeper.look_soon();
    assert!(sleeper.put_off() != Some(Duration::ZERO), "there is news of nothing");
    let sleeps = until_readable([Some(sleeper.news())], Duration::ZERO).expect("poll");
    assert!(!sleeps, "woken for nothing");
    world.got(1).frames.clear();
    let body = pattern(1, 8);
    let send = mpi_core::port::Body::Bytes(mpi_core::buffer::RawBytes::from(&body[..]));
    world.transport(0).send(PeerId(1), &header(FrameKind::Eager, 1), send).expect("room");
    let news = world.transport(1).news();
    assert!(until_readable([Some(news)], Duration::from_secs(5)).expect("poll"), "not woken");
    world.run_until("it has come", |world| world.got(1).frames.len() == 1);
}

fn tried<C: Tried>(devices: &[String; 2], many: u32) {
    check(|| ends::<C>(devices, many));
    println!("all requirements are met over {}", C::NAME);
    for buffers in [many, 16] {
        let mut world = World::new(ends::<C>(devices, buffers));
        talk(&mut world);
        println!("{buffers} receive buffers, 0: {:?}", world.transport(0).counters());
        println!("{buffers} receive buffers, 1: {:?}", world.transport(1).counters());
        if buffers == many {
            wake(&mut world);
            println!("sleepers are woken");
        }
    }
}

fn main() {
    let usage = "usage: datagrams ud|uc DEVICE DEVICE";
    let mut words = std::env::args().skip(1);
    let service = words.next().expect(usage);
    let devices: [String; 2] = words.collect::<Vec<_>>().try_into().expect(usage);
    match service.as_str() {
        "ud" => tried::<Ud>(&devices, 1024),
        "uc" => tried::<Uc>(&devices, 64),
        _ => panic!("{usage}"),
    }
}
