//! `MPI_Pack` and its like (MPI-5.0 §5.2, §5.3). Packed bytes are those that a message has.
#![allow(unsafe_code)]

use std::sync::Arc;

use super::basic::Row;
use super::cursor::copy_whole;
use super::layout::too_large;
use super::{Datatype, Datatypes, Packer, Unpacker, check_elements, external};
use crate::buffer::UserBuffer;
use crate::error::{Error, ErrorClass, Result};
use crate::fail;
use crate::handle::DatatypeHandle;
use crate::text::shown;

/// Elements are converted to external32 in pieces of at most so many bytes.
const PIECE_BYTES: usize = 4096;

/// `MPI_Pack_size`: an upper bound, which is exact here.
///
/// # Errors
/// A negative count; more than 63 bits can count.
pub fn pack_size(count: i64, datatype: &Datatype) -> Result<i64> {
    times(count, "incount", datatype.size())
}

/// `MPI_Pack_external_size`, for the one representation that there is.
///
/// # Errors
/// As for [`pack_size`].
pub fn pack_external_size(count: i64, datatype: &Datatype) -> Result<i64> {
    times(count, "incount", datatype.signature().external_size())
}

/// Checks the name of an external data representation.
///
/// # Errors
/// Any name but `external32`.
pub fn check_representation(name: &[u8]) -> Result<()> {
    if name != b"external32" {
        let name = shown(name);
        fail!(ARG, "datarep", "is \"{name}\", but only \"external32\" exists");
    }
    Ok(())
}

fn times(count: i64, param: &'static str, size: u64) -> Result<i64> {
    if count < 0 {
        let what = format!("is {count}, but must not be negative");
        return Err(Error::param(ErrorClass::COUNT, param, what));
    }
    bytes_of(count, size).ok_or_else(too_large)
}

/// The bytes of `count` elements of `size` bytes, if there can be so many.
#[inline(always)]
fn bytes_of(count: i64, size: u64) -> Option<i64> {
    let bytes = u64::try_from(count).ok()?.checked_mul(size)?;
    i64::try_from(bytes).ok()
}

/// A buffer of packed bytes as an MPI call describes it.
#[derive(Clone, Copy, Debug)]
pub struct PackBuffer {
    /// Its address.
    pub at: UserBuffer,
    /// Its bytes.
    pub size: i64,
    /// Where the next byte is read or written.
    pub position: i64,
}

/// What the standard calls the packed buffer and its size.
struct Params {
    packed: &'static str,
    size: &'static str,
}

const TO: Params = Params { packed: "outbuf", size: "outsize" };
const FROM: Params = Params { packed: "inbuf", size: "insize" };

impl PackBuffer {
    /// The address of the next `bytes` bytes, if there are so many; they are not negative.
    #[inline(always)]
    fn room(&self, bytes: i64) -> Option<UserBuffer> {
        let left = self.size.saturating_sub(self.position);
        let is_sound = self.position >= 0 && bytes <= left && (self.at.is_real() || bytes == 0);
        is_sound.then(|| self.at.offset(self.position))
    }

    /// The address of the next `bytes` bytes.
    fn next(&self, bytes: i64, params: &Params) -> Result<UserBuffer> {
        self.room(bytes).ok_or_else(|| self.no_room(bytes, params))
    }

    #[cold]
    fn no_room(&self, bytes: i64, params: &Params) -> Error {
        let Params { packed, size: size_param } = *params;
        let (size, position) = (self.size, self.position);
        if position < 0 || position > size {
            let what = format!("is {position} in a buffer of {size} bytes");
            return Error::param(ErrorClass::ARG, "position", what);
        }
        if !self.at.is_real() && bytes <= size - position {
            let what = if self.at.is_in_place() { "MPI_IN_PLACE" } else { "NULL" };
            let what = format!("is {what}, but {bytes} bytes are needed there");
            return Error::param(ErrorClass::BUFFER, packed, what);
        }
        let what = format!("is {size} with {position} in use, but {bytes} more bytes are needed");
        Error::param(ErrorClass::TRUNCATE, size_param, what)
    }
}

impl Datatypes {
    /// `MPI_Pack`, or `MPI_Unpack` without `PACK`, if nothing is doubtful about it: the position
    /// behind the bytes. Else nothing has happened, and [`pack`] or [`unpack`] tells why.
    ///
    /// # Safety
    /// As for [`pack`] or [`unpack`].
    #[inline(always)]
    pub unsafe fn pack_fast<const PACK: bool>(
        &self,
        buf: UserBuffer,
        count: i64,
        datatype: DatatypeHandle,
        packed: PackBuffer,
    ) -> Option<i64> {
        let datatype = self.find_committed(datatype)?;
        let bytes = bytes_of(count, datatype.size())?;
        let at = packed.room(bytes).filter(|_| buf.is_real())?;
        // SAFETY: valid by the caller's promise, and there is room for all.
        unsafe { copy_whole::<PACK>(buf, count as u64, datatype, at.0) };
        Some(packed.position + bytes)
    }
}

