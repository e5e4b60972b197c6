//! Asks the leader for a new token of the member's own ServiceAccount, and keeps it in the Secret.

use std::time::Duration;

use antrea_kit::kube_client::{bounded, status_code};
use anyhow::{Context, Result};
use k8s_openapi::ByteString;
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{Secret, ServiceAccount};
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::json;

use super::credentials::Renewable;
use crate::objects::Key;
use crate::send::FIELD_MANAGER;

/// A token that is renewed, and how.
pub(super) struct TokenRenewal {
    pub(super) leader: Client,
    pub(super) token: Renewable,
    /// Of the new one.
    pub(super) lifetime: Duration,
    /// What allows it, for a member that may not, if there is a command for that.
    pub(super) command: Option<String>,
    pub(super) local: Client,
    /// Where the token is kept.
    pub(super) secret: Key,
    /// `metadata.resourceVersion` of the Secret that the old token is in: a token that somebody else has put there
    /// meanwhile is not written over.
    pub(super) version: String,
}

impl TokenRenewal {
    /// # Errors
    /// When the leader gives no token, or it cannot be kept.
    pub(super) async fn run(self) -> Result<()> {
        let new = self.request().await?;
        let secrets: Api<Secret> = Api::namespaced(self.local.clone(), &self.secret.namespace);
        let patch = json!({
            "metadata": { "resourceVersion": self.version },
            "data": { "token": ByteString(new.into_bytes()) },
        });
        let parameters =
            PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        bounded(secrets.patch(&self.secret.name, &parameters, &Patch::Merge(patch)))
            .await
            .with_context(|| format!("cannot write the new token into {}", self.secret))?;
        Ok(())
    }

    async fn request(&self) -> Result<String> {
        let Renewable { namespace, account, .. } = &self.token;
        let accounts: Api<ServiceAccount> = Api::namespaced(self.leader.clone(), namespace);
        let seconds = i64::try_from(self.lifetime.as_secs()).unwrap_or(i64::MAX);
        let spec = TokenRequestSpec { expiration_seconds: Some(seconds), ..TokenRequestSpec::default() };
        let wanted = TokenRequest { spec, ..TokenRequest::default() };
        let answer = bounded(accounts.create_token_request(account, &PostParams::default(), &wanted)).await;
        let answer = answer.map_err(|error| {
            let mut why = format!("the leader gives ServiceAccount {namespace}/{account} no new token");
            if let Some(command) = self.command.as_ref().filter(|_| status_code(&error) == Some(403)) {
                why.push_str(&format!("; `{command}` in the leader cluster allows it"));
            }
            error.context(why)
        })?;
        let token = answer.status.map(|status| status.token).filter(|token| !token.is_empty());
        token.context("the leader answered without a token")
    }
}
