//! A datagram socket in the abstract namespace, which leaves nothing in the file system (unix(7)): the
//! kernel tells who sent a datagram and moves descriptors along.
//!
//! In and out: bytes, owned descriptors, the sender's user and name. Who may say what is decided
//! elsewhere.

#![allow(unsafe_code)]

use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketAddrUnix,
    SocketFlags, SocketType, bind, sendmsg_addr, socket_with, sockopt,
};
use std::io::{self, IoSlice};
use std::mem::{self, MaybeUninit};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

/// Most descriptors that one datagram brings.
const DESCRIPTORS_MAX: usize = 2;

/// Room for ancillary data, aligned for its headers. The kernel closes descriptors that have none.
#[repr(C, align(8))]
struct Ancillary([u8; 128]);

/// A bound socket.
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
    /// The abstract name of the sender's socket; empty where it has none.
    pub from: Vec<u8>,
    /// The descriptors that came along.
    pub descriptors: Vec<OwnedFd>,
}

impl Datagram {
    /// A socket under `name`, or, where that is empty, under a name that the kernel chooses.
    pub fn bind(name: &[u8]) -> io::Result<Datagram> {
        let socket =
            socket_with(AddressFamily::UNIX, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
        // Before the bind, so that nothing can arrive without its sender's credentials.
        sockopt::set_socket_passcred(&socket, true)?;
        let name = match name {
            [] => SocketAddrUnix::new_unnamed(),
            name => SocketAddrUnix::new_abstract_name(name)?,
        };
        bind(&socket, &name)?;
        Ok(Datagram { fd: socket })
    }

    /// How long [`Datagram::send_waiting`] and [`Datagram::receive`] wait at most.
    pub fn set_patience(&self, patience: Duration) -> io::Result<()> {
        sockopt::set_socket_timeout(&self.fd, sockopt::Timeout::Send, Some(patience))?;
        Ok(sockopt::set_socket_timeout(&self.fd, sockopt::Timeout::Recv, Some(patience))?)
    }

    /// Sends one datagram to the socket called `to`; waits while that has no room.
    pub fn send_waiting(&self, to: &[u8], bytes: &[u8]) -> io::Result<()> {
        self.send(to, bytes, &[], SendFlags::empty())
    }

    /// Sends one datagram with descriptors to the socket called `to`, without waiting.
    pub fn send_now(&self, to: &[u8], bytes: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<()> {
        self.send(to, bytes, fds, SendFlags::DONTWAIT)
    }

    fn send(
        &self,
        to: &[u8],
        bytes: &[u8],
        descriptors: &[BorrowedFd<'_>],
        flags: SendFlags,
    ) -> io::Result<()> {
        let to = SocketAddrUnix::new_abstract_name(to)?;
        let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
        let mut ancillary = SendAncillaryBuffer::new(&mut room);
        if !descriptors.is_empty() {
            let descriptors = &descriptors[..descriptors.len().min(DESCRIPTORS_MAX)];
            ancillary.push(SendAncillaryMessage::ScmRights(descriptors));
        }
        let (parts, flags) = ([IoSlice::new(bytes)], flags | SendFlags::NOSIGNAL);
        sendmsg_addr(&self.fd, &to, &parts, &mut ancillary, flags)?;
        Ok(())
    }

    /// Takes the next datagram into `buffer` (a longer one is cut); waits for one.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<Arrival> {
        self.take(buffer, 0)
    }

    /// The same without waiting.
    pub fn receive_now(&self, buffer: &mut [u8]) -> io::Result<Arrival> {
        self.take(buffer, libc::MSG_DONTWAIT)
    }

    /// By the C library's call: `rustix` reads credentials into a number of a process that is never 0, and the
    /// kernel tells 0 of a sender in another namespace.
    fn take(&self, buffer: &mut [u8], flags: libc::c_int) -> io::Result<Arrival> {
        let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
        let mut ancillary = Ancillary([0; 128]);
        // SAFETY: `sockaddr_un` and `msghdr` are plain data, for which zeros are a value.
        let mut from: libc::sockaddr_un = unsafe { mem::zeroed() };
        // SAFETY: as above.
        let mut message: libc::msghdr = unsafe { mem::zeroed() };
        message.msg_name = (&raw mut from).cast();
        message.msg_namelen = size_of_val(&from) as libc::socklen_t;
        message.msg_iov = &mut part;
        message.msg_iovlen = 1;
        message.msg_control = ancillary.0.as_mut_ptr().cast();
        message.msg_controllen = ancillary.0.len() as _;
        // SAFETY: all that `message` points to lives until the end of this function.
        let n = unsafe {
            libc::recvmsg(self.fd.as_raw_fd(), &mut message, flags | libc::MSG_CMSG_CLOEXEC)
        };
        let Ok(len) = usize::try_from(n) else { return Err(io::Error::last_os_error()) };
        let name = (message.msg_namelen as usize).saturating_sub(NAME_AT);
        let name = from.sun_path.iter().skip(1).take(name.saturating_sub(1));
        let from = name.map(|&byte| byte as u8).collect();
        let mut arrival = Arrival { len, uid: None, from, descriptors: Vec::new() };
        // SAFETY: `message` was filled in by the kernel and its ancillary data is alive.
        unsafe { take_ancillary(&message, &mut arrival) };
        Ok(arrival)
    }
}

/// For polling.
impl AsFd for Datagram {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

const NAME_AT: usize = mem::offset_of!(libc::sockaddr_un, sun_path);

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
                    let number = |i| data.cast::<RawFd>().add(i).read_unaligned();
                    let all = (0..payload / size_of::<RawFd>()).map(number);
                    arrival.descriptors.extend(all.map(|raw| OwnedFd::from_raw_fd(raw)));
                }
                (libc::SOL_SOCKET, libc::SCM_CREDENTIALS)
                    if payload >= size_of::<libc::ucred>() =>
                {
                    arrival.uid = Some(data.cast::<libc::ucred>().read_unaligned().uid);
                }
                _ => {}
            }
            header = libc::CMSG_NXTHDR(message, header);
        }
    }
}

