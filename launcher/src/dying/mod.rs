//! What is known of ranks that a fatal signal has ended (decision 33c).
//!
//! In: what ranks tell in their last moment, addresses and no names ([`Told`], on each host, where the
//! files of the program are). Out: once all ranks of a host have ended and nobody waits for it any more,
//! the same with names ([`Fell`]), once for those that fell in the same place; and, in mpirun, the lines
//! that the user gets ([`Fallen`]).

mod helper;
mod symbols;

pub(crate) use helper::{NAME_CALLS, name_calls};

use crate::ranges::ranges;
use launch_wire::control::dying::{Fault, Trail, UNKNOWN};
use launch_wire::control::mapping::Mapping;
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use symbols::Symbols;

/// Places that a host names and mpirun prints at most.
const PLACES_MAX: usize = 4;
/// How long a host may name calls: after that come their addresses alone.
const NAMING: Duration = Duration::from_secs(5);

/// Ranks of the job that fell in one place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Fell {
    /// The ranks, in the order in which they did.
    pub(crate) ranks: Vec<usize>,
    /// What the signal was about, for the first of them.
    pub(crate) what: String,
    /// The calls, a line each; empty where they have not been looked for.
    pub(crate) calls: String,
}

/// A call: the file of its code and the place in it, or its address where that lies in no file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Call {
    /// In a file.
    At(PathBuf, u64),
    /// Elsewhere.
    Nowhere(u64),
}

/// The calls of a trail.
fn calls_of(trail: &Trail) -> Vec<Call> {
    let lines = trail.maps.split(|byte| *byte == b'\n');
    let mappings: Vec<Mapping<'_>> = lines.filter_map(Mapping::read).collect();
    let place = |call: &u64| match mappings.iter().find(|mapping| mapping.holds(*call)) {
        Some(mapping) if !mapping.path.is_empty() => {
            let path = PathBuf::from(OsStr::from_bytes(mapping.path));
            Call::At(path, (call - mapping.start).saturating_add(mapping.offset))
        }
        _ => Call::Nowhere(*call),
    };
    trail.calls.iter().map(place).collect()
}

/// What the ranks of one host have told, in that order.
#[derive(Debug, Default)]
pub(crate) struct Told {
    ranks: Vec<(usize, Fault, Trail)>,
    /// So many of them have ended, in that order.
    over: usize,
}

impl Told {
    /// A rank tells that it dies, and when it tells that again, more of it.
    pub(crate) fn hear(&mut self, rank: usize, fault: Fault, trail: Trail) {
        match self.ranks.iter_mut().find(|(known, ..)| *known == rank) {
            Some(known) => *known = (rank, fault, trail),
            None => self.ranks.push((rank, fault, trail)),
        }
    }

    /// A rank has ended, by a signal or in another way, whatever it has told. The first to end is the one of whose
    /// end the user reads.
    pub(crate) fn ended(&mut self, rank: usize, killed: bool) {
        let Some(place) = self.ranks.iter().position(|(known, ..)| *known == rank) else { return };
        let told = self.ranks.remove(place);
        if killed {
            self.ranks.insert(self.over.min(place), told);
            self.over += 1;
        }
    }

    /// Names the calls, of the first places.
    pub(crate) fn name(&mut self) -> Vec<Fell> {
        let mut places: Vec<(Fault, Vec<Call>, Trail, Vec<usize>)> = Vec::new();
        self.over = 0;
        for (rank, fault, trail) in self.ranks.drain(..) {
            let calls = calls_of(&trail);
            let alike = |(known, at, told, _): &&mut (Fault, Vec<Call>, Trail, Vec<usize>)| {
                (known.signal, known.code) == (fault.signal, fault.code)
                    && can_be_one((at, told), (&calls, &trail))
            };
            match places.iter_mut().find(alike) {
                Some((_, at, told, ranks)) => {
                    ranks.push(rank);
                    if calls.len() > at.len() {
                        (*at, *told) = (calls, trail);
                    }
                }
                None => places.push((fault, calls, trail, vec![rank])),
            }
        }
        let (mut symbols, begin) = (Symbols::default(), Instant::now());
        let name =
            |(number, (fault, calls, trail, ranks)): (usize, (Fault, Vec<Call>, Trail, _))| {
                let named = match number < PLACES_MAX && begin.elapsed() < NAMING {
                    true => symbols.name(&calls, (trail.cut_at, trail.cut)),
                    false => symbols::Named::default(),
                };
                let within = named.procedure.map_or(String::new(), |name| format!(", in {name}"));
                Fell { ranks, what: format!("{fault}{within}"), calls: named.lines }
            };
        places.into_iter().enumerate().map(name).collect()
    }
}

/// Whether two ranks fell in the same place as far as is known: of one that was ended while it looked for its calls
/// only the first are.
fn can_be_one((one, of_one): (&[Call], &Trail), (other, of_other): (&[Call], &Trail)) -> bool {
    let begins = |part: &[Call], trail: &Trail, whole: &[Call]| {
        trail.cut == UNKNOWN && !part.is_empty() && whole.starts_with(part)
    };
    one == other || begins(one, of_one, other) || begins(other, of_other, one)
}

