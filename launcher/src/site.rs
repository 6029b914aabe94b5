//! What the plan comes to on one host: its ranks, the files to execute, the CPUs to use. Worked out
//! on the host itself, and refused there if it cannot be.

use crate::binding::{self, Binding, Crew};
use crate::env::Environment;
use crate::hosts;
use crate::options::StdinTo;
use crate::plan::Plan;
use crate::program;
use crate::prompt;
use crate::redirect;
use crate::refuse::Refusal;
use crate::route;
use crate::settings;
use crate::sys;
use crate::tree::frame::Arrived;
use machine::Machine;
use mpi_core::settings::OutputMode;
use std::ffi::OsStr;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

/// One program as this host runs it.
#[derive(Debug)]
pub(crate) struct App {
    /// What the kernel gets.
    pub(crate) program: program::Program,
    /// Its variables, before each rank's own are added.
    pub(crate) environment: Environment,
    /// Whether what it prints is to come line by line.
    pub(crate) lines: bool,
    /// How many ranks take themselves for one node, if not all.
    node_ranks: usize,
}

/// One host's part of a job.
#[derive(Debug)]
pub(crate) struct Site {
    /// Its number in the plan.
    pub(crate) node: usize,
    /// What this machine calls itself.
    pub(crate) host: String,
    /// The address by which it was reached, if that is known.
    pub(crate) route: Option<IpAddr>,
    /// Its ranks, ascending.
    pub(crate) ranks: Vec<usize>,
    /// The programs that they run, by their numbers in the plan.
    pub(crate) apps: Vec<Option<App>>,
    /// Where each of them may run.
    pub(crate) binding: Binding,
    /// How many CPUs they share.
    pub(crate) cpus: usize,
    /// What the report has to say of the redirection of libraries.
    pub(crate) caution: Option<String>,
}

impl Site {
    /// Works out the part of host `node`, which is this machine.
    pub(crate) fn make(plan: &Plan, node: usize) -> Result<Site, Refusal> {
        let ranks = plan.ranks_of(node);
        let library = redirect::library_folder().filter(|_| plan.redirect);
        let mut apps = Vec::new();
        for number in 0..plan.programs.len() {
            let ours = ranks.iter().any(|&rank| plan.program_of[rank] == number);
            apps.push(ours.then(|| app(plan, node, number, library.as_deref())).transpose()?);
        }
        let machine = Machine::here();
        let threads = apps.iter().flatten().filter_map(|app| {
            let text = app.environment.get(OsStr::new("OMP_NUM_THREADS"))?.to_str()?;
            text.split(',').next()?.trim().parse::<usize>().ok()
        });
        let threads = threads.max();
        let node_ranks = apps.iter().flatten().next().map_or(0, |app| app.node_ranks);
        let crew = Crew { ranks: ranks.len(), node_ranks };
        let binding = binding::decide(
            &machine,
            crew,
            plan.tie,
            plan.within,
            threads,
            machine::others_running,
        )?;
        let caution = library.and_then(|_| redirect::caution(&sys::c_library_version()));
        let cpus = machine.usable();
        let route = route::of(node, &plan.hosts[node], std::env::var(route::SSH).ok().as_deref());
        Ok(Site { node, host: hosts::this(), route, ranks, apps, binding, cpus, caution })
    }

    /// Whether mpirun's standard input goes to this rank.
    pub(crate) fn reads_input(plan: &Plan, rank: usize) -> bool {
        match plan.stdin {
            StdinTo::Rank(only) => only == rank,
            StdinTo::All => true,
            StdinTo::None => false,
        }
    }

    /// What the report will say of this host.
    pub(crate) fn arrived(&self) -> Arrived {
        let bound = self.ranks.iter().zip(&self.binding.cpus);
        Arrived {
            node: self.node,
            cpus: self.cpus,
            why: self.binding.why.clone(),
            bound: bound.filter_map(|(&rank, cpus)| Some((rank, cpus.clone()?))).collect(),
            caution: self.caution.clone(),
        }
    }
}

/// Variables that tell of the machine where mpirun was started, not of the one where a rank runs.
const OF_THE_MACHINE: [&str; 7] =
    ["HOSTNAME", "HOST", "SSH_AUTH_SOCK", "SSH_CLIENT", route::SSH, "SSH_TTY", "XDG_RUNTIME_DIR"];

fn app(plan: &Plan, node: usize, number: usize, lib: Option<&Path>) -> Result<App, Refusal> {
    let asked = &plan.programs[number];
    let directory = asked.directory.as_deref();
    if let Some(dir) = directory.filter(|dir| !dir.is_dir()) {
        let shown = dir.display();
        return Err(Refusal::new(format!("-wdir: there is no directory {shown}")));
    }
    let place: &Path = directory.unwrap_or(&plan.here);
    let path: &[PathBuf] = &asked.path;
    let program = program::find(&asked.name, path, place)?;
    let mut environment = asked.environment.clone();
    if node != 0 {
        for name in OF_THE_MACHINE {
            environment.remove(OsStr::new(name));
            environment.extend(std::env::var_os(name).map(|value| (name.into(), value)));
        }
    }
    if let Some(lib) = lib {
        redirect::put_in_front(&mut environment, lib, &program.file);
    }
    let settings = settings::load(&environment)?;
    let lines = settings.output == OutputMode::Lines;
    if lines {
        prompt::tell_runtimes(&mut environment);
    }
    Ok(App { program, environment, lines, node_ranks: settings.node_ranks as usize })
}
