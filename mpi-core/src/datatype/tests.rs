//! Random nested datatypes against the written-out type map: geometry, signature, and every way
//! of moving the data.
#![allow(unsafe_code)]

use proptest::collection::vec;
use proptest::prelude::*;

use super::basic::row_of;
use super::model::{Map, Tree, trees};
use super::*;
use crate::buffer::{RawBytes, UserBuffer};
use crate::tuning::LONG_BODY_BYTES;

/// Memory that `count` elements of a type map lie in.
struct Arena {
    bytes: Vec<u8>,
    /// Where in `bytes` the buffer's address is.
    origin: i64,
    /// For each packed byte, its place in `bytes`.
    places: Vec<usize>,
}

impl Arena {
    fn new(map: &Map, count: i64, fill: impl Fn(usize) -> u8) -> Arena {
        let extent = map.bounds().1;
        let mut disps = Vec::new();
        for element in 0..count {
            for (code, disp) in map.data() {
                let size = i64::from(row_of(code).expect("basic").size);
                disps.extend((0..size).map(|byte| element * extent + disp + byte));
            }
        }
        let low = disps.iter().copied().min().unwrap_or(0);
        let high = disps.iter().copied().max().unwrap_or(0);
        let places = disps.iter().map(|disp| (disp - low) as usize).collect();
        Arena { bytes: (0..=(high - low) as usize).map(fill).collect(), origin: -low, places }
    }

    fn buffer(&mut self) -> UserBuffer {
        UserBuffer(self.bytes.as_mut_ptr().wrapping_offset(self.origin as isize))
    }

    fn packed(&self) -> Vec<u8> {
        self.places.iter().map(|place| self.bytes[*place]).collect()
    }

    fn overlaps(&self) -> bool {
        let mut places = self.places.clone();
        places.sort_unstable();
        places.windows(2).any(|pair| pair[0] == pair[1])
    }
}

fn noise(index: usize) -> u8 {
    (index.wrapping_mul(2_654_435_761) >> 13) as u8
}

/// Takes all bytes in pieces of these sizes, over and over.
fn pack_in_pieces(mut packer: Packer, pieces: &[usize]) -> Vec<u8> {
    let mut packed = vec![0; packer.remaining() as usize];
    let mut done = 0;
    for piece in pieces.iter().cycle() {
        if packer.remaining() == 0 {
            break;
        }
        let room = (*piece).min(packed.len() - done);
        // SAFETY: `room` bytes are left in `packed`, and the arena outlives the cursor.
        done += unsafe { packer.pack_into(packed[done..].as_mut_ptr(), room) };
    }
    packed
}

