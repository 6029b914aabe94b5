//! Brings the edges of a distributed graph, which any process may have named, to the processes
//! at their ends (`MPI_Dist_graph_create`, MPI-5.0 §8.5.4).

use super::members::Members;
use crate::buffer::UserBuffer;
use crate::collectives::calls::{Typed, Types, Varied};
use crate::comm::topology::graph::{Adjacent, check_end};
use crate::datatype::BYTE;
use crate::error::{Error, ErrorClass, Result};
use crate::fail;
use crate::port::Port;

/// An edge that a process named.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Edge {
    /// Where it begins.
    pub source: i32,
    /// Where it ends.
    pub destination: i32,
    /// Its weight; 1 without weights.
    pub weight: i32,
}

/// What a process at an end is told of an edge: which end it is, the other end, the weight.
const RECORD_BYTES: usize = 9;

impl<P: Port> Members<'_, P> {
    /// The edges at this process of all that the members named. Two edges between
    /// the same processes come in the same order at both ends.
    pub(super) fn bring_edges(&mut self, named: &[Edge]) -> Result<Adjacent> {
        let size = self.entry.comm(self.comm)?.size() as usize;
        let mut outgoing = vec![Vec::new(); size];
        for edge in named {
            let mut tell = |whom: i32, is_source: bool, other: i32| {
                let record: &mut Vec<u8> = &mut outgoing[whom as usize];
                record.push(u8::from(is_source));
                record.extend(other.to_le_bytes());
                record.extend(edge.weight.to_le_bytes());
            };
            tell(edge.source, true, edge.destination);
            tell(edge.destination, false, edge.source);
        }
        let told = self.alltoall(&outgoing)?;
        let mut adjacent = Adjacent::default();
        for record in told.chunks_exact(RECORD_BYTES) {
            let number = |at: usize| i32::from_le_bytes(std::array::from_fn(|i| record[at + i]));
            check_end(number(1), size as u32, "edges")?;
            let edges = match record[0] {
                0 => &mut adjacent.sources,
                _ => &mut adjacent.destinations,
            };
            edges.push(number(1), number(5));
        }
        Ok(adjacent)
    }

    /// What all processes have for this one, one after the other.
    fn alltoall(&mut self, outgoing: &[Vec<u8>]) -> Result<Vec<u8>> {
        let counts: Vec<i64> = outgoing.iter().map(|bytes| bytes.len() as i64).collect();
        let mut incoming = vec![0i64; counts.len()];
        let eight = |buf: *mut u8| Typed { buf: UserBuffer(buf), count: 8, datatype: BYTE };
        let send = eight(counts.as_ptr().cast_mut().cast());
        let recv = eight(incoming.as_mut_ptr().cast());
        let prepared = self.entry.calls().alltoall(send, recv, self.comm)?;
        self.entry.collectives().run(&prepared)?;
        let (mut bytes, mut told) = (outgoing.concat(), Vec::new());
        let length = total(&incoming)?;
        // An empty vector's address is one that MPI gives a meaning of its own.
        bytes.reserve(1);
        if told.try_reserve_exact(length.max(1)).is_err() {
            fail!(NO_MEM, "no memory for {length} bytes about edges of the graph");
        }
        told.resize(length, 0);
        let (send_at, recv_at) = (starts(&counts), starts(&incoming));
        let varied = |buf, counts, displs| Varied {
            buf: UserBuffer(buf),
            counts,
            displs,
            datatypes: Types::Same(BYTE),
        };
        let send = varied(bytes.as_ptr().cast_mut(), &counts[..], &send_at[..]);
        let recv = varied(told.as_mut_ptr(), &incoming[..], &recv_at[..]);
        let prepared = self.entry.calls().alltoallv(Some(send), recv, self.comm)?;
        self.entry.collectives().run(&prepared)?;
        Ok(told)
    }
}

/// The sum of what the processes announced: whole records, and no more than memory can hold.
fn total(counts: &[i64]) -> Result<usize> {
    let add = |sum: usize, &count: &i64| {
        let bytes =
            usize::try_from(count).ok().filter(|bytes| bytes.is_multiple_of(RECORD_BYTES))?;
        sum.checked_add(bytes).filter(|&sum| isize::try_from(sum).is_ok())
    };
    counts.iter().try_fold(0, add).ok_or_else(|| {
        Error::new(ErrorClass::INTERN, "a process announced an impossible number of edges")
    })
}

fn starts(counts: &[i64]) -> Vec<i64> {
    let ends = counts.iter().scan(0, |end, count| {
        *end += count;
        Some(*end - count)
    });
    ends.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn impossible_numbers_of_edges_are_refused() {
        assert_eq!(total(&[0, 18, 9]).unwrap(), 27);
        for counts in [&[-9][..], &[10], &[9, -9, 9], &[i64::MAX - 7, i64::MAX - 7]] {
            assert_eq!(total(counts).unwrap_err().class(), ErrorClass::INTERN, "{counts:?}");
        }
    }

    proptest! {
        #[test]
        fn any_numbers_are_added_up_or_refused(counts in prop::collection::vec(any::<i64>(), 0..9)) {
            let exact: i128 = counts.iter().map(|&count| i128::from(count)).sum();
            if let Ok(total) = total(&counts) {
                prop_assert_eq!(total as i128, exact);
            }
        }
    }
}
