//! Names of labs, clusters, Nodes and of what stands for them in the kernel.

use std::fmt;
use std::str::FromStr;

use anyhow::{Context, Error, Result, bail, ensure};
use serde::{Deserialize, Serialize};

/// What the cgroups of every Node begin with.
pub const CGROUP_PREFIX: &str = "antrea-lab.";
/// What the host's end of the link to every lab begins with.
pub const HOST_LINK_PREFIX: &str = "alab-";

/// The name of a lab: it begins the names of its network namespaces and ends that of the host's link to it, which
/// the kernel limits to 15 bytes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct LabName(String);

/// The number of a cluster, written `c1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ClusterId(pub u8);

/// A Node of a cluster, written `c1-n2`, which is also its name in Kubernetes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct NodeId {
    /// The cluster it is in.
    pub cluster: ClusterId,
    /// Counted from 1.
    pub number: u8,
}

/// A place in a lab where programs run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// The router between all subnets.
    Router,
    /// The server behind the router.
    Outside,
    /// The control plane of a cluster.
    Cluster(ClusterId),
    /// A Node.
    Node(NodeId),
}

impl Place {
    /// The cluster it is, or is in.
    pub fn cluster(self) -> Option<ClusterId> {
        match self {
            Self::Router | Self::Outside => None,
            Self::Cluster(cluster) => Some(cluster),
            Self::Node(node) => Some(node.cluster),
        }
    }
}

impl LabName {
    const LONGEST: usize = 15 - HOST_LINK_PREFIX.len();

    /// The network namespace of a place.
    pub fn namespace(&self, place: Place) -> String {
        match place {
            Place::Cluster(cluster) => format!("{self}-{cluster}-cp"),
            other => format!("{self}-{other}"),
        }
    }

    /// The place whose network namespace is called this, if it belongs to this lab.
    pub fn place_of(&self, namespace: &str) -> Option<Place> {
        let suffix = namespace.strip_prefix(&self.0)?.strip_prefix('-')?;
        match suffix.strip_suffix("-cp") {
            Some(cluster) => cluster.parse().ok().map(Place::Cluster),
            None => suffix.parse().ok().filter(|place| !matches!(place, Place::Cluster(_))),
        }
    }

    /// The host's end of the link between the host and the router.
    pub fn host_link(&self) -> String {
        format!("{HOST_LINK_PREFIX}{self}")
    }

    /// The cgroup of a Node, the same in every hierarchy.
    pub fn cgroup(&self, node: NodeId) -> String {
        format!("{CGROUP_PREFIX}{self}.{node}")
    }

    /// The text of the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for LabName {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let letters = text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        let ends = text.starts_with(|c: char| c.is_ascii_lowercase()) && !text.ends_with('-');
        ensure!(
            letters && ends && text.len() <= Self::LONGEST,
            "{text:?} cannot name a lab: use at most {} lower-case letters, digits and '-', beginning with a letter",
            Self::LONGEST
        );
        Ok(Self(text.to_owned()))
    }
}

impl FromStr for ClusterId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let number =
            numbered(text, 'c').with_context(|| format!("{text:?} is not a cluster; they are c1, c2, …"))?;
        Ok(Self(number))
    }
}

impl FromStr for NodeId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let parse = || {
            let (cluster, node) = text.split_once('-')?;
            Some(Self { cluster: ClusterId(numbered(cluster, 'c')?), number: numbered(node, 'n')? })
        };
        parse().with_context(|| format!("{text:?} is not a Node; they are c1-n1, c1-n2, …"))
    }
}

/// The number in `c12`: without sign or leading zeros, at least 1.
fn numbered(text: &str, letter: char) -> Option<u8> {
    let digits = text.strip_prefix(letter)?;
    let canonical = digits.bytes().all(|b| b.is_ascii_digit()) && !digits.starts_with('0');
    digits.parse().ok().filter(|_| canonical)
}

impl FromStr for Place {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "router" => Ok(Self::Router),
            "outside" => Ok(Self::Outside),
            _ if text.contains('-') => text.parse().map(Self::Node),
            _ => match text.parse() {
                Ok(cluster) => Ok(Self::Cluster(cluster)),
                Err(_) => bail!("{text:?} is no place in a lab; there are router, outside, c1, c1-n1, …"),
            },
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Router => f.write_str("router"),
            Self::Outside => f.write_str("outside"),
            Self::Cluster(cluster) => cluster.fmt(f),
            Self::Node(node) => node.fmt(f),
        }
    }
}

impl fmt::Display for LabName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for ClusterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "c{}", self.0)
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-n{}", self.cluster, self.number)
    }
}

macro_rules! as_text {
    ($($name:ident),*) => {$(
        impl TryFrom<String> for $name {
            type Error = Error;

            fn try_from(text: String) -> Result<Self> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.to_string()
            }
        }
    )*};
}
as_text!(LabName, ClusterId, NodeId);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_tells_its_place() {
        let name: LabName = "a-c1".parse().unwrap();
        for place in ["router", "outside", "c2", "c2-n13"] {
            let place: Place = place.parse().unwrap();
            assert_eq!(name.place_of(&name.namespace(place)), Some(place));
        }
        for foreign in ["a-c1-n1", "a-c1", "a-c1-c2", "a-c1-c02-cp", "a-c1-n1", "b-router", "a-router"] {
            assert_eq!(name.place_of(foreign), None, "{foreign}");
        }
    }

    #[test]
    fn names_of_labs_fit_into_a_link_name() {
        assert_eq!("abcdefghij".parse::<LabName>().unwrap().host_link().len(), 15);
        for refused in ["", "abcdefghijk", "Lab", "1lab", "lab-", "a b", "-a"] {
            assert!(refused.parse::<LabName>().is_err(), "{refused}");
        }
    }

    #[test]
    fn places_that_cannot_be_are_refused_with_the_ones_that_can() {
        for refused in ["c0", "c01", "c1-n0", "c300", "n1", "c1-x", "+1", "c+1"] {
            let error = refused.parse::<Place>().unwrap_err().to_string();
            assert!(error.contains("c1"), "{refused}: {error}");
        }
    }
}
