//! Envelope and contents say enough to make the same datatype again.

use std::sync::Arc;

use proptest::prelude::*;

use super::model::trees;
use super::*;

/// Makes a datatype from what an equal one tells about itself.
fn rebuilt(datatype: &Arc<Datatype>) -> Arc<Datatype> {
    let Ok(contents) = datatype.contents() else { return Arc::clone(datatype) };
    let types: Vec<Arc<Datatype>> = contents.datatypes.iter().map(rebuilt).collect();
    let form = if contents.counts.is_empty() { Form::Int } else { Form::Large };
    // Sizes come first, then displacements: in one list of large counts or in two lists.
    let (sizes, disps) = match form {
        Form::Int => (&contents.integers[..], &contents.addresses[..]),
        Form::Large => {
            let address_like = match contents.combiner {
                Combiner::Hvector => 1,
                Combiner::Hindexed | Combiner::Struct => contents.counts[0] as usize,
                Combiner::HindexedBlock => contents.counts[0] as usize,
                Combiner::Resized => 2,
                _ => 0,
            };
            contents.counts.split_at(contents.counts.len() - address_like)
        }
    };
    let arrays = [&contents.integers[..], &contents.counts[..]];
    let old = &types.first();
    let old = || old.expect("a datatype");
    let made = match contents.combiner {
        Combiner::Dup => Datatype::dup(old()),
        Combiner::Contiguous => Datatype::contiguous(sizes[0], old(), form),
        Combiner::Vector => Datatype::vector(sizes[0], sizes[1], sizes[2], old(), form),
        Combiner::Hvector => Datatype::hvector(sizes[0], sizes[1], disps[0], old(), form),
        Combiner::Indexed => {
            let (lengths, disps) = sizes[1..].split_at(sizes[0] as usize);
            Datatype::indexed(lengths, disps, old(), form)
        }
        Combiner::Hindexed => Datatype::hindexed(&sizes[1..], disps, old(), form),
        Combiner::IndexedBlock => Datatype::indexed_block(sizes[1], &sizes[2..], old(), form),
        Combiner::HindexedBlock => Datatype::hindexed_block(sizes[1], disps, old(), form),
        Combiner::Struct => Datatype::structure(&sizes[1..], disps, &types, form),
        Combiner::Resized => Datatype::resized(old(), disps[0], disps[1], form),
        Combiner::Subarray => subarray(arrays, form, old()),
        Combiner::Darray => darray(arrays, form, old()),
        other => panic!("{other:?} is not made by these tests"),
    };
    made.expect("arguments that were good once")
}

fn subarray(
    [integers, counts]: [&[i64]; 2],
    form: Form,
    old: &Arc<Datatype>,
) -> Result<Arc<Datatype>> {
    let ndims = integers[0] as usize;
    let lists = if form == Form::Int { &integers[1..] } else { counts };
    let args = Subarray {
        sizes: &lists[..ndims],
        subsizes: &lists[ndims..2 * ndims],
        starts: &lists[2 * ndims..3 * ndims],
        order: integers[integers.len() - 1],
    };
    Datatype::subarray(args, old, form)
}

fn darray(
    [integers, counts]: [&[i64]; 2],
    form: Form,
    old: &Arc<Datatype>,
) -> Result<Arc<Datatype>> {
    let ndims = integers[2] as usize;
    let (gsizes, rest) = match form {
        Form::Int => integers[3..].split_at(ndims),
        Form::Large => (counts, &integers[3..]),
    };
    let args = Darray {
        size: integers[0],
        rank: integers[1],
        gsizes,
        distribs: &rest[..ndims],
        dargs: &rest[ndims..2 * ndims],
        psizes: &rest[2 * ndims..3 * ndims],
        order: rest[3 * ndims],
    };
    Datatype::darray(args, old, form)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

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
