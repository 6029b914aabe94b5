//! How one argument becomes what a body takes, and how a result goes back; part of the glue.

use crate::description::{Direction, Parameter, Procedure};
use crate::kind::Kind;
use crate::piece::Piece;

/// For a body that takes C parameters.
pub(crate) fn raw(parameter: &Parameter) -> Piece {
    let name = parameter.ident();
    let scalar_in = !parameter.is_array() && parameter.direction == Direction::In;
    let arguments = match &parameter.kind {
        Kind::Length if scalar_in => vec![format!("i64::from({name})")],
        _ => vec![name],
    };
    Piece { arguments, ..Piece::default() }
}

/// For a body that takes core values.
pub(crate) fn core(procedure: &Procedure, parameter: &Parameter) -> Piece {
    if parameter.is_array() {
        return array(parameter);
    }
    match (&parameter.kind, parameter.direction) {
        (Kind::Text(Some(limit)), _) => text_out(procedure, parameter, limit),
        (Kind::TextLength, _) => Piece::default(),
        (Kind::Status, direction) => status(parameter, direction),
        (Kind::Text(None), _) => {
            let (name, ident) = (&parameter.name, parameter.ident());
            let read = if parameter.nullable { "text_or_empty" } else { "text" };
            let or_error = if procedure.is_in_doubt(parameter) { "" } else { "?" };
            argument(format!("args::{read}({name:?}, {ident}){or_error}"))
        }
        (_, Direction::In) => input(procedure, parameter),
        (Kind::Buffer | Kind::Attribute | Kind::State | Kind::Object, _) => {
            input(procedure, parameter)
        }
        (_, direction) => output(parameter, direction),
    }
}

fn argument(argument: String) -> Piece {
    Piece { arguments: vec![argument], ..Piece::default() }
}

fn input(procedure: &Procedure, parameter: &Parameter) -> Piece {
    let name = parameter.ident();
    if procedure.owner_value().is_some_and(|owner| owner.name == parameter.name) {
        return argument("owner".to_owned());
    }
    match &parameter.kind {
        Kind::Handle(handle) if procedure.is_in_doubt(parameter) => {
            argument(format!("F::{}_in_doubt({name})", handle.word))
        }
        kind => argument(inwards(kind, &name)),
    }
}

/// The core's value of the C value `value`.
fn inwards(kind: &Kind, value: &str) -> String {
    match kind {
        // What is asked for its address alone may lie anywhere.
        Kind::Buffer if value == "location" => format!("F::buffer_in({value})"),
        Kind::Buffer => format!("args::buffer::<F>({value:?}, {value})?"),
        Kind::Handle(handle) => format!("F::{}_in({value})", handle.word),
        Kind::Length => format!("i64::from({value})"),
        Kind::Wide(wide) if wide.word == "view_disp" => format!("args::view_disp::<F>({value})"),
        Kind::Rank => format!("F::rank_in({value})"),
        Kind::Tag => format!("F::tag_in({value})"),
        Kind::Logical => format!("{value} != 0"),
        Kind::Error => format!("F::error_in({value})"),
        Kind::Constant(constant) => {
            format!("F::constant_in(ConstantGroup::{}, {value})", constant.group)
        }
        _ => value.to_owned(),
    }
}

/// The C value of the core's value `value`.
fn outwards(parameter: &Parameter, value: &str) -> String {
    match &parameter.kind {
        Kind::Handle(handle) => format!("F::{}_out({value})", handle.word),
        Kind::Length => format!("args::narrow({:?}, {value})?", parameter.name),
        Kind::Rank => format!("F::rank_out({value})"),
        Kind::Tag => format!("F::tag_out({value})"),
        Kind::Logical => format!("c_int::from({value})"),
        Kind::Error => format!("F::error_out({value})"),
        Kind::Constant(constant) => {
            format!("F::constant_out(ConstantGroup::{}, {value})", constant.group)
        }
        _ => value.to_owned(),
    }
}

/// A value of the type that a body writes to, before it does.
fn initial(kind: &Kind) -> String {
    match kind {
        Kind::Handle(handle) => format!("{}Handle::NULL", handle.face),
        Kind::Address => "UserBuffer::BOTTOM".to_owned(),
        Kind::Tool(_) => "std::ptr::null_mut()".to_owned(),
        Kind::Logical => "false".to_owned(),
        Kind::Error => "ErrorClass::SUCCESS".to_owned(),
        Kind::Length | Kind::Wide(_) | Kind::Poly(_) => "0i64".to_owned(),
        _ => "0i32".to_owned(),
    }
}

