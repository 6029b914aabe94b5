//! Taking back a send that was announced and that no receive has matched (`MPI_Cancel`, MPI-5.0
//! §3.8.4).
//!
//! Only the receiver knows whether its announcement has matched, so it is asked, in the order of
//! messages: it drops the announcement and says so, or says nothing, because then the transfer
//! itself completes the send. Either comes as soon as the receiver makes progress; programs that send to themselves
//! may ask for it right behind the call (mpi4py's tests do). A receiver that has left MPI
//! has matched nothing that was not received when it left. A send that has left whole is complete and cannot be
//! taken back, which the standard allows.

use super::{Deferred, Vci};
use crate::buffer::RawBytes;
use crate::p2p::{Content, rendezvous};
use crate::port::PeerId;
use crate::status::Status;

impl Vci {
    /// A sender would take an announcement back: drops it if nothing has matched it.
    #[cold]
    pub(crate) fn deliver_cancel(&mut self, peer: PeerId, body: RawBytes<'_>) {
        let Some(token) = rendezvous::read_fin(body) else { return };
        let dropped = self.matcher.extract_unexpected(|_, arrived| {
            let announced =
                matches!(&arrived.content, Content::Announced(rts) if rts.token == token);
            announced && arrived.peer == peer
        });
        if !dropped.is_empty() {
            self.deferred.push_back(Deferred::Cancelled(peer, token));
        }
    }

    /// The receiver has dropped the announcement of a send, which so is cancelled.
    #[cold]
    pub(crate) fn take_back(&mut self, peer: PeerId, body: RawBytes<'_>) {
        self.answers = self.answers.wrapping_sub(1);
        let Some(request) = rendezvous::read_fin(body).and_then(|t| self.send_request(peer, t))
        else {
            return;
        };
        if let Ok(state) = self.requests.get_mut(request) {
            state.status = Status { cancelled: true, ..Status::EMPTY };
        }
        self.complete(request, None);
    }
}
