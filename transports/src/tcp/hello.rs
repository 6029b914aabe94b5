//! First words on a new connection: who is there, for which stream, and how far each end is.
//!
//! The one that was connected to sends a challenge with a nonce; the one that connects answers
//! with a hello, the other with a welcome. Hello and welcome carry a keyed hash over all they say
//! and over the nonces of both, so that neither a stranger nor a recording gets in, and who does
//! not know the job's secret learns nothing from it. A hello and a welcome say how many bytes of
//! the stream their sender has received: the stream goes on from there (see `output`).
//!
//! In: bytes from anybody, in their whole length. Out: checked values, or why they were refused.

use crate::fields::{Fields, HASH_BYTES};

/// The version of everything that TCP carries.
pub(super) const VERSION: u32 = 2;
/// Bytes of a nonce.
pub(super) const NONCE_BYTES: usize = 16;
/// Bytes of a challenge.
pub(super) const CHALLENGE_BYTES: usize = 8 + 4 + NONCE_BYTES;
/// Bytes of a hello.
pub(super) const HELLO_BYTES: usize = 8 + 6 * 4 + 8 + NONCE_BYTES + HASH_BYTES + HASH_BYTES;
/// Bytes of a welcome.
pub(super) const WELCOME_BYTES: usize = 8 + 3 * 4 + 8 + HASH_BYTES;

const CHALLENGE: [u8; 8] = *b"FerrTcpC";
const HELLO: [u8; 8] = *b"FerrTcpH";
const WELCOME: [u8; 8] = *b"FerrTcpW";

/// What no stranger can guess and nobody uses twice.
pub(super) type Nonce = [u8; NONCE_BYTES];
/// The secret that all processes of a job share.
pub type Secret = [u8; 32];

/// Why first words are refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Refusal {
    /// They have not the form of such words.
    Form,
    /// They are of another version.
    Version(u32),
    /// Their sender does not know the job's secret, or repeats what it overheard.
    Secret,
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Refusal::Form => f.write_str("it does not speak Ferrite MPI's protocol"),
            Refusal::Version(theirs) => {
                write!(f, "it speaks version {theirs} of the protocol, this process {VERSION}")
            }
            Refusal::Secret => f.write_str("it does not know the secret of this job"),
        }
    }
}

/// The words of the one who connects.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Hello {
    /// Rank of the sender.
    pub rank: u32,
    /// Rank that is meant.
    pub to_rank: u32,
    /// The sender's face of the library, as a number for reports.
    pub face: u32,
    /// The stream that the connection is to carry.
    pub stream: u32,
    /// How many connections the sender has seen carry it.
    pub epoch: u32,
    /// Bytes of it that the sender has received.
    pub received: u64,
    /// For the welcome.
    pub nonce: Nonce,
    /// Hash of the job's identity.
    pub job: [u8; HASH_BYTES],
}

/// What becomes of a connection. Wire codes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub(super) enum Answer {
    /// It is not taken: the sender's own is on its way, or will be.
    Later = 0,
    /// It carries the stream.
    Taken = 1,
    /// The sender has given the other up, and takes none from it any more.
    Never = 2,
}

/// The answer to a hello.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Welcome {
    /// What becomes of the connection.
    pub answer: Answer,
    /// How many connections have carried the stream, this one included.
    pub epoch: u32,
    /// Bytes of the stream that the sender has received.
    pub received: u64,
}

/// A challenge with this nonce.
pub(super) fn challenge(nonce: &Nonce) -> [u8; CHALLENGE_BYTES] {
    let mut words = Words::new();
    words.put(&CHALLENGE).put(&VERSION.to_le_bytes()).put(nonce);
    words.finish()
}

/// The nonce in a challenge.
pub(super) fn read_challenge(bytes: &[u8; CHALLENGE_BYTES]) -> Result<Nonce, Refusal> {
    begin(bytes, CHALLENGE)?.take().ok_or(Refusal::Form)
}

