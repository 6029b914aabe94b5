//! Epochs (MPI-5.0 §12.5): what a process may access, and what ends that.
//!
//! Operations are complete when their calls return, so an epoch is a matter of who may go on when,
//! and of finding calls outside of any.

use std::collections::BTreeMap;

use super::Window;
use super::memory::{Line, order};
use crate::error::{Error, ErrorClass, Result};
use crate::handle::RequestHandle;

/// `MPI_LOCK_EXCLUSIVE`.
pub const LOCK_EXCLUSIVE: i32 = 301;
/// `MPI_LOCK_SHARED`.
pub const LOCK_SHARED: i32 = 302;

/// `MPI_MODE_NOCHECK`.
const NOCHECK: i32 = 1024;
const NOPRECEDE: i32 = 2048;
const NOPUT: i32 = 4096;
const NOSTORE: i32 = 8192;
pub(crate) const NOSUCCEED: i32 = 16384;

/// Which assertions a procedure takes (§12.5.5).
#[derive(Clone, Copy)]
pub(crate) enum Asserted {
    Start,
    Post,
    Fence,
    Lock,
}

impl Asserted {
    /// Whether `MPI_MODE_NOCHECK` is among the assertions.
    ///
    /// # Errors
    /// `MPI_ERR_ASSERT` for bits that the procedure does not take.
    pub(crate) fn check(self, bits: i32) -> Result<bool> {
        let allowed = match self {
            Asserted::Start | Asserted::Lock => NOCHECK,
            Asserted::Post => NOCHECK | NOSTORE | NOPUT,
            Asserted::Fence => NOSTORE | NOPUT | NOPRECEDE | NOSUCCEED,
        };
        if bits & !allowed != 0 {
            crate::fail!(ASSERT, "assert", "has bits that are no assertion of this procedure");
        }
        Ok(bits & NOCHECK != 0)
    }
}

/// A lock that this process holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Held {
    pub(crate) alone: bool,
    /// Whether it was taken, and not only asserted to be free.
    pub(crate) taken: bool,
}

/// What this process may access.
#[derive(Debug, Default)]
pub(crate) enum Access {
    #[default]
    Nothing,
    /// Everything until the next fence.
    Fence,
    /// Everything; whether the locks were taken.
    All { taken: bool },
    /// The targets that are locked.
    Locks(BTreeMap<u32, Held>),
    /// The targets of `MPI_Win_start`.
    Started(Vec<u32>),
}

/// The epochs that a process is in.
#[derive(Debug, Default)]
pub(crate) struct Epochs {
    pub(crate) access: Access,
    /// What `MPI_Win_wait` waits for.
    exposed: Option<Vec<RequestHandle>>,
}

pub(crate) fn out_of_step(what: String) -> Error {
    Error::new(ErrorClass::RMA_SYNC, what)
}

fn no_epoch(open: Option<&str>, what: &str) -> Result<()> {
    match open {
        None => Ok(()),
        Some(open) => Err(out_of_step(format!("the window cannot {what} now: {open}"))),
    }
}

impl Epochs {
    fn is_passive(&self) -> bool {
        matches!(self.access, Access::All { .. } | Access::Locks(_))
    }

