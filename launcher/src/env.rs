//! The environment of a rank: what mpirun itself was given, what the options change in it, and what
//! tells the rank its place, under the names that scripts of three launcher families read.

use crate::options::{Global, Local};
use crate::refuse::Refusal;
use crate::route;
use launch_wire::address::{self, Address};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::net::IpAddr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// Variables of one process.
pub(crate) type Environment = BTreeMap<OsString, OsString>;

/// Beginnings of names that describe somebody else's job: left in, they would make a rank's library
/// believe that it belongs to the job that mpirun itself is part of.
const FOREIGN: [&str; 9] = [
    "PMI_",
    "PMIX_",
    "PRTE_",
    "HYDRA_",
    "HYDI_",
    "OMPI_COMM_WORLD_",
    "OMPI_UNIVERSE_SIZE",
    "MV2_COMM_WORLD_",
    "MPI_LOCAL",
];

/// The variables of the programs of one segment, before each rank's own are added.
pub(crate) fn of_segment(
    inherited: &Environment,
    global: &Global,
    local: &Local,
) -> Result<Environment, Refusal> {
    let mut kept = inherited.clone();
    kept.retain(|name, _| !is_foreign(name));
    if global.genvnone {
        kept.clear();
    }
    if let Some(list) = &global.genvlist {
        keep_only(&mut kept, list);
    }
    if local.envall {
        kept.extend(
            inherited.iter().filter(|(n, _)| !is_foreign(n)).map(|(n, v)| (n.clone(), v.clone())),
        );
    }
    if local.envnone {
        kept.clear();
    }
    if let Some(list) = &local.envlist {
        keep_only(&mut kept, list);
    }
    if let Some(kinds) = &global.memory_alloc_kinds {
        kept.insert(launch_wire::MEMORY_KINDS.into(), kinds.clone());
    }
    for pair in global.genv.chunks_exact(2).chain(local.env.chunks_exact(2)) {
        set(&mut kept, &pair[0], pair[1].clone())?;
    }
    let exports = Exports::of(local);
    if exports.none {
        kept.clear();
    }
    for word in &exports.words {
        let bytes = word.as_bytes();
        match bytes.iter().position(|&b| b == b'=') {
            Some(at) => {
                let value = OsString::from_vec(bytes[at + 1..].to_vec());
                set(&mut kept, OsStr::from_bytes(&bytes[..at]), value)?;
            }
            None => {
                if let Some(value) = inherited.get(word) {
                    set(&mut kept, word, value.clone())?;
                }
            }
        }
    }
    Ok(kept)
}

/// The variables that `-x` is to pass on and that are not there.
pub(crate) fn unset(inherited: &Environment, local: &Local) -> Vec<OsString> {
    let words = Exports::of(local).words.into_iter();
    let bare = words.filter(|word| !word.as_bytes().contains(&b'='));
    bare.filter(|word| !inherited.contains_key(word)).collect()
}

/// What `-x` and `--export` ask for: variables one by one, or srun's list `ALL,NAME,NAME=VALUE`.
struct Exports {
    /// No other variables.
    none: bool,
    words: Vec<OsString>,
}

impl Exports {
    fn of(local: &Local) -> Exports {
        let mut exports = Exports { none: false, words: Vec::new() };
        for word in &local.export {
            // A value may have commas, a name has none: so a list is told by its first word.
            let first = word.as_bytes().split(|&b| b == b'=').next().unwrap_or_default();
            let is_list =
                first.contains(&b',') || [&b"ALL"[..], b"NONE", b"NIL"].contains(&word.as_bytes());
            if !is_list {
                exports.words.push(word.clone());
                continue;
            }
            for part in word.as_bytes().split(|&b| b == b',').filter(|part| !part.is_empty()) {
                match part {
                    b"ALL" => {}
                    b"NONE" | b"NIL" => exports.none = true,
                    part => exports.words.push(OsStr::from_bytes(part).to_os_string()),
                }
            }
        }
        exports
    }
}

fn is_foreign(name: &OsStr) -> bool {
    FOREIGN.iter().any(|start| name.as_bytes().starts_with(start.as_bytes()))
}

fn keep_only(variables: &mut Environment, list: &str) {
    let names: Vec<&str> = list.split(',').map(str::trim).collect();
    variables.retain(|name, _| names.iter().any(|keep| OsStr::new(keep) == name));
}

fn set(variables: &mut Environment, name: &OsStr, value: OsString) -> Result<(), Refusal> {
    let bytes = name.as_bytes();
    if bytes.is_empty() || bytes.contains(&b'=') || bytes.contains(&0) {
        let shown = name.to_string_lossy();
        return Err(Refusal::new(format!("“{shown}” cannot be the name of a variable")));
    }
    variables.insert(name.to_os_string(), value);
    Ok(())
}

