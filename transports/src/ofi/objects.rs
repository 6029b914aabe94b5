//! The objects of one endpoint, opened in order and closed in the opposite one.
//!
//! In: a chosen offer. Out: an enabled endpoint with its queue of completions and its table of addresses.

use std::ffi::{c_int, c_void};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, RawFd};
use std::ptr::null_mut;

use super::ask::Chosen;
use super::bindings::*;
use super::calls;
use super::library::{Info, Library};
use crate::sys::epoll::{Epoll, Interest};

/// An object that is closed when it goes.
pub(super) struct Open<T>(*mut T);

impl<T> Open<T> {
    /// For an object that was just opened and that nobody else closes. Each begins with a `fid`.
    pub(super) fn new(object: *mut T) -> Open<T> {
        Open(object)
    }

    #[inline]
    pub(super) fn pointer(&self) -> *mut T {
        self.0
    }

    fn fid(&self) -> *mut fid {
        self.0.cast()
    }
}

impl<T> Drop for Open<T> {
    fn drop(&mut self) {
        // SAFETY: open, and closed here alone; who holds several has them in the order of closing.
        let error = unsafe { calls::close(self.fid()) };
        if error != 0 {
            let what = std::any::type_name::<T>();
            tracing::warn!("libfabric does not close a {what}: error {error}");
        }
    }
}

/// All objects of one endpoint. The fields go in this order.
pub(super) struct Objects {
    ep: Option<Open<fid_ep>>,
    av: Open<fid_av>,
    cq: Open<fid_cq>,
    domain: Open<fid_domain>,
    fabric: Open<fid_fabric>,
    pub(super) info: Info,
    pub(super) library: Library,
    /// What has come to the queue's descriptor since it was last looked at: net's of 1.17 stays readable for ever.
    alarm: Option<Epoll>,
}

// SAFETY: whoever has it has all of it, and providers are asked for domains that one thread at a time uses.
unsafe impl Send for Objects {}

impl Objects {
    /// Opens and enables an endpoint.
    pub(super) fn open(library: Library, chosen: Chosen) -> Result<Objects, String> {
        let info = chosen.info;
        let failed = |what: &str, error: i64| {
            let (provider, domain) = (info.provider(), info.domain_name());
            let why = library.explain(error);
            format!(
                "libfabric's provider {provider} cannot open {what} on {domain}: {why}; FI_LOG_LEVEL=warn shows \
                 more, FERRITE_OFI_PROVIDER chooses another provider"
            )
        };
        let fabric = library.fabric(&info).map(Open::new);
        let fabric = fabric.map_err(|error| failed("a fabric", error))?;
        let mut domain = null_mut();
        // SAFETY: the fabric is open, and the description is an offer of it.
        let error = unsafe { calls::domain(fabric.pointer(), info.pointer(), &mut domain) };
        let domain = opened(error, domain).map_err(|error| failed("a domain", error))?;
        let (cq, alarm) = queue(&domain).map_err(|error| {
            let why = failed("a queue of completions", error);
            match info.provider().contains("ofi_rxm") {
                true => format!("{why}; a device of small queues needs FI_UNIVERSE_SIZE=16 or so"),
                false => why,
            }
        })?;
        let av = table(&domain, &info).map_err(|error| failed("a table of addresses", error))?;
        let mut ep = null_mut();
        // SAFETY: the domain is open, and the description is an offer of it.
        let error = unsafe { calls::endpoint(domain.pointer(), info.pointer(), &mut ep) };
        let ep = opened(error, ep).map_err(|error| failed("an endpoint", error))?;
        // SAFETY: all are open.
        let error = unsafe {
            match calls::bind(ep.fid(), av.fid(), 0) {
                0 => match calls::bind(ep.fid(), cq.fid(), FI_TRANSMIT | FI_RECV) {
                    0 => calls::control(ep.fid(), FI_ENABLE, null_mut()),
                    error => error,
                },
                error => error,
            }
        };
        if error != 0 {
            return Err(failed("an endpoint", error.into()));
        }
        Ok(Objects { ep: Some(ep), av, cq, domain, fabric, info, library, alarm })
    }

    /// The endpoint.
    #[inline]
    pub(super) fn ep(&self) -> *mut fid_ep {
        self.ep.as_ref().map_or(null_mut(), Open::pointer)
    }

    pub(super) fn domain(&self) -> *mut fid_domain {
        self.domain.pointer()
    }

