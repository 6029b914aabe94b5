//! The handshakes of one process ([`super::meet`]) over its queue pair for them ([`super::speaker`]).
//!
//! In: what the owner of queue pairs wants, and the time. Out: what became of peers, in [`Meet::turns`].

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::choice::Chosen;
use super::hello::Job;
use super::meet::{Ends, Meet};
use super::objects::{Channel, Pd};
use super::speaker::Speaker;
use crate::tcp::Secret;

/// Says and hears what connects queue pairs.
pub(super) struct Greeter {
    pub(super) meet: Meet,
    speaker: Speaker,
}

impl Greeter {
    /// One for a rank of a job, by this port; `channel` tells of what comes. Who is silent for the patience is late.
    pub(super) fn open(
        (job, rank, secret): (&str, u32, Secret),
        (pd, channel, chosen): (&Arc<Pd>, &Arc<Channel>, &Chosen),
        patience: Duration,
    ) -> Result<Greeter, String> {
        let speaker = Speaker::new(pd, channel, chosen).map_err(|error| {
            let (device, cure) = (&chosen.device, super::device::cure(&error));
            format!("{device} gives no queue pair for datagrams: {cure}")
        })?;
        let life = getrandom::u64().map_err(|error| error.to_string())?;
        let job = Job { hash: crate::fields::job_hash(job), secret };
        let meet = Meet::new(rank, life, job, speaker.address(), patience);
        Ok(Greeter { meet, speaker })
    }

    /// The text by which peers find this process.
    pub(super) fn card(&self) -> String {
        self.speaker.address().card()
    }

    /// Sends what is to be said.
    pub(super) fn say(&mut self, now: Duration) {
        let begun = Instant::now();
        for datagram in std::mem::take(&mut self.meet.out) {
            if let Err(why) = self.speaker.say(&datagram, begun) {
                tracing::debug!(why, "a handshake was not sent");
                self.meet.unsent(datagram.rank, why, now);
            }
        }
    }

    /// Takes what came, and finds what is to be said again; whether anything came.
    pub(super) fn hear(&mut self, ends: &mut impl Ends, now: Duration) -> bool {
        let meet = &mut self.meet;
        let heard =
            self.speaker.hear(|bytes| meet.hear(ends, bytes, now)).unwrap_or_else(|error| {
                tracing::warn!("handshakes over verbs cannot be heard any more: {error}");
                self.speaker.mute();
                false
            });
        if self.meet.due().is_some_and(|due| due <= now) {
            self.meet.tick(now);
        }
        heard
    }

    /// Asks to be told of what comes next.
    pub(super) fn arm(&self) -> bool {
        self.speaker.arm()
    }

    /// The device is gone: nobody is heard or told anything any more.
    pub(super) fn mute(&mut self) {
        self.meet.close_all();
        self.meet.out.clear();
        self.speaker.mute();
    }

    /// Closes this end for all peers and tells them, but does not wait for long until they are told.
    pub(super) fn close(&mut self, now: Duration) {
        self.meet.close_all();
        self.say(now);
        self.speaker.finish();
    }
}

/// A peer has not answered for so long over this port.
pub(super) fn warn_late(rank: u32, waited: Duration, port: &str) {
    tracing::warn!(
        "rank {rank} has not answered for {} s over {port}; a rank that computes may answer late, but a firewall (UDP \
         port 4791 for RoCE) or another network would never let it",
        waited.as_secs(),
    );
}
