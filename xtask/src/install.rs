//! `cargo xtask install --prefix DIR`: a release build, laid out as `layout` says.
//!
//! Every file is made under another name beside its place and then renamed, so a program that
//! runs from the prefix keeps the old file and one that starts gets the old or the new one whole.
//! The prefix can be moved afterwards: nothing in it holds its own path.

use crate::layout::{self, Built, PkgConfig, Stub};
use crate::{place, run, setup};
use anyhow::{Context, Result, bail};
use std::collections::HashMap;
use std::env::consts::ARCH;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process;
use std::process::{Command, Stdio};

/// Builds and installs.
pub(crate) fn install(prefix: &Path) -> Result<()> {
    setup::can_build()?;
    install_built(prefix, &|_| ())
}

/// The same where `adapt` changes how cargo builds the faces and the programs. The auditor is
/// built as ever: it stands on no other library, so on no checker's either.
pub(crate) fn install_built(prefix: &Path, adapt: &dyn Fn(&mut Command)) -> Result<()> {
    let artifacts = build(adapt)?;
    let prefix = std::path::absolute(prefix)?;
    for built in layout::BUILT.iter().chain(auditor()) {
        let from = artifacts.get(built.to).with_context(|| {
            format!(
                "cargo built no {} named {}, package {}",
                built.kind, built.target, built.package
            )
        })?;
        replace(&prefix.join(built.to), |new| copy(from, new))?;
    }
    for (name, target) in layout::LINKS {
        replace(&prefix.join(name), |new| Ok(symlink(target, new)?))?;
    }
    let (name, text) = layout::LINKER_SCRIPT;
    replace(&prefix.join(name), |new| Ok(fs::write(new, text)?))?;
    for stub in layout::STUBS {
        let lib = prefix.join("lib");
        replace(&lib.join(stub.soname), |new| make_stub(stub, &lib, new))?;
    }
    headers(&prefix)?;
    for (name, text) in mpi_api::modules(place::root())? {
        replace(&prefix.join("include").join(name), |new| Ok(fs::write(new, &text)?))?;
    }
    for file in layout::PKG_CONFIGS {
        let place = prefix.join("lib/pkgconfig").join(format!("{}.pc", file.name));
        replace(&place, |new| Ok(fs::write(new, pkg_config(file))?))?;
    }
    println!("installed: {}", place::shown(&prefix));
    Ok(())
}

/// Builds in release mode; returns, for each place in the prefix, the file that goes there.
fn build(adapt: &dyn Fn(&mut Command)) -> Result<HashMap<&'static str, PathBuf>> {
    let mut packages: Vec<&str> = layout::BUILT.iter().map(|built| built.package).collect();
    packages.dedup();
    let mut cargo = run::cargo();
    cargo.args(["build", "--release", "--message-format=json-render-diagnostics"]);
    cargo.args(packages.iter().flat_map(|package| ["--package", package]));
    adapt(&mut cargo);
    let mut artifacts = HashMap::new();
    collect(cargo, layout::BUILT, &mut artifacts)?;
    match auditor() {
        Some(auditor) => {
            let mut cargo = run::cargo();
            cargo.args(["rustc", "--release", "--message-format=json-render-diagnostics"]);
            cargo.args(["--package", auditor.package, "--lib", "--crate-type", auditor.kind]);
            cargo.arg("--").args(layout::AUDITOR_FLAGS.split_whitespace());
            collect(cargo, std::slice::from_ref(auditor), &mut artifacts)?;
        }
        None => println!(
            "note: on {ARCH} mpirun puts the libraries in front by LD_LIBRARY_PATH alone, which does \
             not reach programs with an RPATH; the loader's module is written for {}",
            layout::AUDITOR_RUNS_ON.join(" and ")
        ),
    }
    Ok(artifacts)
}

