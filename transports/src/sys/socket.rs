//! A datagram socket in the abstract namespace: how processes of one node meet.
//!
//! The kernel puts the sender's credentials on every datagram and moves descriptors along; an
//! abstract name leaves nothing in the file system (unix(7)).

use std::io;
use std::mem;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

/// Bytes of an abstract name.
pub const NAME_BYTES: usize = 16;

/// The abstract name of a socket, without the leading zero byte.
pub type Name = [u8; NAME_BYTES];

/// A bound, non-blocking datagram socket.
#[derive(Debug)]
pub struct Datagram {
    fd: OwnedFd,
}

/// A datagram that arrived, its bytes aside.
#[derive(Debug)]
pub struct Arrival {
    /// Number of bytes in the buffer.
    pub len: usize,
    /// User that sent it, as the kernel says.
    pub uid: Option<u32>,
    /// Process that sent it, numbered as in this process's namespace; 0 when not visible here.
    pub pid: i32,
    /// The first descriptor that came along.
    pub fd: Option<OwnedFd>,
}

/// Room for ancillary data, aligned for its headers. The kernel closes descriptors that have no
/// room.
#[repr(C, align(8))]
struct Ancillary([u8; 128]);

impl Datagram {
    /// A socket under `name` in the abstract namespace.
    ///
    /// # Errors
    /// The kernel's; `AddrInUse` when somebody has the name.
    pub fn bind(name: &Name) -> io::Result<Datagram> {
        let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: integers only.
        let fd = unsafe { libc::socket(libc::AF_UNIX, kind, 0) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: a descriptor that the kernel just made and nobody else owns.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        let on: libc::c_int = 1;
        let size = mem::size_of_val(&on) as libc::socklen_t;
        // SAFETY: one int, ours for the call. Before the bind, so that no datagram can arrive
        // without its sender's credentials.
        let answer = unsafe {
            libc::setsockopt(
                fd.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_PASSCRED,
                (&raw const on).cast(),
                size,
            )
        };
        if answer != 0 {
            return Err(io::Error::last_os_error());
        }
        let (address, len) = address(name);
        // SAFETY: `address` is ours for the call and `len` bytes of it are filled.
        if unsafe { libc::bind(fd.as_raw_fd(), (&raw const address).cast(), len) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Datagram { fd })
    }

    /// Sends one datagram to the socket called `to`, with a descriptor if given.
    ///
    /// # Errors
    /// `WouldBlock` when the receiver's queue is full; `ConnectionRefused` when no socket has
    /// that name, or its owner takes nothing more; else the kernel's.
    pub fn send(&self, to: &Name, bytes: &[u8], fd: Option<BorrowedFd<'_>>) -> io::Result<()> {
        let (mut address, address_len) = address(to);
        let mut part = libc::iovec { iov_base: bytes.as_ptr() as *mut _, iov_len: bytes.len() };
        let mut ancillary = Ancillary([0; 128]);
        // SAFETY: `msghdr` is plain data, for which zeros are a value.
        let mut message: libc::msghdr = unsafe { mem::zeroed() };
        message.msg_name = (&raw mut address).cast();
        message.msg_namelen = address_len;
        message.msg_iov = &mut part;
        message.msg_iovlen = 1;
        if let Some(fd) = fd {
            let raw = fd.as_raw_fd();
            message.msg_control = ancillary.0.as_mut_ptr().cast();
            // SAFETY: macros that compute sizes and addresses within `ancillary`, whose 128
            // bytes hold one header and one descriptor.
            unsafe {
                message.msg_controllen = libc::CMSG_SPACE(mem::size_of::<RawFd>() as u32) as _;
                let header = libc::CMSG_FIRSTHDR(&message);
                (*header).cmsg_level = libc::SOL_SOCKET;
                (*header).cmsg_type = libc::SCM_RIGHTS;
                (*header).cmsg_len = libc::CMSG_LEN(mem::size_of::<RawFd>() as u32) as _;
                libc::CMSG_DATA(header).cast::<RawFd>().write_unaligned(raw);
            }
        }
        // SAFETY: all that `message` points to lives until the end of this function.
        let n = unsafe { libc::sendmsg(self.fd.as_raw_fd(), &message, libc::MSG_NOSIGNAL) };
        if n >= 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        let is_closed = error.kind() == io::ErrorKind::BrokenPipe;
        Err(if is_closed { io::ErrorKind::ConnectionRefused.into() } else { error })
    }

    /// Takes nothing more: whoever sends to this socket is refused.
    pub fn close(&self) {
        // SAFETY: integers only. It fails if it was done before.
        unsafe { libc::shutdown(self.fd.as_raw_fd(), libc::SHUT_RDWR) };
    }

    /// Takes the next datagram into `buffer` (a longer one is cut), or `None` if there is none.
    ///
    /// # Errors
    /// The kernel's.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<Arrival>> {
        let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
        let mut ancillary = Ancillary([0; 128]);
        // SAFETY: `msghdr` is plain data, for which zeros are a value.
        let mut message: libc::msghdr = unsafe { mem::zeroed() };
        message.msg_iov = &mut part;
        message.msg_iovlen = 1;
        message.msg_control = ancillary.0.as_mut_ptr().cast();
        message.msg_controllen = ancillary.0.len() as _;
        // SAFETY: all that `message` points to lives until the end of this function.
        let n = unsafe { libc::recvmsg(self.fd.as_raw_fd(), &mut message, libc::MSG_CMSG_CLOEXEC) };
        let Ok(len) = usize::try_from(n) else {
            let error = io::Error::last_os_error();
            return match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(None),
                _ => Err(error),
            };
        };
        let mut arrival = Arrival { len, uid: None, pid: 0, fd: None };
        // SAFETY: `message` was filled in by the kernel and its ancillary data is alive.
        unsafe { take_ancillary(&message, &mut arrival) };
        Ok(Some(arrival))
    }
}

