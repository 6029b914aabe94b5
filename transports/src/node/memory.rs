//! Memory for the program that is within reach of others (`MPI_Alloc_mem`, MPI-5.0 §9.2): of the shared arena, where
//! peers of this host read it in place, and which network cards keep registered.

use super::LocalPort;
use super::net::{Net, of_fabrics};

impl LocalPort {
    /// Memory for the program, at a multiple of 64 bytes and of `align`, a power of two; `None` if the arena has none.
    pub fn allocate(&mut self, len: usize, align: usize) -> Option<*mut u8> {
        let at = self.shm.memory().allocate(len, align)?;
        // All that goes back to the kernel when it is freed.
        let len = self.shm.memory().allocated_len(at).unwrap_or(len);
        self.nets.iter_mut().flat_map(|nets| nets.each_mut()).for_each(|net| {
            of_fabrics!(net, net => net.own(at.addr()..at.addr() + len), else ());
        });
        Some(at)
    }

    /// Takes back what [`LocalPort::allocate`] gave. Whether it was such memory.
    pub fn free(&mut self, address: *mut u8) -> bool {
        // First: what the arena gives back to the kernel has other pages the next time.
        self.nets.iter_mut().flat_map(|nets| nets.each_mut()).for_each(|net| {
            of_fabrics!(net, net => net.disown(address.addr()), else ());
        });
        self.shm.memory().free(address)
    }
}
