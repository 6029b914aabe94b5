//! The state of operations that are under way: what their completions are told by.
//!
//! A provider gives back the pointer that an operation had and may write to the first bytes behind it
//! (`FI_CONTEXT2`); so a slot begins with these and never moves.

use std::ptr::{NonNull, null_mut};

use mpi_core::port::PeerId;

use super::bindings::fi_context2;
use super::memory::Region;
use crate::rdma::fabric::{Local, Work};
use crate::sys::pages::Pages;

/// What an operation is.
#[derive(Clone, Copy, Debug)]
pub(super) enum What {
    /// A buffer for a message: of the user, with his number, or this file's own scratch.
    Receive(Option<(Local<Region>, Work)>),
    /// A message, or a read or atomic operation.
    Work(PeerId, Option<Work>),
    /// A write; with a value that a message tells once it is done.
    Write(PeerId, Option<Work>, Option<u32>),
    /// This process's first message to a peer.
    Hello(PeerId),
    /// The message that tells the value of a write, whose work ends with it.
    Value(PeerId, Option<Work>),
}

impl What {
    /// To or from whom something is under way; `None` for a buffer that waits.
    pub(super) fn peer(&self) -> Option<PeerId> {
        match *self {
            What::Receive(_) => None,
            What::Work(peer, _)
            | What::Write(peer, ..)
            | What::Hello(peer)
            | What::Value(peer, _) => Some(peer),
        }
    }
}

/// One operation.
#[repr(C)]
pub(super) struct Slot {
    context: fi_context2,
    /// Bytes of the operation's own: operands, and short messages.
    pub(super) scratch: [u64; 2],
    pub(super) what: Option<What>,
    /// What its scratch belongs to.
    pub(super) region: Region,
}

/// Slots that are registered together.
pub(super) const CHUNK: usize = 256;
/// Bytes of these: in pages of their own, of which a child of this process has no copy.
pub(super) const CHUNK_BYTES: usize = CHUNK * size_of::<Slot>();

/// All slots. They are freed with this, after the endpoint was closed.
#[derive(Default)]
pub(super) struct Slots {
    chunks: Vec<Pages>,
    free: Vec<NonNull<Slot>>,
}

// SAFETY: it owns its chunks, and nobody else has pointers to them but the endpoint that moves with it.
unsafe impl Send for Slots {}

impl Slots {
    /// A free slot, or `None` where more must be added.
    #[inline]
    pub(super) fn take(&mut self, what: What) -> Option<NonNull<Slot>> {
        let mut slot = self.free.pop()?;
        // SAFETY: a slot of a chunk of this, and nobody else uses it while it is free.
        unsafe { slot.as_mut() }.what = Some(what);
        Some(slot)
    }

    /// Adds slots in these pages, [`CHUNK_BYTES`] at least, once `register` has taken them.
    pub(super) fn add<E>(
        &mut self,
        pages: Pages,
        register: impl FnOnce(*mut u8) -> Result<Region, E>,
    ) -> Result<(), E> {
        let region = register(pages.at(0))?;
        let first = pages.at(0).cast::<Slot>();
        self.chunks.push(pages);
        for place in 0..CHUNK {
            let context = fi_context2 { internal: [null_mut(); 8] };
            let empty = Slot { context, scratch: [0; 2], what: None, region };
            // SAFETY: within the pages, which are aligned and nobody else's.
            let slot = unsafe {
                let slot = first.add(place);
                slot.write(empty);
                NonNull::new_unchecked(slot)
            };
            self.free.push(slot);
        }
        Ok(())
    }

    /// What the operation was whose pointer a completion has, and its scratch; the slot is free then.
    pub(super) fn end(&mut self, context: *mut Slot) -> Option<(What, [u64; 2])> {
        let mut slot = NonNull::new(context)?;
        // SAFETY: providers give back what they were given with an operation, which is a slot of this.
        let inner = unsafe { slot.as_mut() };
        let what = inner.what.take()?;
        self.free.push(slot);
        Some((what, inner.scratch))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_ends_once_and_is_used_again() {
        let mut slots = Slots::default();
        let hello = || What::Hello(PeerId(3));
        assert!(slots.take(hello()).is_none());
        let pages = || Pages::new(CHUNK_BYTES).unwrap();
        assert_eq!(slots.add(pages(), |_| Err::<Region, u32>(5)), Err(5));
        slots
            .add(pages(), |at| at.cast::<Slot>().is_aligned().then_some(Region::NONE).ok_or(()))
            .unwrap();
        let all: Vec<_> = (0..CHUNK).map(|_| slots.take(hello()).unwrap()).collect();
        assert!(slots.take(hello()).is_none());
        assert!(matches!(slots.end(all[9].as_ptr()), Some((What::Hello(PeerId(3)), _))));
        assert!(slots.end(all[9].as_ptr()).is_none(), "it has ended");
        assert!(slots.end(std::ptr::null_mut()).is_none());
        assert_eq!(slots.take(hello()), Some(all[9]));
    }
}
