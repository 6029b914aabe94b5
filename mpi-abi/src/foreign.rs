//! What the faces of the two foreign ABIs have in common: conversion by generated tables.

use crate::face::FOREIGN_VALUE;
use mpi_core::constants as core;

/// The special ranks of an ABI.
#[derive(Clone, Copy, Debug)]
pub struct Ranks {
    /// `MPI_ANY_SOURCE`.
    pub any_source: i32,
    /// `MPI_PROC_NULL`.
    pub proc_null: i32,
    /// `MPI_ROOT`.
    pub root: i32,
}

impl Ranks {
    /// The core's value of a rank argument: one compare for a plain rank.
    #[inline]
    pub const fn to_core(self, rank: i32) -> i32 {
        if rank >= 0 {
            rank
        } else if rank == self.any_source {
            core::ANY_SOURCE
        } else if rank == self.proc_null {
            core::PROC_NULL
        } else if rank == self.root {
            core::ROOT
        } else if rank >= core::ROOT {
            FOREIGN_VALUE
        } else {
            rank
        }
    }

    /// The face's value of a rank result.
    #[inline]
    pub const fn to_face(self, rank: i32) -> i32 {
        match rank {
            0.. => rank,
            core::ANY_SOURCE => self.any_source,
            core::PROC_NULL => self.proc_null,
            core::ROOT => self.root,
            _ => rank,
        }
    }
}

/// The core's value of a tag argument.
#[inline]
pub const fn tag_to_core(any_tag: i32, tag: i32) -> i32 {
    if tag >= 0 {
        tag
    } else if tag == any_tag {
        core::ANY_TAG
    } else if tag == core::ANY_TAG {
        FOREIGN_VALUE
    } else {
        tag
    }
}

/// Writes those items of `impl Face` that follow from the generated `tables` alone.
#[macro_export]
macro_rules! foreign_face_values {
    ($tables:ident) => {
        const LIMITS: $crate::face::StringLimits = $crate::face::StringLimits {
            error: $tables::MAX_ERROR_STRING as usize,
            object_name: $tables::MAX_OBJECT_NAME as usize,
            processor_name: $tables::MAX_PROCESSOR_NAME as usize,
            library_version: $tables::MAX_LIBRARY_VERSION_STRING as usize,
            port_name: $tables::MAX_PORT_NAME as usize,
            info_key: $tables::MAX_INFO_KEY as usize,
            info_value: $tables::MAX_INFO_VAL as usize,
            datarep: $tables::MAX_DATAREP_STRING as usize,
        };
        const BSEND_OVERHEAD: usize = $tables::BSEND_OVERHEAD as usize;
        const MPI_VERSION: (i32, i32) = ($tables::VERSION as i32, $tables::SUBVERSION as i32);
        // A positive number would promise the standard ABI to whoever asks (mpi4py does).
        const ABI_VERSION: (i32, i32) = (-1, -1);
        const ERR_LASTCODE: i32 = $tables::ERR_LASTCODE as i32;
        const F_STATUS_SIZE: usize = $tables::F_STATUS_SIZE as usize;
        const DISPLACEMENT_CURRENT: i64 = $tables::DISPLACEMENT_CURRENT;

        #[inline]
        fn rank_in(rank: i32) -> i32 {
            RANKS.to_core(rank)
        }

        #[inline]
        fn rank_out(rank: i32) -> i32 {
            RANKS.to_face(rank)
        }

        #[inline]
        fn tag_in(tag: i32) -> i32 {
            $crate::foreign::tag_to_core($tables::ANY_TAG as i32, tag)
        }

        #[inline]
        fn tag_out(tag: i32) -> i32 {
            if tag == $crate::mpi_core::constants::ANY_TAG { $tables::ANY_TAG as i32 } else { tag }
        }

        fn constant_in(group: $crate::face::ConstantGroup, value: i32) -> i32 {
            $crate::values::constant_in(group, $tables::pairs(group), value)
        }

        fn constant_out(group: $crate::face::ConstantGroup, value: i32) -> i32 {
            $crate::values::constant_out(group, $tables::pairs(group), value)
        }

        #[inline]
        fn error_out(class: $crate::mpi_core::error::ErrorClass) -> i32 {
            if class == $crate::mpi_core::error::ErrorClass::SUCCESS {
                return 0;
            }
            $crate::values::error_out($tables::ERRORS, $tables::ERR_LASTCODE as i32, class)
        }

        #[inline]
        fn error_in(code: i32) -> $crate::mpi_core::error::ErrorClass {
            $crate::values::error_in($tables::ERRORS, $tables::ERR_LASTCODE as i32, code)
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_ranks_go_both_ways_and_their_neighbours_are_foreign() {
        let mpich = Ranks { any_source: -2, proc_null: -1, root: -3 };
        let openmpi = Ranks { any_source: -1, proc_null: -2, root: -4 };
        for ranks in [mpich, openmpi] {
            for rank in [core::ANY_SOURCE, core::PROC_NULL, core::ROOT, 0, 5, i32::MAX] {
                assert_eq!(ranks.to_core(ranks.to_face(rank)), rank);
            }
            assert_eq!(ranks.to_core(-5), -5);
        }
        assert_eq!(mpich.to_core(-4), FOREIGN_VALUE);
        assert_eq!(openmpi.to_core(-3), FOREIGN_VALUE);
    }

    #[test]
    fn the_core_s_wildcard_is_no_tag_of_another_abi() {
        assert_eq!(tag_to_core(-1, -1), core::ANY_TAG);
        assert_eq!(tag_to_core(-1, core::ANY_TAG), FOREIGN_VALUE);
        assert_eq!(tag_to_core(-1, 7), 7);
    }
}
