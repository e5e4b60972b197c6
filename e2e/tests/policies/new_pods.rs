//! Pods that are new while antrea-controller is away: nobody gets in, and what they send gets nowhere, from the moment
//! they have an address.

use anyhow::Result;

use super::controllers::scale;
use super::stage::{Stage, on_the_stage};
use super::streams::Streams;

/// No policy is about the first. The other has one that is as new as itself.
const NEW: [&str; 2] = ["z-late", "z-closed"];

const OF_Z_CLOSED: &str = "apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: of-z-closed, namespace: z}
spec: {podSelector: {matchLabels: {app: z-closed}}, policyTypes: [Ingress, Egress]}";

const AWAY: &str = "here -> z-late tcp/8080 udp/8080: allowed
    here -> z-closed tcp/8080 udp/8080: allowed
    z-a z-b there -> z-late tcp/8080 udp/8080: denied
    z-a z-b there -> z-closed tcp/8080 udp/8080: denied
    z-late z-closed -> z-a tcp/8080 udp/8080: denied
    z-late z-closed -> z-b tcp/8080 udp/8080: denied";

const BACK: &str = "here -> z-late tcp/8080 udp/8080: allowed
    here -> z-closed tcp/8080 udp/8080: allowed
    z-a z-b there -> z-late tcp/8080 udp/8080: allowed
    z-a z-b there -> z-closed tcp/8080 udp/8080: denied
    z-late -> z-a tcp/8080 udp/8080: allowed
    z-late -> z-b tcp/8080 udp/8080: allowed
    z-closed -> z-a tcp/8080 udp/8080: denied
    z-closed -> z-b tcp/8080 udp/8080: denied";

/// The agent dies meanwhile, too.
#[test]
fn new_pods_are_closed_but_to_their_node_until_the_controller_is_back_and_then_are_what_policies_say() {
    let name =
        "new_pods_are_closed_but_to_their_node_until_the_controller_is_back_and_then_are_what_policies_say";
    on_the_stage(name, |stage| {
        scale(stage, 0)?;
        stage.apply(OF_Z_CLOSED)?;
        for pod in NEW {
            stage.start_pod(pod, "new", stage.services.here.node)?;
        }
        let stage = stage.with(&NEW)?;
        let ways = [("z-a", "z-closed"), ("z-b", "z-closed"), ("z-closed", "z-a"), ("z-closed", "z-b")];
        Streams::open(&stage, &ways, &[])?.ensure_hold_during(|| go_and_come_back(&stage), |_| Ok(()))?;
        NEW.iter().try_for_each(|pod| stage.delete_pod(pod))
    });
}

const OF_Z_AGAIN: &str = "apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: of-z-again, namespace: z}
spec: {podSelector: {matchLabels: {app: z-again}}, policyTypes: [Egress]}";

/// What has a name from one that had policies for one direction only is isolated in both.
#[test]
fn a_pod_that_is_made_anew_under_its_name_is_closed_until_the_controller_is_back() {
    on_the_stage("a_pod_that_is_made_anew_under_its_name_is_closed_until_the_controller_is_back", |stage| {
        let told = "z-a z-b there -> z-again tcp/8080 udp/8080: allowed
            z-again -> z-a tcp/8080 udp/8080: denied";
        let node = stage.services.here.node;
        stage.apply(OF_Z_AGAIN)?;
        stage.start_pod("z-again", "new", node)?;
        stage.with(&["z-again"])?.ensure(told)?;
        scale(stage, 0)?;
        stage.delete_pod("z-again")?;
        stage.start_pod("z-again", "new", node)?;
        let again = stage.with(&["z-again"])?;
        again.ensure(
            "here -> z-again tcp/8080 udp/8080: allowed
            z-a z-b there -> z-again tcp/8080 udp/8080: denied
            z-again -> z-a tcp/8080 udp/8080: denied",
        )?;
        scale(stage, 1)?;
        again.ensure(told)?;
        stage.delete_pod("z-again")
    });
}

fn go_and_come_back(stage: &Stage<'_>) -> Result<()> {
    let ways = [("z-a", "z-late"), ("z-b", "z-late"), ("z-late", "z-a"), ("z-late", "z-b")];
    let while_away = || {
        stage.ensure(AWAY)?;
        stage.services.cluster.crash_agent_without_controller(stage.services.here.node)?;
        stage.ensure(AWAY)
    };
    Streams::open(stage, &ways, &[])?.ensure_hold_during(while_away, |_| Ok(()))?;
    scale(stage, 1)?;
    stage.ensure(BACK)
}
