//! The objects of a verbs device, owned: each goes when its last owner lets it go, and after what was made from it.

use std::ffi::c_int;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::Arc;

use rdma_sys::{
    ibv_ah, ibv_ah_attr, ibv_async_event, ibv_comp_channel, ibv_context, ibv_cq, ibv_mr, ibv_pd,
    ibv_poll_cq, ibv_post_srq_recv, ibv_recv_wr, ibv_req_notify_cq, ibv_sge, ibv_srq, ibv_srq_attr,
    ibv_srq_init_attr, ibv_wc,
};

use super::library::Library;

/// What a call that makes an object has made.
fn made<T>(object: *mut T) -> io::Result<NonNull<T>> {
    NonNull::new(object).ok_or_else(io::Error::last_os_error)
}

/// What a call that answers with an error number has done.
pub(super) fn answered(answer: c_int) -> io::Result<()> {
    match answer {
        0 => Ok(()),
        -1 => Err(io::Error::last_os_error()),
        number => Err(io::Error::from_raw_os_error(number)),
    }
}

/// Objects of libibverbs may be used by any thread, one at a time where the caller says so: all calls below
/// that change an object's state take it alone, or are made for several threads by that library.
macro_rules! sendable {
    ($($type:ty),*) => {
        $(
            // SAFETY: libibverbs is made for threads: its objects belong to none, and its calls lock.
            unsafe impl Send for $type {}
            // SAFETY: as above.
            unsafe impl Sync for $type {}
        )*
    };
}
sendable!(Context, Pd, Channel, Cq, Srq, Mr, Ah);

/// An open device.
#[derive(Debug)]
pub(super) struct Context {
    pub(super) library: &'static Library,
    pub(super) raw: NonNull<ibv_context>,
}

impl Context {
    /// Takes over an open device.
    ///
    /// # Safety
    /// It came from `open_device` just now, and nobody else closes it.
    pub(super) unsafe fn from_raw(library: &'static Library, raw: NonNull<ibv_context>) -> Context {
        Context { library, raw }
    }

    /// What is readable when the device has something to say that no work asked for.
    pub(super) fn async_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the descriptor is open as long as the context.
        unsafe { BorrowedFd::borrow_raw(self.raw.as_ref().async_fd) }
    }

    /// The next of that, if there is any: its kind, and the queue pair or port that it is about.
    ///
    /// # Errors
    /// The device is gone.
    pub(super) fn event(&self) -> io::Result<Option<Event>> {
        let mut event = MaybeUninit::<ibv_async_event>::zeroed();
        // SAFETY: the library fills the event; its descriptor does not block (`unblocked`).
        let answer =
            unsafe { (self.library.get_async_event)(self.raw.as_ptr(), event.as_mut_ptr()) };
        if answer != 0 {
            return no_news().map(|()| None);
        }
        // The kind is read as a number: a library newer than the type may know further ones.
        // SAFETY: filled by the call; which half of the union is valid follows from the kind; a queue pair is one of
        // ours, which lives until its events are acknowledged.
        unsafe {
            let kind = (&raw const (*event.as_ptr()).event_type).cast::<u32>().read();
            let element = &raw const (*event.as_ptr()).element;
            let subject = match kind {
                1..=7 | 16 => Subject::QueuePair((*(*element).qp).qp_num),
                9..=13 | 17 | 18 => Subject::Port((*element).port_num as u8),
                _ => Subject::Device,
            };
            (self.library.ack_async_event)(event.as_mut_ptr());
            Ok(Some(Event { kind, subject }))
        }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: ours, and all that was made from it is gone: each such object holds it.
        unsafe { (self.library.close_device)(self.raw.as_ptr()) };
    }
}

/// What a device says by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Event {
    pub(super) kind: u32,
    pub(super) subject: Subject,
}

/// What an event is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Subject {
    QueuePair(u32),
    Port(u8),
    Device,
}

/// A descriptor of a device's, made not to block.
pub(super) fn unblocked(fd: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: integers only.
    let answer = unsafe {
        let flags = libc::fcntl(fd.as_raw_fd(), libc::F_GETFL);
        libc::fcntl(fd.as_raw_fd(), libc::F_SETFL, flags | libc::O_NONBLOCK)
    };
    if answer == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Why a call that reads has read nothing: there is nothing, or the device is gone.
fn no_news() -> io::Result<()> {
    let error = io::Error::last_os_error();
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(()),
        _ => Err(error),
    }
}

