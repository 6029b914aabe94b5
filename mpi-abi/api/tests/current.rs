//! The checked-in generated files are what the description and the bodies say now.

use std::fs;
use std::path::Path;

#[test]
fn generated_files_are_current() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let stale: Vec<String> = mpi_api::generate(&root)
        .expect("the description can be read")
        .into_iter()
        .filter(|(path, text)| fs::read_to_string(root.join(path)).ok().as_ref() != Some(text))
        .map(|(path, _)| path.display().to_string())
        .collect();
    assert!(stale.is_empty(), "run `cargo xtask generate`; not current: {}", stale.join(", "));
}
