//! General active-target synchronization (MPI-5.0 §12.5.2): who exposes its window tells the
//! origins so by an empty message, and they tell it by another that they are through.

use super::Windows;
use crate::buffer::UserBuffer;
use crate::datatype::BYTE;
use crate::error::{Error, ErrorClass, Result};
use crate::handle::{CommHandle, GroupHandle, RequestHandle, WinHandle};
use crate::p2p::{Message, Mode};
use crate::port::Port;
use crate::rma::epochs::Asserted;
use crate::rma::memory::order;

/// The window is exposed.
const POSTED: i32 = 0;
/// The origin is through.
const COMPLETED: i32 = 1;

fn note(comm: CommHandle, rank: u32, tag: i32) -> Message {
    let (buf, rank) = (UserBuffer::BOTTOM, rank as i32);
    Message { buf, count: 0, datatype: BYTE, rank, tag, comm }
}

impl<P: Port> Windows<'_, P> {
    /// The members of a group by their ranks in the window.
    fn ranks_in(&self, win: WinHandle, group: GroupHandle) -> Result<Vec<u32>> {
        let all = &self.entry.comm(self.entry.window(win)?.comm)?.group;
        let rank_of = |peer| {
            all.rank_of(peer).ok_or_else(|| {
                let what = "has a process that is not one of the window's";
                Error::param(ErrorClass::GROUP, "group", what)
            })
        };
        self.entry.groups.get(group)?.iter().map(rank_of).collect()
    }

    /// `MPI_Win_start`: waits until all of the group have exposed their windows.
    ///
    /// # Errors
    /// `MPI_ERR_GROUP`, `MPI_ERR_ASSERT`; `MPI_ERR_RMA_SYNC` within an epoch.
    pub fn start(&mut self, win: WinHandle, group: GroupHandle, assert: i32) -> Result<()> {
        let unchecked = Asserted::Start.check(assert)?;
        let targets = self.ranks_in(win, group)?;
        self.entry.window(win)?.epochs.check_no_access("be accessed by MPI_Win_start")?;
        let comm = self.entry.window(win)?.comm;
        if !unchecked {
            for &target in &targets {
                self.entry.messages().receive(note(comm, target, POSTED))?;
            }
        }
        order();
        self.entry.window_mut(win)?.epochs.start(targets);
        Ok(())
    }

    /// `MPI_Win_complete`.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_SYNC` without `MPI_Win_start`.
    pub fn complete(&mut self, win: WinHandle) -> Result<()> {
        let window = self.entry.window_mut(win)?;
        let (comm, targets) = (window.comm, window.epochs.complete()?);
        order();
        for target in targets {
            self.entry.messages().send(note(comm, target, COMPLETED), Mode::Standard)?;
        }
        Ok(())
    }

    /// `MPI_Win_post`.
    ///
    /// # Errors
    /// `MPI_ERR_GROUP`, `MPI_ERR_ASSERT`; `MPI_ERR_RMA_SYNC` if the window is exposed.
    pub fn post(&mut self, win: WinHandle, group: GroupHandle, assert: i32) -> Result<()> {
        let unchecked = Asserted::Post.check(assert)?;
        let origins = self.ranks_in(win, group)?;
        let window = self.entry.window(win)?;
        if window.epochs.is_exposed() {
            crate::fail!(RMA_SYNC, "MPI_Win_wait has not ended the exposure epoch before");
        }
        let comm = window.comm;
        order();
        let mut awaited = Vec::with_capacity(origins.len());
        for origin in origins {
            if !unchecked {
                // Not a send that waits where many messages are on their way: a post does not block.
                let posted =
                    self.entry.messages().isend(note(comm, origin, POSTED), Mode::Standard)?;
                self.entry.free_request(posted)?;
            }
            awaited.push(self.entry.messages().ireceive(note(comm, origin, COMPLETED))?);
        }
        self.entry.window_mut(win)?.epochs.expose(awaited);
        Ok(())
    }

    /// `MPI_Win_wait`: waits until all origins are through.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_SYNC` without `MPI_Win_post`.
    pub fn wait(&mut self, win: WinHandle) -> Result<()> {
        let awaited: Vec<RequestHandle> = self.entry.window(win)?.epochs.exposed()?.to_vec();
        self.entry.await_all(&awaited)?;
        self.end_exposure(win, awaited)
    }

    /// `MPI_Win_test`: the same if they are through now.
    ///
    /// # Errors
    /// As [`Windows::wait`].
    pub fn test(&mut self, win: WinHandle) -> Result<bool> {
        let awaited: Vec<RequestHandle> = self.entry.window(win)?.epochs.exposed()?.to_vec();
        self.entry.poll_in_passing();
        for &request in &awaited {
            if !self.entry.is_complete(request)? {
                return Ok(false);
            }
        }
        self.end_exposure(win, awaited)?;
        Ok(true)
    }

    fn end_exposure(&mut self, win: WinHandle, awaited: Vec<RequestHandle>) -> Result<()> {
        self.entry.window_mut(win)?.epochs.cover();
        for request in awaited {
            self.entry.wait_one(request)?;
        }
        order();
        Ok(())
    }
}
