//! The notices of a cache's witness under loom, which tries every order of events (see `shm/ring/lane_model.rs`).

use loom::sync::Arc;
use loom::thread;

use crate::notices::{Gone, Notices};
use crate::sync::{AtomicU64, Ordering};

/// A descriptor of the kernel's: an event lies in it until it is read, and who caused it goes on then.
#[derive(Default)]
struct Kernel(AtomicU64);

impl Kernel {
    fn unmap(&self, page: u64) {
        self.0.store(page, Ordering::Release);
        while self.0.load(Ordering::Acquire) == page {
            thread::yield_now();
        }
    }

    /// As poll(2): until there is something to read.
    fn wait(&self) {
        while self.0.load(Ordering::Acquire) == 0 {
            thread::yield_now();
        }
    }

    fn read(&self) -> u64 {
        self.0.swap(0, Ordering::AcqRel)
    }
}

fn reader(kernel: &Kernel, notices: &Notices, events: usize) {
    notices.rest();
    for _ in 0..events {
        kernel.wait();
        notices.begin();
        let page = kernel.read();
        notices.note(&(page..page + 1));
        notices.rest();
    }
}

fn hear(notices: &Notices) -> Vec<Gone> {
    let settled = notices.settle(|| {
        thread::yield_now();
        true
    });
    assert!(settled);
    std::iter::from_fn(|| notices.take()).collect()
}

/// Tries all orders of what an owner and the reader do. The owner is the thread that made nothing of what they
/// share: after it has given way, loom spares a thread the values that it has seen before, its own first ones too.
fn tried(bound: Option<usize>, events: usize, owner: fn(&Kernel, &Notices)) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = bound;
    model.check(move || {
        let shared = Arc::new((Kernel::default(), Notices::new()));
        let theirs = Arc::clone(&shared);
        let owner = thread::spawn(move || owner(&theirs.0, &theirs.1));
        reader(&shared.0, &shared.1, events);
        owner.join().expect("the owner ends");
    });
}

#[test]
fn what_was_unmapped_before_a_look_up_is_known_to_it() {
    tried(None, 2, |kernel, notices| {
        for page in 1..3 {
            kernel.unmap(page);
            let page = page as usize;
            assert_eq!(hear(notices), [Gone::Range(page..page + 1)]);
        }
    });
}

#[test]
fn a_full_ring_is_never_taken_for_an_empty_one() {
    tried(Some(3), 3, |kernel, notices| {
        for page in 1..4 {
            kernel.unmap(page);
        }
        assert_eq!(hear(notices), [Gone::Everything]);
    });
}
