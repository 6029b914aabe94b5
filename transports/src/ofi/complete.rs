//! Completions come from the provider.

use std::mem::MaybeUninit;

use mpi_core::port::PeerId;

use super::bindings::*;
use super::calls;
use super::greet::HELLO_BYTES;
use super::slots::{Slot, What};
use super::stamp::Kind;
use super::{Ofi, Region, Stage, TAKEN};
use crate::rdma::fabric::{Completion, Local, Work};

/// An error's description, with room for what newer libraries add to it.
#[repr(C)]
struct Roomy {
    entry: fi_cq_err_entry,
    more: [u64; 32],
}

/// Room for so many completions.
pub(super) fn room(number: usize) -> Vec<fi_cq_data_entry> {
    let null = std::ptr::null_mut();
    let empty = || fi_cq_data_entry { op_context: null, flags: 0, len: 0, buf: null, data: 0 };
    (0..number).map(|_| empty()).collect()
}

impl Ofi {
    /// Does what waits for room, takes what has completed, and tells it.
    #[inline]
    pub(super) fn look(&mut self, news: &mut Vec<Completion>) {
        self.waiting.was_refused = false;
        if !self.waiting.is_empty() {
            self.say_hellos();
            self.give_all_again();
            self.tell_values();
        }
        let mut entries = std::mem::take(&mut self.entries);
        // SAFETY: the queue is open, and has this format.
        let number = unsafe { calls::read_queue(self.objects.cq(), &mut entries) };
        if number > 0 {
            entries[..number as usize].iter().for_each(|entry| self.take(entry));
        } else if number != -(FI_EAGAIN as isize) {
            self.take_errors(number);
        }
        self.entries = entries;
        news.append(&mut self.news);
    }

    fn take(&mut self, entry: &fi_cq_data_entry) {
        if entry.flags & FI_REMOTE_WRITE != 0 {
            return self.written(entry);
        }
        let Some((what, scratch)) = self.slots.end(entry.op_context.cast::<Slot>()) else {
            return;
        };
        self.account(&what);
        match what {
            What::Receive(None) => self.received_early(entry, scratch[0]),
            What::Receive(Some((buffer, work))) => self.received(entry, buffer, work),
            What::Work(peer, work) | What::Write(peer, work, None) | What::Value(peer, work) => {
                self.end_work(peer, work);
            }
            What::Write(peer, work, Some(value)) => {
                self.waiting.values.push((peer, value, work));
                self.tell_values();
            }
            What::Hello(peer) => self.is_heard(peer),
        }
    }

    /// Work is done, of which nobody knows any more what it was for where its peer is lost.
    #[inline]
    pub(super) fn end_work(&mut self, peer: PeerId, work: Option<Work>) {
        let is_up = self.peers.up(peer).is_some();
        let told = |work| if is_up { Completion::Done(work) } else { Completion::Failed(work) };
        self.news.extend(work.map(told));
    }

    fn account(&mut self, what: &What) {
        if let Some(peer) = what.peer() {
            self.under_way -= 1;
            self.peers.get_mut(peer).under_way -= 1;
        }
    }

    /// Whom a message is of, if it is of this job.
    fn stamp(&self, entry: &fi_cq_data_entry) -> Option<(Kind, u32)> {
        self.stamps.read(entry.data).filter(|_| entry.flags & FI_REMOTE_CQ_DATA != 0)
    }

    /// What came before the user has given a buffer.
    fn received_early(&mut self, entry: &fi_cq_data_entry, word: u64) {
        match self.stamp(entry) {
            Some((Kind::Hello, rank))
                if entry.len == HELLO_BYTES && self.heard_hello(rank, word) => {}
            _ => self.await_another_hello(),
        }
    }

    /// What nobody of this job sent has taken the buffer for the first hello. Once the user has given buffers those
    /// are there, and one that is so short would be in their way.
    fn await_another_hello(&mut self) {
        self.strays += 1;
        if !self.has_buffers
            && let Err(why) = self.await_first_hello()
        {
            tracing::warn!("{why}");
        }
    }

    fn received(&mut self, entry: &fi_cq_data_entry, buffer: Local<Region>, work: Work) {
        let Some((kind, rank)) = self.stamp(entry) else { return self.stray(buffer, work) };
        let word = || {
            let mut word = [0; 8];
            let len = entry.len.min(8);
            // SAFETY: so many bytes of the buffer were written, and it is this fabric's until it is told.
            unsafe { buffer.address.copy_to_nonoverlapping(word.as_mut_ptr(), len) };
            u64::from_ne_bytes(word)
        };
        if kind == Kind::Hello && entry.len == HELLO_BYTES {
            self.strays += u64::from(!self.heard_hello(rank, word()));
            return self.give_again(buffer, work);
        }
        let Some(peer) = self.peers.of_rank(rank).filter(|peer| self.speaks(*peer)) else {
            return self.stray(buffer, work);
        };
        self.news.push(match kind {
            Kind::Immediate => {
                Completion::Written { peer, immediate: word() as u32, work: Some(work) }
            }
            _ => Completion::Received { peer, work, len: entry.len },
        });
    }

