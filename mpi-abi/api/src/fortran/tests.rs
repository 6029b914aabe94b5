//! What the interfaces say, against the bindings of MPI-5.0 (Annex A.4 to A.6).

use std::path::Path;

use super::{entries, mpi, mpi_f08};
use crate::Description;
use crate::description::Procedure;

fn procedures() -> Vec<Procedure> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    Description::read(&root).expect("the description").procedures
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
