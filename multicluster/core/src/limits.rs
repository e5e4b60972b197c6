//! How much a member may export, and how much it does.

mod size;

use std::collections::BTreeMap;
use std::sync::Arc;

use antrea_shared_api::multicluster::v1alpha1::ExportKind;

use crate::ids::ClusterId;

pub(crate) use size::stored_bytes;
pub use size::{Size, exporter};

/// The most ports of an exported Service, and of endpoints that have the same ones.
pub const MOST_PORTS: usize = 100;
/// The most that are read of what was exported before there was a limit.
pub(crate) const MOST_PORTS_READ: usize = 1_000;
/// The most pairs of an endpoint and a port of it, of a Service in one cluster: each is a flow on every Node of every other
/// cluster. AntreaProxy uses 4,000 endpoints of a port.
pub const MOST_ENDPOINT_PORTS: usize = 20_000;
/// The most different lists of ports that the endpoints of a Service have in one cluster: each is an EndpointSlice of its own.
pub const MOST_PORT_LISTS: usize = 100;
/// The most labels that the export of a Service has. In memory one takes many times the bytes that it has in JSON, in the
/// leader and in every other member.
pub const MOST_LABELS: usize = 64;
/// The most annotations, likewise.
pub const MOST_ANNOTATIONS: usize = 64;
/// How much a ResourceImport may import, in bytes of JSON. etcd takes 1.5 MiB; the rest is for metadata and status.
pub(crate) const MOST_IMPORTED_BYTES: usize = 1_400 << 10;

/// How much a member may export (`leader.memberLimits`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How many ResourceExports, but for those of labels.
    pub exports: usize,
    /// How many of labels.
    pub label_identities: usize,
    /// How large all of them are together, in bytes of JSON.
    pub bytes: usize,
    /// How large one of them is.
    pub object_bytes: usize,
    /// How many pairs of an endpoint and a port all of them have, and ports of Services.
    pub endpoint_ports: usize,
}

/// Each Service that a member exports takes a ClusterIP in each other one, of 4,096 in a network of 20 bits; and each set of
/// labels is an object there.
impl Default for Limits {
    fn default() -> Self {
        Self {
            exports: 2_000,
            label_identities: 5_000,
            bytes: 16 << 20,
            object_bytes: 1 << 20,
            endpoint_ports: 100_000,
        }
    }
}

/// A limit that a member has reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Limit {
    /// Of ResourceExports, but for those of labels.
    Exports,
    /// Of those of labels.
    LabelIdentities,
    /// Of the size of all.
    Bytes,
    /// Of pairs of an endpoint and a port, and of ports of Services.
    EndpointPorts,
}

/// Why a member may not export something.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OverLimit {
    /// It exports as many Services as it may.
    #[error(
        "cluster {cluster} exports {used} of {limit} Services, endpoints and ClusterInfos: an admin of the leader may \
         raise leader.memberLimits.exports"
    )]
    Exports {
        /// The member.
        cluster: ClusterId,
        /// What it exports.
        used: usize,
        /// What it may export.
        limit: usize,
    },
    /// It exports as many sets of labels as it may.
    #[error(
        "cluster {cluster} exports {used} of {limit} sets of labels: an admin of the leader may raise \
         leader.memberLimits.labelIdentities"
    )]
    LabelIdentities {
        /// The member.
        cluster: ClusterId,
        /// What it exports.
        used: usize,
        /// What it may export.
        limit: usize,
    },
    /// All that it exports would be too large.
    #[error(
        "with this export cluster {cluster} would have {used} bytes; at most {limit} are allowed: an admin of the leader may raise \
         leader.memberLimits.bytes"
    )]
    Bytes {
        /// The member.
        cluster: ClusterId,
        /// What it would export.
        used: usize,
        /// What it may export.
        limit: usize,
    },
    /// All that it exports would have too many pairs of an endpoint and a port.
    #[error(
        "with this export cluster {cluster} would have {used} endpoints times ports; at most {limit} are allowed: an admin of the leader may raise \
         leader.memberLimits.endpointPorts"
    )]
    EndpointPorts {
        /// The member.
        cluster: ClusterId,
        /// What it would export.
        used: usize,
        /// What it may export.
        limit: usize,
    },
    /// The object is too large.
    #[error(
        "the ResourceExport has {used} of {limit} bytes: an admin of the leader may raise leader.memberLimits.objectBytes"
    )]
    Object {
        /// How large it is.
        used: usize,
        /// How large it may be.
        limit: usize,
    },
    /// It has too many ports.
    #[error("the ResourceExport has {used} ports in one list; at most {limit} are allowed")]
    Ports {
        /// How many there are.
        used: usize,
        /// How many there may be.
        limit: usize,
    },
    /// It has too many different lists of ports.
    #[error("the ResourceExport has {used} different lists of ports; at most {limit} are allowed")]
    PortLists {
        /// How many there are.
        used: usize,
        /// How many there may be.
        limit: usize,
    },
    /// It has too many labels.
    #[error("the ResourceExport has {used} labels for ServiceImports; at most {limit} are allowed")]
    Labels {
        /// How many there are.
        used: usize,
        /// How many there may be.
        limit: usize,
    },
    /// It has too many annotations.
    #[error("the ResourceExport has {used} annotations for ServiceImports; at most {limit} are allowed")]
    Annotations {
        /// How many there are.
        used: usize,
        /// How many there may be.
        limit: usize,
    },
    /// It has too many pairs of an endpoint and a port.
    #[error("the ResourceExport has {used} endpoints times ports; at most {limit} are allowed")]
    ObjectEndpointPorts {
        /// How many there are.
        used: usize,
        /// How many there may be.
        limit: usize,
    },
}

