//! Boards between two that share memory: what stays in place, and is fetched or brought (decision 62).

use std::process::Command;
use std::time::Duration;

use mpi_core::boards::{Audience, BoardId, Boards, Fetched, Mover, Share, Shown, Source};
use mpi_core::buffer::{RawBytes, UserBuffer};
use mpi_core::datatype::{Packer, Unpacker};
use mpi_core::port::{PeerId, Transport};

use super::across::PARTS_A_POLL;
use super::caches::Caches;
use super::peer::State;
use super::price::Price;
use super::tests::{Board, PART, config, eager, is_empty, join, poll, small};
use super::{Bulk, LocalConfig, Shm, ShmSettings};
use crate::conformance::{Recorder, World, pattern};
use crate::stores::tests::prove_far_nanos;
use crate::sync::Ordering;

/// Two that have met and share a board.
fn at_a_board(shm: &ShmSettings, on_node: u32) -> (World<Shm>, BoardId) {
    let cards = Board::default();
    let shm = ShmSettings { alloc_bytes: 32 << 20, ..shm.clone() };
    let config = |rank| LocalConfig { ranks_on_node: on_node, ..config(rank, 2, shm.clone()) };
    let mut world = World::new((0..2).map(|rank| join(&cards, config(rank))).collect());
    world.send(0, 1, &eager(), b"hi");
    world.run_until("both have met", |world| !world.got(1).frames.is_empty());
    let mut part = |rank| (PeerId(rank), world.transport(rank as usize).prepare_part(2).unwrap());
    let parts = [part(0), part(1)];
    let mut open = |rank| world.transport(rank as usize).open_board(rank, 5, &parts).unwrap();
    let board = open(1);
    assert_eq!(open(0), board);
    (world, board)
}

#[test]
fn a_long_message_is_shown_where_that_pays() {
    let across = ShmSettings { bulk: Bulk::CrossMemory, ..small() };
    let through = ShmSettings { bulk: Bulk::Pipeline, ..small() };
    let (one, all) = (Audience::One(1), Audience::Everyone);
    // More ranks than there are processors.
    let many = 10_000;
    for (settings, on_node, to, len, pays) in [
        (&across, 1, one, 100_000, true),
        (&across, 1, all, 100_000, true),
        (&across, 1, one, 10_000, false),
        (&across, many, one, 100_000, true),
        (&across, many, one, 30_000, false),
        (&across, many, all, 100_000, false),
        (&through, 1, one, 100_000, false),
        (&through, many, one, 100_000, false),
    ] {
        let (mut world, board) = at_a_board(settings, on_node);
        let told = world.transport(0).is_better_shown(board, to, len);
        assert_eq!(told, pays, "{len} bytes to {to:?}, {on_node} ranks, {:?}", settings.bulk);
    }
    let bytes = pattern(3, 100_000);
    let (mut world, board) = at_a_board(&through, 1);
    assert!(
        !world.transport(0).show_piece(board, one, bytes.as_ptr(), 100_000, std::ptr::null_mut()),
        "none consents"
    );
}

#[test]
fn what_is_shown_fills_the_room_there_is_and_no_more() {
    let (mut world, board) = at_a_board(&small(), 1);
    let (bytes, mut target) = (pattern(3, 100_000), vec![7u8; 100_000]);
    let (to, from) = (Audience::Everyone, Source::Public(0));
    for (address, len, room) in [
        (bytes.as_ptr(), 100_000, 100_000),
        (bytes.as_ptr(), 90_000, 100_000),
        (bytes.as_ptr(), u64::MAX, 40_000),
        (std::ptr::null(), 100_000, 50_000),
    ] {
        assert!(world.transport(0).show_piece(board, to, address, len, std::ptr::null_mut()));
        let piece = world.transport(1).read_piece(board, from).unwrap();
        assert_eq!((piece.len, piece.apart), (0, len));
        target.fill(7);
        let mut into = Unpacker::contiguous(UserBuffer(target.as_mut_ptr()), room);
        let fetched =
            world.transport(1).fetch_piece(board, from, &mut into, Mover::Reader { past: false });
        world.transport(1).consume_piece(board, from);
        let expected = if address.is_null() { 0 } else { len.min(room) };
        let refused = expected == 0;
        assert_eq!(fetched, if refused { Fetched::Refused } else { Fetched::Whole(expected) });
        let (come, rest) = target.split_at(expected as usize);
        assert!(come == &bytes[..come.len()] && rest.iter().all(|byte| *byte == 7));
        if refused {
            assert_eq!(world.transport(0).shown(board, to), Shown::Refused(1));
        }
        assert_eq!(world.transport(0).shown(board, to), Shown::Taken);
    }
    assert!(!world.transport(0).show_piece(
        board,
        to,
        bytes.as_ptr(),
        100_000,
        std::ptr::null_mut()
    ));
}

