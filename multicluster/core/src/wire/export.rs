//! Reads a ResourceExport: what it exports, whose, since when.

use antrea_shared_api::multicluster::v1alpha1 as api;
use api::ExportKind;
use jiff::Timestamp;
use serde_json::{Map, Value};

use super::{Problem, endpoints, service};
use crate::endpoints::Endpoints;
use crate::export::Export;
use crate::ids::{ClusterId, NamespacedName};
use crate::merge::WholeExport;
use crate::names::Resource;
use crate::service::ExportedService;

/// What a ResourceExport carries.
#[derive(Clone, Debug, PartialEq)]
pub enum Payload {
    /// Ports and properties of a Service.
    Service(Export<ExportedService>),
    /// Endpoints of a Service.
    Endpoints(Export<Endpoints>),
    /// Networks and Gateways of the cluster.
    ClusterInfo(api::ClusterInfo),
    /// Normalized labels.
    LabelIdentity(ClusterId, String),
    /// The spec of a ClusterNetworkPolicy or an ExternalEntity.
    Whole(WholeExport<Map<String, Value>>),
}

impl Payload {
    /// The exporter, where there is one that counts.
    pub(crate) fn cluster(&self) -> Option<&ClusterId> {
        match self {
            Self::Service(export) => Some(&export.cluster),
            Self::Endpoints(export) => Some(&export.cluster),
            Self::LabelIdentity(cluster, _) => Some(cluster),
            Self::ClusterInfo(_) | Self::Whole(_) => None,
        }
    }

    pub(crate) fn service(&self) -> Option<&Export<ExportedService>> {
        if let Self::Service(export) = self { Some(export) } else { None }
    }

    pub(crate) fn endpoints(&self) -> Option<&Export<Endpoints>> {
        if let Self::Endpoints(export) = self { Some(export) } else { None }
    }

    pub(crate) fn cluster_info(&self) -> Option<&api::ClusterInfo> {
        if let Self::ClusterInfo(info) = self { Some(info) } else { None }
    }

    pub(crate) fn label(&self) -> Option<&str> {
        if let Self::LabelIdentity(_, label) = self { Some(label) } else { None }
    }

    pub(crate) fn whole(&self) -> Option<&WholeExport<Map<String, Value>>> {
        if let Self::Whole(export) = self { Some(export) } else { None }
    }
}

/// A ResourceExport that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct ParsedExport {
    /// What it is part of.
    pub resource: Resource,
    /// Since when the ResourceExport is there.
    pub since: Option<Timestamp>,
    /// What it carries.
    pub payload: Payload,
    /// What of it is left out.
    pub problems: Vec<Problem>,
}

/// Reads a ResourceExport.
///
/// # Errors
/// The first thing that makes it useless as a whole.
pub fn parse_export(object: &api::ResourceExport) -> Result<ParsedExport, Problem> {
    let resource = resource_of(object)?;
    let (payload, problems) = match object.spec.kind {
        ExportKind::Service => {
            let (payload, problems) = service::read(required(object.spec.service.as_ref(), "service")?);
            (Payload::Service(export(object, payload)?), problems)
        }
        ExportKind::Endpoints => {
            let (payload, problems) = endpoints::read(required(object.spec.endpoints.as_ref(), "endpoints")?);
            (Payload::Endpoints(export(object, payload)?), problems)
        }
        _ => (rest(object)?, Vec::new()),
    };
    let since = object.metadata.creation_timestamp.as_ref().map(|time| time.0);
    Ok(ParsedExport { resource, since, payload, problems })
}

fn rest(object: &api::ResourceExport) -> Result<Payload, Problem> {
    let spec = &object.spec;
    Ok(match spec.kind {
        ExportKind::ClusterInfo => Payload::ClusterInfo(cluster_info(object)?.clone()),
        ExportKind::LabelIdentity => Payload::LabelIdentity(cluster(object)?, label(spec)?.to_owned()),
        ExportKind::AntreaClusterNetworkPolicy => {
            whole(object, required(spec.cluster_network_policy.as_ref(), "clusterNetworkPolicy")?)
        }
        _ => whole(object, &required(spec.external_entity.as_ref(), "externalEntity")?.external_entity_spec),
    })
}

