//! What the leader looks after, and the requests that bring it in line.

use std::fmt;

use antrea_shared_api::multicluster::v1alpha1::{
    MemberClusterAnnounceStatus, ResourceExportStatus, ResourceImport, ResourceImportSpec,
};
use antrea_shared_api::multicluster::v1alpha2::ClusterSetStatus;

use crate::change::Change;

/// An object of the Common Area that may differ from what it should be.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Task {
    /// A ResourceImport.
    Import(String),
    /// A ClusterSet.
    ClusterSet(String),
    /// A MemberClusterAnnounce.
    Announce(String),
    /// A ResourceExport.
    Export(String),
}

/// One request.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Action {
    /// The import is missing.
    CreateImport(Box<ResourceImport>),
    /// The import says something else.
    ChangeImport(Box<Change<ResourceImportSpec>>),
    /// Nothing is exported any more.
    DeleteImport(Target),
    /// The exporter has not been told yet.
    WriteExportStatus(Change<ResourceExportStatus>),
    /// The exporter has left.
    DeleteExport(Target),
    /// The export is being deleted, and what came of it is gone.
    KeepExportFinalizers(Target, Vec<String>),
    /// The announce gets, or loses, the finalizer of the leader.
    KeepAnnounceFinalizers(Target, Vec<String>),
    /// The member has not been told of its networks yet.
    WriteAnnounceStatus(Change<MemberClusterAnnounceStatus>),
    /// Something has become of members.
    WriteClusterSetStatus(Change<ClusterSetStatus>),
}

/// An object as it was when something was decided about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Target {
    /// Its name.
    pub(crate) name: String,
    /// Tells it from a later object of that name.
    pub(crate) uid: Option<String>,
    /// `metadata.resourceVersion`.
    pub(crate) version: Option<String>,
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CreateImport(import) => {
                write!(f, "create ResourceImport {}", import.metadata.name.as_deref().unwrap_or_default())
            }
            Self::ChangeImport(change) => write!(f, "change ResourceImport {}", change.name),
            Self::DeleteImport(target) => write!(f, "delete ResourceImport {}", target.name),
            Self::WriteExportStatus(change) => {
                write!(f, "write the status of ResourceExport {}", change.name)
            }
            Self::DeleteExport(target) => write!(f, "delete ResourceExport {}", target.name),
            Self::KeepExportFinalizers(target, kept) => {
                write!(f, "keep finalizers {kept:?} of ResourceExport {}", target.name)
            }
            Self::KeepAnnounceFinalizers(target, kept) => {
                write!(f, "keep finalizers {kept:?} of MemberClusterAnnounce {}", target.name)
            }
            Self::WriteAnnounceStatus(change) => {
                write!(f, "write the status of MemberClusterAnnounce {}", change.name)
            }
            Self::WriteClusterSetStatus(change) => {
                write!(f, "write the status of ClusterSet {}", change.name)
            }
        }
    }
}
