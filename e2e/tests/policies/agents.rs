//! An agent dies: what it enforced goes on without it, and what has changed meanwhile holds when it is back.

use super::stage::on_the_stage;
use super::streams::{Streams, busy};

const CLOSED: &str = "apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: closed, namespace: z}
spec: {podSelector: {matchLabels: {app: z-b}}, policyTypes: [Ingress]}";

const SILENT: &str = "apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: silent, namespace: z}
spec: {podSelector: {matchLabels: {app: z-b}}, policyTypes: [Egress]}";

#[test]
fn policies_that_come_and_go_while_an_agent_is_away_are_what_it_enforces_when_it_is_back() {
    let name = "policies_that_come_and_go_while_an_agent_is_away_are_what_it_enforces_when_it_is_back";
    on_the_stage(name, |stage| {
        let (cluster, node) = (&stage.services.cluster, stage.services.there.node);
        let streams = Streams::of_an_isolated_namespace(stage)?;
        stage.apply(CLOSED)?;
        stage.ensure("z-a x-a -> z-b tcp/8080 udp/8080: denied")?;
        let fault = || {
            let before = cluster.agent(node)?;
            cluster.stop_agent(node)?;
            stage.delete_policy("z", "closed")?;
            stage.apply(SILENT)?;
            stage.ensure("z-a -> z-b tcp/8080 udp/8080: denied")?;
            cluster.kill_agent(node)?;
            cluster.wait_for_restart(node, &before)?;
            stage.ensure(
                "z-a -> z-b tcp/8080 udp/8080: allowed
                 z-b -> z-a tcp/8080 udp/8080: denied",
            )
        };
        streams.ensure_hold_during(fault, |time| busy(stage, time))
    });
}
