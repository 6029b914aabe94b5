//! Making windows and freeing them (MPI-5.0 §12.2.3, §12.2.6).

use std::alloc::Layout;
use std::rc::Rc;
use std::sync::atomic::AtomicI64;

use super::Windows;
use crate::attributes::AttributeList;
use crate::errhandler::ERRORS_ARE_FATAL;
use crate::error::{Error, ErrorClass, Result};
use crate::handle::{CommHandle, WinHandle};
use crate::info::Info;
use crate::node_memory::Meeting;
use crate::port::{PeerId, Port};
use crate::process::Process;
use crate::rma::epochs::Epochs;
use crate::rma::memory::lines_of;
use crate::rma::{Part, Window, WindowSegment};
use crate::room::PAGE;
use crate::text::Text;
use crate::window_segments::WindowSegments;

/// What each process tells the others before the segment is made.
struct Request {
    size: u64,
    disp_unit: i64,
    apart: bool,
    /// What its part is to begin at a multiple of: a power of two.
    align: u64,
    /// 0, or the class of what is wrong with its arguments or its neighbours.
    class: i32,
}

impl Request {
    const BYTES: usize = 32;

    fn to_bytes(&self) -> [u8; Request::BYTES] {
        let class = u64::from(self.class.cast_unsigned()) << 1 | u64::from(self.apart);
        let words = [self.size, self.disp_unit.cast_unsigned(), class, self.align];
        std::array::from_fn(|at| words[at / 8].to_le_bytes()[at % 8])
    }

    fn from_bytes(bytes: &[u8]) -> Request {
        let word = |n: usize| u64::from_le_bytes(std::array::from_fn(|at| bytes[8 * n + at]));
        let class = (word(2) >> 1) as u32;
        Request {
            size: word(0),
            disp_unit: word(1).cast_signed(),
            apart: word(2) & 1 == 1,
            align: word(3),
            class: class.cast_signed(),
        }
    }
}

/// Where the parts lie, and the bytes of all: one after the other without a gap, or each from a
/// page of its own (`alloc_shared_noncontig`), as rank 0 wants it. What has an alignment begins at a multiple of the
/// greatest that is asked for; of parts without gaps that is the first.
fn lay_out(requests: &[Request]) -> Option<(Vec<Part>, Layout)> {
    let apart = requests.first().is_some_and(|first| first.apart);
    let align = requests.iter().map(|request| request.align).fold(PAGE as u64, u64::max);
    let mut offset = lines_of(requests.len() as u32, align)?;
    let mut parts = Vec::with_capacity(requests.len());
    for request in requests {
        let place = (!apart || request.size > 0).then_some(offset);
        parts.push(Part { offset: place, size: request.size, disp_unit: request.disp_unit });
        offset = offset.checked_add(request.size)?;
        if apart {
            offset = offset.checked_next_multiple_of(align)?;
        }
    }
    let layout = Layout::from_size_align(offset.try_into().ok()?, align.try_into().ok()?);
    Some((parts, layout.ok()?))
}

fn check(size: i64, disp_unit: i64) -> Result<u64> {
    if disp_unit <= 0 {
        crate::fail!(DISP, "disp_unit", "is {disp_unit}, but must be at least 1");
    }
    match u64::try_from(size) {
        Ok(size) => Ok(size),
        Err(_) => crate::fail!(SIZE, "size", "is {size}, but must not be negative"),
    }
}

impl Window {
    /// Whether it may be freed: it is in no epoch but one that a fence began.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_SYNC`.
    pub fn check_free(&self) -> Result<()> {
        self.epochs.check_quiet("be freed")
    }
}

