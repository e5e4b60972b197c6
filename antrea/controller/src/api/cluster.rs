//! What the API asks the controller, and whom it tells what agents report.

use std::sync::Arc;

use antrea_apiserver::{CannotEvaluate, CannotReport, Cluster};
use antrea_config::Status;
use antrea_shared_api::controlplane::v1beta2::{
    NetworkPolicyEvaluationRequest, NetworkPolicyEvaluationResponse, NetworkPolicyStatus, NodeStatsSummary,
};
use antrea_shared_api::stats::v1alpha1::NetworkPolicyStats;
use antrea_shared_api::system::v1beta1::AntreaControllerInfo;
use jiff::Timestamp;

use crate::computation::Computation;
use crate::info::controller::Facts;

/// The controller, as the API knows it.
pub(crate) struct Controller {
    pub(crate) computation: Arc<Computation>,
    pub(crate) facts: Facts,
    /// Whether traffic is counted.
    pub(crate) statistics: Status,
}

impl Cluster for Controller {
    fn controller_info(&self) -> AntreaControllerInfo {
        self.facts.object(None, &self.computation.numbers(), Timestamp::now()).into()
    }

    fn report_status(&self, status: NetworkPolicyStatus) -> Result<(), CannotReport> {
        self.computation.report_status(&status)
    }

    fn report_stats(&self, summary: NodeStatsSummary) {
        if self.statistics == Status::Enabled {
            self.computation.report_stats(&summary);
        }
    }

    fn evaluate(
        &self,
        request: &NetworkPolicyEvaluationRequest,
    ) -> Result<Option<NetworkPolicyEvaluationResponse>, CannotEvaluate> {
        self.computation.evaluate(request)
    }

    fn network_policy_stats(&self) -> Option<Vec<NetworkPolicyStats>> {
        (self.statistics == Status::Enabled).then(|| self.computation.stats())
    }
}
