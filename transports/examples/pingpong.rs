//! Latency and bandwidth between two processes on two processors, over [`LocalPort`] and, in
//! turn with it, over one bare cache line each way: what the machine itself needs.
//!
//! `cargo run --release -p transports --example pingpong [ROUNDS]`. Medians over rounds.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

use mpi_core::buffer::{RawBytes, UserBuffer};
use mpi_core::datatype::{Packer, Unpacker};
use mpi_core::header::{FrameKind, Header};
use mpi_core::port::{
    Activity, Body, Landing, Offer, PeerId, Port, ProcessName, Pulled, Sink, Token, Transport, Why,
};
use transports::cards::Directory;
use transports::node::LocalPort;
use transports::offers::SHARED_MEMORY;
use transports::shm::{Bulk, LocalConfig, ShmSettings};
use transports::sys::memory::{Mapping, PAGE};
use transports::sys::shared_file::SharedFile;

const SMALL: [usize; 9] = [0, 8, 32, 64, 256, 1024, 4096, 16 << 10, 32 << 10];
const LARGE: [usize; 6] = [8 << 10, 32 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20];
const WINDOW: usize = 64;

/// The other process's card, which comes when this one's has been handed over.
struct OneCard(Receiver<String>);

impl Directory for OneCard {
    fn card(&mut self, _: &'static str, _: u32) -> Result<Option<String>, String> {
        Ok(self.0.try_recv().ok())
    }
}

/// Takes frames into one buffer, as a posted receive would.
struct Taker {
    frames: u64,
    rts: Option<(Offer, u64)>,
    cts: bool,
    fin: bool,
    landed: bool,
    sent: bool,
    buffer: Vec<u8>,
}

impl Sink for Taker {
    #[inline]
    fn frame(&mut self, _: PeerId, header: &Header, body: RawBytes<'_>) {
        if header.kind == FrameKind::Eager as u8 {
            // SAFETY: the buffer is longer than every frame.
            unsafe { body.copy_to(self.buffer.as_mut_ptr()) };
            self.frames += 1;
        } else if header.kind == FrameKind::Rts as u8 {
            let bytes = body.to_vec();
            let word = |i: usize| u64::from_le_bytes(std::array::from_fn(|k| bytes[8 * i + k]));
            self.rts = Some((Offer { kind: SHARED_MEMORY, words: [word(1), word(2)] }, word(0)));
        } else if header.kind == FrameKind::Cts as u8 {
            self.cts = true;
        } else {
            self.fin = true;
        }
    }

    fn begin(&mut self, _: PeerId, _: &Header, len: u64) -> Landing {
        Landing::User(Unpacker::contiguous(UserBuffer(self.buffer.as_mut_ptr()), len))
    }

    fn landed(&mut self, _: PeerId, _: Token) {
        self.landed = true;
    }

    fn sent(&mut self, _: Token) {
        self.sent = true;
    }

    fn peer_down(&mut self, peer: PeerId, why: Why) {
        panic!("{peer:?} is gone: {why:?}");
    }
}

struct End {
    port: LocalPort,
    taker: Taker,
    source: *mut u8,
    first: bool,
}

const PEER: PeerId = PeerId(1);

impl End {
    fn poll_until(&mut self, done: impl Fn(&Taker) -> bool) {
        let mut idle = 0;
        while !done(&self.taker) {
            match self.port.poll(&mut self.taker) {
                Activity::Busy => idle = 0,
                Activity::Idle => {
                    idle += 1;
                    self.port.wait(idle);
                }
            }
        }
    }

    #[inline]
    fn send(&mut self, kind: FrameKind, body: RawBytes<'_>) {
        let header = Header { kind: kind as u8, context: 1, ..Header::default() };
        while self.port.send(PEER, &header, Body::Bytes(body)).is_err() {
            self.port.poll(&mut self.taker);
        }
    }

    #[inline]
    fn send_eager(&mut self, len: usize) {
        // SAFETY: `source` has room for the largest message.
        let body = unsafe { RawBytes::new(self.source, len) };
        self.send(FrameKind::Eager, body);
    }

    fn take_eager(&mut self, count: u64) {
        self.poll_until(|taker| taker.frames >= count);
        self.taker.frames -= count;
    }

