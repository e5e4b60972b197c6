//! `/metrics`: figures in the text format of Prometheus, made when they are asked for.

use std::collections::BTreeMap;
use std::sync::Arc;

use antrea_kit::health::{not_found, text};
use antrea_kit::leases::Leadership;
use antrea_kit::metrics::Page;
use antrea_kit::server::{Handler, print_evicted};
use antrea_mc_leader::{Census, Censuses};
use hyper::{Method, StatusCode};
use tokio::sync::watch;

use crate::cli::Mode;

/// What figures are made of.
pub(crate) struct Figures {
    mode: Mode,
    version: &'static str,
    leadership: watch::Receiver<Leadership>,
    censuses: Censuses,
}

impl Figures {
    pub(crate) const fn new(
        mode: Mode,
        version: &'static str,
        leadership: watch::Receiver<Leadership>,
        censuses: Censuses,
    ) -> Self {
        Self { mode, version, leadership, censuses }
    }
}

/// Answers for `/metrics`; other paths are not there.
pub(crate) fn handler(figures: Figures) -> Handler {
    let figures = Arc::new(figures);
    Arc::new(move |request| {
        let answer = match (request.method(), request.uri().path()) {
            (&Method::GET, "/metrics") => {
                let Figures { mode, version, leadership, censuses } = figures.as_ref();
                let mut page = print(*mode, version, *leadership.borrow(), &censuses.get());
                print_evicted(&mut page, "antrea_mc");
                text(StatusCode::OK, page.into_text())
            }
            _ => not_found(),
        };
        Box::pin(std::future::ready(answer))
    })
}

fn print(mode: Mode, version: &str, leadership: Leadership, censuses: &BTreeMap<String, Census>) -> Page {
    let mut page = Page::default();
    page.gauge("antrea_mc_build_info", "Version and mode of the controller.");
    page.sample("antrea_mc_build_info", &[("version", version), ("mode", &mode.to_string())], 1);
    page.gauge("antrea_mc_elected", "Whether this replica is the one that works.");
    page.sample("antrea_mc_elected", &[], usize::from(leadership == Leadership::Leading));
    if mode.leads() {
        type Pick = fn(&Census) -> &BTreeMap<&'static str, usize>;
        let all: [(&str, &str, &str, Pick); 3] = [
            ("antrea_mc_members", "Members of a ClusterSet.", "standing", |census| &census.members),
            ("antrea_mc_resource_exports", "ResourceExports of a Common Area.", "kind", |census| {
                &census.exports
            }),
            ("antrea_mc_resource_imports", "ResourceImports of a Common Area.", "kind", |census| {
                &census.imports
            }),
        ];
        for (name, help, label, counts) in all {
            page.gauge(name, help);
            for (namespace, census) in censuses {
                for (word, count) in counts(census) {
                    page.sample(name, &[("namespace", namespace), (label, word)], *count);
                }
            }
        }
        let name = "antrea_mc_merges_total";
        page.counter(name, "How often the exports of a resource were merged.");
        for (namespace, census) in censuses {
            page.sample(name, &[("namespace", namespace)], census.merges);
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leader_counts_what_is_in_its_common_areas() {
        let census = Census {
            members: BTreeMap::from([("Ready", 2), ("Silent", 1)]),
            exports: BTreeMap::from([("Service", 3)]),
            imports: BTreeMap::new(),
            merges: 4,
        };
        let page = print(
            Mode::Leader,
            "v1.0.0",
            Leadership::Leading,
            &BTreeMap::from([("area".to_owned(), census)]),
        )
        .into_text();
        assert_eq!(
            page,
            "\
# HELP antrea_mc_build_info Version and mode of the controller.
# TYPE antrea_mc_build_info gauge
antrea_mc_build_info{version=\"v1.0.0\",mode=\"leader\"} 1
# HELP antrea_mc_elected Whether this replica is the one that works.
# TYPE antrea_mc_elected gauge
antrea_mc_elected 1
# HELP antrea_mc_members Members of a ClusterSet.
# TYPE antrea_mc_members gauge
antrea_mc_members{namespace=\"area\",standing=\"Ready\"} 2
antrea_mc_members{namespace=\"area\",standing=\"Silent\"} 1
# HELP antrea_mc_resource_exports ResourceExports of a Common Area.
# TYPE antrea_mc_resource_exports gauge
antrea_mc_resource_exports{namespace=\"area\",kind=\"Service\"} 3
# HELP antrea_mc_resource_imports ResourceImports of a Common Area.
# TYPE antrea_mc_resource_imports gauge
# HELP antrea_mc_merges_total How often the exports of a resource were merged.
# TYPE antrea_mc_merges_total counter
antrea_mc_merges_total{namespace=\"area\"} 4
"
        );
    }

    #[test]
    fn a_member_that_waits_says_so() {
        let page = print(Mode::Member, "v1.0.0", Leadership::Following, &BTreeMap::new()).into_text();
        assert!(page.ends_with("# TYPE antrea_mc_elected gauge\nantrea_mc_elected 0\n"), "{page}");
    }
}
