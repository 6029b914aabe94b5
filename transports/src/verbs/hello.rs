//! What processes say to each other to connect their queue pairs: one datagram that tells all that one end knows,
//! or that it has closed.
//!
//! In: bytes from anybody, which are believed only with a tag that ranks of the job alone can make. A datagram has at
//! most 256 bytes, which every port carries.

use super::address::{Address, PORT_BYTES, PortAddress};
use super::settings::{DEVICES_MAX, RAILS_MAX};
use crate::datagrams::tag::{Keys, TAG_BYTES};
use crate::fields::{Fields, HASH_BYTES};
use crate::tcp::Secret;

/// Bytes of a datagram at most.
pub(super) const HELLO_MAX: usize = 256;

const MAGIC: u32 = u32::from_le_bytes(*b"FVB1");

/// What the keys are for.
const PURPOSE: &str = "Ferrite MPI, tags of handshakes over verbs, version 1";

const HEARD: u8 = 1;
const SETTLED: u8 = 2;
const GONE: u8 = 4;

/// A queue pair, as its peer must know it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Pair {
    pub(super) number: u32,
    /// The number of the first packet that it sends.
    pub(super) psn: u32,
}

/// All queue pairs that one end has for another. The `i`-th is on device `i` modulo the number of devices.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Numbers {
    /// Where each device is, and the bytes of a packet that its port carries.
    pub(super) devices: Vec<(PortAddress, u16)>,
    pub(super) pairs: Vec<Pair>,
    /// Reads and atomics that each of them answers at the same time.
    pub(super) reads: u8,
}

/// What one end says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Word {
    Hello {
        address: Address,
        numbers: Numbers,
        /// The sender knows the receiver's numbers: its queue pairs are connected.
        heard: bool,
        /// The sender knows that the receiver's are.
        settled: bool,
    },
    /// The sender has closed its end.
    Gone,
}

/// A datagram.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Datagram {
    pub(super) from: u32,
    pub(super) to: u32,
    /// Which process of that rank: chosen at random.
    pub(super) life: u64,
    /// Never used twice by that process.
    pub(super) number: u64,
    pub(super) word: Word,
}

/// What all processes of a job know.
#[derive(Clone)]
pub(super) struct Job {
    pub(super) hash: [u8; HASH_BYTES],
    pub(super) secret: Secret,
}

impl Job {
    fn keys(&self, datagram: &Datagram) -> Keys {
        let job = [&self.hash[..], &datagram.life.to_le_bytes()].concat();
        Keys::derive(PURPOSE, &self.secret, &job, datagram.from, datagram.to)
    }

    fn mark(&self) -> u64 {
        u64::from_le_bytes(std::array::from_fn(|i| self.hash[i]))
    }

    /// The bytes of a datagram, with their tag.
    pub(super) fn seal(&self, datagram: &Datagram) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HELLO_MAX);
        bytes.extend(MAGIC.to_le_bytes());
        let (mut flags, mut counts) = (GONE, [0; 3]);
        if let Word::Hello { numbers, heard, settled, .. } = &datagram.word {
            flags = (u8::from(*heard) * HEARD) | (u8::from(*settled) * SETTLED);
            counts = [numbers.devices.len() as u8, numbers.pairs.len() as u8, numbers.reads];
        }
        bytes.push(flags);
        bytes.extend(counts);
        bytes.extend(self.mark().to_le_bytes());
        bytes.extend(datagram.from.to_le_bytes());
        bytes.extend(datagram.to.to_le_bytes());
        bytes.extend(datagram.life.to_le_bytes());
        bytes.extend(datagram.number.to_le_bytes());
        if let Word::Hello { address, numbers, .. } = &datagram.word {
            bytes.extend(address.port.to_bytes());
            bytes.extend(address.queue_pair.to_le_bytes());
            bytes.extend(address.qkey.to_le_bytes());
            for (port, mtu) in &numbers.devices {
                bytes.extend(port.to_bytes());
                bytes.extend(mtu.to_le_bytes());
            }
            for pair in &numbers.pairs {
                bytes.extend(pair.number.to_le_bytes());
                bytes.extend(pair.psn.to_le_bytes());
            }
        }
        let tag = self.keys(datagram).of_short(datagram.number, &bytes);
        bytes.extend(tag);
        bytes
    }

    /// Reads what came, if it is of this job and whole.
    pub(super) fn open(&self, bytes: &[u8]) -> Option<Datagram> {
        let datagram = self.read(bytes.get(..bytes.len().checked_sub(TAG_BYTES)?)?)?;
        self.keys(&datagram).open(datagram.number, bytes)?;
        Some(datagram)
    }

    fn read(&self, bytes: &[u8]) -> Option<Datagram> {
        let mut fields = Fields { bytes };
        if fields.u32()? != MAGIC || bytes.len() > HELLO_MAX - TAG_BYTES {
            return None;
        }
        let [flags, devices, pairs, reads] = fields.take()?;
        if fields.u64()? != self.mark() {
            return None;
        }
        let (from, to) = (fields.u32()?, fields.u32()?);
        let (life, number) = (fields.u64()?, fields.u64()?);
        let word = match flags {
            GONE => Word::Gone,
            _ if flags & !(HEARD | SETTLED) != 0 => return None,
            _ => Word::Hello {
                address: Address {
                    port: port(&mut fields)?,
                    queue_pair: fields.u32()?,
                    qkey: fields.u32()?,
                },
                numbers: numbers(&mut fields, devices, pairs, reads)?,
                heard: flags & HEARD != 0,
                settled: flags & SETTLED != 0,
            },
        };
        fields.bytes.is_empty().then_some(Datagram { from, to, life, number, word })
    }
}

