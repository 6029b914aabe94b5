//! Which language a wrapper is for, and whose compiler that means.

use std::ffi::OsStr;
use std::path::Path;

/// A language with a wrapper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    /// `mpicc`
    C,
    /// `mpicxx`, `mpic++`, `mpiCC`
    Cxx,
    /// `mpifort`, `mpif90`, `mpif77`
    Fortran,
}

impl Language {
    /// The language that belongs to the name the wrapper was called by.
    pub(crate) fn of(name: &OsStr) -> Language {
        match base_name(name).as_str() {
            "mpicxx" | "mpic++" | "mpiCC" => Language::Cxx,
            "mpifort" | "mpif90" | "mpif77" => Language::Fortran,
            _ => Language::C,
        }
    }

    /// The compiler when nobody names one.
    pub(crate) fn compiler(self) -> &'static str {
        match self {
            Language::C => "cc",
            Language::Cxx => "c++",
            Language::Fortran => "gfortran",
        }
    }

    /// The environment variables that name a compiler, the first one set wins: our own, then those
    /// of the other MPI libraries, which build scripts already set.
    pub(crate) fn variables(self) -> &'static [&'static str] {
        match self {
            Language::C => &["MPICC_CC", "MPICH_CC", "OMPI_CC", "I_MPI_CC"],
            Language::Cxx => &["MPICXX_CXX", "MPICH_CXX", "OMPI_CXX", "I_MPI_CXX"],
            Language::Fortran => &[
                "MPIFORT_FC",
                "MPICH_FC",
                "OMPI_FC",
                "I_MPI_FC",
                "MPICH_F90",
                "I_MPI_F90",
                "MPICH_F77",
                "OMPI_F77",
                "I_MPI_F77",
            ],
        }
    }

    /// The option that names a compiler, without dash and `=`.
    pub(crate) fn option(self) -> &'static str {
        match self {
            Language::C => "cc",
            Language::Cxx => "cxx",
            Language::Fortran => "fc",
        }
    }
}

/// The last part of a path, for messages and for choosing the language.
pub(crate) fn base_name(name: &OsStr) -> String {
    Path::new(name).file_name().unwrap_or(name).to_string_lossy().into_owned()
}
