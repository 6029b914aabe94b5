//! Lists whose length the program chooses. Where there is no memory for one the call fails, not the process.

use crate::error::{Error, ErrorClass, Result};

/// An empty list with room for `count` elements.
///
/// # Errors
/// `MPI_ERR_COUNT` for more elements than memory has addresses, `MPI_ERR_NO_MEM` for more than there is memory.
pub fn reserved<T>(count: usize) -> Result<Vec<T>> {
    let mut list = Vec::new();
    match list.try_reserve_exact(count) {
        Ok(()) => Ok(list),
        Err(_) => Err(no_room(count, size_of::<T>())),
    }
}

/// These elements.
///
/// # Errors
/// As [`reserved`].
pub fn listed<T>(elements: impl ExactSizeIterator<Item = T>) -> Result<Vec<T>> {
    let mut list = reserved(elements.len())?;
    list.extend(elements);
    Ok(list)
}

/// Lists one after the other.
///
/// # Errors
/// As [`reserved`].
pub fn joined<T: Copy>(lists: &[&[T]]) -> Result<Vec<T>> {
    let mut list = reserved(lists.iter().map(|list| list.len()).sum())?;
    lists.iter().for_each(|part| list.extend_from_slice(part));
    Ok(list)
}

#[cold]
fn no_room(count: usize, each: usize) -> Error {
    let is_addressable = count.checked_mul(each).is_some_and(|bytes| bytes <= isize::MAX as usize);
    if is_addressable {
        let what = format!("no memory for a list of {count} elements of {each} bytes");
        return Error::new(ErrorClass::NO_MEM, what);
    }
    Error::new(ErrorClass::COUNT, format!("no array has {count} elements, as a count says"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_that_are_too_long_are_refused() {
        let class = |count| reserved::<u64>(count).map(drop).unwrap_err().class();
        assert_eq!(class(usize::MAX), ErrorClass::COUNT);
        assert_eq!(class(1 << 60), ErrorClass::COUNT);
        assert_eq!(class(1 << 59), ErrorClass::NO_MEM);
        assert_eq!(listed((0..3).map(|i| i * 2)).unwrap(), [0, 2, 4]);
        assert_eq!(joined(&[&[1, 2], &[], &[3]]).unwrap(), [1, 2, 3]);
    }
}
