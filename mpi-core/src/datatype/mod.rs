//! Datatypes: builders → type map → a compact program of strided copies (MPI-5.0 chapter 5).
//!
//! [`predefined`] has the named datatypes, the constructors of [`Datatype`] make derived ones
//! from their arguments, and [`Packer`] and [`Unpacker`] move the data that a datatype describes.
//! A datatype never changes, save that it is committed once, and is shared as an `Arc`.

mod array;
pub mod basic;
mod blocks;
mod bounds;
mod build;
mod catalogue;
mod component;
mod contents;
#[cfg(test)]
mod contents_tests;
mod copy;
mod count;
mod cursor;
mod elements;
mod external;
mod layout;
#[cfg(test)]
mod model;
mod named;
mod order;
pub mod pack;
mod parametrized;
mod plan;
mod rebuild;
mod signature;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub use array::{DEFAULT_DARG, Darray, Subarray};
pub use basic::{Basic, Group, Row};
pub use catalogue::Datatypes;
pub use contents::{Combiner, Contents, Envelope, Form};
pub use cursor::{Packer, Unpacker};
pub use elements::check_elements;
pub use named::{dense_size, make_named, predefined};

use crate::handle::DatatypeHandle;

/// `MPI_BYTE`.
pub const BYTE: DatatypeHandle = DatatypeHandle::from_raw(0x247);

pub use signature::Signature;

use crate::error::Result;
use layout::Layout;
use plan::Plan;

/// A datatype. All sizes are in bytes.
#[derive(Debug)]
pub struct Datatype {
    size: u64,
    lb: i64,
    extent: i64,
    true_lb: i64,
    true_extent: i64,
    contiguous: bool,
    layout: Layout,
    origin: Origin,
    operand: Operand,
    /// What all parts of a derived datatype are made of.
    component: Option<Arc<Datatype>>,
    committed: AtomicBool,
}

/// How a datatype came to be.
#[derive(Debug)]
enum Origin {
    Named(&'static Row),
    Made(Contents),
}

/// What one element is to a predefined reduction (MPI-5.0 §6.9.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operand {
    /// An element of this named datatype.
    Named(u32),
    /// A value and an index of these named datatypes, laid out as a C struct.
    ValueIndex(u32, u32),
    /// Predefined reductions are not defined on it.
    None,
}

impl Datatype {
    /// `committed` from the start only for what the standard calls predefined.
    fn new(layout: Layout, origin: Origin, operand: Operand) -> Result<Arc<Datatype>> {
        let bounds = &layout.bounds;
        let extent = layout.extent()?;
        let contiguous = match *layout.plan {
            Plan::Run { disp, len } => disp == 0 && i128::from(len) == i128::from(extent),
            _ => false,
        };
        let (committed, component) = match &origin {
            Origin::Named(_) => (true, None),
            Origin::Made(contents) => {
                (contents.combiner.is_predefined(), component::component_of(contents))
            }
        };
        Ok(Arc::new(Datatype {
            size: layout.size(),
            lb: bounds.lb(),
            extent,
            true_lb: bounds.true_lb(),
            true_extent: bounds.true_extent().ok_or_else(layout::too_large)?,
            contiguous,
            layout,
            origin,
            operand,
            component,
            committed: AtomicBool::new(committed),
        }))
    }

    /// Bytes of data in one element (`MPI_Type_size`).
    #[inline]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Lower bound.
    #[inline]
    pub fn lb(&self) -> i64 {
        self.lb
    }

    /// Distance between the elements of an array of this type.
    #[inline]
    pub fn extent(&self) -> i64 {
        self.extent
    }

    /// Upper bound.
    #[inline]
    pub fn ub(&self) -> i64 {
        self.lb.wrapping_add(self.extent)
    }

    /// Displacement of the lowest byte of data.
    #[inline]
    pub fn true_lb(&self) -> i64 {
        self.true_lb
    }

    /// From the lowest byte of data to behind the highest.
    #[inline]
    pub fn true_extent(&self) -> i64 {
        self.true_extent
    }

