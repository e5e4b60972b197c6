//! The agent's own API: its health for everybody, and what antctl asks for those whom the API server of the cluster lets.

mod agent_info;
mod metrics;
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

use antrea_config::{Component, FeatureGates, Metrics};
pub(crate) use antrea_kit::auth::admit_own_pod;
use antrea_kit::auth::{Authenticator, Authorizer, Guard, Lifetimes, LoopbackToken};
use antrea_kit::health::{Checks, text};
use antrea_kit::log_level;
use antrea_kit::logging::LogLevel;
use antrea_kit::query::Query;
use antrea_kit::server::{Answer, Handler};
use antrea_kit::status::{json_answer, method_not_allowed, no_such_path};
use hyper::{Method, StatusCode, Uri};
use kube::Client;

pub(crate) use policies::PolicyView;
use refusal::Refusal;
pub(crate) use sources::Sources;

/// Where answers come from: nowhere before the Pod network is set up.
pub(crate) type Slot = Arc<OnceLock<Sources>>;

/// What answers requests.
pub(crate) struct Api {
    pub(crate) checks: Checks,
    pub(crate) log: LogLevel,
    pub(crate) gates: FeatureGates,
    pub(crate) metrics: Metrics,
    pub(crate) sources: Slot,
}

impl Api {
    /// A handler that asks `client` who may do what, and programs of this Pod for their token.
    pub(crate) fn handler(self, client: &Client, token: &LoopbackToken) -> Handler {
        let lifetimes = Lifetimes::default();
        let authenticator = Authenticator::new(client.clone(), Some(token), lifetimes);
        let guard =
            Guard::new(authenticator, Authorizer::new(client.clone(), lifetimes)).explaining_to(token);
        let api = Arc::new(self);
        guard.before(Arc::new(move |request| {
            let api = Arc::clone(&api);
            Box::pin(async move {
                match api.checks.answer(&request) {
                    Some(health) => health,
                    None => api.answer(request.method(), request.uri()).await,
                }
            })
        }))
    }

    async fn answer(&self, method: &Method, uri: &Uri) -> Answer {
        let (path, query) = (uri.path(), Query::parse(uri.query().unwrap_or_default()));
        if path == log_level::PATH {
            return log_level::answer(&self.log, method, &query);
        }
        let question = Question::of(path);
        let is_answered =
            |question: &Question| *question != Question::Metrics || self.metrics == Metrics::Served;
        let Some(question) = question.filter(is_answered) else { return no_such_path() };
        if method != Method::GET {
            return method_not_allowed("GET");
        }
        self.ask(question, &query).await.unwrap_or_else(Refusal::into_answer)
    }

    async fn ask(&self, question: Question, query: &Query) -> Result<Answer, Refusal> {
        let sources = || self.sources.get().ok_or_else(Refusal::starting);
        let policies = || Ok::<&dyn PolicyView, Refusal>(&sources()?.policies);
        let value = match question {
            Question::Metrics => {
                return Ok(text(StatusCode::OK, metrics::answer(&sources()?.observer).await));
            }
            Question::Version => version::answer(),
            Question::FeatureGates => self.gates.document(Component::Agent),
            Question::AgentInfo => agent_info::answer(sources()?).await,
            Question::PodInterfaces => pod_interfaces::answer(sources()?, query)?,
            Question::OvsFlows => ovs_flows::answer(sources()?, query).await?,
            Question::NetworkPolicies => policies::policies(policies()?, query)?,
            Question::AddressGroups => policies::address_groups(policies()?, query)?,
            Question::AppliedToGroups => policies::applied_to_groups(policies()?, query)?,
            Question::OvsTracing => ovs_tracing::answer(sources()?, query).await?,
        };
        Ok(json_answer(StatusCode::OK, &value))
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
    Metrics,
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
            "/metrics" => Self::Metrics,
            _ => return None,
        })
    }
}
