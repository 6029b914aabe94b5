//! Virtual topologies (MPI-5.0 §8.5). Arrays come in and go out here; the topologies are the
//! core's.
#![allow(clippy::too_many_arguments)]

use mpi_core::comm::topology::dims;
use mpi_core::comm::topology::graph::{Adjacent, Edges, Graph};
use mpi_core::communicators::distribute::Edge;
use mpi_core::constants::UNDEFINED;
use mpi_core::error::{Error, ErrorClass, Result};
use mpi_core::handle::{CommHandle, InfoHandle};
use mpi_core::lists::{listed, reserved};

use super::groups::ints;
use crate::args::{IntArray, IntArrayMut, Weights};
use crate::cx::Cx;

/// The elements of an array whose length the glue does not know.
fn unmeasured(array: IntArray, count: usize, param: &'static str) -> Result<Vec<i32>> {
    crate::args::array(param, array.is_null(), count > 0)?;
    ints(array, count as i64)
}

/// Truth values.
fn logicals(array: IntArray, count: i64) -> Result<Vec<bool>> {
    listed(ints(array, count)?.into_iter().map(|value| value != 0))
}

/// Writes as many of `values` as the program's array, of length `room`, holds.
fn give(array: IntArrayMut, room: i64, values: impl Iterator<Item = i32>) {
    for (at, value) in values.take(room as usize).enumerate() {
        // SAFETY: by the standard the array has `room` elements, and `at` is less.
        unsafe { array.set(at, i64::from(value)) };
    }
}

/// `MPI_Topo_test`.
pub fn topo_test(cx: &mut Cx<'_>, comm: CommHandle, status: &mut i32) -> Result<()> {
    *status = cx.comm(comm)?.topology.as_ref().map_or(UNDEFINED, |it| it.kind() as i32);
    Ok(())
}

/// `MPI_Dims_create`.
pub fn dims_create(_: &mut Cx<'_>, nnodes: i32, ndims: i64, dims: IntArrayMut) -> Result<()> {
    // SAFETY: by the standard the array has `ndims` elements.
    let mut filled = listed((0..ndims as usize).map(|at| unsafe { dims.at(at) } as i32))?;
    dims::fill(nnodes, &mut filled)?;
    give(dims, ndims, filled.into_iter());
    Ok(())
}

/// `MPI_Cart_create`.
pub fn cart_create(
    cx: &mut Cx<'_>,
    comm_old: CommHandle,
    ndims: i64,
    dims: IntArray,
    periods: IntArray,
    _reorder: bool,
    comm_cart: &mut CommHandle,
) -> Result<()> {
    cx.intracomm(comm_old, "comm_old")?;
    *comm_cart =
        cx.communicators().cart_create(comm_old, ints(dims, ndims)?, logicals(periods, ndims)?)?;
    Ok(())
}

/// `MPI_Cart_map`.
pub fn cart_map(
    cx: &mut Cx<'_>,
    comm: CommHandle,
    ndims: i64,
    dims: IntArray,
    periods: IntArray,
    newrank: &mut i32,
) -> Result<()> {
    cx.intracomm(comm, "comm")?;
    *newrank = cx.cart_map(comm, ints(dims, ndims)?, logicals(periods, ndims)?)?;
    Ok(())
}

/// `MPI_Cartdim_get`.
pub fn cartdim_get(cx: &mut Cx<'_>, comm: CommHandle, ndims: &mut i64) -> Result<()> {
    *ndims = cx.comm(comm)?.cart()?.dims().len() as i64;
    Ok(())
}

/// `MPI_Cart_get`.
pub fn cart_get(
    cx: &mut Cx<'_>,
    comm: CommHandle,
    maxdims: i64,
    dims: IntArrayMut,
    periods: IntArrayMut,
    coords: IntArrayMut,
) -> Result<()> {
    let state = cx.comm(comm)?;
    let cart = state.cart()?;
    give(dims, maxdims, cart.dims().iter().copied());
    give(periods, maxdims, cart.periods().iter().map(|&period| i32::from(period)));
    give(coords, maxdims, cart.coords(state.rank).into_iter());
    Ok(())
}

/// `MPI_Cart_coords`.
pub fn cart_coords(
    cx: &mut Cx<'_>,
    comm: CommHandle,
    rank: i32,
    maxdims: i64,
    coords: IntArrayMut,
) -> Result<()> {
    let state = cx.comm(comm)?;
    let cart = state.cart()?;
    give(coords, maxdims, cart.coords(state.member(rank)?).into_iter());
    Ok(())
}

