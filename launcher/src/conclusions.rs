//! What mpirun makes of the hosts' news: entries in the ledger of failures and in the report, output,
//! answers.
//!
//! With several hosts, two pieces of news about one event may come in any order. A rank that complains
//! of a peer may be heard before the peer's own end, which is the cause: complaints therefore wait for
//! a moment. On one host the same is seen to in `hear.rs`. A secondary error waits on one host, too.

use crate::hear::DYING;
use crate::job::Job;
use crate::refuse::Refusal;
use crate::stuck::Said;
use crate::sys::End;
use crate::tree::frame::{Down, Up};
use crate::withheld::SecondaryError;
use launch_wire::control::Frame as Word;
use std::time::{Duration, Instant};

/// How long the rank that failed may take to tell why, once another one has heard of it. It is in its error handler, or
/// has left MPI and ends, which a host of more ranks than processors may have held back for a second.
const FIRST_WORD: Duration = Duration::from_millis(1300);

impl Job<'_> {
    /// Takes the news of all hosts.
    pub(crate) fn take_news(&mut self) {
        while let Some(news) = self.node.news.pop_front() {
            self.weigh(news);
        }
    }

    /// Has news wait that complains of a failure, where its cause may still be on its way.
    fn weigh(&mut self, news: Up) {
        if self.plan.hosts.len() == 1 || self.ledger.failure().is_some() {
            return self.learn(news);
        }
        let speaks = |held: &Up| held.ranks().iter().any(|rank| news.ranks().contains(rank));
        let known = self.held.iter().any(speaks);
        let death = matches!(news, Up::Ended { end: End::Killed { .. }, .. } | Up::Lost { .. });
        let complaint = match &news {
            Up::Abort { .. } => true,
            Up::Said { word, .. } => word.ends_job(),
            Up::Ended { end, .. } => known || matches!(end, End::Exited(code) if *code != 0),
            _ => false,
        };
        if death && !known {
            self.learn(news);
            self.held_until = self.held_until.map(|_| Instant::now());
            self.release_held();
        } else if complaint {
            self.held_until.get_or_insert_with(|| Instant::now() + DYING);
            self.held.push(news);
        } else {
            self.learn(news);
        }
    }

    /// Lets the complaints count whose time has come.
    pub(crate) fn release_held(&mut self) {
        if self.held_until.is_some_and(|time| Instant::now() >= time) {
            self.held_until = None;
            for news in std::mem::take(&mut self.held) {
                self.learn(news);
            }
        }
        if self.secondary_until().is_some_and(|time| Instant::now() >= time) {
            self.believe();
        }
    }

    /// When a secondary error counts at the latest.
    pub(crate) fn secondary_until(&self) -> Option<Instant> {
        self.secondary.as_ref().map(|secondary| secondary.until)
    }

    /// Nobody has told more than is known by a secondary error, if anything is. What was told before counts, and the
    /// end of a rank that has left MPI and failed then: it is the one that others miss.
    pub(crate) fn believe(&mut self) {
        if let Some(SecondaryError { rank, code, text, .. }) = self.secondary.take() {
            self.ledger.outstayed();
            self.ledger.told(rank, code, &text);
        }
    }

    /// Draws the conclusions from one piece of news.
    pub(crate) fn learn(&mut self, news: Up) {
        match news {
            Up::Alive | Up::Done => {}
            Up::Arrived(host) => {
                if self.report.arrived(host) == self.plan.hosts.len() {
                    self.go();
                }
            }
            Up::Refused { node, status, text } => {
                let host = (node != 0).then(|| &*self.plan.hosts[node]);
                self.ledger.refused(host, &Refusal { text, status });
            }
            Up::Started(ranks) => {
                ranks.into_iter().for_each(|(rank, pid)| self.ledger.started(rank, pid));
            }
            Up::Output { rank, which, bytes } => {
                let node = self.plan.node_of[rank];
                self.streams.take(&self.node.epoll, node, (rank, which), &bytes);
            }
            Up::Inside { rank, inside } => {
                self.ledger.inside(rank, inside);
                // It may have called again after it had lost its connection.
                self.gone[rank] &= !inside;
                self.stuck.moved();
                if !inside {
                    self.stuck.left(rank);
                }
                self.look_for_deserters();
            }
            Up::Abort { rank, code } => self.ledger.told(rank, code, ""),
            Up::Said { rank, word } => self.hear(rank, word),
            Up::Name { rank, line } => match self.names.line(&line) {
                Ok(line) => self.node.obey(&Down::Reply { rank, line }),
                Err(error) => self.ledger.garbled(rank, &error.to_string()),
            },
            Up::Closed { rank } => {
                self.gone[rank] = true;
                self.look_for_deserters();
            }
            Up::Garbled { rank, text } => self.ledger.garbled(rank, &text),
            Up::Ended { rank, end } => self.ended(rank, end),
            Up::Fence(keys) => {
                self.waits.fill(false);
                self.fences = self.fences.wrapping_add(1);
                self.node.obey(&Down::Release(keys));
            }
            // What a host says before it hears that a barrier has opened is about that one.
            Up::Wait { passed, .. } if passed != self.fences => {}
            Up::Wait { ranks, .. } => {
                ranks.into_iter().for_each(|rank| self.waits[rank] = true);
                self.look_for_deserters();
            }
            Up::Fed { rank, gone } => {
                let input = self.input.fed(&self.node.epoll, rank, gone);
                self.request(input);
            }
            Up::Words(words) => {
                let words = String::from_utf8_lossy(&words);
                self.streams.say(&self.node.epoll, &words);
            }
            Up::Fell(fell) => self.fallen.hear(fell),
            Up::Lost { first, end, arrived, why } => self.lost(first, end, arrived, &why),
        }
    }

    /// All hosts are there: the ranks may start.
    fn go(&mut self) {
        if self.ledger.failure().is_none() {
            if self.global.report_bindings {
                let places = self.report.places(self.plan);
                self.streams.say(&self.node.epoll, &places);
            }
            self.node.obey(&Down::Go);
            let input = self.input.begin(&self.node.epoll);
            self.request(input);
        }
    }

    fn ended(&mut self, rank: usize, end: End) {
        self.ledger.ended(rank, end);
        self.stuck.left(rank);
        if self.ledger.has_failed_late() {
            self.believe();
        }
        if !std::mem::replace(&mut self.watching, true) {
            self.node.obey(&Down::Watch);
        }
        self.look_for_deserters();
    }

    fn lost(&mut self, first: usize, end: usize, arrived: bool, why: &str) {
        let on = |rank: &usize| (first..end).contains(&self.plan.node_of[*rank]);
        let ranks: Vec<usize> = (0..self.plan.ranks()).filter(on).collect();
        self.ledger.lost(&self.plan.hosts[first], arrived, why, &ranks);
        for rank in ranks {
            self.stuck.left(rank);
            let input = self.input.fed(&self.node.epoll, rank, true);
            self.request(input);
        }
    }

    fn look_for_deserters(&mut self) {
        let (waits, gone) = (&self.waits, &self.gone);
        self.ledger.look_for_deserters(|rank| waits[rank], |rank| gone[rank]);
    }

    /// What a rank says on its control socket.
    fn hear(&mut self, rank: usize, word: Word) {
        match word {
            Word::Hello { face, .. } => self.report.face(rank, face),
            Word::AbortRequest { code, text } => self.ledger.told(rank, code, &text),
            Word::Unreached { peer, code, text } => {
                self.ledger.cannot_reach(rank, peer, code, &text);
            }
            Word::SecondaryError { code, text } => {
                let until = Instant::now() + FIRST_WORD;
                self.secondary.get_or_insert(SecondaryError { rank, code, text, until });
            }
            Word::ReportTable { text } => self.report.add(rank, &text),
            // Who answers too late is not heard.
            Word::RollCall { moved, awaited, balance, text } => {
                self.stuck.hear(rank, Said { moved, awaited, balance, text });
            }
            // These have news of their own.
            Word::InitSeen | Word::FinalizeSeen | Word::RollCallRequest | Word::Dying { .. } => {}
        }
    }
}
