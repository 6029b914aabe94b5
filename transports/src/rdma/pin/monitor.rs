//! Who sees memory go away: a descriptor of userfaultfd and a thread that reads it.
//!
//! In: ranges to watch. Out: ranges that were unmapped, moved or discarded since, all of those that a caller can
//! know of.
//!
//! An unmapping thread waits until its event is read, so the reader must never wait for such a thread: once at work
//! it allocates and frees nothing, takes no lock, runs no signal handler, and nothing is watched before it is at
//! work or after it has been told to end.
//!
//! What is not seen: a page that the program turns into a guard with `MADV_GUARD_INSTALL` (Linux 6.13) and back.
//! `fork`: the child's copies are not watched, and its copy of the cache says that it knows nothing; so a child waits
//! for nobody, and the parent's pages stay where they are (since Linux 5.12 the kernel copies registered ones for the
//! child). The child has the descriptor until it runs another program, and as long as anybody has it who unmaps
//! watched memory waits for a reader; so at the end nothing stays watched.

use std::io::{self, ErrorKind, Read, Write};
use std::ops::{ControlFlow, Range};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use super::notices::{Gone, Notices};
use crate::sys::mappings;
use crate::sys::userfault::{Message, Userfault};
use crate::sys::{process, wait};

/// How often a look-up gives way to the reader before it does without: some seconds where nobody else runs.
const PATIENCE: u32 = 1 << 20;
/// Events read at a time.
const MESSAGES: usize = 16;

/// The descriptor, and the thread once something is watched.
#[derive(Debug)]
pub(super) struct Monitor {
    file: Arc<Userfault>,
    notices: Arc<Notices>,
    reader: Option<Reader>,
    page: usize,
}

#[derive(Debug)]
struct Reader {
    thread: JoinHandle<()>,
    /// Who writes here ends the thread.
    stop: UnixStream,
    /// The process that it is a thread of.
    process: u32,
}

/// Whether a memory monitor has told everything.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Heard {
    /// All that there was.
    All,
    /// Mappings go on changing, or this is a forked child: nothing that is kept may be used now.
    Unsure,
    /// The program has closed the descriptor, with which everything is unwatched.
    Never,
}

impl Monitor {
    /// A witness that watches nothing yet.
    ///
    /// # Errors
    /// Why there is none, and what to do, as the end of a sentence that begins with "since".
    pub(super) fn open() -> Result<Monitor, String> {
        let file =
            Userfault::open().map_err(|error| match (error.raw_os_error(), error.kind()) {
                (Some(libc::EPERM | libc::EACCES), _) => "the kernel or a container forbids \
                 userfaultfd(2): let the container's seccomp profile permit it, or set the \
                 sysctl vm.unprivileged_userfaultfd to 1 where Linux is older than 5.11"
                    .to_owned(),
                (Some(libc::ENOSYS), _) | (_, ErrorKind::Unsupported) => "this kernel's \
                 userfaultfd(2) cannot watch memory without stopping the program: use Linux 5.11 \
                 or newer (6.10 on aarch64)"
                    .to_owned(),
                _ => format!("userfaultfd(2) fails: {error}"),
            })?;
        mappings::walk(|_| ControlFlow::Break(())).map_err(|error| {
            format!("/proc/self/maps does not say whose memory is whose ({error}): mount /proc")
        })?;
        let (file, notices) = (Arc::new(file), Arc::new(Notices::new()));
        Ok(Monitor { file, notices, reader: None, page: mappings::page_bytes() })
    }

    /// Starts the thread, unless it is at work.
    ///
    /// # Errors
    /// Why there is none, as the end of a sentence that begins with "since".
    pub(super) fn begin(&mut self) -> Result<(), String> {
        if self.reader.is_none() {
            let started = self.start();
            let why = |error| format!("no thread can be started that watches memory: {error}");
            self.reader = Some(started.map_err(why)?);
        }
        Ok(())
    }

