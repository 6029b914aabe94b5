//! Whether elements can be where the program says that they are: the part of it that an address alone tells.

use super::Datatype;
use crate::buffer::UserBuffer;
use crate::error::{Error, ErrorClass, Result};

/// Refuses `count` elements at `buf`, the argument `param`, where none can be: at a null address of a predefined type
/// (others may have absolute addresses, MPI-5.0 §5.1.12), and at `MPI_IN_PLACE`, which a procedure that calls this does
/// not take.
///
/// # Errors
/// `MPI_ERR_BUFFER`.
#[inline]
pub fn check_elements(
    param: &'static str,
    buf: UserBuffer,
    count: i64,
    datatype: &Datatype,
) -> Result<()> {
    if buf.0.is_null() && count > 0 && datatype.size() > 0 && datatype.predefined_code().is_some() {
        return Err(nowhere(param, format!("is NULL, but count is {count}")));
    }
    if buf.is_in_place() && count > 0 {
        return Err(nowhere(
            param,
            "is MPI_IN_PLACE, which only collective operations take".into(),
        ));
    }
    Ok(())
}

#[cold]
fn nowhere(param: &'static str, what: String) -> Error {
    Error::param(ErrorClass::BUFFER, param, what)
}
