//! Datatypes: builders → typemap → a compact program of strided copies (MPI-5.0 chapter 5).

mod cursor;

pub use cursor::{Packer, Unpacker};
