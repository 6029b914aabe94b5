//! What mpirun and its agents tell each other.
//!
//! [`Up`] is news on its way to mpirun, [`Down`] a request on its way to the hosts. mpirun's own
//! ranks bring the same news and obey the same requests, only that these need not be written down:
//! a job on one host is the tree of one. A frame is its length (u32, what follows), its kind (u8)
//! and its fields; a stream begins with [`MARK`] and [`VERSION`].

use super::pack::{Malformed, Pack, pack_bytes, unpack_bytes, whole};
use crate::dying::Fell;
use crate::sys::End;
use launch_wire::control::Frame as Word;

/// What a stream begins with; before it, a remote shell's own noise is skipped.
pub(crate) const MARK: &[u8; 16] = b"\0ferrite agent\0\x01";

/// The version of these frames. Both ends must be of the same: they come from one installation.
pub(crate) const VERSION: u32 = 2;

/// Longest frame: all keys of a job, as the PMI server keeps them, and some room.
pub(crate) const LENGTH_MAX: usize = (256 << 20) + (1 << 20);

/// Keys and values.
pub(crate) type Keys = Vec<(String, String)>;

/// Where the ranks of a host are bound, for the report.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
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
#[derive(Debug, Clone, PartialEq, Eq)]
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
        which: usize,
        /// What it wrote; nothing when that stream has ended.
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
        word: Word,
    },
    /// A rank publishes or looks up a name, which mpirun itself keeps.
    Name {
        /// The rank.
        rank: usize,
        /// The line of PMI.
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
    Words(Vec<u8>),
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
#[derive(Debug, Clone, PartialEq, Eq)]
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
        which: usize,
        /// How many.
        bytes: usize,
    },
    /// Nobody reads this output (0 or 1) any more.
    Unread(usize),
    /// No rank runs any more: clear away what is left, which may take so many milliseconds to end, and say so.
    End(u32),
}

impl Pack for End {
    fn pack(&self, to: &mut Vec<u8>) {
        let (killed, number) = match self {
            End::Exited(status) => (None, *status),
            End::Killed { signal, core } => (Some(*core), *signal),
        };
        killed.pack(to);
        number.pack(to);
    }

    fn unpack(from: &mut &[u8]) -> Result<Self, Malformed> {
        let killed = Option::<bool>::unpack(from)?;
        let number = i32::unpack(from)?;
        Ok(killed.map_or(End::Exited(number), |core| End::Killed { signal: number, core }))
    }
}

impl Pack for Arrived {
    fn pack(&self, to: &mut Vec<u8>) {
        let Arrived { node, cpus, why, bound, caution } = self;
        node.pack(to);
        cpus.pack(to);
        why.pack(to);
        bound.pack(to);
        caution.pack(to);
    }

    fn unpack(from: &mut &[u8]) -> Result<Self, Malformed> {
        Ok(Arrived {
            node: Pack::unpack(from)?,
            cpus: Pack::unpack(from)?,
            why: Pack::unpack(from)?,
            bound: Pack::unpack(from)?,
            caution: Pack::unpack(from)?,
        })
    }
}

impl Pack for Word {
    fn pack(&self, to: &mut Vec<u8>) {
        pack_bytes(&self.encode(), to);
    }

    fn unpack(from: &mut &[u8]) -> Result<Self, Malformed> {
        Word::decode(&unpack_bytes(from)?).map_err(|_| Malformed("a rank's word"))
    }
}

/// Which of a rank's two output streams.
fn which(from: &mut &[u8]) -> Result<usize, Malformed> {
    usize::unpack(from).and_then(|n| if n < 2 { Ok(n) } else { Err(Malformed("a stream")) })
}

/// Writes the fields of a frame behind its length and kind.
fn framed(kind: u8, fill: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut bytes = vec![0, 0, 0, 0, kind];
    fill(&mut bytes);
    let length = u32::try_from(bytes.len() - 4).expect("frames are shorter than LENGTH_MAX");
    bytes[..4].copy_from_slice(&length.to_le_bytes());
    bytes
}

/// A frame of one of the two directions.
pub(crate) trait Frame: Sized {
    /// The frame with its length in front.
    fn encode(&self) -> Vec<u8>;
    /// Reads what follows the length.
    fn decode(body: &[u8]) -> Result<Self, Malformed>;
}

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

impl Frame for Up {
    fn encode(&self) -> Vec<u8> {
        match self {
            Up::Alive => framed(0, |_| {}),
            Up::Arrived(arrived) => framed(1, |to| arrived.pack(to)),
            Up::Refused { node, status, text } => framed(2, |to| {
                node.pack(to);
                status.pack(to);
                text.pack(to);
            }),
            Up::Started(ranks) => framed(3, |to| ranks.pack(to)),
            Up::Output { rank, which, bytes } => framed(4, |to| {
                (*rank, *which).pack(to);
                pack_bytes(bytes, to);
            }),
            Up::Inside { rank, inside } => framed(5, |to| (*rank, *inside).pack(to)),
            Up::Abort { rank, code } => framed(6, |to| (*rank, *code).pack(to)),
            Up::Said { rank, word } => framed(7, |to| {
                rank.pack(to);
                word.pack(to);
            }),
            Up::Name { rank, line } => framed(8, |to| {
                rank.pack(to);
                pack_bytes(line, to);
            }),
            Up::Closed { rank } => framed(9, |to| rank.pack(to)),
            Up::Garbled { rank, text } => framed(10, |to| {
                rank.pack(to);
                text.pack(to);
            }),
            Up::Ended { rank, end } => framed(11, |to| (*rank, *end).pack(to)),
            Up::Fence(keys) => framed(12, |to| keys.pack(to)),
            Up::Wait { passed, ranks } => framed(13, |to| {
                passed.pack(to);
                ranks.pack(to);
            }),
            Up::Fed { rank, gone } => framed(14, |to| (*rank, *gone).pack(to)),
            Up::Words(bytes) => framed(15, |to| pack_bytes(bytes, to)),
            Up::Lost { first, end, arrived, why } => framed(16, |to| {
                ((*first, *end), *arrived).pack(to);
                why.pack(to);
            }),
            Up::Done => framed(17, |_| {}),
            Up::Fell(fell) => framed(18, |to| fell.pack(to)),
        }
    }

