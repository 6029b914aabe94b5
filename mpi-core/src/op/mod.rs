//! Reduction operations (MPI-5.0 §6.9): which there are, what they are defined on, and the loops
//! that carry them out.
//!
//! A predefined operation and a datatype give a [`Kernel`], chosen once for a whole collective.
//! A user's function is known here by a number alone: the C interface, which knows the handles
//! and the calling convention of the program, calls it.

mod arithmetic;
mod booleans;
mod element;
mod kernels;
#[cfg(test)]
mod tests;
#[cfg(target_arch = "x86_64")]
mod wide;

pub use booleans::{booleans, set_booleans};
pub use kernels::{Kernel, reduce};

use crate::datatype::basic::{Basic, Group, Row, row_of};
use crate::datatype::{Datatype, Operand};
use crate::error::Result;
use crate::fail;

/// A predefined operation; the number is the standard ABI's.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u32)]
#[allow(missing_docs)]
pub enum Builtin {
    Sum = 0x21,
    Min = 0x22,
    Max = 0x23,
    Prod = 0x24,
    Band = 0x28,
    Bor = 0x29,
    Bxor = 0x2a,
    Land = 0x30,
    Lor = 0x31,
    Lxor = 0x32,
    Minloc = 0x38,
    Maxloc = 0x39,
    Replace = 0x3c,
    NoOp = 0x3d,
}

impl Builtin {
    /// Every predefined operation with its name.
    pub const ALL: &'static [(Builtin, &'static str)] = &[
        (Builtin::Sum, "MPI_SUM"),
        (Builtin::Min, "MPI_MIN"),
        (Builtin::Max, "MPI_MAX"),
        (Builtin::Prod, "MPI_PROD"),
        (Builtin::Band, "MPI_BAND"),
        (Builtin::Bor, "MPI_BOR"),
        (Builtin::Bxor, "MPI_BXOR"),
        (Builtin::Land, "MPI_LAND"),
        (Builtin::Lor, "MPI_LOR"),
        (Builtin::Lxor, "MPI_LXOR"),
        (Builtin::Minloc, "MPI_MINLOC"),
        (Builtin::Maxloc, "MPI_MAXLOC"),
        (Builtin::Replace, "MPI_REPLACE"),
        (Builtin::NoOp, "MPI_NO_OP"),
    ];

    /// The operation with this number.
    pub fn from_code(code: u32) -> Option<Builtin> {
        Builtin::ALL.iter().map(|(op, _)| *op).find(|op| *op as u32 == code)
    }

    /// The constant's name in the standard.
    pub fn name(self) -> &'static str {
        Builtin::ALL.iter().find(|(op, _)| *op == self).map_or("MPI_OP_NULL", |(_, name)| name)
    }

    /// Whether the operands may change places; all predefined operations may but the two that
    /// only an accumulate knows.
    pub fn is_commutative(self) -> bool {
        !self.is_for_accumulate()
    }

    /// `MPI_REPLACE` and `MPI_NO_OP` are good for `MPI_Accumulate` and its like alone (§12.3.4).
    pub fn is_for_accumulate(self) -> bool {
        matches!(self, Builtin::Replace | Builtin::NoOp)
    }
}

/// An operation, predefined or of the user.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    /// A predefined one.
    Builtin(Builtin),
    /// Made by `MPI_Op_create`.
    User(UserOp),
}

/// A function of the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UserOp {
    /// The function.
    pub function: crate::callout::UserFunction,
    /// Whether the program said that it commutes.
    pub commutative: bool,
}

impl Op {
    /// The predefined operation with this number.
    pub fn predefined(code: u32) -> Option<Op> {
        Builtin::from_code(code).map(Op::Builtin)
    }

    /// `MPI_Op_commutative`.
    pub fn is_commutative(&self) -> bool {
        match self {
            Op::Builtin(builtin) => builtin.is_commutative(),
            Op::User(user) => user.commutative,
        }
    }
}

/// Whether the table of §6.9.2 defines `op` on elements of a named datatype. Beyond the table,
/// `MPI_CHAR` counts as a C integer, as programs written for other libraries expect.
pub fn is_valid(op: Builtin, row: &Row) -> bool {
    use Group::{Byte, CInteger, Complex, Float, FortranInteger, Logical, MultiLanguage, Pair};
    let group = match row.group {
        Group::None if row.code == crate::datatype::basic::CHAR => CInteger,
        group => group,
    };
    match op {
        Builtin::Max | Builtin::Min => {
            matches!(group, CInteger | FortranInteger | Float | MultiLanguage)
        }
        Builtin::Sum | Builtin::Prod => {
            matches!(group, CInteger | FortranInteger | Float | Complex | MultiLanguage)
        }
        // The standard leaves out the multi-language types, which are C integers by other names;
        // programs use them and every library lets them.
        Builtin::Land | Builtin::Lor | Builtin::Lxor => {
            matches!(group, CInteger | Logical | MultiLanguage)
        }
        Builtin::Band | Builtin::Bor | Builtin::Bxor => {
            matches!(group, CInteger | FortranInteger | Byte | MultiLanguage)
        }
        Builtin::Minloc | Builtin::Maxloc => {
            let ordered = |code| row_of(code).is_some_and(|row| row.group != Complex);
            group == Pair && row.pair.is_some_and(|(value, _)| ordered(value))
        }
        Builtin::Replace | Builtin::NoOp => row.basic != Basic::Marker,
    }
}

/// What an accumulate does to the elements of its target.
#[derive(Clone, Copy, Debug)]
pub enum Update {
    /// They stay as they are: `MPI_NO_OP`.
    Nothing,
    /// They become those of the origin: `MPI_REPLACE`.
    Replace,
    /// They are reduced with those of the origin.
    Reduce(Kernel),
}

impl Builtin {
    /// The loop that reduces elements of `datatype`.
    ///
    /// # Errors
    /// The operation is not defined on that datatype, or good for accumulates alone.
    pub fn kernel(self, datatype: &Datatype) -> Result<Kernel> {
        let found = match datatype.operand() {
            Operand::Named(code) => match row_of(code) {
                Some(row) if is_valid(self, row) => kernels::of_row(self, row),
                _ => None,
            },
            Operand::ValueIndex(value, index) => {
                let rows = row_of(value).zip(row_of(index));
                rows.and_then(|(value, index)| kernels::of_pair(self, value, index))
            }
            Operand::None => None,
        };
        match found {
            Some(kernel) => Ok(kernel),
            None if self.is_for_accumulate() => {
                fail!(OP, "op", "is {}, which is for accumulates alone", self.name())
            }
            None => {
                fail!(OP, "op", "is {}, which is not defined on {}", self.name(), who(datatype))
            }
        }
    }

    /// How an accumulate updates elements of `datatype` (§12.3.4).
    ///
    /// # Errors
    /// The operation is not defined on that datatype.
    pub fn update(self, datatype: &Datatype) -> Result<Update> {
        let is_operand = datatype.operand() != Operand::None;
        match self {
            Builtin::NoOp if is_operand => Ok(Update::Nothing),
            Builtin::Replace if is_operand => Ok(Update::Replace),
            _ => self.kernel(datatype).map(Update::Reduce),
        }
    }
}

/// What messages call a datatype.
fn who(datatype: &Datatype) -> &'static str {
    datatype.predefined_name().unwrap_or("a derived datatype")
}
