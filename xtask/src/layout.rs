//! What an installed prefix holds, said once: `install` makes it, the demo and the tests use it.
//!
//! The libraries and their names are those of decisions 5 and 32.

/// A file that cargo builds and the prefix gets.
pub(crate) struct Built {
    /// The package it belongs to.
    pub(crate) package: &'static str,
    /// Cargo's name of the target.
    pub(crate) target: &'static str,
    /// Cargo's kind of the target.
    pub(crate) kind: &'static str,
    /// Where it goes, from the prefix.
    pub(crate) to: &'static str,
}

/// The three faces, the launcher, and the compiler wrapper.
pub(crate) const BUILT: &[Built] = &[
    Built { package: "ferrite", target: "mpi", kind: "cdylib", to: "lib/libmpi_abi.so.1" },
    Built { package: "ferrite-mpich", target: "mpi_mpich", kind: "cdylib", to: "lib/libmpi.so.12" },
    Built {
        package: "ferrite-openmpi",
        target: "mpi_openmpi",
        kind: "cdylib",
        to: "lib/libmpi.so.40",
    },
    Built { package: "launcher", target: "mpirun", kind: "bin", to: "bin/mpirun" },
    Built { package: "launcher", target: "mpiexec", kind: "bin", to: "bin/mpiexec" },
    Built { package: "mpicc-wrapper", target: "mpicc", kind: "bin", to: "bin/mpicc" },
];

/// The launcher's module for the dynamic loader, which stands on no other library.
pub(crate) static AUDITOR: Built = Built {
    package: "launcher-audit",
    target: "ferrite_audit",
    kind: "cdylib",
    to: "lib/ferrite/libferrite_audit.so",
};

/// The processors that it is written for; elsewhere libraries are put in front by LD_LIBRARY_PATH.
pub(crate) const AUDITOR_RUNS_ON: [&str; 2] = ["x86_64", "aarch64"];

/// How the compiler makes it.
pub(crate) const AUDITOR_FLAGS: &str = include_str!("../../launcher/audit/rustc-flags");

/// Further names: (from the prefix, what the link holds).
pub(crate) const LINKS: &[(&str, &str)] = &[
    ("lib/libmpi_abi.so", "libmpi_abi.so.1"),
    ("bin/mpicxx", "mpicc"),
    ("bin/mpic++", "mpicc"),
    ("bin/mpiCC", "mpicc"),
    ("bin/mpifort", "mpicc"),
    ("bin/mpif90", "mpicc"),
    ("bin/mpif77", "mpicc"),
];

/// What a linker finds by `-lmpi`: a script and not a library, because it is meant for programs
/// compiled with our `mpi.h`. Who opens this name while he runs knows no standard ABI; he gets an
/// error from the loader, as where an MPI is installed without its files for developers, and goes on
/// to the names with a version (mpi4py's wheels do). Below mpirun the auditor has an answer.
pub(crate) const LINKER_SCRIPT: (&str, &str) = (
    "lib/libmpi.so",
    "/* For linkers (-lmpi). Programs that open a library open libmpi_abi.so.1, libmpi.so.12 or\n\
     \x20  libmpi.so.40, by the ABI that they were made for. */\n\
     INPUT(libmpi_abi.so.1)\n",
);

/// A library without code, which exists for its name alone: a program linked to `soname` gets
/// the face `of`. A stub and not a symbolic link, because a preloaded link is known to the
/// loader by the face's name, and the next request for the alias would bring in another file.
pub(crate) struct Stub {
    /// Its own soname and file name.
    pub(crate) soname: &'static str,
    /// The face it needs.
    pub(crate) of: &'static str,
}

/// The other sonames under which programs ask for one of the faces.
pub(crate) const STUBS: &[Stub] = &[
    Stub { soname: "libmpich.so.12", of: "libmpi.so.12" },
    Stub { soname: "libmpifort.so.12", of: "libmpi.so.12" },
    Stub { soname: "libmpichfort.so.12", of: "libmpi.so.12" },
    Stub { soname: "libmpi_mpifh.so.40", of: "libmpi.so.40" },
    Stub { soname: "libmpi_usempif08.so.40", of: "libmpi.so.40" },
    Stub { soname: "libmpi_usempi_ignore_tkr.so.40", of: "libmpi.so.40" },
];

/// One pkg-config file.
pub(crate) struct PkgConfig {
    /// Its name, without `.pc`.
    pub(crate) name: &'static str,
    /// What `pkg-config --list-all` says of it.
    pub(crate) description: &'static str,
}

/// The names under which build systems ask pkg-config for an MPI.
pub(crate) const PKG_CONFIGS: &[PkgConfig] = &[
    PkgConfig { name: "ferrite", description: "Ferrite MPI, standard ABI" },
    PkgConfig { name: "mpi", description: "MPI by Ferrite MPI" },
    PkgConfig { name: "mpi-c", description: "MPI for C by Ferrite MPI" },
    PkgConfig { name: "mpi-cxx", description: "MPI for C++ by Ferrite MPI" },
    PkgConfig { name: "mpi-fort", description: "MPI for Fortran by Ferrite MPI (mpif.h)" },
];
