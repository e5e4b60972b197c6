//! MemberClusterAnnounce: a cluster speaks for itself alone, and takes no network from another one.

use antrea_mc_core::claims::Networks;
use antrea_mc_core::ids::ClusterId;
use antrea_shared_api::multicluster::v1alpha1::{MemberClusterAnnounce, MemberClusterAnnounceStatus};
use antrea_shared_api::multicluster::well_known::finalizer::member_cluster_announce;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::owners;
use crate::area::Area;
use crate::caller::Caller;
use crate::change::Change;
use crate::denied::{Denied, forbid};
use crate::review::{Operation, Request};
use crate::surroundings::Surroundings;

/// The largest announce of a member, in bytes of JSON without the status: the leader has to be able to write that.
const LARGEST: usize = 64 << 10;

pub(crate) fn review(request: &Request, surroundings: &Surroundings) -> Result<(), Denied> {
    let area = surroundings.common_area(&request.namespace)?;
    let caller = Caller::in_area(&request.user_info, surroundings, &request.namespace, area)?;
    let changes = matches!(request.operation, Operation::Update | Operation::Delete);
    match &caller {
        Caller::Nobody(why) => return forbid(why.as_str()),
        // It puts its finalizer on them, and takes it off.
        Caller::Controller if changes => return Ok(()),
        Caller::Admin | Caller::Account(_) if request.operation == Operation::Delete => return Ok(()),
        Caller::Controller | Caller::Account(_) | Caller::Agent(_) => {
            return forbid("only the ServiceAccount of a member may announce it");
        }
        Caller::Member(_) if !request.sub_resource.is_empty() => {
            return forbid("members may not write the status of MemberClusterAnnounces");
        }
        Caller::Member(_) | Caller::Admin | Caller::Machinery => {}
    }
    let change = Change::<MemberClusterAnnounce>::read(request)?;
    if let Caller::Member(cluster) = &caller {
        is_own(&change, cluster)?;
        is_the_same_cluster(&change, request)?;
        leaves_room_for_the_status(&change)?;
    }
    change.validate()?;
    match &change {
        Change::Create(announce) => {
            fits_the_set(announce, request, area)?;
            is_told_apart(announce, area)?;
            takes_nothing_from_others(None, announce, area)
        }
        Change::Update { old, new } => takes_nothing_from_others(Some(old), new, area),
        Change::Delete(_) => Ok(()),
    }
}

fn is_own(change: &Change<MemberClusterAnnounce>, cluster: &ClusterId) -> Result<(), Denied> {
    let (old, new) = change.both();
    if let Some(other) = [old, new].into_iter().find(|announce| announce.cluster_id != cluster.as_str()) {
        return forbid(format!(
            "the ServiceAccount is bound to cluster {cluster}, and speaks not for cluster {:?}",
            other.cluster_id
        ));
    }
    let finalizer = member_cluster_announce(cluster.as_str());
    let has = |announce: &MemberClusterAnnounce| finalizers(announce).any(|one| *one == finalizer);
    if has(old) && !has(new) {
        return forbid(format!("finalizer {finalizer} is the leader's to remove"));
    }
    let had: Vec<&String> = change.before().into_iter().flat_map(finalizers).collect();
    match finalizers(new).find(|added| **added != finalizer && !had.contains(added)) {
        Some(added) => {
            forbid(format!("metadata.finalizers: {added:?} would keep the announce of a member that leaves"))
        }
        None => owners::adds_none(change.before().map(|old| &old.metadata), &new.metadata),
    }
}

/// What was larger before may stay, and shrink.
fn leaves_room_for_the_status(change: &Change<MemberClusterAnnounce>) -> Result<(), Denied> {
    let size = |announce: &MemberClusterAnnounce| {
        let without_status = MemberClusterAnnounce { status: None, ..announce.clone() };
        serde_json::to_string(&without_status).map_or(usize::MAX, |text| text.len())
    };
    let Some(new) = change.after().map(size).filter(|size| *size > LARGEST) else { return Ok(()) };
    if change.before().is_some_and(|old| size(old) >= new) {
        return Ok(());
    }
    forbid(format!("the announce has {new} bytes, and may have {LARGEST} at most"))
}

fn finalizers(announce: &MemberClusterAnnounce) -> impl Iterator<Item = &String> {
    announce.metadata.finalizers.iter().flatten()
}

