//! Values that the core gives to MPI's integer constants.
//!
//! They are those of the standard ABI (MPI-5.0 chapter 20); the faces of other ABIs convert.

/// `MPI_ANY_SOURCE`: a receive matches any sender.
pub const ANY_SOURCE: i32 = -1;
/// `MPI_ANY_TAG`: a receive matches any tag.
pub const ANY_TAG: i32 = -2;
/// `MPI_PROC_NULL`: communication with nobody.
pub const PROC_NULL: i32 = -3;
/// `MPI_ROOT`: the root's own group in a collective over an intercommunicator.
pub const ROOT: i32 = -4;
/// `MPI_UNDEFINED`.
pub const UNDEFINED: i32 = -32766;
/// `MPI_TAG_UB`'s value: any non-negative int is a tag.
pub const TAG_UB: i32 = i32::MAX;
/// `MPI_BSEND_OVERHEAD` of the core, in bytes; each face states its own, never a smaller one.
pub const BSEND_OVERHEAD: usize = 64;

/// An argument some of whose values each ABI writes in its own way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Special {
    /// A rank.
    Rank(i32),
    /// A tag.
    Tag(i32),
    /// A handle that names nothing, by the core's number; the ABI front end may know that of the program.
    Handle(u32),
    /// What can be no handle; only the face that saw it knows its number.
    Foreign,
}

impl Special {
    /// The core's number, if it has one.
    pub fn number(self) -> Option<i32> {
        match self {
            Special::Rank(number) | Special::Tag(number) => Some(number),
            Special::Handle(_) | Special::Foreign => None,
        }
    }

    /// What the standard calls it, if it has a name.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Special::Rank(ANY_SOURCE) => Some("MPI_ANY_SOURCE"),
            Special::Rank(PROC_NULL) => Some("MPI_PROC_NULL"),
            Special::Rank(ROOT) => Some("MPI_ROOT"),
            Special::Tag(ANY_TAG) => Some("MPI_ANY_TAG"),
            _ => None,
        }
    }
}

/// Results of comparing communicators or groups (MPI-5.0 §7.3.1, §7.4.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i32)]
pub enum Comparison {
    /// `MPI_IDENT`: the same object, or the same members in the same order.
    Identical = 201,
    /// `MPI_CONGRUENT`: the same members in the same order, another context.
    Congruent = 202,
    /// `MPI_SIMILAR`: the same members in another order.
    Similar = 203,
    /// `MPI_UNEQUAL`.
    Unequal = 204,
}
