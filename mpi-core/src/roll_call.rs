//! What each rank is in right now: what a hang report and a deadlock check read.
//!
//! The owner keeps a [`Call`] on its stack or in its process and publishes it into an [`Area`]
//! when a wait leaves its spin phase, so a call that never waits pays nothing. An area is one
//! cache line of atomics and may lie in shared memory: a reader in another process takes a
//! sequence-locked copy and trusts nothing in it.

use std::fmt::Write;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

use crate::constants::{ANY_SOURCE, ANY_TAG, PROC_NULL, ROOT};
use crate::limits::ROLL_CALL_NAME;

/// Whom a call names.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Peer {
    /// Nobody.
    #[default]
    None,
    /// The rank it receives from.
    Source(i32),
    /// The rank it sends to.
    Dest(i32),
    /// The root of a collective.
    Root(i32),
    /// The target of one-sided communication.
    Target(i32),
}

/// The call that a process is in.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Call {
    /// Number of the procedure, by the C interface's list; 0 is none: the process computes.
    pub procedure: u16,
    /// Whom it names.
    pub peer: Peer,
    /// What it names is one of several operations of which any would do.
    pub any: bool,
    /// The tag it names.
    pub tag: Option<i32>,
    /// The context id of its communicator.
    pub context: u64,
    /// Number of the collective on its communicator.
    pub collective: Option<u32>,
    /// The communicator's name, cut to [`ROLL_CALL_NAME`] bytes when published.
    pub comm: String,
}

const WORDS: usize = 4 + ROLL_CALL_NAME / 8;

/// One process's published call: written by its owner, read by anybody.
#[repr(C, align(64))]
#[derive(Default)]
pub struct Area {
    /// Odd while the owner writes.
    sequence: AtomicU32,
    reserved: AtomicU32,
    words: [AtomicU64; WORDS],
}

const _: () = assert!(size_of::<Area>() == 64);

const PEER_SHIFT: u32 = 16;
const HAS_TAG: u64 = 1 << 20;
const HAS_COLLECTIVE: u64 = 1 << 21;
const IS_ANY: u64 = 1 << 22;
const READ_ATTEMPTS: u32 = 100;

