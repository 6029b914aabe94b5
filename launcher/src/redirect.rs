//! The right library in front of whatever libmpi a rank or its descendants ask for.
//!
//! Our `lib/` lies beside our `bin/`. It goes first in LD_LIBRARY_PATH, and a module for the dynamic
//! loader (`launcher/audit`) redirects the known library names there where a program has an RPATH,
//! or opens a library by its path. Decision 31 says why it is this module.

use crate::env::Environment;
use crate::libraries::Places;
use crate::static_tls;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The folder of our libraries, if mpirun is part of an installed prefix.
pub(crate) fn library_folder() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    let lib = program.parent()?.parent()?.join("lib");
    lib.join(STANDARD).exists().then_some(lib)
}

/// The library with the standard ABI.
const STANDARD: &str = "libmpi_abi.so.1";

/// The loader module below the folder of our libraries.
const MODULE: &str = "ferrite/libferrite_audit.so";

/// The variables that tell the module where our libraries are, and which of them is meant where no
/// other has been loaded and a program opens `libmpi.so` (`launcher/audit/src/lib.rs` reads them).
const FOLDER: &str = "_FERRITE_LIBRARIES";
const USUAL: &str = "_FERRITE_LIBMPI";

/// Adds to the variables of a rank what puts the libraries in `lib` in front of those that `program`
/// and what it starts ask for.
pub(crate) fn put_in_front(variables: &mut Environment, lib: &Path, program: &Path) {
    let places = Places::of(variables);
    put_first(variables, "LD_LIBRARY_PATH", lib.as_os_str());
    let module = lib.join(MODULE);
    if module.exists() {
        put_first(variables, "LD_AUDIT", module.as_os_str());
        variables.insert(OsString::from(FOLDER), lib.into());
        let usual = places.usual_mpi(lib).unwrap_or(STANDARD);
        variables.insert(OsString::from(USUAL), usual.into());
        let preloaded = variables.get(OsStr::new("LD_PRELOAD")).cloned().unwrap_or_default();
        make_room(variables, static_tls::of_libraries(program, &preloaded, &places));
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
/// its libraries come late, and the usual 512 bytes are soon gone. With `ROOM` threads of the
/// smallest stack, 16 KiB, still start; with 12 KiB they do not. A program whose libraries alone
/// have more (the thread sanitizer: 768 KiB) has no such threads anyway, and `MORE` is for libraries
/// that are opened while it runs.
const ROOM: u64 = 10 * 1024;
const MORE: u64 = 2 * 1024;

/// Makes room for `known` bytes of the program's libraries, and for those that come later.
fn make_room(variables: &mut Environment, known: u64) {
    let bytes = ROOM.max(known.saturating_add(MORE));
    let tunables = variables.entry(OsString::from(TUNABLES)).or_default();
    if !tunables.to_string_lossy().contains(LATE) {
        let separator = if tunables.is_empty() { "" } else { ":" };
        tunables.push(format!("{separator}{LATE}={bytes}"));
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
        let tuned = |value: &str, known: u64| {
            let mut variables = Environment::from([(TUNABLES.into(), value.into())]);
            make_room(&mut variables, known);
            variables[OsStr::new(TUNABLES)].clone()
        };
        assert_eq!(tuned("", 1000), "glibc.rtld.optional_static_tls=10240");
        assert_eq!(tuned("a=1", 10_000), "a=1:glibc.rtld.optional_static_tls=12048");
        assert_eq!(
            tuned("glibc.rtld.optional_static_tls=1", 2),
            "glibc.rtld.optional_static_tls=1"
        );
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
