//! Declarations of the procedures, for either module.

use super::sections::{ADDRESSES, is_pending};
use super::text::statement;
use super::{direction, has_ierror, is_narrow, parameters};
use crate::description::{Direction, Parameter, Procedure};
use crate::kind::Kind;

/// Which module a declaration is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Module {
    /// `mpi`: INTEGER handles.
    Mpi,
    /// `mpi_f08`: handles have types.
    F08,
}

/// One form of one procedure in one module.
pub(super) struct Form<'a> {
    pub procedure: &'a Procedure,
    pub module: Module,
    pub large: bool,
    /// Whether an address is returned as a `TYPE(C_PTR)` in the module `mpi`.
    pub c_ptr: bool,
    /// Whether choice buffers come with descriptors.
    pub sections: bool,
}

impl Form<'_> {
    /// The whole declaration of the procedure as `name`.
    pub(super) fn body(&self, name: &str) -> String {
        let mut dummies: Vec<String> =
            parameters(self.procedure, self.large).map(|p| p.name.clone()).collect();
        let result = self.procedure.returns.as_ref().map(|kind| match kind {
            // DOUBLE PRECISION is another type where -fdefault-real-8 makes it one.
            Kind::Double => "real(selected_real_kind(15, 307))",
            _ => "integer(MPI_ADDRESS_KIND)",
        });
        if has_ierror(self.procedure) {
            dummies.push("ierror".to_owned());
        }
        let list = dummies.join(", ");
        let (head, tail) = match result {
            Some(result) => (format!("{result} function {name}({list})"), "function"),
            None => (format!("subroutine {name}({list})"), "subroutine"),
        };
        let mut out = statement(4, &head);
        out.push_str("      import\n");
        for parameter in parameters(self.procedure, self.large) {
            out.push_str(&self.dummy(parameter));
        }
        if has_ierror(self.procedure) {
            out.push_str(match self.module {
                Module::Mpi => "      integer :: ierror\n",
                Module::F08 => "      integer, optional, intent(out) :: ierror\n",
            });
        }
        out.push_str(&format!("    end {tail} {name}\n"));
        out
    }

    /// Types and shapes of all dummies: forms that agree in them cannot be told apart.
    pub(super) fn shape(&self) -> Vec<(String, usize)> {
        let kind_value =
            |text: String| text.replace("MPI_COUNT_KIND", "8").replace("MPI_ADDRESS_KIND", "8");
        parameters(self.procedure, self.large)
            .map(|p| (kind_value(self.value(p)), p.lengths.len()))
            .collect()
    }

    fn is_choice(&self, parameter: &Parameter) -> bool {
        let detached = self.module == Module::Mpi && self.procedure.name.ends_with("etach_buffer");
        let detached =
            detached || (self.module == Module::Mpi && self.procedure.name == "Buffer_detach");
        parameter.kind == Kind::Buffer || (parameter.kind == Kind::Address && detached)
    }

    fn dummy(&self, parameter: &Parameter) -> String {
        let name = &parameter.name;
        if self.is_choice(parameter) {
            let intent = if self.is_only_read(parameter) { ", intent(in)" } else { "" };
            let waits = if self.is_asynchronous(parameter) { ", asynchronous" } else { "" };
            return choice(name, &format!("{intent}{waits}"), self.sections);
        }
        let value = self.value(parameter);
        if value == "external" {
            return format!("      external :: {name}\n");
        }
        let mut attributes = String::new();
        if self.module == Module::F08 {
            attributes = self.intent(parameter).to_owned();
            if self.is_asynchronous(parameter) {
                attributes.push_str(", asynchronous");
            }
        }
        statement(6, &format!("{value}{attributes} :: {name}{}", self.bounds(parameter)))
    }

    /// Whether `mpi_f08` says of a choice buffer that it is only read: not where the argument
    /// stands for a place in memory, except where that is given back.
    fn is_only_read(&self, parameter: &Parameter) -> bool {
        let is_only_read = match self.procedure.name.as_str() {
            "Free_mem" => true,
            name => parameter.constant && !ADDRESSES.contains(&name),
        };
        self.module == Module::F08 && is_only_read
    }

    /// Whether `mpi_f08` tells the compiler that the library uses the argument at other times than
    /// during the call (MPI-5.0 §19.1.16): while an operation is pending that the call starts or
    /// ends, or through an address that the call takes or gives up.
    fn is_asynchronous(&self, parameter: &Parameter) -> bool {
        let (name, pending) = (self.procedure.name.as_str(), is_pending(self.procedure));
        if self.module != Module::F08 {
            return false;
        }
        match &parameter.kind {
            Kind::Buffer => pending || name.ends_with("_end") || ADDRESSES.contains(&name),
            Kind::Poly(_) | Kind::Wide(_) | Kind::Handle(_)
                if parameter.is_array() && parameter.direction == Direction::In =>
            {
                pending
            }
            // A communicator that is there once the request is complete.
            Kind::Handle(handle) if parameter.direction == Direction::Out => {
                pending && handle.word == "comm"
            }
            _ => false,
        }
    }

    fn intent(&self, parameter: &Parameter) -> &'static str {
        match (&parameter.kind, direction(self.procedure, parameter)) {
            (Kind::Function(_) | Kind::PolyFunction(_), _) => "",
            // What may be a special variable has no intent (MPI-5.0 §19.1.2).
            (Kind::Status | Kind::Weights | Kind::ErrorCodes, Direction::Out) => "",
            (Kind::State, _) if self.procedure.name == "Abi_get_fortran_booleans" => {
                ", intent(out)"
            }
            (_, Direction::In) => ", intent(in)",
            (_, Direction::Out) => ", intent(out)",
            (_, Direction::InOut) => ", intent(inout)",
        }
    }

    fn bounds(&self, parameter: &Parameter) -> String {
        let is_status = match parameter.kind {
            Kind::Status => self.module == Module::Mpi,
            Kind::FortranStatus => true,
            _ => false,
        };
        match (&parameter.kind, parameter.lengths.as_slice()) {
            (Kind::TextArrays, _) => "(count,*)".to_owned(),
            (Kind::Texts | Kind::ErrorCodes | Kind::Weights, _) => "(*)".to_owned(),
            (_, [_, inner]) => format!("({inner},*)"),
            (_, [_]) if is_status => "(MPI_STATUS_SIZE,*)".to_owned(),
            (_, []) if is_status => "(MPI_STATUS_SIZE)".to_owned(),
            (_, [_]) => "(*)".to_owned(),
            _ => String::new(),
        }
    }

    /// The type of one value.
    fn value(&self, parameter: &Parameter) -> String {
        let f08 = self.module == Module::F08;
        let one = ["Attr_put", "Attr_get", "Keyval_create"].contains(&&*self.procedure.name);
        match &parameter.kind {
            Kind::Handle(handle) if f08 => format!("type({})", handle.c),
            Kind::Status if f08 => "type(MPI_Status)".to_owned(),
            Kind::Fortran08Status => "type(MPI_Status)".to_owned(),
            Kind::Address if f08 || self.c_ptr => "type(C_PTR)".to_owned(),
            Kind::Attribute | Kind::State if one => "integer".to_owned(),
            Kind::State if self.procedure.name.starts_with("Abi_") => "logical".to_owned(),
            Kind::Address | Kind::Attribute | Kind::State => "integer(MPI_ADDRESS_KIND)".to_owned(),
            Kind::Logical => "logical".to_owned(),
            Kind::Text(_) | Kind::Texts | Kind::TextArrays => "character(len=*)".to_owned(),
            Kind::Function(name) if f08 => format!("procedure({name})"),
            Kind::PolyFunction(_) if f08 => {
                format!("procedure({})", parameter.kind.c_type(self.large))
            }
            Kind::Function(_) | Kind::PolyFunction(_) => "external".to_owned(),
            Kind::Wide(_) if is_narrow(self.procedure, parameter) => "integer".to_owned(),
            kind => match kind.c_type(self.large).as_str() {
                "MPI_Aint" => "integer(MPI_ADDRESS_KIND)",
                "MPI_Count" => "integer(MPI_COUNT_KIND)",
                "MPI_Offset" => "integer(MPI_OFFSET_KIND)",
                _ => "integer",
            }
            .to_owned(),
        }
    }
}

