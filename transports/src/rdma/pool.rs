//! Buffers in registered memory, all of one length: a process's own, for messages that go and for those that may
//! come. They are registered in chunks, when demand asks for one more, and a chunk of which nothing is in use is
//! given back where another one has as much room.

use super::fabric::{Access, Local, Memory, Refusal};
use super::pages::Pages;

/// Bytes of a chunk, as far as buffers fit.
const CHUNK_BYTES: usize = 256 << 10;
/// Buffers of a chunk at least, for a process that both sends and receives.
const CHUNK_BUFFERS_MIN: usize = 8;
/// After a refusal so many more wishes pass before it is tried again.
const PATIENCE: u32 = 1000;

/// The number of a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Buffer(pub u32);

struct Chunk<R> {
    pages: Pages,
    region: R,
    /// Those of its buffers that are not in use.
    free: Vec<u32>,
}

/// The buffers of a process.
pub(super) struct Pool<R> {
    /// Bytes from one buffer to the next.
    stride: usize,
    /// Buffers of a chunk.
    each: usize,
    chunks_max: usize,
    chunks: Vec<Option<Chunk<R>>>,
    /// No chunk before this one has a free buffer.
    lowest: usize,
    free: usize,
    open: usize,
    /// Wishes that are passed over since the last refusal.
    refused: u32,
}

impl<R: Copy> Pool<R> {
    /// Buffers of so many bytes, `bytes_max` in all, of which the first are registered.
    ///
    /// # Errors
    /// Memory cannot be registered; in a sentence.
    pub(super) fn new<M: Memory<Region = R>>(
        memory: &mut M,
        buffer_bytes: usize,
        bytes_max: usize,
    ) -> Result<Pool<R>, String> {
        let stride = buffer_bytes.next_multiple_of(64);
        let each = (CHUNK_BYTES / stride).max(CHUNK_BUFFERS_MIN);
        let chunks_max = (bytes_max / (each * stride)).max(1);
        let chunks = Vec::new();
        let mut pool =
            Pool { stride, each, chunks_max, chunks, lowest: 0, free: 0, open: 0, refused: 0 };
        pool.open_chunk(memory).map(|()| pool)
    }

    /// Bytes of a buffer.
    pub(super) fn buffer_bytes(&self) -> usize {
        self.stride
    }

    /// Buffers that there can be.
    pub(super) fn buffers_max(&self) -> usize {
        self.each * self.chunks_max
    }

    /// Buffers that there are, and those of them that are not in use.
    #[cfg(test)]
    pub(super) fn counts(&self) -> (usize, usize) {
        (self.each * self.open, self.free)
    }

    /// Registers one more chunk.
    #[cold]
    fn open_chunk<M: Memory<Region = R>>(&mut self, memory: &mut M) -> Result<(), String> {
        let bytes = self.each * self.stride;
        let pages = Pages::new(bytes).map_err(|error| format!("there is no memory: {error}"))?;
        // SAFETY: the pages stay mapped until their registration ends; what lies there is copied out before
        // anybody relies on it.
        let region = unsafe { memory.register(pages.base(), pages.len(), Access::Local) };
        let region = region.map_err(|refusal| match refusal {
            Refusal::Limit(why) | Refusal::Never(why) => why,
        })?;
        let place = self.chunks.iter().position(Option::is_none).unwrap_or(self.chunks.len());
        if place == self.chunks.len() {
            self.chunks.push(None);
        }
        let first = (place * self.each) as u32;
        let free = (first..first + self.each as u32).rev().collect();
        self.chunks[place] = Some(Chunk { pages, region, free });
        self.lowest = self.lowest.min(place);
        self.free += self.each;
        self.open += 1;
        Ok(())
    }

    /// A buffer, if there is one or one more chunk can be had.
    #[inline]
    pub(super) fn take<M: Memory<Region = R>>(&mut self, memory: &mut M) -> Option<Buffer> {
        if self.free == 0 && !self.grow(memory) {
            return None;
        }
        loop {
            if let Some(chunk) = self.chunks.get_mut(self.lowest)?
                && let Some(buffer) = chunk.free.pop()
            {
                self.free -= 1;
                return Some(Buffer(buffer));
            }
            self.lowest += 1;
        }
    }

    /// The same for one that stays in use: a quarter is left, unless one more chunk can be had.
    pub(super) fn take_to_keep<M: Memory<Region = R>>(&mut self, memory: &mut M) -> Option<Buffer> {
        let has_spare = self.free * 4 > self.each * self.open || self.grow(memory);
        has_spare.then(|| self.take(memory)).flatten()
    }

    /// Whether more was refused by the last wish.
    pub(super) fn was_refused(&self) -> bool {
        self.refused == PATIENCE
    }

    /// Something was deregistered: the next wish tries again.
    pub(super) fn try_again(&mut self) {
        self.refused = 0;
    }

    #[cold]
    fn grow<M: Memory<Region = R>>(&mut self, memory: &mut M) -> bool {
        if self.open >= self.chunks_max || self.refused > 0 {
            self.refused = self.refused.saturating_sub(1);
            return false;
        }
        let opened = self.open_chunk(memory);
        if let Err(why) = &opened {
            tracing::info!(%why, "no more buffers are registered");
            self.refused = PATIENCE;
        }
        opened.is_ok()
    }

