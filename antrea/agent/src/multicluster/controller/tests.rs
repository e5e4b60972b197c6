//! What makes the agent plan its part of the ClusterSet again, and what does not.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use antrea_agent_multicluster::PodToPod;
use antrea_agent_routing::{OwnNode, TrafficMode, TunnelProtocol};
use antrea_hostplan::Transport;
use antrea_kit::object_files;
use antrea_ovs::Round;
use antrea_ovs::openflow::Connection;
use antrea_pipeline::multicluster::Multicluster;
use antrea_pipeline::service::Services;
use antrea_pipeline::{Gateway, PipelineConfig, PolicyEnforcement, Tunnel};
use antrea_shared_api::multicluster::v1alpha1::TunnelInfo;
use antrea_types::{DualStack, OfPort, TunnelTraffic};
use ipnet::IpNet;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use serde_json::json;

use super::*;

/// A Node without others, and without a switch.
fn base() -> ClusterSetBase {
    let pod_cidr = "10.10.0.0/24".parse::<IpNet>().unwrap();
    let own = OwnNode {
        name: "n1".parse().unwrap(),
        pod_cidrs: [pod_cidr].into_iter().collect(),
        gateway: "antrea-gw0".parse().unwrap(),
        transport: Transport {
            interface: "eth0".parse().unwrap(),
            addresses: ["172.18.0.1/24".parse::<IpNet>().unwrap()].into_iter().collect(),
        },
        mode: TrafficMode::Encap,
        tunnel: TunnelProtocol::Geneve,
    };
    let routes = antrea_agent_routing::plan(&own, &[]);
    let (connection, _) = Connection::open("/nowhere/br-int.mgmt");
    ClusterSetBase {
        node: own.name,
        pipeline: Arc::new(pipeline(pod_cidr)),
        switch: Switch::new(connection, Round(1), Vec::new()),
        nodes: watch::Sender::new(NodeFacts::default()).subscribe(),
        routes: watch::Sender::new(routes).subscribe(),
    }
}

fn pipeline(pod_cidr: IpNet) -> Pipeline {
    Pipeline::new(PipelineConfig {
        gateway: Gateway {
            of_port: OfPort::GATEWAY,
            mac: "0a:00:00:00:00:01".parse().unwrap(),
            ips: ["10.10.0.1".parse::<IpAddr>().unwrap()].into_iter().collect(),
        },
        tunnel: Some(Tunnel { of_port: OfPort::TUNNEL, traffic: TunnelTraffic::Udp(6081) }),
        local_pod_cidrs: [pod_cidr].into_iter().collect(),
        services: Services::ByHost { cidrs: DualStack::default() },
        multicluster: Multicluster::On,
        policies: PolicyEnforcement::Off,
    })
}

/// The Gateway of another Node after the heartbeat of this second. It has no usable address, so that no plan has to wait for a
/// switch.
fn gateway(second: i64, reached: bool) -> WatchEvent<Record<LocalGateway>> {
    let object = json!({
        "metadata": {"name": "n2", "resourceVersion": second.to_string()},
        "gatewayIP": "none",
        "status": {"probe": {
            "heartbeatTime": MicroTime(Timestamp::from_second(second).unwrap()),
            "peers": [{"clusterID": "b", "gatewayIP": "203.0.113.9", "reached": reached}],
        }},
    });
    WatchEvent::Applied(record_gateway(serde_json::from_value(object).unwrap()).unwrap())
}

#[tokio::test]
async fn a_thousand_heartbeats_plan_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let client = object_files::client(folder.path()).unwrap();
    let setup = MulticlusterSetup {
        namespace: "mc".to_owned(),
        pod_to_pod: PodToPod::Off,
        tunnel: TunnelInfo::default(),
    };
    let (controller, _notices) = MulticlusterController::new(setup, &client, base()).await.unwrap();
    // Sent with each plan, whatever is in it.
    let mut planned = controller.peers();
    let (gateways, of_gateways) = mpsc::channel(1);
    let (_clusters, of_clusters) = mpsc::channel(1);
    let stop = CancellationToken::new();
    let running = tokio::spawn(controller.run(of_gateways, of_clusters, stop.clone()));
    gateways.send(gateway(0, true)).await.unwrap();
    planned.changed().await.unwrap();
    for second in 1..=1000 {
        gateways.send(gateway(second, true)).await.unwrap();
    }
    // The last one has been taken, and on one thread nobody sees that before it is dealt with.
    drop(gateways.reserve().await.unwrap());
    assert!(!planned.has_changed().unwrap());
    gateways.send(gateway(1001, false)).await.unwrap();
    planned.changed().await.unwrap();
    stop.cancel();
    running.await.unwrap().unwrap();
}
