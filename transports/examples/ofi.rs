//! libfabric's providers on this host, and between two.
//!
//!     ofi set PROVIDER DOMAIN [LIBRARY]            the conformance set of fabrics, all ends in this process
//!     ofi pair DIRECTORY RANK PROVIDER [DOMAIN]    rank 0 or 1 of two processes that share a directory
//!
//! The last line says `pass` or `fail`, and so does the exit status: 0 or not.
//!
//! The pair is for providers that do not reach their own host, as verbs;ofi_rxm on two emulated hosts:
//! `rdma-vm -n 2 -c 1`, with `FI_UNIVERSE_SIZE=16`.

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use mpi_core::port::{PeerId, ProcessName};
use transports::ofi::{Ofi, OfiConfig, OfiSettings, Region};
use transports::rdma::fabric::{Access, Completion, Fabric, Local, Memory, Target, Work};
use transports::rdma::fabric_set::{JOB, SECRET, checks};

/// Bytes of a message at most: more than what ofi_rxm sends at once.
const SLOT: usize = 40 << 10;
const SLOTS: usize = 16;
/// Where what is sent, written and read begins, and how long it is at most.
const SOURCE_AT: usize = SLOT * SLOTS;
const LONG: usize = 256 << 10;
const MESSAGES: u64 = 200;
const VALUE: u32 = 0xfeed_f00d;

fn end(rank: u32, provider: &str, domain: &str, library: Option<&str>) -> Ofi {
    let mut settings =
        OfiSettings { provider: provider.into(), only_fabrics: false, ..OfiSettings::default() };
    settings.domain = domain.into();
    if let Some(library) = library {
        settings.library = library.into();
    }
    let config = OfiConfig { job: JOB.to_owned(), rank, secret: SECRET, settings };
    Ofi::open(config).unwrap_or_else(|why| panic!("{why}"))
}

/// How many checks do not hold.
fn set(provider: &str, domain: &str, library: Option<&str>) -> usize {
    let mut failures = 0;
    println!("{}", end(0, provider, domain, library).tell());
    for (name, check) in checks::<Ofi>() {
        let begun = Instant::now();
        let run = std::panic::catch_unwind(|| {
            check(&mut |number| {
                (0..number as u32).map(|rank| end(rank, provider, domain, library)).collect()
            });
        });
        failures += usize::from(run.is_err());
        let result = if run.is_ok() { "ok" } else { "does not hold" };
        println!("{name}: {result}, {:?}", begun.elapsed());
    }
    failures
}

/// One of the pair, and its memory.
struct Side {
    end: Ofi,
    region: Region,
    memory: &'static [u8],
    peer: PeerId,
    news: Vec<Completion>,
    begun: Instant,
}

impl Side {
    fn new(rank: u32, provider: &str, domain: &str) -> Side {
        let mut end = end(rank, provider, domain, None);
        println!("{} {:?}", end.tell(), end.abilities());
        let memory: &'static mut [u8] = Box::leak(vec![0; SOURCE_AT + 2 * LONG].into());
        let (at, len) = (memory.as_mut_ptr(), memory.len());
        // SAFETY: it is never freed.
        let region = unsafe { end.register(at, len, Access::All) }.expect("memory");
        let peer = PeerId(1 - rank);
        end.add_peer(peer, &ProcessName { job: JOB.to_owned(), rank: 1 - rank });
        let mut side = Side { end, region, memory, peer, news: Vec::new(), begun: Instant::now() };
        (0..SLOTS).for_each(|slot| side.post(slot));
        side
    }

    fn at(&self, place: usize, len: usize) -> Local<Region> {
        assert!(place + len <= self.memory.len());
        let address = self.memory.as_ptr().wrapping_add(place).cast_mut();
        Local { region: self.region, address, len }
    }

    fn post(&mut self, slot: usize) {
        let buffer = self.at(slot * SLOT, SLOT);
        // SAFETY: the slot is the fabric's until it completes.
        unsafe { self.end.post(buffer, Work(slot as u64)) }.expect("room");
    }

    fn byte(&self, place: usize) -> u8 {
        // SAFETY: within the memory; nobody writes there now.
        unsafe { self.at(place, 1).address.read_volatile() }
    }

    fn fill(&mut self, place: usize, len: usize, with: impl Fn(usize) -> u8) {
        for i in 0..len {
            // SAFETY: within the memory; nobody uses it now.
            unsafe { self.at(place, len).address.add(i).write_volatile(with(i)) };
        }
    }

    /// The next piece of news.
    fn next(&mut self) -> Completion {
        while self.news.is_empty() {
            self.end.poll(&mut self.news);
            assert!(self.begun.elapsed() < Duration::from_secs(120), "nothing comes");
        }
        let next = self.news.remove(0);
        if let Completion::Down(_, why) = &next {
            panic!("{why}");
        }
        next
    }

    fn send(&mut self, len: usize) {
        let message = self.at(SOURCE_AT, len);
        loop {
            // SAFETY: it is not changed before the work is done.
            if unsafe { self.end.send(self.peer, message, Some(Work(1 << 20))) }.is_ok() {
                return self.done();
            }
            self.end.poll(&mut self.news);
        }
    }

