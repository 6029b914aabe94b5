//! Writes `fortran_entries.rs`: the entry points, for whichever face includes them.
//!
//! Arguments come by reference, the lengths of strings behind them by value. Each is converted to
//! what the C function takes, the glue is called, the results are converted back. Where more is to
//! be done than conversion by kind, `mpi_abi::fortran` has a function of the procedure's name.
//!
//! The text's unsafe blocks all rest on one promise, which `mpi-abi/src/fortran/mod.rs` states: the
//! arguments are what MPI requires of the Fortran program.

use std::fmt::Write;

use super::declare::sizes;
use super::sections;
use super::types::parameter_type;
use super::{
    WITH_C_PTR, direction, has, has_ierror, has_length, is_index, is_narrow, is_passed, parameters,
};
use crate::description::{Direction, Parameter, Procedure};
use crate::kind::{HANDLES, Kind};
use crate::rust;

/// Procedures that `mpi_abi::fortran` writes by hand.
const BY_HAND: &[&str] = &[
    "Attr_get",
    "Attr_put",
    "Comm_create_errhandler",
    "Comm_create_keyval",
    "Comm_get_attr",
    "Comm_set_attr",
    "Comm_spawn",
    "Comm_spawn_multiple",
    "Errhandler_create",
    "File_create_errhandler",
    "Grequest_start",
    "Info_get_string",
    "Keyval_create",
    "Op_create",
    "Register_datarep",
    "Session_create_errhandler",
    "Session_get_nth_pset",
    "Type_create_keyval",
    "Type_get_attr",
    "Type_set_attr",
    "Win_create_errhandler",
    "Win_create_keyval",
    "Win_get_attr",
    "Win_set_attr",
];

/// In mpif.h and the module mpi these have a choice buffer where `mpi_f08` returns an address:
/// nothing can be returned there (MPI-5.0 §3.6).
pub(super) const DETACH: &[&str] =
    &["Buffer_detach", "Comm_detach_buffer", "Session_detach_buffer"];

/// Functions of `mpi_abi::fortran` that have no C counterpart, with their names in Fortran.
const READY: &[(&str, &[&str])] = &[
    ("dup_fn", &["dup_fn"]),
    ("null_copy_fn", &["null_copy_fn"]),
    ("null_delete_fn", &["null_delete_fn"]),
    ("dup_fn_wide", &["comm_dup_fn", "type_dup_fn", "win_dup_fn"]),
    ("null_copy_fn_wide", &["comm_null_copy_fn", "type_null_copy_fn", "win_null_copy_fn"]),
    ("null_delete_fn_wide", &["comm_null_delete_fn", "type_null_delete_fn", "win_null_delete_fn"]),
    ("conversion_fn_null", &["conversion_fn_null", "conversion_fn_null_c"]),
    (SYNC_REG, &[SYNC_REG]),
];

/// The one of them whose argument is a choice buffer.
const SYNC_REG: &str = "f_sync_reg";

/// What one parameter contributes.
#[derive(Default)]
struct Piece {
    before: String,
    after: String,
}

/// The file's text.
pub(crate) fn file(procedures: &[Procedure]) -> String {
    let mut out = String::from(
        "use std::ffi::{c_char, c_int, c_void};\n\n\
         use mpi_abi::face::Face;\nuse mpi_abi::procedure::Procedure;\n\
         use mpi_abi::{args, fortran as f, fortran_names, glue};\n",
    );
    for (ending, bytes) in sizes() {
        let names = spellings(&format!("sizeof_{ending}")).join(" ");
        // SAFETY: of the text: the caller is a Fortran program, see `mpi-abi/src/fortran/mod.rs`.
        let _ = write!(
            out,
            "\nunsafe extern \"C-unwind\" fn sizeof_{ending}(_x: *const c_void, size: *mut c_int, \
             ierror: *mut c_int) {{ unsafe {{ *size = {bytes}; f::done(ierror, 0) }} }}\n\
             fortran_names!(sizeof_{ending}: {names});\n"
        );
    }
    for (operator, word) in [("==", "eq"), ("!=", "ne")] {
        let names = comparisons(word);
        // SAFETY: of the text: the caller is a Fortran program, see `mpi-abi/src/fortran/mod.rs`.
        let _ = write!(
            out,
            "\nunsafe extern \"C-unwind\" fn {word}(x: *const c_int, y: *const c_int) -> c_int {{ \
             unsafe {{ f::logical_value(*x {operator} *y) }} }}\n\
             fortran_names!({word}: {});\n",
            names.join(" ")
        );
    }
    for (function, names) in READY {
        let names = ready(names).join(" ");
        let _ = writeln!(out, "\nuse f::{function};\nfortran_names!({function}: {names});");
    }
    for procedure in super::procedures(procedures) {
        for large in forms(procedure) {
            entry(&mut out, procedure, large);
            if sections::has_choice(procedure) {
                sections::entry(&mut out, procedure, large);
            }
        }
    }
    out
}

