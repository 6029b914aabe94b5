//! Groups: ordered lists of processes and the algebra on them (MPI-5.0 §7.3).
//!
//! A group is a shared, immutable value. Members that form an arithmetic progression of peer
//! numbers (the world, its halves, its even ranks) need no list, so a group of a million such
//! processes is a few words; any other group carries a list, and an index for the way back from
//! a process to its rank that is built when first asked for.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use crate::constants::{Comparison, PROC_NULL, UNDEFINED};
use crate::error::{Error, ErrorClass, Result};
use crate::fail;
use crate::handle::SessionHandle;
use crate::lists::reserved;
use crate::terms::PeerId;

/// An ordered set of processes.
#[derive(Clone, Debug)]
pub struct Group(Members, SessionHandle);

#[derive(Clone, Debug)]
enum Members {
    /// `first`, `first + stride`, …: `len` of them.
    Progression { first: u32, stride: i32, len: u32 },
    /// Any order.
    List(Arc<List>),
}

/// Processes in any order; the index gives ranks by process.
#[derive(Debug)]
struct List {
    peers: Box<[PeerId]>,
    ranks: OnceLock<HashMap<PeerId, u32>>,
}

impl PartialEq for Group {
    /// The same members in the same order.
    fn eq(&self, other: &Group) -> bool {
        match (&self.0, &other.0) {
            (Members::List(one), Members::List(another)) if Arc::ptr_eq(one, another) => true,
            _ => self.size() == other.size() && self.iter().eq(other.iter()),
        }
    }
}

impl Eq for Group {}

impl FromIterator<PeerId> for Group {
    fn from_iter<I: IntoIterator<Item = PeerId>>(peers: I) -> Group {
        Group::new(peers.into_iter().collect())
    }
}

impl Group {
    /// `MPI_GROUP_EMPTY`.
    pub fn empty() -> Group {
        Group::range(PeerId(0), 0)
    }

    /// The `len` processes from `first` on.
    pub fn range(first: PeerId, len: u32) -> Group {
        let members = Members::Progression { first: first.0, stride: 1, len };
        Group(members, SessionHandle::NULL)
    }

    /// The group of these processes, which are distinct.
    pub fn new(peers: Vec<PeerId>) -> Group {
        debug_assert!(first_repeated(peers.iter()).is_none(), "a group holds a process once");
        let number = |rank: usize| i64::from(peers[rank].0);
        let step = if peers.len() < 2 { 1 } else { number(1) - number(0) };
        let regular = peers.windows(2).all(|w| i64::from(w[1].0) - i64::from(w[0].0) == step);
        let members = match i32::try_from(step) {
            Ok(stride) if regular => {
                let first = peers.first().map_or(0, |peer| peer.0);
                Members::Progression { first, stride, len: peers.len() as u32 }
            }
            _ => Members::List(Arc::new(List { peers: peers.into(), ranks: OnceLock::new() })),
        };
        Group(members, SessionHandle::NULL)
    }

    /// The session that the group was derived from; null in the world model (§11.3).
    pub fn session(&self) -> SessionHandle {
        self.1
    }

    /// The same processes, as a group that was derived from `session`.
    #[must_use]
    pub fn of_session(self, session: SessionHandle) -> Group {
        Group(self.0, session)
    }

    /// Number of processes.
    #[inline]
    pub fn size(&self) -> u32 {
        match &self.0 {
            Members::Progression { len, .. } => *len,
            Members::List(list) => list.peers.len() as u32,
        }
    }

    /// The process at `rank`, if there is one.
    #[inline]
    pub fn peer(&self, rank: u32) -> Option<PeerId> {
        match &self.0 {
            Members::Progression { first, stride, len } => {
                // What wraps on the way to a member's number comes back.
                let distance = rank.wrapping_mul(*stride as u32);
                (rank < *len).then(|| PeerId(first.wrapping_add(distance)))
            }
            Members::List(list) => list.peers.get(rank as usize).copied(),
        }
    }

    /// The rank of `peer`, if it is a member.
    pub fn rank_of(&self, peer: PeerId) -> Option<u32> {
        match &self.0 {
            Members::Progression { first, stride, len } => {
                let distance = i64::from(peer.0) - i64::from(*first);
                let stride = i64::from(*stride);
                let rank = distance / stride;
                (distance % stride == 0 && (0..i64::from(*len)).contains(&rank))
                    .then_some(rank as u32)
            }
            Members::List(list) => {
                let peers = list.peers.iter();
                let index = || peers.zip(0..).map(|(peer, rank)| (*peer, rank)).collect();
                list.ranks.get_or_init(index).get(&peer).copied()
            }
        }
    }

    /// Whether `peer` is a member.
    pub fn contains(&self, peer: PeerId) -> bool {
        self.rank_of(peer).is_some()
    }

