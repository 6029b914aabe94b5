//! What a host hears of its ranks: the ends of processes, and what ranks say on their two sockets.
//!
//! In: readable sockets and SIGCHLD. Out: answers to the ranks, and news. The order matters: what a rank said before it
//! ended comes before the way it ended, and a rank that dies before one that complains of it.

use crate::node::Node;
use crate::pmi_server::{Event, FINALIZE_ACK};
use crate::sys::{self, End};
use crate::tree::frame::Up;
use launch_wire::control::{FRAME_MAX, Frame as Word};
use std::time::{Duration, Instant};

/// How long those who are done with MPI are held back for others that share their processors. Who leaves because of an
/// error may be waited for, and its end tells so.
const HELD_BACK: Duration = Duration::from_secs(1);

/// How long the end of a process may take to become visible after its sockets were closed.
pub(crate) const DYING: Duration = Duration::from_millis(200);

impl Node<'_> {
    /// Processes have ended: ranks, commands that started agents, or descendants that fell to us.
    pub(crate) fn take_ends(&mut self) {
        while let Some((pid, end)) = sys::reap() {
            if let Some(branch) = self.branches.iter_mut().find(|branch| branch.pid == pid) {
                // Its streams end too, and what it has said is still in them.
                branch.ended = Some(end);
                continue;
            }
            let is_it = |member: &crate::node::Member| member.running && member.pid == pid;
            let Some(index) = self.members.iter().position(is_it) else { continue };
            // What a rank said before it ended counts before the way it ended.
            self.hear_control(index);
            self.hear_pmi(index);
            if matches!(end, End::Exited(code) if code != 0) {
                self.complains(index);
                let member = &self.members[index];
                self.complained |= member.inside || !member.ever;
            }
            self.ended(index, end);
        }
    }

    fn ended(&mut self, index: usize, end: End) {
        self.members[index].running = false;
        self.told.ended(self.site.ranks[index], matches!(end, End::Killed { .. }));
        self.complained |= matches!(end, End::Killed { .. });
        self.news.push_back(Up::Ended { rank: self.site.ranks[index], end });
        self.let_leave();
    }

    /// A rank reports a failure. Where another one dies at this moment, that is the cause: its sockets
    /// are closed by the kernel before its end can be seen, and its peers may notice that first. One that dies in
    /// MPI_Finalize, or right behind it, may have said already that it has left.
    fn complains(&mut self, speaker: usize) {
        if std::mem::replace(&mut self.complained, true) {
            return;
        }
        let until = Instant::now() + DYING;
        let mut silent: Vec<usize> = (0..self.members.len())
            .filter(|&index| {
                let member = &self.members[index];
                let hung_up = member.pmi.as_ref().is_none_or(sys::is_hung_up);
                index != speaker && member.running && member.ever && hung_up
            })
            .collect();
        // Who has left may well go on without MPI for long.
        silent.sort_by_key(|&index| !self.members[index].inside);
        for index in silent {
            let pid = self.members[index].pid;
            sys::await_end(pid, until.saturating_duration_since(Instant::now()));
            if let Some(end) = sys::reap_now(pid) {
                // Ranks that all complain at once all leave at once, each with its own words.
                self.hear_control(index);
                self.ended(index, end);
            }
        }
        self.complained = false;
    }

    /// Reads and answers what a rank says on its PMI socket.
    pub(crate) fn hear_pmi(&mut self, index: usize) {
        let mut chunk = [0; 16 * 1024];
        loop {
            let Some(member) = self.members.get_mut(index) else { return };
            let Some(socket) = &member.pmi else { return };
            match sys::receive(socket, &mut chunk) {
                Ok(None) => return,
                Ok(Some(n)) if n > 0 => member.buffer.push(&chunk[..n]),
                Ok(Some(_)) | Err(_) => return self.close_pmi(index),
            }
            self.answer_pmi(index);
        }
    }

    /// A rank cannot be talked to any more.
    pub(crate) fn close_pmi(&mut self, index: usize) {
        self.members[index].pmi = None;
        self.members[index].connected = false;
        self.news.push_back(Up::Closed { rank: self.site.ranks[index] });
    }

    fn answer_pmi(&mut self, index: usize) {
        let rank = self.site.ranks[index];
        loop {
            let (outcome, line) = match self.members[index].buffer.next_line() {
                Ok(None) => return,
                Ok(Some(line)) => (self.server.line(index, line), line),
                Err(error) => (Err(error), &[][..]),
            };
            let outcome = match outcome {
                Ok(outcome) => outcome,
                Err(error) => {
                    let text = error.to_string();
                    self.news.push_back(Up::Garbled { rank, text });
                    return self.close_pmi(index);
                }
            };
            let name = matches!(outcome.event, Some(Event::Name)).then(|| line.to_vec());
            for (to, reply) in outcome.replies {
                self.reply(to, &reply);
            }
            match outcome.event {
                Some(Event::Init) => {
                    self.members[index].connected = true;
                    self.inside(index, true);
                }
                Some(Event::Finalize { is_awaited }) => {
                    self.members[index].connected = false;
                    self.members[index].leaving = is_awaited;
                    self.leave_by.get_or_insert_with(|| Instant::now() + HELD_BACK);
                    self.inside(index, false);
                }
                Some(Event::Abort(code)) => {
                    // The reason was sent before this, on the other socket.
                    self.hear_control(index);
                    self.complains(index);
                    self.complained = true;
                    self.news.push_back(Up::Abort { rank, code });
                }
                Some(Event::Name) => {
                    self.news.extend(name.map(|line| Up::Name { rank, line }));
                }
                Some(Event::Fence(keys)) => self.news.push_back(Up::Fence(keys)),
                None => {}
            }
            if self.watch {
                self.tell_who_waits();
            }
        }
    }

    /// A rank has begun or ended MPI.
    pub(crate) fn inside(&mut self, index: usize, inside: bool) {
        let member = &mut self.members[index];
        member.inside = inside;
        member.ever |= inside;
        self.news.push_back(Up::Inside { rank: self.site.ranks[index], inside });
        self.let_leave();
    }

    /// Lets those go who are done with MPI. Where ranks share processors they go together: to end a
    /// process takes processor time, which a rank that still works would lack.
    pub(crate) fn let_leave(&mut self) {
        let oversubscribed = self.members.len() > self.site.cpus;
        let late = self.misses || self.leave_by.is_some_and(|time| Instant::now() >= time);
        if oversubscribed
            && !late
            && self.members.iter().any(|member| member.running && member.inside)
        {
            return;
        }
        self.leave_by = None;
        for index in 0..self.members.len() {
            if std::mem::take(&mut self.members[index].leaving) {
                self.reply(index, FINALIZE_ACK);
            }
        }
    }

    /// Says which ranks are in a barrier.
    pub(crate) fn tell_who_waits(&mut self) {
        let ranks: Vec<usize> = self.server.waiting().map(|i| self.site.ranks[i]).collect();
        if !ranks.is_empty() {
            self.news.push_back(Up::Wait { passed: self.passed, ranks });
        }
    }

    /// Reads what a rank says on its control socket.
    pub(crate) fn hear_control(&mut self, index: usize) {
        let mut packet = std::mem::take(&mut self.packet);
        packet.resize(FRAME_MAX, 0);
        self.hear_frames(index, &mut packet);
        self.packet = packet;
    }

    fn hear_frames(&mut self, index: usize, packet: &mut [u8]) {
        let rank = self.site.ranks[index];
        loop {
            let Some(socket) = self.members.get(index).and_then(|m| m.control.as_ref()) else {
                return;
            };
            let n = match sys::receive(socket, packet) {
                Ok(None) => return,
                Ok(Some(n)) if n > 0 => n,
                Ok(Some(_)) | Err(_) => {
                    self.members[index].control = None;
                    return;
                }
            };
            let word = packet.get(..n).map(Word::decode);
            let wrong = match word {
                Some(Ok(Word::InitSeen)) => {
                    self.inside(index, true);
                    continue;
                }
                Some(Ok(Word::FinalizeSeen)) => {
                    self.inside(index, false);
                    continue;
                }
                Some(Ok(Word::RollCallRequest)) => continue,
                Some(Ok(Word::Dying { fault, trail })) => {
                    self.told.hear(rank, fault, trail);
                    continue;
                }
                Some(Ok(word)) => {
                    if word.ends_job() {
                        self.complains(index);
                        self.complained = true;
                    }
                    if matches!(word, Word::SecondaryError { .. }) {
                        self.misses = true;
                        self.let_leave();
                    }
                    self.news.push_back(Up::Said { rank, word });
                    continue;
                }
                Some(Err(error)) => error.to_string(),
                None => "a control frame is too long".to_string(),
            };
            self.members[index].control = None;
            return self.news.push_back(Up::Garbled { rank, text: wrong });
        }
    }
}
