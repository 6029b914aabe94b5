//! The functions of a made-up device, in the library's table and in a context's.

use std::cell::RefCell;
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::os::fd::{FromRawFd, OwnedFd};
use std::ptr::null_mut;
use std::rc::Rc;

use rdma_sys::*;

use super::super::library::Library;
use super::{Device, Posted, State};

pub(super) static LIBRARY: Library = Library {
    get_device_list: no_list,
    free_device_list: no_free,
    get_device_name: no_name,
    open_device: no_open,
    close_device,
    query_device,
    query_port,
    query_gid: no_gid,
    query_pkey: no_pkey,
    alloc_pd,
    dealloc_pd: drop_made,
    reg_mr,
    dereg_mr: drop_made,
    create_comp_channel,
    destroy_comp_channel,
    create_cq,
    destroy_cq: drop_made,
    get_cq_event,
    ack_cq_events: no_ack,
    create_srq,
    destroy_srq: drop_made,
    create_qp,
    modify_qp,
    destroy_qp,
    create_ah,
    destroy_ah: drop_made,
    get_async_event,
    ack_async_event: no_ack_async,
    data_in_order: None,
};

/// The functions that a context has of its own.
pub(super) fn fill(ops: &mut ibv_context_ops) {
    ops.poll_cq = Some(poll_cq);
    ops.req_notify_cq = Some(req_notify_cq);
    ops.post_srq_recv = Some(post_srq_recv);
    ops.post_recv = Some(post_recv);
    ops.post_send = Some(post_send);
}

fn made<T>(object: T) -> *mut T {
    Box::into_raw(Box::new(object))
}

extern "C" fn drop_made<T>(object: *mut T) -> c_int {
    // SAFETY: made by `made`, and the last use of it.
    drop(unsafe { Box::from_raw(object) });
    0
}

/// An object of a device, all of which know their context.
macro_rules! object {
    ($type:ty { $($field:ident: $value:expr),* }) => {{
        // SAFETY: numbers and pointers, for which zero is a value.
        let mut object: $type = unsafe { std::mem::zeroed() };
        $(object.$field = $value;)*
        made(object)
    }};
}

fn state_of(context: *mut ibv_context) -> Rc<RefCell<State>> {
    // SAFETY: the context is the beginning of a device.
    unsafe { Rc::clone(&(*context.cast::<Device>()).state) }
}

fn fail(number: c_int) -> c_int {
    // SAFETY: this thread's own.
    unsafe { *libc::__errno_location() = number };
    -1
}

unsafe extern "C" fn no_list(_: *mut c_int) -> *mut *mut ibv_device {
    null_mut()
}
unsafe extern "C" fn no_free(_: *mut *mut ibv_device) {}
unsafe extern "C" fn no_name(_: *mut ibv_device) -> *const c_char {
    c"made_up0".as_ptr()
}
unsafe extern "C" fn no_open(_: *mut ibv_device) -> *mut ibv_context {
    null_mut()
}
unsafe extern "C" fn no_gid(_: *mut ibv_context, _: u8, _: c_int, _: *mut ibv_gid) -> c_int {
    -1
}
unsafe extern "C" fn no_pkey(_: *mut ibv_context, _: u8, _: c_int, _: *mut u16) -> c_int {
    -1
}
unsafe extern "C" fn no_ack(_: *mut ibv_cq, _: c_uint) {}
unsafe extern "C" fn no_ack_async(_: *mut ibv_async_event) {}

unsafe extern "C" fn close_device(context: *mut ibv_context) -> c_int {
    // SAFETY: the context is the beginning of a device, which nobody else closes, and its descriptor is its own.
    unsafe {
        drop(OwnedFd::from_raw_fd((*context).async_fd));
        drop(Box::from_raw(context.cast::<Device>()));
    }
    0
}

unsafe extern "C" fn query_device(_: *mut ibv_context, into: *mut ibv_device_attr) -> c_int {
    // SAFETY: attributes of the caller.
    let into = unsafe { &mut *into };
    (into.phys_port_cnt, into.max_srq, into.max_srq_wr) = (1, 1, 64);
    (into.max_cqe, into.max_qp_wr) = (4096, 256);
    (into.max_qp_rd_atom, into.max_qp_init_rd_atom) = (4, 4);
    0
}

