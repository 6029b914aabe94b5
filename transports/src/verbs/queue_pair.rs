//! Queue pairs, each of one service ([`super::service`]), which says what work they take.
//!
//! In: work, and memory that it uses. Out: whether the device has taken it; its end is told by completions.

use std::ffi::c_int;
use std::io;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::Arc;

use rdma_sys::{
    ibv_access_flags, ibv_ah_attr, ibv_post_recv, ibv_post_send, ibv_qp, ibv_qp_attr,
    ibv_qp_attr_mask as Bit, ibv_qp_cap, ibv_qp_init_attr, ibv_qp_state, ibv_recv_wr,
    ibv_send_flags, ibv_send_wr, ibv_sge, ibv_wr_opcode,
};

use super::objects::{Ah, Cq, Pd, Srq, answered};
use super::service::{Atomics, Connects, Datagrams, Reads, Service, Writes};
pub(super) use super::service::{Rc, Uc, Ud};

/// How to get to the other end of a connection, and how to deal with it.
#[derive(Clone, Copy)]
pub(super) struct Path {
    pub(super) way: ibv_ah_attr,
    /// The code of the packets' length.
    pub(super) mtu: u32,
    pub(super) queue_pair: u32,
    /// The number of its first packet, and of ours.
    pub(super) their_psn: u32,
    pub(super) our_psn: u32,
    /// Reads and atomics under way: by us, and by them.
    pub(super) reads: u8,
    pub(super) their_reads: u8,
    pub(super) timeout: u8,
    pub(super) retries: u8,
}

/// What queue pairs are made with.
pub(super) struct Plan<'a> {
    pub(super) pd: &'a Arc<Pd>,
    pub(super) cq: &'a Arc<Cq>,
    /// Where buffers come from; queue pairs without have their own, as many as sends.
    pub(super) srq: Option<&'a Arc<Srq>>,
    pub(super) depth: u32,
    pub(super) inline: u32,
}

/// A queue pair of a service.
#[derive(Debug)]
pub(super) struct QueuePair<S: Service> {
    pd: Arc<Pd>,
    raw: NonNull<ibv_qp>,
    /// Bytes that are copied in the call.
    inline: u32,
    /// Go after it.
    _kept: (Arc<Cq>, Option<Arc<Srq>>),
    service: PhantomData<S>,
}

// SAFETY: libibverbs is made for threads: its objects belong to none, and its calls lock.
unsafe impl<S: Service> Send for QueuePair<S> {}

/// A work request on its way into a send queue.
pub(super) struct Order {
    pub(super) number: u64,
    pub(super) piece: ibv_sge,
    pub(super) is_signaled: bool,
    pub(super) is_inline: bool,
}

/// A place in the memory of the other end.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) address: u64,
    pub(super) key: u32,
}

impl<S: Service> QueuePair<S> {
    pub(super) fn new(plan: &Plan<'_>) -> io::Result<QueuePair<S>> {
        QueuePair::with_buffers(plan, if plan.srq.is_some() { 0 } else { plan.depth })
    }

    /// One that has room for so many buffers of its own.
    pub(super) fn with_buffers(plan: &Plan<'_>, buffers: u32) -> io::Result<QueuePair<S>> {
        let mut attributes = ibv_qp_init_attr {
            qp_context: std::ptr::null_mut(),
            send_cq: plan.cq.raw.as_ptr(),
            recv_cq: plan.cq.raw.as_ptr(),
            srq: plan.srq.map_or(std::ptr::null_mut(), |srq| srq.raw.as_ptr()),
            cap: ibv_qp_cap {
                max_send_wr: plan.depth,
                max_recv_wr: buffers,
                max_send_sge: 1,
                max_recv_sge: 1,
                max_inline_data: plan.inline,
            },
            qp_type: S::TYPE,
            sq_sig_all: 0,
        };
        let library = plan.pd.context.library;
        // SAFETY: objects of one device, kept below as long as the queue pair.
        let raw = unsafe { (library.create_qp)(plan.pd.raw.as_ptr(), &raw mut attributes) };
        Ok(QueuePair {
            pd: Arc::clone(plan.pd),
            raw: NonNull::new(raw).ok_or_else(io::Error::last_os_error)?,
            inline: attributes.cap.max_inline_data,
            _kept: (Arc::clone(plan.cq), plan.srq.cloned()),
            service: PhantomData,
        })
    }

    /// Its number, by which others name it.
    pub(super) fn number(&self) -> u32 {
        // SAFETY: it is ours, and the number never changes.
        unsafe { self.raw.as_ref().qp_num }
    }

    /// Bytes that are copied in the call.
    pub(super) fn inline(&self) -> usize {
        self.inline as usize
    }

