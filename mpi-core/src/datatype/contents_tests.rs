//! Envelope and contents say enough to make the same datatype again.

use std::sync::Arc;

use proptest::prelude::*;

use super::model::{Tree, trees};
use super::*;

/// A leaf of one byte.
const BYTES: Tree = Tree::Named(BYTE.raw());

/// Makes a datatype from what an equal one tells about itself.
fn rebuilt(datatype: &Arc<Datatype>) -> Arc<Datatype> {
    let Ok(contents) = datatype.contents() else { return Arc::clone(datatype) };
    let types: Vec<Arc<Datatype>> = contents.datatypes.iter().map(rebuilt).collect();
    contents.again(&types).expect("arguments that were good once")
}

proptest! {
    #![proptest_config(crate::cases::cases(1000))]

    #[test]
    fn contents_make_the_same_datatype_again(tree in trees(), large: bool) {
        let form = if large { Form::Large } else { Form::Int };
        let first = tree.build(form);
        let second = rebuilt(&first);
        prop_assert_eq!(first.envelope(), second.envelope());
        prop_assert_eq!(&first.layout.plan, &second.layout.plan);
        prop_assert_eq!(&first.layout.bounds, &second.layout.bounds);
        prop_assert_eq!(first.signature(), second.signature());
        if let Ok(contents) = first.contents() {
            let again = second.contents().expect("derived too");
            prop_assert_eq!(&contents.integers, &again.integers);
            prop_assert_eq!(&contents.addresses, &again.addresses);
            prop_assert_eq!(&contents.counts, &again.counts);
        }
    }
}

proptest! {
    #[test]
    fn in_a_file_a_long_has_four_bytes(tree in trees(), large: bool) {
        let form = if large { Form::Large } else { Form::Int };
        let (long, four_bytes) = (Tree::Named(0x20a), Tree::Contiguous(4, Box::new(BYTES)));
        let [in_memory, in_file] = [long, four_bytes].map(|of| tree.with_leaves(&of).build(form));
        let stored = Datatype::in_external32(&in_memory).expect("smaller than in memory");
        prop_assert_eq!(&stored.layout.plan, &in_file.layout.plan);
        prop_assert_eq!((stored.lb(), stored.extent()), (in_file.lb(), in_file.extent()));
    }
}

#[test]
fn in_a_file_without_long_nothing_changes() {
    let pair = predefined(0x229).expect("MPI_DOUBLE_INT");
    assert!(Arc::ptr_eq(&Datatype::in_external32(pair).expect("the same"), pair));
    let pair = predefined(0x22a).expect("MPI_LONG_INT");
    let stored = Datatype::in_external32(pair).expect("shorter");
    assert_eq!((stored.size(), stored.extent(), pair.size()), (8, 8, 12));
}

#[test]
fn envelopes_have_the_numbers_of_the_standard() {
    let int = predefined(0x209).expect("MPI_INT");
    let numbers = |datatype: &Datatype| {
        let e = datatype.envelope();
        (e.combiner, e.integers, e.addresses, e.counts, e.datatypes)
    };
    assert_eq!(numbers(int), (Combiner::Named, 0, 0, 0, 0));
    let of = |form| Datatype::hindexed(&[1, 2], &[0, 8], int, form).expect("valid");
    assert_eq!(numbers(&of(Form::Int)), (Combiner::Hindexed, 3, 2, 0, 1));
    assert_eq!(numbers(&of(Form::Large)), (Combiner::Hindexed, 0, 0, 5, 1));
    let args = Subarray { sizes: &[4, 4], subsizes: &[2, 2], starts: &[1, 1], order: 15 };
    let of = |form| Datatype::subarray(args, int, form).expect("valid");
    assert_eq!(numbers(&of(Form::Int)), (Combiner::Subarray, 8, 0, 0, 1));
    assert_eq!(numbers(&of(Form::Large)), (Combiner::Subarray, 2, 0, 6, 1));
    let real = Datatype::f90_real(15, -32766).expect("a double");
    assert_eq!(numbers(&real), (Combiner::F90Real, 2, 0, 0, 0));
    assert!(real.is_predefined() && real.is_committed() && real.predefined_code().is_none());
    assert!(int.contents().is_err());
    assert!(Datatype::f90_real(40, 10).is_err());
}

#[test]
fn only_what_is_committed_counts_as_committed() {
    let int = predefined(0x209).expect("MPI_INT");
    let two = Datatype::contiguous(2, int, Form::Int).expect("valid");
    assert!(!two.is_committed() && !Datatype::dup(&two).expect("valid").is_committed());
    two.commit();
    assert!(two.is_committed() && Datatype::dup(&two).expect("valid").is_committed());
}

#[test]
fn sizes_and_pairs_find_their_datatypes() {
    let code = |class, size| {
        Datatype::match_size(class, size).ok().and_then(|datatype| datatype.predefined_code())
    };
    assert_eq!(code(193, 8), Some(0x2da), "MPI_REAL8");
    assert_eq!(code(192, 2), Some(0x2c9), "MPI_INTEGER2");
    assert_eq!(code(194, 16), Some(0x2e3), "MPI_COMPLEX16");
    assert_eq!(code(193, 3), None);
    let named = |code| predefined(code).expect("named");
    let pair = |value, index| Datatype::value_index(named(value), named(index)).expect("small");
    assert_eq!(pair(0x210, 0x209).and_then(|pair| pair.predefined_code()), Some(0x228));
    let unnamed = pair(0x214, 0x258).expect("MPI_DOUBLE with MPI_INT64_T");
    assert_eq!((unnamed.size(), unnamed.extent()), (16, 16));
    assert_eq!(unnamed.envelope().combiner, Combiner::ValueIndex);
    assert!(pair(0x21b, 0x209).is_none(), "complex numbers have no order");
}
