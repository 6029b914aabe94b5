//! Errors of operations whose other end is gone or has failed.

use crate::error::{Error, ErrorClass};
use crate::matching::Envelope;
use crate::terms::{PeerId, Why};

/// The error of an operation that failed at another process, which has told its class.
#[cold]
pub(crate) fn failed_elsewhere(rank: u32, class: ErrorClass) -> Error {
    let what = format!("this operation failed at rank {rank}, which has told the reason");
    Error::new(class, what).secondary()
}

/// The error of an operation with a peer that is gone.
#[cold]
pub(crate) fn lost_peer(peer: PeerId, why: &Why) -> Error {
    let class = ErrorClass::PROC_ABORTED;
    match why {
        Why::Finalized => {
            let what = format!("rank {} of the job has called MPI_Finalize and left", peer.0);
            let hint = "All ranks have to make the same collective calls, and to receive what is sent, before \
                        MPI_Finalize.";
            Error::new(class, what).hint(hint)
        }
        Why::Lost(how) => {
            let what = format!("rank {} of the job is gone: {how}", peer.0);
            Error::new(class, what).out_of_reach(peer.0)
        }
        Why::Undelivered { how, hint } => {
            let what = format!("what was sent to or by rank {} cannot be delivered: {how}", peer.0);
            let error = Error::new(class, what);
            match hint {
                Some(hint) => error.hint(*hint),
                None => error,
            }
        }
    }
}

/// The error of a receive or probe that only a peer could end which is gone; if another of the messages that are here
/// is from there, its tag may be the mistake.
#[cold]
pub(crate) fn lost_source(
    here: impl IntoIterator<Item = Envelope>,
    wanted: Envelope,
    peer: PeerId,
    why: &Why,
) -> Error {
    let lost = lost_peer(peer, why);
    let Envelope { context, source, tag } = wanted;
    let is_alike = |here: &Envelope| here.context == context && here.source == source;
    let of_the_program = context & 1 == 0;
    match here.into_iter().find(is_alike).filter(|_| of_the_program) {
        Some(here) => lost.hint(format!(
            "What is here from rank {source} has tag {}, and what is asked for has tag {tag}.",
            here.tag
        )),
        None => lost,
    }
}