    #[inline]
    pub(super) fn cq(&self) -> *mut fid_cq {
        self.cq.pointer()
    }

    /// Closes the endpoint, before the memory that it may use.
    pub(super) fn close_endpoint(&mut self) {
        self.ep = None;
    }

    /// The endpoint's own address, whole.
    pub(super) fn address(&self) -> Result<Vec<u8>, String> {
        let mut room = vec![0; 256];
        let mut len = room.len();
        // SAFETY: the endpoint is open.
        let error = unsafe { calls::name(self.ep(), &mut room, &mut len) };
        if error != 0 || len == 0 || len > room.len() {
            let why = self.library.explain(error.into());
            return Err(format!(
                "libfabric's provider {} tells no address: {why}",
                self.info.provider()
            ));
        }
        room.truncate(len);
        Ok(room)
    }

    /// Enters a peer's address.
    pub(super) fn insert(&self, address: &[u8]) -> Result<fi_addr_t, String> {
        let mut at = u64::MAX;
        // SAFETY: the table is open; the length is that of this process's own address.
        let number = unsafe { calls::insert(self.av.pointer(), address, &mut at) };
        if number == 1 && at != u64::MAX {
            return Ok(at);
        }
        let why =
            if number < 0 { self.library.explain(number.into()) } else { "refused".to_owned() };
        Err(format!(
            "libfabric's provider {} does not take its address: {why}",
            self.info.provider()
        ))
    }

    /// What becomes readable with a completion, once [`Objects::may_sleep`] said so.
    pub(super) fn wait(&self) -> Option<BorrowedFd<'_>> {
        self.alarm.as_ref().map(Epoll::as_fd)
    }

    /// Whether nothing has completed and nothing has come since the last time that this was asked, so that one may
    /// wait.
    pub(super) fn may_sleep(&self) -> bool {
        let Some(alarm) = &self.alarm else { return true };
        let mut is_quiet = true;
        let looked = alarm.look(|_| is_quiet = false);
        // SAFETY: both are open.
        let may = || unsafe { calls::trywait(self.fabric.pointer(), self.cq.pointer()) } == 0;
        looked.is_ok() && is_quiet && may()
    }
}

fn opened<T>(error: c_int, object: *mut T) -> Result<Open<T>, i64> {
    if error == 0 { Ok(Open::new(object)) } else { Err(error.into()) }
}

/// A queue of completions, with a descriptor to wait for where there is one.
fn queue(domain: &Open<fid_domain>) -> Result<(Open<fid_cq>, Option<Epoll>), i64> {
    let open = |wait_obj| {
        let mut attr = fi_cq_attr {
            size: 0,
            flags: 0,
            format: FI_CQ_FORMAT_DATA,
            wait_obj,
            signaling_vector: 0,
            wait_cond: 0,
            wait_set: null_mut(),
        };
        let mut cq = null_mut();
        // SAFETY: the domain is open.
        opened(unsafe { calls::cq_open(domain.pointer(), &mut attr, &mut cq) }, cq)
    };
    if let Ok(cq) = open(FI_WAIT_FD) {
        let mut fd: c_int = -1;
        let to: *mut c_void = (&raw mut fd).cast();
        // SAFETY: the queue is open; the command takes a place for a descriptor.
        if unsafe { calls::control(cq.fid(), FI_GETWAIT, to) } == 0
            && fd >= 0
            && let Ok(alarm) = alarm(fd)
        {
            return Ok((cq, Some(alarm)));
        }
    }
    Ok((open(FI_WAIT_NONE)?, None))
}

/// A set that tells what comes to a queue's descriptor.
fn alarm(fd: RawFd) -> io::Result<Epoll> {
    let alarm = Epoll::new()?;
    // SAFETY: the queue owns it and is open.
    alarm.add(unsafe { BorrowedFd::borrow_raw(fd) }, 0, Interest::Fresh)?;
    Ok(alarm)
}

fn table(domain: &Open<fid_domain>, info: &Info) -> Result<Open<fid_av>, i64> {
    let offered = info.domain().av_type;
    let mut attr = fi_av_attr {
        type_: if offered == 0 { FI_AV_TABLE } else { offered },
        rx_ctx_bits: 0,
        count: 0,
        ep_per_node: 0,
        name: std::ptr::null(),
        map_addr: null_mut(),
        flags: 0,
    };
    let mut av = null_mut();
    // SAFETY: the domain is open.
    opened(unsafe { calls::av_open(domain.pointer(), &mut attr, &mut av) }, av)
}
