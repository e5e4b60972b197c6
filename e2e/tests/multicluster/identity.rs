//! Two clusters with one ID and one token, as when one is made of a copy of the other: the first one is not disturbed.

use antrea_e2e::multicluster::cluster_set::{COMMON_AREA, Member};
use antrea_e2e::multicluster::nginx::{IMPORTED, SERVICE};
use anyhow::{Result, ensure};
use serde_json::Value;

use super::stage::{SET, Stage, on_the_stage, until, wait_for_condition};

#[test]
fn a_second_cluster_with_the_same_id_is_refused_and_the_first_goes_on() {
    on_the_stage("a_second_cluster_with_the_same_id_is_refused_and_the_first_goes_on", |stage| {
        let (b, c) = (stage.b()?, stage.c()?);
        let [of_b, of_c] = [stage.exported_ip(b)?, stage.exported_ip(c)?];
        c.leave()?;
        stage.wait_for_endpoints(SERVICE, std::slice::from_ref(&of_b))?;
        let mut twin = b.clone();
        (twin.kubectl, twin.antctl) = (c.kubectl.clone(), c.antctl.clone());
        let before = of_first(stage, b)?;
        let mut joining = twin.begin_to_join()?;
        let refused = ensure_it_is_refused(&twin, b);
        joining.kill()?;
        joining.wait()?;
        refused?;
        wait_for_a_heartbeat(stage, b)?;
        let imported =
            twin.kubectl.text(&["get", "service", IMPORTED, "--ignore-not-found", "-o", "name"])?;
        ensure!(imported.is_empty(), "the second cluster imports {imported}");
        twin.leave()?;
        c.join()?;
        ensure_equal(&before, &of_first(stage, b)?)?;
        stage.wait_for_endpoints(SERVICE, &[of_b, of_c])?;
        c.wait_for_gateways(stage.members().len() - 1)?;
        stage.example.wait_for_answers()
    });
}

fn ensure_it_is_refused(twin: &Member, first: &Member) -> Result<()> {
    let conflict = wait_for_condition(&twin.kubectl, &SET, ("Conflict", "True", Some("DuplicateClusterID")))?;
    let uid = ["get", "namespace", "kube-system", "-o", "jsonpath={.metadata.uid}"];
    let message = conflict["message"].as_str().unwrap_or_default();
    for named in [first.id(), first.kubectl.text(&uid)?, twin.kubectl.text(&uid)?] {
        ensure!(message.contains(&named), "{message:?} does not name {named}");
    }
    Ok(())
}

/// Waits until a cluster has been heard of once more. If another one has its ID, that has tried meanwhile, as often as it does.
pub(super) fn wait_for_a_heartbeat(stage: &Stage, member: &Member) -> Result<()> {
    let announce = member.announce_name();
    let path = r"jsonpath={.metadata.annotations.touch-ts}";
    let get = ["get", "memberclusterannounce", "-n", COMMON_AREA, &announce, "-o", path];
    let before = stage.a()?.kubectl.text(&get)?;
    until(&format!("a heartbeat of {}", member.id()), || {
        let now = stage.a()?.kubectl.text(&get)?;
        ensure!(now != before, "the last one was at {now}");
        Ok(())
    })
}

/// The announce of the first cluster and what it exports, without what heartbeats change and what the leader says of it.
fn of_first(stage: &Stage, first: &Member) -> Result<Vec<Value>> {
    let kinds = "memberclusterannounces,resourceexports";
    let objects = stage.a()?.kubectl.json(&["get", kinds, "-n", COMMON_AREA])?;
    let mut objects = objects["items"].as_array().cloned().unwrap_or_default();
    objects.retain(|object| object["clusterID"] == first.id() || object["spec"]["clusterID"] == first.id());
    // Labels go with their Pods.
    objects.retain(|object| object["spec"]["kind"] != "LabelIdentity");
    for object in &mut objects {
        object["status"].take();
        for changing in ["resourceVersion", "annotations"] {
            object["metadata"][changing].take();
        }
    }
    ensure!(objects.len() > 1, "{} exports nothing: {objects:?}", first.id());
    Ok(objects)
}

fn ensure_equal(before: &[Value], after: &[Value]) -> Result<()> {
    let names = |objects: &[Value]| -> Vec<Value> {
        objects.iter().map(|object| object["metadata"]["name"].clone()).collect()
    };
    ensure!(names(before) == names(after), "there were {:?}, and are {:?}", names(before), names(after));
    for (before, after) in before.iter().zip(after) {
        ensure!(before == after, "it was {before}\nand is {after}");
    }
    Ok(())
}
