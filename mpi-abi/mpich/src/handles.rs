//! MPICH's handles and the core's.
//!
//! A predefined handle is a code whose top two bits are 01 (built in), 00 (null) or, for the pair
//! types with padding, 10; bits 26 to 29 are the kind and, for a datatype, bits 8 to 15 its size.
//! A handle of ours has the top bits 11 ("indirect" in MPICH) and the core's 30 bits: with 10 the
//! first datatypes would look like MPI_FLOAT_INT and its neighbours, 0x8c000000 upwards.

use mpi_abi::face::foreign;
use mpi_abi::mpi_core::handle::{DatatypeKind, FOREIGN_HANDLE, Handle, Kind, PREDEFINED_END};

use crate::tables::HANDLES;

/// The top bits of handles that the library made.
const OURS: u32 = 0b11 << 30;
const NO_CODE: u32 = u32::MAX;
/// Bits of a built-in datatype besides size and index.
const BUILTIN_DATATYPE: u32 = 0x4c;

/// The code of each predefined core handle.
static CODES: [u32; PREDEFINED_END as usize] = codes();

/// Code and core handle of what is predefined of each kind, by [`place`].
static PREDEFINED: Paged<[(u32, u32); PLACES]> = Paged(predefined());
/// Places of datatypes, and then of the other kinds: of communicators and operations the same page has those.
const PLACES: usize = DATATYPE_PLACES + (16 << 5);
const DATATYPE_PLACES: usize = 256;

/// What begins on a page. Where ranks share processors and these forget where pages lie whenever they change from one
/// to the other, each page that a call needs takes some 20 ns: `MPI_Reduce_scatter_block` of no elements, 8 ranks on
/// two processors (Zen 1), 0.18 µs with the places of datatypes behind the others and wherever the table happened to
/// begin, and 0.14 so.
#[repr(align(4096))]
struct Paged<T>(T);

const fn codes() -> [u32; PREDEFINED_END as usize] {
    let mut codes = [NO_CODE; PREDEFINED_END as usize];
    let mut row = 0;
    while row < HANDLES.len() {
        let (_, core, code) = HANDLES[row];
        if codes[core as usize] == NO_CODE {
            codes[core as usize] = code;
        }
        row += 1;
    }
    codes
}

/// Of a datatype the lowest byte of the code; else the kind, whether the code is of something built
/// in, and the lowest bits of the code.
#[inline]
const fn place(kind: u32, code: u32) -> usize {
    match kind {
        DatatypeKind::NUMBER => (code & 0xff) as usize,
        _ => DATATYPE_PLACES + (kind << 5 | (code >> 30 & 1) << 4 | code & 0xf) as usize,
    }
}

const fn predefined() -> [(u32, u32); PLACES] {
    let mut predefined = [(NO_CODE, FOREIGN_HANDLE); PLACES];
    let mut row = 0;
    while row < HANDLES.len() {
        let (kind, core, code) = HANDLES[row];
        let place = place(kind, code);
        // Of datatypes only those that are built in differ in their lowest byte.
        let takes = kind != DatatypeKind::NUMBER || code >> 24 == BUILTIN_DATATYPE;
        if takes && predefined[place].0 == NO_CODE {
            predefined[place] = (code, core);
        }
        row += 1;
    }
    predefined
}

/// The core handle of a code of kind `kind`; one of another kind becomes that kind's core handle,
/// so that the message can say what it is. A table look-up for what is predefined.
#[inline]
pub(crate) fn handle_in(kind: u32, code: i32) -> u32 {
    let code = code as u32;
    if code >= OURS {
        return code & !OURS;
    }
    let (known, core) = PREDEFINED.0[place(kind, code)];
    if known == code { core } else { search(kind, code) }
}

#[cold]
fn search(kind: u32, code: u32) -> u32 {
    let mut of_another_kind = None;
    for &(of_kind, core, known) in HANDLES {
        if known == code {
            if of_kind == kind {
                return core;
            }
            of_another_kind = Some(core);
        }
    }
    of_another_kind.unwrap_or_else(|| foreign(code as usize))
}

/// The code of a core handle; `null` for a predefined one that this ABI does not have.
#[inline]
pub(crate) fn handle_out<K: Kind>(handle: Handle<K>) -> i32 {
    raw_out(handle.raw(), K::NULL)
}

/// The code of a core handle whose kind's null handle is `null`.
#[inline]
pub(crate) fn raw_out(raw: u32, null: u32) -> i32 {
    if raw >= PREDEFINED_END {
        return (raw | OURS) as i32;
    }
    let code = CODES[raw as usize];
    let code = if code == NO_CODE { CODES[null as usize] } else { code };
    code as i32
}
