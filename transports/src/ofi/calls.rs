//! libfabric's inline functions: what its headers define over the tables of operations.
//!
//! Each takes an object that is open and gives what C gives: 0 or a number, or an error below 0. A provider's
//! table may lack what it does not do, and then the answer is `-FI_ENOSYS`.

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

use super::bindings::*;

/// Calls a function of a table, if there are both.
macro_rules! call {
    ($ops:expr, $name:ident($($argument:expr),*)) => {{
        let ops = $ops;
        if ops.is_null() {
            return (-FI_ENOSYS) as _;
        }
        match (*ops).$name {
            Some(function) => function($($argument),*),
            None => (-FI_ENOSYS) as _,
        }
    }};
}

/// An operation: where its bytes are here, and what names it.
#[derive(Clone, Copy)]
pub(super) struct Piece {
    pub(super) address: *mut c_void,
    pub(super) len: usize,
    pub(super) desc: *mut c_void,
    pub(super) context: *mut c_void,
}

/// Where an operation goes in the memory of a peer.
#[derive(Clone, Copy)]
pub(super) struct There {
    pub(super) to: fi_addr_t,
    pub(super) address: u64,
    pub(super) key: u64,
}

/// # Safety
/// `fid` is an open object, and is none any more if 0 is returned.
pub(super) unsafe fn close(fid: *mut fid) -> c_int {
    // SAFETY: by the caller.
    unsafe { call!((*fid).ops, close(fid)) }
}

/// # Safety
/// Both are open.
pub(super) unsafe fn bind(fid: *mut fid, to: *mut fid, flags: u64) -> c_int {
    // SAFETY: by the caller.
    unsafe { call!((*fid).ops, bind(fid, to, flags)) }
}

/// # Safety
/// It is open, and `argument` is what the command takes.
pub(super) unsafe fn control(fid: *mut fid, command: c_int, argument: *mut c_void) -> c_int {
    // SAFETY: by the caller.
    unsafe { call!((*fid).ops, control(fid, command, argument)) }
}

/// # Safety
/// The fabric is open and `info` describes an offer of it.
pub(super) unsafe fn domain(
    fabric: *mut fid_fabric,
    info: *mut fi_info,
    made: &mut *mut fid_domain,
) -> c_int {
    // SAFETY: by the caller.
    unsafe { call!((*fabric).ops, domain(fabric, info, made, null_mut())) }
}

/// # Safety
/// Both are open.
pub(super) unsafe fn trywait(fabric: *mut fid_fabric, queue: *mut fid_cq) -> c_int {
    let mut fids = [queue.cast::<fid>()];
    // SAFETY: by the caller.
    unsafe { call!((*fabric).ops, trywait(fabric, fids.as_mut_ptr(), 1)) }
}

/// # Safety
/// The domain is open.
pub(super) unsafe fn av_open(
    domain: *mut fid_domain,
    attr: &mut fi_av_attr,
    made: &mut *mut fid_av,
) -> c_int {
    // SAFETY: by the caller.
    unsafe { call!((*domain).ops, av_open(domain, attr, made, null_mut())) }
}

/// # Safety
/// The domain is open.
pub(super) unsafe fn cq_open(
    domain: *mut fid_domain,
    attr: &mut fi_cq_attr,
    made: &mut *mut fid_cq,
) -> c_int {
    // SAFETY: by the caller.
    unsafe { call!((*domain).ops, cq_open(domain, attr, made, null_mut())) }
}

/// # Safety
/// The domain is open and `info` describes an offer of it.
pub(super) unsafe fn endpoint(
    domain: *mut fid_domain,
    info: *mut fi_info,
    made: &mut *mut fid_ep,
) -> c_int {
    // SAFETY: by the caller.
    unsafe { call!((*domain).ops, endpoint(domain, info, made, null_mut())) }
}

/// # Safety
/// The domain is open, and the range is mapped until the registration ends.
pub(super) unsafe fn register(
    domain: *mut fid_domain,
    (address, len): (*const c_void, usize),
    access: u64,
    key: u64,
    made: &mut *mut fid_mr,
) -> c_int {
    // SAFETY: by the caller.
    unsafe {
        let of: *mut fid = domain.cast();
        call!((*domain).mr, reg(of, address, len, access, 0, key, 0, made, null_mut()))
    }
}

/// # Safety
/// The endpoint is open.
pub(super) unsafe fn name(ep: *mut fid_ep, address: &mut [u8], len: &mut usize) -> c_int {
    // SAFETY: by the caller; the room has this length.
    unsafe { call!((*ep).cm, getname(ep.cast(), address.as_mut_ptr().cast(), len)) }
}

/// # Safety
/// The table is open, and the address is one of its provider's, whole.
pub(super) unsafe fn insert(av: *mut fid_av, address: &[u8], at: &mut fi_addr_t) -> c_int {
    // SAFETY: by the caller.
    unsafe { call!((*av).ops, insert(av, address.as_ptr().cast(), 1, at, 0, null_mut())) }
}

/// # Safety
/// The queue is open, with this format.
#[inline]
pub(super) unsafe fn read_queue(cq: *mut fid_cq, entries: &mut [fi_cq_data_entry]) -> isize {
    // SAFETY: by the caller; there is room for so many.
    unsafe { call!((*cq).ops, read(cq, entries.as_mut_ptr().cast(), entries.len())) }
}

/// # Safety
/// The queue is open.
pub(super) unsafe fn read_error(cq: *mut fid_cq, entry: *mut fi_cq_err_entry) -> isize {
    // SAFETY: by the caller.
    unsafe { call!((*cq).ops, readerr(cq, entry, 0)) }
}

