//! Collective calls that fail together: what went wrong at one process is an error at all.

use super::members::Members;
use crate::error::{Error, ErrorClass, Result};
use crate::port::Port;

impl<P: Port> Members<'_, P> {
    /// All learn whether one of them failed; who has not, fails with the class of the first.
    pub(crate) fn fail_together<T>(&mut self, mine: Result<T>) -> Result<T> {
        let mine = mine.map(|it| (it, 0));
        self.fail_together_or_hear(mine).map(|(it, _)| it)
    }

    /// The same; where nobody failed, all hear the number that rank 0 tells.
    pub(crate) fn fail_together_or_hear<T>(&mut self, mine: Result<(T, u64)>) -> Result<(T, u64)> {
        let (class, told) = match &mine {
            Ok((_, told)) => (0, *told),
            Err(error) => (error.class().0, 0),
        };
        let mut own = [0; 12];
        own[..4].copy_from_slice(&class.to_le_bytes());
        own[4..].copy_from_slice(&told.to_le_bytes());
        let all = self.allgather(&own)?;
        let failed = all.chunks_exact(own.len()).position(|one| one[..4] != [0; 4]);
        match (mine, failed) {
            (Ok(_), Some(rank)) => {
                let at = own.len() * rank;
                let class = i32::from_le_bytes(std::array::from_fn(|i| all[at + i]));
                let text = format!("rank {rank} of the communicator failed; see its message");
                Err(Error::new(ErrorClass(class), text).secondary())
            }
            (mine, _) => {
                let heard = u64::from_le_bytes(std::array::from_fn(|i| all[4 + i]));
                mine.map(|(it, _)| (it, heard))
            }
        }
    }

    /// All must give the same for `param`.
    pub(crate) fn agree_on(&mut self, param: &'static str, value: i64) -> Result<()> {
        let value = value.cast_unsigned();
        let all = self.allgather_words([value])?;
        match all.iter().position(|[other]| *other != value) {
            Some(rank) => {
                let text = format!("is not the same on all processes: rank {rank} gave another");
                Err(Error::param(ErrorClass::NOT_SAME, param, text))
            }
            None => Ok(()),
        }
    }
}
