//! The calls that led to a signal, by the tables that compilers write for exceptions.
//!
//! `_Unwind_Backtrace`, through the crate `backtrace`, allocates nothing and takes at most the loader's
//! lock for a look at its list of libraries, recursively.

use launch_wire::control::dying::CALLS_MAX;
use libc::ucontext_t;

use super::surroundings::{Place, Surroundings};

/// Calls that are followed: a recursion without end has hundreds of thousands of them.
const FOLLOWED: u32 = 1 << 20;
/// Of more calls than can be told so many of the innermost are.
const INNERMOST: usize = CALLS_MAX - 16;

/// What the search needs to be prepared, which must not happen in a handler.
pub(super) fn prime() {
    // SAFETY: this thread's own stack, which nobody else unwinds.
    unsafe { backtrace::trace_unsynchronized(|_| false) };
}

/// Calls, the innermost and the outermost.
struct Trail<'a> {
    calls: &'a mut [u64],
    seen: usize,
}

impl Trail<'_> {
    /// The next one outwards. Beyond the innermost, the room is a ring.
    fn push(&mut self, call: u64) {
        self.calls[place_of(self.seen)] = call;
        self.seen += 1;
    }
}

fn place_of(number: usize) -> usize {
    if number < INNERMOST {
        number
    } else {
        INNERMOST + (number - INNERMOST) % (CALLS_MAX - INNERMOST)
    }
}

impl<'a> Trail<'a> {
    /// The calls in order, after how many some are left out, and how many.
    fn finish(self) -> (&'a [u64], u32, u32) {
        let Trail { calls, seen } = self;
        if seen <= CALLS_MAX {
            return (&calls[..seen], 0, 0);
        }
        let oldest = place_of(seen) - INNERMOST;
        calls[INNERMOST..].rotate_left(oldest);
        (calls, INNERMOST as u32, (seen - CALLS_MAX) as u32)
    }
}

/// Follows the calls from where the signal came, as `calls`; after how many of them others are left
/// out, and how many.
pub(super) fn walk<'a>(
    context: &mut ucontext_t,
    place: &Place,
    around: &Surroundings,
    calls: &'a mut [u64; CALLS_MAX],
) -> (&'a [u64], u32, u32) {
    let mut trail = Trail { calls, seen: 0 };
    let mut begin = place.pc;
    // Whoever jumps to where no code is has been called from a place that is known.
    let jumped = if around.is_code { None } else { leave_nowhere(context, around) };
    if let Some(back) = jumped {
        trail.push(place.pc);
        begin = back;
    }
    // Where the registers are not known, the handler's own calls are told too.
    let (mut found, mut followed) = (begin == 0, 0);
    // SAFETY: this thread's own stack; the handler is above what is unwound.
    unsafe {
        backtrace::trace_unsynchronized(|frame| {
            let call = frame.ip() as u64;
            found |= call == begin;
            if found && call != 0 {
                trail.push(call);
            }
            followed += 1;
            followed < FOLLOWED
        });
    }
    if jumped.is_some() {
        return_to_nowhere(context, place);
    }
    if trail.seen == 0 {
        trail.push(place.pc);
    }
    trail.finish()
}

/// Makes the registers those of the caller, as after a return; its address.
#[cfg(target_arch = "x86_64")]
fn leave_nowhere(context: &mut ucontext_t, around: &Surroundings) -> Option<u64> {
    if !around.has_stack {
        return None;
    }
    let registers = &mut context.uc_mcontext.gregs;
    let stack = registers[libc::REG_RSP as usize];
    // SAFETY: the stack pointer lies in memory that can be read.
    let back = unsafe {
        let place: *const std::ffi::c_void = std::ptr::with_exposed_provenance(stack as usize);
        place.cast::<i64>().read_unaligned()
    };
    registers[libc::REG_RIP as usize] = back;
    registers[libc::REG_RSP as usize] = stack + 8;
    Some(back.cast_unsigned())
}

#[cfg(target_arch = "x86_64")]
fn return_to_nowhere(context: &mut ucontext_t, place: &Place) {
    context.uc_mcontext.gregs[libc::REG_RIP as usize] = place.pc.cast_signed();
    context.uc_mcontext.gregs[libc::REG_RSP as usize] = place.sp.cast_signed();
}

/// Makes the registers those of the caller, as after a return; its address.
#[cfg(target_arch = "aarch64")]
fn leave_nowhere(context: &mut ucontext_t, _: &Surroundings) -> Option<u64> {
    const LINK: usize = 30;
    context.uc_mcontext.pc = context.uc_mcontext.regs[LINK];
    Some(context.uc_mcontext.pc)
}

#[cfg(target_arch = "aarch64")]
fn return_to_nowhere(context: &mut ucontext_t, place: &Place) {
    context.uc_mcontext.pc = place.pc;
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn leave_nowhere(_: &mut ucontext_t, _: &Surroundings) -> Option<u64> {
    None
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn return_to_nowhere(_: &mut ucontext_t, _: &Place) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_calls_the_first_and_the_last_stay() {
        for seen in [1, CALLS_MAX, CALLS_MAX + 1, 10 * CALLS_MAX + 5] {
            let mut calls = [0; CALLS_MAX];
            let mut trail = Trail { calls: &mut calls, seen: 0 };
            (0..seen as u64).for_each(|call| trail.push(call));
            let (told, cut_at, cut) = trail.finish();
            let (cut_at, cut) = (cut_at as usize, cut as usize);
            assert_eq!(told.len() + cut, seen);
            for (place, call) in told.iter().enumerate() {
                let number = if cut > 0 && place >= cut_at { place + cut } else { place };
                assert_eq!(*call, number as u64, "of {seen}");
            }
        }
    }
}
