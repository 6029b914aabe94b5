//! Whose error handler hears of an error that is found before the procedure itself is called.

use std::ffi::c_int;

use mpi_core::handle::{CommKind, FileKind, Handle, Kind, SessionKind, WinKind};

use crate::cx::Owner;
use crate::face::Face;

macro_rules! owners {
    ($($word:ident $kind:ident $owner:ident;)*) => {$(
        #[doc = concat!("That of the `MPI_", stringify!($owner), "` behind an INTEGER.")]
        pub fn $word<F: Face>(fint: c_int) -> Owner {
            Owner::$owner(Handle::from_raw(F::handle_from_fint($kind::NUMBER, fint)))
        }
    )*};
}

owners! {
    comm CommKind Comm;
    win WinKind Win;
    file FileKind File;
    session SessionKind Session;
}
