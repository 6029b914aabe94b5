//! The turns of threads that share a process, under loom, which tries every order of events: the waits are those of
//! [`mpi_core::threads`], the process is a model of two mailboxes (see `lane_model` for how a sleeper is rung).
//!
//! A wake-up or a turn that is lost leaves a thread asleep, which loom reports as a deadlock.

use std::cell::{Cell, UnsafeCell};
use std::ptr::NonNull;

use loom::sync::atomic::{AtomicU32, Ordering, fence};
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;
use mpi_core::rest::Rest;
use mpi_core::threads::{Shared, Sharer, Threads, Turns, rest};

loom::thread_local! {
    /// Which of the two threads this one is.
    static OWN: Cell<usize> = Cell::new(0);
}

/// The turn: held or not.
struct Turn {
    held: Mutex<bool>,
    free: Condvar,
}

impl Turns for Turn {
    fn pass(&self) {
        self.leave();
        self.come();
    }

    fn give_way(&self) {
        self.pass();
    }

    fn leave(&self) {
        *self.held.lock().expect("loom's locks are not poisoned") = false;
        self.free.notify_one();
    }

    fn come(&self) {
        let mut held = self.held.lock().expect("as above");
        while *held {
            held = self.free.wait(held).expect("as above");
        }
        *held = true;
    }

    fn are_several(&self) -> bool {
        true
    }
}

/// What a sleeper listens to: the process's socket, and its own bell.
#[derive(Default)]
struct Ears {
    datagrams: u32,
    bells: [bool; 2],
}

/// What the process shares with a sender.
struct Node {
    boxes: [AtomicU32; 2],
    parked: AtomicU32,
    ears: Mutex<Ears>,
    heard: Condvar,
}

/// Where one of the two threads sleeps.
#[derive(Clone)]
struct Bed {
    node: Arc<Node>,
    bell: usize,
    listens: bool,
}

impl mpi_core::rest::Bed for Bed {
    fn sleep(&self) {
        let mut ears = self.node.ears.lock().expect("as above");
        while !ears.bells[self.bell] && !(self.listens && ears.datagrams > 0) {
            ears = self.node.heard.wait(ears).expect("as above");
        }
        ears.bells[self.bell] = false;
    }

    fn wake(&self) {
        self.node.ears.lock().expect("as above").bells[self.bell] = true;
        self.node.heard.notify_all();
    }
}

/// The process.
struct Process {
    node: Arc<Node>,
    got: [u32; 2],
    /// The value of the parked word.
    word: u32,
    /// A datagram was taken.
    rung: bool,
    threads: Option<Threads<Process>>,
}

impl Process {
    fn park(&mut self) {
        self.word += 2;
        self.node.parked.store(self.word, Ordering::SeqCst);
        fence(Ordering::SeqCst);
    }

    fn has_mail(&self) -> bool {
        self.node.boxes.iter().any(|mail| mail.load(Ordering::Acquire) > 0)
    }
}

impl Shared for Process {
    type Bed = Bed;

    fn threads(&mut self) -> Option<&mut Threads<Process>> {
        self.threads.as_mut()
    }

    fn bed(&mut self) -> Bed {
        Bed { node: Arc::clone(&self.node), bell: OWN.with(Cell::get), listens: false }
    }

    fn lie_down(&mut self) -> Option<Bed> {
        self.park();
        (!self.has_mail()).then(|| Bed { listens: true, ..self.bed() })
    }

    fn look_after(&mut self) {
        self.node.parked.store(0, Ordering::Relaxed);
    }

    fn was_rung(&mut self) -> bool {
        std::mem::take(&mut self.rung)
    }

    fn oversleeps(&self) -> bool {
        false
    }
}

impl Process {
    /// Takes in what has come; whether anything has.
    fn take_in(&mut self) -> bool {
        self.rung |= std::mem::take(&mut self.node.ears.lock().expect("as above").datagrams) > 0;
        let mut any = false;
        for (mail, got) in self.node.boxes.iter().zip(&mut self.got) {
            if mail.load(Ordering::Acquire) > 0 {
                *got += mail.swap(0, Ordering::AcqRel);
                any = true;
            }
        }
        any
    }
}

/// The process, for both threads.
struct Both(UnsafeCell<Process>);

// SAFETY: whoever touches it has the turn.
unsafe impl Sync for Both {}
// SAFETY: as above.
unsafe impl Send for Both {}

/// Waits for one's own mail, as a call does.
fn receive(both: &Both, turn: &'static Turn, own: usize) {
    OWN.with(|thread| thread.set(own));
    turn.come();
    let mut how = Rest::Look;
    loop {
        // SAFETY: this thread has the turn, and `rest` gives it back when nothing is borrowed.
        let process = unsafe { &mut *both.0.get() };
        if process.got[own] > 0 {
            process.got[own] -= 1;
            process.end_turn();
            break;
        }
        if !process.take_in() {
            if process.threads().is_some_and(|threads| threads.is_looked_for()) {
                how = Rest::Sleep;
            }
            let process = NonNull::from(process);
            // SAFETY: as above.
            unsafe { rest(process, how, &mut |process| process.got[own] > 0) };
            how = Rest::Sleep;
        }
    }
    turn.leave();
}

/// Posts a letter, and rings who sleeps, once for each value of the parked word.
fn post(node: &Node, to: usize, rung: &mut u32) {
    node.boxes[to].fetch_add(1, Ordering::AcqRel);
    // What the sleeper's `membarrier` does for it.
    fence(Ordering::SeqCst);
    let word = node.parked.load(Ordering::Relaxed);
    if word != 0 && word != *rung {
        *rung = word;
        node.ears.lock().expect("as above").datagrams += 1;
        node.heard.notify_all();
    }
}

#[test]
fn two_threads_that_wait_both_get_their_mail() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let turn = Turn { held: Mutex::new(false), free: Condvar::new() };
        let turn = Box::into_raw(Box::new(turn));
        // SAFETY: it is freed when no thread is left.
        let turns: &'static Turn = unsafe { &*turn };
        let node = Arc::new(Node {
            boxes: std::array::from_fn(|_| AtomicU32::new(0)),
            parked: AtomicU32::new(0),
            ears: Mutex::new(Ears::default()),
            heard: Condvar::new(),
        });
        let both = Arc::new(Both(UnsafeCell::new(Process {
            node: Arc::clone(&node),
            got: [0; 2],
            word: 1,
            rung: false,
            threads: Some(Threads::new(turns)),
        })));
        let other = Arc::clone(&both);
        let second = thread::spawn(move || receive(&other, turns, 1));
        let sender = thread::spawn(move || {
            let mut rung = 0;
            post(&node, 0, &mut rung);
            post(&node, 1, &mut rung);
        });
        receive(&both, turns, 0);
        second.join().expect("it ends");
        sender.join().expect("it ends");
        // SAFETY: nobody is left who uses it.
        drop(unsafe { Box::from_raw(turn) });
    });
}
