//! Ranks that do not move: what they say when they are asked again and again, and the table made of it.
//!
//! In: the answers of ranks, and the time. Out: when to ask, and the table: ranks that are in the
//! same call in one line, whom they lack, and what follows. A rank answers only while it waits
//! within MPI, so silence says that it does something else.

use crate::ranges::ranges;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// Questions in the time that is given to the ranks: a stop is noticed half that time late at most.
const QUESTIONS: u32 = 2;

/// What a rank says about itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Said {
    /// A number that stays the same as long as nothing moves there.
    pub(crate) moved: u64,
    /// The rank that it waits for, where it is a certain one.
    pub(crate) awaited: Option<u32>,
    /// The call that it is in.
    pub(crate) text: String,
}

/// A question that the ranks were asked.
#[derive(Debug)]
struct Round {
    /// Answers are awaited until this time.
    until: Instant,
    silent: BTreeSet<usize>,
    said: BTreeMap<usize, Said>,
    /// The user wants the table, whatever the answers are.
    wanted: bool,
}

/// What is known about ranks that do not move.
#[derive(Debug)]
pub(crate) struct Stuck {
    after: Option<Duration>,
    next: Option<Instant>,
    round: Option<Round>,
    /// The answers that have been the same since this time.
    before: Option<(Instant, BTreeMap<usize, Said>)>,
    /// This stop has been told.
    told: bool,
}

impl Stuck {
    /// Ranks that are to be asked so often that a stop of `after` is noticed; never, if none.
    pub(crate) fn new(after: Option<Duration>, now: Instant) -> Stuck {
        let next = after.map(|after| now + after / QUESTIONS);
        Stuck { after, next, round: None, before: None, told: false }
    }

    /// When to look again at the latest.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.round.as_ref().map(|round| round.until).or(self.next)
    }

    /// Whether the ranks are to be asked now.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        self.round.is_none() && self.next.is_some_and(|next| now >= next)
    }

    /// Whether answers are awaited.
    pub(crate) fn is_asking(&self) -> bool {
        self.round.is_some()
    }

    /// The job ends: nobody is asked any more.
    pub(crate) fn rest(&mut self) {
        (self.next, self.round) = (None, None);
    }

    /// These ranks are being asked, and may answer until this time.
    pub(crate) fn begin(&mut self, until: Instant, ranks: BTreeSet<usize>, wanted: bool) {
        let wanted = wanted || self.round.as_ref().is_some_and(|round| round.wanted);
        self.round = Some(Round { until, silent: ranks, said: BTreeMap::new(), wanted });
    }

    /// A rank answers.
    pub(crate) fn hear(&mut self, rank: usize, said: Said) {
        if let Some(round) = &mut self.round
            && round.silent.remove(&rank)
        {
            round.said.insert(rank, said);
        }
    }

    /// A rank has ended.
    pub(crate) fn gone(&mut self, rank: usize) {
        if let Some(round) = &mut self.round {
            round.silent.remove(&rank);
        }
    }

    /// Once all have answered or the time is over: the table, if the ranks are stuck or it is wanted.
    pub(crate) fn conclude(&mut self, now: Instant) -> Option<String> {
        let round = self.round.take_if(|round| now >= round.until || round.silent.is_empty())?;
        self.next = self.after.map(|after| now + after / QUESTIONS);
        let since = match &self.before {
            Some((since, said)) if *said == round.said => *since,
            _ => {
                self.told = false;
                now
            }
        };
        let still = now - since;
        let long = self.after.is_some_and(|after| still >= after) && !round.said.is_empty();
        let stuck = long && !std::mem::replace(&mut self.told, long);
        let table = (stuck || round.wanted).then(|| {
            let mut table = match stuck {
                true => format!("mpirun: nothing has moved for {:.1} s:\n", still.as_secs_f64()),
                false => "mpirun: what the ranks are doing:\n".to_string(),
            };
            table += &calls(&round.said);
            table += &conclusion(&round, stuck);
            table
        });
        self.before = Some((since, round.said));
        table
    }
}

/// One line for the ranks that are in the same call.
fn calls(said: &BTreeMap<usize, Said>) -> String {
    let mut groups: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (rank, said) in said {
        groups.entry(said.text.trim_end()).or_default().push(*rank);
    }
    let mut groups: Vec<(&str, Vec<usize>)> = groups.into_iter().collect();
    groups.sort_by_key(|(_, ranks)| ranks[0]);
    let mut text = String::new();
    for (call, ranks) in groups {
        let lacks: BTreeSet<usize> = ranks
            .iter()
            .filter_map(|rank| Some(said[rank].awaited? as usize))
            .filter(|awaited| !ranks.contains(awaited))
            .collect();
        text += &format!("mpirun:   {}: {call}", ranges(&ranks));
        if !lacks.is_empty() {
            text += &format!(", waiting for {}", ranges(&Vec::from_iter(lacks)));
        }
        text.push('\n');
    }
    text
}

