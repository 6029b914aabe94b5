//! The signature that the body of each procedure has, for whoever writes one.

use crate::description::{Direction, Parameter, Procedure};
use crate::kind::Kind;
use crate::rust;

/// The signatures of all bodies, in each style that the procedure allows.
pub(crate) fn list(procedures: &[Procedure]) -> String {
    procedures.iter().map(|procedure| format!("{}\n", signature(procedure))).collect()
}

fn signature(procedure: &Procedure) -> String {
    let name = procedure.snake();
    if procedure.returns.is_some() || procedure.variadic || !procedure.is_in("standard") {
        let parameters: Vec<String> = procedure
            .parameters
            .iter()
            .map(|p| format!("{}: {}", p.ident(), rust::export_type(p, false, "F")))
            .collect();
        return format!(
            "direct/ pub unsafe fn {name}<F: Face>({}) -> {}",
            parameters.join(", "),
            rust::return_type(procedure, "F")
        );
    }
    let join = |parameters: Vec<String>| {
        parameters.iter().map(|text| format!(", {text}")).collect::<String>()
    };
    let raw = join(procedure.parameters.iter().flat_map(|p| raw_parameter(procedure, p)).collect());
    let raw = format!("pub unsafe fn {name}<F: Face>(cx: &mut Cx<'_>{raw}) -> Result<()>");
    if procedure.needs_raw() {
        return format!("raw/    {raw}");
    }
    let calls =
        join(procedure.parameters.iter().flat_map(|p| calls_parameter(procedure, p)).collect());
    format!("calls/  pub fn {name}(cx: &mut Cx<'_>{calls}) -> Result<()>\n   or raw/ {raw}")
}

fn raw_parameter(procedure: &Procedure, parameter: &Parameter) -> Vec<String> {
    let name = parameter.ident();
    let kind = match &parameter.kind {
        Kind::Length if parameter.direction == Direction::In && !parameter.is_array() => {
            "i64".to_owned()
        }
        _ => rust::glue_type(parameter),
    };
    let mut all = vec![format!("{name}: {kind}")];
    if procedure.has_form_flag_after(parameter) {
        all.push("large: bool".to_owned());
    }
    all
}

fn calls_parameter(procedure: &Procedure, parameter: &Parameter) -> Vec<String> {
    let core = match body_type(parameter) {
        Some(core) => core,
        None => return Vec::new(),
    };
    let mut all = vec![format!("{}: {core}", parameter.ident())];
    if procedure.has_form_flag_after(parameter) {
        all.push("large: bool".to_owned());
    }
    all
}

/// The type of a parameter in the normal style of bodies; none if the glue keeps it.
fn body_type(parameter: &Parameter) -> Option<String> {
    let Parameter { kind, direction, .. } = parameter;
    let input = *direction == Direction::In;
    if parameter.is_array() {
        return Some(match (kind, input) {
            (Kind::Distribution | Kind::DistArg, _) => "&[i32]".to_owned(),
            (Kind::Weights, true) => "Weights".to_owned(),
            (_, true) => "IntArray".to_owned(),
            (_, false) => "IntArrayMut".to_owned(),
        });
    }
    let core = match kind {
        Kind::Buffer => return Some("UserBuffer".to_owned()),
        Kind::Attribute | Kind::State | Kind::Object => return Some("*mut c_void".to_owned()),
        Kind::Function(_) | Kind::PolyFunction(_) => return Some("*const c_void".to_owned()),
        Kind::Text(None) => return Some("&[u8]".to_owned()),
        Kind::Status if input => return Some("&Status".to_owned()),
        Kind::TextLength => return None,
        Kind::Text(Some(_)) => "Text".to_owned(),
        Kind::Address => "UserBuffer".to_owned(),
        Kind::Handle(handle) => format!("{}Handle", handle.face),
        Kind::Tool(_) => "*mut c_void".to_owned(),
        Kind::Logical => "bool".to_owned(),
        Kind::Error => "ErrorClass".to_owned(),
        Kind::Length | Kind::Wide(_) | Kind::Poly(_) => "i64".to_owned(),
        Kind::Status => "Status".to_owned(),
        Kind::Double => "f64".to_owned(),
        _ => "i32".to_owned(),
    };
    Some(if input { core } else { format!("&mut {core}") })
}
