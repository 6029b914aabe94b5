//! What the tests of whole programs and whole worlds share: the installed prefix, the programs in
//! C, the simulated ranks, the hosts that are namespaces. The tests themselves are in `tests/`.

pub mod callgrind;
pub mod families;
pub mod firewall;
pub mod flood;
pub mod hosts;
pub mod networks;
pub mod open_sockets;
pub mod peers;
pub mod prefix;
pub mod programs;
pub mod sim;
pub mod traffic;
