//! The configuration file: upstream's MultiClusterConfig, validated.

mod file;
#[cfg(test)]
mod tests;
mod values;

use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use std::time::Duration;

use antrea_config_file::section::{Setting, allow_default_only, refuse};
use antrea_config_file::values::{parsed, port};
use antrea_config_file::{ConfigError, Problems, Texts, parse};
#[cfg(test)]
use antrea_config_file::{Key, Section};
use antrea_mc_core::addresses::EndpointAddresses;
use antrea_mc_leader::{LeaseTimes, Limits};
use antrea_mc_member::LabelIdentities;
use antrea_mc_member::gateway::NodeIpKind;
use antrea_shared_api::multicluster::v1alpha1::MOST_NAMED_NETWORKS;
use antrea_shared_api::well_known::NAMESPACE;
use ipnet::IpNet;
use serde_saphyr::Spanned;

use file::{ControllerFile, EXCLUDED_NAMESPACES};
pub(crate) use values::Listen;
use values::{
    AUTO, ApiVersion, Bytes, EndpointIpType, Host, Kind, Lifetime, NamespaceName, Networks, PodNetwork,
    Precedence, SecretName, Span,
};

/// How long tokens last where the file does not say.
const WEEK: Duration = Duration::from_secs(7 * 24 * 3600);

/// What the file says.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Config {
    /// Where health is answered.
    pub(crate) health: Listen,
    /// Where metrics are answered.
    pub(crate) metrics: Listen,
    /// Where API servers ask about objects.
    pub(crate) webhook: Webhook,
    /// Whether one of several replicas is elected.
    pub(crate) election: Election,
    /// Of a leader.
    pub(crate) leader: Leader,
    /// Of a member.
    pub(crate) member: Member,
}

/// The server that API servers ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Webhook {
    pub(crate) port: u16,
    /// The address of this machine; all of them without.
    pub(crate) host: Option<IpAddr>,
}

/// Whether the replicas elect the one that works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Election {
    /// Where the controller runs in a Pod: others may do so, too.
    InPods,
    /// Always.
    Always,
    /// Never: somebody else sees to it that there is one.
    Never,
}

/// Of a leader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Leader {
    /// The Namespaces of Common Areas; the controller's own where there are none.
    pub(crate) namespaces: Vec<String>,
    /// How long members may be silent.
    pub(crate) times: LeaseTimes,
    /// How much each of them may export.
    pub(crate) limits: Limits,
    /// How long tokens last that members ask for.
    pub(crate) token_lifetime: Duration,
}

/// Of a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    /// The Namespace of ClusterSet and Gateway, where not the controller's own.
    pub(crate) namespace: Option<String>,
    /// The Namespace of core Antrea.
    pub(crate) agent_namespace: String,
    /// The Secret with the token for the leader, where not the one that the ClusterSet names.
    pub(crate) token_secret: Option<String>,
    /// How long tokens are good for that the member asks for.
    pub(crate) token_lifetime: Duration,
    /// Namespaces of which nothing is exported or imported.
    pub(crate) excluded_namespaces: BTreeSet<String>,
    /// The networks of ClusterIPs, one a family, where they are not to be found out.
    pub(crate) service_cidrs: Option<Vec<IpNet>>,
    /// The networks that Pods are exported in.
    pub(crate) pod_cidrs: PodCidrs,
    pub(crate) precedence: NodeIpKind,
    pub(crate) addresses: EndpointAddresses,
    pub(crate) label_identities: LabelIdentities,
}

/// Where it says which networks Pods are exported in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PodCidrs {
    /// These are; none where there are none.
    Named(Vec<IpNet>),
    /// Those that Nodes name (`auto`).
    OfNodes,
}

impl Config {
    /// Reads `text`, the content of `file`.
    ///
    /// # Errors
    /// All that is wrong with it, by line and key.
    pub(crate) fn parse(file: &str, text: &str) -> Result<Self, ConfigError> {
        let mut problems = Problems::default();
        let config = Self::validate(&parse(file, text)?, &mut problems);
        problems.into_result(file, config)
    }

    /// Every key that the file may have, with its default.
    #[cfg(test)]
    pub(crate) fn keys() -> Vec<Key> {
        let mut keys = Vec::new();
        ControllerFile::keys("", &mut keys);
        keys
    }