/// The module for the loader, where it is written for this processor.
fn auditor() -> Option<&'static Built> {
    layout::AUDITOR_RUNS_ON.contains(&ARCH).then_some(&layout::AUDITOR)
}

/// Runs a build by cargo and notes which of the `wanted` files it made.
fn collect(
    mut cargo: Command,
    wanted: &[Built],
    artifacts: &mut HashMap<&'static str, PathBuf>,
) -> Result<()> {
    println!("$ {}", run::spelled(&cargo));
    let output = cargo.stderr(Stdio::inherit()).output().context("cannot start cargo")?;
    if !output.status.success() {
        bail!("the release build failed; the compiler's words are above");
    }
    for line in output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let message: serde_json::Value = serde_json::from_slice(line)?;
        for built in wanted.iter().filter(|built| is(&message, built)) {
            if let Some(file) = message["filenames"][0].as_str() {
                artifacts.insert(built.to, PathBuf::from(file));
            }
        }
    }
    Ok(())
}

/// Whether cargo's message announces this artifact.
fn is(message: &serde_json::Value, built: &Built) -> bool {
    message["reason"] == "compiler-artifact"
        && message["target"]["name"] == built.target
        && message["target"]["kind"][0] == built.kind
}

/// Makes `place` anew: `make` writes a file of another name beside it, which then takes its name.
fn replace(place: &Path, make: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let dir = place.parent().context("a place in the prefix has a folder")?;
    fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
    let name = place.file_name().context("a place in the prefix has a name")?.to_string_lossy();
    let new = dir.join(format!(".{name}.{}", process::id()));
    let made = make(&new).and_then(|()| Ok(fs::rename(&new, place)?));
    if made.is_err() && new.symlink_metadata().is_ok() {
        fs::remove_file(&new)?;
    }
    made.with_context(|| format!("cannot install {}", place.display()))
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to).with_context(|| format!("cannot copy {}", from.display()))?;
    Ok(())
}

/// Links a library that holds nothing but its own name and the need for its face.
fn make_stub(stub: &Stub, lib: &Path, file: &Path) -> Result<()> {
    let mut cc = run::command("cc");
    cc.args(["-shared", "-nostdlib", "-Wl,--no-as-needed", "-Wl,--enable-new-dtags"]);
    cc.arg(format!("-Wl,-soname,{}", stub.soname));
    cc.arg("-Wl,-rpath,$ORIGIN").arg("-o").arg(file).arg("-L").arg(lib);
    cc.arg(format!("-l:{}", stub.of));
    // The face's own needs (libc) are not this link's business.
    cc.arg("-Wl,--allow-shlib-undefined");
    let status = cc.status().context("cannot start cc; `cargo xtask setup` installs it")?;
    if !status.success() {
        bail!("cc could not link the alias {}", stub.soname);
    }
    Ok(())
}

/// Copies `include/`.
fn headers(prefix: &Path) -> Result<()> {
    let include = place::root().join("include");
    let entries =
        fs::read_dir(&include).with_context(|| format!("cannot read {}", include.display()))?;
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            let to = prefix.join("include").join(entry.file_name());
            replace(&to, |new| copy(&entry.path(), new))?;
        }
    }
    Ok(())
}

/// The text of a .pc file, relative to where it lies. Who wants no run path asks pkg-config with
/// `--define-variable=runpath=`.
fn pkg_config(file: &PkgConfig) -> String {
    format!(
        "prefix=${{pcfiledir}}/../..\n\
         libdir=${{prefix}}/lib\n\
         includedir=${{prefix}}/include\n\
         runpath=-Wl,-rpath,${{libdir}} -Wl,--enable-new-dtags\n\
         \n\
         Name: {}\n\
         Description: {}\n\
         Version: {}\n\
         Cflags: -I${{includedir}}\n\
         Libs: -L${{libdir}} ${{runpath}} -lmpi_abi\n",
        file.name,
        file.description,
        env!("CARGO_PKG_VERSION"),
    )
}