fn output(parameter: &Parameter, direction: Direction) -> Piece {
    let (name, ident) = (&parameter.name, parameter.ident());
    let held = format!("{name}_value");
    let poly = matches!(parameter.kind, Kind::Poly(_)) || parameter.large_only;
    let first = match direction {
        Direction::InOut if poly => format!("{ident}.load()"),
        Direction::InOut => inwards(&parameter.kind, &format!("*{ident}")),
        _ => initial(&parameter.kind),
    };
    let store = if poly && parameter.or_undefined {
        format!("{ident}.store_or_undefined({held});")
    } else if poly {
        format!("{ident}.store({name:?}, {held})?;")
    } else if parameter.kind == Kind::Address {
        format!("*{ident}.cast::<*mut c_void>() = F::buffer_out({held});")
    } else {
        format!("*{ident} = {};", outwards(parameter, &held))
    };
    let store =
        if parameter.nullable { format!("if !{ident}.is_null() {{ {store} }}") } else { store };
    let store = if parameter.if_flag { format!("if flag_value {{ {store} }}") } else { store };
    let mut piece = argument(format!("&mut {held}"));
    piece.before.push(format!("let mut {held} = {first};"));
    match (direction, &parameter.kind) {
        (Direction::InOut, Kind::Handle(_)) => piece.always.push(store),
        // Also when none was made: what the program finds then is MPI_COMM_NULL, or MPI_FILE_NULL.
        (_, Kind::Handle(handle)) if ["Comm", "File"].contains(&handle.face) => {
            piece.always.push(store);
        }
        // Also when an operation has failed that is complete.
        (_, Kind::Logical) => piece.always.push(store),
        _ => piece.after.push(store),
    }
    piece
}

fn status(parameter: &Parameter, direction: Direction) -> Piece {
    let (name, ident) = (&parameter.name, parameter.ident());
    let held = format!("{name}_value");
    if direction == Direction::In {
        return argument(format!("&args::status_in::<F>({name:?}, {ident})?"));
    }
    let mut piece = argument(format!("&mut {held}"));
    piece.before.push(format!("args::status_out::<F>({name:?}, {ident})?;"));
    piece.before.push(format!("let mut {held} = Status::EMPTY;"));
    // Also when the operation failed: a truncated message has a source and a tag.
    piece.always.push(format!(
        "if !F::is_status_ignore({ident}) {{ F::status_out({ident}, &{held}, false); }}"
    ));
    piece
}

fn array(parameter: &Parameter) -> Piece {
    let ident = parameter.ident();
    let input = parameter.direction == Direction::In;
    let kind = if input { "IntArray" } else { "IntArrayMut" };
    argument(match (&parameter.kind, input) {
        (Kind::Poly(_), _) => ident,
        _ if parameter.large_only => ident,
        (Kind::Rank, _) => format!("args::{kind}::ranks::<F>({ident}.cast())"),
        (Kind::Wide(_), _) => format!("args::{kind}::wide({ident})"),
        (Kind::Weights, true) => format!("args::weights::<F>({ident})"),
        (Kind::Weights, false) => format!("args::weights_out::<F>({ident})"),
        (Kind::Distribution, _) => {
            format!("&args::distributions::<F>({ident}, {})?", parameter.lengths[0])
        }
        (Kind::DistArg, _) => {
            format!("&args::distribution_arguments::<F>({ident}, {})?", parameter.lengths[0])
        }
        _ => format!("args::{kind}::int({ident})"),
    })
}

/// A string that leaves. Where a flag says whether there is one, the flag decides.
fn text_out(procedure: &Procedure, parameter: &Parameter, limit: &str) -> Piece {
    let (name, ident) = (&parameter.name, parameter.ident());
    let held = format!("{name}_value");
    let mut piece = argument(format!("&mut {held}"));
    piece.before.push(format!("let mut {held} = Text::new();"));
    let length = procedure.length_of(limit);
    let store = match length {
        Some(length) if length.direction == Direction::In => {
            let room = length.ident();
            piece.before.push(format!(
                "args::non_negative({limit:?}, i64::from({room}), ErrorClass::ARG)?;"
            ));
            format!("copy_out({ident}, {room} as usize + 1, &{held});")
        }
        Some(length) => {
            format!("args::text_out_measured({name:?}, {ident}, {}, &{held})?;", length.ident())
        }
        None => {
            let length = procedure.parameters.iter().find(|other| other.kind == Kind::TextLength);
            let copy = format!("copy_out({ident}, F::LIMITS.{limit}, &{held})");
            match length {
                Some(length) => format!("*{} = {copy};", length.ident()),
                None => format!("{copy};"),
            }
        }
    };
    let flag = procedure.parameters.iter().any(|other| other.name == "flag");
    piece.after.push(if flag { format!("if flag_value {{ {store} }}") } else { store });
    piece
}
