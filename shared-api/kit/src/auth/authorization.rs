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
use super::turns::{Bounds, Busy, Turns};
use crate::kube_client::bounded;

/// Groups of every Pod's ServiceAccount, but that of its Namespace. Whoever is allowed only what these are remains a stranger. By
/// default these may ask for `/version` and for what an API server offers.
const EVERYBODY: [&str; 2] = ["system:authenticated", "system:serviceaccounts"];

/// How many questions wait to be asked, and how long, of users who were allowed nothing yet: every Pod has a token of one, and can
/// ask for a new path each time.
const STRANGERS: Bounds = Bounds { most: 256, share: 16, patience: Duration::from_secs(5) };

/// The same of users who were allowed something, which not everybody is, within this time: all agents are one, and come at once
/// after a restart.
const ACQUAINTANCES: Bounds = Bounds { most: 4096, share: 2048, patience: Duration::from_secs(20) };
const ACQUAINTED: Duration = Duration::from_secs(3600);

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
    /// They may, and not everybody may.
    Allowed,
    /// They may, as everybody may who has a token.
    AllowedToEverybody,
    /// They may not.
    Denied,
}

/// Decides who may do what.
#[derive(Debug)]
pub struct Authorizer {
    reviews: Api<SubjectAccessReview>,
    lifetimes: Lifetimes,
    strangers: Turns<String>,
    acquaintances: Turns<String>,
    /// Names of users who were allowed something a while ago.
    were_allowed: Mutex<Remembered<String, ()>>,
    decisions: Mutex<Remembered<Question, Verdict>>,
    /// What everybody may.
    of_everybody: Mutex<Remembered<Action, bool>>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Question {
    user: Arc<User>,
    action: Action,
}

impl Authorizer {
    /// Asks the API server of `client`.
    pub fn new(client: Client, lifetimes: Lifetimes) -> Self {
        Self {
            reviews: Api::all(client),
            lifetimes,
            strangers: Turns::new(STRANGERS),
            acquaintances: Turns::new(ACQUAINTANCES),
            were_allowed: Mutex::default(),
            decisions: Mutex::default(),
            of_everybody: Mutex::default(),
        }
    }

    /// Treats `user` as one that was just allowed something, so that it does not queue with strangers after a restart.
    #[must_use]
    pub fn expecting(self, user: &str) -> Self {
        let now = Instant::now();
        let mut were_allowed = self.were_allowed.lock().unwrap_or_else(PoisonError::into_inner);
        were_allowed.insert(user.to_owned(), (), now + ACQUAINTED, now);
        drop(were_allowed);
        self
    }

    /// Whether somebody may do this.
    ///
    /// # Errors
    /// When nobody can say.
    pub(super) async fn authorize(&self, identity: &Identity, action: &Action) -> Result<Verdict, Undecided> {
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
            None => self.wait_for_review(question).await,
        }
    }

    async fn wait_for_review(&self, question: Question) -> Result<Verdict, Undecided> {
        let number = BuildHasherDefault::<DefaultHasher>::default().hash_one(&question);
        let name = question.user.name.clone();
        let turns = if self.was_allowed(&name) { &self.acquaintances } else { &self.strangers };
        let _turn = turns.take(number, name).await?;
        match self.remembered(&question) {
            Some(verdict) => Ok(verdict),
            // In a box: those who wait for their turn have no room for it.
            None => Box::pin(self.review(question)).await,
        }
    }

    fn was_allowed(&self, name: &String) -> bool {
        self.were_allowed.lock().unwrap_or_else(PoisonError::into_inner).get(name, Instant::now()).is_some()
    }

    fn remembered(&self, question: &Question) -> Option<Verdict> {
        self.decisions.lock().unwrap_or_else(PoisonError::into_inner).get(question, Instant::now())
    }

    async fn review(&self, question: Question) -> Result<Verdict, Undecided> {
        let (verdict, lifetime) = match self.ask(spec(&question)).await? {
            false => (Verdict::Denied, self.lifetimes.refused),
            true if self.everybody_may(&question.action).await => {
                (Verdict::AllowedToEverybody, self.lifetimes.accepted)
            }
            true => (Verdict::Allowed, self.lifetimes.accepted),
        };
        let now = Instant::now();
        if verdict == Verdict::Allowed {
            let mut were_allowed = self.were_allowed.lock().unwrap_or_else(PoisonError::into_inner);
            were_allowed.insert(question.user.name.clone(), (), now + ACQUAINTED, now);
        }
        let mut decisions = self.decisions.lock().unwrap_or_else(PoisonError::into_inner);
        decisions.insert(question, verdict, now + lifetime, now);
        Ok(verdict)
    }

    /// Whether every ServiceAccount may do this. `true` if the API server does not say: a user who is allowed an action is not refused
    /// for that, but remains a stranger.
    async fn everybody_may(&self, action: &Action) -> bool {
        let now = Instant::now();
        let remembered = self.of_everybody.lock().unwrap_or_else(PoisonError::into_inner).get(action, now);
        if let Some(may) = remembered {
            return may;
        }
        let Ok(may) = self.ask(spec_of_everybody(action)).await else { return true };
        let mut of_everybody = self.of_everybody.lock().unwrap_or_else(PoisonError::into_inner);
        of_everybody.insert(action.clone(), may, now + self.lifetimes.accepted, now);
        may
    }

    async fn ask(&self, spec: SubjectAccessReviewSpec) -> Result<bool, Undecided> {
        let review = SubjectAccessReview { spec, ..SubjectAccessReview::default() };
        let answer = bounded(self.reviews.create(&PostParams::default(), &review)).await;
        let status = answer.map_err(Undecided::Unavailable)?.status;
        Ok(status.is_some_and(|status| status.allowed && !status.denied.unwrap_or(false)))
    }
}

fn spec_of_everybody(action: &Action) -> SubjectAccessReviewSpec {
    let (non_resource_attributes, resource_attributes) = action.attributes();
    SubjectAccessReviewSpec {
        groups: Some(EVERYBODY.map(str::to_owned).to_vec()),
        non_resource_attributes,
        resource_attributes,
        ..SubjectAccessReviewSpec::default()
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
