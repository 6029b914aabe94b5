//! Where the units of a schedule lie in memory.
//!
//! A schedule speaks of units of packed buffers; this maps its regions to user memory. Data that
//! is only moved is addressed directly where its blocks are gap-free, and staged through a packed
//! copy where they are not. Data that is reduced keeps the layout of its datatype, since user
//! functions expect it.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;
use std::sync::Arc;

use super::layout::Layout;
use super::schedule::{Buffer, Region, Schedule};
use crate::buffer::{RawBytes, UserBuffer};
use crate::datatype::{Datatype, Packer, Unpacker};
use crate::error::{Error, ErrorClass, Result};

/// Bytes in which elements with gaps are copied: they stay in the nearest cache between the two copies.
const PIECE_BYTES: usize = 8192;

/// One block of a user buffer.
#[derive(Clone, Debug)]
pub struct Block {
    /// Address of the first element.
    pub address: UserBuffer,
    /// Number of elements.
    pub count: i64,
    /// Their type.
    pub datatype: Arc<Datatype>,
}

impl Block {
    /// `count` elements of `datatype` at `address`.
    pub fn new(address: UserBuffer, count: i64, datatype: &Arc<Datatype>) -> Block {
        Block { address, count, datatype: datatype.clone() }
    }

    /// Bytes when packed.
    pub fn bytes(&self) -> i64 {
        (self.datatype.size() as i64).saturating_mul(self.count)
    }

    /// The address of the only run of memory that the block is, if it is one.
    fn only_run(&self) -> Option<UserBuffer> {
        let (start, _) = self.datatype.only_run(self.count)?;
        Some(self.address.offset(start))
    }
}

/// Where a user buffer of data that is only moved lies.
#[derive(Clone)]
pub enum Span {
    /// In one run of memory.
    Flat(UserBuffer),
    /// In blocks, which do not all touch or have gaps.
    Blocks(Vec<Block>),
}

/// A user buffer of data that is only moved: units are packed bytes.
pub enum Bytes {
    /// One run of memory.
    Flat(UserBuffer),
    /// One run a block, and every region of the schedule lies within one.
    Blocks(Layout, Vec<UserBuffer>),
    /// A packed copy, of which what the schedule has written is written back when it has run.
    Staged(Box<[u8]>, Vec<Staged>),
}

/// A block of which there is a packed copy.
pub struct Staged {
    block: Block,
    /// What the schedule does not touch need not be there, or may be somebody else's meanwhile.
    touched: bool,
    written: bool,
}

impl Bytes {
    /// Chooses how `schedule` reaches the blocks of its buffer `which`.
    ///
    /// # Errors
    /// `MPI_ERR_NO_MEM` if there is none for a packed copy.
    pub fn new(span: Span, schedule: &Schedule, which: Buffer) -> Result<Bytes> {
        let blocks = match span {
            Span::Flat(start) => return Ok(Bytes::Flat(start)),
            Span::Blocks(blocks) => blocks,
        };
        let runs: Option<Vec<UserBuffer>> = blocks
            .iter()
            .map(|block| match block.bytes() {
                0 => Some(block.address),
                _ => block.only_run(),
            })
            .collect();
        let layout = Layout::of(blocks.iter().map(Block::bytes));
        let staged = |blocks| Bytes::staged(Staged::blocks(blocks, schedule, which, &layout));
        let Some(runs) = runs else { return staged(blocks) };
        let within =
            |region: Region| region.buffer != which || layout.pieces(region).take(2).count() < 2;
        if schedule.actions().all(|action| action.regions().into_iter().flatten().all(within)) {
            return Ok(Bytes::Blocks(layout, runs));
        }
        staged(blocks)
    }

    fn staged(blocks: Vec<Staged>) -> Result<Bytes> {
        let total = blocks.iter().map(|staged| staged.block.bytes()).fold(0, i64::saturating_add);
        let mut copy: Vec<u8> = Vec::new();
        if copy.try_reserve_exact(total as usize).is_err() {
            return Err(no_room(total as u64));
        }
        for Staged { block, touched, .. } in &blocks {
            let len = copy.len();
            if !touched {
                copy.resize(len + block.bytes() as usize, 0);
                continue;
            }
            let mut packer = Packer::new(block.address, block.count, &block.datatype);
            // SAFETY: there is room for the bytes of all blocks, and the packer writes those that it
            // says; the block is user memory that the collective owns.
            unsafe {
                let packed = packer.pack_into(copy.as_mut_ptr().add(len), copy.capacity() - len);
                copy.set_len(len + packed);
            }
        }
        Ok(Bytes::Staged(copy.into(), blocks))
    }

    fn at(&mut self, start: i64) -> UserBuffer {
        match self {
            Bytes::Flat(base) => base.offset(start),
            Bytes::Blocks(layout, runs) => {
                let region = Region { buffer: Buffer::Recv, start, len: 1 };
                match layout.pieces(region).next() {
                    Some(piece) => runs[piece.block].offset(piece.offset),
                    None => UserBuffer::BOTTOM,
                }
            }
            Bytes::Staged(copy, _) => UserBuffer(copy.as_mut_ptr()).offset(start),
        }
    }

