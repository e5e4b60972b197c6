//! A cluster that joins, and leaves, and joins.

use std::time::{Duration, Instant};

use antrea_e2e::wait;
use anyhow::{Context, Result};
use serde_json::Value;

use super::clusters::{COMMON_AREA, Cluster, Clusters, SET};
use super::watch::{Watches, What};
use crate::api::{Api, Request};
use crate::{Figure, percentile};

const JOINS: usize = 5;
const LIMIT: Duration = Duration::from_secs(60);

/// From the request that creates the ClusterSet of a member until its condition `Ready` is True; the median. The member
/// is one at the end.
pub(super) fn measure(clusters: &Clusters, member: &Cluster) -> Result<Vec<Figure>> {
    let mut seconds = Vec::new();
    for join in 0..JOINS {
        if join > 0 {
            leave(clusters, member)?;
        }
        seconds.push(self::join(clusters, member)?);
    }
    seconds.sort_by(f64::total_cmp);
    Ok(percentile(&seconds, 0.5)
        .map(|value| Figure::seconds("multicluster/Join/seconds", value))
        .into_iter()
        .collect())
}

/// Joins, and says how long it took.
pub(super) fn join(clusters: &Clusters, member: &Cluster) -> Result<f64> {
    let watches = Watches::open(&member.api, &[member.cluster_sets()])?;
    let asked = Instant::now();
    member.api.send(&clusters.join(member))?;
    loop {
        let seen = watches.next(asked + LIMIT).with_context(|| format!("{} did not join", member.id))?;
        if seen.what == What::Is && is_ready(&seen.object) {
            return Ok(seen.at.saturating_duration_since(asked).as_secs_f64());
        }
    }
}

/// Leaves, and waits until the leader has forgotten the member, which its ClusterSet waits for, too.
pub(super) fn leave(clusters: &Clusters, member: &Cluster) -> Result<()> {
    member.api.send(&Request::Delete { path: format!("{}/{SET}", member.cluster_sets()) })?;
    let announces =
        format!("/apis/multicluster.crd.antrea.io/v1alpha1/namespaces/{COMMON_AREA}/memberclusterannounces");
    let own = format!("member-announce-from-{}", member.id);
    wait::until(LIMIT, &format!("the leader to forget {}", member.id), || {
        let has = |api: &Api, path: &str, name: &str| -> Result<bool> {
            let all = api.read(path)?;
            let items = all["items"].as_array().map(Vec::as_slice).unwrap_or_default();
            Ok(items.iter().any(|item| item["metadata"]["name"] == name))
        };
        Ok(!has(&clusters.leader.api, &announces, &own)? && !has(&member.api, &member.cluster_sets(), SET)?)
    })
}

fn is_ready(set: &Value) -> bool {
    let conditions = set.pointer("/status/conditions").and_then(Value::as_array);
    conditions.is_some_and(|all| all.iter().any(|one| one["type"] == "Ready" && one["status"] == "True"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_cluster_set_is_ready_when_it_says_so() {
        let set = |status: &str| json!({"status": {"conditions": [{"type": "Ready", "status": status}]}});
        assert!(is_ready(&set("True")));
        assert!(!is_ready(&set("Unknown")));
        assert!(!is_ready(&json!({})));
    }
}
