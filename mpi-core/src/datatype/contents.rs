//! What a datatype was made from: `MPI_Type_get_envelope` and `MPI_Type_get_contents`
//! (MPI-5.0 §5.1.13).

use std::sync::Arc;

use super::{Datatype, Origin};
use crate::error::Result;
use crate::fail;

/// The constructor that made a datatype; the number is the standard ABI's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i32)]
#[allow(missing_docs)]
pub enum Combiner {
    Named = 101,
    Dup = 102,
    Contiguous = 103,
    Vector = 104,
    Hvector = 105,
    Indexed = 106,
    Hindexed = 107,
    IndexedBlock = 108,
    HindexedBlock = 109,
    Struct = 110,
    Subarray = 111,
    Darray = 112,
    F90Real = 113,
    F90Complex = 114,
    F90Integer = 115,
    Resized = 116,
    ValueIndex = 117,
}

impl Combiner {
    /// Whether its datatypes count as predefined (§5.1.13, §6.9.4, §19.1.9).
    pub(super) fn is_predefined(self) -> bool {
        use Combiner::{F90Complex, F90Integer, F90Real, Named, ValueIndex};
        matches!(self, Named | F90Real | F90Complex | F90Integer | ValueIndex)
    }
}

/// Which form of a constructor was called: it decides where its arguments are kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// With `int` counts: integers and addresses.
    Int,
    /// The `_c` twin with `MPI_Count` arguments: large counts.
    Large,
}

/// The arguments of the constructor call, in the order of the tables in §5.1.13.
#[derive(Clone, Debug)]
pub struct Contents {
    /// The constructor.
    pub combiner: Combiner,
    /// Arguments of type `int`.
    pub integers: Vec<i64>,
    /// Arguments of type `MPI_Aint`.
    pub addresses: Vec<i64>,
    /// Arguments of type `MPI_Count`.
    pub counts: Vec<i64>,
    /// The datatypes; a named one stands for itself, of the others the program gets new handles.
    pub datatypes: Vec<Arc<Datatype>>,
}

/// How many arguments of each type [`Contents`] has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Envelope {
    /// The constructor.
    pub combiner: Combiner,
    /// Number of `int` arguments.
    pub integers: usize,
    /// Number of `MPI_Aint` arguments.
    pub addresses: usize,
    /// Number of `MPI_Count` arguments.
    pub counts: usize,
    /// Number of datatypes.
    pub datatypes: usize,
}

impl Contents {
    /// A call of which the `_c` twin has large counts for both `sizes` and `displacements`.
    pub(super) fn new(
        combiner: Combiner,
        form: Form,
        sizes: Vec<i64>,
        displacements: Vec<i64>,
        datatypes: Vec<Arc<Datatype>>,
    ) -> Contents {
        let mut contents = Contents {
            combiner,
            integers: Vec::new(),
            addresses: Vec::new(),
            counts: Vec::new(),
            datatypes,
        };
        match form {
            Form::Int => (contents.integers, contents.addresses) = (sizes, displacements),
            Form::Large => contents.counts = [sizes, displacements].concat(),
        }
        contents
    }
}

impl Datatype {
    /// `MPI_Type_get_envelope`.
    pub fn envelope(&self) -> Envelope {
        match &self.origin {
            Origin::Named(_) => Envelope {
                combiner: Combiner::Named,
                integers: 0,
                addresses: 0,
                counts: 0,
                datatypes: 0,
            },
            Origin::Made(contents) => Envelope {
                combiner: contents.combiner,
                integers: contents.integers.len(),
                addresses: contents.addresses.len(),
                counts: contents.counts.len(),
                datatypes: contents.datatypes.len(),
            },
        }
    }

    /// `MPI_Type_get_contents`.
    ///
    /// # Errors
    /// A named datatype was made by no call.
    pub fn contents(&self) -> Result<&Contents> {
        match &self.origin {
            Origin::Named(row) => {
                fail!(TYPE, "datatype", "is {}, which was made by no constructor", row.name)
            }
            Origin::Made(contents) => Ok(contents),
        }
    }
}
