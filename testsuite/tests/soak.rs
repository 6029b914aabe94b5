//! Random traffic with every word checked: `testsuite/soak`, on several numbers of ranks.
//!
//! The short test plays the first rounds of one seed. The long one, ten minutes of new seeds, runs with
//! `cargo xtask soak` and `cargo xtask test --all`; SOAK_MINUTES and SOAK_SEED, which `cargo xtask
//! soak` sets, change its length and make it play a certain seed. A complaint names seed and round:
//! `mpirun -n RANKS soak --seed SEED --from ROUND --rounds 1` plays that round again.

use std::env;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{SystemTime, UNIX_EPOCH};
use testsuite::prefix::{Prefix, clean};
use testsuite::traffic;

/// Numbers of ranks: a pair, an odd number, and more than most machines of developers have cores.
const RANKS: [u32; 4] = [2, 3, 4, 8];

/// Minutes of the long test, if nobody says otherwise.
const MINUTES: f64 = 10.0;

/// Runs a command that must succeed; what it printed.
fn told(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().expect("a command that starts");
    let (stdout, stderr) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(status.success(), "{command:?}: {status}\n{stdout}{stderr}");
    stdout.into_owned()
}

/// Plays; `words` say how long and which seed. A job that hangs is ended well after its time.
fn soak(seconds: f64, words: impl Fn(u32) -> Vec<String>) {
    let prefix = Prefix::find().expect("a prefix");
    let folder = tempfile::tempdir().expect("a folder");
    let program = traffic::compile(&prefix, folder.path()).expect("a program");
    for ranks in RANKS {
        let mut command = clean(Path::new("timeout"));
        command.args(["--kill-after=10", &format!("{:.0}", seconds + 120.0)]);
        command.arg(prefix.bin("mpirun")).arg("-n").arg(ranks.to_string()).arg(&program);
        command.args(["--seconds", &seconds.to_string()]).args(words(ranks));
        let said = told(&mut command);
        assert!(said.starts_with("ok: "), "{said}");
        println!("{ranks} ranks: {}", said.trim_end());
    }
}

#[test]
fn random_traffic_arrives_as_it_was_sent() {
    soak(60.0, |ranks| ["--seed", &ranks.to_string(), "--rounds", "60"].map(String::from).to_vec());
}

#[test]
#[ignore = "takes ten minutes"]
fn random_traffic_arrives_for_ten_minutes() {
    let minutes = env::var("SOAK_MINUTES").map_or(MINUTES, |text| text.parse().expect("minutes"));
    let clock = || SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock").as_secs();
    let seed = env::var("SOAK_SEED").map_or_else(|_| clock(), |text| text.parse().expect("a seed"));
    let each = minutes * 60.0 / RANKS.len() as f64;
    soak(each, |ranks| vec!["--seed".into(), (seed + u64::from(ranks)).to_string()]);
}
