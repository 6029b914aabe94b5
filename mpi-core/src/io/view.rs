//! What a process sees of a file (MPI-5.0 §14.3): from a displacement on, the bytes under the
//! file type, repeated.
//!
//! A file type describes places in a file as a datatype describes places in memory, so a view is
//! walked by the same cursor; what it calls addresses are offsets in the file. Where numbers have
//! other sizes in the file than in memory, so have the datatypes that are walked.

use std::ptr;
use std::sync::Arc;

use super::representation::Representation;
use crate::buffer::UserBuffer;
use crate::datatype::{Datatype, Packer};
use crate::error::Result;

/// Offsets end here, so that no sum of two of them overflows.
const LAST_OFFSET: u64 = 1 << 62;

/// A view.
#[derive(Clone)]
pub struct View {
    /// Where it begins, in bytes.
    pub displacement: i64,
    /// The unit of offsets.
    pub etype: Arc<Datatype>,
    /// Which bytes belong to it, repeated every extent.
    pub filetype: Arc<Datatype>,
    /// The representation that the program asked for.
    pub datarep: Representation,
    /// Bytes of an etype in the file.
    pub(crate) unit: u64,
    /// The file type as it lies in the file.
    places: Arc<Datatype>,
    /// Whether a place of the file appears twice.
    overlaps: bool,
}

/// The runs of bytes that a part of a view consists of, in order.
pub(crate) struct Runs(Packer);

impl Runs {
    /// Offset and length of the next run, cut at `most` bytes.
    pub(crate) fn next(&mut self, most: u64) -> Option<(u64, u64)> {
        let (at, len) = self.0.next_run(usize::try_from(most).unwrap_or(usize::MAX))?;
        Some((at.addr() as u64, len as u64))
    }
}

impl View {
    /// The view that a file is opened with: all bytes.
    pub fn bytes() -> View {
        let byte = crate::datatype::predefined(crate::datatype::BYTE.raw()).expect("MPI_BYTE");
        View {
            displacement: 0,
            etype: Arc::clone(byte),
            filetype: Arc::clone(byte),
            datarep: Representation::Native,
            unit: 1,
            places: Arc::clone(byte),
            overlaps: false,
        }
    }

    /// The view of `MPI_File_set_view`.
    ///
    /// # Errors
    /// `MPI_ERR_ARG` for a negative displacement, an etype without bytes, or a file type that is
    /// not made of etypes; `MPI_ERR_IO` for one that goes backwards, as MPICH has it where the
    /// standard names no class; `MPI_ERR_UNSUPPORTED_DATAREP`.
    pub fn new(
        displacement: i64,
        etype: &Arc<Datatype>,
        filetype: &Arc<Datatype>,
        datarep: &[u8],
    ) -> Result<View> {
        if !(0..LAST_OFFSET as i64).contains(&displacement) {
            crate::fail!(ARG, "disp", "is {displacement}, which is no place in a file");
        }
        if etype.size() == 0 {
            crate::fail!(ARG, "etype", "has no bytes, so that offsets would mean nothing");
        }
        if !filetype.size().is_multiple_of(etype.size()) {
            let (all, one) = (filetype.size(), etype.size());
            crate::fail!(ARG, "filetype", "has {all} bytes, which is no multiple of etype's {one}");
        }
        let datarep = Representation::named(datarep)?;
        let (unit, places) = (datarep.stored(etype)?.size(), datarep.stored(filetype)?);
        let overlaps = check_order(&places)?;
        let (etype, filetype) = (Arc::clone(etype), Arc::clone(filetype));
        Ok(View { displacement, etype, filetype, datarep, unit, places, overlaps })
    }

    /// A file can be written through this view.
    ///
    /// # Errors
    /// `MPI_ERR_IO` if a place of the file appears twice (§14.1.1).
    pub(crate) fn check_writable(&self) -> Result<()> {
        if self.overlaps {
            crate::fail!(IO, "filetype", "has regions that overlap, in a file open for writing");
        }
        Ok(())
    }

    /// The extent of a datatype in a file of this view (`MPI_File_get_type_extent`, §14.5.1).
    ///
    /// # Errors
    /// `MPI_ERR_ARG` if it is beyond 64 bits.
    pub fn extent_of(&self, datatype: &Arc<Datatype>) -> Result<i64> {
        Ok(self.datarep.stored(datatype)?.extent())
    }

