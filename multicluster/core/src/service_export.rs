//! What a member does with a ServiceExport: what it exports, and what it says in the conditions.

mod home;
mod local;

use std::collections::BTreeSet;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr};

use antrea_shared_api::mcs::{ServiceExportSpec, export_condition, ready_reason, valid_reason};
use antrea_shared_api::multicluster::ConditionStatus;
use antrea_shared_api::multicluster::well_known::annotation;
use antrea_types::IpFamily;
use k8s_openapi::api::core::v1 as core;
use k8s_openapi::api::discovery::v1::EndpointSlice;

use crate::addresses::{Claim, EndpointAddresses};
use crate::endpoints::Endpoints;
use crate::service::ExportedService;

pub use home::pods_at_home;

/// Where a cluster has endpoints for others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reach {
    /// Which addresses it exports.
    pub addresses: EndpointAddresses,
    /// The networks that these are in.
    pub networks: Claim,
    /// Why it exports no Pods, or not all of them, where that is so.
    pub at_home: Option<PodsAtHome>,
}

/// Why Pods are endpoints in their own cluster alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PodsAtHome {
    /// The configuration does not say where they are.
    NotNamed,
    /// It says that Nodes do, and none does.
    NoNode,
    /// The leader takes no networks of Nodes.
    OlderLeader,
    /// It takes some, and not these, because of this.
    Refused(String),
}

/// What becomes of a ServiceExport.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "nobody keeps more than one")]
pub enum Decision {
    /// This is exported. There may be no endpoints: the Service stays exported, and gets no connections.
    Export {
        /// Ports and properties.
        service: ExportedService,
        /// Endpoints that other clusters can reach.
        endpoints: Endpoints,
        /// The families of the Service that do not cross clusters.
        families_at_home: Vec<IpFamily>,
        /// Endpoints that the leader would not take from this cluster: they are in none of its networks.
        strangers: BTreeSet<IpAddr>,
        /// Why it would not, where these are Pods in networks of the cluster.
        at_home: Option<PodsAtHome>,
        /// Whether session affinity takes all clients of another cluster for one: they come from its Gateway, and the
        /// Service itself chooses their endpoint.
        one_client: bool,
    },
    /// Nothing is exported, and what was is withdrawn.
    Withdraw(Invalid),
}

/// Why a Service cannot be exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invalid {
    /// There is none.
    NoService,
    /// It is of type ExternalName.
    ExternalName,
    /// It is itself imported.
    Imported,
    /// It has no ClusterIP, or none that other clusters can reach.
    NoClusterIp,
    /// Its Namespace is kept out of the ClusterSet.
    ExcludedNamespace,
}

/// How far the export of a Service has come in the Common Area.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// This cluster is in no ClusterSet.
    NoClusterSet,
    /// The leader has not answered yet; why, if that is known.
    Pending(Option<String>),
    /// The leader cannot be asked now. What it has said before holds.
    Kept,
    /// It is imported.
    Merged {
        /// What is known of conflicts.
        conflicts: Conflicts,
        /// What of its endpoints is not imported, and why.
        left_out: Option<String>,
    },
    /// The leader does not take it, because of this.
    Refused(String, Conflicts),
}

/// What the leader says of conflicts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Conflicts {
    /// Nothing, as upstream's leader.
    Unknown,
    /// There are none.
    None,
    /// There are: reason and message.
    Some(String, String),
}

/// A condition of a ServiceExport, without its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportCondition {
    /// The type.
    pub condition_type: &'static str,
    /// Whether it holds.
    pub status: ConditionStatus,
    /// Why, in one word.
    pub reason: String,
    /// Why, in a sentence.
    pub message: String,
}

/// How many addresses a message names.
const SHOWN: usize = 3;

/// What session affinity means for clients of other clusters.
const ONE_CLIENT: &str = "; with sessionAffinity ClientIP all clients of another cluster count as one, as its \
                          Gateway is what they come from";