    /// Whether the device says that written bytes become visible in order.
    pub(super) fn is_in_order(&self) -> bool {
        let ask = self.pd.context.library.data_in_order;
        // SAFETY: a queue pair of ours.
        ask.is_some_and(|ask| unsafe {
            ask(self.raw.as_ptr(), ibv_wr_opcode::IBV_WR_RDMA_WRITE, 0) == 1
        })
    }

    fn modify(&self, mut attributes: ibv_qp_attr, mask: u32) -> io::Result<()> {
        let mask = (mask | Bit::IBV_QP_STATE.0) as c_int;
        let modify = self.pd.context.library.modify_qp;
        // SAFETY: a queue pair and attributes of ours.
        answered(unsafe { modify(self.raw.as_ptr(), &raw mut attributes, mask) })
    }

    /// Makes it belong to a port. Others may do what `access` says.
    pub(super) fn init(&self, port: u8, pkey_index: u16, qkey: u32, access: u32) -> io::Result<()> {
        let mut attributes = blank(ibv_qp_state::IBV_QPS_INIT);
        attributes.port_num = port;
        attributes.pkey_index = pkey_index;
        attributes.qkey = qkey;
        attributes.qp_access_flags = access;
        self.modify(attributes, S::TRANSITIONS.init)
    }

    /// Ends it: work under way comes back as failed.
    pub(super) fn fail(&self) -> io::Result<()> {
        self.modify(blank(ibv_qp_state::IBV_QPS_ERR), 0)
    }

    /// Makes it what it was at first: it forgets its work and whom it was connected to.
    pub(super) fn reset(&self) -> io::Result<()> {
        self.modify(blank(ibv_qp_state::IBV_QPS_RESET), 0)
    }

    /// Gives it a buffer of its own; for datagrams the first 40 bytes of it are the device's.
    ///
    /// # Safety
    /// The memory is the device's until this completes.
    pub(super) unsafe fn receive(&self, number: u64, mut buffer: ibv_sge) -> io::Result<()> {
        let mut request = ibv_recv_wr {
            wr_id: number,
            next: std::ptr::null_mut(),
            sg_list: &raw mut buffer,
            num_sge: 1,
        };
        let mut bad = std::ptr::null_mut();
        // SAFETY: a queue pair of ours; the request is copied in the call, the buffer is as the caller says.
        answered(unsafe { ibv_post_recv(self.raw.as_ptr(), &raw mut request, &raw mut bad) })
    }

    /// Puts work into the send queue.
    ///
    /// # Safety
    /// The memory is the device's until this completes, or until the call is over where it is inline.
    unsafe fn post(
        &self,
        order: Order,
        opcode: u32,
        fill: impl FnOnce(&mut ibv_send_wr),
    ) -> io::Result<()> {
        let mut piece = order.piece;
        let mut flags = 0;
        if order.is_signaled {
            flags |= ibv_send_flags::IBV_SEND_SIGNALED.0;
        }
        if order.is_inline {
            flags |= ibv_send_flags::IBV_SEND_INLINE.0;
        }
        // SAFETY: numbers and pointers, for which zero is a value.
        let mut request: ibv_send_wr = unsafe { std::mem::zeroed() };
        request.wr_id = order.number;
        request.sg_list = &raw mut piece;
        request.num_sge = c_int::from(piece.length > 0);
        request.opcode = opcode;
        request.send_flags = flags;
        fill(&mut request);
        let mut bad = std::ptr::null_mut();
        // SAFETY: a queue pair of ours; the request is copied in the call, the memory is as the caller says.
        answered(unsafe { ibv_post_send(self.raw.as_ptr(), &raw mut request, &raw mut bad) })
    }
}

/// Attributes of which only the state is said.
fn blank(state: u32) -> ibv_qp_attr {
    // SAFETY: numbers, for which zero is a value.
    let mut attributes: ibv_qp_attr = unsafe { std::mem::zeroed() };
    attributes.qp_state = state;
    attributes
}

impl<S: Connects> QueuePair<S> {
    /// Connects it: it receives, and may send.
    pub(super) fn connect(&self, path: &Path) -> io::Result<()> {
        let mut attributes = blank(ibv_qp_state::IBV_QPS_RTR);
        attributes.ah_attr = path.way;
        attributes.path_mtu = path.mtu;
        attributes.dest_qp_num = path.queue_pair;
        attributes.rq_psn = path.their_psn;
        attributes.max_dest_rd_atomic = path.their_reads;
        attributes.min_rnr_timer = MIN_RNR_TIMER;
        self.modify(attributes, S::TRANSITIONS.ready_to_receive)?;
        let mut attributes = blank(ibv_qp_state::IBV_QPS_RTS);
        attributes.sq_psn = path.our_psn;
        attributes.timeout = path.timeout;
        attributes.retry_cnt = path.retries;
        attributes.rnr_retry = FOR_EVER;
        attributes.max_rd_atomic = path.reads;
        self.modify(attributes, S::TRANSITIONS.ready_to_send)
    }

