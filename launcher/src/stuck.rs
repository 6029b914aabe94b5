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
    /// Messages sent less messages that came, modulo 2¹⁶; none if something is on its way.
    pub(crate) balance: Option<u16>,
    /// The call that it is in.
    pub(crate) text: String,
}

/// Whom a question goes to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asked {
    /// Those that may answer.
    pub(crate) ranks: BTreeSet<usize>,
    /// Those that have not called `MPI_Init`.
    pub(crate) outside: BTreeSet<usize>,
    /// Others have left MPI, whose messages nobody counts any more.
    pub(crate) left: bool,
    /// The user wants the table, whatever the answers are.
    pub(crate) wanted: bool,
}

/// A question that the ranks were asked.
#[derive(Debug)]
struct Round {
    /// Answers are awaited until this time.
    until: Instant,
    /// Who has not answered yet.
    asked: Asked,
    said: BTreeMap<usize, Said>,
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
    /// The last answers were others than those before, or nobody has answered.
    moves: bool,
}

impl Stuck {
    /// Ranks that are to be asked so often that a stop of `after` is noticed; never, if none.
    pub(crate) fn new(after: Option<Duration>, now: Instant) -> Stuck {
        let next = after.map(|after| now + after / QUESTIONS);
        Stuck { after, next, round: None, before: None, told: false, moves: false }
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

    /// Asks at once, and tells a stop of `after` already, unless it has been told.
    pub(crate) fn hurry(&mut self, after: Duration, now: Instant) {
        (self.after, self.next, self.before) = (Some(after), Some(now), None);
        self.moves = self.told;
        self.round.take_if(|round| !round.asked.wanted);
    }

    /// Whether the last answers tell no stop that has not been told.
    pub(crate) fn is_known_to_move(&self) -> bool {
        self.moves
    }

    /// These ranks are being asked, and may answer until this time.
    pub(crate) fn begin(&mut self, until: Instant, mut asked: Asked) {
        asked.wanted |= self.round.as_ref().is_some_and(|round| round.asked.wanted);
        self.round = Some(Round { until, asked, said: BTreeMap::new() });
    }

    /// A rank answers.
    pub(crate) fn hear(&mut self, rank: usize, said: Said) {
        if let Some(round) = &mut self.round
            && round.asked.ranks.remove(&rank)
        {
            round.said.insert(rank, said);
        }
    }

    /// A rank has called `MPI_Init` or has left MPI: whatever the others say, something has moved.
    pub(crate) fn moved(&mut self) {
        self.before = None;
    }

    /// A rank has left MPI, or ended.
    pub(crate) fn left(&mut self, rank: usize) {
        if let Some(Round { asked, .. }) = &mut self.round {
            asked.ranks.remove(&rank);
            asked.outside.remove(&rank);
            asked.left = true;
        }
    }

    /// Once all have answered or the time is over: the table, if the ranks are stuck or it is wanted.
    pub(crate) fn conclude(&mut self, now: Instant) -> Option<String> {
        let over = |round: &mut Round| now >= round.until || round.asked.ranks.is_empty();
        let round = self.round.take_if(over)?;
        self.next = self.after.map(|after| now + after / QUESTIONS);
        let since = match &self.before {
            Some((since, said)) if *said == round.said => *since,
            other => {
                self.moves = other.is_some() || round.said.is_empty();
                self.told = false;
                now
            }
        };
        let still = now - since;
        let any = !round.said.is_empty() || !round.asked.outside.is_empty();
        let long = any && self.after.is_some_and(|after| still >= after);
        let stuck = long && !std::mem::replace(&mut self.told, long);
        let table = (stuck || round.asked.wanted).then(|| {
            let mut table = match stuck {
                true => format!("mpirun: nothing has moved for {:.1} s:\n", still.as_secs_f64()),
                false => "mpirun: what the ranks are doing:\n".to_string(),
            };
            table += &calls(&round.said);
            table += &circle(&round.said, stuck);
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

/// Ranks that wait for each other all round; for a moment ranks that go on do so, too.
fn circle(said: &BTreeMap<usize, Said>, stuck: bool) -> String {
    let what = if stuck { "a circle" } else { "at this moment a circle" };
    let next = |rank: usize| said.get(&rank).and_then(|said| Some(said.awaited? as usize));
    for &start in said.keys() {
        let mut path = vec![start];
        while let Some(rank) = next(path[path.len() - 1]).filter(|_| path.len() <= said.len()) {
            if rank == start {
                let path: Vec<String> = path.iter().chain([&start]).map(usize::to_string).collect();
                let path = path.join(" waits for rank ");
                return format!("mpirun:   {what}: rank {path}\n");
            }
            path.push(rank);
        }
    }
    String::new()
}

/// What the answers mean.
fn conclusion(Round { asked, said, .. }: &Round, stuck: bool) -> String {
    if !asked.outside.is_empty() {
        let outside: Vec<usize> = asked.outside.iter().copied().collect();
        let verb = if outside.len() == 1 { "is missing: it has" } else { "are missing: they have" };
        return format!("mpirun:   {} {verb} not called MPI_Init\n", ranges(&outside));
    }
    if !asked.ranks.is_empty() {
        let silent: Vec<usize> = asked.ranks.iter().copied().collect();
        let (verb, wait) = if silent.len() == 1 { ("is", "waits") } else { ("are", "wait") };
        let who = ranges(&silent);
        return format!("mpirun:   {who} {verb} missing: {who} {wait} for nothing within MPI\n");
    }
    // The answers have been the same twice, so equal sums mean that nothing was on its way between.
    let balances = said.values().map(|said| said.balance);
    let sum = balances
        .collect::<Option<Vec<u16>>>()
        .map(|all| all.into_iter().fold(0, u16::wrapping_add));
    match (stuck, sum) {
        (false, _) => String::new(),
        // What the others sent them and had from them is in the sum, so that it tells nothing.
        (true, Some(_)) if asked.left => {
            "mpirun:   perhaps a deadlock: every rank waits, but others have left MPI, \
                                    whose messages are not counted\n"
                .to_string()
        }
        (true, Some(0)) => {
            "mpirun:   deadlock: every rank waits, and no message is on its way\n".to_string()
        }
        _ => "mpirun:   no deadlock: every rank waits, but something is on its way\n".to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first so many ranks.
    fn asked(ranks: usize) -> Asked {
        Asked { ranks: (0..ranks).collect(), ..Asked::default() }
    }

    fn said(moved: u64, awaited: Option<u32>, text: &str) -> Said {
        Said { moved, awaited, balance: Some(0), text: text.to_string() }
    }

    /// Asks three ranks once a second; rank 2 keeps silent unless `all`.
    fn ask(stuck: &mut Stuck, at: Instant, moved: u64, all: bool) -> Option<String> {
        let until = at + Duration::from_millis(100);
        stuck.begin(until, asked(3));
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
    fn who_is_in_a_hurry_hears_of_a_stop_soon() {
        let (start, tenth) = (Instant::now(), Duration::from_millis(100));
        let hurried = |moved: [u64; 3]| {
            let mut stuck = Stuck::new(None, start);
            stuck.hurry(2 * tenth, start);
            assert!(stuck.is_due(start) && !stuck.is_known_to_move());
            let asked = (0..3)
                .map(|turn| ask(&mut stuck, start + 2 * turn * tenth, moved[turn as usize], true));
            let tables: Vec<_> = asked.collect();
            (tables.iter().flatten().count(), stuck.is_known_to_move())
        };
        assert_eq!(hurried([5, 5, 5]), (1, false));
        assert_eq!(hurried([5, 6, 7]), (0, true));
        let mut silent = Stuck::new(None, start);
        silent.hurry(2 * tenth, start);
        silent.begin(start + tenth, asked(2));
        assert_eq!(silent.conclude(start + tenth), None);
        assert!(silent.is_known_to_move());
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
    fn who_leaves_mpi_moves() {
        let start = Instant::now();
        let mut stuck = Stuck::new(Some(seconds(1)), start);
        assert_eq!(ask(&mut stuck, start + seconds(1), 5, false), None);
        stuck.begin(start + seconds(3), asked(3));
        stuck.hear(0, said(3, Some(2), "in MPI_Barrier(collective 4) on MPI_COMM_WORLD"));
        stuck.hear(1, said(5, Some(0), "in MPI_Barrier(collective 4) on MPI_COMM_WORLD"));
        stuck.moved();
        stuck.left(2);
        assert_eq!(stuck.conclude(start + seconds(3)), None);
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
        stuck.begin(start + seconds(1), Asked { wanted: true, ..asked(2) });
        stuck.hear(0, said(1, None, "in MPI_Wait"));
        assert_eq!(stuck.conclude(start), None);
        stuck.left(1);
        let table = stuck.conclude(start).unwrap();
        assert!(table.contains("rank 0: in MPI_Wait\n") && !table.contains("deadlock"), "{table}");
    }

    #[test]
    fn when_ranks_have_left_nobody_knows_what_is_on_its_way() {
        let start = Instant::now();
        for balances in [[Some(0), Some(1)], [Some(1), Some(u16::MAX)], [Some(0), None]] {
            let mut stuck = Stuck::new(Some(seconds(1)), start);
            let mut tables = (1..4).map(|second| {
                let at = start + seconds(second);
                stuck.begin(at, Asked { left: second > 1, ..asked(2 + usize::from(second == 1)) });
                stuck.left(2);
                for (rank, balance) in balances.into_iter().enumerate() {
                    stuck.hear(rank, Said { balance, ..said(1, None, "in MPI_Recv") });
                }
                stuck.conclude(at)
            });
            let table = tables.find_map(|table| table).unwrap();
            let knows = balances.iter().all(Option::is_some);
            let says = if knows {
                "   perhaps a deadlock: every rank waits, but"
            } else {
                "   no deadlock"
            };
            assert!(table.contains(says), "{table}");
        }
    }

    #[test]
    fn what_is_on_its_way_is_no_deadlock() {
        let start = Instant::now();
        for (balances, word) in [
            ([Some(3), Some(u16::MAX - 2)], "   deadlock"),
            ([Some(1), Some(0)], "no deadlock"),
            ([None, Some(0)], "no deadlock"),
        ] {
            let mut stuck = Stuck::new(Some(seconds(1)), start);
            let mut tables = (1..4).map(|second| {
                stuck.begin(start + seconds(second), asked(2));
                for (rank, balance) in balances.into_iter().enumerate() {
                    stuck.hear(
                        rank,
                        Said { balance, ..said(1, Some(1 - rank as u32), "in MPI_Recv") },
                    );
                }
                stuck.conclude(start + seconds(second))
            });
            let table = tables.find_map(|table| table).unwrap();
            assert!(table.contains(word), "{table}");
            assert!(table.contains("rank 0 waits for rank 1 waits for rank 0"), "{table}");
        }
    }

    #[test]
    fn who_has_not_begun_is_named() {
        let start = Instant::now();
        let mut stuck = Stuck::new(Some(seconds(1)), start);
        for second in [1, 2] {
            let at = start + seconds(second);
            stuck.begin(at, Asked { outside: BTreeSet::from([1, 2]), ..asked(1) });
            let table = stuck.conclude(at);
            assert_eq!(table.is_some(), second == 2);
            assert!(
                table.is_none_or(|table| table.contains("ranks 1, 2 are missing: they have not"))
            );
        }
    }
}