/// Whether a process of this one's user may believe one of user `uid`, and the other way round: it
/// is the same user, or one of them may do anything to the other in any case.
pub fn is_of_trust(uid: Option<u32>) -> bool {
    let own = rustix::process::geteuid().as_raw();
    uid.is_some_and(|uid| uid == own || uid == 0 || own == 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    #[test]
    fn bytes_the_sender_and_descriptors_arrive() {
        let name = format!("ferrite-test-{}", std::process::id());
        let server = Datagram::bind(name.as_bytes()).unwrap();
        let client = Datagram::bind(b"").unwrap();
        client.send_waiting(name.as_bytes(), b"question").unwrap();
        let mut buffer = [0; 64];
        let arrival = server.receive_now(&mut buffer).unwrap();
        assert_eq!(&buffer[..arrival.len], b"question");
        assert!(is_of_trust(arrival.uid) && arrival.descriptors.is_empty());
        let (mut a, b) = UnixStream::pair().unwrap();
        server.send_now(&arrival.from, b"answer", &[b.as_fd(), b.as_fd()]).unwrap();
        drop(b);
        let mut arrival = client.receive(&mut buffer).unwrap();
        assert_eq!((&buffer[..arrival.len], arrival.descriptors.len()), (&b"answer"[..], 2));
        let mut b = UnixStream::from(arrival.descriptors.pop().unwrap());
        b.write_all(b"same").unwrap();
        let mut text = [0; 4];
        a.read_exact(&mut text).unwrap();
        assert_eq!(&text, b"same");
    }

    #[test]
    fn nobody_there_and_nothing_said_are_errors() {
        let client = Datagram::bind(b"").unwrap();
        client.set_patience(Duration::from_millis(1)).unwrap();
        let refused = client.send_waiting(b"ferrite-test-nobody", b"x").unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
        let kind = client.receive(&mut [0; 4]).unwrap_err().kind();
        assert_eq!(kind, io::ErrorKind::WouldBlock);
        assert!(client.send_waiting(&[7; 200], b"x").is_err());
        assert!(!is_of_trust(None));
    }
}