impl Call {
    fn to_words(&self) -> [u64; WORDS] {
        let (role, peer) = match self.peer {
            Peer::None => (0, 0),
            Peer::Source(rank) => (1, rank),
            Peer::Dest(rank) => (2, rank),
            Peer::Root(rank) => (3, rank),
            Peer::Target(rank) => (4, rank),
        };
        let mut head = u64::from(self.procedure) | role << PEER_SHIFT;
        head |= if self.tag.is_some() { HAS_TAG } else { 0 };
        head |= if self.collective.is_some() { HAS_COLLECTIVE } else { 0 };
        head |= if self.any { IS_ANY } else { 0 };
        let mut words = [0; WORDS];
        words[0] = head | u64::from(peer as u32) << 32;
        words[1] = u64::from(self.tag.unwrap_or(0) as u32);
        words[2] = self.context;
        words[3] = u64::from(self.collective.unwrap_or(0));
        let mut name = [0; ROLL_CALL_NAME];
        let fits = (0..=ROLL_CALL_NAME.min(self.comm.len()))
            .rfind(|at| self.comm.is_char_boundary(*at))
            .unwrap_or(0);
        name[..fits].copy_from_slice(&self.comm.as_bytes()[..fits]);
        for (word, bytes) in words[4..].iter_mut().zip(name.as_chunks().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        words
    }

    fn from_words(words: &[u64; WORDS]) -> Call {
        let rank = (words[0] >> 32) as u32 as i32;
        let peer = match words[0] >> PEER_SHIFT & 0xf {
            1 => Peer::Source(rank),
            2 => Peer::Dest(rank),
            3 => Peer::Root(rank),
            4 => Peer::Target(rank),
            _ => Peer::None,
        };
        let name: Vec<u8> = words[4..].iter().flat_map(|word| word.to_le_bytes()).collect();
        let name = name.split(|byte| *byte == 0).next().unwrap_or(&[]);
        Call {
            procedure: words[0] as u16,
            peer,
            any: words[0] & IS_ANY != 0,
            tag: (words[0] & HAS_TAG != 0).then_some(words[1] as u32 as i32),
            context: words[2],
            collective: (words[0] & HAS_COLLECTIVE != 0).then_some(words[3] as u32),
            comm: String::from_utf8_lossy(name).chars().filter(|c| !c.is_control()).collect(),
        }
    }

    /// "in MPI_Recv(source 0, tag 7) on MPI_COMM_WORLD", given the procedures' names.
    pub fn describe(&self, name_of: impl Fn(u16) -> Option<&'static str>) -> String {
        if self.procedure == 0 {
            return "in no MPI call".to_owned();
        }
        let mut text = match name_of(self.procedure) {
            Some(name) => format!("in {name}"),
            None => format!("in MPI procedure {}", self.procedure),
        };
        let mut details = Vec::new();
        match self.peer {
            Peer::None => {}
            // Which of its partners a collective waits for is its algorithm's affair.
            Peer::Source(_) | Peer::Dest(_) if self.collective.is_some() => {}
            Peer::Source(rank) => details.push(format!("source {}", rank_text(rank))),
            Peer::Dest(rank) => details.push(format!("dest {}", rank_text(rank))),
            Peer::Root(rank) => details.push(format!("root {}", rank_text(rank))),
            Peer::Target(rank) => details.push(format!("target {rank}")),
        }
        match self.tag {
            None => {}
            Some(ANY_TAG) => details.push("tag MPI_ANY_TAG".to_owned()),
            Some(tag) => details.push(format!("tag {tag}")),
        }
        details.extend(self.collective.map(|number| format!("collective {number}")));
        details.extend(self.any.then(|| "or another".to_owned()));
        if !details.is_empty() {
            let _ = write!(text, "({})", details.join(", "));
        }
        match (self.comm.as_str(), self.context) {
            ("", 0) => {}
            ("", context) => {
                let _ = write!(text, " on the communicator with context {context:#x}");
            }
            (name, _) => {
                let _ = write!(text, " on {name}");
            }
        }
        text
    }
}

fn rank_text(rank: i32) -> String {
    match rank {
        ANY_SOURCE => "MPI_ANY_SOURCE".to_owned(),
        PROC_NULL => "MPI_PROC_NULL".to_owned(),
        ROOT => "MPI_ROOT".to_owned(),
        rank => rank.to_string(),
    }
}

impl Area {
    /// An area of a process that is in no call.
    pub fn new() -> Area {
        Area::default()
    }

    /// Writes the owner's call; only the owner may.
    pub fn publish(&self, call: &Call) {
        let before = self.sequence.load(Ordering::Relaxed);
        self.sequence.store(before.wrapping_add(1) | 1, Ordering::Relaxed);
        fence(Ordering::Release);
        for (word, value) in self.words.iter().zip(call.to_words()) {
            word.store(value, Ordering::Relaxed);
        }
        self.sequence.store((before.wrapping_add(1) | 1).wrapping_add(1), Ordering::Release);
    }

    /// The owner's call and a number that changes with every publication, so that two equal
    /// readings mean that nothing happened between. `None` when the owner writes all the time
    /// or died while writing.
    pub fn read(&self) -> Option<(Call, u32)> {
        for _ in 0..READ_ATTEMPTS {
            let before = self.sequence.load(Ordering::Acquire);
            let words = std::array::from_fn(|i| self.words[i].load(Ordering::Relaxed));
            fence(Ordering::Acquire);
            if before & 1 == 0 && self.sequence.load(Ordering::Relaxed) == before {
                return Some((Call::from_words(&words), before));
            }
            std::hint::spin_loop();
        }
        None
    }
}

/// What a process tells whoever asks what it is doing.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Answer {
    /// The call that it is in.
    pub call: Call,
    /// The process that it waits for, by its rank in the job, where it is a certain one.
    pub awaited: Option<u32>,
    /// What there is to say of a message that is here in vain: it comes from whom the process waits for, but is
    /// another.
    pub instead: Option<String>,
    /// A number that stays the same as long as nothing moves.
    pub moved: u64,
    /// Messages that were sent less those that came, modulo 2¹⁶: over all processes the sum is 0
    /// if none is on its way. `None` if this process knows of something that is.
    pub balance: Option<u16>,
}

