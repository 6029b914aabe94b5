//! `MPI_GATHER` and `MPI_SCATTER` of a communicator with several nodes, whose ranks follow one another
//! on each: a node's blocks cross the network in one message.
//!
//! The first process of each node holds the blocks of its node, packed, in between. Where the root is
//! not such a process, the first of its node holds those of all. As elsewhere each stage is a collective
//! operation of its own ([`across`](super::across)).

use super::across::{Stages, bytes};
use super::layout::Layout;
use super::menu::Collective;
use super::place::{Place, Places};
use super::plan::Problem;
use crate::entry::Entry;
use crate::error::Result;
use crate::port::Port;

/// The root's blocks as this process sees them on their way.
pub(super) struct Dealt {
    root: usize,
    /// Bytes of a block.
    block: i64,
    /// What crosses the network for each node: the root's own memory, or that which is held for it;
    /// at the first process of the root's node alone.
    of_nodes: Places,
    /// The blocks of this node at its first process.
    of_node: Places,
    /// The same as one.
    together: Option<Place>,
    /// All blocks: held by the first process of the root's node, or the root's own at a root that is
    /// not that.
    all: Option<Place>,
    /// Room for a block that nobody wants.
    spare: Option<Place>,
}

impl<P: Port> Entry<'_, P> {
    /// Where the blocks of the root, which has them in `own`, are on their way; `held` is memory for
    /// those of others.
    pub(super) fn dealt(
        &self,
        stages: &Stages,
        root: usize,
        own: &Places,
        total: i64,
        held: &mut Vec<u8>,
    ) -> Result<Dealt> {
        let map = &stages.nodes.map;
        let size = map.size();
        let block = total / size as i64;
        let ranks = map.range(stages.node());
        let home = map.node_of(root) == stages.node();
        let mut dealt = Dealt {
            root,
            block,
            of_nodes: Places::None,
            of_node: Places::None,
            together: None,
            all: None,
            spare: None,
        };
        let nodes = || (0..map.count()).map(|node| map.range(node));
        if stages.rank == root && stages.leads() {
            let part = |ranks: std::ops::Range<usize>| self.whole(&own.range(ranks));
            dealt.of_nodes = Places::Each(nodes().map(part).collect::<Result<_>>()?);
            dealt.of_node = own.range(ranks);
            return Ok(dealt);
        }
        if stages.rank == root {
            dealt.all = Some(self.whole(own)?);
        }
        // What of all blocks is held here.
        let here = match (stages.leads(), home) {
            (true, true) => 0..size,
            (true, false) => ranks.clone(),
            (false, _) => root..root + usize::from(stages.rank == root),
        };
        held.resize(here.len() * block as usize, 0);
        let mut part = |of: std::ops::Range<usize>| {
            let at = |rank: usize| (rank - here.start) * block as usize;
            bytes(&mut held[at(of.start)..at(of.end)])
        };
        if !stages.leads() {
            dealt.spare = (stages.rank == root).then(|| part(here.clone()));
            return Ok(dealt);
        }
        if home {
            dealt.of_nodes = Places::Each(nodes().map(&mut part).collect());
            dealt.all = Some(part(0..size));
        }
        dealt.together = Some(part(ranks.clone()));
        let first = part(ranks.start..ranks.start + 1);
        dealt.of_node = Places::Even(first, block, ranks.len());
        Ok(dealt)
    }
}

impl Stages {
    /// The root's node, and the root's place on it.
    fn home(&self, root: usize) -> (usize, usize) {
        (self.nodes.map.node_of(root), self.nodes.map.place(root))
    }

    /// The blocks of the nodes, at the first process of the root's.
    fn cut(&self, dealt: &Dealt) -> Option<Layout> {
        let map = &self.nodes.map;
        let len = |node| map.range(node).len() as i64 * dealt.block;
        let here = self.leads() && map.node_of(dealt.root) == self.node();
        here.then(|| Layout::of((0..map.count()).map(len)))
    }