/// What the answers mean.
fn conclusion(round: &Round, stuck: bool) -> String {
    if !round.silent.is_empty() {
        let silent: Vec<usize> = round.silent.iter().copied().collect();
        let (verb, wait) = if silent.len() == 1 { ("is", "waits") } else { ("are", "wait") };
        let who = ranges(&silent);
        return format!("mpirun:   {who} {verb} missing: {who} {wait} for nothing within MPI\n");
    }
    match stuck {
        true => "mpirun:   deadlock: every rank waits, and no message is on its way\n".to_string(),
        false => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(moved: u64, awaited: Option<u32>, text: &str) -> Said {
        Said { moved, awaited, text: text.to_string() }
    }

    /// Asks three ranks once a second; rank 2 keeps silent unless `all`.
    fn ask(stuck: &mut Stuck, at: Instant, moved: u64, all: bool) -> Option<String> {
        stuck.begin(at + Duration::from_millis(100), (0..3).collect(), false);
        stuck.hear(0, said(3, Some(2), "in MPI_Barrier(collective 4) on MPI_COMM_WORLD"));
        stuck.hear(1, said(moved, Some(0), "in MPI_Barrier(collective 4) on MPI_COMM_WORLD"));
        if all {
            stuck.hear(2, said(1, Some(0), "in MPI_Recv(source 0, tag 7) on MPI_COMM_WORLD"));
        }
        stuck.conclude(at + Duration::from_millis(if all { 1 } else { 100 }))
    }

    fn seconds(s: u64) -> Duration {
        Duration::from_secs(s)
    }

    #[test]
    fn a_stop_is_told_once() {
        let start = Instant::now();
        let mut stuck = Stuck::new(Some(seconds(2)), start);
        assert!(!stuck.is_due(start) && stuck.is_due(start + seconds(1)));
        assert_eq!(ask(&mut stuck, start + seconds(1), 5, true), None);
        assert_eq!(ask(&mut stuck, start + seconds(2), 5, true), None);
        let table = ask(&mut stuck, start + seconds(3), 5, true).unwrap();
        assert!(table.contains("nothing has moved for 2.0 s"), "{table}");
        assert!(table.contains("ranks 0, 1: in MPI_Barrier(collective 4)"), "{table}");
        assert!(table.contains("MPI_COMM_WORLD, waiting for rank 2\n"), "{table}");
        assert!(table.contains("rank 2: in MPI_Recv(source 0, tag 7)"), "{table}");
        assert!(table.contains("deadlock"), "{table}");
        assert_eq!(ask(&mut stuck, start + seconds(4), 5, true), None);
        assert_eq!(ask(&mut stuck, start + seconds(5), 6, true), None);
        assert_eq!(ask(&mut stuck, start + seconds(6), 6, true), None);
        assert!(ask(&mut stuck, start + seconds(7), 6, true).is_some());
    }

    #[test]
    fn who_moves_is_not_stuck() {
        let start = Instant::now();
        let mut stuck = Stuck::new(Some(seconds(2)), start);
        for second in 1..9 {
            assert_eq!(ask(&mut stuck, start + seconds(second), second, true), None);
        }
    }

    #[test]
    fn who_is_missing_is_named() {
        let start = Instant::now();
        let mut stuck = Stuck::new(Some(seconds(1)), start);
        assert_eq!(ask(&mut stuck, start + seconds(1), 5, false), None);
        let table = ask(&mut stuck, start + seconds(2), 5, false).unwrap();
        assert!(table.contains("rank 2 is missing") && !table.contains("deadlock"), "{table}");
    }

    #[test]
    fn a_table_on_demand_does_not_wait_for_a_stop() {
        let start = Instant::now();
        let mut stuck = Stuck::new(None, start);
        assert_eq!(stuck.next(), None);
        stuck.begin(start + seconds(1), BTreeSet::from([0, 1]), true);
        stuck.hear(0, said(1, None, "in MPI_Wait"));
        assert_eq!(stuck.conclude(start), None);
        stuck.gone(1);
        let table = stuck.conclude(start).unwrap();
        assert!(table.contains("rank 0: in MPI_Wait\n") && !table.contains("deadlock"), "{table}");
    }
}