/// The names that the entry points are exported by.
pub fn names(procedures: &[Procedure]) -> Vec<String> {
    let mut all: Vec<String> = READY.iter().flat_map(|(_, names)| ready(names)).collect();
    all.extend(sizes().flat_map(|(ending, _)| spellings(&format!("sizeof_{ending}"))));
    all.extend(["eq", "ne"].into_iter().flat_map(comparisons));
    for procedure in super::procedures(procedures) {
        for large in forms(procedure) {
            all.extend(exported(procedure, large).into_iter().flat_map(|(_, names)| names));
            if sections::has_choice(procedure) {
                all.extend(sections::exported(procedure, large).1);
            }
        }
    }
    all.sort();
    all
}

/// The forms of a procedure: with INTEGER counts, and with large ones in `mpi_f08`.
pub(super) fn forms(procedure: &Procedure) -> impl Iterator<Item = bool> {
    let large = procedure.large && has(procedure, "mpi_f08");
    [false, true].into_iter().take(1 + usize::from(large))
}

/// Each Rust function of the procedure with the symbols that lead to it.
fn exported(procedure: &Procedure, large: bool) -> Vec<(String, Vec<String>)> {
    let snake = procedure.snake();
    let plain = |name: &str| spellings(name).to_vec();
    if large {
        return vec![(format!("{snake}_c"), modern(&format!("{snake}_c"), "f08").to_vec())];
    }
    let in_f08 = has(procedure, "mpi_f08") && procedure.returns.is_none();
    if DETACH.contains(&&*procedure.name) {
        return vec![
            (snake.clone(), plain(&snake)),
            (format!("{snake}_f08"), modern(&snake, "f08").to_vec()),
        ];
    }
    let mut names = plain(&snake);
    if WITH_C_PTR.contains(&&*procedure.name) {
        names.extend(plain(&format!("{snake}_cptr")));
    }
    if in_f08 {
        names.extend(modern(&snake, "f08"));
    }
    vec![(snake, names)]
}

/// The names that compilers make of an external procedure, and those for profiling.
fn spellings(name: &str) -> [String; 8] {
    spellings_of(["mpi", "pmpi"], name)
}

/// The same behind other prefixes.
pub(super) fn spellings_of(prefixes: [&str; 2], name: &str) -> [String; 8] {
    let [p, q] = prefixes.map(|prefix| {
        let name = format!("{prefix}_{name}");
        let upper = name.to_uppercase();
        [name.clone(), format!("{name}_"), format!("{name}__"), upper]
    });
    let [[a, b, c, d], [e, f, g, h]] = [p, q];
    [a, b, c, d, e, f, g, h]
}

/// The names that `mpi_f08` calls a procedure by.
fn modern(name: &str, ending: &str) -> [String; 2] {
    ["mpi", "pmpi"].map(|prefix| format!("{prefix}_{name}_{ending}_"))
}

/// The names of a function of [`READY`].
fn ready(names: &[&str]) -> Vec<String> {
    let mut all: Vec<String> = names.iter().flat_map(|name| spellings(name)).collect();
    if names == [SYNC_REG] {
        all.extend(["f08", "f08ts"].into_iter().flat_map(|ending| modern(SYNC_REG, ending)));
    }
    all
}

/// The names of the comparison `word` for every kind of handle.
fn comparisons(word: &str) -> Vec<String> {
    let all = HANDLES.iter().flat_map(|handle| {
        let name = format!("{}_{word}", handle.c.to_lowercase());
        let upper = name.to_uppercase();
        [name.clone(), format!("{name}_"), format!("{name}__"), upper]
    });
    all.collect()
}

