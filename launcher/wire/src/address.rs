//! The launcher's address: how a rank reaches it that has lost the descriptors which the launcher left
//! open for it, since something between the two closes open files (Python's `subprocess`, `sudo`).
//!
//! The address is a datagram socket of the launcher of this host; its name is in the environment,
//! with the numbers by which the kernel knows the two sockets that were left open, so that what a
//! program has opened since under the same descriptor is not mistaken for them. A rank [`ask`]s
//! and gets two new sockets. Both sides prove by a keyed hash that they know the job's mark, which
//! the environment of its processes has and no other user can read, and the kernel tells each the
//! user of the other. In: bytes from anybody. Out: a checked [`Question`] or [`Answer`].

use crate::datagram::{Datagram, is_of_trust};
use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

/// The environment variable that holds the address.
pub const VARIABLE: &str = "_FERRITE_LAUNCHER";
/// The environment variable that marks all processes of a job on one host.
pub const JOB: &str = "_FERRITE_JOB";

/// Most bytes of a question or an answer.
pub const QUESTION_MAX: usize = 512;
/// How long the launcher may take to answer. It answers at once, but may wait for a processor.
const PATIENCE: Duration = Duration::from_secs(20);

const ASKS: [u8; 8] = *b"FerrAsk1";
const ANSWERS: [u8; 8] = *b"FerrAns1";
const HASH_BYTES: usize = 32;

type Nonce = [u8; 16];

/// Where the launcher of this host is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// The abstract name of its socket.
    pub name: String,
    /// The numbers of a rank's PMI and control sockets.
    pub sockets: [u64; 2],
}

impl Address {
    /// The address as the variable's text.
    pub fn to_text(&self) -> String {
        let [pmi, control] = self.sockets;
        format!("{}:{pmi}:{control}", self.name)
    }

    /// The address in a text that anybody may have written.
    pub fn from_text(text: &str) -> Option<Address> {
        let mut parts = text.split(':');
        let name = parts.next().filter(|name| !name.is_empty())?.to_string();
        let sockets = [parts.next()?.parse().ok()?, parts.next()?.parse().ok()?];
        parts.next().is_none().then_some(Address { name, sockets })
    }
}

/// What those know who belong to a job.
#[derive(Clone)]
pub struct Key([u8; HASH_BYTES]);

impl Key {
    /// The key of the processes that are marked so.
    pub fn of(mark: &str) -> Key {
        Key(blake3::derive_key("ferrite 2026 address of the launcher", mark.as_bytes()))
    }

    fn sign(&self, mut bytes: Vec<u8>) -> Vec<u8> {
        let hash = blake3::keyed_hash(&self.0, &bytes);
        bytes.extend(hash.as_bytes());
        bytes
    }

    /// What was signed, if it was by this key.
    fn signed<'a>(&self, bytes: &'a [u8]) -> Option<&'a [u8]> {
        let (text, hash) = bytes.split_last_chunk::<HASH_BYTES>()?;
        // Equality of two `blake3::Hash` takes the same time wherever they differ.
        let is_ours = blake3::keyed_hash(&self.0, text) == blake3::Hash::from_bytes(*hash);
        is_ours.then_some(text)
    }
}

/// A process asks for the sockets of a rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The rank that it is to be.
    pub rank: u32,
    nonce: Nonce,
}

impl Question {
    fn to_bytes(&self, key: &Key) -> Vec<u8> {
        key.sign([&ASKS[..], &self.rank.to_le_bytes(), &self.nonce].concat())
    }

    /// The question in a datagram of somebody who has the key.
    pub fn from_bytes(bytes: &[u8], key: &Key) -> Option<Question> {
        let rest = key.signed(bytes)?.strip_prefix(&ASKS)?;
        let (rank, nonce) = rest.split_first_chunk()?;
        Some(Question { rank: u32::from_le_bytes(*rank), nonce: nonce.try_into().ok()? })
    }

    /// The answer to it as a datagram: with the sockets, or why there are none.
    pub fn answer(&self, key: &Key, answer: &Answer) -> Vec<u8> {
        let (verdict, why) = match answer {
            Answer::Sockets => (1, ""),
            Answer::Refused(why) => (0, why.as_str()),
        };
        let room = QUESTION_MAX - ANSWERS.len() - self.nonce.len() - 1 - HASH_BYTES;
        let why = &why.as_bytes()[..why.len().min(room)];
        key.sign([&ANSWERS[..], &self.nonce, &[verdict], why].concat())
    }

