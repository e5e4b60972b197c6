//! What the tests share: a running Open vSwitch, a bridge, and text of what is there.

use std::time::Duration;

use antrea_ovs::ovsdb::{BridgeSpec, DatapathType, FailMode, OvsDb, Protocol};
use antrea_ovs::testing::{OvsProcess, why_unavailable};

pub(crate) const BRIDGE: &str = "br-int";

/// Open vSwitch and a handle on its database; nothing, and a word why, where tests with it cannot run.
pub(crate) async fn start() -> Option<(OvsProcess, OvsDb)> {
    if let Some(reason) = why_unavailable() {
        println!("SKIPPED {}: {reason}", std::thread::current().name().unwrap_or("a test"));
        return None;
    }
    let ovs = OvsProcess::start().unwrap();
    let database = OvsDb::connect(ovs.database_socket()).await;
    Some((ovs, database))
}

/// The same with a bridge.
pub(crate) async fn start_with_bridge() -> Option<(OvsProcess, OvsDb)> {
    let (ovs, database) = start().await?;
    database.ensure_bridge(&bridge()).await.unwrap();
    Some((ovs, database))
}

/// A bridge that has no flows but ours.
pub(crate) fn bridge() -> BridgeSpec {
    BridgeSpec {
        fail_mode: Some(FailMode::Secure),
        protocols: vec![Protocol::OpenFlow10, Protocol::OpenFlow15],
        ..BridgeSpec::new(BRIDGE, DatapathType::Netdev)
    }
}

/// Fails the test when something that should happen soon does not.
pub(crate) async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    let late = tokio::time::timeout(Duration::from_secs(30), future).await;
    late.unwrap_or_else(|_| panic!("waited in vain: {what}"))
}

/// The flows of the bridge, in the order of tables and text.
pub(crate) fn dump_flows(ovs: &OvsProcess) -> Vec<String> {
    let text = ovs.ofctl(["--no-stats", "--no-names", "dump-flows", BRIDGE]).unwrap();
    let mut flows: Vec<_> = text.lines().map(|line| line.trim().to_owned()).collect();
    flows.sort();
    flows
}
