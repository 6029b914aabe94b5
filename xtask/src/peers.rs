//! `cargo xtask peers`: the libraries that we are compared with, each in an environment of its own.
//!
//! Enters: the pins of `testsuite/peers.toml`. Leaves: `target/peers/NAME`, a Python virtual
//! environment with those packages. One that has its pins already is left as it is.

use crate::{place, run};
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// One environment.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Peer {
    /// Requirements as pip reads them, with exact versions.
    packages: Vec<String>,
    /// What it is for.
    why: String,
}

/// Makes the environments of these names, or all.
pub(crate) fn peers(names: &[String]) -> Result<()> {
    let file = place::root().join("testsuite/peers.toml");
    let text = fs::read_to_string(&file).context("cannot read testsuite/peers.toml")?;
    let pins: BTreeMap<String, Peer> = toml::from_str(&text).context("in testsuite/peers.toml")?;
    if let Some(unknown) = names.iter().find(|name| !pins.contains_key(*name)) {
        let known: Vec<&str> = pins.keys().map(String::as_str).collect();
        bail!("there is no peer {unknown}; testsuite/peers.toml has {}", known.join(", "));
    }
    for (name, peer) in &pins {
        if names.is_empty() || names.contains(name) {
            environment(name, peer).with_context(|| format!("the environment of {name}"))?;
        }
    }
    Ok(())
}

fn environment(name: &str, peer: &Peer) -> Result<()> {
    if let Some(loose) = peer.packages.iter().find(|package| !package.contains("==")) {
        bail!("{loose} has no exact version");
    }
    let dir = place::target().join("peers").join(name);
    let stamp = dir.join("pins");
    let wanted = peer.packages.join("\n");
    if fs::read_to_string(&stamp).is_ok_and(|pins| pins == wanted) {
        println!("peers: {name} is here ({})", peer.packages.join(", "));
        return Ok(());
    }
    println!("peers: {name} is downloaded: {}", peer.why);
    if dir.exists() {
        fs::remove_dir_all(&dir)?;
    }
    run::must(run::command("python3").args(["-m", "venv"]).arg(&dir))?;
    let python = dir.join("bin/python");
    pip(&python, &peer.packages)?;
    fs::write(&stamp, wanted)?;
    Ok(())
}

fn pip(python: &Path, packages: &[String]) -> Result<()> {
    let mut pip = run::command(&python.to_string_lossy());
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(packages);
    run::must(&mut pip)
}
