//! The MemberClusterAnnounce: tells the leader every 10 s that the member is alive.

use antrea_kit::kube_client::{bounded, status_code};
use antrea_mc_core::addresses::EndpointAddresses;
use antrea_shared_api::multicluster::condition_type;
use antrea_shared_api::multicluster::v1alpha1::{EndpointIpType, MemberClusterAnnounce, TOUCH_TS};
use antrea_shared_api::multicluster::well_known::announce_name;
use anyhow::Result;
use ipnet::IpNet;
use jiff::Timestamp;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::Target;
use crate::condition::{Condition, time};
use crate::export::{Networks, PodNetworks};
use crate::send::FIELD_MANAGER;

/// Conditions that the leader has of its members.
const TOLD: [&str; 4] = [
    condition_type::CONFLICT,
    condition_type::NETWORK_UNAPPROVED,
    condition_type::EXPORT_LIMIT,
    condition_type::POD_NETWORKS,
];

/// What may be missing from a configuration.
const OPTIONAL: [&str; 2] = ["serviceCIDRs", "version"];
/// What may be missing of the networks of Pods.
const OF_PODS: [&str; 2] = ["podCIDRs", "nodePodCIDRs"];

/// What a member says of itself.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    pub(crate) networks: Networks,
    pub(crate) pods: PodNetworks,
    /// The networks of Pods that Nodes name now; nothing before Nodes are known.
    pub(crate) nodes: watch::Receiver<Option<Vec<IpNet>>>,
    pub(crate) addresses: EndpointAddresses,
    pub(crate) version: String,
}

impl Facts {
    /// The networks of Nodes that Pods are to be exported in; nothing before they are known.
    pub(super) fn exported_of_nodes(&self) -> Option<Vec<IpNet>> {
        match self.pods {
            PodNetworks::Named => Some(Vec::new()),
            PodNetworks::OfNodes => self.nodes.borrow().clone(),
        }
    }
}

/// What the leader is told at `now` of the cluster with this UID and these networks of Nodes.
pub(super) fn announce(
    target: &Target,
    facts: &Facts,
    (uid, of_nodes): (&str, &[IpNet]),
    now: Timestamp,
) -> MemberClusterAnnounce {
    let texts = |networks: &[IpNet]| networks.iter().map(ToString::to_string).collect();
    let mut announce = MemberClusterAnnounce::new(&target.area, &announce_name(target.cluster.as_str()));
    announce.metadata.annotations = Some([(TOUCH_TS.to_owned(), time(now))].into());
    MemberClusterAnnounce {
        cluster_id: target.cluster.to_string(),
        cluster_set_id: target.set.clone(),
        leader_cluster_id: target.leader.clone(),
        service_cidrs: texts(&facts.networks.service_cidrs),
        pod_cidrs: texts(&facts.networks.pod_cidrs),
        node_pod_cidrs: texts(of_nodes),
        endpoint_ip_type: Some(match facts.addresses {
            EndpointAddresses::ClusterIps => EndpointIpType::ClusterIP,
            EndpointAddresses::PodIps => EndpointIpType::PodIP,
        }),
        version: facts.version.clone(),
        cluster_uid: uid.to_owned(),
        ..announce
    }
}

/// Sends a heartbeat: one request, two for the first. The answer has what the leader says of this cluster. What was said
/// before of the networks of Pods stays said while Nodes are not known: the leader would give these to others.
pub(super) async fn send(
    client: &Client,
    announce: &MemberClusterAnnounce,
    knows_nodes: bool,
) -> Result<MemberClusterAnnounce> {
    match patch(client, announce, patch_of(announce, knows_nodes)).await {
        Err(error) if status_code(&error) == Some(404) => {
            let field_manager = Some(FIELD_MANAGER.to_owned());
            let parameters = PostParams { field_manager, ..PostParams::default() };
            bounded(api(client, announce).create(&parameters, announce)).await
        }
        answer => answer,
    }
}

/// Tells the leader that the cluster with the UID of this announce is alive, and nothing else of it. The answer is as above.
pub(super) async fn touch(
    client: &Client,
    announce: &MemberClusterAnnounce,
) -> Result<MemberClusterAnnounce> {
    let metadata = json!({ "annotations": announce.metadata.annotations });
    patch(client, announce, json!({ "metadata": metadata, "clusterUID": announce.cluster_uid })).await
}

