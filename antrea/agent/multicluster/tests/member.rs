//! A cluster with Nodes n1 and n2: reads objects, and prints the plan of a Node.

use antrea_agent_multicluster::{ClusterSetPlan, LocalGateway, OtherCluster, OwnCluster, PodToPod, plan};
use antrea_shared_api::multicluster::v1alpha1::{ClusterInfoImport, Gateway, TunnelInfo};
use serde_json::Value;

/// 10.96.0.0/12 has the Services, 10.10.0.0/16 the Pods; the tunnel is Geneve.
pub(crate) fn own(node: &str) -> OwnCluster {
    OwnCluster {
        node: node.parse().unwrap(),
        networks: ["10.96.0.0/12", "10.10.0.0/16", "fd00:10::/56"].map(|text| text.parse().unwrap()).to_vec(),
        node_addresses: ["172.18.0.1", "172.18.0.2"].map(|text| text.parse().unwrap()).to_vec(),
        pod_to_pod: PodToPod::Off,
        tunnel: TunnelInfo { tunnel_type: "geneve".to_owned(), port: 6081 },
    }
}

/// What the Node plans from YAML documents, in whichever order they come.
pub(crate) fn planned(own: &OwnCluster, yaml: &str) -> ClusterSetPlan {
    let (mut gateways, mut clusters) = (Vec::new(), Vec::new());
    for document in yaml.split("---").filter(|document| !document.trim().is_empty()) {
        let object: Value = serde_saphyr::from_str(document).unwrap();
        if object["kind"] == "Gateway" {
            gateways.push(LocalGateway::read(&serde_json::from_value::<Gateway>(object).unwrap()));
        } else {
            clusters.push(OtherCluster::read(&serde_json::from_value::<ClusterInfoImport>(object).unwrap()));
        }
    }
    let planned = plan(own, &gateways, &clusters);
    gateways.reverse();
    clusters.reverse();
    assert_eq!(plan(own, &gateways, &clusters), planned, "the order of objects makes a difference");
    planned
}

/// The lines about the objects of other clusters, on Node n1.
pub(crate) fn clusters(yaml: &str) -> String {
    clusters_of(&own("n1"), yaml)
}

pub(crate) fn clusters_of(own: &OwnCluster, yaml: &str) -> String {
    let text = planned(own, yaml).to_string();
    text.split_once('\n').unwrap().1.to_owned()
}

/// A ClusterInfoImport, from its age and the rest of its `spec`.
pub(crate) fn import(cluster: &str, created: &str, spec: &str) -> String {
    format!(
        "---\nkind: ClusterInfoImport\n\
         metadata: {{name: {cluster}-clusterinfo, creationTimestamp: '2026-11-21T{created}Z'}}\n\
         spec: {{clusterID: {cluster}, {spec}}}\n"
    )
}
