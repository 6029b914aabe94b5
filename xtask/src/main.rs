//! `cargo xtask …`: everything that a developer does with this repository, one word each.
//!
//! Enters: the command line. Leaves: installed packages, a prefix, test results, generated files.
//! Each sub-command is one file; `place` knows where things are, `run` starts other programs.

mod accept;
mod bare;
mod checkers;
mod compare;
mod demo;
mod generate;
mod install;
mod layout;
mod peers;
mod place;
mod rails;
mod rdma;
mod report;
mod run;
mod setup;
mod soak;
mod suites;
mod tally;
mod test;
mod tune;

use anyhow::Result;
use clap::{Parser, Subcommand};
use std::path::PathBuf;
use std::process::ExitCode;

/// The developer's one command.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Install what a fresh Debian or Ubuntu machine lacks
    Setup {
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
    /// Build everything in release mode and lay it out below a prefix
    Install {
        /// The folder that gets bin/, lib/ and include/
        #[arg(long, value_name = "DIR")]
        prefix: PathBuf,
    },
    /// Set up, build, install at target/ferrite, compile the examples and run them
    Demo,
    /// Measure our library beside the others, by the programs in benches/
    Compare(Box<compare::Options>),
    /// Run programs of other suites, built beforehand, and check what they say: NPB, SMG2000, IMB, OSU,
    /// MPICH's tests; or programs of Debian's packages
    Accept(Box<accept::Options>),
    /// Measure the algorithms of collectives and write a table of rules, or check one
    Tune(Box<tune::Options>),
    /// Measure algorithms of several ports on hosts with several network cards (namespaces; needs
    /// root)
    Rails(Box<rails::Options>),
    /// Run and measure RDMA in an emulated host with soft-RoCE devices, on any machine
    Rdma(Box<rdma::Options>),
    /// Random traffic with every word checked, for ten minutes or as long as one likes
    Soak(soak::Options),
    /// Make the environments of the libraries that tests compare with, in target/peers
    Peers {
        /// Only these
        names: Vec<String>,
    },
    /// Write the files that are derived from the description of MPI and from the bodies
    Generate {
        /// Only compare; fail if something is not current
        #[arg(long)]
        check: bool,
    },
    /// Run the README's two commands on a minimal machine (chroot; needs root and debootstrap)
    Bare,
    /// Run the checkers alone, or these of them: other processors, licences, undefined behaviour,
    /// memory, races
    Check {
        /// Only these
        #[arg(value_parser = checkers::names())]
        names: Vec<String>,
    },
    /// Set up, build, and run every test: under 20 minutes on two cores, 35 the first time
    Test {
        /// The long ones too
        #[arg(long)]
        all: bool,
    },
}

fn main() -> ExitCode {
    match perform(Arguments::parse().task) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("cargo xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn perform(task: Task) -> Result<ExitCode> {
    match task {
        Task::Setup { yes } => setup::setup(yes)?,
        Task::Install { prefix } => install::install(&prefix)?,
        Task::Demo => demo::demo()?,
        Task::Generate { check } => generate::generate(check)?,
        Task::Peers { names } => peers::peers(&names)?,
        Task::Rails(options) => rails::rails(&options)?,
        Task::Soak(options) => soak::soak(&options)?,
        Task::Bare => bare::bare()?,
        Task::Accept(options) => return accept::accept(&options).map(judged),
        Task::Compare(options) => return compare::compare(&options).map(judged),
        Task::Rdma(options) => return rdma::rdma(&options).map(judged),
        Task::Tune(options) => return tune::tune(&options).map(judged),
        Task::Check { names } => return checkers::check(&names),
        Task::Test { all } => return test::test(all),
    }
    Ok(ExitCode::SUCCESS)
}

/// A measurement or an acceptance that does not hold makes the command fail.
fn judged(holds: bool) -> ExitCode {
    if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