    /// What is to be called before another epoch of access may begin; that of fences has no end
    /// which would be announced.
    fn access_to_end(&self) -> Option<&'static str> {
        match &self.access {
            Access::Nothing | Access::Fence => None,
            Access::All { .. } => Some("MPI_Win_unlock_all has not been called"),
            Access::Locks(_) => Some("a target is locked"),
            Access::Started(_) => Some("MPI_Win_complete has not been called"),
        }
    }

    fn exposure_to_end(&self) -> Option<&'static str> {
        self.is_exposed().then_some("MPI_Win_wait has not ended the exposure epoch")
    }

    /// No epoch is open but one of fences.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_SYNC` naming the epoch that is.
    pub(crate) fn check_quiet(&self, what: &str) -> Result<()> {
        no_epoch(self.access_to_end().or(self.exposure_to_end()), what)
    }

    /// No epoch of access is open but one of fences. An exposure may overlap with it (§12.5).
    ///
    /// # Errors
    /// `MPI_ERR_RMA_SYNC` naming the epoch that is.
    pub(crate) fn check_no_access(&self, what: &str) -> Result<()> {
        no_epoch(self.access_to_end(), what)
    }

    /// The own part is not exposed.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_SYNC`.
    pub(crate) fn check_no_exposure(&self, what: &str) -> Result<()> {
        no_epoch(self.exposure_to_end(), what)
    }

    /// An operation on `target` may be called now.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_SYNC`.
    pub(crate) fn check_access(&self, target: u32, by_request: bool) -> Result<()> {
        let open = match &self.access {
            Access::Nothing => false,
            Access::Fence => true,
            Access::All { .. } => true,
            Access::Locks(locks) => locks.contains_key(&target),
            Access::Started(targets) => targets.contains(&target),
        };
        if !open {
            return Err(out_of_step(format!(
                "no epoch is open in which rank {target} may be accessed"
            ))
            .hint("Call MPI_Win_fence, MPI_Win_lock, MPI_Win_lock_all or MPI_Win_start first."));
        }
        if by_request && !self.is_passive() {
            let what = "operations with a request are for epochs of MPI_Win_lock(_all) only";
            return Err(out_of_step(what.to_owned()));
        }
        Ok(())
    }

    fn check_flush(&self, target: Option<u32>) -> Result<()> {
        let locked = match (&self.access, target) {
            (Access::Locks(locks), Some(target)) => locks.contains_key(&target),
            _ => self.is_passive(),
        };
        if locked { Ok(()) } else { Err(out_of_step("no lock is held to flush under".to_owned())) }
    }

    /// The targets of `MPI_Win_start` may be accessed from now on.
    pub(crate) fn start(&mut self, targets: Vec<u32>) {
        self.access = Access::Started(targets);
    }

    /// The targets whose epoch ends.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_SYNC` if there is none.
    pub(crate) fn complete(&mut self) -> Result<Vec<u32>> {
        match std::mem::take(&mut self.access) {
            Access::Started(targets) => Ok(targets),
            other => {
                self.access = other;
                Err(out_of_step("MPI_Win_start has begun no epoch".to_owned()))
            }
        }
    }

    /// The exposure begins; `awaited` are the messages that end it.
    pub(crate) fn expose(&mut self, awaited: Vec<RequestHandle>) {
        self.exposed = Some(awaited);
    }

    /// The messages that end the exposure.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_SYNC` if there is none.
    pub(crate) fn exposed(&self) -> Result<&[RequestHandle]> {
        match &self.exposed {
            Some(awaited) => Ok(awaited),
            None => Err(out_of_step("MPI_Win_post has begun no epoch".to_owned())),
        }
    }

    /// The exposure has ended.
    pub(crate) fn cover(&mut self) {
        self.exposed = None;
    }

    /// Whether an exposure is open.
    pub(crate) fn is_exposed(&self) -> bool {
        self.exposed.is_some()
    }
}

impl Window {
    /// `MPI_Win_unlock`.
    ///
    /// # Errors
    /// `MPI_ERR_RANK`; `MPI_ERR_RMA_SYNC` when this process has not locked the target.
    pub fn unlock(&mut self, rank: i32) -> Result<()> {
        let target = self.target(rank, "rank")?;
        let held = match &mut self.epochs.access {
            Access::Locks(locks) => locks.remove(&target),
            _ => None,
        };
        let Some(held) = held else {
            return Err(out_of_step(format!("rank {rank} is not locked by this process")));
        };
        if matches!(&self.epochs.access, Access::Locks(locks) if locks.is_empty()) {
            self.epochs.access = Access::Nothing;
        }
        order();
        if held.taken {
            Line::of(&self.segment, target).leave(held.alone);
        }
        Ok(())
    }

    /// `MPI_Win_unlock_all`.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_SYNC` when `MPI_Win_lock_all` was not called.
    pub fn unlock_all(&mut self) -> Result<()> {
        let Access::All { taken } = self.epochs.access else {
            return Err(out_of_step("MPI_Win_lock_all has not been called".to_owned()));
        };
        self.epochs.access = Access::Nothing;
        order();
        if taken {
            for target in 0..self.parts.len() as u32 {
                Line::of(&self.segment, target).leave(false);
            }
        }
        Ok(())
    }

    /// `MPI_Win_flush` and its three kin: all operations are complete already. For `None` of all
    /// targets.
    ///
    /// # Errors
    /// `MPI_ERR_RANK`; `MPI_ERR_RMA_SYNC` when no lock is held.
    pub fn flush(&self, rank: Option<i32>) -> Result<()> {
        let target = rank.map(|rank| self.target(rank, "rank")).transpose()?;
        self.epochs.check_flush(target)?;
        order();
        Ok(())
    }
}
