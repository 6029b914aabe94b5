//! How large the engine inside a node is: what moves bytes and runs collectives between processes that share memory.
//!
//! Enters: its folders and files. Leaves: their lines without tests, held to a bound, so that it stays something that
//! one person can take over.

use std::fs;
use std::path::{Path, PathBuf};

use super::{complain, root};

/// Where it lies.
pub(super) const ENGINE: &[&str] = &[
    "transports/src/shm",
    "transports/src/segment",
    "transports/src/profile.rs",
    "transports/src/stores.rs",
    "transports/src/copy.rs",
    "transports/src/working_set.rs",
    "transports/src/reach.rs",
    "transports/src/node.rs",
    "transports/src/node/memory.rs",
    "transports/src/sys/cma.rs",
    "transports/src/sys/alike.rs",
    "transports/src/sys/process_vm.rs",
    "mpi-core/src/node_memory.rs",
    "mpi-core/src/tuning.rs",
    "mpi-core/src/coll/by_cost.rs",
    "mpi-core/src/coll/cost.rs",
    "mpi-core/src/coll/hierarchy",
    "mpi-core/src/coll/lead.rs",
    "mpi-core/src/coll/schedule_cache.rs",
    "mpi-core/src/coll/spread.rs",
    "mpi-core/src/collectives/alone.rs",
    "mpi-core/src/collectives/level.rs",
    "mpi-core/src/collectives/node",
    "mpi-core/src/collectives/persistent.rs",
    "mpi-core/src/collectives/stage_by_stage.rs",
    "mpi-abi/src/node.rs",
    "mpi-abi/src/fast",
];
/// Its lines at most.
const MOST: usize = 15_000;

/// All files of product code below a path.
pub(super) fn files(path: &Path) -> Vec<PathBuf> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let is_test =
        name.starts_with("tests") || name.ends_with("_tests.rs") || name.ends_with("_model.rs");
    match fs::read_dir(path) {
        _ if is_test => Vec::new(),
        Ok(entries) => entries.flatten().flat_map(|entry| files(&entry.path())).collect(),
        Err(_) => vec![path.to_owned()],
    }
}

/// What stands before the tests of a file.
pub(super) fn product(text: &str) -> &str {
    let tests = text.match_indices("\n#[cfg(").map(|(at, _)| at).find(|at| {
        let mut rest = text[at + 1..].lines();
        rest.next().is_some_and(|line| line.contains("test"))
            && rest.next().is_some_and(|line| line.contains("mod tests {"))
    });
    &text[..tests.unwrap_or(text.len())]
}

#[test]
fn one_person_can_take_over_what_moves_bytes_inside_a_node() {
    let mut complaints = Vec::new();
    let mut all = 0;
    for path in ENGINE {
        let found = files(&root().join(path));
        let texts: Vec<String> =
            found.iter().filter_map(|file| fs::read_to_string(file).ok()).collect();
        if texts.is_empty() {
            complaints.push(format!("{path} is named here and is not there"));
        }
        all += texts.iter().map(|text| product(text).lines().count()).sum::<usize>();
    }
    if all > MOST {
        complaints.push(format!(
            "the engine inside a node has {all} lines without tests, at most {MOST}"
        ));
    }
    complain(complaints.into_iter());
}
