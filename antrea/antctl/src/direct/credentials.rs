//! With which token an agent or the controller is asked. They know tokens only: a user who is known to the API server by a
//! certificate asks with a token of the ServiceAccount antctl, made for this and short-lived.

use std::time::{Duration, Instant};

use antrea_kit::kube_client::bounded;
use antrea_shared_api::well_known::service_account;
use anyhow::{Context, Result};
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::PostParams;
use kube::config::AuthInfo;
use kube::{Api, Client};

/// How long a token is asked for.
const LIFETIME: Duration = Duration::from_secs(3600);

/// When another is asked for: before the first one ends.
const RENEWAL: Duration = Duration::from_secs(1800);

/// Whether a user has a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Credentials {
    /// They do, or a way to one.
    OfUser,
    /// They do not: the ServiceAccount of antctl has.
    OfServiceAccount,
}

impl Credentials {
    pub(crate) const fn of(user: &AuthInfo) -> Self {
        let has_token = user.token.is_some()
            || user.token_file.is_some()
            || user.exec.is_some()
            || user.auth_provider.is_some();
        if has_token { Self::OfUser } else { Self::OfServiceAccount }
    }

    /// When a client with these has to be made anew.
    pub(crate) fn renewal(self, now: Instant) -> Option<Instant> {
        match self {
            Self::OfUser => None,
            Self::OfServiceAccount => Some(now + RENEWAL),
        }
    }
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
        format!("the kubeconfig has no token, and one of ServiceAccount {namespace}/{name} cannot be had")
    })?;
    answer.status.map(|status| status.token).context("the API server gave no token")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_is_no_token() {
        let certificate = AuthInfo { client_certificate_data: Some("x".into()), ..AuthInfo::default() };
        assert_eq!(Credentials::of(&certificate), Credentials::OfServiceAccount);
        let token = AuthInfo { token_file: Some("/token".into()), ..AuthInfo::default() };
        assert_eq!(Credentials::of(&token), Credentials::OfUser);
    }
}
