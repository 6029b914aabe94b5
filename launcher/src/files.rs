//! A file for each rank's output, named as the launchers of two families name it.
//!
//! In: how files are named, and what ranks have written. Out: files on mpirun's own machine, which
//! are made before the first rank is started. Ranks whose files have one name share it.

use crate::refuse::Refusal;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// How files are named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Naming {
    /// hydra's patterns: `%r` is the rank, `%h` its host, `%p` the number of that, `%g` the job's.
    Patterns {
        /// For standard output, if that goes to files.
        out: Option<String>,
        /// For standard error, if that does.
        err: Option<String>,
    },
    /// Open MPI's folders: `FOLDER/1/rank.3/stdout`, or without the job's number.
    Folders {
        /// Above all.
        folder: PathBuf,
        /// With the job's number.
        job: bool,
    },
    /// `FILE.3.out`.
    Beginning(PathBuf),
}

/// What kind of files, and whether output goes to mpirun's own streams as well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// Their names.
    pub(crate) naming: Naming,
    /// Both.
    pub(crate) copy: bool,
}

/// Whose file it is.
#[derive(Debug, Clone, Copy)]
struct Owner<'a> {
    rank: usize,
    /// The number of ranks.
    ranks: usize,
    /// The number of its host, and its name.
    node: usize,
    host: &'a str,
}

impl Naming {
    /// The file for output `which` of a rank; none if that goes to none, or what is wrong.
    fn path(&self, owner: Owner, which: usize) -> Result<Option<PathBuf>, String> {
        let width = owner.ranks.to_string().len();
        let rank = format!("{:0width$}", owner.rank);
        Ok(Some(match self {
            Naming::Patterns { out, err } => {
                let pattern = if which == 0 { out } else { err };
                return pattern.as_ref().map(|pattern| fill(pattern, owner)).transpose();
            }
            Naming::Folders { folder, job } => {
                let folder = if *job { folder.join("1") } else { folder.clone() };
                folder.join(format!("rank.{rank}")).join(["stdout", "stderr"][which])
            }
            Naming::Beginning(begin) => {
                let mut name = begin.clone().into_os_string();
                name.push(format!(".{rank}.{}", ["out", "err"][which]));
                name.into()
            }
        }))
    }
}

/// The name that a pattern stands for.
fn fill(pattern: &str, owner: Owner) -> Result<PathBuf, String> {
    let (mut name, mut letters) = (String::new(), pattern.chars());
    while let Some(letter) = letters.next() {
        if letter != '%' {
            name.push(letter);
            continue;
        }
        match letters.next() {
            Some('r') => name += &owner.rank.to_string(),
            Some('p') => name += &owner.node.to_string(),
            Some('g') => name.push('0'),
            Some('h') => name += owner.host,
            Some('%') => name.push('%'),
            _ => {
                return Err(format!(
                    "“{pattern}” is no pattern of files: behind % goes r (rank), h (host), p \
                     (number of the host), g (of the job) or %"
                ));
            }
        }
    }
    Ok(PathBuf::from(name))
}

/// The files of a job.
#[derive(Debug, Default)]
pub(crate) struct Files {
    files: Vec<(PathBuf, File)>,
    /// For each stream of each rank the index of its file.
    of: Vec<Option<usize>>,
    /// What goes to a file goes to our own streams, too.
    copy: bool,
    /// A file that cannot be written, and why.
    failed: Option<(PathBuf, io::Error)>,
}

impl Files {
    /// Makes the files that are wanted for ranks on these hosts.
    pub(crate) fn make(
        wanted: Option<&Wanted>,
        hosts: &[String],
        node_of: &[usize],
    ) -> Result<Files, Refusal> {
        let Some(Wanted { naming, copy }) = wanted else { return Ok(Files::default()) };
        let mut made = Files { copy: *copy, ..Files::default() };
        let mut known: BTreeMap<PathBuf, usize> = BTreeMap::new();
        for (rank, &node) in node_of.iter().enumerate() {
            let owner = Owner { rank, ranks: node_of.len(), node, host: &hosts[node] };
            for which in 0..2 {
                let path = naming.path(owner, which).map_err(Refusal::new)?;
                let index = path.map(|path| match known.get(&path) {
                    Some(&index) => Ok::<usize, Refusal>(index),
                    None => {
                        let file = create(&path)?;
                        known.insert(path.clone(), made.files.len());
                        made.files.push((path, file));
                        Ok(made.files.len() - 1)
                    }
                });
                made.of.push(index.transpose()?);
            }
        }
        Ok(made)
    }

