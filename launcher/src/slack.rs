//! Ranks that could not be dealt to the cores evenly are let go after a while.
//!
//! While a job is young each rank is better off where it was put, since the kernel takes seconds to spread them; in a
//! longer one those that share a core with more others would end last. NPB on 9 ranks and two cores (Zen 5,
//! Mop/s, tied, free from the start, and Open MPI): SP of class S, 0.03 s, 3080, 2140 and 2510; BT of class A,
//! 13 s, 12780, 13210 and 13290.
//!
//! In: the ranks' processes, and when they were started. Out: they may run on all CPUs of ours; a thread that a
//! program has put elsewhere itself stays there.

use crate::sys;
use std::fs;
use std::time::{Duration, Instant};

/// How long ranks stay where they were put.
const TIED: Duration = Duration::from_secs(1);

/// When ranks are let go, and where they may run then.
#[derive(Debug)]
pub(crate) struct Slack {
    pub(crate) at: Instant,
    cpus: Vec<usize>,
}

impl Slack {
    /// Ranks that are started now get all of `cpus` later.
    pub(crate) fn begin(cpus: Vec<usize>) -> Slack {
        Slack { at: Instant::now() + TIED, cpus }
    }

    /// Whether it is time.
    pub(crate) fn is_due(&self) -> bool {
        self.at <= Instant::now()
    }

    /// Lets a rank that was tied to the CPUs `from` go, and what it has started.
    pub(crate) fn give(&self, pid: i32, from: &[usize]) {
        for thread in numbers(&format!("/proc/{pid}/task")) {
            if sys::is_tied(thread, from) {
                // Who has ended meanwhile needs none.
                let _ = sys::set_affinity_of(thread, &self.cpus);
            }
            let children = fs::read_to_string(format!("/proc/{pid}/task/{thread}/children"));
            let children = children.unwrap_or_default();
            children
                .split_whitespace()
                .filter_map(|pid| pid.parse().ok())
                .for_each(|pid| self.give(pid, from));
        }
    }
}

/// The entries of a folder that are numbers.
fn numbers(folder: &str) -> Vec<i32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}
