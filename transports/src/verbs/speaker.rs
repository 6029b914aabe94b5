//! Says and hears handshakes: one queue pair of datagrams, by which everybody reaches this process.
//!
//! In: datagrams to send, with the address of their receiver. Out: what came, from anybody. A datagram may be
//! lost, also here where there is no room.

use std::io;
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rdma_sys::{ibv_access_flags, ibv_sge, ibv_wc_status};

use super::address::{Address, PortAddress};
use super::choice::Chosen;
use super::hello::HELLO_MAX;
use super::meet::Outgoing;
use super::objects::{Ah, BATCH, Channel, Cq, Mr, Pd};
use super::queue_pair::{Order, Plan, QueuePair, Ud};

/// Datagrams that can be heard, and said, at the same time.
const HEARD: usize = 128;
const SAID: usize = 64;
/// Bytes that the device puts before what it hears.
const ROUTE: usize = 40;
const HEARD_BYTES: usize = ROUTE + HELLO_MAX;
const SAID_AT: usize = HEARD * HEARD_BYTES;
const MEMORY: usize = SAID_AT + SAID * HELLO_MAX;

/// Memory that a device writes to.
struct Memory {
    bytes: *mut [u8],
}

// SAFETY: the memory belongs to this value alone.
unsafe impl Send for Memory {}

impl Memory {
    fn new() -> Memory {
        Memory { bytes: Box::into_raw(vec![0; MEMORY].into_boxed_slice()) }
    }

    fn at(&self, place: usize) -> *mut u8 {
        self.bytes.cast::<u8>().wrapping_add(place)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: made by a box, and no registration of it is left: it goes last.
        drop(unsafe { Box::from_raw(self.bytes) });
    }
}

/// The queue pair with its buffers, which go after it.
pub(super) struct Speaker {
    queue_pair: QueuePair<Ud>,
    cq: Arc<Cq>,
    pd: Arc<Pd>,
    chosen: Chosen,
    /// The way of each datagram that is being sent.
    said: Vec<Option<Ah>>,
    mr: Mr,
    memory: Memory,
    qkey: u32,
}

impl Speaker {
    pub(super) fn new(
        pd: &Arc<Pd>,
        channel: &Arc<Channel>,
        chosen: &Chosen,
    ) -> io::Result<Speaker> {
        let cq = Arc::new(Cq::new(channel, HEARD + SAID)?);
        let depth = HEARD as u32;
        let plan = Plan { pd, cq: &cq, srq: None, depth, inline: 0 };
        let queue_pair = QueuePair::<Ud>::new(&plan)?;
        // The highest bit is the system's.
        let qkey = getrandom::u32().map_err(io::Error::other)? & 0x7fff_ffff;
        queue_pair.init(chosen.port, chosen.pkey_index, qkey, 0)?;
        queue_pair.begin()?;
        let memory = Memory::new();
        let access = ibv_access_flags::IBV_ACCESS_LOCAL_WRITE.0;
        // SAFETY: the memory outlives the registration, by the order of the fields.
        let mr = unsafe { Mr::new(pd, memory.at(0), MEMORY, access)? };
        let speaker = Speaker {
            queue_pair,
            cq,
            pd: Arc::clone(pd),
            chosen: chosen.clone(),
            said: (0..SAID).map(|_| None).collect(),
            mr,
            memory,
            qkey,
        };
        for slot in 0..HEARD {
            speaker.listen(slot)?;
        }
        Ok(speaker)
    }

    /// Where this process hears.
    pub(super) fn address(&self) -> Address {
        let port = PortAddress::of(&self.chosen);
        Address { port, queue_pair: self.queue_pair.number(), qkey: self.qkey }
    }

    fn piece(&self, place: usize, len: usize) -> ibv_sge {
        let addr = self.memory.at(place) as u64;
        ibv_sge { addr, length: len as u32, lkey: self.mr.local_key() }
    }

    fn listen(&self, slot: usize) -> io::Result<()> {
        let buffer = self.piece(slot * HEARD_BYTES, HEARD_BYTES);
        // SAFETY: the slot is the device's until it completes; nobody else uses it.
        unsafe { self.queue_pair.receive(slot as u64, buffer) }
    }

    /// Sends a datagram, or drops it where there is no room.
    pub(super) fn say(&mut self, datagram: &Outgoing) -> Result<(), String> {
        let Some(slot) = self.said.iter().position(Option::is_none) else { return Ok(()) };
        let Address { port, queue_pair, qkey } = datagram.to;
        let way = Ah::new(&self.pd, port.way(&self.chosen)?).map_err(|error| {
            let device = &self.chosen.device;
            format!(
                "no way to the peer's address from {device} ({error}); are both on one network?"
            )
        })?;
        let len = datagram.bytes.len().min(HELLO_MAX);
        let place = SAID_AT + slot * HELLO_MAX;
        // SAFETY: a slot that no datagram uses, within the memory.
        unsafe { self.memory.at(place).copy_from_nonoverlapping(datagram.bytes.as_ptr(), len) };
        let piece = self.piece(place, len);
        let number = (HEARD + slot) as u64;
        let order = Order { number, piece, is_signaled: true, is_inline: false };
        // SAFETY: slot and way are kept until it completes.
        let posted = unsafe { self.queue_pair.send_to(order, &way, queue_pair, qkey) };
        if posted.is_ok() {
            self.said[slot] = Some(way);
        }
        Ok(())
    }

    pub(super) fn arm(&self) -> bool {
        self.cq.arm()
    }

    /// Takes what came; whether anything did.
    pub(super) fn hear(&mut self, mut each: impl FnMut(&[u8])) -> io::Result<bool> {
        let mut batch = [const { MaybeUninit::uninit() }; BATCH];
        let completions = self.cq.poll(&mut batch)?;
        for completion in completions {
            let slot = completion.wr_id as usize;
            if slot >= HEARD {
                self.said[slot - HEARD] = None;
                continue;
            }
            let len = (completion.byte_len as usize).saturating_sub(ROUTE).min(HELLO_MAX);
            if completion.status == ibv_wc_status::IBV_WC_SUCCESS {
                let mut bytes = [0; HELLO_MAX];
                let from = self.memory.at(slot * HEARD_BYTES + ROUTE);
                // SAFETY: the slot is this process's again, and so long.
                unsafe { from.copy_to_nonoverlapping(bytes.as_mut_ptr(), len) };
                each(&bytes[..len]);
            }
            self.listen(slot)?;
        }
        Ok(!completions.is_empty())
    }

    /// Waits until all is sent, but not for long.
    pub(super) fn finish(&mut self) {
        let begun = Instant::now();
        while self.said.iter().any(Option::is_some) && begun.elapsed() < Duration::from_millis(100)
        {
            if self.hear(|_| ()).is_err() {
                return;
            }
        }
    }
}
