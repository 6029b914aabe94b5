//! The kinds of networks, and what follows from a kind alone.

macro_rules! networks {
    ($($(#[$of:meta])* $kind:ident: $name:literal, $word:literal;)*) => {
        /// A kind of network.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Network { $($(#[$of])* $kind,)* }

        impl Network {
            /// All kinds, in the order of preference: of those that two hosts have in common the
            /// first is taken.
            pub const ALL: [Network; [$($word),*].len()] = [$(Network::$kind),*];

            /// What it is called in sentences.
            pub const fn name(self) -> &'static str {
                match self { $(Network::$kind => $name,)* }
            }

            /// Its word in `FERRITE_TRANSPORT`, and its kind of business card (see [`crate::cards`]).
            pub const fn word(self) -> &'static str {
                match self { $(Network::$kind => $word,)* }
            }
        }
    };
}

// The most preferred first.
networks! {
    /// Reliable connected queue pairs of verbs.
    Rc: "RC", "rc";
    /// Whatever libfabric's providers reach.
    Ofi: "libfabric", "ofi";
    /// Streams of the kernel.
    Tcp: "TCP", "tcp";
    /// Datagrams of the kernel, made reliable here.
    Udp: "UDP", "udp";
    /// Unreliable connected queue pairs of verbs, made reliable here.
    Uc: "UC", "uc";
    /// Unreliable datagrams of verbs, made reliable here.
    Ud: "UD", "ud";
}

impl Network {
    /// The words of all kinds, for a list of what is possible.
    pub(super) fn words() -> String {
        Network::ALL.map(Network::word).join(", ")
    }
}