/// `MPI_Cart_rank`.
pub fn cart_rank(
    cx: &mut Cx<'_>,
    comm: CommHandle,
    coords: IntArray,
    rank: &mut i32,
) -> Result<()> {
    let cart = cx.comm(comm)?.cart()?;
    *rank = cart.rank(&unmeasured(coords, cart.dims().len(), "coords")?)? as i32;
    Ok(())
}

/// `MPI_Cart_shift`.
pub fn cart_shift(
    cx: &mut Cx<'_>,
    comm: CommHandle,
    direction: i32,
    disp: i32,
    rank_source: &mut i32,
    rank_dest: &mut i32,
) -> Result<()> {
    let state = cx.comm(comm)?;
    (*rank_source, *rank_dest) = state.cart()?.shift(state.rank, direction, disp)?;
    Ok(())
}

/// `MPI_Cart_sub`.
pub fn cart_sub(
    cx: &mut Cx<'_>,
    comm: CommHandle,
    remain_dims: IntArray,
    newcomm: &mut CommHandle,
) -> Result<()> {
    let dims = cx.comm(comm)?.cart()?.dims().len();
    let remain = unmeasured(remain_dims, dims, "remain_dims")?;
    let remain: Vec<bool> = remain.into_iter().map(|value| value != 0).collect();
    *newcomm = cx.communicators().cart_sub(comm, &remain)?;
    Ok(())
}

/// The two arrays of a graph.
fn graph(index: IntArray, nodes: i64, edges: IntArray) -> Result<(Vec<i32>, Vec<i32>)> {
    let index = ints(index, nodes)?;
    let count = Graph::edge_count(&index)?;
    Ok((index, unmeasured(edges, count, "edges")?))
}

/// `MPI_Graph_create`.
pub fn graph_create(
    cx: &mut Cx<'_>,
    comm_old: CommHandle,
    nnodes: i32,
    index: IntArray,
    edges: IntArray,
    _reorder: bool,
    comm_graph: &mut CommHandle,
) -> Result<()> {
    cx.intracomm(comm_old, "comm_old")?;
    crate::args::non_negative("nnodes", nnodes.into(), ErrorClass::ARG)?;
    let (index, edges) = graph(index, nnodes.into(), edges)?;
    *comm_graph = cx.communicators().graph_create(comm_old, index, edges)?;
    Ok(())
}

/// `MPI_Graph_map`.
pub fn graph_map(
    cx: &mut Cx<'_>,
    comm: CommHandle,
    nnodes: i64,
    index: IntArray,
    edges: IntArray,
    newrank: &mut i32,
) -> Result<()> {
    cx.intracomm(comm, "comm")?;
    let (index, edges) = graph(index, nnodes, edges)?;
    *newrank = cx.graph_map(comm, index, edges)?;
    Ok(())
}

/// `MPI_Graphdims_get`.
pub fn graphdims_get(
    cx: &mut Cx<'_>,
    comm: CommHandle,
    nnodes: &mut i64,
    nedges: &mut i64,
) -> Result<()> {
    let graph = cx.comm(comm)?.graph()?;
    (*nnodes, *nedges) = (graph.index().len() as i64, graph.edges().len() as i64);
    Ok(())
}

/// `MPI_Graph_get`.
pub fn graph_get(
    cx: &mut Cx<'_>,
    comm: CommHandle,
    maxindex: i64,
    maxedges: i64,
    index: IntArrayMut,
    edges: IntArrayMut,
) -> Result<()> {
    let graph = cx.comm(comm)?.graph()?;
    give(index, maxindex, graph.index().iter().copied());
    give(edges, maxedges, graph.edges().iter().copied());
    Ok(())
}

/// `MPI_Graph_neighbors_count`.
pub fn graph_neighbors_count(
    cx: &mut Cx<'_>,
    comm: CommHandle,
    rank: i32,
    nneighbors: &mut i64,
) -> Result<()> {
    let state = cx.comm(comm)?;
    *nneighbors = state.graph()?.neighbors(state.member(rank)?).len() as i64;
    Ok(())
}

/// `MPI_Graph_neighbors`.
pub fn graph_neighbors(
    cx: &mut Cx<'_>,
    comm: CommHandle,
    rank: i32,
    maxneighbors: i64,
    neighbors: IntArrayMut,
) -> Result<()> {
    let state = cx.comm(comm)?;
    let found = state.graph()?.neighbors(state.member(rank)?);
    give(neighbors, maxneighbors, found.iter().copied());
    Ok(())
}

