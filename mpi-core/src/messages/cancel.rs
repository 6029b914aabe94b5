//! Asking for a send to be taken back (`MPI_Cancel`, MPI-5.0 §3.8.4).

use crate::buffer::RawBytes;
use crate::error::Result;
use crate::handle::RequestHandle;
use crate::header::{FrameKind, Header};
use crate::p2p::rendezvous::{self, INLINE_FIN};
use crate::port::{Body, Port};
use crate::process::Process;
use crate::request::Operation;

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
