//! Memory of the library's own that is used again and again, for what is on its way.
//!
//! It begins with a page. What programs move mostly begins with one, too, or 16 bytes behind it, as what the C library
//! gets from the kernel does; and copies by string moves, the kernel's among them, crawl on some processors if they go
//! a few bytes further behind the beginning of a page than they come from.

/// Bytes of a page of the kernel's.
pub const PAGE: usize = 4096;

#[derive(Clone, Copy)]
#[repr(align(4096))]
#[cfg_attr(not(test), expect(dead_code, reason = "used by way of the room's address"))]
struct Page([u8; PAGE]);

/// Memory that grows as it is asked for more.
#[derive(Default)]
pub struct Room(Vec<Page>);

impl Room {
    /// Where at least `bytes` bytes begin, aligned for every type of a program; what was there stays there, though not
    /// where it was.
    #[inline]
    pub fn of(&mut self, bytes: usize) -> *mut u8 {
        let pages = bytes.div_ceil(PAGE);
        if self.0.len() < pages {
            self.0.resize(pages, Page([0; PAGE]));
        }
        self.0.as_mut_ptr().cast()
    }

    /// Where it begins.
    #[inline]
    pub fn as_ptr(&self) -> *const u8 {
        self.0.as_ptr().cast()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_begins_with_a_page_and_keeps_what_it_holds() {
        let mut room = Room::default();
        for bytes in [0, 1, 5000, 4096, 100_000] {
            let at = room.of(bytes);
            assert_eq!(at.addr() % PAGE, 0);
            assert!(room.0.len() * PAGE >= bytes && std::ptr::eq(at, room.as_ptr()));
            if let Some(Page(first)) = room.0.first_mut() {
                assert!(first[0] == 0 || first[0] == 7);
                first[0] = 7;
            }
        }
        assert_eq!(room.0[0].0[..2], [7, 0]);
    }
}
