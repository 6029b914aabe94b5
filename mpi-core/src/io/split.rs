//! Split accesses (MPI-5.0 §14.4.5): the access is made when it begins, as the standard allows, and what is left is to
//! hand over its status.

use super::OpenFile;
use super::transfer::{Access, Place, Way};
use crate::error::Result;
use crate::status::Status;

/// The kinds of split collective accesses: an end must be that of its beginning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Split {
    /// `MPI_File_read_all_begin`.
    ReadAll,
    /// `MPI_File_read_at_all_begin`.
    ReadAtAll,
    /// `MPI_File_write_all_begin`.
    WriteAll,
    /// `MPI_File_write_at_all_begin`.
    WriteAtAll,
    /// `MPI_File_read_ordered_begin`.
    ReadOrdered,
    /// `MPI_File_write_ordered_begin`.
    WriteOrdered,
}

impl Split {
    pub(crate) fn of(access: &Access) -> Split {
        match (access.way, access.place) {
            (Way::Read, Place::At(_)) => Split::ReadAtAll,
            (Way::Read, Place::Pointer) => Split::ReadAll,
            (Way::Read, Place::Shared | Place::Ordered) => Split::ReadOrdered,
            (Way::Write, Place::At(_)) => Split::WriteAtAll,
            (Way::Write, Place::Pointer) => Split::WriteAll,
            (Way::Write, Place::Shared | Place::Ordered) => Split::WriteOrdered,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Split::ReadAll => "MPI_File_read_all_begin",
            Split::ReadAtAll => "MPI_File_read_at_all_begin",
            Split::WriteAll => "MPI_File_write_all_begin",
            Split::WriteAtAll => "MPI_File_write_at_all_begin",
            Split::ReadOrdered => "MPI_File_read_ordered_begin",
            Split::WriteOrdered => "MPI_File_write_ordered_begin",
        }
    }
}

impl OpenFile {
    /// The status of a split access, which ends.
    ///
    /// # Errors
    /// `MPI_ERR_OTHER` if none of this kind has begun.
    pub fn end_split(&mut self, split: Split) -> Result<Status> {
        match self.split {
            Some((begun, status)) if begun == split => {
                self.split = None;
                Ok(status)
            }
            _ => {
                let begin = split.name();
                crate::fail!(OTHER, "{begin} has begun no access of this file")
            }
        }
    }
}