    /// The members in the order of their ranks.
    pub fn iter(&self) -> impl Iterator<Item = PeerId> + '_ {
        (0..self.size()).filter_map(|rank| self.peer(rank))
    }

    /// All of this group, then those of `other` that are not in it (`MPI_Group_union`).
    #[must_use]
    pub fn union(&self, other: &Group) -> Group {
        self.iter().chain(other.iter().filter(|peer| !self.contains(*peer))).collect()
    }

    /// Those of this group that are also in `other`, in this group's order
    /// (`MPI_Group_intersection`).
    #[must_use]
    pub fn intersection(&self, other: &Group) -> Group {
        self.iter().filter(|peer| other.contains(*peer)).collect()
    }

    /// Those of this group that are not in `other`, in this group's order
    /// (`MPI_Group_difference`).
    #[must_use]
    pub fn difference(&self, other: &Group) -> Group {
        self.iter().filter(|peer| !other.contains(*peer)).collect()
    }

    /// The processes at `ranks`, in that order (`MPI_Group_incl`).
    ///
    /// # Errors
    /// `MPI_ERR_RANK` for a rank that is not in the group or stands twice.
    pub fn incl(&self, ranks: &[i32]) -> Result<Group> {
        self.check(ranks, "ranks")?;
        Ok(self.at(ranks))
    }

    /// All but the processes at `ranks` (`MPI_Group_excl`).
    ///
    /// # Errors
    /// As [`Group::incl`].
    pub fn excl(&self, ranks: &[i32]) -> Result<Group> {
        self.check(ranks, "ranks")?;
        Ok(self.without(ranks))
    }

    /// The processes at the ranks of each (first, last, stride), in that order
    /// (`MPI_Group_range_incl`).
    ///
    /// # Errors
    /// `MPI_ERR_RANK` for a computed rank that is not in the group or stands twice,
    /// `MPI_ERR_ARG` for a stride that is zero or leads away from the range's end.
    pub fn range_incl(&self, ranges: &[[i32; 3]]) -> Result<Group> {
        Ok(self.at(&self.expand(ranges)?))
    }

    /// All but the processes at the ranks of each (first, last, stride)
    /// (`MPI_Group_range_excl`).
    ///
    /// # Errors
    /// As [`Group::range_incl`].
    pub fn range_excl(&self, ranges: &[[i32; 3]]) -> Result<Group> {
        Ok(self.without(&self.expand(ranges)?))
    }

    /// The rank in `other` of each process at `ranks`: `MPI_UNDEFINED` where it has none,
    /// `MPI_PROC_NULL` for `MPI_PROC_NULL` (`MPI_Group_translate_ranks`).
    ///
    /// # Errors
    /// `MPI_ERR_RANK` for a rank that is not in this group.
    pub fn translate_ranks(&self, ranks: &[i32], other: &Group) -> Result<Vec<i32>> {
        let translate = |(place, &rank): (usize, &i32)| {
            if rank == PROC_NULL {
                return Ok(PROC_NULL);
            }
            self.check_rank(rank, place, "ranks1")?;
            let there = self.peer(rank as u32).and_then(|peer| other.rank_of(peer));
            Ok(there.map_or(UNDEFINED, |rank| rank as i32))
        };
        let mut translated = reserved(ranks.len())?;
        for element in ranks.iter().enumerate() {
            translated.push(translate(element)?);
        }
        Ok(translated)
    }

    /// How the two groups compare (`MPI_Group_compare`): never `Congruent`.
    pub fn compare(&self, other: &Group) -> Comparison {
        if self == other {
            Comparison::Identical
        } else if self.size() == other.size() && self.iter().all(|peer| other.contains(peer)) {
            Comparison::Similar
        } else {
            Comparison::Unequal
        }
    }

    fn at(&self, ranks: &[i32]) -> Group {
        ranks.iter().filter_map(|rank| self.peer(*rank as u32)).collect()
    }

    fn without(&self, ranks: &[i32]) -> Group {
        let mut keep = vec![true; self.size() as usize];
        ranks.iter().for_each(|rank| keep[*rank as usize] = false);
        self.iter().zip(keep).filter_map(|(peer, keep)| keep.then_some(peer)).collect()
    }

    fn check_rank(&self, rank: i32, place: usize, param: &'static str) -> Result<()> {
        if (0..i64::from(self.size())).contains(&i64::from(rank)) {
            return Ok(());
        }
        let has = match self.size() {
            0 => "the group is empty".to_owned(),
            size => format!("the group has ranks 0 to {}", size - 1),
        };
        let text = format!("has {rank} as element {place}, but {has}");
        Err(Error::param(ErrorClass::RANK, param, text))
    }

    fn check(&self, ranks: &[i32], param: &'static str) -> Result<()> {
        for (place, rank) in ranks.iter().enumerate() {
            self.check_rank(*rank, place, param)?;
        }
        match first_repeated(ranks.iter()) {
            None => Ok(()),
            Some(rank) => {
                Err(Error::param(ErrorClass::RANK, param, format!("names rank {rank} twice")))
            }
        }
    }

    /// The ranks that the triplets stand for, checked.
    fn expand(&self, ranges: &[[i32; 3]]) -> Result<Vec<i32>> {
        let mut ranks = Vec::new();
        for (place, &[first, last, stride]) in ranges.iter().enumerate() {
            if stride == 0 {
                fail!(ARG, "ranges", "has a stride of 0 in element {place}");
            }
            let steps = (i64::from(last) - i64::from(first)) / i64::from(stride);
            if (i64::from(last) - i64::from(first)).signum() * i64::from(stride.signum()) < 0 {
                fail!(ARG, "ranges", "goes from {first} to {last} by {stride} in element {place}");
            }
            self.check_rank(first, place, "ranges")?;
            let end = i64::from(first) + steps * i64::from(stride);
            self.check_rank(end as i32, place, "ranges")?;
            ranks.extend(
                (0..=steps).map(|step| (i64::from(first) + step * i64::from(stride)) as i32),
            );
            // Some stands twice then, and the rest of the ranges could be any number of ranks.
            if ranks.len() > self.size() as usize {
                break;
            }
        }
        match first_repeated(ranks.iter()) {
            Some(rank) => fail!(RANK, "ranges", "names rank {rank} twice"),
            None => Ok(ranks),
        }
    }
}

/// The first item that equals an earlier one.
pub(crate) fn first_repeated<'a, T: Eq + std::hash::Hash>(
    mut items: impl Iterator<Item = &'a T>,
) -> Option<&'a T> {
    let mut seen = std::collections::HashSet::new();
    items.find(|item| !seen.insert(*item))
}

#[cfg(test)]
#[path = "group_tests.rs"]
mod tests;
