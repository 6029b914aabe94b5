//! UDP sockets that never wait (udp(7)): datagrams gathered from raw memory, batches of them cut by the
//! kernel or the network card (GSO) and put together again where they arrive (GRO).

use std::io;
use std::mem;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::net::sockopt::{self, Ipv4PathMtuDiscovery, Ipv6PathMtuDiscovery};
use rustix::net::{
    AddressFamily, SocketFlags, SocketType, bind, connect, getsockname, socket_with,
};

use super::inet::{Run, address, end_of, from_kernel, now, option};

/// Datagrams of one batch at most, as every kernel with GSO takes them (`UDP_MAX_SEGMENTS`).
pub const BATCH_MAX: usize = 64;
/// Bytes of one batch at most: what fits behind the headers of the largest packet.
pub const BATCH_BYTES_MAX: usize = 65_507;
/// The largest buffer that the kernel can be asked for.
const BYTES_MAX: usize = libc::c_int::MAX as usize;

/// A socket.
#[derive(Debug)]
pub struct Udp {
    fd: OwnedFd,
    is_v6: bool,
}

/// Room for one control message with a number, aligned for its header.
#[repr(C, align(8))]
struct Control([u8; 64]);

impl Udp {
    /// A socket at an address. One at `[::]` hears both versions.
    ///
    /// # Errors
    /// The kernel's.
    pub fn on(at: SocketAddr) -> io::Result<Udp> {
        let is_v6 = at.is_ipv6();
        let family = if is_v6 { AddressFamily::INET6 } else { AddressFamily::INET };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let fd = socket_with(family, SocketType::DGRAM, flags, None)?;
        if is_v6 {
            sockopt::set_ipv6_v6only(&fd, false)?;
        }
        bind(&fd, &at)?;
        let socket = Udp { fd, is_v6 };
        socket.never_fragment()?;
        Ok(socket)
    }

    /// No datagram is cut on its way, nor held back by what the kernel believes about the way: who
    /// sends finds out what gets there (RFC 8899).
    fn never_fragment(&self) -> io::Result<()> {
        match sockopt::set_ip_mtu_discover(&self.fd, Ipv4PathMtuDiscovery::PROBE) {
            // A socket of version 6 alone has no such option.
            Err(error) if !self.is_v6 => return Err(error.into()),
            _ => {}
        }
        if self.is_v6 {
            sockopt::set_ipv6_mtu_discover(&self.fd, Ipv6PathMtuDiscovery::PROBE)?;
        }
        Ok(())
    }

    /// The port.
    ///
    /// # Errors
    /// The kernel's.
    pub fn port(&self) -> io::Result<u16> {
        let at = end_of(getsockname(&self.fd)?);
        at.map(|at| at.port()).ok_or_else(|| io::ErrorKind::Unsupported.into())
    }

    /// Asks for a receive buffer of so many bytes: as much as the kernel gives this user.
    ///
    /// # Errors
    /// The kernel's.
    pub fn set_receive_bytes(&self, bytes: usize) -> io::Result<()> {
        let (fd, bytes) = (&self.fd, bytes.min(BYTES_MAX));
        // Beyond the system's limit if this user may, else up to it.
        sockopt::set_socket_recv_buffer_size_force(fd, bytes)
            .or_else(|_| sockopt::set_socket_recv_buffer_size(fd, bytes))?;
        Ok(())
    }

    /// The same for what is on its way out.
    ///
    /// # Errors
    /// The kernel's.
    pub fn set_send_bytes(&self, bytes: usize) -> io::Result<()> {
        let (fd, bytes) = (&self.fd, bytes.min(BYTES_MAX));
        sockopt::set_socket_send_buffer_size_force(fd, bytes)
            .or_else(|_| sockopt::set_socket_send_buffer_size(fd, bytes))?;
        Ok(())
    }

    /// Has batches delivered as batches, where the kernel can; whether it can.
    pub fn gather(&self) -> bool {
        option(self.fd.as_fd(), libc::SOL_UDP, libc::UDP_GRO, 1).is_ok()
    }

    /// Hands datagrams to the kernel that lie one behind the other in `runs`: each of `each` bytes, but
    /// the last, which may be shorter; one alone may have any length. Whether it has taken them, all or none.
    ///
    /// # Errors
    /// The kernel's: `EMSGSIZE` when they are too long for the way, for instance.
    ///
    /// # Safety
    /// Every run is readable for the call.
    #[inline]
    pub unsafe fn send(&self, to: SocketAddr, runs: &[Run], each: u16) -> io::Result<bool> {
        let (mut address, len) = address(self.in_family(to));
        let (fd, flags) = (self.fd.as_raw_fd(), libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT);
        if let [one] = runs
            && each == 0
        {
            // Less for the kernel to read than a message of one run.
            let (one, address) = (one.raw(), (&raw const address).cast());
            // SAFETY: readable by the caller's promise; the address is ours, with `len` bytes.
            let n = unsafe { libc::sendto(fd, one.iov_base, one.iov_len, flags, address, len) };
            return now(n).map(|n| n.is_some());
        }
        let mut control = Control([0; 64]);
        // SAFETY: `msghdr` is plain data, for which zeros are a value.
        let mut message: libc::msghdr = unsafe { mem::zeroed() };
        message.msg_name = (&raw mut address).cast();
        message.msg_namelen = len;
        message.msg_iov = runs.as_ptr().cast_mut().cast();
        message.msg_iovlen = runs.len() as _;
        if each > 0 {
            message.msg_control = control.0.as_mut_ptr().cast();
            // SAFETY: macros that compute sizes and addresses within `control`, whose 64 bytes hold one
            // header and one number.
            unsafe {
                message.msg_controllen = libc::CMSG_SPACE(mem::size_of::<u16>() as u32) as _;
                let header = libc::CMSG_FIRSTHDR(&message);
                (*header).cmsg_level = libc::SOL_UDP;
                (*header).cmsg_type = libc::UDP_SEGMENT;
                (*header).cmsg_len = libc::CMSG_LEN(mem::size_of::<u16>() as u32) as _;
                libc::CMSG_DATA(header).cast::<u16>().write_unaligned(each);
            }
        }
        // SAFETY: a run has the form of an `iovec` and is readable by the caller's promise; all else that
        // `message` points to lives until the end of this function.
        now(unsafe { libc::sendmsg(fd, &message, flags) }).map(|n| n.is_some())
    }

