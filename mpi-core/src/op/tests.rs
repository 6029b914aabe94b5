//! Every predefined operation on every datatype that it is defined on, against scalar arithmetic
//! on small whole numbers, which all representations hold exactly.
#![allow(unsafe_code)]

use half::{bf16, f16};
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::datatype::basic::TABLE;
use crate::datatype::{Form, predefined};
use crate::error::ErrorClass;

/// A whole number as IEEE-like bits with `fraction` bits behind the leading one.
fn float_bits(number: i64, fraction: u32, sign: u32, explicit_one: bool) -> u128 {
    if number == 0 {
        return 0;
    }
    let magnitude = u128::from(number.unsigned_abs());
    let exponent = magnitude.ilog2();
    let mut mantissa = magnitude << (fraction - exponent);
    if !explicit_one {
        mantissa &= (1 << fraction) - 1;
    }
    let width = fraction + u32::from(explicit_one);
    u128::from(number < 0) << sign | u128::from(16383 + exponent) << width | mantissa
}

fn encode(basic: Basic, n: i64) -> Vec<u8> {
    let complex = |part| [encode(part, n), encode(part, n / 2)].concat();
    match basic {
        Basic::I8 | Basic::U8 | Basic::Char | Basic::Byte => (n as i8).to_ne_bytes().to_vec(),
        Basic::I16 | Basic::U16 => (n as i16).to_ne_bytes().to_vec(),
        Basic::I32 | Basic::U32 => (n as i32).to_ne_bytes().to_vec(),
        Basic::I64 | Basic::U64 => n.to_ne_bytes().to_vec(),
        Basic::I128 => i128::from(n).to_ne_bytes().to_vec(),
        Basic::F16 => f16::from_f64(n as f64).to_ne_bytes().to_vec(),
        Basic::Bf16 => bf16::from_f64(n as f64).to_ne_bytes().to_vec(),
        Basic::F32 => (n as f32).to_ne_bytes().to_vec(),
        Basic::F64 => (n as f64).to_ne_bytes().to_vec(),
        Basic::LongDouble => float_bits(n, 63, 79, true).to_ne_bytes().to_vec(),
        Basic::F128 => float_bits(n, 112, 127, false).to_ne_bytes().to_vec(),
        Basic::ComplexF16 => complex(Basic::F16),
        Basic::ComplexF32 => complex(Basic::F32),
        Basic::ComplexF64 => complex(Basic::F64),
        Basic::ComplexLongDouble => complex(Basic::LongDouble),
        Basic::ComplexF128 => complex(Basic::F128),
        Basic::Bool8 => encode(Basic::U8, n),
        Basic::Bool16 => encode(Basic::U16, n),
        Basic::Bool32 => encode(Basic::U32, n),
        Basic::Bool64 => encode(Basic::U64, n),
        Basic::Bool128 => encode(Basic::I128, n),
        Basic::Wchar | Basic::Pair | Basic::Marker => panic!("not an operand"),
    }
}

/// The result on whole numbers, as the bytes of one element.
fn expected(op: Builtin, basic: Basic, a: i64, b: i64) -> Vec<u8> {
    let complex = |part| {
        let (c, d) = (a / 2, b / 2);
        let (re, im) = match op {
            Builtin::Sum => (a + b, c + d),
            _ => (a * b - c * d, a * d + c * b),
        };
        [encode(part, re), encode(part, im)].concat()
    };
    match basic {
        Basic::ComplexF16 => return complex(Basic::F16),
        Basic::ComplexF32 => return complex(Basic::F32),
        Basic::ComplexF64 => return complex(Basic::F64),
        Basic::ComplexLongDouble => return complex(Basic::LongDouble),
        Basic::ComplexF128 => return complex(Basic::F128),
        _ => {}
    }
    let result = match op {
        Builtin::Sum => a + b,
        Builtin::Prod => a * b,
        Builtin::Max => a.max(b),
        Builtin::Min => a.min(b),
        Builtin::Band => a & b,
        Builtin::Bor => a | b,
        Builtin::Bxor => a ^ b,
        Builtin::Land => i64::from(a != 0 && b != 0),
        Builtin::Lor => i64::from(a != 0 || b != 0),
        Builtin::Lxor => i64::from((a != 0) != (b != 0)),
        other => panic!("{other:?} has tests of its own"),
    };
    encode(basic, result)
}

