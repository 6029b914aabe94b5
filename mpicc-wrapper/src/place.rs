//! The prefix that this wrapper belongs to, found from where the program itself lies, so that an
//! installed tree can be moved.

use std::path::{Path, PathBuf};
use std::{env, fs};

/// The library that programs are linked to: the MPI-5.0 standard ABI.
pub(crate) const LIBRARY: &str = "mpi_abi";

/// An installed tree.
#[derive(Debug)]
pub(crate) struct Prefix {
    dir: PathBuf,
}

impl Prefix {
    /// The folder above `bin/`, where this program lies.
    pub(crate) fn of_this_program() -> Result<Prefix, String> {
        let program = fs::read_link("/proc/self/exe")
            .or_else(|_| env::current_exe())
            .map_err(|error| format!("cannot find out where this program lies: {error}"))?;
        match program.parent().and_then(Path::parent) {
            Some(dir) => Ok(Prefix::at(dir)),
            None => Err(format!("{} does not lie in a prefix's bin/", program.display())),
        }
    }

    /// A prefix at a known place.
    pub(crate) fn at(dir: &Path) -> Prefix {
        Prefix { dir: dir.to_path_buf() }
    }

    /// Where mpi.h is.
    pub(crate) fn include(&self) -> PathBuf {
        self.dir.join("include")
    }

    /// Where the libraries are.
    pub(crate) fn lib(&self) -> PathBuf {
        self.dir.join("lib")
    }

    /// Whether this is an installed tree; if not, says what to do.
    pub(crate) fn check(&self) -> Result<(), String> {
        let header = self.include().join("mpi.h");
        if header.is_file() {
            return Ok(());
        }
        Err(format!(
            "there is no {}; this wrapper works from the bin/ of an installed prefix, which \
             `cargo xtask install --prefix DIR` makes",
            header.display()
        ))
    }
}
