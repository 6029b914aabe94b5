//! What a job hears: the ends of processes, and what ranks say on their two sockets.
//!
//! In: readable sockets and SIGCHLD. Out: answers to the ranks, and entries in the ledger of
//! failures and in the report. The order matters: what a rank said before it ended counts before
//! the way it ended, and a rank that dies counts before one that complains of it.

use crate::job::Job;
use crate::pmi_server::Event;
use crate::sys::{self, End};
use launch_wire::control::{FRAME_MAX, Frame};
use std::time::Duration;

/// How long the end of a process may take to become visible after its sockets were closed.
const DYING: Duration = Duration::from_millis(200);

impl Job<'_> {
    /// Processes have ended: ranks, or descendants that fell to us.
    pub(crate) fn take_ends(&mut self) {
        while let Some((pid, end)) = sys::reap() {
            let Some(rank) = self.ledger.rank_of(pid) else { continue };
            // What a rank said before it ended counts before the way it ended.
            self.hear_control(rank);
            self.hear_pmi(rank);
            if matches!(end, End::Exited(code) if code != 0) {
                self.take_dying(rank);
            }
            self.ledger.ended(rank, end);
        }
        self.look_for_deserters();
    }

    /// A rank reports a failure. Where another one dies at this moment, that is the cause: its sockets
    /// are closed by the kernel before its end can be seen, and its peers may notice that first.
    fn take_dying(&mut self, speaker: usize) {
        if self.ledger.failure().is_some() || self.taking_dying {
            return;
        }
        self.taking_dying = true;
        for rank in (0..self.lines.len()).filter(|&rank| rank != speaker) {
            let hung_up = self.lines[rank].pmi.as_ref().is_none_or(sys::is_hung_up);
            if let Some(pid) = self.ledger.busy(rank).filter(|_| hung_up) {
                sys::await_end(pid, DYING);
                if let Some(end) = sys::reap_now(pid) {
                    // Ranks that all complain at once all leave at once, each with its own words.
                    self.hear_control(rank);
                    self.ledger.ended(rank, end);
                }
            }
        }
        self.taking_dying = false;
    }

    fn look_for_deserters(&mut self) {
        let (server, lines) = (&self.server, &self.lines);
        self.ledger.look_for_deserters(|r| server.waits(r), |r| lines[r].pmi.is_none());
    }

    /// Reads and answers what a rank says on its PMI socket.
    pub(crate) fn hear_pmi(&mut self, rank: usize) {
        let mut chunk = [0; 16 * 1024];
        loop {
            let Some(socket) = &self.lines[rank].pmi else { return };
            match sys::receive(socket, &mut chunk) {
                Ok(None) => return,
                Ok(Some(n)) if n > 0 => self.lines[rank].buffer.push(&chunk[..n]),
                Ok(Some(_)) | Err(_) => {
                    self.lines[rank].pmi = None;
                    return self.look_for_deserters();
                }
            }
            self.answer_pmi(rank);
        }
    }

    fn answer_pmi(&mut self, rank: usize) {
        loop {
            let outcome = match self.lines[rank].buffer.next_line() {
                Ok(None) => return,
                Ok(Some(line)) => self.server.line(rank, line),
                Err(error) => Err(error),
            };
            let outcome = match outcome {
                Ok(outcome) => outcome,
                Err(error) => {
                    self.lines[rank].pmi = None;
                    return self.ledger.garbled(rank, &error.to_string());
                }
            };
            for (to, reply) in outcome.replies {
                let socket = &mut self.lines[to].pmi;
                if socket.as_ref().is_some_and(|socket| !sys::send(socket, reply.as_bytes())) {
                    *socket = None;
                }
            }
            match outcome.event {
                Some(Event::Init) => self.ledger.inside(rank, true),
                Some(Event::Finalize) => self.ledger.inside(rank, false),
                Some(Event::Abort(code)) => {
                    // The reason was sent before this, on the other socket.
                    self.hear_control(rank);
                    self.aborted(rank, code, "");
                }
                None => {}
            }
            self.look_for_deserters();
        }
    }

    /// A rank asks for the end of the job.
    fn aborted(&mut self, rank: usize, code: i32, text: &str) {
        self.take_dying(rank);
        self.ledger.told(rank, code, text);
    }

    /// Reads what a rank says on its control socket.
    pub(crate) fn hear_control(&mut self, rank: usize) {
        let mut packet = vec![0; FRAME_MAX];
        loop {
            let Some(socket) = &self.lines[rank].control else { return };
            let n = match sys::receive(socket, &mut packet) {
                Ok(None) => return,
                Ok(Some(n)) if n > 0 => n,
                Ok(Some(_)) | Err(_) => {
                    self.lines[rank].control = None;
                    self.unanswered.retain(|&asked| asked != rank);
                    return;
                }
            };
            let frame = packet.get(..n).map(Frame::decode);
            match frame {
                Some(Ok(Frame::Hello { face, .. })) => self.report.face(rank, face),
                Some(Ok(Frame::InitSeen)) => {
                    self.ledger.inside(rank, true);
                    self.look_for_deserters();
                }
                Some(Ok(Frame::FinalizeSeen)) => self.ledger.inside(rank, false),
                Some(Ok(Frame::ErrorParagraph { code, text })) => self.aborted(rank, code, &text),
                Some(Ok(Frame::AbortRequest { code, text })) => self.aborted(rank, code, &text),
                Some(Ok(Frame::ReportTable { text })) => self.report.add(rank, &text),
                Some(Ok(Frame::RollCallRequest)) => {}
                Some(Ok(Frame::RollCall { text })) => {
                    self.unanswered.retain(|&asked| asked != rank);
                    let line = format!("mpirun: rank {rank}: {}\n", text.trim_end());
                    self.streams.say(&self.epoll, &line);
                }
                Some(Err(error)) => {
                    self.lines[rank].control = None;
                    return self.ledger.garbled(rank, &error.to_string());
                }
                None => {
                    self.lines[rank].control = None;
                    return self.ledger.garbled(rank, "a control frame is too long");
                }
            }
        }
    }
}
