//! What reads bytes of others, one target a format: the fuzzer hands it what libFuzzer makes up, tests the inputs of its
//! corpus.

#![expect(clippy::unwrap_used, reason = "what a target begins with is its own")]

mod admission;
mod certificates;
mod cni;
#[cfg(test)]
mod corpora;
mod openflow;
mod ovsdb;
mod packets;
mod protobuf;
mod yaml;

/// What reads one format.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Also the name of the folder with its corpus.
    pub name: &'static str,
    /// Reads any bytes, and panics where something does not hold that must.
    pub read: fn(&[u8]),
}

/// All of them, by name.
pub const TARGETS: [Target; 8] = [
    Target { name: "admission", read: admission::read },
    Target { name: "certificates", read: certificates::read },
    Target { name: "cni", read: cni::read },
    Target { name: "openflow", read: openflow::read },
    Target { name: "ovsdb", read: ovsdb::read },
    Target { name: "packets", read: packets::read },
    Target { name: "protobuf", read: protobuf::read },
    Target { name: "yaml", read: yaml::read },
];

impl Target {
    /// The one of that name.
    pub fn named(name: &str) -> Option<Self> {
        TARGETS.into_iter().find(|target| target.name == name)
    }
}
