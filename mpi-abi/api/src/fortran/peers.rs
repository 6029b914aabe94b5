//! Writes `fortran_mpich.rs` and `fortran_openmpi.rs`: names that programs of
//! `mpi` and `mpi_f08` import when they were compiled by gfortran with the modules of those
//! libraries, read off such programs and `nm` of Debian's packages (`docs/fortran.md`).

use std::collections::BTreeMap;
use std::fmt::Write;

use super::entries::{DETACH, forms};
use super::has;
use super::sections::has_choice;
use crate::description::Procedure;

/// Handles as those modules name them.
pub(super) const HANDLES: &[&str] = &[
    "comm",
    "datatype",
    "errhandler",
    "file",
    "group",
    "info",
    "message",
    "op",
    "request",
    "win",
    "session",
];

/// Objects with attributes.
const OBJECTS: &[&str] = &["comm", "type", "win"];

/// Types of Open MPI's `MPI_SIZEOF` and the entry point that answers alike.
const OPENMPI_SIZES: &[(&str, &str)] = &[
    ("int8", "i1"),
    ("int16", "i2"),
    ("int32", "i4"),
    ("int64", "i8"),
    ("real32", "r4"),
    ("real64", "r8"),
    ("real128", "r16"),
    ("complex32", "c4"),
    ("complex64", "c8"),
    ("complex128", "c16"),
    ("logical", "l4"),
    ("character", "i1"),
];

/// The same for MPICH's, in `mpi` and in `mpi_f08`.
pub(super) const MPICH_SIZES: &[(&str, &str)] = &[
    ("sizeofs_MOD_mpi_sizeof_ch", "i1"),
    ("sizeofs_MOD_mpi_sizeof_chv", "i1"),
    ("sizeofs_MOD_mpi_sizeof_cx", "c4"),
    ("sizeofs_MOD_mpi_sizeof_cxv", "c4"),
    ("sizeofs_MOD_mpi_sizeof_d", "r8"),
    ("sizeofs_MOD_mpi_sizeof_dv", "r8"),
    ("sizeofs_MOD_mpi_sizeof_i", "i4"),
    ("sizeofs_MOD_mpi_sizeof_iv", "i4"),
    ("sizeofs_MOD_mpi_sizeof_i1", "i1"),
    ("sizeofs_MOD_mpi_sizeof_i1v", "i1"),
    ("sizeofs_MOD_mpi_sizeof_i2", "i2"),
    ("sizeofs_MOD_mpi_sizeof_i2v", "i2"),
    ("sizeofs_MOD_mpi_sizeof_i8", "i8"),
    ("sizeofs_MOD_mpi_sizeof_i8v", "i8"),
    ("sizeofs_MOD_mpi_sizeof_l", "l4"),
    ("sizeofs_MOD_mpi_sizeof_lv", "l4"),
    ("sizeofs_MOD_mpi_sizeof_r", "r4"),
    ("sizeofs_MOD_mpi_sizeof_rv", "r4"),
    ("f08_types_MOD_mpi_sizeof_character", "i1"),
    ("f08_types_MOD_mpi_sizeof_logical", "l4"),
    ("f08_types_MOD_mpi_sizeof_xint8", "i1"),
    ("f08_types_MOD_mpi_sizeof_xint16", "i2"),
    ("f08_types_MOD_mpi_sizeof_xint32", "i4"),
    ("f08_types_MOD_mpi_sizeof_xint64", "i8"),
    ("f08_types_MOD_mpi_sizeof_xreal32", "r4"),
    ("f08_types_MOD_mpi_sizeof_xreal64", "r8"),
    ("f08_types_MOD_mpi_sizeof_xreal128", "r16"),
    ("f08_types_MOD_mpi_sizeof_xcomplex32", "c4"),
    ("f08_types_MOD_mpi_sizeof_xcomplex64", "c8"),
    ("f08_types_MOD_mpi_sizeof_xcomplex128", "c16"),
];

