//! The flows of a whole Node as the owner of the bridge's flows compares them with what Open vSwitch says it has.

use antrea_ovs::openflow::Connection;
use antrea_ovs::{Round, Switch};

use crate::bridge::bridge;
use crate::cluster::{DUAL, all_flows, node, peers, pods, services};

#[tokio::test]
async fn no_flow_that_is_there_is_sent_again() {
    let Some(bridge) = bridge() else { return };
    let (connection, _) = Connection::open(bridge.management_socket());
    // The round of the flows that are there: other tests see the same ones.
    let switch = Switch::new(connection, Round(0), Vec::new());
    switch.apply("all", all_flows(&node(DUAL, services()), &pods(DUAL), &peers(DUAL))).await.unwrap();
    assert_eq!(switch.resync().await.unwrap(), 0);
}
