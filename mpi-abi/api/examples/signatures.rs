//! Prints the signature that the body of every procedure has: what a writer of one needs.

use std::path::Path;

fn main() -> anyhow::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    print!("{}", mpi_api::Description::read(&root)?.signatures());
    Ok(())
}
