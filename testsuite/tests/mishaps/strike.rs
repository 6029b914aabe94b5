//! The mishap itself: it waits for its moment, happens, and is healed.

use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::Result;
use testsuite::firewall::Verdict;
use testsuite::hosts::Hosts;

use super::job::{Job, Process, signal};
use super::plan::{Fault, HOSTS, Kind, Mishap, Plan, When, Whom};

/// What has happened to a job.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Struck {
    /// Whether the job was there to be struck.
    pub(crate) in_time: bool,
    /// How long a fault has lasted that was healed while the job ran: a little longer than planned.
    pub(crate) lasted: Option<Duration>,
}

/// Does what the plan says, to a job that `begin` starts.
pub(crate) fn strike(plan: &Plan, hosts: &Hosts, begin: impl FnOnce() -> Job) -> (Job, Struck) {
    match (&plan.mishap, plan.when) {
        (Mishap::Kill(whom), _) => {
            let mut job = begin();
            let in_time = wait(&mut job, plan.when) && kill(&mut job, *whom);
            (job, Struck { in_time, lasted: None })
        }
        (Mishap::Fault(fault), When::Start) => {
            let since = befall(hosts, fault).expect("a fault");
            let mut job = begin();
            let lasted = heal(hosts, fault, since, &mut job);
            (job, Struck { in_time: true, lasted })
        }
        (Mishap::Fault(fault), _) => {
            let mut job = begin();
            let in_time = wait(&mut job, plan.when);
            let lasted = in_time.then(|| {
                let since = befall(hosts, fault).expect("a fault");
                heal(hosts, fault, since, &mut job)
            });
            (job, Struck { in_time, lasted: lasted.flatten() })
        }
    }
}

/// Waits for the moment; false if the job was over before.
fn wait(job: &mut Job, when: When) -> bool {
    let pause = match when {
        When::Start => return true,
        When::After(time) => {
            let due = job.begun + time;
            return job.until(|_| (Instant::now() >= due).then_some(())).is_some();
        }
        When::Ending(time) => time,
    };
    let ending = job.until(|job| job.is_ending().then_some(())).is_some();
    sleep(pause);
    ending
}

/// Kills somebody as soon as he is there; false if the job is over before.
fn kill(job: &mut Job, whom: Whom) -> bool {
    let victim = job.until(|job| victim(job, whom));
    victim.inspect(|pid| signal("KILL", *pid)).is_some()
}

fn victim(job: &Job, whom: Whom) -> Option<u32> {
    let launchers = |host| {
        let all = job.processes().into_iter();
        all.filter(move |process| process.rank.is_none() && process.host == Some(host))
    };
    let is_agent = |process: &Process| process.parent == job.mpirun();
    let found = match whom {
        Whom::Rank(rank) => job.processes().into_iter().find(|process| process.rank == Some(rank)),
        Whom::Agent(host) => launchers(host).find(is_agent),
        Whom::Guard(host) => {
            let agent = launchers(host).find(is_agent)?;
            launchers(host).find(|process| process.parent == agent.pid)
        }
        Whom::Mpirun => return Some(job.mpirun()),
    };
    found.map(|process| process.pid)
}

/// Lets a fault begin; when it began.
fn befall(hosts: &Hosts, fault: &Fault) -> Result<Instant> {
    let since = Instant::now();
    for &cable in &fault.cables {
        if fault.kind == Kind::Cut {
            hosts.plug(fault.pairs[0].0, cable, false)?;
            continue;
        }
        for &(one, other) in &fault.pairs {
            match fault.kind {
                Kind::Drop | Kind::Reset => {
                    let verdict = verdict(fault.kind);
                    hosts.bar(one, other, cable, verdict)?;
                    hosts.bar(other, one, cable, verdict)?;
                }
                Kind::OneWay | Kind::ResetOneWay => {
                    hosts.bar(one, other, cable, verdict(fault.kind))?;
                }
                Kind::HalfOpen => hosts.sever(one, other, cable, false)?,
                Kind::Abort => hosts.sever(one, other, cable, true)?,
                Kind::Cut => {}
            }
        }
    }
    Ok(since)
}

fn verdict(kind: Kind) -> Verdict {
    match kind {
        Kind::Reset | Kind::ResetOneWay => Verdict::Reset,
        _ => Verdict::Drop,
    }
}

/// Waits until a fault that began then is over, if it ever is while the job runs, and ends it; how long it was.
fn heal(hosts: &Hosts, fault: &Fault, since: Instant, job: &mut Job) -> Option<Duration> {
    let due = since + fault.heals?;
    job.until(|_| (Instant::now() >= due).then_some(()))?;
    mend(hosts, fault).expect("the fault can be taken away");
    Some(since.elapsed())
}

/// Takes a fault away, whatever is left of it.
pub(crate) fn mend(hosts: &Hosts, fault: &Fault) -> Result<()> {
    if fault.kind == Kind::Cut {
        for &cable in &fault.cables {
            hosts.plug(fault.pairs[0].0, cable, true)?;
        }
    }
    (0..HOSTS).try_for_each(|host| hosts.open_all(host))
}

/// How long what is left of a job may take to go: processes that nobody waits for any more.
pub(crate) fn grace(plan: &Plan) -> Duration {
    match plan.mishap {
        Mishap::Kill(Whom::Mpirun | Whom::Agent(_) | Whom::Guard(_)) => Duration::from_secs(2),
        _ => Duration::ZERO,
    }
}