    /// A write with its value is in place. It takes a buffer where the provider says that it does.
    fn written(&mut self, entry: &fi_cq_data_entry) {
        let takes_buffer = self.objects.info.get().mode & FI_RX_CQ_DATA != 0;
        let slot = entry.op_context.cast::<Slot>();
        let ended = if takes_buffer { self.slots.end(slot) } else { None };
        let taken = match ended {
            Some((What::Receive(taken), _)) => taken,
            _ => None,
        };
        let told = self.stamps.read_write(entry.data);
        let peer = told.and_then(|(rank, _)| self.peers.of_rank(rank));
        match (told, peer.filter(|peer| self.speaks(*peer))) {
            (Some((_, immediate)), Some(peer)) => {
                let work = taken.map(|(_, work)| work);
                self.news.push(Completion::Written { peer, immediate, work });
            }
            _ => match taken {
                Some((buffer, work)) => self.stray(buffer, work),
                None => self.strays += 1,
            },
        }
    }

    /// Whether a peer may have something to say: it speaks once it has heard this end, which thereby learns that
    /// it was heard.
    fn speaks(&mut self, peer: PeerId) -> bool {
        self.is_heard(peer);
        self.peers.get(peer).stage == Stage::Up
    }

    /// Drops a message of nobody.
    fn stray(&mut self, buffer: Local<Region>, work: Work) {
        self.strays += 1;
        self.give_again(buffer, work);
    }

    #[cold]
    fn take_errors(&mut self, answer: isize) {
        if answer != -(FI_EAVAIL as isize) {
            if answer != 0 {
                self.break_down(answer as i64);
            }
            return;
        }
        for _ in 0..TAKEN {
            // SAFETY: zero bytes are numbers and pointers to nothing.
            let mut error: Roomy = unsafe { MaybeUninit::zeroed().assume_init() };
            // SAFETY: the queue is open, and there is room for a description of any version.
            if unsafe { calls::read_error(self.objects.cq(), (&raw mut error).cast()) } <= 0 {
                return;
            }
            self.take_error(&error.entry);
        }
    }

    fn take_error(&mut self, error: &fi_cq_err_entry) {
        // SAFETY: the queue is open, and this entry was read last.
        let words = unsafe { calls::explain(self.objects.cq(), error) };
        let number = i64::from(error.err);
        let fail = |ofi: &mut Ofi, peer, what, work: Option<Work>| {
            ofi.news.extend(work.map(Completion::Failed));
            let why = ofi.failure_text(peer, what, number, words.as_deref());
            ofi.lose(peer, why);
        };
        let ended = self.slots.end(error.op_context.cast::<Slot>());
        if let Some((what, _)) = &ended {
            self.account(what);
        }
        match ended {
            Some((What::Work(peer, work), _)) => fail(self, peer, "a message or read", work),
            Some((What::Write(peer, work, _), _)) => fail(self, peer, "a write", work),
            Some((What::Hello(peer), _)) => fail(self, peer, "the first message", None),
            Some((What::Value(peer, work), _)) => fail(self, peer, "a message", work),
            Some((What::Receive(Some((_, work))), _)) if error.err == FI_ECANCELED => {
                self.news.push(Completion::Unused(work));
            }
            Some((What::Receive(Some((buffer, work))), _)) => {
                let sender =
                    self.stamps.read(error.data).and_then(|(_, rank)| self.peers.of_rank(rank));
                if let Some(peer) = sender.filter(|_| error.err == FI_ETRUNC) {
                    fail(self, peer, "a message that is too long", None);
                }
                self.stray(buffer, work);
            }
            Some((What::Receive(None), _)) if error.err == FI_ECANCELED => {}
            Some((What::Receive(None), _)) => self.await_another_hello(),
            None => {
                let why = self.objects.library.explain(number);
                tracing::warn!("libfabric reports a failure of no known work: {why}, {words:?}");
            }
        }
    }

    /// What is said of failed work.
    pub(super) fn failure_text(
        &self,
        peer: PeerId,
        what: &str,
        error: i64,
        words: Option<&str>,
    ) -> String {
        let rank = self.peers.get(peer).rank;
        let provider = self.objects.info.provider();
        let why = self.objects.library.explain(error);
        let words = words.filter(|words| !words.is_empty() && !why.starts_with(words));
        let words = words.map(|words| format!(", \"{words}\"")).unwrap_or_default();
        format!(
            "{what} between this process and rank {rank} failed in libfabric's provider {provider}: {why}{words}; \
             that rank or its host may have ended; else FI_LOG_LEVEL=warn shows more"
        )
    }

    /// The queue itself has failed: nobody can be heard any more.
    fn break_down(&mut self, error: i64) {
        for peer in self.peers.all_reached() {
            let why = self.failure_text(peer, "everything", error, None);
            self.lose(peer, why);
        }
    }
}
