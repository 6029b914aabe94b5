//! Groups (MPI-5.0 §7.3). Arrays of ranks come in here; the algebra is the core's.

use mpi_core::comm::GROUP_EMPTY;
use mpi_core::constants::UNDEFINED;
use mpi_core::error::Result;
use mpi_core::group::Group;
use mpi_core::handle::GroupHandle;
use mpi_core::lists::listed;

use crate::args::{IntArray, IntArrayMut};
use crate::cx::Cx;

/// `MPI_Group_size`.
pub fn group_size(cx: &mut Cx<'_>, group: GroupHandle, size: &mut i32) -> Result<()> {
    *size = cx.groups.get(group)?.size() as i32;
    Ok(())
}

/// `MPI_Group_rank`.
pub fn group_rank(cx: &mut Cx<'_>, group: GroupHandle, rank: &mut i32) -> Result<()> {
    let own = cx.own_peer();
    *rank = cx.groups.get(group)?.rank_of(own).map_or(UNDEFINED, |rank| rank as i32);
    Ok(())
}

/// The elements of an array that the glue has found not to be null.
pub(crate) fn ints(array: IntArray, count: i64) -> Result<Vec<i32>> {
    // SAFETY: by the standard the array has `count` elements.
    listed((0..count as usize).map(|index| unsafe { array.at(index) } as i32))
}

/// The triplets (first, last, stride) of an array.
fn triplets(array: IntArray, count: i64) -> Result<Vec<[i32; 3]>> {
    let numbers = ints(array, count * 3)?;
    listed(numbers.chunks_exact(3).map(|of| [of[0], of[1], of[2]]))
}

/// `MPI_Group_translate_ranks`.
pub fn group_translate_ranks(
    cx: &mut Cx<'_>,
    group1: GroupHandle,
    n: i64,
    ranks1: IntArray,
    group2: GroupHandle,
    ranks2: IntArrayMut,
) -> Result<()> {
    let (one, other) = (cx.groups.get(group1)?, cx.groups.get(group2)?);
    let translated = one.translate_ranks(&ints(ranks1, n)?, other)?;
    for (index, rank) in translated.into_iter().enumerate() {
        // SAFETY: by the standard the array has `n` elements.
        unsafe { ranks2.set(index, i64::from(rank)) };
    }
    Ok(())
}

/// `MPI_Group_compare`.
pub fn group_compare(
    cx: &mut Cx<'_>,
    group1: GroupHandle,
    group2: GroupHandle,
    result: &mut i32,
) -> Result<()> {
    *result = cx.groups.get(group1)?.compare(cx.groups.get(group2)?) as i32;
    Ok(())
}

/// Makes a group of two.
fn combine(
    cx: &mut Cx<'_>,
    group1: GroupHandle,
    group2: GroupHandle,
    how: fn(&Group, &Group) -> Group,
) -> Result<GroupHandle> {
    let (one, other) = (cx.groups.get(group1)?, cx.groups.get(group2)?);
    // MPI_GROUP_EMPTY is of no session.
    let session = if one.session().is_null() { other.session() } else { one.session() };
    let made = how(one, other).of_session(session);
    cx.new_group(made)
}

/// Makes a group of some members of one.
fn part(
    cx: &mut Cx<'_>,
    group: GroupHandle,
    which: impl FnOnce(&Group) -> Result<Group>,
) -> Result<GroupHandle> {
    let group = cx.groups.get(group)?;
    let made = which(group)?.of_session(group.session());
    cx.new_group(made)
}

/// `MPI_Group_union`.
pub fn group_union(
    cx: &mut Cx<'_>,
    group1: GroupHandle,
    group2: GroupHandle,
    newgroup: &mut GroupHandle,
) -> Result<()> {
    *newgroup = combine(cx, group1, group2, Group::union)?;
    Ok(())
}

/// `MPI_Group_intersection`.
pub fn group_intersection(
    cx: &mut Cx<'_>,
    group1: GroupHandle,
    group2: GroupHandle,
    newgroup: &mut GroupHandle,
) -> Result<()> {
    *newgroup = combine(cx, group1, group2, Group::intersection)?;
    Ok(())
}

/// `MPI_Group_difference`.
pub fn group_difference(
    cx: &mut Cx<'_>,
    group1: GroupHandle,
    group2: GroupHandle,
    newgroup: &mut GroupHandle,
) -> Result<()> {
    *newgroup = combine(cx, group1, group2, Group::difference)?;
    Ok(())
}

/// `MPI_Group_incl`.
pub fn group_incl(
    cx: &mut Cx<'_>,
    group: GroupHandle,
    n: i64,
    ranks: IntArray,
    newgroup: &mut GroupHandle,
) -> Result<()> {
    *newgroup = part(cx, group, |group| group.incl(&ints(ranks, n)?))?;
    Ok(())
}

/// `MPI_Group_excl`.
pub fn group_excl(
    cx: &mut Cx<'_>,
    group: GroupHandle,
    n: i64,
    ranks: IntArray,
    newgroup: &mut GroupHandle,
) -> Result<()> {
    *newgroup = part(cx, group, |group| group.excl(&ints(ranks, n)?))?;
    Ok(())
}

/// `MPI_Group_range_incl`.
pub fn group_range_incl(
    cx: &mut Cx<'_>,
    group: GroupHandle,
    n: i64,
    ranges: IntArray,
    newgroup: &mut GroupHandle,
) -> Result<()> {
    *newgroup = part(cx, group, |group| group.range_incl(&triplets(ranges, n)?))?;
    Ok(())
}

/// `MPI_Group_range_excl`.
pub fn group_range_excl(
    cx: &mut Cx<'_>,
    group: GroupHandle,
    n: i64,
    ranges: IntArray,
    newgroup: &mut GroupHandle,
) -> Result<()> {
    *newgroup = part(cx, group, |group| group.range_excl(&triplets(ranges, n)?))?;
    Ok(())
}

/// `MPI_Group_free`. An empty group is `MPI_GROUP_EMPTY` whoever made it, so that freeing that
/// is right and does nothing.
pub fn group_free(cx: &mut Cx<'_>, group: &mut GroupHandle) -> Result<()> {
    if group.raw() != GROUP_EMPTY {
        cx.groups.remove(*group)?;
    }
    *group = GroupHandle::NULL;
    Ok(())
}