unsafe extern "C" fn query_port(_: *mut ibv_context, _: u8, into: *mut ibv_port_attr) -> c_int {
    // SAFETY: attributes of the caller.
    let into = unsafe { &mut *into };
    (into.state, into.max_msg_sz) = (ibv_port_state::IBV_PORT_ACTIVE, 1 << 30);
    0
}

unsafe extern "C" fn alloc_pd(context: *mut ibv_context) -> *mut ibv_pd {
    object!(ibv_pd { context: context })
}

unsafe extern "C" fn reg_mr(
    pd: *mut ibv_pd,
    addr: *mut c_void,
    length: usize,
    _: c_int,
) -> *mut ibv_mr {
    // SAFETY: a domain of a device.
    object!(ibv_mr { context: unsafe { (*pd).context }, addr: addr, length: length, lkey: 7 })
}

unsafe extern "C" fn create_comp_channel(context: *mut ibv_context) -> *mut ibv_comp_channel {
    let fd = state_of(context).borrow_mut().descriptor();
    object!(ibv_comp_channel { context: context, fd: fd })
}

unsafe extern "C" fn destroy_comp_channel(channel: *mut ibv_comp_channel) -> c_int {
    // SAFETY: the descriptor is the channel's own.
    drop(unsafe { OwnedFd::from_raw_fd((*channel).fd) });
    drop_made(channel)
}

unsafe extern "C" fn create_cq(
    context: *mut ibv_context,
    entries: c_int,
    _: *mut c_void,
    channel: *mut ibv_comp_channel,
    _: c_int,
) -> *mut ibv_cq {
    object!(ibv_cq { context: context, channel: channel, cqe: entries })
}

/// As a kernel does that says of a removed device that there is nothing yet.
unsafe extern "C" fn get_cq_event(
    _: *mut ibv_comp_channel,
    _: *mut *mut ibv_cq,
    _: *mut *mut c_void,
) -> c_int {
    fail(libc::EAGAIN)
}

unsafe extern "C" fn create_srq(pd: *mut ibv_pd, _: *mut ibv_srq_init_attr) -> *mut ibv_srq {
    // SAFETY: a domain of a device.
    object!(ibv_srq { context: unsafe { (*pd).context }, pd: pd })
}

unsafe extern "C" fn create_qp(pd: *mut ibv_pd, with: *mut ibv_qp_init_attr) -> *mut ibv_qp {
    // SAFETY: a domain of a device, and attributes of the caller.
    let (context, with) = unsafe { ((*pd).context, &*with) };
    let state = state_of(context);
    let mut state = state.borrow_mut();
    if state.is_removed {
        fail(libc::EIO);
        return null_mut();
    }
    let number = state.number();
    let cq = with.send_cq as usize;
    state.queue_pairs.insert(number, (ibv_qp_state::IBV_QPS_RESET, cq));
    object!(ibv_qp { context: context, pd: pd, qp_num: number })
}

unsafe extern "C" fn modify_qp(qp: *mut ibv_qp, to: *mut ibv_qp_attr, _: c_int) -> c_int {
    use rdma_sys::ibv_qp_state::*;
    // SAFETY: a queue pair of a device, and attributes of the caller.
    let (context, number, to) = unsafe { ((*qp).context, (*qp).qp_num, (*to).qp_state) };
    let state = state_of(context);
    let mut state = state.borrow_mut();
    if state.is_removed {
        return libc::EIO;
    }
    let now = &mut state.queue_pairs.get_mut(&number).unwrap().0;
    let may = match to {
        IBV_QPS_RESET | IBV_QPS_ERR => true,
        IBV_QPS_INIT => *now == IBV_QPS_RESET,
        IBV_QPS_RTR => *now == IBV_QPS_INIT,
        _ => [IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPS_SQE].contains(now),
    };
    if !may {
        return libc::EINVAL;
    }
    *now = to;
    if to == IBV_QPS_RESET {
        state.buffers.remove(&number);
        state.sent.remove(&number);
    }
    0
}

unsafe extern "C" fn destroy_qp(qp: *mut ibv_qp) -> c_int {
    // SAFETY: a queue pair of a device.
    let (context, number) = unsafe { ((*qp).context, (*qp).qp_num) };
    state_of(context).borrow_mut().queue_pairs.remove(&number);
    drop_made(qp)
}

