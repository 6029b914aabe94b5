//! What git knows of a folder of sources. Used by the build script.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The answer of git in `folder`, if there is a git and it has one.
fn ask(folder: &Path, words: &[&str]) -> Option<String> {
    let answer = Command::new("git").arg("-C").arg(folder).args(words).output().ok()?;
    let text = String::from_utf8(answer.stdout).ok()?;
    answer.status.success().then(|| text.trim().to_string())
}

/// The commit that is checked out, if git keeps the file `Cargo.toml` of this folder. Sources without their
/// history may lie within another project's.
pub(crate) fn commit(folder: &Path) -> Option<String> {
    ask(folder, &["ls-files", "--error-unmatch", "Cargo.toml"])?;
    ask(folder, &["rev-parse", "--short=12", "HEAD"]).filter(|commit| !commit.is_empty())
}

/// A file that changes with the commit.
pub(crate) fn witness(folder: &Path) -> Option<PathBuf> {
    let place =
        |name| ask(folder, &["rev-parse", "--git-path", name]).map(|path| folder.join(path));
    [place("logs/HEAD"), place("HEAD")].into_iter().flatten().find(|file| file.is_file())
}