proptest! {
    #![proptest_config(ProptestConfig { max_global_rejects: 100_000, ..crate::cases::cases(1000) })]

    #[test]
    fn geometry_is_that_of_the_type_map(tree in trees()) {
        let (map, datatype) = (tree.map(), tree.build(Form::Int));
        let (lb, extent) = map.bounds();
        let (low, high) = map.true_bounds();
        prop_assert_eq!(datatype.size() as i64, map.size());
        prop_assert_eq!((datatype.lb(), datatype.extent()), (lb, extent));
        prop_assert_eq!((datatype.true_lb(), datatype.true_extent()), (low, high - low));
        prop_assert_eq!(datatype.elements() as usize, map.data().count());
        let large = tree.build(Form::Large);
        prop_assert_eq!((large.size(), large.extent()), (datatype.size(), datatype.extent()));
    }

    #[test]
    fn signatures_list_the_basic_types(tree in trees()) {
        let (map, datatype) = (tree.map(), tree.build(Form::Int));
        let mut codes = Vec::new();
        let visited: std::result::Result<(), ()> =
            datatype.signature().try_for_each_run(&mut |row, count| {
                codes.extend(std::iter::repeat_n(row.code, count as usize));
                Ok(())
            });
        prop_assert!(visited.is_ok());
        let expected: Vec<u32> = map.data().map(|(code, _)| code).collect();
        prop_assert_eq!(&codes, &expected);
        let flat: Vec<_> = codes.iter().filter_map(|code| row_of(*code)).collect();
        let flat = Signature::concat(flat.into_iter().map(Signature::of_row).collect());
        prop_assert_eq!(flat.hash(), datatype.signature().hash());
        if let Some(last) = codes.last() {
            let mut other = codes.clone();
            *other.last_mut().expect("not empty") = if *last == 0x209 { 0x20d } else { 0x209 };
            let other = other.iter().filter_map(|code| row_of(*code));
            let other = Signature::concat(other.map(Signature::of_row).collect());
            prop_assert_ne!(other.hash(), datatype.signature().hash());
        }
    }

    #[test]
    fn packing_follows_the_type_map(tree in trees(), count in 0..5i64,
            pieces in vec(1..70usize, 1..9)) {
        let (map, datatype) = (tree.map(), tree.build(Form::Int));
        let mut arena = Arena::new(&map, count, noise);
        let expected = arena.packed();
        let packer = Packer::new(arena.buffer(), count, &datatype);
        prop_assert_eq!(packer.remaining() as usize, expected.len());
        prop_assert_eq!(&pack_in_pieces(packer.clone(), &[usize::MAX]), &expected);
        prop_assert_eq!(&pack_in_pieces(packer.clone(), &pieces), &expected);
        let mut runs = packer.clone();
        let mut from_runs = Vec::new();
        while let Some((at, len)) = runs.next_run(pieces[from_runs.len() % pieces.len()]) {
            // SAFETY: the run lies in the arena.
            from_runs.extend(unsafe { RawBytes::new(at, len) }.to_vec());
        }
        prop_assert_eq!(&from_runs, &expected);
        if let Some((at, len)) = packer.as_contiguous() {
            // SAFETY: the run lies in the arena.
            let bytes = unsafe { RawBytes::new(at, len as usize) }.to_vec();
            prop_assert_eq!(&bytes, &expected);
        }
    }

    #[test]
    fn unpacking_undoes_packing(tree in trees(), count in 0..5i64,
            pieces in vec(1..70usize, 1..9)) {
        let (map, datatype) = (tree.map(), tree.build(Form::Int));
        let mut arena = Arena::new(&map, count, |_| 0xa5);
        prop_assume!(!arena.overlaps());
        let message: Vec<u8> = (0..arena.places.len()).map(noise).collect();
        let mut expected = arena.bytes.clone();
        for (byte, place) in message.iter().zip(&arena.places) {
            expected[*place] = *byte;
        }
        let mut unpacker = Unpacker::new(arena.buffer(), count, &datatype);
        let mut rest = &message[..];
        for piece in pieces.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (head, tail) = rest.split_at((*piece).min(rest.len()));
            // SAFETY: the arena outlives the cursor.
            prop_assert_eq!(unsafe { unpacker.unpack_from(head.into()) }, head.len());
            rest = tail;
        }
        prop_assert_eq!(unpacker.remaining(), 0);
        prop_assert_eq!(&arena.bytes, &expected);
    }

    #[test]
    fn a_cursor_may_start_anywhere_and_stop_early(tree in trees(), count in 1..4i64,
            start: prop::sample::Index, len: prop::sample::Index) {
        let (map, datatype) = (tree.map(), tree.build(Form::Int));
        let mut arena = Arena::new(&map, count, noise);
        let expected = arena.packed();
        prop_assume!(!expected.is_empty());
        let start = start.index(expected.len());
        let len = len.index(expected.len() - start);
        let mut packer = Packer::new(arena.buffer(), count, &datatype);
        packer.skip(start as u64);
        packer.truncate(len as u64);
        prop_assert_eq!(pack_in_pieces(packer, &[7]), &expected[start..start + len]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        max_global_rejects: 100_000,
        ..crate::cases::cases(500)
    })]

    #[test]
    fn elements_are_counted_as_the_type_map_lists_them(tree in trees(), count in 1..4usize) {
        let (map, datatype) = (tree.map(), tree.build(Form::Int));
        let sizes = map.data().map(|(code, _)| u64::from(row_of(code).expect("basic").size));
        let sizes: Vec<u64> = sizes.collect();
        let mut ends = vec![0];
        for size in sizes.iter().cycle().take(sizes.len() * count) {
            ends.push(ends[ends.len() - 1] + size);
        }
        for (elements, end) in ends.iter().enumerate() {
            prop_assert_eq!(datatype.elements_in(*end), Some(elements as u64));
            prop_assert_eq!(datatype.bytes_of_elements(elements as u64), Some(*end));
            let whole = sizes.is_empty() || elements % sizes.len() == 0;
            let whole = whole.then(|| if sizes.is_empty() { 0 } else { elements / sizes.len() });
            prop_assert_eq!(datatype.count_in(*end), whole.map(|n| n as u64));
            if elements < ends.len() - 1 && !ends.contains(&(end + 1)) {
                prop_assert_eq!(datatype.elements_in(end + 1), None);
            }
        }
    }

    #[test]
    fn unpacking_undoes_packing_in_both_representations(tree in trees(), count in 0..4i64,
            first in 0..9i64) {
        let (map, datatype) = (tree.map(), tree.build(Form::Int));
        // Bytes below 0x40 are numbers that every external representation can hold.
        let mut arena = Arena::new(&map, count, |index| noise(index) & 0x3f);
        prop_assume!(!arena.overlaps());
        let mut copy = Arena::new(&map, count, |_| 0);
        let native = pack::pack_size(count, &datatype).expect("small");
        let external = pack::pack_external_size(count, &datatype).expect("small");
        for (bytes, is_external) in [(native, false), (external, true)] {
            let mut room = vec![0u8; (first + bytes) as usize];
            let at = UserBuffer(room.as_mut_ptr());
            let size = first + bytes;
            let packed = pack::PackBuffer { at, size, position: first };
            let buffer = arena.buffer();
            // SAFETY: the arenas hold the elements, and `room` all of their packed bytes.
            let ends = unsafe {
                if is_external {
                    let end = pack::pack_external(buffer, count, &datatype, packed);
                    (end, pack::unpack_external(packed, copy.buffer(), count, &datatype))
                } else {
                    let end = pack::pack(buffer, count, &datatype, packed);
                    prop_assert_eq!(&room[first as usize..], &arena.packed());
                    (end, pack::unpack(packed, copy.buffer(), count, &datatype))
                }
            };
            let ends = (ends.0.expect("packs"), ends.1.expect("unpacks"));
            prop_assert_eq!(ends, (size, size));
            // These bytes are no long double that the x87 format normalises.
            if !is_external || map.data().all(|(code, _)| code != 0x220) {
                prop_assert_eq!(copy.packed(), arena.packed());
            }
            copy.bytes.fill(0);
        }
    }
}

