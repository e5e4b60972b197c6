//! What a simulated member writes: its announce, and its ResourceExports, as real ones do.

use std::net::Ipv4Addr;

use antrea_mc_core::ids::{ClusterId, NamespacedName};
use antrea_mc_core::names::{Names, Resource};
use antrea_shared_api::multicluster::v1alpha1::{
    EndpointIpType, MemberClusterAnnounce, ResourceExport, TOUCH_TS,
};
use antrea_shared_api::multicluster::well_known::{announce_name, finalizer, label};
use anyhow::Result;
use jiff::Timestamp;
use serde_json::{Value, json};

/// The Namespace of everything that is exported.
const NAMESPACE: &str = "bench";
/// The network of all members: 10.0.0.0/8. Member number n has the n-th 256 addresses of it.
const NETWORK: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 0);

/// What members are members of.
#[derive(Clone, Debug)]
pub(crate) struct ClusterSet {
    pub(crate) name: String,
    /// The ID of the leader.
    pub(crate) leader: String,
    /// The Namespace of the Common Area.
    pub(crate) area: String,
}

/// A ResourceExport.
#[derive(Clone, Debug)]
pub(crate) struct Export {
    pub(crate) object: ResourceExport,
    /// The name of the ResourceImport that it becomes.
    pub(crate) import: String,
}

/// The ID of a member, by number.
pub(crate) fn cluster(member: u32) -> String {
    format!("m{member:05}")
}

/// What a member says of itself at `now`.
pub(crate) fn announce(set: &ClusterSet, member: u32, now: Timestamp) -> MemberClusterAnnounce {
    let cluster = cluster(member);
    let mut announce = MemberClusterAnnounce::new(&set.area, &announce_name(&cluster));
    let touch = now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    announce.metadata.annotations = Some([(TOUCH_TS.to_owned(), touch)].into());
    MemberClusterAnnounce {
        cluster_id: cluster,
        cluster_set_id: set.name.clone(),
        leader_cluster_id: set.leader.clone(),
        service_cidrs: vec![format!("{}/24", network(member))],
        endpoint_ip_type: Some(EndpointIpType::ClusterIP),
        ..announce
    }
}

/// What a member exports: so many Services that no other member has, with a ClusterIP each.
pub(crate) fn exports(set: &ClusterSet, member: u32, services: u32) -> Result<Vec<Export>> {
    let exports = (0..services).flat_map(|service| {
        ["Service", "Endpoints"].map(|kind| export(set, member, member * services + service, service, kind))
    });
    exports.collect()
}

/// `number` is that of the Service among those of all members, `index` among those of this one.
fn export(set: &ClusterSet, member: u32, number: u32, index: u32, kind: &str) -> Result<Export> {
    let (id, name) = (cluster(member), format!("s{number:05}"));
    let of = NamespacedName::new(NAMESPACE, &name)?;
    let (resource, field, payload) = match kind {
        "Service" => (Resource::Service(of), "service", service()),
        _ => (Resource::Endpoints(of), "endpoints", endpoints(member, index)),
    };
    let object = json!({
        "apiVersion": "multicluster.crd.antrea.io/v1alpha1",
        "kind": "ResourceExport",
        "metadata": {
            "name": Names::of_export(&id.parse::<ClusterId>()?, &resource).plain,
            "namespace": set.area,
            "labels": {
                label::SOURCE_CLUSTER_ID: id,
                label::SOURCE_KIND: kind,
                label::SOURCE_NAMESPACE: NAMESPACE,
                label::SOURCE_NAME: name,
            },
            "finalizers": [finalizer::RESOURCE_EXPORT],
        },
        "spec": {"clusterID": id, "namespace": NAMESPACE, "name": name, "kind": kind, field: payload},
    });
    Ok(Export { object: serde_json::from_value(object)?, import: Names::of_import(&resource).plain })
}

fn service() -> Value {
    json!({
        "serviceSpec": {
            "ports": [port()],
            "sessionAffinity": "None",
            "ipFamilies": ["IPv4"],
            "internalTrafficPolicy": "Cluster",
        },
        "origin": {"creationTimestamp": "2026-01-01T00:00:00Z", "type": "ClusterSetIP"},
    })
}

fn endpoints(member: u32, index: u32) -> Value {
    // The first address of a network is nobody's.
    let address = Ipv4Addr::from_bits(network(member).to_bits() + 1 + index);
    json!({
        "subsets": [{"addresses": [{"ip": address}], "ports": [port()]}],
        "endpointSlices": [{"addressType": "IPv4", "ports": [port()], "endpoints": [{"addresses": [address]}]}],
    })
}

fn port() -> Value {
    json!({"name": "http", "port": 80, "protocol": "TCP"})
}

fn network(member: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits(NETWORK.to_bits() | member << 8)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::net::IpAddr;

    use antrea_mc_core::addresses::{Claims, GatewayBindings, PodConnectivity};
    use antrea_mc_core::export::Export as Claimed;
    use antrea_mc_core::wire::{Payload, claim_of_announce, parse_export};
    use antrea_shared_api::validation::Validate;

    use super::*;

    fn set() -> ClusterSet {
        ClusterSet { name: "bench".into(), leader: "leader".into(), area: "area".into() }
    }

    /// What all members claim, of which nothing is refused.
    fn claims(members: u32) -> Claims {
        let claim = |member| {
            let announce = announce(&set(), member, Timestamp::UNIX_EPOCH);
            assert_eq!(announce.validate(), []);
            let (claim, problems) = claim_of_announce(&announce, PodConnectivity::Off);
            assert!(problems.is_empty(), "{problems:?}");
            let cluster = announce.cluster_id.parse().unwrap();
            Claimed { cluster, created: Timestamp::UNIX_EPOCH, payload: claim.unwrap() }
        };
        let claimed: Vec<_> = (0..members).map(claim).collect();
        let (claims, refused) =
            Claims::settle(&claimed.iter().collect::<Vec<_>>(), &[], &[], &GatewayBindings::default());
        assert!(refused.networks.is_empty(), "{refused:?}");
        claims
    }

    #[test]
    fn the_leader_finds_nothing_wrong_with_what_members_export() {
        let claims = claims(500);
        for member in [0, 1, 255, 256, 499] {
            for Export { object, .. } in exports(&set(), member, 10).unwrap() {
                assert_eq!(object.validate(), []);
                let parsed = parse_export(&object).unwrap();
                assert!(parsed.problems.is_empty(), "{:?}", parsed.problems);
                let Payload::Endpoints(endpoints) = parsed.payload else { continue };
                let addresses: Vec<IpAddr> = endpoints.payload.iter().map(|(_, ip, _)| ip).collect();
                assert_eq!(addresses.len(), 1);
                assert_eq!(claims.check(&endpoints.cluster, addresses[0]), Ok(()));
            }
        }
    }

    #[test]
    fn every_export_becomes_an_import_of_its_own() {
        let all: Vec<Export> = (0..500).flat_map(|member| exports(&set(), member, 10).unwrap()).collect();
        let imports: BTreeSet<&str> = all.iter().map(|export| export.import.as_str()).collect();
        let names: BTreeSet<_> = all.iter().map(|export| &export.object.metadata.name).collect();
        assert_eq!((imports.len(), names.len()), (10_000, 10_000));
        assert!(imports.contains("bench-s04999-endpoints"));
        assert_eq!(all[0].object.metadata.name.as_deref(), Some("m00000-bench-s00000-service"));
    }
}
