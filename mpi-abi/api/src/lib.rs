//! The description of every MPI procedure, and the generator of everything derived from it.
//!
//! Enters: `mpi-abi/api/procedures/*.toml`, `constants.toml` and `extra/*.txt`, and the bodies that
//! exist in `mpi-abi/src`. Leaves: the Rust that the faces are made of, which `mpi-abi/build.rs` writes while they
//! are built; and with the feature `files` what is checked in, which `cargo xtask generate` writes and a test compares.

pub mod abi_values;
mod abi_values_mpich;
mod abi_values_openmpi;
pub mod bodies;
mod convert;
#[cfg(feature = "files")]
mod coverage;
#[cfg(feature = "files")]
mod defines;
pub mod description;
pub mod exports;
pub mod extra;
#[cfg(feature = "files")]
mod files;
mod forms;
pub mod fortran;
mod glue;
#[cfg(feature = "files")]
mod header;
pub mod kind;
mod names;
mod piece;
mod rust;
mod signature;

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;

#[cfg(feature = "files")]
pub use files::{generate, write};

/// The faces, as the description names them.
pub const FACES: &[&str] = &["standard", "mpich", "openmpi"];

/// Everything that is described.
pub struct Description {
    /// The procedures, by name.
    pub procedures: Vec<description::Procedure>,
    /// What the faces export beside them.
    pub extras: Vec<extra::Extra>,
    /// The procedures that are implemented.
    pub bodies: BTreeMap<String, bodies::Body>,
}

impl Description {
    /// Reads the description in the repository at `root`.
    pub fn read(root: &Path) -> Result<Description> {
        let api = root.join("mpi-abi/api");
        let procedures = description::read(&api.join("procedures"))?;
        let bodies = bodies::find(&root.join("mpi-abi/src"), &procedures)?;
        Ok(Description { extras: extra::read(&api.join("extra"))?, procedures, bodies })
    }

    /// The signatures that the bodies have or are to have, for whoever writes one.
    pub fn signatures(&self) -> String {
        signature::list(&self.procedures)
    }
}

/// The Rust that the faces are made of: each file's name and text.
///
/// # Errors
/// When the description cannot be read.
pub fn sources(root: &Path) -> Result<Vec<(String, String)>> {
    let Description { procedures, extras, bodies } = &Description::read(root)?;
    let exports = FACES
        .iter()
        .map(|face| (format!("{face}_exports.rs"), exports::file(procedures, extras, face)));
    let others = [
        ("procedures.rs", names::file(procedures, extras)),
        ("glue.rs", glue::file(procedures, bodies)),
        ("constants_mpich.rs", abi_values_mpich::file()?),
        ("constants_openmpi.rs", abi_values_openmpi::file()?),
        ("fortran_entries.rs", fortran::entries::file(procedures)),
        ("fortran_mpich.rs", fortran::peers::file(procedures, "mpich")),
        ("fortran_openmpi.rs", fortran::peers::file(procedures, "openmpi")),
        ("fortran_intel.rs", fortran::intel::file()?),
    ];
    Ok(exports.chain(others.map(|(name, text)| (name.to_owned(), text))).collect())
}

/// The sources of the Fortran modules, which an installation writes: each file's name and text.
/// They repeat the description in another language at length, so the repository has no copy.
///
/// # Errors
/// When the description cannot be read.
pub fn modules(root: &Path) -> Result<Vec<(&'static str, String)>> {
    let procedures = Description::read(root)?.procedures;
    Ok(vec![
        ("ferrite_mpi_types.F90", fortran::mpi::types()),
        ("mpi.F90", fortran::mpi::file(&procedures)?),
        ("mpi_f08.F90", fortran::mpi_f08::file(&procedures)?),
    ])
}
