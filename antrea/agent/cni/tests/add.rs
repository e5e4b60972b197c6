//! ADD: what it makes, in every version, and what it leaves when it fails.

use antrea_cni::proto::ErrorCode;

use crate::node::{BRIDGE, config, on_node};
use crate::pod::Pod;

const DUAL_STACK: [&str; 2] = ["10.10.0.0/24", "fd00:10:10::/64"];

#[test]
fn a_pod_gets_link_addresses_routes_port_and_flows_of_both_families() {
    on_node(&DUAL_STACK, async move |node| {
        let agent = node.agent().await;
        let pod = Pod::new("web", "c1");
        let result = agent.add(&pod, &config("1.0.0", "")).await.unwrap();

        assert_eq!(
            node.state(&agent),
            [
                "port web-2f2276",
                "link web-2f2276",
                "address 10.10.0.2 of c1 eth0",
                "address fd00:10:10::2 of c1 eth0",
                "flows web-2f2276 10.10.0.2,fd00:10:10::2",
            ]
        );
        let addresses = pod.ip(&["-br", "addr", "show", "eth0"]);
        assert!(addresses.contains("UP") && addresses.contains("10.10.0.2/24"), "{addresses}");
        assert!(addresses.contains("fd00:10:10::2/64"), "{addresses}");
        assert!(pod.ip(&["route"]).contains("default via 10.10.0.1 dev eth0"));
        assert!(pod.ip(&["-6", "route"]).contains("default via fd00:10:10::1 dev eth0"));
        let link = pod.ip(&["link", "show", "eth0"]);
        let mac = result["interfaces"][1]["mac"].as_str().unwrap();
        assert!(link.contains("mtu 1450") && link.contains(mac), "{link}");
        assert_eq!(result["interfaces"][1]["sandbox"], pod.netns());

        let ids = node.ovs.vsctl(["get", "port", "web-2f2276", "external_ids"]).unwrap();
        let expected = format!(
            "{{antrea-type=container, attached-mac=\"{mac}\", container-id=c1, ip-address=\"10.10.0.2,fd00:10:10::2\", \
         net-ns=\"/{}\", pod-name=web, pod-namespace=default}}",
            pod.netns()
        );
        assert_eq!(ids.trim(), expected);
    });
}

