//! From the request to a plan: what the job is, and which host runs which rank.
//!
//! What can be refused without looking at the hosts is refused here; what depends on the machine (its
//! programs, its CPUs) is worked out on each host by itself (`site.rs`), before the first rank is
//! started on any of them.

use crate::allocation::Allocation;
use crate::env::{self, Environment};
use crate::foreign;
use crate::hosts::{self, Host, Placement, Rule};
use crate::options::{self, Global, Local, MapBy, Numbering, Request, StdinTo, Tie, split_words};
use crate::output::{Clock, Tag};
use crate::pack::paths;
use crate::refuse::Refusal;
use crate::settings;
use crate::sys;
use crate::way::Way;
use machine::Machine;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

/// Most ranks of one job.
const RANKS_MAX: usize = 1 << 16;

/// One program of the job as it was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Program {
    /// As typed.
    pub(crate) name: OsString,
    /// The user's arguments.
    pub(crate) arguments: Vec<OsString>,
    /// Its variables, before each host and rank adds its own.
    pub(crate) environment: Environment,
    /// Where it runs, if not where mpirun does.
    #[serde(with = "paths")]
    pub(crate) directory: Option<PathBuf>,
    /// Where to look for it.
    #[serde(with = "paths")]
    pub(crate) path: Vec<PathBuf>,
}

impl Program {
    /// Its name for messages.
    pub(crate) fn shown(&self) -> String {
        self.name.to_string_lossy().into_owned()
    }
}

/// The whole job, as far as it is the same for all hosts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Plan {
    /// A name that no other job has and nobody can guess: it also keeps strangers out.
    pub(crate) job: String,
    /// Its programs.
    pub(crate) programs: Vec<Program>,
    /// For each rank the index of its program.
    pub(crate) program_of: Vec<usize>,
    /// The hosts; the first is the machine that mpirun runs on.
    pub(crate) hosts: Vec<String>,
    /// For each rank the index of its host.
    pub(crate) node_of: Vec<usize>,
    /// The sum of the hosts' slots, where hosts were named.
    pub(crate) slots: Option<usize>,
    /// Where mpirun runs.
    #[serde(with = "paths")]
    pub(crate) here: PathBuf,
    /// How hosts are reached.
    pub(crate) way: Way,
    /// What ranks are tied to, if that was said.
    pub(crate) tie: Option<Tie>,
    /// How they are dealt out within a host.
    pub(crate) within: Option<MapBy>,
    /// Whether to put our libraries in front of the ranks' own.
    pub(crate) redirect: bool,
    /// Whether ranks are to send lines for the report.
    pub(crate) report: bool,
    /// Who gets mpirun's standard input.
    pub(crate) stdin: StdinTo,
}

impl Plan {
    /// What marks the processes of one host, by which its guard finds them: hosts may be one machine.
    pub(crate) fn mark(&self, node: usize) -> String {
        format!("{}.{node}", self.job)
    }

    /// Makes the plan for `request` in the environment `inherited`, where a batch system may have
    /// `granted` hosts.
    pub(crate) fn make(
        request: &Request,
        inherited: &Environment,
        granted: Option<&Allocation>,
    ) -> Result<Plan, Refusal> {
        let global = &request.global;
        let here = std::env::current_dir().map_err(|error| {
            Refusal::new(match error.kind() {
                ErrorKind::NotFound => "the working directory has been removed: change to another \
                                        one (cd) and start mpirun there"
                    .to_string(),
                _ => format!("the working directory cannot be used: {error}"),
            })
        })?;
        let tie = options::tie(global.bind_to, global.map_by, global.other.use_hwthread_cpus);
        let tie = tie.map_err(Refusal::new)?;
        let parts = parts(request, granted)?;
        check_counts(request, &parts)?;
        let programs = programs(request, inherited, &here)?;
        let counts = parts.iter().map(|part| part.ranks);
        let program_of: Vec<usize> =
            counts.enumerate().flat_map(|(app, n)| std::iter::repeat_n(app, n)).collect();
        if let StdinTo::Rank(rank) = global.stdin
            && rank >= program_of.len()
        {
            let last = program_of.len() - 1;
            let text = format!("--stdin {rank}: there are only ranks 0 to {last}");
            return Err(Refusal::new(text));
        }
        let placement = placement(&parts, rule(global))?;
        refuse_more(global, &placement, granted)?;
        let slots = placement.slots();
        let placement = placement.without_idle_hosts();
        Ok(Plan {
            job: job_name()?,
            programs,
            program_of,
            slots,
            hosts: placement.hosts,
            node_of: placement.node_of,
            way: Way::of(global, &here)?,
            here,
            tie,
            within: global.map_by.map(|map| map.within),
            redirect: !global.no_redirect,
            report: global.report,
            stdin: global.stdin,
        })
    }

