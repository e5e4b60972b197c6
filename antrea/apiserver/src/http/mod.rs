//! The HTTP of the API: who asks what, whether they may, and the answer.

mod accept;
mod answer;
mod body;
mod creating;
mod discovery;
mod empty;
mod failure;
mod openapi;
mod own_node;
mod reading;
mod request;
mod resources;
mod watch_places;
mod watching;

use std::sync::Arc;
use std::time::Duration;

use antrea_kit::auth::{Action, Guard, Identity, PUBLIC_PATHS};
use antrea_kit::log_level;
use antrea_kit::query::Query;
use antrea_kit::request_body::RequestBody;
use antrea_kit::server::{Client, Handler, Limits, Slots};
use hyper::Request;
use tokio_util::sync::CancellationToken;

use crate::cluster::Cluster;
use crate::shared_store::SharedStore;
use accept::{Format, negotiate};
use answer::Answer;
pub use body::Body;
use failure::Failure;
use own_node::Reach;
pub use own_node::{Agents, NodesInTokens};
use reading::Reading;
use request::{ResourcePath, action, verb};
use resources::{Scope, Served, find};
use watch_places::{Holder, WatchPlaces};

/// What the clients of the API may have of its server: agents keep their connections, and there are many of them. Until its
/// token was reviewed each is anonymous, and after a restart all come at once.
pub const LIMITS: Limits = Limits {
    slots: Slots { handshakes: 2048, anonymous: 2048, admitted: 8192, loopback: 2048 },
    handshake: Duration::from_secs(10),
    header: Duration::from_secs(60),
    lifetime: Duration::from_secs(24 * 3600),
};

/// What the API is made of.
pub struct Api {
    /// What is watched.
    pub store: SharedStore,
    /// What else is told and asked.
    pub cluster: Arc<dyn Cluster>,
    /// Who may ask.
    pub guard: Guard,
    /// Who asks and reports about its own Node alone.
    pub agents: Agents,
    /// Answers for all other paths, among them those of health. Who may ask is decided before, but for health.
    pub other: Handler,
    /// Ends all watches.
    pub stop: CancellationToken,
}

impl Api {
    /// Answers requests.
    pub fn handler(self) -> Handler<Body> {
        let api = Arc::new(Serving { api: self, watch_places: WatchPlaces::default() });
        Arc::new(move |request| {
            let api = Arc::clone(&api);
            Box::pin(async move { api.answer(request).await })
        })
    }
}

/// The API while it is served.
struct Serving {
    api: Api,
    watch_places: WatchPlaces,
}

impl Serving {
    async fn answer(&self, request: Request<RequestBody>) -> Answer {
        let error_format = negotiate(request.headers(), &[Format::Json, Format::Protobuf]);
        self.try_answer(request).await.unwrap_or_else(|failure| failure.answer(error_format))
    }

    async fn try_answer(&self, mut request: Request<RequestBody>) -> Result<Answer, Failure> {
        let reasons = self.api.guard.reasons(request.headers());
        request.extensions_mut().insert(reasons);
        let path = request.uri().path();
        if let Some(resource) = ResourcePath::read(path) {
            return self.answer_resource(&resource, request).await;
        }
        if !PUBLIC_PATHS.contains(&path) {
            let verb = log_level::verb(request.method(), request.uri());
            self.admit(&Action::path(verb, path), &request).await?;
        }
        let answer_documents = match path.trim_start_matches('/').split('/').next() {
            Some("api" | "apis") => discovery::answer,
            Some("openapi") => openapi::answer,
            _ => return Ok((self.api.other)(request).await.map(Body::Whole)),
        };
        if request.method() != hyper::Method::GET {
            return Err(Failure::no_such_method());
        }
        answer_documents(path, request.headers())
    }

    async fn answer_resource(
        &self,
        path: &ResourcePath,
        request: Request<RequestBody>,
    ) -> Result<Answer, Failure> {
        let query = Query::parse(request.uri().query().unwrap_or_default());
        let verb = verb(request.method(), path, &query);
        let action = action(verb, path, &query);
        let identity = self.admit(&action, &request).await?;
        let caller = Caller { reach: self.api.agents.reach(&identity)?, action: &action };
        let resource = find(&path.group, &path.version, &path.resource, &path.subresource)
            .filter(|resource| is_in_scope(resource.scope, path, verb))
            .ok_or_else(Failure::no_such_path)?;
        if !resource.served.verbs().contains(&verb) || request.method() == hyper::Method::HEAD {
            return Err(Failure::no_such_method());
        }
        if self.api.store.is_filling() && resource.served != Served::ControllerInfos {
            return Err(Failure::still_filling());
        }
        match verb {
            "watch" => {
                let address = request.extensions().get::<Client>().map(Client::address);
                let place = self.watch_places.take(Holder::of(&identity, address));
                let place = place.ok_or_else(Failure::too_many_watches)?;
                watching::begin(&self.api, resource.served, caller, &query, request.headers(), place).await
            }
            "create" => {
                let (parts, body) = request.into_parts();
                // In a box: watches, of which there are many, have no room for it.
                let creating =
                    creating::create(&self.api, resource.served, path, caller, &parts.headers, body);
                Box::pin(creating).await
            }
            _ => {
                let headers = request.headers();
                Reading { api: &self.api, path, query: &query, headers, caller }.answer(resource.served)
            }
        }
    }

    async fn admit(&self, action: &Action, request: &Request<RequestBody>) -> Result<Identity, Failure> {
        let client = request.extensions().get::<Client>();
        Ok(self.api.guard.admit(action, request.headers(), client).await?)
    }
}

/// Who asks, and what.
#[derive(Clone, Copy, Debug)]
struct Caller<'a> {
    reach: Reach<'a>,
    action: &'a Action,
}

/// Whether there can be something at a path: what is in no Namespace is in none, and of what is in one only lists
/// leave the Namespace out.
fn is_in_scope(scope: Scope, path: &ResourcePath, verb: &str) -> bool {
    match scope {
        Scope::Cluster => path.namespace.is_empty(),
        Scope::Namespaced => !path.namespace.is_empty() || verb == "list",
    }
}
