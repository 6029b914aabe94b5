//! Probes: a look at a message before it is received (MPI-5.0 §3.8).

use super::Messages;
use crate::error::Result;
use crate::handle::CommHandle;
use crate::lost::lost_source;
use crate::matching::Envelope;
use crate::p2p::{Arrived, MESSAGE_NO_PROC};
use crate::port::Port;
use crate::process::Process;
use crate::request::{Matched, MatchedMessage};
use crate::roll_call::Call;
use crate::status::Status;
use crate::vci::receive::Pattern;

fn status_of(arrived: &Arrived) -> Status {
    Status { source: arrived.source, tag: arrived.tag, bytes: arrived.len(), ..Status::EMPTY }
}

impl<P: Port> Messages<'_, P> {
    /// `MPI_Iprobe`: the status of the message that a receive would take now, if there is one.
    pub fn iprobe(&mut self, rank: i32, tag: i32, comm: CommHandle) -> Result<Option<Status>> {
        let Some(pattern) = self.pattern(comm, rank, tag)? else {
            return Ok(Some(Status::PROC_NULL));
        };
        if let Some(status) = self.look(&pattern) {
            return Ok(Some(status));
        }
        self.poll_in_passing();
        Ok(self.look(&pattern))
    }

    /// `MPI_Probe`.
    pub fn probe(&mut self, rank: i32, tag: i32, comm: CommHandle) -> Result<Status> {
        let Some(pattern) = self.pattern(comm, rank, tag)? else { return Ok(Status::PROC_NULL) };
        self.await_message(&pattern)?;
        Ok(self.look(&pattern).expect("the wait ended because it is there"))
    }

    /// `MPI_Improbe`: takes the message out of matching.
    pub fn improbe(&mut self, rank: i32, tag: i32, comm: CommHandle) -> Result<Option<Matched>> {
        let Some(pattern) = self.pattern(comm, rank, tag)? else {
            return Ok(Some((MESSAGE_NO_PROC, Status::PROC_NULL)));
        };
        if self.look(&pattern).is_none() {
            self.poll_in_passing();
        }
        self.extract(&pattern, comm)
    }

    /// `MPI_Mprobe`.
    pub fn mprobe(&mut self, rank: i32, tag: i32, comm: CommHandle) -> Result<Matched> {
        let Some(pattern) = self.pattern(comm, rank, tag)? else {
            return Ok((MESSAGE_NO_PROC, Status::PROC_NULL));
        };
        self.await_message(&pattern)?;
        Ok(self.extract(&pattern, comm)?.expect("the wait ended because it is there"))
    }

    /// Waits until a message is there that `pattern` matches.
    ///
    /// # Errors
    /// The one process that could send it is gone.
    fn await_message(&mut self, pattern: &Pattern) -> Result<()> {
        let mut lost = None;
        self.block_in(waits_for(pattern), |process| {
            if look(process, pattern).is_some() {
                return true;
            }
            if let Some(peer) = pattern.from
                && let Some(why) = process.vci.peer(peer).down().cloned()
            {
                let Pattern { context, source, tag, .. } = *pattern;
                let wanted = Envelope { context, source, tag };
                let here = process.vci.matcher.unexpected();
                let here = here.map(|(envelope, arrived)| (envelope, arrived.peer));
                lost = Some(lost_source(here, wanted, peer, &why));
            }
            lost.is_some()
        });
        lost.map_or(Ok(()), Err)
    }

    fn look(&mut self, pattern: &Pattern) -> Option<Status> {
        look(self, pattern)
    }

    fn extract(&mut self, pattern: &Pattern, comm: CommHandle) -> Result<Option<Matched>> {
        let Pattern { context, source, tag, .. } = *pattern;
        let Some(arrived) = self.vci.matcher.take_unexpected(context, source, tag) else {
            return Ok(None);
        };
        let status = status_of(&arrived);
        let handle = self.matched.insert(MatchedMessage { arrived, comm })?;
        Ok(Some((handle, status)))
    }
}

fn look<P: Port>(process: &mut Process<P>, pattern: &Pattern) -> Option<Status> {
    let Pattern { context, source, tag, .. } = *pattern;
    process.vci.matcher.peek_unexpected(context, source, tag).map(status_of)
}

/// What a probe waits for.
fn waits_for<P: Port>(pattern: &Pattern) -> impl Fn(&Process<P>) -> Call {
    let Pattern { context, source, tag, .. } = *pattern;
    move |process| process.waits_for_message(Envelope { context, source, tag })
}
