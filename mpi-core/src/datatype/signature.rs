//! The type signature: the sequence of basic types, without displacements (MPI-5.0 §5.1).
//!
//! It is kept as nested repetitions, so that an array of any length costs a few words, with a
//! polynomial hash of the whole sequence. The hash of a repetition follows from that of its body
//! (a geometric sum), so it does not depend on how a sequence is nested: two signatures have the
//! same length and hash when their sequences are equal, and by a chance of 2⁻⁶¹ otherwise.

use std::sync::Arc;

use super::basic::{Row, row_of};

const PRIME: u64 = (1 << 61) - 1;
/// An arbitrary element of large order modulo `PRIME`.
const BASE: u64 = 0x1234_5678_9abc_def1 % PRIME;

fn mul(a: u64, b: u64) -> u64 {
    (u128::from(a) * u128::from(b) % u128::from(PRIME)) as u64
}

fn add(a: u64, b: u64) -> u64 {
    (a + b) % PRIME
}

/// A sequence of basic types.
#[derive(Debug)]
pub struct Signature {
    shape: Shape,
    elements: u64,
    size: u64,
    external: u64,
    hash: u64,
    /// `BASE` to the power of `elements`.
    power: u64,
    only: Option<u32>,
}

#[derive(Debug)]
enum Shape {
    /// So many elements of one type.
    Run(&'static Row, u64),
    Repeat(u64, Arc<Signature>),
    List(Box<[Arc<Signature>]>),
}

impl Signature {
    /// The empty sequence.
    pub fn empty() -> Arc<Signature> {
        Signature::list(Vec::new())
    }

    /// One element of a basic type, or the two of a pair.
    pub fn of_row(row: &'static Row) -> Arc<Signature> {
        if let Some((value, index)) = row.pair {
            let part = |code| row_of(code).map(Signature::of_row);
            return Signature::concat(part(value).into_iter().chain(part(index)).collect());
        }
        if row.size == 0 {
            return Signature::empty();
        }
        Arc::new(Signature {
            shape: Shape::Run(row, 1),
            elements: 1,
            size: u64::from(row.size),
            external: u64::from(row.external),
            hash: u64::from(row.code),
            power: BASE,
            only: Some(row.code),
        })
    }

    /// The hash of the sequence `count` times.
    pub fn hash_of(&self, count: u64) -> u64 {
        mul(self.hash, geometric(self.power, count).0)
    }

    /// The sequence `count` times; `None` if its length or size is beyond 63 bits.
    pub fn repeated(self: &Arc<Signature>, count: u64) -> Option<Arc<Signature>> {
        match count {
            0 => return Some(Signature::empty()),
            1 => return Some(Arc::clone(self)),
            _ => {}
        }
        let shape = match &self.shape {
            Shape::Run(row, n) => Shape::Run(row, n.checked_mul(count)?),
            Shape::Repeat(n, body) => Shape::Repeat(n.checked_mul(count)?, Arc::clone(body)),
            Shape::List(parts) if parts.is_empty() => return Some(Arc::clone(self)),
            Shape::List(_) => Shape::Repeat(count, Arc::clone(self)),
        };
        let fits = |n: u64| n.checked_mul(count).filter(|n| *n <= i64::MAX as u64);
        let (sum, power) = geometric(self.power, count);
        Some(Arc::new(Signature {
            shape,
            elements: fits(self.elements)?,
            size: fits(self.size)?,
            external: fits(self.external)?,
            hash: mul(self.hash, sum),
            power,
            only: self.only,
        }))
    }

    /// Sequences one after the other. The sum of their sizes must be within 63 bits.
    pub fn concat(parts: Vec<Arc<Signature>>) -> Arc<Signature> {
        let mut merged: Vec<Arc<Signature>> = Vec::with_capacity(parts.len());
        for part in parts.into_iter().filter(|part| part.elements > 0) {
            match merged.last_mut() {
                Some(last) if last.run_code() == part.run_code() => {
                    if let Some(joined) = last.joined_run(&part) {
                        *last = joined;
                        continue;
                    }
                }
                _ => {}
            }
            merged.push(part);
        }
        match merged.len() {
            1 => merged.swap_remove(0),
            _ => Signature::list(merged),
        }
    }

    fn run_code(&self) -> Option<u32> {
        match self.shape {
            Shape::Run(row, _) => Some(row.code),
            _ => None,
        }
    }

