//! The constructors of MPI-5.0 §5.1.2, §5.1.7 and §5.1.10, and of the removed ones of MPI-1.
//!
//! Counts are lengths of slices where the standard has arrays; whoever makes the slices has
//! checked `count`. The MPI-1 procedures `MPI_Type_hvector`, `_hindexed` and `_struct` are the
//! constructors of the same name here; `MPI_LB` and `MPI_UB` are datatypes like others.

use std::sync::Arc;

use super::contents::{Combiner, Contents, Form};
use super::layout::{Block, Layout, too_large};
use super::{Datatype, Operand, Origin};
use crate::error::Result;
use crate::fail;
use crate::lists::{joined, listed, reserved};

/// A count or block length that must not be negative.
macro_rules! natural {
    ($class:ident, $name:literal, $value:expr) => {{
        let value: i64 = $value;
        match u64::try_from(value) {
            Ok(value) => value,
            Err(_) => fail!($class, $name, "is {value}, but must not be negative"),
        }
    }};
}

/// The product of a displacement in elements and their extent.
fn scaled(displacement: i64, extent: i64) -> Result<i64> {
    displacement.checked_mul(extent).ok_or_else(too_large)
}

/// `MPI_Type_indexed` and its like: checks the block lengths.
fn natural_lengths(blocklengths: &[i64]) -> Result<()> {
    for (index, &length) in blocklengths.iter().enumerate() {
        if length < 0 {
            fail!(
                ARG,
                "array_of_blocklengths",
                "has {length} at {index}, but must not be negative"
            );
        }
    }
    Ok(())
}

fn same_length(count: usize, displacements: &[i64]) -> Result<()> {
    if displacements.len() != count {
        let len = displacements.len();
        fail!(ARG, "array_of_displacements", "has {len} entries for {count} blocks");
    }
    Ok(())
}

/// Bytes that the plan of one block takes at least while it is made.
type BlockPlan = [u64; 8];

/// The same of a block of a type of its own, which has a plan and a signature in small pieces of memory.
type FieldPlan = [u64; 32];

/// Refuses a list of blocks for whose plans there is no memory.
fn has_memory<EachPlan>(blocks: usize) -> Result<()> {
    reserved::<EachPlan>(blocks).map(drop)
}

impl Datatype {
    fn derived(layout: Layout, contents: Contents) -> Result<Arc<Datatype>> {
        Datatype::new(layout, Origin::Made(contents), Operand::None)
    }

    /// `MPI_Type_contiguous`.
    ///
    /// # Errors
    /// A negative count; more bytes than 63 bits can count.
    pub fn contiguous(count: i64, old: &Arc<Datatype>, form: Form) -> Result<Arc<Datatype>> {
        let times = natural!(COUNT, "count", count);
        let layout = old.layout.repeated(times, old.extent)?;
        let types = vec![Arc::clone(old)];
        let contents = Contents::new(Combiner::Contiguous, form, vec![count], vec![], types);
        Datatype::derived(layout, contents)
    }

    /// `MPI_Type_vector`: the stride is in elements.
    ///
    /// # Errors
    /// A negative count or block length; a type map beyond 64 bits.
    pub fn vector(
        count: i64,
        blocklength: i64,
        stride: i64,
        old: &Arc<Datatype>,
        form: Form,
    ) -> Result<Arc<Datatype>> {
        // A single block may have any stride, also one that would not fit in bytes.
        let bytes = if count > 1 { scaled(stride, old.extent)? } else { 0 };
        let layout = blocks_apart(count, blocklength, bytes, old)?;
        let sizes = vec![count, blocklength, stride];
        let types = vec![Arc::clone(old)];
        Datatype::derived(layout, Contents::new(Combiner::Vector, form, sizes, vec![], types))
    }

    /// `MPI_Type_create_hvector`: the stride is in bytes.
    ///
    /// # Errors
    /// A negative count or block length; a type map beyond 64 bits.
    pub fn hvector(
        count: i64,
        blocklength: i64,
        stride: i64,
        old: &Arc<Datatype>,
        form: Form,
    ) -> Result<Arc<Datatype>> {
        let layout = blocks_apart(count, blocklength, stride, old)?;
        let (sizes, types) = (vec![count, blocklength], vec![Arc::clone(old)]);
        let contents = Contents::new(Combiner::Hvector, form, sizes, vec![stride], types);
        Datatype::derived(layout, contents)
    }

    /// `MPI_Type_indexed`: displacements are in elements.
    ///
    /// # Errors
    /// A negative block length; a type map beyond 64 bits.
    pub fn indexed(
        blocklengths: &[i64],
        displacements: &[i64],
        old: &Arc<Datatype>,
        form: Form,
    ) -> Result<Arc<Datatype>> {
        let disps = in_bytes(displacements, old)?;
        let layout = listed_blocks(blocklengths, &disps, old)?;
        let sizes = joined(&[&[blocklengths.len() as i64], blocklengths, displacements])?;
        let types = vec![Arc::clone(old)];
        Datatype::derived(layout, Contents::new(Combiner::Indexed, form, sizes, vec![], types))
    }