/// Whether what runs the test can compute with it: miri knows neither the x87 unit nor the compiler's
/// support functions.
fn is_computed(basic: Basic) -> bool {
    let wide = [Basic::LongDouble, Basic::ComplexLongDouble, Basic::F128, Basic::ComplexF128];
    !cfg!(miri) || !wide.contains(&basic)
}

/// Reduces at odd addresses.
fn run(op: Builtin, datatype: &Datatype, from: &[u8], inout: &[u8], count: usize) -> Vec<u8> {
    let from = [&[0], from].concat();
    let mut inout = [&[0], inout].concat();
    // SAFETY: both buffers hold `count` elements behind their first byte.
    unsafe {
        reduce(op, datatype, from[1..].as_ptr(), inout[1..].as_mut_ptr(), count).expect("valid");
    }
    inout.split_off(1)
}

/// More than the longest vector registers hold.
const MANY: usize = if cfg!(miri) { 5 } else { 75 };

proptest! {
    #![proptest_config(crate::cases::cases(40))]

    #[test]
    fn every_operation_on_every_type(numbers in vec((-8..9i64, -8..9i64), 0..MANY)) {
        for row in TABLE.iter().filter(|row| row.pair.is_none() && is_computed(row.basic)) {
            let unsigned = matches!(row.basic, Basic::U8 | Basic::U16 | Basic::U32 | Basic::U64);
            let number = |n: i64| if unsigned { n + 8 } else { n };
            let encoded = |pick: fn(&(i64, i64)) -> i64| -> Vec<u8> {
                numbers.iter().flat_map(|pair| encode(row.basic, number(pick(pair)))).collect()
            };
            let datatype = predefined(row.code).expect(row.name);
            for &(op, name) in Builtin::ALL {
                if op.is_for_accumulate() || !is_valid(op, row) {
                    continue;
                }
                let (a, b) = (encoded(|pair| pair.0), encoded(|pair| pair.1));
                let result = run(op, datatype, &a, &b, numbers.len());
                let wanted: Vec<u8> = numbers
                    .iter()
                    .flat_map(|(a, b)| expected(op, row.basic, number(*a), number(*b)))
                    .collect();
                prop_assert_eq!(comparable(row.basic, &result),
                    comparable(row.basic, &wanted), "{} on {}", name, row.name);
            }
        }
    }

    #[test]
    fn locations_go_with_their_values(pairs in vec((-3..4i64, 0..5i64, -3..4i64, 0..5i64), 0..20)) {
        for row in TABLE.iter().filter(|row| is_valid(Builtin::Maxloc, row)) {
            let datatype = predefined(row.code).expect(row.name);
            let (value, index) = row.pair.expect("a pair");
            check_pairs(datatype, value, index, &pairs)?;
        }
        for value in ["MPI_INT8_T", "MPI_DOUBLE", "MPI_LONG_DOUBLE", "MPI_UNSIGNED_LONG"] {
            for index in ["MPI_INT64_T", "MPI_UINT64_T", "MPI_INT32_T", "MPI_UINT32_T"] {
                let code = |name| TABLE.iter().find(|row| row.name == name).expect(name).code;
                let (value, index) = (code(value), code(index));
                let datatype = Datatype::value_index(
                    predefined(value).expect("named"), predefined(index).expect("named"));
                let datatype = datatype.expect("small").expect("a supported pair");
                check_pairs(&datatype, value, index, &pairs)?;
            }
        }
    }

    #[test]
    fn integers_wrap_and_floats_are_those_of_the_machine(
        ints in vec((any::<i32>(), any::<i32>()), 1..40),
        floats in vec((any::<f64>(), any::<f64>()), 1..40),
    ) {
        let bytes = |pick: fn(&(i32, i32)) -> i32| -> Vec<u8> {
            ints.iter().flat_map(|pair| pick(pair).to_ne_bytes()).collect()
        };
        let int = predefined(0x209).expect("MPI_INT");
        let product = run(Builtin::Prod, int, &bytes(|p| p.0), &bytes(|p| p.1), ints.len());
        let wanted: Vec<u8> =
            ints.iter().flat_map(|(a, b)| a.wrapping_mul(*b).to_ne_bytes()).collect();
        prop_assert_eq!(product, wanted);
        let bytes = |pick: fn(&(f64, f64)) -> f64| -> Vec<u8> {
            floats.iter().flat_map(|pair| pick(pair).to_ne_bytes()).collect()
        };
        let double = predefined(0x214).expect("MPI_DOUBLE");
        let sum = run(Builtin::Sum, double, &bytes(|p| p.0), &bytes(|p| p.1), floats.len());
        let wanted: Vec<u8> = floats.iter().flat_map(|(a, b)| (a + b).to_ne_bytes()).collect();
        prop_assert_eq!(sum, wanted);
    }
}

