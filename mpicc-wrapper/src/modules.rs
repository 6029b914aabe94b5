//! The Fortran modules, compiled on first use (MPI-5.0 §19.1.2, §19.1.3).
//!
//! What a compiler writes for a module only that version of it reads. So the prefix holds the
//! sources, and this compiles them for each compiler and version that asks, into a folder of its
//! own: in the prefix if that can be written to, else in the user's cache. A folder is filled
//! under another name and then renamed, so that of many wrappers at once (`make -j`) each sees a
//! whole one or none.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{self, Command, Stdio};

use crate::place::Prefix;

/// The sources, in the order of their dependence.
const SOURCES: &[&str] = &["ferrite_mpi_types.F90", "mpi.F90", "mpi_f08.F90"];

/// The constants of `mpi_f08` that the compiler keeps in memory.
pub(crate) const ARCHIVE: &str = "ferrite_fortran";

/// The variable that names the folder for modules.
const CACHE: &str = "MPIFORT_CACHE";

/// The folder with the modules for `compiler`, filled if need be.
pub(crate) fn ready(
    compiler: &[OsString],
    prefix: &Prefix,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<PathBuf, String> {
    let key = key(compiler, prefix)?;
    let roots = roots(prefix, variable);
    if let Some(there) = roots.iter().map(|root| root.join(&key)).find(|dir| dir.is_dir()) {
        return Ok(there);
    }
    let mut refused = Vec::new();
    for root in &roots {
        let new = root.join(format!(".{key}.{}", process::id()));
        if let Err(error) = fs::create_dir_all(&new) {
            refused.push(format!("{}: {error}", root.display()));
            continue;
        }
        let place = root.join(&key);
        let done = fill(compiler, prefix, &new).and_then(|()| settle(&new, &place));
        if done.is_err() || new.exists() {
            // Another wrapper was first, or the compiler failed; either way this one goes.
            let _ = fs::remove_dir_all(&new);
        }
        return done.map(|()| place);
    }
    Err(format!(
        "there is no place for compiled modules ({}); name a folder in {CACHE}",
        refused.join("; ")
    ))
}

/// Where compiled modules may be, the first that works.
fn roots(prefix: &Prefix, variable: &dyn Fn(&str) -> Option<String>) -> Vec<PathBuf> {
    let given = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(named) = given(CACHE) {
        return vec![named];
    }
    let mut roots = vec![prefix.lib().join("ferrite/modules")];
    let cache = given("XDG_CACHE_HOME").or_else(|| Some(given("HOME")?.join(".cache")));
    roots.extend(cache.map(|cache| cache.join("ferrite/modules")));
    roots
}

/// A name for this compiler in this version, with the options that belong to its name
/// (`gfortran -fdefault-real-8`), which modules are compiled with, and with these sources.
fn key(compiler: &[OsString], prefix: &Prefix) -> Result<String, String> {
    let (program, arguments) = compiler.split_first().ok_or("the compiler's name is empty")?;
    let output = Command::new(program).args(arguments).arg("--version").output();
    let output = output.map_err(|error| {
        format!(
            "the compiler `{}` cannot be started: {error}; install it, or name another one in \
             MPIFORT_FC or with -fc=",
            program.to_string_lossy()
        )
    })?;
    let mut hash = Fnv::new();
    hash.add(&output.stdout);
    for argument in arguments {
        hash.add(argument.as_bytes());
        hash.add(b"\0");
    }
    for source in SOURCES {
        let file = prefix.include().join(source);
        let text = fs::read(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        hash.add(&text);
    }
    let name = Path::new(program).file_name().unwrap_or(program).to_string_lossy();
    Ok(format!("{name}-{:016x}", hash.0))
}

/// The hash of Fowler, Noll and Vo: the same in every build of this wrapper.
struct Fnv(u64);

impl Fnv {
    fn new() -> Fnv {
        Fnv(0xcbf2_9ce4_8422_2325)
    }

    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
}

/// Compiles the modules in the folder `new`.
fn fill(compiler: &[OsString], prefix: &Prefix, new: &Path) -> Result<(), String> {
    let (program, arguments) = compiler.split_first().ok_or("the compiler's name is empty")?;
    let mut objects = Vec::new();
    for source in SOURCES {
        let object = format!("{source}.o");
        let mut command = Command::new(program);
        command.args(arguments).args(["-O1", "-fPIC", "-c", "-o", &object]);
        command.arg(prefix.include().join(source)).current_dir(new);
        run(command, source)?;
        objects.push(object);
    }
    let mut ar = Command::new("ar");
    ar.arg("rcs").arg(format!("lib{ARCHIVE}.a")).args(&objects).current_dir(new);
    run(ar, ARCHIVE)?;
    for object in objects {
        fs::remove_file(new.join(object)).map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn run(mut command: Command, what: &str) -> Result<(), String> {
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("{:?}: {error}", command.get_program()))?;
    if output.status.success() {
        return Ok(());
    }
    let told = String::from_utf8_lossy(&output.stderr);
    Err(format!("{:?} could not make {what}:\n{told}", command.get_program()))
}

/// Gives a filled folder its name, unless another wrapper was first.
fn settle(new: &Path, place: &Path) -> Result<(), String> {
    match fs::rename(new, place) {
        Err(_) if place.is_dir() => Ok(()),
        Err(error) => Err(format!("{}: {error}", place.display())),
        Ok(()) => Ok(()),
    }
}
