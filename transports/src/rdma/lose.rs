//! The end of what there is with a peer: it leaves, this process leaves, or the way to it is gone.

use mpi_core::port::{PeerId, Why};

use super::Rdma;
use super::channel::Channel;
use super::fabric::Fabric;
use super::peer::{State, due};
use super::receive::Breach;

/// Looks that find something, in which more comes than completion queues hold.
const GOODBYE_POLLS: u64 = 20_000;

impl<F: Fabric> Rdma<F> {
    /// The fabric has lost a peer.
    pub(super) fn go_down(&mut self, peer: PeerId, how: &str) {
        let Some(to) = self.channel.peer(peer).filter(|to| to.state == State::Up) else { return };
        let (was_up, is_undelivered) = (to.is_up(), to.has_failed || !to.is_flushed());
        if !was_up && self.keeps_unreached {
            let unreached = self.take_unreached(peer, how.to_owned());
            return self.unreached.push(unreached);
        }
        let how = self.channel.out_of_reach(peer, how);
        let why =
            if is_undelivered { Why::Undelivered { how, hint: None } } else { Why::Lost(how) };
        self.part(peer, Some(why));
    }

    /// A peer breaks the rules.
    #[cold]
    pub(super) fn distrust(&mut self, peer: PeerId, breach: Breach) {
        self.channel.fabric.cut(peer);
        self.go_down(peer, breach);
    }

    /// A peer cannot be found, as others have said: nothing comes from or goes to it any more.
    pub fn give_up(&mut self, peer: PeerId) {
        if self.channel.peer(peer).is_some_and(|to| to.state == State::Up) {
            self.channel.fabric.cut(peer);
            self.part(peer, None);
        }
    }

    /// Nothing comes from or goes to a peer any more; the sink hears why, if it does not know.
    #[cold]
    pub(super) fn part(&mut self, peer: PeerId, why: Option<Why>) {
        let Some(to) = self.channel.peers.get(peer).filter(|to| to.state == State::Up) else {
            return;
        };
        (to.state, to.due) = (State::Ending(why), 0);
        to.leaving.clear();
        to.arriving.clear();
        to.rings.out = None;
        self.channel.windows -= usize::from(to.credits.grants.window);
        self.channel.granted -= usize::from(to.credits.grants.outstanding());
        self.channel.sought.retain(|one| *one != peer);
        self.moves.drop_of(peer, &mut self.channel);
        self.landings.shut_out(peer, &mut self.channel);
        self.channel.close_ring(peer);
        self.channel.drop_ahead(peer);
        if self.channel.peers.get(peer).is_some_and(|to| to.moves.under_way == 0) {
            self.channel.tell_end(peer);
        }
    }

    /// Takes leave of everybody with whom there is a connection.
    pub fn leave(&mut self) {
        for peer in self.channel.peers.places() {
            let met = self.channel.peers.get(peer);
            if met.is_some_and(|to| to.state == State::Up && to.is_up()) {
                self.channel.owe(peer, due::GOODBYE);
            }
        }
        self.attend();
    }

    /// Acts on goodbyes, once a look at all completion queues has found nothing, or after so many looks that all is
    /// taken that was there.
    #[cold]
    pub(super) fn end_goodbyes(&mut self, was_quiet: bool) {
        let polls = self.channel.polls;
        let is_over = |(_, at): &(PeerId, u64)| was_quiet || polls - at > GOODBYE_POLLS;
        let over: Vec<_> = self.leavers.extract_if(.., |one| is_over(one)).collect();
        for (peer, _) in over {
            self.channel.answer_goodbye(peer);
            self.part(peer, Some(Why::Finalized));
        }
    }

    /// Whether all have answered that. One that is gone never does: the wait for this needs a bound.
    pub fn has_left(&self) -> bool {
        self.channel.peers.met().all(|to| to.state != State::Up || !to.is_up())
    }
}

impl<F: Fabric> Channel<F> {
    /// A peer takes leave: it hears that all it has sent is here, for which it waits. That its own side is done with
    /// its messages does not say so: where a kernel carries them, they may be lost once it closes its end.
    pub(super) fn answer_goodbye(&mut self, peer: PeerId) {
        if let Some(to) = self.peers.get(peer)
            && to.state == State::Up
            && !to.has_said_goodbye
        {
            to.due = due::GOODBYE;
            // Where there is no room for it, the peer waits no longer than for one that computes.
            let _ = self.say_due(peer);
        }
    }
}
