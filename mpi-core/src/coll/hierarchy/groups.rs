//! A partition of the ranks of a communicator into groups, numbered by their first ranks, which lead them.
//!
//! Enters: the first rank of each one's group. What makes a group is known to who says so.

/// Groups of ranks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Groups {
    /// The group of each rank.
    of: Vec<u32>,
    /// The leader of each group.
    leaders: Vec<u32>,
}

impl Groups {
    /// From the first rank in each one's group; `None` if they contradict each other.
    pub(crate) fn new(firsts: &[u32]) -> Option<Groups> {
        let own = |rank: u32| firsts.get(rank as usize) == Some(&rank);
        let leaders: Vec<u32> = (0..firsts.len() as u32).filter(|rank| own(*rank)).collect();
        let group = |first: &u32| leaders.binary_search(first).ok().map(|group| group as u32);
        let of: Option<Vec<u32>> = firsts.iter().map(group).collect();
        Some(Groups { of: of?, leaders })
    }

    /// The number of groups.
    pub(crate) fn count(&self) -> usize {
        self.leaders.len()
    }

    /// The number of ranks.
    pub(crate) fn size(&self) -> usize {
        self.of.len()
    }

    /// The group of a rank.
    pub(crate) fn group_of(&self, rank: usize) -> usize {
        self.of[rank] as usize
    }

    /// The same groups, of which one is led by `rank`.
    pub(crate) fn led_by(&self, rank: usize) -> Groups {
        let mut groups = self.clone();
        groups.leaders[self.group_of(rank)] = rank as u32;
        groups
    }

    /// The leader of a group.
    pub(crate) fn leader(&self, group: usize) -> usize {
        self.leaders[group] as usize
    }

    /// The leader of each group.
    pub(crate) fn leaders(&self) -> impl Iterator<Item = usize> + '_ {
        self.leaders.iter().map(|leader| *leader as usize)
    }

    /// The ranks of a group.
    pub(crate) fn members(&self, group: usize) -> impl Iterator<Item = usize> + '_ {
        (0..self.of.len()).filter(move |rank| self.of[*rank] as usize == group)
    }

    /// The ranks of a group where they follow one another.
    pub(crate) fn range(&self, group: usize) -> std::ops::Range<usize> {
        let first = self.members(group).next().unwrap_or(0);
        first..first + self.members(group).count()
    }

    /// The place of a rank among those of its group.
    pub(crate) fn place(&self, rank: usize) -> usize {
        self.members(self.group_of(rank)).take_while(|other| *other < rank).count()
    }

    /// The number of ranks in the largest group.
    pub(crate) fn largest(&self) -> usize {
        let mut counts = vec![0; self.count()];
        self.of.iter().for_each(|group| counts[*group as usize] += 1);
        counts.into_iter().max().unwrap_or(0)
    }

    /// Whether the ranks of each group follow one another.
    pub(crate) fn is_in_order(&self) -> bool {
        self.of.is_sorted()
    }
}