    fn send_large(&mut self, len: usize) {
        let offer = self.port.offer(PEER, self.source, len as u64);
        let words = [len as u64, offer.words[0], offer.words[1]];
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.send(FrameKind::Rts, RawBytes::from(&bytes[..]));
        self.poll_until(|taker| taker.cts || taker.fin);
        if std::mem::take(&mut self.taker.cts) {
            let header = Header { kind: FrameKind::Data as u8, context: 2, ..Header::default() };
            let source = Packer::contiguous(UserBuffer(self.source), len as u64);
            self.port.send_bulk(PEER, &header, source, Token(1), None);
            self.poll_until(|taker| taker.sent);
            self.taker.sent = false;
        }
        self.taker.fin = false;
    }

    fn take_large(&mut self) {
        self.poll_until(|taker| taker.rts.is_some());
        let Some((offer, len)) = self.taker.rts.take() else { return };
        let mut to = Unpacker::contiguous(UserBuffer(self.taker.buffer.as_mut_ptr()), len);
        let pulled = self.port.pull(PEER, &offer, len, &mut to, Token(2));
        if pulled == Pulled::Unavailable {
            self.send(FrameKind::Cts, RawBytes::EMPTY);
        }
        if pulled != Pulled::Done {
            self.poll_until(|taker| taker.landed);
            self.taker.landed = false;
        }
        if pulled != Pulled::Unavailable {
            self.send(FrameKind::Fin, RawBytes::EMPTY);
        }
    }

    /// Microseconds of half a round trip.
    fn eager_latency(&mut self, len: usize, times: u32) -> f64 {
        let start = Instant::now();
        for _ in 0..times {
            if self.first {
                self.send_eager(len);
                self.take_eager(1);
            } else {
                self.take_eager(1);
                self.send_eager(len);
            }
        }
        start.elapsed().as_secs_f64() * 1e6 / f64::from(times) / 2.0
    }

    fn large_latency(&mut self, len: usize, times: u32) -> f64 {
        let start = Instant::now();
        for _ in 0..times {
            if self.first {
                self.send_large(len);
                self.take_large();
            } else {
                self.take_large();
                self.send_large(len);
            }
        }
        start.elapsed().as_secs_f64() * 1e6 / f64::from(times) / 2.0
    }

    /// Microseconds of a message in a stream of windows.
    fn stream(&mut self, len: usize, times: u32) -> f64 {
        let start = Instant::now();
        for _ in 0..times {
            if self.first {
                for _ in 0..WINDOW {
                    self.send_eager(len);
                }
                self.take_eager(1);
            } else {
                self.take_eager(WINDOW as u64);
                self.send_eager(0);
            }
        }
        start.elapsed().as_secs_f64() * 1e6 / f64::from(times) / WINDOW as f64
    }
}

/// Half a round trip over one word each way in two lines, in microseconds.
fn bare_latency(lines: &Mapping, first: bool, base: u64, times: u32) -> f64 {
    // SAFETY: both words lie in the page, aligned, and are of a type that both ends may use.
    let line = |i: usize| unsafe { &*lines.base().add(128 * i).cast::<AtomicU64>() };
    let (out, back) = if first { (line(0), line(1)) } else { (line(1), line(0)) };
    let start = Instant::now();
    for n in 1..=u64::from(times) {
        if first {
            out.store(base + n, Ordering::Release);
        }
        while back.load(Ordering::Acquire) != base + n {}
        if !first {
            out.store(base + n, Ordering::Release);
        }
    }
    start.elapsed().as_secs_f64() * 1e6 / f64::from(times) / 2.0
}

fn pin(cpu: usize) {
    // SAFETY: `cpu_set_t` is plain data; the kernel reads it only.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        libc::sched_setaffinity(0, size_of_val(&set), &set);
    }
}

/// The ways of a large message that are compared.
const WAYS: [(&str, Bulk, bool); 3] = [
    ("pipeline", Bulk::Pipeline, false),
    ("cross-memory", Bulk::CrossMemory, false),
    ("in place", Bulk::Pipeline, true),
];

