//! A naive model of datatypes for tests: the type map written out, entry by entry, exactly as
//! the definitions of MPI-5.0 chapter 5 have it.

use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;

use super::array::DEFAULT_DARG;
use super::basic::{LB, UB, row_of};
use super::{Darray, Datatype, Form, Subarray, predefined};

/// How to make a datatype; displacements and strides are in bytes where the constructor's are.
#[derive(Clone, Debug)]
pub(super) enum Tree {
    Named(u32),
    Contiguous(i64, Box<Tree>),
    Vector(i64, i64, i64, Box<Tree>),
    Hvector(i64, i64, i64, Box<Tree>),
    Indexed(Vec<(i64, i64)>, Box<Tree>),
    Hindexed(Vec<(i64, i64)>, Box<Tree>),
    IndexedBlock(i64, Vec<i64>, Box<Tree>),
    HindexedBlock(i64, Vec<i64>, Box<Tree>),
    Struct(Vec<(i64, i64, Tree)>),
    Resized(i64, i64, Box<Tree>),
    Dup(Box<Tree>),
    Subarray(Vec<(i64, i64, i64)>, bool, Box<Tree>),
    Darray(Vec<Dim>, i64, bool, Box<Tree>),
}

/// One dimension of a distributed array.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dim {
    gsize: i64,
    psize: i64,
    distribution: i64,
    darg: i64,
}

/// The entries of a type map: number of the basic type and displacement.
#[derive(Clone, Debug, Default)]
pub(super) struct Map(pub(super) Vec<(u32, i64)>);

fn size_of(code: u32) -> i64 {
    row_of(code).expect("a basic type").size.into()
}

impl Map {
    /// The entries that are data.
    pub(super) fn data(&self) -> impl Iterator<Item = (u32, i64)> + '_ {
        self.0.iter().copied().filter(|(code, _)| *code != LB && *code != UB)
    }

    pub(super) fn size(&self) -> i64 {
        self.data().map(|(code, _)| size_of(code)).sum()
    }

    pub(super) fn true_bounds(&self) -> (i64, i64) {
        let low = self.data().map(|(_, disp)| disp).min();
        let high = self.data().map(|(code, disp)| disp + size_of(code)).max();
        (low.unwrap_or(0), high.unwrap_or(0))
    }

    /// Lower bound and extent by the formulas of §5.1.6 and §5.1.7.
    pub(super) fn bounds(&self) -> (i64, i64) {
        let marks =
            |wanted| self.0.iter().filter(move |(code, _)| *code == wanted).map(|(_, disp)| *disp);
        let empty = self.data().next().is_none();
        let (low, high) = self.true_bounds();
        let ub_mark = marks(UB).max();
        let lb = marks(LB).min().unwrap_or(if empty { ub_mark.unwrap_or(0) } else { low });
        let align = self.data().map(|(code, _)| row_of(code).expect("basic").align).max();
        let ub = ub_mark.unwrap_or_else(|| {
            let mut ub = if empty { lb } else { high };
            while (ub - lb) % i64::from(align.unwrap_or(1)) != 0 {
                ub += 1;
            }
            ub
        });
        (lb, ub - lb)
    }

    /// Appends `count` copies of `map` from `disp` on, one extent apart.
    fn add(&mut self, count: i64, disp: i64, map: &Map) {
        let extent = map.bounds().1;
        for copy in 0..count {
            let at = disp + copy * extent;
            self.0.extend(map.0.iter().map(|(code, d)| (*code, d + at)));
        }
    }

    fn resized(mut self, lb: i64, extent: i64) -> Map {
        self.0.retain(|(code, _)| *code != LB && *code != UB);
        self.0.extend([(LB, lb), (UB, lb + extent)]);
        self
    }
}

