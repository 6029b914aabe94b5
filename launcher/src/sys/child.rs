//! Fork and exec of one rank. All memory is made ready before the fork; between fork and exec only
//! system calls run. An error there comes back through a pipe that exec closes.

use super::{check, die_with_parent, inheritable, pipe, set_affinity};
use libc::pid_t;
use rustix::io::retry_on_intr;
use rustix::process::{
    Pid, Resource, Rlimit, WaitOptions, chdir, getpid, setpgid, setrlimit, waitpid,
};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};
use std::ffi::{CString, OsStr};
use std::io::{self, ErrorKind};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

/// All that a rank's process is to be.
#[derive(Debug)]
pub(crate) struct ChildPlan<'a> {
    /// The file to execute.
    pub(crate) file: CString,
    /// Its arguments, the program's name first.
    pub(crate) arguments: Vec<CString>,
    /// Its environment, `NAME=value`.
    pub(crate) environment: Vec<CString>,
    /// Its working directory, where it is not ours.
    pub(crate) directory: Option<CString>,
    /// Its standard input, output and error.
    pub(crate) streams: [BorrowedFd<'a>; 3],
    /// Further descriptors that pass through exec under their own numbers.
    pub(crate) inherited: &'a [BorrowedFd<'a>],
    /// The CPUs that it may run on, where they are to be fewer than ours.
    pub(crate) cpus: Option<&'a [usize]>,
    /// Its signal mask.
    pub(crate) mask: libc::sigset_t,
    /// Its limit of open descriptors.
    pub(crate) descriptor_limit: Rlimit,
}

/// What a child was doing when it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Step {
    /// Making the process.
    Fork = 0,
    /// Process group, signals, descriptors.
    Prepare = 1,
    /// Entering the working directory.
    Directory = 2,
    /// Becoming the program.
    Exec = 3,
}

/// Why a rank could not be started.
#[derive(Debug)]
pub(crate) struct StartError {
    /// What was being done.
    pub(crate) step: Step,
    /// What the system said.
    pub(crate) error: io::Error,
}

/// Starts a process in a group of its own that is killed when this process ends.
pub(crate) fn start(plan: &ChildPlan) -> Result<pid_t, StartError> {
    let fork_error = |error| StartError { step: Step::Fork, error };
    let [news, report] = pipe(1).map_err(fork_error)?;
    let arguments = pointers(&plan.arguments);
    let environment = pointers(&plan.environment);
    let parent = getpid();
    // SAFETY: the child only makes system calls on memory that was made ready above.
    match check(unsafe { libc::fork() }).map_err(fork_error)? {
        0 => {
            let (step, error) = become_program(plan, parent, &arguments, &environment);
            tell(&report, step, &error);
            // SAFETY: ends the child without running anything of the parent's.
            unsafe { libc::_exit(127) }
        }
        pid => {
            let child = Pid::from_raw(pid);
            // Both sides set the group, so that it is there whoever runs first. It fails harmlessly once the child
            // has become its program.
            let _ = setpgid(child, child);
            drop(report);
            listen(&news, child).map(|()| pid)
        }
    }
}

/// A null-terminated array of pointers into `strings`.
fn pointers(strings: &[CString]) -> Vec<*const libc::c_char> {
    strings.iter().map(|s| s.as_ptr()).chain([std::ptr::null()]).collect()
}

/// The child's way to its program; returns only on failure.
fn become_program(
    plan: &ChildPlan,
    parent: Pid,
    arguments: &[*const libc::c_char],
    environment: &[*const libc::c_char],
) -> (Step, io::Error) {
    if let Err(error) = prepare(plan, parent) {
        return (Step::Prepare, error);
    }
    if let Some(directory) = &plan.directory
        && let Err(error) = chdir(directory.as_c_str())
    {
        return (Step::Directory, error.into());
    }
    // SAFETY: the file name ends with a zero byte, both arrays end with a null pointer, and their
    // strings live in `plan`.
    unsafe { libc::execve(plan.file.as_ptr(), arguments.as_ptr(), environment.as_ptr()) };
    (Step::Exec, io::Error::last_os_error())
}

fn prepare(plan: &ChildPlan, parent: Pid) -> io::Result<()> {
    setpgid(None, None)?;
    die_with_parent(parent)?;
    // The Rust runtime's ignoring of SIGPIPE must not pass to the program, nor that of the signals which a shell
    // has the commands in its background ignore: mpirun hears them all the same and passes them on.
    for signal in [libc::SIGPIPE, libc::SIGINT, libc::SIGQUIT] {
        // SAFETY: the default action is no function of ours.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    let _ = setrlimit(Resource::Nofile, plan.descriptor_limit);
    let [input, output, errors] = plan.streams;
    dup2_stdin(input)?;
    dup2_stdout(output)?;
    dup2_stderr(errors)?;
    for &fd in plan.inherited {
        inheritable(fd)?;
    }
    if let Some(cpus) = plan.cpus {
        // A CPU that has just been taken away is no reason not to run.
        let _ = set_affinity(cpus);
    }
    // SAFETY: the mask is valid for reading.
    unsafe { check(libc::sigprocmask(libc::SIG_SETMASK, &plan.mask, std::ptr::null_mut()))? };
    Ok(())
}

/// Sends step and error number to the parent.
fn tell(report: &OwnedFd, step: Step, error: &io::Error) {
    let number = error.raw_os_error().unwrap_or(libc::EIO).to_le_bytes();
    let message = [step as u8, number[0], number[1], number[2], number[3]];
    let _ = rustix::io::write(report, &message);
}

/// Waits until the child has become its program, or hears why it has not.
fn listen(news: &OwnedFd, child: Option<Pid>) -> Result<(), StartError> {
    let mut message = [0u8; 5];
    let n = retry_on_intr(|| rustix::io::read(news, &mut message)).unwrap_or(0);
    if n < message.len() {
        return Ok(());
    }
    // The child has just said that it ends.
    let _ = waitpid(child, WaitOptions::empty());
    let step = [Step::Prepare, Step::Directory, Step::Exec]
        .into_iter()
        .find(|s| *s as u8 == message[0])
        .unwrap_or(Step::Prepare);
    let number = i32::from_le_bytes([message[1], message[2], message[3], message[4]]);
    Err(StartError { step, error: io::Error::from_raw_os_error(number) })
}

/// A string for the kernel; a zero byte in it is an error that names it.
pub(crate) fn c_string(text: &OsStr) -> io::Result<CString> {
    CString::new(text.as_bytes()).map_err(|_| {
        let shown = text.to_string_lossy().replace('\0', "\\0");
        io::Error::new(ErrorKind::InvalidInput, format!("“{shown}” holds a zero byte"))
    })
}
