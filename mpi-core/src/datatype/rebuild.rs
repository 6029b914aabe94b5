//! Datatypes made again from what is known of their making: over the same datatypes, or over those
//! that stand for them in a file (MPI-5.0 §5.1.13, §14.5.1).

use std::sync::Arc;

use super::contents::{Combiner, Contents, Form};
use super::{BYTE, Darray, Datatype, Origin, Subarray};
use crate::error::Result;

impl Datatype {
    /// The datatype as it lies in a file of the representation external32 (§14.5.2): made by the
    /// same calls from elements of the sizes that they have there. What was counted in elements
    /// follows these sizes; what was given in bytes counts bytes of the file.
    ///
    /// # Errors
    /// A type map beyond 64 bits.
    pub fn in_external32(this: &Arc<Datatype>) -> Result<Arc<Datatype>> {
        let old = match &this.origin {
            Origin::Made(contents) if !contents.combiner.is_predefined() => contents,
            _ => return stored_element(this),
        };
        let parts = old.datatypes.iter().map(Datatype::in_external32);
        let parts = parts.collect::<Result<Vec<_>>>()?;
        if parts.iter().zip(&old.datatypes).all(|(new, old)| Arc::ptr_eq(new, old)) {
            return Ok(Arc::clone(this));
        }
        old.again(&parts)
    }
}

/// What stands in a file for a predefined datatype: itself, if it has as many bytes there.
fn stored_element(predefined: &Arc<Datatype>) -> Result<Arc<Datatype>> {
    let bytes = predefined.signature().external_size();
    if bytes == predefined.size() {
        return Ok(Arc::clone(predefined));
    }
    let byte = super::predefined(BYTE.raw()).expect("MPI_BYTE");
    Datatype::contiguous(bytes as i64, byte, Form::Int)
}

impl Contents {
    /// The form of the constructor that was called.
    fn form(&self) -> Form {
        if self.counts.is_empty() { Form::Int } else { Form::Large }
    }

    /// Calls the constructor again, with `types` for the datatypes.
    ///
    /// # Errors
    /// Those of the constructor.
    pub(super) fn again(&self, types: &[Arc<Datatype>]) -> Result<Arc<Datatype>> {
        let form = self.form();
        let (sizes, disps) = self.sizes_and_displacements();
        let old = || types.first().expect("every constructor of several types has one");
        match self.combiner {
            Combiner::Dup => Datatype::dup(old()),
            Combiner::Contiguous => Datatype::contiguous(sizes[0], old(), form),
            Combiner::Vector => Datatype::vector(sizes[0], sizes[1], sizes[2], old(), form),
            Combiner::Hvector => Datatype::hvector(sizes[0], sizes[1], disps[0], old(), form),
            Combiner::Indexed => {
                let (lengths, disps) = sizes[1..].split_at(sizes[0] as usize);
                Datatype::indexed(lengths, disps, old(), form)
            }
            Combiner::Hindexed => Datatype::hindexed(&sizes[1..], disps, old(), form),
            Combiner::IndexedBlock => Datatype::indexed_block(sizes[1], &sizes[2..], old(), form),
            Combiner::HindexedBlock => Datatype::hindexed_block(sizes[1], disps, old(), form),
            Combiner::Struct => Datatype::structure(&sizes[1..], disps, types, form),
            Combiner::Resized => Datatype::resized(old(), disps[0], disps[1], form),
            Combiner::Subarray => self.subarray(old()),
            Combiner::Darray => self.darray(old()),
            Combiner::F90Real => Datatype::f90_real(sizes[0], sizes[1]),
            Combiner::F90Complex => Datatype::f90_complex(sizes[0], sizes[1]),
            Combiner::F90Integer => Datatype::f90_integer(sizes[0]),
            made @ (Combiner::Named | Combiner::ValueIndex) => {
                crate::fail!(INTERN, "{made:?} is no call that can be made again")
            }
        }
    }

    /// Sizes come first, then displacements: in two lists, or in one of large counts.
    fn sizes_and_displacements(&self) -> (&[i64], &[i64]) {
        if self.form() == Form::Int {
            return (&self.integers, &self.addresses);
        }
        let displacements = match self.combiner {
            Combiner::Hvector => 1,
            Combiner::Hindexed | Combiner::HindexedBlock | Combiner::Struct => {
                self.counts[0] as usize
            }
            Combiner::Resized => 2,
            _ => 0,
        };
        self.counts.split_at(self.counts.len() - displacements)
    }

    fn subarray(&self, old: &Arc<Datatype>) -> Result<Arc<Datatype>> {
        let (form, integers) = (self.form(), &self.integers);
        let ndims = integers[0] as usize;
        let lists = if form == Form::Int { &integers[1..] } else { &self.counts };
        let args = Subarray {
            sizes: &lists[..ndims],
            subsizes: &lists[ndims..2 * ndims],
            starts: &lists[2 * ndims..3 * ndims],
            order: integers[integers.len() - 1],
        };
        Datatype::subarray(args, old, form)
    }

    fn darray(&self, old: &Arc<Datatype>) -> Result<Arc<Datatype>> {
        let (form, integers) = (self.form(), &self.integers);
        let ndims = integers[2] as usize;
        let (gsizes, rest) = match form {
            Form::Int => integers[3..].split_at(ndims),
            Form::Large => (&self.counts[..], &integers[3..]),
        };
        let args = Darray {
            size: integers[0],
            rank: integers[1],
            gsizes,
            distribs: &rest[..ndims],
            dargs: &rest[ndims..2 * ndims],
            psizes: &rest[2 * ndims..3 * ndims],
            order: rest[3 * ndims],
        };
        Datatype::darray(args, old, form)
    }
}