#[test]
fn every_version_gets_its_own_form_of_result_and_the_same_container_the_same_one() {
    on_node(&["10.10.0.0/24"], async move |node| {
        let agent = node.agent().await;
        let pod = Pod::new("web", "c1");
        let mut macs = Vec::new();
        for version in ["0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"] {
            let result =
                agent.add(&pod, &config(version, r#","dns":{"nameservers":["10.96.0.10"]}"#)).await.unwrap();
            assert_eq!(result["cniVersion"], version);
            assert_eq!(result["ips"][0]["address"], "10.10.0.2/24");
            assert_eq!(result["ips"][0].get("version").is_some(), version < "1.0.0", "{result}");
            assert_eq!(result["dns"]["nameservers"][0], "10.96.0.10");
            assert_eq!(result["interfaces"][1].get("mtu").is_some(), version >= "1.1.0", "{result}");
            macs.push([0, 1].map(|end| result["interfaces"][end]["mac"].to_string()));
        }
        macs.dedup();
        assert_eq!(macs.len(), 1, "{macs:?}");
        assert_eq!(node.state(&agent).len(), 4);
    });
}

#[test]
fn an_interface_of_that_name_that_is_in_the_pod_already_is_an_error() {
    on_node(&["10.10.0.0/24"], async move |node| {
        let agent = node.agent().await;
        let pod = Pod::new("web", "c1");
        pod.ip(&["link", "add", "eth0", "type", "veth", "peer", "name", "other"]);
        let error = agent.add(&pod, &config("1.1.0", "")).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::ConfigInterfaceFailure);
        assert!(error.message.contains("File exists"), "{error}");
        assert_eq!(node.state(&agent), Vec::<String>::new());
        assert!(pod.ip(&["link"]).contains("eth0@other"), "what another plugin made stays");
    });
}

#[test]
fn a_second_place_in_a_chain_is_refused_with_what_came_before() {
    on_node(&["10.10.0.0/24"], async move |node| {
        let agent = node.agent().await;
        let chained = config("1.1.0", r#","prevResult":{"ips":[]}"#);
        let error = agent.add(&Pod::new("web", "c1"), &chained).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::UnsupportedField);
        assert!(error.message.starts_with(r#"prevResult {"ips":[]} is not supported"#), "{error}");
    });
}

#[test]
fn an_interface_that_was_damaged_is_made_again_with_its_address() {
    on_node(&["10.10.0.0/24"], async move |node| {
        let agent = node.agent().await;
        let pod = Pod::new("web", "c1");
        agent.add(&pod, &config("1.0.0", "")).await.unwrap();
        pod.ip(&["link", "del", "eth0"]);
        let again = agent.add(&pod, &config("1.0.0", "")).await.unwrap();
        assert_eq!(again["ips"][0]["address"], "10.10.0.2/24");
        assert!(pod.ip(&["-br", "addr", "show", "eth0"]).contains("10.10.0.2/24"));
    });
}

#[test]
fn what_fails_leaves_nothing_behind() {
    on_node(&["10.10.0.0/24"], async move |node| {
        let agent = node.agent().await;
        let pod = Pod::new("web", "c1");

        agent.flows.refuse("the switch is away");
        let error = agent.add(&pod, &config("1.0.0", "")).await.unwrap_err();
        let expected = "cannot install the flows of interface web-2f2276: the switch is away";
        assert_eq!((error.code, error.message.as_str()), (ErrorCode::ConfigInterfaceFailure, expected));
        assert_eq!(node.state(&agent), Vec::<String>::new());

        node.ovs.vsctl(["del-br", BRIDGE]).unwrap();
        let error = agent.add(&pod, &config("1.0.0", "")).await.unwrap_err();
        let expected = "cannot create the port of interface web-2f2276: there is no bridge br-int";
        assert_eq!((error.code, error.message.as_str()), (ErrorCode::ConfigInterfaceFailure, expected));
        node.ovs.vsctl(["add-br", BRIDGE, "--", "set", "bridge", BRIDGE, "datapath_type=netdev"]).unwrap();
        assert_eq!(node.state(&agent), Vec::<String>::new());
        assert_eq!(agent.store.containers(), []);
        assert!(!pod.ip(&["link"]).contains("eth0"));
    });
}

#[test]
fn a_namespace_that_is_gone_is_named() {
    on_node(&["10.10.0.0/24"], async move |node| {
        let agent = node.agent().await;
        let pod = Pod::new("web", "c1");
        let netns = pod.netns();
        std::process::Command::new("ip")
            .args(["netns", "del", netns.rsplit('/').next().unwrap()])
            .status()
            .unwrap();
        let error = agent.add(&pod, &config("1.0.0", "")).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::ConfigInterfaceFailure);
        assert!(error.message.contains(&netns), "{error}");
        assert_eq!(node.state(&agent), Vec::<String>::new());
    });
}

#[test]
fn an_exhausted_pod_cidr_is_named() {
    on_node(&["10.10.0.0/30"], async move |node| {
        let agent = node.agent().await;
        let (first, second) = (Pod::new("a", "c1"), Pod::new("b", "c2"));
        agent.add(&first, &config("1.0.0", "")).await.unwrap();
        let before = node.state(&agent);
        let error = agent.add(&second, &config("1.0.0", "")).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::IpamFailure);
        assert!(error.message.starts_with("no address is left in 10.10.0.0/30"), "{error}");
        assert_eq!(node.state(&agent), before);
    });
}

#[test]
fn pods_that_come_at_once_get_addresses_of_their_own() {
    on_node(&DUAL_STACK, async move |node| {
        let agent = node.agent().await;
        let pods: Vec<Pod> = (0..20).map(|index| Pod::new("burst", &format!("c{index}"))).collect();
        let config = config("1.0.0", "");
        let results = futures::future::join_all(pods.iter().map(|pod| agent.add(pod, &config))).await;
        let addresses: std::collections::BTreeSet<String> =
            results.into_iter().map(|result| result.unwrap()["ips"].to_string()).collect();
        assert_eq!(addresses.len(), 20);
        assert_eq!(agent.store.containers().len(), 20);
        futures::future::join_all(pods.iter().map(|pod| agent.del(pod)))
            .await
            .into_iter()
            .for_each(Result::unwrap);
        assert_eq!(node.state(&agent), Vec::<String>::new());
    });
}

#[test]
fn while_another_program_holds_the_addresses_add_waits_and_other_commands_go_on() {
    on_node(&["10.10.0.0/24"], async move |node| {
        let agent = node.agent().await;
        let pod = Pod::new("web", "c1");
        let held = node.hold_ipam();
        let release = async {
            agent.status().await.unwrap();
            assert_eq!(agent.flows.present().len(), 0);
            drop(held);
        };
        let (added, ()) = futures::future::join(agent.add(&pod, &config("1.0.0", "")), release).await;
        added.unwrap();
        assert_eq!(agent.flows.present().len(), 1);
    });
}