    /// The answer to it in a datagram of somebody who has the key.
    fn answered(&self, bytes: &[u8], key: &Key) -> Option<Answer> {
        let rest = key.signed(bytes)?.strip_prefix(&ANSWERS)?.strip_prefix(&self.nonce)?;
        match rest.split_first()? {
            (1, []) => Some(Answer::Sockets),
            (0, why) => Some(Answer::Refused(String::from_utf8_lossy(why).into_owned())),
            _ => None,
        }
    }
}

/// What the launcher answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The PMI and the control socket come along.
    Sockets,
    /// The process cannot be that rank, and why.
    Refused(String),
}

/// Why a launcher gave no sockets.
#[derive(Debug)]
pub enum NoAnswer {
    /// It cannot be reached.
    Unreachable(io::Error),
    /// It refuses.
    Refused(String),
}

impl From<io::Error> for NoAnswer {
    fn from(error: io::Error) -> NoAnswer {
        NoAnswer::Unreachable(error)
    }
}

/// Asks the launcher called `name` for the PMI and the control socket of `rank`.
pub fn ask(name: &str, key: &Key, rank: u32) -> Result<[OwnedFd; 2], NoAnswer> {
    let mut nonce = Nonce::default();
    getrandom::fill(&mut nonce).map_err(io::Error::other)?;
    let question = Question { rank, nonce };
    let socket = Datagram::bind(b"")?;
    socket.set_patience(PATIENCE)?;
    socket.send_waiting(name.as_bytes(), &question.to_bytes(key))?;
    let mut bytes = [0; QUESTION_MAX];
    loop {
        let arrival = match socket.receive(&mut bytes) {
            Ok(arrival) => arrival,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                return Err(io::Error::other("it does not answer").into());
            }
            Err(error) => return Err(error.into()),
        };
        // Anybody may write to this socket; only the launcher is listened to.
        let answer = question.answered(&bytes[..arrival.len], key);
        match answer {
            Some(Answer::Refused(why)) => return Err(NoAnswer::Refused(why)),
            Some(Answer::Sockets) if is_of_trust(arrival.uid) => {
                let missing = "the answer brought no sockets; is the limit of open files reached?";
                let sockets = <[OwnedFd; 2]>::try_from(arrival.descriptors);
                return sockets.map_err(|_| io::Error::other(missing).into());
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_address_comes_back() {
        let address = Address { name: "ferrite-0af".into(), sockets: [7, u64::MAX] };
        assert_eq!(Address::from_text(&address.to_text()), Some(address));
        for wrong in ["", ":1:2", "a:1", "a:1:2:3", "a:1:x"] {
            assert_eq!(Address::from_text(wrong), None, "{wrong}");
        }
    }

    fn question(nonce: u8) -> Question {
        Question { rank: 3, nonce: [nonce; 16] }
    }

    #[test]
    fn only_the_key_and_the_question_fit() {
        let (key, other) = (Key::of("job.0"), Key::of("job.1"));
        let asked = question(1).to_bytes(&key);
        assert_eq!(Question::from_bytes(&asked, &key), Some(question(1)));
        assert_eq!(Question::from_bytes(&asked, &other), None);
        for answer in [Answer::Sockets, Answer::Refused("x".repeat(9))] {
            let bytes = question(1).answer(&key, &answer);
            assert_eq!(question(1).answered(&bytes, &key), Some(answer));
            assert_eq!(question(2).answered(&bytes, &key), None);
            assert_eq!(question(1).answered(&bytes, &other), None);
            assert_eq!(Question::from_bytes(&bytes, &key), None);
        }
        let long = question(1).answer(&key, &Answer::Refused("y".repeat(9999)));
        assert!(long.len() <= QUESTION_MAX && question(1).answered(&long, &key).is_some());
    }

    proptest! {
        #[test]
        fn noise_is_refused(bytes in proptest::collection::vec(any::<u8>(), 0..100), text: String) {
            let key = Key::of("job.0");
            prop_assert_eq!(Question::from_bytes(&bytes, &key), None);
            prop_assert_eq!(question(1).answered(&bytes, &key), None);
            let _ = Address::from_text(&text);
        }

        #[test]
        fn one_changed_bit_is_refused(bit in 0..(8usize + 4 + 16 + 32) * 8) {
            let key = Key::of("job.0");
            let mut bytes = question(1).to_bytes(&key);
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(Question::from_bytes(&bytes, &key), None);
        }
    }
}
