//! Sends requests, and says what the objects are like afterwards.

use std::sync::Arc;

use antrea_kit::kube_client::{bounded, status_code};
use antrea_kit::untyped::Untyped;
use anyhow::{Context, Result, bail};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kube::{Api, Client};
use serde_json::Value;
use tokio::sync::Semaphore;

use crate::action::Action;
use crate::kept::trim;
use crate::kind::{Kind, Side};
use crate::objects::{Key, is_leaving};

/// The field manager of whatever the controller writes.
pub(crate) const FIELD_MANAGER: &str = "antrea-mc-controller";

/// Requests of one part of a member that are under way at a time, however many subjects they are about: each may ask a
/// webhook, and others want an answer meanwhile.
pub(crate) const AT_ONCE: usize = 16;

/// Clients of the two API servers. Clones share what may be under way.
#[derive(Clone)]
pub(crate) struct Clients {
    /// Of the member's own.
    pub(crate) local: Client,
    /// Of the leader's, where there is a leader.
    pub(crate) leader: Option<Client>,
    permits: Arc<Semaphore>,
}

/// What an object is like after a request.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Outcome {
    /// Like this.
    Is(Kind, Value),
    /// Like this, which is not what was asked for: somebody else has changed it since it was read.
    Changed(Kind, Value),
    /// It is gone.
    Gone(Key),
}

impl Outcome {
    /// The kind of the object.
    pub(crate) const fn kind(&self) -> Kind {
        match self {
            Self::Is(kind, _) | Self::Changed(kind, _) => *kind,
            Self::Gone(key) => key.kind,
        }
    }
}

impl Clients {
    /// Without a leader.
    pub(crate) fn new(local: Client) -> Self {
        Self { local, leader: None, permits: Arc::new(Semaphore::new(AT_ONCE)) }
    }

    /// Sends a request as soon as few enough are under way.
    ///
    /// # Errors
    /// What the API server says, with the object.
    pub(crate) async fn send(&self, action: &Action) -> Result<Outcome> {
        let key = action.key();
        let _permit = self.permits.acquire().await.context("requests have ended")?;
        self.try_send(action).await.with_context(|| match action {
            Action::Create(..) => format!("cannot create {key}"),
            Action::Patch(..) => format!("cannot change {key}"),
            Action::PatchStatus(..) => format!("cannot change the status of {key}"),
            Action::Delete(..) => format!("cannot delete {key}"),
        })
    }

    async fn try_send(&self, action: &Action) -> Result<Outcome> {
        let key = action.key();
        let api = self.api(key)?;
        let answer = match action {
            Action::Create(_, object) => return create(&api, key, object).await,
            Action::Patch(_, patch) => {
                let answer = bounded(api.patch(&key.name, &patch_parameters(), &Patch::Merge(patch))).await;
                answer.map(|object| is(key.kind, object))
            }
            Action::PatchStatus(_, patch) => patch_status(&api, key, patch).await,
            Action::Delete(_, uid) => return delete(&api, key, uid).await,
        };
        match answer {
            // It was deleted meanwhile: what to do now is planned again.
            Err(error) if status_code(&error) == Some(404) => Ok(Outcome::Gone(key.clone())),
            answer => answer,
        }
    }

    fn api(&self, key: &Key) -> Result<Api<Untyped>> {
        let client = match (key.kind.side(), &self.leader) {
            (Side::Local, _) => self.local.clone(),
            (Side::Leader, Some(leader)) => leader.clone(),
            (Side::Leader, None) => bail!("there is no connection to the leader"),
        };
        let resource = key.kind.resource();
        Ok(match key.namespace.as_str() {
            "" => Api::all_with(client, &resource),
            namespace => Api::namespaced_with(client, namespace, &resource),
        })
    }
}

fn patch_parameters() -> PatchParams {
    PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() }
}

async fn create(api: &Api<Untyped>, key: &Key, object: &Value) -> Result<Outcome> {
    let parameters = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
    let answer = match bounded(api.create(&parameters, &Untyped::from(object.clone()))).await {
        // Watches may lag behind, or not choose it: what to do about it is planned again.
        Err(error) if status_code(&error) == Some(409) => bounded(api.get(&key.name)).await,
        answer => answer,
    };
    Ok(is(key.kind, answer?))
}

async fn patch_status(api: &Api<Untyped>, key: &Key, patch: &Value) -> Result<Outcome> {
    match bounded(api.patch_status(&key.name, &patch_parameters(), &Patch::Merge(patch))).await {
        // It is another version than was read, or another object: what to write over this one is planned again. At the
        // leader all members may be about to do so: there it counts as failed, and waits.
        Err(error) if status_code(&error) == Some(409) && key.kind.side() == Side::Local => {
            let object = bounded(api.get(&key.name)).await?;
            Ok(Outcome::Changed(key.kind, trim(key.kind, object.object)))
        }
        answer => Ok(is(key.kind, answer?)),
    }
}

async fn delete(api: &Api<Untyped>, key: &Key, uid: &str) -> Result<Outcome> {
    let uid = (!uid.is_empty()).then(|| uid.to_owned());
    let preconditions = uid.map(|uid| Preconditions { uid: Some(uid), resource_version: None });
    let parameters = DeleteParams { preconditions, ..DeleteParams::default() };
    match bounded(api.delete(&key.name, &parameters)).await {
        // It waits for its finalizers.
        Ok(answer) => match answer.left() {
            Some(left) if is_leaving(&left.object) => Ok(is(key.kind, left)),
            _ => Ok(Outcome::Gone(key.clone())),
        },
        Err(error) if status_code(&error) == Some(404) => Ok(Outcome::Gone(key.clone())),
        Err(error) => Err(error),
    }
}

fn is(kind: Kind, answer: Untyped) -> Outcome {
    Outcome::Is(kind, trim(kind, answer.object))
}
