//! How a communicator gets a [`Level`]: of its nodes, or on one node of its last-level caches or sockets.

use std::sync::Arc;

use crate::coll::by_cost::ByCost;
use crate::coll::hierarchy::groups::Groups;
use crate::coll::spread::Spread;
use crate::collectives::Collectives;
use crate::comm::Level;
use crate::error::Result;
use crate::group::Group;
use crate::handle::CommHandle;
use crate::objects::Objects;
use crate::port::Port;
use crate::tuning::CACHES_PLAYED;

impl Objects {
    /// Notes what nodes `comm` has, of which the first rank of each one's is told, the same at all processes.
    pub(in crate::collectives) fn take_nodes(
        &mut self,
        comm: CommHandle,
        firsts: &[u32],
    ) -> Result<()> {
        let Some(nodes) = Groups::new(firsts) else { return Ok(()) };
        self.comm_mut(comm)?.ranks_per_node = nodes.largest() as u32;
        self.divide(comm, nodes, "node")
    }

    /// Gives `comm` a level, of groups that are called so.
    pub(in crate::collectives) fn divide(
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

    /// Notes the socket and the last-level cache of each process of `comm`, all of one node. Where they share
    /// processors flat is the form with the fewest turns.
    pub(crate) fn take_caches(&mut self, comm: CommHandle, places: &[[u32; 2]]) -> Result<()> {
        let (spread, tree) = (Spread::of(places), self.selection.tree);
        let is_oversubscribed = self.comm(comm)?.share > 1;
        let is_flat = !tree.unwrap_or(!is_oversubscribed);
        let Some([near, leaders]) = spread.split().filter(|_| !is_flat) else { return Ok(()) };
        let by_cache = spread.of_cache > 1;
        let key = |place: &[u32; 2]| if by_cache { *place } else { [place[0], 0] };
        let first = |place| places.iter().position(|other| key(other) == key(place));
        let firsts: Option<Vec<u32>> =
            places.iter().map(|place| first(place).map(|first| first as u32)).collect();
        let Some(groups) = firsts.and_then(|firsts| Groups::new(&firsts)) else { return Ok(()) };
        self.divide(comm, groups, if by_cache { "cache" } else { "socket" })?;
        let Some(level) = self.comm(comm)?.level.clone() else { return Ok(()) };
        for (comm, spread) in [(comm, spread), (level.within, near), (level.across, leaders)] {
            if !comm.is_null() {
                self.comm_mut(comm)?.by_cost =
                    Some(Arc::new(ByCost::new(spread, tree == Some(true))));
            }
        }
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

    /// The socket and the last-level cache of this process, if they are known or played.
    pub(crate) fn cache_place(&self) -> Option<[u32; 2]> {
        match self.selection.cache_ranks {
            0 => self.port.place(),
            ranks => {
                let cache = self.identity.rank / ranks;
                Some([cache / CACHES_PLAYED, cache])
            }
        }
    }
}