    /// The strictest alignment of the basic elements.
    pub fn alignment(&self) -> i64 {
        self.layout.bounds.align()
    }

    /// Number of basic elements; a pair counts for two.
    pub fn elements(&self) -> u64 {
        self.signature().elements()
    }

    /// The sequence of basic types.
    pub fn signature(&self) -> &Signature {
        &self.layout.signature
    }

    /// Whether any number of elements is one run of bytes that starts at the buffer's address,
    /// in the order of the type map.
    #[inline]
    pub fn is_contiguous(&self) -> bool {
        self.contiguous
    }

    /// The number of bytes of `count` elements if they are one run that starts at the buffer's
    /// address: the data of a message is then a plain copy.
    #[inline]
    pub fn contiguous_bytes(&self, count: i64) -> Option<u64> {
        let count = u64::try_from(count).ok()?;
        if self.is_contiguous() { self.size.checked_mul(count) } else { None }
    }

    /// Displacement and bytes of the only run, if one element is one run.
    fn single_run(&self) -> Option<(i64, u64)> {
        match *self.layout.plan {
            Plan::Run { disp, len } => Some((disp, len)),
            _ => None,
        }
    }

    /// Where the bytes of `count` elements lie, relative to the buffer, if they are one run.
    pub fn only_run(&self, count: i64) -> Option<(i64, u64)> {
        let count = u64::try_from(count).ok()?;
        let (disp, len) = self.single_run()?;
        match count {
            0 => Some((0, 0)),
            1 => Some((disp, len)),
            _ if i128::from(len) == i128::from(self.extent) => {
                Some((disp, len.checked_mul(count)?))
            }
            _ if len == 0 => Some((0, 0)),
            _ => None,
        }
    }

    /// The lowest and one past the highest byte that `count` elements touch, relative to the
    /// buffer; `None` when they touch none or the answer is beyond 64 bits.
    pub fn span(&self, count: i64) -> Option<(i64, i64)> {
        if count <= 0 || self.size == 0 {
            return None;
        }
        let last = self.extent.checked_mul(count - 1)?;
        let low = self.true_lb.checked_add(last.min(0))?;
        let high = self.true_lb.checked_add(self.true_extent)?.checked_add(last.max(0))?;
        Some((low, high))
    }

    /// The number in the core of a named datatype; `None` for a derived one.
    #[inline]
    pub fn predefined_code(&self) -> Option<u32> {
        match &self.origin {
            Origin::Named(row) => Some(row.code),
            Origin::Made(_) => None,
        }
    }

    /// Whether the standard calls it predefined, named or not: it must not be freed.
    pub fn is_predefined(&self) -> bool {
        match &self.origin {
            Origin::Named(_) => true,
            Origin::Made(contents) => contents.combiner.is_predefined(),
        }
    }

    /// The name of a named datatype.
    pub fn predefined_name(&self) -> Option<&'static str> {
        match &self.origin {
            Origin::Named(row) => Some(row.name),
            Origin::Made(_) => None,
        }
    }

    /// What one element is to a predefined reduction.
    pub fn operand(&self) -> Operand {
        self.operand
    }

    /// Whether elements of both are the same to a reduction, whatever their names: `MPI_LONG` is
    /// on one platform what `MPI_INT64_T` is.
    pub fn is_reduced_like(&self, other: &Datatype) -> bool {
        let basic = |code| basic::row_of(code).map(|row| row.basic);
        match (self.operand, other.operand) {
            (Operand::Named(one), Operand::Named(other)) => basic(one) == basic(other),
            (one, other) => one == other,
        }
    }

    /// `MPI_Type_commit`. Plans are built with the type, so this only marks it.
    pub fn commit(&self) {
        self.committed.store(true, Ordering::Relaxed);
    }

    /// Whether it may be used in communication.
    #[inline]
    pub fn is_committed(&self) -> bool {
        self.committed.load(Ordering::Relaxed)
    }
}
