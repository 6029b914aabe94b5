//! The one place where pending operations touch user memory.
//!
//! By MPI-5.0 §3.7.2 the memory of a pending operation is the library's until it completes: the
//! program neither frees nor moves it, and writes it only where the operation does not. The
//! cursors below are made when an operation begins and dropped when it completes.
#![allow(unsafe_code)]

use crate::buffer::{RawBytes, UserBuffer};
use crate::datatype::{Packer, Unpacker};
use crate::error::{Error, ErrorClass, Result};

/// The bytes of a pending send.
pub(crate) struct Outgoing(Packer);

/// The `len` bytes at `buf` of a blocking send, for as long as the call lasts.
#[inline]
pub(crate) fn lend<'a>(buf: UserBuffer, len: usize) -> RawBytes<'a> {
    // SAFETY: the program gave them to a send that has not returned.
    unsafe { RawBytes::new(buf.0, len) }
}

/// Writes a small message that has just been matched to the receive's memory, which has room.
#[inline(always)]
pub(crate) fn put(bytes: RawBytes<'_>, buf: UserBuffer) {
    // SAFETY: the program gave the memory to a receive that has not returned, and the caller
    // compared the lengths; what arrives lies in a transport's memory.
    unsafe { bytes.copy_small_to(buf.0) }
}

/// The room of a pending receive.
pub(crate) struct Incoming {
    unpacker: Unpacker,
    capacity: u64,
}

impl Outgoing {
    /// What `packer` has left.
    pub(crate) fn new(packer: Packer) -> Outgoing {
        Outgoing(packer)
    }

    /// A packer of no bytes takes this one's place, which is returned.
    pub(crate) fn take(&mut self) -> Packer {
        let empty = Packer::contiguous(UserBuffer::BOTTOM, 0);
        std::mem::replace(&mut self.0, empty)
    }

    /// Where the bytes lie, if they are one run.
    pub(crate) fn as_contiguous(&self) -> Option<(*const u8, u64)> {
        self.0.as_contiguous()
    }
}

/// All bytes of a packer in memory of our own, for messages that are known to be short.
pub(crate) fn gather(packer: &mut Packer) -> Box<[u8]> {
    gather_long(packer).expect("memory for a short message")
}

/// All bytes of a packer in memory of our own, of any number that a program may ask for.
///
/// # Errors
/// `MPI_ERR_NO_MEM` if there is not so much memory.
pub(crate) fn gather_long(packer: &mut Packer) -> Result<Box<[u8]>> {
    let bytes = packer.remaining();
    let mut copy = Vec::new();
    let reserved = usize::try_from(bytes).map(|len| copy.try_reserve_exact(len));
    if !matches!(reserved, Ok(Ok(()))) {
        return Err(Error::new(ErrorClass::NO_MEM, format!("no memory to copy {bytes} bytes"))
            .hint("Send in another mode, which needs no copy, or in several messages."));
    }
    let len = bytes as usize;
    // SAFETY: the vector has room for `len` bytes, all of which the packer writes; the user
    // memory belongs to a send that is pending.
    unsafe {
        let written = packer.pack_into(copy.as_mut_ptr(), len);
        copy.set_len(written);
    }
    Ok(copy.into())
}

impl Incoming {
    /// The room that `unpacker` has.
    pub(crate) fn new(unpacker: Unpacker) -> Incoming {
        Incoming { capacity: unpacker.remaining(), unpacker }
    }

    /// The room of a receive of `capacity` bytes that a transport writes through an unpacker of its
    /// own.
    pub(crate) fn elsewhere(capacity: u64) -> Incoming {
        Incoming { unpacker: Unpacker::contiguous(UserBuffer::BOTTOM, 0), capacity }
    }

    /// Bytes that fit.
    pub(crate) fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Writes a whole message; bytes beyond the capacity are dropped.
    #[inline]
    pub(crate) fn fill(&mut self, bytes: RawBytes<'_>) {
        // SAFETY: the user memory belongs to a receive that is pending; what arrives lies in a
        // transport's or the core's own memory, never in the user's buffer.
        unsafe {
            match self.unpacker.as_whole() {
                Some((to, room)) if bytes.len() as u64 <= room => bytes.copy_small_to(to),
                _ => {
                    self.unpacker.unpack_from(bytes);
                }
            }
        }
    }

    /// The room that is left, for a transport to fetch bytes to.
    pub(crate) fn room(&mut self) -> &mut Unpacker {
        &mut self.unpacker
    }

    /// The unpacker, for a transport to write through; one of no room takes its place.
    pub(crate) fn take(&mut self) -> Unpacker {
        let empty = Unpacker::contiguous(UserBuffer::BOTTOM, 0);
        std::mem::replace(&mut self.unpacker, empty)
    }
}
