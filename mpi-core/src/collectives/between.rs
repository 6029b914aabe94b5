//! The collective procedures on intercommunicators (MPI-5.0 §6.2.2): arguments in, a
//! [`Prepared`] operation out. `MPI_IN_PLACE` is not for them.

use super::calls::{Arguments, Calls, Typed, Varied, layout};
use crate::coll::inter::{Between, Root, Sides};
use crate::coll::layout::Layout;
use crate::coll::place::Places;
use crate::coll::plan::Problem;
use crate::coll::prepared::Prepared;
use crate::comm::Comm;
use crate::constants::{PROC_NULL, ROOT};
use crate::error::Result;
use crate::fail;
use crate::handle::CommHandle;

impl Comm {
    /// The root argument of a call between groups.
    fn root_between(&self, root: i32) -> Result<Root> {
        match root {
            ROOT => Ok(Root::Here),
            PROC_NULL => Ok(Root::Beside),
            root => self.target(root, "root").map(|_| Root::There(root as usize)),
        }
    }
}

impl Calls<'_> {
    pub(super) fn barrier_between(self, sides: Sides, comm: CommHandle) -> Result<Prepared> {
        let problem = Problem::Between(sides, Between::Barrier);
        Ok(Prepared::fixed(comm, problem, Places::None, Places::None))
    }

    pub(super) fn bcast_between(
        self,
        sides: Sides,
        data: Typed,
        root: i32,
        comm: CommHandle,
    ) -> Result<Prepared> {
        let root = self.objects.comm(comm)?.root_between(root)?;
        let block = match root {
            Root::Beside => Places::None,
            _ => Places::one(self.block(data, "buffer")?),
        };
        let len = layout(&block).total();
        let problem = Problem::Between(sides, Between::Bcast { root, len });
        Ok(Prepared::fixed(comm, problem, Places::None, block))
    }

    pub(super) fn gather_between(
        self,
        sides: Sides,
        send: Typed,
        recv: Typed,
        root: i32,
        comm: CommHandle,
    ) -> Result<Prepared> {
        let root = self.objects.comm(comm)?.root_between(root)?;
        let into = match root {
            Root::Here => self.blocks(recv, sides.remote.len(), "recvbuf")?,
            _ => Places::None,
        };
        self.gathered(sides, send, into, root, comm)
    }

    pub(super) fn gatherv_between(
        self,
        sides: Sides,
        send: Typed,
        recv: Option<Varied<'_>>,
        root: i32,
        comm: CommHandle,
    ) -> Result<Prepared> {
        let root = self.objects.comm(comm)?.root_between(root)?;
        let into = match (root, recv) {
            (Root::Here, Some(recv)) => self.varied(recv, "recvbuf")?,
            _ => Places::None,
        };
        self.gathered(sides, send, into, root, comm)
    }

    fn gathered(
        self,
        sides: Sides,
        send: Typed,
        into: Places,
        root: Root,
        comm: CommHandle,
    ) -> Result<Prepared> {
        let own = self.share_of(root, send, "sendbuf")?;
        let blocks = (root == Root::Here).then(|| layout(&into));
        let call = Between::Gather { root, own: layout(&own).total(), blocks };
        Ok(Prepared::fixed(comm, Problem::Between(sides, call), own, into))
    }

    /// The one block of a process whose root is in the other group.
    fn share_of(self, root: Root, data: Typed, param: &'static str) -> Result<Places> {
        match root {
            Root::There(_) => self.block(data, param).map(Places::one),
            Root::Here | Root::Beside => Ok(Places::None),
        }
    }

    pub(super) fn scatter_between(
        self,
        sides: Sides,
        send: Typed,
        recv: Typed,
        root: i32,
        comm: CommHandle,
    ) -> Result<Prepared> {
        let root = self.objects.comm(comm)?.root_between(root)?;
        let from = match root {
            Root::Here => self.blocks(send, sides.remote.len(), "sendbuf")?,
            _ => Places::None,
        };
        self.scattered(sides, from, recv, root, comm)
    }

    pub(super) fn scatterv_between(
        self,
        sides: Sides,
        send: Option<Varied<'_>>,
        recv: Typed,
        root: i32,
        comm: CommHandle,
    ) -> Result<Prepared> {
        let root = self.objects.comm(comm)?.root_between(root)?;
        let from = match (root, send) {
            (Root::Here, Some(send)) => self.varied(send, "sendbuf")?,
            _ => Places::None,
        };
        self.scattered(sides, from, recv, root, comm)
    }

    fn scattered(
        self,
        sides: Sides,
        from: Places,
        recv: Typed,
        root: Root,
        comm: CommHandle,
    ) -> Result<Prepared> {
        let own = self.share_of(root, recv, "recvbuf")?;
        let blocks = (root == Root::Here).then(|| layout(&from));
        let call = Between::Scatter { root, own: layout(&own).total(), blocks };
        Ok(Prepared::fixed(comm, Problem::Between(sides, call), from, own))
    }

    pub(super) fn allgather_between(
        self,
        sides: Sides,
        send: Typed,
        recv: Typed,
        comm: CommHandle,
    ) -> Result<Prepared> {
        let into = self.blocks(recv, sides.remote.len(), "recvbuf")?;
        self.gathered_by_all(sides, send, into, comm)
    }

    pub(super) fn allgatherv_between(
        self,
        sides: Sides,
        send: Typed,
        recv: Varied<'_>,
        comm: CommHandle,
    ) -> Result<Prepared> {
        let into = self.varied(recv, "recvbuf")?;
        self.gathered_by_all(sides, send, into, comm)
    }

    fn gathered_by_all(
        self,
        sides: Sides,
        send: Typed,
        into: Places,
        comm: CommHandle,
    ) -> Result<Prepared> {
        let own = self.block(send, "sendbuf")?;
        let call = Between::Allgather { own: own.bytes(), blocks: layout(&into) };
        Ok(Prepared::fixed(comm, Problem::Between(sides, call), Places::one(own), into))
    }

    pub(super) fn alltoall_between(
        self,
        sides: Sides,
        send: Typed,
        recv: Typed,
        comm: CommHandle,
    ) -> Result<Prepared> {
        let from = self.blocks(send, sides.remote.len(), "sendbuf")?;
        let into = self.blocks(recv, sides.remote.len(), "recvbuf")?;
        Ok(self.exchanged(sides, from, into, comm))
    }

    pub(super) fn alltoallv_between(
        self,
        sides: Sides,
        send: Option<Varied<'_>>,
        recv: Varied<'_>,
        comm: CommHandle,
    ) -> Result<Prepared> {
        let Some(send) = send else {
            fail!(BUFFER, "sendbuf", "is MPI_IN_PLACE, which is not for intercommunicators");
        };
        let from = self.varied(send, "sendbuf")?;
        let into = self.varied(recv, "recvbuf")?;
        Ok(self.exchanged(sides, from, into, comm))
    }

    fn exchanged(self, sides: Sides, from: Places, into: Places, comm: CommHandle) -> Prepared {
        let call = Between::Alltoall { outgoing: layout(&from), incoming: layout(&into) };
        Prepared::fixed(comm, Problem::Between(sides, call), from, into)
    }

    pub(super) fn reduce_between(
        self,
        sides: Sides,
        arguments: Arguments,
        root: i32,
        comm: CommHandle,
    ) -> Result<Prepared> {
        let root = self.objects.comm(comm)?.root_between(root)?;
        let (send, recv, count, datatype, op) = arguments;
        let problem = Problem::Between(sides, Between::Reduce { root, len: count });
        let (send, recv) = match root {
            Root::Here => (recv, recv),
            Root::There(_) => (send, send),
            // Nothing else counts here, and nothing is done.
            Root::Beside => return Ok(Prepared::fixed(comm, problem, Places::None, Places::None)),
        };
        self.reducing_between(comm, problem, (send, recv, count, datatype, op))
    }

    pub(super) fn allreduce_between(
        self,
        sides: Sides,
        arguments: Arguments,
        comm: CommHandle,
    ) -> Result<Prepared> {
        let problem = Problem::Between(sides, Between::Allreduce { len: arguments.2 });
        self.reducing_between(comm, problem, arguments)
    }

    pub(super) fn reduce_scatter_between(
        self,
        sides: Sides,
        counts: &[i64],
        (send, recv, _, datatype, op): Arguments,
        comm: CommHandle,
    ) -> Result<Prepared> {
        if let Some(bad) = counts.iter().position(|&count| count < 0) {
            fail!(COUNT, "recvcounts", "has {} at rank {bad}", counts[bad]);
        }
        let blocks = Layout::of(counts.iter().copied());
        let total = blocks.total();
        let problem = Problem::Between(sides, Between::ReduceScatter { blocks });
        self.reducing_between(comm, problem, (send, recv, total, datatype, op))
    }

    pub(super) fn reduce_scatter_block_between(
        self,
        sides: Sides,
        (send, recv, count, datatype, op): Arguments,
        comm: CommHandle,
    ) -> Result<Prepared> {
        crate::p2p::check_count(count)?;
        let blocks = Layout::uniform(count, sides.local.len());
        let total = blocks.total();
        let problem = Problem::Between(sides, Between::ReduceScatter { blocks });
        self.reducing_between(comm, problem, (send, recv, total, datatype, op))
    }

    fn reducing_between(
        self,
        comm: CommHandle,
        problem: Problem,
        arguments: Arguments,
    ) -> Result<Prepared> {
        if arguments.0.is_in_place() {
            fail!(BUFFER, "sendbuf", "is MPI_IN_PLACE, which is not for intercommunicators");
        }
        self.reducing(comm, None, problem, arguments)
    }
}
