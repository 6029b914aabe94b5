//! Collective calls that fail together: what went wrong at one process is an error at all.

use crate::entry::Entry;
use crate::error::{Error, ErrorClass, Result};
use crate::handle::CommHandle;
use crate::port::Port;

impl<P: Port> Entry<'_, P> {
    /// All learn whether one of them failed; who has not, fails with the class of the first.
    pub(crate) fn fail_together<T>(&mut self, comm: CommHandle, mine: Result<T>) -> Result<T> {
        let class = mine.as_ref().err().map_or(0, |error| error.class().0);
        let all = self.allgather_bytes(comm, &class.to_le_bytes())?;
        let failed = all.chunks_exact(4).position(|class| class != [0; 4]);
        match (mine, failed) {
            (Ok(_), Some(rank)) => {
                let class = i32::from_le_bytes(std::array::from_fn(|i| all[4 * rank + i]));
                let text = format!("rank {rank} of the communicator failed; see its message");
                Err(Error::new(ErrorClass(class), text))
            }
            (mine, _) => mine,
        }
    }

    /// All must give the same for `param`.
    pub(crate) fn agree_on(
        &mut self,
        comm: CommHandle,
        param: &'static str,
        value: i64,
    ) -> Result<()> {
        let all = self.allgather_bytes(comm, &value.to_le_bytes())?;
        match all.chunks_exact(8).position(|other| other != value.to_le_bytes()) {
            Some(rank) => {
                let text = format!("is not the same on all processes: rank {rank} gave another");
                Err(Error::param(ErrorClass::NOT_SAME, param, text))
            }
            None => Ok(()),
        }
    }
}
