//! The named constants and special variables, for `mpif.h` and the modules (MPI-5.0 §2.5.4,
//! Annex A.1).

use std::fmt::Write as _;

use anyhow::Result;

use crate::abi_values::Constants;
use crate::kind::HANDLES;

/// Groups of plain INTEGER constants.
const GROUPS: &[&str] = &[
    "error_class",
    "limit",
    "number",
    "rank",
    "tag",
    "thread_level",
    "comparison",
    "topology",
    "split_type",
    "combiner",
    "order",
    "distribution",
    "type_class",
    "lock_type",
    "win_flavor",
    "win_model",
    "rma_assert",
    "file_mode",
    "seek",
    "keyval",
];

/// What is a constant of C alone, or of another type in Fortran.
const OTHERS: &[&str] =
    &["MPI_F_STATUS_SIZE", "MPI_F_SOURCE", "MPI_F_TAG", "MPI_F_ERROR", "MPI_DISPLACEMENT_CURRENT"];

/// Lengths of strings: without C's NUL in Fortran (§2.6.2).
const LENGTHS: &[&str] = &[
    "MPI_MAX_DATAREP_STRING",
    "MPI_MAX_ERROR_STRING",
    "MPI_MAX_INFO_KEY",
    "MPI_MAX_INFO_VAL",
    "MPI_MAX_LIBRARY_VERSION_STRING",
    "MPI_MAX_OBJECT_NAME",
    "MPI_MAX_PORT_NAME",
    "MPI_MAX_PROCESSOR_NAME",
    "MPI_MAX_PSET_NAME_LEN",
    "MPI_MAX_STRINGTAG_LEN",
];

/// INTEGER constants with their values.
pub(super) fn integers(constants: &Constants) -> Vec<(String, i64)> {
    let mut all = vec![
        ("MPI_ABI_VERSION".to_owned(), 1),
        ("MPI_ABI_SUBVERSION".to_owned(), 0),
        ("MPI_STATUS_SIZE".to_owned(), 8),
        ("MPI_SOURCE".to_owned(), 1),
        ("MPI_TAG".to_owned(), 2),
        ("MPI_ERROR".to_owned(), 3),
        ("MPI_ADDRESS_KIND".to_owned(), 8),
        ("MPI_OFFSET_KIND".to_owned(), 8),
        ("MPI_COUNT_KIND".to_owned(), 8),
        ("MPI_INTEGER_KIND".to_owned(), 4),
    ];
    for (name, values) in GROUPS.iter().flat_map(|group| constants.group(group)) {
        if let Some(value) = values.standard()
            && !OTHERS.contains(&&**name)
        {
            let nul = i64::from(LENGTHS.contains(&&**name));
            all.push((name.clone(), value - nul));
        }
    }
    all
}

/// Predefined handles: name, C type, value.
pub(super) fn handles(constants: &Constants) -> Vec<(String, &'static str, i64)> {
    let mut all = Vec::new();
    for handle in HANDLES {
        for (name, values) in constants.group(handle.word) {
            if let Some(value) = values.standard() {
                all.push((name.clone(), handle.c, value));
            }
        }
    }
    all
}

/// The variables with a meaning of their own, in lines for `mpif.h` and modules alike; a status
/// is of the type that `status` declares it with. `src/fortran.rs` knows the order.
pub(super) fn variables(status: [&str; 2]) -> String {
    let mut out = String::new();
    for line in [
        "INTEGER MPI_BOTTOM, MPI_IN_PLACE, MPI_BUFFER_AUTOMATIC",
        // Whoever detaches it in mpi_f08 gets its C_LOC (MPI-5.0 §3.6).
        "TARGET MPI_BUFFER_AUTOMATIC",
        "INTEGER MPI_UNWEIGHTED(1), MPI_WEIGHTS_EMPTY(1)",
        "INTEGER MPI_ERRCODES_IGNORE(1)",
        status[0],
        status[1],
        "COMMON /FERRITE_FORTRAN/ MPI_BOTTOM, MPI_IN_PLACE",
        "COMMON /FERRITE_FORTRAN/ MPI_BUFFER_AUTOMATIC",
        "COMMON /FERRITE_FORTRAN/ MPI_UNWEIGHTED, MPI_WEIGHTS_EMPTY",
        "COMMON /FERRITE_FORTRAN/ MPI_ERRCODES_IGNORE",
        "COMMON /FERRITE_FORTRAN/ MPI_STATUS_IGNORE",
        "COMMON /FERRITE_FORTRAN/ MPI_STATUSES_IGNORE",
        "BIND(C, NAME='ferrite_fortran') :: /FERRITE_FORTRAN/",
        "SAVE /FERRITE_FORTRAN/",
        "CHARACTER(LEN=1) MPI_ARGVS_NULL(1,1), MPI_ARGV_NULL(1)",
        "COMMON /FERRITE_FORTRAN_TEXTS/ MPI_ARGVS_NULL, MPI_ARGV_NULL",
        "BIND(C,NAME='ferrite_fortran_texts')::/FERRITE_FORTRAN_TEXTS/",
        "SAVE /FERRITE_FORTRAN_TEXTS/",
    ] {
        let _ = writeln!(out, "      {line}");
    }
    out
}

/// `INTEGER` constants and handles in lines for `mpif.h` and the module `mpi` alike.
pub(super) fn plain() -> Result<String> {
    let constants = Constants::load()?;
    let mut out = String::new();
    let mut integer = |name: &str, value: i64| {
        let _ = writeln!(out, "      INTEGER {name}\n      PARAMETER ({name}={value})");
    };
    for (name, value) in integers(&constants) {
        integer(&name, value);
    }
    for (name, _, value) in handles(&constants) {
        integer(&name, value);
    }
    out.push_str(&support("      PARAMETER (MPI_SUBARRAYS_SUPPORTED=.FALSE.)\n"));
    out.push_str(&variables([
        "INTEGER MPI_STATUS_IGNORE(MPI_STATUS_SIZE)",
        "INTEGER MPI_STATUSES_IGNORE(MPI_STATUS_SIZE,1)",
    ]));
    Ok(out)
}

/// Constants that are no INTEGERs, and a refusal of INTEGERs of another size;
/// `subarrays` gives `MPI_SUBARRAYS_SUPPORTED` its value.
pub(super) fn support(subarrays: &str) -> String {
    let mut out = String::new();
    out.push_str(
        "!     A division by zero here means INTEGERs of 8 bytes (as by\n\
         !     -fdefault-integer-8); those of MPI have 4.\n",
    );
    for line in [
        "INTEGER MPI_NEEDS_INTEGERS_OF_4_BYTES",
        "PARAMETER (MPI_NEEDS_INTEGERS_OF_4_BYTES=8/(8-KIND(0)))",
        "INTEGER(KIND=MPI_OFFSET_KIND) MPI_DISPLACEMENT_CURRENT",
        "PARAMETER (MPI_DISPLACEMENT_CURRENT=-1)",
        "LOGICAL MPI_SUBARRAYS_SUPPORTED",
        "LOGICAL MPI_ASYNC_PROTECTS_NONBLOCKING",
        "PARAMETER (MPI_ASYNC_PROTECTS_NONBLOCKING=.FALSE.)",
    ] {
        let _ = writeln!(out, "      {line}");
    }
    out.push_str(subarrays);
    out
}
