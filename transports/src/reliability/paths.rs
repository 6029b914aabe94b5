//! A link and the paths that its datagrams take: how long they may be there, and which path works. The path in use is
//! the transport's choice.
//!
//! In: what the transport knows of a path, and what comes by it. Out: trials of other paths, and what they have told.

use std::time::Duration;

use super::cargo::Cargo;
use super::cubic::Cubic;
use super::datagram::{Content, Datagram};
use super::link::{Came, Link, nanos};
use super::mtu::Mtu;
use super::pacer::Pacer;
use super::rtt::Rtt;
use super::wire::{Front, Head, Load, RANGES_MAX};

impl Link {
    /// Every datagram may have so many bytes from now on and none has more, whatever was found before: for a
    /// transport that knows its paths.
    pub fn set_datagram_bytes(&mut self, bytes: u16) {
        self.mtu = Mtu::new(bytes);
        self.window.set_datagram(self.mtu.bytes().into());
    }

    /// The local card carries datagrams of so many bytes. Where much is to be sent, it is tried whether the
    /// path carries them as well (RFC 8899); until then, the size stays what it is. With fewer bytes than
    /// datagrams have, these become smaller at once.
    pub fn set_ceiling(&mut self, bytes: u16) {
        self.mtu.set_ceiling(bytes);
        self.window.set_datagram(self.mtu.bytes().into());
    }

    /// The local system does not send a datagram with so many bytes (`EMSGSIZE`), a probe or another one,
    /// which is to be taken back ([`Link::take_back`]): from now on they have fewer.
    pub fn too_big(&mut self, now: Duration, bytes: usize) {
        self.mtu.refused(bytes.try_into().unwrap_or(u16::MAX), nanos(now));
        self.window.set_datagram(self.mtu.bytes().into());
    }

    /// Bytes that a datagram may have, as far as is known of the path.
    pub fn datagram_bytes(&self) -> u16 {
        self.mtu.bytes()
    }

    /// What leaves from now on goes another way, of which nothing is known: all that is under way goes again,
    /// in datagrams as small as at first.
    pub fn change_path(&mut self) {
        let (outgoing, counts) = (&mut self.outgoing, &mut self.counts);
        self.flight.give_up(|cargo| {
            counts.goes_again(&cargo);
            outgoing.lose(cargo);
        });
        (self.rtt, self.pacer) = (Rtt::default(), Pacer::default());
        self.mtu.begin_anew();
        self.window = Cubic::on_another_path(self.mtu.bytes().into());
    }

    /// A question that is to be sent by another path than the one in use, which has this number, to find out
    /// whether it works. It counts as sent; its loss is no loss, and its answer does not end a silence.
    pub fn next_trial(&mut self, now: Duration, path: u8) -> Datagram<'_> {
        self.depart_aside(now, Load::Trial, Some(Cargo::Trial(path)))
    }

    /// The answer to a trial that has just come ([`Came::Trial`]), to be sent by the same path.
    pub fn answer_to_trial(&mut self, now: Duration) -> Datagram<'_> {
        self.depart_aside(now, Load::TrialAnswer, None)
    }

    /// A datagram by another path than the one in use. What it acknowledges may be lost with it.
    fn depart_aside(
        &mut self,
        now: Duration,
        load: Load<()>,
        cargo: Option<Cargo>,
    ) -> Datagram<'_> {
        let now = nanos(now);
        let (oldest, number) = (self.flight.oldest(), self.flight.take_number());
        let (credit, due) = (self.promised(), self.receipt.due_at());
        let (numbers, held_micros) = self.receipt.tell(now);
        let settled = numbers.low();
        let head = Head { number, oldest, settled, credit, held_micros, asks: false };
        let front = Front::new(&head, numbers.highest(RANGES_MAX), &load);
        self.receipt.restore(due);
        self.counts.sent += 1;
        if let Some(cargo) = cargo {
            self.flight.send(number, now, 0, cargo);
        }
        Datagram { number, front, content: Content::Nothing, is_probe: true }
    }

    /// The path whose trial came there, if the datagram that was received last came `by` it, so that it works in
    /// both directions. Told once. Another path may be faster, and the news of the trial come by that one.
    pub fn trial_came(&mut self, by: impl FnOnce(u8) -> bool) -> Option<u8> {
        self.trial_came.take_if(|path| by(*path))
    }

    /// What the datagram that was received last says of the path by which it came.
    pub fn came(&self) -> Came {
        self.came
    }
}
