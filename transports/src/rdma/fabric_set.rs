//! The one set of requirements for every fabric: what protocols rely on, as test bodies.
//!
//! In: ends of one job, [`JOB`], of which the `i`-th has rank `i`; each check says how many it needs. Out: a panic
//! that says which promise of [`super::fabric`] was broken. Only the trait is used, and every wait has a bound.
//! A fabric with a clock of its own moves it in `poll`.

use std::collections::VecDeque;
use std::os::fd::AsRawFd;

use mpi_core::port::PeerId;

use super::fabric::{Abilities, Access, Fabric, Target};
use super::fabric_bench::{Arrival, Bench, End, OPEN, Pages, SLOT, SLOTS};
pub use super::fabric_bench::{JOB, SECRET};

/// Makes the ends of a check.
pub type Ends<'a, F> = &'a mut dyn FnMut(usize) -> Vec<F>;

/// A check, which takes what makes its ends.
pub type Check<F> = fn(Ends<'_, F>);

/// All checks by name, for a fabric that is made by a function.
pub fn checks<F: Fabric>() -> Vec<(&'static str, Check<F>)> {
    vec![
        ("cards", |make| cards(make(2))),
        ("one begins", |make| one_begins(make(2))),
        ("both begin", |make| both_begin(make(4))),
        ("messages", |make| messages(make(2))),
        ("crowd", |make| crowd(make(4))),
        ("few buffers", |make| few_buffers(make(2))),
        ("writes", |make| writes(make(2))),
        ("immediates", |make| immediates(make(2))),
        ("values after writes", |make| values_after_writes(make(2))),
        ("reads", |make| reads(make(2))),
        ("atomics", |make| atomics(make(3))),
        ("much at once", |make| much_at_once(make(2))),
        ("sleep", |make| sleep(make(2))),
        ("sleeps", |make| sleeps(make(2))),
        ("cut", |make| cut(make(3))),
        ("stale key", |make| stale_key(make(3))),
        ("access", |make| access(make(2))),
        ("end of a peer", |make| end_of_a_peer(make(3))),
    ]
}

/// Runs all checks.
pub fn holds<F: Fabric>(mut make: impl FnMut(usize) -> Vec<F>) {
    for (_, check) in checks::<F>() {
        check(&mut make);
    }
}

/// The bytes of message `number` from one end to another.
fn pattern(from: usize, to: usize, number: usize, len: usize) -> Vec<u8> {
    let seed = from * 89 + to * 37 + number * 11;
    (0..len).map(|i| (seed + i * 7 + i / 251) as u8).collect()
}

fn peer(i: usize) -> PeerId {
    PeerId(i as u32)
}

/// Cards are short texts; what is no card is refused in a sentence.
pub fn cards<F: Fabric>(fabrics: Vec<F>) {
    let mut bench = Bench::new(fabrics);
    let card = bench.ends[1].fabric.card();
    assert!(card.len() <= crate::cards::CARD_MAX, "a card of {} characters", card.len());
    assert!(card.chars().all(|c| c.is_ascii_graphic()), "a card with odd characters: {card}");
    for wrong in ["", "nonsense", &format!("{card}x"), &card[..card.len() / 2]] {
        let met = bench.ends[0].fabric.meet(peer(1), wrong);
        assert!(met.is_err_and(|why| !why.is_empty()), "\"{wrong}\" was taken for a card");
    }
    assert!(!bench.ends[0].fabric.is_up(peer(1)));
}

/// One end reaches another that does not know where the first is.
pub fn one_begins<F: Fabric>(fabrics: Vec<F>) {
    let mut bench = Bench::new(fabrics);
    bench.meet(0, 1);
    bench.ends[0].fabric.reach(peer(1));
    bench.until("Up at both", |bench| bench.ends.iter().all(|end| end.up.len() == 1));
    assert!(bench.ends[0].fabric.is_up(peer(1)) && bench.ends[1].fabric.is_up(peer(0)));
    bench.ends.iter_mut().for_each(|end| end.post(4));
    bench.tell(1, 0, b"who answered may speak first");
    bench.tell(0, 1, b"and the other too");
}

/// All reach all at once, which gives one connection for each pair.
pub fn both_begin<F: Fabric>(fabrics: Vec<F>) {
    let mut bench = Bench::connected(fabrics, SLOTS);
    for i in 0..bench.ends.len() {
        for k in (0..bench.ends.len()).filter(|&k| k != i) {
            bench.ends[i].fabric.reach(peer(k));
            bench.tell(i, k, &pattern(i, k, 0, 100));
        }
    }
}

/// Sends so many messages each way between these pairs, and finds them, in order where that is promised.
fn streams<F: Fabric>(
    bench: &mut Bench<F>,
    flows: &[(usize, usize)],
    number: usize,
    posted: usize,
) {
    let Abilities { inline_bytes: inline, tells_in_order, .. } = bench.ends[0].fabric.abilities();
    let lengths = [1, 8, inline.min(SLOT), (inline + 1).min(SLOT), 64, 4096, 0, 5000, SLOT];
    let length = |number: usize| lengths[number % lengths.len()];
    let mut sent = vec![0; flows.len()];
    let mut on_way = vec![VecDeque::new(); flows.len()];
    bench.until("all messages", |bench| {
        for (flow, &(i, k)) in flows.iter().enumerate() {
            while sent[flow] < number {
                let bytes = pattern(i, k, sent[flow], length(sent[flow]));
                if !bench.ends[i].try_send(peer(k), &bytes) {
                    break;
                }
                on_way[flow].push_back(sent[flow]);
                sent[flow] += 1;
            }
        }
        for k in 0..bench.ends.len() {
            while let Some(arrival) = bench.ends[k].arrivals.pop_front() {
                let Arrival::Message { from, bytes } = arrival else { panic!("{arrival:?}") };
                let flow = (from.0 as usize, k);
                let flow = flows.iter().position(|&f| f == flow).expect("one of these flows");
                let candidates = if tells_in_order { 1 } else { on_way[flow].len() };
                let is_it =
                    |&number: &usize| bytes == pattern(flows[flow].0, k, number, length(number));
                let place = on_way[flow].iter().take(candidates).position(is_it);
                let place = place.unwrap_or_else(|| {
                    panic!(
                        "{} bytes from {from:?} to {k} instead of {:?}",
                        bytes.len(),
                        on_way[flow]
                    )
                });
                on_way[flow].remove(place);
            }
            bench.ends[k].post(posted);
        }
        sent.iter().all(|&sent| sent == number) && on_way.iter().all(VecDeque::is_empty)
    });
    bench.until("the end of all work", |bench| bench.ends.iter().all(|end| end.open() == 0));
}

/// Messages of all lengths come whole and in order, both ways at once.
pub fn messages<F: Fabric>(fabrics: Vec<F>) {
    streams(&mut Bench::connected(fabrics, SLOTS), &[(0, 1), (1, 0)], 300, SLOTS);
}

/// The same between all of several ends, through the one queue of buffers that each has.
pub fn crowd<F: Fabric>(fabrics: Vec<F>) {
    let mut bench = Bench::connected(fabrics, SLOTS);
    let number = bench.ends.len();
    let pairs = (0..number * number).map(|p| (p / number, p % number));
    let flows: Vec<_> = pairs.filter(|(i, k)| i != k).collect();
    streams(&mut bench, &flows, 40, SLOTS);
}

/// Many messages come although the receiver never has more than three buffers.
pub fn few_buffers<F: Fabric>(fabrics: Vec<F>) {
    streams(&mut Bench::connected(fabrics, 3), &[(0, 1)], 1000, 3);
}

/// Writes land, on every rail, and are in place when a later message on rail 0 has come.
pub fn writes<F: Fabric>(fabrics: Vec<F>) {
    let mut bench = Bench::connected(fabrics, SLOTS);
    let abilities = bench.ends[0].fabric.abilities();
    let longest = OPEN.min(abilities.message_bytes_max);
    for rail in 0..abilities.rails {
        for (number, len) in [1, 8, abilities.inline_bytes, 4097, longest].into_iter().enumerate() {
            let bytes = pattern(rail, 1, number, len.min(OPEN));
            let place = bench.ends[1].place(0);
            let wrote = |end: &mut End<F>| end.try_write((peer(1), rail), &bytes, place, None);
            if rail > 0 || !abilities.message_after_writes {
                bench.work(0, "a write", wrote);
            } else {
                bench.until("room for a write", |bench| wrote(&mut bench.ends[0]).is_some());
            }
            bench.tell(0, 1, b"look now");
            assert!(bench.ends[1].window(bytes.len()) == bytes, "rail {rail}, {len} bytes");
            bench.until("the write's end", |bench| bench.ends[0].open() == 0);
        }
    }
}

/// The immediate value of a write is told when the writes before it on its rail are in place, where the fabric says so.
pub fn values_after_writes<F: Fabric>(fabrics: Vec<F>) {
    let mut bench = Bench::connected(fabrics, SLOTS);
    let abilities = bench.ends[0].fabric.abilities();
    if !abilities.message_after_writes {
        return;
    }
    for number in 0..20usize {
        let (rail, bytes) = (number % abilities.rails, pattern(0, 1, number, OPEN));
        let cuts = [0, OPEN / 2, OPEN / 2 + 100, OPEN];
        for (turn, cut) in cuts.windows(2).enumerate() {
            let (place, value) =
                (bench.ends[1].place(cut[0]), (turn == 2).then_some(number as u32));
            bench.until("room for a write", |bench| {
                let run = &bytes[cut[0]..cut[1]];
                bench.ends[0].try_write_from(cut[0], (peer(1), rail), run, place, value).is_some()
            });
        }
        bench.until("the immediate value", |bench| !bench.ends[1].arrivals.is_empty());
        assert!(bench.ends[1].window(OPEN) == bytes, "rail {rail}, number {number}");
        bench.ends[1].arrivals.clear();
        bench.ends[1].post(SLOTS);
        bench.until("the writes' ends", |bench| bench.ends[0].open() == 0);
    }
}

/// A write with an immediate value tells of itself when it is in place; so does one of no bytes.
pub fn immediates<F: Fabric>(fabrics: Vec<F>) {
    let mut bench = Bench::connected(fabrics, SLOTS);
    let rails = bench.ends[0].fabric.abilities().rails;
    for number in 0..60usize {
        let (rail, len) = (number % rails, [0, 5, 700, OPEN][number % 4]);
        let bytes = pattern(0, 1, number, len);
        let immediate = 0x8000_0001_u32.rotate_left(number as u32);
        let place = bench.ends[1].place(0);
        bench.work(0, "a write with immediate", |end| {
            end.try_write((peer(1), rail), &bytes, place, Some(immediate))
        });
        bench.until("the immediate value", |bench| !bench.ends[1].arrivals.is_empty());
        let arrival = bench.ends[1].arrivals.pop_front();
        assert_eq!(arrival, Some(Arrival::Written { from: peer(0), immediate }));
        assert!(bench.ends[1].window(len) == bytes, "write {number}, {len} bytes");
        bench.ends[1].post(SLOTS);
    }
}

/// Reads bring what is there, on every rail.
pub fn reads<F: Fabric>(fabrics: Vec<F>) {
    let mut bench = Bench::connected(fabrics, SLOTS);
    let abilities = bench.ends[0].fabric.abilities();
    if !abilities.reads {
        return;
    }
    for number in 0..24usize {
        let (rail, len) = (number % abilities.rails, [1, 8, 4097, OPEN][number % 4]);
        let bytes = pattern(1, 0, number, len);
        bench.ends[1].set_window(&bytes);
        let place = bench.ends[1].place(0);
        let into = bench.ends[0].source_piece(0, len);
        bench.work(0, "a read", |end| {
            // SAFETY: nothing else uses the source.
            end.try_work(None, |fabric, work| unsafe {
                fabric.read(peer(1), rail, into, place, work)
            })
        });
        assert!(bench.ends[0].source(len) == bytes, "read {number}, {len} bytes");
    }
}

/// Atomic operations of two ends on one word lose nothing.
pub fn atomics<F: Fabric>(fabrics: Vec<F>) {
    const EACH: usize = 40;
    let mut bench = Bench::connected(fabrics, SLOTS);
    if !bench.ends[0].fabric.abilities().atomics {
        return;
    }
    let place = bench.ends[2].place(64);
    let mut begun = [0; 2];
    bench.until("all additions", |bench| {
        for (i, begun) in begun.iter_mut().enumerate() {
            while *begun < EACH {
                let end = &mut bench.ends[i];
                let into = end.source_piece(*begun * 8, 8);
                // SAFETY: each has its own 8 bytes of the source.
                let added = end.try_work(None, |fabric, work| unsafe {
                    fabric.fetch_add(peer(2), into, place, 3, work)
                });
                if added.is_none() {
                    break;
                }
                *begun += 1;
            }
        }
        begun == [EACH; 2] && bench.ends.iter().all(|end| end.open() == 0)
    });
    let words = |end: &End<F>| -> Vec<u64> {
        let source = end.source(EACH * 8);
        source.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().unwrap())).collect()
    };
    let mut seen = [words(&bench.ends[0]), words(&bench.ends[1])].concat();
    seen.sort_unstable();
    let right: Vec<u64> = (0..2 * EACH as u64).map(|k| 3 * k).collect();
    assert_eq!(seen, right, "what was there before each addition");
    swaps(&mut bench, place, 6 * EACH as u64);
}

