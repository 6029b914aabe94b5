//! Writes `include/mpi_f08.F90`, the module `mpi_f08` (MPI-5.0 §19.1.2).
//!
//! Every procedure is a generic name over its forms: with INTEGER counts and, where that makes a
//! difference, with counts of `MPI_COUNT_KIND`. The specific names are the standard's (§19.1.5).

use std::fmt::Write as _;

use anyhow::Result;

use super::declare::{Form, Module, choice, sizeofs};
use super::mpi::head;
use super::sections::has_choice;
use super::{constants, has};
use crate::abi_values::Constants;
use crate::description::{Parameter, Procedure};
use crate::kind::Kind;

/// The text of `mpi_f08.F90`.
pub(crate) fn file(procedures: &[Procedure]) -> Result<String> {
    let mut out = head("The module mpi_f08 of the MPI-5.0 standard ABI, as Ferrite MPI offers it.");
    out.push_str(
        "module mpi_f08\n  use, intrinsic :: iso_c_binding, only: C_PTR\n  use ferrite_mpi_types\n  \
         implicit none\n  private :: C_PTR\n\n",
    );
    out.push_str(DESCRIPTORS);
    let table = Constants::load()?;
    for (name, value) in constants::integers(&table) {
        let _ = writeln!(out, "  integer, parameter :: {name} = {value}");
    }
    for (name, c, value) in constants::handles(&table) {
        let _ = writeln!(out, "  type({c}), parameter :: {name} = {c}({value})");
    }
    out.push_str(&constants::support(
        "#ifdef FERRITE_DESCRIPTORS\n      PARAMETER (MPI_SUBARRAYS_SUPPORTED=.TRUE.)\n#else\n      \
         PARAMETER (MPI_SUBARRAYS_SUPPORTED=.FALSE.)\n#endif\n",
    ));
    out.push_str(&constants::variables([
        "TYPE(MPI_Status) MPI_STATUS_IGNORE",
        "TYPE(MPI_Status) MPI_STATUSES_IGNORE(1)",
    ]));
    out.push_str(CALLBACKS);
    for prefix in ["MPI", "PMPI"] {
        for procedure in procedures.iter().filter(|procedure| has(procedure, "mpi_f08")) {
            out.push_str(&generic(prefix, procedure));
        }
    }
    for name in ["MPI_F_sync_reg", "PMPI_F_sync_reg"] {
        out.push_str(&either(sync_reg(name, true), sync_reg(name, false)));
    }
    out.push_str(&sizeofs(Module::F08));
    out.push_str("end module mpi_f08\n");
    Ok(out)
}

fn generic(prefix: &str, procedure: &Procedure) -> String {
    let name = format!("{prefix}_{}", procedure.name);
    if !has_choice(procedure) {
        return forms(&name, procedure, false);
    }
    either(forms(&name, procedure, true), forms(&name, procedure, false))
}

/// What compilers see whose descriptors the library reads, and what others see.
fn either(sections: String, plain: String) -> String {
    format!("\n#ifdef FERRITE_DESCRIPTORS{sections}#else{plain}#endif\n")
}

/// The ending of the names of entry points, with or without descriptors.
fn ending(sections: bool) -> &'static str {
    if sections { "f08ts" } else { "f08" }
}

/// `MPI_F_SYNC_REG`, which only Fortran has.
fn sync_reg(name: &str, sections: bool) -> String {
    let specific = format!("{name}_{}", ending(sections));
    let buf = choice("buf", ", asynchronous", sections);
    format!(
        "\n  interface {name}\n    subroutine {specific}(buf)\n{buf}    \
         end subroutine {specific}\n  end interface {name}\n"
    )
}

/// The generic name over its forms; with `sections`, choice buffers come with descriptors.
fn forms(name: &str, procedure: &Procedure, sections: bool) -> String {
    let form = |large| Form { procedure, module: Module::F08, large, c_ptr: false, sections };
    let small = form(false);
    let ending = ending(sections);
    if procedure.returns.is_some() {
        return format!("\n  interface\n{}  end interface\n", small.body(name));
    }
    let mut bodies = small.body(&format!("{name}_{ending}"));
    let mut out = String::new();
    if procedure.large {
        let large = form(true);
        let body = large.body(&format!("{name}_c_{ending}"));
        let takes_function = |p: &Parameter| matches!(p.kind, Kind::PolyFunction(_));
        if procedure.parameters.iter().any(takes_function) {
            let _ = write!(out, "\n  interface {name}_c\n{body}  end interface {name}_c\n");
        } else if large.shape() != small.shape() {
            bodies.push_str(&body);
        }
    }
    let _ = write!(out, "\n  interface {name}\n{bodies}  end interface {name}\n");
    out
}

/// Compilers whose descriptors of arrays the library reads (`mpi-abi/src/fortran/sections.rs`).
const DESCRIPTORS: &str = "#if defined(__GFORTRAN__) || defined(__flang__)\n\
                           #define FERRITE_DESCRIPTORS 1\n#endif\n\n";

/// The interfaces of functions of the program, and the ready ones (MPI-5.0 Annex A.1.3).
const CALLBACKS: &str = include_str!("callbacks.f90");
