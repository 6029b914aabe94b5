//! A device for tests: it counts, has limits, and translates addresses once, when memory is registered.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::Range;

use super::super::fabric::{Access, Memory, Refusal, Remote};
use crate::sys::cma;
use crate::sys::memory::PAGE;

/// What it knows of a registration.
#[derive(Clone, Debug)]
pub(super) struct Registered {
    pub(super) range: Range<usize>,
    pub(super) access: Access,
    /// What lay at the beginning of each page.
    marks: Vec<u64>,
}

/// The device.
#[derive(Debug)]
pub(super) struct Device {
    pub(super) live: BTreeMap<u32, Registered>,
    pub(super) next: u32,
    pub(super) deregistrations: u32,
    pub(super) regions_max: usize,
    pub(super) bytes_max: usize,
    /// Whether it says that it follows mappings, which it does not.
    pub(super) claims_to_follow: bool,
    /// Whether it looks at the memory; other addresses are mere numbers.
    pub(super) looks: bool,
    /// Registrations that are refused from now on although there is room.
    pub(super) moods: Cell<u32>,
}

impl Device {
    pub(super) fn new() -> Device {
        Device {
            live: BTreeMap::new(),
            next: 1,
            deregistrations: 0,
            regions_max: usize::MAX,
            bytes_max: usize::MAX,
            claims_to_follow: false,
            looks: true,
            moods: Cell::new(0),
        }
    }

    /// One for addresses that are mere numbers.
    pub(super) fn of_numbers() -> Device {
        Device { claims_to_follow: true, looks: false, ..Device::new() }
    }

    pub(super) fn bytes(&self) -> usize {
        self.live.values().map(|registered| registered.range.len()).sum()
    }

    /// A transfer from or to a range: how many of its pages are not where the device has them.
    pub(super) fn transfer(&self, region: u32, range: Range<usize>, access: Access) -> usize {
        let registered = self.live.get(&region).expect("work is done on what is registered");
        let own = &registered.range;
        assert!(own.start <= range.start && range.end <= own.end, "{own:?} {range:?}");
        assert!(super::table::covers(registered.access, access));
        if !self.looks {
            return 0;
        }
        let first = (range.start - own.start) / PAGE;
        let last = (range.end - own.start).div_ceil(PAGE);
        let moved = |page: &usize| mark(own.start + page * PAGE) != Some(registered.marks[*page]);
        (first..last).filter(moved).count()
    }
}

/// What lies there, if anything does.
fn mark(address: usize) -> Option<u64> {
    let mut word = [0; 8];
    let pid = std::process::id() as i32;
    // SAFETY: there is room for eight bytes.
    let read = unsafe { cma::read_exact(pid, address as u64, word.as_mut_ptr(), 8) };
    read.ok().map(|()| u64::from_ne_bytes(word))
}

impl Memory for Device {
    type Region = u32;

    unsafe fn register(
        &mut self,
        address: *mut u8,
        len: usize,
        access: Access,
    ) -> Result<u32, Refusal> {
        let range = address.addr()..address.addr() + len;
        assert!(range.start.is_multiple_of(PAGE) && len > 0 && len.is_multiple_of(PAGE));
        if self.moods.get() > 0 {
            self.moods.set(self.moods.get() - 1);
            return Err(Refusal::Never("a mood".to_owned()));
        }
        if self.live.len() >= self.regions_max || self.bytes() + len > self.bytes_max {
            return Err(Refusal::Limit("the device's table is full".to_owned()));
        }
        let marks = match self.looks {
            true => range.clone().step_by(PAGE).map(mark).collect(),
            false => Some(Vec::new()),
        };
        let gone = || Refusal::Never("there is no such memory".to_owned());
        let registered = Registered { marks: marks.ok_or_else(gone)?, range, access };
        let region = self.next;
        self.next += 1;
        self.live.insert(region, registered);
        Ok(region)
    }

    fn deregister(&mut self, region: u32) {
        self.live.remove(&region).expect("what is deregistered was registered, and once");
        self.deregistrations += 1;
    }

    fn remote(&self, region: u32) -> Remote {
        Remote { base: self.live[&region].range.start as u64, key: region.into() }
    }

    fn follows_mappings(&self) -> bool {
        self.claims_to_follow
    }
}
