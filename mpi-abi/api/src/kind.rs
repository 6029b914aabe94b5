//! What a parameter of an MPI procedure is: its C type, and what the glue does with it.
//!
//! Enters: the word after the colon in `api/procedures/*.toml`. Leaves: a [`Kind`]. The words are
//! our own; they say what the value means, the C types follow from them.

use anyhow::{Context, Result, bail};

/// A kind of handle that all ABIs have.
#[derive(Debug, PartialEq, Eq)]
pub struct Handle {
    /// The word of the description, and the prefix of `Face::…_in` and `Face::…_out`.
    pub word: &'static str,
    /// The C type.
    pub c: &'static str,
    /// The associated type of `Face`; the core's type is this and `Handle`.
    pub face: &'static str,
}

/// An integer that is 32 bits wide in one form of a procedure and 64 in its `_c` twin.
#[derive(Debug, PartialEq, Eq)]
pub struct Poly {
    /// The word of the description.
    pub word: &'static str,
    /// The C type without `_c`.
    pub small: &'static str,
    /// The C type with `_c`.
    pub large: &'static str,
    /// The class of the error that a negative value is, where one is an error.
    pub non_negative: Option<&'static str>,
}

/// An integer of 64 bits in every form.
#[derive(Debug, PartialEq, Eq)]
pub struct Wide {
    /// The word of the description.
    pub word: &'static str,
    /// The C type.
    pub c: &'static str,
    /// The class of the error that a negative value is, where one is an error.
    pub non_negative: Option<&'static str>,
}

/// A constant whose value each ABI chooses.
#[derive(Debug, PartialEq, Eq)]
pub struct Constant {
    /// The word of the description.
    pub word: &'static str,
    /// The C type.
    pub c: &'static str,
    /// The variant of `ConstantGroup`.
    pub group: &'static str,
}

