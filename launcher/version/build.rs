//! Tells the crate what it is built from.

#[path = "src/git.rs"]
mod git;

use std::env::{var, var_os};
use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/git.rs");
    let folder = var_os("CARGO_MANIFEST_DIR").unwrap_or_default();
    let folder = Path::new(&folder);
    let build = match var("PROFILE").as_deref() {
        Ok("release") => {
            if let Some(file) = git::witness(folder) {
                println!("cargo::rerun-if-changed={}", file.display());
            }
            format!("commit {}", git::commit(folder).as_deref().unwrap_or("unknown"))
        }
        _ => "development build".to_string(),
    };
    println!("cargo::rustc-env=FERRITE_BUILD={build}");
}
