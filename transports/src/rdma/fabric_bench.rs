//! Where the conformance set of fabrics ([`super::fabric_set`]) works: some ends in one process, their memory, and
//! an account of all their work.
//!
//! Each end has one registered arena: slots in which messages come, slots from which they go, a source of
//! writes, and a window that all others may write and read.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::collections::{HashMap, HashSet, VecDeque};
use std::time::{Duration, Instant};

use mpi_core::port::{PeerId, ProcessName};

use super::fabric::{Access, Completion, Fabric, Local, NoRoom, Remote, Target, Work};

/// The job that the ends belong to; end `i` has rank `i` in it.
pub const JOB: &str = "fabric-set";
/// What it knows.
pub const SECRET: [u8; 32] = [7; 32];

/// Bytes of a message in the set at most: more than what providers of libfabric send at once.
pub(super) const SLOT: usize = 40 << 10;
/// Slots in which messages come, and as many from which they go.
pub(super) const SLOTS: usize = 16;
/// Bytes of the source of writes, and of the window.
pub(super) const OPEN: usize = 64 << 10;

const SOURCE_AT: usize = 2 * SLOTS * SLOT;
const WINDOW_AT: usize = SOURCE_AT + OPEN;
const ARENA: usize = WINDOW_AT + OPEN;

/// Time after which what has not come is lost.
const PATIENCE: Duration = Duration::from_secs(60);

/// Works of posted buffers begin here.
const POSTED: u64 = 1 << 32;

/// Zeroed memory that begins at a page.
pub(super) struct Pages {
    pub(super) at: *mut u8,
    layout: Layout,
}

impl Pages {
    pub(super) fn new(len: usize) -> Pages {
        let layout = Layout::from_size_align(len, 4096).expect("a length of the set");
        // SAFETY: the length is not zero.
        let at = unsafe { alloc_zeroed(layout) };
        assert!(!at.is_null(), "no memory");
        Pages { at, layout }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: made by this allocator with this layout.
        unsafe { dealloc(self.at, self.layout) }
    }
}

/// What came by itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Arrival {
    Message { from: PeerId, bytes: Vec<u8> },
    Written { from: PeerId, immediate: u32 },
}

/// An end under test. The fabric goes before its memory does.
pub(super) struct End<F: Fabric> {
    pub(super) fabric: F,
    pub(super) region: F::Region,
    arena: Pages,
    works: u64,
    /// Works that have not completed, and the slot that each keeps.
    open: HashMap<Work, Option<usize>>,
    posted: HashSet<u64>,
    busy: HashSet<usize>,
    pub(super) failed: Vec<Work>,
    pub(super) arrivals: VecDeque<Arrival>,
    pub(super) up: Vec<PeerId>,
    pub(super) down: Vec<(PeerId, String)>,
}

impl<F: Fabric> End<F> {
    fn new(mut fabric: F) -> End<F> {
        fabric.set_secret(SECRET);
        let arena = Pages::new(ARENA);
        // SAFETY: the arena outlives the fabric, by the order of the fields.
        let region = unsafe { fabric.register(arena.at, ARENA, Access::All) };
        let region = region.expect("an arena can be registered");
        End {
            fabric,
            region,
            arena,
            works: 0,
            open: HashMap::new(),
            posted: HashSet::new(),
            busy: HashSet::new(),
            failed: Vec::new(),
            arrivals: VecDeque::new(),
            up: Vec::new(),
            down: Vec::new(),
        }
    }

    fn local(&self, at: usize, len: usize) -> Local<F::Region> {
        assert!(at + len <= ARENA);
        Local { region: self.region, address: self.arena.at.wrapping_add(at), len }
    }

    fn load(&self, at: usize, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        // SAFETY: within the arena; who waits for a completion reads what nobody writes any more.
        unsafe { self.local(at, len).address.copy_to_nonoverlapping(bytes.as_mut_ptr(), len) };
        bytes
    }

