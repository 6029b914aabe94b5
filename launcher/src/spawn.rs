//! Starting one rank: its sockets, its pipes, its variables, its process.

use crate::env::{Place, add_place};
use crate::input::{self, Way};
use crate::plan::Plan;
use crate::prompt;
use crate::refuse::{Refusal, remedy};
use crate::site::Site;
use crate::sys::{self, ChildPlan, Signals, StartError, Step, c_string};
use launch_wire::Address;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// Our ends of what connects us with a rank.
#[derive(Debug)]
pub(crate) struct Started {
    /// Its process, which leads a process group.
    pub(crate) pid: i32,
    /// Its PMI socket.
    pub(crate) pmi: OwnedFd,
    /// Its control socket.
    pub(crate) control: OwnedFd,
    /// Its standard output and error.
    pub(crate) outputs: [OwnedFd; 2],
    /// Its standard input, where we feed it.
    pub(crate) input: Option<OwnedFd>,
}

/// What all ranks of a host get alike.
#[derive(Debug)]
pub(crate) struct Common<'a> {
    /// The plan of the job.
    pub(crate) plan: &'a Plan,
    /// This host's part of it.
    pub(crate) site: &'a Site,
    /// The signal mask to give back.
    pub(crate) signals: &'a Signals,
    /// The limit of descriptors to give back.
    pub(crate) limit: sys::Rlimit,
    /// The name of the socket where mpirun is reached, if there is one.
    pub(crate) recovery: Option<&'a str>,
    /// The standard input of ranks that have none.
    pub(crate) nothing: &'a File,
}

/// Starts the `index`th rank of this host.
pub(crate) fn start(common: &Common, index: usize) -> Result<Started, Refusal> {
    let Common { plan, site, .. } = common;
    let rank = site.ranks[index];
    let asked = &plan.programs[plan.program_of[rank]];
    let app = site.apps[plan.program_of[rank]].as_ref();
    let app = app.expect("a host looks for the programs of all of its ranks");
    let no_descriptor =
        |error| refusal(&asked.shown(), rank, &StartError { step: Step::Fork, error });
    let [pmi, their_pmi] = sys::socket_pair(false).map_err(no_descriptor)?;
    let [control, their_control] = sys::socket_pair(true).map_err(no_descriptor)?;
    let [out, their_out] = sys::pipe(0).map_err(no_descriptor)?;
    let [err, their_err] = sys::pipe(0).map_err(no_descriptor)?;
    let way = input::way(plan, site.node, rank);
    let [their_input, input] = match way {
        Way::Fed => sys::pipe(1).map_err(no_descriptor)?.map(Some),
        Way::Nothing | Way::Own => [None, None],
    };
    let stdin = match (&their_input, way) {
        (Some(pipe), _) => pipe.as_fd(),
        (None, Way::Own) => sys::stdin(),
        (None, _) => common.nothing.as_fd(),
    };
    let sockets = [their_pmi.as_raw_fd(), their_control.as_raw_fd()];
    let numbers = [launch_wire::number_of(sockets[0]), launch_wire::number_of(sockets[1])];
    let address = match (common.recovery, numbers) {
        (Some(name), [Ok(pmi), Ok(control)]) => {
            Some(Address { name: name.to_string(), sockets: [pmi, control] })
        }
        _ => None,
    };
    let mark = plan.mark(site.node);
    let mut environment = app.environment.clone();
    let place = Place {
        rank,
        size: plan.ranks(),
        local: (index, site.ranks.len()),
        cpus: site.cpus,
        job: &mark,
        host: &site.host,
        route: site.route,
        sockets,
        address,
        report: plan.report,
        lines: app.lines.then(|| prompt::name(&their_out)).transpose()?,
    };
    add_place(&mut environment, &place);
    let words = app.program.words.iter().chain(&asked.arguments);
    let child = ChildPlan {
        file: c_string(app.program.file.as_os_str())?,
        arguments: words.map(|word| c_string(word)).collect::<io::Result<_>>()?,
        environment: environment
            .iter()
            .map(|(name, value)| c_string(&join(name, value)))
            .collect::<io::Result<_>>()?,
        directory: asked.directory.as_ref().map(|dir| c_string(dir.as_os_str())).transpose()?,
        streams: [stdin, their_out.as_fd(), their_err.as_fd()],
        inherited: &[their_pmi.as_fd(), their_control.as_fd()],
        cpus: site.binding.cpus[index].as_deref(),
        mask: common.signals.old_mask(),
        descriptor_limit: common.limit,
    };
    let pid = sys::start(&child).map_err(|error| refusal(&asked.shown(), rank, &error))?;
    Ok(Started { pid, pmi, control, outputs: [out, err], input })
}

fn join(name: &OsStr, value: &OsStr) -> std::ffi::OsString {
    let mut entry = name.to_os_string();
    entry.push("=");
    entry.push(value);
    entry
}

fn refusal(program: &str, rank: usize, failed: &StartError) -> Refusal {
    let StartError { step, error } = failed;
    match step {
        Step::Fork => {
            Refusal::new(format!("rank {rank} cannot be started: {error}{}", remedy(error)))
        }
        Step::Prepare => Refusal::new(format!("rank {rank} cannot be prepared: {error}")),
        Step::Directory => {
            Refusal::new(format!("rank {rank} cannot enter its working directory: {error}"))
        }
        Step::Exec if error.kind() == ErrorKind::NotFound => Refusal::not_found(format!(
            "“{program}” cannot be executed: it, or the interpreter that it asks for, is not there"
        )),
        Step::Exec => Refusal::cannot_execute(format!("“{program}” cannot be executed: {error}")),
    }
}
