//! The command line: what mpirun can be told, and under which spellings.
//!
//! In: the arguments. Out: a [`Request`]: options of the whole job, and one [`Segment`] for each
//! program (MPMD, separated by `:`). The options are described once, in `Global` and `Local`;
//! `spelling.rs` brings the single-dash words of MPICH's hydra and of Open MPI into clap's form.

mod configfile;
mod elsewhere;
mod outputs;
mod places;
mod spelling;

use crate::files::Wanted;
use clap::{Args, Command, FromArgMatches};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

pub(crate) use configfile::split as split_words;
pub(crate) use places::{BindTo, MapBy, Mapping, Numbering, Tie, tie};

/// Who gets what mpirun reads from its standard input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum StdinTo {
    /// One rank.
    Rank(usize),
    /// Every rank a copy.
    All,
    /// Nobody.
    None,
}

fn stdin_to(text: &str) -> Result<StdinTo, String> {
    match text {
        "all" => Ok(StdinTo::All),
        "none" => Ok(StdinTo::None),
        _ => text.parse().map(StdinTo::Rank).map_err(|_| "a rank, all, or none".to_string()),
    }
}

/// Thirty years: no job takes longer, and clocks can still be added to.
const SECONDS_MAX: f64 = 1e9;
/// More hosts than any job has.
const FANOUT_MAX: usize = 1 << 20;

fn seconds(text: &str) -> Result<Duration, String> {
    match text.parse::<f64>() {
        Ok(s) if s > 0.0 && s <= SECONDS_MAX => {
            Duration::try_from_secs_f64(s).map_err(|e| e.to_string())
        }
        _ => Err(format!("a number of seconds greater than 0, up to {SECONDS_MAX}")),
    }
}

fn ranks(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| "a number of ranks is needed here, as 4".to_string())
}

fn ranks_of_a_host(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(n) if n > 0 => Ok(n),
        _ => Err("a number of ranks for each host is needed here, at least 1".to_string()),
    }
}

fn fanout(text: &str) -> Result<usize, String> {
    match text.parse::<usize>() {
        Ok(n) if (1..=FANOUT_MAX).contains(&n) => Ok(n),
        _ => Err(format!("a number from 1 to {FANOUT_MAX}")),
    }
}

