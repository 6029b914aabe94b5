//! The basic datatypes: what their elements are in memory and which reductions they allow.
//!
//! One table, [`TABLE`], has every named datatype of C, C++ and Fortran (MPI-5.0 §3.2.2, §6.9.4,
//! §19.3): number, name, size, alignment, representation and the group of §6.9.2. Numbers below
//! 0x300 are those of the standard ABI; 0x300 and up, which that ABI leaves free, are our own for
//! what only other ABIs have, and 0x3e0 and up for the two markers of MPI-1.

use Basic as B;
use Group as G;

/// How one element of a basic datatype lies in memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Basic {
    I8,
    I16,
    I32,
    I64,
    I128,
    U8,
    U16,
    U32,
    U64,
    /// IEEE binary16.
    F16,
    /// The upper half of an `F32`.
    Bf16,
    F32,
    F64,
    /// C's `long double`: the x87 format in 16 bytes on x86-64.
    LongDouble,
    /// IEEE binary128.
    F128,
    ComplexF16,
    ComplexF32,
    ComplexF64,
    ComplexLongDouble,
    ComplexF128,
    /// Truth values of 1, 2, 4, 8 and 16 bytes: zero is false.
    Bool8,
    Bool16,
    Bool32,
    Bool64,
    Bool128,
    /// A character of one byte.
    Char,
    /// `wchar_t`.
    Wchar,
    /// Uninterpreted bytes, also those of `MPI_PACKED`.
    Byte,
    /// A value and an index one after the other, laid out as a C struct.
    Pair,
    /// `MPI_LB` and `MPI_UB`: a place without data.
    Marker,
}

/// The groups of datatypes in the table of reductions (MPI-5.0 §6.9.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Group {
    /// "C integer".
    CInteger,
    /// "Fortran integer".
    FortranInteger,
    /// "Floating point".
    Float,
    /// "Logical".
    Logical,
    /// "Complex".
    Complex,
    /// "Byte".
    Byte,
    /// "Multi-language types".
    MultiLanguage,
    /// Operands of `MPI_MINLOC` and `MPI_MAXLOC` (§6.9.4).
    Pair,
    /// Allowed in no reduction.
    None,
}

/// One row of the table.
#[derive(Debug)]
pub struct Row {
    /// The datatype's number in the core.
    pub code: u32,
    /// Its name, as `MPI_Type_get_name` tells it.
    pub name: &'static str,
    /// Bytes of data in one element.
    pub size: u8,
    /// Alignment in a C struct.
    pub align: u8,
    /// Bytes of one element in the external32 representation (§14.5.2).
    pub external: u8,
    /// Representation in memory.
    pub basic: Basic,
    /// Group of §6.9.2.
    pub group: Group,
    /// For a pair: the datatypes of value and index.
    pub pair: Option<(u32, u32)>,
}

impl Row {
    /// Whether it is C's or C++'s bool, which is one and zero, and no LOGICAL of Fortran's.
    pub(crate) fn is_c_bool(&self) -> bool {
        matches!(self.code, C_BOOL | CXX_BOOL)
    }
}

const fn row(
    code: u32,
    name: &'static str,
    size: u8,
    align: u8,
    external: u8,
    basic: Basic,
    group: Group,
) -> Row {
    Row { code, name, size, align, external, basic, group, pair: None }
}

/// A datatype whose alignment and external size are its size.
const fn plain(code: u32, name: &'static str, size: u8, basic: Basic, group: Group) -> Row {
    row(code, name, size, size, size, basic, group)
}

/// A complex datatype of two parts of `part` bytes each.
const fn complex(code: u32, name: &'static str, part: u8, basic: Basic) -> Row {
    row(code, name, 2 * part, part, 2 * part, basic, G::Complex)
}

/// A pair; size and alignment follow from its two datatypes.
const fn pair(code: u32, name: &'static str, value: u32, index: u32) -> Row {
    let mut row = row(code, name, 0, 0, 0, B::Pair, G::Pair);
    row.pair = Some((value, index));
    row
}

/// Where the codes begin.
const FIRST_CODE: u32 = 0x200;

/// `MPI_BYTE`.
pub const BYTE: u32 = 0x247;
/// `MPI_PACKED`.
pub const PACKED: u32 = 0x207;
/// `MPI_INT`.
pub const INT: u32 = 0x209;
/// `MPI_CHAR`.
pub const CHAR: u32 = 0x243;
const C_BOOL: u32 = 0x238;
const CXX_BOOL: u32 = 0x239;
/// `MPI_DOUBLE`.
pub const DOUBLE: u32 = 0x214;
/// `MPI_LB`, the marker of a lower bound in MPI-1.
pub const LB: u32 = 0x3e0;
/// `MPI_UB`, the marker of an upper bound in MPI-1.
pub const UB: u32 = 0x3e1;

