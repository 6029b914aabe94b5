//! Says and hears handshakes: one queue pair of datagrams, by which everybody reaches this process.
//!
//! In: datagrams to send, with the address of their receiver. Out: what came, from anybody. A datagram may be
//! lost, also here where there is no room. A queue pair that fails is brought back under its number, which peers know.

use std::io;
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rdma_sys::ibv_wc_status;

use super::address::{Address, PortAddress};
use super::address_handles::AddressHandles;
use super::choice::Chosen;
use super::hello::HELLO_MAX;
use super::meet::Outgoing;
use super::objects::{BATCH, Channel, Cq, Pd};
use super::pool::Pool;
use super::queue_pair::{Order, Plan, QueuePair, Ud};

/// Datagrams that can be heard, and said, at the same time.
const HEARD: usize = 128;
const SAID: usize = 64;
/// Completions: those of a queue pair that was brought back, and what it had told of before.
const COMPLETIONS: usize = 2 * (HEARD + SAID);
/// Bytes that the device puts before what it hears.
const ROUTE: usize = 40;
const HEARD_BYTES: usize = ROUTE + HELLO_MAX;
const SAID_AT: usize = HEARD * HEARD_BYTES;
const MEMORY: usize = SAID_AT + SAID * HELLO_MAX;

/// The queue pair with its ways and buffers, which go after it.
pub(super) struct Speaker {
    queue_pair: QueuePair<Ud>,
    cq: Arc<Cq>,
    address_handles: AddressHandles,
    chosen: Chosen,
    /// Places of datagrams that are being sent.
    said: [bool; SAID],
    pool: Pool,
    qkey: u32,
    /// How often the queue pair was brought back; numbers of work begin with it.
    round: u32,
    /// Nothing is said or heard any more.
    is_mute: bool,
}

impl Speaker {
    pub(super) fn new(
        pd: &Arc<Pd>,
        channel: &Arc<Channel>,
        chosen: &Chosen,
    ) -> io::Result<Speaker> {
        let cq = Arc::new(Cq::new(channel, COMPLETIONS)?);
        let depth = HEARD as u32;
        let plan = Plan { pd, cq: &cq, srq: None, depth, inline: 0 };
        let speaker = Speaker {
            queue_pair: QueuePair::<Ud>::new(&plan)?,
            cq,
            address_handles: AddressHandles::new(pd, chosen),
            chosen: chosen.clone(),
            said: [false; SAID],
            pool: Pool::new(pd, MEMORY)?,
            // The highest bit is the system's.
            qkey: getrandom::u32().map_err(io::Error::other)? & 0x7fff_ffff,
            round: 0,
            is_mute: false,
        };
        speaker.begin()?;
        Ok(speaker)
    }

    /// Makes a new or reset queue pair receive and send; it gets all buffers.
    fn begin(&self) -> io::Result<()> {
        self.queue_pair.init(self.chosen.port, self.chosen.pkey_index, self.qkey, 0)?;
        self.queue_pair.begin()?;
        (0..HEARD).try_for_each(|slot| self.listen(slot))
    }

    /// Where this process hears.
    pub(super) fn address(&self) -> Address {
        let port = PortAddress::of(&self.chosen);
        Address { port, queue_pair: self.queue_pair.number(), qkey: self.qkey }
    }

    /// The number of the work of a slot.
    fn number(&self, slot: usize) -> u64 {
        u64::from(self.round) << 32 | slot as u64
    }

    fn listen(&self, slot: usize) -> io::Result<()> {
        let buffer = self.pool.piece(slot * HEARD_BYTES, HEARD_BYTES);
        // SAFETY: the slot is the device's until it completes; nobody else uses it, and the pool goes after the queue
        // pair.
        unsafe { self.queue_pair.receive(self.number(slot), buffer) }
    }

