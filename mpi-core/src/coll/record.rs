//! What processes tell each other in the checked mode (`check`): what each calls a collective
//! with, and then, where only two can compare something, what they have found. Enters: a type and a count, or bytes
//! of others, which may be anything; leaves: what can be compared and said.

use crate::datatype::Datatype;
use crate::datatype::basic::{PACKED, row_of};

/// A type signature that is sent, received or common to all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Flow {
    /// Bytes of data; `u64::MAX` if there is nothing to compare.
    pub(crate) bytes: u64,
    /// The signature's hash.
    pub(crate) hash: u64,
    /// The number of the only basic type in it, or 0.
    pub(crate) only: u64,
}

pub(crate) const UNTOLD: Flow = Flow { bytes: u64::MAX, hash: 0, only: 0 };

impl Flow {
    pub(crate) fn of(datatype: &Datatype, count: i64) -> Flow {
        let (signature, count) = (datatype.signature(), count.max(0) as u64);
        Flow {
            bytes: signature.size().saturating_mul(count),
            hash: signature.hash_of(count),
            only: signature.only().map_or(0, |row| u64::from(row.code)),
        }
    }

    pub(crate) fn fits(self, other: Flow) -> bool {
        self == UNTOLD
            || other == UNTOLD
            || self.bytes == other.bytes
                && (self.hash == other.hash || self.is_packed() || other.is_packed())
    }

    /// Whether it is of `MPI_PACKED`, which fits whatever has as many bytes (§5.2).
    pub(crate) fn is_packed(self) -> bool {
        self.only == u64::from(PACKED)
    }

    pub(crate) fn words(self) -> String {
        match u32::try_from(self.only).ok().and_then(row_of) {
            _ if self.bytes == 0 => "nothing".to_owned(),
            Some(row) => format!("{} {}", self.bytes / u64::from(row.size.max(1)), row.name),
            None => format!("{} bytes of mixed types", self.bytes),
        }
    }
}

/// What one process tells another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Record {
    pub(crate) procedure: u64,
    /// Which collective it is in the core.
    pub(crate) kind: u64,
    /// The root, or `u64::MAX`.
    pub(crate) root: u64,
    /// The operation, or 0; `u64::MAX` for one of the program's own, [`UNTOLD_OP`] where it does not count.
    pub(crate) op: u64,
    /// What all must have alike.
    pub(crate) common: Flow,
    /// What goes to whom this record goes to.
    pub(crate) to: Flow,
    /// What is awaited from there.
    pub(crate) from: Flow,
}

/// What stands for an operation of which this process says nothing.
pub(crate) const UNTOLD_OP: u64 = u64::MAX - 1;

pub(crate) const WORDS: usize = 13;
pub(crate) const BYTES: usize = WORDS * 8;

impl Record {
    pub(crate) fn write(&self, bytes: &mut Vec<u8>) {
        let flow = |flow: Flow| [flow.bytes, flow.hash, flow.only];
        let head = [self.procedure, self.kind, self.root, self.op];
        let flows = [flow(self.common), flow(self.to), flow(self.from)];
        for word in head.into_iter().chain(flows.into_iter().flatten()) {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
    }

    pub(crate) fn read(bytes: &[u8]) -> Record {
        let word = |i: usize| {
            let bytes = bytes.get(i * 8..).and_then(|rest| rest.first_chunk());
            bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
        };
        let flow = |i| Flow { bytes: word(i), hash: word(i + 1), only: word(i + 2) };
        Record {
            procedure: word(0),
            kind: word(1),
            root: word(2),
            op: word(3),
            common: flow(4),
            to: flow(7),
            from: flow(10),
        }
    }
}

/// Two that do not agree on what goes from one to the other, as a process tells all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Verdict {
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) sent: Flow,
    pub(crate) awaited: Flow,
}

impl Verdict {
    pub(crate) const BYTES: usize = 9 * 8;

    pub(crate) fn write(verdict: Option<Verdict>) -> Vec<u8> {
        let words = verdict.map_or([0; 9], |Verdict { from, to, sent, awaited }| {
            let [s, a] = [sent, awaited];
            [1, from, to, s.bytes, s.hash, s.only, a.bytes, a.hash, a.only]
        });
        words.into_iter().flat_map(u64::to_le_bytes).collect()
    }

    pub(crate) fn read(bytes: &[u8]) -> Option<Verdict> {
        let (words, _) = bytes.as_chunks::<8>();
        let words: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
        let &[1, from, to, ref flows @ ..] = words.as_slice() else { return None };
        let &[a, b, c, d, e, f] = flows else { return None };
        let [sent, awaited] =
            [[a, b, c], [d, e, f]].map(|[bytes, hash, only]| Flow { bytes, hash, only });
        Some(Verdict { from, to, sent, awaited })
    }

    pub(crate) fn words(self) -> String {
        let Verdict { from, to, .. } = self;
        let (sent, awaited) = (self.sent.words(), self.awaited.words());
        format!("rank {from} sends rank {to} {sent}, but rank {to} receives {awaited} from it")
    }
}
