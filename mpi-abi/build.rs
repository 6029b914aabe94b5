//! Writes the Rust that follows from the description of MPI, for this package and the faces (decision 6).

use std::error::Error;
use std::path::Path;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = env::var("OUT_DIR")?;
    for (name, text) in mpi_api::sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))? {
        fs::write(Path::new(&folder).join(name), text)?;
    }
    for read in ["build.rs", "api", "src/calls", "src/direct", "src/fast", "src/raw"] {
        println!("cargo::rerun-if-changed={read}");
    }
    println!("cargo::metadata=generated={folder}");
    Ok(())
}
