//! Who sends a request: bearer tokens, reviewed by the API server (TokenReview).

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, TokenReviewStatus};
use kube::api::PostParams;
use kube::{Api, Client};

use super::audience::is_for;
use super::identity::{Identity, User};
use super::loopback::{LoopbackToken, TokenHash};
use super::remembered::{Lifetimes, Remembered};
use super::signing_keys::SigningKeys;
use super::turns::{Bounds, Busy, Turns};
use crate::client::Sender;
use crate::kube_client::bounded;
use crate::slots::Source;

/// How many requests wait for the review of a token that nobody knows, and how long. It may be made up. Where the API server does
/// not tell its keys, it is each agent's after a restart of antrea-controller, for three watches.
const STRANGERS: Bounds = Bounds { most: 8192, share: 128, patience: Duration::from_secs(5) };

/// The same for a token that the cluster has signed, or may have: after a restart it is each agent's. A user who may create tokens
/// can have many.
const SIGNED: Bounds = Bounds { most: 8192, share: 2048, patience: Duration::from_secs(20) };

/// The same for a token that was good within this time, and for one at a time on a connection whose client was admitted before, as
/// tokens are renewed. These do not wait behind others.
const ACQUAINTANCES: Bounds = Bounds { most: 4096, share: 2048, patience: Duration::from_secs(20) };
const ACQUAINTED: Duration = Duration::from_secs(3600);

/// Why nobody knows who sends a request.
#[derive(Debug, thiserror::Error)]
pub enum Unauthenticated {
    /// The token is none, or is none any longer.
    #[error("the token is not valid")]
    Invalid,
    /// The API server cannot say.
    #[error("the token cannot be reviewed")]
    Unavailable(#[source] anyhow::Error),
    /// Too many tokens wait to be reviewed.
    #[error(transparent)]
    Busy(#[from] Busy),
}

/// Finds out who sends requests.
#[derive(Debug)]
pub struct Authenticator {
    reviews: Api<TokenReview>,
    signing_keys: SigningKeys,
    /// Those whose tokens name a key that is asked for.
    keys: Turns<Option<Source>>,
    loopback: Option<TokenHash>,
    /// Beside the API server's.
    audience: Option<String>,
    lifetimes: Lifetimes,
    strangers: Turns<Option<Source>>,
    signed: Turns<Option<Source>>,
    acquaintances: Turns<Option<Source>>,
    /// Tokens that were good a while ago.
    were_good: Mutex<Remembered<TokenHash, ()>>,
    /// Nobody for a token that is none.
    decisions: Mutex<Remembered<TokenHash, Option<Arc<User>>>>,
}

impl std::fmt::Debug for TokenHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TokenHash")
    }
}

impl Authenticator {
    /// Asks the API server of `client`; `loopback` is known without it.
    pub fn new(client: Client, loopback: Option<&LoopbackToken>, lifetimes: Lifetimes) -> Self {
        let loopback = loopback.map(LoopbackToken::hash);
        Self {
            signing_keys: SigningKeys::new(client.clone()),
            reviews: Api::all(client),
            keys: Turns::new(SIGNED),
            loopback,
            audience: None,
            lifetimes,
            strangers: Turns::new(STRANGERS),
            signed: Turns::new(SIGNED),
            acquaintances: Turns::new(ACQUAINTANCES),
            were_good: Mutex::default(),
            decisions: Mutex::default(),
        }
    }

    /// Takes tokens for this audience as well, which are good for nobody else. Those that are not for it have to be for the API
    /// server.
    #[must_use]
    pub fn accepting(self, audience: Option<String>) -> Self {
        Self { audience, ..self }
    }

    /// Who has this token, which comes from `sender`; nobody without one.
    ///
    /// # Errors
    /// When the token is not valid, or nobody can say whether it is.
    pub(super) async fn authenticate(
        &self,
        token: Option<&str>,
        sender: Option<&Sender>,
    ) -> Result<Identity, Unauthenticated> {
        let Some(token) = token else { return Ok(Identity::Anonymous) };
        let hash = TokenHash::of(token);
        if self.loopback == Some(hash) {
            return Ok(Identity::Loopback);
        }
        let user = match self.remembered(&hash) {
            Some(user) => user,
            None => self.wait_for_review(token, hash, sender).await?,
        };
        user.map(Identity::User).ok_or(Unauthenticated::Invalid)
    }

    fn remembered(&self, hash: &TokenHash) -> Option<Option<Arc<User>>> {
        self.decisions.lock().unwrap_or_else(PoisonError::into_inner).get(hash, Instant::now())
    }