    fn joined_run(&self, next: &Signature) -> Option<Arc<Signature>> {
        let (Shape::Run(row, a), Shape::Run(_, b)) = (&self.shape, &next.shape) else {
            return None;
        };
        Signature::of_row(row).repeated(a.checked_add(*b)?)
    }

    fn list(parts: Vec<Arc<Signature>>) -> Arc<Signature> {
        let mut whole = Signature {
            shape: Shape::List(Box::new([])),
            elements: 0,
            size: 0,
            external: 0,
            hash: 0,
            power: 1,
            only: parts.first().and_then(|part| part.only),
        };
        for part in &parts {
            whole.elements += part.elements;
            whole.size += part.size;
            whole.external += part.external;
            whole.hash = add(mul(whole.hash, part.power), part.hash);
            whole.power = mul(whole.power, part.power);
            whole.only = whole.only.filter(|only| Some(*only) == part.only);
        }
        whole.shape = Shape::List(parts.into_boxed_slice());
        Arc::new(whole)
    }

    /// Number of basic elements.
    pub fn elements(&self) -> u64 {
        self.elements
    }

    /// Bytes of data in memory.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Bytes in the external32 representation.
    pub fn external_size(&self) -> u64 {
        self.external
    }

    /// A number that is equal for equal sequences and otherwise differs almost surely.
    pub fn hash(&self) -> u64 {
        self.hash ^ self.elements << 61
    }

    /// The basic type of all elements, if there is just one.
    pub fn only(&self) -> Option<&'static Row> {
        self.only.and_then(row_of)
    }

    /// Calls `visit` with each run of equal elements, in order, until it fails.
    ///
    /// # Errors
    /// The first error of `visit`.
    pub fn try_for_each_run<E>(
        &self,
        visit: &mut dyn FnMut(&'static Row, u64) -> Result<(), E>,
    ) -> Result<(), E> {
        match &self.shape {
            Shape::Run(row, count) => visit(row, *count),
            Shape::Repeat(count, body) => {
                (0..*count).try_for_each(|_| body.try_for_each_run(visit))
            }
            Shape::List(parts) => parts.iter().try_for_each(|part| part.try_for_each_run(visit)),
        }
    }

    /// The number of elements that end in the first `bytes` bytes, and the bytes of a last one
    /// that is not complete.
    pub fn elements_in(&self, bytes: u64) -> (u64, u64) {
        match &self.shape {
            Shape::Run(row, _) => (bytes / u64::from(row.size), bytes % u64::from(row.size)),
            Shape::Repeat(_, body) => {
                let (elements, rest) = body.elements_in(bytes % body.size);
                (bytes / body.size * body.elements + elements, rest)
            }
            Shape::List(parts) => {
                let (mut elements, mut left) = (0, bytes);
                for part in parts {
                    if left < part.size {
                        let (some, rest) = part.elements_in(left);
                        return (elements + some, rest);
                    }
                    elements += part.elements;
                    left -= part.size;
                }
                (elements, left)
            }
        }
    }

    /// Bytes of the first `elements` elements.
    pub fn bytes_of(&self, elements: u64) -> u64 {
        match &self.shape {
            Shape::Run(row, _) => elements * u64::from(row.size),
            Shape::Repeat(_, body) => {
                elements / body.elements * body.size + body.bytes_of(elements % body.elements)
            }
            Shape::List(parts) => {
                let (mut bytes, mut left) = (0, elements);
                for part in parts {
                    if left < part.elements {
                        return bytes + part.bytes_of(left);
                    }
                    bytes += part.size;
                    left -= part.elements;
                }
                bytes
            }
        }
    }
}

impl PartialEq for Signature {
    fn eq(&self, other: &Signature) -> bool {
        self.elements == other.elements && self.hash == other.hash
    }
}

/// (1 + x + … + xⁿ⁻¹, xⁿ) modulo `PRIME`, by doubling.
fn geometric(x: u64, n: u64) -> (u64, u64) {
    let (mut sum, mut power) = (0, 1);
    for bit in (0..u64::BITS - n.leading_zeros()).rev() {
        sum = add(sum, mul(sum, power));
        power = mul(power, power);
        if n >> bit & 1 == 1 {
            sum = add(mul(sum, x), 1);
            power = mul(power, x);
        }
    }
    (sum, power)
}
