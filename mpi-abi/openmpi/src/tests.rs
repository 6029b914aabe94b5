//! Conversions of the Open MPI face, over all values of its table.

use std::ffi::{c_int, c_void};
use std::ptr;

use mpi_abi::face::{ConstantGroup, Face};
use mpi_abi::mpi_core::constants;
use mpi_abi::mpi_core::error::ErrorClass;
use mpi_abi::mpi_core::handle::*;
use mpi_abi::mpi_core::status::Status;

use crate::OpenMpi;
use crate::objects::{self, tables};
use crate::symbols;

#[test]
fn predefined_handles_go_both_ways() {
    for &(kind, core, fint) in tables::ALL_NUMBERS {
        let address = objects::address_of(core).cast_mut();
        assert!(!address.is_null());
        assert_eq!(OpenMpi::datatype_in(address).raw(), core);
        if kind == DatatypeKind::NUMBER as usize {
            assert_eq!(OpenMpi::datatype_out(Handle::from_raw(core)), address);
        }
        if fint >= 0 {
            assert_eq!(OpenMpi::handle_from_fint(kind as u32, fint), core);
            let first = OpenMpi::handle_to_fint(core);
            assert_eq!(OpenMpi::handle_from_fint(kind as u32, first), core);
        }
    }
    assert_eq!(
        OpenMpi::comm_out(Handle::from_raw(0x101)),
        (&raw mut tables::ompi_mpi_comm_world).cast()
    );
    assert_eq!(OpenMpi::handle_to_fint(0x209), 39);
    assert_eq!(OpenMpi::handle_to_fint(0x141), 1);
}

#[test]
fn an_alias_is_accepted_and_the_first_name_returned() {
    let alias = (&raw mut tables::ompi_mpi_c_complex).cast::<c_void>();
    let handle = OpenMpi::datatype_in(alias);
    let first = (&raw mut tables::ompi_mpi_c_float_complex).cast::<c_void>();
    assert_eq!(OpenMpi::datatype_out(handle), first);
}

#[test]
fn what_the_abi_lacks_is_shown_as_null() {
    let null = (&raw mut tables::ompi_mpi_datatype_null).cast::<c_void>();
    assert_eq!(OpenMpi::datatype_out(Handle::from_raw(0x2e0)), null, "MPI_LOGICAL16");
    assert_eq!(OpenMpi::datatype_out(Handle::from_raw(FOREIGN_HANDLE)), null);
}

#[test]
fn a_cell_never_moves_and_shows_the_latest_generation() {
    let old = CommHandle::new(5, 1);
    let new = CommHandle::new(5, 2);
    let address = OpenMpi::comm_out(old);
    assert_eq!(OpenMpi::comm_in(address), old);
    for index in [0, 1023, 1024, 100_000, INDEX_END - 1] {
        let request = RequestHandle::new(index, 3);
        assert_eq!(OpenMpi::request_in(OpenMpi::request_out(request)), request);
        let fint = OpenMpi::handle_to_fint(request.raw());
        assert_eq!(OpenMpi::handle_from_fint(RequestKind::NUMBER, fint), request.raw());
    }
    assert_eq!(OpenMpi::comm_out(new), address);
    assert_eq!(OpenMpi::comm_in(address), new);
}

#[test]
fn an_integer_whose_object_is_gone_leaves_the_one_in_its_place_alone() {
    let (gone, there) = (WinHandle::new(7, 1), WinHandle::new(7, 2));
    let fint = OpenMpi::handle_to_fint(gone.raw());
    let of_fint = || Handle::from_raw(OpenMpi::handle_from_fint(WinKind::NUMBER, fint));
    let address = OpenMpi::win_out(gone);
    assert_eq!(OpenMpi::win_kept(of_fint()), address);
    assert_eq!(OpenMpi::win_out(there), address);
    let other = OpenMpi::win_kept(of_fint());
    assert_eq!((OpenMpi::win_in(address), OpenMpi::win_in(other)), (there, gone));
}

