//! Files without a name that processes share as memory: memfds, or unlinked files where there are none.
//!
//! A memfd is bound to no file system and to no 64 MiB of `/dev/shm`; sealing its size means that nobody
//! who holds the descriptor can take pages away under a reader (SIGBUS). Some sandboxes refuse memfds. A file that
//! was never linked takes their place: it cannot be sealed, so it has to belong to the user, whose processes could
//! harm this one anyway.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::limits::Limits;
use super::socket::own_uid;

/// `MFD_NOEXEC_SEAL` (Linux 6.3), which also allows sealing.
const MFD_NOEXEC_SEAL: libc::c_uint = 0x8;
const SEALS: libc::c_int = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;

/// Which file a descriptor is of: device and inode. Programs that close all descriptors make room for others of
/// the same number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Identity(u64, u64);

impl Identity {
    /// That of the file behind a descriptor, if there is one.
    pub fn of(fd: RawFd) -> Option<Identity> {
        stat(fd).ok().map(|stat| Identity(stat.st_dev, stat.st_ino))
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
        // SAFETY: integers only, on a descriptor we own.
        let seals = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GET_SEALS) };
        let is_sealed = seals >= 0 && seals & libc::F_SEAL_SHRINK != 0;
        let stat = stat(fd.as_raw_fd())?;
        let is_file = stat.st_mode & libc::S_IFMT == libc::S_IFREG;
        let is_own = is_file && stat.st_nlink == 0 && stat.st_uid == own_uid();
        if !(is_sealed || is_own) {
            return Err(io::Error::other(
                "others could take it away, since it is neither sealed nor this user's own",
            ));
        }
        SharedFile::known(fd)
    }

    fn known(fd: OwnedFd) -> io::Result<SharedFile> {
        let stat = stat(fd.as_raw_fd())?;
        let size = u64::try_from(stat.st_size).map_err(|_| io::ErrorKind::InvalidData)?;
        Ok(SharedFile { fd, size, identity: Identity(stat.st_dev, stat.st_ino) })
    }

    /// Its size in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Whether the descriptor is still that of this file.
    pub fn is_there(&self) -> bool {
        Identity::of(self.fd.as_raw_fd()) == Some(self.identity)
    }

    /// Gives the pages of a range back to the kernel; they read as zeros again. Failure keeps them, which is safe.
    pub fn release(&self, offset: u64, len: u64) {
        let how = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        let (Ok(offset), Ok(len)) = (libc::off_t::try_from(offset), libc::off_t::try_from(len))
        else {
            return;
        };
        if len > 0 && self.is_there() {
            // SAFETY: integers only, on a descriptor we own.
            unsafe { libc::fallocate(self.fd.as_raw_fd(), how, offset, len) };
        }
    }
}

impl AsFd for SharedFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn sealed_memfd(len: u64) -> io::Result<OwnedFd> {
    let fd = match memfd_create(libc::MFD_CLOEXEC | MFD_NOEXEC_SEAL) {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
            memfd_create(libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING)?
        }
        other => other?,
    };
    set_size(&fd, len)?;
    // SAFETY: integers only, on a descriptor we own.
    if unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_ADD_SEALS, SEALS) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(fd)
}

fn memfd_create(flags: libc::c_uint) -> io::Result<OwnedFd> {
    // SAFETY: the name is a constant C string.
    owned(unsafe { libc::memfd_create(c"ferrite".as_ptr(), flags) }.into())
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
    let path =
        CString::new(folder.as_os_str().as_bytes()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let flags = libc::O_TMPFILE | libc::O_RDWR | libc::O_EXCL | libc::O_CLOEXEC;
    // SAFETY: a C string, which outlives the call.
    let fd = owned(unsafe { libc::open(path.as_ptr(), flags, 0o600) }.into())?;
    // A page for which the file system has no room is a signal when it is touched.
    if free_bytes(&fd)? < len {
        return Err(io::ErrorKind::StorageFull.into());
    }
    set_size(&fd, len)?;
    Ok(fd)
}

/// Bytes that a file system has left for this user.
fn free_bytes(fd: &OwnedFd) -> io::Result<u64> {
    // SAFETY: `statvfs` is plain data, for which zeros are a value.
    let mut stat: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes one statvfs, which is ours.
    match unsafe { libc::fstatvfs(fd.as_raw_fd(), &mut stat) } {
        0 => Ok(stat.f_bavail.saturating_mul(stat.f_frsize)),
        _ => Err(io::Error::last_os_error()),
    }
}

fn set_size(fd: &OwnedFd, len: u64) -> io::Result<()> {
    let size = libc::off_t::try_from(len).map_err(|_| io::ErrorKind::InvalidInput)?;
    // SAFETY: integers only, on a descriptor we own.
    match unsafe { libc::ftruncate(fd.as_raw_fd(), size) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn stat(fd: RawFd) -> io::Result<libc::stat> {
    // SAFETY: `stat` is plain data, for which zeros are a value.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes one stat, which is ours; it refuses what is no descriptor.
    match unsafe { libc::fstat(fd, &mut stat) } {
        0 => Ok(stat),
        _ => Err(io::Error::last_os_error()),
    }
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

/// A descriptor that the kernel has just made, or why not.
pub(super) fn owned(answer: libc::c_long) -> io::Result<OwnedFd> {
    match RawFd::try_from(answer) {
        // SAFETY: nobody else owns it.
        Ok(fd) if fd >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Reads bytes of a file at an offset, without a mapping.
///
/// # Errors
/// The kernel's, or it ends before.
pub fn read_at(fd: &OwnedFd, to: &mut [u8], offset: u64) -> io::Result<()> {
    let offset = libc::off_t::try_from(offset).map_err(|_| io::ErrorKind::InvalidInput)?;
    // SAFETY: the kernel writes at most so many bytes, which are ours.
    let n = unsafe { libc::pread(fd.as_raw_fd(), to.as_mut_ptr().cast(), to.len(), offset) };
    match usize::try_from(n) {
        Ok(n) if n == to.len() => Ok(()),
        Ok(_) => Err(io::ErrorKind::UnexpectedEof.into()),
        Err(_) => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::memory::{Mapping, PAGE};

    /// Whether the size of a file can be changed.
    fn can_shrink(file: &SharedFile) -> bool {
        // SAFETY: integers only.
        unsafe { libc::ftruncate(file.as_fd().as_raw_fd(), 0) == 0 }
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