/// What a ResourceExport is part of, also when the rest of it is useless.
///
/// # Errors
/// When it names nothing that clusters export.
pub fn resource_of(object: &api::ResourceExport) -> Result<Resource, Problem> {
    let spec = &object.spec;
    let namespaced =
        || NamespacedName::new(&spec.namespace, &spec.name).map_err(|error| Problem::new("spec.name", error));
    match &spec.kind {
        ExportKind::Service => Ok(Resource::Service(namespaced()?)),
        ExportKind::Endpoints => Ok(Resource::Endpoints(namespaced()?)),
        ExportKind::ExternalEntity => Ok(Resource::ExternalEntity(namespaced()?)),
        ExportKind::ClusterInfo => Ok(Resource::ClusterInfo(cluster(object)?)),
        ExportKind::LabelIdentity => {
            Ok(Resource::LabelIdentity(antrea_shared_api::labels::identity_name(label(spec)?)))
        }
        ExportKind::AntreaClusterNetworkPolicy if spec.name.is_empty() => {
            Err(Problem::new("spec.name", "the policy needs a name"))
        }
        ExportKind::AntreaClusterNetworkPolicy => Ok(Resource::Policy(spec.name.clone())),
        ExportKind::Other(kind) => Err(Problem::new(
            "spec.kind",
            format_args!("{kind:?} is not exported; kinds are {}", ExportKind::KNOWN.join(", ")),
        )),
    }
}

fn required<'a, T>(field: Option<&'a T>, name: &str) -> Result<&'a T, Problem> {
    field.ok_or_else(|| Problem::new(format!("spec.{name}"), "is missing; exports of this kind need it"))
}

fn cluster(object: &api::ResourceExport) -> Result<ClusterId, Problem> {
    object.spec.cluster_id.parse().map_err(|error| Problem::new("spec.clusterID", error))
}

fn label(spec: &api::ResourceExportSpec) -> Result<&str, Problem> {
    let label = &required(spec.label_identity.as_ref(), "labelIdentity")?.normalized_label;
    match antrea_shared_api::labels::parse(label) {
        Ok(_) => Ok(label),
        Err(error) => Err(Problem::new("spec.labelIdentity.normalizedLabel", error)),
    }
}

fn cluster_info(object: &api::ResourceExport) -> Result<&api::ClusterInfo, Problem> {
    let info = required(object.spec.cluster_info.as_ref(), "clusterInfo")?;
    if info.cluster_id == object.spec.cluster_id {
        return Ok(info);
    }
    let reason =
        format_args!("{:?} is not spec.clusterID {:?}", info.cluster_id, object.spec.cluster_id).to_string();
    Err(Problem::new("spec.clusterInfo.clusterID", reason))
}

fn export<T>(object: &api::ResourceExport, payload: T) -> Result<Export<T>, Problem> {
    Ok(Export { cluster: cluster(object)?, created: created(object), payload })
}

fn whole(object: &api::ResourceExport, spec: &Map<String, Value>) -> Payload {
    let object_name = object.metadata.name.clone().unwrap_or_default();
    let created = object_created(object);
    Payload::Whole(WholeExport { object: object_name, created, payload: spec.clone() })
}

/// When the ServiceExport was created, as far as is known. The leader's time of a ResourceExport stands in for it where
/// the exporter is upstream's.
fn created(object: &api::ResourceExport) -> Timestamp {
    let origin = object.spec.service.as_ref().and_then(|service| service.origin.as_ref());
    let of_export = origin.and_then(|origin| origin.creation_timestamp.as_ref());
    of_export.map_or_else(|| object_created(object), |time| time.0)
}

/// An object that was not created yet is younger than all others.
fn object_created(object: &api::ResourceExport) -> Timestamp {
    object.metadata.creation_timestamp.as_ref().map_or(Timestamp::MAX, |time| time.0)
}
