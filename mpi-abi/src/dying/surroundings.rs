//! Where a fault happened: the registers, and what `/proc/self/maps` says of the addresses.

use launch_wire::control::dying::{Access, Fault};
use launch_wire::control::mapping::Mapping;
use libc::{c_int, ucontext_t};

/// What the registers say.
#[derive(Clone, Copy, Default)]
pub(super) struct Place {
    /// Address of the instruction.
    pub pc: u64,
    /// The stack pointer.
    pub sp: u64,
    /// What it did to the address.
    pub access: Access,
}

impl Place {
    /// Reads them.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn of(signal: c_int, code: c_int, context: &ucontext_t) -> Place {
        const PAGE_FAULT: i64 = 14;
        const BY_WRITING: i64 = 1 << 1;
        const BY_FETCHING: i64 = 1 << 4;
        let register = |number: c_int| context.uc_mcontext.gregs[number as usize];
        let is_page_fault = register(libc::REG_TRAPNO) == PAGE_FAULT && code > 0;
        let access = match register(libc::REG_ERR) {
            _ if !is_page_fault || ![libc::SIGSEGV, libc::SIGBUS].contains(&signal) => {
                Access::Unknown
            }
            error if error & BY_FETCHING != 0 => Access::Execute,
            error if error & BY_WRITING != 0 => Access::Write,
            _ => Access::Read,
        };
        let [pc, sp] =
            [libc::REG_RIP, libc::REG_RSP].map(|number| register(number).cast_unsigned());
        Place { pc, sp, access }
    }

    /// Reads them.
    #[cfg(target_arch = "aarch64")]
    pub(super) fn of(_: c_int, _: c_int, context: &ucontext_t) -> Place {
        let machine = &context.uc_mcontext;
        Place { pc: machine.pc, sp: machine.sp, access: Access::Unknown }
    }

    /// Reads nothing: the registers of this processor have no names here.
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    pub(super) fn of(_: c_int, _: c_int, _: &ucontext_t) -> Place {
        Place::default()
    }
}

/// How far from the end of a stack an overflow leaves the stack pointer, and how far below it a
/// function may write that moves it later.
const NEAR: u64 = 64 << 10;

/// What the addresses of a fault lie in.
#[derive(Clone, Copy, Default)]
pub(super) struct Surroundings {
    /// The instruction lies in code.
    pub is_code: bool,
    /// What the stack pointer points to can be read.
    pub has_stack: bool,
    /// The stack had no more room: what lies above the address is memory, nothing lies there, and the
    /// stack pointer has come to the low end of that memory.
    pub is_overflow: bool,
}

impl Surroundings {
    /// Looks into the maps, of which `reading` holds a part at a time.
    pub(super) fn look(fault: &Fault, place: &Place, reading: &mut [u8]) -> Surroundings {
        let mut survey = Survey::new(fault, place);
        each_line(reading, |line| {
            if let Some(mapping) = Mapping::read(line) {
                survey.take(&mapping);
            }
        });
        survey.conclude()
    }
}

/// Surroundings that become known line by line.
struct Survey {
    address: u64,
    place: Place,
    is_fault: bool,
    /// The address lies in memory.
    lies_in: bool,
    /// Where the memory begins that comes above it.
    above: Option<u64>,
    found: Surroundings,
}

impl Survey {
    fn new(fault: &Fault, place: &Place) -> Survey {
        let is_fault = fault.signal == libc::SIGSEGV && fault.code > 0;
        let (address, place) = (fault.address, *place);
        Survey {
            address,
            place,
            is_fault,
            lies_in: false,
            above: None,
            found: Surroundings::default(),
        }
    }

    /// The next mapping, from low addresses to high ones.
    fn take(&mut self, mapping: &Mapping<'_>) {
        self.found.is_code |= mapping.executes && mapping.holds(self.place.pc);
        self.found.has_stack |= mapping.writes && mapping.holds(self.place.sp);
        self.lies_in |= mapping.is_open && mapping.holds(self.address);
        if self.above.is_none() && mapping.writes && mapping.end > self.address {
            self.above = Some(mapping.start);
        }
    }

    fn conclude(self) -> Surroundings {
        let Place { sp, .. } = self.place;
        let at_the_end = self.above.is_some_and(|start| {
            (NEAR..start.saturating_add(NEAR)).contains(&sp)
                && sp <= self.address.saturating_add(NEAR)
        });
        let is_overflow = self.is_fault && !self.lies_in && at_the_end;
        Surroundings { is_overflow, ..self.found }
    }
}

