//! The table of handles against a map, and the words for each kind of wrong handle.

use super::*;
use crate::handle::{CommKind, DatatypeKind, InfoKind, MessageKind};
use proptest::prelude::*;
use std::collections::HashMap;

#[test]
fn wrong_handles_are_told_apart() {
    let mut comms: Table<CommKind, u8> = Table::new();
    let world = comms.set_predefined(0x101, 1);
    assert_eq!(*comms.get(world).unwrap(), 1);
    let freed = comms.insert(2).unwrap();
    assert_eq!(comms.remove(freed).unwrap(), 2);
    let next = comms.insert(3).unwrap();
    assert_eq!((next.index(), next.generation()), (freed.index(), freed.generation() + 1));
    let datatype = Handle::<DatatypeKind>::new(0, 1).raw();
    let error = |raw: u32| {
        let error = comms.get(Handle::from_raw(raw)).unwrap_err();
        assert_eq!((error.class(), error.parameter()), (ErrorClass::COMM, Some("comm")));
        error
    };
    let says = |raw: u32| error(raw).what().to_owned();
    assert_eq!(says(0x100), "is MPI_COMM_NULL");
    assert_eq!(says(freed.raw()), "was freed");
    assert_eq!(says(datatype), "is a datatype, not a communicator");
    assert_eq!(says(0x209), "is a datatype, not a communicator");
    assert_eq!(says(0x131), "is an info object, not a communicator");
    let unused = Handle::<CommKind>::new(77, 1).raw();
    for (raw, what) in [
        (0x102, ", which names no communicator"),
        (0, ", which names no communicator"),
        (unused, ", which names no communicator"),
        (0xffff_ffff, ", which is no handle"),
    ] {
        assert_eq!((error(raw).value(), error(raw).what()), (Some(Special::Handle(raw)), what));
    }
    let foreign = comms.get(Handle::from_raw(FOREIGN_HANDLE)).unwrap_err();
    assert_eq!(foreign.value(), Some(Special::Foreign));
    assert_eq!(foreign.what(), ", which names no communicator");
    assert!(comms.remove(world).unwrap_err().what().contains("cannot be freed"));
    assert_eq!(comms.take_predefined(0x101), Some(1));
    assert!(comms.get(world).is_err());
}

#[test]
fn a_message_error_is_of_the_request_class() {
    let messages: Table<MessageKind, ()> = Table::new();
    let error = messages.get(Handle::NULL).unwrap_err();
    assert_eq!((error.class(), error.parameter()), (ErrorClass::REQUEST, Some("message")));
}

#[test]
fn running_out_of_handles_is_no_mem() {
    let mut table: Table<InfoKind, ()> = Table::new();
    for _ in 0..INDEX_END {
        table.insert(()).unwrap();
    }
    assert_eq!(table.insert(()).unwrap_err().class(), ErrorClass::NO_MEM);
    table.remove(Handle::new(5, 1)).unwrap();
    assert_eq!(table.insert(()).unwrap(), Handle::new(5, 2));
}

proptest! {
    /// Whatever is inserted and removed, live handles find their object, and dead ones do not
    /// until sixteen generations of their slot have passed.
    #[test]
    fn behaves_as_a_map(steps in prop::collection::vec(prop::option::of(any::<prop::sample::Index>()), 1..300)) {
        let mut table: Table<InfoKind, usize> = Table::new();
        let mut model: HashMap<u32, usize> = HashMap::new();
        let mut order = Vec::new();
        for (number, step) in steps.into_iter().enumerate() {
            match step {
                Some(which) if !order.is_empty() => {
                    let raw = order.swap_remove(which.index(order.len()));
                    prop_assert_eq!(table.remove(Handle::from_raw(raw)).ok(), model.remove(&raw));
                    prop_assert!(table.get(Handle::from_raw(raw)).is_err());
                }
                _ => {
                    let handle = table.insert(number).unwrap();
                    prop_assert!(model.insert(handle.raw(), number).is_none());
                    order.push(handle.raw());
                }
            }
            for (raw, object) in &model {
                prop_assert_eq!(table.get(Handle::from_raw(*raw)).unwrap(), object);
            }
            prop_assert_eq!(table.len(), model.len());
            prop_assert_eq!(table.iter().count(), model.len());
        }
    }
}
