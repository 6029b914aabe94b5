//! What mpirun and its agents tell each other.
//!
//! [`Up`] is news on its way to mpirun, [`Down`] a request on its way to the hosts. mpirun's own
//! ranks bring the same news and obey the same requests, only that these need not be written down:
//! a job on one host is the tree of one. A frame is its length (u32, of what follows) and its kind and
//! fields in the form of postcard; a stream begins with [`MARK`] and [`VERSION`].

use crate::dying::Fell;
use crate::pack::{Malformed, behind, whole};
use crate::sys::End;
use launch_wire::control::Frame as Word;
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serialize};

/// What a stream begins with; before it, a remote shell's own noise is skipped.
pub(crate) const MARK: &[u8; 16] = b"\0ferrite agent\0\x01";

/// The version of these frames. Both ends must be of the same: they come from one installation.
pub(crate) const VERSION: u32 = 3;

/// Longest frame: all keys of a job, as the PMI server keeps them, and some room.
pub(crate) const LENGTH_MAX: usize = (256 << 20) + (1 << 20);

/// Keys and values.
pub(crate) type Keys = Vec<(String, String)>;

/// Where the ranks of a host are bound, for the report.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Arrived {
    /// The host's number.
    pub(crate) node: usize,
    /// How many CPUs its ranks share.
    pub(crate) cpus: usize,
    /// Why they are bound as they are.
    pub(crate) why: String,
    /// For each bound rank its CPUs.
    pub(crate) bound: Vec<(usize, Vec<usize>)>,
    /// What else the report has to say.
    pub(crate) caution: Option<String>,
}

/// News.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Up {
    /// Nothing, but that somebody is there.
    Alive,
    /// A host has looked at the plan and can begin.
    Arrived(Arrived),
    /// A host cannot do its part.
    Refused {
        /// The host's number.
        node: usize,
        /// mpirun's exit status.
        status: u8,
        /// One sentence or two.
        text: String,
    },
    /// These ranks run, each with its process.
    Started(Vec<(usize, i32)>),
    /// A rank has written to standard output (0) or error (1).
    Output {
        /// The rank.
        rank: usize,
        /// Which stream.
        #[serde(deserialize_with = "which")]
        which: usize,
        /// What it wrote; nothing when that stream has ended.
        #[serde(with = "serde_bytes")]
        bytes: Vec<u8>,
    },
    /// A rank has begun (or ended) to use the process manager.
    Inside {
        /// The rank.
        rank: usize,
        /// Between init and finalize.
        inside: bool,
    },
    /// A rank asked for the end of the job, by PMI.
    Abort {
        /// The rank.
        rank: usize,
        /// The exit status.
        code: i32,
    },
    /// A rank's word on its control socket.
    Said {
        /// The rank.
        rank: usize,
        /// The word.
        #[serde(with = "word")]
        word: Word,
    },
    /// A rank publishes or looks up a name, which mpirun itself keeps.
    Name {
        /// The rank.
        rank: usize,
        /// The line of PMI.
        #[serde(with = "serde_bytes")]
        line: Vec<u8>,
    },
    /// A rank has closed its PMI socket.
    Closed {
        /// The rank.
        rank: usize,
    },
    /// A rank sent something that is not of the protocol.
    Garbled {
        /// The rank.
        rank: usize,
        /// What was wrong.
        text: String,
    },
    /// A rank has ended.
    Ended {
        /// The rank.
        rank: usize,
        /// How.
        end: End,
    },
    /// All ranks of a host, and of those below it, are in the barrier; these keys are new.
    Fence(Keys),
    /// These ranks wait in a barrier.
    Wait {
        /// How many barriers of the job their host knew to be open already.
        passed: u32,
        /// The ranks.
        ranks: Vec<usize>,
    },
    /// A rank has taken all of the input that it was given, or (`gone`) will take no more.
    Fed {
        /// The rank.
        rank: usize,
        /// Whether it has closed its input.
        gone: bool,
    },
    /// What the command that started an agent wrote to standard error.
    Words(#[serde(with = "serde_bytes")] Vec<u8>),
    /// The hosts from `first` to before `end` are out of reach.
    Lost {
        /// The host that was lost.
        first: usize,
        /// One more than the last below it.
        end: usize,
        /// Whether it had arrived before.
        arrived: bool,
        /// How it was noticed.
        why: String,
    },
    /// Ranks that a fatal signal has ended, in one place.
    Fell(Fell),
    /// This host and those below it have cleared away everything.
    Done,
}

/// Requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Down {
    /// Nothing, but that somebody is there.
    Alive,
    /// The plan, and which part of the hosts is the receiver's: itself, and those that it starts.
    Orders {
        /// The receiver's number.
        first: usize,
        /// One more than the last.
        end: usize,
        /// The plan, written down.
        #[serde(with = "serde_bytes")]
        plan: Vec<u8>,
    },
    /// All hosts have arrived: start the ranks.
    Go,
    /// A signal for all ranks.
    Signal(i32),
    /// All ranks of the job are in the barrier: let them out, with these new keys.
    Release(Keys),
    /// A line of PMI for a rank.
    Reply {
        /// The rank.
        rank: usize,
        /// The line, its end included.
        line: String,
    },
    /// Input for a rank; nothing for its end.
    Feed {
        /// The rank.
        rank: usize,
        /// The input.
        #[serde(with = "serde_bytes")]
        bytes: Vec<u8>,
    },
    /// Ask the ranks what they are doing.
    RollCall,
    /// From now on say which ranks wait in a barrier.
    Watch,
    /// So many bytes of a host's output have gone their way.
    Taken {
        /// The host's number.
        node: usize,
        /// Standard output (0) or error (1).
        #[serde(deserialize_with = "which")]
        which: usize,
        /// How many.
        bytes: usize,
    },
    /// Nobody reads this output (0 or 1) any more.
    Unread(#[serde(deserialize_with = "which")] usize),
    /// No rank runs any more: clear away what is left, which may take so many milliseconds to end, and say so.
    End(u32),
}

/// Which of a rank's two output streams.
fn which<'a, D: Deserializer<'a>>(from: D) -> Result<usize, D::Error> {
    let which = usize::deserialize(from)?;
    if which < 2 { Ok(which) } else { Err(D::Error::custom("a stream")) }
}

/// A rank's word, in the form in which the rank said it.
mod word {
    use super::*;
    use serde::Serializer;
    use serde_bytes::{ByteBuf, Bytes};

    pub(super) fn serialize<S: Serializer>(word: &Word, to: S) -> Result<S::Ok, S::Error> {
        Bytes::new(&word.encode()).serialize(to)
    }

    pub(super) fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<Word, D::Error> {
        Word::decode(&ByteBuf::deserialize(from)?).map_err(D::Error::custom)
    }
}

/// A frame of one of the two directions.
pub(crate) trait Frame: Serialize + DeserializeOwned {
    /// The frame with its length in front.
    fn encode(&self) -> Vec<u8> {
        let mut bytes = behind(vec![0; 4], self);
        let length = u32::try_from(bytes.len() - 4).expect("frames are shorter than LENGTH_MAX");
        bytes[..4].copy_from_slice(&length.to_le_bytes());
        bytes
    }

    /// Reads what follows the length.
    fn decode(body: &[u8]) -> Result<Self, Malformed> {
        whole(body)
    }
}

impl Frame for Up {}
impl Frame for Down {}

impl Up {
    /// The ranks that this is about.
    pub(crate) fn ranks(&self) -> Vec<usize> {
        match self {
            Up::Started(ranks) => ranks.iter().map(|(rank, _)| *rank).collect(),
            Up::Wait { ranks, .. } => ranks.clone(),
            Up::Fell(fell) => fell.ranks.clone(),
            Up::Arrived(arrived) => arrived.bound.iter().map(|(rank, _)| *rank).collect(),
            Up::Output { rank, .. }
            | Up::Inside { rank, .. }
            | Up::Abort { rank, .. }
            | Up::Said { rank, .. }
            | Up::Name { rank, .. }
            | Up::Closed { rank }
            | Up::Garbled { rank, .. }
            | Up::Ended { rank, .. }
            | Up::Fed { rank, .. } => vec![*rank],
            Up::Alive
            | Up::Refused { .. }
            | Up::Fence(_)
            | Up::Words(_)
            | Up::Lost { .. }
            | Up::Done => Vec::new(),
        }
    }

    /// The hosts that this is about.
    pub(crate) fn nodes(&self) -> std::ops::Range<usize> {
        match self {
            Up::Arrived(Arrived { node, .. }) | Up::Refused { node, .. } => *node..node + 1,
            Up::Lost { first, end, .. } => *first..*end,
            _ => 0..0,
        }
    }
}

#[cfg(test)]
#[path = "frame_tests.rs"]
mod tests;
