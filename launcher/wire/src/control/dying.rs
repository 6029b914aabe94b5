//! What a rank tells of the fatal signal that ends it.
//!
//! Written by a signal handler, so nothing here that writes allocates or locks; read by the
//! launcher, which trusts nothing in it.

use super::field::{FRAME_MAX, FrameError, HEADER, VERSION, number, take};
use std::fmt;

/// Calls that are told at most; of more the innermost and the outermost.
pub const CALLS_MAX: usize = 64;

/// How many calls are left out, where nobody knows: they have not been looked for yet.
pub const UNKNOWN: u32 = u32::MAX;

/// The kind of the frame.
pub(super) const KIND: u8 = 9;

/// The signals that are told, all of which write a core file unless somebody handles them.
pub const SIGNALS: [(i32, &str); 5] = [
    (libc::SIGSEGV, "SIGSEGV"),
    (libc::SIGBUS, "SIGBUS"),
    (libc::SIGFPE, "SIGFPE"),
    (libc::SIGILL, "SIGILL"),
    (libc::SIGABRT, "SIGABRT"),
];

/// What the program did to an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Access {
    /// Nobody knows.
    #[default]
    Unknown = 0,
    /// It read there.
    Read = 1,
    /// It wrote there.
    Write = 2,
    /// It went there to execute what is there.
    Execute = 3,
}

/// A fatal signal, as the kernel tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Fault {
    /// Its number.
    pub signal: i32,
    /// What it means (`si_code`).
    pub code: i32,
    /// The address that it is about, or that of the instruction.
    pub address: u64,
    /// What was done there.
    pub access: Access,
    /// The stack had no more room.
    pub overflow: bool,
    /// The process that sent it, where another one did.
    pub sender: u32,
}

/// The calls in which the signal found the program.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Trail {
    /// Addresses of code, the innermost first.
    pub calls: Vec<u64>,
    /// Behind so many of them others are left out.
    pub cut_at: u32,
    /// How many, or [`UNKNOWN`].
    pub cut: u32,
    /// The lines of `/proc/self/maps` that hold them.
    pub maps: Vec<u8>,
}

/// The same, where it may not be copied.
#[derive(Debug, Clone, Copy, Default)]
pub struct TrailRef<'a> {
    /// As in [`Trail`].
    pub calls: &'a [u64],
    /// As in [`Trail`].
    pub cut_at: u32,
    /// As in [`Trail`].
    pub cut: u32,
    /// As in [`Trail`].
    pub maps: &'a [u8],
}

impl Trail {
    /// This trail, lent.
    pub fn lent(&self) -> TrailRef<'_> {
        let Trail { calls, cut_at, cut, maps } = self;
        TrailRef { calls, cut_at: *cut_at, cut: *cut, maps }
    }
}

/// Writes the frame into `packet` and returns its length. What has no room is left out: lines of the
/// maps from the end, then calls.
pub fn encode(fault: &Fault, trail: TrailRef<'_>, packet: &mut [u8]) -> usize {
    let mut at = 0;
    let mut put = |bytes: &[u8]| {
        let fits = packet.get_mut(at..at + bytes.len()).filter(|_| at + bytes.len() <= FRAME_MAX);
        match fits {
            Some(room) => {
                room.copy_from_slice(bytes);
                at += bytes.len();
                true
            }
            None => false,
        }
    };
    let calls = &trail.calls[..trail.calls.len().min(CALLS_MAX)];
    put(&[0, 0, 0, 0, VERSION, KIND, 0, 0]);
    put(&fault.signal.to_le_bytes());
    put(&fault.code.to_le_bytes());
    put(&fault.address.to_le_bytes());
    put(&[fault.access as u8, u8::from(fault.overflow)]);
    put(&fault.sender.to_le_bytes());
    put(&trail.cut_at.to_le_bytes());
    put(&trail.cut.to_le_bytes());
    put(&(calls.len() as u32).to_le_bytes());
    for call in calls {
        put(&call.to_le_bytes());
    }
    for line in trail.maps.split_inclusive(|byte| *byte == b'\n') {
        if !put(line) {
            break;
        }
    }
    let length = (at as u32).to_le_bytes();
    packet[..4].copy_from_slice(&length);
    at
}

/// Room that [`encode`] needs for everything but the maps.
pub const ROOM: usize = HEADER + 4 + 4 + 8 + 2 + 4 + 4 + 4 + 4 + 8 * CALLS_MAX;

/// Reads what stands behind the header.
pub(super) fn decode(mut body: &[u8]) -> Result<(Fault, Trail), FrameError> {
    let mut fault = Fault {
        signal: number(&mut body)?.cast_signed(),
        code: number(&mut body)?.cast_signed(),
        address: long(&mut body)?,
        ..Fault::default()
    };
    let ([access, overflow], rest) = take::<2>(body)?;
    body = rest;
    let known = [Access::Unknown, Access::Read, Access::Write, Access::Execute];
    let is_it = |known: &Access| *known as u8 == access;
    fault.access = known.into_iter().find(is_it).ok_or(FrameError::Unknown(access))?;
    fault.overflow = match overflow {
        0 => false,
        1 => true,
        other => return Err(FrameError::Unknown(other)),
    };
    fault.sender = number(&mut body)?;
    let mut trail =
        Trail { cut_at: number(&mut body)?, cut: number(&mut body)?, ..Trail::default() };
    let calls = number(&mut body)? as usize;
    if calls > CALLS_MAX {
        return Err(FrameError::Length);
    }
    for _ in 0..calls {
        trail.calls.push(long(&mut body)?);
    }
    trail.maps = body.to_vec();
    Ok((fault, trail))
}

fn long(body: &mut &[u8]) -> Result<u64, FrameError> {
    let (bytes, rest) = take::<8>(body)?;
    *body = rest;
    Ok(u64::from_le_bytes(bytes))
}

