//! What a user asks for on the command line of `lab up`, and how that becomes a plan.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use antrea_types::{DualStack, IpFamily};
use anyhow::{Context, Error, Result, bail, ensure};
use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use super::addresses::{self, Block, address_in, only};
use super::{ClusterPlan, NodePlan, Plan, check};
use crate::names::{ClusterId, LabName, NodeId};

/// Why an enumeration's text was refused: all that is allowed.
macro_rules! keyword {
    ($(#[$documentation:meta])* $name:ident, $what:literal, $($(#[$each:meta])* $variant:ident = $text:literal),+) => {
        $(#[$documentation])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$each])* #[serde(rename = $text)] $variant,)+
        }

        impl FromStr for $name {
            type Err = Error;

            fn from_str(text: &str) -> Result<Self> {
                match text {
                    $($text => Ok(Self::$variant),)+
                    _ => bail!("{text:?} is no {}; it is one of: {}", $what, [$($text),+].join(", ")),
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $(Self::$variant => $text),+ })
            }
        }
    };
}

keyword!(
    /// The IP families of a cluster.
    Families, "IP family",
    /// IPv4 alone.
    Ipv4 = "ipv4",
    /// IPv6 alone.
    Ipv6 = "ipv6",
    /// Both; IPv4 is primary.
    Dual = "dual"
);

keyword!(
    /// Who serves Services of type ClusterIP and NodePort.
    ServiceProxy, "Service proxy",
    /// AntreaProxy, with all of it enabled.
    Antrea = "antrea",
    /// Kubernetes' own, in iptables mode, on every Node.
    KubeProxy = "kube-proxy",
    /// Nobody: the API server is reached at its own address.
    None = "none"
);

keyword!(
    /// What is installed in a cluster after it is up.
    Install, "product to install",
    /// The chart `charts/antrea`.
    Antrea = "antrea",
    /// That, and the chart `charts/antrea-mc`.
    AntreaMc = "antrea-mc",
    /// The bridge plugin and routes between Nodes: a network without Antrea.
    Bridge = "bridge",
    /// Nothing: Nodes stay NotReady.
    None = "none"
);

impl Install {
    /// Who serves Services where nobody was asked for.
    pub const fn service_proxy(self) -> ServiceProxy {
        match self {
            Self::Antrea | Self::AntreaMc => ServiceProxy::Antrea,
            Self::Bridge | Self::None => ServiceProxy::KubeProxy,
        }
    }
}

impl Families {
    /// Whether `family` is among them.
    pub const fn has(self, family: IpFamily) -> bool {
        match family {
            IpFamily::V4 => !matches!(self, Self::Ipv6),
            IpFamily::V6 => !matches!(self, Self::Ipv4),
        }
    }
}

/// What was asked for.
#[derive(Debug, Clone)]
pub struct Request {
    /// `--name`
    pub name: LabName,
    /// `--clusters`
    pub clusters: u8,
    /// `--nodes`: of every cluster
    pub nodes: u8,
    /// `--ip-family`
    pub families: Families,
    /// `--service-proxy`; what goes with each cluster's [`Install`] otherwise
    pub service_proxy: Option<ServiceProxy>,
    /// `--install`
    pub install: Install,
    /// `--cluster`, each time it was given
    pub settings: Vec<ClusterSetting>,
}

/// `cN:KEY=VALUE`: one key of one cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterSetting {
    cluster: ClusterId,
    key: &'static str,
    change: Change,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Change {
    Nodes(u8),
    ServiceCidr(DualStack<IpNet>),
    PodCidr(DualStack<IpNet>),
    NodeMask(Vec<u8>),
    Families(Families),
    ServiceProxy(ServiceProxy),
    Install(Install),
}

const KEYS: [&str; 7] =
    ["nodes", "serviceCIDR", "podCIDR", "nodeMask", "ipFamily", "serviceProxy", "install"];

impl FromStr for ClusterSetting {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let parts = text.split_once(':').and_then(|(id, rest)| Some((id, rest.split_once('=')?)));
        let (id, (key, value)) =
            parts.with_context(|| format!("{text:?} is not of the form cN:KEY=VALUE"))?;
        let known = KEYS.into_iter().find(|known| *known == key);
        let key = known
            .with_context(|| format!("{key:?} is no key of a cluster; the keys are: {}", KEYS.join(", ")))?;
        let number =
            |text: &str| text.parse::<u8>().with_context(|| format!("{key}={value}: {text:?} is no number"));
        let change = match key {
            "nodes" => Change::Nodes(number(value)?),
            "serviceCIDR" => Change::ServiceCidr(cidrs(key, value)?),
            "podCIDR" => Change::PodCidr(cidrs(key, value)?),
            "nodeMask" => Change::NodeMask(value.split(',').map(number).collect::<Result<_>>()?),
            "ipFamily" => Change::Families(value.parse()?),
            "serviceProxy" => Change::ServiceProxy(value.parse()?),
            _ => Change::Install(value.parse()?),
        };
        Ok(Self { cluster: id.parse()?, key, change })
    }
}

