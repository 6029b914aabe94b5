//! Hosts to run on that are this machine: network namespaces joined by cables (veth), made and
//! removed by the test that uses them.
//!
//! That needs root, iproute2 and a kernel that lets us. Where something is missing, the test passes
//! itself over, says so and is counted ([`skipped`]).

use anyhow::{Context, Result, bail};
use std::env;
use std::fs::OpenOptions;
use std::io::Write;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What takes the place of ssh: `mpirun --launcher` with these words reaches a host by its name.
pub const LAUNCHER: &str = "ip netns exec";

/// The variable that names the file in which skipped tests are counted.
const SKIPPED: &str = "FERRITE_TEST_SKIPPED";

/// Hosts that reach each other over one cable or several: cable `c` joins all of them, by a bridge
/// in the first, and host `h` (counted from 0) has the address `10.77.c.(h+1)` there.
#[derive(Debug)]
pub struct Hosts {
    names: Vec<String>,
}

/// Notes that a test was skipped, for who runs it and for the count at the end of all tests.
///
/// # Errors
/// When the file of skipped tests cannot be written.
pub fn skipped(test: &str, why: &str) -> Result<()> {
    println!("skipped: {test}: {why}");
    if let Some(file) = env::var_os(SKIPPED) {
        let mut file = OpenOptions::new().append(true).create(true).open(file)?;
        writeln!(file, "{test}: {why}")?;
    }
    Ok(())
}

/// Runs `ip` with these words.
fn ip(words: &str) -> Result<String> {
    let mut command = Command::new("ip");
    let output = command.args(words.split_whitespace()).output().context("cannot start ip")?;
    if !output.status.success() {
        bail!("ip {words}: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

impl Hosts {
    /// Makes so many hosts with so many cables; `None` where that cannot be done here, and `test`
    /// counts as skipped.
    ///
    /// # Errors
    /// When the file of skipped tests cannot be written.
    pub fn make(test: &str, count: u8, cables: u8) -> Result<Option<Hosts>> {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let letters = (b'a'..).take(count.into()).map(char::from);
        let names = letters.map(|letter| format!("fe{}-{number}{letter}", std::process::id()));
        // From here on whatever has been made is removed when this is dropped.
        let hosts = Hosts { names: names.collect() };
        if let Err(why) = hosts.build(cables) {
            skipped(test, &format!("hosts cannot be made of network namespaces: {why}"))?;
            return Ok(None);
        }
        Ok(Some(hosts))
    }

    /// Makes the namespaces and cables, as far as this machine lets us.
    fn build(&self, cables: u8) -> Result<()> {
        for name in &self.names {
            ip(&format!("netns add {name}"))?;
            // To make one and to be let in are two things, below a changed root for example.
            ip(&format!("netns exec {name} true"))?;
            ip(&format!("-n {name} link set lo up"))?;
        }
        (0..cables).try_for_each(|cable| self.lay(cable))
    }

    /// Joins all hosts by a cable.
    fn lay(&self, cable: u8) -> Result<()> {
        let bridge = self.name(0);
        ip(&format!("-n {bridge} link add cable{cable} type bridge"))?;
        for (host, name) in self.names.iter().enumerate() {
            if host > 0 {
                let plug = format!("plug{cable}-{host}");
                ip(&format!(
                    "-n {name} link add cable{cable} type veth peer name {plug} netns {bridge}"
                ))?;
                ip(&format!("-n {bridge} link set {plug} master cable{cable} up"))?;
            }
            let address = self.address(host, cable);
            ip(&format!("-n {name} addr add {address}/24 dev cable{cable}"))?;
            ip(&format!("-n {name} link set cable{cable} up"))?;
        }
        Ok(())
    }

    /// The name of a host: that of its namespace.
    pub fn name(&self, host: usize) -> &str {
        &self.names[host]
    }

    /// The address of a host on a cable.
    pub fn address(&self, host: usize, cable: u8) -> String {
        format!("10.77.{cable}.{}", host + 1)
    }

    /// All of them for `mpirun -H`, with so many ranks each.
    pub fn list(&self, slots: usize) -> String {
        let entries: Vec<String> =
            self.names.iter().map(|name| format!("{name}:{slots}")).collect();
        entries.join(",")
    }

    /// The processes that run on a host.
    ///
    /// # Errors
    /// When the kernel does not tell.
    pub fn pids(&self, host: usize) -> Result<Vec<u32>> {
        let pids = ip(&format!("netns pids {}", self.name(host)))?;
        Ok(pids.split_whitespace().filter_map(|pid| pid.parse().ok()).collect())
    }

    /// From now on nothing that a host sends reaches another over a cable, and nobody says so: as behind a firewall
    /// that drops.
    ///
    /// # Errors
    /// When the kernel does not let us.
    pub fn silence(&self, from: usize, to: usize, cable: u8) -> Result<()> {
        let (name, address) = (self.name(from), self.address(to, cable));
        let nobody = "02:00:00:00:77:77";
        ip(&format!(
            "-n {name} neigh replace {address} lladdr {nobody} nud permanent dev cable{cable}"
        ))
        .map(drop)
    }

    /// From now on a host knows no way to another over a cable.
    ///
    /// # Errors
    /// When the kernel does not let us.
    pub fn close_way(&self, from: usize, to: usize, cable: u8) -> Result<()> {
        let (name, address) = (self.name(from), self.address(to, cable));
        ip(&format!("-n {name} route add unreachable {address}/32")).map(drop)
    }

    /// Takes a cable away from a host other than the first.
    ///
    /// # Errors
    /// When it is not there.
    pub fn cut(&self, host: usize, cable: u8) -> Result<()> {
        ip(&format!("-n {} link del cable{cable}", self.name(host))).map(drop)
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for (host, name) in self.names.iter().enumerate() {
            // Deleting the name does not end what runs there.
            for pid in self.pids(host).unwrap_or_default() {
                let _ = Command::new("kill").args(["-9", &pid.to_string()]).status();
            }
            let _ = ip(&format!("netns del {name}"));
        }
    }
}
