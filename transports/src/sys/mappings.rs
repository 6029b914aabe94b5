//! What kinds of memory this process has mapped where, by `/proc/self/maps`.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::ops::{ControlFlow, Range};

use launch_wire::control::mapping::Mapping;

/// Bytes of a page of this machine's memory.
pub fn page_bytes() -> usize {
    rustix::param::page_size()
}

/// Goes through the mappings, from low addresses to high ones, until `each` has seen enough.
///
/// # Errors
/// There is no `/proc`.
pub fn walk(mut each: impl FnMut(&Mapping<'_>) -> ControlFlow<()>) -> io::Result<()> {
    let mut lines = BufReader::new(File::open("/proc/self/maps")?);
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line)? > 0 {
        let mapping = Mapping::read(line.trim_ascii_end());
        if mapping.is_some_and(|mapping| each(&mapping).is_break()) {
            break;
        }
        line.clear();
    }
    Ok(())
}

/// Whether the pages are this process's alone, and no file's: nobody can take them away but by its mappings.
pub fn is_anonymous(mapping: &Mapping<'_>) -> bool {
    let path = mapping.path;
    let is_named = || [&b"[heap]"[..], b"[stack", b"[anon:"].iter().any(|n| path.starts_with(n));
    mapping.is_private && (path.is_empty() || is_named())
}

/// Anonymous memory in which a range of whole pages lies.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ground {
    /// The part of the range that is anonymous.
    pub part: Range<usize>,
    /// The mappings that hold this part.
    pub whole: Range<usize>,
}

/// The ground of a range of whole pages, if it is anonymous memory, all of it, or all but the first page where that
/// is the last one of a program's initialized data: what is declared without a value begins in that page, as a
/// large static array may.
///
/// # Errors
/// There is no `/proc`.
pub fn ground(range: &Range<usize>, page: usize) -> io::Result<Option<Ground>> {
    let (mut part, mut known) = (range.start, range.start);
    let mut whole: Option<Range<usize>> = None;
    walk(|mapping| {
        let own = mapping.start as usize..mapping.end as usize;
        if own.end <= range.start {
            return ControlFlow::Continue(());
        }
        if own.start > known {
            return ControlFlow::Break(());
        }
        if is_anonymous(mapping) {
            whole = Some(whole.as_ref().map_or(own.start, |before| before.start)..own.end);
        } else {
            let is_data = mapping.is_private && mapping.writes;
            part = own.end;
            if known > range.start || !is_data || part - range.start != page {
                return ControlFlow::Break(());
            }
        }
        known = own.end;
        if known < range.end { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    let is_known = known >= range.end;
    Ok(whole.filter(|_| is_known).map(|whole| Ground { part: part..range.end, whole }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::memory::PAGE;

    struct Pages(usize, usize);

    impl Pages {
        fn new(pages: usize, flags: i32) -> Pages {
            let (len, prot) = (pages * PAGE, libc::PROT_READ | libc::PROT_WRITE);
            let flags = flags | libc::MAP_ANONYMOUS;
            // SAFETY: new memory.
            let at = unsafe { libc::mmap(std::ptr::null_mut(), len, prot, flags, -1, 0) };
            assert_ne!(at, libc::MAP_FAILED);
            Pages(at.addr(), len)
        }

        fn range(&self) -> Range<usize> {
            self.0..self.0 + self.1
        }
    }

    impl Drop for Pages {
        fn drop(&mut self) {
            // SAFETY: the pages of `new`, which nobody uses any more.
            unsafe { libc::munmap(self.0 as *mut libc::c_void, self.1) };
        }
    }

    fn part(range: &Range<usize>) -> Option<Range<usize>> {
        let ground = ground(range, PAGE).unwrap()?;
        assert!(ground.whole.start <= ground.part.start && ground.part.end <= ground.whole.end);
        Some(ground.part)
    }

    #[test]
    fn private_memory_is_told_from_shared_memory_and_from_none() {
        let own = Pages::new(3, libc::MAP_PRIVATE);
        assert_eq!(part(&own.range()), Some(own.range()));
        let inner = own.0 + PAGE..own.0 + 2 * PAGE;
        assert_eq!(part(&inner), Some(inner));
        // SAFETY: the middle one of these pages, which nobody uses.
        unsafe { libc::munmap((own.0 + PAGE) as *mut libc::c_void, PAGE) };
        assert_eq!(part(&own.range()), None);
        let all = Pages::new(2, libc::MAP_SHARED);
        assert_eq!(part(&all.range()), None);
    }

    #[test]
    fn static_arrays_are_anonymous_but_for_the_page_that_they_begin_in() {
        static mut ARRAY: [u8; 64 * PAGE] = [0; 64 * PAGE];
        let at = (&raw mut ARRAY).addr();
        let range = at / PAGE * PAGE..(at + 64 * PAGE).next_multiple_of(PAGE);
        let part = part(&range).expect("what has no value lies in anonymous memory");
        assert!(part.end == range.end && part.start - range.start <= PAGE);
        let stack = &raw const range;
        let page = stack.addr() / PAGE * PAGE;
        assert!(ground(&(page..page + PAGE), PAGE).unwrap().is_some());
    }
}
