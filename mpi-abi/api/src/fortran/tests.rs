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