/// A swap happens if the word is as expected, and tells what was there in any case.
fn swaps<F: Fabric>(bench: &mut Bench<F>, place: Target, now: u64) {
    let into = bench.ends[0].source_piece(0, 8);
    for (expected, new, before) in [(now + 1, 5, now), (now, 77, now), (77, 78, 77), (77, 9, 78)] {
        bench.work(0, "a swap", |end| {
            // SAFETY: nothing else uses the source.
            end.try_work(None, |fabric, work| unsafe {
                fabric.compare_swap(peer(2), into, place, expected, new, work)
            })
        });
        assert_eq!(bench.ends[0].source(8), before.to_ne_bytes(), "expected {expected}");
    }
}

/// Far more work than there is room for at once: what is refused is not done, what is taken ends once.
pub fn much_at_once<F: Fabric>(fabrics: Vec<F>) {
    const WRITES: usize = 3000;
    let mut bench = Bench::connected(fabrics, SLOTS);
    let place = bench.ends[1].place(0);
    let mut begun = 0;
    bench.until("all writes", |bench| {
        while begun < WRITES {
            let end = &mut bench.ends[0];
            let wrote = end.try_write((peer(1), 0), &[9; 200], place, None);
            if wrote.is_none() {
                break;
            }
            begun += 1;
        }
        begun == WRITES && bench.ends[0].open() == 0
    });
    assert!(bench.ends[0].failed.is_empty());
    assert_eq!(bench.ends[1].window(200), [9; 200]);
    bench.tell(0, 1, b"still there");
}

