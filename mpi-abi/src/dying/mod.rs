//! The last words of a process that a fatal signal ends (decision 33c).
//!
//! In: SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT between `MPI_Init` and `MPI_Finalize`, as far as the
//! program has no handler of its own. Out: what the kernel says of the signal and the addresses of the
//! calls that led there, to whoever can name them; then the signal's default action, as if nobody had
//! handled it. Within the handler only system calls are made and only memory is used that was there
//! before: the signal may have come in the middle of `malloc`.

mod alternate;
mod calls;
mod surroundings;
mod telling;

use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::mem::zeroed;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::time::Duration;

use launch_wire::control::dying::{CALLS_MAX, Fault, ROOM, SIGNALS, TrailRef, UNKNOWN};
use libc::{siginfo_t, ucontext_t};

use surroundings::{Place, Surroundings};

/// The process whose signals are told; 0 when none are. A child that it forks is another one.
static WATCHED: AtomicI32 = AtomicI32::new(0);
/// One thread tells; others that die in the same moment wait for it.
static TELLS: AtomicBool = AtomicBool::new(false);
/// How long they wait, in turns.
const OTHERS_WAIT: (u32, Duration) = (1000, Duration::from_millis(10));

/// Memory of the handler.
struct Room {
    packet: [u8; ROOM + MAPS_MAX],
    /// Lines of the maps that the packet is to hold.
    maps: [u8; MAPS_MAX],
    /// Where they are read to.
    reading: [u8; READING],
    calls: [u64; CALLS_MAX],
}

/// Bytes of lines of the maps: enough for calls that go through a hundred libraries.
const MAPS_MAX: usize = 16 << 10;
/// More than the longest line.
const READING: usize = 8 << 10;

struct Scratch(UnsafeCell<Room>);

// SAFETY: it is used by one thread at most, the one that has set TELLS.
unsafe impl Sync for Scratch {}

static SCRATCH: Scratch = Scratch(UnsafeCell::new(Room {
    packet: [0; ROOM + MAPS_MAX],
    maps: [0; MAPS_MAX],
    reading: [0; READING],
    calls: [0; CALLS_MAX],
}));

/// From now on fatal signals are told, over `control` if our own launcher has started this process.
pub(crate) fn watch(control: Option<RawFd>) {
    telling::prepare(control);
    alternate::lend();
    calls::prime();
    // SAFETY: getpid cannot fail.
    WATCHED.store(unsafe { libc::getpid() }, Ordering::Release);
    for (signal, _) in SIGNALS {
        exchange(signal, libc::SIG_DFL, handler());
    }
}

/// The signals are as they were; a handler that the program has set in between stays.
pub(crate) fn rest() {
    if WATCHED.swap(0, Ordering::AcqRel) == 0 {
        return;
    }
    for (signal, _) in SIGNALS {
        exchange(signal, handler(), libc::SIG_DFL);
    }
    alternate::take_back();
}

fn handler() -> libc::sighandler_t {
    on_signal as *const () as libc::sighandler_t
}

/// Sets the action of `signal` if it is `from` now.
fn exchange(signal: c_int, from: libc::sighandler_t, to: libc::sighandler_t) {
    // SAFETY: an all-zero sigaction is valid; the calls only read and write the two. The handler that is
    // set has the form that SA_SIGINFO asks for, and this library stays loaded.
    unsafe {
        let (mut now, mut new): (libc::sigaction, libc::sigaction) = (zeroed(), zeroed());
        if libc::sigaction(signal, std::ptr::null(), &raw mut now) != 0 || now.sa_sigaction != from
        {
            return;
        }
        new.sa_sigaction = to;
        if to != libc::SIG_DFL {
            new.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            // A fault within the handler is then the end at once.
            SIGNALS.iter().for_each(|(other, _)| {
                libc::sigaddset(&raw mut new.sa_mask, *other);
            });
        }
        libc::sigaction(signal, &raw const new, std::ptr::null_mut());
    }
}

/// The signal handler.
extern "C" fn on_signal(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes a siginfo and a context that are this handler's alone. getpid and
    // nanosleep may be called here. The room is used by who has set TELLS alone, and nobody resets that.
    unsafe {
        if libc::getpid() == WATCHED.load(Ordering::Acquire) {
            if TELLS.swap(true, Ordering::AcqRel) {
                let (turns, turn) = OTHERS_WAIT;
                (0..turns).for_each(|_| telling::sleep(turn));
            } else {
                tell(&mut *SCRATCH.0.get(), signal, &*info, &mut *context.cast());
            }
        }
        end_by(signal, &mut *info);
    }
}

/// Tells the signal twice: before the calls are looked for, which may end by a second fault where
/// the stack is damaged, and with them.
fn tell(room: &mut Room, signal: c_int, info: &siginfo_t, context: &mut ucontext_t) {
    let place = Place::of(signal, info.si_code, context);
    // SAFETY: the kernel fills in an address for faults and a sender for signals that were sent.
    let (address, sender) = unsafe { (info.si_addr() as u64, info.si_pid().cast_unsigned()) };
    let is_sent = info.si_code <= 0;
    let own = WATCHED.load(Ordering::Relaxed).cast_unsigned();
    let mut fault = Fault {
        signal,
        code: info.si_code,
        address: if is_sent { 0 } else { address },
        access: place.access,
        overflow: false,
        sender: if is_sent && sender != own { sender } else { 0 },
    };
    let around = Surroundings::look(&fault, &place, &mut room.reading);
    fault.overflow = around.is_overflow;
    let here = [place.pc];
    let maps = surroundings::copy_lines(&here, &mut room.reading, &mut room.maps);
    let first = TrailRef { calls: &here, cut_at: 1, cut: UNKNOWN, maps };
    telling::tell(&fault, first, &mut room.packet);
    let (calls, cut_at, cut) = calls::walk(context, &place, &around, &mut room.calls);
    let maps = surroundings::copy_lines(calls, &mut room.reading, &mut room.maps);
    telling::tell(&fault, TrailRef { calls, cut_at, cut, maps }, &mut room.packet);
}

/// Has the signal end the process as it would have without us. A fault comes again where the program
/// goes on, with its default action; what was sent is sent once more, and waits until the handler returns.
/// The action may be a handler of the program that has called this one: it would be called again for ever.
fn end_by(signal: c_int, info: &mut siginfo_t) {
    const MEMORY_LATER: c_int = 5;
    // SAFETY: a plain system call that may be made in a handler.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
    let faults = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL].contains(&signal);
    let later = signal == libc::SIGBUS && info.si_code == MEMORY_LATER;
    if faults && info.si_code > 0 && !later {
        return;
    }
    // SAFETY: plain system calls; the kernel reads the siginfo, and lets a process send itself any.
    unsafe {
        let (process, thread) = (libc::getpid(), libc::gettid());
        let info = &raw mut *info;
        if libc::syscall(libc::SYS_rt_tgsigqueueinfo, process, thread, signal, info) != 0 {
            libc::syscall(libc::SYS_tgkill, process, thread, signal);
        }
    }
}
