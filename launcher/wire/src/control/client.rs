//! A rank's end of the control socket.

use super::{Face, Frame, VARIABLE};
use crate::Socket;
use std::io;
use std::os::fd::RawFd;

/// Sends frames to the launcher. Where there is none, or it has gone, nothing is sent and the
/// caller is told so: what must reach the user is then the caller's to print.
#[derive(Debug)]
pub struct Client {
    socket: Socket,
}

impl Client {
    /// The control socket that the environment names, if our own launcher started this job.
    /// `lookup` reads an environment variable; `which` tells the socket apart from what was opened
    /// since under its number.
    pub fn from_env(
        lookup: &dyn Fn(&str) -> Option<String>,
        which: Option<u64>,
    ) -> io::Result<Option<Client>> {
        let Some(text) = lookup(VARIABLE) else { return Ok(None) };
        let number = text.parse().map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
        Ok(Some(Client { socket: Socket::inherited(number, which)? }))
    }

    /// Wraps a connected packet socket.
    pub fn new(socket: Socket) -> Client {
        Client { socket }
    }

    /// Introduces this process; the first frame of a connection.
    pub fn hello(&self, rank: u32, face: Face) -> bool {
        self.send(&Frame::Hello { rank, pid: std::process::id(), face })
    }

    /// Whether the launcher has asked what this rank is doing since this was last called. Does not
    /// wait; one system call, for a wait that has left its spin phase.
    pub fn is_asked(&self) -> bool {
        let mut packet = [0; 64];
        let n = self.socket.receive_now(&mut packet).unwrap_or(0);
        Frame::decode(&packet[..n]) == Ok(Frame::RollCallRequest)
    }

    /// Waits until the launcher has ended this process, or is itself gone.
    pub fn await_end(&self) {
        let mut packet = [0; 64];
        // What it asks meanwhile this process has no answer to.
        while self.socket.receive(&mut packet).is_ok_and(|n| n > 0) {}
    }

    /// The descriptor, which becomes readable when the launcher asks something.
    pub fn raw(&self) -> RawFd {
        self.socket.raw()
    }

    /// Sends one frame; false when the launcher can no longer be reached.
    pub fn send(&self, frame: &Frame) -> bool {
        self.socket.send_all(&frame.encode()).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::OwnedFd;
    use std::os::unix::net::{UnixDatagram, UnixStream};

    #[test]
    fn frames_arrive_one_by_one_and_a_lost_launcher_is_told() {
        let (ours, theirs) = UnixDatagram::pair().unwrap();
        let client = Client::new(Socket::from(OwnedFd::from(theirs)));
        assert!(client.hello(3, Face::Mpich));
        assert!(client.send(&Frame::InitSeen));
        let mut packet = [0; 256];
        let n = ours.recv(&mut packet).unwrap();
        let pid = std::process::id();
        let hello = Frame::Hello { rank: 3, pid, face: Face::Mpich };
        assert_eq!(Frame::decode(&packet[..n]), Ok(hello));
        let n = ours.recv(&mut packet).unwrap();
        assert_eq!(Frame::decode(&packet[..n]), Ok(Frame::InitSeen));
        assert!(!client.is_asked());
        ours.send(&Frame::RollCallRequest.encode()).unwrap();
        assert!(client.is_asked() && !client.is_asked());
        ours.send(b"something else").unwrap();
        assert!(!client.is_asked());
        drop(ours);
        assert!(!client.is_asked());
        assert!(!client.send(&Frame::FinalizeSeen));
    }

    #[test]
    fn the_end_is_awaited_through_questions_and_comes_with_the_launcher() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (ours, theirs) = (OwnedFd::from(ours), OwnedFd::from(theirs));
        let launcher = Socket::from(ours);
        launcher.send_all(&Frame::RollCallRequest.encode()).unwrap();
        let waiting = std::thread::spawn(|| Client::new(Socket::from(theirs)).await_end());
        drop(launcher);
        waiting.join().unwrap();
    }

    #[test]
    fn no_variable_no_client() {
        assert!(Client::from_env(&|_| None, None).unwrap().is_none());
        assert!(Client::from_env(&|_| Some("many".into()), None).is_err());
        assert!(Client::from_env(&|_| Some("999999".into()), None).is_err());
    }
}
