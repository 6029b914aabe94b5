//! What the C interface keeps beside the node: how far initialisation has come, the connection
//! to the launcher, and what is always available. Nothing here is touched on the way of a message.

use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use std::sync::{Arc, LazyLock, OnceLock};

use launch_wire::Bootstrap;
use launch_wire::control::Frame;
use mpi_core::always::Always;
use mpi_core::handle::ErrhandlerHandle;
use mpi_core::roll_call::Answer;
use mpi_core::settings::Settings;
use parking_lot::{Mutex, MutexGuard};

use crate::procedure::Procedure;

/// How far a process has come (MPI-5.0 §11.2).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Phase {
    /// `MPI_Init` has not been called.
    Before,
    /// Between `MPI_Init` and `MPI_Finalize`.
    Running,
    /// `MPI_Finalize` has been called.
    After,
}

/// The state behind the lock.
#[derive(Default)]
pub(crate) struct Library {
    /// The way to the launcher, from the first start of the library to the end.
    pub bootstrap: Option<Bootstrap>,
    /// The settings of this process, until it has met the others and shares what they agree on.
    pub unmet: Option<Settings>,
    /// The user wants a progress thread.
    pub wants_thread: bool,
    /// The user wants fatal signals told.
    pub wants_backtrace: bool,
    /// Sessions that have not been finalized.
    pub sessions: u32,
    /// The process, by the kernel's number, that leaves the job when it exits and not before: it
    /// has used a session, and may use another.
    pub leaves_at_exit: Option<u32>,
    /// The error handler of `MPI_FILE_NULL`, if the program set one (§14.7).
    pub file_errhandler: Option<ErrhandlerHandle>,
}

/// Who this process is, from when it has joined its job: what messages and `MPI_INFO_ENV` say.
pub(crate) struct Place {
    /// Rank in the job.
    pub rank: u32,
    /// Processes of the job.
    pub size: u32,
    /// The host's name.
    pub host: String,
}

static LIBRARY: Mutex<Option<Box<Library>>> = Mutex::new(None);
static PLACE: OnceLock<Place> = OnceLock::new();
static ALWAYS: LazyLock<Arc<Always>> = LazyLock::new(Arc::default);
static PHASE: AtomicU32 = AtomicU32::new(0);
static THREAD_LEVEL: AtomicI32 = AtomicI32::new(0);
static INITIALISED_BY: AtomicI32 = AtomicI32::new(0);

/// What is always available (MPI-5.0 §11.4.1), to any thread.
pub(crate) fn always() -> &'static Arc<Always> {
    &ALWAYS
}

/// Who this process is, if it has ever joined a job.
pub(crate) fn place() -> Option<&'static Place> {
    PLACE.get()
}

/// Says who this process is.
pub(crate) fn set_place(place: Place) {
    // It joins once.
    let _ = PLACE.set(place);
}

/// The state, locked. Never hold it across anything that may enter the library again.
/// A process that meets the others holds it until they have come, so what is always available needs none of it.
pub(crate) fn library() -> parking_lot::MappedMutexGuard<'static, Library> {
    MutexGuard::map(LIBRARY.lock(), |library| &mut **library.get_or_insert_with(Box::default))
}

/// Whether the launcher wants to know what this process is doing.
pub(crate) fn is_asked() -> bool {
    let library = library();
    let control = library.bootstrap.as_ref().and_then(|bootstrap| bootstrap.control());
    control.is_some_and(|control| control.is_asked())
}

/// Tells the launcher what this process is doing.
pub(crate) fn answer(frame: Frame) {
    let library = library();
    if let Some(control) = library.bootstrap.as_ref().and_then(|bootstrap| bootstrap.control()) {
        control.send(&frame);
    }
}

/// Tells the launcher, which has asked, what this process waits for, and whom it looks for in vain.
pub(crate) fn tell(answer: &Answer, in_vain: Option<String>) {
    let mut text = answer.describe(Procedure::name_of);
    if let Some(whom) = in_vain {
        text += &format!("; {whom}");
    }
    let Answer { moved, awaited, balance, .. } = *answer;
    self::answer(Frame::RollCall { moved, awaited, balance, text });
}

/// How far this process has come.
pub(crate) fn phase() -> Phase {
    match PHASE.load(Ordering::Acquire) {
        0 => Phase::Before,
        1 => Phase::Running,
        _ => Phase::After,
    }
}

/// Notes how far this process has come.
pub(crate) fn set_phase(phase: Phase) {
    PHASE.store(phase as u32, Ordering::Release);
}

/// The level of thread support that was granted (a core value), and who asked for it.
pub(crate) fn set_thread_level(level: i32, thread: i32) {
    THREAD_LEVEL.store(level, Ordering::Release);
    INITIALISED_BY.store(thread, Ordering::Release);
}

/// The granted level and the kernel's id of the thread that initialised MPI.
pub(crate) fn thread_level() -> (i32, i32) {
    (THREAD_LEVEL.load(Ordering::Acquire), INITIALISED_BY.load(Ordering::Acquire))
}
