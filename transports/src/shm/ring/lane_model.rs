//! The lane and the parking protocol under loom, which tries every order of events.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p transports --lib`

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicU32, Ordering, fence};
use loom::thread;

use crate::lane::{Cell, Class, Reader, Writer};

const CAPACITY: u32 = 2;

/// What shared memory holds for one lane, and one slot whose accesses loom watches for races.
struct Lane {
    cells: [Cell; CAPACITY as usize],
    counter: AtomicU32,
    slot: UnsafeCell<u64>,
}

impl Lane {
    fn new() -> Arc<Lane> {
        let cells = std::array::from_fn(|_| Cell::new());
        Arc::new(Lane { cells, counter: AtomicU32::new(0), slot: UnsafeCell::new(0) })
    }

    fn writer(&self) -> Writer {
        // SAFETY: the cells and the counter are alive as long as the `Arc` that each side holds.
        unsafe { Writer::new(self.cells.as_ptr(), &self.counter, CAPACITY) }
    }

    fn reader(&self) -> Reader {
        // SAFETY: as above.
        unsafe { Reader::new(self.cells.as_ptr(), &self.counter, CAPACITY) }
    }
}

fn wait_for_room(writer: &mut Writer) {
    while !writer.has_room() {
        writer.look().expect("the reader's count is one that it has reached");
        thread::yield_now();
    }
}

#[test]
fn frames_arrive_whole_and_in_order_over_laps() {
    loom::model(|| {
        let lane = Lane::new();
        let theirs = Arc::clone(&lane);
        let sender = thread::spawn(move || {
            let mut writer = theirs.writer();
            for n in 1..=3u64 {
                wait_for_room(&mut writer);
                writer.write(Class::Inline, 0, [n << 16, n + 10, n + 20], &[n + 30, n + 40]);
            }
        });
        let mut reader = lane.reader();
        for n in 1..=3u64 {
            let words = loop {
                match reader.peek() {
                    Some(words) => break words,
                    None => thread::yield_now(),
                }
            };
            assert_eq!(words.header[0] >> 16, n);
            assert_eq!(words.header[1..], [n + 10, n + 20]);
            assert_eq!([reader.payload_word(0), reader.payload_word(1)], [n + 30, n + 40]);
            reader.advance();
            reader.publish();
        }
        sender.join().expect("the sender ends");
    });
}

#[test]
fn a_slot_is_written_again_only_after_it_was_read() {
    loom::model(|| {
        let lane = Lane::new();
        let theirs = Arc::clone(&lane);
        let sender = thread::spawn(move || {
            let mut writer = theirs.writer();
            for n in 1..=2u64 {
                while writer.consumed() != writer.tail() {
                    writer.look().expect("the reader's count is one that it has reached");
                    thread::yield_now();
                }
                // SAFETY: loom reports it if the reader is not done with the slot.
                theirs.slot.with_mut(|slot| unsafe { *slot = n });
                writer.write(Class::Body, 0, [0; 3], &[]);
            }
        });
        let mut reader = lane.reader();
        for n in 1..=2u64 {
            while reader.peek().is_none() {
                thread::yield_now();
            }
            // SAFETY: loom reports it if the writer is not done with the slot.
            assert_eq!(lane.slot.with(|slot| unsafe { *slot }), n);
            reader.advance();
            reader.publish();
        }
        sender.join().expect("the sender ends");
    });
}

#[test]
fn what_goes_back_and_forth_is_in_one_hand() {
    loom::model(|| {
        let (there, back) = (Lane::new(), Lane::new());
        let (theirs, ours) = (Arc::clone(&there), Arc::clone(&back));
        let answerer = thread::spawn(move || {
            let mut reader = theirs.reader();
            while reader.peek().is_none() {
                thread::yield_now();
            }
            // SAFETY: loom reports it if two sides touch the buffer at once.
            theirs.slot.with_mut(|buffer| unsafe { *buffer += 1 });
            reader.advance();
            ours.writer().write(Class::Body, reader.ride(), [0; 3], &[]);
        });
        // SAFETY: as above.
        there.slot.with_mut(|buffer| unsafe { *buffer = 5 });
        there.writer().write(Class::Body, 0, [0; 3], &[]);
        let reader = back.reader();
        while reader.peek().is_none() {
            thread::yield_now();
        }
        // SAFETY: as above.
        assert_eq!(there.slot.with(|buffer| unsafe { *buffer }), 6);
        answerer.join().expect("the answerer ends");
    });
}

/// Where in the sender's program the fence of the sleeper's `membarrier` falls.
#[derive(Clone, Copy, PartialEq)]
enum FenceFalls {
    BeforeTheCell,
    BetweenCellAndLook,
    AfterTheLook,
}

/// One message against one sleeper. Loom knows no `membarrier`: it is a fence that the sleeper
/// asks for and that the sender's processor carries out between any two of its instructions, so
/// each place is a model of its own. Whether the message was seen or the bell rung.
fn park(falls: FenceFalls, with_barrier: bool) {
    loom::model(move || {
        let lane = Lane::new();
        let parked = Arc::new(AtomicU32::new(0));
        let (asked, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let sender = {
            let (lane, parked) = (Arc::clone(&lane), Arc::clone(&parked));
            let (asked, done) = (Arc::clone(&asked), Arc::clone(&done));
            thread::spawn(move || {
                let interrupt = |here| {
                    if with_barrier && here == falls {
                        while !asked.load(Ordering::Acquire) {
                            thread::yield_now();
                        }
                        fence(Ordering::SeqCst);
                        done.store(true, Ordering::Release);
                    }
                };
                interrupt(FenceFalls::BeforeTheCell);
                lane.writer().write(Class::Inline, 0, [0; 3], &[]);
                interrupt(FenceFalls::BetweenCellAndLook);
                let rings = parked.load(Ordering::Relaxed) != 0;
                interrupt(FenceFalls::AfterTheLook);
                rings
            })
        };
        parked.store(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        if with_barrier {
            asked.store(true, Ordering::Release);
            while !done.load(Ordering::Acquire) {
                thread::yield_now();
            }
            fence(Ordering::SeqCst);
        }
        let seen = lane.reader().peek().is_some();
        let rung = sender.join().expect("the sender ends");
        assert!(seen || rung, "the sleeper sleeps through the message");
    });
}

#[test]
fn the_bell_rings_or_the_last_look_sees() {
    for falls in
        [FenceFalls::BeforeTheCell, FenceFalls::BetweenCellAndLook, FenceFalls::AfterTheLook]
    {
        park(falls, true);
    }
}

/// That the model can fail: a fence on the sleeper's side alone is not enough.
#[test]
#[should_panic(expected = "sleeps through")]
fn without_the_barrier_a_message_can_be_slept_through() {
    park(FenceFalls::AfterTheLook, false);
}
