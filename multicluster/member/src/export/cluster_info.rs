//! The ClusterInfo of this cluster: one ResourceExport, whichever Node is the Gateway.

use antrea_mc_core::names::{Names, Resource};
use antrea_shared_api::multicluster::v1alpha1::{
    ClusterInfo, Gateway, GatewayInfo, MOST_GATEWAYS, MOST_NAMED_NETWORKS,
};
use antrea_types::IpFamily;
use ipnet::IpNet;
use serde_json::json;

use super::{Exporter, Membership, Problem, Subject, parse};
use crate::action::{Action, ensure, exactly};
use crate::area::Plan;
use crate::kind::Kind;
use crate::objects::{Key, Objects, at, is_leaving};

/// The networks of this cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Networks {
    /// Of ClusterIPs.
    pub service_cidrs: Vec<IpNet>,
    /// Of Pods, where the configuration names them.
    pub pod_cidrs: Vec<IpNet>,
}

/// What is to be done about the ClusterInfo. It stays the same object when another Node becomes the Gateway: peers know the
/// new address before the old one goes. It goes when there is no Gateway.
pub(super) fn plan(exporter: &Exporter, objects: &Objects) -> Result<Plan<Problem>, Problem> {
    let Membership::Joined { area, unreachable: None } = &exporter.membership else {
        return Ok(Plan::default());
    };
    let names = Names::of_export(&exporter.cluster, &Resource::ClusterInfo(exporter.cluster.clone()));
    let key = Key::new(Kind::ResourceExport, area, &names.plain);
    let actual = objects.get(&key);
    let action = match (gateways(exporter, objects)?.as_slice(), actual) {
        (_, Some(actual)) if is_leaving(actual) => None,
        // Peers would give up every connection, and a Gateway that was deleted by hand comes back at once.
        ([], _) if exporter.withdrawals.is_held(&Subject::ClusterInfo) => None,
        ([], actual) => actual.map(|actual| Action::delete(&key, actual)),
        ([active, next @ ..], actual) => {
            let info = json!(info(exporter, active, next));
            let info = exactly(actual.and_then(|actual| at(actual, "/spec/clusterInfo")), &info);
            let of = (exporter.namespace.as_str(), exporter.cluster.as_str());
            ensure(
                Kind::ResourceExport,
                actual,
                &exporter.resource_export(&key, "ClusterInfo", of, ("clusterInfo", &info)),
            )
        }
    };
    Ok(Plan { actions: action.into_iter().collect(), problems: Vec::new() })
}

/// The Gateways: while one takes over from another the old one first, which connections go to until it goes.
fn gateways(exporter: &Exporter, objects: &Objects) -> Result<Vec<Gateway>, Problem> {
    let gateways = objects
        .all(Kind::Gateway)
        .filter(|(key, gateway)| key.namespace == exporter.namespace && !is_leaving(gateway));
    let mut gateways: Vec<Gateway> =
        gateways.map(|(key, gateway)| parse::<Gateway>(key, gateway)).collect::<Result<_, _>>()?;
    gateways.sort_by_key(|gateway| gateway.metadata.creation_timestamp.as_ref().map(|time| time.0));
    Ok(gateways)
}

fn info(exporter: &Exporter, active: &Gateway, next: &[Gateway]) -> ClusterInfo {
    let texts = |networks: &[IpNet]| networks.iter().map(ToString::to_string).collect::<Vec<_>>();
    let services = &exporter.networks.service_cidrs;
    let named = &exporter.networks.pod_cidrs;
    let exported = exporter.pods.networks.iter().filter(|network| !named.contains(network));
    let pods: Vec<IpNet> = named.iter().chain(exported).take(MOST_NAMED_NETWORKS).copied().collect();
    let first = services.iter().find(|network| IpFamily::of_net(network) == IpFamily::V4);
    ClusterInfo {
        cluster_id: exporter.cluster.to_string(),
        service_cidr: first.map(ToString::to_string).unwrap_or_default(),
        service_cidrs: if services.len() > 1 { texts(services) } else { Vec::new() },
        gateway_infos: std::iter::once(active).chain(next).take(MOST_GATEWAYS).map(gateway_info).collect(),
        pod_cidrs: texts(&pods),
        // The agent of the Node knows; one of an older version, or of upstream's, does not say.
        tunnel: active.status.as_ref().and_then(|status| status.tunnel.clone()),
        wire_guard: active.wire_guard.clone(),
    }
}

fn gateway_info(gateway: &Gateway) -> GatewayInfo {
    GatewayInfo { gateway_ip: gateway.gateway_ip.clone() }
}