    fn store(&mut self, at: usize, bytes: &[u8]) {
        let place = self.local(at, bytes.len()).address;
        // SAFETY: within the arena, and not the memory of work that is under way, by its callers.
        unsafe { place.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    }

    /// What stands in the window, from its beginning.
    pub(super) fn window(&self, len: usize) -> Vec<u8> {
        self.load(WINDOW_AT, len)
    }

    /// Changes the window.
    pub(super) fn set_window(&mut self, bytes: &[u8]) {
        self.store(WINDOW_AT, bytes);
    }

    /// What stands in the source, where reads and atomics come as well.
    pub(super) fn source(&self, len: usize) -> Vec<u8> {
        self.load(SOURCE_AT, len)
    }

    /// A place in the window, as others name it.
    pub(super) fn place(&self, at: usize) -> Target {
        let Remote { base, key } = self.fabric.remote(self.region);
        Target { address: base + (WINDOW_AT + at) as u64, key }
    }

    /// A piece of the source, for whatever is read or fetched.
    pub(super) fn source_piece(&self, at: usize, len: usize) -> Local<F::Region> {
        self.local(SOURCE_AT + at, len)
    }

    fn begin(&mut self, slot: Option<usize>) -> Work {
        self.works += 1;
        let work = Work(self.works);
        self.open.insert(work, slot);
        work
    }

    /// Numbers a work request and posts it; whether there was room.
    pub(super) fn try_work(
        &mut self,
        slot: Option<usize>,
        post: impl FnOnce(&mut F, Work) -> Result<(), NoRoom>,
    ) -> Option<Work> {
        let work = self.begin(slot);
        let posted = post(&mut self.fabric, work).is_ok();
        if posted {
            self.busy.extend(slot);
        } else {
            self.open.remove(&work);
        }
        posted.then_some(work)
    }

    /// Sends these bytes, if a slot is free and there is room; what fits inline is overwritten at once.
    pub(super) fn try_send(&mut self, to: PeerId, bytes: &[u8]) -> bool {
        let Some(slot) = (0..SLOTS).find(|slot| !self.busy.contains(slot)) else { return false };
        let at = (SLOTS + slot) * SLOT;
        self.store(at, bytes);
        let message = self.local(at, bytes.len());
        let is_inline = bytes.len() <= self.fabric.abilities().inline_bytes;
        if is_inline && self.works % 2 == 1 {
            self.works += 1;
            // SAFETY: it is copied in the call.
            let is_sent = unsafe { self.fabric.send(to, message, None) }.is_ok();
            self.store(at, &vec![0xee; bytes.len()]);
            return is_sent;
        }
        // SAFETY: the slot is this work's until it completes.
        let send = |fabric: &mut F, work| unsafe { fabric.send(to, message, Some(work)) };
        let is_sent = self.try_work(Some(slot), send).is_some();
        if is_inline {
            self.store(at, &vec![0xee; bytes.len()]);
        }
        is_sent
    }

    /// Writes these bytes out of the source, which nothing else uses meanwhile.
    pub(super) fn try_write(
        &mut self,
        way: (PeerId, usize),
        bytes: &[u8],
        target: Target,
        immediate: Option<u32>,
    ) -> Option<Work> {
        self.try_write_from(0, way, bytes, target, immediate)
    }

    /// The same, where another part of the source is in use.
    pub(super) fn try_write_from(
        &mut self,
        at: usize,
        (to, rail): (PeerId, usize),
        bytes: &[u8],
        target: Target,
        immediate: Option<u32>,
    ) -> Option<Work> {
        self.store(SOURCE_AT + at, bytes);
        let from = self.source_piece(at, bytes.len());
        // SAFETY: the source stays as it is until the work completes, by this function's callers.
        self.try_work(None, |fabric, work| unsafe {
            fabric.write(to, rail, from, target, immediate, Some(work))
        })
    }

    /// Posts buffers until so many are with the fabric.
    pub(super) fn post(&mut self, number: usize) {
        for slot in 0..SLOTS as u64 {
            if self.posted.len() >= number {
                return;
            }
            if self.posted.insert(slot) {
                let buffer = self.local(slot as usize * SLOT, SLOT);
                // SAFETY: the slot is the fabric's until it completes.
                let posted = unsafe { self.fabric.post(buffer, Work(POSTED + slot)) };
                posted.expect("room for the few buffers of the set");
            }
        }
    }

    /// Whether this work has ended.
    pub(super) fn is_over(&self, work: Work) -> bool {
        !self.open.contains_key(&work)
    }

    /// Work that has not ended.
    pub(super) fn open(&self) -> usize {
        self.open.len()
    }

    /// Polls once; whether anything came.
    pub(super) fn poll(&mut self) -> bool {
        let mut news = Vec::new();
        self.fabric.poll(&mut news);
        let came = !news.is_empty();
        news.into_iter().for_each(|completion| self.take(completion));
        came
    }

    fn take(&mut self, completion: Completion) {
        match completion {
            Completion::Done(work) => self.end(work),
            Completion::Failed(work) => {
                self.failed.push(work);
                self.end(work);
            }
            Completion::Received { peer, work, len } => {
                let slot = self.posted_slot(work);
                assert!(len <= SLOT, "a message of {len} bytes in a buffer of {SLOT}");
                let bytes = self.load(slot * SLOT, len);
                assert!(!self.is_down(peer), "a message of {peer:?} after its Down");
                self.arrivals.push_back(Arrival::Message { from: peer, bytes });
            }
            Completion::Written { peer, immediate, work } => {
                work.map(|work| self.posted_slot(work));
                self.arrivals.push_back(Arrival::Written { from: peer, immediate });
            }
            Completion::Unused(work) => {
                self.posted_slot(work);
            }
            Completion::Up(peer) => {
                assert!(!self.up.contains(&peer), "a second Up of {peer:?}");
                assert!(!self.is_down(peer), "{peer:?} is up after its Down");
                self.up.push(peer);
            }
            Completion::Down(peer, why) => {
                assert!(!self.is_down(peer), "a second Down of {peer:?}: {why}");
                self.down.push((peer, why));
            }
        }
    }

    fn end(&mut self, work: Work) {
        let slot = self.open.remove(&work);
        let slot = slot.unwrap_or_else(|| panic!("{work:?} completes, but is not under way"));
        slot.map(|slot| self.busy.remove(&slot));
    }

    fn posted_slot(&mut self, work: Work) -> usize {
        let slot = work.0.wrapping_sub(POSTED);
        assert!(self.posted.remove(&slot), "{work:?} is no buffer that the fabric has");
        slot as usize
    }

    pub(super) fn is_down(&self, peer: PeerId) -> bool {
        self.down.iter().any(|(down, _)| *down == peer)
    }
}

/// Some ends; the `i`-th knows the `k`-th as `PeerId(k)`.
pub(super) struct Bench<F: Fabric> {
    pub(super) ends: Vec<End<F>>,
}

impl<F: Fabric> Bench<F> {
    /// Ends that know each other's names.
    pub(super) fn new(fabrics: Vec<F>) -> Bench<F> {
        let mut ends: Vec<End<F>> = fabrics.into_iter().map(End::new).collect();
        for i in 0..ends.len() {
            for k in (0..ends.len()).filter(|&k| k != i) {
                let name = ProcessName { job: JOB.to_owned(), rank: k as u32 };
                ends[i].fabric.add_peer(PeerId(k as u32), &name);
            }
        }
        Bench { ends }
    }

