//! One frame: length u32 (all of the frame), version u8, kind u8, two zero bytes, then the fields
//! of the kind, little-endian; texts are UTF-8 and take the rest of the frame.

use super::dying::{self, Fault, Trail};
use super::field::{FRAME_MAX, FrameError, HEADER, VERSION, number, take};
use std::fmt;

/// In a roll call: no certain rank is waited for.
const NOBODY: u32 = u32::MAX;
/// In a roll call: something is on its way.
const UNBALANCED: u32 = u32::MAX;

/// The binary interface that a rank's program was built for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Face {
    /// `libmpi_abi.so.1`, the ABI of MPI-5.0.
    Standard = 0,
    /// `libmpi.so.12`, the ABI of MPICH, Intel MPI and MVAPICH.
    Mpich = 1,
    /// `libmpi.so.40`, the ABI of Open MPI.
    OpenMpi = 2,
}

impl Face {
    fn from_code(code: u8) -> Option<Face> {
        [Face::Standard, Face::Mpich, Face::OpenMpi].into_iter().find(|f| *f as u8 == code)
    }
}

impl fmt::Display for Face {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Face::Standard => "the MPI-5.0 standard ABI (libmpi_abi.so.1)",
            Face::Mpich => "the MPICH ABI (libmpi.so.12)",
            Face::OpenMpi => "the Open MPI ABI (libmpi.so.40)",
        })
    }
}

/// What a rank and its launcher tell each other; all but the question go to the launcher.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// The library is loaded and knows its place.
    Hello {
        /// The rank in the job.
        rank: u32,
        /// The process, which need not be the one that the launcher started.
        pid: u32,
        /// The face that the program uses.
        face: Face,
    },
    /// MPI_Init (or the first session) has begun.
    InitSeen,
    /// MPI_Finalize (or the end of the last session) has been reached.
    FinalizeSeen,
    /// The whole job is to end, by MPI_Abort or an error; the launcher prints the reason that it hears first.
    AbortRequest {
        /// The exit status asked for.
        code: i32,
        /// One sentence, or nothing.
        text: String,
    },
    /// The same by a rank that only knows of the failure of another one, whose own words count for more.
    SecondaryError {
        /// The exit status asked for.
        code: i32,
        /// One sentence.
        text: String,
    },
    /// The whole job is to end because this rank cannot reach another one.
    Unreached {
        /// The rank that cannot be reached.
        peer: u32,
        /// The exit status asked for.
        code: i32,
        /// One sentence.
        text: String,
    },
    /// This rank's lines of the table that `mpirun --report` prints.
    ReportTable {
        /// The lines.
        text: String,
    },
    /// What this rank is doing, for a hang report.
    RollCall {
        /// A number that stays the same as long as nothing moves.
        moved: u64,
        /// The rank that it waits for, where it is a certain one.
        awaited: Option<u32>,
        /// Messages sent less messages that came, modulo 2¹⁶; none if something is on its way.
        balance: Option<u16>,
        /// One line.
        text: String,
    },
    /// The launcher asks for a [`Frame::RollCall`].
    RollCallRequest,
    /// A fatal signal is about to end this rank. It comes twice: the second time with the calls, whose
    /// search may fail where the stack is damaged.
    Dying {
        /// The signal.
        fault: Fault,
        /// The calls in which it found the program.
        trail: Trail,
    },
}

impl Frame {
    /// Whether it asks for the end of the job, by a rank that knows of the reason itself.
    pub fn ends_job(&self) -> bool {
        matches!(self, Frame::AbortRequest { .. } | Frame::Unreached { .. })
    }

