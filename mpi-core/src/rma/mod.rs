//! One-sided communication (MPI-5.0 chapter 12): windows whose memory the processes of a node
//! share.
//!
//! A window's memory is a [`WindowSegment`] that the port provides and every member has mapped, so an operation is done
//! when the call returns: a put is a copy, an accumulate a copy under the target's lock (`memory`). What remains is
//! order between processes: `epochs` says what a process may do, and [`windows`](crate::windows) has the calls.

pub(crate) mod epochs;
pub(crate) mod memory;

use std::rc::Rc;
use std::sync::atomic::AtomicI64;

use crate::attributes::AttributeList;
use crate::buffer::UserBuffer;
use crate::constants::Special;
use crate::error::{Error, ErrorClass, Result};
use crate::handle::{CommHandle, ErrhandlerHandle};
use crate::info::Info;
use crate::text::Text;

use epochs::Epochs;
pub use epochs::{LOCK_EXCLUSIVE, LOCK_SHARED};
pub use memory::WindowSegment;

/// One process's part of a window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    /// Where it begins in the segment; an empty part that lies apart from the others is nowhere.
    pub(crate) offset: Option<u64>,
    pub(crate) size: u64,
    /// Bytes that a displacement counts.
    pub(crate) disp_unit: i64,
}

/// What a process may know of another's part (`MPI_Win_shared_query`).
#[derive(Clone, Copy, Debug)]
pub struct SharedPart {
    /// Its address in this process.
    pub base: UserBuffer,
    /// Its bytes.
    pub size: i64,
    /// Its displacement unit.
    pub disp_unit: i64,
}

/// A window.
pub struct Window {
    /// The communicator of its processes: a duplicate, so that the program's may be freed.
    pub comm: CommHandle,
    /// What `MPI_Win_get_name` answers.
    pub name: Text,
    /// What becomes of errors.
    pub errhandler: ErrhandlerHandle,
    /// Its attributes.
    pub attributes: AttributeList,
    /// Its hints.
    pub hints: Info,
    /// Where the program finds the values of the attributes that the standard gives it: size,
    /// displacement unit, flavor, model.
    pub shown: Box<[AtomicI64; 4]>,
    pub(crate) segment: Rc<WindowSegment>,
    pub(crate) parts: Vec<Part>,
    pub(crate) rank: u32,
    pub(crate) epochs: Epochs,
}

impl Window {
    /// The part of this process.
    pub fn own(&self) -> SharedPart {
        self.part_of(self.rank as usize)
    }

    /// The part of the process with this rank or, for `None`, of the first that has one
    /// (`MPI_Win_shared_query` with `MPI_PROC_NULL`).
    pub fn part(&self, rank: Option<u32>) -> SharedPart {
        match rank {
            Some(rank) => self.part_of(rank as usize),
            None => self.part_of(self.parts.iter().position(|part| part.size > 0).unwrap_or(0)),
        }
    }

    fn part_of(&self, rank: usize) -> SharedPart {
        let Part { offset, size, disp_unit } = self.parts[rank];
        let base = offset.map_or(UserBuffer::BOTTOM, |offset| self.segment.at(offset, size));
        SharedPart { base, size: size as i64, disp_unit }
    }

    /// The rank that the argument `param` is.
    ///
    /// # Errors
    /// `MPI_ERR_RANK`.
    pub fn target(&self, rank: i32, param: &'static str) -> Result<u32> {
        match u32::try_from(rank) {
            Ok(target) if (target as usize) < self.parts.len() => Ok(target),
            _ => {
                let last = self.parts.len() - 1;
                let text = format!(", but the window has ranks 0 to {last}");
                Err(Error::special(ErrorClass::RANK, param, Special::Rank(rank), text))
            }
        }
    }
}
