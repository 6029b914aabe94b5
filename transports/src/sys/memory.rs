//! Shared memory in this address space: mappings of files (see `shared_file`), and their pages.

use std::alloc::Layout;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::ptr::{self, NonNull};

pub use mpi_core::room::PAGE;
use rustix::io::pwritev;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, mmap_anonymous, munmap};

use super::shared_file::{Identity, SharedFile};

/// Shared bytes in this address space until dropped. Other processes write them at any time.
#[derive(Debug)]
pub struct Mapping {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: a mapping is an address range that any thread may use; all access to its bytes is by
// atomics or raw copies of whoever asks for the address.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Maps `len` bytes of `fd` from `offset`, readable and writable.
    ///
    /// # Errors
    /// The kernel's.
    pub fn new(fd: impl AsFd, offset: u64, len: usize) -> io::Result<Mapping> {
        // SAFETY: a new range chosen by the kernel; nothing of ours is replaced.
        unsafe { Mapping::at(ptr::null_mut(), MapFlags::empty(), fd, offset, len) }
    }

    /// Maps the first bytes of `fd`, as many as the layout says, at an address that it allows.
    ///
    /// # Errors
    /// The kernel's.
    pub fn aligned(fd: impl AsFd, layout: Layout) -> io::Result<Mapping> {
        let (len, align) = (layout.size(), layout.align());
        if align <= PAGE {
            return Mapping::new(fd, 0, len);
        }
        let pages = len.checked_next_multiple_of(PAGE).ok_or(io::ErrorKind::OutOfMemory)?;
        let room = Room::keep(pages.checked_add(align).ok_or(io::ErrorKind::OutOfMemory)?)?;
        let before = room.base.align_offset(align);
        // SAFETY: the pages that are replaced are the room's, which nobody uses.
        let mapping =
            unsafe { Mapping::at(room.base.wrapping_add(before), MapFlags::FIXED, fd, 0, len) }?;
        room.give_back_around(before, pages);
        Ok(mapping)
    }

    /// Maps at an address, or anywhere if that is null.
    ///
    /// # Safety
    /// What `MAP_FIXED` among the flags replaces is nobody's.
    unsafe fn at(
        at: *mut u8,
        flags: MapFlags,
        fd: impl AsFd,
        offset: u64,
        len: usize,
    ) -> io::Result<Mapping> {
        let flags = flags | MapFlags::SHARED | MapFlags::NORESERVE;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: by the promise of the caller.
        let at = unsafe { mmap(at.cast(), len, access, flags, fd, offset) }?;
        let base = NonNull::new(at.cast()).ok_or(io::ErrorKind::AddrNotAvailable)?;
        // Shared bytes are in no core file: each process would write gigabytes of holes, its own and all its peers'.
        // SAFETY: the range was just mapped; the advice changes no byte, and its failure harms nothing.
        let _ = unsafe { madvise(at, len, Advice::LinuxDontDump) };
        Ok(Mapping { base, len })
    }

    /// The first byte.
    #[inline]
    pub fn base(&self) -> *mut u8 {
        self.base.as_ptr()
    }

    /// Number of bytes.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Makes the kernel find all pages of a range now, with one call instead of a fault each:
    /// for writing, or else for reading. Where it cannot, they come one by one when touched.
    pub fn populate(&self, offset: usize, len: usize, for_writing: bool) {
        let end = offset.saturating_add(len).min(self.len);
        let offset = offset.min(end);
        populate(self.base().wrapping_add(offset), end - offset, for_writing);
    }
}

/// The file behind a mapping, as long as both are there.
#[derive(Clone, Copy)]
pub struct Backing {
    fd: RawFd,
    identity: Option<Identity>,
    /// Where in the file the mapping begins.
    from: u64,
    base: *mut u8,
    len: usize,
}

// SAFETY: as for `Mapping`; the descriptor is but a number.
unsafe impl Send for Backing {}

impl Backing {
    /// That of a mapping of a file from an offset on.
    pub fn of(map: &Mapping, from: u64, file: &SharedFile) -> Backing {
        let fd = file.as_fd();
        let (fd, identity) = (fd.as_raw_fd(), Identity::of(fd));
        Backing { fd, identity, from, base: map.base(), len: map.len() }
    }

    /// Makes pages be there of bytes that nobody has any use for, which are zeros then. A page that is written to the
    /// file and mapped with others takes the kernel less than one that comes by a fault of its own.
    ///
    /// # Safety
    /// The mapping and its file are still there, and nobody reads or writes the bytes meanwhile.
    pub unsafe fn get_pages(self, at: *mut u8, len: usize) {
        let offset = at.addr().wrapping_sub(self.base.addr());
        let is_within = offset.checked_add(len).is_some_and(|end| end <= self.len);
        // A program that closes descriptors that it does not know may have a file of its own under this number now.
        // SAFETY: the file is still there by the caller's promise; another's is told by its identity.
        let fd = unsafe { BorrowedFd::borrow_raw(self.fd) };
        let is_written = is_within
            && Identity::of(fd) == self.identity
            && write_zeros(fd, self.from + offset as u64, len);
        // What is in the file is mapped together by a call for readers, and may be written all the same.
        populate(at, len, !is_written);
    }
}

