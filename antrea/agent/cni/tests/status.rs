//! STATUS: ready while ADD can be served, and otherwise how bad it is.

use crate::node::{BRIDGE, on_node};

#[test]
fn the_status_says_what_is_missing() {
    on_node(&["10.10.0.0/30"], async move |node| {
        let agent = node.agent().await;
        agent.status().await.unwrap();

        agent.flows.refuse("the switch is away");
        let error = agent.status().await.unwrap_err();
        let expected = "Pods cannot be attached: the switch is away";
        assert_eq!((error.code as i32, error.message.as_str()), (51, expected));

        node.ovs.vsctl(["del-br", BRIDGE]).unwrap();
        let error = loop {
            match agent.status().await.unwrap_err() {
                error if error.message.contains("bridge") => break error,
                _ => tokio::task::yield_now().await,
            }
        };
        let expected = "Pods cannot be attached: Open vSwitch has no bridge br-int";
        assert_eq!((error.code as i32, error.message.as_str()), (51, expected));
    });
}