fn fits_the_set(announce: &MemberClusterAnnounce, request: &Request, area: &Area) -> Result<(), Denied> {
    let sets = area.cluster_sets()?;
    let Some(set) = sets.get(&announce.cluster_set_id) else {
        let there: Vec<&str> = sets.keys().map(String::as_str).collect();
        let there = if there.is_empty() { "none".to_owned() } else { there.join(", ") };
        return Err(Denied::TooEarly(format!(
            "there is no ClusterSet {} in Namespace {}, but {there}",
            announce.cluster_set_id, request.namespace
        )));
    };
    let leader = set.spec.leaders.first().map(|leader| leader.cluster_id.as_str()).unwrap_or_default();
    if announce.leader_cluster_id == leader {
        return Ok(());
    }
    forbid(format!(
        "leaderClusterID: the leader of ClusterSet {} is {leader:?}, not {:?}",
        announce.cluster_set_id, announce.leader_cluster_id
    ))
}

/// Names of upstream's ResourceExports do not tell `east` with something of `1-a` from `east-1` with something of `a`.
fn is_told_apart(announce: &MemberClusterAnnounce, area: &Area) -> Result<(), Denied> {
    let begins = |long: &str, short: &str| long.strip_prefix(short).is_some_and(|rest| rest.starts_with('-'));
    let own = announce.cluster_id.as_str();
    let mut others = area.announces()?.values().map(|other| other.cluster_id.as_str());
    match others.find(|other| begins(own, other) || begins(other, own)) {
        Some(other) => forbid(format!(
            "clusterID: {own:?} and {other:?}, which is a member already, begin alike up to a dash, so that names of \
             objects do not tell them apart: rename one of the two"
        )),
        None => Ok(()),
    }
}

/// Two clusters with one ID and one token, as when one was copied, would take turns in all that is exported.
fn is_the_same_cluster(change: &Change<MemberClusterAnnounce>, request: &Request) -> Result<(), Denied> {
    let (old, new) = change.both();
    if old.cluster_uid.is_empty() || old.cluster_uid == new.cluster_uid {
        return Ok(());
    }
    forbid(format!(
        "cluster ID {} is that of the cluster whose Namespace kube-system has UID {}, and not of the one with UID {:?}: \
         join with an ID and a token of its own; or, where that cluster is no more, run `kubectl delete \
         memberclusterannounces -n {} {}` in the leader cluster",
        old.cluster_id, old.cluster_uid, new.cluster_uid, request.namespace, request.name
    ))
}

/// A network that an older claim has is refused later, by the leader, which tells both clusters.
fn takes_nothing_from_others(
    old: Option<&MemberClusterAnnounce>,
    new: &MemberClusterAnnounce,
    area: &Area,
) -> Result<(), Denied> {
    let networks = |announce: &MemberClusterAnnounce| {
        (announce.service_cidrs.clone(), announce.pod_cidrs.clone(), announce.endpoint_ip_type.clone())
    };
    // Heartbeats come often.
    if old.is_some_and(|old| networks(old) == networks(new)) {
        return Ok(());
    }
    let Ok(cluster) = new.cluster_id.parse::<ClusterId>() else { return Ok(()) };
    let (claims, info) = (area.claims()?, area.info_of(&cluster));
    let known = old.and_then(|_| area.announce_of(&cluster)).and_then(|known| known.status.as_ref());
    let created = old.and_then(|old| old.metadata.creation_timestamp.as_ref());
    let (before, after) = (old.map(|old| as_known(old, created, known)), as_known(new, created, known));
    let approval = area.approval_of(&cluster);
    let of = |announce| Networks::of(announce, info);
    let foreseen = claims.foresee(&cluster, &approval, of(before.as_ref()), of(Some(&after)));
    super::export_networks::refuse(&foreseen.refused_announce())
}

/// The API server says how old an announce is, and the leader what the member has. That is taken from the watch: anybody can make
/// a review up, with a record that nobody has written.
fn as_known(
    announce: &MemberClusterAnnounce,
    created: Option<&Time>,
    status: Option<&MemberClusterAnnounceStatus>,
) -> MemberClusterAnnounce {
    let mut known = MemberClusterAnnounce { status: status.cloned(), ..announce.clone() };
    known.metadata.creation_timestamp = created.cloned();
    known
}