    /// The runs from `offset` etypes on.
    ///
    /// # Errors
    /// `MPI_ERR_ARG` if that is no place in a file.
    pub(crate) fn runs(&self, offset: i64) -> Result<Runs> {
        let size = self.unit;
        let skipped = u64::try_from(offset).ok().and_then(|offset| offset.checked_mul(size));
        // In a view without bytes every offset is its end.
        let skipped = skipped.filter(|bytes| self.is_empty() || *bytes < self.reach());
        let Some(skipped) = skipped else {
            crate::fail!(ARG, "offset", "is {offset}, which is no place in a file");
        };
        let start = UserBuffer(ptr::without_provenance_mut(self.displacement as usize));
        let mut cursor = Packer::new(start, self.tiles() as i64, &self.places);
        cursor.skip(skipped.min(self.reach()));
        Ok(Runs(cursor))
    }

    /// Where the etype at `offset` lies, in bytes (`MPI_File_get_byte_offset`).
    ///
    /// # Errors
    /// As for the offset of a read.
    pub fn byte_offset(&self, offset: i64) -> Result<i64> {
        Ok(self.runs(offset)?.next(1).map_or(self.displacement, |(at, _)| at as i64))
    }

    /// How many etypes of the view come before the first that begins behind a file of `size` bytes: where
    /// `MPI_SEEK_END` counts from.
    pub(crate) fn etypes_below(&self, size: u64) -> i64 {
        let Some(seen) = size.checked_sub(self.displacement as u64) else { return 0 };
        let extent = self.places.extent().max(0) as u64;
        let whole = self.tiles_below(seen);
        let mut bytes = whole.saturating_mul(self.places.size());
        // Without an extent all tiles are one.
        let open =
            if extent == 0 { self.tiles().min(1) } else { self.tiles().saturating_sub(whole) };
        let start = self.displacement as u64 + whole * extent;
        let start = UserBuffer(ptr::without_provenance_mut(start as usize));
        let mut cursor = Packer::new(start, open as i64, &self.places);
        // In a view whose tiles lie within each other the first place behind the end counts, though others follow
        // that are before it (§14.1.1).
        while let Some((at, len)) = cursor.next_run(usize::MAX) {
            let below = size.saturating_sub(at.addr() as u64);
            bytes += below.min(len as u64);
            if below < len as u64 {
                break;
            }
        }
        bytes.div_ceil(self.unit) as i64
    }

    /// How many tiles end within the first `seen` bytes behind the displacement; a type may reach beyond its extent, or
    /// begin there.
    fn tiles_below(&self, seen: u64) -> u64 {
        let end = (self.places.true_lb() + self.places.true_extent()).max(0) as u64;
        match (seen.checked_sub(end), u64::try_from(self.places.extent())) {
            (Some(behind), Ok(extent)) if extent > 0 => behind / extent + 1,
            _ => 0,
        }
    }

    /// Whether it shows nothing of the file, as that of a process which takes part with nothing.
    fn is_empty(&self) -> bool {
        self.places.size() == 0
    }

    /// How often the file type is repeated: as far as offsets go.
    fn tiles(&self) -> u64 {
        if self.is_empty() {
            return 0;
        }
        let extent = u64::try_from(self.places.extent()).unwrap_or(0);
        LAST_OFFSET / extent.max(self.places.size()).max(1)
    }

    /// Bytes of the view.
    fn reach(&self) -> u64 {
        self.tiles() * self.places.size()
    }
}

