//! Stands before the paths of an API: nothing but health is told to whom the API server does not let ask.

use std::sync::Arc;

use hyper::header::AUTHORIZATION;
use hyper::{HeaderMap, Request, StatusCode};
use tracing::{debug, warn};

use super::action::Action;
use super::authentication::{Authenticator, Unauthenticated};
use super::authorization::{Authorizer, Verdict};
use super::front_proxy::CertificateTrust;
use super::identity::Identity;
use super::loopback::{LoopbackToken, TokenHash};
use crate::health::Reasons;
use crate::log_level;
use crate::logging::chain;
use crate::request_body::RequestBody;
use crate::server::{Answer, Handler, PeerCertificates};
use crate::status::status;

/// What everybody may ask: probes have no token.
pub const PUBLIC_PATHS: [&str; 3] = ["/healthz", "/livez", "/readyz"];

/// Lets requests through, or answers them.
#[derive(Debug)]
pub struct Guard {
    authenticator: Authenticator,
    authorizer: Authorizer,
    certificates: CertificateTrust,
    /// Who is told why checks of health fail.
    own_pod: Option<TokenHash>,
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
}

impl Guard {
    /// Lets through what both let through. Nobody is known by a certificate.
    pub fn new(authenticator: Authenticator, authorizer: Authorizer) -> Self {
        Self { authenticator, authorizer, certificates: CertificateTrust::default(), own_pod: None }
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

    /// Who sends a request that may be answered.
    ///
    /// # Errors
    /// Others get this answer: 401 who is nobody, 403 who may not, 503 while nobody can say.
    pub async fn check(&self, method: &str, path: &str, headers: &HeaderMap) -> Result<Identity, Answer> {
        if PUBLIC_PATHS.contains(&path) {
            return Ok(Identity::Anonymous);
        }
        self.admit(&Action::path(method, path), headers, None).await.map_err(Refusal::answer)
    }

    /// Who sends a request for an action that they may do. Certificates are believed before tokens.
    ///
    /// # Errors
    /// Nobody does, or they may not, or nobody can say.
    pub async fn admit(
        &self,
        action: &Action,
        headers: &HeaderMap,
        certificates: Option<&PeerCertificates>,
    ) -> Result<Identity, Refusal> {
        let identity = self.identify(headers, certificates).await?;
        match self.authorizer.authorize(&identity, action).await {
            Ok(Verdict::Allowed) => Ok(identity),
            Ok(Verdict::Denied) => Err(Refusal::Forbidden(forbidden(&identity, action))),
            Err(error) => Err(unavailable(&error)),
        }
    }

    async fn identify(
        &self,
        headers: &HeaderMap,
        certificates: Option<&PeerCertificates>,
    ) -> Result<Identity, Refusal> {
        let by_certificate = certificates.and_then(|chain| self.certificates.user(&chain.0, headers));
        if let Some(user) = by_certificate {
            return Ok(Identity::User(Arc::new(user)));
        }
        match self.authenticator.authenticate(bearer_token(headers)).await {
            Ok(Identity::Anonymous) | Err(Unauthenticated::Invalid) => Err(Refusal::Unauthorized),
            Ok(identity) => Ok(identity),
            Err(error) => Err(unavailable(&error)),
        }
    }

    /// Answers with `handler` what is let through.
    pub fn before(self, handler: Handler) -> Handler {
        let guard = Arc::new(self);
        Arc::new(move |mut request: Request<RequestBody>| {
            let (guard, handler) = (Arc::clone(&guard), Arc::clone(&handler));
            Box::pin(async move {
                let path = request.uri().path();
                let method = log_level::verb(request.method(), request.uri());
                match guard.check(method, path, request.headers()).await {
                    Ok(identity) => {
                        debug!(method, path, ?identity, "Request let through");
                        let reasons = guard.reasons(request.headers());
                        request.extensions_mut().insert(reasons);
                        handler(request).await
                    }
                    Err(answer) => answer,
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

fn forbidden(identity: &Identity, action: &Action) -> String {
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
        }
    }

    fn answer(self) -> Answer {
        let (code, message) = self.into_parts();
        status(code, &message)
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
