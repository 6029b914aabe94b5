//! Checks what the schedules of all ranks must have in common.
//!
//! Messages carry no number of their own: the n-th send of a pair meets the n-th receive, so both
//! must agree on how many there are and how long each is (see [`schedule`](super::schedule)).

use std::collections::BTreeMap;

use super::schedule::{Action, Schedule};

/// Checks that each pair's sends and receives match in number, order and length; the error names
/// the pair and the message.
///
/// # Errors
/// The first mismatch, in words.
pub fn verify(schedules: &[Schedule]) -> Result<(), String> {
    let mut sent: BTreeMap<(u32, u32), Vec<i64>> = BTreeMap::new();
    let mut received = sent.clone();
    for (schedule, me) in schedules.iter().zip(0u32..) {
        for action in schedule.actions() {
            match action {
                Action::Send { to, from } => sent.entry((me, to)).or_default().push(from.len),
                Action::Recv { from, into } => {
                    received.entry((from, me)).or_default().push(into.len);
                }
                _ => {}
            }
        }
    }
    for pair in sent.keys().chain(received.keys()) {
        let lens = (sent.get(pair), received.get(pair));
        if lens.0 != lens.1 {
            return Err(format!(
                "messages from rank {} to rank {}: sent with lengths {:?}, received with {:?}",
                pair.0,
                pair.1,
                lens.0.map_or(&[][..], |lens| lens),
                lens.1.map_or(&[][..], |lens| lens),
            ));
        }
    }
    Ok(())
}