    fn decode(body: &[u8]) -> Result<Up, Malformed> {
        let (&kind, mut rest) = body.split_first().ok_or(Malformed("it is empty"))?;
        let from = &mut rest;
        let frame = match kind {
            0 => Up::Alive,
            1 => Up::Arrived(Pack::unpack(from)?),
            2 => Up::Refused {
                node: Pack::unpack(from)?,
                status: Pack::unpack(from)?,
                text: Pack::unpack(from)?,
            },
            3 => Up::Started(Pack::unpack(from)?),
            4 => Up::Output {
                rank: Pack::unpack(from)?,
                which: which(from)?,
                bytes: unpack_bytes(from)?,
            },
            5 => Up::Inside { rank: Pack::unpack(from)?, inside: Pack::unpack(from)? },
            6 => Up::Abort { rank: Pack::unpack(from)?, code: Pack::unpack(from)? },
            7 => Up::Said { rank: Pack::unpack(from)?, word: Pack::unpack(from)? },
            8 => Up::Name { rank: Pack::unpack(from)?, line: unpack_bytes(from)? },
            9 => Up::Closed { rank: Pack::unpack(from)? },
            10 => Up::Garbled { rank: Pack::unpack(from)?, text: Pack::unpack(from)? },
            11 => Up::Ended { rank: Pack::unpack(from)?, end: Pack::unpack(from)? },
            12 => Up::Fence(Pack::unpack(from)?),
            13 => Up::Wait { passed: Pack::unpack(from)?, ranks: Pack::unpack(from)? },
            14 => Up::Fed { rank: Pack::unpack(from)?, gone: Pack::unpack(from)? },
            15 => Up::Words(unpack_bytes(from)?),
            16 => Up::Lost {
                first: Pack::unpack(from)?,
                end: Pack::unpack(from)?,
                arrived: Pack::unpack(from)?,
                why: Pack::unpack(from)?,
            },
            17 => Up::Done,
            18 => Up::Fell(Pack::unpack(from)?),
            _ => return Err(Malformed("an unknown kind")),
        };
        whole::<Nothing>(rest).map(|Nothing| frame)
    }
}

impl Frame for Down {
    fn encode(&self) -> Vec<u8> {
        match self {
            Down::Alive => framed(0, |_| {}),
            Down::Orders { first, end, plan } => framed(1, |to| {
                (*first, *end).pack(to);
                pack_bytes(plan, to);
            }),
            Down::Go => framed(2, |_| {}),
            Down::Signal(signal) => framed(3, |to| signal.pack(to)),
            Down::Release(keys) => framed(4, |to| keys.pack(to)),
            Down::Reply { rank, line } => framed(5, |to| {
                rank.pack(to);
                line.pack(to);
            }),
            Down::Feed { rank, bytes } => framed(6, |to| {
                rank.pack(to);
                pack_bytes(bytes, to);
            }),
            Down::RollCall => framed(7, |_| {}),
            Down::Watch => framed(8, |_| {}),
            Down::Taken { node, which, bytes } => {
                framed(9, |to| ((*node, *which), *bytes).pack(to))
            }
            Down::Unread(which) => framed(10, |to| which.pack(to)),
            Down::End(millis) => framed(11, |to| millis.pack(to)),
        }
    }

    fn decode(body: &[u8]) -> Result<Down, Malformed> {
        let (&kind, mut rest) = body.split_first().ok_or(Malformed("it is empty"))?;
        let from = &mut rest;
        let frame = match kind {
            0 => Down::Alive,
            1 => Down::Orders {
                first: Pack::unpack(from)?,
                end: Pack::unpack(from)?,
                plan: unpack_bytes(from)?,
            },
            2 => Down::Go,
            3 => Down::Signal(Pack::unpack(from)?),
            4 => Down::Release(Pack::unpack(from)?),
            5 => Down::Reply { rank: Pack::unpack(from)?, line: Pack::unpack(from)? },
            6 => Down::Feed { rank: Pack::unpack(from)?, bytes: unpack_bytes(from)? },
            7 => Down::RollCall,
            8 => Down::Watch,
            9 => Down::Taken {
                node: Pack::unpack(from)?,
                which: which(from)?,
                bytes: Pack::unpack(from)?,
            },
            10 => Down::Unread(which(from)?),
            11 => Down::End(Pack::unpack(from)?),
            _ => return Err(Malformed("an unknown kind")),
        };
        whole::<Nothing>(rest).map(|Nothing| frame)
    }
}

/// What must be left of a frame when its fields have been read.
struct Nothing;

impl Pack for Nothing {
    fn pack(&self, _: &mut Vec<u8>) {}

    fn unpack(_: &mut &[u8]) -> Result<Self, Malformed> {
        Ok(Nothing)
    }
}

#[cfg(test)]
#[path = "frame_tests.rs"]
mod tests;
