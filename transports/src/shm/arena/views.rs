//! Parts of an arena that are mapped when they are first used: exchange buffers and memory for programs.
//!
//! A mapping counts as addresses, and costs memory where a program locks all that it maps (`mlockall`), whether it is
//! used or not. So a process maps of an arena, its own or a peer's, what messages need, and the rest in steps: each
//! view is half as long as all before it together, so that there are few of them. Two views may show the same bytes.

use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd};

use mpi_core::tuning::VIEW_LEAST_BYTES;

use crate::sys::limits::Limits;
use crate::sys::memory::{Backing, Mapping, PAGE};
use crate::sys::shared_file::SharedFile;

/// A part of the file.
struct View {
    from: u64,
    map: Mapping,
}

impl View {
    fn end(&self) -> u64 {
        self.from + self.map.len() as u64
    }
}

/// What is mapped so far.
pub(in crate::shm) struct Views {
    /// `None` when all is mapped.
    file: Option<SharedFile>,
    /// What may be mapped of it.
    rest: Range<u64>,
    open: Vec<View>,
}

impl Views {
    /// None yet of the own arena, of which views are of `rest`.
    pub(in crate::shm) fn of_own(file: SharedFile, rest: Range<u64>) -> Views {
        Views { file: Some(file), rest, open: Vec::new() }
    }

    /// None yet of a peer's arena. Each keeps a descriptor; where half of those allowed are used, all is mapped at
    /// once.
    pub(in crate::shm) fn of_peer(file: SharedFile, rest: Range<u64>) -> io::Result<Views> {
        let number = u64::try_from(file.as_fd().as_raw_fd()).unwrap_or(u64::MAX);
        let mut views = Views::of_own(file, rest);
        if number >= Limits::of_this_process().descriptors / 2 && !views.rest.is_empty() {
            views.map(views.rest.clone())?;
            views.file = None;
        }
        Ok(views)
    }

    /// The file, while there is more to map.
    pub(in crate::shm) fn file(&self) -> Option<&SharedFile> {
        self.file.as_ref()
    }

    /// The address of `len` bytes at an offset, which are mapped for that if they are not yet, and no more than they.
    pub(in crate::shm) fn just(&mut self, offset: u64, len: u64) -> io::Result<*mut u8> {
        self.at(offset, len, 0)
    }

    /// The same; what is mapped for that is more than they, for what will be used next.
    #[inline]
    pub(in crate::shm) fn ample(&mut self, offset: u64, len: u64) -> io::Result<*mut u8> {
        if let Some(view) = self.find(offset, len) {
            return Ok(view.map.base().wrapping_add((offset - view.from) as usize));
        }
        let so_far: u64 = self.open.iter().map(|view| view.map.len() as u64).sum();
        let grain = VIEW_LEAST_BYTES.max(so_far / 2);
        // Less will do where there is no room for as much.
        self.at(offset, len, grain).or_else(|_| self.just(offset, len))
    }

    /// The offset of `len` bytes at an address, if they are in one view.
    #[inline]
    pub(in crate::shm) fn offset_of(&self, address: *const u8, len: u64) -> Option<u64> {
        self.open.iter().find_map(|view| {
            let offset = (address.addr() as u64).checked_sub(view.map.base().addr() as u64)?;
            (offset.checked_add(len)? <= view.map.len() as u64).then_some(view.from + offset)
        })
    }

    /// The file behind `len` bytes at an offset that are mapped.
    pub(in crate::shm) fn backing(&self, offset: u64, len: u64) -> Option<Backing> {
        let view = self.find(offset, len)?;
        Some(Backing::of(&view.map, view.from, self.file.as_ref()?))
    }

    #[inline]
    fn find(&self, offset: u64, len: u64) -> Option<&View> {
        let end = offset.checked_add(len)?;
        self.open.iter().find(|view| offset >= view.from && end <= view.end())
    }

    #[cold]
    #[inline(never)]
    fn at(&mut self, offset: u64, len: u64, grain: u64) -> io::Result<*mut u8> {
        let outside = || io::Error::other(format!("{len} bytes at {offset} are outside the arena"));
        let end = offset.checked_add(len).filter(|end| *end <= self.rest.end);
        let end = end.filter(|_| offset >= self.rest.start).ok_or_else(outside)?;
        if self.find(offset, len).is_none() {
            let page = PAGE as u64;
            let from = offset / page * page;
            let end = end.max(from.saturating_add(grain)).next_multiple_of(page);
            self.map(from..end.min(self.rest.end.next_multiple_of(page)))?;
        }
        let view = self.find(offset, len).ok_or_else(outside)?;
        Ok(view.map.base().wrapping_add((offset - view.from) as usize))
    }

