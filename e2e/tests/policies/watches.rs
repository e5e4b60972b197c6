//! The way between agents and controller is cut: what is known holds, and what has changed is known soon after.

use antrea_e2e::command::Run as _;
use antrea_e2e::names::Place;
use antrea_e2e::topology::in_namespace;
use anyhow::Result;

use super::stage::{Stage, on_the_stage};
use super::streams::{Streams, busy};

/// Who asks the controller's port is refused, also on connections that are open, and nothing comes from there.
const CUT: &str = "table inet cut-controller {
  chain input {
    type filter hook input priority filter;
    tcp sport 10349 drop
  }
  chain output {
    type filter hook output priority filter;
    tcp dport 10349 reject with tcp reset
  }
}
";

/// Adding first makes deleting succeed.
const HEAL: &str = "table inet cut-controller\ndelete table inet cut-controller\n";

#[test]
fn agents_whose_watches_are_cut_keep_what_they_know_and_learn_the_rest_later() {
    on_the_stage("agents_whose_watches_are_cut_keep_what_they_know_and_learn_the_rest_later", |stage| {
        let streams = Streams::of_an_isolated_namespace(stage)?;
        let known = "x-b z-a -> x-a tcp/8080 udp/8080: allowed
                     z-b -> x-a tcp/8080: denied";
        let fault = || {
            cut(stage, CUT)?;
            stage.delete_policy("x", "from-x-b")?;
            stage.apply(
                "apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: closed, namespace: z}
spec: {podSelector: {}, policyTypes: [Ingress]}",
            )?;
            stage.ensure(known)?;
            stage.ensure("z-a -> z-b tcp/8080: allowed")?;
            cut(stage, HEAL)?;
            stage.ensure(
                "x-b -> x-a tcp/8080 udp/8080: denied
                 z-a -> x-a tcp/8080 udp/8080: allowed
                 x-a z-a -> z-b tcp/8080 udp/8080: denied",
            )
        };
        streams.ensure_hold_during(fault, |time| busy(stage, time))
    });
}

/// On both Nodes.
fn cut(stage: &Stage<'_>, rules: &str) -> Result<()> {
    for host in [&stage.services.here, &stage.services.there] {
        let namespace = stage.services.cluster.lab.plan().namespace(Place::Node(host.node))?;
        in_namespace(&namespace, "nft").args(["-f", "-"]).feed(rules)?;
    }
    Ok(())
}
