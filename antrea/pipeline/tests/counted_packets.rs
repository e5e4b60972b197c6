//! What flows have counted of a connection in a real Open vSwitch, read as the agent reads it. The Node and its policies are
//! in [`crate::policed`].

use std::sync::{Mutex, Weak};

use antrea_openflow::message::{FlowEntry, FlowFilter};
use antrea_ovs::openflow::Connection;
use antrea_pipeline::NodeTraffic;
use antrea_pipeline::policy::Counter;

use crate::bridge::{Bridge, shared};
use crate::cluster::{DUAL, POD_A, POD_B};
use crate::policed::{serving, start};
use crate::served::everything;
use crate::service_passages::{A, B, acknowledges, answers, ip, opens};

/// The counters that have counted anything, as `RULE DIRECTION PACKETS: COUNT`.
async fn counted(bridge: &Bridge) -> Vec<String> {
    bridge.ovs.appctl(["revalidator/purge"]).unwrap();
    let (connection, _) = Connection::open(bridge.management_socket());
    let channel = connection.connected().await.unwrap();
    let mut counts = Vec::new();
    for table in serving(everything(DUAL), NodeTraffic::PacketMark).policy_metric_tables() {
        let add = |entry: FlowEntry| {
            let Some(Counter { rule, direction, packets, .. }) = Counter::of(&entry.flow) else { return };
            let (count, bytes) = (entry.statistics.packets.unwrap(), entry.statistics.bytes.unwrap());
            assert_eq!(count == 0, bytes == 0, "{entry}");
            if count > 0 {
                counts.push(format!("{rule} {direction:?} {packets:?}: {count}"));
            }
        };
        channel.each_flow_entry(FlowFilter::table(table), add).await.unwrap();
    }
    counts.sort();
    counts
}

#[tokio::test]
async fn a_connection_counts_for_the_rules_of_both_pods() {
    static SHARED: Mutex<Weak<Bridge>> = Mutex::new(Weak::new());
    let Some(bridge) = shared(&SHARED, || start(NodeTraffic::PacketMark)) else { return };
    let first = opens(POD_A, [A, B], ip("10.10.0.10"), (ip("10.10.0.11"), 80), 3001);
    assert!(bridge.send(&first).reaches_output());
    assert_eq!(counted(&bridge).await, ["2 Egress First: 1", "3 Ingress First: 1"]);
    let answer = answers(POD_B, [B, A], (ip("10.10.0.11"), 80), (ip("10.10.0.10"), 3001));
    assert!(bridge.send(&answer).reaches_output());
    assert!(bridge.send(&acknowledges(&first)).reaches_output());
    assert_eq!(
        counted(&bridge).await,
        ["2 Egress First: 1", "2 Egress Later: 2", "3 Ingress First: 1", "3 Ingress Later: 2"]
    );
    let denied = opens(POD_A, [A, B], ip("10.10.0.10"), (ip("10.10.0.11"), 81), 3002);
    assert!(!bridge.send(&denied).reaches_output());
    assert_eq!(counted(&bridge).await.len(), 4, "what is denied is nobody's");
}
