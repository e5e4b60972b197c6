//! What policies have let through, as a user sees it.

use std::time::Duration;

use antrea_e2e::wait;
use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::stage::{Stage, on_the_stage};

/// Agents report once a minute.
const PATIENCE: Duration = Duration::from_secs(90);

const POLICY: &str = "apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: counted, namespace: x}
spec:
  podSelector: {matchLabels: {app: x-a}}
  ingress: [{ports: [{port: 8080}]}]";

#[test]
fn a_policy_counts_the_connections_that_it_has_let_through() {
    on_the_stage("a_policy_counts_the_connections_that_it_has_let_through", |stage| {
        stage.apply(POLICY)?;
        stage.ensure(
            "x-b z-a -> x-a tcp/8080: allowed
             x-b z-a -> x-a tcp/8081: denied",
        )?;
        wait::until(PATIENCE, "two connections to be counted", || {
            let [sessions, packets, bytes] = counted(stage)?;
            // A segment has headers of 40 bytes and more.
            let plausible = sessions >= 2 && packets > sessions && bytes > 40 * packets;
            ensure!(plausible, "{sessions} sessions, {packets} packets, {bytes} bytes");
            Ok(true)
        })
    });
}

/// Sessions, packets and bytes.
fn counted(stage: &Stage<'_>) -> Result<[u64; 3]> {
    let path = "/apis/stats.antrea.io/v1alpha1/namespaces/x/networkpolicystats/counted";
    let text = stage.services.cluster.kubectl.text(&["get", "--raw", path])?;
    let stats: Value = serde_json::from_str(&text).with_context(|| format!("{path}: no JSON: {text}"))?;
    // Zeros are left out.
    let count = |name: &str| stats["trafficStats"][name].as_u64().unwrap_or(0);
    Ok(["sessions", "packets", "bytes"].map(count))
}
