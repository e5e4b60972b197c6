//! Everything that these tests export, made once for each stage by whichever of them comes first.

use std::sync::{Mutex, PoisonError};

use antrea_e2e::multicluster::cluster_set::Member;
use antrea_e2e::names::LabName;
use antrea_e2e::progress::{all_at_once, step};
use anyhow::Result;
use serde_json::{Value, json};

use super::service::{NAMESPACE, Service, Services};
use super::{connections, exports, headless, ports, properties, servers, slices};
use crate::multicluster::stage::{Stage, on_the_stage};

/// The lab that has it: a stage that is made anew is a lab of another name.
static MADE: Mutex<Option<LabName>> = Mutex::new(None);

/// Runs `test` on the shared ClusterSet once the Services are there. A test that changes one has it for itself.
pub(super) fn with_services(name: &str, test: impl FnOnce(&Stage) -> Result<()>) {
    on_the_stage(name, |stage| {
        ensure_made(stage)?;
        test(stage)
    });
}

fn ensure_made(stage: &Stage) -> Result<()> {
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    let lab = &stage.lab.plan().name;
    if made.as_ref() != Some(lab) {
        step("Services of the standard's tests", || make(stage))?;
        *made = Some(lab.clone());
    }
    Ok(())
}

/// Takes the Services away, so that the next test makes them again: some tests leave theirs changed.
pub(super) fn unmake(stage: &Stage) -> Result<()> {
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    *made = None;
    all_at_once(stage.members(), |member| {
        let delete = ["delete", "namespace", NAMESPACE, "--ignore-not-found", "--timeout=120s"];
        member.kubectl.text(&delete).map(drop)
    })
    .map(drop)
}

fn make(stage: &Stage) -> Result<()> {
    let (b, c) = (stage.b()?, stage.c()?);
    all_at_once(stage.members(), |member| {
        member.kubectl.apply(&namespace().to_string())?;
        // A Pod that comes sooner than its ServiceAccount is refused.
        member.kubectl.wait("create", 60, &["serviceaccount/default", "-n", NAMESPACE])
    })?;
    let all = [
        exports::services(),
        properties::services(),
        ports::services(),
        headless::services(),
        slices::services(),
        connections::services(),
    ];
    // One after the other: the exports of B are the older ones.
    apply(b, &[servers::stateful_set(headless::SERVICE)], all.iter().flat_map(in_b))?;
    apply(c, &servers::pods(), all.iter().flat_map(in_c))?;
    b.kubectl.rollout(NAMESPACE, &format!("statefulset/{}", servers::IN_B), 120)?;
    c.kubectl.wait("condition=Ready", 120, &[&format!("pod/{}", servers::IN_C), "-n", NAMESPACE])
}

fn in_b(services: &Services) -> &[Service] {
    &services.b
}

fn in_c(services: &Services) -> &[Service] {
    &services.c
}

/// All in one go: most of the time of kubectl is that of its start.
fn apply<'a>(member: &Member, servers: &[Value], services: impl Iterator<Item = &'a Service>) -> Result<()> {
    let objects = servers.iter().cloned().chain(services.flat_map(Service::objects));
    let objects: Vec<String> = objects.map(|object| object.to_string()).collect();
    member.kubectl.apply(&objects.join("\n---\n"))
}

fn namespace() -> Value {
    json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": NAMESPACE } })
}