/// Whether what a descriptor tells of is gone: then it is readable for ever, whatever a read says.
fn has_gone(fd: BorrowedFd<'_>) -> bool {
    let mut entry = libc::pollfd { fd: fd.as_raw_fd(), events: 0, revents: 0 };
    // SAFETY: one entry, ours for the call.
    unsafe { libc::poll(&raw mut entry, 1, 0) == 1 }
}

/// A protection domain.
#[derive(Debug)]
pub(super) struct Pd {
    pub(super) context: Arc<Context>,
    pub(super) raw: NonNull<ibv_pd>,
}

impl Pd {
    pub(super) fn new(context: &Arc<Context>) -> io::Result<Pd> {
        // SAFETY: an open device.
        let raw = made(unsafe { (context.library.alloc_pd)(context.raw.as_ptr()) })?;
        Ok(Pd { context: Arc::clone(context), raw })
    }
}

impl Drop for Pd {
    fn drop(&mut self) {
        // SAFETY: ours, and what was made from it is gone.
        unsafe { (self.context.library.dealloc_pd)(self.raw.as_ptr()) };
    }
}

/// A descriptor that tells of completions.
#[derive(Debug)]
pub(super) struct Channel {
    context: Arc<Context>,
    raw: NonNull<ibv_comp_channel>,
}

impl Channel {
    pub(super) fn new(context: &Arc<Context>) -> io::Result<Channel> {
        // SAFETY: an open device.
        let raw = made(unsafe { (context.library.create_comp_channel)(context.raw.as_ptr()) })?;
        let channel = Channel { context: Arc::clone(context), raw };
        unblocked(channel.fd())?;
        Ok(channel)
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the descriptor is open as long as the channel.
        unsafe { BorrowedFd::borrow_raw(self.raw.as_ref().fd) }
    }

    /// Takes all that the channel has told, so that it is quiet.
    ///
    /// # Errors
    /// The device is gone.
    pub(super) fn quiet(&self) -> io::Result<()> {
        let (mut cq, mut context) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: the library writes two pointers, one to a queue of this channel, which its owner keeps longer
        // than events are taken; the event is acknowledged at once, so that the queue can go.
        unsafe {
            while (self.context.library.get_cq_event)(self.raw.as_ptr(), &mut cq, &mut context) == 0
            {
                (self.context.library.ack_cq_events)(cq, 1);
            }
        }
        no_news()?;
        if has_gone(self.fd()) {
            return Err(io::Error::other("it was removed"));
        }
        Ok(())
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        // SAFETY: ours, and its queues are gone.
        unsafe { (self.context.library.destroy_comp_channel)(self.raw.as_ptr()) };
    }
}

/// A completion queue.
#[derive(Debug)]
pub(super) struct Cq {
    channel: Arc<Channel>,
    pub(super) raw: NonNull<ibv_cq>,
}

/// Completions that are taken at once.
pub(super) const BATCH: usize = 16;

impl Cq {
    /// One of at least so many entries.
    pub(super) fn new(channel: &Arc<Channel>, entries: usize) -> io::Result<Cq> {
        let context = &channel.context;
        let entries = c_int::try_from(entries).unwrap_or(c_int::MAX);
        // SAFETY: an open device and its channel.
        let raw = unsafe {
            let (context_raw, channel) = (context.raw.as_ptr(), channel.raw.as_ptr());
            let create = context.library.create_cq;
            made(create(context_raw, entries, std::ptr::null_mut(), channel, 0))?
        };
        Ok(Cq { channel: Arc::clone(channel), raw })
    }

    /// Asks for an event on the channel at the next completion.
    pub(super) fn arm(&self) -> bool {
        // SAFETY: a queue of ours.
        unsafe { ibv_req_notify_cq(self.raw.as_ptr(), 0) == 0 }
    }

    /// Takes some completions; the slice is valid as far as told.
    pub(super) fn poll<'a>(
        &self,
        into: &'a mut [MaybeUninit<ibv_wc>; BATCH],
    ) -> io::Result<&'a [ibv_wc]> {
        // SAFETY: the device writes at most `BATCH` entries, and says how many.
        let n = unsafe { ibv_poll_cq(self.raw.as_ptr(), BATCH as c_int, into.as_mut_ptr().cast()) };
        let n = usize::try_from(n).map_err(|_| io::Error::other("its completion queue failed"))?;
        // SAFETY: so many were written.
        Ok(unsafe { std::slice::from_raw_parts(into.as_ptr().cast(), n.min(BATCH)) })
    }
}

