//! Descriptors: made close-on-exec, read and written without blocking.

use super::{check, check_size};
use std::io;
use std::mem::zeroed;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
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
pub(crate) fn kind(fd: RawFd) -> Kind {
    // SAFETY: an all-zero `stat` is valid, and fstat writes only into it.
    let mut stat: libc::stat = unsafe { zeroed() };
    // SAFETY: `stat` is valid for writing; isatty takes any number.
    let (status, terminal) = unsafe { (libc::fstat(fd, &mut stat), libc::isatty(fd) == 1) };
    match stat.st_mode & libc::S_IFMT {
        _ if status != 0 => Kind::Closed,
        _ if terminal => Kind::Terminal,
        libc::S_IFREG => Kind::File,
        _ => Kind::Stream,
    }
}

/// Whether this process may read from the terminal `fd`: its group is in the foreground there, or the terminal is not
/// the one that controls it, where there is no background. Reading from that would stop the process.
pub(crate) fn foreground_terminal(fd: RawFd) -> bool {
    // SAFETY: both calls take any number and touch no memory.
    let (foreground, own) = unsafe { (libc::tcgetpgrp(fd), libc::getpgrp()) };
    foreground < 0 || foreground == own
}

/// A pipe, both ends close-on-exec; `ours` is the end that shall not block: 0 reads, 1 writes.
pub(crate) fn pipe(ours: usize) -> io::Result<[OwnedFd; 2]> {
    let mut raw = [-1; 2];
    // SAFETY: `raw` has room for the two descriptors.
    check(unsafe { libc::pipe2(raw.as_mut_ptr(), libc::O_CLOEXEC) })?;
    // SAFETY: both descriptors are new and belong to nobody else.
    let ends = raw.map(|fd| unsafe { OwnedFd::from_raw_fd(fd) });
    // SAFETY: plain fcntl on an open descriptor; the other end is a description of its own.
    check(unsafe { libc::fcntl(ends[ours].as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) })?;
    Ok(ends)
}

/// A pair of connected sockets, both close-on-exec: a stream, or packets with an end.
pub(crate) fn socket_pair(packets: bool) -> io::Result<[OwnedFd; 2]> {
    let kind = if packets { libc::SOCK_SEQPACKET } else { libc::SOCK_STREAM };
    let mut raw = [-1; 2];
    let flags = kind | libc::SOCK_CLOEXEC;
    // SAFETY: `raw` has room for the two descriptors.
    check(unsafe { libc::socketpair(libc::AF_UNIX, flags, 0, raw.as_mut_ptr()) })?;
    // SAFETY: both descriptors are new and belong to nobody else.
    Ok(raw.map(|fd| unsafe { OwnedFd::from_raw_fd(fd) }))
}

/// Marks a descriptor that somebody left open for us as ending with this program.
pub(crate) fn close_on_exec_inherited(fd: RawFd) {
    // SAFETY: plain fcntl, which fails on a number that is not open.
    unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) };
}

/// Lets a descriptor pass through exec. Safe between fork and exec.
pub(crate) fn inheritable(fd: RawFd) -> io::Result<()> {
    // SAFETY: plain fcntl on a number.
    check(unsafe { libc::fcntl(fd, libc::F_SETFD, 0) }).map(drop)
}

/// One of the three standard streams, which stay open for as long as the process runs (the
/// runtime opens those that were closed at the start).
pub(crate) fn standard_stream(fd: RawFd) -> BorrowedFd<'static> {
    assert!((0..=2).contains(&fd), "{fd} is no standard stream");
    // SAFETY: the descriptors 0 to 2 are open from the start, and nothing here closes them.
    unsafe { BorrowedFd::borrow_raw(fd) }
}

