//! Memory of this process for what devices read and write: pages of its own, registered for as long as they live.

use std::io;
use std::ops::Deref;
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

/// A datagram in the buffer where it came. It has the whole pool, which is taken meanwhile.
#[derive(Debug)]
pub struct Lent {
    pub(super) pool: Pool,
    /// Whose pool that is, and which of its buffers.
    pub(super) owner: u32,
    pub(super) buffer: u32,
    /// Where it begins.
    pub(super) begin: usize,
    pub(super) len: usize,
}

impl Deref for Lent {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: the device has filled so many bytes of this buffer, which it does not have until it is given back.
        unsafe { std::slice::from_raw_parts(self.pool.at(self.begin), self.len) }
    }
}
