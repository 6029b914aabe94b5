//! Writes `procedures.rs`: the enumeration of procedures, their names and parameters.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::description::Procedure;
use crate::extra::Extra;

/// The file's text.
pub(crate) fn file(procedures: &[Procedure], extras: &[Extra]) -> String {
    let mut further = BTreeMap::new();
    for extra in extras.iter().filter(|extra| extra.is_procedure()) {
        further.insert(extra.variant(), extra.public_name());
    }
    let mut out = String::from(
        "/// A C procedure of MPI, or one beside it whose name is exported.\n\
         #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]\n#[repr(u16)]\n\
         pub enum Procedure {\n",
    );
    for procedure in procedures {
        let _ = writeln!(out, "/// `MPI_{}`.\n{},", procedure.name, procedure.variant());
    }
    for (variant, name) in &further {
        let _ = writeln!(out, "/// `{name}`.\n{variant},");
    }
    out.push_str("}\n\nconst NAMES: &[&str] = &[\n");
    for procedure in procedures {
        let _ = writeln!(out, "\"MPI_{}\",", procedure.name);
    }
    for name in further.values() {
        let _ = writeln!(out, "\"{name}\",");
    }
    out.push_str("];\n\nconst PARAMETERS: &[&[&str]] = &[\n");
    for procedure in procedures {
        let names: Vec<String> =
            procedure.parameters.iter().map(|p| format!("{:?}", p.name)).collect();
        let _ = writeln!(out, "&[{}],", names.join(", "));
    }
    for _ in &further {
        out.push_str("&[],\n");
    }
    out.push_str("];\n");
    out
}
