//! Conversions of the MPICH face, over all values of its table.

use std::ffi::{c_int, c_void};

use mpi_abi::face::{ConstantGroup, Face};
use mpi_abi::fortran::{Fortran, Special};
use mpi_abi::mpi_core::buffer::UserBuffer;
use mpi_abi::mpi_core::constants;
use mpi_abi::mpi_core::error::ErrorClass;
use mpi_abi::mpi_core::handle::*;
use mpi_abi::mpi_core::status::Status;

use crate::Mpich;
use crate::blocks::{__mpi_f08_link_constants_MOD_mpi_buffer_automatic as OF_MODULE, mpifcmba_};
use crate::symbols::MPIR_Dup_fn;
use crate::tables::HANDLES;

#[test]
fn predefined_handles_go_both_ways() {
    for &(kind, core, code) in HANDLES {
        let code = code as c_int;
        assert_eq!(Mpich::handle_from_fint(kind, code), core, "{code:#x}");
        if kind == DatatypeKind::NUMBER {
            assert_eq!(Mpich::datatype_in(code).raw(), core, "{code:#x}");
        }
        let back = Mpich::handle_to_fint(core);
        assert_eq!(Mpich::handle_from_fint(kind, back), core, "{code:#x}");
    }
    assert_eq!(Mpich::comm_out(Handle::from_raw(0x101)), 0x4400_0000);
    assert_eq!(Mpich::datatype_out(Handle::from_raw(0x209)), 0x4c00_0405);
    assert_eq!(Mpich::request_out(RequestHandle::NULL), 0x2c00_0000);
    assert_eq!(Mpich::message_in(0x2c00_0000), MessageHandle::NULL);
}

#[test]
fn user_handles_meet_no_predefined_one() {
    for index in [0, 1, 6, INDEX_END - 1] {
        for generation in [0, 15] {
            let handle = DatatypeHandle::new(index, generation);
            let code = Mpich::datatype_out(handle);
            assert!(HANDLES.iter().all(|row| row.2 != code as u32));
            assert_eq!(Mpich::datatype_in(code), handle);
            let file = FileHandle::new(index, generation);
            assert_eq!(Mpich::file_in(Mpich::file_out(file)), file);
            let fint = Mpich::handle_to_fint(file.raw());
            assert_eq!(Mpich::handle_from_fint(FileKind::NUMBER, fint), file.raw());
        }
    }
    assert!(Mpich::file_out(FileHandle::NULL).is_null());
    assert!(Mpich::file_in(std::ptr::null_mut()).is_null());
}

#[test]
fn what_is_no_handle_names_nothing() {
    for code in [0, -1, 1, 0x1234_5678, 0x4c00_ffff, 0x4c00_0505] {
        let raw = Mpich::datatype_in(code).raw();
        assert!(
            raw == FOREIGN_HANDLE || raw >= PREDEFINED_END || raw == FileKind::NULL,
            "{code:#x}"
        );
    }
    assert_eq!(Mpich::comm_in(0x4c00_0405).raw(), 0x209, "a datatype is still recognised");
    assert_eq!(Mpich::file_in(0x1234 as *mut c_void).raw(), FOREIGN_HANDLE);
    assert_eq!(Mpich::datatype_in(0x4c00_0999).raw(), FOREIGN_HANDLE);
    let unused = CommHandle::new(77, 1);
    assert_eq!(Mpich::handle_number(unused.raw()), Mpich::comm_out(unused) as u32 as usize);
}

#[test]
fn ranks_and_tags() {
    for (face, core) in
        [(-2, constants::ANY_SOURCE), (-1, constants::PROC_NULL), (-3, constants::ROOT), (7, 7)]
    {
        assert_eq!(Mpich::rank_in(face), core);
        assert_eq!(Mpich::rank_out(core), face);
    }
    assert_eq!(Mpich::rank_in(-4), -2); // no rank on either side
    assert_eq!((Mpich::tag_in(-1), Mpich::tag_out(constants::ANY_TAG)), (constants::ANY_TAG, -1));
    assert_eq!(Mpich::tag_in(-2), -1); // no tag on either side
}

