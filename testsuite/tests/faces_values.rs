//! Values, sizes and offsets of the foreign ABIs: a probe compiled against the peer's own headers
//! prints them, on our library and on the peer's, and both must agree with each other and with
//! `mpi-abi/api/constants.toml` (decision 7).

use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use testsuite::families::{Family, MPICH, OPEN_MPI};
use toml::{Table, Value};

/// Groups of handles and the middle of the names of their conversion functions.
const HANDLES: [(&str, &str); 11] = [
    ("comm", "Comm"),
    ("group", "Group"),
    ("datatype", "Type"),
    ("op", "Op"),
    ("request", "Request"),
    ("errhandler", "Errhandler"),
    ("info", "Info"),
    ("win", "Win"),
    ("file", "File"),
    ("session", "Session"),
    ("message", "Message"),
];

/// Names of a family that the peer's header does not give out: those that Open MPI's has dropped,
/// and one of Intel's.
const WITHOUT_DECLARATION: [(&str, &str); 3] =
    [("openmpi", "MPI_LB"), ("openmpi", "MPI_UB"), ("mpich", "MPIX_C_BF16")];

/// What a probe prints, by what it is about.
type Facts = BTreeMap<String, i64>;

fn table() -> Result<Table> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mpi-abi/api/constants.toml");
    fs::read_to_string(file)?.parse().context("constants.toml")
}

/// The values that the table states for a family, keyed as the probe prints them.
fn expected(family: &Family) -> Result<Facts> {
    let mut facts = Facts::new();
    for (group, names) in table()? {
        let function = HANDLES.iter().find(|(handles, _)| *handles == group).map(|(_, name)| name);
        let names = names.as_table().context("a group is a table")?;
        for (name, values) in names.iter().filter(|(name, _)| name.starts_with("MPI")) {
            if WITHOUT_DECLARATION.contains(&(family.peer, name)) {
                continue;
            }
            let value = values.get(family.peer);
            if let Some(Value::Integer(value)) = value {
                let is_code = function.is_some();
                facts.insert(name.clone(), if is_code { *value as i32 as i64 } else { *value });
            }
            if let (Some(Value::String(object)), Some(function)) = (value, function) {
                let fint = values.get("fint").and_then(Value::as_integer).context("no fint")?;
                facts.insert(format!("MPI_{function}_c2f({name})"), fint);
                facts.insert(format!("{name} == (void *)&{object}"), 1);
            }
        }
    }
    anyhow::ensure!(facts.len() > 250, "the table has the values of {}", family.peer);
    Ok(facts)
}

/// Expressions about types: the same in both families or compared with the peer alone.
fn layout() -> Vec<String> {
    let handles = HANDLES.iter().map(|(_, kind)| match *kind {
        "Type" => "sizeof(MPI_Datatype)".to_string(),
        kind => format!("sizeof(MPI_{kind})"),
    });
    let types = ["Aint", "Count", "Offset", "Fint", "Status", "F08_status"]
        .map(|name| format!("sizeof(MPI_{name})"));
    let fields = ["MPI_SOURCE", "MPI_TAG", "MPI_ERROR"]
        .map(|field| format!("offsetof(MPI_Status, {field})"));
    handles.chain(types).chain(fields).collect()
}

/// Writes, compiles and runs the probe.
fn probe(family: &Family, expressions: &[String]) -> Result<(Facts, Facts)> {
    let mut source = String::from(
        "#include <mpi.h>\n#include <stddef.h>\n#include <stdio.h>\n\
         int main(int argc, char **argv)\n{\n    if (argc > 1)\n        MPI_Init(&argc, &argv);\n",
    );
    for expression in expressions {
        let _ =
            writeln!(source, "    printf(\"%lld\\t{expression}\\n\", (long long)({expression}));");
    }
    source.push_str("    if (argc > 1)\n        MPI_Finalize();\n    return 0;\n}\n");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("faces");
    fs::create_dir_all(&folder)?;
    let file = folder.join(format!("values_{}.c", family.peer));
    let program = file.with_extension("");
    fs::write(&file, source)?;
    family.compile(&file, &program, &[])?;
    // The peer knows its Fortran numbers once it is initialised, ours are constants.
    let theirs = family.run_on_peer(&program, &["initialise"])?;
    Ok((parse(&family.run_on_ours(&program, &[])?)?, parse(&theirs)?))
}

fn parse(text: &str) -> Result<Facts> {
    text.lines()
        .map(|line| {
            let (value, what) = line.split_once('\t').with_context(|| line.to_string())?;
            Ok((what.to_string(), value.parse()?))
        })
        .collect()
}

fn differences(left: &Facts, right: &Facts) -> Vec<String> {
    let names = left.keys().chain(right.keys().filter(|name| !left.contains_key(*name)));
    names
        .filter(|name| left.get(*name) != right.get(*name))
        .map(|name| format!("{name}: {:?} and {:?}", left.get(name), right.get(name)))
        .collect()
}

fn compare(family: &Family) {
    let expected = expected(family).unwrap();
    let layout = layout();
    let expressions: Vec<String> = expected.keys().cloned().chain(layout.clone()).collect();
    let (mut ours, theirs) = probe(family, &expressions).unwrap();
    let found = differences(&ours, &theirs);
    assert!(found.is_empty(), "ours and the peer's:\n{}", found.join("\n"));
    ours.retain(|name, _| !layout.contains(name));
    let found = differences(&ours, &expected);
    assert!(found.is_empty(), "the header's and the table's:\n{}", found.join("\n"));
}

#[test]
fn mpich_values() {
    compare(&MPICH);
}

#[test]
fn open_mpi_values() {
    compare(&OPEN_MPI);
}