/// The terminal that a descriptor leads to, opened anew so that a write to it never blocks: it reports room for a
/// byte, and a longer write would wait. Others who have it open, as the shell, go on as before.
pub(crate) fn terminal_anew(fd: RawFd) -> Option<OwnedFd> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY);
    options.open(format!("/proc/self/fd/{fd}")).ok().map(OwnedFd::from)
}

/// A copy of one of the three standard streams that does not block and ends with this program.
pub(crate) fn own_stream(fd: RawFd) -> io::Result<OwnedFd> {
    let own = standard_stream(fd).try_clone_to_owned()?;
    // SAFETY: plain fcntl on an open descriptor.
    let flags = check(unsafe { libc::fcntl(own.as_raw_fd(), libc::F_GETFL) })?;
    // SAFETY: the same.
    check(unsafe { libc::fcntl(own.as_raw_fd(), libc::F_SETFL, flags | libc::O_NONBLOCK) })?;
    Ok(own)
}

/// Reads what is there. `Ok(None)`: nothing yet; `Ok(Some(0))`: the end.
pub(crate) fn read(fd: impl AsFd, into: &mut [u8]) -> io::Result<Option<usize>> {
    let fd = fd.as_fd().as_raw_fd();
    // SAFETY: the pointer and length are those of a live, writable slice.
    settled(check_size(unsafe { libc::read(fd, into.as_mut_ptr().cast(), into.len()) }))
}

/// Writes what fits. `Ok(None)`: nothing fits now.
pub(crate) fn write(fd: impl AsFd, from: &[u8]) -> io::Result<Option<usize>> {
    let fd = fd.as_fd().as_raw_fd();
    // SAFETY: the pointer and length are those of a live slice.
    settled(check_size(unsafe { libc::write(fd, from.as_ptr().cast(), from.len()) }))
}

/// Reads from a socket without waiting, one packet of a packet socket. A packet that is longer than
/// `into` comes back with its whole length, which is then longer than `into`.
pub(crate) fn receive(fd: impl AsFd, into: &mut [u8]) -> io::Result<Option<usize>> {
    let fd = fd.as_fd().as_raw_fd();
    let flags = libc::MSG_DONTWAIT | libc::MSG_TRUNC;
    let stream = libc::MSG_DONTWAIT;
    let mut kind = 0;
    let mut length = size_of_val(&kind) as libc::socklen_t;
    // SAFETY: `kind` and `length` are valid for writing and agree in size.
    unsafe {
        let (kind, length) = ((&raw mut kind).cast(), &mut length);
        libc::getsockopt(fd, libc::SOL_SOCKET, libc::SO_TYPE, kind, length);
    }
    let flags = if kind == libc::SOCK_STREAM { stream } else { flags };
    // SAFETY: the pointer and length are those of a live, writable slice.
    settled(check_size(unsafe { libc::recv(fd, into.as_mut_ptr().cast(), into.len(), flags) }))
}

/// Writes to a socket without waiting and without SIGPIPE; false unless all of it went.
pub(crate) fn send(fd: impl AsFd, from: &[u8]) -> bool {
    let fd = fd.as_fd().as_raw_fd();
    let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
    // SAFETY: the pointer and length are those of a live slice.
    let sent = check_size(unsafe { libc::send(fd, from.as_ptr().cast(), from.len(), flags) });
    sent.is_ok_and(|n| n == from.len())
}

/// "Not now" and "interrupted" are no errors: the event loop comes back.
fn settled(result: io::Result<usize>) -> io::Result<Option<usize>> {
    match result {
        Ok(n) => Ok(Some(n)),
        Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
            Ok(None)
        }
        Err(e) => Err(e),
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
pub(crate) fn raise_descriptor_limit() -> libc::rlimit {
    let mut old = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `old` is valid for writing, the new limits for reading.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &mut old) == 0 {
            let new = libc::rlimit { rlim_cur: old.rlim_max, rlim_max: old.rlim_max };
            libc::setrlimit(libc::RLIMIT_NOFILE, &new);
        }
    }
    old
}
