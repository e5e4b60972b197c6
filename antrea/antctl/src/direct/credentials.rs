//! With which token an agent or the controller is asked: one of the ServiceAccount antctl, made for this and short-lived.
//!
//! Never with the user's own. Where an agent or the controller is, and what vouches for it, stands in objects that they
//! write themselves: whoever has taken over one Node could have the token of every user who asks about it.

use std::time::{Duration, Instant};

use antrea_kit::kube_client::bounded;
use antrea_shared_api::well_known::service_account;
use anyhow::{Context, Result};
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::PostParams;
use kube::{Api, Client};

/// How long a token is asked for.
const LIFETIME: Duration = Duration::from_secs(3600);

/// When another is asked for: before the first one ends.
const RENEWAL: Duration = Duration::from_secs(1800);

/// When a client with a token that was had now has to be made anew.
pub(crate) fn renewal(now: Instant) -> Instant {
    now + RENEWAL
}

/// A token of the ServiceAccount antctl.
pub(super) async fn request_token(client: &Client, namespace: &str) -> Result<String> {
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), namespace);
    let request = TokenRequest {
        spec: TokenRequestSpec {
            expiration_seconds: i64::try_from(LIFETIME.as_secs()).ok(),
            ..TokenRequestSpec::default()
        },
        ..TokenRequest::default()
    };
    let name = service_account::ANTCTL;
    let asked = bounded(accounts.create_token_request(name, &PostParams::default(), &request)).await;
    let answer = asked.with_context(|| {
        format!(
            "a token of ServiceAccount {namespace}/{name}, which agents and the controller are asked with, cannot be had: \
             it takes the right to create serviceaccounts/token in Namespace {namespace}; without it, run antctl in the \
             container of the one to be asked"
        )
    })?;
    answer.status.map(|status| status.token).context("the API server gave no token")
}
