//! Firewalls, cuts and broken connections between hosts that are namespaces ([`Hosts`]).
//!
//! What a firewall does is done where a packet arrives, as a firewall of that host does it. It needs nftables
//! and a kernel that has its tables; a test that wants one asks [`Hosts::can_filter`] first.

use std::io::Write;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::hosts::{Hosts, skipped};

/// The table that holds all rules, in each host's own namespace.
const TABLE: &str = "ip faults";

/// What a firewall does with TCP that it does not let in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It drops it, and says nothing.
    Drop,
    /// It answers with a reset, as a host does on which nobody listens.
    Reset,
}

/// Runs a command on one of the hosts, with this as its input; what it says.
fn on(host: &str, words: &[&str], input: &str) -> Result<String> {
    let mut command = Command::new("ip");
    command.args(["netns", "exec", host]).args(words);
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().context("cannot start ip")?;
    child.stdin.take().context("its input is a pipe")?.write_all(input.as_bytes())?;
    let output = child.wait_with_output()?;
    if !output.status.success() {
        bail!("{words:?} on {host}: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

impl Hosts {
    /// Whether there can be firewalls here; if not, `test` counts as skipped.
    ///
    /// # Errors
    /// When the file of skipped tests cannot be written.
    pub fn can_filter(&self, test: &str) -> Result<bool> {
        let tried = self.rule(0, "in", "tcp dport 1 drop").and_then(|()| self.open_all(0));
        if let Err(why) = &tried {
            skipped(test, &format!("firewalls cannot be made: {why:#}"))?;
        }
        Ok(tried.is_ok())
    }

    /// Adds a rule for what comes "in" or goes "out".
    fn rule(&self, host: usize, way: &str, rule: &str) -> Result<()> {
        let chain = |name, hook| {
            format!(
                "add chain {TABLE} {name} {{ type filter hook {hook} priority 0; policy accept; }}\n"
            )
        };
        let chains = chain("in", "input") + &chain("out", "output");
        let rules = format!("add table {TABLE}\n{chains}add rule {TABLE} {way} {rule}\n");
        on(self.name(host), &["nft", "-f", "-"], &rules).map(drop)
    }

    /// From now on host `to` lets in no TCP of host `from` over a cable.
    ///
    /// # Errors
    /// When the kernel does not let us.
    pub fn bar(&self, from: usize, to: usize, cable: u8, verdict: Verdict) -> Result<()> {
        let does = match verdict {
            Verdict::Drop => "drop",
            // The answers to resets of its own are let in, else it would drop them.
            Verdict::Reset => "tcp flags & rst == 0 reject with tcp reset",
        };
        let rule = format!("ip saddr {} meta l4proto tcp {does}", self.address(from, cable));
        self.rule(to, "in", &rule)
    }

    /// From now on host `to` lets in nothing that host `from` sends over a cable, whatever the protocol.
    ///
    /// # Errors
    /// When the kernel does not let us.
    pub fn block(&self, from: usize, to: usize, cable: u8) -> Result<()> {
        self.rule(to, "in", &format!("ip saddr {} drop", self.address(from, cable)))
    }

    /// From now on one in so many packets is lost, by chance, of those that host `from` sends to host `to` over a
    /// cable: of each that would go over a wire, and not of the trains that the kernel makes of them.
    ///
    /// # Errors
    /// When the kernel does not let us.
    pub fn lose(&self, from: usize, to: usize, cable: u8, one_in: u32) -> Result<()> {
        let device = format!("cable{cable}");
        on(self.name(from), &["ip", "link", "set", &device, "gso_max_segs", "1"], "")?;
        let address = self.address(from, cable);
        let rule = format!("ip saddr {address} numgen random mod {one_in} 0 counter drop");
        self.rule(to, "in", &rule)
    }

    /// How many packets a host has lost that way.
    ///
    /// # Errors
    /// When the kernel does not tell.
    pub fn lost(&self, host: usize) -> Result<u64> {
        let rules = on(self.name(host), &["nft", "list", "ruleset"], "")?;
        let counts = rules.split("counter packets ").skip(1);
        Ok(counts.filter_map(|rest| rest.split(' ').next()?.parse::<u64>().ok()).sum())
    }

    /// From now on a byte is changed in every long packet of TCP that comes to host `to` from host `from` over a
    /// cable, so that the receiver's checksum does not tell; or in so many of them a second.
    ///
    /// # Errors
    /// When the kernel does not let us.
    pub fn alter(&self, from: usize, to: usize, cable: u8, a_second: Option<u32>) -> Result<()> {
        let limit = a_second
            .map_or(String::new(), |rate| format!("limit rate {rate}/second burst 1 packets"));
        // Behind the header, and not in the first words of a connection.
        let rule = format!(
            "ip saddr {} meta l4proto tcp meta length > 400 {limit} @th,1600,8 set 0x5a",
            self.address(from, cable)
        );
        self.rule(to, "in", &rule)
    }

    /// Takes away all that the firewall of a host bars.
    ///
    /// # Errors
    /// When the kernel does not let us.
    pub fn open_all(&self, host: usize) -> Result<()> {
        let rules = format!("add table {TABLE}\ndelete table {TABLE}\n");
        on(self.name(host), &["nft", "-f", "-"], &rules).map(drop)
    }

    /// Host `at` forgets its connections with another over a cable, and `tells` the other; else that one goes
    /// on believing in them.
    ///
    /// # Errors
    /// When the kernel does not let us.
    pub fn sever(&self, at: usize, other: usize, cable: u8, tells: bool) -> Result<()> {
        let address = self.address(other, cable);
        if !tells {
            let rule = format!("ip daddr {address} tcp flags & rst == rst drop");
            self.rule(at, "out", &rule)?;
        }
        on(self.name(at), &["ss", "-K", "-t", "dst", &address], "").map(drop)
    }

    /// Pulls the plug of a cable out of a host, or puts it in again. All hosts lose the cable with the first.
    ///
    /// # Errors
    /// When the kernel does not let us.
    pub fn plug(&self, host: usize, cable: u8, is_in: bool) -> Result<()> {
        let state = if is_in { "up" } else { "down" };
        let device = format!("cable{cable}");
        on(self.name(host), &["ip", "link", "set", &device, state], "").map(drop)
    }
}