fn cidrs(key: &str, value: &str) -> Result<DualStack<IpNet>> {
    let mut found = DualStack::default();
    for part in value.split(',') {
        let net: IpNet = part.parse().ok().with_context(|| format!("{key}={value}: {part:?} is no CIDR"))?;
        ensure!(
            net == net.trunc(),
            "{key}={value}: {part} has bits set beyond its prefix; {} has not",
            net.trunc()
        );
        let family = IpFamily::of_net(&net);
        ensure!(
            found.insert(family, net).is_none(),
            "{key}={value} has two CIDRs of {family}; give one of a family"
        );
    }
    Ok(found)
}

impl Request {
    /// Computes the lab. `taken` are the networks that the host has routes to.
    ///
    /// # Errors
    /// One sentence on what cannot be.
    pub fn plan(&self, taken: &[IpNet]) -> Result<Plan> {
        ensure!(
            (1..=check::MOST_CLUSTERS).contains(&self.clusters),
            "a lab has 1 to {} clusters",
            check::MOST_CLUSTERS
        );
        let mut seen = BTreeSet::new();
        for setting in &self.settings {
            let (id, key) = (setting.cluster, setting.key);
            ensure!(
                id.0 <= self.clusters,
                "--cluster {id}:{key}: the lab has only {} cluster(s)",
                self.clusters
            );
            ensure!(seen.insert((id, key)), "--cluster {id}:{key} was given twice");
        }
        let block = Block::first_free(taken)
            .context("all subnets of labs (172.18.0.0/16 to 172.30.0.0/16) overlap routes of this host: take a lab down")?;
        let clusters = (1..=self.clusters).map(|number| self.cluster(ClusterId(number), block));
        let plan = Plan { name: self.name.clone(), block, clusters: clusters.collect::<Result<_>>()? };
        check::check(&plan)?;
        Ok(plan)
    }

    fn cluster(&self, id: ClusterId, block: Block) -> Result<ClusterPlan> {
        let (mut families, mut nodes) = (self.families, self.nodes);
        let (mut service_proxy, mut install) = (self.service_proxy, self.install);
        let (mut pod_cidrs, mut service_cidrs, mut masks) = (None, None, None);
        for setting in self.settings.iter().filter(|setting| setting.cluster == id) {
            match &setting.change {
                Change::Nodes(value) => nodes = *value,
                Change::ServiceCidr(value) => service_cidrs = Some(*value),
                Change::PodCidr(value) => pod_cidrs = Some(*value),
                Change::NodeMask(value) => masks = Some(value.as_slice()),
                Change::Families(value) => families = *value,
                Change::ServiceProxy(value) => service_proxy = Some(*value),
                Change::Install(value) => install = *value,
            }
        }
        let node_subnets = only(block.nodes(id), families);
        let transport_subnets = only(block.transport(id), families);
        Ok(ClusterPlan {
            id,
            families,
            service_proxy: service_proxy.unwrap_or(install.service_proxy()),
            install,
            pod_cidrs: pod_cidrs.unwrap_or(only(addresses::default_pod_cidrs(id), families)),
            node_masks: node_masks(id, masks, families)?,
            service_cidrs: service_cidrs.unwrap_or(only(addresses::default_service_cidrs(id), families)),
            control_plane: addresses_in(&node_subnets, 2),
            nodes: (1..=nodes).map(|number| node(id, number, &node_subnets, &transport_subnets)).collect(),
            node_subnets,
            transport_subnets,
        })
    }
}

fn node(cluster: ClusterId, number: u8, nodes: &DualStack<IpNet>, transport: &DualStack<IpNet>) -> NodePlan {
    let offset = number.saturating_add(10);
    NodePlan {
        id: NodeId { cluster, number },
        node_ips: addresses_in(nodes, offset),
        transport_ips: addresses_in(transport, offset),
    }
}

fn addresses_in(subnets: &DualStack<IpNet>, offset: u8) -> DualStack<std::net::IpAddr> {
    subnets.iter().filter_map(|subnet| address_in(subnet, offset)).collect()
}

/// Prefix lengths of Nodes' Pod CIDRs: one for each family, 24 and 64 where none was given.
fn node_masks(id: ClusterId, given: Option<&[u8]>, families: Families) -> Result<DualStack<u8>> {
    match (given, families) {
        (None, _) => Ok(only(DualStack { v4: Some(24), v6: Some(64) }, families)),
        (Some([v4]), Families::Ipv4) => Ok(DualStack { v4: Some(*v4), v6: None }),
        (Some([v6]), Families::Ipv6) => Ok(DualStack { v4: None, v6: Some(*v6) }),
        (Some([v4, v6]), Families::Dual) => Ok(DualStack { v4: Some(*v4), v6: Some(*v6) }),
        _ => bail!("--cluster {id}:nodeMask: give one prefix length for each IP family, IPv4 first"),
    }
}