fn entry(out: &mut String, procedure: &Procedure, large: bool) {
    for (function, names) in exported(procedure, large) {
        function_text(out, procedure, large, &function);
        let _ = writeln!(out, "fortran_names!({function}: {});", names.join(" "));
    }
}

fn function_text(out: &mut String, procedure: &Procedure, large: bool, function: &str) {
    let mut declared: Vec<String> = parameters(procedure, large)
        .map(|p| format!("{}: {}", p.ident(), parameter_type(procedure, p, large)))
        .collect();
    let returns = procedure.returns.as_ref().map(|_| rust::return_type(procedure, "Here"));
    if has_ierror(procedure) {
        declared.push("ierror: *mut c_int".to_owned());
    }
    for parameter in parameters(procedure, large).filter(|p| has_length(p)) {
        declared.push(format!("{}_length: usize", parameter.name));
    }
    // SAFETY: of the text: the caller is a Fortran program, see `mpi-abi/src/fortran/mod.rs`.
    let _ = write!(out, "\nunsafe extern \"C-unwind\" fn {function}({})", declared.join(", "));
    if let Some(returns) = returns {
        let call = call(procedure, large, false);
        let before = befores(procedure, large, "").0;
        let before = one_line(&before);
        let _ = writeln!(out, " -> {returns} {{ unsafe {{ {before} {call} }} }}");
        return;
    }
    if BY_HAND.contains(&&*procedure.name) {
        let mut arguments: Vec<String> =
            parameters(procedure, large).map(Parameter::ident).collect();
        if procedure.large && procedure.parameters.iter().any(|p| procedure.has_form_flag_after(p))
        {
            arguments.push(large.to_string());
        }
        arguments.push("ierror".to_owned());
        for parameter in parameters(procedure, large).filter(|p| has_length(p)) {
            arguments.push(format!("{}_length", parameter.name));
        }
        if procedure.name == "Register_datarep" {
            let null = if large { "conversion_fn_null_c" } else { "conversion_fn_null" };
            let nulls = spellings(null).map(|name| format!("{name} as *const c_void"));
            arguments.push(format!("&[{}]", nulls.join(", ")));
        }
        let name = procedure.snake();
        // SAFETY: of the text: the caller is a Fortran program, see `mpi-abi/src/fortran/mod.rs`.
        let _ = writeln!(out, " {{ unsafe {{ f::{name}::<Here>({}) }} }}", arguments.join(", "));
        return;
    }
    let (before, after) = befores(procedure, large, function);
    let call = call(procedure, large, true);
    let before = one_line(&before);
    // SAFETY: of the text: the caller is a Fortran program, see `mpi-abi/src/fortran/mod.rs`.
    let _ = write!(out, " {{ unsafe {{\n{before}\n{call}\n{after}");
    let end = if has_ierror(procedure) { "f::done(ierror, code);" } else { "let _ = code;" };
    let _ = writeln!(out, "{end} }} }}");
}

/// Statements one behind the other: nobody edits them, and there are very many.
fn one_line(statements: &str) -> String {
    statements.trim_end().replace('\n', " ")
}

fn befores(procedure: &Procedure, large: bool, function: &str) -> (String, String) {
    let mut all = Piece::default();
    // Lengths of arrays are read through the references, which scalars then hide.
    let scalar = |p: &&Parameter| !p.is_array() && !matches!(p.kind, Kind::Text(_));
    let (scalars, arrays): (Vec<_>, Vec<_>) = parameters(procedure, large).partition(scalar);
    for parameter in arrays.into_iter().chain(scalars) {
        let piece = piece(procedure, parameter, function);
        all.before.push_str(&piece.before);
        all.after.push_str(&piece.after);
    }
    (all.before, all.after)
}

