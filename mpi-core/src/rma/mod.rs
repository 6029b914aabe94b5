//! One-sided communication (MPI-5.0 chapter 12): windows whose memory the processes of a node
//! share.
//!
//! Enters: calls on a window's handle. A window's memory is a [`WindowSegment`] that the port provides
//! and every member has mapped, so an operation is done when the call returns: a put is a copy, an
//! accumulate a copy under the target's lock (`memory`). What remains is order between processes
//! (`epochs`, `active`): barriers, messages, and a queue for each target.

mod access;
mod active;
mod create;
mod epochs;
mod memory;

use std::rc::Rc;
use std::sync::atomic::AtomicI64;

use crate::attributes::AttributeList;
use crate::buffer::UserBuffer;
use crate::constants::Special;
use crate::entry::Entry;
use crate::error::{Error, ErrorClass, Result};
use crate::handle::{CommHandle, ErrhandlerHandle, WinHandle};
use crate::info::Info;
use crate::objects::Objects;
use crate::port::Port;
use crate::text::Text;

pub use access::Target;
use epochs::Epochs;
pub use epochs::{LOCK_EXCLUSIVE, LOCK_SHARED};
pub use memory::WindowSegment;

/// One process's part of a window.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// Where it begins in the segment; an empty part that lies apart from the others is nowhere.
    offset: Option<u64>,
    size: u64,
    /// Bytes that a displacement counts.
    disp_unit: i64,
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
    segment: Rc<WindowSegment>,
    parts: Vec<Part>,
    rank: u32,
    epochs: Epochs,
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

/// The calls on windows: what takes more than the window, or the others whose memory it is.
pub struct Windows<'a, P: Port> {
    entry: Entry<'a, P>,
}

impl<P: Port> Entry<'_, P> {
    /// The calls on windows.
    #[inline]
    pub fn windows(&mut self) -> Windows<'_, P> {
        Windows { entry: self.reborrow() }
    }
}

impl Objects {
    /// The window that a handle names.
    ///
    /// # Errors
    /// `MPI_ERR_WIN` saying what the handle was.
    pub fn window(&self, handle: WinHandle) -> Result<&Window> {
        self.windows.get(handle)
    }

    /// The window that a handle names, to be changed.
    ///
    /// # Errors
    /// As [`Objects::window`].
    pub fn window_mut(&mut self, handle: WinHandle) -> Result<&mut Window> {
        self.windows.get_mut(handle)
    }
}
