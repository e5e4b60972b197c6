//! What the agent tells the controller: how far policies are realized, and what traffic they decided about.

use antrea_shared_api::controlplane::v1beta2::{API_VERSION, NetworkPolicyStatus, NodeStatsSummary};
use antrea_shared_api::protobuf::encode;
use hyper::Method;

use super::answer::finish;
use super::call::Call;
use super::{AntreaController, CallError};

impl AntreaController {
    /// Says how far the policy of that name is realized on this Node.
    ///
    /// # Errors
    /// It was not said; the code is 404 where there is no such policy any more.
    pub(crate) async fn report_status(&self, status: &NetworkPolicyStatus) -> Result<(), CallError> {
        let name = &status.metadata.name;
        if !is_plain(name) {
            return Err(CallError::Name(name.clone()));
        }
        self.report(format!("networkpolicies/{name}/status"), encode(status)).await
    }

    /// Says what was counted since this was said last.
    ///
    /// # Errors
    /// It was not said, or that is not known: what was counted may be counted twice if it is said again.
    pub(crate) async fn report_stats(&self, summary: &NodeStatsSummary) -> Result<(), CallError> {
        self.report("nodestatssummaries".to_owned(), encode(summary)).await
    }

    async fn report(&self, resource: String, body: Vec<u8>) -> Result<(), CallError> {
        let path = format!("/apis/{API_VERSION}/{resource}");
        let answered = self.link.call(&Call { method: Method::POST, path, body }).await?;
        finish(answered.response).await;
        Ok(())
    }
}

/// What comes over the network must not choose a path.
fn is_plain(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    (1..=253).contains(&name.len()) && name.bytes().all(plain)
}
