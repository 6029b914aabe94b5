//! The calls that begin epochs: fences and locks (MPI-5.0 §12.5).

use std::collections::BTreeMap;

use super::Windows;
use crate::error::Result;
use crate::handle::WinHandle;
use crate::port::Port;
use crate::process::Process;
use crate::rma::epochs::{Access, Asserted, Held, NOSUCCEED, out_of_step};
use crate::rma::memory::{Line, order};
use crate::rma::{LOCK_EXCLUSIVE, LOCK_SHARED};
use crate::window_segments::WindowSegments;

impl<P: Port> Windows<'_, P> {
    /// `MPI_Win_fence`.
    ///
    /// # Errors
    /// `MPI_ERR_ASSERT`; `MPI_ERR_RMA_SYNC` within an epoch of another kind.
    pub fn fence(&mut self, win: WinHandle, assert: i32) -> Result<()> {
        Asserted::Fence.check(assert)?;
        let window = self.entry.window(win)?;
        window.epochs.check_quiet("be fenced")?;
        let comm = window.comm;
        order();
        self.entry.members(comm).barrier()?;
        order();
        let over = assert & NOSUCCEED != 0;
        self.entry.window_mut(win)?.epochs.access =
            if over { Access::Nothing } else { Access::Fence };
        Ok(())
    }

    /// `MPI_Win_lock`.
    ///
    /// # Errors
    /// `MPI_ERR_LOCKTYPE`, `MPI_ERR_RANK`, `MPI_ERR_ASSERT`; `MPI_ERR_RMA_SYNC` when the target is
    /// locked by this process, in an access epoch of another kind, or for the own part while it is exposed.
    pub fn lock(&mut self, win: WinHandle, kind: i32, rank: i32, assert: i32) -> Result<()> {
        let alone = match kind {
            LOCK_EXCLUSIVE => true,
            LOCK_SHARED => false,
            _ => crate::fail!(
                LOCKTYPE,
                "lock_type",
                "is {kind}, but must be MPI_LOCK_EXCLUSIVE or MPI_LOCK_SHARED"
            ),
        };
        let taken = !Asserted::Lock.check(assert)?;
        let window = self.entry.window(win)?;
        let target = window.target(rank, "rank")?;
        if target == window.rank {
            // No part may be locked and exposed at once (§12.5.3).
            window.epochs.check_no_exposure("be locked by its own process")?;
        }
        match &window.epochs.access {
            Access::Locks(locks) if !locks.contains_key(&target) => {}
            Access::Locks(_) => {
                let what = format!("rank {rank} is locked by this process already");
                return Err(out_of_step(what));
            }
            _ => window.epochs.check_no_access("be locked")?,
        }
        if taken {
            self.enter(win, target, alone)?;
        }
        order();
        let access = &mut self.entry.window_mut(win)?.epochs.access;
        if !matches!(access, Access::Locks(_)) {
            *access = Access::Locks(BTreeMap::new());
        }
        if let Access::Locks(locks) = access {
            locks.insert(target, Held { alone, taken });
        }
        Ok(())
    }

    /// `MPI_Win_lock_all`: a shared lock at every process, in the order of ranks.
    ///
    /// # Errors
    /// `MPI_ERR_ASSERT`; `MPI_ERR_RMA_SYNC` within another epoch.
    pub fn lock_all(&mut self, win: WinHandle, assert: i32) -> Result<()> {
        let taken = !Asserted::Lock.check(assert)?;
        let window = self.entry.window(win)?;
        window.epochs.check_quiet("be locked")?;
        if taken {
            for target in 0..window.parts.len() as u32 {
                self.enter(win, target, false)?;
            }
        }
        order();
        self.entry.window_mut(win)?.epochs.access = Access::All { taken };
        Ok(())
    }

    /// Waits for a target's lock.
    fn enter(&mut self, win: WinHandle, target: u32, alone: bool) -> Result<()> {
        let line = Line::of(&self.entry.window(win)?.segment, target);
        let ticket = line.queue();
        let call = |process: &Process<P>| process.waits_for_lock(win, target);
        let mut entered = false;
        self.entry.block_in(call, |process| {
            entered = entered || line.enter(ticket, alone);
            if !entered {
                process.port.memory_mut().watch();
            }
            entered
        });
        Ok(())
    }

    /// `MPI_Win_sync` (§12.7): what this process stored is seen by those that load after it, and
    /// the other way round. Others may wait for that, so messages are moved too.
    ///
    /// # Errors
    /// Those of the handle.
    pub fn sync(&mut self, win: WinHandle) -> Result<()> {
        self.entry.window(win)?;
        order();
        self.entry.poll_in_passing();
        Ok(())
    }
}
