//! Files without a name that processes share as memory: memfds, or unlinked files where there are none.
//!
//! A memfd is bound to no file system and to no 64 MiB of `/dev/shm`; sealing its size means that nobody
//! who holds the descriptor can take pages away under a reader (SIGBUS). Some sandboxes refuse memfds. A file that
//! was never linked takes their place: it cannot be sealed, so it has to belong to the user, whose processes could
//! harm this one anyway.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{
    FallocateFlags, FileType, MemfdFlags, Mode, OFlags, SealFlags, fallocate, fcntl_add_seals,
    fcntl_get_seals, fstat, fstatvfs, ftruncate, memfd_create, open,
};
use rustix::io::{Errno, pread};

use super::limits::Limits;
use super::socket::own_uid;

/// Which file a descriptor is of: device and inode. Programs that close all descriptors make room for others of
/// the same number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Identity(u64, u64);

impl Identity {
    /// That of the file behind a descriptor, if there is one.
    pub fn of(fd: impl AsFd) -> Option<Identity> {
        fstat(fd).ok().map(|stat| Identity(stat.st_dev, stat.st_ino))
    }
}

/// A sparse file of a fixed size that processes share.
#[derive(Debug)]
pub struct SharedFile {
    fd: OwnedFd,
    size: u64,
    identity: Identity,
}

impl SharedFile {
    /// A new one, all zeros.
    ///
    /// # Errors
    /// The kernel's, or the limit on file sizes stands in the way (checked before, since passing it
    /// is a signal that would end the process).
    pub fn new(len: u64) -> io::Result<SharedFile> {
        check_file_limit(len)?;
        let fd = match sealed_memfd(len) {
            Err(error) if is_refusal(&error) => unlinked(len, &error)?,
            other => other?,
        };
        SharedFile::known(fd)
    }

    /// One for this process alone, where the kernel gives no other: each mapping is memory of its own.
    ///
    /// # Errors
    /// The kernel's.
    pub fn unshared(len: u64) -> io::Result<SharedFile> {
        let zero = std::fs::OpenOptions::new().read(true).write(true).open("/dev/zero")?;
        Ok(SharedFile { size: len, ..SharedFile::known(zero.into())? })
    }

    /// One that came from elsewhere.
    ///
    /// # Errors
    /// Somebody could take its pages away: it is neither a memfd of sealed size nor an unlinked file of this user.
    pub fn adopt(fd: OwnedFd) -> io::Result<SharedFile> {
        let is_sealed = fcntl_get_seals(&fd).is_ok_and(|seals| seals.contains(SealFlags::SHRINK));
        let stat = fstat(&fd)?;
        let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        let is_own = is_file && stat.st_nlink == 0 && stat.st_uid == own_uid();
        if !(is_sealed || is_own) {
            return Err(io::Error::other(
                "others could take it away, since it is neither sealed nor this user's own",
            ));
        }
        SharedFile::known(fd)
    }

    fn known(fd: OwnedFd) -> io::Result<SharedFile> {
        let stat = fstat(&fd)?;
        let size = u64::try_from(stat.st_size).map_err(|_| io::ErrorKind::InvalidData)?;
        Ok(SharedFile { fd, size, identity: Identity(stat.st_dev, stat.st_ino) })
    }

    /// Its size in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Whether the descriptor is still that of this file.
    pub fn is_there(&self) -> bool {
        Identity::of(&self.fd) == Some(self.identity)
    }

    /// Gives the pages of a range back to the kernel; they read as zeros again. Failure keeps them, which is safe.
    pub fn release(&self, offset: u64, len: u64) {
        let how = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        if len > 0 && self.is_there() {
            let _ = fallocate(&self.fd, how, offset, len);
        }
    }
}

impl AsFd for SharedFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn sealed_memfd(len: u64) -> io::Result<OwnedFd> {
    // Linux 6.3 lets it be said that nobody will execute it, which also allows sealing.
    let fd = match memfd_create(c"ferrite", MemfdFlags::CLOEXEC | MemfdFlags::NOEXEC_SEAL) {
        Err(Errno::INVAL) => {
            memfd_create(c"ferrite", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?
        }
        other => other?,
    };
    ftruncate(&fd, len)?;
    fcntl_add_seals(&fd, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
    Ok(fd)
}

/// Whether a sandbox or an old kernel has no memfds.
fn is_refusal(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::ENOSYS | libc::EPERM | libc::EACCES | libc::EINVAL | libc::EOPNOTSUPP)
    )
}

