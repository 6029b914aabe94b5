//! Descriptors: made close-on-exec, read and written without blocking.

use rustix::fs::{FileType, OFlags, fcntl_getfl, fcntl_setfl, fstat};
use rustix::io::{Errno, FdFlags, Result as Answer, fcntl_setfd};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, socketpair, sockopt,
};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Resource, Rlimit, getpgrp, getrlimit, setrlimit};
use rustix::termios::{isatty, tcgetpgrp};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;

/// What a descriptor leads to, as far as reading and writing differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A terminal.
    Terminal,
    /// A regular file: always ready, cannot be polled.
    File,
    /// A pipe, socket or device.
    Stream,
    /// Nothing: the descriptor is closed.
    Closed,
}

/// What `fd` leads to.
pub(crate) fn kind(fd: impl AsFd) -> Kind {
    match fstat(&fd).map(|stat| FileType::from_raw_mode(stat.st_mode)) {
        Err(_) => Kind::Closed,
        Ok(_) if isatty(&fd) => Kind::Terminal,
        Ok(FileType::RegularFile) => Kind::File,
        Ok(_) => Kind::Stream,
    }
}

/// Whether this process may read from the terminal `fd`: its group is in the foreground there, or the terminal is not
/// the one that controls it, where there is no background. Reading from that would stop the process.
pub(crate) fn foreground_terminal(fd: impl AsFd) -> bool {
    match tcgetpgrp(fd) {
        Ok(foreground) => foreground == getpgrp(),
        // A group that this process cannot see, which is another.
        Err(Errno::OPNOTSUPP) => false,
        Err(_) => true,
    }
}

/// A pipe, both ends close-on-exec; `ours` is the end that shall not block: 0 reads, 1 writes.
pub(crate) fn pipe(ours: usize) -> io::Result<[OwnedFd; 2]> {
    let ends: [OwnedFd; 2] = pipe_with(PipeFlags::CLOEXEC)?.into();
    // The other end is a description of its own.
    fcntl_setfl(&ends[ours], OFlags::NONBLOCK)?;
    Ok(ends)
}

/// A pair of connected sockets, both close-on-exec: a stream, or packets with an end.
pub(crate) fn socket_pair(packets: bool) -> io::Result<[OwnedFd; 2]> {
    let kind = if packets { SocketType::SEQPACKET } else { SocketType::STREAM };
    Ok(socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None)?.into())
}

/// Marks a descriptor that somebody left open for us as ending with this program.
pub(crate) fn close_on_exec_inherited(fd: RawFd) {
    // SAFETY: only for this call, which fails on a number that is not open.
    let _ = fcntl_setfd(unsafe { BorrowedFd::borrow_raw(fd) }, FdFlags::CLOEXEC);
}

/// Lets a descriptor pass through exec. Safe between fork and exec.
pub(crate) fn inheritable(fd: BorrowedFd) -> io::Result<()> {
    Ok(fcntl_setfd(fd, FdFlags::empty())?)
}

/// The terminal that a descriptor leads to, opened anew so that a write to it never blocks: it reports room for a
/// byte, and a longer write would wait. Others who have it open, as the shell, go on as before.
pub(crate) fn terminal_anew(fd: BorrowedFd) -> Option<OwnedFd> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY);
    options.open(format!("/proc/self/fd/{}", fd.as_raw_fd())).ok().map(OwnedFd::from)
}

/// A copy of one of the three standard streams that does not block and ends with this program.
pub(crate) fn own_stream(fd: BorrowedFd) -> io::Result<OwnedFd> {
    let own = fd.try_clone_to_owned()?;
    fcntl_setfl(&own, fcntl_getfl(&own)? | OFlags::NONBLOCK)?;
    Ok(own)
}

/// Reads what is there. `Ok(None)`: nothing yet; `Ok(Some(0))`: the end.
pub(crate) fn read(fd: impl AsFd, into: &mut [u8]) -> io::Result<Option<usize>> {
    settled(rustix::io::read(fd, into))
}

/// Writes what fits. `Ok(None)`: nothing fits now.
pub(crate) fn write(fd: impl AsFd, from: &[u8]) -> io::Result<Option<usize>> {
    settled(rustix::io::write(fd, from))
}

/// Reads from a socket without waiting, one packet of a packet socket. A packet that is longer than
/// `into` comes back with its whole length, which is then longer than `into`.
pub(crate) fn receive(fd: impl AsFd, into: &mut [u8]) -> io::Result<Option<usize>> {
    let flags = match sockopt::socket_type(&fd) {
        Ok(SocketType::STREAM) => RecvFlags::DONTWAIT,
        _ => RecvFlags::DONTWAIT | RecvFlags::TRUNC,
    };
    settled(recv(fd, into, flags).map(|(_, whole)| whole))
}

/// Writes to a socket without waiting and without SIGPIPE; false unless all of it went.
pub(crate) fn send(fd: impl AsFd, from: &[u8]) -> bool {
    let sent = rustix::net::send(fd, from, SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
    sent.is_ok_and(|n| n == from.len())
}

/// "Not now" and "interrupted" are no errors: the event loop comes back.
fn settled(result: Answer<usize>) -> io::Result<Option<usize>> {
    match result {
        Ok(n) => Ok(Some(n)),
        Err(Errno::AGAIN | Errno::INTR) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Closes every descriptor but `keep`; for a process that was forked to watch.
pub(crate) fn close_all_but(keep: RawFd) {
    let number = keep.cast_unsigned();
    // SAFETY: the caller's process uses none of the closed descriptors any more (see fork_guard).
    let closed = unsafe {
        if number > 0 {
            libc::syscall(libc::SYS_close_range, 0, number - 1, 0);
        }
        libc::syscall(libc::SYS_close_range, number + 1, u32::MAX, 0) == 0
    };
    if !closed {
        close_each_but(keep);
    }
}

/// The same where the kernel, or a container's filter, does not know the call.
fn close_each_but(keep: RawFd) {
    let entries = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let open: Vec<RawFd> =
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    for fd in open.into_iter().filter(|fd| *fd != keep) {
        // SAFETY: as above; that of the folder itself is closed by now.
        unsafe { libc::close(fd) };
    }
}

/// Raises the soft limit of open descriptors to the hard one; the old limits, for the ranks.
pub(crate) fn raise_descriptor_limit() -> Rlimit {
    let old = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: old.maximum, ..old });
    old
}
