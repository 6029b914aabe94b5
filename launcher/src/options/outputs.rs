//! Where output goes and how it is marked, in the words of hydra and of Open MPI.
//!
//! In: the values of `--output-filename`, `-outfile-pattern`, `-errfile-pattern` and `--output`. Out:
//! the files that are wanted ([`Wanted`]), and marks.

use super::Global;
use crate::files::{Naming, Wanted};
use std::path::PathBuf;

/// What `--output` asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Output {
    tag: bool,
    timestamp: bool,
    merge: bool,
    files: Option<Wanted>,
}

/// `FOLDER`, `FOLDER:nojobid,nocopy`.
pub(super) fn folder(text: &str) -> Result<Wanted, String> {
    let (folder, words) = text.rsplit_once(':').unwrap_or((text, ""));
    let mut wanted =
        Wanted { naming: Naming::Folders { folder: folder.into(), job: true }, copy: true };
    for word in words.split(',').filter(|word| !word.is_empty()) {
        match (word.to_ascii_lowercase().as_str(), &mut wanted.naming) {
            ("nocopy", _) => wanted.copy = false,
            ("nojobid", Naming::Folders { job, .. }) => *job = false,
            _ => {
                let known = "behind the colon may go nocopy and nojobid";
                return Err(format!("“{word}” has no meaning there; {known}"));
            }
        }
    }
    match folder.is_empty() {
        true => Err("it needs the name of a folder".to_string()),
        false => Ok(wanted),
    }
}

/// `tag,timestamp`, `dir=FOLDER`, `file=FILE:nocopy`.
pub(super) fn output(text: &str) -> Result<Output, String> {
    let mut output = Output::default();
    let (mut naming, mut copy) = (None, true);
    for word in text.split([',', ':']).filter(|word| !word.is_empty()) {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        match (name.to_ascii_lowercase().as_str(), value) {
            ("tag" | "tag-detailed" | "tag-fullname", "") => output.tag = true,
            ("timestamp", "") => output.timestamp = true,
            ("merge" | "merge-stderr-to-stdout", "") => output.merge = true,
            ("dir" | "directory", folder) if !folder.is_empty() => {
                naming = Some(Naming::Folders { folder: folder.into(), job: true });
            }
            ("file" | "filename", file) if !file.is_empty() => {
                naming = Some(Naming::Beginning(PathBuf::from(file)));
            }
            ("nocopy", "") => copy = false,
            ("copy", "") => copy = true,
            _ => {
                return Err(format!(
                    "“{word}” is not known there; known are tag, timestamp, \
                     merge-stderr-to-stdout, dir=FOLDER, file=FILE and :nocopy"
                ));
            }
        }
    }
    output.files = naming.map(|naming| Wanted { naming, copy });
    Ok(output)
}

impl Global {
    /// Makes what `--output` says the same as the options that say it one by one.
    pub(super) fn spell_output_out(&mut self) {
        let Some(Output { tag, timestamp, merge, files }) = self.output.take() else { return };
        self.tag_output |= tag;
        self.timestamp_output |= timestamp;
        self.merge_stderr |= merge;
        self.output_filename = self.output_filename.take().or(files);
    }

    /// The files that ranks' output goes to, if any are wanted.
    pub(crate) fn files(&self) -> Option<Wanted> {
        let patterns = (self.outfile_pattern.clone(), self.errfile_pattern.clone());
        match patterns {
            (None, None) => self.output_filename.clone(),
            (out, err) => Some(Wanted { naming: Naming::Patterns { out, err }, copy: false }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_and_files() {
        let folders = |folder: &str, job| Naming::Folders { folder: folder.into(), job };
        let wanted = |naming, copy| Wanted { naming, copy };
        assert_eq!(folder("out"), Ok(wanted(folders("out", true), true)));
        assert_eq!(folder("a:b:NOJOBID,nocopy"), Ok(wanted(folders("a:b", false), false)));
        assert_eq!(output("dir=x:nocopy").unwrap().files, Some(wanted(folders("x", true), false)));
        let both = output("tag,timestamp,file=log").unwrap();
        assert!(both.tag && both.timestamp && !both.merge);
        assert_eq!(both.files, Some(wanted(Naming::Beginning("log".into()), true)));
        for wrong in ["xml", "dir", "tag=1", "file=", "raw"] {
            assert!(output(wrong).unwrap_err().contains("dir=FOLDER"), "{wrong}");
        }
        assert!(folder("out:copy").unwrap_err().contains("nojobid"));
        assert!(folder(":nocopy").is_err());
    }
}