    /// Ends all of which are connected, with so many buffers posted.
    pub(super) fn connected(fabrics: Vec<F>, posted: usize) -> Bench<F> {
        let mut bench = Bench::new(fabrics);
        let number = bench.ends.len();
        for i in 0..number {
            bench.ends[i].post(posted);
            for k in (0..number).filter(|&k| k != i) {
                bench.meet(i, k);
                bench.ends[i].fabric.reach(PeerId(k as u32));
            }
        }
        bench.until("all to be connected", |bench| {
            bench.ends.iter().all(|end| end.up.len() == number - 1)
        });
        bench
    }

    /// Tells one end where another is.
    pub(super) fn meet(&mut self, i: usize, k: usize) {
        let card = self.ends[k].fabric.card();
        self.ends[i].fabric.meet(PeerId(k as u32), &card).expect("a way to the other end");
    }

    /// Polls all ends once, and tells them where those are who have come by themselves.
    pub(super) fn round(&mut self) {
        let mut is_busy = false;
        for i in 0..self.ends.len() {
            is_busy |= self.ends[i].poll();
            if let Some(peer) = self.ends[i].fabric.sought() {
                self.meet(i, peer.0 as usize);
                is_busy = true;
            }
        }
        if !is_busy {
            std::thread::yield_now();
        }
    }

    /// Polls all ends until something is so.
    pub(super) fn until(&mut self, what: &str, mut is_so: impl FnMut(&mut Self) -> bool) {
        let begun = Instant::now();
        while !is_so(self) {
            self.round();
            if begun.elapsed() > PATIENCE {
                let open: Vec<usize> = self.ends.iter().map(End::open).collect();
                let down: Vec<_> = self.ends.iter().map(|end| &end.down).collect();
                panic!("{}: waited in vain for {what}; open {open:?}, down {down:?}", F::NAME);
            }
        }
    }

    /// Posts work at one end, as soon as there is room, and waits for its end.
    pub(super) fn work(
        &mut self,
        i: usize,
        what: &str,
        mut post: impl FnMut(&mut End<F>) -> Option<Work>,
    ) -> Work {
        let mut work = None;
        self.until(what, |bench| {
            work = work.or_else(|| post(&mut bench.ends[i]));
            work.is_some_and(|work| bench.ends[i].is_over(work))
        });
        work.expect("there was room")
    }

    /// Sends one message and waits until it has come, with these bytes.
    pub(super) fn tell(&mut self, i: usize, k: usize, bytes: &[u8]) {
        let mut is_sent = false;
        self.until("a message", |bench| {
            is_sent = is_sent || bench.ends[i].try_send(PeerId(k as u32), bytes);
            is_sent && !bench.ends[k].arrivals.is_empty()
        });
        let message = Arrival::Message { from: PeerId(i as u32), bytes: bytes.to_vec() };
        assert_eq!(self.ends[k].arrivals.pop_front(), Some(message));
        self.ends[k].post(SLOTS);
    }
}