/// How much a member exports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// How many ResourceExports, but for those of labels.
    pub exports: usize,
    /// How many of labels.
    pub label_identities: usize,
    /// How large they are together.
    pub bytes: usize,
    /// How many pairs of an endpoint and a port they have, and ports of Services.
    pub endpoint_ports: usize,
}

/// How much each member exports.
#[derive(Clone, Debug, Default)]
pub struct Usage {
    /// By the names of the ResourceExports.
    shares: BTreeMap<Box<str>, Share>,
    by_cluster: BTreeMap<Arc<str>, Used>,
}

/// What a ResourceExport adds to what its member uses. There are tens of thousands.
#[derive(Clone, Debug)]
struct Share {
    cluster: Arc<str>,
    counted: Counted,
    bytes: u32,
    endpoint_ports: u32,
}

/// What a ResourceExport counts as.
#[derive(Clone, Copy, Debug)]
enum Counted {
    Export,
    LabelIdentity,
}

impl Usage {
    /// The ResourceExport of this name is so large, or it is not there.
    pub fn set(&mut self, name: &str, size: Option<&Size>) {
        if let Some(before) = self.shares.remove(name) {
            self.take_out(&before);
        }
        if let Some(size) = size {
            let share = self.share(size);
            self.by_cluster.entry(Arc::clone(&share.cluster)).or_default().add(&share);
            self.shares.insert(name.into(), share);
        }
    }

    /// How much a cluster exports.
    pub fn of(&self, cluster: &str) -> Used {
        self.by_cluster.get(cluster).copied().unwrap_or_default()
    }

    fn share(&self, size: &Size) -> Share {
        let known = self.by_cluster.get_key_value(size.cluster.as_str());
        // etcd stores no object of more than some megabytes.
        let small = |number| u32::try_from(number).unwrap_or(u32::MAX);
        Share {
            cluster: known.map_or_else(|| size.cluster.as_str().into(), |(cluster, _)| Arc::clone(cluster)),
            counted: match size.kind {
                ExportKind::LabelIdentity => Counted::LabelIdentity,
                _ => Counted::Export,
            },
            bytes: small(size.bytes),
            endpoint_ports: small(size.endpoint_ports),
        }
    }

    fn take_out(&mut self, share: &Share) {
        let Some(used) = self.by_cluster.get_mut(&share.cluster) else { return };
        used.subtract(share);
        if *used == Used::default() {
            self.by_cluster.remove(&share.cluster);
        }
    }
}

impl Used {
    const fn counted(&mut self, counted: Counted) -> &mut usize {
        match counted {
            Counted::LabelIdentity => &mut self.label_identities,
            Counted::Export => &mut self.exports,
        }
    }

    const fn add(&mut self, share: &Share) {
        *self.counted(share.counted) += 1;
        self.bytes += share.bytes as usize;
        self.endpoint_ports += share.endpoint_ports as usize;
    }