fn port(fields: &mut Fields<'_>) -> Option<PortAddress> {
    PortAddress::from_bytes(fields.take::<PORT_BYTES>()?)
}

fn numbers(fields: &mut Fields<'_>, devices: u8, pairs: u8, reads: u8) -> Option<Numbers> {
    let (devices, pairs) = (usize::from(devices), usize::from(pairs));
    if !(1..=DEVICES_MAX).contains(&devices) || !(devices..=RAILS_MAX).contains(&pairs) {
        return None;
    }
    let mut numbers = Numbers { devices: Vec::new(), pairs: Vec::new(), reads };
    for _ in 0..devices {
        let port = port(fields)?;
        let mtu = u16::from_le_bytes(fields.take()?);
        // Powers of two from 256 to 4096.
        if !mtu.is_power_of_two() || !(256..=4096).contains(&mtu) {
            return None;
        }
        numbers.devices.push((port, mtu));
    }
    for _ in 0..pairs {
        let pair = Pair { number: fields.u32()?, psn: fields.u32()? };
        if pair.number.max(pair.psn) >= 1 << 24 {
            return None;
        }
        numbers.pairs.push(pair);
    }
    Some(numbers)
}

#[cfg(test)]
mod tests {
    use super::super::choice::Link;
    use super::*;
    use proptest::prelude::*;

    fn job(secret: u8) -> Job {
        Job { hash: crate::fields::job_hash("job"), secret: [secret; 32] }
    }

    prop_compose! {
        fn ports()(gid: [u8; 16], lid: u16) -> PortAddress {
            PortAddress { link: Link::Ethernet, gid, lid }
        }
    }

    prop_compose! {
        fn words()(
            port in ports(), devices in prop::collection::vec((ports(), 8u32..=12), 1..=DEVICES_MAX),
            pairs in prop::collection::vec((0u32..1 << 24, 0u32..1 << 24), DEVICES_MAX..=RAILS_MAX),
            reads: u8, heard: bool, settled: bool, gone: bool,
        ) -> Word {
            let devices = devices.into_iter().map(|(port, mtu)| (port, 1 << mtu)).collect();
            let pairs = pairs.into_iter().map(|(number, psn)| Pair { number, psn }).collect();
            let numbers = Numbers { devices, pairs, reads };
            let address = Address { port, queue_pair: 17, qkey: 18 };
            if gone { Word::Gone } else { Word::Hello { address, numbers, heard, settled } }
        }
    }

    proptest! {
        #[test]
        fn only_what_a_rank_of_the_job_said_is_heard(
            word in words(), from: u32, to: u32, life: u64, number: u64,
            bit in any::<prop::sample::Index>(), cut in any::<prop::sample::Index>(),
        ) {
            let datagram = Datagram { from, to, life, number, word };
            let mut bytes = job(5).seal(&datagram);
            prop_assert!(bytes.len() <= HELLO_MAX);
            prop_assert_eq!(job(5).open(&bytes), Some(datagram));
            prop_assert_eq!(job(6).open(&bytes), None, "another secret");
            prop_assert_eq!(job(5).open(&bytes[..cut.index(bytes.len())]), None);
            let bit = bit.index(bytes.len() * 8);
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(job(5).open(&bytes), None, "a bit was changed");
        }

        #[test]
        fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let bytes = [&MAGIC.to_le_bytes()[..], &bytes].concat();
            prop_assert_eq!(job(5).open(&bytes), None);
        }
    }
}
