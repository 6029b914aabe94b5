//! The memory of peers, reached without their help ([`Rma`]): each operation is a move that tells the peer nothing.

use mpi_core::buffer::UserBuffer;
use mpi_core::one_sided::{Atomic, Exposure, NotBegun, Place, Reach, Rma};
use mpi_core::port::{Offer, PeerId, Token};

use super::Rdma;
use super::fabric::{Access, Fabric, Refusal, Target};
use super::moves::Way;
use super::peer::State;

impl<F: Fabric> Rdma<F> {
    /// Begins an operation on so many bytes here.
    fn begin_operation(
        &mut self,
        (peer, token): (PeerId, Token),
        way: Way,
        here: (UserBuffer, usize),
        there: Place,
    ) -> Result<(), NotBegun> {
        let (UserBuffer(address), len) = here;
        let access = Access::Local;
        let is_up =
            self.channel.peers.look(peer).is_some_and(|to| to.is_up() && to.state == State::Up);
        if !is_up || there.memory.kind != F::OFFER {
            return Err(NotBegun::Full);
        }
        // SAFETY: the memory is the transport's until the sink has heard of its end, and pinned no longer than that.
        let pin = unsafe { self.channel.pins.pin(&mut self.channel.fabric, address, len, access) };
        let pin = pin.map_err(|refusal| match refusal {
            // As soon as other transfers are over.
            Refusal::Limit(_) if !self.moves.is_empty() => NotBegun::Full,
            Refusal::Limit(why) | Refusal::Never(why) => NotBegun::Never(why),
        })?;
        let [base, key] = there.memory.words;
        let target = Target { address: base.wrapping_add(there.offset), key };
        let run = (address, len);
        if let Err(pin) = self.moves.start((peer, token), way, pin, run, target, &mut self.channel)
        {
            self.channel.unpin(pin);
            return Err(NotBegun::Full);
        }
        self.channel.pend(peer);
        self.attend();
        Ok(())
    }
}

impl<F: Fabric> Rma for Rdma<F> {
    fn reach(&mut self, peer: PeerId) -> Option<Reach> {
        let is_up =
            self.channel.peers.look(peer).is_some_and(|to| to.is_up() && to.state == State::Up);
        let (gets, changes) = (self.channel.abilities.reads, self.channel.abilities.atomics);
        is_up.then_some(Reach { gets, changes })
    }

    fn expose(&mut self, memory: UserBuffer, len: usize) -> Result<(Exposure, Offer), String> {
        let UserBuffer(address) = memory;
        // SAFETY: it is the caller's word that the memory stays until it is concealed.
        let pin =
            unsafe { self.channel.pins.pin(&mut self.channel.fabric, address, len, Access::All) };
        let pin = pin.map_err(Refusal::why)?;
        let Target { address, key } = pin.target(&self.channel.fabric, address);
        match self.exposed.insert(pin) {
            Ok(number) => {
                let offer = Offer { kind: F::OFFER, words: [address, key] };
                Ok((Exposure(number.into()), offer))
            }
            Err(pin) => {
                self.channel.unpin(pin);
                Err("there are too many pieces of memory that peers may reach; open fewer"
                    .to_owned())
            }
        }
    }

    fn conceal(&mut self, exposure: Exposure) {
        let number = u32::try_from(exposure.0).ok();
        if let Some(pin) = number.and_then(|number| self.exposed.remove(number)) {
            self.channel.unpin(pin);
        }
    }

    fn put(
        &mut self,
        peer: PeerId,
        from: UserBuffer,
        len: usize,
        to: Place,
        token: Token,
    ) -> Result<(), NotBegun> {
        self.begin_operation((peer, token), Way::Put, (from, len), to)
    }

    fn get(
        &mut self,
        peer: PeerId,
        into: UserBuffer,
        len: usize,
        from: Place,
        token: Token,
    ) -> Result<(), NotBegun> {
        self.begin_operation((peer, token), Way::Read, (into, len), from)
    }

    fn change(
        &mut self,
        peer: PeerId,
        into: UserBuffer,
        at: Place,
        how: Atomic,
        token: Token,
    ) -> Result<(), NotBegun> {
        self.begin_operation((peer, token), Way::Change(how), (into, size_of::<u64>()), at)
    }

    fn flush(&mut self, peer: PeerId) -> bool {
        self.attend();
        self.channel
            .peers
            .look(peer)
            .is_none_or(|to| to.moves.waiting.is_empty() && to.moves.under_way == 0)
    }
}