/// Each entry point with a further name of its own.
fn names(procedures: &[Procedure], face: &str) -> Vec<(String, String)> {
    let mut all = Vec::new();
    let mut name = |function: &str, name: String| all.push((function.to_owned(), name));
    for object in OBJECTS {
        for function in ["dup_fn", "null_copy_fn", "null_delete_fn"] {
            let wide = format!("{function}_wide");
            name(&wide, format!("__mpi_f08_callbacks_MOD_mpi_{object}_{function}"));
        }
    }
    for function in ["aint_add", "aint_diff", "wtime", "wtick"] {
        for prefix in ["mpi", "pmpi"] {
            name(function, format!("{prefix}_{function}_f08_"));
        }
    }
    for handle in HANDLES {
        if face == "openmpi" {
            name("eq", format!("__mpi_f08_types_MOD_ompi_{handle}_op_eq"));
            name("ne", format!("__mpi_f08_types_MOD_ompi_{handle}_op_ne"));
            continue;
        }
        for (function, word) in [("eq", "eq"), ("ne", "neq")] {
            name(function, format!("__mpi_f08_types_MOD_mpi_{handle}_{word}"));
            name(function, format!("__mpi_f08_types_MOD_mpi_{handle}_f08_{word}_f"));
            name(function, format!("__mpi_f08_types_MOD_mpi_{handle}_f_{word}_f08"));
            name(function, format!("__mpi_constants_MOD_{handle}{word}"));
        }
    }
    if face == "mpich" {
        for function in ["conversion_fn_null", "conversion_fn_null_c"] {
            name("conversion_fn_null", format!("__mpi_f08_callbacks_MOD_mpi_{function}"));
        }
        for function in ["status_f2f08", "status_f082f"] {
            name(function, format!("__mpi_f08_types_MOD_mpi_{function}"));
        }
        name("f_sync_reg", "pmpir_f_sync_reg_f08ts_".to_owned());
        for procedure in super::procedures(procedures).filter(|p| has(p, "mpi_f08")) {
            of_mpich(procedure, &mut name);
        }
        for (symbol, ending) in MPICH_SIZES {
            name(&format!("sizeof_{ending}"), format!("__mpi_{symbol}"));
        }
        return all;
    }
    let ranks: Vec<String> = std::iter::once("scalar".to_owned())
        .chain((1..=15).map(|rank| format!("r{rank}")))
        .collect();
    for (of, ending) in OPENMPI_SIZES {
        for rank in &ranks {
            for prefix in ["mpi", "pmpi"] {
                name(&format!("sizeof_{ending}"), format!("{prefix}_sizeof_{of}_{rank}_"));
            }
        }
    }
    all
}

/// MPICH's names of a procedure of `mpi_f08`: those with large counts, and those for profiling.
fn of_mpich(procedure: &Procedure, name: &mut impl FnMut(&str, String)) {
    let snake = procedure.snake();
    for large in forms(procedure) {
        let ending = if large { "large_" } else { "" };
        for prefix in ["mpi", "pmpi", "pmpir"] {
            if !large && prefix != "pmpir" {
                continue; // everybody's
            }
            let function = match large {
                true => format!("{snake}_c"),
                false if DETACH.contains(&&*procedure.name) => format!("{snake}_f08"),
                false => snake.clone(),
            };
            if has_choice(procedure) {
                name(&format!("{function}_f08ts"), format!("{prefix}_{snake}_f08ts_{ending}"));
            }
            name(&function, format!("{prefix}_{snake}_f08_{ending}"));
        }
        // Intel MPI's modules put it this way.
        if large && has_choice(procedure) {
            name(&format!("{snake}_c_f08ts"), format!("pmpir_{snake}_c_f08ts_"));
        } else if large {
            name(&format!("{snake}_c"), format!("pmpir_{snake}_c_f08_"));
        }
    }
}

/// The file's text for a face.
pub(crate) fn file(procedures: &[Procedure], face: &str) -> String {
    let mut by_function: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (function, name) in names(procedures, face) {
        by_function.entry(function).or_default().push(name);
    }
    let mut out = String::new();
    for (function, names) in by_function {
        let _ = writeln!(out, "fortran_names!({function}: {});", names.join(" "));
    }
    out
}
