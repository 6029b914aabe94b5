//! The Rust types of parameters: as an export declares them, as the glue takes them, and how the
//! one becomes the other.

use crate::description::{Direction, Parameter, Procedure};
use crate::kind::Kind;

/// The type by which `kind` crosses the border; `face` is the type that implements `Face`.
fn value(kind: &Kind, large: bool, face: &str) -> String {
    match kind {
        Kind::Handle(handle) => format!("<{face} as Face>::{}", handle.face),
        Kind::Status => format!("<{face} as Face>::Status"),
        Kind::Tool(_) => "*mut c_void".to_owned(),
        Kind::Wide(_) => "i64".to_owned(),
        Kind::Poly(_) if kind.c_type(large) != "int" => "i64".to_owned(),
        Kind::Double => "f64".to_owned(),
        _ => "c_int".to_owned(),
    }
}

fn pointer(constant: bool, to: &str) -> String {
    format!("*{} {to}", if constant { "const" } else { "mut" })
}

/// The type of a parameter in the export, in its `_c` form if `large`.
pub(crate) fn export_type(parameter: &Parameter, large: bool, face: &str) -> String {
    let Parameter { kind, constant, .. } = parameter;
    match kind {
        Kind::Buffer => pointer(*constant, "c_void"),
        Kind::Address | Kind::Attribute | Kind::State | Kind::Object => "*mut c_void".to_owned(),
        Kind::Text(None) => "*const c_char".to_owned(),
        Kind::Text(Some(_)) => "*mut c_char".to_owned(),
        Kind::Texts => "*mut *mut c_char".to_owned(),
        Kind::TextArrays => "*mut *mut *mut c_char".to_owned(),
        Kind::Argv => "*mut *mut *mut c_char".to_owned(),
        Kind::Argc | Kind::ErrorCodes => "*mut c_int".to_owned(),
        Kind::Function(_) | Kind::PolyFunction(_) => "*const c_void".to_owned(),
        Kind::FortranStatus | Kind::Fortran08Status => pointer(*constant, "c_int"),
        Kind::Status => pointer(*constant, &value(kind, large, face)),
        _ if parameter.is_array() => pointer(*constant, &value(kind, large, face)),
        _ if parameter.direction != Direction::In => pointer(false, &value(kind, large, face)),
        _ => value(kind, large, face),
    }
}

/// The type of a parameter in the glue, which both forms of a procedure share.
pub(crate) fn glue_type(parameter: &Parameter) -> String {
    if !matches!(parameter.kind, Kind::Poly(_)) && !parameter.large_only {
        return export_type(parameter, false, "F");
    }
    match (parameter.is_array(), parameter.direction) {
        (true, Direction::In) => "IntArray".to_owned(),
        (true, _) => "IntArrayMut".to_owned(),
        (false, Direction::In) => "i64".to_owned(),
        (false, _) => "IntOut".to_owned(),
    }
}

/// What an export hands to the glue for a parameter.
pub(crate) fn glue_argument(parameter: &Parameter, large: bool) -> String {
    let name = parameter.ident();
    let glue = glue_type(parameter);
    let absent = parameter.large_only && !large;
    let wide = parameter.kind.c_type(large) != "int";
    match glue.as_str() {
        "IntArray" | "IntArrayMut" | "IntOut" if absent => format!("args::{glue}::absent()"),
        "IntArray" | "IntArrayMut" | "IntOut" if wide => format!("args::{glue}::wide({name})"),
        "IntArray" | "IntArrayMut" | "IntOut" => format!("args::{glue}::int({name})"),
        "i64" if absent => "0".to_owned(),
        "i64" if !wide => format!("i64::from({name})"),
        _ => name,
    }
}

/// The parameters that a form of the procedure has.
pub(crate) fn parameters(procedure: &Procedure, large: bool) -> impl Iterator<Item = &Parameter> {
    procedure.parameters.iter().filter(move |parameter| large || !parameter.large_only)
}

/// The return type of the export and the glue.
pub(crate) fn return_type(procedure: &Procedure, face: &str) -> String {
    procedure.returns.as_ref().map_or("c_int".to_owned(), |kind| value(kind, false, face))
}

/// What an unimplemented procedure that returns no error code returns.
pub(crate) fn nothing(kind: &Kind) -> String {
    match kind {
        Kind::Handle(handle) => format!("F::{}_out({}Handle::NULL)", handle.word, handle.face),
        Kind::Double => "0.0".to_owned(),
        _ => "0".to_owned(),
    }
}