async fn patch(
    client: &Client,
    announce: &MemberClusterAnnounce,
    patch: Value,
) -> Result<MemberClusterAnnounce> {
    let name = announce.metadata.name.as_deref().unwrap_or_default();
    let field_manager = Some(FIELD_MANAGER.to_owned());
    let parameters = PatchParams { field_manager, ..PatchParams::default() };
    bounded(api(client, announce).patch(name, &parameters, &Patch::Merge(patch))).await
}

fn api(client: &Client, announce: &MemberClusterAnnounce) -> Api<MemberClusterAnnounce> {
    Api::namespaced(client.clone(), announce.metadata.namespace.as_deref().unwrap_or_default())
}

/// The merge patch that makes an announce like this: what the configuration does not have any more goes.
fn patch_of(announce: &MemberClusterAnnounce, knows_nodes: bool) -> Value {
    let mut patch = json!(announce);
    if let Some(fields) = patch.as_object_mut() {
        for name in OPTIONAL.into_iter().chain(OF_PODS.into_iter().filter(|_| knows_nodes)) {
            fields.entry(name).or_insert(Value::Null);
        }
    }
    patch
}

/// What the leader says of this cluster that its users have to know.
pub(super) fn told(answer: &MemberClusterAnnounce) -> Vec<Condition> {
    let said = |condition_type: &'static str| {
        let mut conditions = answer.status.iter().flat_map(|status| &status.conditions);
        let said = conditions.find(|of| of.condition_type == condition_type)?;
        Some(Condition::of_leader(condition_type, said.status.as_str(), &said.reason, &said.message))
    };
    TOLD.into_iter().filter_map(said).collect()
}

/// That the leader does not take what this cluster says of itself, for this reason.
pub(super) fn refused(why: &str) -> Condition {
    let message =
        format!("the leader goes by what this cluster announced before, and does not take the rest: {why}");
    Condition::new(condition_type::ANNOUNCE_REFUSED, "True", "Refused", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_configured_is_taken_out_of_the_announce() {
        let pod_cidrs = vec!["10.10.0.0/16".to_owned()];
        let announce = MemberClusterAnnounce { pod_cidrs, ..MemberClusterAnnounce::new("area", "west") };
        let patch = patch_of(&announce, true);
        assert_eq!(patch["podCIDRs"], json!(["10.10.0.0/16"]));
        for name in ["serviceCIDRs", "nodePodCIDRs", "version"] {
            assert_eq!(patch.get(name), Some(&Value::Null), "{name}");
        }
        assert_eq!(patch.get("clusterUID"), None, "it never changes");
        let patch = patch_of(&MemberClusterAnnounce::new("area", "west"), false);
        for name in OF_PODS {
            assert_eq!(patch.get(name), None, "it is not known what Nodes name");
        }
    }

    #[test]
    fn whatever_a_leader_says_a_status_can_say_too() {
        let told = |status: &str, reason: &str, message: &str| {
            let said = json!({ "type": "Conflict", "status": status, "reason": reason, "message": message });
            let answer = json!({ "clusterID": "west", "status": { "conditions": [said] } });
            told(&serde_json::from_value(answer).unwrap()).remove(0)
        };
        let usual = told("True", "NetworkRefused", "10.2.0.0/24 is of cluster east");
        let message = "the leader says: 10.2.0.0/24 is of cluster east";
        assert_eq!(usual, Condition::new("Conflict", "True", "NetworkRefused", message));
        assert_eq!(told("False", "A,B:c_1", "").message, "");
        let odd = told("Maybe", "a b", &"\u{e4}".repeat(1 << 19));
        assert_eq!((odd.status.as_str(), odd.reason.as_str()), ("Unknown", "Unspecified"));
        assert!(odd.message.len() < 4200 && odd.message.ends_with("\u{e4} ..."), "{}", odd.message.len());
        let command = format!("`kubectl annotate {}`", "10.96.0.0/16,".repeat(300));
        assert!(told("True", "NotBound", &command).message.ends_with(&command), "it can be run");
        for reason in ["", "1a", "a-", "a,", "a b", "a".repeat(1025).as_str()] {
            assert_eq!(told("True", reason, "").reason, "Unspecified", "{reason}");
        }
    }
}
