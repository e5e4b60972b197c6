//! Reachability: a member reaches its leader's API server, and Gateways reach each other.

use antrea_shared_api::multicluster::v1alpha1::{Gateway, GatewayProbe, TunnelInfo};
use antrea_shared_api::multicluster::v1alpha2::ClusterSet;
use antrea_shared_api::multicluster::{ConditionStatus, condition_type};
use jiff::Timestamp;
use kube::ResourceExt;

use super::finding::Finding;
use super::tunnel::tunnel_of;

const LEADER: &str = "leader's API";
const GATEWAY: &str = "Gateway";
const MEMBERS: &str = "members";

/// What the leader's API server answered to the member's token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// There was nothing to ask it with.
    NoCredential(String),
    /// It did not answer.
    Unreachable(String),
    /// It answered with this status of HTTP, and said what time it is.
    Status(u16, Option<Timestamp>),
}

impl Answer {
    pub(crate) fn time(&self) -> Option<Timestamp> {
        match self {
            Self::Status(_, time) => *time,
            _ => None,
        }
    }
}

/// Judges the answer that came to where antctl-mc runs.
pub(crate) fn check_leader(server: &str, secret: &str, answer: &Answer) -> Finding {
    let new_token = "In the leader run \"antctl mc get membertoken NAME -n NAMESPACE -o yaml > token.yaml\", here \"antctl mc join\" \
                     once more, with --token-secret-file token.yaml.";
    match answer {
        Answer::NoCredential(why) => Finding::failed(LEADER, why, new_token),
        Answer::Unreachable(why) => Finding::failed(
            LEADER,
            format!("{server} does not answer: {why}"),
            "Let Nodes of this cluster (and this machine) connect to that address, and see that leaders[0].server of the \
             ClusterSet is right.",
        ),
        Answer::Status(401, _) => Finding::failed(
            LEADER,
            format!("{server} refuses the token of Secret {secret}: it has expired, or was deleted"),
            new_token,
        ),
        Answer::Status(403, _) => Finding::failed(
            LEADER,
            format!("{server} does not let the token of Secret {secret} read the Common Area"),
            "In the leader run \"antctl mc create membertoken\" with the name and the cluster ID of this member, and see that \
             spec.namespace of the ClusterSet is the Common Area.",
        ),
        Answer::Status(status, _) if *status < 400 => Finding::passed(LEADER, format!("{server} answers")),
        Answer::Status(404, _) => Finding::failed(
            LEADER,
            format!("{server} does not know Multi-cluster"),
            "Install Multi-cluster in the leader, or correct leaders[0].server of the ClusterSet.",
        ),
        Answer::Status(status, _) => Finding::failed(
            LEADER,
            format!("{server} answers with HTTP status {status}"),
            "See the log of the leader's API server.",
        ),
    }
}

/// The Gateways, the one first that is in use: while one takes over from another, the older one.
fn by_age(gateways: &[Gateway]) -> Vec<&Gateway> {
    let mut gateways: Vec<&Gateway> = gateways.iter().collect();
    gateways.sort_by_key(|gateway| {
        let created = gateway.metadata.creation_timestamp.as_ref().map(|time| time.0);
        (created, gateway.name_any())
    });
    gateways
}

/// The Gateway that is in use.
pub(crate) fn in_use(gateways: &[Gateway]) -> Option<&Gateway> {
    by_age(gateways).first().copied()
}

