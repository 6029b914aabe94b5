//! Conversion of constants and error classes by tables of (core value, face's value).
//!
//! The tables are small and what they convert is not on the path of a message, so they are
//! searched from the front. Unknown values pass through, where the core reports them, unless
//! their number would mean something in the core (`FOREIGN_VALUE` then).

use mpi_core::constants::UNDEFINED;
use mpi_core::error::ErrorClass;

use crate::face::{ConstantGroup, FOREIGN_VALUE};

/// Core value and face's value of one name.
pub type Pairs = [(i32, i32)];

/// The standard ABI's `MPI_ERR_LASTCODE`, above which the core numbers classes added by the user.
pub const CORE_LASTCODE: i32 = 16383;

/// The core's value of a constant argument.
pub fn constant_in(group: ConstantGroup, pairs: &Pairs, value: i32) -> i32 {
    if is_bits(group) {
        bits(pairs.iter().map(|&(c, f)| (f, c)), value)
    } else {
        to_core(pairs, value)
    }
}

/// The face's value of a constant result.
pub fn constant_out(group: ConstantGroup, pairs: &Pairs, value: i32) -> i32 {
    if is_bits(group) { bits(pairs.iter().copied(), value) } else { to_face(pairs, value) }
}

/// The core's class of a face's error code, whose user-defined ones begin above `lastcode`.
pub fn error_in(pairs: &Pairs, lastcode: i32, code: i32) -> ErrorClass {
    if code > lastcode {
        // Below i32::MAX: a face's last code is never smaller than zero.
        return ErrorClass((code - lastcode).saturating_add(CORE_LASTCODE));
    }
    ErrorClass(to_core(pairs, code))
}

/// The face's code of an error class; of one that the face's ABI does not have `MPI_ERR_OTHER`, or what
/// libraries said before there was a class for it.
pub fn error_out(pairs: &Pairs, lastcode: i32, class: ErrorClass) -> i32 {
    if class.0 > CORE_LASTCODE {
        return (class.0 - CORE_LASTCODE).saturating_add(lastcode);
    }
    let number = |class: ErrorClass| pairs.iter().find(|(core, _)| *core == class.0);
    let instead = if class == ErrorClass::ERRHANDLER { ErrorClass::ARG } else { ErrorClass::OTHER };
    number(class).or_else(|| number(instead)).map_or(lastcode, |(_, face)| *face)
}

fn is_bits(group: ConstantGroup) -> bool {
    matches!(group, ConstantGroup::RmaAssert | ConstantGroup::FileMode)
}

fn to_core(pairs: &Pairs, value: i32) -> i32 {
    if let Some((core, _)) = pairs.iter().find(|(_, face)| *face == value) {
        return *core;
    }
    let means_something = pairs.iter().any(|(core, _)| *core == value);
    if means_something && value != UNDEFINED { FOREIGN_VALUE } else { value }
}

fn to_face(pairs: &Pairs, value: i32) -> i32 {
    pairs.iter().find(|(core, _)| *core == value).map_or(value, |(_, face)| *face)
}

/// Translates a set of bits; what is not in the table becomes the sign bit, which no ABI uses.
fn bits(pairs: impl Iterator<Item = (i32, i32)>, value: i32) -> i32 {
    let mut rest = value;
    let mut result = 0;
    for (from, to) in pairs {
        if value & from == from {
            result |= to;
            rest &= !from;
        }
    }
    if rest == 0 { result } else { result | FOREIGN_VALUE }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEVELS: &Pairs = &[(0, 0), (1024, 1), (2048, 2), (4096, 3)];
    const MODES: &Pairs = &[(1, 128), (2, 1), (16, 2)];

    #[test]
    fn known_values_go_both_ways() {
        for &(core, face) in LEVELS {
            assert_eq!(constant_in(ConstantGroup::ThreadLevel, LEVELS, face), core);
            assert_eq!(constant_out(ConstantGroup::ThreadLevel, LEVELS, core), face);
        }
    }

    #[test]
    fn a_value_of_the_core_is_foreign_to_the_face() {
        assert_eq!(constant_in(ConstantGroup::ThreadLevel, LEVELS, 1024), FOREIGN_VALUE);
        assert_eq!(constant_in(ConstantGroup::ThreadLevel, LEVELS, 77), 77);
        assert_eq!(constant_in(ConstantGroup::Topology, LEVELS, UNDEFINED), UNDEFINED);
    }

    #[test]
    fn bits_are_translated_one_by_one() {
        assert_eq!(constant_in(ConstantGroup::FileMode, MODES, 128 | 2), 1 | 16);
        assert_eq!(constant_out(ConstantGroup::FileMode, MODES, 1 | 2), 128 | 1);
        assert!(constant_in(ConstantGroup::FileMode, MODES, 1 | 4096) < 0);
    }

    #[test]
    fn user_defined_classes_follow_the_last_predefined_one() {
        let class = ErrorClass(CORE_LASTCODE + 5);
        assert_eq!(error_out(LEVELS, 92, class), 97);
        assert_eq!(error_in(LEVELS, 92, 97), class);
    }

    #[test]
    fn a_class_that_an_abi_lacks_becomes_its_err_other() {
        let errors = &[(1, 1), (ErrorClass::ARG.0, 12), (ErrorClass::OTHER.0, 15)];
        assert_eq!(error_out(errors, 92, ErrorClass::ABI), 15);
        assert_eq!(error_out(errors, 92, ErrorClass::ERRHANDLER), 12);
        assert_eq!(error_in(errors, 92, 15), ErrorClass::OTHER);
    }
}
