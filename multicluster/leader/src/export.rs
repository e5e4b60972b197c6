//! A ResourceExport, as the leader keeps it.

use antrea_mc_core::limits::Size;
use antrea_mc_core::names::Resource;
use antrea_mc_core::wire::resource_of;
use antrea_shared_api::multicluster::v1alpha1::{ExportKind, ResourceExport, ResourceExportStatus};

use crate::action::Target;
use crate::imports::target;
use crate::objects::{Record, version_of};

/// A ResourceExport, without what it exports as soon as that is taken in.
#[derive(Clone, Debug)]
pub struct Export {
    /// What is not taken in yet, and how large it is with what nobody needs.
    pub(crate) object: Option<Box<(ResourceExport, Size)>>,
    pub(crate) target: Target,
    pub(crate) version: u64,
    pub(crate) kind: ExportKind,
    pub(crate) resource: Option<Resource>,
    pub(crate) is_deleted: bool,
    pub(crate) finalizers: Vec<String>,
    pub(crate) generation: Option<i64>,
    pub(crate) status: ResourceExportStatus,
}

impl Record for Export {
    fn name(&self) -> &str {
        &self.target.name
    }

    fn version(&self) -> u64 {
        self.version
    }
}

impl From<ResourceExport> for Export {
    fn from(object: ResourceExport) -> Self {
        let size = Size::of(&object);
        Self::new(object, size)
    }
}

impl Export {
    /// An export of that size.
    pub fn new(mut object: ResourceExport, size: Size) -> Self {
        object.metadata.managed_fields = None;
        let metadata = &object.metadata;
        Self {
            target: target(metadata),
            version: version_of(metadata),
            is_deleted: metadata.deletion_timestamp.is_some(),
            finalizers: metadata.finalizers.clone().unwrap_or_default(),
            generation: metadata.generation,
            kind: object.spec.kind.clone(),
            resource: resource_of(&object).ok(),
            status: object.status.take().unwrap_or_default(),
            object: Some(Box::new((object, size))),
        }
    }
}