/// Judges what the agent of the Gateway finds that is in use.
pub(crate) fn check_gateway(gateways: &[Gateway]) -> Vec<Finding> {
    let gateways = by_age(gateways);
    let Some((gateway, next)) = gateways.split_first() else {
        return vec![Finding::failed(
            GATEWAY,
            "no Node is the Gateway",
            "Annotate a Node: \"kubectl annotate node NAME multicluster.antrea.io/gateway=true\". (Without Gateways, Services \
             are reached only where Pods of all clusters reach each other.)",
        )];
    };
    let name = gateway.name_any();
    let Some(probe) = gateway.status.as_ref().and_then(|status| status.probe.as_ref()) else {
        return vec![Finding::skipped(
            GATEWAY,
            format!("the agent of Node {name} does not say whom it reaches"),
        )];
    };
    let mut findings = unreached(&name, probe, tunnel_of(gateway));
    if findings.is_empty() {
        let mut what =
            format!("{name} reaches {} Gateways and {} Nodes", probe.peers.len(), probe.nodes.reached);
        for next in next {
            what = format!("{what}; {} takes over", next.name_any());
        }
        findings.push(Finding::passed(GATEWAY, what));
    }
    findings
}

/// What the agent of the Node `name` does not reach.
fn unreached(name: &str, probe: &GatewayProbe, tunnel: Option<&TunnelInfo>) -> Vec<Finding> {
    let lost = probe.peers.iter().filter(|peer| !peer.reached).map(|peer| {
        Finding::failed(
            GATEWAY,
            format!("{name} does not reach {}, the Gateway of cluster {}", peer.gateway_ip, peer.cluster_id),
            format!(
                "Open {} between the two addresses; behind NAT annotate the Gateway's Node with \
                 multicluster.antrea.io/gateway-ip.",
                protocol(tunnel)
            ),
        )
    });
    let mut findings: Vec<Finding> = lost.collect();
    if probe.nodes.reached < probe.nodes.probed {
        findings.push(Finding::failed(
            GATEWAY,
            format!(
                "{name} reaches {} of {} Nodes of its cluster, not {}",
                probe.nodes.reached,
                probe.nodes.probed,
                probe.nodes.unreached.join(", ")
            ),
            "See that these Nodes are up, and that their agents are ready.",
        ));
    }
    findings
}

/// What carries packets between Gateways.
fn protocol(tunnel: Option<&TunnelInfo>) -> String {
    match tunnel {
        Some(TunnelInfo { tunnel_type, port: 0 }) if tunnel_type == "gre" => {
            "IP protocol 47 (GRE)".to_owned()
        }
        Some(TunnelInfo { tunnel_type, port }) if *port != 0 => format!("UDP port {port} ({tunnel_type})"),
        _ => "UDP port 6081 (Geneve) or that of the agents' tunnelType".to_owned(),
    }
}

