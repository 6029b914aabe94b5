//! Memory that goes away and comes again at the same addresses: what a device has of the old one is never used.
//!
//! Each page begins with a mark that no other page ever has, and the device remembers the marks that it saw when
//! memory was registered, as a real one remembers pages.

use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::device::Device;
use super::tests::{AUTO, WATCHING, is_alone, map, unmap};
use super::*;
use crate::sync::{AtomicU64, Ordering};
use crate::sys::memory::PAGE;

const PAGES: usize = 48;

/// What a run has seen.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct Seen {
    stale: usize,
    hits: u64,
}

/// Memory that changes.
struct Ground {
    area: usize,
    /// The end of the data segment, if it is this test's alone.
    data: Option<usize>,
    /// Where things are moved to.
    aside: usize,
    mark: u64,
    rng: ChaCha8Rng,
}

impl Ground {
    fn new(has_data: bool) -> Ground {
        let [area, aside] = [(); 2].map(|()| map(PAGES * PAGE, libc::MAP_PRIVATE));
        let data = has_data.then(|| {
            // SAFETY: the segment grows; nobody has what is new.
            unsafe {
                let top = libc::sbrk(0).addr();
                let skip = top.next_multiple_of(PAGE) - top;
                assert_eq!(libc::sbrk((skip + PAGES * PAGE) as isize).addr(), top);
                top + skip
            }
        });
        let mut ground = Ground { area, data, aside, mark: 0, rng: ChaCha8Rng::seed_from_u64(2) };
        for start in [Some(area), data].into_iter().flatten() {
            ground.fill(start..start + PAGES * PAGE);
        }
        ground
    }

    /// Writes marks that are new.
    fn fill(&mut self, range: Range<usize>) {
        for page in range.step_by(PAGE) {
            self.mark += 1;
            // SAFETY: this test's memory, mapped.
            unsafe { (page as *mut u64).write_volatile(self.mark) };
        }
    }

    /// Pages of an area.
    fn some(&mut self, area: usize) -> Range<usize> {
        let first = self.rng.random_range(0..PAGES - 1);
        let count = self.rng.random_range(1..=(PAGES - first).min(12));
        area + first * PAGE..area + (first + count) * PAGE
    }

    /// The data segment becomes shorter and longer again.
    fn change_data(&mut self, start: usize) {
        let by = self.rng.random_range(1..PAGES / 2) * PAGE;
        let end = start + PAGES * PAGE;
        // SAFETY: no thread of this process uses the segment but this one, which keeps nothing there.
        unsafe {
            assert_eq!(libc::sbrk(0).addr(), end);
            libc::sbrk(-(by as isize));
            libc::sbrk(by as isize);
        }
        self.fill(end - by..end);
    }

    /// Some pages become others, in one of the ways in which they can.
    fn change(&mut self) {
        let range = self.some(self.area);
        let (at, len) = (range.start as *mut libc::c_void, range.len());
        let (prot, private) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE);
        let anew = |flags: i32| {
            // SAFETY: this test's addresses.
            let new = unsafe {
                let flags = private | libc::MAP_ANONYMOUS | flags;
                libc::mmap(at, len, prot, flags, -1, 0)
            };
            assert_eq!(new, at);
        };
        // The kernel moves no more than one mapping at a time, and the pages may belong to several.
        let moved = |from: *mut libc::c_void, to: *mut libc::c_void| {
            let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
            for behind in (0..len).step_by(PAGE) {
                let [from, to] = [from, to].map(|start| start.wrapping_byte_add(behind));
                // SAFETY: both are this test's.
                assert_eq!(unsafe { libc::mremap(from, PAGE, PAGE, flags, to) }, to);
            }
        };
        let aside = self.aside as *mut libc::c_void;
        match self.rng.random_range(0..8) {
            0 => {
                unmap(range.start, len);
                anew(libc::MAP_FIXED_NOREPLACE);
            }
            1 => anew(libc::MAP_FIXED),
            // SAFETY: this test's memory, whose contents nobody needs.
            2 => assert_eq!(unsafe { libc::madvise(at, len, libc::MADV_DONTNEED) }, 0),
            // SAFETY: as above.
            3 => assert_eq!(unsafe { libc::madvise(at, len, libc::MADV_FREE) }, 0),
            4 => {
                moved(at, aside);
                anew(libc::MAP_FIXED_NOREPLACE);
            }
            5 => {
                // SAFETY: what was moved aside before lies there, or nothing.
                let new = unsafe {
                    let flags = private | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
                    libc::mmap(aside, len, prot, flags, -1, 0)
                };
                assert_eq!(new, aside);
                moved(aside, at);
            }
            6 => {
                if let Some(start) = self.data {
                    self.change_data(start);
                }
                return;
            }
            _ => return,
        }
        self.fill(range);
    }
}