#[test]
fn a_packing_buffer_must_have_room() {
    let int = predefined(0x209).expect("MPI_INT");
    let mut numbers = [1i32, 2];
    let mut room = [0u8; 7];
    let size = room.len() as i64;
    let at = UserBuffer(room.as_mut_ptr());
    let buf = UserBuffer(numbers.as_mut_ptr().cast());
    let out = pack::PackBuffer { at, size, position: 0 };
    // SAFETY: two elements can be read; the call must not write beyond `size`.
    let error = unsafe { pack::pack(buf, 2, int, out) }.expect_err("seven bytes for eight");
    assert_eq!(error.parameter(), Some("outsize"));
    assert_eq!(room, [0; 7]);
    let from = pack::PackBuffer { at, size, position: 8 };
    // SAFETY: two elements can be written; the call must not read beyond `size`.
    let error = unsafe { pack::unpack(from, buf, 1, int) }.expect_err("a position outside");
    assert_eq!(error.parameter(), Some("position"));
}

#[test]
fn nothing_is_packed_from_nowhere_to_nowhere() {
    let int = predefined(0x209).expect("MPI_INT");
    let column = Datatype::vector(3, 1, 2, int, Form::Int).expect("a column");
    let empty = Datatype::contiguous(0, int, Form::Int).expect("no elements");
    let nowhere = UserBuffer(std::ptr::null_mut());
    let packed = pack::PackBuffer { at: nowhere, size: 0, position: 0 };
    for (datatype, count) in [(int, 0), (&column, 0), (&empty, 0), (&empty, 5)] {
        // SAFETY: there are no bytes to be read or written.
        let ends = unsafe {
            [
                pack::pack(nowhere, count, datatype, packed),
                pack::unpack(packed, nowhere, count, datatype),
            ]
        };
        assert!(ends.into_iter().all(|end| end.is_ok_and(|end| end == 0)));
    }
}

#[test]
fn a_huge_type_map_stays_small() {
    let double = predefined(0x214).expect("MPI_DOUBLE");
    let column = Datatype::vector(1 << 20, 1, 1 << 10, double, Form::Int).expect("a column");
    let columns = Datatype::hvector(1 << 10, 1, 16, &column, Form::Int).expect("columns");
    assert_eq!(columns.size(), 8 << 30);
    assert_eq!(columns.elements(), 1 << 30);
    assert!(Datatype::contiguous(1 << 40, &columns, Form::Large).is_err());
    assert!(Datatype::contiguous(1 << 20, &columns, Form::Large).is_ok());
}

