//! What the admins of a Common Area say of its members in annotations of their ServiceAccounts: above all the networks that
//! they bound to them.
//!
//! An admin who says nothing binds nothing: the member may then have private networks, and what it had before networks
//! needed approval. Once all ServiceAccounts of a member name networks, these are the only ones that it may have. So it is
//! with the addresses of its Gateways.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

use antrea_shared_api::addresses::is_private;
use antrea_shared_api::multicluster::well_known::annotation::{
    CLUSTER_ID, GATEWAYS, NETWORKS, TOKEN_LIFETIME,
};
use ipnet::IpNet;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::ids::ClusterId;

/// A ServiceAccount of a Common Area.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Its name.
    pub name: String,
    /// The cluster that it belongs to, as it is written.
    pub bound_to: Option<String>,
    /// The networks of that cluster, as they are written.
    pub networks: Option<String>,
    /// Where the Gateways of that cluster may be, as it is written.
    pub gateways: Option<String>,
    /// How long its tokens last, where not as long as those of others.
    pub token_lifetime: Option<Duration>,
    /// When it was made.
    pub created: Option<Timestamp>,
}

impl From<ObjectMeta> for Account {
    fn from(metadata: ObjectMeta) -> Self {
        let mut annotations = metadata.annotations.unwrap_or_default();
        let lifetime =
            annotations.remove(TOKEN_LIFETIME).and_then(|text| text.parse::<SignedDuration>().ok());
        Self {
            name: metadata.name.unwrap_or_default(),
            bound_to: annotations.remove(CLUSTER_ID),
            networks: annotations.remove(NETWORKS),
            gateways: annotations.remove(GATEWAYS),
            token_lifetime: lifetime.and_then(|lifetime| lifetime.try_into().ok()),
            created: metadata.creation_timestamp.map(|time| time.0),
        }
    }
}

/// What is bound to a member.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Binding {
    /// The names of its ServiceAccounts.
    pub accounts: Vec<String>,
    /// Since when the first of them is there.
    pub since: Option<Timestamp>,
    /// The networks that they name.
    pub networks: Vec<IpNet>,
    /// Whether all of them name networks.
    pub is_exact: bool,
    /// What they name that is no network.
    pub unreadable: Vec<String>,
    /// Where its Gateways may be.
    pub gateways: GatewayBinding,
}

/// Where the Gateways of a member may be, as far as admins say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GatewayBinding {
    /// The networks, or single addresses, that its ServiceAccounts name.
    pub networks: Vec<IpNet>,
    /// Whether all of them name some: it has Gateways there, and nowhere else.
    pub is_exact: bool,
    /// What they name that is neither an address nor a network.
    pub unreadable: Vec<String>,
}

impl GatewayBinding {
    /// Whether an address is bound to the member.
    pub(crate) fn has(&self, address: IpAddr) -> bool {
        self.networks.iter().any(|bound| bound.contains(&address))
    }

    fn add(&mut self, account: &Account) {
        for text in named(account.gateways.as_deref()) {
            let address = || text.parse::<IpAddr>().map(IpNet::from);
            match text.parse::<IpNet>().or_else(|_| address()) {
                Ok(network) => self.networks.push(network.trunc()),
                Err(_) => self.unreadable.push(format!(
                    "annotation {GATEWAYS} of ServiceAccount {}: {text:?} is neither an address nor a network",
                    account.name
                )),
            }
        }
    }
}

/// What is joined by commas.
fn named(list: Option<&str>) -> impl Iterator<Item = &str> {
    let texts = list.into_iter().flat_map(|list| list.split(','));
    texts.map(str::trim).filter(|text| !text.is_empty())
}

impl Binding {
    fn add(&mut self, account: &Account) {
        let is_first = self.accounts.is_empty();
        self.is_exact = account.networks.is_some() && (self.is_exact || is_first);
        self.gateways.is_exact = account.gateways.is_some() && (self.gateways.is_exact || is_first);
        self.accounts.push(account.name.clone());
        self.since = self.since.into_iter().chain(account.created).min();
        self.gateways.add(account);
        for text in named(account.networks.as_deref()) {
            match text.parse::<IpNet>() {
                Ok(network) => self.networks.push(network.trunc()),
                Err(_) => self.unreadable.push(format!(
                    "annotation {NETWORKS} of ServiceAccount {}: {text:?} is no network, as 10.0.0.0/16",
                    account.name
                )),
            }
        }
    }

    /// Whether a network is bound to the member as a whole.
    pub fn has(&self, network: &IpNet) -> bool {
        self.networks.iter().any(|bound| bound.contains(network))
    }
}

/// What is bound to each member.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bindings(BTreeMap<ClusterId, Binding>);

impl Bindings {
    /// What these ServiceAccounts say.
    pub fn of<'a>(accounts: impl IntoIterator<Item = &'a Account>) -> Self {
        let mut bindings = Self::default();
        for account in accounts {
            let cluster = account.bound_to.as_ref().and_then(|id| id.parse::<ClusterId>().ok());
            if let Some(cluster) = cluster {
                bindings.0.entry(cluster).or_default().add(account);
            }
        }
        bindings
    }

    /// The members that have ServiceAccounts.
    pub fn clusters(&self) -> impl Iterator<Item = &ClusterId> {
        self.0.keys()
    }

    /// What is bound to a member.
    pub fn get(&self, cluster: &ClusterId) -> Option<&Binding> {
        self.0.get(cluster)
    }

    /// The members to which something else is bound in `other`.
    pub fn differing(&self, other: &Self) -> BTreeSet<ClusterId> {
        let clusters = self.0.keys().chain(other.0.keys());
        clusters.filter(|cluster| self.get(cluster) != other.get(cluster)).cloned().collect()
    }
}

/// Which networks a member may have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Approval {
    /// What is bound to it.
    pub binding: Binding,
    /// What it had before networks needed approval.
    pub held: Held,
}

/// What a member had before networks needed approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Held {
    /// All that it claims: what members had is not written down yet.
    Everything,
    /// These networks.
    These(Vec<IpNet>),
}

impl Default for Held {
    fn default() -> Self {
        Self::These(Vec::new())
    }
}

/// Whether a member may have a network, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Approved {
    /// An admin bound it to the member.
    Bound,
    /// It is a private one.
    Private,
    /// The member had it before.
    Held,
    /// It may not.
    No,
}

impl Approval {
    pub(crate) fn of(&self, network: &IpNet) -> Approved {
        if self.binding.has(network) {
            return Approved::Bound;
        }
        if self.binding.is_exact {
            return Approved::No;
        }
        let is_held = match &self.held {
            Held::Everything => true,
            Held::These(held) => held.iter().any(|held| held.contains(network)),
        };
        match (is_private(network), is_held) {
            (true, _) => Approved::Private,
            (false, true) => Approved::Held,
            (false, false) => Approved::No,
        }
    }
}
