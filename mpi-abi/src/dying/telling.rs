//! To whom a fatal signal is told: to our own launcher, which names functions and lines and prints
//! what it is told at the end, once for ranks that died alike; else to a process of `mpirun` that is
//! made for it; and where there is none, as numbers, on standard error.

use std::ffi::{CString, c_char, c_int};
use std::fmt::{self, Write};
use std::os::fd::RawFd;
use std::path::Path;
use std::ptr::null;
use std::sync::OnceLock;
use std::time::Duration;

use launch_wire::control::dying::{Fault, TrailRef, UNKNOWN, encode};
use launch_wire::control::mapping::Mapping;

use crate::{configure, library};

/// What is known before any signal comes, as the handler needs it.
struct Prepared {
    /// The launcher's socket, with what the kernel calls it: the program may have closed it and opened
    /// something else under its number.
    launcher: Option<(RawFd, libc::dev_t, libc::ino_t)>,
    /// The program that names functions.
    helper: Option<CString>,
    /// `rank 3 on host7 (./wave, pid 4711)`
    name: String,
}

static PREPARED: OnceLock<Prepared> = OnceLock::new();

/// How `mpirun` knows that it is to name functions; its own word for it (launcher/src/dying).
const HELPER_WORD: &std::ffi::CStr = c"--ferrite-dying";

/// How long it may take for that, in turns.
const HELPER_TIME: (u32, Duration) = (1000, Duration::from_millis(10));

/// Finds out whom to tell, over `control` if that is our own launcher's socket. The first answer stays.
pub(super) fn prepare(control: Option<RawFd>) {
    PREPARED.get_or_init(|| {
        let program = std::env::args_os().next().unwrap_or_default();
        let program = program.to_string_lossy();
        let name = match library::place() {
            Some(place) => {
                let pid = std::process::id();
                format!("rank {} on {} ({program}, pid {pid})", place.rank, place.host)
            }
            None => program.into_owned(),
        };
        let launcher = control.and_then(|fd| socket(fd).map(|(device, inode)| (fd, device, inode)));
        let helper = if launcher.is_none() { helper() } else { None };
        Prepared { launcher, helper, name }
    });
}

/// Our `mpirun`, if it lies where an installation puts it.
fn helper() -> Option<CString> {
    let mpirun = Path::new(&configure::prefix()?).join("bin/mpirun");
    mpirun.is_file().then(|| CString::new(mpirun.to_str()?).ok())?
}

/// What the kernel calls the socket `fd`, if it is one.
fn socket(fd: RawFd) -> Option<(libc::dev_t, libc::ino_t)> {
    // SAFETY: an all-zero stat is valid, and the call only writes into it.
    let (failed, stat) = unsafe {
        let mut stat: libc::stat = std::mem::zeroed();
        (libc::fstat(fd, &raw mut stat), stat)
    };
    let is_socket = failed == 0 && stat.st_mode & libc::S_IFMT == libc::S_IFSOCK;
    is_socket.then_some((stat.st_dev, stat.st_ino))
}

/// Tells a fault, as a frame that is written into `packet`.
pub(super) fn tell(fault: &Fault, trail: TrailRef<'_>, packet: &mut [u8]) {
    let Some(prepared) = PREPARED.get() else { return };
    let length = encode(fault, trail, packet);
    let packet = &packet[..length];
    if prepared.launcher.is_some_and(|launcher| send(launcher, packet)) {
        return;
    }
    // Where the search for the calls ends the process, this line has been written at least.
    if trail.cut == UNKNOWN {
        let mut text = Text { bytes: [0; 4096], length: 0 };
        let _ = writeln!(text, "ferrite: {}: {fault}", prepared.name);
        return text.write();
    }
    let helped = prepared.helper.as_ref().is_some_and(|mpirun| help(mpirun, packet));
    if !helped {
        list(trail);
    }
}

/// Hands a frame to the launcher.
fn send((fd, device, inode): (RawFd, libc::dev_t, libc::ino_t), packet: &[u8]) -> bool {
    let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
    // SAFETY: the bytes are valid for their length.
    let sent = || unsafe { libc::send(fd, packet.as_ptr().cast(), packet.len(), flags) };
    socket(fd) == Some((device, inode)) && sent() == packet.len().cast_signed()
}