    /// A rank has written `bytes` to its stream `index`. Whether they are to go to our own stream.
    pub(crate) fn take(&mut self, index: usize, bytes: &[u8]) -> bool {
        let Some(file) = self.of.get(index).copied().flatten() else { return true };
        let (path, file) = &mut self.files[file];
        if let Err(why) = file.write_all(bytes) {
            self.failed.get_or_insert((path.clone(), why));
        }
        self.copy
    }

    /// The file that cannot be written, and why.
    pub(crate) fn failed(&self) -> Option<(String, &io::Error)> {
        self.failed.as_ref().map(|(path, why)| (path.display().to_string(), why))
    }
}

/// A new file, with the folders above it.
fn create(path: &Path) -> Result<File, Refusal> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let made = folder.map_or(Ok(()), fs::create_dir_all).and_then(|()| File::create(path));
    made.map_err(|error| {
        let hint = match error.raw_os_error() {
            Some(libc::EMFILE | libc::ENFILE) => ": raise the limit of open files (ulimit -n)",
            _ => "",
        };
        let shown = path.display();
        Refusal::new(format!("the file {shown} for output of ranks cannot be made: {error}{hint}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(naming: &Naming, ranks: usize) -> Vec<String> {
        let name = |rank: usize, which| {
            let owner = Owner { rank, ranks, node: rank % 2, host: ["a", "b"][rank % 2] };
            naming.path(owner, which).unwrap().map_or("-".to_string(), |p| p.display().to_string())
        };
        [0, ranks - 1].into_iter().flat_map(|rank| [name(rank, 0), name(rank, 1)]).collect()
    }

    #[test]
    fn names_of_three_kinds() {
        let out = Some("o%r-%h%p%g%%".to_string());
        let patterns = Naming::Patterns { out, err: None };
        assert_eq!(names(&patterns, 2), ["o0-a00%", "-", "o1-b10%", "-"]);
        let folders = |job| Naming::Folders { folder: "d".into(), job };
        assert_eq!(names(&folders(true), 10)[..2], ["d/1/rank.00/stdout", "d/1/rank.00/stderr"]);
        assert_eq!(names(&folders(false), 9)[3], "d/rank.8/stderr");
        assert_eq!(
            names(&Naming::Beginning("x/log".into()), 3)[2..],
            ["x/log.2.out", "x/log.2.err"]
        );
        let owner = Owner { rank: 0, ranks: 1, node: 0, host: "a" };
        for wrong in ["%", "a%x"] {
            assert!(fill(wrong, owner).unwrap_err().contains("%"));
        }
    }

    #[test]
    fn what_has_one_name_is_one_file() {
        let place = tempfile::tempdir().unwrap();
        let pattern = place.path().join("new/all").display().to_string();
        let naming = Naming::Patterns { out: Some(pattern.clone()), err: Some(pattern.clone()) };
        let wanted = Wanted { naming, copy: false };
        let mut files = Files::make(Some(&wanted), &["a".to_string()], &[0, 0]).unwrap();
        for (index, text) in ["one\n", "two\n", "three\n"].iter().enumerate() {
            assert!(!files.take(index, text.as_bytes()));
        }
        assert_eq!(fs::read_to_string(pattern).unwrap(), "one\ntwo\nthree\n");
        assert!(files.failed().is_none());
        assert!(Files::default().take(0, b"x"));
        let nowhere = Wanted { naming: Naming::Beginning("/dev/null/x".into()), copy: true };
        let refused = Files::make(Some(&nowhere), &["a".to_string()], &[0]).unwrap_err();
        assert!(refused.text.contains("/dev/null/x.0.out"), "{refused}");
    }
}
