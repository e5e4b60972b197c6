//! Kinds that RBAC alone says the writers of: they only have to be valid.

use antrea_shared_api::mcs::v1beta1::{ServiceExport, ServiceImport};
use antrea_shared_api::multicluster::v1alpha1::{ClusterInfoImport, LabelIdentity};
use antrea_shared_api::validation::Validate;
use serde::de::DeserializeOwned;

use crate::change::Change;
use crate::denied::Denied;
use crate::review::{Operation, Request};

pub(crate) fn cluster_info_import(request: &Request) -> Result<(), Denied> {
    valid::<ClusterInfoImport>(request)
}

pub(crate) fn label_identity(request: &Request) -> Result<(), Denied> {
    valid::<LabelIdentity>(request)
}

/// Of all versions: they differ in the status alone.
pub(crate) fn service_export(request: &Request) -> Result<(), Denied> {
    valid::<ServiceExport>(request)
}

/// Of all versions: they differ in the status alone.
pub(crate) fn service_import(request: &Request) -> Result<(), Denied> {
    valid::<ServiceImport>(request)
}

fn valid<T: Validate + DeserializeOwned>(request: &Request) -> Result<(), Denied> {
    // Nothing has to be read to be deleted, and the CRD's schema is all that there is to say of a status.
    if request.operation == Operation::Delete || !request.sub_resource.is_empty() {
        return Ok(());
    }
    Change::<T>::read(request)?.validate()
}
