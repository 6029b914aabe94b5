//! The C interface: the trait that an ABI implements, argument checks and handle conversion.
//!
//! A face is one package with the exports of one ABI; everything else lies here, once, generic
//! over [`face::Face`].

pub mod callbacks;
pub mod claim;
pub mod face;
pub mod strings;
pub mod values;