impl Answer {
    /// One line, given the procedures' names.
    pub fn describe(&self, name_of: impl Fn(u16) -> Option<&'static str>) -> String {
        let mut text = self.call.describe(name_of);
        if let Some(instead) = &self.instead {
            text += &format!("; what is here {instead}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn name_of(procedure: u16) -> Option<&'static str> {
        [None, Some("MPI_Recv"), Some("MPI_Bcast")].get(procedure as usize).copied().flatten()
    }

    #[test]
    fn says_what_a_rank_waits_for() {
        let mut call = Call {
            procedure: 1,
            peer: Peer::Source(0),
            tag: Some(7),
            comm: "MPI_COMM_WORLD".into(),
            ..Call::default()
        };
        assert_eq!(call.describe(name_of), "in MPI_Recv(source 0, tag 7) on MPI_COMM_WORLD");
        call.peer = Peer::Source(ANY_SOURCE);
        call.tag = Some(ANY_TAG);
        assert_eq!(
            call.describe(name_of),
            "in MPI_Recv(source MPI_ANY_SOURCE, tag MPI_ANY_TAG) on MPI_COMM_WORLD"
        );
        let call = Call {
            procedure: 2,
            peer: Peer::Root(3),
            collective: Some(12),
            context: 0x1f,
            ..Call::default()
        };
        assert_eq!(
            call.describe(name_of),
            "in MPI_Bcast(root 3, collective 12) on the communicator with context 0x1f"
        );
        let call = Call { procedure: 1, peer: Peer::Source(2), any: true, ..Call::default() };
        assert_eq!(call.describe(name_of), "in MPI_Recv(source 2, or another)");
        let call = Call { procedure: 9, peer: Peer::Target(2), ..Call::default() };
        assert_eq!(call.describe(name_of), "in MPI procedure 9(target 2)");
        assert_eq!(Call::default().describe(name_of), "in no MPI call");
        assert_eq!(
            Call { procedure: 9, ..Call::default() }.describe(name_of),
            "in MPI procedure 9"
        );
    }

    #[test]
    fn a_writer_that_died_is_noticed() {
        let area = Area::new();
        area.publish(&Call::default());
        let (_, number) = area.read().unwrap();
        area.publish(&Call::default());
        assert_ne!(area.read().unwrap().1, number);
        area.sequence.store(5, Ordering::Relaxed);
        assert!(area.read().is_none());
        area.publish(&Call::default());
        assert!(area.read().is_some());
    }

    proptest! {
        #[test]
        fn an_area_carries_every_field(procedure: u16, role in 0..5u8, rank: i32, any: bool,
                tag: Option<i32>, context: u64, collective: Option<u32>, comm in "[a-zA-Z_é]{0,12}") {
            let peer = match role {
                0 => Peer::None,
                1 => Peer::Source(rank),
                2 => Peer::Dest(rank),
                3 => Peer::Root(rank),
                _ => Peer::Target(rank),
            };
            let call = Call { procedure, peer, any, tag, context, collective, comm };
            let area = Area::new();
            area.publish(&call);
            prop_assert_eq!(area.read().unwrap().0, call);
        }

        #[test]
        fn any_bytes_can_be_read(words: [u64; WORDS]) {
            let area = Area::new();
            for (word, value) in area.words.iter().zip(words) {
                word.store(value, Ordering::Relaxed);
            }
            let _ = area.read().unwrap().0.describe(name_of);
        }
    }
}
