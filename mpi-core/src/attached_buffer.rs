//! A buffer that a program has attached for buffered sends (MPI-5.0 §3.6): how much of it is charged.

use std::collections::BTreeSet;

use crate::buffer::UserBuffer;
use crate::error::{Error, ErrorClass, Result};
use crate::handle::{CommHandle, SessionHandle};

/// Names an attached buffer as long as messages lie in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BufferId {
    /// The process's (`MPI_Buffer_attach`).
    Process,
    /// A session's (`MPI_Session_attach_buffer`).
    Session(SessionHandle),
    /// A communicator's (`MPI_Comm_attach_buffer`).
    Comm(CommHandle),
}

/// An attached buffer: what the program gave, and how much of it is charged.
#[derive(Debug)]
pub struct AttachedBuffer {
    address: UserBuffer,
    size: u64,
    automatic: bool,
    used: u64,
    /// The numbers of the sends that lie in it.
    sends: BTreeSet<u64>,
}

impl AttachedBuffer {
    /// The buffer at `address` of `size` bytes; `MPI_BUFFER_AUTOMATIC` has any size it needs.
    pub fn new(address: UserBuffer, size: u64) -> AttachedBuffer {
        let automatic = address == UserBuffer::AUTOMATIC;
        AttachedBuffer { address, size, automatic, used: 0, sends: BTreeSet::new() }
    }

    /// Whether no message lies in it.
    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// What the program attached.
    pub fn attached(&self) -> (UserBuffer, u64) {
        (self.address, if self.automatic { 0 } else { self.size })
    }

    /// Takes so many bytes of it for the send with this number.
    pub(crate) fn charge(&mut self, bytes: u64, number: u64) -> Result<()> {
        let used = self.used.checked_add(bytes);
        let Some(used) = used.filter(|used| self.automatic || *used <= self.size) else {
            return Err(Error::new(
                ErrorClass::BUFFER,
                format!(
                    "the attached buffer has {} of {} bytes left, but the message needs {bytes} \
                     (its packed size and MPI_BSEND_OVERHEAD)",
                    self.size.saturating_sub(self.used),
                    self.size
                ),
            )
            .hint("Attach a larger buffer, or wait until earlier buffered sends are delivered."));
        };
        self.used = used;
        self.sends.insert(number);
        Ok(())
    }

    /// Gives them back.
    pub(crate) fn give_back(&mut self, bytes: u64, number: u64) {
        self.used -= bytes;
        self.sends.remove(&number);
    }

    /// Whether so many bytes would fit if it were empty.
    pub(crate) fn may_hold(&self, bytes: u64) -> bool {
        bytes <= self.size
    }

    /// Whether a send with a lower number lies in it.
    pub(crate) fn holds_before(&self, number: u64) -> bool {
        self.sends.first().is_some_and(|first| *first < number)
    }
}