    fn validate(file: &ControllerFile, problems: &mut Problems) -> Self {
        parsed::<ApiVersion>(&file.api_version, "apiVersion", problems);
        parsed::<Kind>(&file.kind, "kind", problems);
        let health = &file.health.probe_bind_address;
        Self {
            health: parsed(health, "health.healthProbeBindAddress", problems)
                .unwrap_or(Listen::Everywhere(8080)),
            metrics: parsed(&file.metrics.bind_address, "metrics.bindAddress", problems)
                .unwrap_or(Listen::Off),
            webhook: Webhook::validate(&file.webhook, problems),
            election: match file.leader_election.leader_elect.as_ref().map(|value| value.value) {
                None => Election::InPods,
                Some(true) => Election::Always,
                Some(false) => Election::Never,
            },
            leader: Leader::validate(&file.leader, problems),
            member: Member::validate(file, problems),
        }
    }
}

impl Webhook {
    fn validate(file: &file::Webhook, problems: &mut Problems) -> Self {
        let own_certificates = "certificates of one's own are not available yet";
        allow_default_only(&file.cert_dir, "webhook.certDir", &String::new(), own_certificates, problems);
        Self {
            port: port(&file.port, "webhook.port", problems).unwrap_or(9443),
            host: parsed(&file.host, "webhook.host", problems).map(|Host(host)| host),
        }
    }
}

impl Leader {
    fn validate(file: &file::Leader, problems: &mut Problems) -> Self {
        let usual = LeaseTimes::default();
        let names = each(&file.namespaces, "leader.namespaces", problems);
        let mut namespaces: Vec<String> = names.into_iter().map(|NamespaceName(name)| name).collect();
        namespaces.sort();
        namespaces.dedup();
        let mut time = |setting, key, usual| parsed(setting, key, problems).map_or(usual, |Span(span)| span);
        let silent_after = time(&file.member_silence, "leader.memberSilence", usual.silent_after);
        let lease = time(&file.member_lease, "leader.memberLease", usual.lease);
        let times = LeaseTimes { silent_after, lease };
        refuse_short_lease(file, times, problems);
        let lifetime = parsed(&file.member_token_lifetime, "leader.memberTokenLifetime", problems);
        let token_lifetime = lifetime.map_or(WEEK, |Lifetime(lifetime)| lifetime);
        Self { namespaces, times, limits: limits(&file.member_limits, problems), token_lifetime }
    }
}

fn limits(file: &file::MemberLimits, problems: &mut Problems) -> Limits {
    let usual = Limits::default();
    let mut number = |setting, key, usual| number(setting, key, problems).unwrap_or(usual);
    let exports = number(&file.exports, "leader.memberLimits.exports", usual.exports);
    let key = "leader.memberLimits.labelIdentities";
    let label_identities = number(&file.label_identities, key, usual.label_identities);
    let key = "leader.memberLimits.endpointPorts";
    let endpoint_ports = number(&file.endpoint_ports, key, usual.endpoint_ports);
    let mut bytes = |setting, key, usual| parsed(setting, key, problems).map_or(usual, |Bytes(bytes)| bytes);
    Limits {
        exports,
        label_identities,
        bytes: bytes(&file.bytes, "leader.memberLimits.bytes", usual.bytes),
        object_bytes: bytes(&file.object_bytes, "leader.memberLimits.objectBytes", usual.object_bytes),
        endpoint_ports,
    }
}

/// A number of things; none at all would be no limit but an end.
fn number(setting: &Setting<i64>, key: &str, problems: &mut Problems) -> Option<usize> {
    let value = setting.as_ref()?;
    let number = usize::try_from(value.value).ok().filter(|number| *number > 0);
    if number.is_none() {
        refuse(problems, key, value, "a number of 1 or more is wanted");
    }
    number
}

/// Members are called silent first, and their endpoints are withdrawn after that.
fn refuse_short_lease(file: &file::Leader, times: LeaseTimes, problems: &mut Problems) {
    let LeaseTimes { silent_after, lease } = times;
    if lease >= silent_after {
        return;
    }
    if let Some(value) = &file.member_lease {
        let message =
            format!("must be as long as leader.memberSilence at least, {}s", silent_after.as_secs());
        refuse(problems, "leader.memberLease", value, message);
    } else if let Some(value) = &file.member_silence {
        let message = format!("must be as long as leader.memberLease at most, {}s", lease.as_secs());
        refuse(problems, "leader.memberSilence", value, message);
    }
}

