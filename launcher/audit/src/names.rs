//! The names of libraries and programs that the auditor knows.

use crate::text::{begins, same};

/// The libraries that stand for one of our faces, by the names that binaries ask for.
const NAMES: [&[u8]; 13] = [
    b"libmpi_abi.so.1",
    b"libmpi_abi.so.0",
    b"libmpi.so.12",
    b"libmpich.so.12",
    b"libmpifort.so.12",
    b"libmpichfort.so.12",
    b"libmpicxx.so.12",
    b"libmpichcxx.so.12",
    b"libmpi.so.40",
    b"libmpi_mpifh.so.40",
    b"libmpi_usempif08.so.40",
    b"libmpi_usempi_ignore_tkr.so.40",
    b"libmpifort_abi.so.1",
];

/// Our faces.
pub(crate) const FACES: [&[u8]; 3] = [b"libmpi_abi.so.1", b"libmpi.so.12", b"libmpi.so.40"];

/// The name without a version, by which scripts open whatever MPI there is, and the names with a
/// version that lie beside it.
pub(crate) const BARE: &[u8] = b"libmpi.so";
pub(crate) const VERSIONS: [&[u8]; 2] = [b"libmpi.so.40", b"libmpi.so.12"];

/// Programs that start others below another root, where our libraries usually are not.
const DOORS: [&[u8]; 14] = [
    b"chroot",
    b"schroot",
    b"proot",
    b"nsenter",
    b"bwrap",
    b"apptainer",
    b"singularity",
    b"ch-run",
    b"enroot",
    b"shifter",
    b"sarus",
    b"podman",
    b"docker",
    b"systemd-nspawn",
];

/// Which of our libraries has this name.
pub(crate) fn known(base: &[u8]) -> Option<&'static [u8]> {
    NAMES.into_iter().find(|name| same(name, base))
}

/// The folder and the last part of a path.
pub(crate) fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|&byte| byte == b'/').and_then(|slash| path.split_at_checked(slash))
    {
        Some((folder, [_, base @ ..])) => (folder, base),
        _ => (&[], path),
    }
}

/// Whether a command starts a program below another root.
pub(crate) fn leads_elsewhere<'a>(mut words: impl Iterator<Item = &'a [u8]>) -> bool {
    let Some(program) = words.next() else { return false };
    let (_, program) = split(program);
    if same(program, b"unshare") {
        return words.any(|word| begins(word, b"-R") || begins(word, b"--root"));
    }
    DOORS.into_iter().any(|door| same(door, program))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_a_folder_and_a_name() {
        assert_eq!(split(b"libmpi.so"), (&b""[..], &b"libmpi.so"[..]));
        assert_eq!(split(b"/a/b/libmpi.so"), (&b"/a/b"[..], &b"libmpi.so"[..]));
        assert_eq!(split(b"/libmpi.so"), (&b""[..], &b"libmpi.so"[..]));
        assert_eq!(split(b"a/"), (&b"a"[..], &b""[..]));
    }

    #[test]
    fn a_door_leads_elsewhere() {
        let leads = |line: &str| leads_elsewhere(line.split(' ').map(str::as_bytes));
        for line in ["chroot /r ls", "/usr/sbin/chroot /r", "unshare -r -R /r", "unshare --root=/r"]
        {
            assert!(leads(line), "{line}");
        }
        for line in ["sh -c chroot", "unshare -r ls", "mychroot /r", ""] {
            assert!(!leads(line), "{line}");
        }
    }
}
