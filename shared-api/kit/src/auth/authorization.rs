//! Whether somebody may do what they ask for: the API server's RBAC says so (SubjectAccessReview), by verb and path or
//! resource.

use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use k8s_openapi::api::authorization::v1::{SubjectAccessReview, SubjectAccessReviewSpec};
use kube::api::PostParams;
use kube::{Api, Client};

use super::action::Action;
use super::identity::{Identity, User};
use super::remembered::{Lifetimes, Remembered};
use super::turns::{Busy, Turns};
use crate::kube_client::bounded;
use crate::slots::Source;

/// How many questions wait to be asked, and how long: after a restart all agents come at once.
const WAITING: usize = 4096;
const PATIENCE: Duration = Duration::from_secs(20);

/// Nobody can say whether somebody may.
#[derive(Debug, thiserror::Error)]
pub enum Undecided {
    /// The API server does not say.
    #[error("whether this is allowed cannot be found out")]
    Unavailable(#[source] anyhow::Error),
    /// Too many questions wait.
    #[error(transparent)]
    Busy(#[from] Busy),
}

/// Whether somebody may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// They may.
    Allowed,
    /// They may not.
    Denied,
}

/// Decides who may do what.
#[derive(Debug)]
pub struct Authorizer {
    reviews: Api<SubjectAccessReview>,
    lifetimes: Lifetimes,
    turns: Turns,
    decisions: Mutex<Remembered<Question, Verdict>>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Question {
    user: Arc<User>,
    action: Action,
}

impl Authorizer {
    /// Asks the API server of `client`.
    pub fn new(client: Client, lifetimes: Lifetimes) -> Self {
        let turns = Turns::new(WAITING, PATIENCE);
        Self { reviews: Api::all(client), lifetimes, turns, decisions: Mutex::default() }
    }

    /// Whether somebody may do this, who asks from `source`.
    ///
    /// # Errors
    /// When nobody can say.
    pub(super) async fn authorize(
        &self,
        identity: &Identity,
        action: &Action,
        source: Option<Source>,
    ) -> Result<Verdict, Undecided> {
        let user = match identity {
            Identity::Anonymous => return Ok(Verdict::Denied),
            Identity::Loopback => return Ok(Verdict::Allowed),
            Identity::User(user) if user.is_master() => return Ok(Verdict::Allowed),
            Identity::User(_) if action.is_too_long() => return Ok(Verdict::Denied),
            Identity::User(user) => user,
        };
        let question = Question { user: Arc::clone(user), action: action.clone() };
        match self.remembered(&question) {
            Some(verdict) => Ok(verdict),
            None => self.wait_for_review(question, source).await,
        }
    }

    async fn wait_for_review(
        &self,
        question: Question,
        source: Option<Source>,
    ) -> Result<Verdict, Undecided> {
        let number = BuildHasherDefault::<DefaultHasher>::default().hash_one(&question);
        let _turn = self.turns.take(number, source).await?;
        match self.remembered(&question) {
            Some(verdict) => Ok(verdict),
            // In a box: those who wait for their turn have no room for it.
            None => Box::pin(self.review(question)).await,
        }
    }

    fn remembered(&self, question: &Question) -> Option<Verdict> {
        self.decisions.lock().unwrap_or_else(PoisonError::into_inner).get(question, Instant::now())
    }

    async fn review(&self, question: Question) -> Result<Verdict, Undecided> {
        let review = SubjectAccessReview { spec: spec(&question), ..SubjectAccessReview::default() };
        let answer = bounded(self.reviews.create(&PostParams::default(), &review)).await;
        let answer = answer.map_err(Undecided::Unavailable)?;
        let allowed = answer.status.is_some_and(|status| status.allowed && !status.denied.unwrap_or(false));
        let (verdict, lifetime) = match allowed {
            true => (Verdict::Allowed, self.lifetimes.accepted),
            false => (Verdict::Denied, self.lifetimes.refused),
        };
        let now = Instant::now();
        let mut decisions = self.decisions.lock().unwrap_or_else(PoisonError::into_inner);
        decisions.insert(question, verdict, now + lifetime, now);
        Ok(verdict)
    }
}

fn spec(Question { user, action }: &Question) -> SubjectAccessReviewSpec {
    let (non_resource_attributes, resource_attributes) = action.attributes();
    SubjectAccessReviewSpec {
        user: Some(user.name.clone()),
        uid: Some(user.uid.clone()).filter(|uid| !uid.is_empty()),
        groups: Some(user.groups.clone()),
        extra: Some(user.extra.clone()).filter(|extra| !extra.is_empty()),
        non_resource_attributes,
        resource_attributes,
    }
}