    /// A buffer is in use no more.
    #[inline]
    pub(super) fn give<M: Memory<Region = R>>(&mut self, memory: &mut M, buffer: Buffer) {
        let place = buffer.0 as usize / self.each;
        let Some(Some(chunk)) = self.chunks.get_mut(place) else { return };
        chunk.free.push(buffer.0);
        self.free += 1;
        self.lowest = self.lowest.min(place);
        if chunk.free.len() == self.each && self.free >= 2 * self.each {
            self.close_chunk(memory, place);
        }
    }

    #[cold]
    fn close_chunk<M: Memory<Region = R>>(&mut self, memory: &mut M, place: usize) {
        if let Some(chunk) = self.chunks[place].take() {
            memory.deregister(chunk.region);
            self.free -= chunk.free.len();
            self.open -= 1;
        }
    }

    /// Gives back all that is registered; nothing of it is in use.
    pub(super) fn close<M: Memory<Region = R>>(&mut self, memory: &mut M) {
        for place in 0..self.chunks.len() {
            self.close_chunk(memory, place);
        }
    }

    /// The first bytes of a buffer.
    #[inline]
    pub(super) fn local(&self, buffer: Buffer, len: usize) -> Option<Local<R>> {
        debug_assert!(len <= self.stride);
        let chunk = self.chunks.get(buffer.0 as usize / self.each)?.as_ref()?;
        let offset = buffer.0 as usize % self.each * self.stride;
        // A chunk has `each` buffers of `stride` bytes.
        let address = chunk.pages.base().wrapping_add(offset);
        Some(Local { region: chunk.region, address, len })
    }

    /// Any registration, for work that needs none.
    #[inline]
    pub(super) fn any_region(&self) -> Option<R> {
        self.chunks.iter().flatten().next().map(|chunk| chunk.region)
    }
}

#[cfg(test)]
mod tests {
    use super::super::fabric::Remote;
    use super::*;

    /// Memory that counts.
    #[derive(Default)]
    struct Counting {
        registered: usize,
        in_all: usize,
        most: usize,
    }

    impl Memory for Counting {
        type Region = usize;

        unsafe fn register(&mut self, _: *mut u8, _: usize, _: Access) -> Result<usize, Refusal> {
            if self.registered == self.most {
                return Err(Refusal::Limit("all are taken".to_owned()));
            }
            (self.registered, self.in_all) = (self.registered + 1, self.in_all + 1);
            Ok(self.in_all)
        }

        fn deregister(&mut self, _: usize) {
            self.registered -= 1;
        }

        fn remote(&self, _: usize) -> Remote {
            Remote { base: 0, key: 0 }
        }
    }

    #[test]
    fn it_grows_by_demand_and_gives_back() {
        let mut memory = Counting { most: 100, ..Counting::default() };
        let mut pool = Pool::new(&mut memory, 8000, 1 << 20).unwrap();
        let (each, most) = (pool.each, pool.buffers_max());
        assert_eq!((each, most, memory.registered), (32, 128, 1));
        let all: Vec<Buffer> = (0..most).map(|_| pool.take(&mut memory).unwrap()).collect();
        assert_eq!((pool.take(&mut memory), memory.registered), (None, 4));
        for (n, buffer) in all.iter().enumerate() {
            let local = pool.local(*buffer, 8000).unwrap();
            assert!(all[..n].iter().all(|other| {
                pool.local(*other, 1).unwrap().address.addr().abs_diff(local.address.addr()) >= 8000
            }));
        }
        for buffer in all.iter().rev() {
            pool.give(&mut memory, *buffer);
        }
        assert_eq!((memory.registered, pool.counts()), (1, (each, each)));
        // One more than a chunk has, again and again, registers once.
        let many: Vec<Buffer> = (0..=each).map(|_| pool.take(&mut memory).unwrap()).collect();
        let in_all = memory.in_all;
        for _ in 0..100 {
            pool.give(&mut memory, many[each]);
            assert!(pool.take(&mut memory).is_some());
        }
        assert_eq!(memory.in_all, in_all);
        let kept: Vec<Buffer> = std::iter::from_fn(|| pool.take_to_keep(&mut memory)).collect();
        assert_eq!((kept.len(), memory.registered), (most - each - 1 - most / 4, 4));
        pool.close(&mut memory);
        assert_eq!((memory.registered, pool.take(&mut memory).is_some()), (0, true));
    }

    #[test]
    fn a_refusal_is_not_asked_for_again_at_once() {
        let mut memory = Counting { most: 1, ..Counting::default() };
        let mut pool = Pool::new(&mut memory, 100, 1 << 20).unwrap();
        let all: Vec<Buffer> = std::iter::from_fn(|| pool.take(&mut memory)).collect();
        assert_eq!((all.len(), 0), pool.counts());
        memory.most = 2;
        let waits = (0..).take_while(|_| pool.take(&mut memory).is_none()).count();
        assert_eq!(waits, PATIENCE as usize);
    }
}