/// Who sleeps after `arm` is woken by a message.
pub fn sleep<F: Fabric>(fabrics: Vec<F>) {
    let mut bench = Bench::connected(fabrics, SLOTS);
    for number in 0..20 {
        let mut is_armed = false;
        bench.until("a time to sleep", |bench| {
            is_armed = bench.ends[1].fabric.arm();
            is_armed
        });
        let Some(news) = bench.ends[1].fabric.news().map(|fd| fd.as_raw_fd()) else { return };
        let bytes = pattern(0, 1, number, 300);
        let mut is_sent = false;
        let mut poll = libc::pollfd { fd: news, events: libc::POLLIN, revents: 0 };
        let mut woken = false;
        for _ in 0..6000 {
            is_sent = is_sent || bench.ends[0].try_send(peer(1), &bytes);
            bench.ends[0].poll();
            // SAFETY: one structure, on this stack.
            woken = unsafe { libc::poll(&raw mut poll, 1, 10) } == 1;
            if woken {
                break;
            }
        }
        assert!(woken, "nobody was woken by message {number}");
        bench.until("the message", |bench| !bench.ends[1].arrivals.is_empty());
        let message = Arrival::Message { from: peer(0), bytes };
        assert_eq!(bench.ends[1].arrivals.pop_front(), Some(message));
        bench.ends[1].post(SLOTS);
    }
}

