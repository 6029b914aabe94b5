//! What checkers need beyond the toolchain: each function finds it, or installs it by rustup or
//! cargo, or says why it cannot be had.

use super::Missing;
use crate::{place, run};
use anyhow::Result;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The toolchain that has miri. Any of them will do, so one that is there is not made newer.
pub(super) const NIGHTLY: &str = "nightly";

/// The release of cargo-deny that `deny.toml` is written for.
const DENY: &str = "0.20.2";

/// The standard library for another processor.
pub(super) fn target(name: &str) -> Result<()> {
    let there = sysroot(None)?.join("lib/rustlib").join(name).join("lib");
    rustup(&there, &["target", "add", name])
}

/// The sources of the standard library, to be built in another way.
pub(super) fn sources() -> Result<()> {
    rustup(&library(&sysroot(None)?), &["component", "add", "rust-src"])
}

/// A toolchain with miri, and the library it interprets.
pub(super) fn miri() -> Result<()> {
    let complete = || {
        sysroot(Some(NIGHTLY))
            .is_ok_and(|sysroot| sysroot.join("bin/miri").exists() && library(&sysroot).exists())
    };
    let added = ["component", "add", "--toolchain", NIGHTLY, "miri", "rust-src"];
    let installed = ["toolchain", "install", NIGHTLY, "--profile", "minimal"];
    let installed = [&installed[..], &["--component", "miri", "--component", "rust-src"]].concat();
    if complete() || attempt(&added) && complete() || attempt(&installed) && complete() {
        return Ok(());
    }
    Err(unavailable("miri", &installed).into())
}

/// cargo-deny, which is built once.
pub(super) fn cargo_deny() -> Result<PathBuf> {
    let root = place::target().join("tools");
    let built = root.join("bin/cargo-deny");
    if built.exists() {
        return Ok(built);
    }
    if let Some(found) = run::which("cargo-deny") {
        return Ok(found);
    }
    let mut cargo = run::cargo();
    cargo.args(["install", "--quiet", "--locked", "--debug", "cargo-deny", "--version", DENY]);
    if run::shown(cargo.arg("--root").arg(&root))? {
        return Ok(built);
    }
    Err(Missing("cargo-deny is not here and cargo cannot install it".into()).into())
}

/// Where a toolchain lies.
pub(super) fn sysroot(toolchain: Option<&str>) -> Result<PathBuf> {
    let mut command = match toolchain {
        Some(toolchain) => {
            let mut rustup = run::command("rustup");
            rustup.args(["run", toolchain, "rustc"]);
            plain(&mut rustup);
            rustup
        }
        None => run::command("rustc"),
    };
    match run::output(command.args(["--print", "sysroot"])) {
        Some(told) => Ok(PathBuf::from(told.trim())),
        None => {
            Err(Missing(format!("there is no toolchain {}", toolchain.unwrap_or("here"))).into())
        }
    }
}

fn library(sysroot: &Path) -> PathBuf {
    sysroot.join("lib/rustlib/src/rust/library/Cargo.lock")
}

/// A command that another toolchain answers than the one that runs us.
pub(super) fn plain(command: &mut Command) {
    for name in ["CARGO", "RUSTC", "RUSTDOC", "RUSTUP_TOOLCHAIN"] {
        command.env_remove(name);
    }
}

/// Runs rustup with these words unless `there` exists.
fn rustup(there: &Path, words: &[&str]) -> Result<()> {
    if there.exists() || attempt(words) && there.exists() {
        return Ok(());
    }
    Err(unavailable(words.last().unwrap_or(&"it"), words).into())
}

fn attempt(words: &[&str]) -> bool {
    run::which("rustup").is_some()
        && run::shown(run::command("rustup").args(words)).unwrap_or(false)
}

fn unavailable(what: &str, words: &[&str]) -> Missing {
    Missing(format!("{what} is not here, and `rustup {}` cannot get it", words.join(" ")))
}