/// A provider's own words for an error.
///
/// # Safety
/// The queue is open, and the entry is the one that was read last.
pub(super) unsafe fn explain(cq: *mut fid_cq, entry: &fi_cq_err_entry) -> Option<String> {
    let mut room = [0; 256];
    // SAFETY: by the caller; the answer is a text, in this room or a constant.
    unsafe {
        let function = (*(*cq).ops).strerror?;
        let text = function(cq, entry.prov_errno, entry.err_data, room.as_mut_ptr(), room.len());
        (!text.is_null()).then(|| std::ffi::CStr::from_ptr(text).to_string_lossy().into_owned())
    }
}

/// # Safety
/// The endpoint is enabled; the memory and the context are the provider's until it completes.
pub(super) unsafe fn receive(ep: *mut fid_ep, into: Piece) -> isize {
    let Piece { address, len, desc, context } = into;
    // SAFETY: by the caller.
    unsafe { call!((*ep).msg, recv(ep, address, len, desc, u64::MAX, context)) }
}

/// # Safety
/// As [`receive`], unless the flags say that the memory is copied.
#[inline]
pub(super) unsafe fn send(
    ep: *mut fid_ep,
    from: Piece,
    to: fi_addr_t,
    data: u64,
    flags: u64,
) -> isize {
    let iov = iovec { iov_base: from.address, iov_len: from.len };
    let mut desc = from.desc;
    let message = fi_msg {
        msg_iov: &raw const iov,
        desc: &raw mut desc,
        iov_count: 1,
        addr: to,
        context: from.context,
        data,
    };
    // SAFETY: by the caller; the description is read in the call.
    unsafe { call!((*ep).msg, sendmsg(ep, &raw const message, flags | FI_REMOTE_CQ_DATA)) }
}

/// # Safety
/// The endpoint is enabled, and the message fits into what is copied.
#[inline]
pub(super) unsafe fn inject(ep: *mut fid_ep, from: &[u8], to: fi_addr_t, data: u64) -> isize {
    // SAFETY: by the caller.
    unsafe { call!((*ep).msg, injectdata(ep, from.as_ptr().cast(), from.len(), data, to)) }
}

/// # Safety
/// As [`send`].
pub(super) unsafe fn write(
    ep: *mut fid_ep,
    from: Piece,
    there: There,
    data: u64,
    flags: u64,
) -> isize {
    let iov = iovec { iov_base: from.address, iov_len: from.len };
    let mut desc = from.desc;
    let target = fi_rma_iov { addr: there.address, len: from.len, key: there.key };
    let message = fi_msg_rma {
        msg_iov: &raw const iov,
        desc: &raw mut desc,
        iov_count: 1,
        addr: there.to,
        rma_iov: &raw const target,
        rma_iov_count: 1,
        context: from.context,
        data,
    };
    // SAFETY: by the caller; the description is read in the call.
    unsafe { call!((*ep).rma, writemsg(ep, &raw const message, flags)) }
}

/// # Safety
/// As [`inject`].
pub(super) unsafe fn inject_write(ep: *mut fid_ep, from: &[u8], there: There) -> isize {
    let There { to, address, key } = there;
    // SAFETY: by the caller.
    unsafe { call!((*ep).rma, inject(ep, from.as_ptr().cast(), from.len(), to, address, key)) }
}

/// # Safety
/// As [`receive`].
pub(super) unsafe fn read(ep: *mut fid_ep, into: Piece, there: There) -> isize {
    let Piece { address, len, desc, context } = into;
    let There { to, address: from, key } = there;
    // SAFETY: by the caller.
    unsafe { call!((*ep).rma, read(ep, address, len, desc, to, from, key, context)) }
}

/// # Safety
/// The endpoint is open.
pub(super) unsafe fn has_atomics(ep: *mut fid_ep) -> bool {
    let valid = |is_swap: bool| -> c_int {
        let mut count = 0;
        // SAFETY: by the caller.
        unsafe {
            match is_swap {
                true => {
                    call!((*ep).atomic, compwritevalid(ep, FI_UINT64, FI_CSWAP, &raw mut count))
                }
                false => call!((*ep).atomic, readwritevalid(ep, FI_UINT64, FI_SUM, &raw mut count)),
            }
        }
    };
    valid(false) == 0 && valid(true) == 0
}

/// # Safety
/// As [`receive`]; the operand stays with the context. `into` is 8 bytes.
pub(super) unsafe fn fetch_add(
    ep: *mut fid_ep,
    into: Piece,
    there: There,
    operand: (*const u64, *mut c_void),
) -> isize {
    let There { to, address, key } = there;
    let (add, desc) = (operand.0.cast(), operand.1);
    let (result, of_result, context) = (into.address, into.desc, into.context);
    // SAFETY: by the caller.
    unsafe {
        call!(
            (*ep).atomic,
            readwrite(
                ep, add, 1, desc, result, of_result, to, address, key, FI_UINT64, FI_SUM, context
            )
        )
    }
}

/// # Safety
/// As [`fetch_add`]; the operand is what is new, and behind it what is expected.
pub(super) unsafe fn compare_swap(
    ep: *mut fid_ep,
    into: Piece,
    there: There,
    operand: (*const u64, *mut c_void),
) -> isize {
    let There { to, address, key } = there;
    let (new, desc) = (operand.0.cast(), operand.1);
    let expected = operand.0.wrapping_add(1).cast();
    let (result, of_result, context) = (into.address, into.desc, into.context);
    // SAFETY: by the caller.
    unsafe {
        call!(
            (*ep).atomic,
            compwrite(
                ep, new, 1, desc, expected, desc, result, of_result, to, address, key, FI_UINT64,
                FI_CSWAP, context
            )
        )
    }
}
