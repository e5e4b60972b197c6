//! The agent's own API: its health for everybody, and what antctl asks for those whom the API server of the cluster lets.

mod agent_info;
mod feature_gates;
mod log_level;
mod ovs_flows;
mod ovs_tracing;
mod pod_interfaces;
mod policies;
mod policy_filter;
mod refusal;
mod sources;
mod trace_packet;
mod trace_request;
mod version;

use std::sync::{Arc, OnceLock};

use antrea_config::FeatureGates;
pub(crate) use antrea_kit::auth::admit_own_pod;
use antrea_kit::auth::{Authenticator, Authorizer, Guard, Lifetimes, LoopbackToken};
use antrea_kit::health::Checks;
use antrea_kit::logging::LogLevel;
use antrea_kit::query::Query;
use antrea_kit::server::{Answer, Handler};
use antrea_kit::status::{json_answer, method_not_allowed, no_such_path};
use hyper::{Method, StatusCode};
use kube::Client;
use serde_json::Value;

pub(crate) use policies::PolicyView;
use refusal::Refusal;
pub(crate) use sources::Sources;

/// Where answers come from: nowhere before the Pod network is set up.
pub(crate) type Slot = Arc<OnceLock<Sources>>;

/// What answers requests.
struct Api {
    checks: Checks,
    log: LogLevel,
    gates: FeatureGates,
    sources: Slot,
}

/// The API as a handler that asks `client` who may do what, and programs of this Pod for their token.
pub(crate) fn handler(
    client: &Client,
    checks: Checks,
    log: LogLevel,
    gates: FeatureGates,
    sources: Slot,
    token: &LoopbackToken,
) -> Handler {
    let lifetimes = Lifetimes::default();
    let authenticator = Authenticator::new(client.clone(), Some(token), lifetimes);
    let guard = Guard::new(authenticator, Authorizer::new(client.clone(), lifetimes));
    let api = Arc::new(Api { checks, log, gates, sources });
    guard.before(Arc::new(move |request| {
        let api = Arc::clone(&api);
        Box::pin(async move {
            let (method, uri) = (request.method(), request.uri());
            api.answer(method, uri.path(), uri.query()).await
        })
    }))
}

impl Api {
    async fn answer(&self, method: &Method, path: &str, query: Option<&str>) -> Answer {
        if let Some(health) = self.checks.answer(method, path, query) {
            return health;
        }
        let query = Query::parse(query.unwrap_or_default());
        if path == "/loglevel" {
            return log_level::answer(&self.log, method, &query).unwrap_or_else(Refusal::into_answer);
        }
        let Some(question) = Question::of(path) else { return no_such_path() };
        if method != Method::GET {
            return method_not_allowed("GET");
        }
        match self.ask(question, &query).await {
            Ok(value) => json_answer(StatusCode::OK, &value),
            Err(refusal) => refusal.into_answer(),
        }
    }

    async fn ask(&self, question: Question, query: &Query) -> Result<Value, Refusal> {
        let sources = || self.sources.get().ok_or_else(Refusal::starting);
        let policies = || Ok::<&dyn PolicyView, Refusal>(&sources()?.policies);
        match question {
            Question::Version => Ok(version::answer()),
            Question::FeatureGates => Ok(feature_gates::answer(&self.gates)),
            Question::AgentInfo => Ok(agent_info::answer(sources()?).await),
            Question::PodInterfaces => pod_interfaces::answer(sources()?, query),
            Question::OvsFlows => ovs_flows::answer(sources()?, query).await,
            Question::NetworkPolicies => policies::policies(policies()?, query),
            Question::AddressGroups => policies::address_groups(policies()?, query),
            Question::AppliedToGroups => policies::applied_to_groups(policies()?, query),
            Question::OvsTracing => ovs_tracing::answer(sources()?, query).await,
        }
    }
}

/// What can be asked by GET alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Question {
    Version,
    FeatureGates,
    AgentInfo,
    PodInterfaces,
    NetworkPolicies,
    AddressGroups,
    AppliedToGroups,
    OvsFlows,
    OvsTracing,
}

impl Question {
    fn of(path: &str) -> Option<Self> {
        Some(match path {
            "/version" => Self::Version,
            "/featuregates" => Self::FeatureGates,
            "/agentinfo" => Self::AgentInfo,
            "/podinterfaces" => Self::PodInterfaces,
            "/networkpolicies" => Self::NetworkPolicies,
            "/addressgroups" => Self::AddressGroups,
            "/appliedtogroups" => Self::AppliedToGroups,
            "/ovsflows" => Self::OvsFlows,
            "/ovstracing" => Self::OvsTracing,
            _ => return None,
        })
    }
}
