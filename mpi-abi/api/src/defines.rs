//! The part of `mpi.h` before the prototypes: types of handles and callbacks, and the constants.

use std::fmt::Write as _;

use anyhow::{Result, ensure};

use crate::abi_values::Constants;
use crate::kind::HANDLES;

/// Handles of the tool information interface.
const TOOLS: &[&str] =
    &["enum", "cvar_handle", "pvar_handle", "pvar_session", "event_registration", "event_instance"];

/// Constants of pointer types, by name.
const POINTERS: &[(&str, &str)] = &[
    ("MPI_BOTTOM", "void *"),
    ("MPI_IN_PLACE", "void *"),
    ("MPI_BUFFER_AUTOMATIC", "void *"),
    ("MPI_ARGV_NULL", "char **"),
    ("MPI_ARGVS_NULL", "char ***"),
    ("MPI_ERRCODES_IGNORE", "int *"),
    ("MPI_STATUS_IGNORE", "MPI_Status *"),
    ("MPI_STATUSES_IGNORE", "MPI_Status *"),
    ("MPI_UNWEIGHTED", "int *"),
    ("MPI_WEIGHTS_EMPTY", "int *"),
    ("MPI_DISPLACEMENT_CURRENT", "MPI_Offset"),
];

/// Function types: what each returns, its name, its parameters.
const CALLBACKS: &[(&str, &str, &str)] = &[
    ("void", "MPI_User_function", "void *invec, void *inoutvec, int *len, MPI_Datatype *datatype"),
    (
        "void",
        "MPI_User_function_c",
        "void *invec, void *inoutvec, MPI_Count *len, MPI_Datatype *datatype",
    ),
    ("int", "MPI_Grequest_query_function", "void *extra_state, struct MPI_Status *status"),
    ("int", "MPI_Grequest_free_function", "void *extra_state"),
    ("int", "MPI_Grequest_cancel_function", "void *extra_state, int complete"),
    (
        "int",
        "MPI_Datarep_extent_function",
        "MPI_Datatype datatype, MPI_Aint *extent, void *extra_state",
    ),
    (
        "int",
        "MPI_Datarep_conversion_function",
        "void *userbuf, MPI_Datatype datatype, int count, void *filebuf,\n    \
         MPI_Offset position, void *extra_state",
    ),
    (
        "int",
        "MPI_Datarep_conversion_function_c",
        "void *userbuf, MPI_Datatype datatype, MPI_Count count, void *filebuf,\n    \
         MPI_Offset position, void *extra_state",
    ),
    ("void", "MPI_Comm_errhandler_function", "MPI_Comm *comm, int *error_code, ..."),
    ("void", "MPI_File_errhandler_function", "MPI_File *file, int *error_code, ..."),
    ("void", "MPI_Win_errhandler_function", "MPI_Win *win, int *error_code, ..."),
    ("void", "MPI_Session_errhandler_function", "MPI_Session *session, int *error_code, ..."),
    ("void", "MPI_Comm_errhandler_fn", "MPI_Comm *comm, int *error_code, ..."),
    ("void", "MPI_File_errhandler_fn", "MPI_File *file, int *error_code, ..."),
    ("void", "MPI_Win_errhandler_fn", "MPI_Win *win, int *error_code, ..."),
    ("void", "MPI_Session_errhandler_fn", "MPI_Session *session, int *error_code, ..."),
    (
        "void",
        "MPI_T_event_cb_function",
        "MPI_T_event_instance event_instance,\n    \
         MPI_T_event_registration event_registration, MPI_T_cb_safety cb_safety, void *user_data",
    ),
    (
        "void",
        "MPI_T_event_free_cb_function",
        "MPI_T_event_registration event_registration,\n    \
         MPI_T_cb_safety cb_safety, void *user_data",
    ),
    (
        "void",
        "MPI_T_event_dropped_cb_function",
        "MPI_Count count,\n    MPI_T_event_registration event_registration, int source_index, \
         MPI_T_cb_safety cb_safety,\n    void *user_data",
    ),
];

