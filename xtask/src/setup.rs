//! `cargo xtask setup`: what a fresh Debian or Ubuntu machine lacks, said first, then installed.
//!
//! A thing counts as present when it can be used, whoever installed it; so a machine with its own
//! compilers or its own Python is left alone, and a second run does nothing.

use crate::run;
use anyhow::{Result, bail};
use parking_lot::Mutex;
use std::io::{self, BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Something that the project uses on the machine it is built on.
struct Need {
    /// The Debian package that has it.
    package: &'static str,
    /// What it is used for, in the words shown to the user.
    why: &'static str,
    /// How to find out that it is there.
    probe: Probe,
}

/// How to find out whether a need is met.
enum Probe {
    /// A program on the search path.
    Program(&'static str),
    /// A file.
    File(&'static str),
    /// A header that the C compiler finds.
    Header(&'static str),
    /// Modules that python3 can import.
    Python(&'static str),
    /// A shared library that the loader finds.
    Library(&'static str),
    /// The library that bindgen reads C by, with its own headers.
    Libclang,
    /// A program on the search path that needs no library.
    Static(&'static str),
}

/// What the build needs.
const BUILD: &[Need] = &[
    Need {
        package: "gcc",
        why: "links the libraries; compiles what mpicc compiles",
        probe: Probe::Program("cc"),
    },
    Need { package: "libc6-dev", why: "the C headers", probe: Probe::Header("stdio.h") },
    Need {
        package: "libibverbs-dev",
        why: "the headers of verbs, for InfiniBand and RoCE; programs run without the library",
        probe: Probe::Header("infiniband/verbs.h"),
    },
    Need {
        package: "librdmacm-dev",
        why: "more of these headers, which the crate rdma-sys reads",
        probe: Probe::Header("rdma/rdma_cma.h"),
    },
    Need {
        package: "libclang-dev",
        why: "reads these headers for that crate",
        probe: Probe::Libclang,
    },
    Need {
        package: "pkg-config",
        why: "finds the headers of verbs; tests of the installed .pc files",
        probe: Probe::Program("pkg-config"),
    },
];

/// What programs, tests and their peers need besides.
const NEEDS: &[Need] = &[
    Need { package: "g++", why: "compiles what mpicxx compiles", probe: Probe::Program("g++") },
    Need {
        package: "binutils",
        why: "nm, readelf and objdump, for tests of exported names and of fences",
        probe: Probe::Program("nm"),
    },
    Need {
        package: "procps",
        why: "kill, for tests that send signals",
        probe: Probe::Program("kill"),
    },
    Need {
        package: "iproute2",
        why: "ip, for tests on hosts that are network namespaces",
        probe: Probe::Program("ip"),
    },
    Need {
        package: "nftables",
        why: "nft, for tests with firewalls between such hosts",
        probe: Probe::Program("nft"),
    },
    Need {
        package: "cmake",
        why: "the test that CMake's FindMPI finds the prefix",
        probe: Probe::Program("cmake"),
    },
    Need {
        package: "make",
        why: "builds what that CMake test configures",
        probe: Probe::Program("make"),
    },
    Need {
        package: "gfortran",
        why: "compiles the programs in Fortran, and the modules they use",
        probe: Probe::Program("gfortran"),
    },
    Need {
        package: "python3-venv",
        why: "environments for the peers' libraries that the tests compare with",
        probe: Probe::Python("venv, ensurepip"),
    },
    Need {
        package: "valgrind",
        why: "the test that counts what a small message costs",
        probe: Probe::Program("valgrind"),
    },
    Need {
        package: "libfabric1",
        why: "the tests of FERRITE_TRANSPORT=ofi",
        probe: Probe::Library("libfabric.so.1"),
    },
    Need {
        package: "ca-certificates",
        why: "so that pip can download those libraries",
        probe: Probe::File("/etc/ssl/certs/ca-certificates.crt"),
    },
];

impl Probe {
    fn met(&self) -> bool {
        match self {
            Probe::Program(name) => run::which(name).is_some(),
            Probe::File(path) => Path::new(path).exists(),
            Probe::Header(name) => {
                let include = format!("#include <{name}>");
                let script = format!("echo '{include}' | cc -E -x c - >/dev/null 2>&1");
                run::output(run::command("sh").args(["-c", &script])).is_some()
            }
            Probe::Python(modules) => {
                let import = format!("import {modules}");
                run::output(run::command("python3").args(["-c", &import])).is_some()
            }
            Probe::Library(name) => {
                let known = run::output(run::command("/sbin/ldconfig").arg("-p"));
                known.is_some_and(|known| known.contains(name))
            }
            Probe::Libclang => env::var_os("LIBCLANG_PATH").is_some() || has_libclang(),
            // ldd fails for a program that it has nothing to say about.
            Probe::Static(name) => run::which(name)
                .is_some_and(|program| run::output(run::command("ldd").arg(program)).is_none()),
        }
    }
}

/// Whether a folder of LLVM, as Debian names them or as `llvm-config` says, or `/usr` itself, has the library and
/// the headers that belong to it: some packages have the library alone.
fn has_libclang() -> bool {
    let told = run::output(run::command("llvm-config").arg("--prefix"));
    let told = told.map(|prefix| PathBuf::from(prefix.trim()));
    let entries = |folder: &Path| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    let named = |path: &PathBuf, start: &str| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(start))
    };
    let mut folders = entries(Path::new("/usr/lib"));
    folders.retain(|path| named(path, "llvm-"));
    folders.into_iter().chain(told).chain([PathBuf::from("/usr")]).any(|folder| {
        let mut files = ["lib", "lib64"].into_iter().flat_map(|name| entries(&folder.join(name)));
        let library = files.any(|path| named(&path, "libclang"));
        let versions = entries(&folder.join("lib/clang"));
        library && versions.iter().any(|version| version.join("include/stddef.h").exists())
    })
}

/// What one checker needs, which is installed when that checker runs.
const CROSS_COMPILER: &[Need] = &[
    Need {
        package: "gcc-aarch64-linux-gnu",
        why: "compiles for aarch64 the C code of a crate that we use",
        probe: Probe::Program("aarch64-linux-gnu-gcc"),
    },
    Need {
        package: "libc6-dev-arm64-cross",
        why: "the C library's headers for that",
        probe: Probe::File("/usr/aarch64-linux-gnu/include/stdio.h"),
    },
];

/// What `cargo xtask rdma` needs for its emulated host, which is installed when that runs. Debian and
/// Ubuntu call these packages alike.
const EMULATED_HOST: &[Need] = &[
    Need {
        package: "qemu-system-x86",
        why: "emulates a host that has RDMA devices",
        probe: Probe::Program("qemu-system-x86_64"),
    },
    Need {
        package: "busybox-static",
        why: "the emulated host's first program",
        probe: Probe::Static("busybox"),
    },
    Need {
        package: "cpio",
        why: "packs that program and the kernel's modules",
        probe: Probe::Program("cpio"),
    },
    Need {
        package: "kmod",
        why: "finds out which modules of the kernel need which",
        probe: Probe::File("/sbin/modprobe"),
    },
    Need {
        package: "iproute2",
        why: "rdma and tc, which make the devices there and disturb their wires",
        probe: Probe::Program("rdma"),
    },
    Need {
        package: "ibverbs-providers",
        why: "libibverbs with its part for soft-RoCE",
        probe: Probe::File("/etc/libibverbs.d/rxe.driver"),
    },
    Need {
        package: "perftest",
        why: "measures bare verbs, beside which ours is set",
        probe: Probe::Program("ib_write_bw"),
    },
];

/// Installs what is missing; says nothing when nothing is.
pub(crate) fn setup(yes: bool) -> Result<()> {
    meet(BUILD.iter().chain(NEEDS), yes)
}

/// Whether everything is here that a build needs.
///
/// # Errors
/// Names what is missing, since the compilers would only name the first of it, each in its own way.
pub(crate) fn can_build() -> Result<()> {
    let missing: Vec<&str> = missing(BUILD.iter()).iter().map(|need| need.package).collect();
    if missing.is_empty() {
        return Ok(());
    }
    bail!("the build needs {}; `cargo xtask setup` installs it", missing.join(", "))
}

/// The C compiler for aarch64.
pub(crate) fn cross_compiler() -> Result<()> {
    if CROSS_COMPILER.iter().all(|need| need.probe.met()) {
        Ok(())
    } else {
        meet(CROSS_COMPILER.iter(), false)
    }
}

/// What runs and fills an emulated host.
pub(crate) fn emulated_host() -> Result<()> {
    if EMULATED_HOST.iter().all(|need| need.probe.met()) {
        Ok(())
    } else {
        meet(EMULATED_HOST.iter(), false)
    }
}

fn missing(needs: impl Iterator<Item = &'static Need>) -> Vec<&'static Need> {
    needs.filter(|need| !need.probe.met()).collect()
}

fn meet(needs: impl Iterator<Item = &'static Need>, yes: bool) -> Result<()> {
    let missing = missing(needs);
    if missing.is_empty() {
        println!("setup: everything is here");
        return Ok(());
    }
    println!("setup: this machine lacks");
    for need in &missing {
        println!("    {:<16} {}", need.package, need.why);
    }
    let packages: Vec<&str> = missing.iter().map(|need| need.package).collect();
    install(&packages, yes)?;
    if let Some(need) = missing.iter().find(|need| !need.probe.met()) {
        bail!(
            "{} is installed but still cannot be used ({}); look for another one earlier in PATH",
            need.package,
            need.why
        );
    }
    Ok(())
}

/// Installs these packages; asks first where somebody can answer, unless `yes`.
pub(crate) fn install(packages: &[&str], yes: bool) -> Result<()> {
    // apt-get refuses to run twice at once, and two layers of tests may each want something.
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock();
    if run::which("apt-get").is_none() {
        bail!(
            "there is no apt-get here; install by this system's own means what Debian calls: {}",
            packages.join(" ")
        );
    }
    if !yes && !run::ci() && io::stdin().is_terminal() && !agreed()? {
        bail!("nothing was installed; run: apt-get install {}", packages.join(" "));
    }
    apt(&["update", "--quiet"])?;
    let mut words = vec!["install", "--yes", "--quiet", "--no-install-recommends"];
    words.extend(packages);
    apt(&words)
}

fn agreed() -> Result<bool> {
    print!("Install them with apt-get? [Y/n] ");
    io::stdout().flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "" | "y" | "Y" | "yes"))
}

fn apt(words: &[&str]) -> Result<()> {
    let root = run::output(run::command("id").arg("-u")).is_some_and(|id| id.trim() == "0");
    let mut command = if root {
        run::command("env")
    } else if run::which("sudo").is_some() {
        let mut sudo = run::command("sudo");
        sudo.arg("env");
        sudo
    } else {
        bail!(
            "installing needs root and there is no sudo; run as root: apt-get {}",
            words.join(" ")
        )
    };
    run::must(command.args(["DEBIAN_FRONTEND=noninteractive", "apt-get"]).args(words))
}
