//! Bytes of our own on their way to a peer, kept until it has them: a ring that grows. TCP's streams and
//! the datagrams' stream of frames ([`crate::reliability`]) keep theirs so.

use mpi_core::buffer::RawBytes;
use mpi_core::port::Body;

use crate::sys::tcp::Run;

/// A queue of bytes. Places in it are counted from the first byte ever pushed. It begins with `FIRST`
/// bytes of memory, a power of two.
#[derive(Default)]
pub(crate) struct Ring<const FIRST: usize> {
    bytes: Box<[u8]>,
    start: u64,
    end: u64,
    /// For bytes that go over the end of the memory, while they have to be in one run.
    joined: Vec<u8>,
}

impl<const FIRST: usize> Ring<FIRST> {
    /// Bytes kept.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        (self.end - self.start) as usize
    }

    /// Place of the first byte kept.
    pub(crate) fn start(&self) -> u64 {
        self.start
    }

    /// Place behind the last one.
    #[cfg(test)]
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// Adds bytes.
    #[inline]
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.push_body(Body::Bytes(RawBytes::from(bytes)), bytes.len());
    }

    /// Adds a body of `len` bytes.
    #[inline]
    pub(crate) fn push_body(&mut self, body: Body<'_>, len: usize) {
        if self.len() + len > self.bytes.len() {
            self.grow(self.len() + len);
        }
        if len == 0 {
            return;
        }
        let at = self.end as usize & (self.bytes.len() - 1);
        let first = len.min(self.bytes.len() - at);
        let base = self.bytes.as_mut_ptr();
        match body {
            Body::Bytes(mut bytes) => {
                let head = bytes.take(first);
                // SAFETY: the ring has `first` bytes from `at` on and the rest at its beginning;
                // the body is readable by `Body`'s contract and is no part of the ring.
                unsafe {
                    head.copy_to(base.add(at));
                    bytes.copy_to(base);
                }
            }
            Body::Packed(packer) => {
                // SAFETY: as above; what is left after the first part is `len - first` bytes.
                unsafe {
                    packer.pack_into(base.add(at), first);
                    packer.pack_into(base, len - first);
                }
            }
        }
        self.end += len as u64;
    }

    /// Lets `f` change the `len` bytes that were added last.
    #[inline]
    pub(crate) fn with_last<R>(&mut self, len: usize, f: impl FnOnce(&mut [u8]) -> R) -> R {
        debug_assert!(len <= self.len());
        if len == 0 {
            return f(&mut []);
        }
        let at = (self.end as usize).wrapping_sub(len) & (self.bytes.len() - 1);
        match self.bytes.get_mut(at..at + len) {
            Some(run) => f(run),
            None => self.with_joined(at, len, f),
        }
    }

    #[cold]
    fn with_joined<R>(&mut self, at: usize, len: usize, f: impl FnOnce(&mut [u8]) -> R) -> R {
        let first = self.bytes.len() - at;
        self.joined.clear();
        self.joined.extend_from_slice(&self.bytes[at..]);
        self.joined.extend_from_slice(&self.bytes[..len - first]);
        let result = f(&mut self.joined);
        self.bytes[at..].copy_from_slice(&self.joined[..first]);
        self.bytes[..len - first].copy_from_slice(&self.joined[first..]);
        if len > FIRST {
            self.joined = Vec::new();
        }
        result
    }

    #[cold]
    fn grow(&mut self, need: usize) {
        let mut bytes = vec![0; need.next_power_of_two().max(FIRST)].into_boxed_slice();
        let mask = bytes.len() - 1;
        let mut place = self.start;
        for run in self.runs(self.start, self.len()).into_iter().flatten() {
            for byte in run {
                bytes[place as usize & mask] = *byte;
                place += 1;
            }
        }
        self.bytes = bytes;
    }

    /// The `len` bytes from place `from` on, in at most two runs.
    #[inline]
    pub(crate) fn runs(&self, from: u64, len: usize) -> [Option<&[u8]>; 2] {
        debug_assert!(from >= self.start && from + len as u64 <= self.end);
        if len == 0 {
            return [None, None];
        }
        let at = from as usize & (self.bytes.len() - 1);
        let first = len.min(self.bytes.len() - at);
        let rest = (len > first).then(|| &self.bytes[..len - first]);
        [Some(&self.bytes[at..at + first]), rest]
    }

    /// The same for the kernel.
    #[inline]
    pub(crate) fn to_send(&self, from: u64, len: usize) -> [Option<Run>; 2] {
        self.runs(from, len).map(|run| run.map(|run| Run::new(run.as_ptr(), run.len())))
    }

    /// Gives its memory back, if it is empty.
    pub(crate) fn trim(&mut self) {
        if self.len() == 0 {
            self.bytes = Box::default();
        }
        self.joined = Vec::new();
    }

    /// Forgets the first `len` bytes.
    pub(crate) fn release(&mut self, len: usize) {
        debug_assert!(len <= self.len());
        self.start += len as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpi_core::buffer::UserBuffer;
    use mpi_core::datatype::Packer;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn is_a_queue(steps in prop::collection::vec((0usize..3000, 0usize..4000, any::<bool>()), 1..60)) {
            let (mut ring, mut model, mut next) = (Ring::<4096>::default(), VecDeque::new(), 0u8);
            for (push, release, packed) in steps {
                let bytes: Vec<u8> = (0..push).map(|_| { next = next.wrapping_add(1); next }).collect();
                if packed {
                    let at = UserBuffer(bytes.as_ptr().cast_mut());
                    let mut packer = Packer::contiguous(at, push as u64);
                    ring.push_body(Body::Packed(&mut packer), push);
                } else {
                    ring.push(&bytes);
                }
                model.extend(bytes);
                // As a seal changes what was added.
                let last = push.min(model.len());
                let seen = ring.with_last(last, |run| {
                    run.iter_mut().for_each(|byte| *byte ^= 0x55);
                    run.to_vec()
                });
                let kept = model.len() - last;
                model.iter_mut().skip(kept).for_each(|byte| *byte ^= 0x55);
                prop_assert!(model.iter().skip(kept).eq(&seen));
                let release = release.min(model.len());
                ring.release(release);
                model.drain(..release);
                ring.trim();
                prop_assert_eq!(ring.len(), model.len());
                prop_assert_eq!(ring.end() - ring.start(), model.len() as u64);
                let kept: Vec<u8> = ring.runs(ring.start(), ring.len()).into_iter().flatten()
                    .flatten().copied().collect();
                prop_assert!(kept.iter().eq(model.iter()));
            }
        }
    }
}
