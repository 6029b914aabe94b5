//! Which processes of a communicator share a node, and the two communicators that follow: of the
//! processes of this node, and of the first process of each.
//!
//! Enters: the first process near each one, as the handshakes of their memory showed it when a
//! board was tried ([`seat`](super::board)). Leaves: what [`across`](super::across) and
//! [`hierarchy`](super::hierarchy) need.

use std::sync::Arc;

use crate::entry::Entry;
use crate::error::Result;
use crate::group::Group;
use crate::handle::CommHandle;
use crate::port::Port;

/// The nodes of a communicator, numbered by their first ranks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct NodeMap {
    /// The node of each rank.
    of: Vec<u32>,
    /// The first rank of each node.
    leaders: Vec<u32>,
}

impl NodeMap {
    /// From the first rank near each one; `None` if they contradict each other.
    pub(crate) fn new(firsts: &[u32]) -> Option<NodeMap> {
        let own = |rank: u32| firsts.get(rank as usize) == Some(&rank);
        let leaders: Vec<u32> = (0..firsts.len() as u32).filter(|rank| own(*rank)).collect();
        let node = |first: &u32| leaders.binary_search(first).ok().map(|node| node as u32);
        let of: Option<Vec<u32>> = firsts.iter().map(node).collect();
        Some(NodeMap { of: of?, leaders })
    }

    /// The number of nodes.
    pub(crate) fn count(&self) -> usize {
        self.leaders.len()
    }

    /// The node of a rank.
    pub(crate) fn node_of(&self, rank: usize) -> usize {
        self.of[rank] as usize
    }

    /// The first rank of a node.
    pub(crate) fn leader(&self, node: usize) -> usize {
        self.leaders[node] as usize
    }

    /// The ranks of a node.
    pub(crate) fn members(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        (0..self.of.len()).filter(move |rank| self.of[*rank] as usize == node)
    }

    /// The number of ranks.
    pub(crate) fn size(&self) -> usize {
        self.of.len()
    }

    /// The ranks of a node where they follow one another.
    pub(crate) fn range(&self, node: usize) -> std::ops::Range<usize> {
        let first = self.leader(node);
        first..first + self.members(node).count()
    }

    /// The place of a rank among those of its node.
    pub(crate) fn place(&self, rank: usize) -> usize {
        self.members(self.node_of(rank)).take_while(|other| *other < rank).count()
    }

    /// The largest number of ranks on one node.
    pub(crate) fn ranks_per_node(&self) -> usize {
        let mut counts = vec![0; self.count()];
        self.of.iter().for_each(|node| counts[*node as usize] += 1);
        counts.into_iter().max().unwrap_or(0)
    }

    /// Whether the ranks of each node follow one another.
    pub(crate) fn is_in_order(&self) -> bool {
        self.of.is_sorted()
    }
}

/// A communicator's nodes, where there are several and not all have one process only.
pub(crate) struct Nodes {
    pub(crate) map: Arc<NodeMap>,
    /// See [`NodeMap::is_in_order`].
    pub(crate) in_order: bool,
    /// The communicator of this node's processes.
    pub(crate) near: CommHandle,
    /// That of the nodes' first processes; null at the others.
    pub(crate) across: CommHandle,
}

impl<P: Port> Entry<'_, P> {
    /// Notes what nodes `comm` has, the same at all of its processes.
    pub(super) fn take_nodes(&mut self, comm: CommHandle, firsts: &[u32]) -> Result<()> {
        let Some(map) = NodeMap::new(firsts) else { return Ok(()) };
        let ranks_per_node = map.ranks_per_node();
        self.comm_mut(comm)?.ranks_per_node = ranks_per_node as u32;
        if map.count() == 1 || ranks_per_node == 1 {
            return Ok(());
        }
        let state = self.comm(comm)?;
        let (me, context, group) = (state.rank as usize, state.context, state.group.clone());
        let of = |ranks: &mut dyn Iterator<Item = usize>| {
            Group::new(ranks.filter_map(|rank| group.peer(rank as u32)).collect())
        };
        let node = map.node_of(me);
        let near = of(&mut map.members(node));
        let near = self.adopt_within(comm, &format!("node {node}"), context, near)?;
        let across = match map.leader(node) == me {
            true => {
                let leaders = of(&mut (0..map.count()).map(|node| map.leader(node)));
                self.adopt_within(comm, "nodes", context, leaders)?
            }
            false => CommHandle::NULL,
        };
        let nodes = Nodes { in_order: map.is_in_order(), map: Arc::new(map), near, across };
        self.comm_mut(comm)?.nodes = Some(Arc::new(nodes));
        Ok(())
    }

    /// Frees the communicators of `comm`'s nodes.
    pub(crate) fn leave_nodes(&mut self, comm: CommHandle) -> Result<()> {
        let Some(nodes) = self.comm_mut(comm)?.nodes.take() else { return Ok(()) };
        self.comm_free(nodes.near)?;
        match nodes.across.is_null() {
            true => Ok(()),
            false => self.comm_free(nodes.across),
        }
    }
}
