//! Programs that rely on what a way of long messages does, each way that can be chosen: which of them
//! the library takes by itself is the machine's affair (decision 92).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use testsuite::hosts::Hosts;
use testsuite::prefix::{Prefix, clean};
use testsuite::programs::{self, Batch};

/// What messages between two processes of one node can be made to take.
const WAYS: [(&str, &str); 4] = [
    ("FERRITE_SHM_BULK", "auto"),
    ("FERRITE_SHM_BULK", "cross_memory"),
    ("FERRITE_SHM_BULK", "pipeline"),
    ("FERRITE_TRANSPORT", "tcp"),
];

/// Who sends before it receives, messages of all lengths, and long blocks for each of the others.
const PROGRAMS: [&str; 3] = ["sendfirst", "large", "fetched"];

/// A folder for the programs of a test.
fn folder(test: &str) -> PathBuf {
    let into = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    fs::create_dir_all(&into).expect("a folder for programs");
    into
}

#[test]
fn programs_run_whichever_way_messages_go() {
    let mut batch = Batch::compile(&folder("ways"), &PROGRAMS).expect("programs that compile");
    for way in WAYS {
        batch.run(&format!("{}={}", way.0, way.1), &|| programs::with(&[way]), &|_| vec![2]);
    }
    batch.verdict().unwrap();
}

/// Collectives of all kinds, in good and bad order.
const COLLECTIVES: [&str; 9] = [
    "alltoall",
    "bcast",
    "gather",
    "icollectives",
    "many",
    "pcollectives",
    "reduce",
    "scan",
    "scatter",
];

/// On one machine, whose ranks may share processors, caches are played.
#[test]
fn collectives_go_from_cache_to_cache() {
    let mut batch = Batch::compile(&folder("caches"), &COLLECTIVES).expect("programs that compile");
    for (shape, ranks) in [("tree", "2"), ("tree", "3"), ("auto", "2")] {
        let settings = [("FERRITE_COLL_SHAPE", shape), ("FERRITE_COLL_CACHE_RANKS", ranks)];
        batch.run(&format!("{settings:?}"), &|| programs::with(&settings), &|_| vec![5, 8]);
    }
    batch.verdict().unwrap();
}

/// A command that runs the words added to it on one of the processors that this process may use.
fn on_one_processor() -> Command {
    let status = fs::read_to_string("/proc/self/status").expect("this process's own status");
    let mask = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let first = mask.and_then(|list| list.trim().split(['-', ',']).next()).expect("a processor");
    let mut command = clean(Path::new("taskset"));
    command.args(["-c", first]);
    command
}

/// The bytes that a run's report says were copied across processes.
fn copied_across(report: &str) -> u64 {
    let before = report.split(" copied across processes").collect::<Vec<_>>();
    let counts = before.split_last().map_or(&[][..], |(_, before)| before);
    counts.iter().filter_map(|text| text.rsplit(' ').next()?.parse::<u64>().ok()).sum()
}

#[test]
fn long_blocks_are_fetched_where_ranks_share_processors() {
    let prefix = Prefix::find().expect("a prefix");
    let fetched = &programs::chosen(&["fetched"]).expect("a program of the manifest")[0];
    let executable = fetched.compile(&prefix, &folder("ways_crowded")).expect("it compiles");
    for (way, is_fetched) in [("cross_memory", true), ("pipeline", false)] {
        let mut command = on_one_processor();
        command.arg(prefix.bin("mpirun")).args(["--report", "-n", "3"]).arg(&executable);
        let output = command.env("FERRITE_SHM_BULK", way).output().expect("taskset and mpirun");
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{way}: {told}");
        assert_eq!(copied_across(&told) > 0, is_fetched, "{way}: {told}");
    }
    for way in WAYS {
        let mut command = on_one_processor();
        command.env(way.0, way.1);
        programs::run_under(command, &prefix, &executable, 4)
            .unwrap_or_else(|error| panic!("{}={}: {error:#}", way.0, way.1));
    }
}

/// Memory of MPI_Alloc_mem lies in the shared arena, of which no memory monitor tells the network card.
#[test]
fn memory_from_the_library_stays_registered_with_a_fabric() {
    let prefix = Prefix::find().expect("a prefix");
    let memory = &programs::chosen(&["memory"]).expect("a program of the manifest")[0];
    let executable = memory.compile(&prefix, &folder("allocated")).expect("it compiles");
    let mut command = clean(&prefix.bin("mpirun"));
    command.args(["--report", "-n", "2"]).arg(&executable).env("FERRITE_TRANSPORT", "ofi");
    let output = command.output().expect("mpirun");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    let (_, rest) = told.split_once("memory of the program registered ").expect("a line of it");
    let (counts, _) = rest.split_once(" transfers").expect("two counts");
    let (registered, transfers) = counts.split_once(" times for ").expect("two counts");
    let [registered, transfers] = [registered, transfers].map(|count| count.parse::<u32>());
    // Each of 5 turns uses the memory of one piece 21 times, and other pieces once.
    assert!(registered.unwrap() < 60 && transfers.unwrap() > 200, "{told}");
}

/// Who looks for a message in a loop has to let go of the processor for it to come: else there are tens
/// of thousands of looks in vain for each, as many as a turn of the scheduler has room for.
#[test]
fn who_looks_for_messages_lets_go_of_a_shared_processor() {
    let prefix = Prefix::find().expect("a prefix");
    let polling = &programs::chosen(&["polling"]).expect("a program of the manifest")[0];
    let executable = polling.compile(&prefix, &folder("polling")).expect("it compiles");
    for ranks in ["2", "5"] {
        let mut command = on_one_processor();
        command.arg(prefix.bin("mpirun")).args(["-n", ranks]).arg(&executable).arg("500");
        let output = command.output().expect("taskset and mpirun");
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{ranks} ranks: {told}");
    }
}

/// Of the addresses of its loopback a host may have that of version 6 alone.
#[test]
fn processes_of_one_host_meet_without_version_4() {
    const TEST: &str = "processes_of_one_host_meet_without_version_4";
    let prefix = Prefix::find().expect("a prefix");
    let hosts = Hosts::make(TEST, 1, 0).expect("a host");
    let Some(hosts) = hosts else { return };
    let program = programs::chosen(&["ordering"]).expect("a program of the manifest").remove(0);
    let executable = program.compile(&prefix, &folder(TEST)).expect("it compiles");
    let within = |line: &[&str]| {
        let mut command = clean(Path::new("ip"));
        command.args(["netns", "exec", hosts.name(0)]).args(line);
        command
    };
    let removed = within(&["ip", "addr", "del", "127.0.0.1/8", "dev", "lo"]).output();
    assert!(removed.expect("ip").status.success(), "the address stays");
    let mut run = within(&[&prefix.bin("mpirun").to_string_lossy(), "-n", "2"]);
    let output = run.arg(&executable).env("FERRITE_TRANSPORT", "tcp").output().expect("a run");
    let [said, errors] = [output.stdout, output.stderr].map(String::from_utf8);
    assert_eq!((said.as_deref(), errors.as_deref()), (Ok("ok\n"), Ok("")));
}
