//! Writes `glue.rs`: for each procedure one function, generic over the face, that checks
//! and converts the arguments and calls the body.
//!
//! Checks by kind come first, then conversions, the body, and the results: handles and statuses
//! that also went in are written back whatever the body said, everything else on success. Where a
//! procedure has a fast path, that is tried before all of it, and what follows stands in a
//! function of its own so that the fast path keeps its arguments in registers.
//!
//! The text's unsafe blocks all rest on one promise, which `mpi-abi/src/glue.rs` states: the arguments
//! are what MPI requires of the C program.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::bodies::{Body, FastPath, Form, Style};
use crate::convert;
use crate::description::{Direction, Parameter, Procedure, When, camel};
use crate::kind::Kind;
use crate::piece::Piece;
use crate::rust;

/// The file's text.
pub(crate) fn file(procedures: &[Procedure], bodies: &BTreeMap<String, Body>) -> String {
    let mut out = String::new();
    for procedure in procedures {
        out.push_str(&function(procedure, bodies.get(&procedure.name)));
    }
    out
}

fn function(procedure: &Procedure, body: Option<&Body>) -> String {
    let mut parameters = Vec::new();
    for parameter in &procedure.parameters {
        parameters.push(format!("{}: {}", parameter.ident(), rust::glue_type(parameter)));
        if procedure.has_form_flag_after(parameter) {
            parameters.push("large: bool".to_owned());
        }
    }
    let arguments: Vec<String> = procedure.parameters.iter().map(Parameter::ident).collect();
    let (parameters, arguments) = (parameters.join(", "), arguments.join(", "));
    let (name, result) = (procedure.snake(), rust::return_type(procedure, "F"));
    // One piece of code for all names, C's and Fortran's, which jump to it.
    let is_shared =
        body.is_some_and(|body| body.fast_path.is_none() && body.style != Style::Direct);
    let way = if is_shared { "(never)" } else { "" };
    // SAFETY: of the text: the arguments are those of the C caller, see `mpi-abi/src/glue.rs`.
    let mut out = format!(
        "\n/// `MPI_{}`.\n#[inline{way}]\npub unsafe fn {name}<F: Face>({parameters}) -> {result} {{\n",
        procedure.name,
    );
    if let Some(fast_path) = body.and_then(|body| body.fast_path.as_ref()) {
        // SAFETY: of the text: the arguments are those of the C caller, see `mpi-abi/src/glue.rs`.
        let _ = write!(
            out,
            "unsafe {{\nif {}::<F{}>({arguments}) {{\nreturn 0;\n}}\n\
             {name}_in_full::<F>({arguments})\n}}\n}}\n\n\
             #[inline(never)]\nunsafe fn {name}_in_full<F: Face>({parameters}) -> {result} {{\n",
            fast_path.path,
            if fast_path.enters { ", crate::fast::Alone" } else { "" },
        );
    }
    match body {
        Some(body) if body.style == Style::Direct => {
            // SAFETY: of the text: the arguments are those of the C caller, see `mpi-abi/src/glue.rs`.
            let _ = writeln!(out, "unsafe {{ {}::<F>({arguments}) }}", body.path);
        }
        Some(body) => out.push_str(&entry(procedure, body)),
        None => out.push_str(&without_body(procedure)),
    }
    out.push_str("}\n");
    out
}

fn without_body(procedure: &Procedure) -> String {
    let mut out = String::new();
    let mut unused: Vec<String> = procedure.parameters.iter().map(Parameter::ident).collect();
    if procedure.parameters.iter().any(|parameter| procedure.has_form_flag_after(parameter)) {
        unused.push("large".to_owned());
    }
    if !unused.is_empty() {
        let _ = writeln!(out, "let _ = ({},);", unused.join(", "));
    }
    let call = match procedure.missing_tool() {
        Some(class) => format!("crate::direct::tools::no_such::<F>(ErrorClass::{class})"),
        None => {
            let (variant, owner) = (procedure.variant(), owner(procedure));
            format!("entry::unsupported::<F>(Procedure::{variant}, {owner})")
        }
    };
    match &procedure.returns {
        None => {
            let _ = writeln!(out, "{call}");
        }
        Some(kind) => {
            let _ = writeln!(out, "{call};\n{}", rust::nothing(kind));
        }
    }
    out
}

/// Whose error handler is used: an expression of type `Owner`.
fn owner(procedure: &Procedure) -> String {
    if procedure.is_of_a_closed_file() {
        return "Owner::File(FileHandle::NULL)".to_owned();
    }
    let Some(parameter) = procedure.owner() else { return unmade(procedure) };
    let Kind::Handle(handle) = &parameter.kind else { return "Owner::None".to_owned() };
    let name = parameter.ident();
    match parameter.direction {
        Direction::In => format!("Owner::{}(F::{}_in({name}))", handle.face, handle.word),
        // SAFETY: of the text: the arguments are those of the C caller, see `mpi-abi/src/glue.rs`.
        _ => format!(
            "if {name}.is_null() {{ Owner::None }} else {{ Owner::{}(F::{}_in(unsafe {{ *{name} }})) }}",
            handle.face, handle.word
        ),
    }
}