    /// `MPI_GATHER`: within each node, then across nodes, then to the root.
    pub(super) fn collect(&mut self, dealt: &Dealt, in_place: bool, send: &Places, recv: &Places) {
        let (home, place) = self.home(dealt.root);
        let (nodes, block) = (self.nodes.clone(), dealt.block);
        let stays = in_place && self.leads();
        let own = match in_place && !stays {
            true => recv.get(self.rank).map_or(Places::None, Places::one),
            false => send.clone(),
        };
        let problem = Problem::Gather { root: 0, block, in_place: stays };
        let near = block * nodes.map.range(self.node()).len() as i64;
        let data = [own, dealt.of_node.clone()];
        self.moves(nodes.near, Collective::Gather, problem, near, data);
        if self.leads() {
            let blocks = self.cut(dealt);
            let in_place = blocks.is_some();
            let own = dealt.together.filter(|_| !in_place).map_or(Places::None, Places::one);
            let problem = Problem::Gatherv { root: home, own: near, blocks, in_place };
            let data = [own, dealt.of_nodes.clone()];
            self.moves(nodes.across, Collective::Gatherv, problem, 0, data);
        }
        if place > 0 && self.node() == home {
            let held = dealt.all.filter(|_| self.leads());
            self.hand_over(place, held, dealt.all.filter(|_| self.rank == dealt.root));
        }
    }

    /// `MPI_SCATTER`: to the first process of the root's node, across nodes, then within each.
    pub(super) fn deal(&mut self, dealt: &Dealt, in_place: bool, send: &Places, recv: &Places) {
        let (home, place) = self.home(dealt.root);
        let (nodes, block) = (self.nodes.clone(), dealt.block);
        if place > 0 && self.node() == home {
            self.take_over(place, dealt);
        }
        let near = block * nodes.map.range(self.node()).len() as i64;
        if self.leads() {
            let blocks = self.cut(dealt);
            let in_place = blocks.is_some();
            let own = dealt.together.filter(|_| !in_place).map_or(Places::None, Places::one);
            let problem = Problem::Scatterv { root: home, own: near, blocks, in_place };
            let data = [dealt.of_nodes.clone(), own];
            self.moves(nodes.across, Collective::Scatterv, problem, 0, data);
        }
        let stays = in_place && self.leads();
        let own = match in_place && !stays {
            // Its block stays in the send buffer, which may not be written.
            true => dealt.spare.map_or(Places::None, Places::one),
            false => recv.clone(),
        };
        let from = if self.leads() { dealt.of_node.clone() } else { Places::None };
        debug_assert!(!stays || self.rank == dealt.root && send.get(self.rank).is_some());
        let problem = Problem::Scatter { root: 0, block, in_place: stays };
        self.moves(nodes.near, Collective::Scatter, problem, near, [from, own]);
    }

    /// The first process of this node takes all that the one at `place`, the root, has.
    fn take_over(&mut self, place: usize, dealt: &Dealt) {
        let count = self.nodes.map.range(self.node()).len();
        let all = dealt.all;
        let bytes = all.map_or(0, |all| all.bytes());
        let mine = all.filter(|_| self.rank == dealt.root);
        let held = all.filter(|_| self.leads());
        let len = |other| if other == place { bytes } else { 0 };
        let block = |all: Place, other| if other == place { all } else { all.emptied() };
        let cut = |all: Place| Places::Each((0..count).map(|other| block(all, other)).collect());
        let problem = Problem::Gatherv {
            root: 0,
            own: mine.map_or(0, |mine| mine.bytes()),
            blocks: held.map(|_| Layout::of((0..count).map(len))),
            in_place: held.is_some(),
        };
        let data = [mine.map_or(Places::None, Places::one), held.map_or(Places::None, cut)];
        self.moves(self.nodes.near, Collective::Gatherv, problem, 0, data);
    }
}