/// The declaration of an argument of any type and shape, by descriptor or by address.
pub(super) fn choice(name: &str, attributes: &str, sections: bool) -> String {
    if sections {
        return format!("      type(*), dimension(..){attributes} :: {name}\n");
    }
    format!(
        "      !GCC$ ATTRIBUTES NO_ARG_CHECK :: {name}\n\
         !DIR$ IGNORE_TKR {name}\n\
         !DEC$ ATTRIBUTES NO_ARG_CHECK :: {name}\n\
         \x20     type(*), dimension(*){attributes} :: {name}\n"
    )
}

/// Types that `MPI_SIZEOF` knows, each with its symbol's ending, its bytes, and whether only
/// some compilers have it.
const SIZES: &[(&str, &str, u32, bool)] = &[
    ("integer(1)", "i1", 1, false),
    ("integer(2)", "i2", 2, false),
    ("integer(4)", "i4", 4, false),
    ("integer(8)", "i8", 8, false),
    ("real(4)", "r4", 4, false),
    ("real(8)", "r8", 8, false),
    ("complex(4)", "c4", 8, false),
    ("complex(8)", "c8", 16, false),
    ("logical(1)", "l1", 1, false),
    ("logical(2)", "l2", 2, false),
    ("logical(4)", "l4", 4, false),
    ("logical(8)", "l8", 8, false),
    ("character(len=*)", "ch", 1, false),
    ("integer(16)", "i16", 16, true),
    ("real(10)", "r10", 16, true),
    ("real(16)", "r16", 16, true),
    ("complex(10)", "c10", 32, true),
    ("complex(16)", "c16", 32, true),
];

/// The generic `MPI_SIZEOF`, whose argument may have any rank, and its twin for profiling.
pub(super) fn sizeofs(module: Module) -> String {
    ["MPI_Sizeof", "PMPI_Sizeof"].map(|name| sizeof(module, name)).concat()
}

fn sizeof(module: Module, name: &str) -> String {
    let ierror = match module {
        Module::Mpi => "integer",
        Module::F08 => "integer, optional",
    };
    let mut out = format!("\n  interface {name}\n");
    let mut guarded = false;
    for (value, ending, _, rare) in SIZES {
        if *rare && !guarded {
            out.push_str("#ifdef __GFORTRAN__\n");
            guarded = true;
        }
        out.push_str(&format!(
            "    subroutine {name}_{ending}(x, size, ierror)\n      \
             {value}, dimension(..), intent(in) :: x\n      \
             integer, intent(out) :: size\n      {ierror}, intent(out) :: ierror\n    \
             end subroutine {name}_{ending}\n"
        ));
    }
    out + &format!("#endif\n  end interface {name}\n")
}

/// The endings of the entry points of `MPI_SIZEOF` with what each answers.
pub(super) fn sizes() -> impl Iterator<Item = (&'static str, u32)> {
    SIZES.iter().map(|(_, ending, bytes, _)| (*ending, *bytes))
}
