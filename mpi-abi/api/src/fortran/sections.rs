//! Writes the entry points of `mpi_f08` for procedures with choice buffers (MPI-5.0 §19.1.6): their
//! buffers arrive as descriptors, which tell of strides. Each makes of them what the plain entry
//! point takes, and calls that.
//!
//! The text's unsafe blocks rest on the promise stated in `mpi-abi/src/fortran/mod.rs`.

use std::fmt::Write;

use super::types::parameter_type;
use super::{has, has_length, parameters};
use crate::description::{Direction, Parameter, Procedure};
use crate::kind::Kind;

/// Procedures that want the address alone: they end what concerns a buffer, or name a place.
pub(super) const ADDRESSES: &[&str] = &["Free_mem", "Get_address", "Win_detach"];

/// Procedures that go on to use a buffer after they have returned without a request or window.
const LASTING: &[&str] = &[
    "Accumulate",
    "Buffer_attach",
    "Comm_attach_buffer",
    "Compare_and_swap",
    "Fetch_and_op",
    "Get",
    "Get_accumulate",
    "Put",
    "Session_attach_buffer",
    "Win_attach",
];

/// Whether `mpi_f08` passes an array of any shape to the procedure.
pub(super) fn has_choice(procedure: &Procedure) -> bool {
    has(procedure, "mpi_f08") && procedure.parameters.iter().any(|p| p.kind == Kind::Buffer)
}

/// Whether the procedure may return before its buffers are done with.
pub(super) fn is_pending(procedure: &Procedure) -> bool {
    let makes = |p: &Parameter, word: &str| {
        let handle = matches!(&p.kind, Kind::Handle(handle) if handle.word == word);
        p.direction == Direction::Out && handle
    };
    let made = procedure.parameters.iter().any(|p| makes(p, "request") || makes(p, "win"));
    made || procedure.name.contains("_begin") || LASTING.contains(&&*procedure.name)
}

/// The procedure's one buffer with the count and the datatype behind it, if that is how its
/// memory is described.
fn triple(procedure: &Procedure) -> Option<[&Parameter; 3]> {
    let all = &procedure.parameters;
    let mut buffers = all.iter().enumerate().filter(|(_, p)| p.kind == Kind::Buffer);
    let (at, buffer) = buffers.next()?;
    let (count, datatype) = (all.get(at + 1)?, all.get(at + 2)?);
    let counts = matches!(count.kind, Kind::Poly(_)) && count.name.ends_with("count");
    let typed = matches!(&datatype.kind, Kind::Handle(handle) if handle.word == "datatype");
    (buffers.next().is_none() && counts && typed).then_some([buffer, count, datatype])
}

/// Whose error handler hears of a buffer that is refused: that of the call's object (MPI-5.0 §9.3).
pub(super) fn owner(procedure: &Procedure) -> String {
    match procedure.owner().map(|parameter| (parameter.ident(), &parameter.kind)) {
        Some((x, Kind::Handle(handle))) => format!("f::owners::{}::<Here>(*{x})", handle.word),
        _ => "f::Owner::None".to_owned(),
    }
}

/// A copy of an argument under its name, or an end of the call.
pub(super) fn copied(procedure: &Procedure, name: &str, copy: &str) -> String {
    let (variant, owner) = (procedure.variant(), owner(procedure));
    format!(
        "let Some(mut {name}) = f::copied::<Here, _>(Procedure::{variant}, || {owner}, {copy}, ierror) \
         else {{ return }};"
    )
}

/// Whether the procedure will touch a buffer, as an expression: not one of no elements, nor one
/// that only the root of a collective has.
fn is_used(procedure: &Procedure, buffer: &Parameter) -> String {
    let mut behind = procedure.parameters.iter().skip_while(|p| p.name != buffer.name);
    let count = behind.find(|p| p.kind != Kind::Buffer);
    let mut all = Vec::new();
    if let Some(count) = count
        && matches!(count.kind, Kind::Poly(_))
        && !count.is_array()
        && count.name.ends_with("count")
    {
        all.push(format!("*{} != 0", count.ident()));
    }
    let of_root = match buffer.name.as_str() {
        "recvbuf" => ["ather", "educe"].iter().any(|word| procedure.name.contains(word)),
        "sendbuf" => procedure.name.contains("catter"),
        _ => false,
    };
    if of_root && procedure.parameters.iter().any(|p| p.name == "root") {
        all.push("f::is_root::<Here>(*root, *comm)".to_owned());
    }
    if all.is_empty() { "true".to_owned() } else { all.join(" && ") }
}