    /// The frame as one packet.
    pub fn encode(&self) -> Vec<u8> {
        if let Frame::Dying { fault, trail } = self {
            let mut bytes = vec![0; dying::ROOM + trail.maps.len()];
            let length = dying::encode(fault, trail.lent(), &mut bytes);
            bytes.truncate(length);
            return bytes;
        }
        let mut bytes = vec![0; HEADER];
        bytes[4] = VERSION;
        bytes[5] = self.kind();
        match self {
            Frame::Hello { rank, pid, face } => {
                bytes.extend_from_slice(&rank.to_le_bytes());
                bytes.extend_from_slice(&pid.to_le_bytes());
                bytes.push(*face as u8);
            }
            Frame::InitSeen
            | Frame::FinalizeSeen
            | Frame::RollCallRequest
            | Frame::Dying { .. } => {}
            Frame::AbortRequest { code, text } | Frame::SecondaryError { code, text } => {
                bytes.extend_from_slice(&code.to_le_bytes());
                push_text(&mut bytes, text);
            }
            Frame::Unreached { peer, code, text } => {
                bytes.extend_from_slice(&peer.to_le_bytes());
                bytes.extend_from_slice(&code.to_le_bytes());
                push_text(&mut bytes, text);
            }
            Frame::ReportTable { text } => push_text(&mut bytes, text),
            Frame::RollCall { moved, awaited, balance, text } => {
                bytes.extend_from_slice(&moved.to_le_bytes());
                bytes.extend_from_slice(&awaited.unwrap_or(NOBODY).to_le_bytes());
                let balance = balance.map_or(UNBALANCED, u32::from);
                bytes.extend_from_slice(&balance.to_le_bytes());
                push_text(&mut bytes, text);
            }
        }
        let length = u32::try_from(bytes.len()).expect("a frame is at most FRAME_MAX long");
        bytes[..4].copy_from_slice(&length.to_le_bytes());
        bytes
    }

    fn kind(&self) -> u8 {
        match self {
            Frame::Hello { .. } => 1,
            Frame::InitSeen => 2,
            Frame::FinalizeSeen => 3,
            Frame::AbortRequest { .. } => 4,
            Frame::SecondaryError { .. } => 5,
            Frame::ReportTable { .. } => 6,
            Frame::RollCall { .. } => 7,
            Frame::RollCallRequest => 8,
            Frame::Unreached { .. } => 10,
            Frame::Dying { .. } => dying::KIND,
        }
    }

    /// Reads one packet.
    pub fn decode(packet: &[u8]) -> Result<Frame, FrameError> {
        let (length, rest) = take::<4>(packet)?;
        let (header, mut body) = take::<4>(rest)?;
        if u32::from_le_bytes(length) as usize != packet.len() || packet.len() > FRAME_MAX {
            return Err(FrameError::Length);
        }
        let [version, kind, pad0, pad1] = header;
        if version != VERSION {
            return Err(FrameError::Version(version));
        }
        if pad0 | pad1 != 0 {
            return Err(FrameError::Unknown(pad0 | pad1));
        }
        let frame = match kind {
            1 => {
                let (rank, pid) = (number(&mut body)?, number(&mut body)?);
                let &[face] = body else { return Err(FrameError::Length) };
                body = &[];
                let face = Face::from_code(face).ok_or(FrameError::Unknown(face))?;
                Frame::Hello { rank, pid, face }
            }
            2 => Frame::InitSeen,
            3 => Frame::FinalizeSeen,
            4 => {
                let code = number(&mut body)?.cast_signed();
                Frame::AbortRequest { code, text: text(&mut body)? }
            }
            5 => {
                let code = number(&mut body)?.cast_signed();
                Frame::SecondaryError { code, text: text(&mut body)? }
            }
            6 => Frame::ReportTable { text: text(&mut body)? },
            7 => {
                let (moved, rest) = take::<8>(body)?;
                body = rest;
                let awaited = Some(number(&mut body)?).filter(|rank| *rank != NOBODY);
                let moved = u64::from_le_bytes(moved);
                let balance = match number(&mut body)? {
                    UNBALANCED => None,
                    told => Some(u16::try_from(told).map_err(|_| FrameError::Length)?),
                };
                Frame::RollCall { moved, awaited, balance, text: text(&mut body)? }
            }
            8 => Frame::RollCallRequest,
            10 => {
                let peer = number(&mut body)?;
                let code = number(&mut body)?.cast_signed();
                Frame::Unreached { peer, code, text: text(&mut body)? }
            }
            dying::KIND => {
                let (fault, trail) = dying::decode(std::mem::take(&mut body))?;
                Frame::Dying { fault, trail }
            }
            other => return Err(FrameError::Unknown(other)),
        };
        if body.is_empty() { Ok(frame) } else { Err(FrameError::Length) }
    }
}