#[test]
fn cells_are_distinct() {
    let mut addresses: Vec<usize> = (0..5000)
        .flat_map(|index| {
            let info = OpenMpi::info_out(InfoHandle::new(index, 0)) as usize;
            [info, OpenMpi::group_out(GroupHandle::new(index, 0)) as usize]
        })
        .collect();
    let all = addresses.len();
    addresses.sort_unstable();
    addresses.dedup();
    assert_eq!(addresses.len(), all);
}

#[test]
fn what_is_no_handle_names_nothing() {
    let zeroes = [0_u64; 4];
    let inside = (&raw const zeroes).cast::<u8>().wrapping_add(1);
    for address in [ptr::null(), 39 as *const c_void, (&raw const zeroes).cast(), inside.cast()] {
        assert_eq!(OpenMpi::comm_in(address.cast_mut()).raw(), FOREIGN_HANDLE);
    }
    for fint in [-1, 79, 80, 4711, c_int::MIN, c_int::MAX] {
        let raw = OpenMpi::handle_from_fint(DatatypeKind::NUMBER, fint);
        assert!(raw == FOREIGN_HANDLE || raw == DatatypeHandle::NULL.raw(), "{fint}: {raw:#x}");
    }
}

#[test]
fn an_argument_in_doubt_is_looked_at_only_where_an_object_is() {
    let double = (&raw mut tables::ompi_mpi_double).cast::<c_void>();
    let own = OpenMpi::datatype_out(DatatypeHandle::new(1500, 1));
    for _ in 0..2 {
        for address in [double, own] {
            assert_eq!(OpenMpi::datatype_in_doubt(address), OpenMpi::datatype_in(address));
            let behind = address.wrapping_byte_add(4);
            assert_eq!(OpenMpi::datatype_in_doubt(behind).raw(), FOREIGN_HANDLE);
        }
        // Aligned, and not mapped.
        let nowhere = ptr::without_provenance_mut(0x10000);
        assert_eq!(OpenMpi::datatype_in_doubt(nowhere).raw(), FOREIGN_HANDLE);
    }
}

#[test]
fn constants_ranks_and_special_addresses() {
    assert_eq!(OpenMpi::rank_in(-2), constants::PROC_NULL);
    assert_eq!(OpenMpi::rank_in(-3), -2); // no rank on either side
    assert_eq!(OpenMpi::tag_in(-1), constants::ANY_TAG);
    assert_eq!(OpenMpi::constant_in(ConstantGroup::WinModel, 0), 321);
    assert_eq!(OpenMpi::constant_in(ConstantGroup::Keyval, 0), 501);
    assert_eq!(OpenMpi::constant_out(ConstantGroup::SplitType, 221), 0);
    // OMPI_COMM_TYPE_SOCKET, which no other ABI has.
    assert_eq!(OpenMpi::constant_in(ConstantGroup::SplitType, 6), 230);
    assert!(OpenMpi::buffer_in(ptr::without_provenance(1)).is_in_place());
    assert!(OpenMpi::is_unweighted(ptr::without_provenance(2)));
    assert!(OpenMpi::is_status_ignore(ptr::null()));
}

#[test]
fn every_error_class_has_a_code() {
    let lacking = [ErrorClass::ERRHANDLER, ErrorClass::ABI];
    for &class in ErrorClass::ALL {
        let code = OpenMpi::error_out(class);
        assert!((0..92).contains(&code), "{class:?}");
        if !lacking.contains(&class) && !(1001..1100).contains(&class.0) {
            assert_eq!(OpenMpi::error_in(code), class, "{class:?}");
        }
    }
    assert_eq!(OpenMpi::error_out(ErrorClass::ERRHANDLER), 13);
    for code in 0..=92 {
        let class = OpenMpi::error_in(code);
        assert_eq!(OpenMpi::error_out(class), if code < 80 { code } else { 14 });
    }
    assert_eq!(OpenMpi::error_in(-1).name(), None);
    assert_eq!(OpenMpi::error_out(ErrorClass(16384)), 93);
}