/// Writes zeros to a file; whether all.
fn write_zeros(fd: BorrowedFd<'_>, offset: u64, len: usize) -> bool {
    const PIECES: usize = 64;
    static ZEROS: [u8; PAGE] = [0; PAGE];
    let mut done = 0;
    while done < len {
        let left = len - done;
        let mut pieces = [IoSlice::new(&ZEROS); PIECES];
        let used = left.div_ceil(PAGE).min(PIECES);
        pieces[used - 1] = IoSlice::new(&ZEROS[..(left - (used - 1) * PAGE).min(PAGE)]);
        match pwritev(fd, &pieces[..used], offset + done as u64) {
            Ok(n) if n > 0 => done += n,
            _ => return false,
        }
    }
    true
}

/// As [`Mapping::populate`], of a range of addresses.
pub fn populate(at: *mut u8, len: usize, for_writing: bool) {
    let skew = at.addr() % PAGE;
    // Linux 5.14.
    let advice = if for_writing { Advice::LinuxPopulateWrite } else { Advice::LinuxPopulateRead };
    // SAFETY: the advice changes no byte; of a range that is not mapped it is refused.
    let _ = unsafe { madvise(at.wrapping_sub(skew).cast(), len + skew, advice) };
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the range was mapped by `new`, and whoever took its address gave it back.
        let _ = unsafe { munmap(self.base().cast(), self.len) };
    }
}

/// Addresses that are kept free for a mapping; given back when dropped.
struct Room {
    base: *mut u8,
    len: usize,
}

impl Room {
    fn keep(len: usize) -> io::Result<Room> {
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: a new range chosen by the kernel; nothing of ours is replaced.
        let at = unsafe { mmap_anonymous(ptr::null_mut(), len, ProtFlags::empty(), flags) }?;
        Ok(Room { base: at.cast(), len })
    }

    /// Gives all back but `len` bytes at `before`, which are another's now.
    fn give_back_around(self, before: usize, len: usize) {
        let after = before + len;
        for (at, len) in [(0, before), (after, self.len - after)] {
            if len > 0 {
                drop(Room { base: self.base.wrapping_add(at), len });
            }
        }
        std::mem::forget(self);
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        // SAFETY: the range is this room's alone.
        let _ = unsafe { munmap(self.base.cast(), self.len) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_got_and_what_is_beside_them_stays() {
        let file = SharedFile::new(307 * PAGE as u64).unwrap();
        let map = Mapping::new(&file, 7 * PAGE as u64, 300 * PAGE).unwrap();
        let backing = Backing::of(&map, 7 * PAGE as u64, &file);
        let is_there = |page: usize| {
            let mut there = 0u8;
            // SAFETY: one page of the mapping, and room for what is said of it.
            let code =
                unsafe { libc::mincore(map.base().add(page * PAGE).cast(), PAGE, &mut there) };
            assert_eq!(code, 0);
            there & 1 == 1
        };
        for (at, len) in [(100, 50), (PAGE, PAGE), (4 * PAGE - 8, 16), (10 * PAGE + 64, 280 * PAGE)]
        {
            let (first, last) =
                (map.base().wrapping_add(at - 1), map.base().wrapping_add(at + len));
            // SAFETY: within the mapping, of which nobody else knows.
            unsafe {
                first.write_volatile(7);
                last.write_volatile(8);
                backing.get_pages(map.base().add(at), len);
                let bytes = std::slice::from_raw_parts(map.base().add(at), len);
                assert!(bytes.iter().all(|byte| *byte == 0), "{len} bytes at {at}");
                assert_eq!((first.read_volatile(), last.read_volatile()), (7, 8));
            }
            assert!((at / PAGE..(at + len).div_ceil(PAGE)).all(is_there), "{len} bytes at {at}");
        }
        // What is no part of the file is got as ever.
        let mut elsewhere = [1u8; 64];
        // SAFETY: an array of the test's own.
        unsafe { backing.get_pages(elsewhere.as_mut_ptr(), 64) };
        assert!(elsewhere.iter().all(|byte| *byte == 1));
    }

    #[test]
    fn mappings_lie_where_they_may_and_leave_no_room_kept() {
        let fd = SharedFile::new(3 * PAGE as u64 + 1).unwrap();
        for align in [1, PAGE, 4 * PAGE, 2 << 20, 1 << 30] {
            let layout = Layout::from_size_align(3 * PAGE + 1, align).unwrap();
            let map = Mapping::aligned(&fd, layout).unwrap();
            assert_eq!((map.base().addr() % align, map.len()), (0, layout.size()));
            // SAFETY: the last byte of what is mapped, for all who map it.
            unsafe { map.base().add(3 * PAGE).write_volatile(7) };
        }
        // More of them than there are addresses, if one kept its room.
        let layout = Layout::from_size_align(PAGE, 1 << 42).unwrap();
        for _ in 0..64 {
            Mapping::aligned(&fd, layout).unwrap();
        }
    }
}
