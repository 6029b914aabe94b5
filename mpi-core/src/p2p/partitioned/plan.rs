//! What is kept of a partitioned operation from its making on, and what of each of its rounds.

use std::cell::{Cell, OnceCell};
use std::fmt;
use std::ops::Range;
use std::rc::Rc;

use super::channel::Channel;
use crate::datatype::{Packer, Unpacker};
use crate::error::{Error, ErrorClass, Result};
use crate::handle::RequestHandle;
use crate::terms::PeerId;

/// A partitioned operation, to be started.
pub(crate) struct Plan {
    /// Its partitions at this end.
    pub(crate) partitions: u32,
    /// Bytes of all.
    pub(crate) bytes: u64,
    /// The other end, as the program names it.
    pub(crate) rank: i32,
    /// Its tag.
    pub(crate) tag: i32,
    /// The other end; `None` is `MPI_PROC_NULL`.
    pub(crate) peer: Option<PeerId>,
    /// The sender's rank in its group.
    pub(crate) source: i32,
    /// What this end has of its own.
    pub(crate) end: End,
}

/// The two ends.
pub(crate) enum End {
    /// `MPI_Psend_init`.
    Send {
        /// The memory.
        packer: Packer,
        /// What the receiver was told.
        channel: Channel,
    },
    /// `MPI_Precv_init`.
    Receive {
        /// The memory.
        unpacker: Unpacker,
        /// What the sender has told, or why it never will.
        channel: OnceCell<Result<Channel>>,
        /// The receive of that.
        announcement: Cell<RequestHandle>,
    },
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, whither) = match self.end {
            End::Send { .. } => ("send", "to"),
            End::Receive { .. } => ("receive", "from"),
        };
        write!(f, "the partitioned {what} {whither} ")?;
        match self.peer {
            Some(_) => write!(f, "rank {}", self.rank)?,
            None => f.write_str("MPI_PROC_NULL")?,
        }
        write!(f, " with tag {}", self.tag)
    }
}

impl Plan {
    /// A partition by its number, which the program gives as `param`.
    pub(crate) fn partition(&self, number: i32, param: &'static str) -> Result<u32> {
        match u32::try_from(number) {
            Ok(partition) if partition < self.partitions => Ok(partition),
            _ => Err(self.no_such_partition(number, param)),
        }
    }

    #[cold]
    fn no_such_partition(&self, number: i32, param: &'static str) -> Error {
        let has = match self.partitions {
            0 => "no partition".to_owned(),
            1 => "only partition 0".to_owned(),
            partitions => format!("partitions 0 to {}", partitions - 1),
        };
        Error::param(ErrorClass::ARG, param, format!("is {number}, but {self} has {has}"))
    }

    /// The bytes of a partition, of those of all.
    pub(crate) fn bytes_of(&self, partition: u32) -> Range<u64> {
        let bytes = self.bytes / u64::from(self.partitions);
        u64::from(partition) * bytes..(u64::from(partition) + 1) * bytes
    }

    /// The error of a receive whose sender has another number of bytes.
    #[cold]
    pub(crate) fn differs(&self, channel: &Channel) -> Error {
        let chunks = &channel.chunks;
        let (class, hint) = match chunks.bytes() > self.bytes {
            true => (ErrorClass::TRUNCATE, "longer"),
            false => (ErrorClass::COUNT, "shorter"),
        };
        let what = format!(
            "{self} has {} partitions with {} bytes in all, and the send that it matches has {} with {}",
            self.partitions,
            self.bytes,
            chunks.partitions,
            chunks.bytes()
        );
        Error::new(class, what).hint(format!(
            "The send is {hint}: both ends may have other partitions, but not another sum of them (MPI-5.0 §4.2)."
        ))
    }
}

/// A round of a partitioned operation, from its start to its end.
pub(crate) struct Round {
    /// What was started.
    pub(crate) plan: Rc<Plan>,
    /// Of a send, which partitions are ready; of a receive, which chunks are here, once these are known.
    pub(crate) marks: Vec<bool>,
    /// Of a send, how many partitions of each chunk are not ready.
    pub(crate) lacking: Vec<u32>,
    /// Chunks that are not complete; before these are known, one.
    pub(crate) left: u32,
    /// The first failure of any.
    pub(crate) failure: Option<Error>,
}