/// Options of the whole job.
#[derive(Debug, Args)]
#[command(next_help_heading = "Input and output")]
pub(crate) struct Global {
    /// Begin every line of output with the rank and stream it came from: [1,RANK]<stdout>:
    #[arg(long, visible_alias = "tag")]
    pub(crate) tag_output: bool,
    /// Begin every line of output with the rank it came from: [RANK]
    #[arg(short = 'l', long)]
    pub(crate) prepend_rank: bool,
    /// Which rank reads what is typed or piped into mpirun
    #[arg(short = 's', long, value_name = "RANK|all|none", default_value = "0",
          value_parser = stdin_to)]
    pub(crate) stdin: StdinTo,
    /// Send what ranks write to standard error to standard output as well
    #[arg(long, alias = "merge-stderr-to-stdout")]
    pub(crate) merge_stderr: bool,
    /// Begin every line of output with the time at which it came
    #[arg(long)]
    pub(crate) timestamp_output: bool,
    /// Write each rank's output to files, too: DIR/1/rank.RANK/stdout and stderr; only there with
    /// nocopy, and without the 1 with nojobid
    #[arg(long, value_name = "DIR[:nocopy,nojobid]", value_parser = outputs::folder)]
    pub(crate) output_filename: Option<Wanted>,
    /// Write standard output to files alone: %r in the name is the rank, %h its host
    #[arg(long, value_name = "NAME")]
    pub(crate) outfile_pattern: Option<String>,
    /// The same of standard error
    #[arg(long, value_name = "NAME")]
    pub(crate) errfile_pattern: Option<String>,
    /// Several of these at once, as Open MPI 5 spells them: tag, timestamp, merge-stderr-to-stdout,
    /// dir=DIR as --output-filename, or file=FILE for FILE.RANK.out and FILE.RANK.err
    #[arg(long, value_name = "WORD,…[:nocopy]", value_parser = outputs::output)]
    output: Option<outputs::Output>,

    /// End the job with status 124 if it runs longer [default: the variable MPIEXEC_TIMEOUT]
    #[arg(long, value_name = "SECONDS", value_parser = seconds,
          help_heading = "When it goes wrong, or slowly")]
    pub(crate) timeout: Option<Duration>,
    /// When nothing has moved for so long, print which ranks wait in which call, and go on
    #[arg(long, value_name = "SECONDS", value_parser = seconds,
          help_heading = "When it goes wrong, or slowly")]
    pub(crate) stuck_after: Option<Duration>,
    /// At the end, print which hosts, CPUs and ways of communication the ranks used, and why
    #[arg(long, help_heading = "When it goes wrong, or slowly")]
    pub(crate) report: bool,
    /// At the start, print which host and which CPUs each rank gets
    #[arg(long, aliases = ["display-map", "display-allocation", "display-devel-map"],
          help_heading = "When it goes wrong, or slowly")]
    pub(crate) report_bindings: bool,
    /// Leave out notes that are no errors, those of the ranks' MPI library too
    #[arg(short = 'q', long, help_heading = "When it goes wrong, or slowly")]
    pub(crate) quiet: bool,
    /// Print Ferrite's settings with their values and where these come from, and run nothing
    #[arg(long, help_heading = "When it goes wrong, or slowly")]
    pub(crate) settings: bool,
    /// The programs and their options are in this file, one program a line
    #[arg(long, aliases = ["app", "appfile"], value_name = "FILE", help_heading = "What to run")]
    pub(crate) configfile: Option<OsString>,
    /// Read settings from this file as well
    #[arg(long, value_name = "FILE", help_heading = "When it goes wrong, or slowly")]
    pub(crate) config: Option<OsString>,
    /// Leave the program the MPI library that it finds by itself
    #[arg(long, help_heading = "When it goes wrong, or slowly")]
    pub(crate) no_redirect: bool,

    /// Tie each rank to a part of the machine, or to N neighbouring ones [default: one core each,
    /// where that fills the machine and nobody else is at work there; otherwise none]
    #[arg(long, alias = "binding", value_name = "none|core|hwthread|numa|socket[:N]",
          value_parser = places::bind_to, help_heading = "Where the ranks run")]
    pub(crate) bind_to: Option<Tie>,
    /// How ranks are dealt out: to the hosts by slots, one each in turn, or N each; within a host
    /// side by side, or in turn over sockets or NUMA domains; with PE=M each rank gets M cores
    #[arg(long, value_name = "slot|node|ppr:N:node|core|numa|socket[:PE=M]",
          value_parser = places::map_by, help_heading = "Where the ranks run")]
    pub(crate) map_by: Option<Mapping>,
    /// How ranks are numbered: slot or node, which must be how --map-by deals them out
    #[arg(long, value_parser = places::rank_by, help_heading = "Where the ranks run")]
    pub(crate) rank_by: Option<Numbering>,
    /// Refuse more ranks than slots, or than processors where no slots are told
    #[arg(long, alias = "no-oversubscribe", help_heading = "Where the ranks run")]
    pub(crate) nooversubscribe: bool,
    /// Network interface for connections between hosts, as FERRITE_TCP_INTERFACES
    #[arg(long, value_name = "NAME", help_heading = "Where the ranks run")]
    pub(crate) iface: Option<String>,
    /// One rank for each host in turn, as --map-by node
    #[arg(long, visible_aliases = ["bynode"], help_heading = "Where the ranks run")]
    pub(crate) rr: bool,
    /// So many ranks for each host, whatever its slots
    #[arg(long, visible_aliases = ["perhost", "npernode"], short = 'N', value_name = "N",
          value_parser = ranks_of_a_host,
          help_heading = "Where the ranks run")]
    pub(crate) ppn: Option<u32>,
    /// One rank for each host, as -ppn 1
    #[arg(long, help_heading = "Where the ranks run")]
    pub(crate) pernode: bool,
    /// How to reach other hosts: ssh, a command that is used like it (COMMAND HOST WORD …), or fork
    /// to make do without and let this machine stand for all of them
    #[arg(long, visible_aliases = ["bootstrap", "launcher-exec"], value_name = "COMMAND",
          default_value = "ssh", help_heading = "Where the ranks run")]
    pub(crate) launcher: String,
    /// Where Ferrite is installed on the other hosts [default: where it is here]
    #[arg(long, value_name = "DIR", help_heading = "Where the ranks run")]
    pub(crate) prefix: Option<PathBuf>,
    /// How many hosts one host starts; more are started by those
    #[arg(long, value_name = "N", default_value_t = crate::way::FANOUT,
          value_parser = fanout, help_heading = "Where the ranks run")]
    pub(crate) fanout: usize,

    /// Ask MPI to serve these kinds of memory (MPI-5.0 §12.4.3), as system,mpi
    #[arg(long, value_name = "KIND,…", help_heading = "Environment")]
    pub(crate) memory_alloc_kinds: Option<OsString>,
    /// Set a variable for all programs
    #[arg(long, num_args = 2, value_names = ["NAME", "VALUE"], help_heading = "Environment")]
    pub(crate) genv: Vec<OsString>,
    /// Pass only these variables on
    #[arg(long, value_name = "NAME,…", help_heading = "Environment")]
    pub(crate) genvlist: Option<String>,
    /// Pass no variables on but those set here
    #[arg(long, help_heading = "Environment")]
    pub(crate) genvnone: bool,
    /// Pass all variables on (the default)
    #[arg(long, help_heading = "Environment")]
    pub(crate) genvall: bool,

    #[command(flatten)]
    pub(crate) other: Accepted,
}

