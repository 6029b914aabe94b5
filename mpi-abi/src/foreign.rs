//! What the faces of the two foreign ABIs have in common: conversion by generated tables.
//!
//! Ranks and tags are converted by permutations, so that a status comes back as the program filled
//! it, whatever it wrote there: the number that means something on one side alone becomes one that
//! means nothing on the other.

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

/// The number among those of the special ranks in the core that is none of them.
const NO_RANK: i32 = -2;

impl Ranks {
    /// The same in this ABI, where the special ranks are three of −4 to −1 as well.
    const fn no_rank(self) -> i32 {
        -1 - 2 - 3 - 4 - self.any_source - self.proc_null - self.root
    }

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
        } else if rank == self.no_rank() {
            NO_RANK
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
            NO_RANK => self.no_rank(),
            _ => rank,
        }
    }
}

/// The core's value of a tag, and as well the face's value of one of the core: each side's wildcard
/// changes places with the other's.
#[inline]
pub const fn tag(any_tag: i32, tag: i32) -> i32 {
    if tag >= 0 {
        tag
    } else if tag == any_tag {
        core::ANY_TAG
    } else if tag == core::ANY_TAG {
        any_tag
    } else {
        tag
    }
}

/// Exports data by whose address Fortran programs name a special value: common blocks and variables of modules. A
/// program may define one itself, and then its own counts.
#[macro_export]
macro_rules! fortran_blocks {
    ($($name:ident: $type:ty = $zero:expr;)*) => {
        $(
            #[allow(non_upper_case_globals)]
            #[unsafe(no_mangle)]
            pub(crate) static mut $name: $type = $zero;
        )*
    };
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
            $crate::foreign::tag($tables::ANY_TAG as i32, tag)
        }

        #[inline]
        fn tag_out(tag: i32) -> i32 {
            $crate::foreign::tag($tables::ANY_TAG as i32, tag)
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
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_ranks_go_both_ways_and_no_other_becomes_one() {
        let mpich = Ranks { any_source: -2, proc_null: -1, root: -3 };
        let openmpi = Ranks { any_source: -1, proc_null: -2, root: -4 };
        for ranks in [mpich, openmpi] {
            for rank in [core::ANY_SOURCE, core::PROC_NULL, core::ROOT, 0, 5, i32::MAX] {
                assert_eq!(ranks.to_core(ranks.to_face(rank)), rank);
            }
            for rank in -6..1 {
                assert_eq!(ranks.to_face(ranks.to_core(rank)), rank);
            }
            assert_eq!(ranks.to_core(-5), -5);
        }
        assert_eq!(mpich.to_core(-4), NO_RANK);
        assert_eq!(openmpi.to_core(-3), NO_RANK);
    }

    #[test]
    fn the_core_s_wildcard_is_no_tag_of_another_abi() {
        assert_eq!(tag(-1, -1), core::ANY_TAG);
        assert_eq!(tag(-1, core::ANY_TAG), -1);
        assert_eq!(tag(-1, 7), 7);
    }
}
