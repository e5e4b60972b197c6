//! What the API answers beside its resources: health, version, metrics, the log, feature gates. Who may ask is decided
//! before.

use std::sync::Arc;

use antrea_config::{Component, FeatureGates, Metrics};
use antrea_kit::health::{Checks, text};
use antrea_kit::log_level;
use antrea_kit::logging::LogLevel;
use antrea_kit::metrics::Page;
use antrea_kit::query::Query;
use antrea_kit::server::{Answer, Handler};
use antrea_kit::status::{json_answer, method_not_allowed, no_such_path};
use antrea_kit::version;
use hyper::{Method, StatusCode, Uri};

use crate::app::VERSION;
use crate::computation::Computation;

/// What is told of.
pub(crate) struct Other {
    pub(crate) checks: Checks,
    pub(crate) log: LogLevel,
    pub(crate) gates: FeatureGates,
    pub(crate) metrics: Metrics,
    pub(crate) computation: Arc<Computation>,
}

impl Other {
    pub(super) fn handler(self) -> Handler {
        Arc::new(move |request| {
            let health = self.checks.answer(&request);
            let answer = health.unwrap_or_else(|| self.answer(request.method(), request.uri()));
            Box::pin(std::future::ready(answer))
        })
    }

    fn answer(&self, method: &Method, uri: &Uri) -> Answer {
        let query = Query::parse(uri.query().unwrap_or_default());
        let answer: fn(&Self, &Query) -> Answer = match (uri.path(), self.metrics) {
            (log_level::PATH, _) => return log_level::answer(&self.log, method, &query),
            ("/featuregates", _) => {
                |this, _| json_answer(StatusCode::OK, &this.gates.document(Component::Controller))
            }
            ("/version", _) => |_, _| json_answer(StatusCode::OK, &version::document(VERSION)),
            ("/endpoint", _) => |this, query| this.computation.endpoint(query),
            ("/metrics", Metrics::Served) => |this, _| text(StatusCode::OK, this.print()),
            _ => return no_such_path(),
        };
        if method == Method::GET { answer(self, &query) } else { method_not_allowed("GET") }
    }

    fn print(&self) -> String {
        let mut page = Page::default();
        self.computation.print(&mut page);
        page.into_text()
    }
}
