//! What an attacker does, and how much of it: less would prove nothing.

use std::time::Duration;

/// How many connections are held; closed ones are reopened.
pub(super) const CONNECTIONS: u64 = 10_000;

/// After that time. A processor makes no more anyway, and Open vSwitch's userspace datapath takes no more new connections.
const RENEWED_AFTER: Duration = Duration::from_secs(2);

/// A thousand requests a second: so many connections, each of which asks ten times, a tenth of a second apart.
const FORGERS: u64 = 100;
pub(super) const REQUESTS: u32 = 10;
pub(super) const REQUEST_EVERY: Duration = Duration::from_millis(100);

/// So many ask without a pause: fewer than a server lets one address have, so that they stay.
const READERS: u64 = 128;

/// As many as that, with as many requests on each as a server takes.
const DEAF: u64 = 256;
pub(super) const STREAMS: usize = 32;

/// So many have a request each that waits for an answer.
const FORGERS_WITH_A_RIGHT: u64 = 500;

/// What an attacker does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attack {
    /// Connections that say nothing.
    Silent,
    /// Connections that ask for health once, over TLS where the port has it, and stay.
    Strangers,
    /// Requests with made-up tokens, on connections with made-up certificates where the port has TLS.
    Forgers,
    /// Requests for a large answer that everybody gets who has a token, one after the other.
    Readers,
    /// The same, and others whose refusal is as long as it can be, by HTTP/2, where a client says how much it takes: nothing.
    Deaf,
    /// A request with a good token for something that its owner may do, but that is served elsewhere, which must not make the
    /// client known; then requests with made-up tokens on the same connection.
    RightElsewhere,
    /// Heads of requests whose bodies never arrive: a server that waits for them holds a place for each.
    Heads,
}

impl Attack {
    /// What can be done to any port.
    pub(crate) const ON_ANY_PORT: [Self; 3] = [Self::Silent, Self::Strangers, Self::Forgers];

    /// How many connections it makes a second at least, or how many answers it gets. What can be done to any port
    /// has a tenth of what it reaches on two processors, which a slow machine need not reach; the server may hold back the
    /// others, but not make them nothing.
    pub(super) const fn least(self) -> u32 {
        match self {
            Self::Silent => 400,
            Self::Strangers | Self::Forgers => 80,
            Self::Readers | Self::Deaf | Self::RightElsewhere | Self::Heads => 20,
        }
    }

    /// How many connections it makes at a time.
    pub(super) const fn connections(self) -> u64 {
        match self {
            Self::Silent | Self::Strangers | Self::Heads => CONNECTIONS,
            Self::Forgers => FORGERS,
            Self::Readers => READERS,
            Self::Deaf => DEAF,
            Self::RightElsewhere => FORGERS_WITH_A_RIGHT,
        }
    }

    /// How long after the end of a connection the next one comes.
    pub(super) const fn pause(self) -> Duration {
        match self {
            // Requests come as often as connections allow.
            Self::Forgers => REQUEST_EVERY,
            _ => RENEWED_AFTER,
        }
    }

    /// Whether its clients have certificates. Those that say who they are, or need not say it, have no use for them.
    pub(super) const fn has_certificates(self) -> bool {
        matches!(self, Self::Silent | Self::Strangers | Self::Forgers)
    }
}