    async fn wait_for_review(
        &self,
        token: &str,
        hash: TokenHash,
        sender: Option<&Sender>,
    ) -> Result<Option<Arc<User>>, Unauthenticated> {
        let (source, was_good) = (sender.map(Sender::source), self.was_good(&hash));
        let renewal = sender.filter(|_| !was_good).and_then(|sender| sender.renew(hash));
        let turns = if was_good || renewal.is_some() {
            &self.acquaintances
        } else {
            // The API server may be slow to tell its keys, and nothing else bounds how many wait for them.
            let _place = self.keys.enter(source).ok_or(Busy)?;
            let is_signed = self.signing_keys.have_signed(token).await;
            if is_signed { &self.signed } else { &self.strangers }
        };
        let [number, ..] = hash.0;
        let _turn = turns.take(number.into(), source).await?;
        let user = match self.remembered(&hash) {
            Some(user) => user,
            // In a box: those who wait for their turn have no room for it.
            None => Box::pin(self.review(token, hash)).await?,
        };
        if let (None, Some(renewal)) = (&user, renewal) {
            renewal.refuse();
        }
        Ok(user)
    }

    fn was_good(&self, hash: &TokenHash) -> bool {
        self.were_good.lock().unwrap_or_else(PoisonError::into_inner).get(hash, Instant::now()).is_some()
    }

    async fn review(&self, token: &str, hash: TokenHash) -> Result<Option<Arc<User>>, Unauthenticated> {
        let audience = self.audience.as_deref().filter(|audience| is_for(token, audience));
        let spec = TokenReviewSpec {
            token: Some(token.to_owned()),
            // Without any, those of the API server.
            audiences: audience.map(|audience| vec![audience.to_owned()]),
        };
        let review = TokenReview { spec, ..TokenReview::default() };
        let answer = bounded(self.reviews.create(&PostParams::default(), &review)).await;
        let status = answer.map_err(Unauthenticated::Unavailable)?.status;
        let user = user(status.unwrap_or_default(), audience).map(Arc::new);
        let now = Instant::now();
        let lifetime = if user.is_some() { self.lifetimes.accepted } else { self.lifetimes.refused };
        if user.is_some() {
            let mut were_good = self.were_good.lock().unwrap_or_else(PoisonError::into_inner);
            were_good.insert(hash, (), now + ACQUAINTED, now);
        }
        let mut decisions = self.decisions.lock().unwrap_or_else(PoisonError::into_inner);
        decisions.insert(hash, user.clone(), now + lifetime, now);
        Ok(user)
    }
}

/// Somebody without a name is nobody. An API server that does not know of audiences, and so does not confirm the one that it
/// was asked about, has looked whether the token is for itself.
fn user(status: TokenReviewStatus, audience: Option<&str>) -> Option<User> {
    let confirmed = status.audiences.unwrap_or_default();
    let is_meant = audience.is_none_or(|audience| confirmed.iter().any(|one| one == audience));
    let authenticated = status.authenticated.unwrap_or(false) && is_meant;
    status.user.filter(|_| authenticated).map(User::from).filter(|user| !user.name.is_empty())
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::task::Poll;

    use kube::client::Body;
    use serde_json::json;

    use super::*;

    fn check(status: serde_json::Value) -> Option<String> {
        user(serde_json::from_value(status).unwrap(), None).map(|user| user.name)
    }

    /// Names a key that nobody knows: `{"alg":"RS256","kid":"x"}`.
    const OF_UNKNOWN_KEY: &str = "eyJhbGciOiJSUzI1NiIsImtpZCI6IngifQ.e30.AA";

    #[tokio::test]
    async fn those_who_wait_for_the_keys_of_a_silent_api_server_are_bounded() {
        let silent = tower::service_fn(|_: hyper::Request<Body>| {
            std::future::pending::<Result<hyper::Response<Body>, Infallible>>()
        });
        let authenticator = Authenticator::new(Client::new(silent, "default"), None, Lifetimes::default());
        let ask = || Box::pin(authenticator.authenticate(Some(OF_UNKNOWN_KEY), None));
        let mut waiting: Vec<_> = (0..SIGNED.share).map(|_| ask()).collect();
        for one in &mut waiting {
            assert!(futures::poll!(one).is_pending());
        }
        assert!(matches!(futures::poll!(ask()), Poll::Ready(Err(Unauthenticated::Busy(_)))));
        waiting.pop();
        assert!(futures::poll!(ask()).is_pending());
    }

    #[test]
    fn only_who_is_said_to_be_authenticated_is() {
        let bob = json!({"username": "bob"});
        assert_eq!(check(json!({"authenticated": true, "user": bob})).as_deref(), Some("bob"));
        assert_eq!(check(json!({"authenticated": false, "user": bob})), None);
        assert_eq!(check(json!({"user": bob})), None);
        assert_eq!(check(json!({"authenticated": true, "user": {}})), None);
        assert_eq!(check(json!({"authenticated": true})), None);
    }

    #[test]
    fn an_audience_that_is_asked_for_has_to_be_confirmed() {
        let check = |audiences: serde_json::Value| {
            let status = json!({"authenticated": true, "user": {"username": "bob"}, "audiences": audiences});
            user(serde_json::from_value(status).unwrap(), Some("antrea-controller")).is_some()
        };
        assert!(check(json!(["antrea-controller"])));
        assert!(!check(json!(["https://kubernetes.default.svc"])));
        assert!(!check(json!([])) && !check(json!(null)));
    }
}
