//! The algorithms: functions that write one rank's steps into a `Builder`.
//!
//! Costs are given in Hockney's model for p processes and m units (of one block where there are
//! blocks, else of the whole vector): α a message, β a unit moved, γ a unit reduced. k is the
//! number of ports, that is of messages which a process can send and receive at the same time.
//!
//! Every reduction here combines in rank order unless its comment says "commutative only", so
//! that it serves any operation (MPI-5.0 §6.9.1); every all-reduction computes each element once,
//! or everywhere with the same bracketing and the same operand order, so that all ranks get the
//! same bits. Sources by short name:
//! Bruck 1997: Bruck, Ho, Kipnis, Upfal, Weathersby, IEEE TPDS 8(11).
//! Chen 2005: J. Chen, L. Zhang, Y. Zhang, W. Yuan, HPC Asia.
//! Hensgen 1988: Hensgen, Finkel, Manber, Int. J. Parallel Programming 17(1).
//! Hillis 1986: Hillis, Steele, Comm. ACM 29(12).
//! Johnsson 1989: Johnsson, Ho, IEEE Trans. Computers 38(9).
//! Patarasuk 2009: Patarasuk, Yuan, J. Parallel Distrib. Computing 69(2).
//! Qian 2006: Qian, Afsahi, "Efficient RDMA-based multi-port collectives on multi-rail QsNet II".
//! Rabenseifner 2004: Rabenseifner, Träff, EuroPVM/MPI.
//! Thakur 2005: Thakur, Rabenseifner, Gropp, Int. J. High Perf. Computing Appl. 19(1).
//! van de Geijn 1994: Barnett, Shuler, van de Geijn, Gupta, Payne, Watts, SHPCC.

pub mod allgather;
pub mod allgather_bruck;
pub mod allgather_tree;
pub mod allreduce;
pub mod alltoall;
pub mod alltoall_bruck;
pub mod barrier;
pub mod bcast;
pub mod gather;
pub mod neighbor;
pub mod rabenseifner;
pub mod reduce;
pub mod reduce_scatter;
pub mod scan;
pub mod scatter;

mod fold;
mod section;
mod sum;