/// Every named datatype.
pub const TABLE: &[Row] = &[
    plain(0x201, "MPI_AINT", 8, B::I64, G::MultiLanguage),
    plain(0x202, "MPI_COUNT", 8, B::I64, G::MultiLanguage),
    plain(0x203, "MPI_OFFSET", 8, B::I64, G::MultiLanguage),
    plain(PACKED, "MPI_PACKED", 1, B::Byte, G::None),
    plain(0x208, "MPI_SHORT", 2, B::I16, G::CInteger),
    plain(INT, "MPI_INT", 4, B::I32, G::CInteger),
    row(0x20a, "MPI_LONG", 8, 8, 4, B::I64, G::CInteger),
    plain(0x20b, "MPI_LONG_LONG_INT", 8, B::I64, G::CInteger),
    plain(0x20c, "MPI_UNSIGNED_SHORT", 2, B::U16, G::CInteger),
    plain(0x20d, "MPI_UNSIGNED", 4, B::U32, G::CInteger),
    row(0x20e, "MPI_UNSIGNED_LONG", 8, 8, 4, B::U64, G::CInteger),
    plain(0x20f, "MPI_UNSIGNED_LONG_LONG", 8, B::U64, G::CInteger),
    plain(0x210, "MPI_FLOAT", 4, B::F32, G::Float),
    complex(0x212, "MPI_C_COMPLEX", 4, B::ComplexF32),
    complex(0x213, "MPI_CXX_FLOAT_COMPLEX", 4, B::ComplexF32),
    plain(DOUBLE, "MPI_DOUBLE", 8, B::F64, G::Float),
    complex(0x216, "MPI_C_DOUBLE_COMPLEX", 8, B::ComplexF64),
    complex(0x217, "MPI_CXX_DOUBLE_COMPLEX", 8, B::ComplexF64),
    plain(0x218, "MPI_LOGICAL", 4, B::Bool32, G::Logical),
    plain(0x219, "MPI_INTEGER", 4, B::I32, G::FortranInteger),
    plain(0x21a, "MPI_REAL", 4, B::F32, G::Float),
    complex(0x21b, "MPI_COMPLEX", 4, B::ComplexF32),
    plain(0x21c, "MPI_DOUBLE_PRECISION", 8, B::F64, G::Float),
    complex(0x21d, "MPI_DOUBLE_COMPLEX", 8, B::ComplexF64),
    plain(0x21e, "MPI_CHARACTER", 1, B::Char, G::None),
    plain(0x220, "MPI_LONG_DOUBLE", 16, B::LongDouble, G::Float),
    complex(0x224, "MPI_C_LONG_DOUBLE_COMPLEX", 16, B::ComplexLongDouble),
    complex(0x225, "MPI_CXX_LONG_DOUBLE_COMPLEX", 16, B::ComplexLongDouble),
    pair(0x228, "MPI_FLOAT_INT", 0x210, INT),
    pair(0x229, "MPI_DOUBLE_INT", DOUBLE, INT),
    pair(0x22a, "MPI_LONG_INT", 0x20a, INT),
    pair(0x22b, "MPI_2INT", INT, INT),
    pair(0x22c, "MPI_SHORT_INT", 0x208, INT),
    pair(0x22d, "MPI_LONG_DOUBLE_INT", 0x220, INT),
    pair(0x230, "MPI_2REAL", 0x21a, 0x21a),
    pair(0x231, "MPI_2DOUBLE_PRECISION", 0x21c, 0x21c),
    pair(0x232, "MPI_2INTEGER", 0x219, 0x219),
    plain(C_BOOL, "MPI_C_BOOL", 1, B::Bool8, G::Logical),
    plain(CXX_BOOL, "MPI_CXX_BOOL", 1, B::Bool8, G::Logical),
    row(0x23c, "MPI_WCHAR", 4, 4, 2, B::Wchar, G::None),
    plain(0x240, "MPI_INT8_T", 1, B::I8, G::CInteger),
    plain(0x241, "MPI_UINT8_T", 1, B::U8, G::CInteger),
    plain(CHAR, "MPI_CHAR", 1, B::Char, G::None),
    plain(0x244, "MPI_SIGNED_CHAR", 1, B::I8, G::CInteger),
    plain(0x245, "MPI_UNSIGNED_CHAR", 1, B::U8, G::CInteger),
    plain(BYTE, "MPI_BYTE", 1, B::Byte, G::Byte),
    plain(0x248, "MPI_INT16_T", 2, B::I16, G::CInteger),
    plain(0x249, "MPI_UINT16_T", 2, B::U16, G::CInteger),
    plain(0x250, "MPI_INT32_T", 4, B::I32, G::CInteger),
    plain(0x251, "MPI_UINT32_T", 4, B::U32, G::CInteger),
    plain(0x258, "MPI_INT64_T", 8, B::I64, G::CInteger),
    plain(0x259, "MPI_UINT64_T", 8, B::U64, G::CInteger),
    plain(0x2c0, "MPI_LOGICAL1", 1, B::Bool8, G::Logical),
    plain(0x2c1, "MPI_INTEGER1", 1, B::I8, G::FortranInteger),
    plain(0x2c8, "MPI_LOGICAL2", 2, B::Bool16, G::Logical),
    plain(0x2c9, "MPI_INTEGER2", 2, B::I16, G::FortranInteger),
    plain(0x2ca, "MPI_REAL2", 2, B::F16, G::Float),
    plain(0x2d0, "MPI_LOGICAL4", 4, B::Bool32, G::Logical),
    plain(0x2d1, "MPI_INTEGER4", 4, B::I32, G::FortranInteger),
    plain(0x2d2, "MPI_REAL4", 4, B::F32, G::Float),
    complex(0x2d3, "MPI_COMPLEX4", 2, B::ComplexF16),
    plain(0x2d8, "MPI_LOGICAL8", 8, B::Bool64, G::Logical),
    plain(0x2d9, "MPI_INTEGER8", 8, B::I64, G::FortranInteger),
    plain(0x2da, "MPI_REAL8", 8, B::F64, G::Float),
    complex(0x2db, "MPI_COMPLEX8", 4, B::ComplexF32),
    plain(0x2e0, "MPI_LOGICAL16", 16, B::Bool128, G::Logical),
    plain(0x2e1, "MPI_INTEGER16", 16, B::I128, G::FortranInteger),
    plain(0x2e2, "MPI_REAL16", 16, B::F128, G::Float),
    complex(0x2e3, "MPI_COMPLEX16", 8, B::ComplexF64),
    complex(0x2eb, "MPI_COMPLEX32", 16, B::ComplexF128),
    // Of other ABIs: floats of 16 bits of both, bfloats MPICH's, the others Open MPI's.
    pair(0x300, "MPI_2COMPLEX", 0x21b, 0x21b),
    pair(0x301, "MPI_2DOUBLE_COMPLEX", 0x21d, 0x21d),
    plain(0x302, "MPIX_C_FLOAT16", 2, B::F16, G::Float),
    plain(0x303, "MPIX_BFLOAT16", 2, B::Bf16, G::Float),
    complex(0x304, "MPI_LONG_DOUBLE_COMPLEX", 16, B::ComplexLongDouble),
    complex(0x305, "MPIX_C_SHORT_FLOAT_COMPLEX", 2, B::ComplexF16),
    complex(0x306, "MPIX_CXX_SHORT_FLOAT_COMPLEX", 2, B::ComplexF16),
    row(LB, "MPI_LB", 0, 1, 0, B::Marker, G::None),
    row(UB, "MPI_UB", 0, 1, 0, B::Marker, G::None),
];

/// The row with this number.
#[inline]
pub fn row_of(code: u32) -> Option<&'static Row> {
    let place = usize::from(*PLACES.get(code.wrapping_sub(FIRST_CODE) as usize)?);
    TABLE.get(place)
}

/// The place of each code in the table, for every reduction looks there; beyond its end for those that are
/// none.
static PLACES: [u8; 0x200] = places();

const fn places() -> [u8; 0x200] {
    let mut places = [u8::MAX; 0x200];
    let mut place = 0;
    while place < TABLE.len() {
        places[(TABLE[place].code - FIRST_CODE) as usize] = place as u8;
        place += 1;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_in_order_and_pairs_name_rows() {
        assert!(TABLE.is_sorted_by(|a, b| a.code < b.code));
        assert!(
            [0, 0x1ff, 0x200, 0x2ff, 0x400, u32::MAX].iter().all(|&code| row_of(code).is_none())
        );
        for row in TABLE {
            assert!((0x201..0x400).contains(&row.code), "{}", row.name);
            assert!(row_of(row.code).is_some_and(|found| std::ptr::eq(found, row)));
            if let Some((value, index)) = row.pair {
                assert!(row_of(value).is_some() && row_of(index).is_some(), "{}", row.name);
            }
        }
    }
}