/// Copies the lines of the maps in which the calls lie.
pub(super) fn copy_lines<'a>(calls: &[u64], reading: &mut [u8], into: &'a mut [u8]) -> &'a [u8] {
    let mut length = 0;
    each_line(reading, |line| {
        let is_hit = |mapping: Mapping<'_>| calls.iter().any(|call| mapping.holds(*call));
        if !Mapping::read(line).is_some_and(is_hit) {
            return;
        }
        if let Some(room) = into.get_mut(length..length + line.len() + 1) {
            room[..line.len()].copy_from_slice(line);
            room[line.len()] = b'\n';
            length += line.len() + 1;
        }
    });
    &into[..length]
}

/// Reads the maps into `reading`, as much as fits at a time, and shows each line.
fn each_line(reading: &mut [u8], mut show: impl FnMut(&[u8])) {
    // SAFETY: plain system calls, which a signal handler may make; the name ends with a zero, and
    // reads go to memory that is ours.
    unsafe {
        let file = libc::open(c"/proc/self/maps".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        if file < 0 {
            return;
        }
        let mut held = 0;
        loop {
            let room = &mut reading[held..];
            let got = libc::read(file, room.as_mut_ptr().cast(), room.len());
            let Ok(got @ 1..) = usize::try_from(got) else { break };
            held = show_lines(reading, held + got, &mut show);
        }
        libc::close(file);
    }
}

/// Shows the whole lines of the first `held` bytes and moves the rest to the front; how much that is.
/// A line that is longer than all room is dropped.
fn show_lines(reading: &mut [u8], held: usize, show: &mut impl FnMut(&[u8])) -> usize {
    let mut begin = 0;
    while let Some(length) = reading[begin..held].iter().position(|byte| *byte == b'\n') {
        show(&reading[begin..begin + length]);
        begin += length + 1;
    }
    if begin == 0 && held == reading.len() {
        return 0;
    }
    reading.copy_within(begin..held, 0);
    held - begin
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "\
        1000-2000 r-xp 00000000 fe:00 12 /bin/wave\n\
        2000-3000 rw-p 00001000 fe:00 12 /bin/wave\n\
        7f0000000000-7f0000001000 ---p 00000000 00:00 0 \n\
        7f0000001000-7f0000800000 rw-p 00000000 00:00 0 \n\
        7ff000000000-7ff000800000 rw-p 00000000 00:00 0 [stack]\n";

    fn look(address: u64, sp: u64) -> Surroundings {
        let fault = Fault { signal: libc::SIGSEGV, code: 1, address, ..Fault::default() };
        let place = Place { pc: 0x1800, sp, ..Place::default() };
        let mut survey = Survey::new(&fault, &place);
        MAPS.lines().for_each(|line| survey.take(&Mapping::read(line.as_bytes()).unwrap()));
        survey.conclude()
    }

    #[test]
    fn an_overflow_is_told_from_a_wild_pointer() {
        let (stack, guard) = (0x7ff0_0000_0000, 0x7f00_0000_0800);
        // The first word below the stack, a big array below it, the guard of a thread's stack.
        assert!(look(stack - 8, stack).is_overflow);
        assert!(look(stack - 0x100_0000, stack - 0x200_0000).is_overflow);
        assert!(look(guard, 0x7f00_0000_1010).is_overflow);
        // Nothing, a wild pointer below the stack, and one in memory, from the middle of the stack.
        for wild in [0, 8, stack - 8, stack + 8] {
            let found = look(wild, stack + 0x40_0000);
            assert!(!found.is_overflow && found.is_code && found.has_stack, "{wild:#x}");
        }
    }

    #[test]
    fn the_maps_of_this_process_are_read_whole_through_a_small_buffer() {
        let here =
            the_maps_of_this_process_are_read_whole_through_a_small_buffer as *const () as u64;
        let (mut reading, mut lines) = ([0; 512], [0; 4096]);
        let line = copy_lines(&[here], &mut reading, &mut lines);
        let mapping = Mapping::read(line.strip_suffix(b"\n").unwrap()).unwrap();
        assert!(mapping.executes && mapping.holds(here) && mapping.path.starts_with(b"/"));
    }

    #[test]
    fn a_line_without_end_is_dropped() {
        let mut reading = *b"one\ntwo\nthree";
        let mut seen = Vec::new();
        let held = show_lines(&mut reading, 13, &mut |line: &[u8]| seen.push(line.to_vec()));
        assert_eq!(
            (seen, &reading[..held]),
            (vec![b"one".to_vec(), b"two".to_vec()], &b"three"[..])
        );
        assert_eq!(show_lines(&mut [b'x'; 8], 8, &mut |_| panic!()), 0);
    }
}