#[test]
fn what_is_made_of_a_part_goes_back_where_its_writer_wants_it_and_nowhere_else() {
    let (mut world, board) = at_a_board(&small(), 1);
    let (mut bytes, mut result) = (pattern(3, 100_000), vec![7u8; 100_000]);
    let (to, from, made) = (Audience::One(1), Source::Private(0), pattern(4, 30_000));
    let nowhere = std::ptr::null_mut();
    for (back, at, len, goes) in [
        (result.as_mut_ptr(), 70_000, 30_000, true),
        (result.as_mut_ptr(), 70_001, 30_000, false),
        (result.as_mut_ptr(), u64::MAX, 2, false),
        (nowhere, 0, 30_000, false),
    ] {
        result.fill(7);
        assert!(world.transport(0).show_piece(board, to, bytes.as_mut_ptr(), 100_000, back));
        let part = RawBytes::from(&made[..len]);
        assert_eq!(world.transport(1).give_back_part(board, from, at, part), goes);
        world.transport(1).consume_piece(board, from);
        assert_eq!(world.transport(0).shown(board, to), Shown::Taken);
        let (before, come) = result.split_at(70_000);
        assert!(before.iter().all(|byte| *byte == 7));
        assert!(if goes { come == made } else { come.iter().all(|byte| *byte == 7) });
    }
    assert!(
        !world.transport(1).give_back_part(board, from, 0, RawBytes::from(&made[..])),
        "no piece"
    );
}

#[test]
fn a_message_is_brought_to_the_room_that_its_reader_lends_for_it() {
    let across = ShmSettings { bulk: Bulk::CrossMemory, ..small() };
    let through = ShmSettings { bulk: Bulk::Pipeline, ..small() };
    // More ranks than there are processors.
    let many = 10_000;
    for (settings, on_node, len, lent, operation, comes) in [
        (&across, many, 100_000, 100_000, 5, true),
        (&across, many, 90_000, 100_000, 5, false),
        (&across, many, 100_000, 100_000, 4, false),
        (&across, many, 10_000, 10_000, 5, false),
        (&across, 1, 100_000, 100_000, 5, false),
        (&through, many, 100_000, 100_000, 5, false),
    ] {
        let (mut world, board) = at_a_board(settings, on_node);
        let (bytes, mut target) = (pattern(3, len), vec![7u8; lent]);
        let source = Packer::contiguous(UserBuffer(bytes.as_ptr().cast_mut()), len as u64);
        let mut room = Unpacker::contiguous(UserBuffer(target.as_mut_ptr()), lent as u64);
        let is_lent = world.transport(1).lend_room(board, 0, 5, &room);
        let pays = lent == 100_000 && on_node == many && settings.bulk == Bulk::CrossMemory;
        assert_eq!(is_lent, pays);
        assert_eq!(
            world.transport(0).bring(board, 1, operation, &source),
            comes,
            "{len} of {lent}"
        );
        let piece = world.transport(1).read_piece(board, Source::Private(0));
        assert_eq!(piece.map(|piece| piece.apart), comes.then_some(len as u64));
        if comes {
            let from = Source::Private(0);
            let fetched = world.transport(1).fetch_piece(
                board,
                from,
                &mut room,
                Mover::Reader { past: false },
            );
            assert_eq!((fetched, room.remaining()), (Fetched::Whole(len as u64), 0));
            world.transport(1).consume_piece(board, from);
        }
        assert_eq!(world.transport(1).take_rooms_back(board, 0), None);
        assert!(!world.transport(0).bring(board, 1, 5, &source), "the loan has ended");
        assert!(if comes { target == bytes } else { target.iter().all(|byte| *byte == 7) });
    }
}

