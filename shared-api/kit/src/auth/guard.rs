//! Stands before the paths of an API: nothing but health is told to whom the API server does not let ask.

use std::sync::Arc;

use hyper::header::{AUTHORIZATION, HeaderValue, RETRY_AFTER};
use hyper::{HeaderMap, Request, StatusCode};
use tracing::debug;

use super::action::Action;
use super::authentication::Authenticator;
use super::authorization::{Authorizer, Verdict};
use super::decision::{Decision, Proof, Reviewers};
use super::front_proxy::{CertificateTrust, Owner};
use super::holder::Holder;
use super::identity::Identity;
use super::loopback::{LoopbackToken, TokenHash};
use crate::health::Reasons;
use crate::log_level;
use crate::request_body::RequestBody;
use crate::server::{Answer, Client, Handler};
use crate::status::status;

/// What everybody may ask: probes have no token.
pub const PUBLIC_PATHS: [&str; 3] = ["/healthz", "/livez", "/readyz"];

/// After how many seconds to ask again, when too many ask.
pub const COME_AGAIN: HeaderValue = HeaderValue::from_static("1");

/// Lets requests through, or answers them.
#[derive(Debug)]
pub struct Guard {
    reviewers: Arc<Reviewers>,
    certificates: CertificateTrust,
    /// Who is told why checks of health fail.
    own_pod: Option<TokenHash>,
}

/// A request that is let through.
#[derive(Debug)]
pub struct Admission<'a> {
    authorizer: &'a Authorizer,
    client: Option<Client>,
    decision: Decision,
}

impl Admission<'_> {
    /// Who sent the request.
    pub fn identity(&self) -> &Identity {
        &self.decision.identity
    }

    /// The holder that the request counts towards.
    pub fn holder(&self) -> &Arc<Holder> {
        &self.decision.holder
    }

    /// Admits the client: what it asked for exists here. Its connection no longer gives way to strangers, and its user no longer
    /// queues with them, unless everybody may do this. A right to something served elsewhere does not count: many ServiceAccounts
    /// have one.
    pub fn keep(&self) {
        let Decision { identity, owner, holder, verdict } = &self.decision;
        if *verdict != Verdict::Allowed {
            return;
        }
        if let Some(client) = &self.client {
            client.admit((*owner == Owner::User).then_some(holder));
        }
        self.authorizer.remember(identity);
    }

    /// The same, if the code of the answer says that it exists.
    pub fn answered_with(&self, code: StatusCode) {
        if !matches!(code, StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED) {
            self.keep();
        }
    }
}

/// Why a request is not answered.
#[derive(Debug)]
pub enum Refusal {
    /// 401: it is from nobody.
    Unauthorized,
    /// 403: somebody may not.
    Forbidden(String),
    /// 503: nobody can say.
    Unavailable,
    /// 429: too many ask.
    Busy,
}

impl Guard {
    /// Lets through what both let through. Nobody is known by a certificate.
    pub fn new(authenticator: Authenticator, authorizer: Authorizer) -> Self {
        let reviewers = Arc::new(Reviewers { authenticator, authorizer });
        Self { reviewers, certificates: CertificateTrust::default(), own_pod: None }
    }

    /// The same, and programs of the same Pod are told why checks of health fail. Nobody has to be asked for that, which
    /// counts while the API server is away.
    pub fn explaining_to(self, token: &LoopbackToken) -> Self {
        Self { own_pod: Some(token.hash()), ..self }
    }

    /// Whether whoever sends a request about health is told why checks fail.
    pub fn reasons(&self, headers: &HeaderMap) -> Reasons {
        match (self.own_pod, bearer_token(headers)) {
            (Some(own), Some(token)) if own == TokenHash::of(token) => Reasons::Told,
            _ => Reasons::Withheld,
        }
    }