unsafe extern "C" fn create_ah(pd: *mut ibv_pd, to: *mut ibv_ah_attr) -> *mut ibv_ah {
    // SAFETY: a domain of a device, and attributes of the caller; each form of the address is bytes.
    let (context, gid) = unsafe { ((*pd).context, (*to).grh.dgid.raw) };
    let state = state_of(context);
    let mut state = state.borrow_mut();
    state.ways_tried += 1;
    if state.is_removed || state.no_way.contains(&gid) {
        fail(libc::EHOSTUNREACH);
        return null_mut();
    }
    object!(ibv_ah { context: context, pd: pd })
}

unsafe extern "C" fn get_async_event(
    context: *mut ibv_context,
    into: *mut ibv_async_event,
) -> c_int {
    let state = state_of(context);
    let mut state = state.borrow_mut();
    let Some((kind, port)) = state.events.pop_front() else {
        return fail(if state.is_removed { libc::EIO } else { libc::EAGAIN });
    };
    // SAFETY: an event of the caller.
    unsafe {
        (&raw mut (*into).event_type).cast::<u32>().write(kind);
        (*into).element.port_num = port;
    }
    0
}

unsafe extern "C" fn poll_cq(cq: *mut ibv_cq, most: c_int, into: *mut ibv_wc) -> c_int {
    // SAFETY: a queue of a device.
    let state = state_of(unsafe { (*cq).context });
    let mut state = state.borrow_mut();
    if state.is_failing {
        return -1;
    }
    let Some(completions) = state.completions.get_mut(&(cq as usize)) else { return 0 };
    let number = completions.len().min(most as usize);
    for (place, completion) in completions.drain(..number).enumerate() {
        // SAFETY: the caller has room for so many.
        unsafe { into.add(place).write(completion) };
    }
    number as c_int
}

unsafe extern "C" fn req_notify_cq(cq: *mut ibv_cq, _: c_int) -> c_int {
    // SAFETY: a queue of a device.
    let state = state_of(unsafe { (*cq).context });
    if state.borrow().is_failing { libc::EIO } else { 0 }
}

/// What a request says.
unsafe fn posted(number: u64, pieces: *mut ibv_sge, count: c_int) -> Posted {
    // SAFETY: so many pieces of the caller.
    (number, if count > 0 { unsafe { (*pieces).addr } } else { 0 })
}

unsafe extern "C" fn post_srq_recv(
    srq: *mut ibv_srq,
    work: *mut ibv_recv_wr,
    _: *mut *mut ibv_recv_wr,
) -> c_int {
    // SAFETY: a queue of a device, and a request of the caller.
    let (context, work) = unsafe { ((*srq).context, &*work) };
    // SAFETY: as above.
    let posted = unsafe { posted(work.wr_id, work.sg_list, work.num_sge) };
    state_of(context).borrow_mut().shared.push(posted);
    0
}

unsafe extern "C" fn post_recv(
    qp: *mut ibv_qp,
    work: *mut ibv_recv_wr,
    _: *mut *mut ibv_recv_wr,
) -> c_int {
    // SAFETY: a queue pair of a device, and a request of the caller.
    let (context, qp, work) = unsafe { ((*qp).context, (*qp).qp_num, &*work) };
    let state = state_of(context);
    if state.borrow().is_full {
        return libc::ENOMEM;
    }
    // SAFETY: as above.
    let posted = unsafe { posted(work.wr_id, work.sg_list, work.num_sge) };
    state.borrow_mut().buffers.entry(qp).or_default().push(posted);
    0
}

unsafe extern "C" fn post_send(
    qp: *mut ibv_qp,
    work: *mut ibv_send_wr,
    _: *mut *mut ibv_send_wr,
) -> c_int {
    // SAFETY: a queue pair of a device, and a request of the caller.
    let (context, qp, work) = unsafe { ((*qp).context, (*qp).qp_num, &*work) };
    // SAFETY: as above.
    let posted = unsafe { posted(work.wr_id, work.sg_list, work.num_sge) };
    state_of(context).borrow_mut().sent.entry(qp).or_default().push(posted);
    0
}
