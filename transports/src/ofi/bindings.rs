//! The structures and constants of libfabric 1.17 (`rdma/fabric.h` and the headers beside it) that this folder
//! uses. Newer libraries only add to their ends: who makes a `fi_info` lets the library make it.
//!
//! Made once by bindgen-cli 0.72.1, from a header that includes `rdma/fi_cm.h`, `fi_domain.h`, `fi_endpoint.h`,
//! `fi_eq.h`, `fi_rma.h`, `fi_atomic.h` and `fi_errno.h`, by
//!
//! ```text
//! bindgen HEADER --allowlist-type 'fi_info|fid_(fabric|domain|ep|av|cq|mr)|fi_(cq|av)_attr|fi_context2' \
//!     --allowlist-type 'fi_cq_(data|err)_entry|fi_msg(_rma)?' --allowlist-var 'FI_(…)' --use-core \
//!     --opaque-type 'fi_ops_(tagged|collective|ep)|fid_(nic|wait)' --blocklist-type 'iovec|__.*' \
//!     --no-layout-tests --no-prepend-enum-name --no-derive-debug
//! ```
//!
//! and trimmed: functions that are never called are pointers without a signature, and what nothing names is
//! left out; a constant has the type of the argument that it is for. `sizes.rs` compares the sizes with C's.

#![allow(missing_docs, unreachable_pub, non_camel_case_types, clippy::type_complexity)]

use core::ffi::{c_char, c_int, c_uint, c_void};

pub use libc::iovec;

/// A function that this folder does not call.
pub type Uncalled = Option<unsafe extern "C" fn()>;