    const fn subtract(&mut self, share: &Share) {
        *self.counted(share.counted) -= 1;
        self.bytes -= share.bytes as usize;
        self.endpoint_ports -= share.endpoint_ports as usize;
    }
}

impl Limits {
    /// Those that a member has reached.
    pub fn reached(&self, used: Used) -> Vec<Limit> {
        let all = [
            (Limit::Exports, used.exports >= self.exports),
            (Limit::LabelIdentities, used.label_identities >= self.label_identities),
            (Limit::Bytes, used.bytes >= self.bytes),
            (Limit::EndpointPorts, used.endpoint_ports >= self.endpoint_ports),
        ];
        all.into_iter().filter(|(_, is_reached)| *is_reached).map(|(limit, _)| limit).collect()
    }

    /// Whether a cluster that exports `used` may export `new`, in the place of `old` where that is there. What was there
    /// before may stay, and shrink. A ClusterInfo of a bounded size is let in always: a member that exports much keeps its
    /// Gateway.
    ///
    /// # Errors
    /// Why it may not.
    pub fn check(
        &self,
        cluster: &ClusterId,
        used: Used,
        old: Option<&Size>,
        new: &Size,
    ) -> Result<(), OverLimit> {
        self.check_object(old, new)?;
        if new.kind == ExportKind::ClusterInfo {
            return Ok(());
        }
        if old.is_none() {
            self.check_number(cluster, used, &new.kind)?;
        }
        let exceeded = |limit: usize, used: usize, of: fn(&Size) -> usize| {
            let before = old.map_or(0, of);
            let after = used.saturating_sub(before) + of(new);
            (after > limit && of(new) > before).then_some(after)
        };
        if let Some(used) = exceeded(self.bytes, used.bytes, |size| size.bytes) {
            return Err(OverLimit::Bytes { cluster: cluster.clone(), used, limit: self.bytes });
        }
        let limit = self.endpoint_ports;
        match exceeded(limit, used.endpoint_ports, |size| size.endpoint_ports) {
            Some(used) => Err(OverLimit::EndpointPorts { cluster: cluster.clone(), used, limit }),
            None => Ok(()),
        }
    }

    fn check_object(&self, old: Option<&Size>, new: &Size) -> Result<(), OverLimit> {
        let exceeds = |limit: usize, of: fn(&Size) -> usize| of(new) > limit && of(new) > old.map_or(0, of);
        if exceeds(self.object_bytes, |size| size.bytes) {
            return Err(OverLimit::Object { used: new.bytes, limit: self.object_bytes });
        }
        if exceeds(MOST_PORTS, |size| size.ports) {
            return Err(OverLimit::Ports { used: new.ports, limit: MOST_PORTS });
        }
        if exceeds(MOST_PORT_LISTS, |size| size.port_lists) {
            return Err(OverLimit::PortLists { used: new.port_lists, limit: MOST_PORT_LISTS });
        }
        if exceeds(MOST_LABELS, |size| size.labels) {
            return Err(OverLimit::Labels { used: new.labels, limit: MOST_LABELS });
        }
        if exceeds(MOST_ANNOTATIONS, |size| size.annotations) {
            return Err(OverLimit::Annotations { used: new.annotations, limit: MOST_ANNOTATIONS });
        }
        if exceeds(MOST_ENDPOINT_PORTS, |size| size.endpoint_ports) {
            let (used, limit) = (new.endpoint_ports, MOST_ENDPOINT_PORTS);
            return Err(OverLimit::ObjectEndpointPorts { used, limit });
        }
        Ok(())
    }

    fn check_number(&self, cluster: &ClusterId, used: Used, kind: &ExportKind) -> Result<(), OverLimit> {
        let cluster = cluster.clone();
        match (kind, used.label_identities, used.exports) {
            (ExportKind::LabelIdentity, used, _) if used >= self.label_identities => {
                Err(OverLimit::LabelIdentities { cluster, used, limit: self.label_identities })
            }
            (ExportKind::LabelIdentity, ..) => Ok(()),
            (_, _, used) if used >= self.exports => {
                Err(OverLimit::Exports { cluster, used, limit: self.exports })
            }
            _ => Ok(()),
        }
    }
}