/// Changes memory and uses it, many times.
fn rounds(mut device: Device, count: usize, has_data: bool) -> Seen {
    let mut ground = Ground::new(has_data);
    let mut cache = PinCache::new(AUTO, &device);
    let mut seen = Seen::default();
    for _ in 0..count {
        ground.change();
        let area = ground.data.filter(|_| ground.rng.random_bool(0.2)).unwrap_or(ground.area);
        let range = ground.some(area);
        let at = range.start as *const u8;
        // SAFETY: the device only looks.
        let pin = unsafe { cache.pin(&mut device, at, range.len(), Access::Write) }.unwrap();
        seen.stale += device.transfer(pin.region(), range, Access::Write);
        cache.unpin(&mut device, pin);
    }
    seen.hits = cache.counters().hits;
    assert_eq!(cache.counters().uncached, 0);
    cache.end(&mut device);
    assert!(device.live.is_empty());
    seen
}

#[test]
fn ten_thousand_changes_of_mappings_are_all_seen_by_root_or_nobody() {
    let name = "::ten_thousand_changes_of_mappings_are_all_seen_by_root_or_nobody";
    for as_nobody in [false, true] {
        if is_alone(&[module_path!(), name].concat(), as_nobody) {
            // SAFETY: a number.
            let count = if unsafe { libc::getuid() } == 65534 { 2_000 } else { 10_000 };
            let seen = rounds(Device::new(), count, true);
            assert!(seen.stale == 0 && seen.hits > count as u64 / 10, "{seen:?}");
            return;
        }
    }
}

#[test]
fn without_the_monitor_the_same_changes_are_not_seen() {
    let blind = Device { claims_to_follow: true, ..Device::new() };
    let seen = rounds(blind, 200, false);
    assert!(seen.stale > 100, "{seen:?}");
}

/// Who wants to have what used.
type Wish = (usize, Range<usize>);

/// A thread that maps memory, has it used, and unmaps it.
fn tenant(marks: &AtomicU64, number: usize, desk: &Sender<Wish>, used: &Receiver<()>) {
    for round in 0..1000 {
        let len = (1 + round % 5) * PAGE;
        let at = map(len, libc::MAP_PRIVATE);
        for page in (at..at + len).step_by(PAGE) {
            let mark = marks.fetch_add(1, Ordering::Relaxed);
            // SAFETY: mapped by this thread.
            unsafe { (page as *mut u64).write_volatile(mark) };
        }
        desk.send((number, at..at + len)).unwrap();
        used.recv().unwrap();
        unmap(at, len);
    }
}

/// Has memory used that other threads map and unmap, which get each other's addresses from the kernel.
fn tenants(mut device: Device) -> Seen {
    let marks = Arc::new(AtomicU64::new(1));
    let (desk, wishes) = channel();
    let mut threads = Vec::new();
    for number in 0..4 {
        let (use_it, used) = channel();
        let (marks, desk) = (Arc::clone(&marks), desk.clone());
        let live = move || tenant(&marks, number, &desk, &used);
        threads.push((use_it, std::thread::spawn(live)));
    }
    drop(desk);
    let mut cache = PinCache::new(AUTO, &device);
    let mut seen = Seen::default();
    for (number, range) in wishes {
        let at = range.start as *const u8;
        // SAFETY: the device only looks.
        let pin = unsafe { cache.pin(&mut device, at, range.len(), Access::Read) }.unwrap();
        seen.stale += device.transfer(pin.region(), range, Access::Read);
        cache.unpin(&mut device, pin);
        threads[number].0.send(()).unwrap();
    }
    for (_, thread) in threads {
        thread.join().unwrap();
    }
    seen.hits = cache.counters().hits;
    cache.end(&mut device);
    seen
}

#[test]
fn memory_that_threads_give_back_and_get_from_each_other_is_never_stale() {
    let _turn = WATCHING.lock();
    assert_eq!(tenants(Device::new()).stale, 0);
    let blind = Device { claims_to_follow: true, ..Device::new() };
    assert!(tenants(blind).stale > 0);
}
