//! An API server that reviews tokens and access, and can be told to be away.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use antrea_kit::request_body::RequestBody;
use antrea_kit::server::{Answer, Handler, Limits, Server};
use antrea_kit::status::{json_answer, status};
use http_body_util::BodyExt;
use hyper::{Request, StatusCode};
use kube::{Client, Config};
use serde_json::{Value, json};
use tokio::sync::{Mutex as AsyncMutex, MutexGuard as AsyncMutexGuard};
use tokio_util::sync::CancellationToken;

use crate::issuer::Issuer;

/// Knows the tokens `NAME-token` of these users, `agent@NODE-token`, and those that its issuer signs for them. Alice and agents may
/// get `/agentinfo`, carol `/loglevel`, dave `/elsewhere`, ServiceAccounts of the Namespace shop `/loglevel`; the others nothing but
/// what everybody may, which is `/version…`.
/// Never says anything of tokens that begin with `endless-`, or of such paths.
#[derive(Clone, Default)]
pub(crate) struct Reviews(Arc<State>);

#[derive(Default)]
struct State {
    away: AtomicBool,
    tokens_expired: AtomicBool,
    fails_for_everybody: AtomicBool,
    keys_withheld: AtomicBool,
    /// Locked while answers to requests for the keys are delayed.
    keys_held: AsyncMutex<()>,
    keys_asked: AtomicUsize,
    /// Locked while reviews are delayed.
    reviews_held: AsyncMutex<()>,
    issuer: Issuer,
    asked: AtomicUsize,
}

impl Reviews {
    /// Serves until the test ends; gives a client of it.
    pub(crate) async fn start(&self) -> Client {
        let reviews = self.clone();
        let handler: Handler = Arc::new(move |request| {
            let reviews = reviews.clone();
            Box::pin(async move { reviews.answer(request).await })
        });
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let server = Server::bind(address, None, Limits::default(), handler).await.unwrap();
        let url = format!("http://{}", server.local_addr());
        tokio::spawn(server.run(CancellationToken::new()));
        let mut config = Config::new(url.parse().unwrap());
        config.default_retry = false;
        Client::try_from(config).unwrap()
    }

    pub(crate) fn go_away(&self) {
        self.0.away.store(true, Ordering::Relaxed);
    }

    pub(crate) fn expire_tokens(&self, are_expired: bool) {
        self.0.tokens_expired.store(are_expired, Ordering::Relaxed);
    }

    /// Whether it fails to say what everybody may.
    pub(crate) fn fail_for_everybody(&self, fails: bool) {
        self.0.fails_for_everybody.store(fails, Ordering::Relaxed);
    }

    /// Refuses all later requests for the keys.
    pub(crate) fn withhold_keys(&self) {
        self.0.keys_withheld.store(true, Ordering::Relaxed);
    }

