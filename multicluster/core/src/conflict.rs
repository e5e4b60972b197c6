//! What is said to exporters whose Services differ: the condition `Conflict` of KEP-1645.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write as _};

use antrea_shared_api::mcs::conflict_reason;

use crate::ids::ClusterId;
use crate::service::Port;

/// The longest message of a condition; Kubernetes takes 32,768 bytes.
pub const LONGEST_MESSAGE: usize = 4096;

/// A property of a Service that all clusters ought to agree on. The order is that of the condition's message
/// and reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Property {
    /// With an address, or headless.
    Type,
    /// Whether clients stay with their endpoint.
    SessionAffinity,
    /// For how long they do.
    SessionAffinityConfig,
    /// Where traffic from inside a cluster goes.
    InternalTrafficPolicy,
    /// Which endpoints are preferred.
    TrafficDistribution,
    /// The families of addresses.
    IpFamilies,
    /// Labels of the ServiceImport.
    Labels,
    /// Annotations of the ServiceImport.
    Annotations,
}

/// Something that clusters export differently, and what was made of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Conflict {
    /// The oldest export has one value, later ones have others.
    Differs {
        /// Of what.
        property: Property,
        /// Whose value counts.
        winner: ClusterId,
        /// That value.
        value: String,
        /// The values that do not count.
        others: BTreeMap<ClusterId, String>,
    },
    /// A port of a cluster gets no traffic there: an older export has one that excludes it.
    PortLost {
        /// The cluster.
        cluster: ClusterId,
        /// Its port.
        port: Port,
        /// Who has the older export.
        winner: ClusterId,
        /// The port of that.
        kept: Port,
    },
    /// Clusters say that different things are spoken on a port.
    AppProtocol {
        /// Who is not heeded.
        cluster: ClusterId,
        /// Its port.
        port: Port,
        /// Who has the older export.
        winner: ClusterId,
        /// What that says.
        kept: Option<Box<str>>,
    },
    /// A port is not exported by all clusters: connections to it go to those that do.
    PortNotEverywhere {
        /// The port.
        port: Port,
        /// The clusters that export it.
        clusters: BTreeSet<ClusterId>,
    },
    /// The cluster is of upstream's kind and exports other ports than the oldest export: nothing of it is taken.
    Refused {
        /// The cluster.
        cluster: ClusterId,
        /// The oldest exporter.
        winner: ClusterId,
    },
}

impl Conflict {
    /// The reason of the condition (`multicluster.x-k8s.io/v1beta1`).
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Differs { property, .. } => property.reason(),
            Self::PortLost { .. }
            | Self::AppProtocol { .. }
            | Self::PortNotEverywhere { .. }
            | Self::Refused { .. } => conflict_reason::PORT,
        }
    }
}

impl Property {
    const fn reason(self) -> &'static str {
        match self {
            Self::Type => conflict_reason::TYPE,
            Self::SessionAffinity => conflict_reason::SESSION_AFFINITY,
            Self::SessionAffinityConfig => conflict_reason::SESSION_AFFINITY_CONFIG,
            Self::InternalTrafficPolicy => conflict_reason::INTERNAL_TRAFFIC_POLICY,
            Self::TrafficDistribution => conflict_reason::TRAFFIC_DISTRIBUTION,
            Self::IpFamilies => conflict_reason::IP_FAMILY,
            Self::Labels => conflict_reason::LABELS,
            Self::Annotations => conflict_reason::ANNOTATIONS,
        }
    }

    const fn field(self) -> &'static str {
        match self {
            Self::Type => "type",
            Self::SessionAffinity => "sessionAffinity",
            Self::SessionAffinityConfig => "sessionAffinityConfig",
            Self::InternalTrafficPolicy => "internalTrafficPolicy",
            Self::TrafficDistribution => "trafficDistribution",
            Self::IpFamilies => "ipFamilies",
            Self::Labels => "exportedLabels",
            Self::Annotations => "exportedAnnotations",
        }
    }
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Differs { property, winner, value, others } => {
                write!(f, "{} is {value}, as cluster {winner} exports it, not", property.field())?;
                let mut separator = "";
                others.iter().try_for_each(|(cluster, value)| {
                    write!(f, "{separator} {value} of cluster {cluster}")?;
                    separator = ",";
                    Ok(())
                })
            }
            Self::PortLost { cluster, port, winner, kept } => write!(
                f,
                "port {port} of cluster {cluster} gets no connections: the older export of cluster {winner} has port {kept}"
            ),
            Self::AppProtocol { cluster, port, winner, kept } => write!(
                f,
                "appProtocol of port {port} of cluster {cluster} is taken for {}, as cluster {winner} exports it",
                kept.as_deref().unwrap_or("none")
            ),
            Self::PortNotEverywhere { port, clusters } => {
                let clusters: Vec<&str> = clusters.iter().map(ClusterId::as_str).collect();
                write!(f, "port {port} is exported by {} only", clusters.join(", "))
            }
            Self::Refused { cluster, winner } => write!(
                f,
                "the export of cluster {cluster} is left out: its ports differ from those of cluster {winner}, whose export is older"
            ),
        }
    }
}

/// The condition `Conflict` of each exporter's ServiceExport.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConflictCondition {
    /// `NoConflicts`, or the reasons of all conflicts, joined by commas.
    pub reason: String,
    /// All conflicts.
    pub message: String,
}

impl ConflictCondition {
    /// The condition that says of `conflicts`.
    pub fn of(conflicts: &[Conflict]) -> Self {
        if conflicts.is_empty() {
            return Self { reason: conflict_reason::NO_CONFLICTS.to_owned(), message: String::new() };
        }
        let mut reasons: Vec<&str> = conflicts.iter().map(Conflict::reason).collect();
        reasons.dedup();
        Self { reason: reasons.join(","), message: joined("", conflicts) }
    }

    /// Whether the condition is True.
    pub fn holds(&self) -> bool {
        !self.message.is_empty()
    }
}

/// The message of a condition, cut where it is longer than these are.
pub fn shortened(text: String) -> String {
    if text.len() > LONGEST_MESSAGE { cut(&text, LONGEST_MESSAGE) } else { text }
}

/// A text, cut to so many bytes: dots stand for the rest of a longer one.
pub fn cut(text: &str, longest: usize) -> String {
    if text.len() <= longest {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(longest.saturating_sub(4));
    format!("{} ...", text.get(..end).unwrap_or_default())
}

/// What is said behind `before`, one thing after the other; what does not fit into a message is not even written.
pub(crate) fn joined<T: fmt::Display>(before: &str, said: impl IntoIterator<Item = T>) -> String {
    let (mut message, mut separator) = (Message(before.to_owned()), "");
    for text in said {
        if write!(message, "{separator}{text}").is_err() {
            break;
        }
        separator = "; ";
    }
    shortened(message.0)
}

/// A message, which takes nothing more when it is too long.
struct Message(String);

impl fmt::Write for Message {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.len() > LONGEST_MESSAGE {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}
