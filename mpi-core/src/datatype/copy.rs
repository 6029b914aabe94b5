//! Runs a plan: copies between user memory and packed bytes, in either direction.
//!
//! Every position is a number of packed bytes, from which the place in the plan follows by
//! division and binary search, so a copy can start and stop at any byte. The inner loops are those
//! of `blocks.rs`; a loop over a list of small blocks is turned inside out, tile by tile, so that
//! the inner loop is one of them.
#![allow(unsafe_code)]

use super::blocks::{Ends, each, gather, grid};
use super::plan::{Plan, part_of};

/// Loops are turned inside out over as many iterations as span this many bytes of user memory:
/// half of a first-level cache, since a tile is passed over once for each block.
const TILE_BYTES: u64 = 16 * 1024;
/// Bodies with more blocks than this are copied one after the other instead.
const TILE_BLOCKS: usize = 64;
/// Fewer iterations than this are not worth turning inside out.
const TILED_MIN: u64 = 8;
/// A strided body with at least so many blocks is a good inner loop by itself.
const INNER_BLOCKS: u64 = 8;

/// Copies packed bytes `from` to `to` of `count` (or more) copies of `plan`, which lie `stride`
/// bytes apart from `ends.user` on; `ends.packed` is where byte `from` is or goes.
///
/// # Safety
/// All user bytes that the plan names for that range are valid for the access that `PACK`
/// implies, so are `to - from` bytes at `ends.packed`, and the two do not overlap.
pub(super) unsafe fn iterate<const PACK: bool>(
    plan: &Plan,
    stride: i64,
    ends: Ends,
    from: u64,
    to: u64,
) {
    let size = plan.size();
    let nth = |index: u64| stride.wrapping_mul(index as i64);
    // Divisions cost as much as a small copy, and most cursors move one element in one go.
    let (mut index, offset) = if from < size { (0, from) } else { (from / size, from % size) };
    let mut done = 0;
    // SAFETY: each part is within the range that the caller vouched for.
    unsafe {
        if offset > 0 {
            let end = size.min(offset + (to - from));
            part::<PACK>(plan, ends.at(nth(index), 0), offset, end);
            done = end - offset;
            index += 1;
        }
        let left = to - from - done;
        let whole = if left < 2 * size { u64::from(left >= size) } else { left / size };
        if whole > 0 {
            repeat::<PACK>(plan, stride, ends.at(nth(index), done), whole);
            done += whole * size;
            index += whole;
        }
        if done < to - from {
            part::<PACK>(plan, ends.at(nth(index), done), 0, to - from - done);
        }
    }
}

/// Copies packed bytes `from` to `to` of one plan.
///
/// # Safety
/// As for [`iterate`].
unsafe fn part<const PACK: bool>(plan: &Plan, ends: Ends, from: u64, to: u64) {
    // SAFETY: each part is within the range that the caller vouched for.
    unsafe {
        match plan {
            Plan::Run { disp, .. } => {
                ends.at(disp.wrapping_add_unsigned(from), 0).bytes::<PACK>((to - from) as usize);
            }
            Plan::Strided { disp, len, stride, .. } => {
                let block = Plan::Run { disp: *disp, len: *len };
                iterate::<PACK>(&block, *stride, ends, from, to);
            }
            Plan::Loop { disp, stride, body, .. } => {
                iterate::<PACK>(body, *stride, ends.at(*disp, 0), from, to);
            }
            Plan::Indexed { len, disps } => indexed::<PACK>(*len, disps, ends, from, to),
            Plan::Blocks { disps, starts } if from == 0 && Some(&to) == starts.last() => {
                for (disp, pair) in disps.iter().zip(starts.windows(2)) {
                    ends.at(*disp, pair[0]).few_bytes::<PACK>((pair[1] - pair[0]) as usize);
                }
            }
            Plan::Blocks { disps, starts } => {
                pieces(starts, from, to, |index, from, to, at| {
                    let disp = disps[index].wrapping_add_unsigned(from);
                    ends.at(disp, at).few_bytes::<PACK>((to - from) as usize);
                });
            }
            Plan::List { parts, starts } => {
                pieces(starts, from, to, |index, from, to, at| {
                    part::<PACK>(&parts[index], ends.at(0, at), from, to);
                });
            }
        }
    }
}