/// A rank's place in the job.
#[derive(Debug, Clone)]
pub(crate) struct Place<'a> {
    /// Its rank.
    pub(crate) rank: usize,
    /// The number of ranks.
    pub(crate) size: usize,
    /// Its place among the ranks of this machine, and how many these are.
    pub(crate) local: (usize, usize),
    /// The number of CPUs that the ranks share.
    pub(crate) cpus: usize,
    /// The job's name.
    pub(crate) job: &'a str,
    /// This machine's name.
    pub(crate) host: &'a str,
    /// The address by which it was reached, if that is known.
    pub(crate) route: Option<IpAddr>,
    /// The descriptors of its PMI and control sockets.
    pub(crate) sockets: [i32; 2],
    /// Where mpirun is reached when these are lost, if it can be.
    pub(crate) address: Option<Address>,
    /// Whether it is to send its lines of the report.
    pub(crate) report: bool,
    /// The name of its standard output, if that is to go line by line.
    pub(crate) lines: Option<String>,
}

/// Adds what tells a rank its place.
pub(crate) fn add_place(variables: &mut Environment, place: &Place) {
    let Place {
        rank, size, local: (local, locals), cpus, job, host, route, sockets, address, ..
    } = place;
    let [pmi, control] = sockets;
    let mut put = |name: &str, value: String| {
        variables.insert(name.into(), value.into());
    };
    put("PMI_FD", pmi.to_string());
    put("PMI_RANK", rank.to_string());
    put("PMI_SIZE", size.to_string());
    put("PMI_HOSTNAME", host.to_string());
    for name in ["MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_RANK"] {
        put(name, local.to_string());
    }
    for name in ["MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE", "MV2_COMM_WORLD_LOCAL_SIZE"] {
        put(name, locals.to_string());
    }
    put("OMPI_COMM_WORLD_NODE_RANK", local.to_string());
    for name in ["OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK"] {
        put(name, rank.to_string());
    }
    for name in ["OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE", "OMPI_UNIVERSE_SIZE"] {
        put(name, size.to_string());
    }
    put(address::JOB, job.to_string());
    put(launch_wire::control::VARIABLE, control.to_string());
    if let Some(address) = address {
        put(address::VARIABLE, address.to_text());
    }
    put("_FERRITE_USABLE_CPUS", cpus.to_string());
    if let Some(route) = route {
        put(route::VARIABLE, route.to_string());
    }
    if place.report {
        put("_FERRITE_REPORT", "1".to_string());
    }
    match &place.lines {
        Some(pipe) => put(launch_wire::LINES, pipe.clone()),
        // That of a job which mpirun itself belongs to.
        None => drop(variables.remove(OsStr::new(launch_wire::LINES))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(line: &str) -> Result<Environment, Refusal> {
        let words = line.split_whitespace().map(OsString::from).collect();
        let request = crate::options::parse(words).unwrap();
        let have = [("PATH", "/bin"), ("A", "1"), ("B", "2"), ("PMI_FD", "9"), ("PMIX_RANK", "0")];
        let inherited = have.map(|(name, value)| (name.into(), value.into())).into();
        of_segment(&inherited, &request.global, &request.segments[0].options)
    }

    fn names(line: &str) -> String {
        let made = made(line).unwrap();
        made.iter().map(|(n, v)| format!("{}={} ", n.display(), v.display())).collect()
    }

    #[test]
    fn what_passes_and_what_does_not() {
        assert_eq!(names("prog"), "A=1 B=2 PATH=/bin ");
        assert_eq!(names("-genvnone -x A prog"), "A=1 ");
        assert_eq!(names("-genvlist PATH,B prog"), "B=2 PATH=/bin ");
        assert_eq!(names("-genvnone -envall prog"), "A=1 B=2 PATH=/bin ");
        assert_eq!(names("-envlist A -env C 3 -genv D=4 prog"), "A=1 C=3 D=4 ");
        assert_eq!(names("-genv A 5 -env A 6 -x A=7 -envlist A prog"), "A=7 ");
    }

    #[test]
    fn wrong_names_are_refused_and_missing_ones_left_out() {
        assert!(made("-x =5 prog").is_err());
        assert_eq!(names("-x NOT_THERE -x B -genvnone prog"), "B=2 ");
    }

    #[test]
    fn lists_of_srun() {
        assert_eq!(names("--export=ALL,C=x,B prog"), "A=1 B=2 C=x PATH=/bin ");
        assert_eq!(names("--export=ALL prog"), "A=1 B=2 PATH=/bin ");
        assert_eq!(names("--export=NONE,B prog"), "B=2 ");
        assert_eq!(names("-x C=x,y prog"), "A=1 B=2 C=x,y PATH=/bin ");
    }
}