/// How often who sleeps goes to sleep until a message has come, where it wakes for nothing else.
const SLEEPS_MAX: usize = 4;

/// Who sleeps is woken by news alone: neither is it refused to sleep nor woken again and again.
pub fn sleeps<F: Fabric>(fabrics: Vec<F>) {
    const MESSAGES: usize = 40;
    let mut bench = Bench::connected(fabrics, SLOTS);
    if bench.ends[1].fabric.news().is_none() {
        return;
    }
    let mut sleeps = 0;
    for number in 0..MESSAGES {
        let bytes = pattern(0, 1, number, if number % 4 == 3 { SLOT } else { 300 });
        // Before it is sent there is nothing to wake for.
        (0..5).for_each(|_| sleeps += usize::from(sleep_once(&mut bench.ends[1], 1)));
        let mut is_sent = false;
        bench.until("a message", |bench| {
            is_sent = is_sent || bench.ends[0].try_send(peer(1), &bytes);
            bench.ends[0].poll();
            sleeps += 1;
            sleep_once(&mut bench.ends[1], 10);
            !bench.ends[1].arrivals.is_empty()
        });
        let message = Arrival::Message { from: peer(0), bytes };
        assert_eq!(bench.ends[1].arrivals.pop_front(), Some(message));
        bench.ends[1].post(SLOTS);
    }
    assert!(sleeps <= MESSAGES * SLEEPS_MAX, "{sleeps} sleeps for {MESSAGES} messages");
}