#[test]
fn what_cannot_be_brought_is_written_and_no_more_is_tried() {
    let across = ShmSettings { bulk: Bulk::CrossMemory, ..small() };
    let (mut world, board) = at_a_board(&across, 10_000);
    let bytes = pattern(3, 100_000);
    let source = Packer::contiguous(UserBuffer(bytes.as_ptr().cast_mut()), 100_000);
    let nowhere = Unpacker::contiguous(UserBuffer(std::ptr::null_mut()), 100_000);
    let mut target = vec![7u8; 100_000];
    let room = Unpacker::contiguous(UserBuffer(target.as_mut_ptr()), 100_000);
    for room in [&nowhere, &room] {
        assert!(world.transport(1).lend_room(board, 0, 5, room));
        assert!(!world.transport(0).bring(board, 1, 5, &source));
        assert_eq!(world.transport(1).read_piece(board, Source::Private(0)), None);
        assert_eq!(world.transport(1).take_rooms_back(board, 0), None);
    }
    assert!(target.iter().all(|byte| *byte == 7));
}

/// Memory of a process that both have mapped, filled with a pattern.
fn mapped(world: &mut World<Shm>, rank: usize, seed: u64, len: usize) -> &'static mut [u8] {
    let memory = world.transport(rank).allocate(len, 1).unwrap();
    // SAFETY: `allocate` gave `len` bytes, which stay until the transport goes with the test.
    let memory = unsafe { std::slice::from_raw_parts_mut(memory, len) };
    memory.copy_from_slice(&pattern(seed, len));
    memory
}

#[test]
fn what_both_have_mapped_is_copied_by_the_reader_without_the_kernel() {
    for (past, room) in [(false, 100_000), (true, 100_000), (false, 70_001), (true, 7)] {
        let (mut world, board) = at_a_board(&small(), 1);
        let bytes = mapped(&mut world, 0, 3, 100_000);
        let (to, from) = (Audience::Everyone, Source::Public(0));
        let nowhere = std::ptr::null_mut();
        assert!(world.transport(0).show_piece(board, to, bytes.as_ptr(), 100_000, nowhere));
        assert_eq!(world.transport(1).read_piece(board, from).unwrap().apart, 100_000);
        let mut target = vec![7u8; 100_000];
        let mut into = Unpacker::contiguous(UserBuffer(target.as_mut_ptr()), room);
        let fetched =
            world.transport(1).fetch_piece(board, from, &mut into, Mover::Reader { past });
        assert_eq!(fetched, Fetched::Whole(room));
        world.transport(1).consume_piece(board, from);
        assert_eq!(world.transport(0).shown(board, to), Shown::Taken);
        let (come, rest) = target.split_at(room as usize);
        assert!(come == &bytes[..come.len()] && rest.iter().all(|byte| *byte == 7));
        let counters = world.transport(1).counters();
        assert_eq!((counters.bytes_in_place, counters.bytes_cross_memory), (room, 0));
    }
}

#[test]
fn a_part_of_what_both_have_mapped_is_copied_from_its_place() {
    let (mut world, board) = at_a_board(&small(), 1);
    let bytes = mapped(&mut world, 0, 3, 100_000);
    let (to, from) = (Audience::One(1), Source::Private(0));
    let nowhere = std::ptr::null_mut();
    assert!(world.transport(0).show_piece(board, to, bytes.as_ptr(), 100_000, nowhere));
    assert!(world.transport(1).read_piece(board, from).is_some());
    let mut target = vec![7u8; 1000];
    let mut into = Unpacker::contiguous(UserBuffer(target.as_mut_ptr()), 1000);
    assert!(world.transport(1).fetch_part(board, from, 70_000, &mut into));
    assert!(target == bytes[70_000..71_000]);
    assert_eq!(world.transport(1).counters().bytes_cross_memory, 0);
}

#[test]
fn a_room_that_both_have_mapped_is_filled_without_the_kernel() {
    let (mut world, board) = at_a_board(&small(), 10_000);
    let (bytes, room) = (pattern(3, 100_000), mapped(&mut world, 1, 4, 100_000));
    let source = Packer::contiguous(UserBuffer(bytes.as_ptr().cast_mut()), 100_000);
    let into = Unpacker::contiguous(UserBuffer(room.as_mut_ptr()), 100_000);
    assert!(world.transport(1).lend_room(board, 0, 5, &into));
    assert!(world.transport(0).bring(board, 1, 5, &source));
    assert!(room == &bytes[..]);
    let counters = world.transport(0).counters();
    assert_eq!((counters.bytes_in_place, counters.bytes_cross_memory), (100_000, 0));
}

