//! Taking back a send that was announced and that no receive has matched (`MPI_Cancel`, MPI-5.0
//! §3.8.4).
//!
//! Only the receiver knows whether its announcement has matched, so it is asked, in the order of
//! messages: it drops the announcement and says so, or says nothing, because then the transfer
//! itself completes the send. Either comes as soon as the receiver makes progress; programs that send to themselves
//! may ask for it right behind the call (mpi4py's tests do). A receiver that has left MPI
//! has matched nothing that was not received when it left. A send that has left whole is complete and cannot be
//! taken back, which the standard allows.

use super::Content;
use super::rendezvous::{self, INLINE_FIN};
use crate::buffer::RawBytes;
use crate::error::Result;
use crate::handle::RequestHandle;
use crate::header::{FrameKind, Header};
use crate::port::{Body, PeerId, Port};
use crate::process::Process;
use crate::request::Operation;
use crate::status::Status;
use crate::vci::{Deferred, Vci};

impl<P: Port> Process<P> {
    /// Asks the receiver to drop the announcement of a send; nothing for another request.
    pub(crate) fn cancel_send(&mut self, request: RequestHandle) -> Result<()> {
        let Operation::Send(send) = &mut self.vci.requests.get_mut(request)?.operation else {
            return Ok(());
        };
        send.cancelled = true;
        let (peer, envelope) = (send.peer, send.envelope);
        let payload = rendezvous::fin_payload(u64::from(request.raw()));
        let mut header = Header {
            kind: FrameKind::Cancel as u8,
            inline_len: INLINE_FIN,
            context: envelope.context,
            source: envelope.source,
            tag: envelope.tag,
            sequence: self.vci.peer(peer).number_out(),
            ..Header::default()
        };
        let body = Body::Bytes(RawBytes::from(&payload[..usize::from(INLINE_FIN)]));
        self.vci.send(&mut *self.port, peer, &mut header, body);
        if peer == self.own_peer() {
            self.settle_with_itself(request)?;
        }
        Ok(())
    }

    /// Goes on until a send to this process is complete, if only this process is in the way.
    fn settle_with_itself(&mut self, request: RequestHandle) -> Result<()> {
        while !self.vci.requests.get(request)?.complete && self.progress() {}
        Ok(())
    }
}

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