/// Polls, and sleeps for so many milliseconds at most; whether that was cut short.
fn sleep_once<F: Fabric>(end: &mut End<F>, millis: i32) -> bool {
    end.poll();
    if !end.fabric.arm() {
        return true;
    }
    let Some(news) = end.fabric.news().map(|fd| fd.as_raw_fd()) else { return false };
    let mut poll = libc::pollfd { fd: news, events: libc::POLLIN, revents: 0 };
    // SAFETY: one structure, on this stack.
    unsafe { libc::poll(&raw mut poll, 1, millis) == 1 }
}

/// Who is cut off is heard no more, all work for it comes back, no end of it is told, and others stay.
pub fn cut<F: Fabric>(fabrics: Vec<F>) {
    let mut bench = Bench::connected(fabrics, SLOTS);
    let place = bench.ends[1].place(0);
    bench.tell(0, 1, b"all is well");
    for _ in 0..SLOTS {
        bench.ends[1].try_send(peer(0), &[1; SLOT]);
        bench.ends[0].try_send(peer(1), &[1; SLOT]);
        bench.ends[0].try_write((peer(1), 0), &[2; 300], place, Some(7));
    }
    bench.ends[0].fabric.cut(peer(1));
    assert!(bench.ends[0].open() > SLOTS && !bench.ends[0].fabric.is_up(peer(1)));
    assert!(!bench.ends[0].try_send(peer(1), b"more"), "work for a peer that is cut off");
    let come = bench.ends[0].arrivals.len();
    bench.until("the end of its work", |bench| {
        bench.ends[1].post(SLOTS);
        bench.ends[0].open() == 0
    });
    bench.ends[0].fabric.cut(peer(1));
    for _ in 0..1000 {
        let _ = bench.ends[1].try_send(peer(0), b"are you there?");
        bench.round();
    }
    let end = &mut bench.ends[0];
    assert_eq!((end.arrivals.len(), &end.down[..]), (come, &[][..]), "it is cut off");
    end.post(SLOTS);
    end.arrivals.clear();
    bench.tell(0, 2, b"others are not concerned");
    bench.tell(2, 0, b"nor are they, towards this end");
}