    /// Writes back what the schedule has written to a staged copy.
    pub fn write_back(&self) {
        let Bytes::Staged(copy, blocks) = self else { return };
        let mut rest = RawBytes::from(&**copy);
        for Staged { block, written, .. } in blocks {
            let bytes = rest.take(block.bytes() as usize);
            if !written {
                continue;
            }
            let mut unpacker = Unpacker::new(block.address, block.count, &block.datatype);
            // SAFETY: the block is user memory that the collective owns until it completes; the
            // copy is ours.
            unsafe { unpacker.unpack_from(bytes) };
        }
    }
}

impl Staged {
    /// The blocks of the buffer `which`, whose layout is known, as `schedule` uses them.
    fn blocks(
        blocks: Vec<Block>,
        schedule: &Schedule,
        which: Buffer,
        layout: &Layout,
    ) -> Vec<Staged> {
        let new = |block| Staged { block, touched: false, written: false };
        let mut staged: Vec<Staged> = blocks.into_iter().map(new).collect();
        for action in schedule.actions() {
            let there = |region: &Region| region.buffer == which;
            for region in action.regions().into_iter().flatten().filter(there) {
                layout.pieces(region).for_each(|piece| staged[piece.block].touched = true);
            }
            for region in action.written().into_iter().filter(there) {
                layout.pieces(region).for_each(|piece| staged[piece.block].written = true);
            }
        }
        staged
    }
}

pub(crate) fn no_room(bytes: u64) -> Error {
    let what =
        format!("no memory for the {bytes} bytes that the operation needs besides its buffers");
    Error::new(ErrorClass::NO_MEM, what)
        .hint("Split the operation into several of smaller counts, or use datatypes without gaps.")
}

/// Scratch memory of a schedule, kept from one run to another: its buffers one behind the other.
#[derive(Default)]
pub struct Temps {
    memory: Vec<MaybeUninit<u128>>,
    /// Where each buffer begins, in units of 16 bytes, and where the last one ends.
    starts: Vec<usize>,
}

impl Temps {
    /// Room for buffers of so many bytes.
    ///
    /// # Errors
    /// `MPI_ERR_NO_MEM`.
    fn fit(&mut self, lens: impl Iterator<Item = usize>) -> Result<()> {
        self.starts.clear();
        self.starts.push(0);
        let mut end = 0;
        self.starts.extend(lens.map(|len| {
            end += len.div_ceil(16);
            end
        }));
        if self.memory.len() < end {
            self.memory = Vec::new();
            if self.memory.try_reserve_exact(end).is_err() {
                return Err(no_room(end as u64 * 16));
            }
            self.memory.resize_with(end, MaybeUninit::uninit);
        }
        Ok(())
    }

    /// Bytes of memory that it holds.
    pub fn bytes(&self) -> usize {
        self.memory.len() * 16
    }

    /// Where a buffer begins, and its length in bytes.
    fn get(&mut self, index: u32) -> (UserBuffer, usize) {
        let (start, end) = (self.starts[index as usize], self.starts[index as usize + 1]);
        let first = UserBuffer(self.memory.as_mut_ptr().cast());
        (first.offset(start as i64 * 16), (end - start) * 16)
    }
}

/// The memory of one collective call.
pub enum Memory {
    /// Data that is moved.
    Moved {
        /// The send buffer.
        send: Bytes,
        /// The receive buffer.
        recv: Bytes,
        /// Scratch buffers.
        temps: Temps,
    },
    /// Data that is reduced: units are elements.
    Reduced {
        /// The send buffer.
        send: UserBuffer,
        /// The receive buffer.
        recv: UserBuffer,
        /// The elements' type.
        datatype: Arc<Datatype>,
        /// Scratch buffers.
        temps: Temps,
    },
    /// None: what has failed before it began neither sends data nor keeps what it receives.
    Failed,
}

impl Memory {
    /// For a schedule that moves packed bytes.
    ///
    /// # Errors
    /// `MPI_ERR_NO_MEM`.
    pub fn moved(schedule: &Schedule, send: Span, recv: Span, mut temps: Temps) -> Result<Memory> {
        temps.fit(schedule.temps().iter().map(|&len| len as usize))?;
        Ok(Memory::Moved {
            send: Bytes::new(send, schedule, Buffer::Send)?,
            recv: Bytes::new(recv, schedule, Buffer::Recv)?,
            temps,
        })
    }

    /// For a schedule that reduces elements of `datatype`.
    ///
    /// # Errors
    /// `MPI_ERR_NO_MEM`.
    pub fn reduced(
        schedule: &Schedule,
        send: UserBuffer,
        recv: UserBuffer,
        datatype: Arc<Datatype>,
        mut temps: Temps,
    ) -> Result<Memory> {
        let (extent, true_extent) = (datatype.extent().abs(), datatype.true_extent());
        let besides = true_extent.saturating_add(ALIGNMENT);
        let bytes = |&len: &i64| extent.saturating_mul(len).saturating_add(besides) as usize;
        temps.fit(schedule.temps().iter().map(bytes))?;
        Ok(Memory::Reduced { send, recv, datatype, temps })
    }