/// The weights of `count` edges: 1 each where there are none.
fn weights(weights: Weights, count: usize, param: &'static str) -> Result<Vec<i32>> {
    match weights {
        Weights::Unweighted => listed((0..count).map(|_| 1)),
        Weights::Given(array) => unmeasured(array, count, param),
        Weights::Empty if count == 0 => Ok(Vec::new()),
        Weights::Empty => {
            let text = format!("is MPI_WEIGHTS_EMPTY, but there are {count} edges");
            Err(Error::param(ErrorClass::ARG, param, text))
        }
    }
}

fn is_weighted(weights: Weights) -> bool {
    !matches!(weights, Weights::Unweighted)
}

/// `MPI_Dist_graph_create_adjacent`.
pub fn dist_graph_create_adjacent(
    cx: &mut Cx<'_>,
    comm_old: CommHandle,
    indegree: i64,
    sources: IntArray,
    sourceweights: Weights,
    outdegree: i64,
    destinations: IntArray,
    destweights: Weights,
    _info: InfoHandle,
    _reorder: bool,
    comm_dist_graph: &mut CommHandle,
) -> Result<()> {
    cx.intracomm(comm_old, "comm_old")?;
    let adjacent = Adjacent {
        sources: Edges {
            ranks: ints(sources, indegree)?,
            weights: weights(sourceweights, indegree as usize, "sourceweights")?,
        },
        destinations: Edges {
            ranks: ints(destinations, outdegree)?,
            weights: weights(destweights, outdegree as usize, "destweights")?,
        },
        weighted: is_weighted(sourceweights) || is_weighted(destweights),
    };
    *comm_dist_graph = cx.communicators().dist_graph_adjacent(comm_old, adjacent)?;
    Ok(())
}

/// `MPI_Dist_graph_create`.
pub fn dist_graph_create(
    cx: &mut Cx<'_>,
    comm_old: CommHandle,
    n: i64,
    sources: IntArray,
    degrees: IntArray,
    destinations: IntArray,
    weights: Weights,
    _info: InfoHandle,
    _reorder: bool,
    comm_dist_graph: &mut CommHandle,
) -> Result<()> {
    cx.intracomm(comm_old, "comm_old")?;
    let (sources, degrees) = (ints(sources, n)?, ints(degrees, n)?);
    if let Some(&degree) = degrees.iter().find(|&&degree| degree < 0) {
        mpi_core::fail!(ARG, "degrees", "has {degree}, but must not be negative");
    }
    let count = degrees.iter().map(|&degree| degree as usize).sum();
    let destinations = unmeasured(destinations, count, "destinations")?;
    let given = self::weights(weights, count, "weights")?;
    let begin = sources.iter().zip(&degrees);
    let begin = begin.flat_map(|(&source, &degree)| std::iter::repeat_n(source, degree as usize));
    let ends = destinations.into_iter().zip(given);
    let mut named = reserved(count)?;
    named.extend(begin.zip(ends).map(|(source, (destination, weight))| Edge {
        source,
        destination,
        weight,
    }));
    *comm_dist_graph = cx.communicators().dist_graph(comm_old, &named, is_weighted(weights))?;
    Ok(())
}

/// `MPI_Dist_graph_neighbors_count`.
pub fn dist_graph_neighbors_count(
    cx: &mut Cx<'_>,
    comm: CommHandle,
    indegree: &mut i64,
    outdegree: &mut i64,
    weighted: &mut bool,
) -> Result<()> {
    let adjacent = cx.comm(comm)?.dist_graph()?;
    *indegree = adjacent.sources.ranks.len() as i64;
    *outdegree = adjacent.destinations.ranks.len() as i64;
    *weighted = adjacent.weighted;
    Ok(())
}

/// `MPI_Dist_graph_neighbors`. The weights of a graph that has none are not told.
pub fn dist_graph_neighbors(
    cx: &mut Cx<'_>,
    comm: CommHandle,
    maxindegree: i64,
    sources: IntArrayMut,
    sourceweights: IntArrayMut,
    maxoutdegree: i64,
    destinations: IntArrayMut,
    destweights: IntArrayMut,
) -> Result<()> {
    let adjacent = cx.comm(comm)?.dist_graph()?;
    let sides = [
        (&adjacent.sources, maxindegree, sources, sourceweights),
        (&adjacent.destinations, maxoutdegree, destinations, destweights),
    ];
    for (edges, room, ranks, weights) in sides {
        give(ranks, room, edges.ranks.iter().copied());
        if adjacent.weighted && !weights.is_null() {
            give(weights, room, edges.weights.iter().copied());
        }
    }
    Ok(())
}