/// Waits until end 0 has lost end 1, in a sentence, and all its work has ended.
fn lost<F: Fabric>(bench: &mut Bench<F>) {
    bench.until("Down of the peer", |bench| bench.ends[0].is_down(peer(1)));
    bench.until("the end of its work", |bench| bench.ends[0].open() == 0);
    let why = &bench.ends[0].down[0].1;
    assert!(why.split_whitespace().count() > 3, "no sentence: {why}");
    assert!(!bench.ends[0].fabric.is_up(peer(1)));
    assert!(!bench.ends[0].try_send(peer(1), b"more"), "work for a peer that is down");
    for _ in 0..1000 {
        bench.round();
    }
}

/// A write to memory that is registered no more fails and ends the connection; others stay.
pub fn stale_key<F: Fabric>(fabrics: Vec<F>) {
    let mut bench = Bench::connected(fabrics, SLOTS);
    let pages = Pages::new(4096);
    let end = &mut bench.ends[1].fabric;
    // SAFETY: deregistered before the pages go.
    let region = unsafe { end.register(pages.at, 4096, Access::All) }.expect("a page");
    let remote = end.remote(region);
    let target = Target { address: remote.base, key: remote.key };
    bench.work(0, "a write", |end| end.try_write((peer(1), 0), &[1; 500], target, None));
    assert!(bench.ends[0].failed.is_empty());
    bench.ends[1].fabric.deregister(region);
    let wrote = |end: &mut End<F>| end.try_write((peer(1), 0), &[2; 500], target, None);
    let work = bench.work(0, "the failure of a write", wrote);
    assert!(bench.ends[0].failed.contains(&work), "a write by a stale key is done");
    lost(&mut bench);
    bench.tell(0, 2, b"others are not concerned");
    bench.tell(2, 1, b"nor is the peer, for others");
    bench.tell(1, 2, b"both ways");
}

/// Memory that others may only read cannot be written.
pub fn access<F: Fabric>(fabrics: Vec<F>) {
    let mut bench = Bench::connected(fabrics, SLOTS);
    let pages = Pages::new(4096);
    let end = &mut bench.ends[1].fabric;
    // SAFETY: deregistered before the pages go.
    let region = unsafe { end.register(pages.at, 4096, Access::Read) }.expect("a page");
    let remote = end.remote(region);
    let target = Target { address: remote.base, key: remote.key };
    let wrote = |end: &mut End<F>| end.try_write((peer(1), 0), &[2; 500], target, None);
    let work = bench.work(0, "the failure of a write", wrote);
    assert!(bench.ends[0].failed.contains(&work), "what may only be read was written");
    // SAFETY: nobody writes it.
    assert_eq!(unsafe { pages.at.read_volatile() }, 0);
    lost(&mut bench);
    bench.ends[1].fabric.deregister(region);
}

/// Who speaks to a peer that has ended hears of it, and others stay.
pub fn end_of_a_peer<F: Fabric>(fabrics: Vec<F>) {
    let mut bench = Bench::connected(fabrics, SLOTS);
    bench.tell(0, 1, b"the last word");
    let last = bench.ends.remove(2);
    let gone = std::mem::replace(&mut bench.ends[1], last);
    drop(gone);
    bench.until("Down of the peer", |bench| {
        let end = &mut bench.ends[0];
        let _ = end.fabric.is_up(peer(1)) && end.try_send(peer(1), &[1; 2000]);
        end.is_down(peer(1))
    });
    lost(&mut bench);
    let mut is_sent = false;
    bench.until("a message of another", |bench| {
        is_sent = is_sent || bench.ends[0].try_send(peer(2), b"hello");
        !bench.ends[1].arrivals.is_empty()
    });
}
