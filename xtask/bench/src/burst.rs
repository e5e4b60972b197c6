//! 60 Pods that do nothing, created at once on one Node.

use std::time::{Duration, Instant};

use antrea_e2e::command::Run as _;
use antrea_e2e::images::AGNHOST_IMAGE;
use antrea_e2e::lab::Lab;
use antrea_e2e::names::{ClusterId, NodeId};
use antrea_e2e::wait;
use anyhow::Result;
use serde_json::{Value, json};

/// How many Pods there are.
pub(super) const BURST: usize = 60;

const NAMESPACE: &str = "bench-burst";

/// Creates the Pods, and returns the seconds until all of them run.
pub(super) fn start(lab: &Lab, cluster: ClusterId, node: NodeId) -> Result<f64> {
    let kubectl = lab.kubectl(cluster)?;
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
    kubectl.apply(&namespace.to_string())?;
    let pods: Vec<Value> = (0..BURST).map(|number| pod(number, node)).collect();
    let created = Instant::now();
    kubectl.apply(&json!({"apiVersion": "v1", "kind": "List", "items": pods}).to_string())?;
    wait::until(Duration::from_secs(180), "60 Pods to run", || {
        let pods =
            kubectl.json(&["get", "pods", "-n", NAMESPACE, "--field-selector=status.phase=Running"])?;
        Ok(pods["items"].as_array().map_or(0, Vec::len) == BURST)
    })?;
    Ok(created.elapsed().as_secs_f64())
}

/// Removes the Pods, and waits until they are gone.
pub(super) fn remove(lab: &Lab, cluster: ClusterId) -> Result<()> {
    lab.kubectl(cluster)?.command(&["delete", "namespace", NAMESPACE, "--wait=true"]).run().map(drop)
}

fn pod(number: usize, node: NodeId) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": format!("pause-{number}"), "namespace": NAMESPACE},
        "spec": {
            "nodeName": node.to_string(),
            "terminationGracePeriodSeconds": 0,
            "automountServiceAccountToken": false,
            "containers": [{"name": "c", "image": AGNHOST_IMAGE, "args": ["pause"], "imagePullPolicy": "IfNotPresent"}],
        },
    })
}
