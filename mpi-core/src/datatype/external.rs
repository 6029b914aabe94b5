//! The external32 data representation of single numbers (MPI-5.0 §14.5.2): big-endian, with the
//! standard's sizes, and binary128 for `long double`.
//!
//! Bytes enter and leave as slices of whole elements. What does not fit the smaller of two
//! representations is an error, as the standard asks for.

use super::basic::{Basic, Row};
use crate::error::{Error, ErrorClass, Result};

/// How one number, or one part of a complex number, is converted.
#[derive(Clone, Copy)]
enum Way {
    /// The same bytes in the other order, where the machine is little-endian.
    Swap,
    /// A signed integer to or from fewer bytes.
    Signed,
    /// An unsigned integer to or from fewer bytes.
    Unsigned,
    /// The x87 format to or from binary128.
    Extended,
}

/// The way of a row, the bytes of a part in memory and in the external representation.
fn way(row: &Row) -> (Way, usize, usize) {
    let complex = matches!(
        row.basic,
        Basic::ComplexF16
            | Basic::ComplexF32
            | Basic::ComplexF64
            | Basic::ComplexLongDouble
            | Basic::ComplexF128
    );
    let parts = if complex { 2 } else { 1 };
    let (native, external) = (usize::from(row.size) / parts, usize::from(row.external) / parts);
    let way = match row.basic {
        Basic::LongDouble | Basic::ComplexLongDouble if cfg!(target_arch = "x86_64") => {
            Way::Extended
        }
        Basic::I64 if external < native => Way::Signed,
        _ if external < native => Way::Unsigned,
        _ => Way::Swap,
    };
    (way, native, external)
}

/// Converts whole elements; `external` has room for them.
///
/// # Errors
/// A number that its external representation cannot hold.
pub(super) fn encode(row: &Row, native: &[u8], external: &mut [u8]) -> Result<()> {
    let (way, from, to) = way(row);
    for (native, external) in native.chunks_exact(from).zip(external.chunks_exact_mut(to)) {
        match way {
            Way::Swap => swap(native, external),
            Way::Signed | Way::Unsigned => {
                let number = integer(native, matches!(way, Way::Signed));
                let bytes = number.to_be_bytes();
                let kept = &bytes[bytes.len() - to..];
                let back = big_endian(kept, matches!(way, Way::Signed));
                if back != number {
                    return Err(Error::new(
                        ErrorClass::CONVERSION,
                        format!("{} {number} does not fit the {to} bytes of external32", row.name),
                    ));
                }
                external.copy_from_slice(kept);
            }
            Way::Extended => external.copy_from_slice(&to_quad(native).to_be_bytes()),
        }
    }
    Ok(())
}

/// Converts whole elements back; `native` has room for them.
pub(super) fn decode(row: &Row, external: &[u8], native: &mut [u8]) {
    let (way, to, from) = way(row);
    for (external, native) in external.chunks_exact(from).zip(native.chunks_exact_mut(to)) {
        match way {
            Way::Swap => swap(external, native),
            Way::Signed | Way::Unsigned => {
                let number = big_endian(external, matches!(way, Way::Signed));
                let mut bytes = [0; 16];
                bytes.copy_from_slice(&number.to_le_bytes());
                native.copy_from_slice(&bytes[..to]);
                if cfg!(target_endian = "big") {
                    native.reverse();
                }
            }
            Way::Extended => {
                let mut bytes = [0; 16];
                bytes.copy_from_slice(external);
                native.copy_from_slice(&from_quad(u128::from_be_bytes(bytes)).to_le_bytes());
            }
        }
    }
}

fn swap(from: &[u8], to: &mut [u8]) {
    to.copy_from_slice(from);
    if cfg!(target_endian = "little") {
        to.reverse();
    }
}

fn big_endian(bytes: &[u8], signed: bool) -> i128 {
    let fill = if signed && bytes[0] & 0x80 != 0 { -1 } else { 0 };
    bytes.iter().fold(fill, |number, byte| number << 8 | i128::from(*byte))
}

fn integer(native: &[u8], signed: bool) -> i128 {
    let mut bytes = native.to_vec();
    if cfg!(target_endian = "little") {
        bytes.reverse();
    }
    big_endian(&bytes, signed)
}

/// The exponent of infinities and of what is no number, in both formats.
const EXPONENT_MAX: u128 = 0x7fff;
/// Bits by which the fraction of binary128 is longer than that of the x87 format.
const LONGER: u32 = 112 - 63;