/// Decides what a ServiceExport exports of the Service and the EndpointSlices of its name, in a cluster with this reach.
pub fn decide(
    export: &ServiceExportSpec,
    service: Option<&core::Service>,
    slices: &[&EndpointSlice],
    reach: &Reach,
) -> Decision {
    let spec = match exportable(service) {
        Ok(spec) => spec,
        Err(invalid) => return Decision::Withdraw(invalid),
    };
    let addresses = reach.addresses;
    let exported = local::service(export, spec);
    let Some(mut endpoints) = local::endpoints(spec, &exported.ports, slices, addresses) else {
        return Decision::Withdraw(Invalid::NoClusterIp);
    };
    let families = exported.properties.iter().flat_map(|properties| &properties.ip_families);
    let families_at_home = families.copied().filter(|family| *family != local::CROSSES).collect();
    let strangers = endpoints.retain(|address| reach.networks.allows(address));
    let are_pods = local::exports_pods(spec, addresses) && !strangers.is_empty();
    let at_home = reach.at_home.clone().filter(|_| are_pods);
    let one_client = addresses == EndpointAddresses::ClusterIps && local::keeps_clients(spec);
    Decision::Export { service: exported, endpoints, families_at_home, strangers, at_home, one_client }
}

/// The addresses that other clusters connect to for a Service that is exported, whichever of its endpoints take connections
/// now: those that [`decide`] exports are among them. `slices` are asked for where Pods are its endpoints.
///
/// # Errors
/// When the slices cannot be read.
pub fn reachable<E>(
    service: Option<&core::Service>,
    slices: impl FnOnce() -> Result<Vec<EndpointSlice>, E>,
    addresses: EndpointAddresses,
    networks: &Claim,
) -> Result<BTreeSet<Ipv4Addr>, E> {
    let Ok(spec) = exportable(service) else { return Ok(BTreeSet::new()) };
    let all = match local::own_addresses(spec, addresses) {
        Some(own) => own,
        None => local::addresses_of_pods(&slices()?),
    };
    let carried = all.into_iter().filter(|address| networks.allows(*address));
    let carried = carried.filter_map(|address| match address {
        IpAddr::V4(address) => Some(address),
        IpAddr::V6(_) => None,
    });
    Ok(carried.collect())
}

/// A Service that can be exported.
fn exportable(service: Option<&core::Service>) -> Result<&core::ServiceSpec, Invalid> {
    let service = service.ok_or(Invalid::NoService)?;
    let spec = service.spec.as_ref().ok_or(Invalid::NoService)?;
    if spec.type_.as_deref() == Some("ExternalName") {
        return Err(Invalid::ExternalName);
    }
    let annotations = service.metadata.annotations.as_ref();
    if annotations.is_some_and(|annotations| annotations.contains_key(annotation::IMPORTED_SERVICE)) {
        return Err(Invalid::Imported);
    }
    Ok(spec)
}

/// The conditions that tell the user what became of a ServiceExport; conditions of other types are not touched.
/// `Conflict` goes with what `Ready` said: when `Ready` is among them and `Conflict` is not.
pub fn conditions(decision: &Decision, progress: &Progress) -> Vec<ExportCondition> {
    if let Decision::Withdraw(invalid) = decision {
        return withdrawn(*invalid);
    }
    let valid = condition(
        export_condition::VALID,
        ConditionStatus::True,
        valid_reason::VALID,
        "The Service can be exported",
    );
    let (ready, conflicts) = match progress {
        Progress::Kept => return vec![valid],
        Progress::NoClusterSet => {
            (not_ready(ready_reason::PENDING, "this cluster is in no ClusterSet yet"), &Conflicts::Unknown)
        }
        Progress::Pending(why) => {
            let why = why.as_deref().unwrap_or("the leader has not taken the export yet");
            (not_ready(ready_reason::PENDING, why), &Conflicts::Unknown)
        }
        Progress::Refused(why, conflicts) => (not_ready(ready_reason::FAILED, why), conflicts),
        Progress::Merged { conflicts, left_out } => (exported(decision, left_out.as_deref()), conflicts),
    };
    let conflict = match conflicts {
        Conflicts::Unknown => None,
        Conflicts::None => Some((ConditionStatus::False, "NoConflicts", "")),
        Conflicts::Some(reason, message) => Some((ConditionStatus::True, reason.as_str(), message.as_str())),
    };
    let conflict = conflict
        .map(|(status, reason, message)| condition(export_condition::CONFLICT, status, reason, message));
    [valid, ready].into_iter().chain(conflict).collect()
}

