//! The processes of an intercommunicator (MPI-5.0 §7.6): two disjoint groups, each the other's target.

use std::ops::Range;
use std::sync::Arc;

use super::Comm;
use crate::coll::inter::Sides;
use crate::group::Group;

/// The processes of both groups in the order that both know: one group, then the other.
#[derive(Debug)]
pub struct Union {
    /// All processes.
    group: Group,
    /// Which of them are the local group.
    local: Range<u32>,
}

impl Union {
    /// Of two groups; `first` if the local one comes first, which both sides must see alike.
    fn new(local: &Group, remote: &Group, first: bool) -> Union {
        let (low, high) = if first { (local, remote) } else { (remote, local) };
        let start = if first { 0 } else { remote.size() };
        let group = low.iter().chain(high.iter()).collect();
        Union { group, local: start..start + local.size() }
    }

    /// Whether the local group comes first.
    pub(crate) fn begins_here(&self) -> bool {
        self.local.start == 0
    }
}

impl Comm {
    /// An intercommunicator, where this process is `rank` of the local group.
    pub(crate) fn between(
        context: u64,
        local: Group,
        rank: u32,
        remote: Group,
        first: bool,
    ) -> Comm {
        let union = Some(Arc::new(Union::new(&local, &remote, first)));
        Comm { remote: Some(remote), union, ..Comm::new(context, local, rank) }
    }

    /// All processes that take part in a collective call.
    #[inline]
    pub(crate) fn roster(&self) -> &Group {
        match &self.union {
            None => &self.group,
            Some(union) => &union.group,
        }
    }

    /// The place of this process among them.
    #[inline]
    pub(crate) fn place(&self) -> u32 {
        match &self.union {
            None => self.rank,
            Some(union) => union.local.start + self.rank,
        }
    }

    /// The two groups among them; none of an intracommunicator.
    #[inline]
    pub(crate) fn sides(&self) -> Option<Sides> {
        let union = self.union.as_ref()?;
        let (local, all) = (&union.local, union.group.size() as usize);
        let local = local.start as usize..local.end as usize;
        let remote = if local.start == 0 { local.end..all } else { 0..local.start };
        Some(Sides { local, remote })
    }
}
