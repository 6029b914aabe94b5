//! The tables of the Open MPI ABI, whose handles are addresses of exported objects.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use anyhow::Result;

use crate::abi_values::{Constants, HANDLE_KINDS, OpenMpi, Values};

/// Stands for the Fortran INTEGER of an object that Fortran cannot name.
const NO_INTEGER: i32 = -1;

/// The text of `constants_openmpi.rs`.
pub(crate) fn file() -> Result<String> {
    let constants = Constants::load()?;
    let mut text = constants.numbers(Values::openmpi_number);
    text.push_str(&constants.pairs(Values::openmpi_number));
    text.push_str(
        "\n// Name, size, kind number, core handle and Fortran INTEGER of each predefined object; of\n\
         // two with one core handle the first is the one that the library returns. -1: no INTEGER.\n\
         predefined_objects! {\n",
    );
    let mut seen = BTreeSet::new();
    for (group, kind) in HANDLE_KINDS {
        for (_, values) in constants.group(group) {
            text.push_str(&row(&constants, &mut seen, group, kind, values)?);
        }
    }
    for (_, values) in constants.group("alias") {
        let (group, kind) = constants.kind_of_alias(values);
        text.push_str(&row(&constants, &mut seen, group, kind, values)?);
    }
    text.push_str("}\n");
    Ok(text)
}

/// The line of an object; nothing for a name that is not one or was written before.
fn row(
    constants: &Constants,
    seen: &mut BTreeSet<String>,
    group: &str,
    kind: u32,
    values: &Values,
) -> Result<String> {
    let mut text = String::new();
    if let Some(OpenMpi::Object(object)) = &values.openmpi
        && seen.insert(object.clone())
    {
        let size = constants.object_size(group)?;
        let fint = values.fint.unwrap_or(NO_INTEGER);
        let core = values.core();
        let _ = writeln!(text, "    {object}, {size}, {kind}, {core:#05x}, {fint};");
    }
    Ok(text)
}
