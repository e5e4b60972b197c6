//! What is measured. Counts and shapes are those of upstream's benchmarks.

use clap::ValueEnum;

/// A workload, named as its figures are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "PascalCase")]
pub(crate) enum Workload {
    /// 25,000 Namespaces, each with a default-deny policy, two more, and four Pods, two for each of these.
    SmallNamespaces,
    /// 100 Namespaces, each with a default-deny policy and 100 more, each of these with ten Pods of its own.
    LargeNamespaces,
    /// One Namespace with 10,000 policies that all select and admit the same 10,000 Pods.
    OneNamespace,
    /// One Namespace with 5,000 times two Pods of random labels, and a policy from each to the other.
    NetpolPerPod,
    /// 1,000 Namespaces of 100 companies, each with 100 Pods of ten apps and ten policies that admit the same app from
    /// all Namespaces of the company.
    ClusterScoped,
    /// In the cluster of OneNamespace: which policies concern a Pod.
    EndpointQuery,
    /// The same, as the HTTP API answers it.
    EndpointAnswer,
    /// In the cluster of SmallNamespaces: one Pod comes, changes or goes.
    PodEvent,
    /// A new AddressGroup of 1,000 members.
    SyncAddressGroup,
    /// On a Node, a rule of 10,000 and 10 addresses.
    UnionRule,
    /// On a Node, 100 rules of 500 addresses each.
    BatchInstall,
    /// On a Node, 1,000 policies, AddressGroups and AppliedToGroups stored in files.
    FileStore,
    /// 1,000 agents at an API server with 2,500 Namespaces as those of SmallNamespaces, so that each Node has ten Pods.
    Agents1000,
    /// That API server.
    ApiServer,
}
