//! The table of procedures for the fuzzer, written in C from the library's description of them.

use mpi_api::description::{Direction, Parameter, Procedure};
use mpi_api::kind::Kind;
use std::fmt::Write as _;

/// What is not called: what begins and ends MPI, and what waits for others that are not there.
const LEFT_OUT: &[&str] = &[
    "Init",
    "Init_thread",
    "Finalize",
    "Abort",
    "Comm_spawn",
    "Comm_spawn_multiple",
    "Comm_accept",
    "Comm_connect",
    "Comm_join",
];

/// The text of `table.c` for a face.
pub(crate) fn table(procedures: &[Procedure], face: &str) -> String {
    let mut out = String::from("#include \"fuzz.h\"\n\nconst struct procedure procedures[] = {\n");
    let mut count = 0;
    let called =
        |procedure: &&Procedure| procedure.is_in(face) && !LEFT_OUT.contains(&&*procedure.name);
    for procedure in procedures.iter().filter(called) {
        for large in if procedure.large { &[false, true][..] } else { &[false] } {
            out.push_str(&entry(procedure, *large));
            count += 1;
        }
    }
    let _ = writeln!(out, "}};\nconst int procedure_count = {count};");
    out
}

fn entry(procedure: &Procedure, large: bool) -> String {
    let parameters: Vec<&Parameter> =
        procedure.parameters.iter().filter(|parameter| large || !parameter.large_only).collect();
    let suffix = if large { "_c" } else { "" };
    // The conversions of handles return integers.
    let converts = procedure.name.ends_with("_c2f") && parameters.len() == 1;
    let error = u8::from(procedure.returns.is_none() && !converts);
    let data = u8::from(parameters.iter().any(|parameter| parameter.kind == Kind::Buffer));
    let mut out = format!(
        "    {{\"MPI_{}{suffix}\", {error}, {data}, {}, {{\n",
        procedure.name,
        parameters.len()
    );
    for parameter in &parameters {
        out.push_str(&line(parameter, &parameters, large));
    }
    out.push_str("    }},\n");
    out
}

fn line(parameter: &Parameter, all: &[&Parameter], large: bool) -> String {
    let (kind, word) = kind_and_word(&parameter.kind);
    let way = match parameter.direction {
        Direction::In => "IN",
        Direction::Out => "OUT",
        Direction::InOut => "INOUT",
    };
    let position = |name: &str| all.iter().position(|other| other.name == name);
    let length = match (&parameter.kind, parameter.lengths.first()) {
        (Kind::Text(Some(limit)), _) => all
            .iter()
            .position(|other| other.kind == Kind::TextLength && other.name == *limit)
            .map_or("NO_LENGTH".into(), |at| at.to_string()),
        (_, None) => "NO_LENGTH".into(),
        (_, Some(name)) => position(name).map_or("ANY_LENGTH".into(), |at| at.to_string()),
    };
    let array = match parameter.lengths.get(1) {
        Some(inner) => inner.clone(),
        None => u8::from(parameter.is_array()).to_string(),
    };
    let says = all.iter().any(|other| other.lengths.first() == Some(&parameter.name))
        || parameter.kind == Kind::TextLength;
    format!(
        "        {{\"{}\", {kind}, {way}, \"{word}\", {}, {array}, {length}, {}}},\n",
        parameter.name,
        size(&parameter.kind, large),
        u8::from(says)
    )
}

/// The fuzzer's kind, and the word that says more.
fn kind_and_word(kind: &Kind) -> (&'static str, String) {
    let plain = |kind| (kind, String::new());
    match kind {
        Kind::Handle(handle) if handle.word == "file" => plain("FILE_HANDLE"),
        Kind::Handle(handle) => (HANDLES[handle_index(handle.word)], String::new()),
        Kind::Tool(c) => ("TOOL", c.clone()),
        Kind::Buffer => plain("BUFFER"),
        Kind::Address => plain("ADDRESS"),
        Kind::Attribute | Kind::State | Kind::Object => plain("PLACE"),
        Kind::FortranStatus | Kind::Fortran08Status | Kind::ErrorCodes | Kind::Argc => {
            plain("PLACE")
        }
        Kind::Rank => plain("RANK"),
        Kind::Tag => plain("TAG"),
        Kind::Logical => plain("LOGICAL"),
        Kind::Error => plain("ERROR_CODE"),
        Kind::Constant(constant) => ("CONSTANT", constant.word.to_owned()),
        Kind::Distribution => ("CONSTANT", "distribution".to_owned()),
        Kind::DistArg => ("CONSTANT", "dist_arg".to_owned()),
        Kind::Weights => plain("WEIGHTS"),
        Kind::Length => ("COUNT", "length".to_owned()),
        Kind::Wide(wide) => ("COUNT", wide.word.to_owned()),
        Kind::Poly(poly) => ("COUNT", poly.word.to_owned()),
        Kind::Status => plain("STATUS"),
        Kind::Text(None) => plain("TEXT"),
        Kind::Text(Some(_)) => plain("TEXT_OUT"),
        Kind::TextLength => plain("TEXT_LENGTH"),
        Kind::Texts | Kind::TextArrays | Kind::Argv => plain("TEXTS"),
        Kind::Function(name) | Kind::PolyFunction(name) => ("FUNCTION", name.clone()),
        Kind::Int | Kind::FortranInteger | Kind::Double => plain("INT"),
    }
}

const HANDLES: [&str; 10] = [
    "COMM",
    "GROUP",
    "DATATYPE",
    "OP",
    "REQUEST",
    "ERRHANDLER",
    "INFO",
    "WIN",
    "SESSION",
    "MESSAGE",
];

fn handle_index(word: &str) -> usize {
    let upper = word.to_uppercase();
    HANDLES
        .iter()
        .position(|known| *known == upper)
        .expect("a kind of handle that the fuzzer knows")
}

/// The bytes of a value; of a text that leaves, the most that it may have.
fn size(kind: &Kind, large: bool) -> String {
    match kind {
        Kind::Text(Some(limit)) => match limit.as_str() {
            "library_version" => "MPI_MAX_LIBRARY_VERSION_STRING",
            "processor_name" => "MPI_MAX_PROCESSOR_NAME",
            "error" => "MPI_MAX_ERROR_STRING",
            "object_name" => "MPI_MAX_OBJECT_NAME",
            "port_name" => "MPI_MAX_PORT_NAME",
            "datarep" => "MPI_MAX_DATAREP_STRING",
            "info_key" => "MPI_MAX_INFO_KEY",
            _ => "1",
        }
        .to_owned(),
        Kind::Tool(_) => "sizeof(void *)".to_owned(),
        Kind::Status => "sizeof(MPI_Status)".to_owned(),
        Kind::Handle(handle) => format!("sizeof({})", handle.c),
        _ => match kind.c_type(large).as_str() {
            "MPI_Count" | "MPI_Aint" | "MPI_Offset" => "sizeof(MPI_Count)".to_owned(),
            _ => "sizeof(int)".to_owned(),
        },
    }
}