/// Kinds of object with attributes: prefix of the function types, handle type, prefix of the
/// predefined functions.
const ATTRIBUTES: &[(&str, &str, &str)] = &[
    ("MPI_Comm_", "MPI_Comm comm", "MPI_COMM_"),
    ("MPI_Type_", "MPI_Datatype datatype", "MPI_TYPE_"),
    ("MPI_Win_", "MPI_Win win", "MPI_WIN_"),
    ("MPI_", "MPI_Comm comm", "MPI_"),
];

/// Groups of constants and what stands above each in the header; handles come by their types.
const TITLES: &[(&str, &str)] = &[
    ("number", "Version, and numbers with a meaning of their own"),
    ("limit", "Limits"),
    ("rank", "Ranks"),
    ("tag", "Tags"),
    ("address", "Addresses"),
    ("error_class", "Error classes"),
    ("thread_level", "Levels of thread support"),
    ("comparison", "Results of comparisons"),
    ("topology", "Kinds of topologies"),
    ("split_type", "Kinds of splits"),
    ("combiner", "How a datatype was made"),
    ("order", "Orders of arrays"),
    ("distribution", "Distributions of arrays"),
    ("type_class", "Classes of Fortran types"),
    ("lock_type", "Kinds of locks"),
    ("win_flavor", "Flavors of windows"),
    ("win_model", "Memory models of windows"),
    ("rma_assert", "Assertions about windows; bits"),
    ("file_mode", "Modes of files; bits"),
    ("seek", "Where a file position counts from"),
    ("keyval", "Predefined attributes"),
    ("tool_verbosity", "Verbosity of variables of the tool interface"),
    ("tool_bind", "What such a variable is bound to"),
    ("tool_scope", "Where setting such a variable has effect"),
    ("tool_pvar_class", "Classes of performance variables"),
];

/// Tells the compiler to keep the warnings that the program asks for (`-Wold-style-cast -Werror`)
/// away from what stands in macros here. Lists of dependencies (`-MM`) name the header all the same.
const SYSTEM_HEADER: &str = "
#if defined(__GNUC__)
#pragma GCC system_header
#endif
";

/// The text.
pub(crate) fn text(constants: &Constants) -> Result<String> {
    let mut out = SYSTEM_HEADER.to_owned();
    out.push_str("\n#define MPI_ABI_VERSION 1\n#define MPI_ABI_SUBVERSION 0\n\n");
    out.push_str("typedef intptr_t MPI_Aint;\ntypedef int64_t MPI_Offset;\n");
    out.push_str("typedef int64_t MPI_Count;\n\nstruct MPI_Status;\n\n");
    for handle in HANDLES {
        let tag = handle.c.replace("MPI_", "MPI_ABI_");
        let _ = writeln!(out, "typedef struct {tag} *{};", handle.c);
    }
    out.push_str(
        "\n/* Fortran's INTEGER; handles in it (MPI-5.0 2.6.4 lets these be macros). */\n",
    );
    out.push_str("typedef int MPI_Fint;\n");
    for handle in HANDLES {
        let word = handle.c.replace("Datatype", "Type");
        let _ = writeln!(out, "#define {word}_c2f(handle) {word}_toint(handle)");
        let _ = writeln!(out, "#define {word}_f2c(integer) {word}_fromint(integer)");
    }
    out.push('\n');
    for tool in TOOLS {
        let _ = writeln!(out, "typedef struct MPI_T_{tool}_t *MPI_T_{tool};");
    }
    for (group, title) in TITLES {
        let _ = writeln!(out, "\n/* {title}. */");
        for (name, value) in values(constants, group)? {
            define(&mut out, &name, value, None);
        }
    }
    for handle in HANDLES {
        let _ = writeln!(out, "\n/* {}. */", handle.c);
        for (name, value) in values(constants, handle.word)? {
            define(&mut out, &name, value, Some(handle.c));
        }
    }
    enumeration(&mut out, constants, "MPI_T_cb_safety", "tool_safety")?;
    enumeration(&mut out, constants, "MPI_T_source_order", "tool_ordering")?;
    functions(&mut out);
    Ok(out)
}

