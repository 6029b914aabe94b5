//! Requests that cannot be served: one sentence, a status, and nothing started.

mod common;

use common::mpirun;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

fn refused(arguments: &[&str], status: i32, part: &str) {
    let ended = mpirun(arguments).end();
    assert_eq!(ended.status, status, "{arguments:?}: {}", ended.err);
    assert!(ended.err.contains(part), "{arguments:?}: no “{part}” in {}", ended.err);
    assert_eq!(ended.out, "", "{arguments:?}");
}

#[test]
fn requests() {
    refused(&[], 2, "no program");
    refused(&["-n", "0", "true"], 2, "at least one rank");
    refused(&["-n", "many", "true"], 2, "many");
    refused(&["-n", "99999999", "true"], 2, "more than one job may have");
    refused(&["-n", "-1", "true"], 2, "-1");
    refused(&["--tag-ouput", "true"], 2, "--tag-output");
    refused(&["-wdirr", "/", "true"], 2, "-wdir");
    refused(&["-wdir", "/no/such/place", "true"], 2, "/no/such/place");
    refused(&["-host", "n17:x", "true"], 2, "“x”");
    refused(&["-host", "n17", "--launcher", "no-such-ssh", "true"], 2, "no-such-ssh");
    refused(&["-host", "n17", "--launcher", "false", "true"], 2, "host n17 cannot be used");
    refused(&["--fanout", "0", "true"], 2, "from 1 to");
    refused(&["--map-by", "moon", "true"], 2, "ppr:N:node");
    refused(&["-f", "/no/such/hosts", "true"], 2, "/no/such/hosts");
    refused(&["--stdin", "4", "-n", "2", "true"], 2, "ranks 0 to 1");
    refused(&["--bind-to", "moon", "true"], 2, "core");
    refused(&["--bind-to", "core:many", "true"], 2, "core:4 for four cores");
    refused(&["--bind-to", "core:99999", "true"], 2, "ask for fewer");
    refused(&["--map-by", "slot:PE=99999", "true"], 2, "ask for fewer");
    refused(&["--map-by", "ppr:1:node:PE=99999", "true"], 2, "ask for fewer");
    refused(&["--bind-to", "core:2", "--map-by", "slot:PE=3", "true"], 2, "leave one of them out");
    refused(&["--rank-by", "node", "-H", "n17,n18", "-n", "2", "true"], 2, "--map-by node");
    refused(&["--rank-by", "slot", "--map-by", "node", "true"], 2, "--map-by slot");
    refused(&["--nooversubscribe", "-n", "30000", "true"], 2, "more than its");
    refused(&["--map-by", "slot:NOOVERSUBSCRIBE", "-H", "n17:2", "-n3", "true"], 2, "its 2 slots");
    refused(&["-n", "2", "-c", "1", "true"], 2, "leave one of them out");
    refused(&["-H", "n17:*", "true"], 2, "their number");
    refused(&["--rankfile", "ranks", "-n", "2", "true"], 2, "-H n1:2,n2:4");
    refused(&["-H", "localhost:0", "true"], 2, "nowhere to run");
    refused(&["--timeout", "never", "true"], 2, "never");
    refused(&["-n", "1", "true", ":"], 2, "no program");
}

#[test]
fn settings() {
    refused(&["-x", "FERRITE_SHM_LINES=5", "-n", "2", "true"], 2, "FERRITE_SHM_LANES");
    refused(&["-x", "FERRITE_SHM_LANES=many", "-n", "2", "true"], 2, "many");
    refused(&["--config", "/no/such.toml", "true"], 2, "/no/such.toml");
    refused(&["--config", "/no/such.toml", "--settings"], 2, "/no/such.toml");
}

#[test]
fn a_machine_without_room() {
    let script = format!("ulimit -n 64; exec {} -n 30 sleep 3600", common::MPIRUN);
    let ended = common::Run::of("sh", &["-c", &script]).end();
    assert_eq!(ended.status, 2);
    assert!(ended.err.contains("ulimit -n"), "{}", ended.err);
}

#[test]
fn programs() {
    let place = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8], mode: u32| {
        let file = place.path().join(name);
        fs::write(&file, bytes).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        file.to_str().unwrap().to_string()
    };
    refused(&["-n", "2", "no-such-program"], 127, "no-such-program");
    refused(&["-n", "2", "/no/such/program"], 127, "/no/such/program");
    refused(&["-n", "2", "/tmp"], 126, "directory");
    refused(&[&file("data", b"x", 0o644)], 126, "not executable");
    refused(&[&file("a.py", b"print(1)", 0o644)], 126, "python3");
    refused(&[&file("perl", b"#!/no/such/perl\n", 0o755)], 126, "/no/such/perl");
    let mut other = fs::read("/bin/true").unwrap();
    other[18..20].copy_from_slice(&22u16.to_le_bytes());
    refused(&[&file("s390", &other, 0o755)], 126, "s390x");
    let mut object = fs::read("/bin/true").unwrap();
    object[16..18].copy_from_slice(&1u16.to_le_bytes());
    refused(&[&file("a.o", &object, 0o755)], 126, "linked");
    // A second program that is wrong keeps the first from being started.
    refused(&["-n", "1", "echo", "started", ":", "-n", "1", "no-such-program"], 127, "no-such");
}

#[test]
fn a_task_of_a_step_without_a_process_manager_is_told_what_to_type() {
    fn step(c: &mut Command) -> &mut Command {
        c.env("SLURM_STEP_ID", "0").env("SLURM_PROCID", "1").env("SLURM_STEP_NUM_TASKS", "4")
    }
    let rank = common::rank_program();
    let refused = common::Run::of(&rank, &["exchange"]).with(step).end();
    assert_eq!(refused.status, 2);
    assert!(refused.err.contains(&format!("mpirun -n 4 {rank}")), "{}", refused.err);
    let alone = common::Run::of(&rank, &["exchange"]);
    let alone = alone.with(|c| step(c).env("FERRITE_SINGLETON", "1")).end();
    assert!(alone.out.starts_with("rank 0 of 1"), "{}", alone.out);
    // Under mpirun inside such a step the ranks are mpirun's.
    let inside = mpirun(&["-n", "2", &rank, "exchange"]).with(step).end();
    assert_eq!((inside.status, inside.out.lines().count()), (0, 2), "{}", inside.err);
}
