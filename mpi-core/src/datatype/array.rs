//! Parts of arrays: `MPI_Type_create_subarray` and `MPI_Type_create_darray` (MPI-5.0 §5.1.3,
//! §5.1.4).
//!
//! Both go through the dimensions from the fastest to the slowest. At each one the type so far
//! stands for one index of it, and the chosen indices are put side by side; the result spans the
//! whole dimension.

use std::sync::Arc;

use super::contents::{Combiner, Contents, Form};
use super::layout::{Block, Layout, too_large};
use super::{Datatype, Operand, Origin};
use crate::error::Result;
use crate::fail;

/// `MPI_ORDER_C` of the standard ABI.
const ORDER_C: i64 = 12;
/// `MPI_ORDER_FORTRAN` of the standard ABI.
const ORDER_FORTRAN: i64 = 15;
/// `MPI_DISTRIBUTE_NONE` of the standard ABI.
const NONE: i64 = 16;
/// `MPI_DISTRIBUTE_BLOCK` of the standard ABI.
const BLOCK: i64 = 17;
/// `MPI_DISTRIBUTE_CYCLIC` of the standard ABI.
const CYCLIC: i64 = 18;

/// `MPI_DISTRIBUTE_DFLT_DARG` inside the core. The standard ABI's number, 19, is also a possible
/// argument in the other ABIs, so the faces convert.
pub const DEFAULT_DARG: i64 = i64::MIN;

/// The arguments of `MPI_Type_create_subarray`, orders by their numbers in the standard ABI.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Subarray<'a> {
    pub sizes: &'a [i64],
    pub subsizes: &'a [i64],
    pub starts: &'a [i64],
    pub order: i64,
}

/// The arguments of `MPI_Type_create_darray`, orders and distributions by their numbers in the
/// standard ABI, but see [`DEFAULT_DARG`].
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Darray<'a> {
    pub size: i64,
    pub rank: i64,
    pub gsizes: &'a [i64],
    pub distribs: &'a [i64],
    pub dargs: &'a [i64],
    pub psizes: &'a [i64],
    pub order: i64,
}

/// The dimensions from the one whose index varies fastest to the slowest.
fn fastest_first(ndims: usize, order: i64) -> Result<Vec<usize>> {
    match order {
        ORDER_C => Ok((0..ndims).rev().collect()),
        ORDER_FORTRAN => Ok((0..ndims).collect()),
        _ => fail!(ARG, "order", "is {order}, neither MPI_ORDER_C nor MPI_ORDER_FORTRAN"),
    }
}

fn check_subarray(args: &Subarray<'_>) -> Result<()> {
    let ndims = args.sizes.len();
    if ndims == 0 || args.subsizes.len() != ndims || args.starts.len() != ndims {
        fail!(ARG, "ndims", "must be positive and the length of all three arrays");
    }
    for dim in 0..ndims {
        let (size, subsize, start) = (args.sizes[dim], args.subsizes[dim], args.starts[dim]);
        if size < 1 {
            fail!(ARG, "array_of_sizes", "has {size} at {dim}, but must be positive");
        }
        if subsize < 1 || subsize > size {
            fail!(
                ARG,
                "array_of_subsizes",
                "has {subsize} at {dim}, but that dimension allows 1 to {size}"
            );
        }
        if start < 0 || start > size - subsize {
            let last = size - subsize;
            fail!(
                ARG,
                "array_of_starts",
                "has {start} at {dim}, but that dimension allows 0 to {last}"
            );
        }
    }
    Ok(())
}

fn check_darray(args: &Darray<'_>) -> Result<()> {
    let ndims = args.gsizes.len();
    let lengths = [args.distribs.len(), args.dargs.len(), args.psizes.len()];
    if ndims == 0 || lengths != [ndims; 3] {
        fail!(ARG, "ndims", "must be positive and the length of all four arrays");
    }
    if args.size < 1 {
        fail!(ARG, "size", "is {}, but must be positive", args.size);
    }
    if !(0..args.size).contains(&args.rank) {
        fail!(ARG, "rank", "is {}, but size is {}", args.rank, args.size);
    }
    let mut processes = 1i64;
    for dim in 0..ndims {
        let (gsize, psize) = (args.gsizes[dim], args.psizes[dim]);
        if gsize < 1 {
            fail!(ARG, "array_of_gsizes", "has {gsize} at {dim}, but must be positive");
        }
        if psize < 1 {
            fail!(ARG, "array_of_psizes", "has {psize} at {dim}, but must be positive");
        }
        processes = processes.saturating_mul(psize);
        check_distribution(args, dim)?;
    }
    if processes != args.size {
        let size = args.size;
        fail!(ARG, "array_of_psizes", "makes a grid of {processes} processes, but size is {size}");
    }
    Ok(())
}

fn check_distribution(args: &Darray<'_>, dim: usize) -> Result<()> {
    let (gsize, psize, darg) = (args.gsizes[dim], args.psizes[dim], args.dargs[dim]);
    let distribution = args.distribs[dim];
    if !matches!(distribution, NONE | BLOCK | CYCLIC) {
        fail!(ARG, "array_of_distribs", "has {distribution} at {dim}, which is no distribution");
    }
    if distribution == NONE && psize != 1 {
        fail!(
            ARG,
            "array_of_psizes",
            "has {psize} at {dim}, but a dimension that is not distributed has 1"
        );
    }
    if distribution != NONE && darg != DEFAULT_DARG && darg < 1 {
        fail!(ARG, "array_of_dargs", "has {darg} at {dim}, but must be positive");
    }
    if distribution == BLOCK && darg != DEFAULT_DARG && darg.saturating_mul(psize) < gsize {
        fail!(
            ARG,
            "array_of_dargs",
            "has {darg} at {dim}: {psize} blocks of that size do not hold {gsize} elements"
        );
    }
    Ok(())
}

