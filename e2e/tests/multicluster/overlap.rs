//! Two clusters with one network: the older member has it, nothing of the younger one's is imported, both are told.

use antrea_e2e::multicluster::cluster_set::{COMMON_AREA, Member, NAME};
use antrea_e2e::multicluster::nginx::SERVICE;
use antrea_e2e::scenario::product;
use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::stage::{SET, Stage, change_release, on_the_stage, until, wait_for_condition};

#[test]
fn of_two_clusters_with_one_network_the_older_has_it_and_both_are_told() {
    on_the_stage("of_two_clusters_with_one_network_the_older_has_it_and_both_are_told", |stage| {
        let (older, younger) = by_age(stage)?;
        let chart = product()?.multicluster.chart.display().to_string();
        let overlapping = format!("controller.serviceCIDR={}", half_of_the_network(stage, older)?);
        let upgrade = ["upgrade", "antrea-mc", &chart, "--reset-then-reuse-values", "--set", &overlapping];
        change_release(stage, younger, &upgrade)?;
        for (member, reason, other) in
            [(younger, "NetworkRefused", older), (older, "NetworkContested", younger)]
        {
            wait_for_conflict(stage, member, reason, other)?;
        }
        stage.wait_for_endpoints(SERVICE, &[stage.exported_ip(older)?])?;
        let server = stage.server(older)?.name;
        for _ in 0..10 {
            let answer = stage.example.ask()?;
            ensure!(answer == server, "{answer} answered, and {server} alone is imported");
        }
        change_release(stage, younger, &["rollback", "antrea-mc"])?;
        for member in [younger, older] {
            wait_for_no_conflict(stage, member)?;
        }
        stage.wait_for_endpoints(SERVICE, &[stage.exported_ip(older)?, stage.exported_ip(younger)?])?;
        younger.wait_for_gateways(stage.members().len() - 1)?;
        stage.a()?.wait_for_gateways(stage.members().len() - 1)?;
        stage.example.wait_for_answers()
    });
}

/// B and C, the one first that has been a member for longer.
pub(super) fn by_age(stage: &Stage) -> Result<(&Member, &Member)> {
    let (b, c) = (stage.b()?, stage.c()?);
    let since = |member: &Member| {
        let announce = member.announce_name();
        let path = "jsonpath={.metadata.creationTimestamp} {.clusterID}";
        let get = ["get", "memberclusterannounce", "-n", COMMON_AREA, &announce, "-o", path];
        stage.a()?.kubectl.text(&get)
    };
    Ok(if since(b)? < since(c)? { (b, c) } else { (c, b) })
}

fn half_of_the_network(stage: &Stage, of: &Member) -> Result<String> {
    let network = stage.lab.plan().cluster(of.cluster)?.service_cidrs.v4;
    let network = network.with_context(|| format!("{} has no IPv4", of.id()))?;
    let half = network.subnets(network.prefix_len() + 1)?.next();
    half.map(|half| half.to_string()).with_context(|| format!("{network} has no halves"))
}

/// Waits until the ClusterSets of a member and of the leader say with whom the member collides.
fn wait_for_conflict(stage: &Stage, member: &Member, reason: &str, other: &Member) -> Result<()> {
    let own = wait_for_condition(&member.kubectl, &SET, ("Conflict", "True", Some(reason)))?;
    until(&format!("the leader to say {reason} of {}", member.id()), || {
        let said = said_of(stage, member)?;
        let told = [("its own ClusterSet", Some(&own)), ("the leader's", said.as_ref())];
        for (place, condition) in told {
            let condition = condition.with_context(|| format!("{place} says nothing of a conflict"))?;
            let message = condition["message"].as_str().unwrap_or_default();
            let names_it = condition["reason"] == reason && message.contains(&other.id());
            ensure!(names_it, "{place} says {condition}");
        }
        Ok(())
    })
}

pub(super) fn wait_for_no_conflict(stage: &Stage, member: &Member) -> Result<()> {
    until(&format!("the conflict of {} to be over", member.id()), || {
        let set = member.kubectl.json(&[&["get"], SET.as_slice()].concat())?;
        let own = super::stage::condition(&set, "Conflict");
        let said = said_of(stage, member)?;
        ensure!(own.is_null() && said.is_none(), "its own ClusterSet says {own}, the leader's {said:?}");
        Ok(())
    })
}

/// The condition `Conflict` of a member in the leader's ClusterSet.
pub(super) fn said_of(stage: &Stage, member: &Member) -> Result<Option<Value>> {
    told_of(stage, member, "Conflict")
}

/// A condition of a member in the leader's ClusterSet.
pub(super) fn told_of(stage: &Stage, member: &Member, kind: &str) -> Result<Option<Value>> {
    let set = stage.a()?.kubectl.json(&["get", "clusterset", NAME, "-n", COMMON_AREA])?;
    let statuses = set["status"]["clusterStatuses"].as_array().cloned().unwrap_or_default();
    let of_member = statuses.into_iter().find(|status| status["clusterID"] == member.id());
    let of_member = of_member.with_context(|| format!("the leader says nothing of {}", member.id()))?;
    let mut conditions = of_member["conditions"].as_array().cloned().unwrap_or_default().into_iter();
    Ok(conditions.find(|condition| condition["type"] == kind))
}
