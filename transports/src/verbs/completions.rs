//! What comes back from devices: completions of work. What they say by themselves is for `events`.
//!
//! A connection that fails is told of at once ([`Completion::Down`]); its queue pairs are put into their error
//! state, so that the device gives back all work that it still holds, and only then is the memory of that work free.

use std::mem::MaybeUninit;
use std::time::Duration;

use rdma_sys::{ibv_wc, ibv_wc_opcode, ibv_wc_status};

use super::connection::State;
use super::core::{Core, EMPTY, SENT};
use super::device::is_active;
use super::objects::BATCH;
use super::trouble::sentence;
use crate::rdma::fabric::Completion;

/// Time in which a device gives back the work of a failed connection, before the connection is taken from it.
const GIVE_BACK: Duration = Duration::from_secs(5);

impl Core {
    /// Takes some completions of a port; whether there were any.
    pub(super) fn poll_port(&mut self, port: usize) -> bool {
        if !self.ports[port].is_well() {
            return false;
        }
        let mut batch = [const { MaybeUninit::uninit() }; BATCH];
        match self.ports[port].cq.poll(&mut batch) {
            Ok(completions) => {
                completions.iter().for_each(|completion| self.take(port, completion));
                !completions.is_empty()
            }
            Err(error) => {
                self.lose_port(port, &error.to_string());
                false
            }
        }
    }

    /// Takes all completions that there are; new buffers for more are posted by nobody meanwhile.
    pub(super) fn drain(&mut self) {
        for port in 0..self.ports.len() {
            let most = self.ports[port].buffers + self.ports[port].credits_max;
            let _ = (0..most / BATCH + 1).take_while(|_| self.poll_port(port)).count();
        }
    }

    #[inline]
    fn take(&mut self, port: usize, completion: &ibv_wc) {
        let is_good = completion.status == ibv_wc_status::IBV_WC_SUCCESS;
        if completion.wr_id & SENT != 0 {
            self.sent(completion, is_good);
        } else {
            self.received(port, completion, is_good);
        }
    }

    /// Work of a send queue has ended.
    fn sent(&mut self, completion: &ibv_wc, is_good: bool) {
        let place = (completion.wr_id >> 40) as usize & 0x3f_ffff;
        let number = (completion.wr_id >> 32) as usize & 0xff;
        let Some(connection) = self.connections.get_mut(place) else { return };
        let Some(rail) = connection.rails.get_mut(number) else { return };
        let port = rail.port;
        let news = &mut self.news;
        let retired = rail.account.retire(completion.wr_id as u32, |work| {
            news.push(if is_good { Completion::Done(work) } else { Completion::Failed(work) });
        });
        self.ports[port].credits += retired;
        if !is_good {
            self.fail_by(place, port, completion);
        }
    }

    /// A message, or a write with an immediate value, has come.
    fn received(&mut self, port: usize, completion: &ibv_wc, is_good: bool) {
        let place = self.of_queue_pair[port].get(completion.qp_num).map(|place| place as usize);
        let work = if completion.wr_id == EMPTY {
            if self.post_empty(port).is_err() {
                self.lose_port(port, "it takes no further buffers");
            }
            None
        } else {
            self.take_posted(completion.wr_id)
        };
        if let (false, Some(place)) = (is_good, place) {
            self.fail_by(place, port, completion);
        }
        let is_live = |place: &usize| {
            let state = self.connections[*place].state;
            is_good && matches!(state, State::Connected | State::Up)
        };
        let Some(place) = place.filter(is_live) else {
            self.news.extend(work.map(Completion::Unused));
            return;
        };
        self.come_up(place);
        let peer = self.connections[place].peer;
        if completion.opcode == ibv_wc_opcode::IBV_WC_RECV_RDMA_WITH_IMM {
            // SAFETY: both forms of this word are numbers; the opcode says that it is an immediate value.
            let immediate = unsafe { completion.imm_data_invalidated_rkey_union.imm_data };
            let immediate = u32::from_be(immediate);
            self.news.push(Completion::Written { peer, immediate, work });
        } else if let Some(work) = work {
            let len = completion.byte_len as usize;
            self.news.push(Completion::Received { peer, work, len });
        }
    }

    /// The peer's queue pairs are connected too.
    pub(super) fn come_up(&mut self, place: usize) {
        let connection = &mut self.connections[place];
        if connection.state == State::Connected {
            connection.state = State::Up;
            self.news.push(Completion::Up(connection.peer));
            self.heard.push(connection.rank);
        }
    }

    /// A completion says that a connection has failed.
    fn fail_by(&mut self, place: usize, port: usize, completion: &ibv_wc) {
        let (settings, rank) = (&self.settings, self.connections[place].rank);
        let patience = format!("{} tries of {:?} at least", settings.retries + 1, settings.timeout);
        let device = &self.ports[port].chosen.device;
        let (status, vendor) = (completion.status, completion.vendor_err);
        let mut why = sentence(status, vendor, rank, device, &patience);
        let number = self.ports[port].chosen.port;
        if !is_active(&self.ports[port].context, number) {
            why = format!("{why} (port {number} of {device} is down)");
        }
        self.fail(place, why);
    }

    /// Ends a connection that has failed here, once, and says why. A peer that knows its numbers may have sent
    /// something: so it was one, though nothing has come.
    pub(super) fn fail(&mut self, place: usize, why: String) {
        self.come_up(place);
        self.part(place, why);
    }

    /// Ends a connection of which all has come, once, and says why.
    pub(super) fn part(&mut self, place: usize, why: String) {
        if self.end(place) {
            self.news.push(Completion::Down(self.connections[place].peer, why));
        }
    }

    /// Ends a connection; whether it had not ended.
    pub(super) fn end(&mut self, place: usize) -> bool {
        let now = self.now();
        let connection = &mut self.connections[place];
        if matches!(connection.state, State::Failing(_) | State::Dead) {
            return false;
        }
        connection.state = State::Failing(now);
        for rail in &connection.rails {
            // A device that refuses even this is taken its queue pairs after a while (`clear`).
            let _ = rail.queue_pair.fail();
        }
        self.failed.push(connection.rank);
        true
    }

    /// Looks after connections that fail: whether there are any, and when to look again.
    pub(super) fn clear(&mut self, now: Duration) -> Option<Duration> {
        let mut next: Option<Duration> = None;
        for place in 0..self.connections.len() {
            let State::Failing(since) = self.connections[place].state else { continue };
            if self.connections[place].is_empty() {
                self.connections[place].state = State::Dead;
            } else if now >= since + GIVE_BACK {
                self.cut(place);
            } else {
                next = Some(next.map_or(since + GIVE_BACK, |next| next.min(since + GIVE_BACK)));
            }
        }
        next
    }

    /// Takes the queue pairs of a connection from its device, which then touches no memory of their work any more.
    pub(super) fn cut(&mut self, place: usize) {
        let connection = &mut self.connections[place];
        connection.state = State::Dead;
        for mut rail in connection.rails.drain(..) {
            let number = rail.queue_pair.number();
            drop(rail.queue_pair);
            self.of_queue_pair[rail.port].remove(number);
            let news = &mut self.news;
            let drained = rail.account.drain(|work| news.push(Completion::Failed(work)));
            self.ports[rail.port].credits += drained;
        }
    }
}
