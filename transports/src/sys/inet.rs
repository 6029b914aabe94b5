//! What sockets of the Internet have in common: addresses and options in the kernel's form, runs of
//! memory for it, and answers of calls that do not wait (ip(7), ipv6(7), socket(7)).

use std::io;
use std::mem;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::net::SocketAddrAny;

/// A run of bytes for the kernel.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct Run(libc::iovec);

impl Run {
    /// `len` bytes at `at`.
    pub fn new(at: *const u8, len: usize) -> Run {
        Run(libc::iovec { iov_base: at.cast_mut().cast(), iov_len: len })
    }

    /// Its length.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.0.iov_len
    }

    /// Whether the byte at `at` follows it.
    #[inline]
    pub(crate) fn ends_at(&self, at: *const u8) -> bool {
        self.0.iov_base.cast_const().cast::<u8>().wrapping_add(self.0.iov_len) == at
    }

    /// So many more bytes, which follow it.
    #[inline]
    pub(crate) fn extend(&mut self, bytes: usize) {
        self.0.iov_len += bytes;
    }

    /// It in the kernel's form.
    #[inline]
    pub(super) fn raw(&self) -> &libc::iovec {
        &self.0
    }

    /// Where it begins.
    #[inline]
    pub(crate) fn at(&self) -> *const u8 {
        self.0.iov_base.cast_const().cast()
    }

    /// A copy of it.
    ///
    /// # Safety
    /// The run is readable.
    #[cfg(test)]
    pub(crate) unsafe fn to_vec(self) -> Vec<u8> {
        // SAFETY: by the caller's promise.
        unsafe { std::slice::from_raw_parts(self.0.iov_base.cast::<u8>(), self.0.iov_len).to_vec() }
    }
}

/// Sets an option that has no name in `rustix`.
pub(super) fn option(
    fd: BorrowedFd<'_>,
    level: i32,
    name: i32,
    value: libc::c_int,
) -> io::Result<()> {
    let size = mem::size_of_val(&value) as libc::socklen_t;
    // SAFETY: one int, ours for the call.
    let answer =
        unsafe { libc::setsockopt(fd.as_raw_fd(), level, name, (&raw const value).cast(), size) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// An address as the kernel takes it, with each datagram that is sent.
pub(super) fn address(of: SocketAddr) -> (libc::sockaddr_storage, libc::socklen_t) {
    // SAFETY: plain data, for which zeros are a value.
    let mut storage: libc::sockaddr_storage = unsafe { mem::zeroed() };
    let place = &raw mut storage;
    let len = match of {
        SocketAddr::V4(of) => {
            let v4 = libc::sockaddr_in {
                sin_family: libc::AF_INET as libc::sa_family_t,
                sin_port: of.port().to_be(),
                sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(of.ip().octets()) },
                sin_zero: [0; 8],
            };
            // SAFETY: the storage is larger than any address and aligned for each.
            unsafe { place.cast::<libc::sockaddr_in>().write(v4) };
            mem::size_of::<libc::sockaddr_in>()
        }
        SocketAddr::V6(of) => {
            let v6 = libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as libc::sa_family_t,
                sin6_port: of.port().to_be(),
                sin6_flowinfo: 0,
                sin6_addr: libc::in6_addr { s6_addr: of.ip().octets() },
                sin6_scope_id: of.scope_id(),
            };
            // SAFETY: as above.
            unsafe { place.cast::<libc::sockaddr_in6>().write(v6) };
            mem::size_of::<libc::sockaddr_in6>()
        }
    };
    (storage, len as libc::socklen_t)
}

/// The address in the kernel's form, if it is of the Internet.
pub(super) fn from_kernel(storage: &libc::sockaddr_storage) -> Option<SocketAddr> {
    let place = &raw const *storage;
    match i32::from(storage.ss_family) {
        libc::AF_INET => {
            // SAFETY: the family says which form the storage has.
            let v4 = unsafe { place.cast::<libc::sockaddr_in>().read() };
            let ip = IpAddr::from(v4.sin_addr.s_addr.to_ne_bytes());
            Some(SocketAddr::new(ip, u16::from_be(v4.sin_port)))
        }
        libc::AF_INET6 => {
            // SAFETY: as above.
            let v6 = unsafe { place.cast::<libc::sockaddr_in6>().read() };
            let ip = Ipv6Addr::from(v6.sin6_addr.s6_addr).to_canonical();
            Some(SocketAddr::new(ip, u16::from_be(v6.sin6_port)))
        }
        _ => None,
    }
}

/// The address of one end of a socket, as the kernel has told it, if it is of the Internet.
pub(super) fn end_of(told: SocketAddrAny) -> Option<SocketAddr> {
    let at = SocketAddr::try_from(told).ok()?;
    Some(SocketAddr::new(at.ip().to_canonical(), at.port()))
}

/// The answer of a call that may find nothing to do now.
#[inline]
pub(super) fn now(n: isize) -> io::Result<Option<usize>> {
    if let Ok(n) = usize::try_from(n) {
        return Ok(Some(n));
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::EAGAIN | libc::EINTR) => Ok(None),
        _ => Err(error),
    }
}
