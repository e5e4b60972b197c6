//! ResourceExport: a member writes its own alone, named and labelled as the leader finds them, and within its networks.

use antrea_mc_core::ids::ClusterId;
use antrea_mc_core::limits::{Limits, Size};
use antrea_mc_core::names::Names;
use antrea_mc_core::wire::resource_of;
use antrea_shared_api::multicluster::v1alpha1::{ExportKind, ResourceExport};
use antrea_shared_api::multicluster::well_known::finalizer::{RESOURCE_EXPORT, RESOURCE_EXPORT_BEFORE_2_2};
use antrea_shared_api::multicluster::well_known::{announce_name, label};

use super::{export_networks, owners};
use crate::area::Area;
use crate::caller::Caller;
use crate::change::Change;
use crate::denied::{Denied, forbid};
use crate::review::{Operation, Request};
use crate::surroundings::Surroundings;

pub(crate) fn review(request: &Request, surroundings: &Surroundings) -> Result<(), Denied> {
    let area = surroundings.common_area(&request.namespace)?;
    match Caller::in_area(&request.user_info, surroundings, &request.namespace, area)? {
        Caller::Nobody(why) => forbid(why),
        Caller::Controller | Caller::Machinery => Ok(()),
        Caller::Member(cluster) => by_member(request, &cluster, area, surroundings.installation().limits),
        Caller::Admin | Caller::Account(_) if request.operation == Operation::Delete => Ok(()),
        Caller::Admin => Change::<ResourceExport>::read(request)?.validate(),
        Caller::Account(name) => by_account(request, &name),
        Caller::Agent(_) => forbid("antrea-agent writes no ResourceExports"),
    }
}

/// A program of the admins, as one that applies manifests: it may replicate policies.
fn by_account(request: &Request, name: &str) -> Result<(), Denied> {
    let change = Change::<ResourceExport>::read(request)?;
    let (old, new) = change.both();
    if !request.sub_resource.is_empty() || [old, new].iter().any(|export| !export.spec.cluster_id.is_empty())
    {
        return forbid(format!("{name} is bound to no cluster, and may not export anything for one"));
    }
    change.validate()
}

fn by_member(request: &Request, cluster: &ClusterId, area: &Area, limits: Limits) -> Result<(), Denied> {
    if !request.sub_resource.is_empty() {
        return forbid("members may not write the status of ResourceExports: it is the leader's answer");
    }
    let change = Change::<ResourceExport>::read(request)?;
    let (old, new) = change.both();
    if let Some(other) = [old, new].into_iter().find(|export| export.spec.cluster_id != cluster.as_str()) {
        return forbid(format!(
            "cluster {cluster} may not write a ResourceExport of cluster {:?}",
            other.spec.cluster_id
        ));
    }
    has_a_kind_of_members(old)?;
    let Some(new) = change.after() else { return Ok(()) };
    has_a_kind_of_members(new)?;
    change.validate()?;
    is_named_and_labelled(new, cluster)?;
    keeps_its_finalizer(change.before(), new)?;
    adds_no_finalizer(change.before(), new)?;
    owners::adds_none(change.before().map(|old| &old.metadata), &new.metadata)?;
    has_announced_itself(cluster, area)?;
    is_within(limits, change.before(), new, cluster, area)?;
    export_networks::review(change.before(), new, cluster, area)
}

fn has_a_kind_of_members(export: &ResourceExport) -> Result<(), Denied> {
    let kind = &export.spec.kind;
    if kind.is_of_members() {
        return Ok(());
    }
    forbid(format!(
        "members may not export kind {kind}: only Service, Endpoints, ClusterInfo and LabelIdentity"
    ))
}

fn is_named_and_labelled(export: &ResourceExport, cluster: &ClusterId) -> Result<(), Denied> {
    let resource = resource_of(export).map_err(|problem| Denied::Forbidden(problem.to_string()))?;
    let names = Names::of_export(cluster, &resource);
    let name = export.metadata.name.as_deref().unwrap_or_default();
    if !names.both().contains(&name) {
        return forbid(format!(
            "the name of this export of cluster {cluster} is {:?}, not {name:?}",
            names.plain
        ));
    }
    let spec = &export.spec;
    let of_service = matches!(spec.kind, ExportKind::Service | ExportKind::Endpoints);
    let mut wanted =
        vec![(label::SOURCE_CLUSTER_ID, spec.cluster_id.as_str()), (label::SOURCE_KIND, spec.kind.as_str())];
    if of_service {
        wanted.extend([(label::SOURCE_NAME, spec.name.as_str()), (label::SOURCE_NAMESPACE, &spec.namespace)]);
    }
    let label = |key: &str| export.metadata.labels.as_ref()?.get(key).map(String::as_str);
    match wanted.into_iter().find(|(key, value)| label(key) != Some(value)) {
        Some((key, value)) => forbid(format!("metadata.labels[{key}]: must be {value:?}, as spec says")),
        None => Ok(()),
    }
}

/// Nobody waits for the heartbeats of a cluster that has not announced itself, so that its exports would outlive it. One that
/// leaves exports nothing new, or the leader would never come to an end with what it removes.
fn has_announced_itself(cluster: &ClusterId, area: &Area) -> Result<(), Denied> {
    area.announces()?;
    match area.announce_of(cluster) {
        Some(announce) if announce.metadata.deletion_timestamp.is_none() => Ok(()),
        Some(_) => Err(Denied::TooEarly(format!("cluster {cluster} leaves the ClusterSet"))),
        None => Err(Denied::TooEarly(format!(
            "cluster {cluster} has not announced itself: there is no MemberClusterAnnounce {}",
            announce_name(cluster.as_str())
        ))),
    }
}

/// What is on its way into the Common Area at the moment is not counted yet: a member may export a little more.
fn is_within(
    limits: Limits,
    old: Option<&ResourceExport>,
    new: &ResourceExport,
    cluster: &ClusterId,
    area: &Area,
) -> Result<(), Denied> {
    let used = area.usage()?.of(cluster.as_str());
    let checked = limits.check(cluster, used, old.map(Size::of).as_ref(), &Size::of(new));
    checked.map_err(|over| Denied::Forbidden(over.to_string()))
}

/// What would keep the exports of a member that has left, and others from their names. What was there before may stay.
fn adds_no_finalizer(old: Option<&ResourceExport>, new: &ResourceExport) -> Result<(), Denied> {
    let had: Vec<&String> = old.into_iter().flat_map(finalizers).collect();
    match finalizers(new).find(|added| !is_leaders(added) && !had.contains(added)) {
        Some(added) => {
            forbid(format!("metadata.finalizers: {added:?} would keep the export of a member that leaves"))
        }
        None => Ok(()),
    }
}

fn finalizers(export: &ResourceExport) -> impl Iterator<Item = &String> {
    export.metadata.finalizers.iter().flatten()
}

fn is_leaders(finalizer: &str) -> bool {
    [RESOURCE_EXPORT, RESOURCE_EXPORT_BEFORE_2_2].contains(&finalizer)
}

/// The leader has to see it go.
fn keeps_its_finalizer(old: Option<&ResourceExport>, new: &ResourceExport) -> Result<(), Denied> {
    let has = |export: &ResourceExport| finalizers(export).any(|finalizer| is_leaders(finalizer));
    let must_have = match old {
        None => new.spec.kind != ExportKind::LabelIdentity,
        Some(old) => has(old),
    };
    if must_have && !has(new) {
        return forbid(format!(
            "metadata.finalizers: {RESOURCE_EXPORT} is missing; only the leader removes it"
        ));
    }
    Ok(())
}
