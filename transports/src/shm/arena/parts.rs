//! Parts of segments that are closed, kept for segments that open: programs make communicators for a few calls, free
//! them, and make others. New pages cost more than all those calls.
//!
//! Counters and cells have to be zeros when a segment opens; where the bodies of fragments go, anything may lie.

use std::collections::VecDeque;

use mpi_core::tuning::PARTS_KEPT;

use super::Arena;
use crate::segment::Layout;
use crate::sys::memory::PAGE;

/// Those that are kept, by their sizes and offsets.
#[derive(Default)]
pub(super) struct Parts(VecDeque<(u64, u64)>);

impl Arena {
    /// Memory of its own for this process's part of a segment of `size` members.
    pub(in crate::shm) fn take_part(&mut self, size: u32) -> Option<u64> {
        let layout = Layout::new(size);
        let len = layout.bytes() as u64;
        if let Some(at) = self.parts.0.iter().position(|(kept, _)| *kept == len) {
            let (_, part) = self.parts.0.remove(at)?;
            let base = self.allocated(part, len).ok()?;
            // SAFETY: the part has so many bytes and is in no use: all members have agreed to close its segment.
            unsafe { base.write_bytes(0, layout.head_bytes()) };
            return Some(part);
        }
        self.new_part(len).or_else(|| {
            // There may be room where others lie that nobody uses.
            self.give_back_parts();
            self.new_part(len)
        })
    }

    fn new_part(&mut self, len: u64) -> Option<u64> {
        let part = self.allocator.take(len, PAGE as u64)?;
        if self.allocated(part, len).is_err() {
            self.give_back(part);
            return None;
        }
        Some(part)
    }

    /// The segment of a part is closed.
    pub(in crate::shm) fn keep_part(&mut self, part: u64) {
        if let Some(len) = self.allocator.len_of(part) {
            self.parts.0.push_back((len, part));
        }
        if self.parts.0.len() > PARTS_KEPT
            && let Some((_, oldest)) = self.parts.0.pop_front()
        {
            self.give_back(oldest);
        }
    }

    /// Gives the memory of all parts back that nobody uses; whether there was any.
    pub(in crate::shm) fn give_back_parts(&mut self) -> bool {
        let kept = std::mem::take(&mut self.parts.0);
        for (_, part) in &kept {
            self.give_back(*part);
        }
        !kept.is_empty()
    }
}