fn call(procedure: &Procedure, large: bool, bound: bool) -> String {
    let mut arguments = Vec::new();
    for parameter in &procedure.parameters {
        arguments.push(match parameter.kind {
            _ if is_passed(procedure, parameter, large) => argument(procedure, parameter, large),
            Kind::Int => "0".to_owned(),
            Kind::Argc | Kind::Argv | Kind::Texts => "std::ptr::null_mut()".to_owned(),
            _ => rust::glue_argument(parameter, large),
        });
        if procedure.has_form_flag_after(parameter) {
            arguments.push(large.to_string());
        }
    }
    let call = format!("glue::{}::<Here>({})", procedure.snake(), arguments.join(", "));
    if bound { format!("let code = {call};") } else { call }
}

fn argument(procedure: &Procedure, parameter: &Parameter, large: bool) -> String {
    let name = parameter.ident();
    match &parameter.kind {
        Kind::Handle(_) if parameter.is_array() => format!("{name}.as_mut_ptr()"),
        Kind::Handle(_) if parameter.direction != Direction::In => format!("&mut {name}_c"),
        Kind::Logical if parameter.is_array() && parameter.direction == Direction::In => {
            format!("{name}.as_mut_ptr()")
        }
        Kind::Text(None) => format!("{name}.as_ptr()"),
        Kind::Text(Some(_)) => format!("{name}_c.as_mut_ptr()"),
        Kind::Wide(_) if is_narrow(procedure, parameter) && parameter.is_array() => {
            format!("{name}.as_mut_ptr()")
        }
        Kind::Wide(_)
            if is_narrow(procedure, parameter) && parameter.direction == Direction::Out =>
        {
            format!("&mut {name}_c")
        }
        _ => rust::glue_argument(parameter, large),
    }
}

/// The expression for the length of an array of handles.
fn length(procedure: &Procedure, parameter: &Parameter) -> String {
    match parameter.lengths[0].as_str() {
        "*" => {
            let is_send = parameter.name.starts_with("send");
            let shape = if !procedure.name.contains("eighbor") {
                "f::comm_size"
            } else if is_send {
                "f::out_degree"
            } else {
                "f::in_degree"
            };
            // Behind MPI_IN_PLACE nothing is looked at.
            let skipped = is_send && !procedure.name.contains("eighbor");
            let size = format!("{shape}::<Here>(*comm)");
            if skipped { format!("f::unless_in_place::<Here>(sendbuf, || {size})") } else { size }
        }
        // Counts were dereferenced before if they come first.
        name => format!("f::length(*{name} as i64)"),
    }
}

fn line(to: &mut String, text: &str) {
    to.push_str(text);
    to.push('\n');
}

fn piece(procedure: &Procedure, parameter: &Parameter, function: &str) -> Piece {
    let x = parameter.ident();
    let Parameter { kind, direction, .. } = parameter;
    let mut piece = match kind {
        Kind::Handle(handle) => return handle_piece(procedure, parameter, handle.word),
        Kind::Logical => return logical_piece(procedure, parameter),
        Kind::Text(limit) => return text_piece(procedure, parameter, limit.as_deref()),
        _ => Piece::default(),
    };
    let (before, after) = (&mut piece.before, &mut piece.after);
    match kind {
        Kind::Buffer => line(before, &format!("let {x} = f::buffer::<Here>({x});")),
        Kind::Address if DETACH.contains(&&*procedure.name) => {
            if function == procedure.snake() {
                line(
                    before,
                    &format!(
                        "let _ = {x};\nlet mut unreturned: *mut c_void = std::ptr::null_mut();\n\
                         let {x} = (&raw mut unreturned).cast();"
                    ),
                );
            } else {
                line(after, &format!("if code == 0 {{ f::detached::<Here>({x}); }}"));
            }
        }
        Kind::Status if parameter.is_array() => {
            line(before, &format!("let {x} = f::statuses::<Here>({x});"));
        }
        Kind::Status => line(before, &format!("let {x} = f::status::<Here>({x});")),
        Kind::Weights => line(before, &format!("let {x} = f::weights::<Here>({x});")),
        Kind::Wide(_) if is_narrow(procedure, parameter) => match direction {
            _ if parameter.is_array() => {
                let length = "f::length(i64::from(*count))";
                let copy = format!("f::widened({x}, {length})");
                line(before, &sections::copied(procedure, &x, &copy));
            }
            Direction::In => line(before, &format!("let {x} = i64::from(*{x});")),
            _ => {
                line(before, &format!("let mut {x}_c = 0i64;"));
                line(after, &format!("if code == 0 {{ *{x} = f::narrowed({x}_c); }}"));
            }
        },
        _ if is_index(procedure, parameter) => {
            let (place, count) =
                if parameter.is_array() { ("outcount", "*outcount") } else { (&*x, "1") };
            line(before, &format!("*{place} = f::UNDEFINED;"));
            line(after, &format!("f::indices({x}, {count});"));
        }
        Kind::FortranStatus | Kind::Fortran08Status | Kind::Address | Kind::State => {}
        _ if parameter.is_array() || *direction != Direction::In => {}
        _ => line(before, &format!("let {x} = *{x};")),
    }
    piece
}

