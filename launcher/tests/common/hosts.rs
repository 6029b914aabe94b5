//! Hosts to run on that are this machine: network namespaces joined by cables (veth), made and
//! removed by the test. Needs root and a kernel that lets us; where that is missing, the test says so
//! and is counted as skipped.

use super::good;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Hosts `a`, `b`, … that reach each other at 10.77.0.1, 10.77.0.2, … over a bridge in the first.
pub(crate) struct Hosts {
    prefix: String,
    count: usize,
    place: tempfile::TempDir,
}

fn ip(words: &str) -> Output {
    Command::new("ip").args(words.split_whitespace()).output().unwrap()
}

/// Notes that a test was skipped, for who runs it and for the count of skipped tests.
pub(crate) fn skipped(test: &str, why: &str) {
    eprintln!("skipped: {test}: {why}");
    if let Some(file) = std::env::var_os("FERRITE_TEST_SKIPPED") {
        let mut file = OpenOptions::new().append(true).create(true).mode(0o644).open(file).unwrap();
        writeln!(file, "{test}: {why}").unwrap();
    }
}

impl Hosts {
    /// Makes `count` hosts, or tells why `test` is skipped.
    pub(crate) fn make(test: &str, count: usize) -> Option<Hosts> {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let prefix = format!("fe{}-{number}", std::process::id());
        let first = match Command::new("ip").args(["netns", "add", &format!("{prefix}a")]).output()
        {
            Err(error) => Err(format!("there is no ip command ({error})")),
            Ok(made) if !made.status.success() => {
                Err(String::from_utf8_lossy(&made.stderr).trim().to_string())
            }
            Ok(_) => Ok(()),
        };
        if let Err(why) = first {
            skipped(test, &format!("network namespaces cannot be made: {why}"));
            return None;
        }
        let hosts = Hosts { prefix, count, place: tempfile::tempdir().unwrap() };
        let bridge = hosts.name(0);
        good(&ip(&format!("-n {bridge} link add br0 type bridge")));
        good(&ip(&format!("-n {bridge} addr add 10.77.0.1/24 dev br0")));
        for link in ["br0", "lo"] {
            good(&ip(&format!("-n {bridge} link set {link} up")));
        }
        for host in 1..count {
            let name = hosts.name(host);
            good(&ip(&format!("netns add {name}")));
            good(&ip(&format!(
                "-n {name} link add eth0 type veth peer name p{host} netns {bridge}"
            )));
            good(&ip(&format!("-n {name} addr add 10.77.0.{}/24 dev eth0", host + 1)));
            for link in ["eth0", "lo"] {
                good(&ip(&format!("-n {name} link set {link} up")));
            }
            good(&ip(&format!("-n {bridge} link set p{host} master br0")));
            good(&ip(&format!("-n {bridge} link set p{host} up")));
        }
        Some(hosts)
    }

    /// The name of a host's namespace.
    pub(crate) fn name(&self, host: usize) -> String {
        format!("{}{}", self.prefix, char::from(b'a' + u8::try_from(host).unwrap()))
    }

    /// All of them as a list for `-H`, with these slots.
    pub(crate) fn list(&self, slots: usize) -> String {
        let entries = (0..self.count).map(|host| format!("{}:{slots}", self.name(host)));
        entries.collect::<Vec<_>>().join(",")
    }

    /// A command in the place of ssh.
    pub(crate) fn launcher(&self) -> String {
        let file: PathBuf = self.place.path().join("in-namespace");
        let text = "#!/bin/sh\nhost=$1\nshift\nexec ip netns exec \"$host\" \"$@\"\n";
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        file.to_str().unwrap().to_string()
    }

    /// Pulls the cable of a host.
    pub(crate) fn cut(&self, host: usize) {
        good(&ip(&format!("-n {} link set eth0 down", self.name(host))));
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for host in 0..self.count {
            let name = self.name(host);
            // Deleting the name does not end what runs there.
            let pids = ip(&format!("netns pids {name}")).stdout;
            for pid in String::from_utf8_lossy(&pids).split_whitespace() {
                let _ = Command::new("kill").args(["-9", pid]).status();
            }
            ip(&format!("netns del {name}"));
        }
    }
}
