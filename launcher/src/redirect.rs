//! The right library in front of whatever libmpi a rank or its descendants ask for.
//!
//! Our `lib/` lies beside our `bin/`. It goes first in LD_LIBRARY_PATH, and a module for the dynamic
//! loader (`launcher/audit`) redirects the known library names there where a program has an RPATH,
//! or opens a library by its path. Decision 31 in `docs/decisions.md` says why it is this module.

use crate::env::Environment;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The folder of our libraries, if mpirun is part of an installed prefix.
pub(crate) fn library_folder() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    let lib = program.parent()?.parent()?.join("lib");
    lib.join("libmpi_abi.so.1").exists().then_some(lib)
}

/// The loader module below the folder of our libraries.
const MODULE: &str = "ferrite/libferrite_audit.so";

/// The variable that tells the module where our libraries are (`launcher/audit/src/lib.rs` reads it).
const FOLDER: &str = "_FERRITE_LIBRARIES";

/// Adds to the variables of a rank what puts the libraries in `lib` in front.
pub(crate) fn put_in_front(variables: &mut Environment, lib: &Path) {
    put_first(variables, "LD_LIBRARY_PATH", lib.as_os_str());
    let module = lib.join(MODULE);
    if module.exists() {
        put_first(variables, "LD_AUDIT", module.as_os_str());
        variables.insert(OsString::from(FOLDER), lib.into());
        make_room(variables);
        let mut options = variables.remove(OsStr::new(VALGRIND)).unwrap_or_default();
        options.push(" --run-libc-freeres=no");
        variables.insert(OsString::from(VALGRIND), options);
    }
}

/// Options for valgrind. At a program's end it frees what the C library keeps, which goes wrong under
/// any auditor and would be reported as an error of the program.
const VALGRIND: &str = "VALGRIND_OPTS";

/// What tells the C library how it is tuned, and the bytes that it keeps in each thread for
/// thread-local variables of libraries that come late.
const TUNABLES: &str = "GLIBC_TUNABLES";
const LATE: &str = "glibc.rtld.optional_static_tls";

/// With an auditor the loader lays out the threads' variables before it has seen the program, so all
/// its libraries come late, and the usual 512 bytes are soon gone. With 10 KiB threads of the
/// smallest stack, 16 KiB, still start; with 12 KiB they do not. The thread sanitizer wants 768 KiB
/// and still finds no room: its programs need `--no-redirect`.
fn make_room(variables: &mut Environment) {
    let tunables = variables.entry(OsString::from(TUNABLES)).or_default();
    if !tunables.to_string_lossy().contains(LATE) {
        let separator = if tunables.is_empty() { "" } else { ":" };
        tunables.push(format!("{separator}{LATE}=10240"));
    }
}

/// What to know where the C library is of `version` and loader modules are in use: until 2.35 it went
/// a long way through the loader for each call into a library, even for a module that did not ask
/// for it.
pub(crate) fn caution(version: &str) -> Option<String> {
    let mut numbers = version.split('.').map(|part| part.parse::<u32>().ok());
    let version_is_old = (numbers.next()??, numbers.next()??) < (2, 35);
    version_is_old.then(|| {
        format!(
            "calls into libraries are slowed down by C library {version} while libraries are \
             redirected; programs that find Ferrite by themselves can do with --no-redirect"
        )
    })
}

/// Puts `entry` before the other entries of a list separated by colons, where it is not yet.
fn put_first(variables: &mut Environment, name: &str, entry: &OsStr) {
    let mut list = entry.to_os_string();
    if let Some(old) = variables.get(OsStr::new(name)).filter(|old| !old.is_empty()) {
        list.push(":");
        list.push(old);
    }
    variables.insert(OsString::from(name), list);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_loaders_are_slow() {
        assert!(caution("2.31").is_some_and(|text| text.contains("2.31")));
        for version in ["2.35", "2.36", "3.0", "unknown", ""] {
            assert_eq!(caution(version), None);
        }
    }

    #[test]
    fn room_is_made_beside_what_the_user_tunes() {
        let tuned = |value: &str| {
            let mut variables = Environment::from([(TUNABLES.into(), value.into())]);
            make_room(&mut variables);
            variables[OsStr::new(TUNABLES)].clone()
        };
        assert_eq!(tuned(""), "glibc.rtld.optional_static_tls=10240");
        assert_eq!(tuned("a=1"), "a=1:glibc.rtld.optional_static_tls=10240");
        assert_eq!(tuned("glibc.rtld.optional_static_tls=1"), "glibc.rtld.optional_static_tls=1");
    }

    #[test]
    fn ours_comes_first() {
        let mut variables = Environment::new();
        put_first(&mut variables, "LD_LIBRARY_PATH", OsStr::new("/p/lib"));
        assert_eq!(variables[OsStr::new("LD_LIBRARY_PATH")], "/p/lib");
        put_first(&mut variables, "LD_LIBRARY_PATH", OsStr::new("/q/lib"));
        assert_eq!(variables[OsStr::new("LD_LIBRARY_PATH")], "/q/lib:/p/lib");
    }
}