    /// Takes news until this side's work is done; what else has come stays.
    fn done(&mut self) {
        let mut others = Vec::new();
        loop {
            match self.next() {
                Completion::Done(_) => break,
                other => others.push(other),
            }
        }
        others.append(&mut self.news);
        self.news = others;
    }

    /// Waits for a message, whose place it gives.
    fn receive(&mut self) -> (usize, usize) {
        match self.next() {
            Completion::Received { work, len, .. } => (work.0 as usize, len),
            other => panic!("{other:?}"),
        }
    }
}

fn pair(directory: &Path, rank: u32, provider: &str, domain: &str) {
    let mut side = Side::new(rank, provider, domain);
    let file = |rank: u32| directory.join(format!("card-{rank}"));
    let draft = directory.join(format!("draft-{rank}"));
    std::fs::write(&draft, side.end.card()).expect("a card");
    std::fs::rename(draft, file(rank)).expect("a card");
    let card = loop {
        match std::fs::read_to_string(file(1 - rank)) {
            Ok(card) => break card,
            Err(_) => std::thread::sleep(Duration::from_millis(20)),
        }
        assert!(side.begun.elapsed() < Duration::from_secs(120), "the peer shows no card");
    };
    side.end.meet(side.peer, &card).expect("a way");
    side.end.reach(side.peer);
    assert_eq!(side.next(), Completion::Up(side.peer));
    println!("up after {:?}", side.begun.elapsed());
    for number in 0..MESSAGES {
        let len = [1, 100, 1000, SLOT][number as usize % 4];
        if rank == 0 {
            side.fill(SOURCE_AT, len, |i| (number as usize + i) as u8);
            side.send(len);
        }
        let (slot, came) = side.receive();
        assert_eq!(came, len);
        for i in 0..len {
            assert_eq!(side.byte(slot * SLOT + i), (number as usize + i) as u8, "message {number}");
        }
        if rank == 1 {
            side.fill(SOURCE_AT, len, |i| (number as usize + i) as u8);
            side.send(len);
        }
        side.post(slot);
    }
    println!("{MESSAGES} messages each way, {:?}", side.begun.elapsed());
    if rank == 0 {
        write_and_read(&mut side)
    } else {
        lend(&mut side)
    }
    println!("written and read, {:?}", side.begun.elapsed());
}

/// Rank 1 says where its memory is, and sees it written.
fn lend(side: &mut Side) {
    let remote = side.end.remote(side.region);
    let words = [remote.base.to_le_bytes(), remote.key.to_le_bytes()].concat();
    side.fill(SOURCE_AT, 16, |i| words[i]);
    side.send(16);
    match side.next() {
        Completion::Written { immediate: VALUE, .. } => {}
        other => panic!("{other:?}"),
    }
    for i in 0..LONG {
        assert_eq!(side.byte(SOURCE_AT + LONG + i), (i % 251) as u8, "written byte {i}");
    }
    side.receive();
}

fn write_and_read(side: &mut Side) {
    let (slot, _) = side.receive();
    let word =
        |at: usize| u64::from_le_bytes(std::array::from_fn(|i| side.byte(slot * SLOT + at + i)));
    let target = Target { address: word(0) + (SOURCE_AT + LONG) as u64, key: word(8) };
    side.fill(SOURCE_AT, LONG, |i| (i % 251) as u8);
    let (from, into) = (side.at(SOURCE_AT, LONG), side.at(SOURCE_AT + LONG, LONG));
    let (peer, work) = (side.peer, Work(1 << 20));
    // SAFETY: neither is used before the work is done.
    while unsafe { side.end.write(peer, 0, from, target, Some(VALUE), Some(work)) }.is_err() {
        side.end.poll(&mut side.news);
    }
    side.done();
    // SAFETY: as above.
    while unsafe { side.end.read(peer, 0, into, target, work) }.is_err() {
        side.end.poll(&mut side.news);
    }
    side.done();
    for i in 0..LONG {
        assert_eq!(side.byte(SOURCE_AT + LONG + i), (i % 251) as u8, "read byte {i}");
    }
    side.send(1);
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let rank = |text: &str| text.parse().expect("rank 0 or 1");
    let both = |directory: &str, of: &str, provider: &str, domain: &str| {
        let run = || pair(Path::new(directory), rank(of), provider, domain);
        usize::from(std::panic::catch_unwind(run).is_err())
    };
    let failures = match words[..] {
        ["set", provider, domain] => set(provider, domain, None),
        ["set", provider, domain, library] => set(provider, domain, Some(library)),
        ["pair", directory, of, provider] => both(directory, of, provider, ""),
        ["pair", directory, of, provider, domain] => both(directory, of, provider, domain),
        _ => {
            eprintln!(
                "ofi set PROVIDER DOMAIN [LIBRARY], or ofi pair DIRECTORY RANK PROVIDER [DOMAIN]"
            );
            return ExitCode::from(2);
        }
    };
    println!("{}", if failures == 0 { "pass" } else { "fail" });
    ExitCode::from(u8::from(failures > 0))
}
