//! The stack that a handler runs on when the ordinary one has no more room: of the thread that
//! calls `MPI_Init`, since each thread would need its own.

use std::mem::zeroed;
use std::sync::atomic::{AtomicPtr, Ordering};

use libc::c_void;

/// Beside what the kernel puts there: the search for the calls takes some 10 KiB, and a handler of the
/// program that asks for such a stack runs here too.
const BESIDE: usize = 64 << 10;
/// What must not be used, below it.
const GUARD: usize = 4096;

/// The stack that we lent, if we did.
static LENT: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

/// How much the kernel puts there depends on the processor's registers.
fn size() -> usize {
    // SAFETY: a plain question.
    let least = unsafe { libc::getauxval(libc::AT_MINSIGSTKSZ) } as usize;
    (least.max(libc::MINSIGSTKSZ) + BESIDE).next_multiple_of(GUARD)
}

/// Gives this thread a stack for handlers if it has none, and remembers it. Its pages are taken
/// when they are first used.
pub(super) fn lend() {
    // SAFETY: an all-zero stack_t is valid, and the calls only read and write such; the new memory
    // belongs to nobody else, and its guard is the first page of it.
    unsafe {
        let mut now: libc::stack_t = zeroed();
        let asked = libc::sigaltstack(std::ptr::null(), &raw mut now);
        if asked != 0 || now.ss_flags & libc::SS_DISABLE == 0 {
            return;
        }
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_STACK | libc::MAP_NORESERVE;
        let rights = libc::PROT_READ | libc::PROT_WRITE;
        let memory = libc::mmap(std::ptr::null_mut(), GUARD + size(), rights, flags, -1, 0);
        if memory == libc::MAP_FAILED {
            return;
        }
        libc::mprotect(memory, GUARD, libc::PROT_NONE);
        let stack = libc::stack_t { ss_sp: memory.byte_add(GUARD), ss_flags: 0, ss_size: size() };
        match libc::sigaltstack(&raw const stack, std::ptr::null_mut()) {
            0 => LENT.store(memory, Ordering::Release),
            _ => drop_memory(memory),
        }
    }
}

/// Takes it back, if this thread still has it. Otherwise it stays: somebody may be running on it.
pub(super) fn take_back() {
    let lent = LENT.swap(std::ptr::null_mut(), Ordering::AcqRel);
    if lent.is_null() {
        return;
    }
    // SAFETY: as above; the memory is unmapped only when this thread had it and has it no more.
    unsafe {
        let mut now: libc::stack_t = zeroed();
        libc::sigaltstack(std::ptr::null(), &raw mut now);
        if now.ss_sp != lent.byte_add(GUARD) || now.ss_flags != 0 {
            return;
        }
        let none = libc::stack_t { ss_flags: libc::SS_DISABLE, ..now };
        if libc::sigaltstack(&raw const none, std::ptr::null_mut()) == 0 {
            drop_memory(lent);
        }
    }
}

/// Gives the memory of such a stack back.
///
/// # Safety
/// Nobody uses it any more.
unsafe fn drop_memory(memory: *mut c_void) {
    // SAFETY: the caller says so; the length is that of the mapping.
    unsafe { libc::munmap(memory, GUARD + size()) };
}