/// Options of other launchers that ask for what holds here anyway, or have no meaning here.
#[derive(Debug, Args)]
#[command(next_help_heading = "Accepted from scripts for other launchers, without effect")]
pub(crate) struct Accepted {
    /// More ranks than cores: always allowed
    #[arg(long, alias = "map-by-oversubscribe")]
    oversubscribe: bool,
    /// Always allowed
    #[arg(long)]
    allow_run_as_root: bool,
    /// Hardware threads count as CPUs: they do, and PE=N of --map-by then counts them
    #[arg(long)]
    pub(crate) use_hwthread_cpus: bool,
    /// The batch system that grants hosts: mpirun looks for four by itself, and says so
    #[arg(long, value_name = "NAME")]
    rmk: Option<String>,
    /// Settings of Open MPI: what they are called here is said once
    #[arg(long, num_args = 2, value_names = ["NAME", "VALUE"],
          aliases = ["gmca", "prtemca", "pmixmca", "gpmixmca"])]
    pub(crate) mca: Vec<String>,
    /// Exit statuses: that of the rank that failed first is told
    #[arg(long)]
    print_all_exitcodes: bool,
    /// Say more: mpirun says what there is a reason for; --report tells the rest
    #[arg(short = 'v', long)]
    verbose: bool,
}

/// Options of one program.
#[derive(Debug, Args)]
#[command(next_help_heading = "What to run")]
pub(crate) struct Local {
    /// How many copies of the program: its ranks [default: of a single program as many as -ppn, the
    /// slots of -H or --hostfile, or those that a batch system grants here make room for; otherwise 1]
    #[arg(short = 'n', short_alias = 'c', long = "np", visible_aliases = ["n", "ntasks"],
          value_name = "N", value_parser = ranks)]
    pub(crate) ranks: Option<usize>,
    /// The hosts to run on, and how many ranks fit there
    #[arg(
        short = 'H',
        long,
        visible_alias = "hosts",
        value_name = "HOST[:SLOTS],…",
        help_heading = "Where the ranks run"
    )]
    pub(crate) host: Vec<String>,
    /// A file of hosts, one a line: HOST, HOST:SLOTS or HOST slots=SLOTS
    #[arg(short = 'f', long, visible_aliases = ["machinefile", "default-hostfile"],
          value_name = "FILE", help_heading = "Where the ranks run")]
    pub(crate) hostfile: Vec<OsString>,
    /// Run the program in this directory
    #[arg(long = "wdir", visible_aliases = ["wd", "chdir"], value_name = "DIR")]
    pub(crate) directory: Option<OsString>,
    /// Look for the program in these directories first (separated by colons)
    #[arg(long, value_name = "DIRS")]
    pub(crate) path: Option<OsString>,

    /// Set a variable for the program, or pass mpirun's own value on; or srun's list of such with
    /// ALL or NONE of the others
    #[arg(short = 'x', long = "export", value_name = "NAME[=VALUE]", help_heading = "Environment")]
    pub(crate) export: Vec<OsString>,
    /// Set a variable for this program
    #[arg(long, num_args = 2, value_names = ["NAME", "VALUE"], help_heading = "Environment")]
    pub(crate) env: Vec<OsString>,
    /// Pass only these variables on to this program
    #[arg(long, value_name = "NAME,…", help_heading = "Environment")]
    pub(crate) envlist: Option<String>,
    /// Pass no variables on to this program but those set here
    #[arg(long, help_heading = "Environment")]
    pub(crate) envnone: bool,
    /// Pass all variables on to this program (the default)
    #[arg(long, help_heading = "Environment")]
    pub(crate) envall: bool,
}

