//! Names of objects in the Common Area and of what members make of them.
//!
//! Upstream joins the parts of a name by dashes, so `prod/web-api` and `prod-web/api` share one. Here the first of them has
//! that name, and the second one with a hash of its parts. What is there keeps the name that it has. Names that would be
//! too long get a hash as well.

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

/// The two names that an object of the Common Area can have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    /// Upstream's, whose leaders accept no other. Two things may share it.
    pub plain: String,
    /// One with a hash, which nothing else has; the plain one where that cannot mean anything else.
    pub hashed: String,
}

/// What has a name already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    /// Nothing.
    Nobody,
    /// That which is to be named.
    Itself,
    /// Something else.
    Another,
}

impl Names {
    /// Of the ResourceExport in which `cluster` exports `resource`.
    pub fn of_export(cluster: &ClusterId, resource: &Resource) -> Self {
        let (mut parts, kind) = parts(resource);
        if !matches!(resource, Resource::ClusterInfo(_)) {
            parts.insert(0, cluster.as_str());
        }
        Self::of(&parts, kind)
    }

    /// Of the ResourceImport of `resource`.
    pub fn of_import(resource: &Resource) -> Self {
        let (parts, kind) = parts(resource);
        Self::of(&parts, kind)
    }

    fn of(parts: &[&str], kind: &str) -> Self {
        let plain = join(parts, kind);
        // The hash of a LabelIdentity has no dash: what stands before it, dashes and all, is the cluster.
        let is_ambiguous = parts.len() > 1 && !kind.is_empty() && parts.iter().any(|part| part.contains('-'));
        if !is_ambiguous && plain.len() <= SUBDOMAIN {
            return Self { hashed: plain.clone(), plain };
        }
        let hashed = hashed(&plain, &[parts, &[kind]].concat(), SUBDOMAIN);
        if plain.len() > SUBDOMAIN { Self { plain: hashed.clone(), hashed } } else { Self { plain, hashed } }
    }

    /// Both, the plain one first.
    pub fn both(&self) -> [&str; 2] {
        [&self.plain, &self.hashed]
    }

    /// The name to use, where `holder` says what has one: that which it has, or the plain one unless something else has it.
    pub fn choose(&self, holder: impl Fn(&str) -> Holder) -> &str {
        match holder(&self.plain) {
            Holder::Itself => &self.plain,
            Holder::Nobody if holder(&self.hashed) != Holder::Itself => &self.plain,
            Holder::Nobody | Holder::Another => &self.hashed,
        }
    }
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

fn join(parts: &[&str], kind: &str) -> String {
    parts.iter().chain([&kind]).filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join("-")
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
