//! What the API answers beside its resources: health, version, metrics, the log, feature gates. Who may ask is decided
//! before.

use std::sync::Arc;

use antrea_config::Metrics;
use antrea_kit::health::{Checks, text};
use antrea_kit::log_level;
use antrea_kit::logging::LogLevel;
use antrea_kit::metrics::Page;
use antrea_kit::query::Query;
use antrea_kit::server::{Answer, Handler};
use antrea_kit::status::{json_answer, method_not_allowed, no_such_path};
use antrea_kit::version;
use hyper::{Method, StatusCode, Uri};

use super::feature_gates::Gates;
use crate::app::VERSION;
use crate::computation::Computation;

/// What is told of.
pub(crate) struct Other {
    pub(crate) checks: Checks,
    pub(crate) log: LogLevel,
    pub(crate) gates: Gates,
    pub(crate) metrics: Metrics,
    pub(crate) computation: Arc<Computation>,
}

impl Other {
    pub(super) fn handler(self) -> Handler {
        let this = Arc::new(self);
        Arc::new(move |request| {
            if let Some(health) = this.checks.answer(&request) {
                return Box::pin(std::future::ready(health));
            }
            let (this, method, uri) = (Arc::clone(&this), request.method().clone(), request.uri().clone());
            Box::pin(async move { this.answer(&method, &uri).await })
        })
    }

    async fn answer(&self, method: &Method, uri: &Uri) -> Answer {
        let query = Query::parse(uri.query().unwrap_or_default());
        match (uri.path(), self.metrics) {
            (log_level::PATH, _) => log_level::answer(&self.log, method, &query),
            ("/featuregates" | "/version" | "/endpoint", _) | ("/metrics", Metrics::Served)
                if method != Method::GET =>
            {
                method_not_allowed("GET")
            }
            ("/featuregates", _) => self.gates.answer().await,
            ("/version", _) => json_answer(StatusCode::OK, &version::document(VERSION)),
            ("/endpoint", _) => self.computation.endpoint(&query),
            ("/metrics", Metrics::Served) => text(StatusCode::OK, self.print()),
            _ => no_such_path(),
        }
    }

    fn print(&self) -> String {
        let mut page = Page::default();
        self.computation.print(&mut page);
        page.into_text()
    }
}
