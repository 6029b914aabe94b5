//! The libraries in a comparison: where each is, how its programs are compiled and launched.
//!
//! Enters: prefixes. Leaves: commands. Every library gets the same binding: one processor for each
//! rank where they fit, none where they do not; and each is held to shared memory, or to TCP or UDP on
//! the loopback interface.

use super::folder;
use super::groups::Over;
use crate::{place, run};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::available_parallelism;

/// What stands for the machine itself and needs no MPI.
pub(crate) const FLOOR: &str = "floor";

/// Its programs.
const BARE: [&str; 2] = [FLOOR, "sockets"];

/// The program with which two bare processes do what messages of a group do.
pub(crate) fn floor_of(over: Over) -> &'static str {
    BARE[usize::from(over != Over::Memory)]
}

/// Which launcher a library has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Family {
    Ferrite,
    Mpich,
    OpenMpi,
    Intel,
    /// No library: what the machine does without one.
    Floor,
}

/// One library in the comparison.
pub(crate) struct Contestant {
    /// Its name in tables.
    pub(crate) name: String,
    prefix: PathBuf,
    family: Family,
    imb: Option<PathBuf>,
    /// What its messages go over whatever the group says.
    always_over: Option<Over>,
}

impl Contestant {
    /// The library installed at `prefix`; which it is shows in the programs that it brings.
    pub(crate) fn at(name: &str, prefix: PathBuf) -> Result<Contestant> {
        let has = |program: &str| prefix.join("bin").join(program).exists();
        let family = match () {
            () if has("ompi_info") => Family::OpenMpi,
            () if has("impi_info") => Family::Intel,
            () if has("mpichversion") => Family::Mpich,
            () if has("mpicc") && has("mpirun") => Family::Ferrite,
            () => bail!("there is no MPI in {}: no bin/mpicc", prefix.display()),
        };
        Ok(Contestant { name: name.into(), prefix, family, imb: None, always_over: None })
    }

    /// The machine itself.
    pub(crate) fn floor() -> Contestant {
        let (name, prefix) = (FLOOR.into(), PathBuf::new());
        Contestant { name, prefix, family: Family::Floor, imb: None, always_over: None }
    }

    /// The same library under another name, whose messages go over TCP where those of others go over UDP.
    pub(crate) fn over_tcp(&self, name: &str) -> Contestant {
        let (name, prefix, family) = (name.into(), self.prefix.clone(), self.family);
        Contestant { name, prefix, family, imb: None, always_over: Some(Over::Tcp) }
    }

    /// Whether it is to be seen in groups whose messages go over that: ours alone has UDP.
    pub(crate) fn takes_part(&self, over: Over) -> bool {
        match over {
            Over::Udp => self.family == Family::Ferrite,
            Over::Memory | Over::Tcp => self.always_over.is_none(),
        }
    }

    /// Finds the IMB-MPI1 that this library can run: Intel's own through the MPICH ABI, or one
    /// that was named for it.
    pub(crate) fn find_imb(&mut self, intel: &Path, named: &[String]) -> Result<()> {
        let mut mine = named.iter().filter_map(|pair| pair.split_once('='));
        self.imb = match mine.rfind(|(name, _)| *name == self.name) {
            Some((_, program)) => Some(std::path::absolute(program)?),
            None if self.family == Family::OpenMpi => None,
            None => intel.exists().then(|| intel.to_path_buf()),
        };
        Ok(())
    }

    /// The program of this name as built for this library; nothing if it cannot run it.
    pub(crate) fn program(&self, name: &str) -> Option<PathBuf> {
        match name {
            "imb" => self.imb.clone(),
            _ => Some(folder().join("bin").join(&self.name).join(name)),
        }
    }

    /// The command that starts `ranks` ranks of a program, to which its own words are added.
    pub(crate) fn launch(&self, ranks: u32, program: &Path, over: Over) -> Command {
        if self.family == Family::Floor {
            return run::command(&program.to_string_lossy());
        }
        let mut command = self.launcher(ranks);
        self.hold_to(self.always_over.unwrap_or(over), &mut command);
        command.arg("-n").arg(ranks.to_string()).arg(program);
        command
    }

