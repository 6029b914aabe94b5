//! What the core asks of a file system; the port provides it (MPI-5.0 §14.2, §14.4).

use std::io;
use std::path::{Path, PathBuf};

use crate::datatype::{Packer, Unpacker};
use crate::error::{Error, ErrorClass};

/// What an open file may be used for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Permission {
    /// `MPI_MODE_RDONLY`.
    Read,
    /// `MPI_MODE_WRONLY`.
    Write,
    /// `MPI_MODE_RDWR`.
    Both,
}

/// Whether a file that is opened may, or must not, be there before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Existence {
    /// It has to be there.
    Required,
    /// It is made if it is not there.
    Created,
    /// It is made, and there must have been none.
    Fresh,
}

/// A file system.
pub trait Storage {
    /// Opens a file.
    ///
    /// # Errors
    /// What the operating system reports.
    fn open(
        &self,
        path: &Path,
        access: Permission,
        existence: Existence,
    ) -> io::Result<Box<dyn Disk>>;

    /// Removes a file.
    ///
    /// # Errors
    /// What the operating system reports.
    fn delete(&self, path: &Path) -> io::Result<()>;

    /// The path from the root that leads where this one leads from the folder in which the process is now.
    ///
    /// # Errors
    /// What the operating system reports.
    fn absolute(&self, path: &Path) -> io::Result<PathBuf>;

    /// The one path of a file that is there, whatever links lead to it.
    ///
    /// # Errors
    /// What the operating system reports.
    fn resolved(&self, path: &Path) -> io::Result<PathBuf>;

    /// A number that nobody draws who ever used the files, for a name of one's own among them.
    ///
    /// # Errors
    /// What the operating system reports.
    fn draw(&self) -> io::Result<u64>;
}

/// One file, open. Offsets and lengths are in bytes; errors are those of the operating system.
pub trait Disk {
    /// Reads up to `len` bytes at `offset`, fewer only at the end of the file; returns how many.
    ///
    /// # Errors
    /// See the trait.
    fn read(&self, offset: u64, len: u64, to: &mut Unpacker) -> io::Result<u64>;

    /// Writes the next `len` bytes of `from` at `offset`.
    ///
    /// # Errors
    /// See the trait.
    fn write(&self, offset: u64, len: u64, from: &mut Packer) -> io::Result<()>;

    /// The file's size.
    ///
    /// # Errors
    /// See the trait.
    fn size(&self) -> io::Result<u64>;

    /// Cuts or extends the file.
    ///
    /// # Errors
    /// See the trait.
    fn set_size(&self, size: u64) -> io::Result<()>;

    /// Takes space for the first `size` bytes, extending the file if it is shorter.
    ///
    /// # Errors
    /// See the trait.
    fn reserve(&self, size: u64) -> io::Result<()>;

    /// Brings everything to the device.
    ///
    /// # Errors
    /// See the trait.
    fn sync(&self) -> io::Result<()>;

    /// Waits until nobody else holds the file in a way that excludes this one.
    ///
    /// # Errors
    /// See the trait.
    fn lock(&self, exclusive: bool) -> io::Result<()>;

    /// Lets others have the file.
    ///
    /// # Errors
    /// See the trait.
    fn unlock(&self) -> io::Result<()>;
}

/// No file system: that of ports which have none.
pub struct NoStorage;

impl Storage for NoStorage {
    fn open(&self, _: &Path, _: Permission, _: Existence) -> io::Result<Box<dyn Disk>> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn delete(&self, _: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn absolute(&self, _: &Path) -> io::Result<PathBuf> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn resolved(&self, _: &Path) -> io::Result<PathBuf> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn draw(&self) -> io::Result<u64> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// The class of an operating system's error (§14.7).
fn class_of(error: &io::Error) -> ErrorClass {
    use io::ErrorKind::*;
    match error.kind() {
        NotFound => ErrorClass::NO_SUCH_FILE,
        AlreadyExists => ErrorClass::FILE_EXISTS,
        PermissionDenied => ErrorClass::ACCESS,
        ReadOnlyFilesystem => ErrorClass::READ_ONLY,
        StorageFull | FileTooLarge => ErrorClass::NO_SPACE,
        QuotaExceeded => ErrorClass::QUOTA,
        ExecutableFileBusy | ResourceBusy => ErrorClass::FILE_IN_USE,
        IsADirectory | NotADirectory | InvalidFilename | InvalidInput => ErrorClass::BAD_FILE,
        Unsupported => ErrorClass::UNSUPPORTED_OPERATION,
        _ => ErrorClass::IO,
    }
}

/// What happened when the library wanted to `doing` (a verb) the file at `path`.
pub(crate) fn error_of(path: &Path, doing: &str, error: &io::Error) -> Error {
    Error::new(class_of(error), format!("cannot {doing} {path:?}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_errno_has_its_class() {
        for (errno, class) in [
            (2, ErrorClass::NO_SUCH_FILE),
            (5, ErrorClass::IO),
            (13, ErrorClass::ACCESS),
            (17, ErrorClass::FILE_EXISTS),
            (20, ErrorClass::BAD_FILE),
            (21, ErrorClass::BAD_FILE),
            (26, ErrorClass::FILE_IN_USE),
            (28, ErrorClass::NO_SPACE),
            (30, ErrorClass::READ_ONLY),
            (36, ErrorClass::BAD_FILE),
            (122, ErrorClass::QUOTA),
        ] {
            let error = error_of(Path::new("/a"), "open", &io::Error::from_raw_os_error(errno));
            assert_eq!(error.class(), class, "{errno}");
            assert!(error.what().starts_with("cannot open \"/a\": "), "{}", error.what());
        }
    }
}