#[test]
fn a_status_comes_back_and_keeps_its_error() {
    let status = Status {
        source: 3,
        tag: constants::ANY_TAG,
        error: ErrorClass::TRUNCATE,
        bytes: 1 << 40,
        cancelled: true,
    };
    let mut shown = std::mem::MaybeUninit::zeroed();
    // SAFETY: the status is ours.
    unsafe {
        OpenMpi::status_out(shown.as_mut_ptr(), &status, true);
        assert_eq!(OpenMpi::status_in(shown.as_ptr()), status);
        let other = Status { error: ErrorClass::SUCCESS, ..status };
        OpenMpi::status_out(shown.as_mut_ptr(), &other, false);
        assert_eq!(OpenMpi::status_in(shown.as_ptr()).error, ErrorClass::TRUNCATE);
    }
}

#[test]
fn predefined_attribute_functions_copy_or_do_not() {
    let value = ptr::without_provenance_mut::<c_void>(77);
    let win = WinHandle::new(0, 0).raw();
    let call = |function: *const c_void| {
        // SAFETY: the library's own functions are copy functions.
        unsafe {
            OpenMpi::call_copy_attr(function, WinKind::NUMBER, win, 900, ptr::null_mut(), value)
        }
    };
    let dup = symbols::OMPI_C_MPI_WIN_DUP_FN as *const c_void;
    assert_eq!(call(dup), (0, value, true));
    let null = symbols::OMPI_C_MPI_WIN_NULL_COPY_FN as *const c_void;
    assert!(!call(null).2);
}

/// Those of Fortran are INTEGERs, which begin at every multiple of four.
#[test]
fn a_status_may_begin_anywhere() {
    let mut words = [0u64; 5];
    let whole =
        Status { source: 3, tag: 4, error: ErrorClass::TAG, bytes: 1 << 40, cancelled: true };
    for offset in [0, 4] {
        let place = words.as_mut_ptr().cast::<u8>().wrapping_add(offset).cast();
        // SAFETY: the words hold a status at either place.
        let back = unsafe {
            OpenMpi::status_out(place, &whole, true);
            OpenMpi::status_in(place)
        };
        assert_eq!(back, whole);
    }
}

/// What only the program knows stays, and what it had written in the other part (MPI-5.0 §13.3).
#[test]
fn one_part_of_a_status_is_written_alone() {
    let mut shown = std::mem::MaybeUninit::zeroed();
    let empty = Status { source: 0, tag: 0, ..Status::EMPTY };
    // SAFETY: the status is ours.
    unsafe {
        let fields = OpenMpi::status_fields(shown.as_mut_ptr());
        for (value, bytes) in (-6..2).zip([5, 1 << 33].into_iter().cycle()) {
            OpenMpi::status_out(shown.as_mut_ptr(), &empty, true);
            (*fields.source, *fields.tag, *fields.error) = (value, value, 12345);
            OpenMpi::status_set_cancelled(shown.as_mut_ptr(), true);
            OpenMpi::status_set_bytes(shown.as_mut_ptr(), bytes);
            let told = OpenMpi::status_in(shown.as_ptr());
            assert_eq!((told.bytes, told.cancelled), (bytes, true));
            OpenMpi::status_set_cancelled(shown.as_mut_ptr(), false);
            assert_eq!((*fields.source, *fields.tag, *fields.error), (value, value, 12345));
            let told = OpenMpi::status_in(shown.as_ptr());
            assert_eq!((told.bytes, told.cancelled), (bytes, false));
            assert_eq!(OpenMpi::rank_out(told.source), value);
            assert_eq!(OpenMpi::tag_out(told.tag), value);
        }
    }
}
