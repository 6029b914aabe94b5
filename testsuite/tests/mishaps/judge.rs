//! Whether a job came through its mishap as it should.
//!
//! It has survived, and every rank has all data and said so, or it has ended and says what happened. Either
//! comes soon, and nothing is left behind.

use std::os::unix::process::ExitStatusExt;

use testsuite::hosts::Hosts;

use super::job::End;
use super::plan::{Fault, Mishap, Plan, Whom};
use super::strike::Struck;

/// How a run went that went well.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Verdict {
    /// The job did all that it had to.
    Survived,
    /// The job ended, and said why.
    Ended,
}

/// Judges the end of a run to which that happened.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn judge(
    plan: &Plan,
    struck: Struck,
    hosts: &Hosts,
    end: &End,
) -> Result<Verdict, String> {
    let Some(status) = end.status else { return Err("it did not end".into()) };
    if !end.left.is_empty() {
        return Err(format!("it left behind {:?}", end.left));
    }
    if end.errors.contains("soak:") {
        return Err("data was wrong".into());
    }
    let silent = (0..plan.ranks())
        .find(|rank| !end.out.lines().any(|line| line == format!("all came to rank {rank}")));
    if status.success() {
        return match silent {
            Some(rank) => Err(format!("status 0, but rank {rank} has not got its data")),
            None if !end.errors.is_empty() => Err("status 0, but there are errors".into()),
            None => Ok(Verdict::Survived),
        };
    }
    // The last word of a rank that has gone may be lost with its connection. Nobody can ask it any more, and
    // what it had is told as undelivered.
    let last_word_lost = silent.is_none() && end.errors.contains("MPI_Finalize: what was sent");
    if !struck.in_time || plan.must_survive(struck.lasted) && !last_word_lost {
        return Err("it should have survived".into());
    }
    match &plan.mishap {
        Mishap::Kill(whom) => killed(*whom, status.code(), status.signal(), hosts, plan, end),
        Mishap::Fault(fault) => faulty(fault, hosts, end),
    }?;
    Ok(Verdict::Ended)
}

/// One paragraph says why a job has ended.
fn told_once(end: &End) -> Result<(), String> {
    match end.errors.matches("mpirun:").count() {
        1 => Ok(()),
        count => Err(format!("{count} paragraphs say why it ended")),
    }
}

/// A job of which a process was killed has ended.
fn killed(
    whom: Whom,
    code: Option<i32>,
    signal: Option<i32>,
    hosts: &Hosts,
    plan: &Plan,
    end: &End,
) -> Result<(), String> {
    let named = |words: &[&str]| match words.iter().find(|word| !end.errors.contains(**word)) {
        Some(word) => Err(format!("“{word}” is not named")),
        None => Ok(()),
    };
    match whom {
        Whom::Rank(rank) => {
            if code != Some(128 + libc::SIGKILL) {
                return Err(format!("its status is {code:?}"));
            }
            told_once(end)?;
            named(&[&format!("rank {rank} "), hosts.name(rank / plan.each), "SIGKILL"])
        }
        Whom::Agent(host) => {
            told_once(end)?;
            named(&["host ", hosts.name(host)])
        }
        Whom::Guard(_) => Err("nobody needs that process as long as nothing else dies".into()),
        Whom::Mpirun if signal == Some(libc::SIGKILL) => Ok(()),
        Whom::Mpirun => Err(format!("its status is {code:?}")),
    }
}

/// A job whose network failed has ended.
fn faulty(fault: &Fault, hosts: &Hosts, end: &End) -> Result<(), String> {
    told_once(end)?;
    let named = |host| end.errors.contains(hosts.name(host));
    if !fault.pairs.iter().any(|&(one, other)| named(one) && named(other)) {
        return Err("the hosts at both ends of the fault are not named".into());
    }
    let says = ["cannot reach rank", "cannot be delivered"];
    match says.iter().any(|words| end.errors.contains(words)) {
        true => Ok(()),
        false => Err("it does not say who could not reach whom".into()),
    }
}
