//! What an API server was asked to write, by its own count.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use antrea_e2e::kubectl::Kubectl;
use anyhow::{Result, ensure};

use super::stage::until;

/// For how long nobody may write something while nothing changes.
const QUIET: Duration = Duration::from_secs(15);

const VERBS: [&str; 6] = ["APPLY", "DELETE", "DELETECOLLECTION", "PATCH", "POST", "PUT"];

/// How often what was written, as `PATCH resourceexports` or `PATCH resourceexports/status`.
pub(super) type Writes = BTreeMap<String, u64>;

/// All since the API server was started.
pub(super) fn so_far(kubectl: &Kubectl) -> Result<Writes> {
    let metrics = kubectl.text(&["get", "--raw", "/metrics"])?;
    let mut writes = Writes::new();
    for (what, times) in metrics.lines().filter_map(counted) {
        *writes.entry(what).or_default() += times;
    }
    ensure!(!writes.is_empty(), "the API server counts no writes");
    Ok(writes)
}

/// What was written between two counts.
pub(super) fn between(before: &Writes, after: &Writes) -> Writes {
    let more = |(what, times): (&String, &u64)| {
        let more = times.saturating_sub(before.get(what).copied().unwrap_or_default());
        (more > 0).then(|| (what.clone(), more))
    };
    after.iter().filter_map(more).collect()
}

/// Waits until nobody has written this for a while.
pub(super) fn wait_for_quiet(kubectl: &Kubectl, what: &str) -> Result<()> {
    let times = || so_far(kubectl).map(|writes| writes.get(what).copied().unwrap_or_default());
    let (mut last, mut since) = (times()?, Instant::now());
    until(&format!("{QUIET:?} without a {what}"), || {
        let now = times()?;
        if now != last {
            (last, since) = (now, Instant::now());
        }
        ensure!(since.elapsed() >= QUIET, "the last one came {:?} ago", since.elapsed());
        Ok(())
    })
}

/// What a line of the metrics counts, if that is writes.
fn counted(line: &str) -> Option<(String, u64)> {
    let (labels, times) = line.strip_prefix("apiserver_request_total{")?.rsplit_once("} ")?;
    let verb = label(labels, "verb").filter(|verb| VERBS.contains(verb))?;
    let is_tried = label(labels, "dry_run").is_some_and(|dry_run| !dry_run.is_empty());
    let part = label(labels, "subresource").filter(|part| !part.is_empty());
    let part = part.map(|part| format!("/{part}")).unwrap_or_default();
    let what = format!("{verb} {}{part}", label(labels, "resource")?);
    (!is_tried).then_some((what, times.trim().parse().ok()?))
}

fn label<'a>(labels: &'a str, name: &str) -> Option<&'a str> {
    let value = |label: &'a str| label.strip_prefix(name)?.strip_prefix("=\"")?.strip_suffix('"');
    labels.split(',').find_map(value)
}

#[test]
fn writes_are_counted_by_verb_resource_and_part() {
    let line = |labels: &str, times: u64| format!("apiserver_request_total{{{labels}}} {times}");
    let of = |code: u16, dry_run: &str, part: &str, verb: &str| {
        format!(
            r#"code="{code}",component="apiserver",dry_run="{dry_run}",group="g",resource="gateways",scope="resource",subresource="{part}",verb="{verb}",version="v1""#
        )
    };
    let check = |labels: &str, expected: Option<(&str, u64)>| {
        assert_eq!(
            counted(&line(labels, 7)),
            expected.map(|(what, times)| (what.to_owned(), times)),
            "{labels}"
        );
    };
    check(&of(200, "", "", "PATCH"), Some(("PATCH gateways", 7)));
    check(&of(403, "", "status", "PUT"), Some(("PUT gateways/status", 7)));
    check(&of(200, "All", "", "PATCH"), None);
    check(&of(200, "", "", "LIST"), None);
    assert_eq!(counted("apiserver_longrunning_requests{verb=\"WATCH\"} 3"), None);
    let writes =
        |times: u64| Writes::from([("PATCH gateways".to_owned(), times), ("POST events".to_owned(), 1)]);
    assert_eq!(between(&writes(2), &writes(5)), Writes::from([("PATCH gateways".to_owned(), 3)]));
}
