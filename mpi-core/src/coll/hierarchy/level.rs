//! One level of a communicator: its groups, and the two communicators that follow, of this process's group and of
//! the leaders. Either may have a level of its own.

use std::sync::Arc;

use super::groups::Groups;
use crate::coll::Collectives;
use crate::error::Result;
use crate::group::Group;
use crate::handle::CommHandle;
use crate::objects::Objects;
use crate::port::Port;

/// A communicator's groups, where there are several and not all have one process only.
pub(crate) struct Level {
    pub(crate) groups: Arc<Groups>,
    /// See [`Groups::is_in_order`].
    pub(crate) in_order: bool,
    /// The communicator of this process's group.
    pub(crate) within: CommHandle,
    /// That of the leaders; null at others.
    pub(crate) across: CommHandle,
}

impl Objects {
    /// Notes what nodes `comm` has, of which the first rank of each one's is told, the same at all processes.
    pub(in crate::coll) fn take_nodes(&mut self, comm: CommHandle, firsts: &[u32]) -> Result<()> {
        let Some(nodes) = Groups::new(firsts) else { return Ok(()) };
        self.comm_mut(comm)?.ranks_per_node = nodes.largest() as u32;
        self.divide(comm, nodes, "node")
    }

    /// Gives `comm` a level, of groups that are called so.
    pub(in crate::coll) fn divide(
        &mut self,
        comm: CommHandle,
        groups: Groups,
        called: &str,
    ) -> Result<()> {
        if groups.count() == 1 || groups.largest() == 1 {
            return Ok(());
        }
        let state = self.comm(comm)?;
        let (me, context, all) = (state.rank as usize, state.context, state.group.clone());
        let of = |ranks: &mut dyn Iterator<Item = usize>| {
            Group::new(ranks.filter_map(|rank| all.peer(rank as u32)).collect())
        };
        let own = groups.group_of(me);
        let name = format!("{called} {own}");
        let within = self.adopt_within(comm, &name, context, of(&mut groups.members(own)))?;
        let across = match groups.leader(own) == me {
            true => {
                let leaders = of(&mut groups.leaders());
                self.adopt_within(comm, &format!("{called}s"), context, leaders)?
            }
            false => CommHandle::NULL,
        };
        let in_order = groups.is_in_order();
        let level = Level { groups: Arc::new(groups), in_order, within, across };
        self.comm_mut(comm)?.level = Some(Arc::new(level));
        Ok(())
    }
}

impl<P: Port> Collectives<'_, P> {
    /// Frees the communicators of `comm`'s level.
    pub(crate) fn leave_level(&mut self, comm: CommHandle) -> Result<()> {
        let Some(level) = self.comm_mut(comm)?.level.take() else { return Ok(()) };
        self.communicators().free(level.within)?;
        match level.across.is_null() {
            true => Ok(()),
            false => self.communicators().free(level.across),
        }
    }
}
