//! Errors of operations whose other end is gone or has failed.

use crate::constants::{ANY_SOURCE, ANY_TAG};
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

/// The message that is here in vain while one of `from`, or of anybody, is waited for: one whose tag is another, else
/// one that was sent on another communicator.
pub(crate) fn in_vain(
    here: impl IntoIterator<Item = (Envelope, PeerId)>,
    wanted: Envelope,
    from: Option<PeerId>,
) -> Option<(Envelope, PeerId)> {
    let is_of_messages = |context: u64| context & 3 == 0;
    let comes = |peer: PeerId| from.is_none_or(|from| from == peer);
    let is_alike = |message: Envelope| match message.context == wanted.context {
        true => wanted.source == message.source || wanted.source == ANY_SOURCE,
        false => {
            is_of_messages(message.context) && (wanted.tag == message.tag || wanted.tag == ANY_TAG)
        }
    };
    let here = here.into_iter().filter(|(message, peer)| comes(*peer) && is_alike(*message));
    // The first of the smallest.
    here.min_by_key(|(message, _)| message.context != wanted.context)
        .filter(|_| is_of_messages(wanted.context))
}

/// The error of a receive or probe that only a peer could end which is gone; if another of the messages that are here
/// is from there, its tag or communicator may be the mistake.
#[cold]
pub(crate) fn lost_source(
    here: impl IntoIterator<Item = (Envelope, PeerId)>,
    wanted: Envelope,
    peer: PeerId,
    why: &Why,
) -> Error {
    let lost = lost_peer(peer, why);
    let Envelope { context, source, tag } = wanted;
    match in_vain(here, wanted, Some(peer)) {
        Some((here, _)) if here.context == context => lost.hint(format!(
            "What is here from rank {source} has tag {}, and what is asked for has tag {tag}.",
            here.tag
        )),
        Some((here, _)) => lost.hint(format!(
            "What is here from rank {} of the job, with tag {}, was sent on another communicator.",
            peer.0, here.tag
        )),
        None => lost,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the receive of `wanted` from the first process is told of messages of the first two.
    fn told(here: &[(u64, i32)], wanted: (u64, i32)) -> String {
        let envelope = |(context, tag), source| Envelope { context, source, tag };
        let of_second = (envelope(wanted, 1), PeerId(1));
        let here = here.iter().map(|message| (envelope(*message, 0), PeerId(0)));
        let here = std::iter::once(of_second).chain(here);
        let lost = lost_source(here, envelope(wanted, 0), PeerId(0), &Why::Finalized);
        lost.advice().to_owned()
    }

    #[test]
    fn another_tag_or_communicator_is_named() {
        let tag = "What is here from rank 0 has tag 8, and what is asked for has tag 7.";
        let comm =
            "What is here from rank 0 of the job, with tag 7, was sent on another communicator.";
        assert_eq!(told(&[(8, 7), (4, 8)], (4, 7)), tag);
        assert_eq!(told(&[(8, 8), (8, 7)], (4, 7)), comm);
        assert_eq!(told(&[(8, 7)], (4, ANY_TAG)), comm);
        // Those of a collective operation and of partitions are no messages of the program.
        for nothing in [&[][..], &[(8, 8)], &[(9, 7)], &[(10, 7)]] {
            assert!(told(nothing, (4, 7)).starts_with("All ranks"), "{nothing:?}");
        }
        assert!(told(&[(8, 7)], (5, 7)).starts_with("All ranks"));
    }
}
