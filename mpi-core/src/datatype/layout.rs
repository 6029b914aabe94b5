//! What a datatype is apart from its history: bounds, plan and signature, combined alike.
//!
//! Everything a constructor of MPI-5.0 §5.1.2 does is one of: repeat, move, put side by side,
//! set new bounds. Every sum and product is checked against 63 bits.

use std::sync::Arc;

use super::basic::{Basic, Row};
use super::bounds::Bounds;
use super::plan::Plan;
use super::signature::Signature;
use crate::error::{Error, ErrorClass, Result};

/// The geometry of a datatype.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub(super) bounds: Bounds,
    pub(super) plan: Arc<Plan>,
    pub(super) signature: Arc<Signature>,
}

/// Several blocks of a datatype, the first of them at `disp` bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    pub(super) count: u64,
    pub(super) disp: i64,
}

/// The error of a type map that does not fit 64-bit arithmetic.
#[cold]
pub(super) fn too_large() -> Error {
    Error::new(
        ErrorClass::COUNT,
        "the datatype would reach over more bytes than 64-bit displacements can name",
    )
}

impl Layout {
    /// The type map without entries.
    pub(super) fn empty() -> Layout {
        let (plan, signature) = (Arc::new(Plan::EMPTY), Signature::empty());
        Layout { bounds: Bounds::EMPTY, plan, signature }
    }

    /// One element of a basic type that is not a pair.
    pub(super) fn basic(row: &'static Row) -> Layout {
        let bounds = match row.basic {
            Basic::Marker => Bounds::marker(row.code == super::basic::UB),
            _ => Bounds::basic(row.size.into(), row.align.into()),
        };
        let plan = Arc::new(Plan::Run { disp: 0, len: row.size.into() });
        Layout { bounds, plan, signature: Signature::of_row(row) }
    }

    /// The C struct of a value and an index.
    pub(super) fn pair(value: &Layout, index: &Layout) -> Result<Layout> {
        let align = index.bounds.align();
        let end = value.signature.size() as i64;
        let disp = end + (-end).rem_euclid(align);
        Layout::join([(Block { count: 1, disp: 0 }, value), (Block { count: 1, disp }, index)])
    }

    /// Bytes of data. Checked whenever a layout is made, so it fits.
    pub(super) fn size(&self) -> u64 {
        self.signature.size()
    }

    /// Distance between consecutive elements.
    pub(super) fn extent(&self) -> Result<i64> {
        self.bounds.extent().ok_or_else(too_large)
    }

    /// `count` copies, `stride` bytes apart.
    pub(super) fn repeated(&self, count: u64, stride: i64) -> Result<Layout> {
        let times = i64::try_from(count).map_err(|_| too_large())?;
        Ok(Layout {
            bounds: self.bounds.repeated(times, stride).ok_or_else(too_large)?,
            signature: self.signature.repeated(count).ok_or_else(too_large)?,
            plan: self.plan.repeated(count, stride),
        })
    }

    /// All of it moved by `by` bytes.
    pub(super) fn shifted(&self, by: i64) -> Result<Layout> {
        Ok(Layout {
            bounds: self.bounds.shifted(by).ok_or_else(too_large)?,
            plan: self.plan.shifted(by),
            signature: Arc::clone(&self.signature),
        })
    }

    /// The same type map with new bounds.
    pub(super) fn resized(&self, lb: i64, extent: i64) -> Result<Layout> {
        let bounds = self.bounds.resized(lb, extent).ok_or_else(too_large)?;
        Ok(Layout { bounds, ..self.clone() })
    }

    /// Blocks of different types side by side, in this order.
    pub(super) fn join<'a>(parts: impl IntoIterator<Item = (Block, &'a Layout)>) -> Result<Layout> {
        let mut bounds = Bounds::EMPTY;
        let (mut plans, mut signatures) = (Vec::new(), Vec::new());
        let mut size = 0u64;
        for (Block { count, disp }, layout) in parts.into_iter().filter(|(b, _)| b.count > 0) {
            let part = layout.repeated(count, layout.extent()?)?.shifted(disp)?;
            bounds = bounds.joined(&part.bounds);
            size = size.checked_add(part.size()).ok_or_else(too_large)?;
            plans.push(part.plan);
            signatures.push(part.signature);
        }
        if i64::try_from(size).is_err() {
            return Err(too_large());
        }
        bounds.extent().ok_or_else(too_large)?;
        Ok(Layout { bounds, plan: Plan::concat(plans), signature: Signature::concat(signatures) })
    }

    /// Blocks of one type side by side; cheaper than [`Layout::join`] for long lists.
    pub(super) fn scattered(&self, blocks: impl Iterator<Item = Block> + Clone) -> Result<Layout> {
        let extent = self.extent()?;
        let mut bounds = Bounds::EMPTY;
        let mut total = 0u64;
        for Block { count, disp } in blocks.clone().filter(|block| block.count > 0) {
            let times = i64::try_from(count).map_err(|_| too_large())?;
            let span = self.bounds.repeated(times, extent).and_then(|span| span.shifted(disp));
            bounds = bounds.joined(&span.ok_or_else(too_large)?);
            total = total.checked_add(count).ok_or_else(too_large)?;
        }
        bounds.extent().ok_or_else(too_large)?;
        let signature = self.signature.repeated(total).ok_or_else(too_large)?;
        let blocks = blocks.filter(|block| block.count > 0);
        let plan = match *self.plan {
            Plan::Run { disp: first, len } if i128::from(len) == i128::from(extent) => Arc::new(
                Plan::from_runs(blocks.map(|b| (b.disp.wrapping_add(first), b.count * len))),
            ),
            _ => Plan::concat(
                blocks.map(|b| self.plan.repeated(b.count, extent).shifted(b.disp)).collect(),
            ),
        };
        Ok(Layout { bounds, plan, signature })
    }
}
