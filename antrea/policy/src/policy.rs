//! A policy as agents get it: its source, its rules, and the groups that it applies to.

use std::fmt;

use crate::{GroupName, Rule, Text, Uid};

/// The kind of object that a policy was computed from, spelled as on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SourceKind {
    /// networking.k8s.io/v1 NetworkPolicy.
    K8sNetworkPolicy,
}

/// The object that a policy was computed from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Its kind.
    pub kind: SourceKind,
    /// Its Namespace.
    pub namespace: Text,
    /// Its name.
    pub name: Box<str>,
    /// Its UID, which is also the name of the computed policy.
    pub uid: Uid,
}

/// A computed policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComputedPolicy {
    /// What it was computed from.
    pub source: Source,
    /// The generation of that.
    pub generation: i64,
    /// Its rules, in the source's order, those for ingress first.
    pub rules: Box<[Rule]>,
    /// The AppliedToGroups of the Pods that it is for.
    pub applied_to: Box<[GroupName]>,
}

impl ComputedPolicy {
    /// Its name in the controlplane API.
    pub fn name(&self) -> &Uid {
        &self.source.uid
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {}/{}", self.kind, self.namespace, self.name)
    }
}
