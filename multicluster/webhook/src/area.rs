//! What is known of one Namespace, as watches tell.

use std::collections::{BTreeMap, BTreeSet};

use antrea_kit::known::Known as Named;
use antrea_kit::watch::WatchEvent;
use antrea_mc_core::bindings::{Account, Approval, Bindings, Held};
use antrea_mc_core::claims::{ClaimBook, Networks, recorded};
use antrea_mc_core::cluster_set::needs_approval;
use antrea_mc_core::ids::ClusterId;
use antrea_mc_core::limits::{Size, Usage};
use antrea_shared_api::multicluster::v1alpha1::{ExportKind, MemberClusterAnnounce, ResourceExport};
use antrea_shared_api::multicluster::v1alpha2::{
    CLUSTER_ID_CLAIM, CLUSTER_SET_ID_CLAIM, ClusterClaim, ClusterSet,
};
use antrea_shared_api::multicluster::well_known::announce_name;
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
    /// ResourceExports of a Common Area.
    Export(WatchEvent<Exported>),
    /// ClusterClaims of any of these Namespaces, where the cluster has the kind. Nothing waits for them.
    ClusterClaim(WatchEvent<ClusterClaim>),
}

/// A ResourceExport, as far as webhooks look at it.
#[derive(Clone, Debug)]
pub struct Exported {
    name: String,
    size: Size,
    /// Of kind ClusterInfo alone.
    info: Option<Box<ResourceExport>>,
}

impl Exported {
    /// What counts of an export of that size.
    pub fn new(export: &ResourceExport, size: Size) -> Self {
        let info = (export.spec.kind == ExportKind::ClusterInfo).then(|| {
            let mut info = export.clone();
            info.metadata.managed_fields = None;
            Box::new(info)
        });
        Self { name: name(export), size, info }
    }
}

/// A Namespace.
#[derive(Clone, Debug, Default)]
pub(crate) struct Area {
    accounts: Named<Account>,
    /// What they bind to members.
    bindings: Bindings,
    cluster_sets: Named<ClusterSet>,
    announces: Named<MemberClusterAnnounce>,
    /// By cluster, whatever the name.
    infos: Named<Box<ResourceExport>>,
    cluster_claims: Named<String>,
    claims: ClaimBook,
    /// Known when `infos` are.
    usage: Usage,
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

    /// How much each member exports.
    pub(crate) fn usage(&self) -> Result<&Usage, Denied> {
        self.infos.all().ok_or(Denied::Unknown("ResourceExports"))?;
        Ok(&self.usage)
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
                learn(&mut self.accounts, event, |account| Some((name(&account), account.metadata.into())));
                self.accounts_changed();
            }
            Event::ClusterSet(event) => {
                let before = self.needs_approval();
                learn(&mut self.cluster_sets, event, named);
                if self.needs_approval() != before {
                    self.update_all_claims();
                }
            }
            Event::ClusterClaim(event) => {
                learn(&mut self.cluster_claims, event, |claim| Some((name(&claim), claim.value)));
            }
            Event::Announce(event) => {
                let touched = learn(&mut self.announces, event, named);
                let prefix = announce_name("");
                self.update_claims(touched.iter().filter_map(|name| name.strip_prefix(&prefix)));
            }
            Event::Export(event) => self.learn_exports(event),
        }
    }

    fn learn_exports(&mut self, event: WatchEvent<Exported>) {
        match &event {
            WatchEvent::Resynced(all) => {
                self.usage = Usage::default();
                all.iter().for_each(|export| self.usage.set(&export.name, Some(&export.size)));
            }
            WatchEvent::Applied(export) => self.usage.set(&export.name, Some(&export.size)),
            WatchEvent::Deleted(export) => self.usage.set(&export.name, None),
        }
        let touched = learn(&mut self.infos, event, |export| Some((export.size.cluster, export.info?)));
        if !touched.is_empty() {
            self.update_claims(touched.iter().map(String::as_str));
        }
    }

    fn accounts_changed(&mut self) {
        let bindings = Bindings::of(self.accounts.all().into_iter().flat_map(BTreeMap::values));
        let concerned = bindings.differing(&self.bindings);
        self.bindings = bindings;
        self.update_claims(concerned.iter().map(ClusterId::as_str));
    }

    /// Whether the leader has written down what members had before networks needed approval. Until then they have all
    /// that they claim: the leader leaves out what they may not have.
    fn needs_approval(&self) -> bool {
        let mut sets = self.cluster_sets.all().into_iter().flat_map(BTreeMap::values);
        sets.any(|set| set.status.as_ref().is_some_and(needs_approval))
    }

    /// Which networks a member may have.
    pub(crate) fn approval_of(&self, cluster: &ClusterId) -> Approval {
        let held = if self.needs_approval() {
            self.announce_of(cluster).map(recorded).unwrap_or_default()
        } else {
            Held::Everything
        };
        Approval { binding: self.bindings.get(cluster).cloned().unwrap_or_default(), held }
    }

    fn update_all_claims(&mut self) {
        let announced = self.announces.all().into_iter().flat_map(BTreeMap::values);
        let announced = announced.map(|announce| announce.cluster_id.clone());
        let infos = self.infos.all().into_iter().flat_map(BTreeMap::keys).cloned();
        let clusters: BTreeSet<String> = announced.chain(infos).collect();
        self.update_claims(clusters.iter().map(String::as_str));
    }

    fn update_claims<'a>(&mut self, clusters: impl Iterator<Item = &'a str>) {
        for cluster in clusters.filter_map(|cluster| cluster.parse().ok()) {
            let approval = self.approval_of(&cluster);
            let mut claims = std::mem::take(&mut self.claims);
            let networks = Networks::of(self.announce_of(&cluster), self.info_of(&cluster));
            claims.update(&cluster, networks, approval);
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
