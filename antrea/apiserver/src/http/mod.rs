//! The HTTP of the API: who asks what, whether they may, and the answer.

mod accept;
mod answer;
mod body;
mod creating;
mod discovery;
mod documents;
mod empty;
mod failure;
mod openapi;
mod own_node;
mod places;
mod reading;
mod request;
mod resources;
mod watching;

use std::sync::Arc;
use std::time::Duration;

use antrea_kit::auth::{Action, Admission, Guard, PUBLIC_PATHS};
use antrea_kit::log_level;
use antrea_kit::query::Query;
use antrea_kit::request_body::RequestBody;
use antrea_kit::server::{Client, Handler, Limits, Slots};
use hyper::Request;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use crate::cluster::Cluster;
use crate::shared_store::SharedStore;
use accept::{Format, negotiate};
use answer::Answer;
pub use body::Body;
use failure::Failure;
pub use own_node::Agents;
use own_node::Reach;
use places::Places;
use reading::Reading;
use request::{ResourcePath, action, check_length, verb};
use resources::{Scope, Served, find};

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
        let (watches, requests) = (Places::for_watches(), Places::for_requests());
        let api = Arc::new(Serving { api: self, watches, requests, reading: Mutex::default() });
        Arc::new(move |request| {
            let api = Arc::clone(&api);
            Box::pin(async move { api.answer(request).await })
        })
    }
}

/// The API while it is served.
struct Serving {
    api: Api,
    watches: Places,
    requests: Places,
    /// Held while one object or list is read.
    reading: Mutex<()>,
}

impl Serving {
    async fn answer(&self, request: Request<RequestBody>) -> Answer {
        let error_format = negotiate(request.headers(), &[Format::Json, Format::Protobuf]);
        self.try_answer(request).await.unwrap_or_else(|failure| failure.answer(error_format))
    }

    async fn try_answer(&self, mut request: Request<RequestBody>) -> Result<Answer, Failure> {
        let reasons = self.api.guard.reasons(request.headers());
        request.extensions_mut().insert(reasons);
        check_length(request.uri())?;
        let path = request.uri().path();
        if let Some(resource) = ResourcePath::read(path) {
            return self.answer_resource(&resource, request).await;
        }
        if PUBLIC_PATHS.contains(&path) {
            return Ok((self.api.other)(request).await.map(Body::Whole));
        }
        let verb = log_level::verb(request.method(), request.uri());
        let admission = self.admit(&Action::path(verb, path), &request).await?;
        if !documents::are_at(path) {
            let place = self.requests.take(admission.holder()).ok_or_else(Failure::too_many_requests)?;
            let answer = (self.api.other)(request).await;
            admission.answered_with(answer.status());
            return Ok(answer.map(|body| Body::Whole(body).holding(place)));
        }
        if request.method() != hyper::Method::GET {
            return Err(Failure::no_such_method());
        }
        let answer = documents::answer(path, request.headers())?;
        admission.keep();
        Ok(answer)
    }

    async fn answer_resource(
        &self,
        path: &ResourcePath,
        request: Request<RequestBody>,
    ) -> Result<Answer, Failure> {
        let query = Query::parse(request.uri().query().unwrap_or_default());
        let verb = verb(request.method(), path, &query);
        let action = action(verb, path, &query);
        let admission = self.admit(&action, &request).await?;
        let caller = Caller { reach: self.api.agents.reach(admission.identity())?, action: &action };
        let resource = find(&path.group, &path.version, &path.resource, &path.subresource)
            .filter(|resource| is_in_scope(resource.scope, path, verb))
            .ok_or_else(Failure::no_such_path)?;
        if !resource.served.verbs().contains(&verb) || request.method() == hyper::Method::HEAD {
            return Err(Failure::no_such_method());
        }
        admission.keep();
        if self.api.store.is_filling() && resource.served != Served::ControllerInfos {
            return Err(Failure::still_filling());
        }
        if verb == "watch" {
            let place = self.watches.take(admission.holder()).ok_or_else(Failure::too_many_watches)?;
            return watching::begin(&self.api, resource.served, caller, &query, request.headers(), place)
                .await;
        }
        let place = self.requests.take(admission.holder()).ok_or_else(Failure::too_many_requests)?;
        // In a box: watches, of which there are many, have no room for it.
        let answer = match verb {
            "create" => Box::pin(self.create(resource.served, path, caller, request)).await?,
            _ => Box::pin(self.read(resource.served, path, &query, caller, &request)).await?,
        };
        Ok(answer.map(|body| body.holding(place)))
    }

    async fn create(
        &self,
        served: Served,
        path: &ResourcePath,
        caller: Caller<'_>,
        request: Request<RequestBody>,
    ) -> Result<Answer, Failure> {
        let (parts, body) = request.into_parts();
        creating::create(&self.api, served, path, caller, &parts.headers, body).await
    }

    /// A long list takes a while. Others are answered before the next one is made.
    async fn read(
        &self,
        served: Served,
        path: &ResourcePath,
        query: &Query,
        caller: Caller<'_>,
        request: &Request<RequestBody>,
    ) -> Result<Answer, Failure> {
        let _turn = self.reading.lock().await;
        let headers = request.headers();
        let answer = Reading { api: &self.api, path, query, headers, caller }.answer(served);
        tokio::task::yield_now().await;
        answer
    }

    async fn admit(&self, action: &Action, request: &Request<RequestBody>) -> Result<Admission<'_>, Failure> {
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
