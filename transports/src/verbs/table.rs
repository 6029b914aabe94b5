//! Whose a queue pair is, by its number: two loads, since it is asked for each message.

/// Numbers have 24 bits: pages of 256.
const PAGE: usize = 256;
const NOBODY: u32 = u32::MAX;

/// A table from numbers of queue pairs to what they belong to.
#[derive(Default)]
pub(super) struct Table {
    pages: Vec<Option<Box<[u32; PAGE]>>>,
}

impl Table {
    pub(super) fn insert(&mut self, number: u32, owner: u32) {
        let (page, place) = (number as usize / PAGE, number as usize % PAGE);
        if self.pages.len() <= page {
            self.pages.resize_with(page + 1, || None);
        }
        self.pages[page].get_or_insert_with(|| Box::new([NOBODY; PAGE]))[place] = owner;
    }

    pub(super) fn remove(&mut self, number: u32) {
        if self.get(number).is_some() {
            self.insert(number, NOBODY);
        }
    }

    #[inline]
    pub(super) fn get(&self, number: u32) -> Option<u32> {
        let page = self.pages.get(number as usize / PAGE)?.as_ref()?;
        Some(page[number as usize % PAGE]).filter(|owner| *owner != NOBODY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_a_map(steps in prop::collection::vec((0u32..1 << 24, 0u32..9, any::<bool>()), 0..60)) {
            let (mut table, mut model) = (Table::default(), std::collections::HashMap::new());
            for &(number, owner, inserts) in &steps {
                if inserts {
                    table.insert(number, owner);
                    model.insert(number, owner);
                } else {
                    table.remove(number);
                    model.remove(&number);
                }
            }
            for (number, ..) in steps {
                prop_assert_eq!(table.get(number), model.get(&number).copied());
            }
        }
    }
}
