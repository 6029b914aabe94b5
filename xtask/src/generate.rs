//! `cargo xtask generate`: the files that are derived from the description of MPI.

use anyhow::Result;

use crate::place::root;

/// Writes the generated files that are not current and names them.
pub(crate) fn generate() -> Result<()> {
    let written = mpi_api::write(root())?;
    for path in &written {
        println!("wrote {}", path.display());
    }
    if written.is_empty() {
        println!("everything generated is current");
    }
    Ok(())
}
