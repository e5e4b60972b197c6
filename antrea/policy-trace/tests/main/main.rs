//! From Kubernetes' objects to the packet: what an independent reading of the API says of connections is what the
//! computed objects say, and what a real Open vSwitch does with the flows of both Nodes (`ofproto/trace`).
//!
//! ```text
//! objects → Index → Store → bytes of each Node's watches → RuleCache → Reconciler → PolicyFlows → bundles → switch
//! ```
//!
//! `ANTREA_TEST_SEEDS=FIRST..END` draws other clusters than a usual run, and more of them.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a test ends at the first surprise")]

mod agent;
mod arrival;
mod between;
mod controller;
mod fault;
mod faults;
mod lab;
mod masks;
mod node;
mod outcome;
mod packets;
mod property;
mod report;
mod tally;
mod trial;

// What the computed objects mean, as the tests of the index understand them.
#[path = "../../../index/tests/verdicts/answers.rs"]
mod answers;
#[path = "../../../index/tests/verdicts/computed.rs"]
mod computed;
#[path = "../../../index/tests/verdicts/told.rs"]
mod told;