impl Hello {
    /// The hello in answer to a challenge.
    pub(super) fn to_bytes(&self, secret: &Secret, challenge: &Nonce) -> [u8; HELLO_BYTES] {
        let mut words = Words::new();
        words.put(&HELLO);
        for number in [VERSION, self.rank, self.to_rank, self.face, self.stream, self.epoch] {
            words.put(&number.to_le_bytes());
        }
        words.put(&self.received.to_le_bytes()).put(&self.nonce).put(&self.job);
        words.sign(secret, &[challenge]);
        words.finish()
    }

    /// The hello of one who knows the secret and answers this challenge.
    pub(super) fn from_bytes(
        bytes: &[u8; HELLO_BYTES],
        secret: &Secret,
        challenge: &Nonce,
    ) -> Result<Hello, Refusal> {
        let hello = Hello::fields(&mut begin(bytes, HELLO)?).ok_or(Refusal::Form)?;
        check(bytes, secret, &[challenge])?;
        Ok(hello)
    }

    fn fields(at: &mut Fields<'_>) -> Option<Hello> {
        let (rank, to_rank, face, stream, epoch) =
            (at.u32()?, at.u32()?, at.u32()?, at.u32()?, at.u32()?);
        let (received, nonce, job) = (at.u64()?, at.take()?, at.take()?);
        Some(Hello { rank, to_rank, face, stream, epoch, received, nonce, job })
    }
}

impl Welcome {
    /// The welcome after a hello with its nonce, in answer to this challenge.
    pub(super) fn to_bytes(&self, secret: &Secret, nonces: [&Nonce; 2]) -> [u8; WELCOME_BYTES] {
        let mut words = Words::new();
        words.put(&WELCOME);
        for number in [VERSION, self.answer as u32, self.epoch] {
            words.put(&number.to_le_bytes());
        }
        words.put(&self.received.to_le_bytes());
        words.sign(secret, &nonces);
        words.finish()
    }

    /// The welcome of one who knows the secret and both nonces.
    pub(super) fn from_bytes(
        bytes: &[u8; WELCOME_BYTES],
        secret: &Secret,
        nonces: [&Nonce; 2],
    ) -> Result<Welcome, Refusal> {
        let welcome = Welcome::fields(&mut begin(bytes, WELCOME)?).ok_or(Refusal::Form)?;
        check(bytes, secret, &nonces)?;
        Ok(welcome)
    }

    fn fields(at: &mut Fields<'_>) -> Option<Welcome> {
        let answer = match at.u32()? {
            0 => Answer::Later,
            1 => Answer::Taken,
            2 => Answer::Never,
            _ => return None,
        };
        Some(Welcome { answer, epoch: at.u32()?, received: at.u64()? })
    }
}

/// The keyed hash over words and nonces.
fn hash(said: &[u8], secret: &Secret, nonces: &[&Nonce]) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new_keyed(secret);
    hasher.update(said);
    for nonce in nonces {
        hasher.update(*nonce);
    }
    hasher.finalize()
}

/// Whether the hash that ends `bytes` is right. Equality of two `blake3::Hash` takes the same
/// time wherever they differ.
fn check(bytes: &[u8], secret: &Secret, nonces: &[&Nonce]) -> Result<(), Refusal> {
    let (said, theirs) = bytes.split_last_chunk::<HASH_BYTES>().ok_or(Refusal::Form)?;
    let right = hash(said, secret, nonces) == blake3::Hash::from_bytes(*theirs);
    if right { Ok(()) } else { Err(Refusal::Secret) }
}

/// Words being written.
struct Words(Vec<u8>);

impl Words {
    fn new() -> Words {
        Words(Vec::with_capacity(HELLO_BYTES))
    }

    fn put(&mut self, bytes: &[u8]) -> &mut Words {
        self.0.extend_from_slice(bytes);
        self
    }

    fn sign(&mut self, secret: &Secret, nonces: &[&Nonce]) {
        let hash = hash(&self.0, secret, nonces);
        self.put(hash.as_bytes());
    }

