//! Whether somebody may do what they ask for: the API server's RBAC says so (SubjectAccessReview), by verb and path or
//! resource.

use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use k8s_openapi::api::authorization::v1::{SubjectAccessReview, SubjectAccessReviewSpec};
use kube::api::PostParams;
use kube::{Api, Client};

use super::action::Action;
use super::holder::Holder;
use super::identity::{Identity, User};
use super::remembered::{Lifetimes, Remembered};
use super::turns::{Bounds, Busy, Turns};
use crate::kube_client::bounded;

/// Groups of every ServiceAccount, beside that of its Namespace. Whoever is allowed only what these are remains a stranger. By
/// default these may ask for `/version` and for what an API server offers.
const EVERYBODY: [&str; 2] = ["system:authenticated", "system:serviceaccounts"];

/// How many questions wait to be asked, and how long, of users who were allowed nothing yet: every Pod has a token of one, and can
/// ask for a new path each time. ServiceAccounts of a Namespace share: a user who can create one can create many.
const STRANGERS: Bounds = Bounds { most: 1024, share: 16, patience: Duration::from_secs(5) };

/// The same of users who were allowed something, which not everybody is, within this time: agents come at once after a restart,
/// each with three watches.
const ACQUAINTANCES: Bounds = Bounds { most: 8192, share: 64, patience: Duration::from_secs(20) };
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
    /// By the crowd that a user is one of.
    strangers: Turns<String>,
    acquaintances: Turns<Arc<Holder>>,
    /// The name of a user who is never a stranger.
    expected: Option<String>,
    /// Names of users who were allowed something a while ago.
    were_allowed: Mutex<Remembered<String, ()>>,
    decisions: Mutex<Remembered<Question, Verdict>>,
    /// What all ServiceAccounts may do or, with a Namespace, all of that Namespace.
    of_everybody: Mutex<Remembered<(Option<String>, Action), bool>>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Question {
    user: Arc<User>,
    action: Action,
}

impl Question {
    /// The same whenever it is asked.
    fn number(&self) -> u64 {
        BuildHasherDefault::<DefaultHasher>::default().hash_one(self)
    }
}

impl Authorizer {
    /// Asks the API server of `client`.
    pub fn new(client: Client, lifetimes: Lifetimes) -> Self {
        Self {
            reviews: Api::all(client),
            lifetimes,
            strangers: Turns::new(STRANGERS),
            acquaintances: Turns::new(ACQUAINTANCES),
            expected: None,
            were_allowed: Mutex::default(),
            decisions: Mutex::default(),
            of_everybody: Mutex::default(),
        }
    }

    /// Never queues `user` with strangers, not even after a restart, or where everybody may do everything.
    #[must_use]
    pub fn expecting(self, user: &str) -> Self {
        Self { expected: Some(user.to_owned()), ..self }
    }

    /// Does not queue somebody with strangers for a while.
    pub(super) fn remember(&self, identity: &Identity) {
        let Identity::User(user) = identity else { return };
        let now = Instant::now();
        let mut were_allowed = self.were_allowed.lock().unwrap_or_else(PoisonError::into_inner);
        were_allowed.insert(user.name.clone(), (), now + ACQUAINTED, now);
    }

    /// Whether somebody may do this.
    ///
    /// # Errors
    /// When nobody can say.
    pub(super) async fn authorize(
        &self,
        identity: &Identity,
        action: &Action,
        holder: &Arc<Holder>,
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
            None if self.is_acquainted(&user.name) => {
                let _turn = self.acquaintances.take(question.number(), Arc::clone(holder)).await?;
                self.decide(question).await
            }
            None => {
                let _turn = self.strangers.take(question.number(), user.crowd()).await?;
                self.decide(question).await
            }
        }
    }

    async fn decide(&self, question: Question) -> Result<Verdict, Undecided> {
        match self.remembered(&question) {
            Some(verdict) => Ok(verdict),
            // In a box: those who wait for their turn have no room for it.
            None => Box::pin(self.review(question)).await,
        }
    }

    fn is_acquainted(&self, name: &String) -> bool {
        if self.expected.as_ref() == Some(name) {
            return true;
        }
        let were_allowed = self.were_allowed.lock().unwrap_or_else(PoisonError::into_inner);
        were_allowed.get(name, Instant::now()).is_some()
    }

    fn remembered(&self, question: &Question) -> Option<Verdict> {
        self.decisions.lock().unwrap_or_else(PoisonError::into_inner).get(question, Instant::now())
    }

    async fn review(&self, question: Question) -> Result<Verdict, Undecided> {
        let (verdict, lifetime) = if !self.ask(spec(&question)).await? {
            (Verdict::Denied, self.lifetimes.refused)
        } else if self.expected.as_ref() == Some(&question.user.name) {
            (Verdict::Allowed, self.lifetimes.accepted)
        } else {
            match self.everybody_may(&question).await {
                Ok(true) => (Verdict::AllowedToEverybody, self.lifetimes.accepted),
                Ok(false) => (Verdict::Allowed, self.lifetimes.accepted),
                // What is allowed is not refused for that; the user stays a stranger, and the question is asked again.
                Err(_) => return Ok(Verdict::AllowedToEverybody),
            }
        };
        let now = Instant::now();
        let mut decisions = self.decisions.lock().unwrap_or_else(PoisonError::into_inner);
        decisions.insert(question, verdict, now + lifetime, now);
        Ok(verdict)
    }

    /// Whether all ServiceAccounts may do this, or all those of the user's Namespace.
    async fn everybody_may(&self, Question { user, action }: &Question) -> Result<bool, Undecided> {
        let now = Instant::now();
        let asked = (user.namespace().map(str::to_owned), action.clone());
        let remembered = self.of_everybody.lock().unwrap_or_else(PoisonError::into_inner).get(&asked, now);
        if let Some(may) = remembered {
            return Ok(may);
        }
        let may = self.ask(spec_of_everybody(user.namespace(), action)).await?;
        let mut of_everybody = self.of_everybody.lock().unwrap_or_else(PoisonError::into_inner);
        of_everybody.insert(asked, may, now + self.lifetimes.accepted, now);
        Ok(may)
    }

    async fn ask(&self, spec: SubjectAccessReviewSpec) -> Result<bool, Undecided> {
        let review = SubjectAccessReview { spec, ..SubjectAccessReview::default() };
        let answer = bounded(self.reviews.create(&PostParams::default(), &review)).await;
        let status = answer.map_err(Undecided::Unavailable)?.status;
        Ok(status.is_some_and(|status| status.allowed && !status.denied.unwrap_or(false)))
    }
}

fn spec_of_everybody(namespace: Option<&str>, action: &Action) -> SubjectAccessReviewSpec {
    let (non_resource_attributes, resource_attributes) = action.attributes();
    let of_namespace = namespace.map(|namespace| format!("system:serviceaccounts:{namespace}"));
    SubjectAccessReviewSpec {
        groups: Some(EVERYBODY.into_iter().map(str::to_owned).chain(of_namespace).collect()),
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
