//! Which Ferrite this is. A release build names the commit that it comes from; others do not, since each
//! commit would have everything built anew.

/// The version.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// `commit 0123456789ab`, `commit unknown` without git, or `development build`.
pub const BUILD: &str = env!("FERRITE_BUILD");

/// Both, as programs tell them.
pub const SHOWN: &str =
    concat!(env!("CARGO_PKG_VERSION"), " (Ferrite MPI, ", env!("FERRITE_BUILD"), ")");

#[cfg(test)]
mod git;

#[cfg(test)]
mod tests {
    use super::git::{commit, witness};
    use std::fs;
    use std::path::Path;
    use std::process::Command;

    fn git(folder: &Path, words: &[&str]) {
        let names = ["-c", "user.name=x", "-c", "user.email=x@example.org"];
        let mut command = Command::new("git");
        let done = command.arg("-C").arg(folder).args(names).args(words).output().unwrap();
        assert!(done.status.success(), "{done:?}");
    }

    #[test]
    fn the_commit_of_sources_that_git_keeps() {
        let place = tempfile::tempdir().unwrap();
        let (outer, inner) = (place.path(), place.path().join("inner"));
        fs::create_dir(&inner).unwrap();
        for folder in [outer, &inner] {
            fs::write(folder.join("Cargo.toml"), "[package]\n").unwrap();
        }
        assert_eq!(commit(outer), None);
        git(outer, &["init", "-q"]);
        assert_eq!(commit(outer), None);
        git(outer, &["add", "Cargo.toml"]);
        git(outer, &["commit", "-qm", "one"]);
        let first = commit(outer).unwrap();
        assert!(first.len() >= 12 && first.bytes().all(|b| b.is_ascii_hexdigit()), "{first}");
        let before = fs::read(witness(outer).unwrap()).unwrap();
        git(outer, &["commit", "-qm", "two", "--allow-empty"]);
        assert_ne!(commit(outer).unwrap(), first);
        assert_ne!(fs::read(witness(outer).unwrap()).unwrap(), before);
        // Another project's history tells nothing of these.
        assert_eq!(commit(&inner), None);
    }

    #[test]
    fn this_build_is_told() {
        assert!(super::BUILD.starts_with("commit ") || super::BUILD == "development build");
    }
}
