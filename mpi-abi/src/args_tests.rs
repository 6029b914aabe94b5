//! Both widths of integers, and what is refused.

use super::*;

#[test]
fn an_array_reads_alike_in_both_widths() {
    let narrow: [c_int; 4] = [0, -1, c_int::MAX, c_int::MIN];
    let wide = narrow.map(i64::from);
    let (int, long) = (IntArray::int(narrow.as_ptr()), IntArray::wide(wide.as_ptr()));
    // SAFETY: both arrays have four elements.
    unsafe {
        assert_eq!(int.to_vec(4).unwrap(), wide);
        assert_eq!(long.to_vec(4).unwrap(), wide);
        assert_eq!(int.at(3), long.at(3));
    }
    assert!(!int.is_null() && IntArray::absent().is_null());
}

#[test]
fn ranks_are_converted_on_their_way() {
    let ranks: [c_int; 3] = [-2, 0, 7];
    let array = IntArray { data: ranks.as_ptr(), form: Form::Rank(|rank| rank - 1) };
    // SAFETY: the array has three elements.
    assert_eq!(unsafe { array.to_vec(3) }.unwrap(), [-3, -1, 6]);
    let mut out: [c_int; 2] = [0; 2];
    let form = FormOut::Rank(|rank| rank - 1, |rank| rank + 1);
    let array = IntArrayMut { data: out.as_mut_ptr(), form };
    // SAFETY: the array has two elements.
    unsafe {
        array.set(0, -3);
        array.set(1, 6);
        assert_eq!((array.at(0), array.at(1)), (-3, 6));
    }
    assert_eq!(out, [-2, 7]);
}

#[test]
fn an_element_that_does_not_fit_is_undefined() {
    let (mut narrow, mut wide): ([c_int; 1], [i64; 1]) = ([0], [0]);
    let large = i64::from(c_int::MAX) + 1;
    // SAFETY: both arrays have one element.
    unsafe {
        IntArrayMut::int(narrow.as_mut_ptr()).set(0, large);
        IntArrayMut::wide(wide.as_mut_ptr()).set(0, large);
    }
    assert_eq!((narrow[0], wide[0]), (UNDEFINED, large));
}

#[test]
fn a_result_that_does_not_fit_is_an_error_or_undefined() {
    let (mut narrow, mut wide): (c_int, i64) = (5, 5);
    let large = i64::from(c_int::MAX) + 1;
    let (int, long) = (IntOut::int(&mut narrow), IntOut::wide(&mut wide));
    // SAFETY: both are variables.
    unsafe {
        let error = int.store("size", large).unwrap_err();
        assert_eq!(error.class(), ErrorClass::VALUE_TOO_LARGE);
        assert_eq!(error.parameter(), Some("size"));
        assert_eq!(int.load(), 5, "an error leaves the variable alone");
        long.store("size", large).unwrap();
        assert_eq!(long.load(), large);
        int.store_or_undefined(large);
        assert_eq!(int.load(), i64::from(UNDEFINED));
        int.store_or_undefined(3);
        assert_eq!(int.load(), 3);
        IntOut::absent().store("num_large_counts", 0).unwrap();
        let error = IntOut::absent().store("num_large_counts", 5).unwrap_err();
        assert_eq!((error.class(), error.parameter()), (ErrorClass::TYPE, Some("datatype")));
    }
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let error = non_negative("count", -1, ErrorClass::COUNT).unwrap_err();
    assert_eq!((error.class(), error.parameter()), (ErrorClass::COUNT, Some("count")));
    assert!(error.what().contains("-1"), "{}", error.what());
    assert!(non_negative("count", 0, ErrorClass::COUNT).is_ok());
    let error = out("flag", true).unwrap_err();
    assert_eq!((error.class(), error.parameter()), (ErrorClass::ARG, Some("flag")));
    assert!(array("ranks", true, false).is_ok() && array("ranks", true, true).is_err());
}

#[test]
fn strings_may_be_null_only_where_not_all_give_one() {
    // SAFETY: null and a C string.
    unsafe {
        assert!(text("key", std::ptr::null()).is_err());
        assert_eq!(text_or_empty("port_name", std::ptr::null()).unwrap(), b"");
        assert_eq!(text("key", c"host".as_ptr()).unwrap(), b"host");
        assert_eq!(text("key", c"\xff".as_ptr()).unwrap(), b"\xff");
    }
}

#[test]
fn a_string_with_a_length_is_cut_and_the_whole_length_told() {
    let mut buffer = [b'x' as c_char; 8];
    for (room, shown) in [(0, "x"), (1, ""), (3, "fe"), (8, "ferrite")] {
        buffer.fill(b'x' as c_char);
        let mut length = room;
        // SAFETY: the buffer has eight bytes, and `length` says no more.
        unsafe {
            text_out_measured("value", buffer.as_mut_ptr(), &mut length, b"ferrite").unwrap();
        }
        assert_eq!(length, 8);
        if room > 0 {
            // SAFETY: the text ends with a NUL.
            let text = unsafe { CStr::from_ptr(buffer.as_ptr()) };
            assert_eq!(text.to_str(), Ok(shown));
        } else {
            assert!(buffer.iter().all(|byte| *byte == b'x' as c_char));
        }
    }
    let null = std::ptr::null_mut();
    let mut length = 4;
    // SAFETY: a null pointer is allowed, and `length` is a variable.
    let refused = unsafe { text_out_measured("value", null, &mut length, b"ferrite") };
    assert_eq!((refused.unwrap_err().class(), length), (ErrorClass::ARG, 4));
    length = 0;
    // SAFETY: as above.
    unsafe { text_out_measured("value", null, &mut length, b"ferrite").unwrap() };
    assert_eq!(length, 8, "no room asks for the length");
}
