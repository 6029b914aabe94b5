//! `cargo xtask install` on a machine that lacks what the build needs.

use std::process::Command;

#[test]
fn all_that_the_build_lacks_is_named_in_one_line() {
    let nothing = tempfile::tempdir().unwrap();
    let mut xtask = Command::new(env!("CARGO_BIN_EXE_xtask"));
    xtask.args(["install", "--prefix"]).arg(nothing.path().join("prefix"));
    // No program is found, so that no header is either; what would build says so.
    xtask.env("PATH", nothing.path()).env("CARGO", "/bin/false");
    let ended = xtask.output().unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert!(!ended.status.success() && said.lines().count() == 1, "{said}");
    for lack in ["gcc", "pkg-config", "libibverbs-dev", "librdmacm-dev", "`cargo xtask setup`"] {
        assert!(said.contains(lack), "{lack}: {said}");
    }
}
