//! The named datatypes as objects, found by their number without a lock.

use std::sync::{Arc, LazyLock};

use super::basic::{self, Basic, Row};
use super::layout::Layout;
use super::{Datatype, Operand, Origin};
use crate::handle::PREDEFINED_END;

/// The lowest number of a datatype.
const FIRST: u32 = 0x200;
const SLOTS: usize = (PREDEFINED_END - FIRST) as usize;

static OBJECTS: LazyLock<[Option<Arc<Datatype>>; SLOTS]> = LazyLock::new(|| {
    let mut objects = [const { None }; SLOTS];
    for row in basic::TABLE {
        objects[(row.code - FIRST) as usize] = Some(make(row));
    }
    objects
});

/// The named datatype with this number.
#[inline]
pub fn predefined(code: u32) -> Option<&'static Arc<Datatype>> {
    OBJECTS.get(code.wrapping_sub(FIRST) as usize)?.as_ref()
}

/// Makes the named datatypes now, which else the first call does that needs one.
pub fn make_named() {
    LazyLock::force(&OBJECTS);
}

/// Bytes of one element of the named datatypes of which any number is one run; 0 for all others.
static DENSE: [u8; SLOTS] = {
    let mut sizes = [0; SLOTS];
    let mut at = 0;
    while at < basic::TABLE.len() {
        let row = &basic::TABLE[at];
        // The size of a pair is 0 in its row.
        sizes[(row.code - FIRST) as usize] = row.size;
        at += 1;
    }
    sizes
};

/// The size of an element of the named datatype with this number, if any number of elements is
/// one run of bytes: what a small message needs to know. 0 otherwise.
#[inline]
pub fn dense_size(code: u32) -> u64 {
    DENSE.get(code.wrapping_sub(FIRST) as usize).copied().unwrap_or(0).into()
}

fn make(row: &'static Row) -> Arc<Datatype> {
    let operand = match row.basic {
        Basic::Marker => Operand::None,
        _ => Operand::Named(row.code),
    };
    Datatype::new(layout(row), Origin::Named(row), operand)
        .expect("a row of the table is a few bytes")
}

/// The geometry of a named datatype.
pub(super) fn layout(row: &'static Row) -> Layout {
    let part = |code| basic::row_of(code).map(layout);
    match row.pair.and_then(|(value, index)| Some((part(value)?, part(index)?))) {
        Some((value, index)) => {
            Layout::pair(&value, &index).expect("a row of the table is a few bytes")
        }
        None => Layout::basic(row),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dense_types_are_those_without_gaps() {
        for code in 0..PREDEFINED_END {
            let Some(datatype) = predefined(code) else {
                assert_eq!(dense_size(code), 0, "{code:#x}");
                continue;
            };
            let size = dense_size(code);
            assert!(size == 0 || datatype.contiguous_bytes(3) == Some(3 * size), "{code:#x}");
            assert!(
                size > 0
                    || datatype.signature().only().is_none_or(|row| row.size == 0)
                    || basic::row_of(code).is_some_and(|row| row.pair.is_some())
            );
        }
    }

    #[test]
    fn every_row_is_found_by_its_number() {
        for row in basic::TABLE {
            let datatype = predefined(row.code).expect(row.name);
            assert_eq!(datatype.predefined_code(), Some(row.code));
            assert_eq!(datatype.size(), datatype.signature().size());
            assert!(datatype.is_committed());
        }
        for code in [0, 0x1ff, 0x200, 0x211, 0x3ff, 0x400, u32::MAX] {
            assert!(predefined(code).is_none(), "{code:#x}");
        }
    }

    #[test]
    fn pairs_are_laid_out_as_c_structs() {
        let geometry = |code| {
            let datatype = predefined(code).expect("a pair");
            (datatype.size(), datatype.extent(), datatype.elements(), datatype.is_contiguous())
        };
        assert_eq!(geometry(0x228), (8, 8, 2, true), "FLOAT_INT");
        assert_eq!(geometry(0x229), (12, 16, 2, false), "DOUBLE_INT");
        assert_eq!(geometry(0x22a), (12, 16, 2, false), "LONG_INT");
        assert_eq!(geometry(0x22b), (8, 8, 2, true), "2INT");
        assert_eq!(geometry(0x22c), (6, 8, 2, false), "SHORT_INT");
        assert_eq!(geometry(0x22d), (20, 32, 2, false), "LONG_DOUBLE_INT");
        assert_eq!(geometry(0x301), (32, 32, 2, true), "2DOUBLE_COMPLEX");
    }
}
