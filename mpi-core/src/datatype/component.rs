//! What a datatype is made of: the one datatype of all its components that an accumulate works on
//! (MPI-5.0 §12.3.4).
//!
//! It is found from the datatypes that a constructor was given and not from the signature, in which
//! a pair is its two parts: an array of `MPI_2INT` has the signature of an array of `MPI_INT`.

use std::sync::Arc;

use super::contents::{Combiner, Contents};
use super::{Datatype, Operand};

impl Datatype {
    /// The datatype of all its components, if that is just one to which reductions apply.
    pub fn component(this: &Arc<Datatype>) -> Option<Arc<Datatype>> {
        match this.operand {
            Operand::None => this.component.clone(),
            _ => Some(Arc::clone(this)),
        }
    }
}

/// The component of what was made from `contents`. Parts without data, such as markers of bounds and
/// empty blocks, have no say, unless there are no others.
pub(super) fn component_of(contents: &Contents) -> Option<Arc<Datatype>> {
    let parts = || contents.datatypes.iter().enumerate();
    let has_data = |index: usize, part: &Datatype| {
        part.size > 0 && (contents.combiner != Combiner::Struct || contents.length(index) > 0)
    };
    let is_empty = parts().all(|(index, part)| !has_data(index, part));
    let mut components = parts()
        .filter(|(index, part)| is_empty || has_data(*index, part))
        .map(|(_, part)| Datatype::component(part));
    let first = components.next()??;
    components
        .all(|other| other.is_some_and(|other| other.operand == first.operand))
        .then_some(first)
}

impl Contents {
    /// The length of a block of `MPI_Type_create_struct`; their number is the first argument.
    fn length(&self, block: usize) -> i64 {
        let sizes = if self.integers.is_empty() { &self.counts } else { &self.integers };
        sizes.get(1 + block).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::basic::{Basic, TABLE};
    use super::super::{Form, predefined};
    use super::*;

    fn named(name: &str) -> Arc<Datatype> {
        let row = TABLE.iter().find(|row| row.name == name).expect(name);
        Arc::clone(predefined(row.code).expect(name))
    }

    fn structure(lengths: &[i64], types: &[Arc<Datatype>], form: Form) -> Arc<Datatype> {
        let places: Vec<i64> = (0..lengths.len() as i64).map(|block| 64 * block).collect();
        Datatype::structure(lengths, &places, types, form).expect("valid")
    }

    fn component(datatype: &Arc<Datatype>) -> Option<&'static str> {
        Datatype::component(datatype).map(|found| found.predefined_name().expect("a named one"))
    }

    #[test]
    fn every_named_type_is_found_again_in_what_is_made_of_it() {
        for row in TABLE.iter().filter(|row| row.basic != Basic::Marker) {
            let named = named(row.name);
            let array = Datatype::contiguous(3, &named, Form::Int).expect("valid");
            let rows = Datatype::vector(2, 1, 5, &array, Form::Large).expect("valid");
            for form in [Form::Int, Form::Large] {
                let both = structure(&[1, 2], &[rows.clone(), named.clone()], form);
                for made in [&named, &array, &rows, &both] {
                    assert_eq!(component(made), Some(row.name));
                }
            }
        }
    }

    #[test]
    fn types_that_differ_have_no_common_component() {
        let types = ["MPI_INT", "MPI_2INT"].map(named);
        assert_eq!(component(&structure(&[1, 1], &types, Form::Int)), None);
        assert_eq!(
            component(&structure(&[1, 1], &["MPI_INT", "MPI_FLOAT"].map(named), Form::Int)),
            None
        );
    }

    #[test]
    fn blocks_without_data_have_no_say() {
        let types = ["MPI_DOUBLE", "MPI_2INT", "MPI_UB"].map(named);
        for form in [Form::Int, Form::Large] {
            assert_eq!(component(&structure(&[0, 3, 1], &types, form)), Some("MPI_2INT"));
        }
        let nothing = Datatype::contiguous(0, &types[0], Form::Int).expect("valid");
        let both = structure(&[1, 1], &[nothing.clone(), types[1].clone()], Form::Int);
        assert_eq!((component(&both), component(&nothing)), (Some("MPI_2INT"), Some("MPI_DOUBLE")));
    }

    #[test]
    fn copies_of_a_type_and_pairs_without_a_name_are_components() {
        let double = named("MPI_DOUBLE");
        let both = [Datatype::dup(&double).expect("valid"), double.clone()];
        let found = Datatype::component(&structure(&[1, 1], &both, Form::Int)).expect("one type");
        assert!(found.is_reduced_like(&double));
        let pair = Datatype::value_index(&double, &named("MPI_INT64_T"));
        let pair = pair.expect("small").expect("a supported pair");
        let two = Datatype::contiguous(2, &pair, Form::Int).expect("valid");
        assert!(Datatype::component(&two).is_some_and(|found| Arc::ptr_eq(&found, &pair)));
    }
}