fn handle_piece(procedure: &Procedure, parameter: &Parameter, word: &str) -> Piece {
    let x = parameter.ident();
    let mut piece = Piece::default();
    let (before, after) = (&mut piece.before, &mut piece.after);
    if parameter.is_array() {
        let length = length(procedure, parameter);
        let fill = if parameter.direction == Direction::Out { "nulls" } else { "new" };
        let copy = format!("f::{word}s::{fill}::<Here>({x}, {length})");
        line(before, &sections::copied(procedure, &x, &copy));
        if parameter.direction != Direction::In {
            line(after, &format!("{x}.write_back();"));
        }
        return piece;
    }
    match parameter.direction {
        Direction::In => line(before, &format!("let {x} = f::{word}::<Here>(*{x});")),
        Direction::InOut => {
            line(before, &format!("let mut {x}_c = f::{word}::<Here>(*{x});"));
            if direction(procedure, parameter) == Direction::In {
                return piece;
            }
            line(after, &format!("f::give_back({x}, f::{word}_out::<Here>({x}_c));"));
        }
        Direction::Out => {
            line(before, &format!("let mut {x}_c = f::{word}_null::<Here>();"));
            line(after, &format!("if code == 0 {{ *{x} = f::{word}_out::<Here>({x}_c); }}"));
        }
    }
    piece
}

fn logical_piece(procedure: &Procedure, parameter: &Parameter) -> Piece {
    let x = parameter.ident();
    let mut piece = Piece::default();
    let (before, after) = (&mut piece.before, &mut piece.after);
    let is_in = parameter.direction == Direction::In;
    if parameter.is_array() {
        let length = match parameter.lengths[0].as_str() {
            "*" => "f::cart_dims::<Here>(*comm)".to_owned(),
            name => format!("f::length(i64::from(*{name}))"),
        };
        if is_in {
            let copy = format!("f::logicals({x}, {length})");
            line(before, &sections::copied(procedure, &x, &copy));
        } else {
            line(before, &format!("let {x}_length = {length};"));
            line(after, &format!("if code == 0 {{ f::logicals_out({x}, {x}_length); }}"));
        }
    } else if is_in {
        line(before, &format!("let {x} = f::logical(*{x});"));
    } else {
        line(after, &format!("if code == 0 {{ f::logical_out({x}); }}"));
    }
    piece
}

fn text_piece(procedure: &Procedure, parameter: &Parameter, limit: Option<&str>) -> Piece {
    let x = parameter.ident();
    let mut piece = Piece::default();
    let (before, after) = (&mut piece.before, &mut piece.after);
    let Some(limit) = limit else {
        let strip = if procedure.name.starts_with("Info_") { "stripped" } else { "text" };
        line(before, &format!("let {x} = f::{strip}({x}, {x}_length);"));
        return piece;
    };
    let room = match limit {
        "valuelen" => {
            line(before, &format!("let valuelen = &f::taken(*valuelen, {x}_length);"));
            "f::length(i64::from(*valuelen)) + 1".to_owned()
        }
        limit => format!("<Here as Face>::LIMITS.{limit}"),
    };
    line(before, &format!("let mut {x}_c = f::Text::new({room});"));
    let told = procedure.parameters.iter().find(|p| p.kind == Kind::Logical);
    let condition = told.map_or(String::new(), |p| format!(" && *{} != 0", p.name));
    line(after, &format!("if code == 0{condition} {{ {x}_c.write({x}, {x}_length); }}"));
    piece
}
