//! A datagram socket in the abstract namespace: how processes of one node meet.
//!
//! The kernel puts the sender's credentials on every datagram and moves descriptors along; an
//! abstract name leaves nothing in the file system (unix(7)).

use std::io::{self, IoSlice};
use std::mem::{self, MaybeUninit};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, Shutdown, SocketAddrUnix,
    SocketFlags, SocketType, bind, sendmsg_addr, shutdown, socket_with, sockopt,
};

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
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let fd = socket_with(AddressFamily::UNIX, SocketType::DGRAM, flags, None)?;
        // Before the bind, so that no datagram can arrive without its sender's credentials.
        sockopt::set_socket_passcred(&fd, true)?;
        bind(&fd, &SocketAddrUnix::new_abstract_name(name)?)?;
        Ok(Datagram { fd })
    }

    /// Sends one datagram to the socket called `to`, with a descriptor if given.
    ///
    /// # Errors
    /// `WouldBlock` when the receiver's queue is full; `ConnectionRefused` when no socket has
    /// that name, or its owner takes nothing more; else the kernel's.
    pub fn send(&self, to: &Name, bytes: &[u8], fd: Option<BorrowedFd<'_>>) -> io::Result<()> {
        let to = SocketAddrUnix::new_abstract_name(to)?;
        let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = SendAncillaryBuffer::new(&mut room);
        if let Some(fd) = &fd {
            ancillary.push(SendAncillaryMessage::ScmRights(std::slice::from_ref(fd)));
        }
        let (parts, flags) = ([IoSlice::new(bytes)], SendFlags::NOSIGNAL);
        match sendmsg_addr(&self.fd, &to, &parts, &mut ancillary, flags) {
            Ok(_) => Ok(()),
            Err(Errno::PIPE) => Err(io::ErrorKind::ConnectionRefused.into()),
            Err(error) => Err(error.into()),
        }
    }

    /// Takes nothing more: whoever sends to this socket is refused.
    pub fn close(&self) {
        // It fails if it was done before.
        let _ = shutdown(&self.fd, Shutdown::Both);
    }

    /// Takes the next datagram into `buffer` (a longer one is cut), or `None` if there is none.
    ///
    /// By the C library's call: `rustix` reads credentials into a number of a process that is never 0, and the
    /// kernel tells 0 of a sender in another namespace.
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
    rustix::process::geteuid().as_raw()
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
