//! Who a request is from.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::authentication::v1::UserInfo;

/// Whom Kubernetes lets do everything, whatever RBAC says.
const MASTERS: &str = "system:masters";

/// How names of ServiceAccounts begin.
pub const SERVICE_ACCOUNT: &str = "system:serviceaccount:";

/// What the API server says in `extra` of the token of a Pod: the Node that the Pod is on (Kubernetes 1.30 and later).
pub const NODE_NAME: &str = "authentication.kubernetes.io/node-name";

/// Who a request is from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identity {
    /// Nobody said who it is.
    Anonymous,
    /// A program of the same Pod, which can read the loopback token.
    Loopback,
    /// Somebody whom the API server knows. What is remembered of them shares this.
    User(Arc<User>),
}

/// A user as the API server knows them.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct User {
    /// The name, such as `system:serviceaccount:kube-system:antctl`.
    pub name: String,
    /// What tells them from a later user of that name.
    pub uid: String,
    /// Their groups.
    pub groups: Vec<String>,
    /// What else the API server says of them.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl User {
    /// The Namespace of a ServiceAccount.
    pub(super) fn namespace(&self) -> Option<&str> {
        let account = self.name.strip_prefix(SERVICE_ACCOUNT)?;
        account.split_once(':').map(|(namespace, _)| namespace)
    }

    /// Whom they count as while they are strangers: ServiceAccounts of a Namespace are one. Nobody else has such a name.
    pub(super) fn crowd(&self) -> String {
        self.namespace()
            .map_or_else(|| self.name.clone(), |namespace| format!("{SERVICE_ACCOUNT}{namespace}:"))
    }

    /// Whether they may do everything.
    pub(super) fn is_master(&self) -> bool {
        self.groups.iter().any(|group| group == MASTERS)
    }
}

impl From<UserInfo> for User {
    fn from(info: UserInfo) -> Self {
        Self {
            name: info.username.unwrap_or_default(),
            uid: info.uid.unwrap_or_default(),
            groups: info.groups.unwrap_or_default(),
            extra: info.extra.unwrap_or_default(),
        }
    }
}
