//! `mpirun` and `mpiexec`: the embedded process manager.
//!
//! In: a command line. Out: ranks on this machine and on others, each told its place by PMI-1 (and
//! by the control socket, for what PMI has no words for), their output line by line, one paragraph
//! about the first failure, and nothing left behind. One thread, one loop, no file with a name.
//!
//! The way of a job: `options` reads the command line, `plan` refuses what can be refused, `site`
//! works out what each host has to do, `node` does it with the help of `spawn`, `pmi_server`,
//! `outlets`, `hear` and `leftovers`, and `job` draws the conclusions with the help of `streams`,
//! `input` and `failures`. With several hosts, `tree` carries what `node` and `job` tell each other.
//! Only `sys` has unsafe code.

#![deny(unsafe_code)]

mod agent;
mod allocation;
mod binding;
mod callers;
mod conclusions;
mod dying;
mod env;
mod failures;
mod files;
mod foreign;
mod hear;
mod hosts;
mod input;
mod interrupt;
mod job;
mod leftovers;
mod libraries;
mod node;
mod options;
mod outlets;
mod output;
mod pack;
mod plan;
mod pmi_server;
mod program;
mod prompt;
mod ranges;
mod recovery;
mod redirect;
mod refuse;
mod report;
mod route;
mod settings;
mod site;
mod source;
mod spawn;
mod static_tls;
mod streams;
mod stuck;
mod sys;
mod tree;
mod way;
mod withheld;

use allocation::Allocation;
use launch_wire::{Address, address, number_of, plain};
use plan::Plan;
use refuse::{REFUSED, Refusal};
use std::io::Write;
use std::process::ExitCode;

/// Runs mpirun with the arguments of this process.
pub fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    if arguments == [way::AGENT] {
        return agent::main();
    }
    if arguments == [dying::NAME_CALLS] {
        return dying::name_calls();
    }
    let mut request = match options::parse(arguments) {
        Ok(request) => request,
        Err(answer) => {
            // Nobody is left to tell when this cannot be printed.
            let _ = answer.print();
            return ExitCode::from(if answer.use_stderr() { REFUSED } else { 0 });
        }
    };
    request.global.heed(std::env::var(options::TIMEOUT).ok().as_deref());
    close_outer_job();
    let mut inherited: env::Environment = std::env::vars_os().collect();
    if request.global.settings {
        let file = request.global.config.iter().map(|file| ("FERRITE_CONFIG".into(), file.clone()));
        inherited.extend(file);
        return finish(settings::load(&inherited).map(|settings| {
            // Whoever does not read the table does not miss it.
            let _ = std::io::stdout().write_all(settings.table().as_bytes());
            0
        }));
    }
    let granted = Allocation::of(&inherited);
    let notes = plan::notes(&request, &inherited, &granted);
    let granted = granted.ok().flatten();
    let plan = Plan::make(&request, &inherited, granted.as_ref());
    finish(plan.and_then(|plan| job::run(&plan, &request.global, &notes)))
}

/// Says why, if nothing was run, and hands the status on.
fn finish(status: Result<u8, Refusal>) -> ExitCode {
    match status {
        Ok(status) => ExitCode::from(status),
        Err(Refusal { text, status }) => {
            eprintln!("mpirun: {}", plain(&text));
            ExitCode::from(status)
        }
    }
}

/// An mpirun inside a rank of another job must not hand that job's sockets to its own ranks.
fn close_outer_job() {
    let address = std::env::var(address::VARIABLE).ok();
    let address = address.and_then(|text| Address::from_text(&text));
    for (place, name) in ["PMI_FD", launch_wire::control::VARIABLE].into_iter().enumerate() {
        let number = std::env::var(name).ok().and_then(|text| text.parse().ok());
        // Something else may have been opened under the number since.
        let which = address.as_ref().map(|address| address.sockets[place]);
        let is_it = |fd: &i32| which.is_none_or(|which| number_of(*fd).ok() == Some(which));
        if let Some(fd) = number.filter(|&fd| fd > 2).filter(is_it) {
            sys::close_on_exec_inherited(fd);
        }
    }
}
