//! What the wires of all transports have in common: numbers and hashes one after the other.
//!
//! In: bytes from anybody. Out: their fields, or nothing when there are too few; which values are
//! good is for the reader to say (`shm/attach/hello.rs`, `tcp/hello.rs`).

/// Bytes of a hash.
pub(crate) const HASH_BYTES: usize = 32;

/// The hash of a job's identity, as it stands in a hello.
pub(crate) fn job_hash(job: &str) -> [u8; HASH_BYTES] {
    blake3::hash(job.as_bytes()).into()
}

/// The little-endian word number `i`.
#[inline]
pub(crate) fn word(bytes: &[u8], i: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|k| bytes[i * 8 + k]))
}

/// The rest of first words that are being read.
pub(crate) struct Fields<'a> {
    pub(crate) bytes: &'a [u8],
}

impl Fields<'_> {
    pub(crate) fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, tail) = self.bytes.split_first_chunk()?;
        self.bytes = tail;
        Some(*head)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    /// Several of them.
    pub(crate) fn words<const N: usize>(&mut self) -> Option<[u64; N]> {
        let mut words = [0; N];
        for word in &mut words {
            *word = self.u64()?;
        }
        Some(words)
    }
}