    /// The same with certificates that are trusted. The server has to ask for them.
    pub fn trusting(self, certificates: CertificateTrust) -> Self {
        Self { certificates, ..self }
    }

    /// Who sends a request for an action that they may do. Certificates are believed before tokens.
    ///
    /// # Errors
    /// Nobody does, or they may not, or nobody can say.
    pub async fn admit(
        &self,
        action: &Action,
        headers: &HeaderMap,
        client: Option<&Client>,
    ) -> Result<Admission<'_>, Refusal> {
        let (proof, sender) = (self.proof(headers, client), client.map(Client::sender));
        let decision = self.reviewers.decide(proof, action.clone(), sender).await?;
        Ok(Admission { authorizer: &self.reviewers.authorizer, client: client.cloned(), decision })
    }

    fn proof(&self, headers: &HeaderMap, client: Option<&Client>) -> Proof {
        let certificates = client.and_then(Client::certificates);
        match certificates.and_then(|chain| self.certificates.user(chain, headers)) {
            Some((user, owner)) => Proof::Certificate(user, owner),
            None => Proof::Token(bearer_token(headers).map(str::to_owned)),
        }
    }

    /// Answers with `handler` what is let through. A client is admitted with its first answer: whether there is what it asks for,
    /// the handler alone knows.
    pub fn before(self, handler: Handler) -> Handler {
        let guard = Arc::new(self);
        Arc::new(move |mut request: Request<RequestBody>| {
            let (guard, handler) = (Arc::clone(&guard), Arc::clone(&handler));
            Box::pin(async move {
                let reasons = guard.reasons(request.headers());
                request.extensions_mut().insert(reasons);
                let path = request.uri().path();
                if PUBLIC_PATHS.contains(&path) {
                    return handler(request).await;
                }
                let method = log_level::verb(request.method(), request.uri());
                let (action, client) = (Action::path(method, path), request.extensions().get::<Client>());
                match guard.admit(&action, request.headers(), client).await {
                    Ok(admission) => {
                        debug!(method, path, identity = ?admission.identity(), "Request let through");
                        let answer = handler(request).await;
                        admission.answered_with(answer.status());
                        answer
                    }
                    Err(refusal) => refusal.answer(),
                }
            })
        })
    }
}

/// RFC 6750 §2.1; the scheme in any case (RFC 9110 §11.1).
fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

impl Refusal {
    /// The status of the answer, and what it says.
    pub fn into_parts(self) -> (StatusCode, String) {
        match self {
            Self::Unauthorized => (StatusCode::UNAUTHORIZED, "Unauthorized".to_owned()),
            Self::Forbidden(message) => (StatusCode::FORBIDDEN, message),
            Self::Unavailable => (
                StatusCode::SERVICE_UNAVAILABLE,
                "the Kubernetes API server does not say who may ask this; try again when it answers"
                    .to_owned(),
            ),
            Self::Busy => (
                StatusCode::TOO_MANY_REQUESTS,
                "too many ask who nobody knows yet; try again in a second".to_owned(),
            ),
        }
    }

    fn answer(self) -> Answer {
        let (code, message) = self.into_parts();
        let mut answer = status(code, &message);
        if code == StatusCode::TOO_MANY_REQUESTS {
            answer.headers_mut().insert(RETRY_AFTER, COME_AGAIN);
        }
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(header: &str) -> Option<String> {
        let headers = HeaderMap::from_iter([(AUTHORIZATION, header.parse().unwrap())]);
        bearer_token(&headers).map(str::to_owned)
    }

    #[test]
    fn a_token_is_what_follows_bearer() {
        assert_eq!(check("Bearer abc").as_deref(), Some("abc"));
        assert_eq!(check("bearer  abc").as_deref(), Some("abc"));
        for none in ["Basic abc", "Bearer", "Bearer ", "abc"] {
            assert_eq!(check(none), None, "{none}");
        }
        assert_eq!(bearer_token(&HeaderMap::new()), None);
    }
}