/// Has `mpirun` name the functions of a frame and print them; whether it did. The process is made by
/// the system call, without what the C library does around it, which may wait for a lock of `malloc`.
fn help(mpirun: &CString, packet: &[u8]) -> bool {
    let words = [mpirun.as_ptr(), HELPER_WORD.as_ptr(), null()];
    let nothing: [*const c_char; 1] = [null()];
    // SAFETY: system calls with valid arguments, allowed in a handler. The new process has a copy of this
    // one's memory, makes nothing but system calls, and becomes another program or ends; without an exit
    // signal no handler of the program hears of it.
    unsafe {
        let mut pipe = [0; 2];
        if libc::pipe2(pipe.as_mut_ptr(), libc::O_CLOEXEC) != 0 {
            return false;
        }
        // A pipe holds what a frame has at most: nobody has to read yet.
        let written = libc::write(pipe[1], packet.as_ptr().cast(), packet.len());
        libc::close(pipe[1]);
        let child = match written == packet.len().cast_signed() {
            true => libc::syscall(libc::SYS_clone, 0, 0, 0, 0, 0) as libc::pid_t,
            false => -1,
        };
        if child == 0 {
            libc::dup2(pipe[0], libc::STDIN_FILENO);
            unblock_all();
            libc::execve(mpirun.as_ptr(), words.as_ptr(), nothing.as_ptr());
            libc::_exit(127);
        }
        libc::close(pipe[0]);
        child > 0 && ended_well(child)
    }
}

/// Lets signals through that this handler holds back.
fn unblock_all() {
    // SAFETY: an all-zero set is an empty one, and the call reads it.
    unsafe {
        let none: libc::sigset_t = std::mem::zeroed();
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
    }
}

/// Waits for the end of a process, not for ever.
fn ended_well(child: libc::pid_t) -> bool {
    let (turns, turn) = HELPER_TIME;
    let mut status: c_int = 0;
    for _ in 0..turns {
        // SAFETY: the status is writable; the process is our own child.
        match unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG | libc::__WALL) } {
            0 => sleep(turn),
            ended => return ended == child && status == 0,
        }
    }
    // SAFETY: it has not been waited for, so the number is still its own.
    unsafe { libc::kill(child, libc::SIGKILL) };
    false
}

/// Sleeps, as a handler may.
pub(super) fn sleep(time: Duration) {
    let time = libc::timespec { tv_sec: 0, tv_nsec: time.subsec_nanos().into() };
    // SAFETY: the time is valid, and what is left of it is not asked for.
    unsafe { libc::nanosleep(&raw const time, std::ptr::null_mut()) };
}

/// Writes the calls as places in files, for somebody with `addr2line`.
fn list(trail: TrailRef<'_>) {
    for (number, &call) in trail.calls.iter().enumerate() {
        let mut text = Text { bytes: [0; 4096], length: 0 };
        let lines = trail.maps.split(|byte| *byte == b'\n').filter_map(Mapping::read);
        let _ = write!(text, "ferrite:   #{number} {call:#x}");
        if let Some(mapping) = lines.clone().find(|mapping| mapping.holds(call)) {
            let _ = text.write_str(" in ");
            text.push(mapping.path);
            let _ = write!(text, ", at {:#x} of the file", call - mapping.start + mapping.offset);
        }
        text.push(b"\n");
        text.write();
    }
}

/// A line that is written at once, in memory of its own.
struct Text {
    bytes: [u8; 4096],
    length: usize,
}

impl Text {
    /// Appends what has room.
    fn push(&mut self, bytes: &[u8]) {
        let room = &mut self.bytes[self.length..];
        let fits = bytes.len().min(room.len());
        room[..fits].copy_from_slice(&bytes[..fits]);
        self.length += fits;
    }

    fn write(&self) {
        // SAFETY: the bytes are valid for that length. If standard error is gone nobody is left to tell.
        unsafe { libc::write(libc::STDERR_FILENO, self.bytes.as_ptr().cast(), self.length) };
    }
}

impl Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push(text.as_bytes());
        Ok(())
    }
}