    /// The launcher with the words that bind `ranks` ranks, to which their number, the program and
    /// further words are added. Messages go whichever way the library chooses.
    pub(crate) fn launcher(&self, ranks: u32) -> Command {
        let cores = available_parallelism().map_or(1, usize::from);
        let oversubscribed = ranks as usize > cores;
        // Each rank its core, or each core as many ranks: Intel MPI does that by itself.
        let bound = !oversubscribed || (ranks as usize).is_multiple_of(cores);
        let mut command = match self.family {
            Family::Ferrite => self.command("mpirun"),
            _ => self.command("mpiexec"),
        };
        match self.family {
            Family::OpenMpi => {
                command.args(["--allow-run-as-root", "--mca", "pml", "ob1"]);
                command.args(oversubscribed.then_some("--oversubscribe"));
                command.args(["--bind-to", if bound { "core:overload-allowed" } else { "none" }]);
            }
            // Without this, mpirun would leave two ranks on a larger machine where they like.
            Family::Ferrite if !oversubscribed => drop(command.args(["--bind-to", "core"])),
            Family::Mpich if bound => drop(command.args(["-bind-to", "core"])),
            _ => {}
        }
        command
    }

    /// Lets messages go one way only.
    fn hold_to(&self, over: Over, command: &mut Command) {
        let tcp = over == Over::Tcp;
        match self.family {
            Family::OpenMpi if tcp => {
                command.args(["--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "lo"]);
            }
            Family::OpenMpi => drop(command.args(["--mca", "btl", "sm,self"])),
            Family::Intel => {
                command.env("I_MPI_FABRICS", if tcp { "ofi" } else { "shm" });
                if tcp {
                    command.env("FI_PROVIDER", "tcp").env("FI_TCP_IFACE", "lo");
                    command.env("FI_PROVIDER_PATH", self.prefix.join("lib"));
                }
            }
            Family::Mpich if tcp => {
                command.env("MPIR_CVAR_NOLOCAL", "1").env("MPIR_CVAR_CH4_NETMOD", "ofi");
                command.env("FI_PROVIDER", "tcp").env("FI_TCP_IFACE", "lo");
            }
            Family::Ferrite if tcp => drop(command.env("FERRITE_TRANSPORT", "tcp")),
            Family::Ferrite if over == Over::Udp => {
                command.env("FERRITE_TRANSPORT", "udp");
            }
            _ => {}
        }
    }

    fn command(&self, program: &str) -> Command {
        let bin = self.prefix.join("bin");
        let mut command = run::command(&bin.join(program).to_string_lossy());
        match self.family {
            Family::Intel => {
                let path = std::env::var("PATH").unwrap_or_default();
                command.env("I_MPI_ROOT", &self.prefix);
                command.env("PATH", format!("{}:{path}", bin.display()));
                command.env("LD_LIBRARY_PATH", self.prefix.join("lib"));
            }
            // For programs that were built with another library of the same ABI.
            Family::Mpich => drop(command.env("LD_LIBRARY_PATH", self.prefix.join("lib"))),
            _ => {}
        }
        command
    }
}

/// Compiles a program of `benches/` for everybody who has not got it newer than its sources.
pub(crate) fn compile(contestants: &[Contestant], program: &str) -> Result<()> {
    let sources = place::root().join("benches");
    let source = sources.join(format!("{program}.c"));
    if !source.exists() {
        return Ok(()); // not one of ours
    }
    let newest = modified(&source)?.max(modified(&sources.join("bench.h"))?);
    let floor = [Contestant::floor()];
    for contestant in contestants.iter().chain(&floor) {
        let dir = folder().join("bin").join(&contestant.name);
        let to = dir.join(program);
        let without_mpi = contestant.family == Family::Floor;
        if without_mpi != BARE.contains(&program) || modified(&to).is_ok_and(|at| at > newest) {
            continue;
        }
        fs::create_dir_all(&dir)?;
        let mut cc = match contestant.family {
            Family::Floor => run::command("cc"),
            _ => contestant.command("mpicc"),
        };
        cc.args(["-std=gnu11", "-O2", "-D_GNU_SOURCE", "-o"]).arg(&to).arg(&source);
        if !cc.status().context("cannot start a compiler wrapper")?.success() {
            bail!("{} does not compile {program}.c", contestant.name);
        }
    }
    Ok(())
}

fn modified(file: &Path) -> Result<std::time::SystemTime> {
    Ok(fs::metadata(file).with_context(|| format!("no {}", file.display()))?.modified()?)
}
