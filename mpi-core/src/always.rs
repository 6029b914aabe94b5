//! What the functionality needs that is always available (MPI-5.0 §11.4.1): info objects, error
//! handlers, error classes, codes and strings.
//!
//! Any thread may come here at any time, whatever the level of thread support, also while another
//! one is inside a call and has the process to itself (§11.6). So this lies outside of the process,
//! which only knows where, and each table is behind a lock of its own. A lock is held for one
//! look-up or change: never while another one is taken, and never while the program's code runs.

use parking_lot::Mutex;

use crate::errhandler::Errhandlers;
use crate::error_codes::ErrorCodes;
use crate::handle::InfoKind;
use crate::info::Info;
use crate::table::Table;

/// The tables that all threads of a process share.
#[derive(Default)]
pub struct Always {
    /// Info objects.
    pub infos: Mutex<Table<InfoKind, Info>>,
    /// Error handlers.
    pub errhandlers: Mutex<Errhandlers>,
    /// Error classes and codes that the program added, and what was said of errors lately.
    pub error_codes: Mutex<ErrorCodes>,
}