impl Tree {
    /// The type map, written out.
    pub(super) fn map(&self) -> Map {
        let mut map = Map::default();
        match self {
            Tree::Named(code) => match row_of(*code).and_then(|row| row.pair) {
                Some((value, index)) => {
                    let align = i64::from(row_of(index).expect("basic").align);
                    let disp = (size_of(value) + align - 1) / align * align;
                    map.0.extend([(value, 0), (index, disp)]);
                }
                None => map.0.push((*code, 0)),
            },
            Tree::Contiguous(count, old) => map.add(*count, 0, &old.map()),
            Tree::Vector(count, length, stride, old) => {
                let old = old.map();
                let extent = old.bounds().1;
                (0..*count).for_each(|i| map.add(*length, i * stride * extent, &old));
            }
            Tree::Hvector(count, length, stride, old) => {
                let old = old.map();
                (0..*count).for_each(|i| map.add(*length, i * stride, &old));
            }
            Tree::Indexed(blocks, old) => {
                let old = old.map();
                let extent = old.bounds().1;
                blocks.iter().for_each(|(length, disp)| map.add(*length, disp * extent, &old));
            }
            Tree::Hindexed(blocks, old) => {
                let old = old.map();
                blocks.iter().for_each(|(length, disp)| map.add(*length, *disp, &old));
            }
            Tree::IndexedBlock(length, disps, old) => {
                let old = old.map();
                let extent = old.bounds().1;
                disps.iter().for_each(|disp| map.add(*length, disp * extent, &old));
            }
            Tree::HindexedBlock(length, disps, old) => {
                let old = old.map();
                disps.iter().for_each(|disp| map.add(*length, *disp, &old));
            }
            Tree::Struct(fields) => {
                fields.iter().for_each(|(length, disp, old)| map.add(*length, *disp, &old.map()));
            }
            Tree::Resized(lb, extent, old) => return old.map().resized(*lb, *extent),
            Tree::Dup(old) => return old.map(),
            Tree::Subarray(dims, c, old) => {
                let sizes: Vec<i64> = dims.iter().map(|dim| dim.0).collect();
                let inside = |index: &[i64]| {
                    let mut dims = dims.iter().zip(index);
                    dims.all(|((_, sub, start), i)| (*start..start + sub).contains(i))
                };
                return part_of_array(&sizes, *c, &old.map(), inside);
            }
            Tree::Darray(dims, rank, c, old) => {
                let sizes: Vec<i64> = dims.iter().map(|dim| dim.gsize).collect();
                let mine = |index: &[i64]| owner(dims, index) == *rank;
                return part_of_array(&sizes, *c, &old.map(), mine);
            }
        }
        map
    }

    /// The same datatype by the constructors under test.
    /// The same constructors, with `leaf` for every named datatype.
    pub(super) fn with_leaves(&self, leaf: &Tree) -> Tree {
        let again = |tree: &Tree| Box::new(tree.with_leaves(leaf));
        match self {
            Tree::Named(_) => leaf.clone(),
            Tree::Contiguous(c, old) => Tree::Contiguous(*c, again(old)),
            Tree::Vector(c, l, s, old) => Tree::Vector(*c, *l, *s, again(old)),
            Tree::Hvector(c, l, s, old) => Tree::Hvector(*c, *l, *s, again(old)),
            Tree::Indexed(blocks, old) => Tree::Indexed(blocks.clone(), again(old)),
            Tree::Hindexed(blocks, old) => Tree::Hindexed(blocks.clone(), again(old)),
            Tree::IndexedBlock(l, d, old) => Tree::IndexedBlock(*l, d.clone(), again(old)),
            Tree::HindexedBlock(l, d, old) => Tree::HindexedBlock(*l, d.clone(), again(old)),
            Tree::Struct(parts) => {
                let part = |(l, d, old): &(i64, i64, Tree)| (*l, *d, *again(old));
                Tree::Struct(parts.iter().map(part).collect())
            }
            Tree::Resized(lb, extent, old) => Tree::Resized(*lb, *extent, again(old)),
            Tree::Dup(old) => Tree::Dup(again(old)),
            Tree::Subarray(dims, c, old) => Tree::Subarray(dims.clone(), *c, again(old)),
            Tree::Darray(dims, rank, c, old) => Tree::Darray(dims.clone(), *rank, *c, again(old)),
        }
    }