impl Fault {
    /// The signal's name.
    pub fn name(&self) -> &'static str {
        let named = SIGNALS.iter().find(|(number, _)| *number == self.signal);
        named.map_or("a signal", |(_, name)| *name)
    }

    /// What `si_code` says, where it is one that the kernel gives for a fault of the program's own.
    fn meaning(&self) -> Option<&'static str> {
        Some(match (self.signal, self.code) {
            (libc::SIGSEGV, 1) => "address not mapped",
            (libc::SIGSEGV, 2) => "not allowed by the protection of that memory",
            (libc::SIGSEGV, 3) => "outside of its bounds",
            (libc::SIGSEGV, 4) => "protected by a memory key",
            (libc::SIGBUS, 1) => "misaligned address",
            (libc::SIGBUS, 2) => {
                "no memory behind that address: beyond the end of a mapped file, or no room left"
            }
            (libc::SIGBUS, 3) => "error of the hardware at that address",
            (libc::SIGBUS, 4 | 5) => "the memory itself is damaged",
            (libc::SIGFPE, 1) => "integer division by zero",
            (libc::SIGFPE, 2) => "integer overflow",
            (libc::SIGFPE, 3) => "floating-point division by zero",
            (libc::SIGFPE, 4) => "floating-point overflow",
            (libc::SIGFPE, 5) => "floating-point underflow",
            (libc::SIGFPE, 6) => "inexact floating-point result",
            (libc::SIGFPE, 7) => "invalid floating-point operation",
            (libc::SIGFPE, 8) => "subscript out of range",
            (libc::SIGILL, 1) => "no instruction of this processor",
            (libc::SIGILL, 2) => "illegal operand",
            (libc::SIGILL, 3) => "illegal addressing mode",
            (libc::SIGILL, 4) => "illegal trap",
            (libc::SIGILL, 5 | 6) => "privileged instruction",
            (libc::SIGILL, 7) => "error of a coprocessor",
            (libc::SIGILL, 8) => "error of the internal stack",
            _ => return None,
        })
    }
}

/// `SIGSEGV: it wrote to address 0x10 (address not mapped)`
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fault { signal, code, address, .. } = *self;
        let name = self.name();
        let verb = match self.access {
            Access::Unknown => "used",
            Access::Read => "read",
            Access::Write => "wrote to",
            Access::Execute => "jumped to",
        };
        match (self.meaning(), signal, code) {
            _ if self.overflow => write!(
                f,
                "{name}: the stack overflowed: it {verb} address {address:#x}, below the end of the stack"
            ),
            (Some(why), libc::SIGSEGV | libc::SIGBUS, _) => {
                write!(f, "{name}: it {verb} address {address:#x} ({why})")
            }
            (Some(why), ..) => write!(f, "{name}: {why}, by the instruction at {address:#x}"),
            (None, libc::SIGSEGV | libc::SIGBUS, SI_KERNEL) => write!(
                f,
                "{name}: it used an address that no memory can have (the processor does not say which)"
            ),
            (None, _, SI_KERNEL) => write!(f, "{name}: sent by the kernel"),
            (None, libc::SIGABRT, libc::SI_TKILL) => {
                write!(f, "{name}: the program called abort()")
            }
            (None, _, libc::SI_TKILL) => write!(f, "{name}: the program raised it itself"),
            (None, _, libc::SI_USER | libc::SI_QUEUE) if self.sender == 0 => {
                write!(f, "{name}: the program sent it to itself")
            }
            (None, _, libc::SI_USER | libc::SI_QUEUE) => {
                write!(f, "{name}: sent by process {}", self.sender)
            }
            (None, ..) => write!(f, "{name}: code {code}"),
        }
    }
}

/// The kernel's `si_code` where it does not know more.
const SI_KERNEL: i32 = 0x80;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn faults_are_told_in_words() {
        let fault = Fault {
            signal: libc::SIGSEGV,
            code: 1,
            address: 16,
            access: Access::Write,
            ..Fault::default()
        };
        let text = fault.to_string();
        assert_eq!(text, "SIGSEGV: it wrote to address 0x10 (address not mapped)");
        assert!(Fault { overflow: true, ..fault }.to_string().contains("stack overflowed"));
        let divided = Fault { signal: libc::SIGFPE, code: 1, address: 0x40, ..Fault::default() };
        assert!(
            divided.to_string().contains("integer division by zero, by the instruction at 0x40")
        );
        let sent = Fault { signal: libc::SIGBUS, sender: 77, ..Fault::default() };
        assert_eq!(sent.to_string(), "SIGBUS: sent by process 77");
        let aborted = Fault { signal: libc::SIGABRT, code: libc::SI_TKILL, ..Fault::default() };
        assert_eq!(aborted.to_string(), "SIGABRT: the program called abort()");
    }

    #[test]
    fn what_has_no_room_is_left_out_by_whole_lines() {
        let maps = b"1-2 r-xp 0 0:0 0 /a\n".repeat(10);
        let calls = [7; CALLS_MAX];
        let trail = TrailRef { calls: &calls, maps: &maps, ..TrailRef::default() };
        let mut packet = [0; ROOM + 50];
        let length = encode(&Fault::default(), trail, &mut packet);
        let (_, got) = decode(&packet[HEADER..length]).unwrap();
        assert_eq!((got.calls.len(), got.maps.len()), (CALLS_MAX, 40));
    }

    proptest! {
        #[test]
        fn any_fault_is_told(signal in -1..40, code in -70..200, address: u64, overflow: bool) {
            let fault = Fault { signal, code, address, overflow, ..Fault::default() };
            prop_assert!(!fault.to_string().is_empty());
        }
    }
}