/// The same where the call makes the object, for which it is given a handler (MPI-5.0 §7.4.2, §11.3.1).
fn unmade(procedure: &Procedure) -> String {
    let handle = |direction, word: &str| {
        procedure.parameters.iter().find(|parameter| {
            let is_it = matches!(&parameter.kind, Kind::Handle(handle) if handle.word == word);
            is_it && parameter.direction == direction
        })
    };
    let made = [("comm", "Comm"), ("session", "Session")]
        .into_iter()
        .find(|(word, _)| handle(Direction::Out, word).is_some());
    match (handle(Direction::In, "errhandler"), made) {
        (Some(handler), Some((_, target))) => {
            format!("Owner::Unmade(F::errhandler_in({}), Target::{target})", handler.ident())
        }
        _ => "Owner::None".to_owned(),
    }
}

/// The closure of a fast path for a thread that has a turn, if that path enters the library.
fn in_turn(procedure: &Procedure, FastPath { path, enters }: &FastPath) -> Option<String> {
    let all: Vec<String> = procedure.parameters.iter().map(Parameter::ident).collect();
    let arguments = all.join(", ");
    // SAFETY: of the text: the arguments are those of the C caller, see `mpi-abi/src/glue.rs`.
    let fast = format!("|| unsafe {{ {path}::<F, crate::fast::InTurn>({arguments}) }}, ");
    enters.then_some(fast)
}

fn entry(procedure: &Procedure, body: &Body) -> String {
    let way_in = match procedure.when {
        When::Running => "call",
        When::Start => "call_to_start",
        When::Any => "call_any_time",
    };
    let mut out = String::new();
    let mut whose = owner(procedure);
    if let Some(parameter) = procedure.owner_value()
        && let Kind::Handle(handle) = &parameter.kind
    {
        // Converted once for the error handler and the body.
        let _ = writeln!(out, "let owner = F::{}_in({});", handle.word, parameter.ident());
        whose = format!("Owner::{}(owner)", handle.face);
    }
    let fast = body.fast_path.as_ref().and_then(|fast_path| in_turn(procedure, fast_path));
    let way_in = if fast.is_some() { "call_or" } else { way_in };
    let fast = fast.unwrap_or_default();
    // SAFETY: of the text: the arguments are those of the C caller, see `mpi-abi/src/glue.rs`.
    let _ = writeln!(
        out,
        "entry::{way_in}::<F>(Procedure::{}, {whose}, {fast}|cx| unsafe {{",
        procedure.variant(),
    );
    let (mut all, mut bound) = (Piece::default(), String::new());
    for parameter in &procedure.parameters {
        let mut piece = checks(procedure, parameter);
        let whole = matches!(body.form, Form::Whole | Form::Core);
        let of_the_form = !whole && is_of_the_form(parameter);
        let converted = match body.style {
            Style::Raw if !of_the_form => convert::raw(parameter),
            _ => convert::core(procedure, parameter),
        };
        piece.before.extend(converted.before);
        all.before.extend(piece.before);
        if body.form == Form::Core {
            for argument in converted.arguments {
                bound.push_str(&bind(parameter, argument, &mut all.arguments));
            }
        } else if !of_the_form {
            all.arguments.extend(converted.arguments);
        }
        if procedure.has_form_flag_after(parameter) {
            all.arguments.push("large".to_owned());
        }
        all.always.extend(converted.always);
        all.after.extend(converted.after);
    }
    for line in &all.before {
        let _ = writeln!(out, "{line}");
    }
    out.push_str(&bound);
    let call = call(procedure, body, &all.arguments, &mut out);
    if all.always.is_empty() && all.after.is_empty() {
        let _ = writeln!(out, "{call}");
    } else if all.always.is_empty() {
        let _ = writeln!(out, "{call}?;\n{}\nOk(())", all.after.join("\n"));
    } else {
        let _ = writeln!(out, "let result = {call};\n{}", all.always.join("\n"));
        if all.after.is_empty() {
            let _ = writeln!(out, "result");
        } else {
            let _ = writeln!(out, "result?;\n{}\nOk(())", all.after.join("\n"));
        }
    }
    out.push_str("})\n");
    out
}

/// For a body that is one call of the core: gives an argument of it the parameter's name, or adds what the call leaves
/// to `results`.
fn bind(parameter: &Parameter, argument: String, results: &mut Vec<String>) -> String {
    match argument.strip_prefix("&mut ") {
        Some(held) if parameter.direction == Direction::Out => {
            results.push(held.to_owned());
            String::new()
        }
        _ if argument == parameter.ident() => String::new(),
        _ => format!("let {} = {argument};\n", parameter.ident()),
    }
}

