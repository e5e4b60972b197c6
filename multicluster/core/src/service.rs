//! A Service as one cluster exports it, and as all clusters import it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use antrea_types::{IpFamily, Protocol};

use crate::looks::look;

/// Whether a Service has an address of its own (`type` of a ServiceImport, KEP-1645).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ServiceType {
    /// It has one in every cluster.
    #[default]
    ClusterSetIp,
    /// Its names lead to its endpoints.
    Headless,
}

/// Whether clients stay with their endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SessionAffinity {
    /// They do not.
    #[default]
    None,
    /// By their address.
    ClientIp,
}

/// Which endpoints a Node's own clients may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InternalTrafficPolicy {
    /// All.
    #[default]
    Cluster,
    /// Those of the Node.
    Local,
}

/// A port of a Service, or of its endpoints. Clusters have the same port when name, protocol and number are the same.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Port {
    /// Its name; empty where it is the only one.
    pub name: Box<str>,
    /// Its protocol.
    pub protocol: Protocol,
    /// Its number.
    pub port: u16,
    /// What is spoken, `appProtocol`.
    pub app_protocol: Option<Box<str>>,
}

/// What a Service has beside its ports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Properties {
    /// With an address, or headless.
    pub service_type: ServiceType,
    /// Whether clients stay with their endpoint.
    pub session_affinity: SessionAffinity,
    /// For how many seconds they do; Kubernetes' default when missing.
    pub affinity_seconds: Option<u32>,
    /// Where traffic from inside a cluster goes.
    pub internal_traffic_policy: InternalTrafficPolicy,
    /// A preference, as `PreferClose`.
    pub traffic_distribution: Option<Box<str>>,
    /// The families of its addresses, the first one first; empty when unknown.
    pub ip_families: Vec<IpFamily>,
    /// Labels of the ServiceImport.
    pub labels: BTreeMap<String, String>,
    /// Annotations of the ServiceImport.
    pub annotations: BTreeMap<String, String>,
}

/// A Service that one cluster exports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportedService {
    /// Its ports, in the exporter's order.
    pub ports: Vec<Port>,
    /// The rest; missing where the exporter is upstream's, which tells nothing but ports.
    pub properties: Option<Properties>,
}

impl Clone for Port {
    fn clone(&self) -> Self {
        look();
        let (name, app_protocol) = (self.name.clone(), self.app_protocol.clone());
        Self { name, protocol: self.protocol, port: self.port, app_protocol }
    }
}

impl Port {
    /// Whether both are the same port.
    pub(crate) fn is(&self, other: &Self) -> bool {
        look();
        (&self.name, self.protocol, self.port) == (&other.name, other.protocol, other.port)
    }
}

/// The ports of an endpoint that are those of a Service, by their names; nothing where it has ports, and none of these.
pub(crate) fn named(ports: &[Port], names: &BTreeSet<Box<str>>) -> Option<Vec<Port>> {
    let named: Vec<Port> = ports.iter().filter(|port| names.contains(&port.name)).cloned().collect();
    (!named.is_empty() || ports.is_empty()).then_some(named)
}

impl fmt::Display for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.name.is_empty() {
            write!(f, "{} ", self.name)?;
        }
        write!(f, "{}/{}", self.port, self.protocol)?;
        self.app_protocol.iter().try_for_each(|protocol| write!(f, " ({protocol})"))
    }
}

impl fmt::Display for ServiceType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ClusterSetIp => "ClusterSetIP",
            Self::Headless => "Headless",
        })
    }
}

impl fmt::Display for SessionAffinity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "None",
            Self::ClientIp => "ClientIP",
        })
    }
}

impl fmt::Display for InternalTrafficPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cluster => "Cluster",
            Self::Local => "Local",
        })
    }
}