/// Calls `visit(index, from, to, at)` for each piece of packed bytes `from` to `to`: the part it
/// belongs to, its range there, and where it lies behind `from`.
#[inline]
fn pieces(starts: &[u64], from: u64, to: u64, mut visit: impl FnMut(usize, u64, u64, u64)) {
    let mut at = from;
    let mut index = part_of(starts, from);
    while at < to {
        let end = to.min(starts[index + 1]);
        visit(index, at - starts[index], end - starts[index], at - from);
        at = end;
        index += 1;
    }
}

/// Packed bytes `from` to `to` of equal blocks at listed displacements.
///
/// # Safety
/// As for [`iterate`].
unsafe fn indexed<const PACK: bool>(len: u64, disps: &[i64], ends: Ends, from: u64, to: u64) {
    let (mut index, offset) = ((from / len) as usize, from % len);
    let mut done = 0;
    // SAFETY: each part is within the range that the caller vouched for.
    unsafe {
        if offset > 0 {
            done = (len - offset).min(to - from);
            let disp = disps[index].wrapping_add_unsigned(offset);
            ends.at(disp, 0).bytes::<PACK>(done as usize);
            index += 1;
        }
        let whole = ((to - from - done) / len) as usize;
        gather::<PACK>(len as usize, &disps[index..index + whole], ends.at(0, done));
        done += whole as u64 * len;
        if done < to - from {
            let rest = (to - from - done) as usize;
            ends.at(disps[index + whole], done).bytes::<PACK>(rest);
        }
    }
}

/// `count` whole copies of `plan`, `stride` bytes apart, packed one after the other.
///
/// # Safety
/// As for [`iterate`].
pub(super) unsafe fn repeat<const PACK: bool>(plan: &Plan, stride: i64, ends: Ends, count: u64) {
    let size = plan.size();
    let tiled = count >= TILED_MIN;
    // SAFETY: each part is within the range that the caller vouched for.
    unsafe {
        match plan {
            Plan::Run { disp, len } => {
                grid::<PACK>(*len as usize, stride, *len, ends.at(*disp, 0), count);
            }
            Plan::Strided { disp, len, count: n, stride: step } if tiled && *n < INNER_BLOCKS => {
                let block = |index: u64| (disp.wrapping_add(step.wrapping_mul(index as i64)), *len);
                tiles::<PACK>((0..*n).map(block), size, stride, ends, count);
            }
            Plan::Indexed { len, disps } if tiled && disps.len() <= TILE_BLOCKS => {
                let blocks = disps.iter().map(|disp| (*disp, *len));
                tiles::<PACK>(blocks, size, stride, ends, count);
            }
            Plan::Blocks { disps, starts } if count > 1 && disps.len() <= TILE_BLOCKS => {
                let lens = starts.windows(2).map(|pair| pair[1] - pair[0]);
                tiles::<PACK>(disps.iter().copied().zip(lens), size, stride, ends, count);
            }
            Plan::Strided { disp, len, count: n, stride: step } => {
                each(stride, size, ends.at(*disp, 0), count, |ends| {
                    grid::<PACK>(*len as usize, *step, *len, ends, *n);
                });
            }
            Plan::Loop { disp, count: n, stride: step, body, .. } => {
                each(stride, size, ends.at(*disp, 0), count, |ends| {
                    repeat::<PACK>(body, *step, ends, *n);
                });
            }
            _ => each(stride, size, ends, count, |ends| part::<PACK>(plan, ends, 0, size)),
        }
    }
}

/// `count` elements of `size` packed bytes, `stride` apart in user memory, each of which has the
/// `blocks` in this order: block after block over a tile of elements.
///
/// # Safety
/// As for [`iterate`].
unsafe fn tiles<const PACK: bool>(
    blocks: impl Iterator<Item = (i64, u64)> + Clone,
    size: u64,
    stride: i64,
    mut ends: Ends,
    mut count: u64,
) {
    let tile = (TILE_BYTES / stride.unsigned_abs().max(size)).max(8);
    while count > 0 {
        let now = tile.min(count);
        let mut start = 0;
        for (disp, len) in blocks.clone() {
            // SAFETY: each block of each element is within the caller's range.
            unsafe { grid::<PACK>(len as usize, stride, size, ends.at(disp, start), now) };
            start += len;
        }
        ends = ends.at(stride.wrapping_mul(now as i64), size * now);
        count -= now;
    }
}