impl AsFd for Datagram {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn address(name: &Name) -> (libc::sockaddr_un, libc::socklen_t) {
    // SAFETY: `sockaddr_un` is plain data, for which zeros are a value.
    let mut address: libc::sockaddr_un = unsafe { mem::zeroed() };
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    for (place, byte) in address.sun_path[1..].iter_mut().zip(name) {
        *place = *byte as libc::c_char;
    }
    let len = mem::offset_of!(libc::sockaddr_un, sun_path) + 1 + NAME_BYTES;
    (address, len as libc::socklen_t)
}

/// Takes credentials and descriptors out of a received message; every descriptor gets an owner
/// and so none leaks, whoever sent it.
///
/// # Safety
/// `message` came from a successful `recvmsg` and its control buffer is still alive.
unsafe fn take_ancillary(message: &libc::msghdr, arrival: &mut Arrival) {
    // SAFETY: the CMSG macros walk within the control buffer, by the lengths that the kernel
    // wrote; payloads are read unaligned and only for the length that their header gives.
    unsafe {
        let mut header = libc::CMSG_FIRSTHDR(message);
        while !header.is_null() {
            let payload = (*header).cmsg_len as usize - libc::CMSG_LEN(0) as usize;
            let data = libc::CMSG_DATA(header);
            match ((*header).cmsg_level, (*header).cmsg_type) {
                (libc::SOL_SOCKET, libc::SCM_RIGHTS) => {
                    for i in 0..payload / mem::size_of::<RawFd>() {
                        let raw = data.cast::<RawFd>().add(i).read_unaligned();
                        let owned = OwnedFd::from_raw_fd(raw);
                        arrival.fd.get_or_insert(owned);
                    }
                }
                (libc::SOL_SOCKET, libc::SCM_CREDENTIALS)
                    if payload >= mem::size_of::<libc::ucred>() =>
                {
                    let who = data.cast::<libc::ucred>().read_unaligned();
                    arrival.uid = Some(who.uid);
                    arrival.pid = who.pid;
                }
                _ => {}
            }
            header = libc::CMSG_NXTHDR(message, header);
        }
    }
}

/// The user that this process acts for.
pub fn own_uid() -> u32 {
    // SAFETY: no arguments; never fails.
    unsafe { libc::geteuid() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Seek, Write};

    #[test]
    fn bytes_credentials_and_a_descriptor_arrive() {
        let mut names: [Name; 2] = [[0; NAME_BYTES]; 2];
        names.iter_mut().for_each(|name| getrandom::fill(name).unwrap());
        let a = Datagram::bind(&names[0]).unwrap();
        let b = Datagram::bind(&names[1]).unwrap();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"seen").unwrap();
        a.send(&names[1], b"hello", Some(file.as_fd())).unwrap();
        let mut buffer = [0; 64];
        let arrival = b.receive(&mut buffer).unwrap().unwrap();
        assert_eq!(&buffer[..arrival.len], b"hello");
        assert_eq!(arrival.uid, Some(own_uid()));
        assert_eq!(arrival.pid, std::process::id() as i32);
        let mut same = std::fs::File::from(arrival.fd.unwrap());
        let mut text = String::new();
        same.rewind().unwrap();
        same.read_to_string(&mut text).unwrap();
        assert_eq!(text, "seen");
        assert!(b.receive(&mut buffer).unwrap().is_none());
    }

    #[test]
    fn a_name_that_nobody_has_refuses() {
        let mut names: [Name; 2] = [[0; NAME_BYTES]; 2];
        names.iter_mut().for_each(|name| getrandom::fill(name).unwrap());
        let a = Datagram::bind(&names[0]).unwrap();
        let error = a.send(&names[1], b"x", None).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
        let b = Datagram::bind(&names[1]).unwrap();
        a.send(&names[1], b"x", None).unwrap();
        for _ in 0..2 {
            b.close();
            let error = a.send(&names[1], b"x", None).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
        }
    }
}
