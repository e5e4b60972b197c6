//! Changes of flows in bundles.

use antrea_pipeline::policy::FlowChange;

/// How many messages a bundle has at most.
const LARGEST: usize = 10_000;

/// Changes in bundles, which the switch has to get one after another; nearly always there is only one.
///
/// The switch takes a bundle in whole, so that it stands only between two of them. [`antrea_pipeline::policy::PolicyFlows`]
/// orders the changes so that it may stand anywhere: who is isolated no more is opened first, rules are narrowed, then
/// widened, rules that go are taken away after that, and who becomes isolated is closed last. At no point it admits what
/// neither the old nor the new rules admit.
pub fn bundles(changes: &[FlowChange]) -> impl Iterator<Item = &[FlowChange]> {
    changes.chunks(LARGEST)
}