#[test]
fn every_error_class_has_a_code_and_comes_back() {
    for &class in ErrorClass::ALL {
        assert_eq!(Mpich::error_in(Mpich::error_out(class)), class, "{class:?}");
    }
    let user = ErrorClass(16384);
    assert_eq!(Mpich::error_out(user), 0x4000_0000);
    assert_eq!(Mpich::error_in(0x4000_0000), user);
}

#[test]
fn a_status_keeps_a_large_count_and_the_flag() {
    let mut shown = std::mem::MaybeUninit::zeroed();
    for bytes in [0, 1, u64::from(u32::MAX), 1 << 32, (1 << 62) + 12345] {
        let status = Status {
            source: constants::PROC_NULL,
            tag: 9,
            error: ErrorClass::TRUNCATE,
            bytes,
            cancelled: true,
        };
        // SAFETY: the status is ours.
        let back = unsafe {
            Mpich::status_out(shown.as_mut_ptr(), &status, true);
            Mpich::status_in(shown.as_ptr())
        };
        assert_eq!(back, status);
    }
}

#[test]
fn constants_and_special_addresses() {
    assert_eq!(Mpich::constant_in(ConstantGroup::ThreadLevel, 3), 4096);
    assert_eq!(Mpich::constant_in(ConstantGroup::Keyval, 0x6440_0001), 501);
    assert_eq!(Mpich::constant_out(ConstantGroup::Comparison, 203), 2);
    assert!(Mpich::buffer_in(usize::MAX as *const c_void).is_in_place());
    let automatic: *mut c_void = std::ptr::without_provenance_mut(-2isize as usize);
    assert_eq!(Mpich::buffer_in(automatic), UserBuffer::AUTOMATIC);
    assert_eq!(Mpich::buffer_out(UserBuffer::AUTOMATIC), automatic);
    assert!(Mpich::is_status_ignore(std::ptr::without_provenance(1)));
    assert!(!Mpich::is_status_ignore(std::ptr::null()));
    assert!(!Mpich::is_unweighted(std::ptr::null()) && !Mpich::is_weights_empty(std::ptr::null()));
}

#[test]
fn attribute_functions_are_called_with_this_face() {
    let value = 77 as *mut c_void;
    let comm = CommHandle::new(3, 1).raw();
    let call = |function: *const c_void| {
        // SAFETY: null and the library's own function are copy functions.
        unsafe { Mpich::call_copy_attr(function, 1, comm, 1000, std::ptr::null_mut(), value) }
    };
    assert_eq!(call(std::ptr::null()), (0, value, false));
    assert_eq!(call(MPIR_Dup_fn as *const c_void), (0, value, true));
}

/// The module's own and that of the common block; a program gets back the one that it attached.
#[test]
fn both_variables_for_an_automatic_buffer_are_known() {
    for variable in [&raw mut mpifcmba_, &raw mut OF_MODULE] {
        assert_eq!(Mpich::special(variable.cast()), Some(Special::BufferAutomatic));
        assert_eq!(Mpich::buffer_automatic(), Some(variable.cast()));
    }
}

/// What only the program knows stays, and what it had written in the other part (MPI-5.0 §13.3).
#[test]
fn one_part_of_a_status_is_written_alone() {
    let mut shown = std::mem::MaybeUninit::zeroed();
    let empty = Status { source: 0, tag: 0, ..Status::EMPTY };
    // SAFETY: the status is ours.
    unsafe {
        let fields = Mpich::status_fields(shown.as_mut_ptr());
        for (value, bytes) in (-6..2).zip([5, 1 << 33].into_iter().cycle()) {
            Mpich::status_out(shown.as_mut_ptr(), &empty, true);
            (*fields.source, *fields.tag, *fields.error) = (value, value, 12345);
            Mpich::status_set_cancelled(shown.as_mut_ptr(), true);
            Mpich::status_set_bytes(shown.as_mut_ptr(), bytes);
            let told = Mpich::status_in(shown.as_ptr());
            assert_eq!((told.bytes, told.cancelled), (bytes, true));
            Mpich::status_set_cancelled(shown.as_mut_ptr(), false);
            assert_eq!((*fields.source, *fields.tag, *fields.error), (value, value, 12345));
            let told = Mpich::status_in(shown.as_ptr());
            assert_eq!((told.bytes, told.cancelled), (bytes, false));
            assert_eq!(Mpich::rank_out(told.source), value);
            assert_eq!(Mpich::tag_out(told.tag), value);
        }
    }
}
