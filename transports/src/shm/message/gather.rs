//! Short bodies as words, without a copy of unknown length, which would be a call.

use mpi_core::buffer::RawBytes;
use mpi_core::datatype::Packer;
use mpi_core::header::INLINE_BYTES;

use crate::shm::ring::lane::PAYLOAD_WORDS;

/// A body of at most 8 bytes in one word; a copy of unknown length would be a call.
#[inline(always)]
pub(super) fn gather_word(bytes: RawBytes<'_>) -> u64 {
    let (at, len) = (bytes.as_ptr(), bytes.len());
    // SAFETY: each load ends at or before the last of `len` bytes.
    unsafe {
        match len {
            8 => at.cast::<u64>().read_unaligned(),
            4..=7 => {
                let high = at.add(len - 4).cast::<u32>().read_unaligned();
                let low = at.cast::<u32>().read_unaligned();
                u64::from(low) | u64::from(high) << (8 * (len - 4))
            }
            1..=3 => (0..len).fold(0, |word, i| word | u64::from(at.add(i).read()) << (8 * i)),
            _ => 0,
        }
    }
}

/// A body of 9 to 16 bytes in two words, by loads that overlap.
#[inline(always)]
pub(super) fn gather_pair(bytes: RawBytes<'_>) -> [u64; 2] {
    let (at, len) = (bytes.as_ptr(), bytes.len());
    // SAFETY: both loads are within the `len` bytes.
    let [low, high] =
        [0, len - 8].map(|from| unsafe { at.add(from).cast::<u64>().read_unaligned() });
    [low, high >> (8 * (16 - len))]
}

/// A body of at most 40 bytes in words.
pub(super) fn gather_packed(packer: &mut Packer) -> [u64; PAYLOAD_WORDS] {
    let mut words = [0u64; PAYLOAD_WORDS];
    // SAFETY: the array has `INLINE_BYTES` bytes; the message is readable by contract.
    unsafe { packer.pack_into(words.as_mut_ptr().cast(), INLINE_BYTES) };
    words
}

/// The bytes in words, by loads that overlap at the end: a copy of unknown length would be a call.
#[inline(always)]
pub(super) fn gather_bytes(bytes: RawBytes<'_>) -> [u64; PAYLOAD_WORDS] {
    let (at, len) = (bytes.as_ptr(), bytes.len().min(INLINE_BYTES));
    let Some(last) = len.checked_sub(8) else {
        let mut words = [0; PAYLOAD_WORDS];
        words[0] = gather_word(bytes);
        return words;
    };
    std::array::from_fn(|i| {
        let from = last.min(8 * i);
        // SAFETY: the eight bytes end at or before the last of `len`.
        let word = unsafe { at.add(from).cast::<u64>().read_unaligned() };
        word.checked_shr(8 * (8 * i - from) as u32).unwrap_or(0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_short_length_is_gathered_as_it_lies() {
        let bytes: Vec<u8> = (1..=INLINE_BYTES as u8).collect();
        for len in 0..=INLINE_BYTES {
            let words = gather_bytes(RawBytes::from(&bytes[..len]));
            let flat: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            assert_eq!(&flat[..len], &bytes[..len]);
            if len <= 8 {
                assert_eq!(gather_word(RawBytes::from(&bytes[..len])), words[0]);
            } else if len <= 16 {
                assert_eq!(gather_pair(RawBytes::from(&bytes[..len])), words[..2]);
            }
            assert!(flat[len..].iter().all(|byte| *byte == 0));
        }
    }
}
