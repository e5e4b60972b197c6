//! What is known of one Namespace, as watches tell.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use antrea_kit::known::Known as Named;
use antrea_kit::watch::WatchEvent;
use antrea_mc_core::claims::ClaimBook;
use antrea_mc_core::ids::ClusterId;
use antrea_shared_api::multicluster::v1alpha1::{ExportKind, MemberClusterAnnounce, ResourceExport};
use antrea_shared_api::multicluster::v1alpha2::{
    CLUSTER_ID_CLAIM, CLUSTER_SET_ID_CLAIM, ClusterClaim, ClusterSet,
};
use antrea_shared_api::multicluster::well_known::annotation::{CLUSTER_ID, TOKEN_LIFETIME};
use antrea_shared_api::multicluster::well_known::announce_name;
use jiff::SignedDuration;
use k8s_openapi::Metadata;
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::denied::Denied;

/// What a watch of a Namespace tells.
#[derive(Clone, Debug)]
pub enum Event {
    /// ServiceAccounts of a Common Area.
    Account(WatchEvent<ServiceAccount>),
    /// ClusterSets of a Common Area, or of a member.
    ClusterSet(WatchEvent<ClusterSet>),
    /// Announces of a Common Area.
    Announce(WatchEvent<MemberClusterAnnounce>),
    /// ResourceExports of a Common Area; others than ClusterInfo are not looked at, and need not be watched.
    ClusterInfo(WatchEvent<Box<ResourceExport>>),
    /// ClusterClaims of any of these Namespaces, where the cluster has the kind. Nothing waits for them.
    ClusterClaim(WatchEvent<ClusterClaim>),
}

/// A ServiceAccount, as its annotations have it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Account {
    /// The cluster that it is bound to, which may be none that there can be.
    pub(crate) cluster: Option<String>,
    /// How long its tokens last, where not as long as those of others.
    pub(crate) token_lifetime: Option<Duration>,
}

impl Account {
    fn of(account: &ServiceAccount) -> Self {
        let annotation = |key: &str| account.metadata.annotations.as_ref()?.get(key);
        let lifetime = annotation(TOKEN_LIFETIME).and_then(|text| text.parse::<SignedDuration>().ok());
        Self {
            cluster: annotation(CLUSTER_ID).cloned(),
            token_lifetime: lifetime.and_then(|lifetime| lifetime.try_into().ok()),
        }
    }
}

/// A Namespace.
#[derive(Clone, Debug, Default)]
pub(crate) struct Area {
    accounts: Named<Account>,
    cluster_sets: Named<ClusterSet>,
    announces: Named<MemberClusterAnnounce>,
    /// By cluster, whatever the name.
    infos: Named<Box<ResourceExport>>,
    cluster_claims: Named<String>,
    claims: ClaimBook,
}

impl Area {
    pub(crate) fn accounts(&self) -> Result<&BTreeMap<String, Account>, Denied> {
        self.accounts.all().ok_or(Denied::Unknown("ServiceAccounts"))
    }

    pub(crate) fn cluster_sets(&self) -> Result<&BTreeMap<String, ClusterSet>, Denied> {
        self.cluster_sets.all().ok_or(Denied::Unknown("ClusterSets"))
    }

    pub(crate) fn announces(&self) -> Result<&BTreeMap<String, MemberClusterAnnounce>, Denied> {
        self.announces.all().ok_or(Denied::Unknown("MemberClusterAnnounces"))
    }

    /// What all members claim, and what each of them says.
    pub(crate) fn claims(&self) -> Result<&ClaimBook, Denied> {
        self.announces()?;
        self.infos.all().ok_or(Denied::Unknown("ResourceExports"))?;
        Ok(&self.claims)
    }

    pub(crate) fn announce_of(&self, cluster: &ClusterId) -> Option<&MemberClusterAnnounce> {
        let announce = self.announces.all()?.get(&announce_name(cluster.as_str()))?;
        (announce.cluster_id == cluster.as_str()).then_some(announce)
    }

    pub(crate) fn info_of(&self, cluster: &ClusterId) -> Option<&ResourceExport> {
        self.infos.all()?.get(cluster.as_str()).map(AsRef::as_ref)
    }

    /// The ID that a ClusterClaim gives the cluster in this ClusterSet; none where another claims it for another one.
    pub(crate) fn claimed_id(&self, set: &str) -> Option<&str> {
        let claims = self.cluster_claims.all()?;
        let claim = |name: &str| claims.get(name).map(String::as_str).filter(|value| !value.is_empty());
        let of_set = claim(CLUSTER_SET_ID_CLAIM).is_none_or(|claimed| claimed == set);
        claim(CLUSTER_ID_CLAIM).filter(|_| of_set)
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.accounts().is_ok() && self.cluster_sets().is_ok() && self.claims().is_ok()
    }

    /// Takes in what a watch tells.
    pub(crate) fn learn(&mut self, event: Event) {
        match event {
            Event::Account(event) => {
                learn(&mut self.accounts, event, |account| Some((name(&account), Account::of(&account))));
            }
            Event::ClusterSet(event) => {
                learn(&mut self.cluster_sets, event, named);
            }
            Event::ClusterClaim(event) => {
                learn(&mut self.cluster_claims, event, |claim| Some((name(&claim), claim.value)));
            }
            Event::Announce(event) => {
                let touched = learn(&mut self.announces, event, named);
                let prefix = announce_name("");
                self.update_claims(touched.iter().filter_map(|name| name.strip_prefix(&prefix)));
            }
            Event::ClusterInfo(event) => {
                let touched = learn(&mut self.infos, event, |export| {
                    (export.spec.kind == ExportKind::ClusterInfo)
                        .then(|| (export.spec.cluster_id.clone(), export))
                });
                self.update_claims(touched.iter().map(String::as_str));
            }
        }
    }

    fn update_claims<'a>(&mut self, clusters: impl Iterator<Item = &'a str>) {
        for cluster in clusters.filter_map(|cluster| cluster.parse().ok()) {
            let mut claims = std::mem::take(&mut self.claims);
            claims.update(&cluster, self.announce_of(&cluster), self.info_of(&cluster));
            self.claims = claims;
        }
        self.claims.settle();
    }
}

/// Takes in what of an event is of interest; gives the keys that it is about.
fn learn<T, U>(
    known: &mut Named<U>,
    event: WatchEvent<T>,
    pick: impl Fn(T) -> Option<(String, U)>,
) -> BTreeSet<String> {
    let before = || known.all().into_iter().flat_map(BTreeMap::keys).cloned();
    let (event, touched) = match event {
        WatchEvent::Resynced(all) => {
            let all: Vec<(String, U)> = all.into_iter().filter_map(pick).collect();
            let touched = before().chain(all.iter().map(|(key, _)| key.clone())).collect();
            (WatchEvent::Resynced(all), touched)
        }
        WatchEvent::Applied(object) => {
            let Some(object) = pick(object) else { return BTreeSet::new() };
            let touched = BTreeSet::from([object.0.clone()]);
            (WatchEvent::Applied(object), touched)
        }
        WatchEvent::Deleted(object) => {
            let Some(object) = pick(object) else { return BTreeSet::new() };
            let touched = BTreeSet::from([object.0.clone()]);
            (WatchEvent::Deleted(object), touched)
        }
    };
    known.learn(event);
    touched
}

fn named<T: Metadata<Ty = ObjectMeta>>(object: T) -> Option<(String, T)> {
    Some((name(&object), object))
}

fn name(object: &impl Metadata<Ty = ObjectMeta>) -> String {
    object.metadata().name.clone().unwrap_or_default()
}
