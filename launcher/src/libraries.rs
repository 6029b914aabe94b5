//! Where the dynamic loader will find libraries, as far as mpirun has to know it beforehand: in the
//! folders of LD_LIBRARY_PATH and in those of the system. Folders of `/etc/ld.so.conf` that are not
//! among these are not looked at.

use crate::env::Environment;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Folders with libraries, in the order of the search.
#[derive(Debug)]
pub(crate) struct Places(Vec<PathBuf>);

impl Places {
    /// Where a program with these variables finds libraries.
    pub(crate) fn of(variables: &Environment) -> Places {
        let list = variables.get(OsStr::new("LD_LIBRARY_PATH")).cloned().unwrap_or_default();
        let mut places: Vec<PathBuf> = std::env::split_paths(&list).collect();
        places.retain(|place| !place.as_os_str().is_empty());
        for root in ["/usr/local/lib", "/lib", "/usr/lib"] {
            places.push(format!("{root}/{}-linux-gnu", std::env::consts::ARCH).into());
        }
        places.extend(
            ["/usr/local/lib", "/lib64", "/usr/lib64", "/lib", "/usr/lib"].map(PathBuf::from),
        );
        Places(places)
    }

    /// The file of a library that is asked for by `name`, first looked for in the folders `before`.
    pub(crate) fn find(&self, name: &Path, before: &[PathBuf]) -> Option<PathBuf> {
        if name.components().nth(1).is_some() {
            return name.is_file().then(|| name.to_path_buf());
        }
        before.iter().chain(&self.0).map(|place| place.join(name)).find(|file| file.is_file())
    }

    /// Which MPI a program means by `libmpi.so`, a name without a version, as the system and the
    /// user have it: the soname of the family. Our own folder, `ours`, says nothing of that.
    pub(crate) fn usual_mpi(&self, ours: &Path) -> Option<&'static str> {
        let ours = ours.canonicalize().ok();
        let others = self.0.iter().filter_map(|place| place.canonicalize().ok());
        let mut others = others.filter(|place| Some(place) != ours.as_ref());
        others.find_map(|place| LIKELY.into_iter().find_map(|name| family(&place.join(name))))
    }
}

/// Names under which a folder tells which MPI it has. The first one is usually a symbolic link
/// to a name with a version.
const LIKELY: [&str; 4] = ["libmpi.so", "libmpi.so.40", "libmpi.so.12", "libmpich.so.12"];

/// The family that a library belongs to by the version in its real name.
fn family(file: &Path) -> Option<&'static str> {
    let real = file.canonicalize().ok()?;
    let name = real.file_name()?.to_str()?;
    let begins = |with: &str| {
        name.strip_prefix(with).is_some_and(|rest| !rest.starts_with(char::is_numeric))
    };
    match () {
        () if begins("libmpi.so.40") => Some("libmpi.so.40"),
        () if begins("libmpi.so.12") || begins("libmpich.so.12") => Some("libmpi.so.12"),
        () if begins("libmpi_abi.so.1") => Some("libmpi_abi.so.1"),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    /// The usual MPI where LD_LIBRARY_PATH names folders with these files and links.
    fn usual(folders: &[&[(&str, Option<&str>)]]) -> Option<&'static str> {
        let dir = tempfile::tempdir().unwrap();
        let mut places = vec![dir.path().join("ours")];
        fs::create_dir(&places[0]).unwrap();
        fs::write(places[0].join("libmpi_abi.so.1"), "").unwrap();
        for (number, files) in folders.iter().enumerate() {
            let place = dir.path().join(number.to_string());
            fs::create_dir(&place).unwrap();
            for (name, target) in *files {
                match target {
                    Some(target) => symlink(target, place.join(name)).unwrap(),
                    None => fs::write(place.join(name), "").unwrap(),
                }
            }
            places.push(place);
        }
        Places(places.clone()).usual_mpi(&places[0])
    }

    #[test]
    fn the_usual_mpi_is_the_one_that_the_name_without_a_version_leads_to() {
        let open_mpi: &[_] =
            &[("libmpi.so", Some("libmpi.so.40.30.4")), ("libmpi.so.40.30.4", None)];
        let mpich: &[_] =
            &[("libmpi.so", Some("libmpich.so.12.2.1")), ("libmpich.so.12.2.1", None)];
        assert_eq!(usual(&[open_mpi, mpich]), Some("libmpi.so.40"));
        assert_eq!(usual(&[mpich, open_mpi]), Some("libmpi.so.12"));
        assert_eq!(usual(&[]), None);
    }

    #[test]
    fn where_that_name_says_nothing_the_versions_beside_it_do() {
        assert_eq!(usual(&[&[("libmpi.so", None), ("libmpi.so.12", None)]]), Some("libmpi.so.12"));
        assert_eq!(usual(&[&[("libmpi.so.40", None)]]), Some("libmpi.so.40"));
        assert_eq!(usual(&[&[("libmpi.so.400", None), ("libm.so", None)]]), None);
    }
}