/// The expression that is the procedure's result; what has to come before it goes to `out`.
fn call(procedure: &Procedure, body: &Body, arguments: &[String], out: &mut String) -> String {
    if body.form.of_an_access() {
        let _ = writeln!(out, "let access = {}({});", body.path, arguments.join(", "));
    }
    let generic = if body.style == Style::Raw { "::<F>" } else { "" };
    let passed: String = arguments.iter().map(|argument| format!(", {argument}")).collect();
    let call = format!("{}{generic}(cx{passed})", body.path);
    let (name, list) = (procedure.snake(), arguments.join(", "));
    if procedure.fast && body.form == Form::Run {
        let _ = writeln!(
            out,
            "if cx.collectives().fast_{name}::<false>({list})? {{\nreturn Ok(());\n}}"
        );
    }
    if matches!(body.form, Form::Run | Form::Keep) {
        let _ = writeln!(out, "let prepared = {call}?;");
    }
    match body.form {
        Form::Whole => call,
        Form::Core => match arguments {
            [] => body.path.clone(),
            [held] => format!("{}.map(|made| {held} = made)", body.path),
            all => format!("{}.map(|made| ({}) = made)", body.path, all.join(", ")),
        },
        Form::Run => "cx.collectives().run(&prepared)".to_owned(),
        Form::Begin => {
            let described =
                format!("{call}.and_then(|prepared| cx.collectives().begin(&prepared))");
            let begun = match name.strip_prefix('i') {
                Some(name) if procedure.fast => {
                    let fast = format!(
                        "cx.collectives().begin_fast(|fast| fast.fast_{name}::<true>({list}))?"
                    );
                    format!("match {fast} {{\nSome(made) => Ok(made),\nNone => {described},\n}}")
                }
                _ => described,
            };
            let _ = writeln!(out, "let begun = {begun};");
            "begun.map(|made| request_value = made)".to_owned()
        }
        Form::Keep => "crate::calls::persistent::keep(cx, prepared, F::info_in(info))\
                       .map(|made| request_value = made)"
            .to_owned(),
        Form::Access => "cx.files().access(access).map(|made| status_value = made)".to_owned(),
        Form::Start => "cx.files().start(access).map(|made| request_value = made)".to_owned(),
        Form::Split => "cx.files().begin(access)".to_owned(),
        Form::End => {
            let _ = writeln!(out, "let _ = {};", arguments[1]);
            let split = procedure.name.trim_start_matches("File_").trim_end_matches("_end");
            let split = format!("mpi_core::io::split::Split::{}", camel(split));
            format!(
                "cx.file_mut({}).and_then(|file| file.end_split({split})).map(|made| status_value = made)",
                arguments[0]
            )
        }
    }
}

/// Whether a parameter is no argument of a collective or an access, but of one of its forms.
fn is_of_the_form(parameter: &Parameter) -> bool {
    matches!(parameter.name.as_str(), "request" | "info" | "status")
}

/// The checks that a parameter's kind alone allows.
fn checks(procedure: &Procedure, parameter: &Parameter) -> Piece {
    let mut piece = Piece::default();
    let (name, ident) = (&parameter.name, parameter.ident());
    let Parameter { kind, direction, .. } = parameter;
    if parameter.is_array() {
        let optional = matches!(kind, Kind::Weights | Kind::Status);
        if let [length, ..] = parameter.lengths.as_slice()
            && let Some(length) = procedure.parameters.iter().find(|other| other.name == *length)
            && length.direction == Direction::In
            && !optional
        {
            piece.before.push(format!(
                "args::array({name:?}, {ident}.is_null(), {} > 0)?;",
                length.ident()
            ));
        }
        return piece;
    }
    let class = match kind {
        Kind::Length if name.ends_with("count") => Some("COUNT"),
        Kind::Length if name == "ndims" => Some("DIMS"),
        Kind::Length => Some("ARG"),
        Kind::Poly(poly) => poly.non_negative,
        Kind::Wide(wide) => wide.non_negative,
        _ => None,
    };
    if *direction == Direction::In {
        // Of what may mean nothing the core, which knows whether it does, checks the count.
        if let Some(class) = class.filter(|_| !procedure.is_in_doubt(parameter)) {
            let wide = if *kind == Kind::Length { format!("i64::from({ident})") } else { ident };
            piece
                .before
                .push(format!("args::non_negative({name:?}, {wide}, ErrorClass::{class})?;"));
        }
        return piece;
    }
    let checked_elsewhere = match kind {
        // A caller that asks for the size alone passes no place for the text.
        Kind::Text(Some(limit)) => {
            procedure.length_of(limit).is_some_and(|length| length.direction == Direction::InOut)
        }
        Kind::Buffer | Kind::Status | Kind::State => true,
        Kind::Argc | Kind::Argv | Kind::ErrorCodes => true,
        _ => false,
    };
    if !parameter.nullable && !checked_elsewhere {
        piece.before.push(format!("args::out({name:?}, {ident}.is_null())?;"));
    }
    piece
}