/// A file that never has a name, where there is room for all of it: memory first, then the folder for temporary files.
fn unlinked(len: u64, why: &io::Error) -> io::Result<OwnedFd> {
    let temporary = std::env::temp_dir();
    let folders = [Path::new("/dev/shm"), &temporary, Path::new("/tmp")];
    let mut last = io::Error::from(io::ErrorKind::StorageFull);
    for folder in folders {
        match unlinked_in(folder, len) {
            Ok(fd) => return Ok(fd),
            Err(error) => last = error,
        }
    }
    let temporary = temporary.display();
    Err(io::Error::new(
        last.kind(),
        format!(
            "the kernel refuses memfd_create ({why}), and neither /dev/shm nor {temporary} takes a file of {len} \
             bytes ({last}); TMPDIR names another folder, FERRITE_SHM_ALLOC_BYTES asks for less"
        ),
    ))
}

fn unlinked_in(folder: &Path, len: u64) -> io::Result<OwnedFd> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::EXCL | OFlags::CLOEXEC;
    let fd = open(folder, flags, Mode::RUSR | Mode::WUSR)?;
    let system = fstatvfs(&fd)?;
    // A page for which the file system has no room is a signal when it is touched.
    if system.f_bavail.saturating_mul(system.f_frsize) < len {
        return Err(io::ErrorKind::StorageFull.into());
    }
    ftruncate(&fd, len)?;
    Ok(fd)
}

fn check_file_limit(len: u64) -> io::Result<()> {
    let limit = Limits::of_this_process().file_bytes;
    if limit < len {
        return Err(io::Error::other(format!(
            "the limit on file sizes (ulimit -f) is {limit} bytes, but {len} bytes of shared memory \
             are needed"
        )));
    }
    Ok(())
}

/// Reads bytes of a file at an offset, without a mapping.
///
/// # Errors
/// The kernel's, or it ends before.
pub fn read_at(fd: &OwnedFd, to: &mut [u8], offset: u64) -> io::Result<()> {
    let wanted = to.len();
    let n = pread(fd, to, offset)?;
    if n == wanted { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    use crate::sys::memory::{Mapping, PAGE};

    /// Whether the size of a file can be changed.
    fn can_shrink(file: &SharedFile) -> bool {
        ftruncate(file, 0).is_ok()
    }

    #[test]
    fn size_is_sealed_and_pages_are_shared() {
        let file = SharedFile::new(1 << 30).unwrap();
        assert_eq!(file.size(), 1 << 30);
        assert!(!can_shrink(&file));
        let a = Mapping::new(&file, 0, PAGE).unwrap();
        let other = SharedFile::adopt(file.as_fd().try_clone_to_owned().unwrap()).unwrap();
        let b = Mapping::new(&other, 0, PAGE).unwrap();
        // SAFETY: both are mapped, one page each.
        unsafe { a.base().write_volatile(9) };
        // SAFETY: as before.
        assert_eq!(unsafe { b.base().read_volatile() }, 9);
        file.release(0, PAGE as u64);
        // SAFETY: as before.
        assert_eq!(unsafe { b.base().read_volatile() }, 0);
    }

    #[test]
    fn files_without_a_name_take_the_place_of_memfds_and_files_with_one_do_not() {
        let refused = io::Error::from_raw_os_error(libc::ENOSYS);
        assert!(is_refusal(&refused));
        let fd = unlinked(1 << 20, &refused).unwrap();
        let file = SharedFile::adopt(fd).unwrap();
        assert!(file.size() == 1 << 20 && file.is_there());
        let error = unlinked(1 << 60, &refused).unwrap_err().to_string();
        assert!(error.contains("TMPDIR") && error.contains("memfd_create"), "{error}");
        let named = std::fs::File::open("/proc/self/exe").unwrap();
        assert!(SharedFile::adopt(named.into()).is_err());
    }

    #[test]
    fn a_descriptor_that_is_another_file_s_now_is_noticed() {
        let file = SharedFile::new(PAGE as u64).unwrap();
        let other = SharedFile::new(PAGE as u64).unwrap();
        let number = file.as_fd().as_raw_fd();
        // SAFETY: both are descriptors of this test, of which the first is replaced.
        assert_eq!(unsafe { libc::dup2(other.as_fd().as_raw_fd(), number) }, number);
        assert!(!file.is_there() && other.is_there());
    }
}
