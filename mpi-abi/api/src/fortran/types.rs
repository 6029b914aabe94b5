//! Rust's types of what Fortran passes.

use super::is_narrow;
use crate::description::{Direction, Parameter, Procedure};
use crate::kind::Kind;

/// The type of a parameter as Fortran passes it.
pub(super) fn parameter_type(
    procedure: &Procedure,
    parameter: &Parameter,
    large: bool,
) -> &'static str {
    let is_out = parameter.direction != Direction::In;
    let by_value = !is_out && !parameter.is_array();
    match &parameter.kind {
        Kind::Buffer | Kind::Address => "*mut c_void",
        Kind::Text(None) | Kind::Texts | Kind::TextArrays => "*const c_char",
        Kind::Text(Some(_)) => "*mut c_char",
        Kind::Function(_) | Kind::PolyFunction(_) => "*const c_void",
        Kind::Attribute | Kind::State
            if ["Attr_put", "Attr_get", "Keyval_create"].contains(&&*procedure.name) =>
        {
            "*mut c_int"
        }
        Kind::State if procedure.name.starts_with("Abi_") => "*mut c_void",
        Kind::Attribute | Kind::State => "*mut i64",
        Kind::Wide(_) if is_narrow(procedure, parameter) && !by_value => "*mut c_int",
        Kind::Wide(_) if is_narrow(procedure, parameter) => "*const c_int",
        Kind::Status | Kind::Weights | Kind::ErrorCodes => "*mut c_int",
        Kind::FortranStatus | Kind::Fortran08Status => "*mut c_int",
        kind if kind.c_type(large) != "int" && matches!(kind, Kind::Wide(_) | Kind::Poly(_)) => {
            if by_value {
                "*const i64"
            } else {
                "*mut i64"
            }
        }
        _ if parameter.is_array() => "*mut c_int",
        _ if is_out => "*mut c_int",
        _ => "*const c_int",
    }
}
