//! From bytes to counts and back: `MPI_Get_count`, `MPI_Get_elements` and
//! `MPI_Status_set_elements` (MPI-5.0 §3.2.5, §5.1.11, §13.3).

use super::Datatype;

impl Datatype {
    /// How many elements of this datatype `bytes` received bytes are; `None` stands for
    /// `MPI_UNDEFINED`.
    pub fn count_in(&self, bytes: u64) -> Option<u64> {
        match self.size {
            0 => (bytes == 0).then_some(0),
            size => bytes.is_multiple_of(size).then_some(bytes / size),
        }
    }

    /// How many basic elements `bytes` received bytes are; `None` stands for `MPI_UNDEFINED`.
    pub fn elements_in(&self, bytes: u64) -> Option<u64> {
        if self.size == 0 {
            return (bytes == 0).then_some(0);
        }
        let (some, rest) = self.signature().elements_in(bytes % self.size);
        let whole = (bytes / self.size).checked_mul(self.elements())?;
        (rest == 0).then_some(whole.checked_add(some)?)
    }

    /// The bytes after which [`Datatype::elements_in`] finds `elements`; `None` if there is no
    /// such number.
    pub fn bytes_of_elements(&self, elements: u64) -> Option<u64> {
        if self.elements() == 0 {
            return (elements == 0).then_some(0);
        }
        let whole = (elements / self.elements()).checked_mul(self.size)?;
        whole.checked_add(self.signature().bytes_of(elements % self.elements()))
    }
}
