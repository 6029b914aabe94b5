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

/// Adds to the variables of a rank what puts the libraries in `lib` in front.
pub(crate) fn put_in_front(variables: &mut Environment, lib: &Path) {
    put_first(variables, "LD_LIBRARY_PATH", lib.as_os_str());
    let module = lib.join(MODULE);
    if module.exists() {
        put_first(variables, "LD_AUDIT", module.as_os_str());
        let mut options = variables.remove(OsStr::new(VALGRIND)).unwrap_or_default();
        options.push(" --run-libc-freeres=no");
        variables.insert(OsString::from(VALGRIND), options);
    }
}

/// Options for valgrind. At a program's end it frees what the C library keeps, which goes wrong under
/// any auditor and would be reported as an error of the program.
const VALGRIND: &str = "VALGRIND_OPTS";

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
    fn ours_comes_first() {
        let mut variables = Environment::new();
        put_first(&mut variables, "LD_LIBRARY_PATH", OsStr::new("/p/lib"));
        assert_eq!(variables[OsStr::new("LD_LIBRARY_PATH")], "/p/lib");
        put_first(&mut variables, "LD_LIBRARY_PATH", OsStr::new("/q/lib"));
        assert_eq!(variables[OsStr::new("LD_LIBRARY_PATH")], "/q/lib:/p/lib");
    }
}
