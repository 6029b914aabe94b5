//! Where the data of a collective call lies: blocks of user memory, by the handles of their
//! datatypes. Making one allocates nothing unless the blocks differ.

use super::memory::{Block, Span};
use crate::buffer::UserBuffer;
use crate::datatype::{self, BYTE, Datatype, Datatypes, Packer, Unpacker};
use crate::error::Result;
use crate::handle::DatatypeHandle;

/// One block of a user buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// Address of the first element.
    address: UserBuffer,
    /// Number of elements.
    count: i64,
    /// Their type.
    datatype: DatatypeHandle,
    /// Bytes when packed.
    bytes: i64,
    /// From the address to the only run of memory that the block is, if it is one.
    run: Option<i64>,
}

impl Place {
    /// `count` elements of `datatype`, which is the one that `handle` names, at `address`.
    pub(crate) fn new(
        address: UserBuffer,
        count: i64,
        handle: DatatypeHandle,
        datatype: &Datatype,
    ) -> Place {
        let bytes = (datatype.size() as i64).saturating_mul(count);
        let run = datatype.only_run(count).map(|(start, _)| start);
        Place { address, count, datatype: handle, bytes, run }
    }

    /// Bytes when packed.
    #[inline]
    pub(crate) fn bytes(&self) -> i64 {
        self.bytes
    }

    /// Whether both have data, which begins at one address. Of data with gaps the types have to be the same: those of
    /// two types may lie between each other.
    pub(crate) fn is_same(&self, other: &Place) -> bool {
        let begin = |place: &Place| place.run.map(|run| place.address.offset(run));
        self.bytes > 0
            && other.bytes > 0
            && match (begin(self), begin(other)) {
                (Some(one), Some(two)) => one == two,
                _ => self.address == other.address && self.datatype == other.datatype,
            }
    }

    /// So many bytes there.
    pub(crate) fn of_bytes(at: UserBuffer, len: i64) -> Place {
        let datatype = datatype::predefined(BYTE.raw()).expect("MPI_BYTE is predefined");
        Place::new(at, len, BYTE, datatype)
    }

    /// The type of its elements and their number.
    pub(crate) fn elements(&self) -> (DatatypeHandle, i64) {
        (self.datatype, self.count)
    }

    /// The handle by which its elements will be found, if that takes a datatype that the program may
    /// free.
    pub(crate) fn needed_datatype(&mut self) -> Option<&mut DatatypeHandle> {
        let needed = self.run.is_none() && !self.datatype.is_predefined();
        needed.then_some(&mut self.datatype)
    }

    /// The bytes of a block, to be read.
    #[inline]
    pub(crate) fn packer(self, datatypes: &Datatypes) -> Result<Packer> {
        if let Some(start) = self.run {
            return Ok(Packer::contiguous(self.address.offset(start), self.bytes as u64));
        }
        Ok(Packer::new(self.address, self.count, datatypes.get(self.datatype)?))
    }

    /// The room of a block, to be written.
    #[inline]
    pub(crate) fn unpacker(self, datatypes: &Datatypes) -> Result<Unpacker> {
        if let Some(start) = self.run {
            return Ok(Unpacker::contiguous(self.address.offset(start), self.bytes as u64));
        }
        Ok(Unpacker::new(self.address, self.count, datatypes.get(self.datatype)?))
    }

    fn at(self, offset: i64) -> Place {
        Place { address: self.address.offset(offset), ..self }
    }
}

/// The blocks of a buffer.
#[derive(Clone, Debug)]
pub(crate) enum Places {
    /// None: the buffer does not count at this process.
    None,
    /// So many alike, each so many bytes behind the one before it.
    Even(Place, i64, usize),
    /// Blocks that differ.
    Each(Vec<Place>),
}

impl Places {
    /// One block.
    pub(crate) fn one(place: Place) -> Places {
        Places::Even(place, 0, 1)
    }

    /// Blocks alike, of which the first two are these.
    pub(crate) fn even(first: Place, second: Option<Place>, count: usize) -> Places {
        let to = second.map_or(first.address, |second| second.address);
        Places::Even(first, (to.0 as i64).wrapping_sub(first.address.0 as i64), count)
    }

    /// The block at `index`, if there is one.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> Option<Place> {
        match self {
            Places::None => None,
            Places::Even(first, stride, count) => {
                (index < *count).then(|| first.at(stride * index as i64))
            }
            Places::Each(places) => places.get(index).copied(),
        }
    }

    /// The blocks in `len` packed bytes from `start` on as one, where all blocks are alike.
    pub(crate) fn stretch(&self, start: i64, len: i64, datatypes: &Datatypes) -> Result<Place> {
        let Places::Even(first, stride, _) = self else {
            crate::fail!(INTERN, "the blocks of a collective are not alike");
        };
        let block = first.bytes.max(1);
        let (Place { address, .. }, count) = (first.at(stride * (start / block)), len / block);
        let datatype = datatypes.get(first.datatype)?;
        Ok(Place::new(address, first.count * count, first.datatype, datatype))
    }

    /// The first block, if there is one.
    pub(crate) fn first(&self) -> Option<Place> {
        self.get(0)
    }

    /// Where the run of memory begins that all of it is, if each block is one and begins where the
    /// one before it ends.
    fn flat(&self) -> Option<UserBuffer> {
        match self {
            Places::None => Some(UserBuffer::BOTTOM),
            Places::Even(first, stride, count) => {
                let touching = *count < 2 || *stride == first.bytes;
                first.run.filter(|_| touching).map(|run| first.address.offset(run))
            }
            Places::Each(places) => {
                let mut run: Option<[UserBuffer; 2]> = None;
                for place in places.iter().filter(|place| place.bytes > 0) {
                    let from = place.address.offset(place.run?);
                    let [start, end] = run.unwrap_or([from; 2]);
                    if end != from {
                        return None;
                    }
                    run = Some([start, end.offset(place.bytes)]);
                }
                Some(run.map_or(UserBuffer::BOTTOM, |[start, _]| start))
            }
        }
    }

    /// The blocks as they are kept: of even ones the first.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Place> {
        match self {
            Places::None => [].iter_mut(),
            Places::Even(first, ..) => std::slice::from_mut(first).iter_mut(),
            Places::Each(places) => places.iter_mut(),
        }
    }

    /// All blocks.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Place> + '_ {
        (0..).map_while(|index| self.get(index))
    }

    /// The blocks as a schedule keeps them, which may outlive the program's handles.
    pub(crate) fn span(&self, datatypes: &Datatypes) -> Result<Span> {
        if let Some(start) = self.flat() {
            return Ok(Span::Flat(start));
        }
        let block = |place: Place| {
            Ok(Block::new(place.address, place.count, datatypes.get(place.datatype)?))
        };
        self.iter().map(block).collect::<Result<_>>().map(Span::Blocks)
    }
}
