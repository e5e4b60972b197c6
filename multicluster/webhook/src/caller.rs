//! Who wants something: the rights of a member are those of the cluster that its ServiceAccount is bound to.

use antrea_kit::auth::{NODE_NAME, SERVICE_ACCOUNT};
use antrea_mc_core::ids::ClusterId;
use antrea_shared_api::multicluster::well_known::annotation::CLUSTER_ID;
use antrea_shared_api::well_known::service_account::AGENT;
use k8s_openapi::api::authentication::v1::UserInfo;

use crate::area::Area;
use crate::denied::Denied;
use crate::surroundings::Surroundings;

/// The ServiceAccount of the Multi-cluster controller.
const CONTROLLER: &str = "antrea-mc-controller";
/// Where Kubernetes' own controllers have their ServiceAccounts.
const KUBE_SYSTEM: &str = "kube-system";
/// Those of them that change objects of all kinds.
const MACHINERY: [&str; 3] =
    ["generic-garbage-collector", "namespace-controller", "storage-version-migrator-controller"];
/// What Kubernetes' controllers are where each has not a ServiceAccount of its own, and the API server itself.
const SYSTEM_USERS: [&str; 2] = ["system:kube-controller-manager", "system:apiserver"];
const MASTERS: &str = "system:masters";
/// Users that nobody made an admin of anything.
const POWERLESS: [&str; 2] = ["system:nodes", "system:unauthenticated"];

/// Who wants something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Caller {
    /// The Multi-cluster controller of this cluster.
    Controller,
    /// The agent of a Node; of which one, Kubernetes 1.30 and later say.
    Agent(Option<String>),
    /// Kubernetes' own controllers, as the garbage collector.
    Machinery,
    /// Somebody who is no program: RBAC alone says what they may do.
    Admin,
    /// A ServiceAccount that the admins of the Common Area have bound to a cluster.
    Member(ClusterId),
    /// A ServiceAccount of another Namespace. It may do what admins do where RBAC lets it, but speaks for no cluster.
    Account(String),
    /// Nobody that could be trusted: why not.
    Nobody(String),
}

/// The ServiceAccount that a user is.
struct AccountName<'a> {
    namespace: &'a str,
    name: &'a str,
}

impl<'a> AccountName<'a> {
    fn of(user: &'a str) -> Option<Self> {
        let (namespace, name) = user.strip_prefix(SERVICE_ACCOUNT)?.split_once(':')?;
        Some(Self { namespace, name })
    }
}

impl Caller {
    /// Who `user` is for objects that belong to no Common Area.
    pub(crate) fn of(user: &UserInfo, surroundings: &Surroundings) -> Self {
        let name = user.username.as_deref().unwrap_or_default();
        let is_in = |group: &str| user.groups.iter().flatten().any(|there| there == group);
        if is_in(MASTERS) {
            return Self::Admin;
        }
        if SYSTEM_USERS.contains(&name) {
            return Self::Machinery;
        }
        let installation = surroundings.installation();
        match AccountName::of(name) {
            Some(account) => match (account.namespace, account.name) {
                (KUBE_SYSTEM, name) if MACHINERY.contains(&name) => Self::Machinery,
                (namespace, CONTROLLER) if namespace == installation.controller => Self::Controller,
                (namespace, AGENT) if namespace == installation.agent => Self::Agent(node(user)),
                _ => Self::Account(name.to_owned()),
            },
            None if name.is_empty() || POWERLESS.iter().any(|group| is_in(group)) => {
                Self::Nobody(format!("user {name:?} is no admin of the ClusterSet"))
            }
            None => Self::Admin,
        }
    }

    /// Who `user` is in a Common Area.
    ///
    /// # Errors
    /// Before its ServiceAccounts are known, where that matters.
    pub(crate) fn in_area(
        user: &UserInfo,
        surroundings: &Surroundings,
        namespace: &str,
        area: &Area,
    ) -> Result<Self, Denied> {
        let caller = Self::of(user, surroundings);
        let Self::Account(name) = &caller else { return Ok(caller) };
        let Some(account) = AccountName::of(name).filter(|account| account.namespace == namespace) else {
            return Ok(caller);
        };
        let bound_to = area.accounts()?.get(account.name).and_then(|account| account.bound_to.as_deref());
        let says = |why: String| format!("ServiceAccount {namespace}/{} {why}", account.name);
        Ok(match bound_to.map(str::parse::<ClusterId>) {
            Some(Ok(cluster)) => Self::Member(cluster),
            Some(Err(error)) => Self::Nobody(says(format!("is bound to no cluster: {CLUSTER_ID}: {error}"))),
            None => Self::Nobody(says(format!(
                "is bound to no cluster: it has no annotation {CLUSTER_ID}; \"antctl mc create membertoken\" makes one that has"
            ))),
        })
    }
}

fn node(user: &UserInfo) -> Option<String> {
    user.extra.as_ref()?.get(NODE_NAME)?.first().cloned()
}