    /// Sends a message.
    ///
    /// # Safety
    /// As `post`.
    pub(super) unsafe fn send(&self, order: Order) -> io::Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.post(order, ibv_wr_opcode::IBV_WR_SEND, |_| ()) }
    }
}

impl<S: Writes> QueuePair<S> {
    /// Writes; with an immediate value the other end hears of it.
    ///
    /// # Safety
    /// As `post`.
    pub(super) unsafe fn write(
        &self,
        order: Order,
        to: Place,
        immediate: Option<u32>,
    ) -> io::Result<()> {
        let opcode = match immediate {
            None => ibv_wr_opcode::IBV_WR_RDMA_WRITE,
            Some(_) => ibv_wr_opcode::IBV_WR_RDMA_WRITE_WITH_IMM,
        };
        // SAFETY: the caller's promise.
        unsafe {
            self.post(order, opcode, |request| {
                let immediate = immediate.unwrap_or(0).to_be();
                request.imm_data_invalidated_rkey_union.imm_data = immediate;
                request.wr.rdma.remote_addr = to.address;
                request.wr.rdma.rkey = to.key;
            })
        }
    }
}

impl<S: Reads> QueuePair<S> {
    /// Reads.
    ///
    /// # Safety
    /// As `post`.
    pub(super) unsafe fn read(&self, order: Order, from: Place) -> io::Result<()> {
        // SAFETY: the caller's promise.
        unsafe {
            self.post(order, ibv_wr_opcode::IBV_WR_RDMA_READ, |request| {
                request.wr.rdma.remote_addr = from.address;
                request.wr.rdma.rkey = from.key;
            })
        }
    }
}

/// What is done with 8 bytes.
#[derive(Clone, Copy)]
pub(super) enum Atomic {
    Add(u64),
    Swap { expected: u64, new: u64 },
}

impl<S: Atomics> QueuePair<S> {
    /// Changes 8 bytes at once.
    ///
    /// # Safety
    /// As `post`.
    pub(super) unsafe fn atomic(&self, order: Order, at: Place, what: Atomic) -> io::Result<()> {
        let (opcode, first, second) = match what {
            Atomic::Add(add) => (ibv_wr_opcode::IBV_WR_ATOMIC_FETCH_AND_ADD, add, 0),
            Atomic::Swap { expected, new } => {
                (ibv_wr_opcode::IBV_WR_ATOMIC_CMP_AND_SWP, expected, new)
            }
        };
        // SAFETY: the caller's promise.
        unsafe {
            self.post(order, opcode, |request| {
                request.wr.atomic.remote_addr = at.address;
                request.wr.atomic.rkey = at.key;
                request.wr.atomic.compare_add = first;
                request.wr.atomic.swap = second;
            })
        }
    }
}

impl<S: Datagrams> QueuePair<S> {
    /// Makes it receive and send.
    pub(super) fn begin(&self) -> io::Result<()> {
        let receive = blank(ibv_qp_state::IBV_QPS_RTR);
        self.modify(receive, S::TRANSITIONS.ready_to_receive)?;
        let send = blank(ibv_qp_state::IBV_QPS_RTS);
        self.modify(send, S::TRANSITIONS.ready_to_send)
    }

    /// Makes it go on after work that went wrong.
    pub(super) fn resume(&self) -> io::Result<()> {
        self.modify(blank(ibv_qp_state::IBV_QPS_RTS), 0)
    }

    /// Sends a datagram.
    ///
    /// # Safety
    /// As `post`; the way lives until this completes.
    pub(super) unsafe fn send_to(
        &self,
        order: Order,
        way: &Ah,
        queue_pair: u32,
        qkey: u32,
    ) -> io::Result<()> {
        // SAFETY: the caller's promise.
        unsafe {
            self.post(order, ibv_wr_opcode::IBV_WR_SEND, |request| {
                request.wr.ud.ah = way.raw.as_ptr();
                request.wr.ud.remote_qpn = queue_pair;
                request.wr.ud.remote_qkey = qkey;
            })
        }
    }
}

impl<S: Service> Drop for QueuePair<S> {
    fn drop(&mut self) {
        // SAFETY: ours; the call waits until the device has let go of the memory of its work.
        unsafe { (self.pd.context.library.destroy_qp)(self.raw.as_ptr()) };
    }
}

/// How long who finds no posted buffer waits before it tries again: 0.64 ms.
const MIN_RNR_TIMER: u8 = 12;
/// It tries for ever: a process that computes posts none.
const FOR_EVER: u8 = 7;

/// What others may do by way of a connection: what registrations let them.
pub(super) const ALL_ACCESS: u32 = ibv_access_flags::IBV_ACCESS_REMOTE_WRITE.0
    | ibv_access_flags::IBV_ACCESS_REMOTE_READ.0
    | ibv_access_flags::IBV_ACCESS_REMOTE_ATOMIC.0;
