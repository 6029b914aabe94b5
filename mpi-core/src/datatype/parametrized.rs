//! Datatypes chosen by what they can hold: the parametrized Fortran types and
//! `MPI_Type_match_size` (MPI-5.0 §19.1.9), and value-index pairs (§6.9.4).

use std::sync::Arc;

use super::basic::{self, Basic, Group, Row};
use super::contents::{Combiner, Contents, Form};
use super::layout::Layout;
use super::{Datatype, Operand, Origin, named, predefined};
use crate::constants::UNDEFINED;
use crate::error::Result;
use crate::fail;

/// A Fortran kind: decimal digits, decimal exponent range, and the numbers of the real and the
/// complex datatype. The third is the x87 format, `REAL(10)` of the compilers for x86.
const REALS: &[(i64, i64, u32, u32)] = &[
    (6, 37, 0x21a, 0x21b),
    (15, 307, 0x21c, 0x21d),
    #[cfg(target_arch = "x86_64")]
    (18, 4931, 0x220, 0x224),
    (33, 4931, 0x2e2, 0x2eb),
];

/// Decimal digits of a Fortran integer kind and the number of its datatype.
const INTEGERS: &[(i64, u32)] = &[(2, 0x2c1), (4, 0x2c9), (9, 0x2d1), (18, 0x2d9), (38, 0x2e1)];

/// `MPI_TYPECLASS_INTEGER` of the standard ABI.
const CLASS_INTEGER: i64 = 192;
/// `MPI_TYPECLASS_REAL` of the standard ABI.
const CLASS_REAL: i64 = 193;
/// `MPI_TYPECLASS_COMPLEX` of the standard ABI.
const CLASS_COMPLEX: i64 = 194;

/// The smallest real kind with precision `p` and range `r`, of which one may be undefined.
fn real_kind(p: i64, r: i64) -> Result<(u32, u32)> {
    let undefined = i64::from(UNDEFINED);
    if p == undefined && r == undefined {
        fail!(ARG, "p", "and r are both MPI_UNDEFINED, but one of them must be given");
    }
    let holds = |has: i64, wanted: i64| wanted == undefined || (0..=has).contains(&wanted);
    match REALS.iter().find(|(digits, range, ..)| holds(*digits, p) && holds(*range, r)) {
        Some(&(_, _, real, complex)) => Ok((real, complex)),
        None => fail!(ARG, "p", "is {p} with r = {r}, which no real kind of Fortran has"),
    }
}

/// A datatype that equals a named one but remembers its parameters.
fn parametrized(combiner: Combiner, args: Vec<i64>, code: u32) -> Result<Arc<Datatype>> {
    let Some(same) = predefined(code) else {
        fail!(INTERN, "datatype {code:#x} is not in the table of datatypes");
    };
    let contents = Contents::new(combiner, Form::Int, args, vec![], vec![]);
    Datatype::new(same.layout.clone(), Origin::Made(contents), Operand::Named(code))
}

impl Datatype {
    /// `MPI_Type_create_f90_real`. The caller returns the same object for the same arguments.
    ///
    /// # Errors
    /// No kind has that precision and range.
    pub fn f90_real(p: i64, r: i64) -> Result<Arc<Datatype>> {
        parametrized(Combiner::F90Real, vec![p, r], real_kind(p, r)?.0)
    }

    /// `MPI_Type_create_f90_complex`.
    ///
    /// # Errors
    /// No kind has that precision and range.
    pub fn f90_complex(p: i64, r: i64) -> Result<Arc<Datatype>> {
        parametrized(Combiner::F90Complex, vec![p, r], real_kind(p, r)?.1)
    }

    /// `MPI_Type_create_f90_integer`.
    ///
    /// # Errors
    /// No kind has that range.
    pub fn f90_integer(r: i64) -> Result<Arc<Datatype>> {
        match INTEGERS.iter().find(|(range, _)| (0..=*range).contains(&r)) {
            Some(&(_, code)) => parametrized(Combiner::F90Integer, vec![r], code),
            None => fail!(ARG, "r", "is {r}, which no integer kind of Fortran has"),
        }
    }

    /// `MPI_Type_match_size`, with the standard ABI's number of the class.
    ///
    /// # Errors
    /// An unknown class, or no datatype of that size in it.
    pub fn match_size(typeclass: i64, size: i64) -> Result<&'static Arc<Datatype>> {
        let code = match (typeclass, size) {
            (CLASS_INTEGER, 1) => 0x2c1,
            (CLASS_INTEGER, 2) => 0x2c9,
            (CLASS_INTEGER, 4) => 0x2d1,
            (CLASS_INTEGER, 8) => 0x2d9,
            (CLASS_INTEGER, 16) => 0x2e1,
            (CLASS_REAL, 2) => 0x2ca,
            (CLASS_REAL, 4) => 0x2d2,
            (CLASS_REAL, 8) => 0x2da,
            (CLASS_REAL, 16) => 0x2e2,
            (CLASS_COMPLEX, 4) => 0x2d3,
            (CLASS_COMPLEX, 8) => 0x2db,
            (CLASS_COMPLEX, 16) => 0x2e3,
            (CLASS_COMPLEX, 32) => 0x2eb,
            (CLASS_INTEGER | CLASS_REAL | CLASS_COMPLEX, _) => {
                fail!(ARG, "size", "is {size}, and the class has no datatype of that size")
            }
            _ => fail!(ARG, "typeclass", "is {typeclass}, which is no class of datatypes"),
        };
        match predefined(code) {
            Some(datatype) => Ok(datatype),
            None => fail!(INTERN, "datatype {code:#x} is not in the table of datatypes"),
        }
    }

    /// `MPI_Type_get_value_index`: the pair of these datatypes, a named one where there is one;
    /// `None` where `MPI_MINLOC` and `MPI_MAXLOC` do not support the pair. As for the other
    /// parametrized datatypes, the caller returns the same object for the same arguments.
    ///
    /// # Errors
    /// Only those of making a datatype.
    pub fn value_index(
        value: &Arc<Datatype>,
        index: &Arc<Datatype>,
    ) -> Result<Option<Arc<Datatype>>> {
        let row = |datatype: &Datatype| datatype.predefined_code().and_then(basic::row_of);
        let (Some(v), Some(i)) = (row(value), row(index)) else { return Ok(None) };
        if !is_value(v) {
            return Ok(None);
        }
        if let Some(pair) = basic::TABLE.iter().find(|row| row.pair == Some((v.code, i.code))) {
            return Ok(predefined(pair.code).cloned());
        }
        if !is_index(i) {
            return Ok(None);
        }
        let layout = Layout::pair(&named::layout(v), &named::layout(i))?;
        let types = vec![Arc::clone(value), Arc::clone(index)];
        let contents = Contents::new(Combiner::ValueIndex, Form::Int, vec![], vec![], types);
        let operand = Operand::ValueIndex(v.code, i.code);
        Datatype::new(layout, Origin::Made(contents), operand).map(Some)
    }
}

fn is_value(row: &Row) -> bool {
    use Group::{CInteger, Float, FortranInteger, MultiLanguage};
    matches!(row.group, CInteger | FortranInteger | Float | MultiLanguage)
        && row.basic != Basic::F128
}

/// Indices of 4 and 8 bytes, which programs use.
fn is_index(row: &Row) -> bool {
    is_value(row) && matches!(row.basic, Basic::I32 | Basic::I64 | Basic::U32 | Basic::U64)
}
