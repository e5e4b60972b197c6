//! Who sends a request, and whether they may do what they ask for.
//!
//! What the API server has to be asked outlives the connection of the request: somebody whose connection gave way during a
//! review finds its result with the next request, and nobody starts more reviews by going away.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use tracing::warn;

use super::action::Action;
use super::authentication::{Authenticator, Unauthenticated};
use super::authorization::{Authorizer, Undecided, Verdict};
use super::front_proxy::Owner;
use super::guard::Refusal;
use super::holder::Holder;
use super::identity::{Identity, User};
use crate::client::Sender;
use crate::logging::chain;

/// Decide together.
#[derive(Debug)]
pub(super) struct Reviewers {
    pub(super) authenticator: Authenticator,
    pub(super) authorizer: Authorizer,
}

/// By what somebody is known. Certificates are believed before tokens.
#[derive(Debug)]
pub(super) enum Proof {
    /// A certificate that was believed, and whose connection that makes it.
    Certificate(User, Owner),
    /// A bearer token, if there is one.
    Token(Option<String>),
}

/// Who sends a request that is let through.
#[derive(Debug)]
pub(super) struct Decision {
    pub(super) identity: Identity,
    pub(super) owner: Owner,
    pub(super) holder: Arc<Holder>,
    /// Never a denial.
    pub(super) verdict: Verdict,
}

impl Reviewers {
    /// Decides at once what is remembered. The rest is decided in a task of its own, even if nobody waits for it any more.
    ///
    /// # Errors
    /// Nobody is known by the proof, or they may not, or nobody can say.
    pub(super) async fn decide(
        self: &Arc<Self>,
        proof: Proof,
        action: Action,
        sender: Option<Sender>,
    ) -> Result<Decision, Refusal> {
        let mut deciding = Box::pin(Arc::clone(self).review(proof, action, sender));
        // Polled here first, so that a client that is known is admitted before anything else happens to its connection.
        match poll_fn(|context| Poll::Ready(deciding.as_mut().poll(context))).await {
            Poll::Ready(decision) => decision,
            // A task fails by a panic alone, or when the process ends.
            Poll::Pending => tokio::spawn(deciding).await.unwrap_or_else(|error| Err(unavailable(&error))),
        }
    }

    async fn review(
        self: Arc<Self>,
        proof: Proof,
        action: Action,
        sender: Option<Sender>,
    ) -> Result<Decision, Refusal> {
        let (identity, owner) = self.identify(proof, sender.as_ref()).await?;
        let holder = Arc::new(Holder::of(&identity, sender.as_ref().map(Sender::address)));
        match self.authorizer.authorize(&identity, &action, &holder).await {
            Ok(verdict @ (Verdict::Allowed | Verdict::AllowedToEverybody)) => {
                Ok(Decision { identity, owner, holder, verdict })
            }
            Ok(Verdict::Denied) => Err(Refusal::Forbidden(forbidden(&identity, &action))),
            Err(Undecided::Busy(_)) => Err(Refusal::Busy),
            Err(error) => Err(unavailable(&error)),
        }
    }

    async fn identify(&self, proof: Proof, sender: Option<&Sender>) -> Result<(Identity, Owner), Refusal> {
        let token = match proof {
            Proof::Certificate(user, owner) => return Ok((Identity::User(Arc::new(user)), owner)),
            Proof::Token(token) => token,
        };
        match self.authenticator.authenticate(token.as_deref(), sender).await {
            Ok(Identity::Anonymous) | Err(Unauthenticated::Invalid) => Err(Refusal::Unauthorized),
            Ok(identity) => Ok((identity, Owner::User)),
            Err(Unauthenticated::Busy(_)) => Err(Refusal::Busy),
            Err(error) => Err(unavailable(&error)),
        }
    }
}

/// Does not quote an action that is too long: a response stays in memory until it is read.
fn forbidden(identity: &Identity, action: &Action) -> String {
    if action.is_too_long() {
        return "forbidden: the request names something that is too long to exist".to_owned();
    }
    let name = match identity {
        Identity::User(user) => user.name.as_str(),
        Identity::Anonymous | Identity::Loopback => "system:anonymous",
    };
    format!("forbidden: User {name:?} cannot {action}")
}

fn unavailable(error: &(dyn std::error::Error + 'static)) -> Refusal {
    let error = chain(error);
    warn!(error, "Request refused, because the API server does not say whether it is allowed");
    Refusal::Unavailable
}
