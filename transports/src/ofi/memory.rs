//! Registered memory, whatever a provider asks for when memory is registered.
//!
//! * local memory needs a descriptor (`FI_MR_LOCAL`), or none, and then what peers may not touch is not
//!   registered at all;
//! * peers name a place by its address (`FI_MR_VIRT_ADDR`) or by what lies before it;
//! * the provider chooses keys (`FI_MR_PROV_KEY`), or takes any that is not in use;
//! * a registration may have to be bound to the endpoint and enabled (`FI_MR_ENDPOINT`).

use std::collections::HashSet;
use std::ffi::c_void;
use std::ptr::null_mut;

use super::bindings::*;
use super::calls;
use super::objects::{Objects, Open};
use crate::rdma::fabric::{Access, Refusal, Remote};

/// A registration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Region {
    place: u32,
    generation: u32,
}

impl Region {
    /// None that was ever registered.
    #[cfg(test)]
    pub(super) const NONE: Region = Region { place: u32::MAX, generation: 0 };
}

struct Entry {
    generation: u32,
    /// What the provider gave, if it was asked.
    mr: Option<Open<fid_mr>>,
    desc: *mut c_void,
    remote: Remote,
}

/// All registrations of an endpoint.
pub(super) struct Regions {
    entries: Vec<Entry>,
    free: Vec<u32>,
    keys: Keys,
    mode: std::ffi::c_int,
}

// SAFETY: as for `Objects`, to which they belong.
unsafe impl Send for Regions {}

impl Regions {
    /// For an endpoint of this kind.
    pub(super) fn new(objects: &Objects) -> Regions {
        let domain = objects.info.domain();
        let keys = Keys::new(domain.mr_key_size);
        Regions { entries: Vec::new(), free: Vec::new(), keys, mode: domain.mr_mode }
    }

    fn asks_for(&self, bit: std::ffi::c_int) -> bool {
        self.mode & bit != 0
    }

    /// # Safety
    /// As [`crate::rdma::fabric::Memory::register`].
    pub(super) unsafe fn register(
        &mut self,
        objects: &Objects,
        address: *mut u8,
        len: usize,
        access: Access,
    ) -> Result<Region, Refusal> {
        let is_free = access == Access::Local && !self.asks_for(FI_MR_LOCAL);
        let mut entry =
            Entry { generation: 0, mr: None, desc: null_mut(), remote: Remote { base: 0, key: 0 } };
        if !is_free {
            // SAFETY: by the caller.
            let mr = unsafe { self.enter(objects, (address, len), access) }?;
            // SAFETY: the registration is open.
            (entry.desc, entry.remote.key) =
                unsafe { ((*mr.pointer()).mem_desc, (*mr.pointer()).key) };
            if entry.remote.key == u64::MAX {
                let provider = objects.info.provider();
                return Err(Refusal::Never(format!(
                    "libfabric's provider {provider} gives keys of more than 8 bytes for memory; choose another \
                     one by FERRITE_OFI_PROVIDER"
                )));
            }
            entry.mr = Some(mr);
        }
        if self.asks_for(FI_MR_VIRT_ADDR) {
            entry.remote.base = address as u64;
        }
        Ok(self.keep(entry))
    }

    /// # Safety
    /// As [`Regions::register`].
    unsafe fn enter(
        &mut self,
        objects: &Objects,
        (address, len): (*mut u8, usize),
        access: Access,
    ) -> Result<Open<fid_mr>, Refusal> {
        let key = if self.asks_for(FI_MR_PROV_KEY) { 0 } else { self.keys.take()? };
        let range = (address.cast_const().cast(), len);
        let mut mr = null_mut();
        // SAFETY: the domain is open; the range by the caller.
        let error =
            unsafe { calls::register(objects.domain(), range, access_bits(access), key, &mut mr) };
        if error != 0 {
            self.keys.give_back(key);
            return Err(refused(objects, len, error));
        }
        let mr = Open::new(mr);
        if self.asks_for(FI_MR_ENDPOINT) {
            let fid = mr.pointer().cast();
            // SAFETY: both are open.
            let error = unsafe {
                match calls::bind(fid, objects.ep().cast(), 0) {
                    0 => calls::control(fid, FI_ENABLE, null_mut()),
                    error => error,
                }
            };
            if error != 0 {
                self.keys.give_back(key);
                return Err(refused(objects, len, error));
            }
        }
        Ok(mr)
    }