/// The function and its names.
pub(super) fn exported(procedure: &Procedure, large: bool) -> (String, Vec<String>) {
    let name = format!("{}{}_f08ts", procedure.snake(), if large { "_c" } else { "" });
    let names = ["mpi", "pmpi"].map(|prefix| format!("{prefix}_{name}_"));
    (name, names.to_vec())
}

/// The function and its names as Rust text.
pub(super) fn entry(out: &mut String, procedure: &Procedure, large: bool) {
    let (function, names) = exported(procedure, large);
    let lengths = || parameters(procedure, large).filter(|p| has_length(p));
    let mut declared: Vec<String> = parameters(procedure, large)
        .map(|p| format!("{}: {}", p.ident(), parameter_type(procedure, p, large)))
        .collect();
    declared.push("ierror: *mut c_int".to_owned());
    declared.extend(lengths().map(|p| format!("{}_length: usize", p.name)));
    let mut passed: Vec<String> = parameters(procedure, large).map(Parameter::ident).collect();
    passed.push("ierror".to_owned());
    passed.extend(lengths().map(|p| format!("{}_length", p.name)));
    let (before, after) = around(procedure);
    let plain = function.trim_end_matches("_f08ts");
    // SAFETY: of the text: the caller is a Fortran program, see `mpi-abi/src/fortran/mod.rs`.
    let _ = write!(
        out,
        "\nunsafe extern \"C-unwind\" fn {function}({}) {{ unsafe {{\n{before}\
         {plain}({});\n{after}}} }}\nfortran_names!({function}: {});\n",
        declared.join(", "),
        passed.join(", "),
        names.join(" ")
    );
}

/// What comes before and after the call of the plain entry point.
fn around(procedure: &Procedure) -> (String, String) {
    let (mut before, mut after) = (String::new(), String::new());
    let (variant, owner) = (procedure.variant(), owner(procedure));
    let buffers = || procedure.parameters.iter().filter(|p| p.kind == Kind::Buffer);
    if ADDRESSES.contains(&&*procedure.name) {
        for buffer in buffers().map(Parameter::ident) {
            let _ = writeln!(before, "let {buffer} = f::Section::of({buffer}).address();");
        }
    } else if !is_pending(procedure) {
        for parameter in buffers() {
            let x = parameter.ident();
            let access = if parameter.constant { "read" } else { "changed" };
            let used = is_used(procedure, parameter);
            let copy = format!("f::Packed::{access}({x}, || {used})");
            let copied = copied(procedure, &format!("{x}_packed"), &copy);
            let _ = writeln!(before, "{copied} let {x} = {x}_packed.address();");
            if !parameter.constant {
                let _ = writeln!(after, "{x}_packed.write_back();");
            }
        }
    } else if let Some(three) = triple(procedure) {
        let [x, count, datatype] = three.map(Parameter::ident);
        let _ = writeln!(
            before,
            "let Some(part) = f::Part::new::<Here>(Procedure::{variant}, || {owner}, {x}, \
             *{count} as i64, *{datatype}, ierror) else {{ return }};\n\
             let ({x}, {count}, {datatype}) = (part.address(), part.count({count}, &1), \
             part.datatype({datatype}));"
        );
        after.push_str("part.end::<Here>();\n");
    } else {
        for parameter in buffers() {
            let (x, used) = (parameter.ident(), is_used(procedure, parameter));
            let _ = writeln!(
                before,
                "let Some({x}) = f::whole::<Here>(Procedure::{variant}, || {owner}, {x}, \
                 || {used}, ierror) else {{ return }};"
            );
        }
    }
    (before, after)
}
