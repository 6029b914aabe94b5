//! Ranks that have lost the sockets which were left open for them, and call at this host's address.
//!
//! In: datagrams from anybody. Out: two new sockets for a process that takes its rank's place, or
//! why it cannot. It may where no process of the rank is connected that uses MPI.

use crate::node::Node;
use crate::source::Source;
use crate::sys::{self, Interest};
use launch_wire::address::{Answer, QUESTION_MAX, Question};
use launch_wire::{Arrival, is_of_trust};
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// Datagrams taken in one look.
const QUESTIONS_PER_LOOK: usize = 64;

impl Node<'_> {
    /// Answers those who have called.
    pub(crate) fn hear_callers(&mut self) {
        let mut datagram = [0; QUESTION_MAX];
        for _ in 0..QUESTIONS_PER_LOOK {
            let Some(recovery) = &self.recovery else { return };
            let Ok(arrival) = recovery.socket.receive_now(&mut datagram) else { return };
            self.answer_caller(&datagram[..arrival.len], &arrival);
        }
    }

    /// Answers one of them; a stranger gets no answer.
    fn answer_caller(&mut self, datagram: &[u8], arrival: &Arrival) {
        let Some(recovery) = &self.recovery else { return };
        let Some(question) = Question::from_bytes(datagram, &recovery.key) else { return };
        let admitted = match is_of_trust(arrival.uid) {
            true => self.admit(question.rank as usize),
            false => Err("it runs as another user than mpirun".to_string()),
        };
        let (answer, sockets) = match admitted {
            Ok(sockets) => (Answer::Sockets, Some(sockets)),
            Err(why) => (Answer::Refused(why), None),
        };
        let sockets: Vec<_> = sockets.iter().flatten().map(AsFd::as_fd).collect();
        let Some(recovery) = &self.recovery else { return };
        let datagram = question.answer(&recovery.key, &answer);
        // Who does not wait for the answer any more is missed as one who has closed its sockets.
        let _ = recovery.socket.send_now(&arrival.from, &datagram, &sockets);
    }

    /// New sockets for a process that is to be `rank` from now on.
    fn admit(&mut self, rank: usize) -> Result<[OwnedFd; 2], String> {
        let index = self.at(rank).ok_or("that rank does not run on this host")?;
        // What was said, and who has gone, counts before.
        self.hear_control(index);
        self.hear_pmi(index);
        let member = &self.members[index];
        if !member.running {
            return Err("the process that mpirun started as that rank has ended".to_string());
        }
        if member.connected {
            return Err("another process is connected to mpirun as that rank".to_string());
        }
        self.connect_anew(index).map_err(|error| format!("mpirun has no sockets for it: {error}"))
    }

    fn connect_anew(&mut self, index: usize) -> io::Result<[OwnedFd; 2]> {
        let [pmi, their_pmi] = sys::socket_pair(false)?;
        let [control, their_control] = sys::socket_pair(true)?;
        self.epoll.add(&pmi, Source::Pmi(index).token(), Interest::Read)?;
        self.epoll.add(&control, Source::Control(index).token(), Interest::Read)?;
        let member = &mut self.members[index];
        (member.pmi, member.control) = (Some(pmi), Some(control));
        member.buffer = Default::default();
        member.connected = true;
        // It calls since it begins MPI: if it goes without a word now, it is missed.
        self.inside(index, true);
        Ok([their_pmi, their_control])
    }
}