    pub(super) fn build(&self, form: Form) -> Arc<Datatype> {
        let done = match self {
            Tree::Named(code) => Ok(Arc::clone(predefined(*code).expect("named"))),
            Tree::Contiguous(count, old) => Datatype::contiguous(*count, &old.build(form), form),
            Tree::Vector(c, l, s, old) => Datatype::vector(*c, *l, *s, &old.build(form), form),
            Tree::Hvector(c, l, s, old) => Datatype::hvector(*c, *l, *s, &old.build(form), form),
            Tree::Indexed(blocks, old) => {
                let (lengths, disps): (Vec<_>, Vec<_>) = blocks.iter().copied().unzip();
                Datatype::indexed(&lengths, &disps, &old.build(form), form)
            }
            Tree::Hindexed(blocks, old) => {
                let (lengths, disps): (Vec<_>, Vec<_>) = blocks.iter().copied().unzip();
                Datatype::hindexed(&lengths, &disps, &old.build(form), form)
            }
            Tree::IndexedBlock(length, disps, old) => {
                Datatype::indexed_block(*length, disps, &old.build(form), form)
            }
            Tree::HindexedBlock(length, disps, old) => {
                Datatype::hindexed_block(*length, disps, &old.build(form), form)
            }
            Tree::Struct(fields) => {
                let lengths: Vec<i64> = fields.iter().map(|field| field.0).collect();
                let disps: Vec<i64> = fields.iter().map(|field| field.1).collect();
                let types: Vec<_> = fields.iter().map(|field| field.2.build(form)).collect();
                Datatype::structure(&lengths, &disps, &types, form)
            }
            Tree::Resized(lb, extent, old) => {
                Datatype::resized(&old.build(form), *lb, *extent, form)
            }
            Tree::Dup(old) => Datatype::dup(&old.build(form)),
            Tree::Subarray(dims, c, old) => subarray(dims, *c, &old.build(form), form),
            Tree::Darray(dims, rank, c, old) => darray(dims, *rank, *c, &old.build(form), form),
        };
        done.expect("small valid arguments")
    }
}

fn order(c: bool) -> i64 {
    if c { 12 } else { 15 }
}

fn subarray(
    dims: &[(i64, i64, i64)],
    c: bool,
    old: &Arc<Datatype>,
    form: Form,
) -> crate::error::Result<Arc<Datatype>> {
    let sizes: Vec<i64> = dims.iter().map(|dim| dim.0).collect();
    let subsizes: Vec<i64> = dims.iter().map(|dim| dim.1).collect();
    let starts: Vec<i64> = dims.iter().map(|dim| dim.2).collect();
    let (sizes, subsizes, starts) = (&sizes[..], &subsizes[..], &starts[..]);
    Datatype::subarray(Subarray { sizes, subsizes, starts, order: order(c) }, old, form)
}

fn darray(
    dims: &[Dim],
    rank: i64,
    c: bool,
    old: &Arc<Datatype>,
    form: Form,
) -> crate::error::Result<Arc<Datatype>> {
    let column = |of: fn(&Dim) -> i64| dims.iter().map(of).collect::<Vec<i64>>();
    let psizes = column(|dim| dim.psize);
    let args = Darray {
        size: psizes.iter().product(),
        rank,
        gsizes: &column(|dim| dim.gsize),
        distribs: &column(|dim| dim.distribution),
        dargs: &column(|dim| dim.darg),
        psizes: &psizes,
        order: order(c),
    };
    Datatype::darray(args, old, form)
}

/// The elements of a whole array, in the order of memory, that `wanted` accepts by their index.
fn part_of_array(sizes: &[i64], c: bool, old: &Map, wanted: impl Fn(&[i64]) -> bool) -> Map {
    let extent = old.bounds().1;
    let total: i64 = sizes.iter().product();
    let mut map = Map::default();
    for at in 0..total {
        let mut rest = at;
        let mut index = vec![0; sizes.len()];
        let mut split = |dim: usize| {
            index[dim] = rest % sizes[dim];
            rest /= sizes[dim];
        };
        if c {
            (0..sizes.len()).rev().for_each(&mut split);
        } else {
            (0..sizes.len()).for_each(&mut split);
        }
        if wanted(&index) {
            map.add(1, at * extent, old);
        }
    }
    map.resized(0, total * extent)
}