/// An x87 number as binary128. Exponents mean the same; only the explicit leading one goes.
fn to_quad(native: &[u8]) -> u128 {
    let number =
        native[..10].iter().rev().fold(0u128, |number, byte| number << 8 | u128::from(*byte));
    let fraction = number & ((1 << 63) - 1);
    let sign_and_exponent = number >> 64;
    sign_and_exponent << 112 | fraction << LONGER
}

/// A binary128 number in the x87 format, rounded to nearest, ties to even.
fn from_quad(quad: u128) -> u128 {
    let fraction = quad & ((1 << 112) - 1);
    let sign = quad >> 127 << 79;
    let exponent = quad >> 112 & EXPONENT_MAX;
    if exponent == EXPONENT_MAX {
        // What is no number stays none, even if only bits that are cut off say so.
        let kept = fraction >> LONGER;
        let none = if fraction != 0 && kept == 0 { 1 << 62 } else { 0 };
        return sign | EXPONENT_MAX << 64 | 1 << 63 | kept | none;
    }
    let half = 1 << (LONGER - 1);
    let odd = fraction >> LONGER & 1;
    let rounded = (fraction + half - 1 + odd) >> LONGER;
    let leading = if exponent == 0 { 0 } else { 1 << 63 };
    let mantissa = leading + rounded;
    // Rounding up may carry into the next power of two, from a subnormal to the first normal.
    match mantissa >> 64 {
        0 if exponent == 0 && mantissa >> 63 == 1 => sign | 1 << 64 | mantissa,
        0 => sign | exponent << 64 | mantissa,
        _ => sign | (exponent + 1) << 64 | mantissa >> 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatype::basic::{TABLE, row_of};
    use proptest::prelude::*;

    fn encoded(code: u32, native: &[u8]) -> Result<Vec<u8>> {
        let row = row_of(code).expect("named");
        let mut external =
            vec![0; native.len() / usize::from(row.size) * usize::from(row.external)];
        encode(row, native, &mut external)?;
        Ok(external)
    }

    #[test]
    fn known_values() {
        assert_eq!(encoded(0x209, &(-2i32).to_ne_bytes()).expect("int"), [255, 255, 255, 254]);
        assert_eq!(encoded(0x20a, &(-2i64).to_ne_bytes()).expect("long"), [255, 255, 255, 254]);
        assert_eq!(
            encoded(0x214, &1.0f64.to_ne_bytes()).expect("double"),
            [63, 240, 0, 0, 0, 0, 0, 0]
        );
        assert_eq!(encoded(0x23c, &0x41u32.to_ne_bytes()).expect("wchar"), [0, 0x41]);
        let error = encoded(0x20a, &(1i64 << 31).to_ne_bytes()).expect_err("too large");
        assert_eq!(error.class(), ErrorClass::CONVERSION);
        assert!(encoded(0x20e, &(u64::from(u32::MAX)).to_ne_bytes()).is_ok());
        assert!(encoded(0x20e, &(1u64 << 32).to_ne_bytes()).is_err());
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn long_double_is_binary128() {
        // 1.5: exponent 0x3fff, and in the x87 format an explicit leading one.
        let mut native = [0u8; 16];
        native[..10].copy_from_slice(&[0, 0, 0, 0, 0, 0, 0, 0xc0, 0xff, 0x3f]);
        let external = encoded(0x220, &native).expect("long double");
        assert_eq!(external[..4], [0x3f, 0xff, 0x80, 0]);
        assert_eq!(from_quad(0x7ffe_ffff_ffff_ffff_ffff_ffff_ffff_ffff), 0x7fff << 64 | 1 << 63);
        assert_eq!(from_quad(0x0000_ffff_ffff_ffff_ffff_ffff_ffff_ffff), 1 << 64 | 1 << 63);
    }

    proptest! {
        #[test]
        fn decoding_undoes_encoding(bytes: [u8; 32]) {
            for row in TABLE.iter().filter(|row| row.pair.is_none() && row.size > 0) {
                let mut native = bytes[..row.size.into()].to_vec();
                if matches!(row.basic, Basic::LongDouble | Basic::ComplexLongDouble) {
                    for number in native.chunks_mut(16) {
                        number[7] |= 0x80;
                        number[8] |= 1;
                        number[10..].fill(0);
                    }
                }
                if row.external < row.size {
                    native[usize::from(row.external) - 1] &= 0x7f;
                    native[row.external.into()..].fill(0);
                }
                let external = encoded(row.code, &native).expect("fits");
                let mut back = vec![0; native.len()];
                decode(row, &external, &mut back);
                prop_assert_eq!(&back, &native, "{}", row.name);
            }
        }
    }
}
