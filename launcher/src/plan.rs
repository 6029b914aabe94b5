//! From the request to a plan: what exactly each rank will be. Everything that can be refused is
//! refused here, before the first process is started.

use crate::binding::{self, Binding};
use crate::env::{self, Environment};
use crate::hosts;
use crate::machine::Machine;
use crate::options::{Global, Request, StdinTo};
use crate::output::Tag;
use crate::program::{self, Program};
use crate::redirect;
use crate::refuse::Refusal;
use crate::settings;
use crate::sys;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Most ranks of one job on one machine: each takes four descriptors of mpirun.
const RANKS_MAX: usize = 1 << 16;

/// One program of the job, and what its ranks have in common.
#[derive(Debug)]
pub(crate) struct App {
    /// The program as typed, for messages.
    pub(crate) shown: String,
    /// What the kernel gets.
    pub(crate) program: Program,
    /// The user's arguments.
    pub(crate) arguments: Vec<OsString>,
    /// Its variables, before each rank's own are added.
    pub(crate) environment: Environment,
    /// Where it runs, if not where mpirun does.
    pub(crate) directory: Option<PathBuf>,
}

/// The whole job.
#[derive(Debug)]
pub(crate) struct Plan {
    /// Its programs.
    pub(crate) apps: Vec<App>,
    /// For each rank the index of its program.
    pub(crate) app_of: Vec<usize>,
    /// Where each rank may run.
    pub(crate) binding: Binding,
    /// How many CPUs the ranks share.
    pub(crate) cpus: usize,
    /// How lines are marked.
    pub(crate) tag: Tag,
    /// This machine's name.
    pub(crate) host: String,
    /// What mpirun has to say before it starts.
    pub(crate) notes: Vec<String>,
    /// What the report has to say of the redirection of libraries.
    pub(crate) caution: Option<String>,
}

impl Plan {
    /// Makes the plan for `request` in the environment `inherited`.
    pub(crate) fn make(request: &Request, inherited: &Environment) -> Result<Plan, Refusal> {
        let global = &request.global;
        let host = hosts::this();
        hosts::check(&global.host, &global.hostfile, &host)?;
        let apps = apps(request, inherited)?;
        let counts = request.segments.iter().map(|segment| segment.options.ranks);
        let app_of: Vec<usize> =
            counts.enumerate().flat_map(|(app, n)| std::iter::repeat_n(app, n)).collect();
        if let StdinTo::Rank(rank) = global.stdin
            && rank >= app_of.len()
        {
            let last = app_of.len() - 1;
            let text = format!("--stdin {rank}: there are only ranks 0 to {last}");
            return Err(Refusal::new(text));
        }
        let machine = Machine::here();
        let threads = apps.iter().filter_map(|app| {
            let text = app.environment.get(OsStr::new("OMP_NUM_THREADS"))?.to_str()?;
            text.split(',').next()?.trim().parse::<usize>().ok()
        });
        let threads = threads.max();
        let binding =
            binding::decide(&machine, app_of.len(), global.bind_to, global.map_by, threads);
        let (tag, cpus) = (tag(global), machine.usable());
        let caution = library(global).and_then(|_| redirect::caution(&sys::c_library_version()));
        Ok(Plan { apps, app_of, binding, cpus, tag, host, notes: notes(global), caution })
    }

    /// The number of ranks.
    pub(crate) fn ranks(&self) -> usize {
        self.app_of.len()
    }
}

fn tag(global: &Global) -> Tag {
    match (global.tag_output, global.prepend_rank) {
        (true, _) => Tag::RankAndStream,
        (_, true) => Tag::Rank,
        _ => Tag::None,
    }
}

fn notes(global: &Global) -> Vec<String> {
    let names: Vec<&str> = global.other.mca.chunks(2).map(|pair| pair[0].as_str()).collect();
    if names.is_empty() {
        return Vec::new();
    }
    vec![format!(
        "note: {} is a setting of Open MPI and has no effect here (Ferrite's are FERRITE_* \
         variables)",
        names.join(", ")
    )]
}

/// The folder of the libraries to put in front, unless there is none or it was declined.
fn library(global: &Global) -> Option<PathBuf> {
    redirect::library_folder().filter(|_| !global.no_redirect)
}

fn apps(request: &Request, inherited: &Environment) -> Result<Vec<App>, Refusal> {
    let mut total = 0usize;
    let here = std::env::current_dir()
        .map_err(|e| Refusal::new(format!("the working directory cannot be used: {e}")))?;
    let library = library(&request.global);
    let mut apps = Vec::new();
    for segment in &request.segments {
        let options = &segment.options;
        total = total.saturating_add(options.ranks);
        let shown = segment.program.to_string_lossy().into_owned();
        if options.ranks == 0 {
            return Err(Refusal::new(format!(
                "-n 0: there must be at least one rank of “{shown}”"
            )));
        }
        if total > RANKS_MAX {
            let text = format!("{total} ranks are more than one machine holds ({RANKS_MAX})");
            return Err(Refusal::new(text));
        }
        let directory = options.directory.as_ref().map(|dir| here.join(dir));
        if let Some(dir) = directory.as_deref().filter(|dir| !dir.is_dir()) {
            let shown = dir.display();
            return Err(Refusal::new(format!("-wdir: there is no directory {shown}")));
        }
        let mut environment = env::of_segment(inherited, &request.global, options)?;
        if let Some(file) = &request.global.config {
            environment.insert("FERRITE_CONFIG".into(), here.join(file).into_os_string());
        }
        settings::load(&environment)?;
        if let Some(lib) = &library {
            redirect::put_in_front(&mut environment, lib);
        }
        let path = search_path(options.path.as_deref(), inherited);
        let place: &Path = directory.as_deref().unwrap_or(&here);
        let program = program::find(&segment.program, &path, place)?;
        let arguments = segment.arguments.clone();
        apps.push(App { shown, program, arguments, environment, directory });
    }
    Ok(apps)
}

/// Where to look for a program without a slash in its name.
fn search_path(asked: Option<&OsStr>, inherited: &Environment) -> Vec<PathBuf> {
    let own = inherited.get(OsStr::new("PATH")).map(OsString::as_os_str);
    let own = own.unwrap_or(OsStr::new("/usr/local/bin:/usr/bin:/bin"));
    let split = |list: &OsStr| std::env::split_paths(list).collect::<Vec<_>>();
    asked.map(split).unwrap_or_default().into_iter().chain(split(own)).collect()
}
