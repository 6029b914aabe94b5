//! Graphs of processes (MPI-5.0 §8.5.3, §8.5.4): known whole to everybody, or each process its
//! own edges.

use crate::error::{Error, ErrorClass, Result};
use crate::fail;

/// A graph that every process knows whole.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Graph {
    index: Vec<i32>,
    edges: Vec<i32>,
}

impl Graph {
    /// Number of edges that `index` speaks of.
    ///
    /// # Errors
    /// `MPI_ERR_ARG` if `index` falls.
    pub fn edge_count(index: &[i32]) -> Result<usize> {
        let mut end = 0;
        for (at, &next) in index.iter().enumerate() {
            if next < end {
                fail!(ARG, "index", "falls from {end} to {next} at element {at}");
            }
            end = next;
        }
        Ok(end as usize)
    }

    /// The graph in which the neighbours of node k are `edges[index[k - 1]..index[k]]`.
    ///
    /// # Errors
    /// `MPI_ERR_ARG` if `index` falls, or for an edge to what is no node.
    pub fn new(index: Vec<i32>, edges: Vec<i32>) -> Result<Graph> {
        debug_assert_eq!(Graph::edge_count(&index)?, edges.len());
        let nodes = index.len();
        if let Some(at) = edges.iter().position(|&edge| edge < 0 || edge as usize >= nodes) {
            fail!(ARG, "edges", "has {} as element {at}, of {nodes} nodes", edges[at]);
        }
        Ok(Graph { index, edges })
    }

    /// Where the edges of each node end.
    pub fn index(&self) -> &[i32] {
        &self.index
    }

    /// All edges.
    pub fn edges(&self) -> &[i32] {
        &self.edges
    }

    /// The neighbours of a node (`MPI_Graph_neighbors`).
    pub fn neighbors(&self, rank: u32) -> &[i32] {
        let at = rank as usize;
        let from = if at == 0 { 0 } else { self.index[at - 1] };
        &self.edges[from as usize..self.index[at] as usize]
    }
}

/// A process' own edges in a graph.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Adjacent {
    /// Who sends to this process.
    pub sources: Edges,
    /// Whom this process sends to.
    pub destinations: Edges,
    /// Whether the edges have weights.
    pub weighted: bool,
}

/// Refuses an end of an edge that is no rank of a communicator of `size` processes.
///
/// # Errors
/// `MPI_ERR_RANK`.
pub fn check_end(rank: i32, size: u32, param: &'static str) -> Result<()> {
    if (0..i64::from(size)).contains(&i64::from(rank)) {
        return Ok(());
    }
    let text = format!("has {rank}, but there are {size} processes");
    Err(Error::param(ErrorClass::RANK, param, text))
}

/// The other ends of edges, and their weights; without weights, those are 1.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Edges {
    /// Ranks.
    pub ranks: Vec<i32>,
    /// Weights.
    pub weights: Vec<i32>,
}

impl Edges {
    /// Adds an edge.
    pub fn push(&mut self, rank: i32, weight: i32) {
        self.ranks.push(rank);
        self.weights.push(weight);
    }

    /// Refuses ranks that a communicator of `size` has not, and negative weights.
    ///
    /// # Errors
    /// `MPI_ERR_RANK`, `MPI_ERR_ARG`.
    pub fn check(&self, size: u32, param: &'static str) -> Result<()> {
        self.ranks.iter().try_for_each(|&rank| check_end(rank, size, param))?;
        match self.weights.iter().position(|&weight| weight < 0) {
            Some(at) => fail!(ARG, "weights", "has {} as element {at}", self.weights[at]),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_standards_example() {
        // §8.5.3: 0 with 1 and 3, 1 with 0, 2 with 3, 3 with 0 and 2.
        let graph = Graph::new(vec![2, 3, 4, 6], vec![1, 3, 0, 3, 0, 2]).unwrap();
        let all: Vec<&[i32]> = (0..4).map(|rank| graph.neighbors(rank)).collect();
        assert_eq!(all, [&[1, 3][..], &[0], &[3], &[0, 2]]);
    }

    #[test]
    fn what_is_no_graph_is_refused() {
        assert!(Graph::edge_count(&[2, 1]).is_err());
        assert!(Graph::edge_count(&[-1]).is_err());
        assert!(Graph::new(vec![1, 2], vec![1, 2]).is_err());
        assert!(Graph::new(vec![1, 2], vec![1, -1]).is_err());
        assert!(Graph::new(vec![2, 2], vec![0, 0]).is_ok(), "loops and double edges are allowed");
    }
}
