//! A port's name that half of the Pods have: the number is no way to the others, at no time.

use anyhow::Result;
use serde_json::{Value, json};

use super::stage::{Stage, on_the_stage, pod};
use super::streams::{Streams, busy};

/// What `x-named` calls `stream` over TCP, and `stream-udp`. No Pod listens there but for [`Streams`].
const PORT: u16 = 9090;

const BY_NAME: &str = "[{ports: [{port: web}, {port: stream}, {protocol: UDP, port: stream-udp}]}]";

const NAMED: &str = "z-b -> x-named tcp/8080: allowed
    z-b -> x-named tcp/8081 udp/8080: denied
    z-b -> x-plain tcp/8080 tcp/8081 udp/8080: denied";

const NUMBERED: &str = "z-b -> x-named tcp/8081: allowed
    z-b -> x-plain tcp/8081: allowed
    z-b -> x-named tcp/8080 udp/8080: denied
    z-b -> x-plain tcp/8080 udp/8080: denied";

const CLOSED: &str = "z-b -> x-named tcp/8080 udp/8080: denied
    z-b -> x-plain tcp/8080 udp/8080: denied";

#[test]
fn a_named_port_admits_to_the_pods_that_have_it_and_at_no_time_to_others() {
    on_the_stage("a_named_port_admits_to_the_pods_that_have_it_and_at_no_time_to_others", |stage| {
        stage.api().apply(&with_ports(stage, "x-named", &["web", "stream", "stream-udp"])?)?;
        stage.api().apply(&with_ports(stage, "x-plain", &["", "", ""])?)?;
        let stage = stage.with(&["x-named", "x-plain"])?;
        only_the_named_one_is_admitted(&stage, "x", "Ingress", "role: half")?;
        only_the_named_one_is_admitted(&stage, "z", "Egress", "app: z-b")?;
        ["x-named", "x-plain"].iter().try_for_each(|pod| stage.delete_pod(pod))
    });
}

/// A Pod that calls its ports so; nothing is none.
fn with_ports(stage: &Stage<'_>, name: &str, names: &[&str; 3]) -> Result<Value> {
    let mut manifest = pod("x", name, "half", stage.services.here.node);
    let ports = [(8080, "TCP"), (PORT, "TCP"), (PORT, "UDP")];
    let ports = names.iter().zip(ports).map(|(name, (port, protocol))| {
        let name = Some(name).filter(|name| !name.is_empty());
        json!({ "name": name, "containerPort": port, "protocol": protocol })
    });
    manifest["spec"]["containers"][0]["ports"] = ports.collect();
    Ok(manifest)
}

/// Before a policy of one direction names the port, while it changes, and after.
fn only_the_named_one_is_admitted(
    stage: &Stage<'_>,
    namespace: &str,
    direction: &str,
    selected: &str,
) -> Result<()> {
    let policy = |rules: &str| {
        stage.apply(&format!(
            "apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {{name: named, namespace: {namespace}}}
spec: {{podSelector: {{matchLabels: {{{selected}}}}}, policyTypes: [{direction}], {}: {rules}}}",
            direction.to_lowercase()
        ))
    };
    policy("[]")?;
    stage.ensure(CLOSED)?;
    let plain = Streams::open_at(stage, PORT, &[("z-b", "x-plain")], &[])?;
    let changes = || {
        let denied = Streams::open_at(stage, PORT, &[("z-b", "x-named")], &[])?;
        denied.ensure_hold_during(|| stage.ensure(CLOSED), |_| Ok(()))?;
        drop(denied);
        policy(BY_NAME)?;
        let admitted = Streams::open_at(stage, PORT, &[], &[("z-b", "x-named")])?;
        let to_a_number_and_back = || {
            policy("[{ports: [{port: 8081}]}]")?;
            stage.ensure(NUMBERED)?;
            policy(BY_NAME)?;
            stage.ensure(NAMED)
        };
        admitted.ensure_hold_during(to_a_number_and_back, |time| busy(stage, time))
    };
    plain.ensure_hold_during(changes, |_| Ok(()))?;
    stage.delete_policy(namespace, "named")
}