/// One program of the job.
#[derive(Debug)]
pub(crate) struct Segment {
    /// Its own options.
    pub(crate) options: Local,
    /// The program, as typed.
    pub(crate) program: OsString,
    /// Its arguments.
    pub(crate) arguments: Vec<OsString>,
}

/// A command line that was understood.
#[derive(Debug)]
pub(crate) struct Request {
    /// Options of the whole job.
    pub(crate) global: Global,
    /// The programs; none only where `--settings` is all that was asked for.
    pub(crate) segments: Vec<Segment>,
}

const ABOUT: &str = "Run a parallel program: start N copies of it that can send messages to each \
other (MPI). Any MPI program will do, whichever MPI library it was built for; so will a script, \
and a program that is not parallel.";

const EXAMPLES: &str = "\
Examples:
  mpirun -n 4 ./wave input.txt         four ranks of ./wave
  mpirun -n 4 python3 heat.py          four ranks of a Python script
  mpirun -n 1 ./master : -n 3 ./work   two programs in one job
  mpirun -n 4 -l ./wave                show which rank wrote each line
  mpirun -n 4 --timeout 60 ./wave      give up after a minute
  mpirun -n 4 --stuck-after 10 ./wave  say who waits for whom when nothing moves for 10 s
  mpirun -n 8 -H n1:4,n2:4 ./wave      four ranks each on the hosts n1 and n2
  mpirun -l -configfile FILE           the programs and their options are in FILE, one a line

SIGUSR2 to mpirun prints at any time which ranks wait in which call; SIGINT (Ctrl-C) and SIGTERM do so
when nothing moves any more. These go
on to the ranks, which may take their time to end; the same once more kills them at once.

Exit status: that of the rank that failed first; the lowest 8 bits of MPI_Abort's code, or 1
where these are 0; 128+N after signal N; 124 after --timeout; 127 when the program is missing
and 126 when it cannot be executed; 2 when mpirun refuses a request; 1 when a rank leaves the
others without MPI_Finalize; otherwise 0.";

/// The whole description, for parsing, for help and for finding the nearest name.
fn command() -> Command {
    let base = Command::new("mpirun")
        .version(version::SHOWN)
        .after_help(EXAMPLES)
        .override_usage("mpirun [OPTIONS] -n N PROGRAM [ARGUMENTS] [: -n M PROGRAM2 …]")
        .args_override_self(true)
        .no_binary_name(true)
        .max_term_width(100);
    let hyphens = |arg: clap::Arg| match arg.get_action().takes_values() {
        true => arg.allow_hyphen_values(true),
        false => arg,
    };
    // The structs' own descriptions would take the place of this one if it came first.
    Global::augment_args(Local::augment_args(base)).about(ABOUT).mut_args(hyphens)
}

/// The long names of all options.
#[cfg(test)]
pub(crate) fn names() -> Vec<String> {
    let names = |arg: &clap::Arg| {
        let aliases = arg.get_all_aliases().unwrap_or_default();
        arg.get_long().into_iter().chain(aliases).map(str::to_string).collect::<Vec<_>>()
    };
    command().get_arguments().flat_map(names).collect()
}

/// The variable that MPICH's and Open MPI's launchers take for `--timeout` where that is not given.
pub(crate) const TIMEOUT: &str = "MPIEXEC_TIMEOUT";

impl Global {
    /// Takes the value of [`TIMEOUT`]; one that is no number of seconds counts as none, as there.
    pub(crate) fn heed(&mut self, timeout: Option<&str>) {
        self.timeout = self.timeout.or_else(|| seconds(timeout?).ok());
    }
}

/// Reads the command line, without the program's own name.
pub(crate) fn parse(arguments: Vec<OsString>) -> Result<Request, clap::Error> {
    let global = |words: &[OsString]| -> Result<Global, clap::Error> {
        let matches = command().try_get_matches_from(words)?;
        let mut global = Global::from_arg_matches(&matches)?;
        global.spell_output_out();
        Ok(global)
    };
    let mut spelled = spelling::split(&command(), arguments)?;
    let mut job = global(&spelled.global)?;
    if let Some(file) = job.configfile.take() {
        spelled = configfile::open(&mut command(), spelled, &file)?;
        job = global(&spelled.global)?;
    }
    let mut segments = Vec::new();
    for segment in spelled.segments.into_iter().filter(|segment| !segment.program.is_empty()) {
        let local = command().try_get_matches_from(segment.options)?;
        let options = Local::from_arg_matches(&local)?;
        segments.push(Segment { options, program: segment.program, arguments: segment.arguments });
    }
    Ok(Request { global: job, segments })
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