#[test]
fn who_fails_in_the_middle_of_a_joint_fetch_moves_no_more_of_it() {
    for begun in [true, false] {
        let (mut world, board) = at_a_board(&ShmSettings { bulk: Bulk::Joint, ..small() }, 1);
        let (to, from) = (Audience::One(1), Source::Private(0));
        // A poll that takes the call for help moves parts once then and once when it goes on.
        let (parts, moved) = (40, 2 * PARTS_A_POLL as usize);
        let (bytes, rest) = (pattern(2, parts * PART), (parts - moved) * PART);
        let (mut target, len) = (vec![0u8; bytes.len()], bytes.len() as u64);
        assert!(world.transport(0).show_piece(
            board,
            to,
            bytes.as_ptr(),
            len,
            std::ptr::null_mut()
        ));
        assert!(world.transport(1).read_piece(board, from).is_some());
        let mut into = Unpacker::contiguous(UserBuffer(target.as_mut_ptr()), len);
        let fetched = world.transport(1).fetch_piece(board, from, &mut into, Mover::Writer);
        assert_eq!(fetched, Fetched::Begun);
        if begun {
            poll(&mut world, 0);
            assert!(is_empty(&target[..rest]) && target[rest..] == bytes[rest..]);
        }
        world.transport(0).renounce(board, 15);
        poll(&mut world, 0);
        assert!(is_empty(&target[..rest]), "it goes on though it has failed");
        assert_eq!(world.transport(1).renounced(board, 0), Some(15));
        // Both memories are the program's again.
        target.fill(0);
        (0..4).for_each(|turn| poll(&mut world, turn % 2));
        assert!(is_empty(&target));
    }
}

/// The first of two at a board shows the other these bytes.
fn show(world: &mut World<Shm>, board: BoardId, bytes: &[u8]) {
    let (one, nowhere) = (Audience::One(1), std::ptr::null_mut());
    let shown =
        world.transport(0).show_piece(board, one, bytes.as_ptr(), bytes.len() as u64, nowhere);
    assert!(shown && world.transport(1).read_piece(board, Source::Private(0)).is_some());
}

fn fetch_with_help(reader: &mut Shm, board: BoardId, target: &mut [u8]) -> Fetched {
    let mut into = Unpacker::contiguous(UserBuffer(target.as_mut_ptr()), target.len() as u64);
    reader.fetch_piece(board, Source::Private(0), &mut into, Mover::Writer)
}

/// The second of two at a board has called the first, whose process it knows by this number, for help.
fn called_for_help(bytes: &[u8], target: &mut [u8], pid: u32) -> (World<Shm>, BoardId) {
    let (mut world, board) = at_a_board(&ShmSettings { bulk: Bulk::Joint, ..small() }, 1);
    show(&mut world, board, bytes);
    let reader = world.transport(1);
    reader.peers[0].readable = Some(pid as i32);
    assert_eq!(fetch_with_help(reader, board, target), Fetched::Begun);
    (world, board)
}

/// Its own operation fails, or it gives the other up.
const WAYS_TO_FAIL: [fn(&mut Shm, BoardId); 2] =
    [|reader, board| reader.renounce(board, 15), |reader, _| reader.lose(PeerId(0), "it is odd")];

#[test]
fn who_fails_gets_its_memory_back_when_nobody_writes_to_it_any_more() {
    let bytes = vec![9; 8 * PART];
    for fail in [WAYS_TO_FAIL; 10].concat() {
        let mut target = vec![0u8; bytes.len()];
        let (world, board) = called_for_help(&bytes, &mut target, std::process::id());
        let mut ends = world.into_ends();
        let (mut reader, mut writer) = (ends.remove(1), ends.remove(0));
        std::thread::scope(|scope| {
            let helping = scope.spawn(move || {
                writer.poll(&mut Recorder::default());
                writer
            });
            // The last part is the first to be written.
            let begins = target.as_ptr().wrapping_add(7 * PART);
            // SAFETY: it lies in the target, which the writer's thread writes by way of the kernel.
            while unsafe { begins.read_volatile() } == 0 {
                std::hint::spin_loop();
            }
            fail(&mut reader, board);
            target.fill(0);
            drop(helping.join().unwrap());
        });
        assert!(is_empty(&target), "it was written to after it was given back");
    }
}

#[test]
fn who_has_died_in_the_middle_of_a_part_is_not_waited_for() {
    let mut child = Command::new("true").spawn().unwrap();
    let gone = child.id();
    child.wait().unwrap();
    let bytes = vec![9; 8 * PART];
    for fail in WAYS_TO_FAIL {
        let mut target = vec![0u8; bytes.len()];
        let (mut world, board) = called_for_help(&bytes, &mut target, gone);
        assert!(world.transport(0).peers[1].ledger_out.take_to_write(0, 8));
        fail(world.transport(1), board);
    }
}