fn withdrawn(invalid: Invalid) -> Vec<ExportCondition> {
    let (reason, message) = invalid.reason_and_message();
    let valid = condition(export_condition::VALID, ConditionStatus::False, reason, message);
    vec![valid, not_ready(ready_reason::FAILED, "the Service cannot be exported, see condition Valid")]
}

fn exported(decision: &Decision, left_out: Option<&str>) -> ExportCondition {
    let mut message = "The Service is exported successfully".to_owned();
    if let Decision::Export { endpoints, families_at_home, strangers, at_home, one_client, .. } = decision {
        for family in families_at_home {
            message.push_str(&format!("; {} crosses clusters, {family} does not", local::CROSSES));
        }
        match at_home {
            Some(PodsAtHome::Refused(why)) if endpoints.is_empty() => {
                return not_ready(ready_reason::FAILED, why);
            }
            Some(PodsAtHome::Refused(why)) => message.push_str(&format!("; {why}")),
            Some(why) => message.push_str(&format!("; its Pods are reached in this cluster alone, as {why}")),
            None => message.push_str(&named_strangers(strangers)),
        }
        if endpoints.is_empty() && at_home.is_none() {
            message.push_str("; it has no ready endpoints that other clusters can reach");
        }
        if *one_client {
            message.push_str(ONE_CLIENT);
        }
    }
    if let Some(left_out) = left_out {
        message.push_str(&format!("; {left_out}"));
    }
    condition(export_condition::READY, ConditionStatus::True, ready_reason::EXPORTED, &message)
}

fn named_strangers(strangers: &BTreeSet<IpAddr>) -> String {
    let mut text = String::new();
    for stranger in strangers.iter().take(SHOWN) {
        text.push_str(&format!("; {stranger} is in no network that this cluster has announced"));
    }
    if strangers.len() > SHOWN {
        text.push_str(&format!("; nor are {} others", strangers.len() - SHOWN));
    }
    text
}

impl fmt::Display for PodsAtHome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotNamed => "podCIDRs names no network",
            Self::NoNode => "no Node names a network of Pods",
            Self::OlderLeader => {
                "the leader is older and takes no networks of Nodes: name those of Pods in podCIDRs"
            }
            Self::Refused(why) => why,
        })
    }
}

fn not_ready(reason: &'static str, message: &str) -> ExportCondition {
    condition(export_condition::READY, ConditionStatus::False, reason, message)
}

fn condition(
    condition_type: &'static str,
    status: ConditionStatus,
    reason: &str,
    message: &str,
) -> ExportCondition {
    ExportCondition { condition_type, status, reason: reason.to_owned(), message: message.to_owned() }
}

impl Invalid {
    /// Reason and message of the condition `Valid`: the reasons of KEP-1645 where it has them, upstream's otherwise, and
    /// messages that begin with upstream's.
    pub const fn reason_and_message(self) -> (&'static str, &'static str) {
        match self {
            Self::NoService => (valid_reason::NO_SERVICE, "Service does not exist"),
            Self::ExternalName => {
                (valid_reason::INVALID_SERVICE_TYPE, "Service of ExternalName type is not supported")
            }
            Self::Imported => ("ImportedService", "The Service is imported, not allowed to export"),
            Self::NoClusterIp => {
                ("ServiceNoClusterIP", "Service does not have a valid ClusterIP: only IPv4 crosses clusters")
            }
            Self::ExcludedNamespace => (
                "ExcludedNamespace",
                "Services of this Namespace are not exported: member.excludedNamespaces of the configuration names it",
            ),
        }
    }
}