/// The numbers without the padding of the x87 format, and without the sign of zero.
fn comparable(basic: Basic, bytes: &[u8]) -> Vec<u8> {
    let (part, used) = match basic {
        Basic::F16 | Basic::Bf16 | Basic::ComplexF16 => (2, 2),
        Basic::F32 | Basic::ComplexF32 => (4, 4),
        Basic::F64 | Basic::ComplexF64 => (8, 8),
        Basic::LongDouble | Basic::ComplexLongDouble => (16, 10),
        Basic::F128 | Basic::ComplexF128 => (16, 16),
        _ => return bytes.to_vec(),
    };
    let numbers = bytes.chunks(part).map(|number| match number[..used].split_last() {
        Some((0x80, rest)) if rest.iter().all(|byte| *byte == 0) => vec![0; used],
        _ => number[..used].to_vec(),
    });
    numbers.flatten().collect()
}

/// Checks both operations on (value, index) pairs of two buffers.
fn check_pairs(
    datatype: &Datatype,
    value: u32,
    index: u32,
    pairs: &[(i64, i64, i64, i64)],
) -> std::result::Result<(), TestCaseError> {
    let row = |code| row_of(code).expect("a basic type");
    let (value, index) = (row(value), row(index));
    let unsigned = value.name.starts_with("MPI_U");
    let number = |n: i64| if unsigned { n + 3 } else { n };
    let extent = datatype.extent() as usize;
    let offset = extent - usize::from(value.align.max(index.align)).max(index.size.into());
    let place = |bytes: &mut Vec<u8>, v: i64, i: i64| {
        let start = bytes.len();
        bytes.resize(start + extent, 0);
        let (v, i) = (encode(value.basic, number(v)), encode(index.basic, i));
        bytes[start..start + v.len()].copy_from_slice(&v);
        bytes[start + offset..start + offset + i.len()].copy_from_slice(&i);
    };
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for (v, i, w, j) in pairs {
        place(&mut a, *v, *i);
        place(&mut b, *w, *j);
    }
    // What lies in the gaps of the result stays.
    const MARK: u8 = 0x55;
    let in_gap = |at: usize| {
        let index = offset..offset + usize::from(index.size);
        at % extent >= value.size.into() && !index.contains(&(at % extent))
    };
    b.iter_mut().enumerate().filter(|(at, _)| in_gap(*at)).for_each(|(_, byte)| *byte = MARK);
    for (op, sign) in [(Builtin::Maxloc, 1), (Builtin::Minloc, -1)] {
        let mut wanted = Vec::new();
        for (v, i, w, j) in pairs {
            let (v2, i2) = match (sign * v).cmp(&(sign * w)) {
                std::cmp::Ordering::Greater => (v, i),
                std::cmp::Ordering::Less => (w, j),
                std::cmp::Ordering::Equal => (v, i.min(j)),
            };
            place(&mut wanted, *v2, *i2);
        }
        let result = run(op, datatype, &a, &b, pairs.len());
        let data = |bytes: &[u8]| -> Vec<u8> {
            let value_bytes = usize::from(value.size).min(10);
            let elements = bytes.chunks(extent);
            let elements = elements.map(|e| {
                [&e[..value_bytes], &e[offset..offset + usize::from(index.size)]].concat()
            });
            elements.flatten().collect()
        };
        prop_assert_eq!(data(&result), data(&wanted), "{:?} on {}", op, value.name);
        let mut gaps = result.iter().enumerate().filter(|(at, _)| in_gap(*at));
        prop_assert!(gaps.all(|(_, byte)| *byte == MARK), "{:?} on {}", op, value.name);
    }
    Ok(())
}

