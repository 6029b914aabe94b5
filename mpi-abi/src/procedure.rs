//! The procedures of MPI as a value: what messages, the roll call and the entry points name.
//!
//! The enumeration and its tables are generated from `mpi-abi/api`.

mod generated {
    include!(concat!(env!("OUT_DIR"), "/procedures.rs"));

    impl Procedure {
        /// The C name, as in `MPI_Comm_split`.
        #[inline]
        pub fn name(self) -> &'static str {
            NAMES[self as usize]
        }

        /// The number by which a roll call names it; 0 is none.
        #[inline]
        pub fn number(self) -> u16 {
            self as u16 + 1
        }

        /// The C name of the procedure with this [`Procedure::number`].
        pub fn name_of(number: u16) -> Option<&'static str> {
            NAMES.get(usize::from(number).checked_sub(1)?).copied()
        }

        /// The standard's names of its C parameters, in their order.
        #[inline]
        pub fn params(self) -> &'static [&'static str] {
            PARAMETERS[self as usize]
        }

        /// Whether it belongs to the tool information interface, whose errors are returned and
        /// never given to an error handler (MPI-5.0 §15.3.10).
        #[inline]
        pub fn is_tool(self) -> bool {
            self.name().starts_with("MPI_T_")
        }
    }
}

pub use generated::Procedure;

#[cfg(test)]
mod tests {
    use super::Procedure;

    #[test]
    fn names_and_parameters_belong_together() {
        assert_eq!(Procedure::Send.name(), "MPI_Send");
        let named = ["buf", "count", "datatype", "dest", "tag", "comm"];
        assert_eq!(Procedure::Send.params(), named);
        assert_eq!(Procedure::Wtime.name(), "MPI_Wtime");
        assert!(Procedure::Wtime.params().is_empty());
        assert!(Procedure::TInitThread.is_tool() && !Procedure::TypeSize.is_tool());
    }
}