impl Drop for Cq {
    fn drop(&mut self) {
        // SAFETY: ours, and the queue pairs on it are gone; all events of it are acknowledged (`quiet`).
        unsafe { (self.channel.context.library.destroy_cq)(self.raw.as_ptr()) };
    }
}

/// A queue of buffers that all queue pairs share.
#[derive(Debug)]
pub(super) struct Srq {
    pd: Arc<Pd>,
    pub(super) raw: NonNull<ibv_srq>,
}

impl Srq {
    /// One for so many buffers.
    pub(super) fn new(pd: &Arc<Pd>, buffers: usize) -> io::Result<Srq> {
        let mut attributes = ibv_srq_init_attr {
            srq_context: std::ptr::null_mut(),
            attr: ibv_srq_attr { max_wr: buffers as u32, max_sge: 1, srq_limit: 0 },
        };
        // SAFETY: a domain and attributes of ours.
        let raw = unsafe { (pd.context.library.create_srq)(pd.raw.as_ptr(), &raw mut attributes) };
        Ok(Srq { pd: Arc::clone(pd), raw: made(raw)? })
    }

    /// Gives it a buffer, or none for work that needs only to be told of.
    ///
    /// # Safety
    /// The memory is the device's until this completes.
    pub(super) unsafe fn post(&self, number: u64, buffer: Option<ibv_sge>) -> io::Result<()> {
        let mut pieces = buffer.unwrap_or(ibv_sge { addr: 0, length: 0, lkey: 0 });
        let mut request = ibv_recv_wr {
            wr_id: number,
            next: std::ptr::null_mut(),
            sg_list: &raw mut pieces,
            num_sge: c_int::from(buffer.is_some()),
        };
        let mut bad = std::ptr::null_mut();
        // SAFETY: a queue of ours; the request is copied in the call, the buffer is as the caller says.
        answered(unsafe { ibv_post_srq_recv(self.raw.as_ptr(), &raw mut request, &raw mut bad) })
    }
}

impl Drop for Srq {
    fn drop(&mut self) {
        // SAFETY: ours, and its queue pairs are gone.
        unsafe { (self.pd.context.library.destroy_srq)(self.raw.as_ptr()) };
    }
}

/// Registered memory.
#[derive(Debug)]
pub(super) struct Mr {
    pd: Arc<Pd>,
    raw: NonNull<ibv_mr>,
}

impl Mr {
    /// Registers memory.
    ///
    /// # Safety
    /// As `Memory::register`.
    pub(super) unsafe fn new(
        pd: &Arc<Pd>,
        address: *mut u8,
        len: usize,
        access: u32,
    ) -> io::Result<Mr> {
        // SAFETY: the range is the caller's, and stays.
        let raw = unsafe {
            (pd.context.library.reg_mr)(pd.raw.as_ptr(), address.cast(), len, access as c_int)
        };
        Ok(Mr { pd: Arc::clone(pd), raw: made(raw)? })
    }

    pub(super) fn local_key(&self) -> u32 {
        // SAFETY: the registration is valid.
        unsafe { self.raw.as_ref().lkey }
    }

    pub(super) fn remote_key(&self) -> u32 {
        // SAFETY: the registration is valid.
        unsafe { self.raw.as_ref().rkey }
    }
}

impl Drop for Mr {
    fn drop(&mut self) {
        // SAFETY: ours; no work uses it, by whoever lets it go.
        unsafe { (self.pd.context.library.dereg_mr)(self.raw.as_ptr()) };
    }
}

/// The way to a process for datagrams.
#[derive(Debug)]
pub(super) struct Ah {
    pd: Arc<Pd>,
    pub(super) raw: NonNull<ibv_ah>,
}

impl Ah {
    pub(super) fn new(pd: &Arc<Pd>, mut attributes: ibv_ah_attr) -> io::Result<Ah> {
        // SAFETY: a domain and attributes of ours.
        let raw = unsafe { (pd.context.library.create_ah)(pd.raw.as_ptr(), &raw mut attributes) };
        Ok(Ah { pd: Arc::clone(pd), raw: made(raw)? })
    }
}

impl Drop for Ah {
    fn drop(&mut self) {
        // SAFETY: ours; the datagrams that used it are sent.
        unsafe { (self.pd.context.library.destroy_ah)(self.raw.as_ptr()) };
    }
}