    /// The scratch memory, to be used again.
    pub fn into_temps(self) -> Temps {
        match self {
            Memory::Moved { temps, .. } | Memory::Reduced { temps, .. } => temps,
            Memory::Failed => Temps::default(),
        }
    }

    /// Address of the first unit of a region and, for elements, of their origin.
    pub(crate) fn at(&mut self, region: Region) -> UserBuffer {
        match self {
            Memory::Moved { send, recv, temps } => match region.buffer {
                Buffer::Send => send.at(region.start),
                Buffer::Recv => recv.at(region.start),
                Buffer::Temp(i) => temps.get(i).0.offset(region.start),
            },
            Memory::Reduced { send, recv, datatype, temps } => {
                let base = match region.buffer {
                    Buffer::Send => *send,
                    Buffer::Recv => *recv,
                    Buffer::Temp(i) => {
                        let (first, len) = temps.get(i);
                        first.offset(origin(datatype, len as i64))
                    }
                };
                base.offset(datatype.extent() * region.start)
            }
            Memory::Failed => UserBuffer::BOTTOM,
        }
    }

    /// The bytes of a region, to be sent.
    pub fn packer(&mut self, region: Region) -> Packer {
        let at = self.at(region);
        match self {
            Memory::Moved { .. } => Packer::contiguous(at, region.len as u64),
            Memory::Reduced { datatype, .. } => Packer::new(at, region.len, datatype),
            Memory::Failed => Packer::contiguous(at, 0),
        }
    }

    /// The room of a region, to be received into.
    pub fn unpacker(&mut self, region: Region) -> Unpacker {
        let at = self.at(region);
        match self {
            Memory::Moved { .. } => Unpacker::contiguous(at, region.len as u64),
            Memory::Reduced { datatype, .. } => Unpacker::new(at, region.len, datatype),
            Memory::Failed => Unpacker::contiguous(at, 0),
        }
    }

    /// Copies one region to another.
    pub fn copy(&mut self, from: Region, into: Region) {
        let mut packer = self.packer(from);
        let mut unpacker = self.unpacker(into);
        if let Some((at, len)) = packer.as_contiguous() {
            // SAFETY: the region lies in memory that the collective owns and is readable; a
            // schedule's copy has disjoint regions.
            unsafe { unpacker.unpack_from(RawBytes::new(at, len as usize)) };
            return;
        }
        let mut piece = [0; PIECE_BYTES];
        while packer.remaining() > 0 {
            // SAFETY: as above; the piece is our own.
            unsafe {
                let packed = packer.pack_into(piece.as_mut_ptr(), PIECE_BYTES);
                unpacker.unpack_from(RawBytes::from(&piece[..packed]));
            }
        }
    }

    /// Address and extent of a region's elements, to be reduced.
    pub fn operand(&mut self, region: Region) -> (*mut u8, i64) {
        let at = self.at(region);
        match self {
            Memory::Moved { .. } | Memory::Failed => {
                unreachable!("only what is reduced has reductions, unless it has failed")
            }
            Memory::Reduced { datatype, .. } => (at.0, datatype.extent()),
        }
    }

    /// The type of the elements that are reduced.
    pub fn elements(&self) -> Option<&Arc<Datatype>> {
        match self {
            Memory::Moved { .. } | Memory::Failed => None,
            Memory::Reduced { datatype, .. } => Some(datatype),
        }
    }

    /// Brings results to where the user expects them.
    pub fn finish(&self) {
        if let Memory::Moved { recv, .. } = self {
            recv.write_back();
        }
    }
}

/// What scratch memory is aligned to: whatever C aligns without being asked to.
const ALIGNMENT: i64 = 16;

/// How far behind the beginning of a scratch buffer of `len` bytes the first element has its origin. It is as
/// aligned as the buffer, also where the type describes nothing there, since a user function reads the element by
/// the program's own type. Elements of a negative extent lie before the first one.
fn origin(datatype: &Datatype, len: i64) -> i64 {
    match datatype.extent() < 0 {
        true => (len - datatype.true_extent() - datatype.true_lb()) & -ALIGNMENT,
        false => -(datatype.true_lb() & -ALIGNMENT),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "miri ends where memory does")]
    fn what_no_machine_holds_is_an_error() {
        let datatype = crate::datatype::predefined(0x209).expect("MPI_INT");
        let block = || Block::new(UserBuffer::BOTTOM, i64::MAX, datatype);
        let staged = || Staged { block: block(), touched: true, written: true };
        for blocks in [vec![staged()], vec![staged(), staged()]] {
            let Err(error) = Bytes::staged(blocks) else { panic!("there was memory") };
            assert_eq!(error.class(), ErrorClass::NO_MEM);
        }
        let mut temps = Temps::default();
        temps.fit([16, 40].into_iter()).unwrap();
        assert_eq!(temps.bytes(), 64);
        let error = temps.fit([16, usize::MAX >> 1].into_iter()).unwrap_err();
        assert_eq!(error.class(), ErrorClass::NO_MEM);
        temps.fit([48].into_iter()).unwrap();
        assert_eq!(temps.get(0).1, 48);
    }
}