    fn map(&mut self, part: Range<u64>) -> io::Result<()> {
        let file = self.file.as_ref().filter(|file| file.is_there());
        let file = file.ok_or_else(|| io::Error::other("the program has closed its descriptor"))?;
        let map = Mapping::new(file, part.start, (part.end - part.start) as usize)?;
        self.open.push(View { from: part.start, map });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::{FromRawFd, OwnedFd};

    use proptest::prelude::*;

    use super::*;

    const BEGIN: u64 = 3 * PAGE as u64;
    const END: u64 = 64 << 20;

    fn views() -> Views {
        Views::of_own(SharedFile::new(END).unwrap(), BEGIN..END)
    }

    fn mapped(views: &Views) -> u64 {
        views.open.iter().map(|view| view.map.len() as u64).sum()
    }

    proptest! {
        #[test]
        fn an_offset_names_the_same_byte_in_every_view(places in
                proptest::collection::vec((BEGIN..END, 1u64..3_000_000, any::<bool>()), 1..40)) {
            let (mut own, file) = (views(), SharedFile::new(END).unwrap());
            own.file = Some(SharedFile::adopt(file.as_fd().try_clone_to_owned().unwrap()).unwrap());
            let mut peer = Views::of_peer(file, BEGIN..END).unwrap();
            for (number, (offset, len, ample)) in (1u8..).zip(places) {
                let at = |views: &mut Views| match ample {
                    true => views.ample(offset, len),
                    false => views.just(offset, len),
                };
                let (Ok(here), Ok(there)) = (at(&mut own), at(&mut peer)) else {
                    prop_assert!(offset + len > END);
                    continue;
                };
                prop_assert!(offset + len <= END);
                prop_assert_eq!(own.offset_of(here, len), Some(offset));
                // SAFETY: both have so many bytes.
                unsafe {
                    here.add(len as usize - 1).write_volatile(number);
                    prop_assert_eq!(there.add(len as usize - 1).read_volatile(), number);
                }
            }
            for outside in [(BEGIN - 1, 1), (END, 1), (u64::MAX, 2), (END - 1, 2)] {
                prop_assert!(own.just(outside.0, outside.1).is_err());
                prop_assert!(own.ample(outside.0, outside.1).is_err());
            }
        }
    }

    #[test]
    fn what_is_mapped_grows_with_what_is_used_in_few_steps() {
        let mut views = views();
        views.just(BEGIN, 1).unwrap();
        assert_eq!(mapped(&views), PAGE as u64);
        for offset in (8 * PAGE as u64..END - (64 << 10)).step_by(64 << 10) {
            views.ample(offset, 64 << 10).unwrap();
            assert!(
                mapped(&views) <= 2 * offset + 2 * VIEW_LEAST_BYTES,
                "{offset}: {}",
                mapped(&views)
            );
        }
        assert!(views.open.len() < 16, "{}", views.open.len());
    }

    #[test]
    fn a_process_short_of_descriptors_keeps_none() {
        let file = SharedFile::new(END).unwrap();
        let high = Limits::of_this_process().descriptors / 2;
        // SAFETY: integers only; the new descriptor is this test's alone.
        let fd = unsafe {
            let fd = libc::fcntl(file.as_fd().as_raw_fd(), libc::F_DUPFD_CLOEXEC, high as i32);
            assert!(fd >= 0);
            OwnedFd::from_raw_fd(fd)
        };
        let mut views = Views::of_peer(SharedFile::adopt(fd).unwrap(), BEGIN..END).unwrap();
        assert!(views.file().is_none() && mapped(&views) == END - BEGIN);
        views.ample(END - 9, 9).unwrap();
        views.ample(BEGIN, END - BEGIN).unwrap();
        assert!(views.just(BEGIN, END).is_err());
    }

    #[test]
    fn the_file_of_somebody_else_is_not_mapped() {
        let mut views = views();
        let number = views.file().unwrap().as_fd().as_raw_fd();
        let other = SharedFile::new(END).unwrap();
        // SAFETY: both are descriptors of this test, of which the first is replaced.
        assert_eq!(unsafe { libc::dup2(other.as_fd().as_raw_fd(), number) }, number);
        assert!(views.ample(BEGIN, 8).is_err() && views.open.is_empty());
    }
}
