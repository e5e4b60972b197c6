//! Single events in a cluster that is there.

use std::time::Instant;

use antrea_index::Index;
use antrea_policy::Update;
use anyhow::Result;
use k8s_openapi::api::core::v1::Pod;

use crate::objects::{self, peer, pod};
use crate::watched::Watched;
use crate::workloads::Workload;
use crate::{loaded, print};

/// Rounds of each kind of event.
const ROUNDS: u32 = 1000;

/// So many Nodes and addresses away: a number that no Pod of the workload has.
const NEW: u32 = 1_000_000;

/// A Pod comes, gets another address, and goes; each until the watchers have its patches.
pub(crate) fn measure_pods() -> Result<()> {
    let watched = Watched::new(0)?;
    let mut index = loaded(Workload::PodEvent, &watched);
    let label = ("app-1".to_owned(), "scale-1".to_owned());
    for round in 0..ROUNDS {
        let namespace = format!("namespace-{}", round * 23);
        let new = pod(&namespace, NEW + round, &label);
        let mut moved = new.clone();
        moved.status = pod(&namespace, NEW + ROUNDS + round, &label).status;
        time(&mut index, &watched, |index| drop(index.apply_pod(&new)));
        time(&mut index, &watched, |index| drop(index.apply_pod(&moved)));
        time(&mut index, &watched, |index| remove(index, &new));
    }
    watched.report();
    Ok(())
}

fn remove(index: &mut Index, pod: &Pod) {
    let (namespace, name) = (&pod.metadata.namespace, &pod.metadata.name);
    index.delete_pod(namespace.as_deref().unwrap_or_default(), name.as_deref().unwrap_or_default());
}

/// A policy comes whose peers are a group of 1,000 Pods, and goes; its coming is measured.
pub(crate) fn measure_group() -> Result<()> {
    let watched = Watched::new(0)?;
    let mut index = loaded(Workload::SyncAddressGroup, &watched);
    let (own, peers) = (("app".to_owned(), "other".to_owned()), ("app".to_owned(), "scale".to_owned()));
    let mut policy = k8s_openapi::api::networking::v1::NetworkPolicy {
        spec: Some(objects::network_policy(&own, &peer(None, &peers))),
        ..Default::default()
    };
    policy.metadata.namespace = Some("namespace".to_owned());
    policy.metadata.name = Some("policy".to_owned());
    for _ in 0..ROUNDS {
        time(&mut index, &watched, |index| drop(index.apply_network_policy(&policy)));
        index.delete_network_policy("namespace", "policy");
        settle(&mut index, &watched);
    }
    watched.report();
    Ok(())
}

fn time(index: &mut Index, watched: &Watched, event: impl FnOnce(&mut Index)) {
    let started = Instant::now();
    event(index);
    settle(index, watched);
    print("sample", started.elapsed());
}

fn settle(index: &mut Index, watched: &Watched) {
    let mut updates: Vec<Update> = Vec::new();
    index.settle(|update| updates.push(update));
    watched.publish(updates);
}
