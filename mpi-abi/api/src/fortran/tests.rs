//! What the interfaces say, against the bindings of MPI-5.0 (Annex A.4 to A.6).

use std::path::Path;

use super::{entries, mpi, mpi_f08};
use crate::Description;
use crate::description::Procedure;

fn procedures() -> Vec<Procedure> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    Description::read(&root).expect("the description").procedures
}

/// The declaration of the subroutine `name`, each statement on one line.
fn declaration(module: &str, name: &str) -> String {
    let text = module.replace(" &\n", "");
    let head = format!("subroutine {name}(");
    let (_, body) = text.split_once(&head).unwrap_or_else(|| panic!("no {name}"));
    let (body, _) = body.split_once("end subroutine").expect("an end");
    let words: Vec<&str> = body.split_whitespace().collect();
    words.join(" ")
}

#[test]
fn a_tool_gets_no_error_code() {
    let procedures = procedures();
    for module in [mpi::file(&procedures).expect("text"), mpi_f08::file(&procedures).expect("text")]
    {
        assert!(!module.contains("Pcontrol(level, ierror)"));
        assert!(!module.contains("Pcontrol_f08(level, ierror)"));
    }
    let text = entries::file(&procedures);
    assert!(text.contains("fn pcontrol(level: *const c_int) {"), "nothing is stored");
}

#[test]
fn a_detached_buffer_is_returned_in_both_forms() {
    let text = entries::file(&procedures());
    for name in ["buffer_detach", "comm_detach_buffer", "session_detach_buffer"] {
        for (ending, returned) in [("", false), ("_f08", true), ("_c", true)] {
            let head = format!("fn {name}{ending}(");
            let (_, body) = text.split_once(&head).expect("a function");
            let (body, _) = body.split_once("fortran_names!").expect("its names");
            assert_eq!(body.contains("f::detached"), returned, "{name}{ending}");
            assert_ne!(body.contains("unreturned"), returned, "{name}{ending}");
        }
    }
}

#[test]
fn attributes_of_arguments_are_those_of_the_standard() {
    let f08 = mpi_f08::file(&procedures()).expect("text");
    let any = "type(*), dimension(..)";
    for (name, wanted) in [
        ("MPI_Cancel_f08", "type(MPI_Request), intent(in) :: request".to_owned()),
        ("MPI_F_sync_reg_f08ts", format!("{any}, asynchronous :: buf")),
        ("MPI_Get_address_f08ts", format!("{any}, asynchronous :: location")),
        ("MPI_Win_detach_f08ts", format!("{any}, asynchronous :: base")),
        ("MPI_Free_mem_f08ts", format!("{any}, intent(in), asynchronous :: base")),
        ("MPI_File_read_all_end_f08ts", format!("{any}, asynchronous :: buf")),
        ("MPI_File_write_ordered_end_f08ts", format!("{any}, intent(in), asynchronous :: buf")),
        ("MPI_Send_f08ts", format!("{any}, intent(in) :: buf")),
        ("MPI_Isend_f08ts", format!("{any}, intent(in), asynchronous :: buf")),
        ("MPI_Comm_idup_f08", "type(MPI_Comm), intent(out), asynchronous :: newcomm".to_owned()),
    ] {
        let body = declaration(&f08, name);
        assert!(body.contains(&wanted), "{name}: {body}");
    }
    for name in ["MPI_Ineighbor_alltoallw_c_f08ts", "MPI_Neighbor_alltoallw_init_f08ts"] {
        let body = declaration(&f08, name);
        for array in ["sdispls", "rdispls", "sendtypes", "recvcounts"] {
            assert!(body.contains(&format!("asynchronous :: {array}(*)")), "{name}: {body}");
        }
    }
}

#[test]
fn sizeof_can_be_profiled() {
    let procedures = procedures();
    for module in [mpi::file(&procedures).expect("text"), mpi_f08::file(&procedures).expect("text")]
    {
        assert!(module.contains("interface PMPI_Sizeof\n    subroutine PMPI_Sizeof_i1("));
    }
}
