//! Simulated ranks of several threads, which take turns in one MPI process (MPI-5.0 §11.6): fibers, of which the seed
//! draws who goes next wherever a turn is given away.

use std::cell::{Cell, RefCell};
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::Arc;

use mpi_core::callout::{Reduction, UserCode};
use mpi_core::entry::Entry;
use mpi_core::objects::Identity;
use mpi_core::process::Process;
use mpi_core::roll_call::Call;
use mpi_core::threads::Turns;
use transports::sim::{Pause, SharedNetwork, SimPort};

use super::{Hang, Outcome, RankContext, SimEntry, World};

/// Tells what the thread that runs is in.
type Publish = Box<dyn Fn(&Call)>;

/// What the threads of a rank share.
struct Shared {
    rank: u32,
    size: u32,
    network: SharedNetwork,
    pause: Rc<dyn Fn(Pause)>,
    publish: Publish,
    /// Whether a thread has the turn.
    held: Rc<Cell<bool>>,
    process: Cell<Option<NonNull<Process<SimPort>>>>,
    /// Calls so far, each of which has its number as that of its procedure.
    calls: Cell<u16>,
}

impl Turns for Shared {
    fn pass(&self) {
        self.give_way();
    }

    fn give_way(&self) {
        self.leave();
        (self.pause)(Pause::Yield);
        self.come();
    }

    fn leave(&self) {
        assert!(self.held.replace(false), "who leaves has the turn");
    }

    fn come(&self) {
        if self.held.get() {
            let held = Rc::clone(&self.held);
            (self.pause)(Pause::Until(Rc::new(move || !held.get())));
        }
        assert!(!self.held.replace(true), "one has the turn");
    }

    fn are_several(&self) -> bool {
        true
    }
}

impl Shared {
    /// An entry for who has the turn.
    fn entry(&self) -> SimEntry<'_> {
        let process = self.process.get().expect("the process lives while its threads do");
        // SAFETY: it lives as long as its threads run, and this one has the turn.
        unsafe { Entry::from_raw(process) }
    }

    fn call<R>(&self, mpi: impl FnOnce(&mut SimEntry<'_>) -> R) -> R {
        self.come();
        let mut entry = self.entry();
        self.calls.set(self.calls.get() % u16::MAX + 1);
        let procedure = self.calls.get();
        entry.procedure = procedure;
        let result = mpi(&mut entry);
        assert_eq!(entry.procedure, procedure, "a call is the same at its end");
        entry.end_turn();
        self.leave();
        (self.publish)(&Call::default());
        result
    }

    /// Others may have a turn before this thread goes on.
    fn dawdle(&self) {
        while self.network.borrow_mut().draw(2) == 0 {
            (self.pause)(Pause::Yield);
        }
    }
}

/// The only function of the programs: it adds integers of 64 bits, takes its time, and calls MPI.
impl UserCode for Shared {
    unsafe fn reduce(&self, reduction: &Reduction) {
        let [input, inout] = [reduction.input, reduction.inout.cast_const()].map(<*const u8>::cast);
        for at in 0..reduction.count as usize {
            // SAFETY: the caller's promise; the operands are integers of 64 bits, wherever they lie.
            unsafe {
                let [left, right]: [i64; 2] =
                    [input, inout].map(|data: *const i64| data.add(at).read_unaligned());
                reduction.inout.cast::<i64>().add(at).write_unaligned(left + right);
            }
            if at == 0 {
                self.dawdle();
                self.call(|mpi| assert_eq!(mpi.identity.rank, self.rank));
            }
        }
    }
}

/// One of the threads of a rank.
pub struct SimThread {
    /// Its number among them.
    pub number: u32,
    /// Its rank in the job.
    pub rank: u32,
    /// Ranks of the job.
    pub size: u32,
    shared: &'static Shared,
}

impl SimThread {
    fn new(number: u32, shared: &'static Shared) -> SimThread {
        SimThread { number, rank: shared.rank, size: shared.size, shared }
    }

