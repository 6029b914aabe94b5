//! How numbers lie in a file (MPI-5.0 §14.5): as in memory, or as external32 has them.
//!
//! What a program reads or writes in external32 goes through a buffer in which it is converted;
//! the cursors of a view know only bytes.
#![allow(unsafe_code)]

use std::sync::Arc;

use super::transfer::Memory;
use crate::buffer::UserBuffer;
use crate::datatype::{Datatype, Packer, Unpacker, pack};
use crate::error::Result;
use crate::text::shown;

/// A data representation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Representation {
    /// The bytes of memory.
    Native,
    /// What this library likes best: the bytes of memory.
    Internal,
    /// Big-endian numbers of the standard's sizes (§14.5.2).
    External32,
}

impl Representation {
    /// The representation that a program names.
    ///
    /// # Errors
    /// `MPI_ERR_UNSUPPORTED_DATAREP` for another name.
    pub(crate) fn named(name: &[u8]) -> Result<Representation> {
        use Representation::{External32, Internal, Native};
        match [Native, Internal, External32]
            .into_iter()
            .find(|known| known.name().as_bytes() == name)
        {
            Some(known) => Ok(known),
            None => crate::fail!(
                UNSUPPORTED_DATAREP,
                "datarep",
                "is {:?}, but must be \"native\", \"internal\" or \"external32\"",
                shown(name)
            ),
        }
    }

    /// Its name (§14.5).
    pub fn name(self) -> &'static str {
        match self {
            Representation::Native => "native",
            Representation::Internal => "internal",
            Representation::External32 => "external32",
        }
    }

    /// The datatype as it lies in a file.
    pub(crate) fn stored(self, datatype: &Arc<Datatype>) -> Result<Arc<Datatype>> {
        match self {
            Representation::External32 => Datatype::in_external32(datatype),
            _ => Ok(Arc::clone(datatype)),
        }
    }

    /// Bytes that elements of the program's memory have in a file.
    pub(crate) fn stored_bytes(self, count: i64, datatype: &Datatype) -> Result<u64> {
        let bytes = match self {
            Representation::External32 => pack::pack_external_size(count, datatype),
            _ => pack::pack_size(count, datatype),
        };
        bytes.map(|bytes| bytes as u64)
    }

    /// Gives `write` the bytes of the file in place of those in memory.
    pub(crate) fn write(
        self,
        memory: &Memory,
        datatype: &Arc<Datatype>,
        write: impl FnOnce(Packer) -> Result<()>,
    ) -> Result<u64> {
        let Memory { buf, count, .. } = *memory;
        let elements = Packer::new(buf, count, datatype);
        let bytes = elements.remaining();
        if self != Representation::External32 {
            write(elements)?;
            return Ok(bytes);
        }
        let mut stored = Stage::of(self.stored_bytes(count, datatype)?)?;
        let out = pack::PackBuffer { at: stored.at(), size: stored.len(), position: 0 };
        // SAFETY: the program lends the elements to the call that writes them; the stage is ours.
        let end = unsafe { pack::pack_external(buf, count, datatype, out)? };
        write(Packer::contiguous(stored.at(), end as u64))?;
        Ok(bytes)
    }

    /// Lets `read` fill memory with bytes of the file, of which it says how many there were;
    /// returns how many bytes of memory they made.
    pub(crate) fn read(
        self,
        memory: &Memory,
        datatype: &Arc<Datatype>,
        read: impl FnOnce(Unpacker) -> Result<u64>,
    ) -> Result<u64> {
        let Memory { buf, count, .. } = *memory;
        if self != Representation::External32 {
            return read(Unpacker::new(buf, count, datatype));
        }
        let mut stored = Stage::of(self.stored_bytes(count, datatype)?)?;
        let there = read(Unpacker::contiguous(stored.at(), stored.len() as u64))?;
        let packed = Packer::contiguous(stored.at(), there.min(stored.len() as u64));
        // SAFETY: the program lends the elements to the call that reads them; the stage is ours.
        unsafe { pack::decode_elements(packed, buf, count, datatype) }
    }
}

/// Bytes as they are in a file.
struct Stage(Vec<u8>);

impl Stage {
    /// Room for so many bytes.
    fn of(bytes: u64) -> Result<Stage> {
        let mut room = Vec::new();
        let reserved = usize::try_from(bytes).map(|bytes| room.try_reserve_exact(bytes));
        if !matches!(reserved, Ok(Ok(()))) {
            crate::fail!(NO_MEM, "no memory for {bytes} bytes that are to be converted");
        }
        room.resize(bytes as usize, 0);
        Ok(Stage(room))
    }

    fn at(&mut self) -> UserBuffer {
        UserBuffer(self.0.as_mut_ptr())
    }

    fn len(&self) -> i64 {
        self.0.len() as i64
    }
}