/// Appends what fits of `text`, cut between characters.
fn push_text(bytes: &mut Vec<u8>, text: &str) {
    let mut end = text.len().min(FRAME_MAX - bytes.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    bytes.extend_from_slice(&text.as_bytes()[..end]);
}

fn text(body: &mut &[u8]) -> Result<String, FrameError> {
    let text = std::str::from_utf8(body).map_err(|_| FrameError::NotText)?;
    *body = &[];
    Ok(text.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_frame() -> impl Strategy<Value = Frame> {
        let face = prop_oneof![Just(Face::Standard), Just(Face::Mpich), Just(Face::OpenMpi)];
        let text = "\\PC{0,200}";
        prop_oneof![
            (any::<u32>(), any::<u32>(), face).prop_map(|(rank, pid, face)| Frame::Hello {
                rank,
                pid,
                face
            }),
            Just(Frame::InitSeen),
            Just(Frame::FinalizeSeen),
            (any::<i32>(), text).prop_map(|(code, text)| Frame::AbortRequest { code, text }),
            (any::<i32>(), text).prop_map(|(code, text)| Frame::SecondaryError { code, text }),
            (any::<u32>(), any::<i32>(), text).prop_map(|(peer, code, text)| Frame::Unreached {
                peer,
                code,
                text
            }),
            text.prop_map(|text| Frame::ReportTable { text }),
            (any::<u64>(), proptest::option::of(0..NOBODY), any::<Option<u16>>(), text).prop_map(
                |(moved, awaited, balance, text)| Frame::RollCall { moved, awaited, balance, text }
            ),
            Just(Frame::RollCallRequest),
            (
                any::<i32>(),
                any::<u64>(),
                proptest::collection::vec(any::<u64>(), 0..5),
                any::<[u8; 9]>()
            )
                .prop_map(|(signal, address, calls, maps)| Frame::Dying {
                    fault: Fault { signal, address, ..Fault::default() },
                    trail: Trail { calls, maps: maps.to_vec(), ..Trail::default() },
                }),
        ]
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        let text = "µ".repeat(FRAME_MAX);
        let (awaited, balance, copy) = (None, None, text.clone());
        let packet = Frame::RollCall { moved: 0, awaited, balance, text: copy }.encode();
        let Ok(Frame::RollCall { text: got, .. }) = Frame::decode(&packet) else { panic!() };
        assert!(text.starts_with(&got) && packet.len() > FRAME_MAX - 4);
    }

    #[test]
    fn other_versions_are_named() {
        let mut packet = Frame::InitSeen.encode();
        packet[4] = 9;
        assert_eq!(Frame::decode(&packet), Err(FrameError::Version(9)));
    }

    proptest! {
        #[test]
        fn frames_come_back(frame in any_frame()) {
            prop_assert_eq!(Frame::decode(&frame.encode()), Ok(frame));
        }

        #[test]
        fn any_bytes_decode_or_fail(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            if let Ok(frame) = Frame::decode(&bytes) {
                prop_assert_eq!(frame.encode(), bytes);
            }
        }

        #[test]
        fn damaged_frames_decode_or_fail(
            frame in any_frame(), at in any::<prop::sample::Index>(), to in any::<u8>(),
            keep in any::<prop::sample::Index>(),
        ) {
            let mut bytes = frame.encode();
            let i = at.index(bytes.len());
            bytes[i] = to;
            let _ = Frame::decode(&bytes);
            prop_assert!(Frame::decode(&bytes[..keep.index(bytes.len())]).is_err());
        }
    }
}