/// Names and standard values of a group, in the order of their values.
fn values(constants: &Constants, group: &str) -> Result<Vec<(String, i64)>> {
    let values: Vec<(String, i64)> = constants
        .group(group)
        .iter()
        .filter_map(|(name, values)| Some((name.clone(), values.standard()?)))
        .collect();
    ensure!(!values.is_empty(), "constants.toml has no group {group}");
    Ok(values)
}

fn define(out: &mut String, name: &str, value: i64, handle: Option<&str>) {
    let pointer = POINTERS.iter().find(|(pointer, _)| *pointer == name).map(|(_, c)| *c);
    let _ = match (handle, pointer) {
        (Some(c), _) => writeln!(out, "#define {name} (({c}){value:#x})"),
        (None, Some(c)) => writeln!(out, "#define {name} (({c}){value})"),
        (None, None) => writeln!(out, "#define {name} ({value})"),
    };
}

fn enumeration(out: &mut String, constants: &Constants, c: &str, group: &str) -> Result<()> {
    let values: Vec<String> = values(constants, group)?
        .into_iter()
        .map(|(name, value)| format!("    {name} = {value}"))
        .collect();
    let _ = writeln!(out, "\ntypedef enum {c} {{\n{}\n}} {c};", values.join(",\n"));
    Ok(())
}

fn functions(out: &mut String) {
    out.push_str("\n/* Functions of the program that the library calls. */\n");
    for (returns, name, parameters) in CALLBACKS {
        let _ = writeln!(out, "typedef {returns} ({name})({parameters});");
    }
    for (prefix, object, _) in ATTRIBUTES {
        let (copy, delete) = attribute_functions(prefix);
        let _ = writeln!(
            out,
            "typedef int ({copy})({object}, int keyval, void *extra_state,\n    \
             void *attribute_val_in, void *attribute_val_out, int *flag);\n\
             typedef int ({delete})({object}, int keyval, void *attribute_val,\n    \
             void *extra_state);"
        );
    }
    out.push_str("\n/* Functions that the library has ready. */\n");
    for (prefix, _, predefined) in ATTRIBUTES {
        let (copy, delete) = attribute_functions(prefix);
        let _ = writeln!(
            out,
            "#define {predefined}NULL_COPY_FN (({copy} *)0)\n\
             #define {predefined}DUP_FN (({copy} *)1)\n\
             #define {predefined}NULL_DELETE_FN (({delete} *)0)"
        );
    }
    out.push_str(
        "#define MPI_CONVERSION_FN_NULL ((MPI_Datarep_conversion_function *)0)\n\
         #define MPI_CONVERSION_FN_NULL_C ((MPI_Datarep_conversion_function_c *)0)\n\n\
         /* Handles of the tool interface. */\n\
         #define MPI_T_ENUM_NULL ((MPI_T_enum)0)\n\
         #define MPI_T_CVAR_HANDLE_NULL ((MPI_T_cvar_handle)0)\n\
         #define MPI_T_PVAR_HANDLE_NULL ((MPI_T_pvar_handle)0)\n\
         #define MPI_T_PVAR_SESSION_NULL ((MPI_T_pvar_session)0)\n\
         #define MPI_T_PVAR_ALL_HANDLES ((MPI_T_pvar_handle)1)\n",
    );
}

/// The types of copy and delete functions; those of MPI-1 have no `_attr` in their names.
fn attribute_functions(prefix: &str) -> (String, String) {
    match prefix {
        "MPI_" => ("MPI_Copy_function".to_owned(), "MPI_Delete_function".to_owned()),
        _ => (format!("{prefix}copy_attr_function"), format!("{prefix}delete_attr_function")),
    }
}