#[test]
fn who_seems_to_be_gone_when_it_is_called_for_help_gives_none() {
    let bytes = vec![9; 8 * PART];
    let mut target = vec![0u8; bytes.len()];
    let (mut world, board) = at_a_board(&ShmSettings { bulk: Bulk::Joint, ..small() }, 1);
    show(&mut world, board, &bytes);
    // It sleeps, and the program has closed its socket: nobody can ring there.
    let writer = world.transport(0);
    writer.arena.parked().store(1, Ordering::SeqCst);
    writer.socket = None;
    assert_eq!(fetch_with_help(world.transport(1), board, &mut target), Fetched::Begun);
    assert_eq!(world.transport(1).peers[0].state, State::Down);
    poll(&mut world, 0);
    assert!(is_empty(&target), "it writes to memory that was given back");
}

#[test]
fn who_fails_gets_back_what_others_write_their_part_of_a_result_to() {
    let (bytes, made) = (pattern(3, 4 * PART), vec![9; 4 * PART]);
    for _ in 0..10 {
        let mut result = vec![0u8; made.len()];
        let (mut world, board) = at_a_board(&small(), 1);
        let (one, back, from) = (Audience::One(1), result.as_mut_ptr(), Source::Private(0));
        let len = bytes.len() as u64;
        assert!(world.transport(0).show_piece(board, one, bytes.as_ptr(), len, back));
        let mut ends = world.into_ends();
        let (mut reader, mut shower) = (ends.remove(1), ends.remove(0));
        std::thread::scope(|scope| {
            let giving = scope.spawn(|| {
                while reader.give_back_part(board, from, 0, RawBytes::from(&made[..])) {}
            });
            // SAFETY: it lies in the result, which the reader's thread writes by way of the kernel.
            while unsafe { back.read_volatile() } == 0 {
                std::hint::spin_loop();
            }
            shower.renounce(board, 15);
            result.fill(0);
            giving.join().unwrap();
        });
        assert!(is_empty(&result), "it was written to after it was given back");
    }
}

#[test]
fn a_message_is_left_where_readers_have_it_mapped_if_that_pays() {
    let (one, all) = (Audience::One(1), Audience::Everyone);
    let through = ShmSettings { bulk: Bulk::Pipeline, ..small() };
    // More ranks than there are processors.
    let many = 10_000;
    for (settings, on_node, to, len, pays) in [
        (&small(), 1, one, 4096, true),
        (&small(), 1, all, 4096, true),
        (&small(), 1, one, 4095, false),
        (&small(), many, one, 40_000, true),
        (&small(), many, one, 30_000, false),
        (&small(), many, all, 70_000, true),
        (&small(), many, all, 40_000, false),
        (&through, 1, one, 100_000, false),
    ] {
        let (mut world, board) = at_a_board(settings, on_node);
        let there = mapped(&mut world, 0, 3, 100_000).as_ptr();
        let elsewhere = vec![0; 100_000];
        let shm = world.transport(0);
        assert_eq!(shm.is_better_left(board, to, there, len), pays, "{len} bytes to {to:?}");
        assert!(!shm.is_better_left(board, to, elsewhere.as_ptr(), len));
        assert!(!shm.is_better_left(board, to, there, 32 << 20), "more than there is");
    }
}

/// How many bytes the first shows the second, as messages of `len`, before it had rather write one.
fn shown_first(world: &mut World<Shm>, board: BoardId, len: usize) -> usize {
    let (to, from) = (Audience::One(1), Source::Private(0));
    let (bytes, mut target) = (pattern(3, len), vec![0; len]);
    let mut shown = 0;
    while world.transport(0).is_better_shown(board, to, len as u64) {
        let at = bytes.as_ptr();
        assert!(world.transport(0).show_piece(board, to, at, len as u64, std::ptr::null_mut()));
        let mut into = Unpacker::contiguous(UserBuffer(target.as_mut_ptr()), len as u64);
        let alone = Mover::Reader { past: false };
        let fetched = world.transport(1).fetch_piece(board, from, &mut into, alone);
        assert!(fetched == Fetched::Whole(len as u64) && target == bytes);
        world.transport(1).consume_piece(board, from);
        assert_eq!(world.transport(0).shown(board, to), Shown::Taken);
        shown += len;
    }
    shown
}

