//! A device made up for tests: functions as those of libibverbs that keep what they are given (`calls`), while
//! completions, events and failures come as a test says.

mod calls;

use std::cell::{RefCell, RefMut};
use std::collections::{HashMap, HashSet, VecDeque};
use std::ffi::c_int;
use std::os::fd::{IntoRawFd, OwnedFd};
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::Arc;

use rdma_sys::{ibv_context, ibv_wc, ibv_wc_opcode};

use super::address::PortAddress;
use super::choice::{Chosen, Gid, Link};
use super::objects::{Context, Pd};

/// Work that was posted: its number, and where its memory begins.
pub(super) type Posted = (u64, u64);

/// What the device has been given, and what it is to do.
#[derive(Default)]
pub(super) struct State {
    /// Completions to come, by queue.
    completions: HashMap<usize, VecDeque<ibv_wc>>,
    /// The states of queue pairs and their completion queues.
    pub(super) queue_pairs: HashMap<u32, (u32, usize)>,
    /// Buffers of queue pairs of their own, and of the shared queue.
    pub(super) buffers: HashMap<u32, Vec<Posted>>,
    pub(super) shared: Vec<Posted>,
    pub(super) sent: HashMap<u32, Vec<Posted>>,
    pub(super) events: VecDeque<(u32, c_int)>,
    pub(super) ways_tried: u32,
    pub(super) no_way: HashSet<Gid>,
    /// Takes no buffers.
    pub(super) is_full: bool,
    /// Completion queues fail.
    pub(super) is_failing: bool,
    is_removed: bool,
    /// The other ends of descriptors.
    wires: Vec<OwnedFd>,
    made: u32,
}

impl State {
    /// The device is removed: its descriptors are readable for ever, and all calls fail.
    pub(super) fn remove(&mut self) {
        (self.is_removed, self.is_failing) = (true, true);
        self.wires.clear();
    }

    /// Work of a queue pair ends.
    pub(super) fn complete(&mut self, queue_pair: u32, number: u64, status: u32, bytes: u32) {
        // SAFETY: numbers, for which zero is a value.
        let mut completion: ibv_wc = unsafe { std::mem::zeroed() };
        (completion.wr_id, completion.status) = (number, status);
        (completion.qp_num, completion.byte_len) = (queue_pair, bytes);
        completion.opcode = ibv_wc_opcode::IBV_WC_RECV;
        let cq = self.queue_pairs[&queue_pair].1;
        self.completions.entry(cq).or_default().push_back(completion);
    }

    fn descriptor(&mut self) -> c_int {
        let (read, write) = std::io::pipe().unwrap();
        self.wires.push(write.into());
        read.into_raw_fd()
    }

    fn number(&mut self) -> u32 {
        self.made += 1;
        self.made
    }
}

/// The device, which begins with what the library's callers see.
#[repr(C)]
struct Device {
    context: ibv_context,
    state: Rc<RefCell<State>>,
}

/// A test's hand on a device.
pub(super) struct MadeUp {
    pub(super) context: Arc<Context>,
    state: Rc<RefCell<State>>,
}

impl MadeUp {
    pub(super) fn new() -> MadeUp {
        let state = Rc::new(RefCell::new(State::default()));
        // SAFETY: numbers, pointers and functions that may be missing, for which zero is a value.
        let mut context: ibv_context = unsafe { std::mem::zeroed() };
        context.async_fd = state.borrow_mut().descriptor();
        calls::fill(&mut context.ops);
        let device = Box::into_raw(Box::new(Device { context, state: Rc::clone(&state) }));
        // SAFETY: just made, and closed by its owner alone.
        let context = unsafe {
            Context::from_raw(&calls::LIBRARY, NonNull::new(device.cast::<ibv_context>()).unwrap())
        };
        MadeUp { context: Arc::new(context), state }
    }

    pub(super) fn domain(&self) -> Arc<Pd> {
        Arc::new(Pd::new(&self.context).unwrap())
    }

    pub(super) fn state(&self) -> RefMut<'_, State> {
        self.state.borrow_mut()
    }
}

/// An address of a port.
pub(super) fn port(number: u8) -> PortAddress {
    PortAddress { link: Link::Ethernet, gid: [number; 16], lid: 0 }
}

/// The device's port.
pub(super) fn chosen() -> Chosen {
    Chosen {
        device: "made_up0".to_owned(),
        port: 1,
        link: Link::Ethernet,
        lid: 0,
        gid_index: 0,
        gid: [9; 16],
        pkey_index: 0,
        mtu: 1024,
        is_mtu_forced: false,
        service_level: 0,
        traffic_class: 0,
    }
}