    fn finish<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        bytes.copy_from_slice(&self.0);
        bytes
    }
}

/// What comes behind this mark and the version.
fn begin(bytes: &[u8], mark: [u8; 8]) -> Result<Fields<'_>, Refusal> {
    let mut at = Fields { bytes };
    if at.take() != Some(mark) {
        return Err(Refusal::Form);
    }
    match at.u32().ok_or(Refusal::Form)? {
        VERSION => Ok(at),
        other => Err(Refusal::Version(other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::job_hash;
    use proptest::prelude::*;

    const KEY: Secret = [7; 32];
    const A: Nonce = [1; NONCE_BYTES];
    const B: Nonce = [2; NONCE_BYTES];

    fn hello() -> Hello {
        let job = job_hash("a job");
        Hello { rank: 3, to_rank: 1, face: 2, stream: 1, epoch: 4, received: 5, nonce: B, job }
    }

    #[test]
    fn words_come_back_only_under_their_secret_and_nonces() {
        let bytes = hello().to_bytes(&KEY, &A);
        assert_eq!(Hello::from_bytes(&bytes, &KEY, &A), Ok(hello()));
        assert_eq!(Hello::from_bytes(&bytes, &[8; 32], &A), Err(Refusal::Secret));
        assert_eq!(Hello::from_bytes(&bytes, &KEY, &B), Err(Refusal::Secret), "a recording");
        let welcome = Welcome { answer: Answer::Taken, epoch: 5, received: 1 << 40 };
        let bytes = welcome.to_bytes(&KEY, [&A, &B]);
        assert_eq!(Welcome::from_bytes(&bytes, &KEY, [&A, &B]), Ok(welcome));
        assert_eq!(Welcome::from_bytes(&bytes, &KEY, [&B, &A]), Err(Refusal::Secret));
        assert_eq!(read_challenge(&challenge(&A)), Ok(A));
    }

    #[test]
    fn another_version_is_told_apart_from_noise() {
        let mut bytes = challenge(&A);
        bytes[8] = 99;
        assert_eq!(read_challenge(&bytes), Err(Refusal::Version(99)));
        let mut bytes = hello().to_bytes(&KEY, &A);
        bytes[8] = 98;
        assert_eq!(Hello::from_bytes(&bytes, &KEY, &A), Err(Refusal::Version(98)));
        bytes[0] = b'x';
        assert_eq!(Hello::from_bytes(&bytes, &KEY, &A), Err(Refusal::Form));
    }

    proptest! {
        #[test]
        fn one_changed_bit_is_refused(bit in 0..HELLO_BYTES * 8, other in 0..WELCOME_BYTES * 8) {
            let mut bytes = hello().to_bytes(&KEY, &A);
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(Hello::from_bytes(&bytes, &KEY, &A).is_err());
            let welcome = Welcome { answer: Answer::Later, epoch: 5, received: 9 };
            let mut bytes = welcome.to_bytes(&KEY, [&A, &B]);
            bytes[other / 8] ^= 1 << (other % 8);
            prop_assert!(Welcome::from_bytes(&bytes, &KEY, [&A, &B]).is_err());
        }

        #[test]
        fn noise_is_refused(bytes in prop::collection::vec(any::<u8>(), HELLO_BYTES)) {
            let hello: [u8; HELLO_BYTES] = bytes[..].try_into().unwrap();
            prop_assert!(Hello::from_bytes(&hello, &KEY, &A).is_err());
            let welcome: [u8; WELCOME_BYTES] = bytes[..WELCOME_BYTES].try_into().unwrap();
            prop_assert!(Welcome::from_bytes(&welcome, &KEY, [&A, &B]).is_err());
            let challenge: [u8; CHALLENGE_BYTES] = bytes[..CHALLENGE_BYTES].try_into().unwrap();
            prop_assert!(read_challenge(&challenge).is_err());
        }
    }
}