#[test]
fn a_ring_gets_no_pages_before_as_much_was_fetched_as_they_are_worth() {
    let many = 10_000;
    for (len, first) in [
        (64 << 10, 1 << 20),
        (100 << 10, 1100 << 10),
        (200 << 10, 1600 << 10),
        (300 << 10, 0),
        (30 << 10, 0),
    ] {
        let (mut world, board) = at_a_board(&small(), many);
        let boards = &mut world.transport(0).boards;
        (boards.price, boards.pause) = (Price::known(9), Duration::from_secs(1));
        assert_eq!(shown_first(&mut world, board, len), first, "messages of {len} bytes");
    }
    let (mut world, board) = at_a_board(&small(), many);
    world.transport(0).boards.price = Price::known(9);
    let len = 16 << 10;
    let bytes = pattern(3, len);
    for _ in 0..4 {
        let at = UserBuffer(bytes.as_ptr().cast_mut());
        let mut packer = Packer::contiguous(at, len as u64);
        assert!(world.transport(0).write_piece(board, Audience::One(1), &mut packer, len, true));
    }
    assert_eq!(shown_first(&mut world, board, 48 << 10), 0, "the pages are there");
}

/// The first writes the second so many messages, which that one takes.
fn carry(world: &mut World<Shm>, board: BoardId, messages: usize, len: usize) {
    let (to, from, bytes) = (Audience::One(1), Source::Private(0), pattern(3, len));
    for _ in 0..messages {
        let at = UserBuffer(bytes.as_ptr().cast_mut());
        let mut packer = Packer::contiguous(at, len as u64);
        assert!(world.transport(0).write_piece(board, to, &mut packer, len, true));
        assert!(world.transport(1).read_piece(board, from).is_some());
        world.transport(1).consume_piece(board, from);
    }
}

#[test]
fn what_all_write_to_each_other_is_shown_where_no_cache_holds_it_and_the_kernel_is_cheap() {
    let (to, len) = (Audience::One(1), 512 << 10);
    let messages = 8;
    let footprint = messages * len + (2 << 20);
    // Where ranks share processors it is shown if it fills the cache, where each has one if it takes more than half.
    for (on_node, fits) in [(10_000, footprint + 1), (1, 2 * footprint)] {
        let (mut world, board) = at_a_board(&small(), on_node);
        world.transport(0).boards.get(board).unwrap().prove(to, true);
        // The ring has got its pages by then.
        carry(&mut world, board, 300, 16 << 10);
        let shm = world.transport(0);
        let mut is_shown = |streams: u32, price: u32, cache: u64| {
            shm.share_caches(board, Share { streams, messages });
            (shm.boards.price, shm.boards.caches) = (Price::known(price), Caches::with_last(cache));
            shm.is_better_shown(board, to, len)
        };
        assert!(!is_shown(2, 1, fits), "it has room");
        assert!(is_shown(2, 1, fits - 1), "{on_node} ranks");
        assert!(!is_shown(2, 9, fits - 1), "the kernel is dear");
        assert_eq!(is_shown(1, 1, fits - 1), on_node > 1, "one who writes alone is waited for");
    }
}

#[test]
fn a_far_reader_is_written_to_where_storing_takes_little_beside_the_kernel() {
    let (to, short, long) = (Audience::One(1), 16 << 10, 64 << 10);
    let known = [Some(1000), Some(u64::MAX), None];
    // Who has to read as well is shown long messages where each has a processor, and written to in turn unless that is
    // dear.
    for (on_node, streams, price, len, shown) in [
        (1, 1, 2, long, [false, true, true]),
        (1, 2, 2, long, [true, true, true]),
        (1, 2, 3, long, [false, true, true]),
        (1, 2, 2, long - 1, [false, true, true]),
        (1, 2, 2, short, [false, true, true]),
        (10_000, 2, 2, long, [false, true, false]),
    ] {
        let (mut world, board) = at_a_board(&small(), on_node);
        world.transport(0).boards.get(board).unwrap().prove(to, false);
        carry(&mut world, board, 300, 16 << 10);
        let shm = world.transport(0);
        shm.share_caches(board, Share { streams, messages: 2 });
        shm.boards.price = Price::known(price);
        let is_shown = known.map(|nanos| {
            prove_far_nanos(nanos);
            shm.is_better_shown(board, to, len)
        });
        assert_eq!(is_shown, shown, "{on_node} ranks, {streams} streams, {len} bytes");
    }
}
