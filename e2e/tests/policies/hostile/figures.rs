//! How long others waited during an attack, and what the attacked program took.

use std::fmt;

use crate::hostile::times::Times;

/// What others noticed of an attack.
#[derive(Debug)]
pub(super) struct Figures {
    pub(super) probe: Times,
    pub(super) other_host: Times,
    pub(super) watch: Times,
    /// The first watch with a token that is new.
    pub(super) newcomer: Times,
    pub(super) policies: Times,
    /// By how much the program was larger than before the first attack, in KiB.
    pub(super) memory: u64,
    /// What the attacker achieved.
    pub(super) attacker: String,
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { probe, other_host, watch, newcomer, policies, memory, attacker } = self;
        write!(
            f,
            "probe {probe}, of another host {other_host}, watch {watch}, with a new token {newcomer}, policy {policies} \
             (p50 / p99 / longest); \
             {memory} KiB more memory; {attacker}"
        )
    }
}