/// What mpirun has heard of all hosts.
#[derive(Debug, Default)]
pub(crate) struct Fallen {
    places: Vec<Fell>,
    /// Ranks that fell in further places.
    others: Vec<usize>,
}

impl Fallen {
    /// A host tells where ranks fell.
    pub(crate) fn hear(&mut self, fell: Fell) {
        if fell.calls.is_empty() {
            return self.others.extend(fell.ranks);
        }
        let room = self.places.len() < PLACES_MAX;
        match self.places.iter_mut().find(|known| known.calls == fell.calls) {
            Some(known) => known.ranks.extend(fell.ranks),
            None if room => self.places.push(fell),
            None => self.others.extend(fell.ranks),
        }
    }

    /// The lines for the user; `name` tells who a rank is.
    pub(crate) fn text(&self, name: impl Fn(usize) -> String) -> String {
        let mut text = String::new();
        for Fell { ranks, what, calls } in &self.places {
            let Some((&first, rest)) = ranks.split_first() else { continue };
            text += &format!("mpirun: {}: {what}\n", name(first));
            for line in calls.lines() {
                text += &format!("mpirun:   {line}\n");
            }
            text += &more(rest, "died in the same place");
        }
        text + &more(&self.others, "died in other places, which are not shown")
    }
}

fn more(ranks: &[usize], what: &str) -> String {
    let mut ranks = ranks.to_vec();
    ranks.sort_unstable();
    match ranks.len() {
        0 => String::new(),
        1..=3 => format!("mpirun:   {} {what}.\n", ranges(&ranks)),
        many => format!("mpirun:   {many} more {what}: {}.\n", ranges(&ranks)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fell(ranks: &[usize], calls: &str) -> Fell {
        Fell { ranks: ranks.to_vec(), what: "SIGSEGV".to_string(), calls: calls.to_string() }
    }

    #[test]
    fn ranks_that_fell_alike_are_told_once() {
        let mut fallen = Fallen::default();
        fallen.hear(fell(&[3, 1], "#0 f\n#1 main\n"));
        fallen.hear(fell(&[2, 0, 9], "#0 f\n#1 main\n"));
        let text = fallen.text(|rank| format!("rank {rank} on n{rank}"));
        let lines: Vec<&str> = text.lines().collect();
        let expected = [
            "mpirun: rank 3 on n3: SIGSEGV",
            "mpirun:   #0 f",
            "mpirun:   #1 main",
            "mpirun:   4 more died in the same place: ranks 0-2, 9.",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn many_places_are_counted() {
        let mut fallen = Fallen::default();
        (0..1000).for_each(|rank| fallen.hear(fell(&[rank], &format!("#0 f{rank}\n"))));
        let text = fallen.text(|rank| format!("rank {rank}"));
        assert_eq!(text.lines().count(), 2 * PLACES_MAX + 1, "{text}");
        assert!(
            text.ends_with("  996 more died in other places, which are not shown: ranks 4-999.\n")
        );
    }

    #[test]
    fn who_was_ended_too_soon_fell_where_others_did_that_began_alike() {
        let trail = |calls: &[u64], cut| Trail { calls: calls.into(), cut, ..Trail::default() };
        let mut told = Told::default();
        for (rank, calls, cut) in [
            (0, &[1][..], UNKNOWN),
            (1, &[1, 2, 3], 0),
            (2, &[1, 2], UNKNOWN),
            (3, &[1, 2], 0),
            (4, &[], UNKNOWN),
        ] {
            told.hear(rank, Fault::default(), trail(calls, cut));
        }
        let ranks: Vec<Vec<usize>> = told.name().into_iter().map(|fell| fell.ranks).collect();
        assert_eq!(ranks, [vec![0, 1, 2], vec![3], vec![4]]);
    }

    #[test]
    fn the_second_word_of_a_rank_counts_and_places_are_told_apart_by_their_files() {
        let trail = |base: u64, call: u64| Trail {
            calls: vec![base + call],
            maps: format!("{base:x}-{:x} r-xp 00001000 fe:00 12   /none such\n", base + 0x1000)
                .into(),
            ..Trail::default()
        };
        let mut told = Told::default();
        for (rank, base, call) in [(0, 0x1000, 4), (1, 0x8000, 4), (2, 0x8000, 8), (3, 0x8000, 8)] {
            told.hear(rank, Fault::default(), Trail::default());
            told.hear(rank, Fault::default(), trail(base, call));
        }
        for (rank, killed) in [(2, true), (3, false), (1, true), (0, true)] {
            told.ended(rank, killed);
        }
        let fell = told.name();
        let ranks: Vec<&[usize]> = fell.iter().map(|fell| &*fell.ranks).collect();
        assert_eq!(ranks, [&[2][..], &[1, 0][..]]);
        assert_eq!(fell[1].calls, "#0 (none such, at 0x1004 of the file)\n");
        assert!(told.name().is_empty());
    }
}