    /// The number of ranks.
    pub(crate) fn ranks(&self) -> usize {
        self.program_of.len()
    }

    /// The ranks of a host.
    pub(crate) fn ranks_of(&self, node: usize) -> Vec<usize> {
        (0..self.ranks()).filter(|&rank| self.node_of[rank] == node).collect()
    }
}

/// A name for a new job.
fn job_name() -> Result<String, Refusal> {
    let mut random = [0; 16];
    getrandom::fill(&mut random)
        .map_err(|e| Refusal::new(format!("the system has no random numbers: {e}")))?;
    Ok(format!("ferrite_{}", hex::encode(random)))
}

/// How many ranks a program has, and where they may run.
struct Part {
    ranks: usize,
    hosts: Vec<Host>,
}

/// How ranks are dealt out to hosts.
fn rule(global: &Global) -> Rule {
    match (global.ppn, global.rr, global.map_by.and_then(|map| map.hosts)) {
        (Some(n), ..) => Rule::PerNode(n as usize),
        (None, ..) if global.pernode => Rule::PerNode(1),
        (None, _, Some(rule)) => rule,
        (None, true, None) => Rule::Node,
        (None, false, None) => Rule::Slot,
    }
}

/// The programs' numbers of ranks and their hosts. A program without hosts of its own has those of
/// the first.
fn parts(request: &Request, granted: Option<&Allocation>) -> Result<Vec<Part>, Refusal> {
    let mut parts: Vec<Part> = Vec::new();
    for segment in &request.segments {
        let own = hosts::of_options(&segment.options.host, &segment.options.hostfile)?;
        let hosts = match parts.first() {
            Some(first) if own.is_empty() => first.hosts.clone(),
            _ => own,
        };
        let alone = request.segments.len() == 1;
        let granted = granted.filter(|_| hosts.is_empty());
        let granted = granted.and_then(|granted| granted.slots_of(&hosts::this()));
        let room = if alone { room(&hosts, granted, rule(&request.global)) } else { 1 };
        parts.push(Part { ranks: segment.options.ranks.unwrap_or(room), hosts });
    }
    Ok(parts)
}

/// How many ranks fit, where somebody said so or a batch system has granted it; otherwise one.
fn room(hosts: &[Host], granted: Option<usize>, rule: Rule) -> usize {
    match rule {
        Rule::PerNode(n) => n.saturating_mul(hosts.len().max(1)),
        Rule::Slot | Rule::Node if hosts.iter().any(|host| host.slots.is_some()) => {
            let slots = hosts.iter().map(|host| host.slots.unwrap_or(1));
            // Hosts without any slot are refused where ranks are dealt out.
            slots.fold(0, usize::saturating_add).max(1)
        }
        Rule::Slot | Rule::Node => granted.unwrap_or(1),
    }
}

/// Refuses jobs without a rank and jobs with too many.
fn check_counts(request: &Request, parts: &[Part]) -> Result<(), Refusal> {
    let mut total = 0usize;
    for (segment, part) in request.segments.iter().zip(parts) {
        total = total.saturating_add(part.ranks);
        if part.ranks == 0 {
            let shown = segment.program.to_string_lossy();
            return Err(Refusal::new(format!(
                "-n 0: there must be at least one rank of “{shown}”"
            )));
        }
    }
    if total > RANKS_MAX {
        let text = format!("{total} ranks are more than one job may have ({RANKS_MAX})");
        return Err(Refusal::new(text));
    }
    Ok(())
}

/// Refuses what the user does not want to be possible: more ranks than slots, and another numbering
/// than that by which ranks are dealt out.
fn refuse_more(
    global: &Global,
    placement: &Placement,
    granted: Option<&Allocation>,
) -> Result<(), Refusal> {
    if global.nooversubscribe || global.map_by.is_some_and(|map| map.refuse_more) {
        let granted = granted.and_then(|granted| granted.slots_of(&hosts::this()));
        placement.refuse_more(granted.unwrap_or_else(|| Machine::here().usable()))?;
    }
    let in_turn = rule(global) == Rule::Node;
    match global.rank_by {
        Some(Numbering::Node) if !in_turn && placement.hosts.len() > 1 => Err(Refusal::new(
            "--rank-by node: ranks are numbered in the order in which they are dealt out: use \
             --map-by node, which deals them to the hosts in turn",
        )),
        Some(Numbering::Slot) if in_turn => Err(Refusal::new(
            "--rank-by slot: ranks are numbered in the order in which they are dealt out: use \
             --map-by slot or -ppn N, which deal neighbours to one host",
        )),
        _ => Ok(()),
    }
}