/// The displacements of a file type must not be negative nor go backwards (§14.1.1). Returns whether they overlap.
/// Nothing is said of its repetitions, which may lie within each other, as the columns of a matrix do that is stored by
/// rows; but none may lie before the first.
fn check_order(filetype: &Arc<Datatype>) -> Result<bool> {
    if filetype.extent() < 0 {
        crate::fail!(IO, "filetype", "has a negative extent, so that its repetitions go backwards");
    }
    let Some(order) = filetype.order() else { return Ok(false) };
    if !order.forward || order.first < 0 || order.last >= i128::from(LAST_OFFSET) {
        crate::fail!(IO, "filetype", "has displacements that are negative or go backwards");
    }
    Ok(order.overlaps)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatype::{BYTE, Form, predefined};
    use crate::error::ErrorClass;
    use proptest::prelude::*;

    fn ints(blocks: &[i64], lens: &[i64], extent: i64) -> Arc<Datatype> {
        let int = predefined(0x209).expect("MPI_INT");
        let indexed = Datatype::indexed(lens, blocks, int, Form::Int).expect("valid");
        Datatype::resized(&indexed, 0, extent, Form::Int).expect("valid")
    }

    fn int() -> Arc<Datatype> {
        Arc::clone(predefined(0x209).expect("MPI_INT"))
    }

    /// The bytes of the view up to the first that lies behind a file of `size` bytes, in its order, one by one.
    fn model(displacement: u64, shape: &[(i64, i64)], extent: u64, size: u64) -> Vec<u64> {
        let tile = |tile: u64| {
            let start = displacement + tile * extent;
            shape.iter().flat_map(move |&(at, len)| {
                let first = start + 4 * at as u64;
                first..first + 4 * len as u64
            })
        };
        (0..).flat_map(tile).take_while(|byte| *byte < size).collect()
    }

    proptest! {
        #[test]
        fn runs_offsets_and_ends_are_the_models(
            displacement in 0u64..40,
            shape in prop::collection::vec((0i64..4, 1i64..4), 1..4),
            origin in 0i64..30,
            extent in prop_oneof![1u64..12, 4u64..140],
            size in 0u64..400,
        ) {
            let mut next = origin;
            let shape: Vec<(i64, i64)> = shape
                .into_iter()
                .map(|(gap, len)| {
                    let at = next + gap;
                    next = at + len;
                    (at, len)
                })
                .collect();
            let (at, len): (Vec<i64>, Vec<i64>) = shape.iter().copied().unzip();
            let view =
                View::new(displacement as i64, &int(), &ints(&at, &len, extent as i64), b"native")
                    .expect("valid");
            let seen = model(displacement, &shape, extent, size);
            prop_assert_eq!(view.etypes_below(size), (seen.len() as i64 + 3) / 4);
            let whole = seen.len() as i64 / 4;
            for offset in 0..whole {
                prop_assert_eq!(view.byte_offset(offset).expect("there"), seen[4 * offset as usize] as i64);
            }
            let mut runs = view.runs(whole / 2).expect("there");
            let mut walked = Vec::new();
            while walked.len() < seen.len() - 4 * (whole / 2) as usize {
                let (at, len) = runs.next(7).expect("a view has no end");
                walked.extend(at..at + len);
            }
            let expected = &seen[4 * (whole / 2) as usize..];
            prop_assert_eq!(&walked[..expected.len()], expected);
        }
    }

    #[test]
    fn a_view_of_nothing_has_no_runs_anywhere() {
        let nothing = ints(&[], &[], 12);
        let view = View::new(40, &int(), &nothing, b"native").expect("valid");
        for offset in [0, 1, 1 << 40] {
            assert!(view.runs(offset).expect("the end").next(8).is_none());
            assert_eq!(view.byte_offset(offset).expect("the end"), 40);
        }
        assert_eq!(view.runs(-1).map(drop).unwrap_err().class(), ErrorClass::ARG);
        assert_eq!(view.etypes_below(1000), 0);
    }

    #[test]
    fn what_is_no_view() {
        let byte = Arc::clone(predefined(BYTE.raw()).expect("MPI_BYTE"));
        for (disp, etype, filetype, class) in [
            (-1, int(), int(), ErrorClass::ARG),
            (0, int(), byte, ErrorClass::ARG),
            (0, int(), ints(&[4, 0], &[1, 1], 20), ErrorClass::IO),
            (0, int(), ints(&[-1], &[1], 8), ErrorClass::IO),
        ] {
            let error = View::new(disp, &etype, &filetype, b"native").map(drop).unwrap_err();
            assert_eq!(error.class(), class, "{}", error.what());
        }
        let error = View::new(0, &int(), &int(), b"external64").map(drop).unwrap_err();
        assert_eq!(error.class(), ErrorClass::UNSUPPORTED_DATAREP);
        let twice = View::new(0, &int(), &ints(&[0, 1], &[2, 1], 12), b"native").expect("to read");
        assert_eq!(twice.check_writable().unwrap_err().class(), ErrorClass::IO);
        let back = View::new(0, &int(), &ints(&[0], &[1], -4), b"native");
        assert_eq!(back.map(drop).unwrap_err().class(), ErrorClass::IO);
        // More places than anybody can look at one by one.
        for (stride, class) in [(12, None), (-12, Some(ErrorClass::IO))] {
            let many = Datatype::hvector(1 << 55, 1, stride, &int(), Form::Int).expect("valid");
            let view = View::new(0, &int(), &many, b"native").map(drop);
            assert_eq!(view.err().map(|error| error.class()), class, "{stride}");
        }
        // A column of a matrix of five by rows, and a type of which there is one in all files.
        for filetype in [ints(&[0, 5, 10, 15], &[1; 4], 4), ints(&[0], &[1], 1 << 62)] {
            let view =
                View::new(0, &int(), &filetype, b"native").expect("no type of its own repeats");
            view.check_writable().expect("nothing overlaps in it");
        }
    }
}
