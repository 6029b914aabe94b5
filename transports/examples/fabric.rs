//! The conformance set of fabrics on this host's verbs devices.
//!
//!     fabric set [DEVICES [QUEUE_PAIRS [CHECK]]]   all ends in this process, on these devices in turn (rxe0,rxe1)
//!     fabric lost DIRECTORY [COMMAND]              a peer in another process, which is killed; or the shell runs a
//!                                                  command instead that cuts it off, as `ip link set a0 down`
//!
//! Runs where there is such a device; on an emulated host with soft-RoCE, `rdma-vm -p 1 -c 2`.

use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use mpi_core::port::{PeerId, ProcessName};
use transports::rdma::fabric::{Access, Completion, Fabric, Local, Memory, Work};
use transports::rdma::fabric_set::{JOB, SECRET, checks};
use transports::verbs::{Rc, VerbsConfig, VerbsSettings};

/// A process of the job on one of some devices, with commas between them.
fn end(devices: &str, queue_pairs: u32, rank: usize) -> Rc {
    let devices: Vec<&str> = devices.split(',').collect();
    let devices = devices[rank % devices.len()].replace('+', ",");
    let settings = VerbsSettings { devices, queue_pairs, ..VerbsSettings::default() };
    let config = VerbsConfig { job: JOB.to_owned(), rank: rank as u32, secret: SECRET, settings };
    Rc::open(config).unwrap_or_else(|why| panic!("{why}"))
}

fn set(devices: &str, queue_pairs: u32, only: Option<&str>) {
    let mut is_told = false;
    for (name, check) in checks::<Rc>() {
        if only.is_some_and(|only| only != name) {
            continue;
        }
        let begun = Instant::now();
        check(&mut |number| {
            let ends: Vec<Rc> = (0..number).map(|rank| end(devices, queue_pairs, rank)).collect();
            if !std::mem::replace(&mut is_told, true) {
                println!("{} {:?}", ends[0].tell(), ends[0].abilities());
            }
            ends
        });
        println!("{name}: ok, {:?}", begun.elapsed());
    }
}

/// The card in a file, once it is there.
fn card_in(file: &Path) -> String {
    let begun = Instant::now();
    loop {
        match std::fs::read_to_string(file) {
            Ok(card) => return card,
            Err(_) => std::thread::yield_now(),
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "the peer shows no card");
    }
}

/// Two processes that know each other by files, and a peer that ends without a word.
fn pair(directory: &Path, rank: usize, cut: Option<&str>) {
    let mut end = end("rxe0,rxe1", 1, rank);
    let other = 1 - rank;
    let peer = PeerId(other as u32);
    let file = |rank: usize| directory.join(format!("card-{rank}"));
    let draft = directory.join(format!("draft-{rank}"));
    std::fs::write(&draft, end.card()).expect("a card");
    std::fs::rename(draft, file(rank)).expect("a card");
    end.add_peer(peer, &ProcessName { job: JOB.to_owned(), rank: other as u32 });
    let mut memory = vec![7u8; 4096];
    // SAFETY: the memory outlives the fabric's use of it: this function never returns while it is used.
    let region = unsafe { end.register(memory.as_mut_ptr(), 4096, Access::Local) }.expect("memory");
    let child = (rank == 0).then(|| {
        let program = std::env::current_exe().expect("this program");
        Command::new(program).arg("peer").arg(directory).spawn().expect("the peer")
    });
    let begun = Instant::now();
    let card = card_in(&file(other));
    end.meet(peer, &card).expect("a way");
    end.reach(peer);
    let local =
        |at: usize| Local { region, address: memory.as_ptr().wrapping_add(at).cast_mut(), len: 8 };
    for slot in 0..16 {
        // SAFETY: one half of the memory is the fabric's.
        unsafe { end.post(local(slot * 8), Work(slot as u64)) }.expect("room");
    }
    let (mut child, mut received, mut is_cut, mut news) = (child, 0, rank != 0, Vec::new());
    loop {
        // SAFETY: the other half is only read.
        let _ = unsafe { end.send(peer, local(2048), None) };
        end.poll(&mut news);
        for completion in news.drain(..) {
            match completion {
                Completion::Received { work, .. } => {
                    received += 1;
                    // SAFETY: as above.
                    let posted = unsafe { end.post(local(work.0 as usize * 8), work) };
                    posted.expect("room");
                }
                Completion::Down(_, why) => {
                    println!(
                        "rank {rank} after {:?} and {received} messages: {why}",
                        begun.elapsed()
                    );
                    if let Some(child) = &mut child {
                        child.wait().expect("the peer has ended");
                    }
                    return;
                }
                _ => {}
            }
        }
        if received >= 100 && !std::mem::replace(&mut is_cut, true) {
            match (&mut child, cut) {
                (_, Some(cut)) => {
                    let status = Command::new("sh").args(["-c", cut]).status();
                    assert!(status.expect("a shell").success(), "{cut}");
                }
                (Some(child), None) => child.kill().expect("the peer is killed"),
                (None, None) => {}
            }
            println!("rank {rank}: cut off after {received} messages, {:?}", begun.elapsed());
        }
        assert!(begun.elapsed() < Duration::from_secs(100), "no Down");
    }
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["set"] => set("rxe0,rxe1", 1, None),
        ["set", devices] => set(devices, 1, None),
        ["set", devices, pairs] => set(devices, pairs.parse().expect("a number"), None),
        ["set", devices, pairs, check] => {
            set(devices, pairs.parse().expect("a number"), Some(check));
        }
        ["lost", directory] => pair(Path::new(directory), 0, None),
        ["lost", directory, cut] => pair(Path::new(directory), 0, Some(cut)),
        ["peer", directory] => pair(Path::new(directory), 1, None),
        _ => {
            eprintln!(
                "fabric set [DEVICES [QUEUE_PAIRS [CHECK]]], or fabric lost DIRECTORY [COMMAND]"
            );
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}