impl Datatype {
    /// `MPI_Type_create_subarray`.
    ///
    /// # Errors
    /// An array without dimensions, a part that is not inside; a type map beyond 64 bits.
    pub fn subarray(args: Subarray<'_>, old: &Arc<Datatype>, form: Form) -> Result<Arc<Datatype>> {
        check_subarray(&args)?;
        let mut layout = old.layout.clone();
        let mut extent = old.extent;
        for dim in fastest_first(args.sizes.len(), args.order)? {
            let first = args.starts[dim].checked_mul(extent).ok_or_else(too_large)?;
            layout = layout.repeated(args.subsizes[dim] as u64, extent)?.shifted(first)?;
            extent = extent.checked_mul(args.sizes[dim]).ok_or_else(too_large)?;
        }
        let layout = layout.resized(0, extent)?;
        let (types, ndims) = (vec![Arc::clone(old)], args.sizes.len() as i64);
        let parts = [args.sizes, args.subsizes, args.starts].concat();
        let combiner = Combiner::Subarray;
        let contents = match form {
            Form::Int => {
                let integers = [&[ndims], &parts[..], &[args.order]].concat();
                Contents::new(combiner, Form::Int, integers, vec![], types)
            }
            Form::Large => {
                let integers = vec![ndims, args.order];
                Contents { integers, ..Contents::new(combiner, form, parts, vec![], types) }
            }
        };
        Datatype::new(layout, Origin::Made(contents), Operand::None)
    }

    /// `MPI_Type_create_darray`.
    ///
    /// # Errors
    /// A grid of another size, an impossible distribution; a type map beyond 64 bits.
    pub fn darray(args: Darray<'_>, old: &Arc<Datatype>, form: Form) -> Result<Arc<Datatype>> {
        check_darray(&args)?;
        let coordinates = coordinates(args.rank, args.psizes);
        let mut layout = old.layout.clone();
        let mut extent = old.extent;
        for dim in fastest_first(args.gsizes.len(), args.order)? {
            layout = distributed(&args, dim, coordinates[dim], &layout, extent)?;
            extent = extent.checked_mul(args.gsizes[dim]).ok_or_else(too_large)?;
        }
        let layout = layout.resized(0, extent)?;
        let types = vec![Arc::clone(old)];
        let head = [args.size, args.rank, args.gsizes.len() as i64];
        let tail = [args.distribs, args.dargs, args.psizes, &[args.order]].concat();
        let contents = match form {
            Form::Int => {
                let integers = [&head, args.gsizes, &tail[..]].concat();
                Contents::new(Combiner::Darray, Form::Int, integers, vec![], types)
            }
            Form::Large => {
                let integers = [&head[..], &tail[..]].concat();
                let counts = args.gsizes.to_vec();
                Contents {
                    integers,
                    ..Contents::new(Combiner::Darray, form, counts, vec![], types)
                }
            }
        };
        Datatype::new(layout, Origin::Made(contents), Operand::None)
    }
}

/// The place of `rank` in the process grid, which is always in C order.
fn coordinates(rank: i64, psizes: &[i64]) -> Vec<i64> {
    let mut rest = rank;
    let mut coordinates: Vec<i64> = psizes
        .iter()
        .rev()
        .map(|psize| {
            let coordinate = rest % psize;
            rest /= psize;
            coordinate
        })
        .collect();
    coordinates.reverse();
    coordinates
}

/// The indices of dimension `dim` that belong to the process at `coordinate`; `layout` is what
/// lies at one index, and consecutive ones are `extent` bytes apart.
fn distributed(
    args: &Darray<'_>,
    dim: usize,
    coordinate: i64,
    layout: &Layout,
    extent: i64,
) -> Result<Layout> {
    let (gsize, psize, darg) = (args.gsizes[dim], args.psizes[dim], args.dargs[dim]);
    let block = match (args.distribs[dim], darg) {
        (NONE, _) => gsize,
        (BLOCK, DEFAULT_DARG) => (gsize - 1) / psize + 1,
        (_, DEFAULT_DARG) => 1,
        (_, block) => block,
    };
    // A block distribution is cyclic with a single round.
    let first = coordinate.saturating_mul(block);
    if first >= gsize {
        return Ok(Layout::empty());
    }
    let cycle = psize.saturating_mul(block);
    let whole = if gsize - first < block { 0 } else { (gsize - first - block) / cycle + 1 };
    let next = first.saturating_add(whole.saturating_mul(cycle));
    let part = if next < gsize { gsize - next } else { 0 };
    let bytes = |index: i64| index.checked_mul(extent).ok_or_else(too_large);
    let one = layout.repeated(block.min(gsize) as u64, extent)?;
    let stride = if whole > 1 { bytes(cycle)? } else { 0 };
    let rounds = one.repeated(whole as u64, stride)?.shifted(bytes(first)?)?;
    if part == 0 {
        return Ok(rounds);
    }
    let rest = layout.repeated(part as u64, extent)?.shifted(bytes(next)?)?;
    Layout::join([(Block { count: 1, disp: 0 }, &rounds), (Block { count: 1, disp: 0 }, &rest)])
}