    /// Sends a datagram, or drops it where there is no room. Who sends several says for all when that began.
    pub(super) fn say(&mut self, datagram: &Outgoing, begun: Instant) -> Result<(), String> {
        let free = self.said.iter().position(|is_said| !is_said);
        let Some(slot) = free.filter(|_| !self.is_mute) else { return Ok(()) };
        let Address { port, queue_pair, qkey } = datagram.to;
        let way = self.address_handles.to(port, begun)?;
        let len = datagram.bytes.len().min(HELLO_MAX);
        let place = SAID_AT + slot * HELLO_MAX;
        // SAFETY: a slot that no datagram uses, within the memory.
        unsafe { self.pool.at(place).copy_from_nonoverlapping(datagram.bytes.as_ptr(), len) };
        let (piece, number) = (self.pool.piece(place, len), self.number(HEARD + slot));
        let order = Order { number, piece, is_signaled: true, is_inline: false };
        // SAFETY: the slot is kept until it completes or the queue pair is reset, and ways are never taken back.
        let posted = unsafe {
            self.queue_pair.send_to(order, self.address_handles.at(way), queue_pair, qkey)
        };
        self.said[slot] = posted.is_ok();
        Ok(())
    }

    pub(super) fn arm(&self) -> bool {
        self.is_mute || self.cq.arm()
    }

    /// Takes what came; whether anything did.
    ///
    /// # Errors
    /// Nothing can be heard any more.
    pub(super) fn hear(&mut self, mut each: impl FnMut(&[u8])) -> io::Result<bool> {
        if self.is_mute {
            return Ok(false);
        }
        let mut batch = [const { MaybeUninit::uninit() }; BATCH];
        let completions = self.cq.poll(&mut batch)?;
        let (mut trouble, mut is_full) = (None, true);
        for completion in completions {
            // What there was before the queue pair was brought back is over.
            if (completion.wr_id >> 32) as u32 != self.round {
                continue;
            }
            let is_good = completion.status == ibv_wc_status::IBV_WC_SUCCESS;
            if !is_good {
                trouble = Some(completion.status);
            }
            let slot = completion.wr_id as u32 as usize;
            if slot >= HEARD {
                self.said[slot - HEARD] = false;
                continue;
            }
            if is_good {
                let len = (completion.byte_len as usize).saturating_sub(ROUTE).min(HELLO_MAX);
                let mut bytes = [0; HELLO_MAX];
                let from = self.pool.at(slot * HEARD_BYTES + ROUTE);
                // SAFETY: the slot is this process's again, and so long.
                unsafe { from.copy_to_nonoverlapping(bytes.as_mut_ptr(), len) };
                each(&bytes[..len]);
            }
            is_full &= self.listen(slot).is_ok();
        }
        if trouble.is_some() || !is_full {
            self.recover(trouble, is_full)?;
        }
        Ok(!completions.is_empty())
    }

    /// Work has failed with this status, or the queue pair takes no buffers. One that only stopped sending goes on; any
    /// other begins anew, and has all buffers again.
    #[cold]
    fn recover(&mut self, status: Option<u32>, is_full: bool) -> io::Result<()> {
        let device = &self.chosen.device;
        tracing::info!(
            device,
            status,
            "a queue pair for handshakes has failed and is brought back"
        );
        if is_full && self.queue_pair.resume().is_ok() {
            return Ok(());
        }
        self.queue_pair.reset()?;
        self.round = self.round.wrapping_add(1);
        self.said = [false; SAID];
        self.begin()
    }

    /// Says and hears nothing any more.
    pub(super) fn mute(&mut self) {
        self.is_mute = true;
    }

    /// Waits until all is sent, but not for long.
    pub(super) fn finish(&mut self) {
        let begun = Instant::now();
        let is_over = || begun.elapsed() >= Duration::from_millis(100);
        while !self.is_mute && self.said.contains(&true) && !is_over() {
            if self.hear(|_| ()).is_err() {
                return;
            }
        }
    }
}

#[cfg(test)]
#[path = "speaker_tests.rs"]
mod tests;
