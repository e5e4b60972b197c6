//! Names of objects in the Common Area and of what members make of them.
//!
//! Upstream joins the parts of a name by dashes, so `prod/web-api` and `prod-web/api` share one. Here two things never
//! share a name: of all that would, the one without dashes in front of its last part keeps upstream's name, the others
//! get a hash of their parts. Names that would be too long get one as well.

use antrea_shared_api::multicluster::well_known::DERIVED_PREFIX;
use sha2::{Digest, Sha256};

use crate::ids::{ClusterId, NamespacedName};

/// The longest name of most objects (DNS subdomain, RFC 1123).
const SUBDOMAIN: usize = 253;
/// The longest name of a Service (DNS label, RFC 1123).
const LABEL: usize = 63;
/// Hexadecimal digits of a hash in a name.
const HASH: usize = 16;

/// Something that clusters export: ResourceExports of the same resource are merged into one ResourceImport.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Resource {
    /// Ports and properties of a Service.
    Service(NamespacedName),
    /// Endpoints of a Service.
    Endpoints(NamespacedName),
    /// An ExternalEntity.
    ExternalEntity(NamespacedName),
    /// What a cluster says of itself.
    ClusterInfo(ClusterId),
    /// A ClusterNetworkPolicy, by name.
    Policy(String),
    /// A set of labels, by the name of its LabelIdentity: a hash in hexadecimal digits.
    LabelIdentity(String),
}

/// How a member names its ResourceExports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Naming {
    /// As upstream, whose leaders accept nothing else. Two Services of a cluster may share a name.
    Upstream,
    /// No two share a name.
    Unambiguous,
}

/// The name of the ResourceExport in which `cluster` exports `resource`.
pub fn export_name(cluster: &ClusterId, resource: &Resource, naming: Naming) -> String {
    let (mut parts, kind) = parts(resource);
    if !matches!(resource, Resource::ClusterInfo(_)) {
        parts.insert(0, cluster.as_str());
    }
    match naming {
        Naming::Upstream => plain(&parts, kind),
        Naming::Unambiguous => unambiguous(&parts, kind),
    }
}

/// The name of the ResourceImport of `resource`.
pub fn import_name(resource: &Resource) -> String {
    let (parts, kind) = parts(resource);
    unambiguous(&parts, kind)
}

/// The parts of a name, and the word that all names of the kind end with.
fn parts(resource: &Resource) -> (Vec<&str>, &'static str) {
    match resource {
        Resource::Service(name) => (vec![name.namespace(), name.name()], "service"),
        Resource::Endpoints(name) => (vec![name.namespace(), name.name()], "endpoints"),
        Resource::ExternalEntity(name) => (vec![name.namespace(), name.name()], "externalentity"),
        Resource::ClusterInfo(cluster) => (vec![cluster.as_str()], "clusterinfo"),
        Resource::Policy(name) => (vec![name], "antreaclusternetworkpolicy"),
        Resource::LabelIdentity(hash) => (vec![hash], ""),
    }
}

fn plain(parts: &[&str], kind: &str) -> String {
    parts.iter().chain([&kind]).filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join("-")
}

fn unambiguous(parts: &[&str], kind: &str) -> String {
    let name = plain(parts, kind);
    // The hash of a LabelIdentity has no dash: what stands before it, dashes and all, is the cluster.
    let before_last = if kind.is_empty() { &[] } else { &parts[..parts.len().saturating_sub(1)] };
    if before_last.iter().any(|part| part.contains('-')) || name.len() > SUBDOMAIN {
        hashed(&name, &[parts, &[kind]].concat(), SUBDOMAIN)
    } else {
        name
    }
}

/// The name of the Service that a member makes for the imported Service `name`, in the same Namespace.
pub fn derived_service_name(name: &str) -> String {
    prefixed(name, LABEL)
}

/// The name of the ClusterNetworkPolicy that a member makes for the imported policy `name`.
pub fn derived_policy_name(name: &str) -> String {
    prefixed(name, SUBDOMAIN)
}

/// The name of the EndpointSlice number `index` with endpoints of `service` that are in `cluster`, in the Service's
/// Namespace. The number counts the slices of all families.
pub fn endpoint_slice_name(service: &str, cluster: &ClusterId, index: usize) -> String {
    let parts = [service, cluster.as_str(), &index.to_string()];
    hashed(&derived_service_name(service), &parts, SUBDOMAIN)
}

fn prefixed(name: &str, longest: usize) -> String {
    let whole = format!("{DERIVED_PREFIX}{name}");
    if whole.len() > longest || looks_hashed(&whole, longest) {
        hashed(&whole, &[name], longest)
    } else {
        whole
    }
}

/// Whether a name could be what [`hashed`] makes of one that is too long.
fn looks_hashed(name: &str, longest: usize) -> bool {
    let tail = name.rsplit('-').next().unwrap_or_default();
    name.len() + 1 >= longest && tail.len() == HASH && tail.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// As much of `name` as fits, and a hash of `parts`, none of which contains a `/`.
fn hashed(name: &str, parts: &[&str], longest: usize) -> String {
    let kept = name.get(..name.len().min(longest - HASH - 1)).unwrap_or(name);
    // No label may begin with a dash.
    format!("{}-{}", kept.trim_end_matches('.'), hash(&parts.join("/")))
}

fn hash(text: &str) -> String {
    Sha256::digest(text).iter().take(HASH / 2).map(|byte| format!("{byte:02x}")).collect()
}
