//! CHECK: agrees after ADD, and names what was changed since.

use antrea_cni::proto::ErrorCode;

use crate::node::{config, on_node};
use crate::pod::Pod;

#[test]
fn what_was_changed_behind_the_agents_back_is_named() {
    on_node(&["10.10.0.0/24"], async move |node| {
        let agent = node.agent().await;
        let pod = Pod::new("a", "c1");
        let result = agent.add(&pod, &config("1.0.0", "")).await.unwrap();
        let with_result = config("1.0.0", &format!(r#","prevResult":{result}"#));
        agent.check(&pod, &with_result).await.unwrap();

        pod.ip(&["route", "del", "default"]);
        let error = agent.check(&pod, &with_result).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::CheckInterfaceFailure);
        assert!(error.message.contains("lacks the route"), "{error}");

        node.ovs.vsctl(["del-port", "a-2f2276"]).unwrap();
        let error = agent.check(&pod, &with_result).await.unwrap_err();
        assert!(error.message.contains("bridge br-int has no such port"), "{error}");
    });
}

#[test]
fn requests_that_cannot_be_checked_are_refused() {
    on_node(&["10.10.0.0/24"], async move |node| {
        let agent = node.agent().await;
        let pod = Pod::new("a", "c1");
        for (config, code) in [
            (config("0.3.1", ""), ErrorCode::IncompatibleCniVersion),
            (config("1.0.0", ""), ErrorCode::InvalidNetworkConfig),
            (
                config("1.0.0", r#","prevResult":{"ips":[{"address":"10.0.0.300/24"}]}"#),
                ErrorCode::DecodingFailure,
            ),
            (config("1.0.0", r#","prevResult":{}"#), ErrorCode::UnknownContainer),
        ] {
            assert_eq!(agent.check(&pod, &config).await.unwrap_err().code, code, "{config}");
        }
    });
}