    /// Watches a range of whole pages, once it has begun.
    ///
    /// The mappings that hold it are watched as they are, although the program may change other parts of them, too,
    /// and waits a moment then. A part alone would be a mapping of its own: the kernel does not move two at a time,
    /// so that the program's `mremap` would fail, and parts the huge pages at their seam.
    ///
    /// # Errors
    /// It is no memory of this process alone, or the kernel refuses: so it does where the program watches it by a
    /// descriptor of its own, or another cache of this process does.
    pub(super) fn watch(&self, range: &Range<usize>) -> io::Result<()> {
        // A child would watch its parent's memory.
        if !self.reader.as_ref().is_some_and(Reader::is_here) {
            return Err(ErrorKind::Unsupported.into());
        }
        let ground = mappings::ground(range, self.page)?.ok_or(ErrorKind::Unsupported)?;
        // The mappings may have changed by now where the range does not lie.
        self.file.watch(ground.whole).or_else(|_| self.file.watch(ground.part))
    }

    /// Waits until all that has gone before this call can be taken.
    pub(super) fn settle(&self) -> Heard {
        let Some(reader) = &self.reader else { return Heard::All };
        let mut left = PATIENCE;
        let mut give_way = || {
            left -= 1;
            wait::give_way();
            left > 0 && (!left.is_multiple_of(1024) || reader.is_here())
        };
        // A mapping may be gone, and another be there in its place, before there is an event of it to read.
        loop {
            match self.file.is_changing() {
                Ok(false) => break,
                Ok(true) if give_way() => {}
                Ok(true) => return Heard::Unsure,
                Err(_) => return Heard::Never,
            }
        }
        if self.notices.settle(give_way) { Heard::All } else { Heard::Unsure }
    }

    /// Takes what has gone since the last time, one at a time.
    pub(super) fn take(&self) -> Option<Gone> {
        self.notices.take()
    }

    fn start(&self) -> io::Result<Reader> {
        let (stop, theirs) = UnixStream::pair()?;
        let (file, notices) = (Arc::clone(&self.file), Arc::clone(&self.notices));
        let builder = std::thread::Builder::new().name("ferrite-memory".into());
        let read = move || read_all(&file, &notices, &theirs);
        let thread = process::without_signals(|| builder.spawn(read))?;
        // The beginning of a thread allocates, so nothing may be watched before it is over.
        let is_at_work = self.notices.settle(|| {
            wait::give_way();
            true
        });
        debug_assert!(is_at_work);
        Ok(Reader { thread, stop, process: std::process::id() })
    }

    /// Lets go of all that is watched: also of what the kernel has watched of its own, since mappings that are
    /// watched grow and move.
    fn unwatch_all(&self) {
        let walked = mappings::walk(|mapping| {
            if mappings::is_anonymous(mapping) {
                // Refused for memory that is watched by another descriptor, the program's.
                let _ = self.file.unwatch(mapping.start as usize..mapping.end as usize);
            }
            ControlFlow::Continue(())
        });
        if let Err(error) = walked {
            tracing::debug!(%error, "memory may stay watched");
        }
    }
}

impl Reader {
    /// Whether this process has the thread, and is no child of that one.
    fn is_here(&self) -> bool {
        self.process == std::process::id()
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        let Some(mut reader) = self.reader.take() else { return };
        if !reader.is_here() {
            // There is no such thread, and what is watched is the parent's.
            std::mem::forget(reader.thread);
            return;
        }
        if self.file.is_changing().is_err() {
            // The program has closed it, and its number may be another file's.
            std::mem::forget(Arc::clone(&self.file));
        } else {
            self.unwatch_all();
        }
        let ended = reader.stop.write_all(&[1]).and_then(|()| {
            reader.thread.join().map_err(|_| io::Error::other("the thread has panicked"))
        });
        if let Err(error) = ended {
            tracing::warn!(%error, "the thread that watches memory does not end");
        }
    }
}

/// The reader's life.
fn read_all(file: &Userfault, notices: &Notices, mut stop: &UnixStream) {
    let mut messages = [Message::default(); MESSAGES];
    // So that looking at it never waits.
    let mut is_told = stop.set_nonblocking(true).is_err();
    while !is_told {
        notices.rest();
        let fds = [Some(file.as_fd()), Some(stop.as_fd())];
        // Nothing is to be done about an error: what cannot be read says so below.
        let _ = wait::until_readable(fds, Duration::MAX);
        notices.begin();
        match file.read(&mut messages) {
            Ok(read) => read.iter().filter_map(Message::gone).for_each(|gone| notices.note(&gone)),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                is_told = stop.read(&mut [0]).is_ok();
            }
            // The program has closed the descriptor; who asks it whether anything changes finds that out.
            Err(_) => is_told = true,
        }
    }
    notices.rest();
}