    fn keep(&mut self, mut entry: Entry) -> Region {
        if let Some(place) = self.free.pop() {
            let old = &mut self.entries[place as usize];
            entry.generation = old.generation;
            *old = entry;
            return Region { place, generation: old.generation };
        }
        self.entries.push(entry);
        Region { place: self.entries.len() as u32 - 1, generation: 0 }
    }

    /// Ends a registration. One that has ended already is passed over.
    pub(super) fn deregister(&mut self, region: Region) {
        let Some(entry) = self.entries.get_mut(region.place as usize) else { return };
        if entry.generation != region.generation {
            return;
        }
        if entry.mr.take().is_some() {
            self.keys.give_back(entry.remote.key);
        }
        entry.desc = null_mut();
        entry.generation = entry.generation.wrapping_add(1);
        self.free.push(region.place);
    }

    pub(super) fn remote(&self, region: Region) -> Remote {
        self.entries[region.place as usize].remote
    }

    /// What goes with local memory of this registration.
    #[inline]
    pub(super) fn desc(&self, region: Region) -> *mut c_void {
        self.entries[region.place as usize].desc
    }

    /// Whether registrations must end before their endpoint.
    pub(super) fn go_first(&self) -> bool {
        self.asks_for(FI_MR_ENDPOINT)
    }

    /// Ends all.
    pub(super) fn close(&mut self) {
        self.entries.clear();
        self.free.clear();
    }
}

fn access_bits(access: Access) -> u64 {
    let own = FI_SEND | FI_RECV | FI_READ | FI_WRITE;
    own | match access {
        Access::Local => 0,
        Access::Read => FI_REMOTE_READ,
        Access::Write => FI_REMOTE_WRITE,
        Access::All => FI_REMOTE_READ | FI_REMOTE_WRITE,
    }
}

fn refused(objects: &Objects, len: usize, error: std::ffi::c_int) -> Refusal {
    let (provider, why) = (objects.info.provider(), objects.library.explain(error.into()));
    let text = format!("libfabric's provider {provider} does not register {len} bytes: {why}");
    match -error {
        FI_ENOMEM | FI_ENOSPC | FI_EAGAIN => Refusal::Limit(text),
        _ => Refusal::Never(text),
    }
}

/// Keys that this process chooses: in turn, so that one is used again as late as possible.
struct Keys {
    next: u64,
    last: u64,
    used: HashSet<u64>,
}

impl Keys {
    fn new(bytes: usize) -> Keys {
        // The highest means "none" (`FI_KEY_NOTAVAIL`).
        let last = match bytes {
            0..8 => (1 << (8 * bytes)) - 1,
            _ => u64::MAX - 1,
        };
        Keys { next: 1, last, used: HashSet::new() }
    }

    fn take(&mut self) -> Result<u64, Refusal> {
        if self.used.len() as u64 >= self.last {
            return Err(Refusal::Limit(format!("all {} keys for memory are in use", self.last)));
        }
        loop {
            let key = self.next;
            self.next = if key == self.last { 1 } else { key + 1 };
            if self.used.insert(key) {
                return Ok(key);
            }
        }
    }

    fn give_back(&mut self, key: u64) {
        self.used.remove(&key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_fit_and_come_again_only_when_all_others_have_been_used() {
        let mut keys = Keys::new(1);
        let mut taken: Vec<u64> = (0..255).map(|_| keys.take().unwrap()).collect();
        assert!(matches!(keys.take(), Err(Refusal::Limit(_))));
        taken.sort_unstable();
        taken.dedup();
        assert_eq!((taken.len(), taken.first(), taken.last()), (255, Some(&1), Some(&255)));
        keys.give_back(7);
        keys.give_back(9);
        assert_eq!((keys.take(), keys.take()), (Ok(7), Ok(9)));
        assert!(keys.take().is_err());
        let mut keys = Keys::new(8);
        keys.take().unwrap();
        keys.give_back(1);
        assert_eq!(keys.take(), Ok(2));
    }
}
