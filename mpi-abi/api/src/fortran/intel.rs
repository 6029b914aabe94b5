//! Writes `fortran_intel.rs`: names of Intel's `libmpifort.so.12` that MPICH's has not, read
//! off it with nm. Its modules are compiled by Intel's compiler, which calls the procedure `p` of the
//! module `m` `m_mp_p_`, and gives a constant of a derived type, which a handle of `mpi_f08` is, a
//! place of its own in the module's library.

use std::fmt::Write;

use anyhow::Result;

use super::entries::spellings_of;
use super::peers::{HANDLES, MPICH_SIZES};
use crate::abi_values::{Constants, HANDLE_KINDS};
use crate::description::camel;

/// The module of the types and operators of `mpi_f08`.
const TYPES: &str = "mpi_f08_types_mp_mpi";

/// Handles that `mpi_f08` converts between C and Fortran, as the C functions name them.
const CONVERTED: &[&str] =
    &["comm", "errhandler", "group", "info", "message", "op", "request", "session", "type", "win"];

/// Handles that have a number in the standard's ABI, which is that of Fortran (MPI-5.0 §20.4).
const NUMBERED: &[&str] = &[
    "comm",
    "errhandler",
    "file",
    "group",
    "info",
    "message",
    "op",
    "request",
    "session",
    "type",
    "win",
];

/// Procedures that are not part of MPI, with the number of their arguments before the error code.
const REFUSED: &[(&str, usize)] = &[
    ("Comm_agree", 2),
    ("Comm_failure_ack", 1),
    ("Comm_failure_get_acked", 2),
    ("Comm_get_failed", 2),
    ("Comm_revoke", 1),
    ("Comm_shrink", 2),
    ("Comm_test_threadcomm", 2),
    ("Get_notify", 9),
    ("Put_notify", 9),
    ("Win_create_notify", 2),
    ("Win_free_notify", 1),
    ("Win_get_notify", 3),
    ("Win_get_notify_request", 4),
    ("Win_set_notify", 3),
];

/// Queries of devices, which answer no.
const QUERIES: &[&str] = &["query_cuda_support", "query_ze_support"];

/// Each function with its further names.
fn names() -> Vec<(String, Vec<String>)> {
    let mut all = vec![
        ("denied".to_owned(), QUERIES.iter().flat_map(|name| extension(name)).collect()),
        ("toint".to_owned(), NUMBERED.iter().flat_map(|name| numbered(name)).collect()),
        (
            "conversion_fn_null".to_owned(),
            vec!["mpi_f08_callbacks_mp_mpi_conversion_fn_null_c_".to_owned()],
        ),
    ];
    for (word, long) in [("eq", "eq"), ("ne", "neq")] {
        let names = HANDLES.iter().flat_map(|handle| {
            [
                format!("{TYPES}_{handle}_{long}_"),
                format!("{TYPES}_{handle}_f08_{word}_f_"),
                format!("{TYPES}_{handle}_f_{word}_f08_"),
                format!("mpi_constants_mp_{handle}{long}_"),
            ]
        });
        all.push((word.to_owned(), names.collect()));
    }
    let mut converted: Vec<String> = CONVERTED
        .iter()
        .flat_map(|handle| ["c2f", "f2c"].map(|way| format!("{TYPES}_{handle}_{way}_")))
        .collect();
    converted.push("mpi_f08_types_mp_pmpi_win_c2f_".to_owned());
    all.push(("same".to_owned(), converted));
    for way in ["f2f08", "f082f"] {
        let names =
            ["mpi", "pmpi"].map(|prefix| format!("mpi_f08_types_mp_{prefix}_status_{way}_"));
        all.push((format!("status_{way}"), names.to_vec()));
    }
    let assigned = ["c_assgn_f08", "c_assgn_f", "f08_assgn_c", "f_assgn_c"];
    all.push((
        "assign_status".to_owned(),
        assigned.iter().map(|way| format!("{TYPES}_status_{way}_")).collect(),
    ));
    for (symbol, ending) in MPICH_SIZES {
        let name = format!("mpi_{}_", symbol.replace("_MOD_", "_mp_"));
        all.push((format!("sizeof_{ending}"), vec![name]));
    }
    for (name, _) in REFUSED {
        all.push((refused(name), extension(&name.to_lowercase())));
    }
    all
}

fn refused(name: &str) -> String {
    format!("mpix_{}_refused", name.to_lowercase())
}

/// The spellings of what is not part of MPI.
fn extension(name: &str) -> Vec<String> {
    spellings_of(["mpix", "pmpix"], name).to_vec()
}

fn numbered(handle: &str) -> Vec<String> {
    spellings_of(["mpi", "pmpi"], &format!("{handle}_toint")).to_vec()
}

/// The names that are exported beside those of every face, of MPICH and of the constants.
pub fn symbols() -> Vec<String> {
    names().into_iter().flat_map(|(_, names)| names).collect()
}

/// The file's text.
pub(crate) fn file() -> Result<String> {
    let mut out = String::from("use f::intel::{assign_status, denied, same, toint};\n\n");
    for (name, arguments) in REFUSED {
        let function = refused(name);
        let before = "_: *mut c_int, ".repeat(*arguments);
        let variant = camel(&format!("MPIX_{name}"));
        // SAFETY: of the text: the caller is a Fortran program, see `mpi-abi/src/fortran/mod.rs`.
        let _ = writeln!(
            out,
            "unsafe extern \"C-unwind\" fn {function}({before}ierror: *mut c_int) {{ unsafe {{ \
             f::done(ierror, glue::extension::<Here>(Procedure::{variant})) }} }}"
        );
    }
    for (function, names) in names() {
        let _ = writeln!(out, "fortran_names!({function}: {});", names.join(" "));
    }
    let constants = Constants::load()?;
    let groups = HANDLE_KINDS.iter().map(|(group, _)| *group).chain(["alias"]);
    for (name, values) in groups.flat_map(|group| constants.group(group)) {
        if let Some(value) = values.mpich {
            let _ = writeln!(
                out,
                "#[unsafe(no_mangle)]\n#[allow(non_upper_case_globals)]\n\
                 pub static mpi_f08_compile_constants_mp_{}_: c_int = {value:#x}u32 as c_int;",
                name.to_lowercase()
            );
        }
    }
    Ok(out)
}
