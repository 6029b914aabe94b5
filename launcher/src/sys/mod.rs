//! The system calls of the launcher, and all of its unsafe code: what the standard library has no
//! words for; by `rustix` where that has it. In and out go plain values and owned descriptors; nothing
//! here decides anything.

#![allow(unsafe_code)]

mod child;
mod clock;
mod cpuset;
mod descriptors;
mod epoll;
mod process;
mod signals;

pub(crate) use child::{ChildPlan, StartError, Step, c_string, start};
pub(crate) use clock::time_of_day;
pub(crate) use cpuset::set_affinity;
pub(crate) use descriptors::{
    Kind, close_all_but, close_on_exec_inherited, foreground_terminal, inheritable, kind,
    own_stream, pipe, raise_descriptor_limit, read, receive, send, socket_pair, terminal_anew,
    write,
};
pub(crate) use epoll::{Epoll, Interest};
pub(crate) use process::{
    End, await_end, become_subreaper, c_library_version, catches, die_with_parent, fork_guard,
    is_hung_up, is_unread, kill, kill_group, new_session, reap, reap_now, reap_one, stop_self,
};
pub(crate) use rustix::process::Rlimit;
pub(crate) use rustix::stdio::{stderr, stdin, stdout};
pub(crate) use signals::{Signals, signal_name};

use std::io;

/// Turns the -1 of a system call into the error that it stands for.
fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
