//! Random mishaps under random traffic on four hosts: ranks and launchers are killed, the network drops,
//! resets, is cut, lets through one direction or forgets connections, from the start or later, for a while or
//! for good.
//!
//! Whatever happens, the job survives with the right data or ends soon and says why, and leaves
//! nothing behind; never does it end with status 0 when a rank has not got its data. The short
//! test plays a few seeds. The long one, `cargo xtask soak --faults`, plays as many as MISHAPS_RUNS
//! says from MISHAPS_SEED on, for at most MISHAPS_MINUTES; a failure names its seed, which plays
//! the same mishap again.
//!
//! Where namespaces or firewalls cannot be made the tests are counted as skipped.

mod job;
mod judge;
mod plan;
mod strike;

use std::collections::BTreeMap;
use std::env;
use std::path::Path;
use std::str::FromStr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use job::Job;
use judge::Verdict;
use plan::{CABLES, HOSTS, Mishap, Plan};
use testsuite::hosts::Hosts;
use testsuite::prefix::Prefix;
use testsuite::traffic;

/// Runs of the long test, if nobody says otherwise.
const RUNS: usize = 60;

/// Runs side by side, each on hosts of its own.
const LANES: usize = 2;

/// After this a job counts as hung: many times what the patience and the traffic take.
const HUNG: Duration = Duration::from_secs(20);

/// How often the long test says how far it is.
const TELL: usize = 10;

/// Seeds that between them have what is likely to go wrong.
const SHORT: [u64; 8] = [0, 1, 2, 3, 4, 5, 6, 7];

/// How the runs went so far.
#[derive(Default)]
struct Score {
    verdicts: BTreeMap<Verdict, usize>,
    failures: Vec<String>,
}

impl Score {
    fn played(&self) -> usize {
        self.verdicts.values().sum::<usize>() + self.failures.len()
    }

    fn tell(&self, runs: usize) -> String {
        let count = |verdict| self.verdicts.get(&verdict).copied().unwrap_or(0);
        let (survived, ended) = (count(Verdict::Survived), count(Verdict::Ended));
        let good = survived + ended;
        format!("{good} of {runs}: {survived} survived, {ended} ended and said why")
    }
}

/// Plays one run; what went wrong, if something did.
fn play(plan: &Plan, hosts: &Hosts, prefix: &Prefix, program: &Path) -> Result<Verdict, String> {
    let (job, struck) = strike::strike(plan, hosts, || Job::start(plan, hosts, prefix, program));
    let end = job.end(HUNG, strike::grace(plan));
    if let Mishap::Fault(fault) = &plan.mishap {
        strike::mend(hosts, fault).expect("the fault can be taken away");
    }
    judge::judge(plan, struck, hosts, &end).map_err(|why| {
        format!(
            "{why}: {plan} (again: cargo xtask soak --faults --runs 1 --seed {})\n\
             {struck:?}, ended: {:?}\n{}{}",
            plan.seed, end.status, end.out, end.errors
        )
    })
}

/// Plays all seeds, in lanes side by side, until the time is over, and says how that went.
fn play_all(test: &str, seeds: &[u64], until: Option<Instant>) {
    let (mut score, next) = (Score::default(), AtomicUsize::new(0));
    let (tell, told) = channel();
    let prefix = Prefix::find().expect("a prefix");
    let folder = tempfile::tempdir().expect("a folder");
    let program = traffic::compile(&prefix, folder.path()).expect("a program");
    thread::scope(|scope| {
        for _ in 0..LANES.min(seeds.len()) {
            let Some(hosts) = Hosts::make(test, HOSTS as u8, CABLES).expect("hosts") else { break };
            if !hosts.can_filter(test).expect("a note") {
                break;
            }
            let (tell, next, prefix, program) = (tell.clone(), &next, &prefix, &program);
            scope.spawn(move || {
                while until.is_none_or(|end| Instant::now() < end) {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    let Some(&seed) = seeds.get(place) else { return };
                    let verdict = play(&Plan::draw(seed), &hosts, prefix, program);
                    tell.send(verdict).expect("somebody listens");
                }
            });
        }
        drop(tell);
        told.iter().for_each(|verdict| note(&mut score, verdict, seeds.len()));
    });
    println!("{}", score.tell(score.played()));
    assert!(score.failures.is_empty(), "{}", score.failures.join("\n"));
}

fn note(score: &mut Score, verdict: Result<Verdict, String>, runs: usize) {
    match verdict {
        Ok(verdict) => *score.verdicts.entry(verdict).or_default() += 1,
        Err(failure) => {
            println!("{failure}");
            score.failures.push(failure);
        }
    }
    if score.played().is_multiple_of(TELL) {
        println!(
            "{} played, {} to come: {}",
            score.played(),
            runs - score.played(),
            score.tell(score.played())
        );
    }
}

/// A variable that changes the long test.
fn wanted<T: FromStr>(name: &str) -> Option<T> {
    let text = env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is {text}")))
}

#[test]
fn jobs_survive_mishaps_or_say_why_they_end() {
    play_all("jobs_survive_mishaps_or_say_why_they_end", &SHORT, None);
}

#[test]
#[ignore = "takes minutes"]
fn jobs_survive_many_mishaps_or_say_why_they_end() {
    let clock = || SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock").as_secs();
    let first: u64 = wanted("MISHAPS_SEED").unwrap_or_else(clock);
    let runs: usize = wanted("MISHAPS_RUNS").unwrap_or(RUNS);
    let minutes: Option<f64> = wanted("MISHAPS_MINUTES");
    let until = minutes.map(|minutes| Instant::now() + Duration::from_secs_f64(minutes * 60.0));
    let seeds: Vec<u64> = (first..first + runs as u64).collect();
    println!("{runs} mishaps from seed {first} on");
    play_all("jobs_survive_many_mishaps_or_say_why_they_end", &seeds, until);
}