    /// Delays answers to requests for the keys until the guard is dropped.
    pub(crate) async fn hold_keys(&self) -> AsyncMutexGuard<'_, ()> {
        self.0.keys_held.lock().await
    }

    /// Delays reviews until the guard is dropped.
    pub(crate) async fn hold_reviews(&self) -> AsyncMutexGuard<'_, ()> {
        self.0.reviews_held.lock().await
    }

    /// Number of requests for the keys.
    pub(crate) fn keys_asked(&self) -> usize {
        self.0.keys_asked.load(Ordering::Relaxed)
    }

    /// A new token of a user.
    pub(crate) fn sign(&self, user: &str) -> String {
        self.0.issuer.sign(user)
    }

    /// How often it was asked for a review.
    pub(crate) fn asked(&self) -> usize {
        self.0.asked.load(Ordering::Relaxed)
    }

    async fn answer(&self, request: Request<RequestBody>) -> Answer {
        if request.uri().path() == "/openid/v1/jwks" {
            self.0.keys_asked.fetch_add(1, Ordering::Relaxed);
            let _turn = self.0.keys_held.lock().await;
            return match self.0.keys_withheld.load(Ordering::Relaxed) {
                true => status(StatusCode::FORBIDDEN, "not for you"),
                false => json_answer(StatusCode::OK, &self.0.issuer.key_set()),
            };
        }
        self.0.asked.fetch_add(1, Ordering::Relaxed);
        drop(self.0.reviews_held.lock().await);
        if self.0.away.load(Ordering::Relaxed) {
            return status(StatusCode::INTERNAL_SERVER_ERROR, "etcd is away");
        }
        let path = request.uri().path().to_owned();
        let body = request.into_body().collect().await.unwrap().to_bytes();
        let mut review: Value = serde_json::from_slice(&body).unwrap();
        let path_asked_for = &review["spec"]["nonResourceAttributes"]["path"];
        let is_endless =
            |asked: &Value, start: &str| asked.as_str().is_some_and(|text| text.starts_with(start));
        if is_endless(&review["spec"]["token"], "endless-") || is_endless(path_asked_for, "/endless-") {
            return std::future::pending().await;
        }
        review["status"] = match path.as_str() {
            "/apis/authentication.k8s.io/v1/tokenreviews" => self.review_token(&review["spec"]["token"]),
            "/apis/authorization.k8s.io/v1/subjectaccessreviews" => {
                if review["spec"]["user"].is_null() && self.0.fails_for_everybody.load(Ordering::Relaxed) {
                    return status(StatusCode::INTERNAL_SERVER_ERROR, "etcd is away");
                }
                review_access(&review["spec"])
            }
            other => return status(StatusCode::NOT_FOUND, other),
        };
        json_answer(StatusCode::CREATED, &review)
    }

    fn review_token(&self, token: &Value) -> Value {
        let token = token.as_str().unwrap_or_default();
        let name = token.strip_suffix("-token").map(|name| name.strip_prefix("renewed-").unwrap_or(name));
        let name = name.map(str::to_owned).or_else(|| Issuer::user_of(token));
        match name.as_deref().filter(|_| !self.0.tokens_expired.load(Ordering::Relaxed)) {
            Some("root") => {
                json!({"authenticated": true, "user": {"username": "root", "groups": ["system:masters"]}})
            }
            Some(name @ ("alice" | "bob" | "carol" | "dave" | "frank")) => {
                json!({"authenticated": true, "user": {"username": name, "groups": ["system:authenticated"]}})
            }
            Some(name) if name.starts_with("agent@") => {
                let extra = json!({"authentication.kubernetes.io/node-name": [name]});
                let user = json!({"username": "agent", "groups": ["system:authenticated"], "extra": extra});
                json!({"authenticated": true, "user": user})
            }
            Some(name) if name.contains(':') => {
                let user = format!("system:serviceaccount:{name}");
                json!({"authenticated": true, "user": {"username": user, "groups": ["system:authenticated"]}})
            }
            _ => json!({"authenticated": false, "error": "token has expired"}),
        }
    }
}

fn review_access(spec: &Value) -> Value {
    if spec["nonResourceAttributes"]["path"].as_str().is_some_and(|path| path.starts_with("/version")) {
        return json!({"allowed": true});
    }
    let of_shop = spec["user"].as_str().is_some_and(|user| user.starts_with("system:serviceaccount:shop:"));
    let who = match spec["user"].as_str() {
        Some(user) => {
            assert_eq!(spec["groups"], json!(["system:authenticated"]));
            if of_shop { "shop" } else { user }
        }
        None => {
            let groups = spec["groups"].as_array().unwrap();
            assert_eq!(groups[..2], ["system:authenticated", "system:serviceaccounts"]);
            groups
                .get(2)
                .and_then(|group| group.as_str()?.strip_prefix("system:serviceaccounts:"))
                .unwrap_or_default()
        }
    };
    let may = [
        ("alice", "/agentinfo"),
        ("agent", "/agentinfo"),
        ("carol", "/loglevel"),
        ("dave", "/elsewhere"),
        ("shop", "/loglevel"),
    ];
    let asked = &spec["nonResourceAttributes"];
    json!({"allowed": may.iter().any(|(user, path)| who == *user && *asked == json!({"path": path, "verb": "get"}))})
}