/// The rank, in a row-major grid, of the process that an element is given to.
fn owner(dims: &[Dim], index: &[i64]) -> i64 {
    dims.iter().zip(index).fold(0, |rank, (dim, i)| {
        let block = match (dim.distribution, dim.darg) {
            (16, _) => dim.gsize,
            (17, DEFAULT_DARG) => (dim.gsize + dim.psize - 1) / dim.psize,
            (_, DEFAULT_DARG) => 1,
            (_, darg) => darg,
        };
        rank * dim.psize + i / block % dim.psize
    })
}

fn dim() -> impl Strategy<Value = Dim> {
    (1..7i64, 1..4i64, 16..19i64, prop::option::of(1..4i64)).prop_map(
        |(gsize, psize, distribution, darg)| {
            let psize = if distribution == 16 { 1 } else { psize };
            let darg = match (darg, distribution) {
                (Some(darg), 17) => darg.max((gsize + psize - 1) / psize),
                (Some(darg), _) => darg,
                (None, _) => DEFAULT_DARG,
            };
            Dim { gsize, psize, distribution, darg }
        },
    )
}

fn distributed(old: BoxedStrategy<Tree>) -> impl Strategy<Value = Tree> {
    (vec(dim(), 1..4), any::<prop::sample::Index>(), any::<bool>(), old).prop_map(
        |(dims, rank, c, old)| {
            let size: i64 = dims.iter().map(|dim| dim.psize).product();
            Tree::Darray(dims, rank.index(size as usize) as i64, c, Box::new(old))
        },
    )
}

fn section(old: BoxedStrategy<Tree>) -> impl Strategy<Value = Tree> {
    let dim = (1..4i64, 0..3i64, 0..3i64)
        .prop_map(|(sub, start, after)| (start + sub + after, sub, start));
    (vec(dim, 1..4), any::<bool>(), old)
        .prop_map(|(dims, c, old)| Tree::Subarray(dims, c, Box::new(old)))
}

/// Random constructors over random datatypes.
fn derived(old: BoxedStrategy<Tree>) -> BoxedStrategy<Tree> {
    let boxed = old.clone().prop_map(Box::new).boxed();
    let blocks = vec((0..4i64, -6..7i64), 0..6);
    let disps = vec(-9..10i64, 0..6);
    prop_oneof![
        (0..5i64, boxed.clone()).prop_map(|(c, old)| Tree::Contiguous(c, old)),
        (0..5i64, 0..4i64, -4..5i64, boxed.clone())
            .prop_map(|(c, l, s, old)| Tree::Vector(c, l, s, old)),
        (0..12i64, 0..4i64, -40..41i64, boxed.clone())
            .prop_map(|(c, l, s, old)| Tree::Hvector(c, l, s, old)),
        (blocks.clone(), boxed.clone()).prop_map(|(b, old)| Tree::Indexed(b, old)),
        (blocks, boxed.clone()).prop_map(|(b, old)| Tree::Hindexed(b, old)),
        (0..4i64, disps.clone(), boxed.clone())
            .prop_map(|(l, d, old)| Tree::IndexedBlock(l, d, old)),
        (0..4i64, disps, boxed.clone()).prop_map(|(l, d, old)| Tree::HindexedBlock(l, d, old)),
        vec((0..4i64, -30..100i64, old.clone()), 0..5).prop_map(Tree::Struct),
        (-9..10i64, -20..90i64, boxed.clone()).prop_map(|(l, e, old)| Tree::Resized(l, e, old)),
        boxed.prop_map(Tree::Dup),
        section(old.clone()),
        distributed(old),
    ]
    .boxed()
}

/// Random datatypes, up to three constructors deep, of at most a few thousand entries.
pub(super) fn trees() -> impl Strategy<Value = Tree> {
    let named = vec![0x209, 0x243, 0x214, 0x208, 0x22c, 0x229, 0x220, LB, UB];
    let one = prop::sample::select(named).prop_map(Tree::Named).boxed();
    let two = derived(one.clone());
    let three = derived(prop_oneof![1 => one.clone(), 3 => two.clone()].boxed());
    let four = derived(prop_oneof![1 => one.clone(), 1 => two.clone(), 3 => three.clone()].boxed());
    prop_oneof![1 => one, 4 => two, 8 => three, 8 => four]
        .prop_filter("a type map of moderate size", |tree| tree.map().0.len() < 4000)
}