fn open(
    first: bool,
    way: (Bulk, bool),
    swap: &mut impl FnMut(String) -> String,
) -> std::io::Result<End> {
    let rank = u32::from(!first);
    let shm = ShmSettings { bulk: way.0, ..ShmSettings::default() };
    let job = "pingpong".to_string();
    let config = LocalConfig {
        job: job.clone(),
        rank,
        size: 2,
        ranks_on_node: 0,
        secret: [1; 32],
        alone: false,
        shm,
    };
    let (late, card) = channel();
    let mut port = LocalPort::new(config, Box::new(OneCard(card)))?;
    let theirs = swap(port.shm().card());
    late.send(theirs).map_err(std::io::Error::other)?;
    port.add_peer(PEER, &ProcessName { job, rank: 1 - rank });
    let largest = LARGE[LARGE.len() - 1];
    let source = match way.1 {
        true => port.allocate(largest, 1).ok_or(std::io::ErrorKind::OutOfMemory)?,
        false => vec![1u8; largest].leak().as_mut_ptr(),
    };
    let buffer = vec![0; largest];
    let taker =
        Taker { frames: 0, rts: None, cts: false, fin: false, landed: false, sent: false, buffer };
    Ok(End { port, taker, source, first })
}

/// Lines to and from the other process.
enum Line {
    Parent(ChildStdin, BufReader<std::process::ChildStdout>),
    Child,
}

impl Line {
    fn swap(&mut self, text: String) -> String {
        let mut answer = String::new();
        match self {
            Line::Parent(to, from) => {
                writeln!(to, "{text}").expect("the other process reads");
                from.read_line(&mut answer).expect("the other process answers");
            }
            Line::Child => {
                println!("{text}");
                std::io::stdin().read_line(&mut answer).expect("the other process answers");
            }
        }
        answer.trim().to_string()
    }
}

fn start_child(fd: i32, rounds: u32) -> std::io::Result<(Child, Line)> {
    let mut child = Command::new(std::env::current_exe()?)
        .args([rounds.to_string(), std::process::id().to_string(), fd.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let to = child.stdin.take().ok_or(std::io::ErrorKind::BrokenPipe)?;
    let from = child.stdout.take().ok_or(std::io::ErrorKind::BrokenPipe)?;
    Ok((child, Line::Parent(to, BufReader::new(from))))
}

type Figures = BTreeMap<(usize, String), Vec<f64>>;

fn measure(lines: &Mapping, line: &mut Line, first: bool, rounds: u32) -> std::io::Result<Figures> {
    let mut ends = Vec::new();
    for (name, bulk, in_place) in WAYS {
        let end = open(first, (bulk, in_place), &mut |card| line.swap(card))?;
        ends.push((name, end));
    }
    let mut figures = Figures::new();
    let mut note = |order: usize, name: String, value: f64| {
        figures.entry((order, name)).or_default().push(value);
    };
    for round in 0..u64::from(rounds) {
        note(0, "bare line, us".into(), bare_latency(lines, first, round * 20_000, 20_000));
        let eager = &mut ends[0].1;
        for len in SMALL {
            note(1 + len, format!("{len} B, us"), eager.eager_latency(len, 10_000));
        }
        for len in [8, 64, 1024, 4096, 8192] {
            let micros = eager.stream(len, 200);
            note(10_000 + len, format!("stream {len} B, M/s"), 1.0 / micros);
        }
        for len in LARGE {
            for (place, (name, end)) in ends.iter_mut().enumerate() {
                let micros = end.large_latency(len, 30);
                note(20_000 + len + place, format!("{len} B {name}, us"), micros);
            }
        }
    }
    Ok(figures)
}

fn main() -> std::io::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let rounds: u32 = args.first().and_then(|text| text.parse().ok()).unwrap_or(11);
    if let [_, parent, fd] = &args[..] {
        let file = std::fs::File::options()
            .read(true)
            .write(true)
            .open(format!("/proc/{parent}/fd/{fd}"))?;
        pin(1);
        let lines = Mapping::new(&file, 0, PAGE)?;
        measure(&lines, &mut Line::Child, false, rounds)?;
        return Ok(());
    }
    let fd = SharedFile::new(PAGE as u64)?;
    let lines = Mapping::new(&fd, 0, PAGE)?;
    let (mut child, mut line) = start_child(fd.as_fd().as_raw_fd(), rounds)?;
    pin(0);
    for ((_, name), mut values) in measure(&lines, &mut line, true, rounds)? {
        values.sort_by(f64::total_cmp);
        println!("{name:28} {:10.3}   (best {:.3})", values[values.len() / 2], values[0]);
    }
    child.wait()?;
    Ok(())
}
