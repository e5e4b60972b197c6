//! What the API answers with that is not in the store, and whom it tells what agents report.

use antrea_shared_api::controlplane::v1beta2::{
    NetworkPolicyEvaluationRequest, NetworkPolicyEvaluationResponse, NetworkPolicyStatus, NodeStatsSummary,
};
use antrea_shared_api::stats::v1alpha1::NetworkPolicyStats;
use antrea_shared_api::system::v1beta1::AntreaControllerInfo;

/// The rest of the controller. Nothing in here may block.
pub trait Cluster: Send + Sync {
    /// The controller itself.
    fn controller_info(&self) -> AntreaControllerInfo;

    /// An agent reports how far a policy is realized.
    ///
    /// # Errors
    /// There is no such policy, or nobody knows yet which Nodes there are.
    fn report_status(&self, status: NetworkPolicyStatus) -> Result<(), CannotReport>;

    /// An agent reports what it has counted.
    fn report_stats(&self, summary: NodeStatsSummary);

    /// Which rule decides about traffic between two Pods; nothing if none does.
    ///
    /// # Errors
    /// The question cannot be answered.
    fn evaluate(
        &self,
        request: &NetworkPolicyEvaluationRequest,
    ) -> Result<Option<NetworkPolicyEvaluationResponse>, CannotEvaluate>;

    /// What NetworkPolicies of Kubernetes let through, by Namespace and name; none where the feature is off.
    fn network_policy_stats(&self) -> Option<Vec<NetworkPolicyStats>>;
}

/// A status that nothing comes of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CannotReport {
    /// The policy is not there, any longer or not yet.
    UnknownPolicy,
    /// Nobody knows yet which Nodes there are.
    NodesUnknown,
}

/// A question about traffic that has no answer; the text says why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CannotEvaluate(pub String);
