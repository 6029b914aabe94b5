//! Writes `{standard,mpich,openmpi}_exports.rs`: the symbols of a face.
//!
//! `PMPI_X` calls the glue and `MPI_X` calls `PMPI_X`, so that a tool may come between
//! (MPI-5.0 §15.2). The including module names its face `Here`.

use std::fmt::Write;

use crate::description::{Parameter, Procedure};
use crate::extra::{Extra, Form};
use crate::rust;

/// The file's text for the face called `face`.
pub fn file(procedures: &[Procedure], extras: &[Extra], face: &str) -> String {
    let mut out = String::from(
        "use std::ffi::{c_char, c_int, c_void};\n\n\
         use mpi_abi::face::Face;\nuse mpi_abi::procedure::Procedure;\n\
         use mpi_abi::{args, glue, twins};\n",
    );
    for procedure in procedures.iter().filter(|procedure| procedure.is_in(face)) {
        twins(&mut out, &format!("MPI_{}", procedure.name), procedure, false);
        if procedure.large {
            twins(&mut out, &format!("MPI_{}_c", procedure.name), procedure, true);
        }
    }
    for extra in extras.iter().filter(|extra| extra.face == face) {
        match &extra.form {
            Form::Alias(of) => {
                let found = procedures.iter().find(|other| *of == format!("MPI_{}", other.name));
                twins(&mut out, &extra.name, found.expect("an alias of a procedure"), false);
            }
            _ => further(&mut out, extra),
        }
    }
    out
}

/// Names of the functions that [`file`] exports.
pub fn names(procedures: &[Procedure], extras: &[Extra], face: &str) -> Vec<String> {
    let mut names = Vec::new();
    for procedure in procedures.iter().filter(|procedure| procedure.is_in(face)) {
        for suffix in if procedure.large { ["", "_c"].as_slice() } else { &[""] } {
            names.push(format!("MPI_{}{suffix}", procedure.name));
            names.push(format!("PMPI_{}{suffix}", procedure.name));
        }
    }
    for extra in extras.iter().filter(|extra| extra.face == face && extra.is_generated()) {
        names.push(extra.name.clone());
        if matches!(extra.form, Form::Alias(_)) {
            names.push(format!("P{}", extra.name));
        }
    }
    names.sort();
    names
}

/// The export of a procedure, in its `_c` form if `large`, by the name `name` and by that for profiling.
fn twins(out: &mut String, name: &str, procedure: &Procedure, large: bool) {
    let list = |f: &dyn Fn(&Parameter) -> String| {
        rust::parameters(procedure, large).map(f).collect::<Vec<_>>().join(", ")
    };
    let declared =
        list(&|p: &Parameter| format!("{}: {}", p.ident(), rust::export_type(p, large, "Here")));
    let mut glue = Vec::new();
    for parameter in &procedure.parameters {
        glue.push(rust::glue_argument(parameter, large));
        if procedure.has_form_flag_after(parameter) {
            glue.push(large.to_string());
        }
    }
    let returns = rust::return_type(procedure, "Here");
    let _ = write!(
        out,
        "\ntwins!(P{name}, {name},\n    \
         ({declared}) -> {returns},\n    \
         glue::{}::<Here>({}));\n",
        procedure.snake(),
        glue.join(", "),
    );
}

fn further(out: &mut String, extra: &Extra) {
    let name = &extra.name;
    let (head, body) = match extra.form {
        Form::Own | Form::Extension | Form::Data(_) | Form::Alias(_) => return,
        Form::Zero => (format!("extern \"C-unwind\" fn {name}()"), "0".to_owned()),
        Form::Denied => (
            format!("unsafe extern \"C-unwind\" fn {name}(_what: c_int, answer: *mut c_int)"),
            // SAFETY: of the text: `answer` is the caller's place for an int, or null.
            "unsafe { glue::denied(answer) }".to_owned(),
        ),
        Form::Unsupported => (
            format!("extern \"C-unwind\" fn {name}()"),
            format!("glue::extension::<Here>(Procedure::{})", extra.variant()),
        ),
    };
    let _ = write!(out, "\n#[unsafe(no_mangle)]\npub {head} -> c_int {{\n    {body}\n}}\n");
}