#[test]
fn wrong_arguments_are_named() {
    let int = predefined(0x209).expect("MPI_INT");
    let error = Datatype::contiguous(-1, int, Form::Int).expect_err("a negative count");
    assert_eq!(
        (error.class(), error.parameter()),
        (crate::error::ErrorClass::COUNT, Some("count"))
    );
    let error = Datatype::vector(1, -1, 0, int, Form::Int).expect_err("a negative length");
    assert_eq!(error.parameter(), Some("blocklength"));
    let error = Datatype::indexed(&[1, -2], &[0, 0], int, Form::Int).expect_err("negative");
    assert_eq!(error.parameter(), Some("array_of_blocklengths"));
    let args = Subarray { sizes: &[4], subsizes: &[3], starts: &[2], order: 12 };
    let error = Datatype::subarray(args, int, Form::Int).expect_err("outside");
    assert_eq!(error.parameter(), Some("array_of_starts"));
    let error = Datatype::resized(int, i64::MAX, 2, Form::Int).expect_err("beyond 64 bits");
    assert_eq!(error.class(), crate::error::ErrorClass::COUNT);
    let error = Datatype::vector(2, 1, i64::MAX, int, Form::Int).expect_err("beyond 64 bits");
    assert_eq!(error.class(), crate::error::ErrorClass::COUNT);
}

#[test]
fn regular_lists_become_strides_and_neighbours_one_run() {
    let int = predefined(0x209).expect("MPI_INT");
    let plan = |datatype: Arc<Datatype>| (*datatype.layout.plan).clone();
    let regular = Datatype::indexed_block(1, &[0, 3, 6, 9], int, Form::Int).expect("valid");
    assert_eq!(plan(regular), Plan::Strided { disp: 0, len: 4, count: 4, stride: 12 });
    let dense = Datatype::indexed(&[2, 1, 3], &[0, 2, 3], int, Form::Int).expect("valid");
    assert!(dense.is_contiguous());
    assert_eq!(dense.contiguous_bytes(10), Some(240));
    let rows = Subarray { sizes: &[8, 6], subsizes: &[3, 6], starts: &[2, 0], order: 12 };
    let rows = Datatype::subarray(rows, int, Form::Int).expect("valid");
    assert_eq!(plan(rows), Plan::Run { disp: 48, len: 72 });
}

#[test]
fn named_types_of_one_field_are_what_they_were() {
    let tree = Tree::Struct(vec![(1, 0, Tree::Named(0x214)), (1, 8, Tree::Named(0x243))]);
    let datatype = tree.build(Form::Int);
    assert_eq!((datatype.size(), datatype.extent()), (9, 16), "the example of §5.1");
}

#[test]
fn empty_members_of_a_structure_bound_nothing() {
    let double = || Tree::Named(0x214);
    let named = Box::new(double());
    let empty = [
        Tree::Hvector(0, 1, 16, named.clone()),
        Tree::Hvector(3, 0, 16, named.clone()),
        Tree::Contiguous(0, named),
        Tree::Struct(vec![]),
    ];
    for empty in empty {
        let alone = empty.build(Form::Int);
        assert_eq!((alone.lb(), alone.extent()), (0, 0), "{empty:?}");
        let members = vec![(1, 0, empty.clone()), (1, 16, double()), (1, 64, empty.clone())];
        let whole = Tree::Struct(members).build(Form::Int);
        assert_eq!((whole.size(), whole.lb(), whole.extent()), (8, 16, 8), "{empty:?}");
        let around = Tree::Resized(0, 0, Box::new(empty));
        let members = vec![(1, 0, around.clone()), (1, 16, double()), (1, 64, around)];
        let whole = Tree::Struct(members).build(Form::Int);
        assert_eq!((whole.lb(), whole.extent()), (0, 64), "bounds that were set count");
    }
}

#[test]
fn what_is_brought_fills_the_room_there_is_and_no_more() {
    let many = LONG_BODY_BYTES;
    let rooms = [(100, 100), (many, many), (many + 9, many - 1), (3 * many, 4 * many), (many, 0)];
    for (len, room) in rooms {
        let bytes: Vec<u8> = (0..len).map(noise).collect();
        let mut target = vec![0xee; 4 * many];
        let mut into = Unpacker::contiguous(UserBuffer(target.as_mut_ptr()), room as u64);
        // SAFETY: the target has the room.
        let taken = unsafe { into.bring_from(RawBytes::from(&bytes[..])) };
        assert_eq!((taken, into.remaining()), (len.min(room), (room - taken) as u64));
        assert!(target[..taken] == bytes[..taken]);
        assert!(target[taken..].iter().all(|byte| *byte == 0xee));
    }
}