/// The kinds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A choice buffer.
    Buffer,
    /// The address of a pointer variable of the program, given as `void *`.
    Address,
    /// An attribute value, or the address where one goes.
    Attribute,
    /// A pointer that is handed through.
    State,
    /// A pointer to a handle of a kind that only the tool interface knows.
    Object,
    /// A handle.
    Handle(&'static Handle),
    /// A handle of the tool interface; the C type.
    Tool(String),
    /// An `int` that means itself.
    Int,
    /// An `int` that says how many elements arrays have.
    Length,
    /// A rank with its special values.
    Rank,
    /// A tag with its special value.
    Tag,
    /// A truth value.
    Logical,
    /// An error class or code.
    Error,
    /// A constant, or bits.
    Constant(&'static Constant),
    /// `MPI_DISTRIBUTE_*` of each dimension.
    Distribution,
    /// Its argument, `MPI_DISTRIBUTE_DFLT_DARG` or a number.
    DistArg,
    /// Weights of edges, or the values for none.
    Weights,
    /// 64 bits.
    Wide(&'static Wide),
    /// 32 or 64 bits.
    Poly(&'static Poly),
    /// A status.
    Status,
    /// A C string; for one that leaves, what limits it: a length parameter or a string limit.
    Text(Option<String>),
    /// The length that limits such a string.
    TextLength,
    /// An array of strings that ends with a null pointer.
    Texts,
    /// An array of such arrays.
    TextArrays,
    /// `int *argc`.
    Argc,
    /// `char ***argv`.
    Argv,
    /// An array of error codes, or `MPI_ERRCODES_IGNORE`.
    ErrorCodes,
    /// A Fortran status.
    FortranStatus,
    /// A status of `mpi_f08`.
    Fortran08Status,
    /// A Fortran handle.
    FortranInteger,
    /// A function of this C type.
    Function(String),
    /// A function of this C type, which has a `_c` twin.
    PolyFunction(String),
    /// Seconds.
    Double,
}

/// Every kind of handle.
pub const HANDLES: &[Handle] = &[
    Handle { word: "comm", c: "MPI_Comm", face: "Comm" },
    Handle { word: "group", c: "MPI_Group", face: "Group" },
    Handle { word: "datatype", c: "MPI_Datatype", face: "Datatype" },
    Handle { word: "op", c: "MPI_Op", face: "Op" },
    Handle { word: "request", c: "MPI_Request", face: "Request" },
    Handle { word: "errhandler", c: "MPI_Errhandler", face: "Errhandler" },
    Handle { word: "info", c: "MPI_Info", face: "Info" },
    Handle { word: "win", c: "MPI_Win", face: "Win" },
    Handle { word: "file", c: "MPI_File", face: "File" },
    Handle { word: "session", c: "MPI_Session", face: "Session" },
    Handle { word: "message", c: "MPI_Message", face: "Message" },
];

const COUNT: &str = "MPI_Count";
const AINT: &str = "MPI_Aint";

const POLY: &[Poly] = &[
    Poly { word: "count", small: "int", large: COUNT, non_negative: Some("COUNT") },
    Poly { word: "bytes", small: "int", large: COUNT, non_negative: Some("ARG") },
    Poly { word: "param_count", small: "int", large: COUNT, non_negative: Some("ARG") },
    Poly { word: "position", small: "int", large: COUNT, non_negative: None },
    Poly { word: "displ", small: "int", large: AINT, non_negative: None },
    Poly { word: "disp_unit", small: "int", large: AINT, non_negative: None },
    Poly { word: "extent", small: AINT, large: COUNT, non_negative: None },
];

const WIDE: &[Wide] = &[
    Wide { word: "aint", c: AINT, non_negative: None },
    Wide { word: "size", c: AINT, non_negative: Some("SIZE") },
    Wide { word: "offset", c: "MPI_Offset", non_negative: None },
    Wide { word: "view_disp", c: "MPI_Offset", non_negative: None },
    Wide { word: "count64", c: COUNT, non_negative: Some("COUNT") },
];

const CONSTANTS: &[Constant] = &[
    Constant { word: "thread_level", c: "int", group: "ThreadLevel" },
    Constant { word: "comparison", c: "int", group: "Comparison" },
    Constant { word: "topology", c: "int", group: "Topology" },
    Constant { word: "split_type", c: "int", group: "SplitType" },
    Constant { word: "combiner", c: "int", group: "Combiner" },
    Constant { word: "order", c: "int", group: "Order" },
    Constant { word: "type_class", c: "int", group: "TypeClass" },
    Constant { word: "lock_type", c: "int", group: "LockType" },
    Constant { word: "rma_assert", c: "int", group: "RmaAssert" },
    Constant { word: "file_mode", c: "int", group: "FileMode" },
    Constant { word: "seek", c: "int", group: "Seek" },
    Constant { word: "keyval", c: "int", group: "Keyval" },
    Constant { word: "verbosity", c: "int", group: "ToolVerbosity" },
    Constant { word: "tool_bind", c: "int", group: "ToolBind" },
    Constant { word: "var_scope", c: "int", group: "ToolScope" },
    Constant { word: "pvar_class", c: "int", group: "ToolPvarClass" },
    Constant { word: "cb_safety", c: "MPI_T_cb_safety", group: "ToolSafety" },
    Constant { word: "source_order", c: "MPI_T_source_order", group: "ToolOrdering" },
];

impl Kind {
    /// The kind that `text` names.
    pub fn parse(text: &str) -> Result<Kind> {
        if let Some(name) = text.strip_prefix("function ") {
            return Ok(Kind::Function(name.to_owned()));
        }
        if let Some(name) = text.strip_prefix("poly_function ") {
            return Ok(Kind::PolyFunction(name.to_owned()));
        }
        if let Some(limit) = text.strip_prefix("string[") {
            let limit = limit.strip_suffix(']').context("string[ without ]")?;
            return Ok(Kind::Text(Some(limit.to_owned())));
        }
        if let Some(name) = text.strip_prefix("t_") {
            return Ok(Kind::Tool(format!("MPI_T_{name}")));
        }
        if let Some(kind) = Kind::plain(text) {
            return Ok(kind);
        }
        if let Some(handle) = HANDLES.iter().find(|handle| handle.word == text) {
            return Ok(Kind::Handle(handle));
        }
        if let Some(poly) = POLY.iter().find(|poly| poly.word == text) {
            return Ok(Kind::Poly(poly));
        }
        if let Some(wide) = WIDE.iter().find(|wide| wide.word == text) {
            return Ok(Kind::Wide(wide));
        }
        if let Some(constant) = CONSTANTS.iter().find(|constant| constant.word == text) {
            return Ok(Kind::Constant(constant));
        }
        bail!("{text:?} is not a kind of parameter");
    }

    fn plain(text: &str) -> Option<Kind> {
        Some(match text {
            "buffer" => Kind::Buffer,
            "address" => Kind::Address,
            "attribute" => Kind::Attribute,
            "state" => Kind::State,
            "object" => Kind::Object,
            "int" => Kind::Int,
            "length" => Kind::Length,
            "rank" => Kind::Rank,
            "tag" => Kind::Tag,
            "logical" => Kind::Logical,
            "error" => Kind::Error,
            "distribution" => Kind::Distribution,
            "dist_arg" => Kind::DistArg,
            "weights" => Kind::Weights,
            "status" => Kind::Status,
            "string" => Kind::Text(None),
            "string_length" => Kind::TextLength,
            "strings" => Kind::Texts,
            "strings2" => Kind::TextArrays,
            "argc" => Kind::Argc,
            "argv" => Kind::Argv,
            "errcodes" => Kind::ErrorCodes,
            "f_status" => Kind::FortranStatus,
            "f08_status" => Kind::Fortran08Status,
            "fint" => Kind::FortranInteger,
            "double" => Kind::Double,
            _ => return None,
        })
    }

    /// The C type of one value of the kind, in the `_c` form of a procedure if `large`.
    pub fn c_type(&self, large: bool) -> String {
        match self {
            Kind::Buffer | Kind::Address | Kind::Attribute | Kind::State | Kind::Object => "void",
            Kind::Handle(handle) => handle.c,
            Kind::Tool(c) => c,
            Kind::Wide(wide) => wide.c,
            Kind::Constant(constant) => constant.c,
            Kind::Poly(poly) if large => poly.large,
            Kind::Poly(poly) => poly.small,
            Kind::Status => "MPI_Status",
            Kind::Text(_) | Kind::Texts | Kind::TextArrays | Kind::Argv => "char",
            Kind::FortranStatus | Kind::FortranInteger => "MPI_Fint",
            Kind::Fortran08Status => "MPI_F08_status",
            Kind::Function(name) => name,
            Kind::PolyFunction(name) if large => return format!("{name}_c"),
            Kind::PolyFunction(name) => name,
            Kind::Double => "double",
            _ => "int",
        }
        .to_owned()
    }
}
