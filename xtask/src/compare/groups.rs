//! What is measured: the groups of rows that `--only` picks, and what each must reach.

use super::samples::Key;

/// How the rows of a group come about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// The program prints them.
    Printed,
    /// Intel's benchmark program prints tables.
    Imb,
    /// The launch is timed from outside, start to exit.
    Clock,
    /// The memory of all processes of the job, looked at from outside.
    Memory,
}

/// What the messages of a group go over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Over {
    /// Shared memory.
    Memory,
    /// TCP on the loopback interface.
    Tcp,
    /// UDP on the loopback interface: an affair of our library alone, beside its own TCP.
    Udp,
}

/// Rows that are measured together.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    /// Its name on the command line.
    pub(crate) name: &'static str,
    /// The program, of `benches/` unless it is `imb`.
    pub(crate) program: &'static str,
    pub(crate) kind: Kind,
    pub(crate) over: Over,
    pub(crate) ranks: Vec<u32>,
    pub(crate) sizes: Vec<u64>,
    /// Tests of the program, all if empty.
    pub(crate) tests: Vec<String>,
    /// Further words for the program.
    pub(crate) words: &'static [&'static str],
    /// Whether two bare processes take part.
    pub(crate) floor: bool,
}

/// What our library has to reach in a row.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Bar {
    /// The time of the best peer, or its rate.
    NoWorse,
    /// This part of the fastest peer's time.
    Part(f64),
    /// Less than the best peer, for certain.
    Better,
    /// Less than this value, whatever the peers do.
    Below(f64),
    /// Nothing: a part of another row.
    Free,
}

/// How far above the floor a message may be.
pub(crate) const ABOVE_FLOOR: f64 = 1.25;

/// What a row is held to.
pub(crate) fn bar(key: &Key) -> Bar {
    match (key.test.as_str(), key.variant.as_str()) {
        ("startup", "64-ranks") => Bar::Part(0.25),
        ("startup", "2-ranks") => Bar::Part(0.5),
        ("memory", _) => Bar::Better,
        ("memory-of-ranks" | "memory-of-launcher" | "growth-of-shmem", _) => Bar::Free,
        ("idle", _) => Bar::Below(1.0),
        // At least nine tenths of the speed of a loop written by hand.
        (_, "pack-to-loop" | "unpack-to-loop") => Bar::Below(1.0 / 0.9),
        // What a program rounds to hundredths, beside its own rate.
        _ if key.unit == "s" => Bar::Free,
        _ => Bar::NoWorse,
    }
}

/// Every group, in the order of the report.
pub(crate) fn all() -> Vec<Group> {
    let mut groups = of_memory();
    let over = |name, over, of: &str, floor| {
        let like = groups.iter().find(|group| group.name == of).cloned();
        like.map(|like| Group { name, over, floor, ..like })
    };
    let of_sockets = [
        over("tcp-latency", Over::Tcp, "latency", true),
        over("tcp-bandwidth", Over::Tcp, "bandwidth", false),
        over("udp-latency", Over::Udp, "latency", true),
        over("udp-bandwidth", Over::Udp, "bandwidth", true),
    ];
    groups.extend(of_sockets.into_iter().flatten());
    groups
}

/// Those over shared memory.
fn of_memory() -> Vec<Group> {
    let small: Vec<u64> = [0].into_iter().chain((0..=22).step_by(2).map(|k| 1 << k)).collect();
    let with_eight = |mut sizes: Vec<u64>| {
        sizes.push(8);
        sizes.sort_unstable();
        sizes
    };
    let every = with_eight(small);
    let from_4k: Vec<u64> = every.iter().copied().filter(|size| *size >= 4096).collect();
    let cold = with_eight([vec![1024], from_4k.clone()].concat());
    let four = vec![8, 1024, 65536, 1 << 20];
    let group = |name, program, kind, ranks: &[u32], sizes: &[u64]| Group {
        name,
        program,
        kind,
        over: Over::Memory,
        ranks: ranks.to_vec(),
        sizes: sizes.to_vec(),
        tests: Vec::new(),
        words: &[],
        floor: false,
    };
    use Kind::{Clock, Imb, Memory, Printed};
    let bound: &[&str] = &["--bind"];
    let walked: &[&str] = &["--bind", "--cold"];
    let tests = |names: &[&str]| names.iter().map(|name| (*name).into()).collect();
    vec![
        Group { words: bound, floor: true, ..group("latency", "latency", Printed, &[2], &every) },
        Group { words: walked, floor: true, ..group("cold", "latency", Printed, &[2], &cold) },
        Group {
            words: bound,
            tests: tests(&["rate"]),
            ..group("rate", "bandwidth", Printed, &[2], &[8])
        },
        Group {
            words: bound,
            tests: tests(&["bandwidth"]),
            ..group("bandwidth", "bandwidth", Printed, &[2], &from_4k)
        },
        Group {
            words: walked,
            tests: tests(&["bandwidth"]),
            ..group("cold-bandwidth", "bandwidth", Printed, &[2], &from_4k)
        },
        Group { words: bound, ..group("collectives", "collectives", Printed, &[2], &four) },
        Group {
            tests: tests(&["barrier", "allreduce"]),
            ..group("oversubscribed", "collectives", Printed, &[4, 8], &[8, 1 << 20])
        },
        group("imb", "imb", Imb, &[2], &four),
        group("pack", "pack", Printed, &[1], &[4096, 65536, 1 << 20]),
        group("startup", "startup", Clock, &[2, 64], &[]),
        group("memory", "memory", Memory, &[64], &[]),
        group("idle", "idle", Printed, &[2, 4, 8], &[]),
        Group {
            floor: true,
            tests: tests(&["kernel", "copies"]),
            ..group("floor", "floor", Printed, &[2], &[8, 4096, 65536, 1 << 20, 4 << 20])
        },
    ]
}
