//! Every counter once: tool variables (MPI_T pvars), reports and benches read the same numbers.
//!
//! A counter is a plain integer of the process's owner and costs one add.

/// What is known of a counter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Described {
    /// Name, as in a report and as a tool variable.
    pub name: &'static str,
    /// What one of it is.
    pub unit: &'static str,
    /// What is counted.
    pub help: &'static str,
    /// It is a high-water mark: it does not add up.
    pub is_highest: bool,
}

macro_rules! counters {
    ($($name:ident: $unit:literal, $highest:literal, $help:literal;)*) => {
        /// The counters of one process.
        #[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
        pub struct Counters {
            $(#[doc = concat!($help, " (", $unit, ").")] pub $name: u64,)*
        }

        impl Counters {
            /// Every counter, in the order of [`Counters::values`].
            pub const ALL: &'static [Described] = &[$(Described {
                name: stringify!($name), unit: $unit, help: $help, is_highest: $highest,
            }),*];

            /// The numbers now.
            pub fn values(&self) -> [u64; Counters::ALL.len()] {
                [$(self.$name),*]
            }

            /// The counter at place `which` of [`Counters::ALL`], for a tool that resets it.
            pub fn value_mut(&mut self, which: usize) -> Option<&mut u64> {
                [$(&mut self.$name),*].into_iter().nth(which)
            }
        }
    };
}

counters! {
    messages_sent: "messages", false, "Messages handed to a transport, eager and rendezvous";
    messages_received: "messages", false, "Messages matched to a receive";
    bytes_inline: "bytes", false, "Bytes sent behind the header in one cache line";
    bytes_eager: "bytes", false, "Bytes sent as eager frames beyond one cache line";
    bytes_rendezvous_pulled: "bytes", false, "Bytes of rendezvous that the receiver fetched itself";
    bytes_rendezvous_pushed: "bytes", false, "Bytes of rendezvous sent as bulk data";
    bytes_received: "bytes", false, "Bytes of user data received";
    copies: "bytes", false, "Bytes copied by the core between user memory and its own buffers";
    unexpected_messages: "messages", false, "Messages that arrived before their receive";
    unexpected_bytes: "bytes", false, "Bytes now held for messages without a receive";
    unexpected_bytes_highest: "bytes", true, "Most bytes ever held for messages without a receive";
    posted_highest: "receives", true, "Most receives that were ever posted at once";
    credit_stalls: "messages", false, "Messages sent as rendezvous because eager credit was out";
    full_retries: "frames", false, "Frames that a transport refused for lack of room";
    polls: "polls", false, "Calls of the transports' poll";
    polls_idle: "polls", false, "Polls that found nothing";
    waits_parked: "waits", false, "Waits that left their spin phase";
    wait_syscalls: "system calls", false, "System calls made for waiting and waking";
    collectives: "operations", false, "Collective operations started";
    dropped_frames: "frames", false, "Frames dropped because their content was not valid";
}

impl Counters {
    /// A table for a report: the counters that are not zero, one a line.
    pub fn report(&self) -> String {
        use std::fmt::Write;
        let mut text = String::new();
        for (counter, value) in Counters::ALL.iter().zip(self.values()).filter(|(_, v)| *v != 0) {
            let _ = writeln!(text, "{:<26} {value:>16} {}", counter.name, counter.unit);
        }
        text
    }

    /// Notes that `bytes` more are held for messages without a receive.
    #[inline]
    pub fn hold_unexpected(&mut self, bytes: u64) {
        self.unexpected_messages += 1;
        self.unexpected_bytes += bytes;
        self.unexpected_bytes_highest = self.unexpected_bytes_highest.max(self.unexpected_bytes);
    }

    /// Notes that `bytes` of them went to their receive.
    #[inline]
    pub fn release_unexpected(&mut self, bytes: u64) {
        self.unexpected_bytes = self.unexpected_bytes.saturating_sub(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_beside_their_values() {
        let mut counters = Counters::default();
        counters.hold_unexpected(10);
        counters.hold_unexpected(5);
        counters.release_unexpected(10);
        let value = |name| {
            let place = Counters::ALL.iter().position(|counter| counter.name == name).unwrap();
            counters.values()[place]
        };
        assert_eq!(value("unexpected_bytes"), 5);
        assert_eq!(value("unexpected_bytes_highest"), 15);
        assert_eq!(value("unexpected_messages"), 2);
        assert_eq!(counters.report().lines().count(), 3);
    }

    #[test]
    fn a_tool_reaches_each_counter_by_its_place() {
        let mut counters = Counters::default();
        for which in 0..Counters::ALL.len() {
            *counters.value_mut(which).unwrap() = which as u64;
        }
        assert!(counters.values().iter().copied().eq(0..Counters::ALL.len() as u64));
        assert!(counters.value_mut(Counters::ALL.len()).is_none());
    }
}