/// Judges who is connected with the leader.
pub(crate) fn check_members(set: &ClusterSet) -> Vec<Finding> {
    let clusters = set.status.iter().flat_map(|status| &status.cluster_statuses);
    let (mut connected, mut findings) = (Vec::new(), Vec::new());
    for cluster in clusters {
        let id = &cluster.cluster_id;
        let ready = cluster.conditions.iter().find(|of| of.condition_type == condition_type::READY);
        match ready {
            Some(ready) if ready.status == ConditionStatus::True => connected.push(id.as_str()),
            other => {
                let why = other.map(|ready| ready.message.as_str()).filter(|why| !why.is_empty());
                findings.push(Finding::failed(
                    MEMBERS,
                    format!(
                        "cluster {id} is not connected: {}",
                        why.unwrap_or("nothing was heard of it yet")
                    ),
                    format!(
                        "Run \"antctl mc check\" in cluster {id}; see that its Multi-cluster controller runs."
                    ),
                ));
            }
        }
    }
    match (findings.is_empty(), connected.is_empty()) {
        (true, true) => vec![Finding::skipped(MEMBERS, "no cluster has joined")],
        (true, false) => vec![Finding::passed(MEMBERS, format!("{} are connected", connected.join(", ")))],
        (false, _) => findings,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::finding::text;

    #[track_caller]
    fn check_answer(answer: &Answer, expected: &str) {
        let text = text(&[check_leader("https://hub:6443", "tok5", answer)]);
        assert_eq!(text.lines().next().unwrap(), expected);
    }

    #[test]
    fn what_keeps_a_member_from_its_leader_is_named() {
        check_answer(&Answer::Status(200, None), "leader's API: passed: https://hub:6443 answers");
        check_answer(
            &Answer::Status(401, None),
            "leader's API: FAILED: https://hub:6443 refuses the token of Secret tok5: it has expired, or was deleted",
        );
        check_answer(
            &Answer::Status(403, None),
            "leader's API: FAILED: https://hub:6443 does not let the token of Secret tok5 read the Common Area",
        );
        check_answer(
            &Answer::Status(404, None),
            "leader's API: FAILED: https://hub:6443 does not know Multi-cluster",
        );
        check_answer(
            &Answer::Status(503, None),
            "leader's API: FAILED: https://hub:6443 answers with HTTP status 503",
        );
        check_answer(
            &Answer::Unreachable("connection refused".to_owned()),
            "leader's API: FAILED: https://hub:6443 does not answer: connection refused",
        );
    }

    #[track_caller]
    fn check_probe(probe: &str, expected: &str) {
        let text_of = format!("{{metadata: {{name: node-a1}}, status: {{probe: {probe}}}}}");
        let gateway: Gateway = serde_saphyr::from_str(&text_of).unwrap();
        let text = text(&check_gateway(&[gateway]));
        assert_eq!(
            text.lines().filter(|line| !line.starts_with("  ")).collect::<Vec<_>>().join("\n"),
            expected
        );
    }

    #[test]
    fn gateways_that_do_not_answer_are_named() {
        check_probe(
            "{peers: [{clusterID: b, gatewayIP: 192.0.2.1, reached: true}], nodes: {probed: 2, reached: 2}}",
            "Gateway: passed: node-a1 reaches 1 Gateways and 2 Nodes",
        );
        check_probe(
            "{peers: [{clusterID: b, gatewayIP: 192.0.2.1, reached: false}], nodes: {probed: 2, reached: 1, unreached: [n2]}}",
            "Gateway: FAILED: node-a1 does not reach 192.0.2.1, the Gateway of cluster b\n\
             Gateway: FAILED: node-a1 reaches 1 of 2 Nodes of its cluster, not n2",
        );
        check_probe("null", "Gateway: skipped: the agent of Node node-a1 does not say whom it reaches");
        assert!(check_gateway(&[])[0].is_failed());
    }

    #[test]
    fn the_port_to_open_is_that_of_the_tunnel() {
        let fix = |tunnel: &str| {
            let probe = "{peers: [{clusterID: b, gatewayIP: 192.0.2.1, reached: false}]}";
            let text_of = format!("{{metadata: {{name: node-a1}}, status: {{probe: {probe}{tunnel}}}}}");
            let gateway: Gateway = serde_saphyr::from_str(&text_of).unwrap();
            let text = text(&check_gateway(&[gateway]));
            text.lines().nth(1).unwrap().trim().split(" between").next().unwrap().to_owned()
        };
        assert_eq!(fix(", tunnel: {type: vxlan, port: 8472}"), "Open UDP port 8472 (vxlan)");
        assert_eq!(fix(", tunnel: {type: gre}"), "Open IP protocol 47 (GRE)");
        assert_eq!(fix(""), "Open UDP port 6081 (Geneve) or that of the agents' tunnelType");
    }

    #[test]
    fn of_two_gateways_the_one_in_use_is_judged() {
        let gateway = |name: &str, hour: u8, reached: u8| -> Gateway {
            let probe = format!("{{nodes: {{probed: 2, reached: {reached}}}}}");
            let metadata = format!("{{name: {name}, creationTimestamp: '2026-11-21T{hour:02}:00:00Z'}}");
            let text_of = format!("{{metadata: {metadata}, status: {{probe: {probe}}}}}");
            serde_saphyr::from_str(&text_of).unwrap()
        };
        let found = check_gateway(&[gateway("a", 10, 0), gateway("b", 9, 2)]);
        assert_eq!(text(&found), "Gateway: passed: b reaches 0 Gateways and 2 Nodes; a takes over\n");
    }
}