    /// Takes datagrams that have come, as many bytes as the kernel has joined, and says where they come from;
    /// `None` when there are none now. How long each of them is the caller has to know: to ask the kernel, at
    /// each look that finds nothing as well, costs as much as the look.
    ///
    /// # Errors
    /// The kernel's; what was sent before may have met a refusal.
    #[inline]
    pub fn receive(&self, to: &mut [u8]) -> io::Result<Option<(usize, SocketAddr)>> {
        // SAFETY: plain data, for which zeros are a value.
        let mut from: libc::sockaddr_storage = unsafe { mem::zeroed() };
        let mut size = mem::size_of_val(&from) as libc::socklen_t;
        let (fd, place) = (self.fd.as_raw_fd(), to.as_mut_ptr().cast());
        let (flags, address) = (libc::MSG_DONTWAIT, (&raw mut from).cast());
        // SAFETY: the buffer and the address are ours for the call, with as many bytes as is said.
        let n = now(unsafe { libc::recvfrom(fd, place, to.len(), flags, address, &raw mut size) })?;
        let Some(len) = n else { return Ok(None) };
        let nobody = SocketAddr::from(([0, 0, 0, 0], 0));
        Ok(Some((len, from_kernel(&from).unwrap_or(nobody))))
    }

    /// The address as this socket takes it.
    #[inline]
    fn in_family(&self, to: SocketAddr) -> SocketAddr {
        match to.ip() {
            IpAddr::V4(v4) if self.is_v6 => SocketAddr::new(v4.to_ipv6_mapped().into(), to.port()),
            _ => to,
        }
    }
}

impl AsFd for Udp {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// The MTU of the interface by which an address is reached from here, with all headers.
///
/// # Errors
/// The kernel's: it knows no way there.
pub fn mtu_to(to: SocketAddr) -> io::Result<usize> {
    let unspecified: IpAddr = match to {
        SocketAddr::V4(_) => [0; 4].into(),
        SocketAddr::V6(_) => [0; 16].into(),
    };
    let socket = Udp::on(SocketAddr::new(unspecified, 0))?;
    connect(&socket.fd, &to)?;
    let mtu = match to {
        SocketAddr::V4(_) => sockopt::ip_mtu(&socket.fd)?,
        SocketAddr::V6(_) => sockopt::ipv6_mtu(&socket.fd)?,
    };
    Ok(mtu as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> (Udp, Udp, SocketAddr) {
        let here: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let (near, far) = (Udp::on(here).unwrap(), Udp::on(here).unwrap());
        let to = SocketAddr::new(here.ip(), far.port().unwrap());
        (near, far, to)
    }

    #[test]
    fn a_batch_arrives_as_what_was_sent() {
        let (near, far, to) = pair();
        let mut got = [0; 4096];
        assert!(far.receive(&mut got).unwrap().is_none());
        let bytes: Vec<u8> = (0..250u8).collect();
        let runs = [Run::new(bytes.as_ptr(), 30), Run::new(bytes[30..].as_ptr(), 220)];
        for gathers in [false, true] {
            assert!(!gathers || far.gather());
            // SAFETY: the bytes are this function's.
            assert!(unsafe { near.send(to, &runs, 100) }.unwrap());
            let (mut all, mut calls) = (Vec::new(), 0);
            while let Some((len, from)) = far.receive(&mut got).unwrap() {
                assert_eq!(from.port(), near.port().unwrap());
                all.extend_from_slice(&got[..len]);
                calls += 1;
            }
            assert_eq!((&all, calls), (&bytes, if gathers { 1 } else { 3 }));
        }
    }

    #[test]
    fn one_socket_reaches_both_versions() {
        let near = Udp::on("[::]:0".parse().unwrap()).unwrap();
        for at in ["127.0.0.1:0", "[::1]:0"] {
            let at: SocketAddr = at.parse().unwrap();
            let far = Udp::on(at).unwrap();
            let to = SocketAddr::new(at.ip(), far.port().unwrap());
            // SAFETY: a constant.
            assert!(unsafe { near.send(to, &[Run::new(b"abc".as_ptr(), 3)], 0) }.unwrap());
            let mut got = [0; 8];
            let (len, from) = far.receive(&mut got).unwrap().unwrap();
            assert_eq!((&got[..len], from.ip()), (&b"abc"[..], at.ip()));
        }
    }

    #[test]
    fn what_is_too_long_for_the_way_is_told() {
        let (near, _far, to) = pair();
        assert!(mtu_to(to).unwrap() >= 1280);
        let long = vec![0; 1 << 16];
        // SAFETY: the bytes are this function's.
        let error = unsafe { near.send(to, &[Run::new(long.as_ptr(), long.len())], 0) };
        assert_eq!(error.unwrap_err().raw_os_error(), Some(libc::EMSGSIZE));
    }
}
