//! Memory of this process for what devices read and write: pages of its own, registered for as long as they live.

use std::io;
use std::sync::Arc;

use rdma_sys::{ibv_access_flags, ibv_sge};

use super::objects::{Mr, Pd};
use crate::sys::pages::Pages;

/// Memory that a device reads or writes. The registration goes before the memory.
#[derive(Debug)]
pub(super) struct Pool {
    mr: Mr,
    pages: Pages,
}

impl Pool {
    pub(super) fn new(pd: &Arc<Pd>, bytes: usize) -> io::Result<Pool> {
        let pages = Pages::new(bytes)?;
        let access = ibv_access_flags::IBV_ACCESS_LOCAL_WRITE.0;
        // SAFETY: the pages outlive the registration, by the order of the fields.
        let mr = unsafe { Mr::new(pd, pages.at(0), bytes, access)? };
        Ok(Pool { mr, pages })
    }

    #[inline]
    pub(super) fn at(&self, place: usize) -> *mut u8 {
        self.pages.at(place)
    }

    #[inline]
    pub(super) fn piece(&self, place: usize, len: usize) -> ibv_sge {
        ibv_sge { addr: self.at(place) as u64, length: len as u32, lkey: self.mr.local_key() }
    }
}
