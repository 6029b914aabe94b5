//! The programs of the test suite on a library that a sanitizer has been built into.
//!
//! Enters: which sanitizer. Leaves: the tally of the programs. The library, the launcher and Rust's
//! own library are compiled anew, with the switches of a nightly compiler on the usual one, into a
//! folder and a prefix of their own. The runtime that comes with rustc goes into every program,
//! which is compiled by the system's compiler with the same checks: the two agree about the
//! runtime's functions, but each has its own, and only one of them can be in a process.
//!
//! A sanitizer sees one process. What it says of threads is about those of a rank or of mpirun; how
//! ranks share memory is checked by the models under loom.

use super::Missing;
use super::tools;
use crate::tally::{self, Tally};
use crate::{install, place, run};
use anyhow::{Context, Result, bail};
use std::env::{self, consts::ARCH};
use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// One sanitizer.
pub(super) struct Sanitizer {
    /// What compilers call it.
    name: &'static str,
    /// What its runtime is called.
    runtime: &'static str,
    /// The first words of what it reports.
    reports: &'static str,
    /// Programs that it cannot judge; each says why.
    skip: &'static [&'static str],
}

/// Accesses beyond objects and after their end, and memory that nobody can free any more.
pub(super) const ADDRESS: Sanitizer = Sanitizer {
    name: "address",
    runtime: "asan",
    reports: "ERROR: AddressSanitizer",
    skip: &[
        // The runtime's shadow is in the sizes that they measure.
        "brief on",
        "locked on",
        // It asks for memory that nobody has, which the runtime reports.
        "badargs on",
    ],
};

/// Accesses of two threads, one of them writing, that nothing orders.
pub(super) const THREAD: Sanitizer = Sanitizer {
    name: "thread",
    runtime: "tsan",
    reports: "WARNING: ThreadSanitizer",
    skip: &[
        "locked on",
        "badargs on",
        // Gigabytes, looked at byte by byte: two minutes.
        "enormous on",
    ],
};

/// What runs programs: on what the machine chooses, over TCP, and by each way of long messages.
const TESTS: [&str; 9] = [
    "test",
    "--package",
    "testsuite",
    "--test",
    "programs",
    "--test",
    "network_programs",
    "--test",
    "ways",
];

/// The compilers that the wrappers call.
const COMPILERS: [&str; 3] = ["cc", "c++", "gfortran"];

/// Builds the library, and runs all programs on it.
pub(super) fn programs(sanitizer: &Sanitizer) -> Result<Tally> {
    tools::sources()?;
    let folder = place::target().join(sanitizer.name);
    let compilers = compilers(sanitizer, &folder)?;
    let prefix = folder.join("ferrite");
    install::install_built(&prefix, &|cargo| instrument(sanitizer, &folder, cargo))?;
    let mut tally = Tally::check(finds(sanitizer, &prefix, &compilers)?);
    // Compiled first: the compilers of the programs are not the one that links for Rust.
    run::must(run::cargo().args(TESTS).arg("--no-run"))?;
    let mut cargo = run::cargo();
    cargo.args(TESTS).args(["--no-fail-fast", "--"]);
    cargo.args(sanitizer.skip.iter().flat_map(|name| ["--skip", name]));
    cargo.env("FERRITE_TEST_PREFIX", &prefix).env("PATH", before_others(&compilers)?);
    tally.add(tally::counted(&mut cargo)?);
    Ok(tally)
}

/// How cargo builds with the sanitizer: Rust's own library too, since its locks order accesses; and
/// quickly, since speed is not what is looked at.
fn instrument(sanitizer: &Sanitizer, folder: &Path, cargo: &mut Command) {
    cargo.args(["-Zbuild-std", "--target", &triple()]);
    cargo.env("RUSTC_BOOTSTRAP", "1").env("CARGO_TARGET_DIR", folder);
    cargo.env("RUSTFLAGS", format!("-Zsanitizer={}", sanitizer.name));
    cargo.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1");
    cargo.env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16");
}

fn triple() -> String {
    format!("{ARCH}-unknown-linux-gnu")
}

/// Makes compilers that check what they compile, by rustc's runtime; returns their folder.
fn compilers(sanitizer: &Sanitizer, folder: &Path) -> Result<PathBuf> {
    let Sanitizer { name, runtime, .. } = sanitizer;
    let libraries = tools::sysroot(None)?.join("lib/rustlib").join(triple()).join("lib");
    let from = libraries.join(format!("librustc-stable_rt.{runtime}.a"));
    if !from.exists() {
        return Err(Missing(format!("this rustc has no runtime {}", from.display())).into());
    }
    let compilers = folder.join("compilers");
    // Here the compilers look for their own runtime first.
    let instead = compilers.join("runtime");
    if compilers.exists() {
        fs::remove_dir_all(&compilers)?;
    }
    fs::create_dir_all(&instead)?;
    symlink(&from, instead.join(format!("lib{runtime}.a")))?;
    for compiler in COMPILERS {
        let real = run::which(compiler).with_context(|| format!("there is no {compiler}"))?;
        let script = compilers.join(compiler);
        let text = format!(
            "#!/bin/sh\nexec '{}' -fsanitize={name} -static-lib{runtime} '-B{}' \"$@\" -rdynamic\n",
            real.display(),
            instead.display()
        );
        fs::write(&script, text)?;
        fs::set_permissions(&script, Permissions::from_mode(0o755))?;
    }
    Ok(compilers)
}

/// PATH with this folder in front.
fn before_others(folder: &Path) -> Result<OsString> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = [folder.to_path_buf()].into_iter().chain(env::split_paths(&path));
    Ok(env::join_paths(folders)?)
}

/// Whether the sanitizer finds the fault that was planted for it, in an access that the library does
/// for a program. Without this a build that lost its checks would pass.
fn finds(sanitizer: &Sanitizer, prefix: &Path, compilers: &Path) -> Result<bool> {
    let Sanitizer { name, reports, .. } = sanitizer;
    let source = place::root().join(format!("testsuite/planted/{name}.c"));
    let program = compilers.join("planted");
    let path = before_others(compilers)?;
    let mut mpicc = Command::new(prefix.join("bin/mpicc"));
    mpicc.args(["-g", "-pthread", "-o"]).arg(&program).arg(&source).env("PATH", path);
    run::must(&mut mpicc)?;
    let mut mpirun = Command::new(prefix.join("bin/mpirun"));
    let output = mpirun.args(["--timeout", "60", "-n", "2"]).arg(&program).output()?;
    let told = String::from_utf8_lossy(&output.stderr);
    if output.status.success() || !told.contains(reports) {
        bail!("the fault in {} was not found:\n{told}", source.display());
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_passed_over_is_there() {
        for part in [ADDRESS.skip, THREAD.skip].concat() {
            let name = part.strip_suffix(" on").expect("the whole name of a program");
            let source = place::root().join(format!("testsuite/programs/{name}.c"));
            assert!(source.exists(), "{name} is no program");
        }
    }
}
