//! Numbers of groups, over the life of Services and of agents.

use antrea_agent_proxy::{Adoption, Proxy, service};
use antrea_openflow::Flow;

use crate::cluster::{Cluster, group_ids, pipeline, settings};

fn service(name: &str) -> String {
    let ip = name.len();
    format!(
        "
kind: Service
metadata: {{namespace: shop, name: {name}}}
spec: {{type: NodePort, clusterIP: 10.96.0.{ip}, externalTrafficPolicy: Local, ports: [{{port: 80, nodePort: 3000{ip}}}]}}"
    )
}

#[test]
fn a_number_is_free_when_its_service_is_gone() {
    let mut cluster = Cluster::new();
    assert!(cluster.apply(&service("a")).contains("group 5:"));
    cluster.delete(&service("a"));
    let text = cluster.apply(&service("bb"));
    assert!(text.contains("group 5:") && text.contains("group 6:"), "{text}");
}

/// The flows that an agent installs for a Service.
fn installed(cluster: &mut Cluster, yaml: &str) -> Vec<Flow> {
    let object = serde_saphyr::from_str::<serde_json::Value>(yaml).unwrap();
    let object = serde_json::from_value(object).unwrap();
    let (name, service) = service::parse(&object, cluster.proxy.settings());
    cluster.proxy.set_service(name, service);
    let changes = cluster.proxy.take_changes(&cluster.pipeline, 100);
    let frontends = changes.iter().flat_map(|change| &change.plan.frontends);
    frontends.flat_map(|frontend| cluster.pipeline.frontend_flows(frontend)).collect()
}

#[test]
fn a_service_keeps_its_groups_when_the_agent_restarts() {
    let mut earlier = Cluster::new();
    let mut flows = installed(&mut earlier, &service("bygone"));
    flows.extend(installed(&mut earlier, &service("kept")));
    let present = group_ids(&[1, 2, 3, 4, 5, 6, 7, 8]);
    let proxy = Proxy::new(settings(), present, Adoption::new(flows));
    let mut cluster = Cluster { proxy, pipeline: pipeline() };
    let new = service("another");
    insta::assert_snapshot!(cluster.apply(&format!("{new}\n---{}", service("kept"))), @"
    shop/another
      TCP 10.96.0.7:80 -> 9
      TCP node port 30007 IPv4 -> 10, local clients 9
      group 9: none
      group 10: none

    shop/kept
      TCP 10.96.0.4:80 -> 7
      TCP node port 30004 IPv4 -> 8, local clients 7
      group 7: none
      group 8: none
    ");
    cluster.proxy.forget_earlier();
    let text = cluster.apply(&service("later"));
    assert!(text.contains("group 5:") && text.contains("group 6:"), "{text}");
}

#[test]
fn a_service_that_answers_directly_keeps_the_group_of_its_node_too() {
    let direct = "
kind: Service
metadata: {namespace: shop, name: direct, annotations: {service.antrea.io/load-balancer-mode: dsr}}
spec: {clusterIP: 10.96.0.9, externalIPs: [192.0.2.80], ports: [{port: 80}]}";
    let mut earlier = Cluster::new();
    installed(&mut earlier, &service("bygone"));
    let flows = installed(&mut earlier, direct);
    let proxy = Proxy::new(settings(), group_ids(&[5, 6, 7, 8]), Adoption::new(flows));
    let mut cluster = Cluster { proxy, pipeline: pipeline() };
    let text = cluster.apply(direct);
    assert!(text.contains("TCP 192.0.2.80:80 -> 7, dsr 8\n"), "{text}");
}