impl<P: Port> Windows<'_, P> {
    /// `MPI_Win_allocate_shared`: a window of memory that all processes of `comm` have mapped.
    ///
    /// # Errors
    /// `MPI_ERR_SIZE`, `MPI_ERR_DISP`; `MPI_ERR_RMA_SHARED` when not all of them share a node;
    /// `MPI_ERR_NO_MEM`. If one process fails all do.
    pub fn allocate_shared(
        &mut self,
        comm: CommHandle,
        size: i64,
        disp_unit: i64,
        hints: Info,
    ) -> Result<WinHandle> {
        if self.entry.comm(comm)?.remote.is_some() {
            crate::fail!(COMM, "comm", "is an intercommunicator, which can have no windows");
        }
        let own = self.entry.communicators().duplicate(comm)?;
        let apart = hints.hint_bool("alloc_shared_noncontig") == Some(true);
        let align = hints.hint_alignment().map_or(1, |align| align as u64);
        let request = Request { size: 0, disp_unit, apart, align, class: 0 };
        let made = self.share(own, check(size, disp_unit), request);
        let window = made.and_then(|(segment, parts)| {
            let rank = self.entry.comm(own)?.rank;
            self.entry.windows.insert(Window {
                comm: own,
                name: Text::new(),
                errhandler: ERRORS_ARE_FATAL,
                attributes: AttributeList::default(),
                hints,
                shown: Box::new([const { AtomicI64::new(0) }; 4]),
                segment: Rc::new(segment),
                parts,
                rank,
                epochs: Epochs::default(),
            })
        });
        if window.is_err() {
            self.entry.communicators().free(own)?;
        }
        window
    }

    /// The segment of a new window, mapped at all of its processes.
    fn share(
        &mut self,
        comm: CommHandle,
        size: Result<u64>,
        request: Request,
    ) -> Result<(WindowSegment, Vec<Part>)> {
        let mine = match size {
            Ok(size) => self.meet_all(comm).map(|()| size),
            wrong => wrong,
        };
        let class = mine.as_ref().err().map_or(0, |error| error.class().0);
        let size = mine.as_ref().map_or(0, |size| *size);
        let request = Request { size, class, ..request };
        let told = self.entry.members(comm).allgather(&request.to_bytes())?;
        mine?;
        let requests: Vec<Request> =
            told.chunks_exact(Request::BYTES).map(Request::from_bytes).collect();
        if let Some(rank) = requests.iter().position(|request| request.class != 0) {
            let text = format!("rank {rank} of the window failed; see its message");
            return Err(Error::new(ErrorClass(requests[rank].class), text));
        }
        let Some((parts, layout)) = lay_out(&requests) else {
            let text =
                "and those of the others, each at its alignment, are together beyond 63 bits";
            crate::fail!(SIZE, "size", "{text}");
        };
        Ok((self.map_together(comm, layout)?, parts))
    }

    /// Makes contact with all members of a communicator that may share memory.
    fn meet_all(&mut self, comm: CommHandle) -> Result<()> {
        let own = self.entry.own_peer();
        let members: Vec<PeerId> = self.entry.comm(comm)?.group.iter().collect();
        for (rank, &peer) in members.iter().enumerate().filter(|(_, peer)| **peer != own) {
            if self.entry.members(comm).meet(peer) != Meeting::Near {
                let text = format!("has rank {rank}, with whom this process shares no memory");
                return Err(Error::param(ErrorClass::RMA_SHARED, "comm", text).hint(
                    "Split it with MPI_Comm_split_type(MPI_COMM_TYPE_SHARED) and use the result.",
                ));
            }
        }
        Ok(())
    }

    /// Rank 0 makes a segment, all others map it.
    fn map_together(&mut self, comm: CommHandle, layout: Layout) -> Result<WindowSegment> {
        let state = self.entry.comm(comm)?;
        let (rank, mark) = (state.rank, state.context);
        let members: Vec<PeerId> = state.group.iter().collect();
        let refused = |why: String| Error::new(ErrorClass::NO_MEM, why);
        if rank != 0 {
            self.entry.members(comm).fail_together(Ok(()))?;
            let mut fetched = None;
            let call = |process: &Process<P>| process.waits_to_meet(comm, members[0]);
            self.entry.block_in(call, |process| {
                let memory = process.port.memory_mut();
                fetched = fetched
                    .take()
                    .or_else(|| memory.fetch_window_segment(mark, members[0], layout));
                fetched.is_some()
            });
            let fetched = fetched.expect("awaited").map_err(refused);
            return self.entry.members(comm).fail_together(fetched);
        }
        let made = self.entry.port.memory_mut().make_window_segment(mark, layout).map_err(refused);
        let made = self.entry.members(comm).fail_together(made);
        if made.is_ok() {
            members[1..]
                .iter()
                .for_each(|peer| self.entry.port.memory_mut().post_window_segment(mark, *peer));
        }
        let made = made.and_then(|segment| self.entry.members(comm).fail_together(Ok(segment)));
        self.entry.port.memory_mut().end_posting(mark);
        made
    }

    /// `MPI_Win_free`: waits for all; its attributes have been deleted.
    ///
    /// # Errors
    /// As [`Window::check_free`].
    pub fn free(&mut self, win: WinHandle) -> Result<()> {
        let window = self.entry.window(win)?;
        window.check_free()?;
        let comm = window.comm;
        self.entry.members(comm).barrier()?;
        let Window { errhandler, segment, .. } = self.entry.windows.remove(win)?;
        drop(segment);
        self.entry.always.errhandlers.lock().release(errhandler)?;
        self.entry.communicators().free(comm)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(size: u64, apart: bool) -> Request {
        Request { size, disp_unit: 8, apart, align: 1, class: 0 }
    }

    #[test]
    fn parts_follow_each_other_or_begin_on_pages() {
        for apart in [false, true] {
            let sizes = [5, 0, 4096, 1];
            let requests: Vec<Request> = sizes.iter().map(|size| request(*size, apart)).collect();
            let (parts, len) = lay_out(&requests).unwrap();
            let places: Vec<Option<u64>> = parts.iter().map(|part| part.offset).collect();
            let (empty, last) = if apart { (None, 12288) } else { (Some(4101), 8197) };
            let third = if apart { 8192 } else { 4101 };
            assert_eq!(places, [Some(4096), empty, Some(third), Some(last)]);
            assert_eq!(len.size() as u64, if apart { 16384 } else { last + 1 });
        }
        assert!(lay_out(&[request(u64::MAX - 5000, false), request(5000, false)]).is_none());
        assert!(lay_out(&[request(1 << 62, false), request(1 << 62, false)]).is_none());
    }

    #[test]
    fn parts_begin_at_multiples_of_the_greatest_alignment() {
        let aligned = |align| Request { align, ..request(100, true) };
        let (parts, layout) = lay_out(&[aligned(1), aligned(1 << 16), aligned(256)]).unwrap();
        let places: Vec<Option<u64>> = parts.iter().map(|part| part.offset).collect();
        assert_eq!(places, [1, 2, 3].map(|n| Some(n << 16)));
        assert_eq!(layout.align(), 1 << 16);
        assert!(lay_out(&[aligned(1 << 63)]).is_none());
    }

    #[test]
    fn requests_come_back_as_they_were() {
        let sent = Request { size: 7 << 40, disp_unit: -3, apart: true, align: 64, class: 49 };
        let got = Request::from_bytes(&sent.to_bytes());
        assert_eq!((got.size, got.disp_unit, got.apart), (7 << 40, -3, true));
        assert_eq!((got.align, got.class), (64, 49));
    }
}
