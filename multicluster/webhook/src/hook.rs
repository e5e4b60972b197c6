//! The webhooks, by their paths.

use crate::caller::Caller;
use crate::denied::Denied;
use crate::kinds::{announce, by_field, cluster_set, export, gateway, import, token_request};
use crate::mutate;
use crate::review::{Request, Verdict};
use crate::surroundings::Surroundings;

/// What is asked of a webhook for AdmissionReviews.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hook {
    /// Who is who.
    ClusterSet,
    /// Who is a member.
    MemberClusterAnnounce,
    /// What members export.
    ResourceExport,
    /// What members import.
    ResourceImport,
    /// The Node that connects a member with others.
    Gateway,
    /// The other clusters.
    ClusterInfoImport,
    /// Numbers of labels.
    LabelIdentity,
    /// What users export.
    ServiceExport,
    /// What is there for users.
    ServiceImport,
    /// What is added to ResourceExports.
    MutateResourceExport,
    /// Tokens of members.
    TokenRequest,
    /// How long they last.
    MutateTokenRequest,
}

impl Hook {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::ClusterSet,
        Self::MemberClusterAnnounce,
        Self::ResourceExport,
        Self::ResourceImport,
        Self::Gateway,
        Self::ClusterInfoImport,
        Self::LabelIdentity,
        Self::ServiceExport,
        Self::ServiceImport,
        Self::MutateResourceExport,
        Self::TokenRequest,
        Self::MutateTokenRequest,
    ];

    /// Where it is asked; upstream's for those that it has.
    pub const fn path(self) -> &'static str {
        match self {
            Self::ClusterSet => "/validate-multicluster-crd-antrea-io-v1alpha2-clusterset",
            Self::MemberClusterAnnounce => {
                "/validate-multicluster-crd-antrea-io-v1alpha1-memberclusterannounce"
            }
            Self::ResourceExport => "/validate-multicluster-crd-antrea-io-v1alpha1-resourceexport",
            Self::ResourceImport => "/validate-multicluster-crd-antrea-io-v1alpha1-resourceimport",
            Self::Gateway => "/validate-multicluster-crd-antrea-io-v1alpha1-gateway",
            Self::ClusterInfoImport => "/validate-multicluster-crd-antrea-io-v1alpha1-clusterinfoimport",
            Self::LabelIdentity => "/validate-multicluster-crd-antrea-io-v1alpha1-labelidentity",
            Self::ServiceExport => "/validate-multicluster-x-k8s-io-v1beta1-serviceexport",
            Self::ServiceImport => "/validate-multicluster-x-k8s-io-v1beta1-serviceimport",
            Self::MutateResourceExport => "/mutate-multicluster-crd-antrea-io-v1alpha1-resourceexport",
            Self::TokenRequest => "/validate--v1-tokenrequest",
            Self::MutateTokenRequest => "/mutate--v1-tokenrequest",
        }
    }

    pub(crate) fn at(path: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|hook| hook.path() == path)
    }
}

/// Whether a request may go on.
pub fn review(hook: Hook, request: &Request, surroundings: &Surroundings) -> Verdict {
    match hook {
        Hook::MutateResourceExport => mutate::patch(request),
        Hook::MutateTokenRequest => token_request::shorten(request, surroundings),
        // Kubelets ask for tokens, too, and are nobody's admins.
        Hook::TokenRequest => token_request::review(request, surroundings).into(),
        _ => validate(hook, request, surroundings).into(),
    }
}

fn validate(hook: Hook, request: &Request, surroundings: &Surroundings) -> Result<(), Denied> {
    match Caller::of(&request.user_info, surroundings) {
        // Whatever they do brings about what was decided elsewhere.
        Caller::Machinery => return Ok(()),
        Caller::Nobody(why) => return crate::denied::forbid(why),
        _ => {}
    }
    match hook {
        Hook::ClusterSet => cluster_set::review(request, surroundings),
        Hook::MemberClusterAnnounce => announce::review(request, surroundings),
        Hook::ResourceExport => export::review(request, surroundings),
        Hook::ResourceImport => import::review(request, surroundings),
        Hook::Gateway => gateway::review(request, surroundings),
        Hook::ClusterInfoImport => by_field::cluster_info_import(request),
        Hook::LabelIdentity => by_field::label_identity(request),
        Hook::ServiceExport => by_field::service_export(request),
        Hook::ServiceImport => by_field::service_import(request),
        Hook::MutateResourceExport | Hook::TokenRequest | Hook::MutateTokenRequest => Ok(()),
    }
}
