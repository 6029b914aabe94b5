//! Hosts with several network cards each: network namespaces, joined by one switch for each card,
//! every card held to a rate in both directions. Needs root, `ip` and `tc`.

use crate::run;
use anyhow::{Context, Result, bail};
use std::process::Command;

/// Namespaces, removed when this is dropped. The first one is the switches'.
pub(super) struct Hosts {
    names: Vec<String>,
}

/// What a card lets through at once, so that packets need not come at exact times.
const BURST: &str = "16kb";
/// How long a packet may wait for its turn before the card drops it.
const QUEUE: &str = "400ms";

fn quietly(words: &str) -> Result<String> {
    let mut words = words.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or_default());
    let output = command.args(words).output().context("cannot start ip or tc")?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        bail!("{}: {why}", run::spelled(&command));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

impl Hosts {
    /// So many hosts with so many cards of this rate, as `tc` writes it.
    pub(super) fn make(count: u32, cards: u32, rate: &str) -> Result<Hosts> {
        let name = |number: u32| format!("rails{}-{number}", std::process::id());
        let hosts = Hosts { names: (0..=count).map(name).collect() };
        for name in &hosts.names {
            quietly(&format!("ip netns add {name}"))?;
            quietly(&format!("ip -n {name} link set lo up"))?;
        }
        for card in 0..cards {
            hosts.wire(card, rate)?;
        }
        Ok(hosts)
    }

    /// Joins the cards of this number of all hosts.
    fn wire(&self, card: u32, rate: &str) -> Result<()> {
        let switch = &self.names[0];
        quietly(&format!("ip -n {switch} link add switch{card} type bridge"))?;
        quietly(&format!("ip -n {switch} link set switch{card} up"))?;
        for (number, host) in self.names.iter().enumerate().skip(1) {
            let (near, far) = (format!("rail{card}"), format!("port{card}-{number}"));
            quietly(&format!("ip -n {host} link add {near} type veth peer {far} netns {switch}"))?;
            quietly(&format!("ip -n {switch} link set {far} master switch{card} up"))?;
            quietly(&format!("ip -n {host} addr add 10.78.{card}.{number}/24 dev {near}"))?;
            quietly(&format!("ip -n {host} link set {near} up"))?;
            for (space, device) in [(host, near), (switch, far)] {
                quietly(&format!(
                    "tc -n {space} qdisc add dev {device} root tbf rate {rate} burst {BURST} \
                     latency {QUEUE}"
                ))?;
            }
        }
        Ok(())
    }

    /// All of them for `mpirun -H`, one rank each.
    pub(super) fn list(&self) -> String {
        let hosts: Vec<String> = self.names[1..].iter().map(|name| format!("{name}:1")).collect();
        hosts.join(",")
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for name in &self.names {
            // Deleting the name does not end what runs there.
            let pids = quietly(&format!("ip netns pids {name}")).unwrap_or_default();
            for pid in pids.split_whitespace() {
                let _ = Command::new("kill").args(["-9", pid]).status();
            }
            let _ = quietly(&format!("ip netns del {name}"));
        }
    }
}