/// Which host runs which rank.
fn placement(parts: &[Part], rule: Rule) -> Result<Placement, Refusal> {
    let mut placement = Placement::new(&hosts::this());
    for part in parts {
        placement.deal(part.ranks, &part.hosts, rule)?;
    }
    Ok(placement)
}

/// How lines of output are marked.
pub(crate) fn mark(global: &Global) -> (Tag, Option<Clock>) {
    let tag = match (global.tag_output, global.prepend_rank) {
        (true, _) => Tag::RankAndStream,
        (_, true) => Tag::Rank,
        _ if global.timestamp_output => Tag::Stream,
        _ => Tag::None,
    };
    (tag, global.timestamp_output.then_some(sys::time_of_day as Clock))
}

/// What mpirun has to say before it starts.
pub(crate) fn notes(
    request: &Request,
    inherited: &Environment,
    granted: &Result<Option<Allocation>, String>,
) -> Vec<String> {
    if request.global.quiet {
        return Vec::new();
    }
    let mut notes: Vec<String> = foreign::note(&request.global, inherited).into_iter().collect();
    let programs = request.segments.iter().map(|segment| &segment.options);
    let unset: BTreeSet<_> = programs.flat_map(|local| env::unset(inherited, local)).collect();
    for name in unset {
        let name = name.display();
        notes.push(format!(
            "note: -x {name}: there is no such variable here, so the ranks do not get it; \
             -x {name}=VALUE gives it a value"
        ));
    }
    let named = |local: &Local| !local.host.is_empty() || !local.hostfile.is_empty();
    if !request.segments.iter().any(|segment| named(&segment.options)) {
        notes.extend(match granted {
            Ok(granted) => granted.as_ref().and_then(|granted| granted.note(&hosts::this())),
            Err(why) => Some(format!("note: {why}; all ranks run on this host")),
        });
    }
    notes
}

fn programs(
    request: &Request,
    inherited: &Environment,
    here: &Path,
) -> Result<Vec<Program>, Refusal> {
    let mut programs = Vec::new();
    for segment in &request.segments {
        let options = &segment.options;
        let mut environment = env::of_segment(inherited, &request.global, options)?;
        for (name, value) in foreign::mapped(&request.global, inherited) {
            environment.entry(name).or_insert(value);
        }
        if let Some(file) = &request.global.config {
            environment.insert("FERRITE_CONFIG".into(), here.join(file).into_os_string());
        }
        settings::load(&environment)?;
        let directory = options.directory.as_ref().map(|dir| here.join(dir));
        if let Some(directory) = &directory {
            name_directory(&mut environment, directory);
        }
        programs.push(Program {
            name: segment.program.clone(),
            arguments: segment.arguments.clone(),
            environment,
            directory,
            path: search_path(options.path.as_deref(), inherited),
        });
    }
    Ok(programs)
}

/// Tells programs that believe PWD where they run. A path that goes up and down again cannot be
/// straightened without a look at the links on each host, so it is left to them to find out.
fn name_directory(environment: &mut Environment, directory: &Path) {
    match directory.components().any(|part| part == Component::ParentDir) {
        true => environment.remove(OsStr::new("PWD")),
        false => {
            let straight: PathBuf = directory.components().collect();
            environment.insert("PWD".into(), straight.into_os_string())
        }
    };
}

/// Where to look for a program without a slash in its name.
fn search_path(asked: Option<&OsStr>, inherited: &Environment) -> Vec<PathBuf> {
    let own = inherited.get(OsStr::new("PATH")).map(OsString::as_os_str);
    let own = own.unwrap_or(OsStr::new("/usr/local/bin:/usr/bin:/bin"));
    let split = |list: &OsStr| std::env::split_paths(list).collect::<Vec<_>>();
    asked.map(split).unwrap_or_default().into_iter().chain(split(own)).collect()
}

impl Way {
    /// The way that the options describe.
    fn of(global: &Global, here: &Path) -> Result<Way, Refusal> {
        let words = split_words(&global.launcher).filter(|words| !words.is_empty());
        let words = words.map(|words| words.into_iter().map(OsString::from).collect::<Vec<_>>());
        let words = words.ok_or_else(|| {
            let shown = &global.launcher;
            Refusal::new(format!("--launcher “{shown}”: this is no command"))
        })?;
        let program = match &global.prefix {
            Some(prefix) => here.join(prefix).join("bin/mpirun"),
            None => std::env::current_exe()?,
        };
        Ok(Way { words, program, fanout: global.fanout })
    }
}