    /// `MPI_Type_create_hindexed`: displacements are in bytes.
    ///
    /// # Errors
    /// A negative block length; a type map beyond 64 bits.
    pub fn hindexed(
        blocklengths: &[i64],
        displacements: &[i64],
        old: &Arc<Datatype>,
        form: Form,
    ) -> Result<Arc<Datatype>> {
        let layout = listed_blocks(blocklengths, displacements, old)?;
        let sizes = joined(&[&[blocklengths.len() as i64], blocklengths])?;
        let (disps, types) = (joined(&[displacements])?, vec![Arc::clone(old)]);
        Datatype::derived(layout, Contents::new(Combiner::Hindexed, form, sizes, disps, types))
    }

    /// `MPI_Type_create_indexed_block`: displacements are in elements.
    ///
    /// # Errors
    /// A negative block length; a type map beyond 64 bits.
    pub fn indexed_block(
        blocklength: i64,
        displacements: &[i64],
        old: &Arc<Datatype>,
        form: Form,
    ) -> Result<Arc<Datatype>> {
        let layout = equal_blocks(blocklength, &in_bytes(displacements, old)?, old)?;
        let sizes = joined(&[&[displacements.len() as i64, blocklength], displacements])?;
        let types = vec![Arc::clone(old)];
        let contents = Contents::new(Combiner::IndexedBlock, form, sizes, vec![], types);
        Datatype::derived(layout, contents)
    }

    /// `MPI_Type_create_hindexed_block`: displacements are in bytes.
    ///
    /// # Errors
    /// A negative block length; a type map beyond 64 bits.
    pub fn hindexed_block(
        blocklength: i64,
        displacements: &[i64],
        old: &Arc<Datatype>,
        form: Form,
    ) -> Result<Arc<Datatype>> {
        let layout = equal_blocks(blocklength, displacements, old)?;
        let sizes = vec![displacements.len() as i64, blocklength];
        let (disps, types) = (joined(&[displacements])?, vec![Arc::clone(old)]);
        let contents = Contents::new(Combiner::HindexedBlock, form, sizes, disps, types);
        Datatype::derived(layout, contents)
    }

    /// `MPI_Type_create_struct`.
    ///
    /// # Errors
    /// A negative block length; arrays of different lengths; a type map beyond 64 bits.
    pub fn structure(
        blocklengths: &[i64],
        displacements: &[i64],
        types: &[Arc<Datatype>],
        form: Form,
    ) -> Result<Arc<Datatype>> {
        natural_lengths(blocklengths)?;
        same_length(blocklengths.len(), displacements)?;
        if types.len() != blocklengths.len() {
            let (len, count) = (types.len(), blocklengths.len());
            fail!(ARG, "array_of_types", "has {len} entries for {count} blocks");
        }
        has_memory::<FieldPlan>(types.len())?;
        let blocks = blocklengths.iter().zip(displacements).zip(types);
        let layout = Layout::join(blocks.map(|((&count, &disp), datatype)| {
            (Block { count: count as u64, disp }, &datatype.layout)
        }))?;
        let sizes = joined(&[&[blocklengths.len() as i64], blocklengths])?;
        let (disps, types) = (joined(&[displacements])?, listed(types.iter().cloned())?);
        Datatype::derived(layout, Contents::new(Combiner::Struct, form, sizes, disps, types))
    }

    /// `MPI_Type_create_resized`.
    ///
    /// # Errors
    /// An upper bound beyond 64 bits.
    pub fn resized(old: &Arc<Datatype>, lb: i64, extent: i64, form: Form) -> Result<Arc<Datatype>> {
        let layout = old.layout.resized(lb, extent)?;
        let (bounds, types) = (vec![lb, extent], vec![Arc::clone(old)]);
        Datatype::derived(layout, Contents::new(Combiner::Resized, form, vec![], bounds, types))
    }

    /// `MPI_Type_dup`: also as committed as the old one, and good for the same reductions.
    ///
    /// # Errors
    /// None beyond those of the old datatype.
    pub fn dup(old: &Arc<Datatype>) -> Result<Arc<Datatype>> {
        let types = vec![Arc::clone(old)];
        let contents = Contents::new(Combiner::Dup, Form::Int, vec![], vec![], types);
        let new = Datatype::new(old.layout.clone(), Origin::Made(contents), old.operand)?;
        if old.is_committed() {
            new.commit();
        }
        Ok(new)
    }
}

/// `count` blocks of `blocklength` elements, `stride` bytes apart.
fn blocks_apart(count: i64, blocklength: i64, stride: i64, old: &Datatype) -> Result<Layout> {
    let count = natural!(COUNT, "count", count);
    let length = natural!(ARG, "blocklength", blocklength);
    old.layout.repeated(length, old.extent)?.repeated(count, stride)
}

fn listed_blocks(blocklengths: &[i64], disps: &[i64], old: &Datatype) -> Result<Layout> {
    natural_lengths(blocklengths)?;
    same_length(blocklengths.len(), disps)?;
    has_memory::<BlockPlan>(disps.len())?;
    let blocks = blocklengths.iter().zip(disps);
    old.layout.scattered(blocks.map(|(&count, &disp)| Block { count: count as u64, disp }))
}

fn equal_blocks(blocklength: i64, disps: &[i64], old: &Datatype) -> Result<Layout> {
    let count = natural!(ARG, "blocklength", blocklength);
    has_memory::<BlockPlan>(disps.len())?;
    old.layout.scattered(disps.iter().map(|&disp| Block { count, disp }))
}

fn in_bytes(displacements: &[i64], old: &Datatype) -> Result<Vec<i64>> {
    let mut bytes = reserved(displacements.len())?;
    for &displacement in displacements {
        bytes.push(scaled(displacement, old.extent)?);
    }
    Ok(bytes)
}