/// `MPI_Pack`: appends `count` elements at `buf`; returns the position behind them.
///
/// # Errors
/// A negative count; a buffer without room.
///
/// # Safety
/// The elements are readable, `out.size` bytes at `out.at` writable, and they do not overlap.
pub unsafe fn pack(
    buf: UserBuffer,
    count: i64,
    datatype: &Datatype,
    out: PackBuffer,
) -> Result<i64> {
    let bytes = times(count, "incount", datatype.size())?;
    check_elements("inbuf", buf, count, datatype)?;
    let to = out.next(bytes, &TO)?;
    // SAFETY: readable and writable by the caller's promise, and there is room for all.
    unsafe { copy_whole::<true>(buf, count as u64, datatype, to.0) };
    Ok(out.position + bytes)
}

/// `MPI_Unpack`: takes `count` elements to `buf`; returns the position behind them.
///
/// # Errors
/// A negative count; fewer bytes than are needed.
///
/// # Safety
/// The elements are writable, `from.size` bytes at `from.at` readable, and they do not overlap.
pub unsafe fn unpack(
    from: PackBuffer,
    buf: UserBuffer,
    count: i64,
    datatype: &Datatype,
) -> Result<i64> {
    let bytes = times(count, "outcount", datatype.size())?;
    check_elements("outbuf", buf, count, datatype)?;
    let at = from.next(bytes, &FROM)?;
    // SAFETY: writable and readable by the caller's promise, and the buffer has all of them.
    unsafe { copy_whole::<false>(buf, count as u64, datatype, at.0) };
    Ok(from.position + bytes)
}

/// `MPI_Pack_external` to external32.
///
/// # Errors
/// As for [`pack`]; a number that external32 cannot hold.
///
/// # Safety
/// As for [`pack`].
pub unsafe fn pack_external(
    buf: UserBuffer,
    count: i64,
    datatype: &Arc<Datatype>,
    out: PackBuffer,
) -> Result<i64> {
    let bytes = times(count, "incount", datatype.signature().external_size())?;
    check_elements("inbuf", buf, count, datatype)?;
    let mut to = Unpacker::contiguous(out.next(bytes, &TO)?, bytes as u64);
    let mut packer = Packer::new(buf, count, datatype);
    let (mut native, mut converted) = ([0; PIECE_BYTES], [0; PIECE_BYTES]);
    each_piece(count, datatype, &mut |row, elements| {
        let native = &mut native[..elements * usize::from(row.size)];
        let converted = &mut converted[..elements * usize::from(row.external)];
        // SAFETY: readable by the caller's promise; the slice has room for what is asked for.
        unsafe { packer.pack_into(native.as_mut_ptr(), native.len()) };
        external::encode(row, native, converted)?;
        // SAFETY: writable by the caller's promise.
        unsafe { to.unpack_from((&*converted).into()) };
        Ok(())
    })?;
    Ok(out.position + bytes)
}

/// `MPI_Unpack_external` from external32.
///
/// # Errors
/// As for [`unpack`].
///
/// # Safety
/// As for [`unpack`].
pub unsafe fn unpack_external(
    from: PackBuffer,
    buf: UserBuffer,
    count: i64,
    datatype: &Arc<Datatype>,
) -> Result<i64> {
    let bytes = times(count, "outcount", datatype.signature().external_size())?;
    check_elements("outbuf", buf, count, datatype)?;
    let packed = Packer::contiguous(from.next(bytes, &FROM)?, bytes as u64);
    // SAFETY: by the caller's promise; the buffer has all bytes that are needed.
    unsafe { decode_elements(packed, buf, count, datatype)? };
    Ok(from.position + bytes)
}

/// Takes whole elements of external32 from `packed` to `buf`, as many as there are; returns their
/// bytes in memory.
///
/// # Errors
/// More elements than 64 bits can count.
///
/// # Safety
/// The elements are writable, what is packed is readable, and they do not overlap.
pub unsafe fn decode_elements(
    mut packed: Packer,
    buf: UserBuffer,
    count: i64,
    datatype: &Arc<Datatype>,
) -> Result<u64> {
    let mut unpacker = Unpacker::new(buf, count, datatype);
    let all = unpacker.remaining();
    let (mut native, mut foreign) = ([0; PIECE_BYTES], [0; PIECE_BYTES]);
    each_piece(count, datatype, &mut |row, elements| {
        let there = packed.remaining() / u64::from(row.external);
        let elements = if there < elements as u64 {
            // Half an element, or what follows one that is missing, is left where it is.
            packed.truncate(there * u64::from(row.external));
            there as usize
        } else {
            elements
        };
        let native = &mut native[..elements * usize::from(row.size)];
        let foreign = &mut foreign[..elements * usize::from(row.external)];
        // SAFETY: readable by the caller's promise; the slice has room for what is asked for.
        unsafe { packed.pack_into(foreign.as_mut_ptr(), foreign.len()) };
        external::decode(row, foreign, native);
        // SAFETY: writable by the caller's promise.
        unsafe { unpacker.unpack_from((&*native).into()) };
        Ok(())
    })?;
    Ok(all - unpacker.remaining())
}

/// Calls `visit` with runs of equal elements that fit a piece, in the order of the message.
fn each_piece(
    count: i64,
    datatype: &Datatype,
    visit: &mut dyn FnMut(&'static Row, usize) -> Result<()>,
) -> Result<()> {
    let whole = datatype.layout.signature.repeated(count as u64).ok_or_else(too_large)?;
    whole.try_for_each_run(&mut |row, elements| {
        let at_most = (PIECE_BYTES / usize::from(row.size)) as u64;
        let mut left = elements;
        while left > 0 {
            let now = left.min(at_most);
            visit(row, now as usize)?;
            left -= now;
        }
        Ok(())
    })
}
