//! Memory for the program that is within reach of others (`MPI_Alloc_mem`, MPI-5.0 §9.2): of the shared arena, where
//! peers of this host read it in place, and which network cards keep registered.

use super::LocalPort;
use super::net::Net;

impl LocalPort {
    /// Memory for the program, at a multiple of 64 bytes and of `align`, a power of two; `None` if the arena has
    /// none.
    pub fn allocate(&mut self, len: usize, align: usize) -> Option<*mut u8> {
        let at = self.shm.allocate(len, align)?;
        // All that goes back to the kernel when it is freed.
        let len = self.shm.allocated_len(at).unwrap_or(len);
        self.nets.iter_mut().flat_map(|nets| nets.each_mut()).for_each(|net| match net {
            Net::Rc(rc) => rc.own(at.addr()..at.addr() + len),
            Net::Ofi(ofi) => ofi.own(at.addr()..at.addr() + len),
            Net::Tcp(_) | Net::Udp(_) | Net::Uc(_) | Net::Ud(_) => {}
        });
        Some(at)
    }

    /// Takes back what [`LocalPort::allocate`] gave. Whether it was such memory.
    pub fn free(&mut self, address: *mut u8) -> bool {
        // First: what the arena gives back to the kernel has other pages the next time.
        self.nets.iter_mut().flat_map(|nets| nets.each_mut()).for_each(|net| match net {
            Net::Rc(rc) => rc.disown(address.addr()),
            Net::Ofi(ofi) => ofi.disown(address.addr()),
            Net::Tcp(_) | Net::Udp(_) | Net::Uc(_) | Net::Ud(_) => {}
        });
        self.shm.free(address)
    }
}