pub const FI_EAGAIN: c_int = 11;
pub const FI_ENOMEM: c_int = 12;
pub const FI_EINVAL: c_int = 22;
pub const FI_ENOSPC: c_int = 28;
pub const FI_ENOSYS: c_int = 38;
pub const FI_EOPNOTSUPP: c_int = 95;
pub const FI_ECANCELED: c_int = 125;
pub const FI_MSG: u64 = 2;
pub const FI_RMA: u64 = 4;
pub const FI_ATOMIC: u64 = 16;
pub const FI_READ: u64 = 256;
pub const FI_WRITE: u64 = 512;
pub const FI_RECV: u64 = 1024;
pub const FI_SEND: u64 = 2048;
pub const FI_TRANSMIT: u64 = 2048;
pub const FI_REMOTE_READ: u64 = 4096;
pub const FI_REMOTE_WRITE: u64 = 8192;
pub const FI_REMOTE_CQ_DATA: u64 = 131072;
pub const FI_COMPLETION: u64 = 16777216;
pub const FI_INJECT: u64 = 33554432;
pub const FI_DELIVERY_COMPLETE: u64 = 268435456;
pub const FI_MR_LOCAL: c_int = 4;
pub const FI_MR_VIRT_ADDR: c_int = 16;
pub const FI_MR_ALLOCATED: c_int = 32;
pub const FI_MR_PROV_KEY: c_int = 64;
pub const FI_MR_RMA_EVENT: c_int = 256;
pub const FI_MR_ENDPOINT: c_int = 512;
pub const FI_MR_HMEM: c_int = 1024;
pub const FI_MR_COLLECTIVE: c_int = 2048;
pub const FI_ORDER_SAS: u64 = 256;
pub const FI_CONTEXT: u64 = 576460752303423488;
pub const FI_RX_CQ_DATA: u64 = 72057594037927936;
pub const FI_CONTEXT2: u64 = 4503599627370496;
pub const FI_EAVAIL: c_int = 259;
pub const FI_EBADFLAGS: c_int = 260;
pub const FI_ETRUNC: c_int = 265;
pub type fid_t = *mut fid;
pub type fi_addr_t = u64;
pub const FI_ADDR_STR: u32 = 9;
pub const FI_AV_TABLE: fi_av_type = 2;
pub type fi_av_type = c_uint;
pub const FI_PROGRESS_MANUAL: fi_progress = 2;
pub type fi_progress = c_uint;
pub const FI_THREAD_DOMAIN: fi_threading = 3;
pub type fi_threading = c_uint;
pub const FI_RM_ENABLED: fi_resource_mgmt = 2;
pub type fi_resource_mgmt = c_uint;
pub const FI_EP_RDM: fi_ep_type = 3;
pub type fi_ep_type = c_uint;
#[repr(C)]
pub struct fi_tx_attr {
    pub caps: u64,
    pub mode: u64,
    pub op_flags: u64,
    pub msg_order: u64,
    pub comp_order: u64,
    pub inject_size: usize,
    pub size: usize,
    pub iov_limit: usize,
    pub rma_iov_limit: usize,
    pub tclass: u32,
}
#[repr(C)]
pub struct fi_rx_attr {
    pub caps: u64,
    pub mode: u64,
    pub op_flags: u64,
    pub msg_order: u64,
    pub comp_order: u64,
    pub total_buffered_recv: usize,
    pub size: usize,
    pub iov_limit: usize,
}
#[repr(C)]
pub struct fi_ep_attr {
    pub type_: fi_ep_type,
    pub protocol: u32,
    pub protocol_version: u32,
    pub max_msg_size: usize,
    pub msg_prefix_size: usize,
    pub max_order_raw_size: usize,
    pub max_order_war_size: usize,
    pub max_order_waw_size: usize,
    pub mem_tag_format: u64,
    pub tx_ctx_cnt: usize,
    pub rx_ctx_cnt: usize,
    pub auth_key_size: usize,
    pub auth_key: *mut u8,
}
#[repr(C)]
pub struct fi_domain_attr {
    pub domain: *mut fid_domain,
    pub name: *mut c_char,
    pub threading: fi_threading,
    pub control_progress: fi_progress,
    pub data_progress: fi_progress,
    pub resource_mgmt: fi_resource_mgmt,
    pub av_type: fi_av_type,
    pub mr_mode: c_int,
    pub mr_key_size: usize,
    pub cq_data_size: usize,
    pub cq_cnt: usize,
    pub ep_cnt: usize,
    pub tx_ctx_cnt: usize,
    pub rx_ctx_cnt: usize,
    pub max_ep_tx_ctx: usize,
    pub max_ep_rx_ctx: usize,
    pub max_ep_stx_ctx: usize,
    pub max_ep_srx_ctx: usize,
    pub cntr_cnt: usize,
    pub mr_iov_limit: usize,
    pub caps: u64,
    pub mode: u64,
    pub auth_key: *mut u8,
    pub auth_key_size: usize,
    pub max_err_data: usize,
    pub mr_cnt: usize,
    pub tclass: u32,
}
#[repr(C)]
pub struct fi_fabric_attr {
    pub fabric: *mut fid_fabric,
    pub name: *mut c_char,
    pub prov_name: *mut c_char,
    pub prov_version: u32,
    pub api_version: u32,
}
#[repr(C)]
pub struct fi_info {
    pub next: *mut fi_info,
    pub caps: u64,
    pub mode: u64,
    pub addr_format: u32,
    pub src_addrlen: usize,
    pub dest_addrlen: usize,
    pub src_addr: *mut c_void,
    pub dest_addr: *mut c_void,
    pub handle: fid_t,
    pub tx_attr: *mut fi_tx_attr,
    pub rx_attr: *mut fi_rx_attr,
    pub ep_attr: *mut fi_ep_attr,
    pub domain_attr: *mut fi_domain_attr,
    pub fabric_attr: *mut fi_fabric_attr,
    pub nic: *mut fid_nic,
}
#[repr(C)]
pub struct fi_ops {
    pub size: usize,
    pub close: Option<unsafe extern "C" fn(fid: *mut fid) -> c_int>,
    pub bind: Option<unsafe extern "C" fn(fid: *mut fid, bfid: *mut fid, flags: u64) -> c_int>,
    pub control:
        Option<unsafe extern "C" fn(fid: *mut fid, command: c_int, arg: *mut c_void) -> c_int>,
    pub ops_open: Uncalled,
    pub tostr: Uncalled,
    pub ops_set: Uncalled,
}
#[repr(C)]
pub struct fid {
    pub fclass: usize,
    pub context: *mut c_void,
    pub ops: *mut fi_ops,
}
#[repr(C)]
pub struct fi_ops_fabric {
    pub size: usize,
    pub domain: Option<
        unsafe extern "C" fn(
            fabric: *mut fid_fabric,
            info: *mut fi_info,
            dom: *mut *mut fid_domain,
            context: *mut c_void,
        ) -> c_int,
    >,
    pub passive_ep: Uncalled,
    pub eq_open: Uncalled,
    pub wait_open: Uncalled,
    pub trywait: Option<
        unsafe extern "C" fn(fabric: *mut fid_fabric, fids: *mut *mut fid, count: c_int) -> c_int,
    >,
    pub domain2: Uncalled,
}
#[repr(C)]
pub struct fid_fabric {
    pub fid: fid,
    pub ops: *mut fi_ops_fabric,
    pub api_version: u32,
}
#[repr(C)]
pub struct fid_nic {
    _unused: [u8; 0],
}
pub const FI_GETWAIT: c_int = 5;
pub const FI_ENABLE: c_int = 6;
#[repr(C)]
pub struct fi_context2 {
    pub internal: [*mut c_void; 8],
}
pub const FI_WAIT_NONE: fi_wait_obj = 0;
pub const FI_WAIT_FD: fi_wait_obj = 3;
pub type fi_wait_obj = c_uint;
#[repr(C)]
pub struct fid_wait {
    _unused: [u8; 0],
}
pub const FI_CQ_FORMAT_DATA: fi_cq_format = 3;
pub type fi_cq_format = c_uint;
#[repr(C)]
pub struct fi_cq_data_entry {
    pub op_context: *mut c_void,
    pub flags: u64,
    pub len: usize,
    pub buf: *mut c_void,
    pub data: u64,
}
#[repr(C)]
pub struct fi_cq_err_entry {
    pub op_context: *mut c_void,
    pub flags: u64,
    pub len: usize,
    pub buf: *mut c_void,
    pub data: u64,
    pub tag: u64,
    pub olen: usize,
    pub err: c_int,
    pub prov_errno: c_int,
    pub err_data: *mut c_void,
    pub err_data_size: usize,
}
pub type fi_cq_wait_cond = c_uint;
#[repr(C)]
pub struct fi_cq_attr {
    pub size: usize,
    pub flags: u64,
    pub format: fi_cq_format,
    pub wait_obj: fi_wait_obj,
    pub signaling_vector: c_int,
    pub wait_cond: fi_cq_wait_cond,
    pub wait_set: *mut fid_wait,
}
#[repr(C)]
pub struct fi_ops_cq {
    pub size: usize,
    pub read:
        Option<unsafe extern "C" fn(cq: *mut fid_cq, buf: *mut c_void, count: usize) -> isize>,
    pub readfrom: Uncalled,
    pub readerr: Option<
        unsafe extern "C" fn(cq: *mut fid_cq, buf: *mut fi_cq_err_entry, flags: u64) -> isize,
    >,
    pub sread: Uncalled,
    pub sreadfrom: Uncalled,
    pub signal: Uncalled,
    pub strerror: Option<
        unsafe extern "C" fn(
            cq: *mut fid_cq,
            prov_errno: c_int,
            err_data: *const c_void,
            buf: *mut c_char,
            len: usize,
        ) -> *const c_char,
    >,
}
#[repr(C)]
pub struct fid_cq {
    pub fid: fid,
    pub ops: *mut fi_ops_cq,
}
#[repr(C)]
pub struct fi_av_attr {
    pub type_: fi_av_type,
    pub rx_ctx_bits: c_int,
    pub count: usize,
    pub ep_per_node: usize,
    pub name: *const c_char,
    pub map_addr: *mut c_void,
    pub flags: u64,
}
#[repr(C)]
pub struct fi_ops_av {
    pub size: usize,
    pub insert: Option<
        unsafe extern "C" fn(
            av: *mut fid_av,
            addr: *const c_void,
            count: usize,
            fi_addr: *mut fi_addr_t,
            flags: u64,
            context: *mut c_void,
        ) -> c_int,
    >,
    pub insertsvc: Uncalled,
    pub insertsym: Uncalled,
    pub remove: Option<
        unsafe extern "C" fn(
            av: *mut fid_av,
            fi_addr: *mut fi_addr_t,
            count: usize,
            flags: u64,
        ) -> c_int,
    >,
    pub lookup: Uncalled,
    pub straddr: Uncalled,
    pub av_set: Uncalled,
}
#[repr(C)]
pub struct fid_av {
    pub fid: fid,
    pub ops: *mut fi_ops_av,
}
#[repr(C)]
pub struct fid_mr {
    pub fid: fid,
    pub mem_desc: *mut c_void,
    pub key: u64,
}
pub const FI_UINT64: fi_datatype = 7;
pub type fi_datatype = c_uint;
pub const FI_SUM: fi_op = 2;
pub const FI_CSWAP: fi_op = 12;
pub type fi_op = c_uint;
#[repr(C)]
pub struct fi_ops_domain {
    pub size: usize,
    pub av_open: Option<
        unsafe extern "C" fn(
            domain: *mut fid_domain,
            attr: *mut fi_av_attr,
            av: *mut *mut fid_av,
            context: *mut c_void,
        ) -> c_int,
    >,
    pub cq_open: Option<
        unsafe extern "C" fn(
            domain: *mut fid_domain,
            attr: *mut fi_cq_attr,
            cq: *mut *mut fid_cq,
            context: *mut c_void,
        ) -> c_int,
    >,
    pub endpoint: Option<
        unsafe extern "C" fn(
            domain: *mut fid_domain,
            info: *mut fi_info,
            ep: *mut *mut fid_ep,
            context: *mut c_void,
        ) -> c_int,
    >,
    pub scalable_ep: Uncalled,
    pub cntr_open: Uncalled,
    pub poll_open: Uncalled,
    pub stx_ctx: Uncalled,
    pub srx_ctx: Uncalled,
    pub query_atomic: Uncalled,
    pub query_collective: Uncalled,
    pub endpoint2: Uncalled,
}
#[repr(C)]
pub struct fi_ops_mr {
    pub size: usize,
    pub reg: Option<
        unsafe extern "C" fn(
            fid: *mut fid,
            buf: *const c_void,
            len: usize,
            access: u64,
            offset: u64,
            requested_key: u64,
            flags: u64,
            mr: *mut *mut fid_mr,
            context: *mut c_void,
        ) -> c_int,
    >,
    pub regv: Uncalled,
    pub regattr: Uncalled,
}
#[repr(C)]
pub struct fid_domain {
    pub fid: fid,
    pub ops: *mut fi_ops_domain,
    pub mr: *mut fi_ops_mr,
}
#[repr(C)]
pub struct fi_msg {
    pub msg_iov: *const iovec,
    pub desc: *mut *mut c_void,
    pub iov_count: usize,
    pub addr: fi_addr_t,
    pub context: *mut c_void,
    pub data: u64,
}
#[repr(C)]
pub struct fi_ops_ep {
    _unused: [u8; 0],
}
#[repr(C)]
pub struct fi_ops_msg {
    pub size: usize,
    pub recv: Option<
        unsafe extern "C" fn(
            ep: *mut fid_ep,
            buf: *mut c_void,
            len: usize,
            desc: *mut c_void,
            src_addr: fi_addr_t,
            context: *mut c_void,
        ) -> isize,
    >,
    pub recvv: Uncalled,
    pub recvmsg: Uncalled,
    pub send: Uncalled,
    pub sendv: Uncalled,
    pub sendmsg:
        Option<unsafe extern "C" fn(ep: *mut fid_ep, msg: *const fi_msg, flags: u64) -> isize>,
    pub inject: Uncalled,
    pub senddata: Uncalled,
    pub injectdata: Option<
        unsafe extern "C" fn(
            ep: *mut fid_ep,
            buf: *const c_void,
            len: usize,
            data: u64,
            dest_addr: fi_addr_t,
        ) -> isize,
    >,
}
#[repr(C)]
pub struct fi_ops_tagged {
    _unused: [u8; 0],
}
#[repr(C)]
pub struct fi_ops_collective {
    _unused: [u8; 0],
}
#[repr(C)]
pub struct fid_ep {
    pub fid: fid,
    pub ops: *mut fi_ops_ep,
    pub cm: *mut fi_ops_cm,
    pub msg: *mut fi_ops_msg,
    pub rma: *mut fi_ops_rma,
    pub tagged: *mut fi_ops_tagged,
    pub atomic: *mut fi_ops_atomic,
    pub collective: *mut fi_ops_collective,
}
#[repr(C)]
pub struct fi_ops_cm {
    pub size: usize,
    pub setname: Uncalled,
    pub getname:
        Option<unsafe extern "C" fn(fid: fid_t, addr: *mut c_void, addrlen: *mut usize) -> c_int>,
    pub getpeer: Uncalled,
    pub connect: Uncalled,
    pub listen: Uncalled,
    pub accept: Uncalled,
    pub reject: Uncalled,
    pub shutdown: Uncalled,
    pub join: Uncalled,
}
#[repr(C)]
pub struct fi_rma_iov {
    pub addr: u64,
    pub len: usize,
    pub key: u64,
}
#[repr(C)]
pub struct fi_msg_rma {
    pub msg_iov: *const iovec,
    pub desc: *mut *mut c_void,
    pub iov_count: usize,
    pub addr: fi_addr_t,
    pub rma_iov: *const fi_rma_iov,
    pub rma_iov_count: usize,
    pub context: *mut c_void,
    pub data: u64,
}
#[repr(C)]
pub struct fi_ops_rma {
    pub size: usize,
    pub read: Option<
        unsafe extern "C" fn(
            ep: *mut fid_ep,
            buf: *mut c_void,
            len: usize,
            desc: *mut c_void,
            src_addr: fi_addr_t,
            addr: u64,
            key: u64,
            context: *mut c_void,
        ) -> isize,
    >,
    pub readv: Uncalled,
    pub readmsg: Uncalled,
    pub write: Uncalled,
    pub writev: Uncalled,
    pub writemsg:
        Option<unsafe extern "C" fn(ep: *mut fid_ep, msg: *const fi_msg_rma, flags: u64) -> isize>,
    pub inject: Option<
        unsafe extern "C" fn(
            ep: *mut fid_ep,
            buf: *const c_void,
            len: usize,
            dest_addr: fi_addr_t,
            addr: u64,
            key: u64,
        ) -> isize,
    >,
    pub writedata: Uncalled,
    pub injectdata: Uncalled,
}
#[repr(C)]
pub struct fi_ops_atomic {
    pub size: usize,
    pub write: Uncalled,
    pub writev: Uncalled,
    pub writemsg: Uncalled,
    pub inject: Uncalled,
    pub readwrite: Option<
        unsafe extern "C" fn(
            ep: *mut fid_ep,
            buf: *const c_void,
            count: usize,
            desc: *mut c_void,
            result: *mut c_void,
            result_desc: *mut c_void,
            dest_addr: fi_addr_t,
            addr: u64,
            key: u64,
            datatype: fi_datatype,
            op: fi_op,
            context: *mut c_void,
        ) -> isize,
    >,
    pub readwritev: Uncalled,
    pub readwritemsg: Uncalled,
    pub compwrite: Option<
        unsafe extern "C" fn(
            ep: *mut fid_ep,
            buf: *const c_void,
            count: usize,
            desc: *mut c_void,
            compare: *const c_void,
            compare_desc: *mut c_void,
            result: *mut c_void,
            result_desc: *mut c_void,
            dest_addr: fi_addr_t,
            addr: u64,
            key: u64,
            datatype: fi_datatype,
            op: fi_op,
            context: *mut c_void,
        ) -> isize,
    >,
    pub compwritev: Uncalled,
    pub compwritemsg: Uncalled,
    pub writevalid: Uncalled,
    pub readwritevalid: Option<
        unsafe extern "C" fn(
            ep: *mut fid_ep,
            datatype: fi_datatype,
            op: fi_op,
            count: *mut usize,
        ) -> c_int,
    >,
    pub compwritevalid: Option<
        unsafe extern "C" fn(
            ep: *mut fid_ep,
            datatype: fi_datatype,
            op: fi_op,
            count: *mut usize,
        ) -> c_int,
    >,
}
