//! Whose words an offer holds, a number for each transport that makes any. They travel, so a number
//! is never given to another transport.

use mpi_core::port::OfferKind;

/// Shared memory: the address in the sender's address space, 0 where it does not offer that, and
/// the offset in its arena plus one, 0 where the bytes do not lie in it.
pub const SHARED_MEMORY: OfferKind = OfferKind(1);
/// A process's own: the address.
pub const LOOPBACK: OfferKind = OfferKind(2);
/// The simulated network: the address and a number.
pub const SIMULATED: OfferKind = OfferKind(3);
/// Reliable queue pairs of verbs: the address and the key of the registered memory.
pub const RC: OfferKind = OfferKind(4);
/// libfabric: the address, as its provider counts, and the key of the registered memory.
pub const OFI: OfferKind = OfferKind(5);
/// Unreliable connected queue pairs of verbs: as [`RC`].
pub const UC: OfferKind = OfferKind(6);