#[test]
fn the_table_of_the_standard() {
    let valid = |op: Builtin, name: &str| {
        let row = TABLE.iter().find(|row| row.name == name).expect(name);
        is_valid(op, row)
    };
    use Builtin::{Band, Bor, Land, Lxor, Max, Maxloc, Min, Minloc, NoOp, Prod, Replace, Sum};
    for (op, name) in [
        (Max, "MPI_INT"),
        (Min, "MPI_AINT"),
        (Max, "MPI_REAL16"),
        (Sum, "MPI_COMPLEX"),
        (Prod, "MPI_C_LONG_DOUBLE_COMPLEX"),
        (Sum, "MPI_COUNT"),
        (Land, "MPI_LOGICAL"),
        (Lxor, "MPI_C_BOOL"),
        (Land, "MPI_UNSIGNED_CHAR"),
        (Band, "MPI_BYTE"),
        (Bor, "MPI_INTEGER"),
        (Band, "MPI_OFFSET"),
        (Minloc, "MPI_2INT"),
        (Maxloc, "MPI_2REAL"),
        (Replace, "MPI_WCHAR"),
        (NoOp, "MPI_PACKED"),
        (Land, "MPI_AINT"),
    ] {
        assert!(valid(op, name), "{op:?} on {name}");
    }
    for (op, name) in [
        (Max, "MPI_COMPLEX"),
        (Sum, "MPI_BYTE"),
        (Sum, "MPI_WCHAR"),
        (Sum, "MPI_LOGICAL"),
        (Land, "MPI_INTEGER"),
        (Land, "MPI_DOUBLE"),
        (Band, "MPI_FLOAT"),
        (Band, "MPI_LOGICAL"),
        (Max, "MPI_2INT"),
        (Minloc, "MPI_INT"),
        (Max, "MPI_CHARACTER"),
        (Sum, "MPI_PACKED"),
        (Maxloc, "MPI_2COMPLEX"),
    ] {
        assert!(!valid(op, name), "{op:?} on {name}");
    }
}

#[test]
fn every_valid_combination_has_a_loop() {
    for row in TABLE {
        for &(op, name) in Builtin::ALL {
            let datatype = predefined(row.code).expect(row.name);
            assert_eq!(op.update(datatype).is_ok(), is_valid(op, row), "{name} on {}", row.name);
            let reduces = is_valid(op, row) && !op.is_for_accumulate();
            assert_eq!(op.kernel(datatype).is_ok(), reduces, "{name} on {}", row.name);
        }
    }
}

#[test]
fn derived_types_are_refused_unless_they_are_copies() {
    let int = predefined(0x209).expect("MPI_INT");
    let two = Datatype::contiguous(2, int, Form::Int).expect("valid");
    let error = Builtin::Sum.kernel(&two).expect_err("not defined");
    assert_eq!((error.class(), error.parameter()), (ErrorClass::OP, Some("op")));
    assert!(Builtin::Replace.update(&two).is_err());
    assert!(Builtin::Sum.kernel(&Datatype::dup(int).expect("valid")).is_ok());
    assert!(Builtin::Max.kernel(&Datatype::f90_real(15, 307).expect("valid")).is_ok());
}
