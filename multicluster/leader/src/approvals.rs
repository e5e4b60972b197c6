//! Which networks members may have: what admins bound to them, and what they had before networks needed approval.
//!
//! The first leader that knows of approval takes what members claim when it begins for what they had, if one has led before
//! it. It writes that into their announces, and then into the ClusterSet that it has done so: from then on nothing is added. It does not wait for
//! ever: the announce of a member may be such that nothing can be written into it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use antrea_kit::watch::WatchEvent;
use antrea_mc_core::bindings::{Account, Approval, Bindings, Held};
use antrea_mc_core::claims::{Networks, recorded, to_be_held};
use antrea_mc_core::ids::ClusterId;
use antrea_shared_api::multicluster::v1alpha1::{MOST_HELD_NETWORKS, MemberClusterAnnounce};
use ipnet::IpNet;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ServiceAccount;

use crate::objects::{Objects, Record, version_of};

/// How long the leader tries to write down what members had.
const PATIENCE: Duration = Duration::from_secs(300);

/// A ServiceAccount, as the leader keeps it.
#[derive(Clone, Debug)]
pub struct KnownAccount {
    account: Account,
    version: u64,
}

impl Record for KnownAccount {
    fn name(&self) -> &str {
        &self.account.name
    }

    fn version(&self) -> u64 {
        self.version
    }
}

impl From<ServiceAccount> for KnownAccount {
    fn from(object: ServiceAccount) -> Self {
        Self { version: version_of(&object.metadata), account: object.metadata.into() }
    }
}

/// What is approved of a Common Area.
#[derive(Debug, Default)]
pub(crate) struct Approvals {
    accounts: Objects<KnownAccount>,
    bindings: Bindings,
    /// What members had, where their announces do not say so yet.
    unrecorded: BTreeMap<ClusterId, Vec<IpNet>>,
    /// Since when that is to be written.
    began: Option<Instant>,
    /// Members whose networks are not held any more, because that cannot be written down.
    let_go: BTreeSet<ClusterId>,
    /// What cannot be written is not waited for any more.
    gave_up: bool,
}

impl Approvals {
    pub(crate) const fn is_complete(&self) -> bool {
        self.accounts.is_complete()
    }

    /// Takes in what the watch tells; gives the clusters to which something else is bound now.
    pub(crate) fn learn(&mut self, event: WatchEvent<KnownAccount>) -> BTreeSet<ClusterId> {
        self.accounts.learn(event);
        let bindings = Bindings::of(self.accounts.iter().map(|(_, known)| &known.account));
        let concerned = self.bindings.differing(&bindings);
        self.bindings = bindings;
        concerned
    }

    /// The clusters that have ServiceAccounts.
    pub(crate) fn clusters(&self) -> impl Iterator<Item = &ClusterId> {
        self.bindings.clusters()
    }

    /// Since when a cluster has a ServiceAccount.
    pub(crate) fn since(&self, cluster: &ClusterId) -> Option<Timestamp> {
        self.bindings.get(cluster)?.since
    }

    /// The member keeps what it has, as nobody has written down yet what members had.
    pub(crate) fn hold(&mut self, cluster: &ClusterId, networks: Networks<'_>, now: Instant) {
        self.began.get_or_insert(now);
        let Some(announce) = networks.announce.filter(|announce| !is_going(announce)) else { return };
        if recorded(announce) != Held::default() {
            return;
        }
        let mut held = to_be_held(networks, &self.of(cluster, Some(announce)));
        held.truncate(MOST_HELD_NETWORKS);
        if !held.is_empty() {
            self.unrecorded.insert(cluster.clone(), held);
        }
    }

    /// Which networks a member may have.
    pub(crate) fn of(&self, cluster: &ClusterId, announce: Option<&MemberClusterAnnounce>) -> Approval {
        let held = match self.unrecorded.get(cluster) {
            Some(held) => Held::These(held.clone()),
            None => announce.map(recorded).unwrap_or_default(),
        };
        Approval { binding: self.bindings.get(cluster).cloned().unwrap_or_default(), held }
    }

    /// What is to stand in an announce that says `before` of what the member had. What an admin has bound to it meanwhile
    /// need not.
    pub(crate) fn record(&self, cluster: &ClusterId, before: &[String]) -> Vec<String> {
        let held: Vec<String> = match self.unrecorded.get(cluster) {
            Some(held) => held.iter().map(ToString::to_string).collect(),
            None if self.let_go.contains(cluster) => Vec::new(),
            None => before.to_vec(),
        };
        let binding = self.bindings.get(cluster);
        let is_bound = |network: &String| {
            binding.is_some_and(|binding| network.parse().is_ok_and(|network: IpNet| binding.has(&network)))
        };
        held.into_iter().filter(|network| !is_bound(network)).collect()
    }

    /// Takes in what the announce of a member says. Whether with that everything is written down, as it was not before.
    pub(crate) fn note(&mut self, cluster: &ClusterId, announce: Option<&MemberClusterAnnounce>) -> bool {
        if !self.unrecorded.contains_key(cluster) {
            return false;
        }
        let announce = announce.filter(|announce| !is_going(announce));
        let wanted = self.record(cluster, &[]);
        let is_recorded = announce.is_none_or(|announce| {
            let status = announce.status.as_ref();
            status.map(|status| status.held_networks.as_slice()).unwrap_or_default() == wanted
        });
        if is_recorded {
            self.unrecorded.remove(cluster);
        }
        self.unrecorded.is_empty()
    }

    /// What is not written down is not held any more; gives the members that it concerns.
    pub(crate) fn let_go(&mut self) -> Vec<ClusterId> {
        let concerned: Vec<ClusterId> = std::mem::take(&mut self.unrecorded).into_keys().collect();
        self.let_go.extend(concerned.iter().cloned());
        concerned
    }

    /// Time went on. Whether what is still not written is not waited for any more, as it was until now.
    pub(crate) fn tick(&mut self, now: Instant) -> bool {
        let is_late = self.began.is_some_and(|began| now.duration_since(began) >= PATIENCE);
        is_late && !self.unrecorded.is_empty() && !std::mem::replace(&mut self.gave_up, true)
    }

    /// Whether it is written down what all members had, as far as it can be.
    pub(crate) fn are_recorded(&self) -> bool {
        self.unrecorded.is_empty() || self.gave_up
    }
}

/// Nobody writes its status any more.
const fn is_going(announce: &MemberClusterAnnounce) -> bool {
    announce.metadata.deletion_timestamp.is_some()
}