    /// Takes a turn for what `mpi` does, which is a call of MPI; others may have turns when it waits, and behind it.
    pub fn call<R>(&self, mpi: impl FnOnce(&mut SimEntry<'_>) -> R) -> R {
        let result = self.shared.call(mpi);
        self.shared.dawdle();
        result
    }

    /// Goes on with what is under way, as a thread of the library's own, until it `ends`.
    pub fn watch(&self, ends: impl FnMut() -> bool) {
        self.shared.come();
        self.shared.entry().watch(ends);
        self.shared.leave();
    }

    /// Waits, outside of MPI, for what another thread of this rank does.
    pub fn wait_until(&self, is_so: impl Fn() -> bool + 'static) {
        (self.shared.pause)(Pause::Until(Rc::new(is_so)));
    }
}

impl World {
    /// Runs this world with an MPI process in each rank that several threads use: `begin` makes what they share, then
    /// each does what `body` says; what each has returned.
    ///
    /// # Errors
    /// As [`World::run`].
    ///
    /// # Panics
    /// As [`World::run`].
    pub fn start_threads<S: 'static, R: 'static>(
        &self,
        threads: u32,
        begin: impl Fn(&mut SimEntry<'_>) -> S + 'static,
        body: impl Fn(&SimThread, &S) -> R + 'static,
    ) -> Result<Outcome<Vec<R>>, Hang> {
        let body = Rc::new(body);
        self.start(move |context| live(context, threads, &begin, &body))
    }
}

fn live<S: 'static, R: 'static>(
    mut context: RankContext,
    threads: u32,
    begin: impl Fn(&mut SimEntry<'_>) -> S,
    body: &Rc<impl Fn(&SimThread, &S) -> R + 'static>,
) -> Vec<R> {
    let own = share(&context);
    // SAFETY: it is freed below, when no thread of this rank is there any more.
    let shared: &'static Shared = unsafe { &*own };
    begin_process(&mut context, shared);
    let main = SimThread::new(0, shared);
    let state = Rc::new(main.call(begin));
    let results: Rc<RefCell<Vec<(u32, R)>>> = Rc::default();
    for number in 1..threads {
        let (state, body, results) = (Rc::clone(&state), Rc::clone(body), Rc::clone(&results));
        context.spawn(&format!("thread {number}"), move || {
            let result = body(&SimThread::new(number, shared), &state);
            results.borrow_mut().push((number, result));
        });
    }
    let result = body(&main, &state);
    results.borrow_mut().push((0, result));
    let ended = Rc::clone(&results);
    main.wait_until(move || ended.borrow().len() == threads as usize);
    main.call(|mpi| mpi.block_until(|process| process.is_quiescent()));
    let process = shared.process.take().expect("it was made before");
    // SAFETY: it was made by a box, and no other thread is there any more.
    let mut process = unsafe { Box::from_raw(process.as_ptr()) };
    process.set_turns(None);
    drop(process);
    // SAFETY: it was made by a box, and nobody has it any more.
    drop(unsafe { Box::from_raw(own) });
    let mut results = results.take();
    results.sort_by_key(|(number, _)| *number);
    results.into_iter().map(|(_, result)| result).collect()
}

/// What the threads of a rank share, without a process as yet.
fn share(context: &RankContext) -> *mut Shared {
    Box::into_raw(Box::new(Shared {
        rank: context.rank,
        size: context.size,
        network: Rc::clone(context.network()),
        pause: context.pausing(),
        publish: Box::new(context.publishing()),
        held: Rc::default(),
        process: Cell::new(None),
        calls: Cell::new(0),
    }))
}

/// Makes the process.
fn begin_process(context: &mut RankContext, shared: &'static Shared) {
    let port = context.take_port();
    let port = port.answering_to(Rc::new(|answer| (shared.publish)(&answer.call)));
    let mut process = Box::new(Process::new(Some(port), shared, Arc::default()));
    process.set_turns(Some(shared));
    process.join(Identity { job: context.job.clone(), rank: context.rank, size: context.size });
    process.begin_world();
    shared.process.set(NonNull::new(Box::into_raw(process)));
}
