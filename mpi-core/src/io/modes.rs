//! How a file is opened (MPI-5.0 §14.2.1): the bits of `amode`, which of them go together, and
//! what each of them allows later.

use super::disk::Permission;
use crate::error::{Error, ErrorClass, Result};

/// `MPI_MODE_APPEND`.
pub const APPEND: i32 = 1;
/// `MPI_MODE_CREATE`.
pub const CREATE: i32 = 2;
/// `MPI_MODE_DELETE_ON_CLOSE`.
pub const DELETE_ON_CLOSE: i32 = 4;
/// `MPI_MODE_EXCL`.
pub const EXCL: i32 = 8;
/// `MPI_MODE_RDONLY`.
pub const RDONLY: i32 = 16;
/// `MPI_MODE_RDWR`.
pub const RDWR: i32 = 32;
/// `MPI_MODE_SEQUENTIAL`.
pub const SEQUENTIAL: i32 = 64;
/// `MPI_MODE_UNIQUE_OPEN`.
pub const UNIQUE_OPEN: i32 = 128;
/// `MPI_MODE_WRONLY`.
pub const WRONLY: i32 = 256;
/// `MPI_SEEK_CUR`.
pub const SEEK_CUR: i32 = 401;
/// `MPI_SEEK_END`.
pub const SEEK_END: i32 = 402;
/// `MPI_SEEK_SET`.
pub const SEEK_SET: i32 = 403;

const ALL: i32 =
    APPEND | CREATE | DELETE_ON_CLOSE | EXCL | RDONLY | RDWR | SEQUENTIAL | UNIQUE_OPEN | WRONLY;

/// A sound access mode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Modes {
    /// The bits, as the program gave them.
    pub bits: i32,
    /// Reading, writing or both.
    pub access: Permission,
}

impl Modes {
    /// The modes that `amode` stands for.
    ///
    /// # Errors
    /// `MPI_ERR_AMODE` for bits that are none or do not go together.
    pub fn new(amode: i32) -> Result<Modes> {
        let access = match amode & (RDONLY | RDWR | WRONLY) {
            RDONLY => Permission::Read,
            RDWR => Permission::Both,
            WRONLY => Permission::Write,
            0 => crate::fail!(AMODE, "amode", "says neither MPI_MODE_RDONLY, _RDWR nor _WRONLY"),
            _ => crate::fail!(
                AMODE,
                "amode",
                "says more than one of MPI_MODE_RDONLY, _RDWR, _WRONLY"
            ),
        };
        if amode & !ALL != 0 {
            crate::fail!(AMODE, "amode", "has bits ({:#x}) that are no mode", amode & !ALL);
        }
        if access == Permission::Read && amode & (CREATE | EXCL) != 0 {
            crate::fail!(AMODE, "amode", "asks to create a file that is only to be read");
        }
        if access == Permission::Both && amode & SEQUENTIAL != 0 {
            crate::fail!(AMODE, "amode", "says MPI_MODE_SEQUENTIAL, which excludes MPI_MODE_RDWR");
        }
        Ok(Modes { bits: amode, access })
    }

    /// Whether all of `bits` are set.
    pub fn has(self, bits: i32) -> bool {
        self.bits & bits == bits
    }

    /// Reading is allowed.
    pub(crate) fn check_read(self) -> Result<()> {
        if self.access == Permission::Write {
            crate::fail!(ACCESS, "fh", "was opened with MPI_MODE_WRONLY and cannot be read");
        }
        Ok(())
    }

    /// Writing is allowed.
    pub(crate) fn check_write(self) -> Result<()> {
        if self.access == Permission::Read {
            crate::fail!(READ_ONLY, "fh", "was opened with MPI_MODE_RDONLY and cannot be changed");
        }
        Ok(())
    }

    /// Offsets and individual pointers may be used, which `MPI_MODE_SEQUENTIAL` forbids.
    pub(crate) fn check_not_sequential(self) -> Result<()> {
        if self.has(SEQUENTIAL) {
            let what = "was opened with MPI_MODE_SEQUENTIAL, where only shared file pointers serve";
            return Err(Error::param(ErrorClass::UNSUPPORTED_OPERATION, "fh", what));
        }
        Ok(())
    }
}

/// The etype `offset` from where `whence` says, of a pointer that stands at `now` in a file that
/// ends at `end`.
pub(crate) fn sought(offset: i64, whence: i32, now: i64, end: Result<i64>) -> Result<i64> {
    let from = match whence {
        SEEK_SET => 0,
        SEEK_CUR => now,
        SEEK_END => end?,
        _ => crate::fail!(ARG, "whence", "is {whence}, but must be MPI_SEEK_SET, _CUR or _END"),
    };
    match from.checked_add(offset) {
        Some(position) if position >= 0 => Ok(position),
        _ => crate::fail!(ARG, "offset", "is {offset}, which leads before the view's beginning"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sound_modes() {
        for (bits, access) in [
            (RDONLY, Permission::Read),
            (RDWR | CREATE | EXCL, Permission::Both),
            (WRONLY | CREATE | APPEND | SEQUENTIAL, Permission::Write),
            (RDWR | DELETE_ON_CLOSE | UNIQUE_OPEN, Permission::Both),
        ] {
            assert_eq!(Modes::new(bits).unwrap(), Modes { bits, access });
        }
    }

    #[test]
    fn modes_that_do_not_go_together() {
        for bits in [0, CREATE, RDONLY | RDWR, RDONLY | CREATE, RDONLY | EXCL, RDWR | SEQUENTIAL] {
            assert_eq!(Modes::new(bits).unwrap_err().class(), ErrorClass::AMODE, "{bits}");
        }
        assert_eq!(Modes::new(RDWR | 4096).unwrap_err().class(), ErrorClass::AMODE);
    }
}