impl Member {
    fn validate(file: &ControllerFile, problems: &mut Problems) -> Self {
        let lifetime = parsed(&file.member.token_lifetime, "member.tokenLifetime", problems);
        let namespace = parsed(&file.member.namespace, "member.namespace", problems);
        let agents = parsed(&file.member.agent_namespace, "member.agentNamespace", problems);
        let precedence = parsed(&file.gateway_ip_precedence, "gatewayIPPrecedence", problems);
        let exported = file.enable_stretched_network_policy.as_ref().is_some_and(|value| value.value);
        Self {
            namespace: namespace.map(|NamespaceName(name)| name),
            agent_namespace: agents.map_or_else(|| NAMESPACE.to_owned(), |NamespaceName(name)| name),
            token_secret: parsed(&file.member.token_secret, "member.tokenSecret", problems)
                .map(|SecretName(name)| name),
            token_lifetime: lifetime.map_or(WEEK, |Lifetime(lifetime)| lifetime),
            excluded_namespaces: excluded_namespaces(&file.member, problems),
            service_cidrs: parsed(&file.service_cidr, "serviceCIDR", problems).map(|Networks(all)| all),
            pod_cidrs: pod_cidrs(&file.pod_cidrs, problems),
            precedence: match precedence {
                Some(Precedence::Public | Precedence::External) => NodeIpKind::External,
                Some(Precedence::Private | Precedence::Internal) | None => NodeIpKind::Internal,
            },
            addresses: match parsed(&file.endpoint_ip_type, "endpointIPType", problems) {
                Some(EndpointIpType::PodIp) => EndpointAddresses::PodIps,
                Some(EndpointIpType::ClusterIp) | None => EndpointAddresses::ClusterIps,
            },
            label_identities: if exported { LabelIdentities::Exported } else { LabelIdentities::Kept },
        }
    }
}

/// An empty list excludes none.
fn excluded_namespaces(file: &file::Member, problems: &mut Problems) -> BTreeSet<String> {
    if file.excluded_namespaces.is_none() {
        return EXCLUDED_NAMESPACES.map(str::to_owned).into();
    }
    let names = each(&file.excluded_namespaces, "member.excludedNamespaces", problems);
    names.into_iter().map(|NamespaceName(name)| name).collect()
}

/// Either `auto` alone, as a word or as upstream has it, in a list; or networks.
fn pod_cidrs(setting: &Setting<Texts>, problems: &mut Problems) -> PodCidrs {
    const KEY: &str = "podCIDRs";
    let Some(value) = setting else { return PodCidrs::Named(Vec::new()) };
    match &value.value {
        Texts::Word(word) if word == AUTO => return PodCidrs::OfNodes,
        Texts::Word(word) if word.is_empty() => {}
        Texts::Word(_) => {
            refuse(problems, KEY, value, "auto or a list of CIDRs is wanted, as [10.10.0.0/16]");
        }
        Texts::List(items) => {
            if let [only] = items.as_slice()
                && only.value == AUTO
            {
                return PodCidrs::OfNodes;
            }
            if let Some(beyond) = items.get(MOST_NAMED_NETWORKS) {
                let message =
                    format!("{MOST_NAMED_NETWORKS} networks are named at most: name one around several");
                refuse(problems, &format!("{KEY}[{MOST_NAMED_NETWORKS}]"), beyond, message);
            }
            let networks: Vec<PodNetwork> = each_of(items, KEY, problems);
            return PodCidrs::Named(networks.into_iter().map(|PodNetwork(network)| network).collect());
        }
    }
    PodCidrs::Named(Vec::new())
}

fn each<T>(setting: &Setting<Vec<Spanned<String>>>, key: &str, problems: &mut Problems) -> Vec<T>
where
    T: FromStr<Err: fmt::Display>,
{
    setting.as_ref().map(|list| each_of(&list.value, key, problems)).unwrap_or_default()
}

/// The items of a list; empty ones, which upstream's default file has, are none.
fn each_of<T>(items: &[Spanned<String>], key: &str, problems: &mut Problems) -> Vec<T>
where
    T: FromStr<Err: fmt::Display>,
{
    let items = items.iter().enumerate();
    let item = |(index, item): (usize, &Spanned<String>)| {
        parsed(&Some(item.clone()), &format!("{key}[{index}]"), problems)
    };
    items.filter_map(item).collect()
}
